/* tree_active.c - the active particles of a force over ranks: of a rank's caller, and of those that the rank walks. */
#include <stdint.h>
#include <string.h>

#include "mpi/tree.h"

void sap_active_choose_all(const sapporo_mpi_tree *h, struct sap_active *a)
{
    *a = (struct sap_active){.route = &h->route};
}

int sap_active_choose(sapporo_mpi_tree *h, int ni, const int *particle, struct sap_active *a)
{
    const struct sap_route *const p = &h->route;
    const size_t n = (size_t)p->n, all = n + (size_t)p->arrived;
    const int alone = sap_mpi_tree_is_alone(h);
    unsigned char *wanted = alone ? NULL : sap_room_array(&h->rooms.wanted, n + 1, sizeof *wanted);
    a->flag = sap_room_array(&h->rooms.flag, (alone ? n : all) + 2, sizeof *a->flag);
    a->list = sap_room_array(&h->rooms.list, (alone ? n : all) + 1, sizeof *a->list);
    const int bad = sap_route_reserve(&h->some, h->link.size);
    if ((!alone && !wanted) || !a->flag || !a->list || bad) return SAPPORO_ERR_MEMORY;
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
 * Lists the flags that are set, in order: their indices, or for each the number that `names` has for it.  number: how
 * many of each rank's flags are set.
 */
static void list_flags(const unsigned char *flag, const int *count, int ranks, const int *names, int *list, int *number)
{
    int n = 0, end = 0;
    for (int r = 0; r < ranks; r++) {
        const int first = n;
        int k = end;
        end += count[r];
        while (k < end) {
            if (end - k >= 8 && are_clear(flag + k)) {
                k += 8;
                continue;
            }
            if (flag[k]) list[n++] = names ? names[k] : k;
            k++;
        }
        number[r] = n - first;
    }
}

/* Chooses particles of the only rank. */
static void list_alone(sapporo_mpi_tree *h, struct sap_active *a)
{
    struct sap_route *const some = &h->some;
    list_flags(a->flag, h->route.sent, 1, NULL, a->list, some->sent);
    some->got[0] = some->sent[0];
    a->address = a->list;
    a->is = a->flag;
}

/* Collective.  Chooses particles of several ranks. */
static int list_over_ranks(sapporo_mpi_tree *h, struct sap_active *a)
{
    const struct sap_route *const p = &h->route;
    struct sap_route *const some = &h->some;
    const int ranks = h->link.size, me = h->link.rank;
    unsigned char *const is = a->flag + p->n + 1; /* one more: Open MPI takes equal addresses for MPI_IN_PLACE */
    struct sap_wire wire = {.out = a->flag, .in = is, .each = sizeof *is, .own_stays = 1};
    memcpy(is + p->got_at[me], a->flag + p->sent_at[me], (size_t)p->sent[me]);
    const int status = sap_exchange(&h->link, p, &wire);
    if (status) return status;
    list_flags(a->flag, p->sent, ranks, p->order, a->list, some->sent);
    list_flags(is, p->got, ranks, NULL, a->list + p->n, some->got);
    a->address = a->list + p->n;
    a->is = is;
    return SAPPORO_OK;
}

int sap_active_share(sapporo_mpi_tree *h, struct sap_active *a)
{
    int status = SAPPORO_OK;
    if (sap_mpi_tree_is_alone(h))
        list_alone(h, a);
    else
        status = list_over_ranks(h, a);
    if (status) return status;
    (void)sap_route_settle(&h->some, &h->link);
    h->some.order = a->list;
    a->route = &h->some;
    return SAPPORO_OK;
}
