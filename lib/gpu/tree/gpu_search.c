/* gpu_search.c - see gpu_search.h: count, write, sort by address. */
#include "gpu/tree/gpu_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "engine/periodic.h"
#include "engine/tree_limits.h"
#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_kernels.h"

/* A search under computation. */
struct tree_search {
    const struct sap_gpu_sought *what;
    const struct sap_gpu_built *of;
    struct sap_gpu_search *there; /* device memory */
    int whole;                    /* positions whose lists have space, at least for some entries of the last list */
    int *count, *list;            /* on the host; list: of the `whole` positions, without gaps */
};

static int by_number(const void *a, const void *b)
{
    int x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static int send_queries(const struct tree_search *s)
{
    const struct sap_gpu_session *const session = s->of->session;
    const struct sap_gpu_sought *const what = s->what;
    struct sap_gpu_buffer *const query = &s->there->query;
    double(*const chunk)[4] = session->chunk.host;
    TRY(sap_session_reserve(session, query, (size_t)what->ni * sizeof *chunk));
    for (int first = 0; first < what->ni; first += SAP_SESSION_CHUNK) {
        const int n = what->ni - first < SAP_SESSION_CHUNK ? what->ni - first : SAP_SESSION_CHUNK;
        for (int k = 0; k < n; k++) {
            memcpy(chunk[k], sap_column_at(what->x, first + k, 3 * sizeof(double)), 3 * sizeof(double));
            sap_periodic_inside(what->period, chunk[k]);
            memcpy(&chunk[k][3], sap_column_at(what->h, first + k, sizeof(double)), sizeof(double));
            chunk[k][3] = fmin(chunk[k][3], SAP_TREE_REACH); /* its square is finite */
        }
        TRY(sap_session_copy_in(session, query->mem, (size_t)first * sizeof *chunk, chunk, (size_t)n * sizeof *chunk));
        TRY(sap_session_wait(session));
    }
    return SAP_DRIVER_OK;
}

static int launch_search(const struct tree_search *s, int n, int fills)
{
    const struct sap_gpu_built *const of = s->of;
    const struct sap_gpu_search *const m = s->there;
    const double period = s->what->period;
    struct sap_mem *const offset = fills ? m->offset.mem : m->count.mem;
    struct sap_mem *const list = fills ? m->list.mem : m->count.mem;
    if (period > 0)
        return sap_launch_tree_search_images(of->session, of->f, n, m->query.mem, of->own->sorted.mem,
                                             of->own->address.mem, of->nodes->link.mem, of->nodes->next.mem,
                                             of->nodes->cell.mem, m->count.mem, offset, list, fills, period, n);
    return sap_launch_tree_search(of->session, of->f, n, m->query.mem, of->own->sorted.mem, of->own->address.mem,
                                  of->nodes->link.mem, of->nodes->next.mem, of->nodes->cell.mem, m->count.mem, offset,
                                  list, fills, n);
}

/* Counts the members of each list, and computes `first` from the counts. */
static int count_all(struct tree_search *s)
{
    const struct sap_gpu_session *const session = s->of->session;
    const int ni = s->what->ni;
    long long *const first = s->what->first;
    TRY(send_queries(s));
    TRY(sap_gpu_nodes_make_next(session, s->of->f, s->of->nodes));
    TRY(sap_session_reserve(session, &s->there->count, (size_t)ni * sizeof(int)));
    TRY(launch_search(s, ni, 0));
    TRY(sap_session_copy_out(session, s->count, s->there->count.mem, 0, (size_t)ni * sizeof *s->count));
    TRY(sap_session_wait(session));
    first[0] = 0;
    for (int i = 0; i < ni; i++) first[i + 1] = first[i] + s->count[i];
    while (s->whole < ni && first[s->whole] < s->what->room) s->whole++;
    return SAP_DRIVER_OK;
}

static int fill_lists(struct tree_search *s)
{
    struct sap_gpu_session *const session = s->of->session;
    struct sap_gpu_search *const m = s->there;
    const long long *const first = s->what->first;
    const size_t entries = (size_t)first[s->whole];
    if (entries == 0) return SAP_DRIVER_OK;
    s->list = sap_session_host_memory(session, entries, sizeof *s->list);
    if (!s->list) return SAP_DRIVER_MEMORY;
    TRY(sap_session_reserve(session, &m->offset, (size_t)s->whole * sizeof *first));
    TRY(sap_session_reserve(session, &m->list, entries * sizeof *s->list));
    TRY(sap_session_copy_in(session, m->offset.mem, 0, first, (size_t)s->whole * sizeof *first));
    TRY(launch_search(s, s->whole, 1));
    TRY(sap_session_copy_out(session, s->list, m->list.mem, 0, entries * sizeof *s->list));
    return sap_session_wait(session);
}

static void deliver(const struct tree_search *s)
{
    const long long *const first = s->what->first;
    for (int i = 0; i < s->whole && s->list; i++) {
        const long long left = s->what->room - first[i];
        const size_t n = (size_t)(s->count[i] < left ? s->count[i] : left);
        int *const from = s->list + first[i];
        qsort(from, (size_t)s->count[i], sizeof *from, by_number);
        memcpy(s->what->list + first[i], from, n * sizeof *from);
    }
}

int sap_gpu_search_run(struct sap_gpu_search *memory, const struct sap_gpu_built *of, const struct sap_gpu_sought *what)
{
    struct tree_search s = {.what = what, .of = of, .there = memory};
    int status = sap_session_begin(of->session);
    if (status) return status;
    memset(what->first, 0, ((size_t)what->ni + 1) * sizeof *what->first);
    if (what->ni == 0 || of->nodes->n == 0) return sap_session_end(of->session, SAP_DRIVER_OK);
    s.count = sap_session_host_memory(of->session, (size_t)what->ni, sizeof *s.count);
    status = s.count ? count_all(&s) : (int)SAP_DRIVER_MEMORY;
    if (!status) status = fill_lists(&s);
    if (!status) deliver(&s);
    status = sap_session_end(of->session, status);
    free(s.list);
    free(s.count);
    return status || what->first[what->ni] <= what->room ? status : SAPPORO_TRUNCATED;
}

void sap_gpu_search_free(const struct sap_driver *driver, struct sap_gpu_search *memory)
{
    sap_gpu_free(driver, &memory->query);
    sap_gpu_free(driver, &memory->count);
    sap_gpu_free(driver, &memory->offset);
    sap_gpu_free(driver, &memory->list);
}
