/* cores.h - the processor cores that this process may use. */
#ifndef SAP_CORES_H
#define SAP_CORES_H

#include <pthread.h>

/*
 * Cores that the calling thread may run on (its affinity mask), and no more than the processor time that the control
 * groups of the process allow, rounded up.  At least 1.  Where an OpenMP run time of the program has bound the thread
 * to one of its places, the cores of all places count.
 */
int sap_cores(void);

/* Lets threads that are made with these attributes run on all places of OpenMP, if the calling thread is bound to one.
 */
void sap_cores_of_places(pthread_attr_t *attributes);

/* Cores that the text of a file cpu.max of a control group allows ("150000 100000"); 0: it sets no limit. */
int sap_cores_of_quota(const char *text);

#endif
