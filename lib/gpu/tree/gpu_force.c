/*
 * gpu_force.c - forces from a tree on an accelerator: the acceptance criterion of target particles, copies of the
 * results, and forces of parts of a whole.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_kernels.h"
#include "gpu/tree/gpu_pass.h"

static int sizes(struct sap_gpu_host_tree *t, const struct sap_gpu_buffer *a, int has_active, int n)
{
    return sap_launch_tree_sizes(&t->session, t->f, n, t->acc.mem, has_active ? sap_tree_active(t)->mem : t->acc.mem,
                                 has_active, a->mem, n);
}

/* For ACCELERATION: computes how strict the acceptance criterion of each target particle is. */
static int make_strict(struct sap_gpu_host_tree *t, struct sap_gpu_pass *p, const struct sap_gpu_buffer *a)
{
    p->w.strict = 1;
    p->a = a;
    if (t->settings.walk == SAPPORO_WALK_STACKLESS) return SAP_DRIVER_OK; /* each particle has its own */
    if (p->w.all_slots) return sap_gpu_tree_make_groups(t, p->walkers, a);
    const struct sap_gpu_buffer *const address = &p->walkers->address;
    const int n = p->w.slots;
    return sap_launch_tree_row_strict(&t->session, t->f, n, t->cell.mem, p->slot->mem, a->mem, address->mem,
                                      p->strict->mem, n, t->t);
}

/* For ACCELERATION: computes accelerations with an opening angle of 1 if they are unknown. */
static int start(struct sap_gpu_host_tree *t, struct sap_gpu_pass *p)
{
    struct sap_gpu_pass first = {
        .request = p->request, .walkers = p->walkers, .w = {.own = p->w.own, .every = p->w.every}, .bad_active = -1};
    struct sap_gpu_buffer *const a = p->w.own ? &t->given.a : &t->place_a;
    if (!p->w.own) TRY(sap_session_reserve(&t->session, a, (size_t)p->walkers->n * sizeof(double)));
    if (!p->w.own || t->given.has_a < t->n) {
        sap_gpu_targets_all(t, &first);
        TRY(sap_gpu_walk_targets(t, &first));
        TRY(sizes(t, a, 0, first.w.slots));
    }
    p->learned = p->w.own;
    return make_strict(t, p, a);
}

static int pick(struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p)
{
    const int n = p->request->ni, has_active = p->request->active != NULL;
    TRY(sap_session_reserve(&t->session, &t->picked_acc, (size_t)n * 3 * sizeof(double)));
    TRY(sap_session_reserve(&t->session, &t->picked_pot, (size_t)n * sizeof(double)));
    return sap_launch_tree_pick(&t->session, t->f, n, t->acc.mem, t->pot.mem, sap_tree_active(t)->mem, has_active,
                                t->picked_acc.mem, t->picked_pot.mem, n);
}

static int results(struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p, double (*acc)[3], double *pot)
{
    struct sap_gpu_tree_told *const told = t->told.host;
    if (p->picked) TRY(pick(t, p));
    TRY(sap_session_mark(&t->session, SAPPORO_PHASES));
    TRY(sap_gpu_tree_give(t, p->request, p->picked, acc, pot));
    TRY(sap_session_copy_out(&t->session, told->walked, t->left.mem, 0, sizeof told->walked));
    TRY(sap_session_wait(&t->session));
    TRY(sap_session_take_seconds(&t->session, SAPPORO_PHASE_WALK, SAPPORO_PHASE_WALK, t->done.seconds));
    t->done.stackless = t->settings.walk == SAPPORO_WALK_STACKLESS;
    t->picked = p->picked;
    t->done.rows = p->request->ni;
    t->done.particle_particle = (long long)told->walked[0] + ((long long)told->walked[1] << 32);
    t->done.particle_cell = (long long)told->walked[2] + ((long long)told->walked[3] << 32);
    t->too_near = told->walked[SAP_LEFT_BEYOND] != 0;
    return SAP_DRIVER_OK;
}

static int run(struct sap_gpu_host_tree *t, struct sap_gpu_pass *p, double (*acc)[3], double *pot)
{
    const sapporo_tree_request *const r = p->request;
    const int by_acceleration = t->settings.mac == SAPPORO_MAC_ACCELERATION;
    p->w.own = !r->x.base;
    p->w.every = t->settings.precision == SAPPORO_DP;
    p->walkers = p->w.own ? &t->own : &t->places;
    TRY(sap_session_mark(&t->session, SAPPORO_PHASE_WALK));
    if (!p->w.own)
        TRY(sap_gpu_targets_places(t, p));
    else if (r->active || r->ni < t->n)
        TRY(sap_gpu_targets_active(t, p));
    else
        sap_gpu_targets_all(t, p);
    if (p->bad_active >= 0) return SAP_DRIVER_OK;
    if (by_acceleration) TRY(start(t, p));
    TRY(sap_gpu_walk_targets(t, p));
    TRY(results(t, p, acc, pot));
    if (p->learned) t->given.has_a = t->n;
    /* last: a force that fails must leave the accelerations of the force before it */
    if (!by_acceleration || !p->w.own) return SAP_DRIVER_OK;
    return sizes(t, &t->given.a, !p->picked && r->active != NULL, p->picked ? t->n : r->ni);
}

