/* npipes.h - the number of pipes that clients are told. */
#ifndef SAP_NPIPES_H
#define SAP_NPIPES_H

#include <stdatomic.h>

/* GRAPE_NPIPES, or what this library is built with.  The same for the life of the process. */
int sap_npipes(void);

/* The answer; 0: not asked yet. */
extern atomic_int sap_npipes_known;

#endif
