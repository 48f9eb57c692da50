/* npipes.h - the number of pipes that clients are told. */
#ifndef SAP_NPIPES_H
#define SAP_NPIPES_H

/* GRAPE_NPIPES, or what this library is built with.  The same for the life of the process. */
int sap_npipes(void);

#endif
