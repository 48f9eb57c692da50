/* npipes.h - the number of pipes that g6_npipes returns to clients. */
#ifndef SAP_NPIPES_H
#define SAP_NPIPES_H

#include <stdatomic.h>

/* The value of GRAPE_NPIPES, or the default of this library.  It never changes during a process. */
int sap_npipes(void);

/* The number of pipes; 0: not read yet. */
extern atomic_int sap_npipes_known;

#endif
