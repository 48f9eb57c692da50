/*
 * stepper_numbers.c - numbers of particles of steppers over ranks: they count the particles of rank 0, then those of
 * rank 1, and so on, and are the addresses of one stepper that has the particles of all ranks.
 */
#include <limits.h>
#include <stdlib.h>

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

int sap_mpi_stepper_route(const sapporo_mpi_stepper *h, struct sap_route *r, int field, int n)
{
    const struct sap_link *const l = &h->link;
    int ahead = 0;
    sap_route_forget(r, l->size);
    for (int k = 0; k < l->size; k++) {
        const int records = (int)sap_link_field(l, k, field);
        r->got_at[k] = ahead;
        if (k != l->rank) r->sent[k] = n, r->got[k] = records;
        ahead += records;
    }
    return ahead;
}

/* ---- what all ranks get ------------------------------------------------------------------------ */

int sap_gathering_reserve(sapporo_mpi_stepper *h, struct sap_gathering *g)
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

int sap_gathering_share(sapporo_mpi_stepper *h, struct sap_gathering *g)
{
    struct sap_link *const link = &h->link;
    if (!g->number) return SAPPORO_ERR_MEMORY; /* no caller comes here without */
    sap_link_count_all(link, g->number[link->rank], sizeof *g->from, 0);
    return sap_link_finish(link, MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_INT, g->from, g->number, g->at, MPI_INT,
                                                 link->communicator, &link->request));
}

void sap_gathering_drop(const sapporo_mpi_stepper *h, struct sap_gathering *g)
{
    if (h->link.broken) return; /* MPI may use it */
    free(g->number);
    free(g->from);
}

/* ---- numbers ----------------------------------------------------------------------------------- */

/*
 * Collective.  Gathers, for each particle of all ranks before a change, its number after the change; -1: it is gone.
 * Field 0 of the ranks is how many particles each has before the change, field 1 how many after it.
 */
static int gather_numbers(sapporo_mpi_stepper *h, struct sap_gathering *g, int n, const int *to)
{
    int first = 0, all = 0;
    int status = sap_gathering_reserve(h, g);
    if (!status) status = sap_mpi_stepper_count(h, 1, &first, &all);
    status = sap_link_agree(&h->link, status);
    if (status || !g->from) return status; /* with memory where all ranks agree */
    for (int i = 0; i < n; i++) g->from[g->first + i] = to[i] < 0 ? -1 : first + to[i];
    return sap_gathering_share(h, g);
}

int sap_mpi_stepper_renumber(void *of, int before, int after, const int *to, int n, int *number)
{
    static const char *const name[2] = {NULL, NULL};
    sapporo_mpi_stepper *const h = of;
    const double field[2] = {before, after};
    struct sap_gathering g = {.ints = 1};
    int status = sap_link_compare(&h->link, SAPPORO_OK, 2, field, name);
    if (!status) status = gather_numbers(h, &g, before, to);
    if (status) h->agreed = 1;
    for (int k = 0; k < n && !status && g.from; k++)
        if (number[k] >= 0) number[k] = g.from[number[k]];
    sap_gathering_drop(h, &g);
    return status; /* NOLINT(clang-analyzer-unix.Malloc): memory that MPI may still use stays */
}
