/* gpu_status.h - failures: driver statuses, what they mean to a context, and their messages. */
#ifndef SAP_GPU_STATUS_H
#define SAP_GPU_STATUS_H

struct sap_gpu_store;

/* Translates a driver status to the sapporo_status that a context understands. */
int sap_gpu_status(int driver_status);

/* Translates a failure on device store->at to a sapporo_status, and notes its message and consequences. */
int sap_gpu_judge(struct sap_gpu_store *store, int status);

/* Sets the message of a failure that the driver did not report, unless there is one already; returns status. */
int sap_gpu_refuse(struct sap_gpu_store *store, int status, const char *words);

/* Returns whether a device of a store is lost, with its message: the call that asks fails. */
int sap_gpu_refuse_lost(struct sap_gpu_store *store);

/* Waits until no work of a store is in flight: work that a failed force started must not outlive its memory. */
void sap_gpu_halt(const struct sap_gpu_store *store);

#endif
