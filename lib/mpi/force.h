/* force.h - frees the force of a handle, for handle.c. */
#ifndef SAP_MPI_FORCE_H
#define SAP_MPI_FORCE_H

#include "mpi/handle.h"

/* Frees the job of a handle, if there is one. */
void sap_force_destroy(sapporo_mpi *h);

#endif
