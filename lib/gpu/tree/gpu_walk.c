/* gpu_walk.c - see gpu_walk.h. */
#include "gpu/tree/gpu_walk.h"

#include "gpu/gpu_launch.h"
#include "gpu/gpu_primitives.h"
#include "gpu/tree/gpu_kernels.h"

enum { IDLE_GROUPS = 2048, IDLE_BUNCHES = 1024 }; /* of launches that mostly find no work left */
enum { LEFT_BUNCHES = 16384 };                    /* of a launch that may find all bunches of selected particles */
enum { PARTS_ORDERED = 1024 };                    /* fewer parts are all under way at once */

/* A kernel that walks: without spline softening, or, if that is NULL, with it. */
struct walk_kernel {
    int (*plain)(const struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f, int groups,
                 SAP_K_tree_walk_sp(SAP_PARAMETER_M, SAP_PARAMETER_V));
    int (*spline)(const struct sap_gpu_session *s, const struct sap_gpu_spline_kernels *f, int groups,
                  SAP_K_tree_walk_spline_sp(SAP_PARAMETER_M, SAP_PARAMETER_V));
};

static int launch(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to, struct walk_kernel kernel,
                  int groups, struct sap_gpu_walk how)
{
    const struct sap_gpu_built *const tree = &walk->tree;
    const struct sap_gpu_nodes *const from = walk->nodes;
    const struct sap_gpu_targets *const of = to->of;
    const struct sap_gpu_results *const r = walk->results;
    struct sap_mem *const left = walk->lists->left.mem;
    if (kernel.plain)
        return kernel.plain(tree->session, tree->f, groups, walk->sorted->mem, of->sorted.mem, from->word.mem,
                            from->source.mem, from->moments.mem, from->cell.mem, of->group_first.mem, of->group_of.mem,
                            of->bound.mem, of->heavy.mem, to->strict->mem, to->slot->mem, to->row->mem, r->acc.mem,
                            r->pot.mem, left, how, *tree->frame);
    return kernel.spline(tree->session, tree->lengths->f, groups, walk->sorted->mem, of->sorted.mem, from->word.mem,
                         from->source.mem, from->moments.mem, from->cell.mem, of->group_first.mem, of->group_of.mem,
                         of->bound.mem, of->heavy.mem, to->strict->mem, to->slot->mem, to->row->mem, r->acc.mem,
                         r->pot.mem, left, tree->own->length.mem, of->length.mem, of->longest.mem, tree->lengths->mean,
                         how, *tree->frame);
}

/* Returns the kernel that walks groups; wide: in dp. */
static struct walk_kernel kernel_of_groups(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to,
                                           int wide)
{
    const int whole = to->w.part == SAP_WALK_THREADS * SAP_WALK_IPT;
    if (!to->w.all_slots)
        return (struct walk_kernel){.plain = wide ? sap_launch_tree_selected_dp : sap_launch_tree_selected_sp};
    if (walk->tree.lengths->f)
        return (struct walk_kernel){.spline = wide    ? sap_launch_tree_walk_spline_dp
                                              : whole ? sap_launch_tree_walk_whole_spline_sp
                                                      : sap_launch_tree_walk_spline_sp};
    return (struct walk_kernel){.plain = wide    ? sap_launch_tree_walk_dp
                                         : whole ? sap_launch_tree_walk_whole_sp
                                                 : sap_launch_tree_walk_sp};
}

static int launch_groups(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to, int wide, int from)
{
    struct sap_gpu_walk how = to->w;
    how.from = from;
    return launch(walk, to, kernel_of_groups(walk, to, wide),
                  from < 0 || from == SAP_LEFT_ORDER ? to->w.parts : (int)IDLE_GROUPS, how);
}

/* Returns the number of groups of threads that compute bunches. */
static int groups_of_few(const struct sap_gpu_subset *to, int width, int from)
{
    const int bunches = to->w.slots / width + (to->w.slots % width > 0);
    const int apart = to->w.every ? SAP_LEFT_WIDE : SAP_LEFT_APART;
    const int most = from == SAP_LEFT_BOTH || (from == apart && !to->w.all_slots) ? LEFT_BUNCHES : IDLE_BUNCHES;
    return from < 0 || bunches < most ? bunches : most;
}

static int launch_few(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to, int wide, int from)
{
    const int least = from < 0 ? to->w.width : to->w.left_width;
    struct sap_gpu_walk how = to->w;
    how.from = from;
    if (from != SAP_LEFT_BOTH) how.width = least;
    /* many bunches of one row keep a device busy with one warp each; otherwise four warps per bunch are faster */
    const int large = !wide && (least > 1 || to->w.slots <= SAP_GPU_FEW_ROWS);
    const struct walk_kernel spline = {.spline = wide ? sap_launch_tree_few_spline_dp : sap_launch_tree_few_spline_sp};
    const struct walk_kernel plain = {.plain = wide    ? sap_launch_tree_few_dp
                                               : large ? sap_launch_tree_large_sp
                                                       : sap_launch_tree_few_sp};
    return launch(walk, to, walk->tree.lengths->f ? spline : plain, groups_of_few(to, least, from), how);
}

