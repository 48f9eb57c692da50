/* gpu_build.c - builds a tree on an accelerator: its frame, order, nodes, moments and groups. */
#include <string.h>

#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_frame.h"
#include "gpu/tree/gpu_kdtree.h"
#include "gpu/tree/gpu_octree.h"
#include "gpu/tree/gpu_tree.h"

/* A tree under construction. */
struct draft {
    struct sap_gpu_tree frame;
    struct sap_cube cube;
    struct sap_gpu_bounds bounds;
    int levels, level_first[SAP_TREE_LEVELS + 1];
    int at; /* index of the sorted arrays in key and value of t->own */
    struct sap_gpu_cut cut;
};

static struct sap_gpu_rules rules_of(const struct sap_gpu_host_tree *t)
{
    return (struct sap_gpu_rules){
        .settings = &t->settings, .lengths = &t->lengths, .whole = sap_gpu_builder_whole(&t->builder), .n = t->given.n};
}

/* ---- memory --------------------------------------------------------------------------------- */

/* A buffer of the tree and the bytes that it needs. */
struct need {
    struct sap_gpu_buffer *buffer;
    size_t bytes;
};

/*
 * Enlarges buffers of the tree. While there is a tree, all new buffers are allocated before an old one is freed; so the
 * tree survives a failure.
 */
static int enlarge(const struct sap_gpu_host_tree *t, const struct need *need, int needs)
{
    struct sap_gpu_buffer larger[16] = {{0}};
    int status = SAP_DRIVER_OK;
    for (int k = 0; k < needs; k++)
        if (!t->linked && need[k].bytes > need[k].buffer->bytes) sap_gpu_free(t->session.driver, need[k].buffer);
    for (int k = 0; k < needs && !status; k++)
        if (need[k].bytes > need[k].buffer->bytes) status = sap_session_reserve(&t->session, &larger[k], need[k].bytes);
    for (int k = 0; k < needs; k++) {
        if (!status && larger[k].mem) sap_gpu_exchange(need[k].buffer, &larger[k]);
        sap_gpu_free(t->session.driver, &larger[k]);
    }
    return status;
}

/* Reserves memory for the lengths of a tree, by the law of the last set. */
static int reserve_lengths(struct sap_gpu_host_tree *t, size_t n, size_t nodes, size_t groups)
{
    const struct sap_gpu_law *const law = t->lengths.next;
    const size_t lengths = (size_t)law->lengths;
    const struct need all[] = {{&t->own.length, lengths * n * sizeof(double)},
                               {&t->own.longest, lengths * groups * sizeof(float)},
                               {&t->lengths.of_node, (size_t)law->of_node * nodes * sizeof(double)}};
    return enlarge(t, all, COUNT(all));
}

/* Reserves memory for the tree, whose nodes have been counted. */
static int reserve_tree(struct sap_gpu_host_tree *t, const struct draft *d)
{
    const size_t n = (size_t)d->frame.n, nodes = (size_t)d->frame.nodes, groups = (size_t)d->cut.groups;
    const struct need all[] = {{&t->own.sorted_at, n * sizeof(int)},
                               {&t->own.sorted, n * 4 * sizeof(double)},
                               {&t->own.group_of, n * sizeof(int)},
                               {&t->own.group_first, (groups + 1) * sizeof(int)},
                               {&t->own.bound, groups * SAP_GROUP_WORDS * sizeof(double)},
                               {&t->own.heavy, groups * sizeof(int)},
                               {&t->own.strict, groups * sizeof(float)},
                               {&t->nodes.link, nodes * sizeof(struct sap_tree_link)},
                               {&t->nodes.level, nodes * sizeof(int)},
                               {&t->nodes.cell, nodes * SAP_GPU_CELL},
                               {&t->nodes.word, nodes * 8 * sizeof(float)},
                               {&t->nodes.source, nodes * 4 * sizeof(double)},
                               {&t->nodes.moments, nodes * 8 * sizeof(float)}};
    _Static_assert(sizeof all / sizeof all[0] <= 16, "enlarge has room for them");
    TRY(reserve_lengths(t, n, nodes, groups));
    return enlarge(t, all, COUNT(all));
}

