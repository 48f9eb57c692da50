/*
 * stepper_pairs.c - close pairs, numbers and present potentials of steppers over ranks, for the caller.  Pairs are of
 * numbers (stepper_numbers.c).
 */
#include <math.h>
#include <stdlib.h>

#include "base/structs.h"
#include "context/internals.h"
#include "mpi/stepper.h"

/* ---- numbers ----------------------------------------------------------------------------------- */

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
static int list_pairs(sapporo_mpi_stepper *h, struct sap_gathering *g, const struct sap_close_particle *close, int n,
                      sapporo_stepper_pairs *p)
{
    int status = sap_link_agree(&h->link, sap_gathering_reserve(h, g));
    if (status) return status;
    struct sap_close_particle *const all = (void *)g->from;
    for (int k = 0; k < n; k++) {
        all[g->first + k] = close[k];
        all[g->first + k].number += h->first[h->link.rank];
    }
    status = sap_gathering_share(h, g);
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
    struct sap_gathering g = {.ints = sizeof(struct sap_close_particle) / sizeof(int)};
    struct sap_close_particle *close = NULL;
    int n = 0, status = find_close(h, known, p, &close, &n);
    const double field[2] = {n, p->room};
    status = sap_link_compare(&h->link, status, 2, field, name);
    if (!status) status = list_pairs(h, &g, close, n, p);
    free(close);
    sap_gathering_drop(h, &g);
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
