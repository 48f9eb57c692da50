/* cargo.h - particles that all ranks exchange: what a transport moves. */
#ifndef SAP_MPI_CARGO_H
#define SAP_MPI_CARGO_H

#include <mpi.h>
#include <stddef.h>

#include "mpi/gate.h"
#include "mpi/room.h"
#include "sapporo.h"

/* All zeros: no memory, and nothing is under way. */
struct sap_cargo {
    struct sap_gate gate; /* whose hold receives; of particles in host memory not used */
    struct sap_room room; /* host memory, likewise */
    char *at;             /* memory of the particles of all ranks */
    size_t unit;          /* bytes of a unit */
    int *count, *first;   /* [ranks] units of each rank, and its first unit */
    const char *own;      /* units of this rank; if they lie elsewhere than at its first unit, they go there, too */
    MPI_Request *request; /* [2 * ranks] */
    int requests;         /* that are under way */
};

/* Whether the units of this rank lie where they belong. */
static inline int sap_cargo_in_place(const struct sap_cargo *c, int rank)
{
    return c->own == c->at + (size_t)c->first[rank] * c->unit;
}

#endif