/* Takes the numbers of nodes and of levels from level_first[most + 1]. */
static void count_levels(struct draft *d, int most)
{
    d->frame.nodes = d->level_first[most];
    for (d->levels = 0; d->levels < most && d->level_first[d->levels] < d->frame.nodes;) d->levels++;
}

/* ---- moments ---------------------------------------------------------------------------------- */

/* linked: the children have been counted. */
static int make_moments(struct sap_gpu_host_tree *t, int linked)
{
    TRY(sap_gpu_nodes_cells(&t->session, t->f, &t->nodes, &t->own.sorted, &t->builder.first, &t->frame, linked));
    TRY(sap_gpu_nodes_words(&t->session, t->f, &t->nodes, &t->nodes.cell, &t->frame));
    TRY(t->lengths.law->nodes(&t->session, &t->lengths, &t->nodes, &t->own, &t->frame));
    return sap_gpu_targets_bound(&t->session, t->f, &t->own, &t->nodes.cell, &t->lengths, NULL, &t->frame);
}

/* Lets other devices receive the sorted particles meanwhile. */
static int send_early(struct sap_gpu_host_tree *t)
{
    const struct sap_gpu_built tree = sap_gpu_tree_built(t);
    return sap_gpu_shares_early(&t->walks.shares, &tree);
}

/* ---- all of it ---------------------------------------------------------------------------------- */

/* Computes order and numbers of cells and of groups of a kd-tree. */
static int make_kdtree(struct sap_gpu_host_tree *t, struct draft *d)
{
    const struct sap_gpu_kd_input split = {.given = &t->given.particle,
                                           .n = d->frame.n,
                                           .low = d->bounds.low,
                                           .high = d->bounds.high,
                                           .mass_unit = d->frame.mass_unit,
                                           .signs = d->frame.signs};
    struct sap_gpu_buffer *const order = &t->own.value[0];
    int groups;
    d->at = 0;
    TRY(sap_session_reserve(&t->session, order, (size_t)d->frame.n * sizeof(int)));
    TRY(sap_gpu_kd_split(&t->session, &t->builder, &t->settings, &split, order));
    TRY(sap_session_mark(&t->session, SAPPORO_PHASE_LINK));
    TRY(sap_gpu_kd_count(&t->session, &t->builder, &t->settings, d->level_first, &groups));
    count_levels(d, SAP_TREE_LEVELS);
    return sap_gpu_kd_cut(&t->session, t->builder.kd, t->settings.group_extent > 0, order, groups, &d->cut);
}

/* Computes keys, order and numbers of nodes and of groups of an octree. */
static int make_octree(struct sap_gpu_host_tree *t, struct draft *d)
{
    const int n = d->frame.n;
    TRY(sap_gpu_targets_sort(&t->session, t->f, &t->own, &t->given.particle, &d->frame, n, &d->at));
    TRY(sap_session_mark(&t->session, SAPPORO_PHASE_LINK));
    d->cut = (struct sap_gpu_cut){
        .order = &t->own.value[d->at], .n = n, .groups = sap_gpu_targets_runs(t->settings.group_size, n)};
    TRY(sap_gpu_octree_count(&t->session, t->f, &t->builder, &t->own.key[d->at], &d->frame, d->level_first));
    count_levels(d, SAP_LINK_LEVELS);
    if (!(t->settings.group_extent > 0)) return SAP_DRIVER_OK;
    /* the other half of the arrays that were sorted is free */
    d->cut.flag = &t->own.key[!d->at];
    d->cut.before = &t->own.value[!d->at];
    return sap_session_fill(&t->session, d->cut.flag->mem, 0, 0, (size_t)n * sizeof(int));
}

/* Halves the groups of a draft whose extent exceeds the limit. */
static int halve_groups(struct sap_gpu_host_tree *t, struct draft *d)
{
    const struct sap_gpu_halving how = {.group_size = t->settings.group_size,
                                        .extent = t->settings.group_extent,
                                        .groups = &sap_gpu_builder_read(&t->builder)->groups};
    return sap_gpu_targets_halve(&t->session, t->f, &d->cut, &t->given.particle, &how);
}