/* Lists the bunches of selected particles. */
static int list_bunches(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to)
{
    const int bunches = to->w.slots / to->w.width + (to->w.slots % to->w.width > 0);
    return (to->w.every ? sap_launch_tree_bunches_dp : sap_launch_tree_bunches_sp)(
        walk->tree.session, walk->tree.f, bunches, to->slot->mem, walk->lists->left.mem, to->w);
}

/* Lists the parts in the order in which they walk, where it matters; *from: that list, or -1. */
static int order_parts(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to, int *from)
{
    struct sap_gpu_session *const s = walk->tree.session;
    struct sap_gpu_walk_lists *const lists = walk->lists;
    const int parts = to->w.parts;
    int at;
    *from = -1;
    if (!to->w.strict || !to->w.all_slots || parts < PARTS_ORDERED) return SAP_DRIVER_OK;
    TRY(sap_gpu_targets_reserve_sort(s, lists->key, lists->value, parts));
    const struct sap_sort sort = {.key = {lists->key[0].mem, lists->key[1].mem},
                                  .value = {lists->value[0].mem, lists->value[1].mem},
                                  .n = parts,
                                  .to = 8,
                                  .places = 1};
    TRY(sap_launch_tree_part_keys(s, walk->tree.f, parts, to->strict->mem, lists->key[0].mem, to->w.group_parts,
                                  parts));
    TRY(sap_primitives_sort(s->primitives, s->stream, &sort, s->scratch.mem, &at));
    *from = SAP_LEFT_ORDER;
    return sap_launch_tree_part_order(s, walk->tree.f, parts, lists->value[at].mem, lists->left.mem, parts, to->w);
}

/* Launches the walks. Each launch computes the rows that earlier launches have left. */
static int launch_walks(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to)
{
    const int parts = to->w.parts > 0, listed = !parts && to->w.span > 0, every = to->w.every;
    const int apart = every ? SAP_LEFT_WIDE : SAP_LEFT_APART;
    int order;
    if (parts) TRY(order_parts(walk, to, &order));
    if (parts) TRY(launch_groups(walk, to, every, order));
    if (listed) TRY(list_bunches(walk, to));
    TRY(launch_few(walk, to, every, parts ? apart : listed ? (int)SAP_LEFT_BOTH : -1));
    if (every) return SAP_DRIVER_OK;
    if (parts) TRY(launch_groups(walk, to, 1, SAP_LEFT_PARTS));
    return launch_few(walk, to, 1, SAP_LEFT_WIDE);
}

static int launch_alone_spline(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to,
                               const struct sap_gpu_buffer *sizes)
{
    const struct sap_gpu_built *const tree = &walk->tree;
    const struct sap_gpu_targets *const of = to->of;
    const struct sap_gpu_results *const r = walk->results;
    return sap_launch_tree_alone_spline(tree->session, tree->lengths->f, to->w.slots, of->sorted.mem,
                                        walk->stops->stop.mem, tree->nodes->cell.mem, sizes->mem, of->address.mem,
                                        to->slot->mem, to->row->mem, r->acc.mem, r->pot.mem, walk->lists->left.mem,
                                        walk->stops->n, tree->nodes->word.mem, tree->own->length.mem, of->length.mem,
                                        tree->lengths->mean, to->w, *tree->frame);
}

static int launch_alone(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to)
{
    const struct sap_gpu_built *const tree = &walk->tree;
    const struct sap_gpu_targets *const of = to->of;
    const struct sap_gpu_results *const r = walk->results;
    const struct sap_gpu_buffer *const sizes = to->a ? to->a : &of->sorted;
    TRY(sap_gpu_stops_make(walk->stops, tree, walk->cells));
    if (tree->lengths->f) return launch_alone_spline(walk, to, sizes);
    return (tree->frame->order > 1 ? sap_launch_tree_alone_moments : sap_launch_tree_alone_masses)(
        tree->session, tree->f, to->w.slots, of->sorted.mem, walk->stops->stop.mem, tree->nodes->cell.mem, sizes->mem,
        of->address.mem, to->slot->mem, to->row->mem, r->acc.mem, r->pot.mem, walk->lists->left.mem, walk->stops->n,
        to->w, *tree->frame);
}

size_t sap_gpu_walk_left_words(const struct sap_gpu_walk *w)
{
    return SAP_LEFT_FIRST + (size_t)SAP_LEFT_LISTS * (size_t)w->left_room;
}

int sap_gpu_walk_run(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to)
{
    const struct sap_gpu_session *const s = walk->tree.session;
    struct sap_gpu_buffer *const left = &walk->lists->left;
    const size_t words = sap_gpu_walk_left_words(&to->w) + (to->w.work > 0 ? (size_t)to->w.slots : 0);
    TRY(sap_gpu_results_reserve(s, walk->results, to->w.slots));
    TRY(sap_session_reserve(s, left, words * sizeof(int)));
    TRY(sap_session_fill(s, left->mem, 0, 0, SAP_LEFT_FIRST * sizeof(int)));
    return walk->stops ? launch_alone(walk, to) : launch_walks(walk, to);
}

void sap_gpu_walk_free(const struct sap_driver *driver, struct sap_gpu_walk_lists *lists)
{
    sap_gpu_free(driver, &lists->left);
    for (int k = 0; k < 2; k++) {
        sap_gpu_free(driver, &lists->key[k]);
        sap_gpu_free(driver, &lists->value[k]);
    }
}
