/* gpu_search.c - see gpu_search.h: count, add up, write; a thread for each target, in the order of the tree. */
#include "gpu/tree/gpu_search.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_kernels.h"
#include "gpu/tree/gpu_pass.h"
#include "gpu/tree/gpu_seekers.h"

_Static_assert(sizeof(long long) == sizeof(uint64_t), "kernels write numbers of 64 bits");

/* A search under computation. */
struct within_search {
    struct sap_gpu_host_tree *t;
    const sapporo_tree_request *request;
    int bad_active, bad_radius; /* the first entry of the list, or row, that is not valid; -1: none */
    struct sap_gpu_seekers of;
    struct sap_gpu_array radius, list_first, list;
    long long room, total; /* entries that there is room for, and that there are */
};

/* ---- kernels ------------------------------------------------------------------------------ */

/* Counts, or with `fills` writes; bad: as sap_gpu_given_look returns it, for counts. */
static int launch(const struct within_search *w, struct sap_mem *bad, int fills)
{
    struct sap_gpu_host_tree *const t = w->t;
    const struct sap_gpu_seekers *const of = &w->of;
    struct sap_mem *const slot = of->slot ? of->slot->mem : of->row->mem, *const count = t->search.count.mem;
    struct sap_mem *const list_first = fills ? w->list_first.mem : t->search.list_sum.mem, *const list =
                                                                                               fills ? w->list.mem
                                                                                                     : count;
    const double period = t->settings.period;
    const struct sap_gpu_within q = {
        .own = !w->request->x.base, .has_slot = of->slot != NULL, .fills = fills, .n = w->request->ni};
    if (period > 0)
        return sap_launch_tree_within_images(&t->session, t->f, q.n, of->walker->mem, slot, of->row->mem, w->radius.mem,
                                             t->own.sorted.mem, t->own.address.mem, t->nodes.link.mem,
                                             t->nodes.next.mem, t->nodes.cell.mem, count, bad, list_first, list,
                                             (uint64_t)w->room, period, q);
    return sap_launch_tree_within(&t->session, t->f, q.n, of->walker->mem, slot, of->row->mem, w->radius.mem,
                                  t->own.sorted.mem, t->own.address.mem, t->nodes.link.mem, t->nodes.next.mem,
                                  t->nodes.cell.mem, count, bad, list_first, list, (uint64_t)w->room, q);
}

/* Writes where lists begin, and reads the length of all. */
static int add_up(struct within_search *w)
{
    struct sap_gpu_host_tree *const t = w->t;
    struct sap_gpu_session *const s = &t->session;
    struct sap_gpu_search *const m = &t->search;
    const int ni = w->request->ni, parts = ni / SAP_WITHIN_ROWS + (ni % SAP_WITHIN_ROWS > 0);
    TRY(sap_launch_tree_within_sums(s, t->f, parts, m->count.mem, m->list_sum.mem, ni));
    TRY(sap_launch_tree_within_scan(s, t->f, 1, m->list_sum.mem, parts));
    TRY(sap_launch_tree_within_first(s, t->f, parts, m->count.mem, m->list_sum.mem, w->list_first.mem, ni));
    return sap_session_download(s, &w->total, &m->list_sum, (size_t)parts * sizeof w->total, sizeof w->total);
}

/* ---- all of it ---------------------------------------------------------------------------- */

static int reserve(const struct within_search *w)
{
    const struct sap_gpu_session *const s = &w->t->session;
    struct sap_gpu_search *const m = &w->t->search;
    const size_t ni = (size_t)w->request->ni;
    TRY(sap_session_reserve(s, &m->count, ni * sizeof(int)));
    return sap_session_reserve(s, &m->list_sum, (ni / SAP_WITHIN_ROWS + 2) * sizeof(uint64_t));
}

/* Brings the radii to the device. */
static int take_radii(struct within_search *w, const sapporo_column *radius)
{
    struct sap_gpu_session *const s = &w->t->session;
    const sapporo_memory memory = w->request->memory;
    struct sap_gpu_buffer *const own = &w->t->search.radius;
    TRY(sap_gpu_array_find(s, memory, radius->base, (size_t)w->request->ni * sizeof(double), own, &w->radius));
    if (memory == SAPPORO_MEMORY_DEVICE) return SAP_DRIVER_OK;
    TRY(sap_session_wait(s)); /* targets have left pinned memory */
    return sap_session_send(s, own, radius, sizeof(double), w->request->ni);
}

