/*
 * stepper_pairs.c - neighbours and close pairs of steppers over ranks.  They are numbers, which count the particles of
 * rank 0, then those of rank 1, and so on: the addresses of one stepper that has the particles of all ranks.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "context/internals.h"
#include "mpi/stepper.h"

int sap_mpi_stepper_count(sapporo_mpi_stepper *h, int field, int *before, int *all)
{
    struct sap_link *const link = &h->link;
    double sum = 0;
    for (int r = 0; r < link->size; r++) {
        if (r == link->rank) *before = sum < INT_MAX ? (int)sum : 0;
        sum += sap_link_field(link, r, field);
    }
    *all = sum > INT_MAX / 2 ? 0 : (int)sum;
    return sum > INT_MAX / 2 ? sap_link_fail(link, SAPPORO_ERR_MEMORY,
                                             "%s: %.0f particles are too many for direct sums", h->call, sum)
                             : SAPPORO_OK;
}

/* ---- what all ranks get ------------------------------------------------------------------------ */

/* Elements of `ints` integers that each rank gives to all ranks; MPI reads and writes them. */
struct gathering {
    int ints;
    int *number, *at; /* integers of each rank, and where its first one is */
    int first, all;   /* elements of the ranks before this one, and of all */
    int *from;
};

/* Makes room for the elements of all ranks, after sap_link_compare, whose first field is how many each rank has. */
static int reserve(sapporo_mpi_stepper *h, struct gathering *g)
{
    const int ranks = h->link.size;
    const int status = sap_mpi_stepper_count(h, 0, &g->first, &g->all);
    if (status) return status;
    g->number = malloc(2 * (size_t)ranks * sizeof *g->number);
    g->from = g->all < INT_MAX / g->ints ? malloc(((size_t)g->all + 1) * (size_t)g->ints * sizeof *g->from) : NULL;
    if (!g->number || !g->from)
        return sap_link_fail(&h->link, SAPPORO_ERR_MEMORY, "%s: out of memory for %d numbers", h->call, g->all);
    g->at = g->number + ranks;
    for (int r = 0; r < ranks; r++) g->number[r] = g->ints * (int)sap_link_field(&h->link, r, 0);
    (void)sap_link_places(g->number, g->at, ranks);
    return SAPPORO_OK;
}

/* Collective.  Gives the elements of this rank, which are at g->first, to all ranks. */
static int gather(sapporo_mpi_stepper *h, struct gathering *g)
{
    struct sap_link *const link = &h->link;
    sap_link_count_all(link, g->number[link->rank], sizeof *g->from, 0);
    return sap_link_finish(link, MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_INT, g->from, g->number, g->at, MPI_INT,
                                                 link->communicator, &link->request));
}

static void drop(const sapporo_mpi_stepper *h, struct gathering *g)
{
    if (h->link.broken) return; /* MPI may use it */
    free(g->number);
    free(g->from);
}

/* ---- numbers ----------------------------------------------------------------------------------- */

/* Collective.  Gathers the numbers after a change of the particles before it; -1: gone.  first: this rank's then. */
static int gather_numbers(sapporo_mpi_stepper *h, struct gathering *g, int n, const int *to)
{
    int first = 0, all = 0;
    int status = reserve(h, g);
    if (!status) status = sap_mpi_stepper_count(h, 1, &first, &all);
    status = sap_link_agree(&h->link, status);
    for (int i = 0; i < n && !status; i++) g->from[g->first + i] = to[i] < 0 ? -1 : first + to[i];
    return status ? status : gather(h, g);
}

int sap_mpi_stepper_renumber(void *of, int before, int after, const int *to, int n, int *number)
{
    static const char *const name[2] = {NULL, NULL};
    sapporo_mpi_stepper *const h = of;
    const double field[2] = {before, after};
    struct gathering g = {.ints = 1};
    int status = sap_link_compare(&h->link, SAPPORO_OK, 2, field, name);
    if (!status) status = gather_numbers(h, &g, before, to);
    if (status) h->agreed = 1;
    for (int k = 0; k < n && !status; k++)
        if (number[k] >= 0) number[k] = g.from[number[k]];
    drop(h, &g);
    return status;
}