/* ---- parts of a whole ---------------------------------------------------------------------- */

/* Copies the interactions of rows to the host; those of all particles if rows of them are selected. */
static int copy_work(struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p, int *work)
{
    const int slots = p->w.slots;
    int *const all = p->picked ? malloc((size_t)slots * sizeof *all) : work;
    if (!all) return SAP_DRIVER_MEMORY;
    const int status = sap_session_download(&t->session, all, &t->left, sap_gpu_walk_left_words(&p->w) * sizeof *all,
                                            (size_t)slots * sizeof *all);
    for (int k = 0; k < p->request->ni && p->picked && !status; k++) work[k] = all[p->request->active[k]];
    if (p->picked) free(all);
    return status;
}

static void exchange(struct sap_gpu_buffer *a, struct sap_gpu_buffer *b)
{
    const struct sap_gpu_buffer was = *a;
    *a = *b;
    *b = was;
}

/* Keeps the results of a walk in device memory, and the numbers of its interactions behind those of its rows. */
static int keep_results(struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p)
{
    const size_t bytes = (size_t)p->w.slots * sizeof(int), at = sap_gpu_walk_left_words(&p->w) * sizeof(int),
                 told = SAP_LEFT_COUNT * sizeof(int);
    exchange(&t->acc, &t->kept_acc);
    exchange(&t->pot, &t->kept_pot);
    TRY(sap_session_reserve(&t->session, &t->kept_work, bytes + told));
    TRY(sap_session_copy(&t->session, t->kept_work.mem, 0, t->left.mem, at, bytes));
    return sap_session_copy(&t->session, t->kept_work.mem, bytes, t->left.mem, SAP_LEFT_TOLD * sizeof(int), told);
}

/* Adds the results that a walk of the same rows has kept. */
static int add_kept(struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p)
{
    const int n = p->w.slots, work_at = p->w.work;
    return sap_launch_tree_rows_add(&t->session, t->f, n, t->acc.mem, t->pot.mem, t->left.mem, t->kept_acc.mem,
                                    t->kept_pot.mem, t->kept_work.mem, work_at, n);
}

/* Adds the interactions of the walk whose results were kept to those of the last one. */
static int add_kept_counts(struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p)
{
    unsigned told[SAP_LEFT_COUNT];
    TRY(sap_session_download(&t->session, told, &t->kept_work, (size_t)p->w.slots * sizeof(int), sizeof told));
    t->done.particle_particle += (long long)told[0] + ((long long)told[1] << 32);
    t->done.particle_cell += (long long)told[2] + ((long long)told[3] << 32);
    return SAP_DRIVER_OK;
}

/* Ends a walk whose results stay on the device, which is not waited for: another walk adds its interactions. */
static int end_kept(struct sap_gpu_host_tree *t, struct sap_gpu_pass *p)
{
    t->done.particle_particle = t->done.particle_cell = 0;
    return keep_results(t, p);
}

int sap_gpu_tree_walk_part(struct sap_gpu_host_tree *t, const struct sap_tree_pass *how, double (*acc)[3], double *pot,
                           int *work)
{
    const sapporo_tree_request rows = {.size = sizeof rows, .ni = sap_tree_pass_rows(how, t->n), .active = how->active};
    const sapporo_column a = {how->a, 0};
    struct sap_gpu_pass p = {.request = &rows, .walkers = &t->own, .imported = how->imported, .bad_active = -1};
    p.w.own = !how->imported;
    p.w.every = t->settings.precision == SAPPORO_DP;
    t->given.has_a = 0; /* the whole has other accelerations */
    TRY(sap_session_mark(&t->session, SAPPORO_PHASE_WALK));
    if (how->a && !how->knows_a)
        TRY(sap_gpu_given_send_a(&t->session, &t->given, &a,
                                 t->n)); /* before the list, which takes the same pinned memory */
    if (how->active)
        TRY(sap_gpu_targets_active(t, &p));
    else
        sap_gpu_targets_all(t, &p);
    if (how->active && how->keeps) TRY(sap_session_wait(&t->session)); /* the list has left pinned memory */
    if (how->a) TRY(make_strict(t, &p, &t->given.a));
    p.w.work = work || how->keeps ? (int)sap_gpu_walk_left_words(&p.w) : 0;
    TRY(sap_gpu_walk_targets(t, &p));
    if (how->keeps) return end_kept(t, &p);
    if (how->adds) TRY(add_kept(t, &p));
    if (work) TRY(copy_work(t, &p, work));
    TRY(results(t, &p, acc, pot));
    return how->adds ? add_kept_counts(t, &p) : (int)SAP_DRIVER_OK;
}

