/* gpu_walk.c - see gpu_walk.h. */
#include "gpu/tree/gpu_walk.h"

#include "gpu/gpu_launch.h"
#include "gpu/gpu_primitives.h"
#include "gpu/tree/gpu_kernels.h"
#include "physics/tree_cell.h"

/*
 * Groups of launches that mostly find no work left. PoCL compiles a kernel once more for launches of 65,535 threads or
 * more, which takes half a minute for a walk: groups of parts stay below, and on a CPU those of all walks.
 */
enum { IDLE_GROUPS = 2047, IDLE_BUNCHES = 1024 };
_Static_assert((int)IDLE_GROUPS *(int)SAP_WALK_THREADS < 65535, "PoCL compiles walks twice");
enum { CROWD_GROUPS = 8448 };    /* of a launch that looks for crowds */
enum { LEFT_BUNCHES = 16384 };   /* of a launch that may find all bunches of selected particles */
enum { DISTRICT_GROUPS = 1024 }; /* of fewer groups none has a district */

/* A kernel that walks: with one softening length for all, with Plummer lengths per particle, or with splines. */
union walk_kernel {
    int (*plain)(const struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f, int groups,
                 SAP_K_tree_walk_sp(SAP_PARAMETER_M, SAP_PARAMETER_V));
    int (*soft)(const struct sap_gpu_session *s, const struct sap_gpu_soft_kernels *f, int groups,
                SAP_K_tree_walk_soft_sp(SAP_PARAMETER_M, SAP_PARAMETER_V));
    int (*spline)(const struct sap_gpu_session *s, const struct sap_gpu_spline_kernels *f, int groups,
                  SAP_K_tree_walk_spline_sp(SAP_PARAMETER_M, SAP_PARAMETER_V));
};

/* What a walk does by its softening. */
struct walk_law {
    union walk_kernel walk, whole, wide;       /* of parts of groups; whole: of parts of full length; wide: in dp */
    union walk_kernel selected, selected_wide; /* of parts of selected particles */
    union walk_kernel few, large, few_wide;    /* of bunches; large: by four warps */
    int selects;                               /* there is `selected` */
    int (*launch)(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to, union walk_kernel kernel,
                  int groups, struct sap_gpu_walk how);
    int (*alone)(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to,
                 const struct sap_gpu_buffer *sizes);
    int (*tidal)(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to);
};

/* ---- one length for all ---- */

static int launch_plain(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to, union walk_kernel kernel,
                        int groups, struct sap_gpu_walk how)
{
    const struct sap_gpu_built *const tree = &walk->tree;
    const struct sap_gpu_nodes *const from = walk->nodes;
    const struct sap_gpu_targets *const of = to->of;
    const struct sap_gpu_results *const r = walk->results;
    return kernel.plain(tree->session, tree->f, groups, walk->sorted->mem, of->sorted.mem, from->word.mem,
                        from->source.mem, from->moments.mem, from->cell.mem, of->group_first.mem, of->group_of.mem,
                        of->bound.mem, of->heavy.mem, to->strict->mem, to->slot->mem, to->row->mem, r->acc.mem,
                        r->pot.mem, walk->lists->left.mem, walk->lists->district_node.mem, walk->lists->district.mem,
                        how, *tree->frame);
}

static int alone_plain(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to,
                       const struct sap_gpu_buffer *sizes)
{
    const struct sap_gpu_built *const tree = &walk->tree;
    const struct sap_gpu_targets *const of = to->of;
    const struct sap_gpu_results *const r = walk->results;
    return (tree->frame->order > 1 ? sap_launch_tree_alone_moments : sap_launch_tree_alone_masses)(
        tree->session, tree->f, to->w.slots, of->sorted.mem, walk->stops->stop.mem, tree->nodes->cell.mem, sizes->mem,
        of->address.mem, to->slot->mem, to->row->mem, r->acc.mem, r->pot.mem, walk->lists->left.mem, walk->stops->n,
        to->w, *tree->frame);
}

static int tidal_plain(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to)
{
    const struct sap_gpu_built *const tree = &walk->tree;
    const struct sap_gpu_targets *const of = to->of;
    return (tree->frame->order > 1 ? sap_launch_tree_tidal_moments : sap_launch_tree_tidal_masses)(
        tree->session, tree->f, to->w.slots, of->sorted.mem, walk->stops->stop.mem, tree->nodes->cell.mem,
        of->bound.mem, of->group_of.mem, of->heavy.mem, of->strict.mem, to->slot->mem, to->row->mem,
        walk->results->tidal.mem, walk->lists->left.mem, walk->stops->n, to->w, *tree->frame);
}

