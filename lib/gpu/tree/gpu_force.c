/*
 * gpu_force.c - forces from a tree on an accelerator: the acceptance criterion of target particles, copies of the
 * results, and forces of parts of a whole.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/tree_error.h"
#include "engine/tree_macs.h"
#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_kernels.h"
#include "gpu/tree/gpu_pass.h"

/* Returns the list of a request in device memory; NULL: all rows. */
static const struct sap_gpu_buffer *list_of(const struct sap_gpu_host_tree *t, const sapporo_tree_request *r)
{
    return r->active ? sap_gpu_active_list(&t->active) : NULL;
}

static int sizes(const struct sap_gpu_host_tree *t, const struct sap_gpu_buffer *a, const struct sap_gpu_buffer *list,
                 int n)
{
    return sap_gpu_results_sizes(&t->session, t->f, &t->results, list, a, n);
}

struct sap_gpu_walking sap_gpu_pass_walking(struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p)
{
    return (struct sap_gpu_walking){.tree = sap_gpu_tree_built(t),
                                    .nodes = p->imported ? &t->part.halo.nodes : &t->nodes,
                                    .sorted = p->imported ? &t->part.halo.sorted : &t->own.sorted,
                                    .length = p->imported ? &t->part.halo.lengths.of_particle : &t->own.length,
                                    .soft = p->imported ? &t->part.halo.lengths.of_node : &t->lengths.of_node,
                                    .stops = t->settings.walk == SAPPORO_WALK_STACKLESS ? &t->stops : NULL,
                                    .cells = &sap_gpu_builder_read(&t->builder)->stop_cells,
                                    .lists = &t->walks.lists,
                                    .results = &t->results};
}

static int walk(struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p)
{
    const struct sap_gpu_walking all = sap_gpu_pass_walking(t, p);
    if (t->settings.period > 0) return sap_gpu_periodic_walk(&t->periodic, &all, &p->to, 0);
    return p->is_part || t->walks.shares.helpers == 0 ? sap_gpu_walk_run(&all, &p->to)
                                                      : sap_gpu_shares_walk(&t->walks.shares, &all, &p->to);
}

/* Returns the frame with the accuracy that target particles take for the error that is asked for. */
static struct sap_gpu_tree frame_of_targets(const struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p)
{
    struct sap_gpu_tree frame = t->frame;
    const int few = p->to.w.own ? !p->to.w.all_slots : p->to.w.slots < SAP_ERROR_FEW * t->frame.n;
    if (few && t->settings.error > 0 && !p->is_part)
        frame.accuracy = sap_error_few(frame.order, t->settings.error, frame.accuracy);
    return frame;
}

/* For ACCELERATION: computes how strict the acceptance criterion of each target particle is. */
static int make_strict(struct sap_gpu_host_tree *t, struct sap_gpu_pass *p, const struct sap_gpu_buffer *a)
{
    struct sap_gpu_subset *const to = &p->to;
    const struct sap_gpu_built tree = sap_gpu_tree_built(t);
    const struct sap_gpu_tree frame = frame_of_targets(t, p);
    const int n = to->w.slots;
    to->w.strict = 1;
    to->a = a;
    TRY(sap_gpu_periodic_raise(&t->periodic, &tree, a, to->of->n));
    if (t->settings.walk == SAPPORO_WALK_STACKLESS) return SAP_DRIVER_OK; /* each particle has its own */
    if (to->w.all_slots)
        return sap_gpu_targets_bound(&t->session, t->f, to->of, &t->nodes.cell, &t->lengths, a, &frame);
    return sap_launch_tree_row_strict(&t->session, t->f, n, t->nodes.cell.mem, to->slot->mem, a->mem,
                                      to->of->address.mem, to->strict->mem, n, frame);
}