static void erase_bad(const struct sap_gpu_host_tree *t, const sapporo_tree_request *r, double (*acc)[3], double *pot)
{
    double x[3];
    for (int i = 0; i < r->ni; i++) {
        if (sap_gpu_targets_place(t, r, i, x)) continue;
        if (pot) pot[i] = NAN;
        for (int c = 0; c < 3 && acc; c++) acc[i][c] = NAN;
    }
}

static int bad_active(struct sap_gpu_host_tree *t, int k)
{
    (void)snprintf(t->session.message, sizeof t->session.message, "active[%d] is none of the tree's %d particles", k,
                   t->n);
    return SAPPORO_ERR_ARGUMENT;
}

/* Writes zero forces for a tree without particles. Returns the number of positions that are not finite. */
static int nothing(const struct sap_gpu_host_tree *t, const sapporo_tree_request *r, double (*acc)[3], double *pot)
{
    double x[3];
    int bad = 0;
    for (int i = 0; i < r->ni && r->x.base; i++) bad += !sap_gpu_targets_place(t, r, i, x);
    if (acc) memset(acc, 0, (size_t)r->ni * sizeof *acc);
    if (pot) memset(pot, 0, (size_t)r->ni * sizeof *pot);
    return bad;
}

/* Why the library computes no such force: it is not supported. NULL: it does. */
static const char *why_refused(const struct sap_gpu_host_tree *t, const sapporo_tree_request *r)
{
    if (r->memory != SAPPORO_MEMORY_DEVICE) return NULL;
    if (!t->session.driver->adopt) return "OpenCL works on host memory only";
    return r->x.base ? "places are taken from host memory only" : NULL;
}

int sap_gpu_tree_force(struct sap_gpu_host_tree *t, const sapporo_tree_request *request, double (*acc)[3], double *pot)
{
    struct sap_gpu_pass p = {.request = request, .bad_active = -1};
    int status = sap_session_begin(&t->session);
    if (status) return status;
    const char *const why = why_refused(t, request);
    if (why) return sap_session_refuse(&t->session, SAPPORO_ERR_UNSUPPORTED, why);
    t->too_near = 0;
    if (t->n > 0)
        status = run(t, &p, acc, pot);
    else if (request->memory == SAPPORO_MEMORY_DEVICE)
        p.bad_active = 0;
    else
        p.bad = nothing(t, request, acc, pot);
    if (!status && p.bad > 0 && !t->too_near) erase_bad(t, request, acc, pot);
    status = sap_session_end(&t->session, status);
    if (status) return status;
    if (p.bad_active >= 0) return bad_active(t, p.bad_active);
    if (t->too_near) return sap_session_fail(&t->session, SAPPORO_ERR_NOT_FINITE, SAP_TREE_TOO_NEAR);
    return p.bad > 0 ? SAPPORO_PARTIAL : SAPPORO_OK;
}

/* Computes sizes of accelerations by an opening angle of 1, if they are unknown, and the forces. */
static int massless_force(struct sap_gpu_host_tree *t, int n, int knows_a)
{
    const sapporo_tree_request request = {.size = sizeof request, .ni = n};
    const int every = t->settings.precision == SAPPORO_DP;
    struct sap_gpu_pass p = {.request = &request, .walkers = &t->places, .w = {.every = every}, .bad_active = -1};
    TRY(sap_gpu_targets_massless(t, &p, n));
    if (t->settings.mac == SAPPORO_MAC_ACCELERATION) {
        if (!knows_a) {
            TRY(sap_session_reserve(&t->session, &t->place_a, (size_t)n * sizeof(double)));
            TRY(sap_gpu_walk_targets(t, &p));
            TRY(sizes(t, &t->place_a, 0, n));
        }
        TRY(make_strict(t, &p, &t->place_a));
    }
    return sap_gpu_walk_targets(t, &p);
}

int sap_gpu_tree_force_massless(struct sap_gpu_host_tree *t, int n, int knows_a)
{
    const sapporo_tree_statistics done = t->done;
    const int status = massless_force(t, n, knows_a);
    t->done = done;
    return status;
}