/* Computes order and number of nodes. It does not change the present tree. */
static int prepare(struct sap_gpu_host_tree *t, struct draft *d)
{
    const struct sap_gpu_rules rules = rules_of(t);
    const int n = d->frame.n, is_kdtree = t->builder.kd != NULL;
    d->frame.tiles = n / SAP_LINK_TILE + (n % SAP_LINK_TILE > 0);
    if (!is_kdtree) TRY(sap_gpu_octree_reserve(&t->session, &t->builder, &d->frame));
    TRY(sap_session_mark(&t->session, SAPPORO_PHASE_SORT));
    TRY(sap_gpu_periodic_inside(&t->periodic, &t->session, t->f, &t->given.particle, n));
    TRY(sap_gpu_frame_look(&t->session, &t->builder, &t->given, sap_cube_sample(n), &d->bounds));
    sap_gpu_frame_choose(&d->frame, &d->cube, &rules, &d->bounds);
    sap_gpu_frame_units(&d->frame, &d->cube, &rules, &d->bounds);
    TRY(is_kdtree ? make_kdtree(t, d) : make_octree(t, d));
    if (t->settings.group_extent > 0) TRY(halve_groups(t, d));
    return reserve_tree(t, d);
}

/* Marks the present tree as gone, and all that was computed from it. */
static void forget(struct sap_gpu_host_tree *t)
{
    sap_gpu_shares_changed(&t->walks.shares, SAP_COPY_ALL);
    t->built = t->linked = t->nodes.has_next = t->stops.n = t->part.regions.room = 0;
}

/* Replaces the tree by the draft. Later steps of the build write the tree's own arrays. */
static void take_draft(struct sap_gpu_host_tree *t, const struct draft *d)
{
    forget(t);
    t->lengths.law = t->lengths.next;
    sap_gpu_periodic_changed(&t->periodic, d->bounds.weight, d->frame.n);
    t->frame = d->frame;
    t->cube = d->cube;
    t->nodes.n = d->frame.nodes;
    t->nodes.levels = d->levels;
    memcpy(t->nodes.level_first, d->level_first, sizeof t->nodes.level_first);
    if (t->frame.n == 0) return;
    sap_gpu_exchange(&t->builder.first, &t->builder.new_first);
    sap_gpu_targets_take(&t->own, t->frame.n, d->cut.groups, d->at);
}

static int write_tree(struct sap_gpu_host_tree *t, const struct draft *d)
{
    const int is_kdtree = t->builder.kd != NULL;
    TRY(is_kdtree ? sap_gpu_kd_link(&t->session, &t->builder, &t->nodes)
                  : sap_gpu_octree_link(&t->session, t->f, &t->builder, &t->own.key[d->at], &t->frame, &t->nodes));
    TRY(d->cut.flag ? sap_gpu_targets_cut(&t->session, t->f, &t->own, &d->cut)
                    : sap_gpu_targets_cut_runs(&t->session, t->f, &t->own, t->settings.group_size));
    TRY(sap_session_mark(&t->session, SAPPORO_PHASE_MOMENTS));
    TRY(sap_gpu_targets_gather(&t->session, t->f, &t->own, &t->given.particle, 1, t->frame.mass_unit));
    TRY(send_early(t));
    TRY(make_moments(t, is_kdtree));
    TRY(sap_session_mark(&t->session, SAPPORO_PHASE_WALK));
    return sap_session_take_seconds(&t->session, SAPPORO_PHASE_SORT, SAPPORO_PHASE_MOMENTS, t->done.seconds);
}

static int build(struct sap_gpu_host_tree *t)
{
    struct draft d = {.frame = t->frame};
    TRY(sap_gpu_shares_settle(&t->walks.shares));
    d.frame.n = t->given.n;
    d.frame.nodes = 0;
    if (d.frame.n > 0) TRY(prepare(t, &d));
    take_draft(t, &d);
    if (t->frame.n > 0) TRY(write_tree(t, &d));
    t->built = t->linked = 1;
    t->done.group_extent = t->settings.group_extent;
    return SAP_DRIVER_OK;
}

