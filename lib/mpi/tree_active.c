/* tree_active.c - the active particles of a force over ranks: of a rank's caller, and of those that the rank walks. */
#include <stdlib.h>
#include <string.h>

#include "mpi/tree.h"

void sap_active_choose_all(const sapporo_mpi_tree *h, struct sap_active *a)
{
    const struct sap_route *const p = &h->route;
    *a = (struct sap_active){.n = p->arrived,
                             .rows = p->n,
                             .order = p->order,
                             .answered = p->sent,
                             .answered_at = p->sent_at,
                             .owed = p->got,
                             .owed_at = p->got_at};
}

void sap_active_free(const sapporo_mpi_tree *h, struct sap_active *a)
{
    sap_mpi_tree_release(h, a->flag);
    sap_mpi_tree_release(h, a->number);
    free(a->list);
    memset(a, 0, sizeof *a);
}

int sap_active_choose(const sapporo_mpi_tree *h, int ni, const int *particle, struct sap_active *a)
{
    const struct sap_route *const p = &h->route;
    const size_t n = (size_t)p->n, arrived = (size_t)p->arrived;
    unsigned char *const wanted = calloc(n + 1, sizeof *wanted);
    a->flag = calloc(n + arrived + 2, sizeof *a->flag);
    a->list = calloc(n + arrived + 1, sizeof *a->list);
    a->number = calloc(4 * (size_t)h->link.size, sizeof *a->number);
    const int complete = wanted && a->flag && a->list && a->number;
    for (int i = 0; i < ni && complete; i++) wanted[particle ? particle[i] : i] = 1;
    for (int k = 0; k < p->n && complete; k++) a->flag[k] = wanted[p->order[k]];
    free(wanted);
    return complete ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
}

/*
 * Lists the flags that are set, in order: their places, or for each the number that `names` has for it.  number, at:
 * how many of each rank's flags are set, and the first of them.
 */
static int list_flags(const unsigned char *flag, const int *count, int ranks, const int *names, int *list, int *number,
                      int *at)
{
    int n = 0;
    for (int r = 0, k = 0; r < ranks; r++) {
        at[r] = n;
        for (const int end = k + count[r]; k < end; k++)
            if (flag[k]) list[n++] = names ? names[k] : k;
        number[r] = n - at[r];
    }
    return n;
}

int sap_active_share(sapporo_mpi_tree *h, struct sap_active *a)
{
    const struct sap_route *const p = &h->route;
    struct sap_link *const link = &h->link;
    const int ranks = link->size;
    unsigned char *const is = a->flag + p->n + 1; /* one more: Open MPI takes equal addresses for MPI_IN_PLACE */
    int *const number[] = {a->number, a->number + ranks, a->number + 2 * ranks, a->number + 3 * ranks};
    const int status =
        sap_link_finish(link, MPI_Ialltoallv(a->flag, p->sent, p->sent_at, MPI_UNSIGNED_CHAR, is, p->got, p->got_at,
                                             MPI_UNSIGNED_CHAR, link->communicator, &link->request));
    if (status) return status;
    a->rows = list_flags(a->flag, p->sent, ranks, p->order, a->list, number[0], number[1]);
    a->n = list_flags(is, p->got, ranks, NULL, a->list + p->n, number[2], number[3]);
    a->order = a->list;
    a->address = a->list + p->n;
    a->is = is;
    a->answered = number[0], a->answered_at = number[1];
    a->owed = number[2], a->owed_at = number[3];
    return SAPPORO_OK;
}
