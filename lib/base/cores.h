/* cores.h - the processor cores that this process may use. */
#ifndef SAP_CORES_H
#define SAP_CORES_H

#include <pthread.h>

/*
 * Number of cores on which the calling thread may run (its affinity mask), limited by the processor time that the
 * control groups of the process allow, rounded up; at least 1.  If an OpenMP run time has bound the thread to one of
 * its places, the cores of all places count.
 */
int sap_cores(void);

/* Sets the affinity of new threads to all places of OpenMP, if the user has set places. */
void sap_cores_of_places(pthread_attr_t *attributes);

/* Number of cores that the text of a control group's cpu.max allows, such as "150000 100000"; 0: no limit. */
int sap_cores_of_quota(const char *text);

#endif
