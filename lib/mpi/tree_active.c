/* tree_active.c - the active particles of a force over ranks: of a rank's caller, and of those that the rank walks. */
#include <stdint.h>
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
                             .owed_at = p->got_at,
                             .posted = p->expected,
                             .expected = p->posted};
}

int sap_active_choose(sapporo_mpi_tree *h, int ni, const int *particle, struct sap_active *a)
{
    const struct sap_route *const p = &h->route;
    const size_t n = (size_t)p->n, all = n + (size_t)p->arrived;
    const int alone = sap_mpi_tree_is_alone(h);
    unsigned char *wanted = alone ? NULL : sap_room_array(&h->rooms.wanted, n + 1, sizeof *wanted);
    a->flag = sap_room_array(&h->rooms.flag, (alone ? n : all) + 2, sizeof *a->flag);
    a->list = sap_room_array(&h->rooms.list, (alone ? n : all) + 1, sizeof *a->list);
    a->number = sap_room_reserve(&h->rooms.number, 6 * (size_t)h->link.size * sizeof *a->number);
    if ((!alone && !wanted) || !a->flag || !a->list || !a->number) return SAPPORO_ERR_MEMORY;
    if (alone) wanted = a->flag;
    memset(wanted, 0, n + 1);
    for (int i = 0; i < ni; i++) wanted[particle ? particle[i] : i] = 1;
    for (int k = 0; k < p->n && !alone; k++) a->flag[k] = wanted[p->order ? p->order[k] : k];
    return SAPPORO_OK;
}

/* Whether eight flags are all 0. */
static int are_clear(const unsigned char *flag)
{
    uint64_t eight;
    memcpy(&eight, flag, sizeof eight);
    return eight == 0;
}

/*
 * Lists the flags that are set, in order: their places, or for each the number that `names` has for it.  number, at:
 * how many of each rank's flags are set, and the first of them.
 */
static int list_flags(const unsigned char *flag, const int *count, int ranks, const int *names, int *list, int *number,
                      int *at)
{
    int n = 0, end = 0;
    for (int r = 0; r < ranks; r++) {
        int k = end;
        end += count[r];
        at[r] = n;
        while (k < end) {
            if (end - k >= 8 && are_clear(flag + k)) {
                k += 8;
                continue;
            }
            if (flag[k]) list[n++] = names ? names[k] : k;
            k++;
        }
        number[r] = n - at[r];
    }
    return n;
}

/* Chooses particles of the only rank. */
static void list_alone(const sapporo_mpi_tree *h, struct sap_active *a)
{
    const struct sap_route *const p = &h->route;
    a->rows = a->n = list_flags(a->flag, p->sent, 1, NULL, a->list, a->number, a->number + 1);
    a->order = a->address = a->list;
    a->is = a->flag;
}

int sap_active_share(sapporo_mpi_tree *h, struct sap_active *a)
{
    const struct sap_route *const p = &h->route;
    struct sap_link *const link = &h->link;
    const int ranks = link->size, me = link->rank;
    if (sap_mpi_tree_is_alone(h)) {
        list_alone(h, a);
        return SAPPORO_OK;
    }
    unsigned char *const is = a->flag + p->n + 1; /* one more: Open MPI takes equal addresses for MPI_IN_PLACE */
    int *number[6];
    for (int k = 0; k < 6; k++) number[k] = a->number + (size_t)k * (size_t)ranks;
    memcpy(is + p->got_at[me], a->flag + p->sent_at[me], (size_t)p->sent[me]);
    const int status =
        sap_link_finish(link, MPI_Ialltoallv(a->flag, p->posted, p->sent_at, MPI_UNSIGNED_CHAR, is, p->expected,
                                             p->got_at, MPI_UNSIGNED_CHAR, link->communicator, &link->request));
    if (status) return status;
    a->rows = list_flags(a->flag, p->sent, ranks, p->order, a->list, number[0], number[1]);
    a->n = list_flags(is, p->got, ranks, NULL, a->list + p->n, number[2], number[3]);
    memcpy(number[4], number[2], (size_t)ranks * sizeof *number[4]);
    memcpy(number[5], number[0], (size_t)ranks * sizeof *number[5]);
    number[4][me] = number[5][me] = 0;
    a->order = a->list;
    a->address = a->list + p->n;
    a->is = is;
    a->answered = number[0], a->answered_at = number[1];
    a->owed = number[2], a->owed_at = number[3];
    a->posted = number[4], a->expected = number[5];
    return SAPPORO_OK;
}