/* ---- the law of splines ---- */

static int launch_spline(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to, union walk_kernel kernel,
                         int groups, struct sap_gpu_walk how)
{
    const struct sap_gpu_built *const tree = &walk->tree;
    const struct sap_gpu_nodes *const from = walk->nodes;
    const struct sap_gpu_targets *const of = to->of;
    const struct sap_gpu_results *const r = walk->results;
    return kernel.spline(tree->session, tree->lengths->spline, groups, walk->sorted->mem, of->sorted.mem,
                         from->word.mem, from->source.mem, from->moments.mem, from->cell.mem, of->group_first.mem,
                         of->group_of.mem, of->bound.mem, of->heavy.mem, to->strict->mem, to->slot->mem, to->row->mem,
                         r->acc.mem, r->pot.mem, walk->lists->left.mem, walk->length->mem, of->length.mem,
                         of->longest.mem, tree->lengths->soft.law, how, *tree->frame);
}

static int alone_spline(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to,
                        const struct sap_gpu_buffer *sizes)
{
    const struct sap_gpu_built *const tree = &walk->tree;
    const struct sap_gpu_targets *const of = to->of;
    const struct sap_gpu_results *const r = walk->results;
    return sap_launch_tree_alone_spline(tree->session, tree->lengths->spline, to->w.slots, of->sorted.mem,
                                        walk->stops->stop.mem, tree->nodes->cell.mem, sizes->mem, of->address.mem,
                                        to->slot->mem, to->row->mem, r->acc.mem, r->pot.mem, walk->lists->left.mem,
                                        walk->stops->n, tree->nodes->word.mem, walk->length->mem, of->length.mem,
                                        tree->lengths->soft.law, to->w, *tree->frame);
}

static int tidal_spline(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to)
{
    const struct sap_gpu_built *const tree = &walk->tree;
    const struct sap_gpu_targets *const of = to->of;
    return sap_launch_tree_tidal_spline(
        tree->session, tree->lengths->spline, to->w.slots, of->sorted.mem, walk->stops->stop.mem, tree->nodes->cell.mem,
        of->bound.mem, of->group_of.mem, of->heavy.mem, of->strict.mem, to->slot->mem, to->row->mem,
        walk->results->tidal.mem, walk->lists->left.mem, walk->stops->n, tree->nodes->word.mem, walk->length->mem,
        of->length.mem, tree->lengths->soft.law, to->w, *tree->frame);
}

/* ---- the law of Plummer lengths ---- */

static int launch_soft(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to, union walk_kernel kernel,
                       int groups, struct sap_gpu_walk how)
{
    const struct sap_gpu_built *const tree = &walk->tree;
    const struct sap_gpu_nodes *const from = walk->nodes;
    const struct sap_gpu_targets *const of = to->of;
    const struct sap_gpu_results *const r = walk->results;
    return kernel.soft(tree->session, tree->lengths->walks, groups, walk->sorted->mem, of->sorted.mem, from->word.mem,
                       from->source.mem, from->moments.mem, from->cell.mem, of->group_first.mem, of->group_of.mem,
                       of->bound.mem, of->heavy.mem, to->strict->mem, to->slot->mem, to->row->mem, r->acc.mem,
                       r->pot.mem, walk->lists->left.mem, walk->length->mem, of->length.mem, walk->soft->mem, how,
                       *tree->frame);
}

static int alone_soft(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to,
                      const struct sap_gpu_buffer *sizes)
{
    const struct sap_gpu_built *const tree = &walk->tree;
    const struct sap_gpu_targets *const of = to->of;
    const struct sap_gpu_results *const r = walk->results;
    return sap_launch_tree_alone_soft(
        tree->session, tree->lengths->walks, to->w.slots, of->sorted.mem, walk->stops->stop.mem, tree->nodes->cell.mem,
        sizes->mem, of->address.mem, to->slot->mem, to->row->mem, r->acc.mem, r->pot.mem, walk->lists->left.mem,
        walk->stops->n, walk->length->mem, of->length.mem, walk->soft->mem, to->w, *tree->frame);
}

static int tidal_soft(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to)
{
    const struct sap_gpu_built *const tree = &walk->tree;
    const struct sap_gpu_targets *const of = to->of;
    return sap_launch_tree_tidal_soft(tree->session, tree->lengths->walks, to->w.slots, of->sorted.mem,
                                      walk->stops->stop.mem, tree->nodes->cell.mem, of->bound.mem, of->group_of.mem,
                                      of->heavy.mem, of->strict.mem, to->slot->mem, to->row->mem,
                                      walk->results->tidal.mem, walk->lists->left.mem, walk->stops->n,
                                      walk->length->mem, of->length.mem, walk->soft->mem, to->w, *tree->frame);
}

