/* gpu_walk.c - the launches of a walk of a tree on an accelerator. */
#include "gpu/gpu_launch.h"
#include "gpu/gpu_primitives.h"
#include "gpu/tree/gpu_kernels.h"
#include "gpu/tree/gpu_pass.h"

enum { THREADS = SAP_TREE_THREADS };
enum { IDLE_GROUPS = 2048, IDLE_BUNCHES = 1024 }; /* of launches that mostly find no work left */
enum { LEFT_BUNCHES = 16384 };                    /* of a launch that may find all bunches of selected particles */
enum { PARTS_ORDERED = 1024 };                    /* fewer parts are all under way at once */

enum { WALK_ARGUMENTS = 18, SPLINE_ARGUMENTS = 4 };

/* Lists the arguments of a kernel that walks. Returns their number. */
static int list_arguments(const struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p,
                          const struct sap_gpu_walk *how, struct sap_argument *a)
{
    const struct sap_gpu_walkers *const w = p->walkers;
    const struct sap_gpu_halo *const h = p->imported ? &t->halo : NULL;
    const struct sap_gpu_buffer *const buffers[] = {h ? &h->sorted : &t->own.sorted,
                                                    &w->sorted,
                                                    h ? &h->word : &t->word,
                                                    h ? &h->source : &t->source,
                                                    h ? &h->moments : &t->moments,
                                                    h ? &h->cell : &t->cell,
                                                    &w->group_first,
                                                    &w->group_of,
                                                    &w->bound,
                                                    &w->heavy,
                                                    p->strict,
                                                    p->slot,
                                                    p->row,
                                                    &t->acc,
                                                    &t->pot,
                                                    &t->left};
    int n = 0;
    _Static_assert(sizeof buffers / sizeof buffers[0] + 2 == WALK_ARGUMENTS, "buffers, and two values");
    for (int k = 0; k < COUNT(buffers); k++) a[n++] = (struct sap_argument)SAP_ARRAY(*buffers[k]);
    if (t->lengths.f) {
        a[n++] = (struct sap_argument)SAP_ARRAY(t->own.length);
        a[n++] = (struct sap_argument)SAP_ARRAY(w->length);
        a[n++] = (struct sap_argument)SAP_ARRAY(w->longest);
        a[n++] = (struct sap_argument)VALUE(t->lengths.mean);
    }
    a[n++] = (struct sap_argument)VALUE(*how);
    a[n++] = (struct sap_argument)VALUE(t->t);
    return n;
}

static int launch_groups(struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p, int wide, int from)
{
    struct sap_argument a[WALK_ARGUMENTS + SPLINE_ARGUMENTS];
    struct sap_gpu_walk how = p->w;
    how.from = from;
    const int n = list_arguments(t, p, &how, a);
    const struct sap_gpu_spline_kernels *const spline = t->lengths.f;
    const int whole = p->w.part == SAP_WALK_THREADS * SAP_WALK_IPT;
    struct sap_function *const of_groups = spline ? wide ? spline->walk_dp : spline->walk_sp[whole]
                                           : wide ? t->f->walk_dp
                                                  : t->f->walk_sp[whole];
    return sap_session_launch(&t->session, p->w.all_slots ? of_groups : t->f->selected[wide],
                              from < 0 || from == SAP_LEFT_ORDER ? p->w.parts : (int)IDLE_GROUPS, SAP_WALK_THREADS, a,
                              n);
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
    struct sap_argument a[WALK_ARGUMENTS + SPLINE_ARGUMENTS];
    struct sap_gpu_walk how = p->w;
    how.from = from;
    if (from != SAP_LEFT_BOTH) how.width = least;
    const int n = list_arguments(t, p, &how, a);
    /* many bunches of one row keep a device busy with one warp each; otherwise four warps per bunch are faster */
    const struct sap_gpu_spline_kernels *const spline = t->lengths.f;
    const int large = !wide && !spline && (least > 1 || p->w.slots <= SAP_GPU_FEW_ROWS);
    struct sap_function *const of_warps = spline ? spline->few[wide] : t->f->few[wide];
    return sap_session_launch(&t->session, large ? t->f->large : of_warps, groups_of_few(p, least, from),
                              large ? SAP_LARGE_THREADS : SAP_FEW_THREADS, a, n);
}

