/* gpu_walk.c - the launches of a walk of a tree on an accelerator. */
#include "gpu/gpu_launch.h"
#include "gpu/gpu_primitives.h"
#include "gpu/tree/gpu_kernels.h"
#include "gpu/tree/gpu_pass.h"

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

static int launch(const struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p, struct walk_kernel kernel,
                  int groups, struct sap_gpu_walk how)
{
    const struct sap_gpu_walkers *const w = p->walkers;
    const struct sap_gpu_halo from = p->imported ? t->halo
                                                 : (struct sap_gpu_halo){.sorted = t->own.sorted,
                                                                         .cell = t->cell,
                                                                         .word = t->word,
                                                                         .source = t->source,
                                                                         .moments = t->moments};
    if (kernel.plain)
        return kernel.plain(&t->session, t->f, groups, from.sorted.mem, w->sorted.mem, from.word.mem, from.source.mem,
                            from.moments.mem, from.cell.mem, w->group_first.mem, w->group_of.mem, w->bound.mem,
                            w->heavy.mem, p->strict->mem, p->slot->mem, p->row->mem, t->acc.mem, t->pot.mem,
                            t->left.mem, how, t->t);
    return kernel.spline(&t->session, t->lengths.f, groups, from.sorted.mem, w->sorted.mem, from.word.mem,
                         from.source.mem, from.moments.mem, from.cell.mem, w->group_first.mem, w->group_of.mem,
                         w->bound.mem, w->heavy.mem, p->strict->mem, p->slot->mem, p->row->mem, t->acc.mem, t->pot.mem,
                         t->left.mem, t->own.length.mem, w->length.mem, w->longest.mem, t->lengths.mean, how, t->t);
}

/* Returns the kernel that walks groups; wide: in dp. */
static struct walk_kernel kernel_of_groups(const struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p, int wide)
{
    const int whole = p->w.part == SAP_WALK_THREADS * SAP_WALK_IPT;
    if (!p->w.all_slots)
        return (struct walk_kernel){.plain = wide ? sap_launch_tree_selected_dp : sap_launch_tree_selected_sp};
    if (t->lengths.f)
        return (struct walk_kernel){.spline = wide    ? sap_launch_tree_walk_spline_dp
                                              : whole ? sap_launch_tree_walk_whole_spline_sp
                                                      : sap_launch_tree_walk_spline_sp};
    return (struct walk_kernel){.plain = wide    ? sap_launch_tree_walk_dp
                                         : whole ? sap_launch_tree_walk_whole_sp
                                                 : sap_launch_tree_walk_sp};
}

static int launch_groups(struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p, int wide, int from)
{
    struct sap_gpu_walk how = p->w;
    how.from = from;
    return launch(t, p, kernel_of_groups(t, p, wide),
                  from < 0 || from == SAP_LEFT_ORDER ? p->w.parts : (int)IDLE_GROUPS, how);
}

/* Returns the number of groups of threads that compute bunches. */
static int groups_of_few(const struct sap_gpu_pass *p, int width, int from)
{
    const int bunches = p->w.slots / width + (p->w.slots % width > 0);
    const int apart = p->w.every ? SAP_LEFT_WIDE : SAP_LEFT_APART;
    const int most = from == SAP_LEFT_BOTH || (from == apart && !p->w.all_slots) ? LEFT_BUNCHES : IDLE_BUNCHES;
    return from < 0 || bunches < most ? bunches : most;
}

static int launch_few(struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p, int wide, int from)
{
    const int least = from < 0 ? p->w.width : p->w.left_width;
    struct sap_gpu_walk how = p->w;
    how.from = from;
    if (from != SAP_LEFT_BOTH) how.width = least;
    /* many bunches of one row keep a device busy with one warp each; otherwise four warps per bunch are faster */
    const int large = !wide && (least > 1 || p->w.slots <= SAP_GPU_FEW_ROWS);
    const struct walk_kernel spline = {.spline = wide ? sap_launch_tree_few_spline_dp : sap_launch_tree_few_spline_sp};
    const struct walk_kernel plain = {.plain = wide    ? sap_launch_tree_few_dp
                                               : large ? sap_launch_tree_large_sp
                                                       : sap_launch_tree_few_sp};
    return launch(t, p, t->lengths.f ? spline : plain, groups_of_few(p, least, from), how);
}