/* Frees the present tree, so that there is memory for another. */
static void give_up(struct sap_gpu_host_tree *t)
{
    const struct sap_driver *const driver = t->session.driver;
    sap_gpu_targets_drop(driver, &t->own);
    sap_gpu_nodes_free(driver, &t->nodes);
    sap_gpu_stops_free(driver, &t->stops);
    sap_gpu_free(driver, &t->lengths.of_node);
    forget(t);
}

/* Builds a tree. If the device cannot hold the new tree beside the present one, the present tree is lost. */
int sap_gpu_tree_build(struct sap_gpu_host_tree *t)
{
    const int status = build(t);
    if (status != SAP_DRIVER_MEMORY || !t->linked || t->session.host_full) return status;
    give_up(t);
    return build(t);
}

int sap_gpu_tree_refresh(struct sap_gpu_host_tree *t)
{
    const struct sap_gpu_rules rules = rules_of(t);
    struct sap_gpu_bounds bounds;
    const struct sap_gpu_built tree = sap_gpu_tree_built(t);
    if (t->frame.n == 0) return SAP_DRIVER_OK;
    TRY(sap_gpu_shares_settle(&t->walks.shares));
    TRY(sap_gpu_periodic_follow(&t->periodic, &tree, &t->given.particle, t->frame.n));
    TRY(sap_gpu_frame_look(&t->session, &t->builder, &t->given,
                           sap_gpu_frame_finds_pull(&rules) ? sap_cube_sample(t->frame.n) : 1, &bounds));
    for (int phase = SAPPORO_PHASE_SORT; phase <= SAPPORO_PHASE_MOMENTS; phase++)
        TRY(sap_session_mark(&t->session, phase));
    TRY(reserve_lengths(t, (size_t)t->frame.n, (size_t)t->nodes.n, (size_t)t->own.groups));
    t->built = t->stops.n = t->part.regions.room = 0; /* particles and moments match only after the last step */
    sap_gpu_shares_changed(&t->walks.shares, SAP_COPY_MOVED);
    t->lengths.law = t->lengths.next;
    sap_gpu_periodic_changed(&t->periodic, bounds.weight, t->frame.n);
    sap_gpu_frame_units(&t->frame, &t->cube, &rules, &bounds);
    TRY(sap_gpu_targets_gather(&t->session, t->f, &t->own, &t->given.particle, 0,
                               t->frame.mass_unit)); /* order stays */
    TRY(send_early(t));
    TRY(make_moments(t, 1));
    TRY(sap_session_mark(&t->session, SAPPORO_PHASE_WALK));
    TRY(sap_session_take_seconds(&t->session, SAPPORO_PHASE_SORT, SAPPORO_PHASE_MOMENTS, t->done.seconds));
    t->built = 1;
    return SAP_DRIVER_OK;
}

int sap_gpu_tree_build_ahead(struct sap_gpu_host_tree *t, double lead)
{
    struct sap_gpu_bounds bounds;
    if (!sap_gpu_ahead_knows(&t->past, &t->given)) return sap_gpu_tree_build(t);
    TRY(sap_gpu_frame_look(&t->session, &t->builder, &t->given, 1, &bounds)); /* whether moments fit into double */
    TRY(sap_gpu_ahead_extrapolate(&t->past, &t->session, &t->given, lead, t->settings.period));
    sap_gpu_ahead_exchange(&t->past, &t->given);
    const int status = sap_gpu_tree_build(t);
    sap_gpu_ahead_exchange(&t->past, &t->given);
    if (t->builder.out_of_range) {
        t->builder.out_of_range = 0;
        return sap_gpu_tree_build(t);
    }
    if (status) return status;
    const sapporo_tree_statistics built = t->done;
    TRY(sap_gpu_tree_refresh(t));
    for (int phase = SAPPORO_PHASE_SORT; phase <= SAPPORO_PHASE_MOMENTS; phase++)
        t->done.seconds[phase] += built.seconds[phase];
    return SAP_DRIVER_OK;
}
