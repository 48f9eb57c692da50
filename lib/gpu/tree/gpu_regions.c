/* gpu_regions.c - see gpu_regions.h: regions are chosen on the host from the largest nodes, and reported by the device.
 */
#include "gpu/tree/gpu_regions.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/team.h"
#include "base/threads.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_primitives.h"
#include "gpu/tree/gpu_kernels.h"

enum { BINS = SAP_HALO_BINS, BIN_BYTES = 2 * BINS * sizeof(int) };

/* The inner nodes of a tree that are larger than some size, in their order. */
struct top {
    int n, *node, *child, *children;
    double *size;
};

/* ---- the largest nodes ---------------------------------------------------------------------- */

/* Finds the first bin of which not all nodes can be divided; waits. */
static int find_last_bin(struct sap_gpu_regions *h, const struct sap_gpu_built *of, int room, int *last)
{
    struct sap_gpu_session *const s = of->session;
    const struct sap_gpu_nodes *const nodes = of->nodes;
    int bins[2 * BINS], regions = 1;
    TRY(sap_session_reserve(s, &h->bins, BIN_BYTES));
    TRY(sap_session_fill(s, h->bins.mem, 0, 0, BIN_BYTES));
    TRY(sap_launch_tree_halo_bins(s, of->f, nodes->n, nodes->link.mem, nodes->cell.mem, h->bins.mem, nodes->n));
    TRY(sap_session_download(s, bins, &h->bins, 0, sizeof bins));
    for (*last = 0; *last < BINS; ++*last) {
        regions += bins[*last];
        if (regions > room) return SAP_DRIVER_OK;
    }
    *last = INT_MAX; /* all inner nodes */
    return SAP_DRIVER_OK;
}

/* Lists the inner nodes of bins up to the last; waits for their number. */
static int list_top(struct sap_gpu_regions *h, const struct sap_gpu_built *of, int last, int *n)
{
    struct sap_gpu_session *const s = of->session;
    const struct sap_gpu_nodes *const nodes = of->nodes;
    const size_t bytes = (size_t)nodes->n * sizeof(int);
    size_t at;
    TRY(sap_session_reserve(s, &h->child, bytes));
    TRY(sap_session_reserve(s, &h->children, bytes));
    TRY(sap_session_reserve(s, &h->list, bytes));
    TRY(sap_session_reserve(s, &s->scratch, sap_primitives_scratch(nodes->n)));
    TRY(sap_launch_tree_halo_flag(s, of->f, nodes->n, nodes->link.mem, nodes->cell.mem, h->child.mem, last, nodes->n));
    TRY(sap_primitives_compact(s->primitives, s->stream, h->child.mem, NULL, h->children.mem, h->list.mem, nodes->n,
                               s->scratch.mem, &at));
    return sap_session_download(s, n, &s->scratch, at, sizeof *n);
}

static void free_top(struct top *top)
{
    free(top->node);
    free(top->size);
}

/* Copies the listed nodes to the host; the caller frees them, also after a failure. */
static int fetch_top(struct sap_gpu_regions *h, const struct sap_gpu_built *of, struct top *top)
{
    struct sap_gpu_session *const s = of->session;
    const struct sap_gpu_nodes *const nodes = of->nodes;
    const size_t n = (size_t)top->n, bytes = n * sizeof(int);
    top->node = sap_session_host_memory(s, 3 * n + 1, sizeof *top->node);
    if (top->node) top->size = sap_session_host_memory(s, n + 1, sizeof *top->size);
    if (!top->node || !top->size) return SAP_DRIVER_MEMORY;
    top->child = top->node + n, top->children = top->child + n;
    if (n == 0) return SAP_DRIVER_OK;
    TRY(sap_session_reserve(s, &h->size, n * sizeof(double)));
    TRY(sap_launch_tree_halo_top(s, of->f, top->n, nodes->link.mem, nodes->cell.mem, h->list.mem, h->child.mem,
                                 h->children.mem, h->size.mem, top->n));
    TRY(sap_session_download(s, top->node, &h->list, 0, bytes));
    TRY(sap_session_download(s, top->child, &h->child, 0, bytes));
    TRY(sap_session_download(s, top->children, &h->children, 0, bytes));
    return sap_session_download(s, top->size, &h->size, 0, n * sizeof(double));
}

/* ---- the choice --------------------------------------------------------------------------------- */

/* The regions below a size: a node that is larger is replaced by its children. */
static int count_below(const void *tree, double size, int room)
{
    const struct top *const top = tree;
    int regions = 1;
    (void)room;
    for (int i = 0; i < top->n; i++)
        if (top->size[i] > size) regions += top->children[i] - 1;
    return regions;
}

/* The entry of a node, or -1. */
static int find_top(const struct top *top, int node)
{
    int from = 0, n = top->n;
    while (n > 0) {
        const int half = n / 2;
        if (top->node[from + half] < node)
            from += half + 1, n -= half + 1;
        else
            n = half;
    }
    return from < top->n && top->node[from] == node ? from : -1;
}

/* Writes the regions below node k, depth first. */
static int cut_below(const struct top *top, int k, double size, int *region)
{
    const int i = find_top(top, k);
    int cut = 0;
    if (i < 0 || !(top->size[i] > size)) {
        region[0] = k;
        return 1;
    }
    for (int c = 0; c < top->children[i]; c++) cut += cut_below(top, top->child[i] + c, size, region + cut);
    return cut;
}

/* Sizes of the bounds of groups, of which threads compute the logarithms. */
struct sizes {
    double *size, *log;
};

static void take_logarithms(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct sizes *const s = argument;
    for (ptrdiff_t g = from; g < to; g++) s->log[g] = s->size[g] > 0 ? log(s->size[g]) : 0;
}