int sap_gpu_pass_learn(struct sap_gpu_host_tree *t, struct sap_gpu_pass *p, const struct sap_gpu_buffer **of)
{
    const int own = p->to.w.own;
    struct sap_gpu_pass first = {
        .request = p->request, .to = {.of = p->to.of, .w = {.own = own, .every = p->to.w.every}}, .bad_active = -1};
    struct sap_gpu_buffer *const a = own ? &t->given.a : &t->positions.a;
    if (!own) TRY(sap_session_reserve(&t->session, a, (size_t)p->to.of->n * sizeof(double)));
    if (!own || t->given.has_a < t->frame.n) {
        sap_gpu_subset_all(t, &first);
        TRY(walk(t, &first));
        TRY(sizes(t, a, NULL, first.to.w.slots));
    }
    p->learned = own;
    *of = a;
    return SAP_DRIVER_OK;
}

/* For ACCELERATION: computes what the criterion needs. */
static int start(struct sap_gpu_host_tree *t, struct sap_gpu_pass *p)
{
    const struct sap_gpu_buffer *a;
    TRY(sap_gpu_pass_learn(t, p, &a));
    return make_strict(t, p, a);
}

/* Returns a number of interactions of two words. */
static long long number_of(const unsigned *words) { return (long long)words[0] + ((long long)words[1] << 32); }

static int results(struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p, double (*acc)[3], double *pot)
{
    const sapporo_tree_request *const r = p->request;
    unsigned *const walked = sap_gpu_builder_read(&t->builder)->walked;
    if (p->picked) TRY(sap_gpu_results_pick(&t->session, t->f, &t->results, list_of(t, r), r->ni));
    sap_gpu_results_expect(r, acc, pot);
    TRY(sap_session_mark(&t->session, SAPPORO_PHASES));
    TRY(sap_gpu_results_give(&t->session, &t->results, r, p->picked, acc, pot));
    TRY(sap_session_copy_out(&t->session, walked, t->walks.lists.left.mem, 0, SAP_LEFT_COUNT * sizeof *walked));
    TRY(sap_session_wait(&t->session));
    if (!p->is_part) sap_gpu_shares_tell(&t->walks.shares, walked);
    TRY(sap_session_take_seconds(&t->session, SAPPORO_PHASE_WALK, SAPPORO_PHASE_WALK, t->done.seconds));
    if (!t->session.times.events) sap_gpu_shares_took(&t->walks.shares, t->done.seconds[SAPPORO_PHASE_WALK]);
    t->done.stackless = t->settings.walk == SAPPORO_WALK_STACKLESS;
    t->results.picked = p->picked;
    t->done.rows = r->ni;
    t->done.particle_particle = number_of(walked);
    t->done.particle_cell = number_of(walked + 2);
    t->results.too_near = walked[SAP_LEFT_BEYOND] != 0;
    return SAP_DRIVER_OK;
}

static int run(struct sap_gpu_host_tree *t, struct sap_gpu_pass *p, double (*acc)[3], double *pot)
{
    const sapporo_tree_request *const r = p->request;
    const int by_acceleration = sap_mac_row(t->settings.mac).by_a, own = !r->x.base;
    p->to.w.own = own;
    p->to.w.every = t->settings.precision == SAPPORO_DP;
    p->to.of = own ? &t->own : &t->positions.targets;
    TRY(sap_session_mark(&t->session, SAPPORO_PHASE_WALK));
    if (!own)
        TRY(sap_gpu_subset_positions(t, p));
    else if (r->active || r->ni < t->frame.n)
        TRY(sap_gpu_subset_active(t, p));
    else
        sap_gpu_subset_all(t, p);
    if (p->bad_active >= 0) return SAP_DRIVER_OK;
    if (by_acceleration) TRY(start(t, p));
    TRY(walk(t, p));
    TRY(results(t, p, acc, pot));
    if (p->learned) t->given.has_a = t->frame.n;
    /* last: a force that fails must leave the accelerations of the force before it */
    if (!by_acceleration || !own) return SAP_DRIVER_OK;
    return sizes(t, &t->given.a, p->picked ? NULL : list_of(t, r), p->picked ? t->frame.n : r->ni);
}

/* ---- parts of a whole ---------------------------------------------------------------------- */