/* ---- which law ---- */

static const struct walk_law *law_of(const struct sap_gpu_lengths *lengths)
{
    static const struct walk_law law[SAP_GPU_LAWS] = {{.walk.plain = sap_launch_tree_walk_sp,
                                                       .whole.plain = sap_launch_tree_walk_whole_sp,
                                                       .wide.plain = sap_launch_tree_walk_dp,
                                                       .selected.plain = sap_launch_tree_selected_sp,
                                                       .selected_wide.plain = sap_launch_tree_selected_dp,
                                                       .few.plain = sap_launch_tree_few_sp,
                                                       .large.plain = sap_launch_tree_large_sp,
                                                       .few_wide.plain = sap_launch_tree_few_dp,
                                                       .selects = 1,
                                                       .launch = launch_plain,
                                                       .alone = alone_plain,
                                                       .tidal = tidal_plain},
                                                      {.walk.soft = sap_launch_tree_walk_soft_sp,
                                                       .whole.soft = sap_launch_tree_walk_whole_soft_sp,
                                                       .wide.soft = sap_launch_tree_walk_soft_dp,
                                                       .few.soft = sap_launch_tree_few_soft_sp,
                                                       .large.soft = sap_launch_tree_few_soft_sp,
                                                       .few_wide.soft = sap_launch_tree_few_soft_dp,
                                                       .launch = launch_soft,
                                                       .alone = alone_soft,
                                                       .tidal = tidal_soft},
                                                      {.walk.spline = sap_launch_tree_walk_spline_sp,
                                                       .whole.spline = sap_launch_tree_walk_whole_spline_sp,
                                                       .wide.spline = sap_launch_tree_walk_spline_dp,
                                                       .few.spline = sap_launch_tree_few_spline_sp,
                                                       .large.spline = sap_launch_tree_few_spline_sp,
                                                       .few_wide.spline = sap_launch_tree_few_spline_dp,
                                                       .launch = launch_spline,
                                                       .alone = alone_spline,
                                                       .tidal = tidal_spline}};
    return &law[lengths->law->number];
}

int sap_gpu_walk_selects(const struct sap_gpu_lengths *lengths) { return law_of(lengths)->selects; }

/* ---- launches ---- */

/* Returns the kernel that walks groups; wide: in dp. */
static union walk_kernel kernel_of_groups(const struct walk_law *law, const struct sap_gpu_subset *to, int wide)
{
    if (!to->w.all_slots) return wide ? law->selected_wide : law->selected;
    return wide ? law->wide : to->w.part == SAP_WALK_THREADS * SAP_WALK_IPT ? law->whole : law->walk;
}

/* Returns the number of groups of threads that walk parts, one part after the other. */
static int groups_of_parts(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to, int from)
{
    const int idle = from >= 0 && from != SAP_LEFT_ORDER, on_cpu = walk->tree.session->device->properties.in_turn;
    return idle || (on_cpu && to->w.parts > IDLE_GROUPS) ? (int)IDLE_GROUPS : to->w.parts;
}

static int launch_groups(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to, int wide, int from)
{
    const struct walk_law *const law = law_of(walk->tree.lengths);
    struct sap_gpu_walk how = to->w;
    how.from = from;
    how.districts = from < 0 || from == SAP_LEFT_ORDER ? walk->lists->has_districts : 0;
    return law->launch(walk, to, kernel_of_groups(law, to, wide), groups_of_parts(walk, to, from), how);
}

/* Returns the number of groups of threads that compute bunches. */
static int groups_of_few(const struct sap_gpu_subset *to, int width, int from)
{
    const int bunches = to->w.slots / width + (to->w.slots % width > 0);
    const int apart = to->w.every ? SAP_LEFT_WIDE : SAP_LEFT_APART;
    const int most = from == SAP_LEFT_BOTH || (from == apart && !to->w.all_slots) ? LEFT_BUNCHES : IDLE_BUNCHES;
    return from < 0 || from == SAP_LEFT_ORDER || bunches < most ? bunches : most;
}

