/*
 * way.h - what travels in a force, i-particles or j-particles: a model of the costs of both, and its measurement.
 *
 * All ranks have the same costs and the same numbers of particles, so all choose the same way without a message.
 */
#ifndef SAP_MPI_WAY_H
#define SAP_MPI_WAY_H

#include "mpi/handle.h"

/* Collective.  Measures the costs of the handle, unless they are known. */
int sap_way_measure(sapporo_mpi *h);

/* Estimates the seconds of the handle's job by a way. */
double sap_way_seconds(const sapporo_mpi *h, sapporo_mpi_way way);

/* Number of slabs in which the handle's job is computed by a way. */
int sap_way_slabs(const sapporo_mpi *h, sapporo_mpi_way way);

#endif