/* Copies the interactions of rows to the host; those of all particles if rows of them are selected. */
static int copy_work(struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p, int *work)
{
    const int slots = p->to.w.slots;
    int *const all = p->picked ? malloc((size_t)slots * sizeof *all) : work;
    if (!all) return SAP_DRIVER_MEMORY;
    const int status =
        sap_session_download(&t->session, all, &t->walks.lists.left, sap_gpu_walk_left_words(&p->to.w) * sizeof *all,
                             (size_t)slots * sizeof *all);
    for (int k = 0; k < p->request->ni && p->picked && !status; k++) work[k] = all[p->request->active[k]];
    if (p->picked) free(all);
    return status;
}

/* Adds the interactions of the walk whose results were kept to those of the last one. */
static int add_kept_counts(struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p)
{
    unsigned counts[SAP_LEFT_COUNT];
    TRY(sap_gpu_results_counts(&t->session, &t->results, p->to.w.slots, counts));
    t->done.particle_particle += number_of(counts);
    t->done.particle_cell += number_of(counts + 2);
    return SAP_DRIVER_OK;
}

/* Ends a walk whose results stay on the device, which is not waited for: another walk adds its interactions. */
static int end_kept(struct sap_gpu_host_tree *t, const struct sap_gpu_pass *p)
{
    t->done.particle_particle = t->done.particle_cell = 0;
    return sap_gpu_results_keep(&t->session, &t->results, &t->walks.lists.left, sap_gpu_walk_left_words(&p->to.w),
                                p->to.w.slots);
}

/* Notes that a walk begins whose results are kept, beside which regions are told. */
static int note_ready(struct sap_gpu_host_tree *t)
{
    const struct sap_driver *const driver = t->session.driver;
    if (!t->part.ready) TRY(driver->event_create(t->session.device->dev, &t->part.ready));
    return driver->event_record(t->part.ready, t->session.stream);
}

/* Chooses the target particles of a walk of a part, and uploads sizes of accelerations. */
static int choose_part(struct sap_gpu_host_tree *t, const struct sap_tree_pass *how, struct sap_gpu_pass *p)
{
    const sapporo_column a = {how->a, 0};
    t->given.has_a = 0; /* the whole has other accelerations */
    TRY(sap_session_mark(&t->session, SAPPORO_PHASE_WALK));
    if (how->a && !how->knows_a) /* before the list, which takes the same pinned memory */
        TRY(sap_gpu_given_send_a(&t->session, &t->given, &a, t->frame.n));
    if (how->active)
        TRY(sap_gpu_subset_active(t, p));
    else
        sap_gpu_subset_all(t, p);
    if (how->active && how->keeps) TRY(sap_session_wait(&t->session)); /* the list has left pinned memory */
    return how->a || how->has_a ? make_strict(t, p, &t->given.a) : (int)SAP_DRIVER_OK;
}

int sap_gpu_tree_walk_part(struct sap_gpu_host_tree *t, const struct sap_tree_pass *how, double (*acc)[3], double *pot,
                           int *work)
{
    const sapporo_tree_request rows = {
        .size = sizeof rows, .ni = sap_tree_pass_rows(how, t->frame.n), .active = how->active};
    struct sap_gpu_pass p = {
        .request = &rows, .to = {.of = &t->own}, .is_part = 1, .imported = how->imported, .bad_active = -1};
    struct sap_gpu_walk *const w = &p.to.w;
    w->own = !how->imported;
    w->every = t->settings.precision == SAPPORO_DP;
    TRY(choose_part(t, how, &p));
    w->work = work || how->keeps || how->stays ? (int)sap_gpu_walk_left_words(w) : 0;
    t->part.bodies.work_at = w->work;
    t->part.bodies.has_list = how->active != NULL;
    if (how->keeps) TRY(note_ready(t));
    if (how->ends) sap_gpu_results_unkeep(&t->results);
    if (!how->ends) TRY(walk(t, &p));
    if (how->keeps) return end_kept(t, &p);
    if (how->adds) TRY(sap_gpu_results_add(&t->session, t->f, &t->results, &t->walks.lists.left, w->work, w->slots));
    if (work) TRY(copy_work(t, &p, work));
    TRY(results(t, &p, acc, pot));
    return how->adds ? add_kept_counts(t, &p) : (int)SAP_DRIVER_OK;
}