/* Lists the bunches of selected particles. */
static int list_bunches(struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p)
{
    const struct sap_argument a[] = {SAP_ARRAY(*p->slot), SAP_ARRAY(t->left), VALUE(p->w)};
    const int bunches = p->w.slots / p->w.width + (p->w.slots % p->w.width > 0);
    return sap_session_for_each(&t->session, t->f->bunches[p->w.every], bunches, THREADS, a, COUNT(a));
}

/* Lists the parts in the order in which they walk, where it matters; *from: that list, or -1. */
static int order_parts(struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p, int *from)
{
    const int parts = p->w.parts;
    int at;
    *from = -1;
    if (!p->w.strict || !p->w.all_slots || parts < PARTS_ORDERED) return SAP_DRIVER_OK;
    TRY(sap_gpu_tree_reserve_sort(t, t->part_key, t->part, parts));
    const struct sap_argument keys[] = {SAP_ARRAY(*p->strict), SAP_ARRAY(t->part_key[0]), VALUE(p->w.group_parts),
                                        VALUE(parts)};
    const struct sap_sort sort = {.key = {t->part_key[0].mem, t->part_key[1].mem},
                                  .value = {t->part[0].mem, t->part[1].mem},
                                  .n = parts,
                                  .to = 8,
                                  .places = 1};
    TRY(sap_session_for_each(&t->session, t->f->part_keys, parts, THREADS, keys, COUNT(keys)));
    TRY(sap_primitives_sort(t->session.primitives, t->session.stream, &sort, t->session.scratch.mem, &at));
    const struct sap_argument order[] = {SAP_ARRAY(t->part[at]), SAP_ARRAY(t->left), VALUE(parts), VALUE(p->w)};
    *from = SAP_LEFT_ORDER;
    return sap_session_for_each(&t->session, t->f->part_order, parts, THREADS, order, COUNT(order));
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
    const struct sap_argument a[] = {SAP_ARRAY(w->sorted),
                                     SAP_ARRAY(t->stop),
                                     SAP_ARRAY(t->cell),
                                     SAP_ARRAY(*sizes),
                                     SAP_ARRAY(w->address),
                                     SAP_ARRAY(*p->slot),
                                     SAP_ARRAY(*p->row),
                                     SAP_ARRAY(t->acc),
                                     SAP_ARRAY(t->pot),
                                     SAP_ARRAY(t->left),
                                     VALUE(t->stops),
                                     SAP_ARRAY(t->word),
                                     SAP_ARRAY(t->own.length),
                                     SAP_ARRAY(w->length),
                                     VALUE(t->lengths.mean),
                                     VALUE(p->w),
                                     VALUE(t->t)};
    return sap_session_for_each(&t->session, t->lengths.f->alone, p->w.slots, SAP_ALONE_THREADS, a, COUNT(a));
}

static int launch_alone(struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p)
{
    const struct sap_gpu_walkers *const w = p->walkers;
    const struct sap_gpu_buffer *const sizes = p->a ? p->a : &w->sorted;
    TRY(sap_gpu_tree_make_stops(t));
    if (t->lengths.f) return launch_alone_spline(t, p, sizes);
    const struct sap_argument a[] = {
        SAP_ARRAY(w->sorted), SAP_ARRAY(t->stop), SAP_ARRAY(t->cell), SAP_ARRAY(*sizes), SAP_ARRAY(w->address),
        SAP_ARRAY(*p->slot),  SAP_ARRAY(*p->row), SAP_ARRAY(t->acc),  SAP_ARRAY(t->pot), SAP_ARRAY(t->left),
        VALUE(t->stops),      VALUE(p->w),        VALUE(t->t)};
    return sap_session_for_each(&t->session, t->f->alone[t->settings.order > 1], p->w.slots, SAP_ALONE_THREADS, a,
                                COUNT(a));
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