/* The geometric mean of the sizes of bounds that have one; sums are in order of groups. */
static int find_widest(struct sap_gpu_regions *h, const struct sap_gpu_built *of, double *widest)
{
    struct sap_gpu_session *const session = of->session;
    const int groups = of->own->groups, threads = sap_threads_few(1 + groups / 4096);
    double *const size = sap_session_host_memory(session, 2 * (size_t)groups, sizeof *size), sum = 0;
    int n = 0;
    if (!size) return SAP_DRIVER_MEMORY;
    struct sizes s = {size, size + groups};
    int status = sap_session_reserve(session, &h->size, (size_t)groups * sizeof *size);
    if (!status) status = sap_launch_tree_halo_sizes(session, of->f, groups, of->own->bound.mem, h->size.mem, groups);
    if (!status) status = sap_session_download(session, size, &h->size, 0, (size_t)groups * sizeof *size);
    if (!status) sap_team_for(threads, groups, sap_team_chunk(groups, threads, 1024), take_logarithms, &s);
    for (int g = 0; g < groups && !status; g++)
        if (s.size[g] > 0) sum += s.log[g], n++;
    free(size);
    *widest = n > 0 ? SAP_HALO_WIDE * exp(sum / n) : 0;
    return status;
}

/* Uploads the nodes of at most `room` regions. */
static int choose(struct sap_gpu_regions *h, struct sap_gpu_session *s, int room, const struct top *top)
{
    int *const region = sap_session_host_memory(s, (size_t)room + 1, sizeof *region), root = find_top(top, 0);
    if (!region) return SAP_DRIVER_MEMORY;
    const double size = root < 0 ? 0 : sap_regions_size(top->size[root], room, count_below, top);
    h->n = cut_below(top, 0, size, region);
    const size_t bytes = (size_t)h->n * sizeof *region;
    int status = sap_session_reserve(s, &h->node, bytes);
    if (!status) status = sap_session_copy_in(s, h->node.mem, 0, region, bytes);
    if (!status) status = sap_session_wait(s);
    free(region);
    return status;
}

/* Chooses the regions of the present nodes and particles, unless they are known. */
static int choose_regions(struct sap_gpu_regions *h, const struct sap_gpu_built *of, int room)
{
    struct top top = {.n = 0};
    int last;
    if (h->room == room) return SAP_DRIVER_OK;
    h->room = 0;
    TRY(find_widest(h, of, &h->widest));
    TRY(find_last_bin(h, of, room, &last));
    TRY(list_top(h, of, last, &top.n));
    int status = fetch_top(h, of, &top);
    if (!status) status = choose(h, of->session, room, &top);
    free_top(&top);
    if (!status) h->room = room;
    return status;
}

/* ---- the report -------------------------------------------------------------------------------------- */

static void fill_bytes(void *argument, void *to, int first, int n)
{
    memcpy(to, (const unsigned char *)argument + first, (size_t)n);
}

/* Uploads what regions depend on besides the tree: the active particles, sizes of accelerations. */
static int upload_targets(struct sap_gpu_regions *h, const struct sap_gpu_built *of,
                          const struct sap_halo_targets *targets)
{
    struct sap_gpu_session *const s = of->session;
    const int n = of->frame->n;
    const sapporo_column a = {targets->a, 0};
    if (targets->a) {
        of->given->has_a = 0; /* the whole has other accelerations */
        TRY(sap_gpu_given_send_a(s, of->given, &a, n));
    }
    if (!targets->active) return SAP_DRIVER_OK;
    TRY(sap_session_reserve(s, &h->active, (size_t)n));
    return sap_session_upload(s, &h->active, 1, n, fill_bytes, (void *)(uintptr_t)targets->active);
}

int sap_gpu_regions_report(struct sap_gpu_regions *h, const struct sap_gpu_built *of, int room,
                           const struct sap_halo_targets *targets, struct sap_halo_region *region)
{
    struct sap_gpu_session *const s = of->session;
    const struct sap_gpu_targets *const own = of->own;
    const int has_active = targets->active != NULL, has_a = targets->a != NULL || targets->has_a;
    const double accuracy = sap_group_accuracy(of->frame->ball, of->frame->accuracy);
    TRY(choose_regions(h, of, room));
    TRY(upload_targets(h, of, targets));
    TRY(sap_session_reserve(s, &h->region, (size_t)room * sizeof *region));
    const struct sap_gpu_buffer *const flags = has_active ? &h->active : &own->address;
    const int has_length = of->lengths->law->number == SAP_GPU_SPLINE;
    TRY(sap_launch_tree_halo_tell(s, of->f, h->n, h->node.mem, of->nodes->link.mem, own->sorted.mem, own->address.mem,
                                  own->group_of.mem, own->bound.mem, flags->mem, has_active, of->given->a.mem, has_a,
                                  has_length ? of->lengths->given.mem : own->sorted.mem, has_length, h->widest,
                                  accuracy, h->region.mem));
    TRY(sap_session_download(s, region, &h->region, 0, (size_t)h->n * sizeof *region));
    for (int r = h->n; r < room; r++) region[r] = (struct sap_halo_region){.strictness = -1};
    return SAP_DRIVER_OK;
}

void sap_gpu_regions_free(const struct sap_driver *driver, struct sap_gpu_regions *h)
{
    struct sap_gpu_buffer *const all[] = {&h->bins, &h->list, &h->child,  &h->children,
                                          &h->size, &h->node, &h->active, &h->region};
    for (int k = 0; k < COUNT(all); k++) sap_gpu_free(driver, all[k]);
    h->room = 0;
}