/* Reads position i of a request; returns 0 if it receives no force. */
static int read_position(const struct sap_gpu_host_tree *t, const sapporo_tree_request *r, int i)
{
    double x[3];
    return sap_gpu_positions_read(r, i, &t->cube, t->frame.n > 0 ? t->frame.unit : 0, t->settings.period, x);
}

void sap_gpu_request_erase_bad(const struct sap_gpu_host_tree *t, const sapporo_tree_request *r, double *rows,
                               int width)
{
    for (int i = 0; i < r->ni && rows; i++) {
        if (read_position(t, r, i)) continue;
        for (int c = 0; c < width; c++) rows[(size_t)i * (size_t)width + (size_t)c] = NAN;
    }
}

int sap_gpu_request_lists_none(struct sap_gpu_host_tree *t, int k)
{
    (void)snprintf(t->session.message, sizeof t->session.message, "active[%d] is none of the tree's %d particles", k,
                   t->frame.n);
    return SAPPORO_ERR_ARGUMENT;
}

int sap_gpu_request_bad(const struct sap_gpu_host_tree *t, const sapporo_tree_request *r)
{
    int bad = 0;
    for (int i = 0; i < r->ni && r->x.base; i++) bad += !read_position(t, r, i);
    return bad;
}

/* Writes zero forces for a tree without particles. Returns the number of positions that are not finite. */
static int nothing(const struct sap_gpu_host_tree *t, const sapporo_tree_request *r, double (*acc)[3], double *pot)
{
    if (acc) memset(acc, 0, (size_t)r->ni * sizeof *acc);
    if (pot) memset(pot, 0, (size_t)r->ni * sizeof *pot);
    return sap_gpu_request_bad(t, r);
}

const char *sap_gpu_request_refused(const struct sap_gpu_host_tree *t, const sapporo_tree_request *r)
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
    const char *const why = sap_gpu_request_refused(t, request);
    if (why) return sap_session_refuse(&t->session, SAPPORO_ERR_UNSUPPORTED, why);
    t->results.too_near = 0;
    if (t->frame.n > 0)
        status = run(t, &p, acc, pot);
    else if (request->memory == SAPPORO_MEMORY_DEVICE)
        p.bad_active = 0;
    else
        p.bad = nothing(t, request, acc, pot);
    if (status) sap_gpu_shares_halt(&t->walks.shares);
    if (!status && p.bad > 0 && !t->results.too_near) {
        sap_gpu_request_erase_bad(t, request, acc ? acc[0] : NULL, 3);
        sap_gpu_request_erase_bad(t, request, pot, 1);
    }
    status = sap_session_end(&t->session, status);
    if (status) return status;
    if (p.bad_active >= 0) return sap_gpu_request_lists_none(t, p.bad_active);
    if (t->results.too_near) return sap_session_fail(&t->session, SAPPORO_ERR_NOT_FINITE, SAP_TREE_TOO_NEAR);
    return p.bad > 0 ? SAPPORO_PARTIAL : SAPPORO_OK;
}

/* Computes sizes of accelerations by an opening angle of 1, if they are unknown, and the forces. */
static int massless_force(struct sap_gpu_host_tree *t, int n, int knows_a)
{
    const sapporo_tree_request request = {.size = sizeof request, .ni = n};
    const int every = t->settings.precision == SAPPORO_DP;
    struct sap_gpu_buffer *const a = &t->positions.a;
    struct sap_gpu_pass p = {
        .request = &request, .to = {.of = &t->positions.targets, .w = {.every = every}}, .bad_active = -1};
    TRY(sap_gpu_subset_massless(t, &p, n));
    if (sap_mac_row(t->settings.mac).by_a) {
        if (!knows_a) {
            TRY(sap_session_reserve(&t->session, a, (size_t)n * sizeof(double)));
            TRY(walk(t, &p));
            TRY(sizes(t, a, NULL, n));
        }
        TRY(make_strict(t, &p, a));
    }
    return walk(t, &p);
}

int sap_gpu_tree_force_massless(struct sap_gpu_host_tree *t, int n, int knows_a)
{
    const sapporo_tree_statistics done = t->done;
    const int status = massless_force(t, n, knows_a);
    if (status) sap_gpu_shares_halt(&t->walks.shares);
    t->done = done;
    return status;
}
