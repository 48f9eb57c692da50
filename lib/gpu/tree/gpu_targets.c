/* gpu_targets.c - target particles of a force from a tree on an accelerator: all, active ones, positions, massless
 * ones. */
#include <string.h>

#include "base/structs.h"
#include "engine/tree_options.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_primitives.h"
#include "gpu/tree/gpu_kernels.h"
#include "gpu/tree/gpu_pass.h"

enum { CHUNK = SAP_SESSION_CHUNK };

/* Cuts groups into parts.  Positions have groups of equal length in kd-trees, too. */
static void cut_parts(const struct sap_gpu_host_tree *t, const struct sap_gpu_walkers *w, struct sap_gpu_walk *walk)
{
    const int most = w == &t->own ? sap_tree_group_most(&t->settings) : w->run;
    walk->part = SAP_WALK_THREADS * (most > t->settings.group_size ? SAP_WALK_IPT : SAP_WALK_RUN_IPT);
    walk->group_parts = (most + walk->part - 1) / walk->part;
    walk->parts = w->groups * walk->group_parts;
}

void sap_gpu_targets_all(const struct sap_gpu_host_tree *t, struct sap_gpu_pass *p)
{
    struct sap_gpu_walkers *const w = p->walkers;
    p->w.all_slots = 1;
    p->w.slots = w->n;
    cut_parts(t, w, &p->w);
    p->w.width = p->w.left_width = SAP_FEW_LEFT;
    p->w.left_room = p->w.parts * (p->w.part / SAP_FEW_LEFT);
    p->row = p->slot = &w->address;
    p->strict = &w->strict;
}

enum { PARTS_LEAST = 1 << 19 }; /* selected particles that keep a device busy in parts of SAP_WALK_SELECTED */
enum { SPAN = 8 };              /* sorted particles per slot of selected particles that walk together */

static int widest(int width, int n)
{
    while (width > 1 && n / width < 1024) width /= 2; /* fewer bunches leave a device idle */
    return width;
}

/*
 * Returns the slots of a bunch if n of `all` particles are targets, scattered over the model. A larger bunch shares
 * more of the walk, but its bound covers more particles that are not targets. At 1 % bunches of eight are fastest, and
 * below 0.2 % bunches of one.
 */
static int width_of(int n, int all)
{
    const double part = (double)n / all;
    return widest(part < 0.002 ? 1 : part < 0.03 ? 8 : part < 0.25 ? 16 : (int)SAP_FEW_MOST, n);
}

/* Whether so many targets are most particles: forces on all of them then cost less than a selection. */
static int most_walk(const struct sap_gpu_host_tree *t, int n) { return n / 7 >= t->n / 8; }

static int reserve_rows(struct sap_gpu_host_tree *t, int n)
{
    TRY(sap_gpu_tree_reserve_sort(t, t->row_key, t->row, n));
    TRY(sap_session_reserve(&t->session, &t->slot, (size_t)n * sizeof(int)));
    return sap_session_reserve(&t->session, &t->slot_strict, (size_t)n * sizeof(float));
}

/* Returns the bits that the indices of n particles need. */
static int bits_of(int n)
{
    int bits = 1;
    while ((n - 1) >> bits) bits++;
    return bits;
}

/* Sorts the rows by their sorted particles; *at: index of the sorted arrays in row_key and row. */
static int sort_rows(struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p, int *at)
{
    const int n = p->request->ni, has_active = p->request->active != NULL;
    const struct sap_sort sort = {.key = {t->row_key[0].mem, t->row_key[1].mem},
                                  .value = {t->row[0].mem, t->row[1].mem},
                                  .n = n,
                                  .to = bits_of(t->n),
                                  .places = 1};
    *at = 1;
    TRY(sap_launch_tree_row_keys(&t->session, t->f, n, t->place.mem, sap_tree_active(t)->mem, has_active,
                                 t->row_key[0].mem, n));
    if (n <= SAP_GPU_FEW_ROWS)
        return sap_launch_tree_row_order(&t->session, t->f, n, t->row_key[0].mem, t->row_key[1].mem, t->row[1].mem, n);
    return sap_primitives_sort(t->session.primitives, t->session.stream, &sort, t->session.scratch.mem, at);
}