static int count_all(struct within_search *w)
{
    struct sap_gpu_session *const s = &w->t->session;
    struct sap_mem *bad;
    int found[SAP_GIVEN_KINDS];
    TRY(sap_gpu_nodes_make_next(s, w->t->f, &w->t->nodes));
    TRY(sap_gpu_given_look(s, &bad));
    TRY(launch(w, bad, 0));
    TRY(sap_gpu_given_ask(s, found));
    if (found[0] != SAP_NONE_BAD) w->bad_radius = found[0];
    return SAP_DRIVER_OK;
}

static int run(struct within_search *w, const sapporo_column *radius, long long *first, int *list)
{
    struct sap_gpu_session *const s = &w->t->session;
    struct sap_gpu_search *const m = &w->t->search;
    const sapporo_memory memory = w->request->memory;
    const size_t firsts = ((size_t)w->request->ni + 1) * sizeof *first;
    TRY(sap_gpu_seekers_choose(w->t, w->request, &w->of, &w->bad_active));
    if (w->bad_active >= 0) return SAP_DRIVER_OK;
    TRY(reserve(w));
    TRY(take_radii(w, radius));
    TRY(count_all(w));
    if (w->bad_radius >= 0) return SAP_DRIVER_OK;
    TRY(sap_gpu_array_find(s, memory, first, firsts, &m->list_first, &w->list_first));
    TRY(add_up(w));
    const size_t entries = (size_t)(w->total < w->room ? w->total : w->room);
    if (entries > 0) TRY(sap_gpu_array_find(s, memory, list, entries * sizeof *list, &m->list, &w->list));
    if (entries > 0) TRY(launch(w, m->count.mem, 1));
    if (memory == SAPPORO_MEMORY_DEVICE) return sap_session_wait(s);
    sap_session_expect(list, entries * sizeof *list);
    TRY(sap_session_download(s, first, &m->list_first, 0, firsts));
    return entries > 0 ? sap_session_download(s, list, &m->list, 0, entries * sizeof *list) : (int)SAP_DRIVER_OK;
}

/* Writes the empty lists of a tree without particles, or of no targets. */
static int none(struct within_search *w, long long *first)
{
    struct sap_gpu_session *const s = &w->t->session;
    const size_t bytes = ((size_t)w->request->ni + 1) * sizeof *first;
    if (w->request->memory != SAPPORO_MEMORY_DEVICE) {
        memset(first, 0, bytes);
        return SAP_DRIVER_OK;
    }
    TRY(sap_gpu_array_find(s, w->request->memory, first, bytes, NULL, &w->list_first));
    TRY(sap_session_fill(s, w->list_first.mem, 0, 0, bytes));
    return sap_session_wait(s);
}

static int bad_radius(struct within_search *w)
{
    char *const words = w->t->session.message;
    (void)snprintf(words, sizeof w->t->session.message, "the radius of row %d is not a number >= 0", w->bad_radius);
    return SAPPORO_ERR_ARGUMENT;
}

int sap_gpu_within(struct sap_gpu_host_tree *t, const sapporo_tree_request *request, const sapporo_column *radius,
                   long long *first, long long room, int *list)
{
    struct within_search w = {.t = t, .request = request, .room = room, .bad_active = -1, .bad_radius = -1};
    int status = sap_session_begin(&t->session);
    if (status) return status;
    const char *const why = sap_gpu_request_refused(t, request);
    if (why) return sap_session_refuse(&t->session, SAPPORO_ERR_UNSUPPORTED, why);
    status = t->frame.n > 0 && request->ni > 0 ? run(&w, radius, first, list) : none(&w, first);
    sap_gpu_array_release(&t->session, &w.radius);
    sap_gpu_array_release(&t->session, &w.list_first);
    sap_gpu_array_release(&t->session, &w.list);
    status = sap_session_end(&t->session, status);
    if (status) return status;
    if (w.bad_active >= 0) return sap_gpu_request_lists_none(t, w.bad_active);
    if (w.bad_radius >= 0) return bad_radius(&w);
    return w.total > room ? SAPPORO_TRUNCATED : SAPPORO_OK;
}

void sap_gpu_search_free(const struct sap_driver *driver, struct sap_gpu_search *memory)
{
    struct sap_gpu_buffer *const all[] = {&memory->radius, &memory->count, &memory->list_sum, &memory->list_first,
                                          &memory->list};
    for (int k = 0; k < COUNT(all); k++) sap_gpu_free(driver, all[k]);
}
