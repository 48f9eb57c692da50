/*
 * transport.h - how j-particles of all ranks come to all ranks: from host memory by MPI, from device memory by MPI, or
 * by NCCL.  Each is a table of functions.  They move bytes and add nothing, so results have the same bits.
 */
#ifndef SAP_MPI_TRANSPORT_H
#define SAP_MPI_TRANSPORT_H

#include "context/travel.h"
#include "mpi/cargo.h"
#include "mpi/handle.h"

struct sap_transport_table {
    sapporo_mpi_transport transport;
    const char *name;
    int on_device; /* 1: a unit is a superpacket in the hold of a context; 0: a row of host memory */
    /* Makes cargo->at so many units long; its contents may be lost. */
    int (*allocate)(sapporo_mpi *h, struct sap_cargo *cargo, size_t units);
    /* Collective.  Starts to send this rank's units to all ranks. */
    int (*post)(sapporo_mpi *h, struct sap_cargo *cargo);
    /* Collective.  Waits until the units of all ranks are here. */
    int (*wait)(sapporo_mpi *h, struct sap_cargo *cargo);
    /* Lets transfers go on, without waiting. */
    int (*poke)(sapporo_mpi *h, struct sap_cargo *cargo);
    /* Frees what allocate made, and no transfer uses any more. */
    void (*free)(struct sap_cargo *cargo);
};

/* Reads the transport of options and SAPPORO_MPI_TRANSPORT; the option counts first. */
int sap_transport_read(struct sap_link *link, sapporo_mpi_transport asked, sapporo_mpi_transport *transport);

/*
 * Collective.  The number of this rank among those of its machine: which of several devices it uses, where the launcher
 * of MPI does not say.
 */
int sap_transport_node_rank(sapporo_mpi *h, int *number);

/*
 * Collective.  Chooses the transport of a handle by what all ranks can do, opens and tries it, and logs it with the
 * devices of all ranks.  The context is open.
 */
int sap_transport_open(sapporo_mpi *h, sapporo_mpi_transport asked);

void sap_transport_close(sapporo_mpi *h);

/* The transport of forces from so many j-particles: few of them are computed from host memory in any case. */
const struct sap_transport_table *sap_transport_of(const sapporo_mpi *h, int asked);

/* Prepares a cargo of zeros for a number of ranks; -1: out of memory. */
int sap_cargo_open(struct sap_cargo *cargo, int ranks);
void sap_cargo_close(struct sap_cargo *cargo);

#endif