int sap_gpu_targets_active(struct sap_gpu_host_tree *t, struct sap_gpu_pass *p)
{
    const int n = p->request->ni, width = width_of(n, t->n), has_active = p->request->active != NULL;
    const int as_given = width == 1 && n <= SAP_GPU_FEW_ROWS;
    int at = 1;
    TRY(sap_gpu_tree_take_active(t, p->request, &p->bad_active));
    if (p->bad_active >= 0) return SAP_DRIVER_OK;
    p->picked = most_walk(t, n);
    if (p->picked) {
        sap_gpu_targets_all(t, p);
        return SAP_DRIVER_OK;
    }
    TRY(reserve_rows(t, n));
    if (as_given)
        TRY(sap_launch_tree_row_places(&t->session, t->f, n, t->place.mem, sap_tree_active(t)->mem, has_active,
                                       t->slot.mem, t->row[1].mem, n));
    if (!as_given) TRY(sort_rows(t, p, &at));
    if (!as_given) TRY(sap_launch_tree_row_slots(&t->session, t->f, n, t->row_key[at].mem, t->slot.mem, n));
    p->w.slots = n;
    p->w.parts = n < PARTS_LEAST || t->lengths.f ? 0 : n / SAP_WALK_SELECTED + (n % SAP_WALK_SELECTED > 0);
    p->w.span = as_given ? 0 : SPAN;
    p->w.left_width = width;
    p->w.width = as_given ? width : widest(SAP_FEW_MOST, n);
    p->w.left_room = 2 * (n / width + 1);
    p->row = &t->row[at];
    p->slot = &t->slot;
    p->strict = &t->slot_strict;
    return SAP_DRIVER_OK;
}

int sap_gpu_targets_place(const struct sap_gpu_host_tree *t, const sapporo_tree_request *r, int i, double *x)
{
    memcpy(x, sap_column_at(&r->x, i, 3 * sizeof *x), 3 * sizeof *x);
    const double unit = t->n > 0 ? t->t.unit : 0;
    if (sap_tree_is_place(&t->cube, unit, x) && sap_tree_is_length(sap_column_double(&r->h, i), unit)) return 1;
    memcpy(x, t->cube.low, sizeof t->cube.low);
    return 0;
}

int sap_gpu_targets_places(struct sap_gpu_host_tree *t, struct sap_gpu_pass *p)
{
    const sapporo_tree_request *const r = p->request;
    double(*const chunk)[4] = t->session.chunk.host;
    TRY(sap_session_reserve(&t->session, &t->place_given, (size_t)r->ni * sizeof *chunk));
    for (int first = 0; first < r->ni; first += CHUNK) {
        const int n = r->ni - first < CHUNK ? r->ni - first : CHUNK;
        for (int k = 0; k < n; k++) {
            p->bad += !sap_gpu_targets_place(t, r, first + k, chunk[k]);
            chunk[k][3] = 1; /* mass, for the centre of mass of a group */
        }
        TRY(sap_session_copy_in(&t->session, t->place_given.mem, (size_t)first * sizeof *chunk, chunk,
                                (size_t)n * sizeof *chunk));
        TRY(sap_session_wait(&t->session));
    }
    TRY(sap_gpu_tree_sort_places(t, p->walkers, &t->place_given, r->ni, t->settings.group_size));
    if (t->lengths.f) TRY(sap_gpu_lengths_of_places(t, r->h.base ? &r->h : NULL, r->ni));
    TRY(sap_gpu_tree_make_groups(t, p->walkers, NULL));
    sap_gpu_targets_all(t, p);
    return SAP_DRIVER_OK;
}

int sap_gpu_targets_massless(struct sap_gpu_host_tree *t, struct sap_gpu_pass *p, int n)
{
    const int dense = n >= t->n / 4, run = dense ? t->settings.group_size : width_of(n, t->n);
    TRY(sap_gpu_tree_sort_places(t, p->walkers, &t->place_given, n, run));
    TRY(sap_gpu_tree_make_groups(t, p->walkers, NULL));
    sap_gpu_targets_all(t, p);
    if (dense) return SAP_DRIVER_OK;
    p->w.parts = 0;
    p->w.width = p->w.left_width = run;
    p->w.left_room = n / run + 1;
    return SAP_DRIVER_OK;
}
