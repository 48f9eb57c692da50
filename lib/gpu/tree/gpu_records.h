/*
 * gpu_records.h - copies records that travel between host memory, where those that stay leave a gap, and a device,
 * where they lie one after the other.
 *
 * n: records, of which `stays` from `first` on stay; each: doubles of a record.  Functions return driver statuses, and
 * wait.
 */
#ifndef SAP_GPU_RECORDS_H
#define SAP_GPU_RECORDS_H

#include "gpu/gpu_session.h"

int sap_gpu_records_fetch(struct sap_gpu_session *s, const struct sap_gpu_buffer *from, int n, int first, int stays,
                          int each, double *to);
int sap_gpu_records_send(struct sap_gpu_session *s, struct sap_gpu_buffer *to, int n, int first, int stays, int each,
                         const double *from);

#endif