/* Computes bunches; cuts: of a list, whose bunches are too wide to walk together. */
static int launch_few(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to, int wide, int from, int cuts)
{
    const struct walk_law *const law = law_of(walk->tree.lengths);
    const int least = from < 0 || from == SAP_LEFT_ORDER ? to->w.width : to->w.left_width;
    struct sap_gpu_walk how = to->w;
    how.from = from;
    how.cut = cuts ? least : 0;
    if (from != SAP_LEFT_BOTH) how.width = cuts ? 1 : least;
    /* many bunches of one row keep a device busy with one warp each; otherwise four warps per bunch are faster */
    const int large = !wide && (least > 1 || to->w.slots <= SAP_GPU_FEW_ROWS);
    return law->launch(walk, to,
                       wide    ? law->few_wide
                       : large ? law->large
                               : law->few,
                       groups_of_few(to, least, from), how);
}

/* Lists the bunches of selected particles. */
static int list_bunches(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to)
{
    const int bunches = to->w.slots / to->w.width + (to->w.slots % to->w.width > 0);
    return (to->w.every ? sap_launch_tree_bunches_dp : sap_launch_tree_bunches_sp)(
        walk->tree.session, walk->tree.f, bunches, to->slot->mem, walk->lists->left.mem, to->w);
}

/* Lists the items of a share, or all; `order`: in this order, or NULL.  An item begins `step` after the one before. */
static int list_items(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to, struct sap_mem *order,
                      int items, int step)
{
    const int has_order = order != NULL;
    return sap_launch_tree_list_items(walk->tree.session, walk->tree.f, items, order, has_order, walk->lists->left.mem,
                                      items, step, to->w);
}

/* Lists the parts that walk in their order, unless all are under way at once; *from: that list, or -1. */
static int order_parts(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to, int *from)
{
    struct sap_gpu_session *const s = walk->tree.session;
    struct sap_gpu_walk_lists *const lists = walk->lists;
    const int parts = to->w.parts, ordered = to->w.strict && to->w.all_slots && parts >= SAP_WALK_MANY;
    int at;
    *from = ordered || to->w.shares > 0 ? SAP_LEFT_ORDER : -1;
    if (*from >= 0 && !ordered) return list_items(walk, to, NULL, parts, 1);
    if (!ordered) return SAP_DRIVER_OK;
    TRY(sap_gpu_targets_reserve_sort(s, lists->key, lists->value, parts));
    const struct sap_sort sort = {.key = {lists->key[0].mem, lists->key[1].mem},
                                  .value = {lists->value[0].mem, lists->value[1].mem},
                                  .n = parts,
                                  .to = 8,
                                  .places = 1};
    TRY(sap_launch_tree_part_keys(s, walk->tree.f, parts, to->strict->mem, lists->key[0].mem, to->w.group_parts,
                                  parts));
    TRY(sap_primitives_sort(s->primitives, s->stream, &sort, s->scratch.mem, &at));
    return list_items(walk, to, lists->value[at].mem, parts, 1);
}

/* Lists the bunches of a share, where there are no parts; *from: that list, or -1. */
static int list_few(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to, int *from)
{
    *from = to->w.shares > 0 ? SAP_LEFT_ORDER : -1;
    return to->w.shares > 0 ? list_items(walk, to, NULL, groups_of_few(to, to->w.width, -1), to->w.width)
                            : (int)SAP_DRIVER_OK;
}

/* Marks the groups that would walk in vain, and leaves their bunches; wide: for walks in dp. */
static int find_crowds(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to, int wide,
                       struct sap_gpu_walk how)
{
    const struct sap_gpu_built *const tree = &walk->tree;
    const struct sap_gpu_targets *const of = to->of;
    const int most = how.from >= 0 || tree->session->device->properties.in_turn ? (int)IDLE_GROUPS : (int)CROWD_GROUPS;
    return (wide ? sap_launch_tree_crowds_dp : sap_launch_tree_crowds_sp)(
        tree->session, tree->f, how.parts < most ? how.parts : most, walk->nodes->word.mem, of->bound.mem,
        of->group_first.mem, of->heavy.mem, walk->lists->left.mem, how, *tree->frame);
}

/* The same before launch_groups with these arguments. */
static int split_crowds(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to, int wide, int from)
{
    struct sap_gpu_walk how = to->w;
    how.from = from;
    return to->w.all_slots ? find_crowds(walk, to, wide, how) : (int)SAP_DRIVER_OK;
}

/* Returns how many districts so many groups have. */
static int districts_of(int groups)
{
    return groups < DISTRICT_GROUPS ? 0 : sap_gpu_targets_runs(SAP_DISTRICT, groups);
}

