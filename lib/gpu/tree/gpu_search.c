/* gpu_search.c - finds the particles within a radius of a position on an accelerator: count, write, sort by address. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "engine/tree_limits.h"
#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_kernels.h"
#include "gpu/tree/gpu_tree.h"

/* A search under computation. */
struct tree_search {
    int ni, whole; /* whole: positions whose lists have space, at least for some entries of the last list */
    const sapporo_column *x, *h;
    long long *first, room;
    int *count, *list; /* on the host; list: of the `whole` positions, without gaps */
};

static int by_number(const void *a, const void *b)
{
    int x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static int send_queries(struct sap_gpu_host_tree *t, const struct tree_search *s)
{
    double(*const chunk)[4] = t->session.chunk.host;
    TRY(sap_session_reserve(&t->session, &t->query, (size_t)s->ni * sizeof *chunk));
    for (int first = 0; first < s->ni; first += SAP_SESSION_CHUNK) {
        const int n = s->ni - first < SAP_SESSION_CHUNK ? s->ni - first : SAP_SESSION_CHUNK;
        for (int k = 0; k < n; k++) {
            memcpy(chunk[k], sap_column_at(s->x, first + k, 3 * sizeof(double)), 3 * sizeof(double));
            memcpy(&chunk[k][3], sap_column_at(s->h, first + k, sizeof(double)), sizeof(double));
            chunk[k][3] = fmin(chunk[k][3], SAP_TREE_REACH); /* its square is finite */
        }
        TRY(sap_session_copy_in(&t->session, t->query.mem, (size_t)first * sizeof *chunk, chunk,
                                (size_t)n * sizeof *chunk));
        TRY(sap_session_wait(&t->session));
    }
    return SAP_DRIVER_OK;
}

static int launch_search(struct sap_gpu_host_tree *t, int n, int fills)
{
    return sap_launch_tree_search(&t->session, t->f, n, t->query.mem, t->own.sorted.mem, t->own.address.mem,
                                  t->node.mem, t->next.mem, t->cell.mem, t->found.mem,
                                  fills ? t->begin.mem : t->found.mem, fills ? t->list.mem : t->found.mem, fills, n);
}

/* Counts the members of each list, and computes `first` from the counts. */
static int count_all(struct sap_gpu_host_tree *t, struct tree_search *s)
{
    TRY(send_queries(t, s));
    TRY(sap_gpu_tree_make_next(t));
    TRY(sap_session_reserve(&t->session, &t->found, (size_t)s->ni * sizeof(int)));
    TRY(launch_search(t, s->ni, 0));
    TRY(sap_session_copy_out(&t->session, s->count, t->found.mem, 0, (size_t)s->ni * sizeof *s->count));
    TRY(sap_session_wait(&t->session));
    s->first[0] = 0;
    for (int i = 0; i < s->ni; i++) s->first[i + 1] = s->first[i] + s->count[i];
    while (s->whole < s->ni && s->first[s->whole] < s->room) s->whole++;
    return SAP_DRIVER_OK;
}

static int fill_lists(struct sap_gpu_host_tree *t, struct tree_search *s)
{
    const size_t entries = (size_t)s->first[s->whole];
    if (entries == 0) return SAP_DRIVER_OK;
    s->list = sap_session_host_memory(&t->session, entries, sizeof *s->list);
    if (!s->list) return SAP_DRIVER_MEMORY;
    TRY(sap_session_reserve(&t->session, &t->begin, (size_t)s->whole * sizeof *s->first));
    TRY(sap_session_reserve(&t->session, &t->list, entries * sizeof *s->list));
    TRY(sap_session_copy_in(&t->session, t->begin.mem, 0, s->first, (size_t)s->whole * sizeof *s->first));
    TRY(launch_search(t, s->whole, 1));
    TRY(sap_session_copy_out(&t->session, s->list, t->list.mem, 0, entries * sizeof *s->list));
    return sap_session_wait(&t->session);
}

static void deliver(const struct tree_search *s, int *list)
{
    for (int i = 0; i < s->whole && s->list; i++) {
        const long long left = s->room - s->first[i];
        const size_t n = (size_t)(s->count[i] < left ? s->count[i] : left);
        int *const from = s->list + s->first[i];
        qsort(from, (size_t)s->count[i], sizeof *from, by_number);
        memcpy(list + s->first[i], from, n * sizeof *list);
    }
}

int sap_gpu_tree_search(struct sap_gpu_host_tree *t, int ni, const sapporo_column *x, const sapporo_column *h,
                        long long *first, long long room, int *list)
{
    struct tree_search s = {.ni = ni, .x = x, .h = h, .first = first, .room = room};
    int status = sap_session_begin(&t->session);
    if (status) return status;
    memset(first, 0, ((size_t)ni + 1) * sizeof *first);
    if (ni == 0 || t->n == 0) return sap_session_end(&t->session, SAP_DRIVER_OK);
    s.count = sap_session_host_memory(&t->session, (size_t)ni, sizeof *s.count);
    status = s.count ? count_all(t, &s) : (int)SAP_DRIVER_MEMORY;
    if (!status) status = fill_lists(t, &s);
    if (!status) deliver(&s, list);
    status = sap_session_end(&t->session, status);
    free(s.list);
    free(s.count);
    return status || first[ni] <= room ? status : SAPPORO_TRUNCATED;
}