/* Lists the bunches of selected particles. */
static int list_bunches(struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p)
{
    const int bunches = p->w.slots / p->w.width + (p->w.slots % p->w.width > 0);
    return (p->w.every ? sap_launch_tree_bunches_dp : sap_launch_tree_bunches_sp)(&t->session, t->f, bunches,
                                                                                  p->slot->mem, t->left.mem, p->w);
}

/* Lists the parts in the order in which they walk, where it matters; *from: that list, or -1. */
static int order_parts(struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p, int *from)
{
    const int parts = p->w.parts;
    int at;
    *from = -1;
    if (!p->w.strict || !p->w.all_slots || parts < PARTS_ORDERED) return SAP_DRIVER_OK;
    TRY(sap_gpu_tree_reserve_sort(t, t->part_key, t->part, parts));
    const struct sap_sort sort = {.key = {t->part_key[0].mem, t->part_key[1].mem},
                                  .value = {t->part[0].mem, t->part[1].mem},
                                  .n = parts,
                                  .to = 8,
                                  .places = 1};
    TRY(sap_launch_tree_part_keys(&t->session, t->f, parts, p->strict->mem, t->part_key[0].mem, p->w.group_parts,
                                  parts));
    TRY(sap_primitives_sort(t->session.primitives, t->session.stream, &sort, t->session.scratch.mem, &at));
    *from = SAP_LEFT_ORDER;
    return sap_launch_tree_part_order(&t->session, t->f, parts, t->part[at].mem, t->left.mem, parts, p->w);
}

/* Launches the walks. Each launch computes the rows that earlier launches have left. */
static int launch_walks(struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p)
{
    const int parts = p->w.parts > 0, listed = !parts && p->w.span > 0, every = p->w.every;
    const int apart = every ? SAP_LEFT_WIDE : SAP_LEFT_APART;
    int order;
    if (parts) TRY(order_parts(t, p, &order));
    if (parts) TRY(launch_groups(t, p, every, order));
    if (listed) TRY(list_bunches(t, p));
    TRY(launch_few(t, p, every, parts ? apart : listed ? (int)SAP_LEFT_BOTH : -1));
    if (every) return SAP_DRIVER_OK;
    if (parts) TRY(launch_groups(t, p, 1, SAP_LEFT_PARTS));
    return launch_few(t, p, 1, SAP_LEFT_WIDE);
}

static int launch_alone_spline(struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p,
                               const struct sap_gpu_buffer *sizes)
{
    const struct sap_gpu_walkers *const w = p->walkers;
    return sap_launch_tree_alone_spline(&t->session, t->lengths.f, p->w.slots, w->sorted.mem, t->stop.mem, t->cell.mem,
                                        sizes->mem, w->address.mem, p->slot->mem, p->row->mem, t->acc.mem, t->pot.mem,
                                        t->left.mem, t->stops, t->word.mem, t->own.length.mem, w->length.mem,
                                        t->lengths.mean, p->w, t->t);
}

static int launch_alone(struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p)
{
    const struct sap_gpu_walkers *const w = p->walkers;
    const struct sap_gpu_buffer *const sizes = p->a ? p->a : &w->sorted;
    TRY(sap_gpu_tree_make_stops(t));
    if (t->lengths.f) return launch_alone_spline(t, p, sizes);
    return (t->settings.order > 1 ? sap_launch_tree_alone_moments : sap_launch_tree_alone_masses)(
        &t->session, t->f, p->w.slots, w->sorted.mem, t->stop.mem, t->cell.mem, sizes->mem, w->address.mem,
        p->slot->mem, p->row->mem, t->acc.mem, t->pot.mem, t->left.mem, t->stops, p->w, t->t);
}

size_t sap_gpu_walk_left_words(const struct sap_gpu_walk *w)
{
    return SAP_LEFT_FIRST + (size_t)SAP_LEFT_LISTS * (size_t)w->left_room;
}

int sap_gpu_walk_targets(struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p)
{
    const size_t rows = (size_t)p->w.slots;
    TRY(sap_session_reserve(&t->session, &t->acc, rows * 3 * sizeof(double)));
    TRY(sap_session_reserve(&t->session, &t->pot, rows * sizeof(double)));
    const size_t left = sap_gpu_walk_left_words(&p->w) + (p->w.work > 0 ? rows : 0);
    TRY(sap_session_reserve(&t->session, &t->left, left * sizeof(int)));
    TRY(sap_session_fill(&t->session, t->left.mem, 0, 0, SAP_LEFT_FIRST * sizeof(int)));
    return t->settings.walk == SAPPORO_WALK_STACKLESS ? launch_alone(t, p) : launch_walks(t, p);
}