int sapporo_mpi_stepper_locate(const sapporo_mpi_stepper *stepper, int number, int *rank, int *address)
{
    const sapporo_mpi_stepper *const h = sap_mpi_stepper_find(stepper);
    int r = 0;
    if (rank) *rank = -1;
    if (address) *address = -1;
    if (!h) return SAPPORO_ERR_CLOSED;
    if (!h->sums || isnan(sapporo_stepper_get_time(h->stepper))) return SAPPORO_ERR_ARGUMENT;
    if (number < 0 || number >= h->first[h->link.size]) return SAPPORO_ERR_ARGUMENT;
    while (number >= h->first[r + 1]) r++;
    if (rank) *rank = r;
    if (address) *address = number - h->first[r];
    return SAPPORO_OK;
}

/* ---- pairs ------------------------------------------------------------------------------------- */

/* What one rank can do alone: checks the caller's struct, and finds the close particles of this rank. */
static int find_close(sapporo_mpi_stepper *h, int known, const sapporo_stepper_pairs *p,
                      struct sap_close_particle **close, int *n)
{
    if (known)
        return sap_link_fail(&h->link, known, "%s: no sapporo_stepper_pairs of this version, or without a size",
                             h->call);
    if (!sap_pairs_have_room(p))
        return sap_link_fail(&h->link, SAPPORO_ERR_ARGUMENT, "%s: room is %d; it may be 0 or more, with an array",
                             h->call, p->room);
    const int status = sapporo_internals()->stepper_part_close(h->stepper, close, n);
    return status ? sap_link_note(&h->link, status, sapporo_stepper_last_error(h->stepper)) : SAPPORO_OK;
}

/* Collective.  Lists the pairs of all ranks' close particles. */
static int list_pairs(sapporo_mpi_stepper *h, struct gathering *g, const struct sap_close_particle *close, int n,
                      sapporo_stepper_pairs *p)
{
    int status = sap_link_agree(&h->link, reserve(h, g));
    if (status) return status;
    struct sap_close_particle *const all = (void *)g->from;
    for (int k = 0; k < n; k++) {
        all[g->first + k] = close[k];
        all[g->first + k].number += h->first[h->link.rank];
    }
    status = gather(h, g);
    if (status) return status;
    status = sapporo_internals()->close_pairs(all, g->all, p);
    for (int r = 0; r < h->link.size; r++)
        if (sap_link_field(&h->link, r, 1) < p->n) status = SAPPORO_TRUNCATED;
    return status;
}

/* Collective.  Finds the pairs of all ranks. */
static int find_pairs(sapporo_mpi_stepper *h, int known, sapporo_stepper_pairs *p)
{
    static const char *const name[2] = {NULL, NULL};
    struct gathering g = {.ints = sizeof(struct sap_close_particle) / sizeof(int)};
    struct sap_close_particle *close = NULL;
    int n = 0, status = find_close(h, known, p, &close, &n);
    const double field[2] = {n, p->room};
    status = sap_link_compare(&h->link, status, 2, field, name);
    if (!status) status = list_pairs(h, &g, close, n, p);
    free(close);
    drop(h, &g);
    return status;
}

int sapporo_mpi_stepper_get_pairs(sapporo_mpi_stepper *stepper, sapporo_stepper_pairs *pairs)
{
    sapporo_stepper_pairs p = {.n = 0};
    const int known = pairs ? sap_struct_copy(&p, sizeof p, pairs, SAP_PAIRS_LEAST) : (int)SAPPORO_ERR_ARGUMENT;
    sapporo_mpi_stepper *const h = sap_mpi_stepper_find(stepper);
    int status = !h ? (int)SAPPORO_ERR_CLOSED : h->link.broken;
    p.n = 0;
    if (!status && h) {
        sap_mpi_stepper_start(h, SAP_CALL_STEPPER_GET_PAIRS);
        status = find_pairs(h, known, &p);
    }
    if (!known) pairs->n = status < 0 ? 0 : p.n;
    return status;
}

/* ---- potentials -------------------------------------------------------------------------------- */

int sapporo_mpi_stepper_get_potentials(sapporo_mpi_stepper *stepper, int n, double *pot)
{
    sapporo_mpi_stepper *const h = sap_mpi_stepper_find(stepper);
    int status = !h ? (int)SAPPORO_ERR_CLOSED : h->link.broken;
    if (!status && h) {
        sap_mpi_stepper_start(h, SAP_CALL_STEPPER_GET_POTENTIALS);
        status = sap_mpi_stepper_end(h, sapporo_internals()->stepper_part_pots(h->stepper, n, pot));
    }
    for (int k = 0; k < n && pot && status; k++) pot[k] = NAN;
    return status;
}
