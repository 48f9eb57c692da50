/* tree_active.c - the active particles of a force over ranks: of a rank's caller, and of those that the rank walks. */
#include <stdint.h>
#include <string.h>

#include "context/internals.h"
#include "mpi/tree.h"

enum { PARTS = 32, A_PART = 65536 }; /* of flags that threads list, at most, and flags of a part */

/* Flags of particles that threads set. */
struct flagging {
    const int *particle; /* NULL: 0, 1, ... */
    const int *order;    /* of records; NULL: record k is about particle k */
    unsigned char *wanted, *flag;
};

static void want_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct flagging *const f = argument;
    for (ptrdiff_t i = from; i < to; i++) f->wanted[f->particle ? f->particle[i] : i] = 1;
}

static void flag_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct flagging *const f = argument;
    for (ptrdiff_t k = from; k < to; k++) f->flag[k] = f->wanted[f->order ? f->order[k] : k];
}

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
    struct flagging f = {particle, p->order, wanted, a->flag};
    sapporo_internals()->partial_loop(h->options.threads, ni, want_some, &f);
    if (!alone) sapporo_internals()->partial_loop(h->options.threads, p->n, flag_some, &f);
    return SAPPORO_OK;
}

/* Whether eight flags are all 0. */
static int are_clear(const unsigned char *flag)
{
    uint64_t eight;
    memcpy(&eight, flag, sizeof eight);
    return eight == 0;
}

/* Flags whose indices threads list, from `first` on, or for each the number that `names` has for it. */
struct listing {
    const unsigned char *flag;
    const int *names;
    int first, *list;
    int at[PARTS]; /* flags that are set in each part, then in the parts before it */
};

static void count_part(void *argument, int part, int from, int to)
{
    struct listing *const s = argument;
    const unsigned char *const flag = s->flag + s->first;
    int n = 0;
    for (int k = from; k < to; k++) n += flag[k];
    s->at[part] = n;
}

static void list_part(void *argument, int part, int from, int to)
{
    const struct listing *const s = argument;
    const int end = s->first + to;
    int k = s->first + from, n = s->at[part];
    while (k < end) {
        if (end - k >= 8 && are_clear(s->flag + k)) {
            k += 8;
            continue;
        }
        if (s->flag[k]) s->list[n++] = s->names ? s->names[k] : k;
        k++;
    }
}

/* Lists n flags, in order; returns how many are set. */
static int list_run(const sapporo_mpi_tree *h, struct listing *s, int n)
{
    const int wanted = 1 + n / A_PART, parts = wanted < PARTS ? wanted : PARTS;
    int all = 0;
    sapporo_internals()->partial_parts(h->options.threads, n, parts, count_part, s);
    for (int part = 0; part < parts; part++) {
        const int here = s->at[part];
        s->at[part] = all;
        all += here;
    }
    sapporo_internals()->partial_parts(h->options.threads, n, parts, list_part, s);
    return all;
}

/* Lists flags of the records of all ranks, count[r] of each; number: how many of each rank's are set. */
static void list_flags(const sapporo_mpi_tree *h, const unsigned char *flag, const int *count, const int *names,
                       int *list, int *number)
{
    struct listing s = {.flag = flag, .names = names, .list = list};
    for (int r = 0; r < h->link.size; r++) {
        number[r] = count[r] > 0 ? list_run(h, &s, count[r]) : 0;
        s.list += number[r];
        s.first += count[r];
    }
}

/* Chooses particles of the only rank. */
static void list_alone(sapporo_mpi_tree *h, struct sap_active *a)
{
    struct sap_route *const some = &h->some;
    list_flags(h, a->flag, h->route.sent, NULL, a->list, some->sent);
    some->got[0] = some->sent[0];
    a->address = a->list;
    a->is = a->flag;
}

/* Collective.  Chooses particles of several ranks. */
static int list_over_ranks(sapporo_mpi_tree *h, struct sap_active *a)
{
    const struct sap_route *const p = &h->route;
    struct sap_route *const some = &h->some;
    const int me = h->link.rank;
    unsigned char *const is = a->flag + p->n + 1; /* one more: Open MPI takes equal addresses for MPI_IN_PLACE */
    struct sap_wire wire = {.out = a->flag, .in = is, .each = sizeof *is, .own_stays = 1};
    memcpy(is + p->got_at[me], a->flag + p->sent_at[me], (size_t)p->sent[me]);
    const int status = sap_exchange(&h->link, p, &wire);
    if (status) return status;
    list_flags(h, a->flag, p->sent, p->order, a->list, some->sent);
    list_flags(h, is, p->got, NULL, a->list + p->n, some->got);
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
