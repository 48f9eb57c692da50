/* gpu_nearest.c - see gpu_nearest.h: targets in the order of the tree, a thread or a group of threads for each. */
#include "gpu/tree/gpu_nearest.h"

#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_kernels.h"
#include "gpu/tree/gpu_pass.h"
#include "gpu/tree/gpu_seekers.h"

/* Entries of the heaps of a launch, at most: 12 bytes each; the k from which groups of threads are faster. */
enum { ENTRIES = 1 << 24, BY_GROUPS = 33 };

_Static_assert((int)SAP_NEAREST_K == (int)SAPPORO_NEAREST_MOST, "groups have room for every k");

/* A search under computation. */
struct nearest_search {
    struct sap_gpu_host_tree *t;
    const sapporo_tree_request *request;
    int bad_active; /* as in struct sap_gpu_pass */
    struct sap_gpu_seekers of;
    struct sap_gpu_array list, distance2; /* distance2.mem NULL: not wanted */
    int k;
};

/* Searches for some targets, each by a thread. */
static int launch(const struct nearest_search *n, struct sap_gpu_nearest q)
{
    struct sap_gpu_host_tree *const t = n->t;
    struct sap_gpu_near *const m = &t->near;
    const double period = t->settings.period;
    struct sap_mem *const slot = n->of.slot ? n->of.slot->mem : n->of.row->mem;
    struct sap_mem *const distance2 = q.tells ? n->distance2.mem : m->heap2.mem;
    if (period > 0)
        return sap_launch_tree_nearest_images(&t->session, t->f, q.n, n->of.walker->mem, slot, n->of.row->mem,
                                              t->own.sorted.mem, t->own.address.mem, t->nodes.link.mem,
                                              t->nodes.next.mem, t->nodes.cell.mem, m->heap2.mem, m->heap.mem,
                                              n->list.mem, distance2, period, q);
    return sap_launch_tree_nearest(&t->session, t->f, q.n, n->of.walker->mem, slot, n->of.row->mem, t->own.sorted.mem,
                                   t->own.address.mem, t->nodes.link.mem, t->nodes.next.mem, t->nodes.cell.mem,
                                   m->heap2.mem, m->heap.mem, n->list.mem, distance2, q);
}

/* Searches for all targets by threads, as many at a time as the memory of heaps is for. */
static int search_alone(const struct nearest_search *n, struct sap_gpu_nearest q)
{
    const struct sap_gpu_session *const s = &n->t->session;
    struct sap_gpu_near *const m = &n->t->near;
    const int ni = n->request->ni, most = ENTRIES / n->k, rows = ni < most ? ni : most;
    TRY(sap_session_reserve(s, &m->heap2, (size_t)rows * (size_t)n->k * sizeof(double)));
    TRY(sap_session_reserve(s, &m->heap, (size_t)rows * (size_t)n->k * sizeof(int)));
    for (; q.first < ni; q.first += q.n) {
        q.n = ni - q.first < rows ? ni - q.first : rows;
        TRY(launch(n, q));
    }
    return SAP_DRIVER_OK;
}

/* Searches for all targets, each by a group of threads. */
static int search_by_groups(const struct nearest_search *n, struct sap_gpu_nearest q)
{
    struct sap_gpu_host_tree *const t = n->t;
    struct sap_mem *const slot = n->of.slot ? n->of.slot->mem : n->of.row->mem;
    struct sap_mem *const distance2 = q.tells ? n->distance2.mem : n->of.walker->mem;
    return sap_launch_tree_nearest_group(&t->session, t->f, n->request->ni, n->of.walker->mem, slot, n->of.row->mem,
                                         t->own.sorted.mem, t->own.address.mem, t->nodes.link.mem, t->nodes.next.mem,
                                         t->nodes.cell.mem, n->list.mem, distance2, t->settings.period, q);
}

static int search_all(const struct nearest_search *n)
{
    struct sap_gpu_host_tree *const t = n->t;
    const struct sap_gpu_nearest q = {
        .own = !n->request->x.base, .has_slot = n->of.slot != NULL, .tells = n->distance2.mem != NULL, .k = n->k};
    TRY(sap_gpu_nodes_make_next(&t->session, t->f, &t->nodes));
    return n->k < BY_GROUPS ? search_alone(n, q) : search_by_groups(n, q);
}

static int run(struct nearest_search *n, int *list, double *distance2)
{
    struct sap_gpu_session *const s = &n->t->session;
    struct sap_gpu_near *const m = &n->t->near;
    const sapporo_memory memory = n->request->memory;
    const size_t entries = (size_t)n->request->ni * (size_t)n->k;
    TRY(sap_gpu_seekers_choose(n->t, n->request, &n->of, &n->bad_active));
    if (n->bad_active >= 0) return SAP_DRIVER_OK;
    TRY(sap_gpu_array_find(s, memory, list, entries * sizeof *list, &m->list, &n->list));
    TRY(sap_gpu_array_find(s, memory, distance2, entries * sizeof *distance2, &m->distance2, &n->distance2));
    TRY(search_all(n));
    if (memory == SAPPORO_MEMORY_DEVICE) return sap_session_wait(s);
    sap_session_expect(list, entries * sizeof *list);
    sap_session_expect(distance2, entries * sizeof *distance2);
    TRY(sap_session_download(s, list, &m->list, 0, entries * sizeof *list));
    return distance2 ? sap_session_download(s, distance2, &m->distance2, 0, entries * sizeof *distance2)
                     : (int)SAP_DRIVER_OK;
}

int sap_gpu_nearest(struct sap_gpu_host_tree *t, const sapporo_tree_request *request, int k, int *list,
                    double *distance2)
{
    struct nearest_search n = {.t = t, .request = request, .k = k, .bad_active = -1};
    int status = sap_session_begin(&t->session);
    if (status) return status;
    const char *const why = sap_gpu_request_refused(t, request);
    if (why) return sap_session_refuse(&t->session, SAPPORO_ERR_UNSUPPORTED, why);
    if (t->frame.n > 0)
        status = run(&n, list, distance2);
    else
        n.bad_active = 0; /* only lists in device memory come here */
    sap_gpu_array_release(&t->session, &n.list);
    sap_gpu_array_release(&t->session, &n.distance2);
    status = sap_session_end(&t->session, status);
    return status || n.bad_active < 0 ? status : sap_gpu_request_lists_none(t, n.bad_active);
}

void sap_gpu_near_free(const struct sap_driver *driver, struct sap_gpu_near *memory)
{
    sap_gpu_free(driver, &memory->heap2);
    sap_gpu_free(driver, &memory->heap);
    sap_gpu_free(driver, &memory->list);
    sap_gpu_free(driver, &memory->distance2);
}
