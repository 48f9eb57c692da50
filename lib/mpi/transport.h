/*
 * transport.h - how particles travel between ranks: from host memory by MPI, from device memory by MPI, or by NCCL.  Of
 * direct sums j-particles of all ranks come to all ranks, as cargo; of trees records go from each rank to each, by
 * wires. Transports move bytes and add nothing, so results have the same bits.
 */
#ifndef SAP_MPI_TRANSPORT_H
#define SAP_MPI_TRANSPORT_H

#include "mpi/cargo.h"
#include "mpi/exchange.h"
#include "mpi/gate.h"
#include "sapporo_mpi.h"

struct sap_nccl;

/* The transport of a handle.  Its owner sets the first members. */
struct sap_carrier {
    struct sap_link *link;
    struct sap_gate gate;            /* of the handle; its device is that of all gates of this rank */
    const char *call;                /* that opens the handle, for errors */
    MPI_Datatype particle;           /* of cargo in host memory */
    sapporo_mpi_transport transport; /* not SAPPORO_MPI_TRANSPORT_AUTO */
    struct sap_nccl *nccl;           /* NULL: it is not used */
    size_t unit_bytes;               /* of a superpacket of direct sums that travels from device memory */
    int unit_addresses;              /* addresses of such a superpacket */
    MPI_Datatype unit;               /* a superpacket that MPI sends; MPI_DATATYPE_NULL: none */
    struct sap_room places;          /* nodes and devices of all ranks, while a handle is opened */
    struct sap_cargo trial;          /* of the trial of a transport, and its bytes */
    struct sap_room trial_bytes;
    MPI_Request *request; /* messages of wires that are under way */
    int requests;
    struct sap_room requests_room;
};

struct sap_transport_table {
    sapporo_mpi_transport transport;
    const char *name;
    int on_device; /* 1: a unit is a superpacket in the hold of a context; 0: a row of host memory */
    /* Makes cargo->at so many units long; its contents may be lost. */
    int (*allocate)(struct sap_carrier *by, struct sap_cargo *cargo, size_t units);
    /* Collective.  Starts to send this rank's units to all ranks. */
    int (*post)(struct sap_carrier *by, struct sap_cargo *cargo);
    /* Collective.  Waits until the units of all ranks are here. */
    int (*wait)(struct sap_carrier *by, struct sap_cargo *cargo);
    /* Lets transfers go on, without waiting. */
    int (*poke)(struct sap_carrier *by, struct sap_cargo *cargo);
    /* Frees what allocate made, and no transfer uses any more. */
    void (*free)(struct sap_cargo *cargo);
};

/* Reads the transport of options of a call and SAPPORO_MPI_TRANSPORT; the option counts first. */
int sap_transport_read(struct sap_link *link, const char *call, sapporo_mpi_transport asked,
                       sapporo_mpi_transport *transport);

/*
 * Collective.  The number of this rank among those of its machine: which of several devices it uses, where the launcher
 * of MPI does not say.
 */
int sap_transport_node_rank(struct sap_carrier *by, int *number);

/*
 * Collective.  Chooses a transport by what all ranks can do, opens and tries it, and logs it with the devices of all
 * ranks.  The context or tree of the gate is open.
 */
int sap_transport_open(struct sap_carrier *by, sapporo_mpi_transport asked);

/* Collective.  Ends it.  _free frees memory that MPI does not use any more. */
void sap_transport_close(struct sap_carrier *by);
void sap_carrier_free(struct sap_carrier *by);

/* Whether particles travel from device memory. */
static inline int sap_carrier_on_device(const struct sap_carrier *by)
{
    return by->transport > SAPPORO_MPI_TRANSPORT_HOST;
}

/*
 * Collective.  Begins to move the records of a wire that are in device memory, and complete; waits for those of all
 * wires, at most two at a time.  Records of this rank for itself do not move.  After an error of NCCL, which breaks no
 * link, the other ranks may have none yet.
 */
int sap_carrier_begin(struct sap_carrier *by, const struct sap_route *route, struct sap_wire *wire);
int sap_carrier_end(struct sap_carrier *by);

/* The transport of forces of direct sums from so many j-particles: few of them are computed from host memory. */
const struct sap_transport_table *sap_transport_of(const sapporo_mpi *h, int asked);

/* Prepares a cargo of zeros for a number of ranks; -1: out of memory. */
int sap_cargo_open(struct sap_cargo *cargo, int ranks);
void sap_cargo_close(struct sap_cargo *cargo);

#endif