size_t sap_gpu_walk_district_bytes(size_t groups)
{
    const size_t all = (size_t)districts_of((int)groups);
    return (all > 0 ? all : 1) * (SAP_DISTRICT_ROOM * sizeof(int) + SAP_DISTRICT_WORDS * sizeof(double));
}

/* Lets districts walk before their groups, where there are enough. */
static int walk_districts(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to)
{
    const struct sap_gpu_built *const tree = &walk->tree;
    struct sap_gpu_session *const s = tree->session;
    struct sap_gpu_walk_lists *const lists = walk->lists;
    const int groups = to->of->groups, walks = to->w.parts > 0 && to->w.all_slots && law_of(tree->lengths)->selects;
    const int all = walks ? districts_of(groups) : 0;
    const int most = s->device->properties.in_turn && all > IDLE_GROUPS ? (int)IDLE_GROUPS : all;
    const size_t many = all > 0 ? (size_t)all : 1; /* kernels take the memory in any case */
    lists->has_districts = all > 0;
    TRY(sap_session_reserve(s, &lists->district_node, many * SAP_DISTRICT_ROOM * sizeof(int)));
    TRY(sap_session_reserve(s, &lists->district, many * SAP_DISTRICT_WORDS * sizeof(double)));
    if (!lists->has_districts) return SAP_DRIVER_OK;
    return (to->w.every ? sap_launch_tree_districts_dp : sap_launch_tree_districts_sp)(
        s, tree->f, most, walk->nodes->word.mem, walk->nodes->source.mem, walk->nodes->moments.mem,
        walk->nodes->cell.mem, to->of->bound.mem, to->strict->mem, lists->district_node.mem, lists->district.mem,
        groups, to->w, *tree->frame);
}

/* Launches the walks. Each launch computes the rows that earlier launches have left. */
static int launch_walks(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to)
{
    const int parts = to->w.parts > 0, listed = !parts && to->w.span > 0, every = to->w.every;
    const int apart = every ? SAP_LEFT_WIDE : SAP_LEFT_APART;
    int from = -1;
    if (parts) TRY(order_parts(walk, to, &from));
    if (parts) TRY(split_crowds(walk, to, every, to->w.shares > 0 ? from : -1));
    TRY(walk_districts(walk, to));
    if (parts) TRY(launch_groups(walk, to, every, from));
    if (parts) from = apart;
    if (listed) TRY(list_bunches(walk, to));
    if (listed) from = SAP_LEFT_BOTH;
    if (!parts && !listed) TRY(list_few(walk, to, &from));
    TRY(launch_few(walk, to, every, from, parts && to->w.all_slots));
    return every || walk->without_wide ? (int)SAP_DRIVER_OK : sap_gpu_walk_wide(walk, to);
}

int sap_gpu_walk_wide(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to)
{
    if (to->w.parts > 0) TRY(split_crowds(walk, to, 1, SAP_LEFT_PARTS));
    if (to->w.parts > 0) TRY(launch_groups(walk, to, 1, SAP_LEFT_PARTS));
    return launch_few(walk, to, 1, SAP_LEFT_WIDE, 0);
}

static int launch_alone(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to)
{
    TRY(sap_gpu_stops_make(walk->stops, &walk->tree, walk->cells));
    return law_of(walk->tree.lengths)->alone(walk, to, to->a ? to->a : &to->of->sorted);
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

int sap_gpu_walk_tidal(const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to)
{
    const struct sap_gpu_session *const s = walk->tree.session;
    struct sap_gpu_buffer *const left = &walk->lists->left;
    TRY(sap_session_reserve(s, &walk->results->tidal, (size_t)to->w.slots * SAP_MOMENTS2 * sizeof(double)));
    TRY(sap_session_reserve(s, left, SAP_LEFT_FIRST * sizeof(int)));
    TRY(sap_session_fill(s, left->mem, 0, 0, SAP_LEFT_FIRST * sizeof(int)));
    TRY(sap_gpu_stops_make(walk->stops, &walk->tree, walk->cells));
    TRY(find_crowds(walk, to, 1, (struct sap_gpu_walk){.parts = to->of->groups, .group_parts = 1, .from = -1}));
    return law_of(walk->tree.lengths)->tidal(walk, to);
}

void sap_gpu_walk_free(const struct sap_driver *driver, struct sap_gpu_walk_lists *lists)
{
    sap_gpu_free(driver, &lists->district_node);
    sap_gpu_free(driver, &lists->district);
    sap_gpu_free(driver, &lists->left);
    for (int k = 0; k < 2; k++) {
        sap_gpu_free(driver, &lists->key[k]);
        sap_gpu_free(driver, &lists->value[k]);
    }
}
