/* stepper.c - sapporo_stepper_*: life, particles, outputs; checks arguments, locks the stepper and calls the engine. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "physics/ops_scalar.h"

#include "base/structs.h"
#include "context/call.h"
#include "context/context.h"
#include "context/stepper_private.h"
#include "engine/tree_limits.h"

/* ---- life ---------------------------------------------------------------------------- */

/* Frees the parts of a locked stepper and ends its life. */
static void retire(sapporo_stepper *s)
{
    sap_handle_withdraw(&s->object.self);
    if (s->particles) s->ops->destroy(s->particles);
    if (s->tree && !s->is_part) s->tree->ops->destroy(s->tree);
    sap_context_tree_engine_close(&s->on);
    sapporo_close(s->direct.context);
    free(s->direct.x);
    free(s->direct.index);
    free(s->direct.eps2_of);
    free(s->label);
    free(s->h);
    sap_object_retire(&s->object, sizeof *s);
}

/* Creates a stepper; whole NULL: it is no part. */
static int create(const sapporo_stepper_options *options, int n, const struct sap_stepper_whole *whole,
                  sapporo_stepper **stepper)
{
    if (!stepper) return SAPPORO_ERR_ARGUMENT;
    *stepper = NULL;
    sapporo_stepper *const s = sap_object_make(SAP_HANDLE_STEPPER, sizeof *s, "stepper");
    if (!s) return SAPPORO_ERR_MEMORY;
    const sap_fpenv callers = sap_fp_enter();
    s->room = n;
    s->is_part = whole != NULL;
    if (whole) s->whole = *whole;
    const int status = sap_stepper_open(s, options, n);
    *stepper = sap_object_give(&s->object, status);
    if (status) retire(s);
    sap_fp_leave(callers);
    return status;
}

int sapporo_stepper_create(const sapporo_stepper_options *options, int n, sapporo_stepper **stepper)
{
    return create(options, n, NULL, stepper);
}

int sap_stepper_part_create(const sapporo_stepper_options *options, int n, const struct sap_stepper_whole *whole,
                            sapporo_stepper **stepper)
{
    return create(options, n, whole, stepper);
}

void sapporo_stepper_destroy(sapporo_stepper *stepper)
{
    struct sap_public_call call;
    sapporo_stepper *const s = sap_call_look(&call, SAP_HANDLE_STEPPER, stepper);
    if (s) retire(s);
}

const char *sapporo_stepper_last_error(const sapporo_stepper *stepper)
{
    return sap_object_error(SAP_HANDLE_STEPPER, stepper);
}

const char *sapporo_stepper_kind_text(const sapporo_stepper *stepper)
{
    const sapporo_stepper *const s = sap_handle_find(SAP_HANDLE_STEPPER, stepper);
    return s ? s->kind : "";
}

sapporo_backend sapporo_stepper_get_backend(const sapporo_stepper *stepper)
{
    struct sap_public_call call;
    sapporo_stepper *const s = sap_call_look(&call, SAP_HANDLE_STEPPER, stepper);
    if (!s) return SAPPORO_BACKEND_AUTO;
    const sapporo_backend backend = s->on.engine ? s->on.engine->backend : sapporo_get_backend(s->direct.context);
    sap_call_leave(&call);
    return backend;
}

double sapporo_stepper_get_time(const sapporo_stepper *stepper)
{
    struct sap_public_call call;
    sapporo_stepper *const s = sap_call_begin(&call, SAP_HANDLE_STEPPER, stepper);
    const double time = s && s->ready ? sap_stepper_time(s, s->clock.long_step, s->clock.tick) : NAN;
    sap_call_leave(&call);
    return time;
}

/* ---- particles ---------------------------------------------------------------------------- */

static int is_finite(const void *at, int n, double limit)
{
    double x[3];
    memcpy(x, at, (size_t)n * sizeof *x);
    for (int c = 0; c < n; c++)
        if (!(fabs(x[c]) <= limit)) return 0;
    return 1;
}

/* Whether a finite mass leaves the range of double, or becomes zero, times the gravitational constant. */
static int is_lost(double mass, double gravity)
{
    return isfinite(mass) && (!isfinite(mass * gravity) || (mass != 0 && mass * gravity == 0));
}

static int check_numbers(sapporo_stepper *s, const sapporo_stepper_particles *p)
{
    const double most = 1.7976931348623157e308;
    for (int i = 0; i < p->n; i++) {
        if (!is_finite(sap_column_at(&p->x, i, 3 * sizeof(double)), 3, SAP_TREE_LIMIT))
            return fail(s, SAPPORO_ERR_NOT_FINITE, "position of particle %d is not finite, or beyond 1e100", i);
        if (!is_finite(sap_column_at(&p->v, i, 3 * sizeof(double)), 3, most))
            return fail(s, SAPPORO_ERR_NOT_FINITE, "velocity of particle %d is not finite", i);
        if (!is_finite(sap_column_at(&p->mass, i, sizeof(double)), 1, most))
            return fail(s, SAPPORO_ERR_NOT_FINITE, "mass of particle %d is not finite", i);
        if (is_lost(sap_column_double(&p->mass, i), s->tree_settings.gravity))
            return fail(s, SAPPORO_ERR_NOT_FINITE,
                        "mass of particle %d times the gravitational constant is beyond the range of double", i);
    }
    return SAPPORO_OK;
}

/* Whether the stepper can use memory of a device; sets the error if not. */
static int check_memory(sapporo_stepper *s, sapporo_memory memory)
{
    if (memory != SAPPORO_MEMORY_HOST && memory != SAPPORO_MEMORY_DEVICE)
        return fail(s, SAPPORO_ERR_ARGUMENT, "memory is %d; it may be 0 or 1", (int)memory);
    const sapporo_backend backend = s->on.engine ? s->on.engine->backend : SAPPORO_BACKEND_CPU;
    if (memory == SAPPORO_MEMORY_DEVICE && backend != SAPPORO_BACKEND_CUDA && backend != SAPPORO_BACKEND_HIP)
        return fail(s, SAPPORO_ERR_UNSUPPORTED,
                    "only steppers whose particles are on a device of CUDA or HIP use its memory");
    return SAPPORO_OK;
}

int sap_stepper_check_particles(sapporo_stepper *s, const sapporo_stepper_particles *given, int before,
                                sapporo_stepper_particles *p)
{
    const int known = given ? sap_struct_copy(p, sizeof *p, given, sizeof given->size) : (int)SAPPORO_ERR_ARGUMENT;
    if (known) return sap_struct_error(&s->object.notes, known, "sapporo_stepper_particles", given);
    const int least = s->is_part ? 0 : 1, most = s->room - before;
    if (p->n < least || p->n > most)
        return fail(s, SAPPORO_ERR_ARGUMENT, "%d particles; the stepper %s for %d to %d", p->n,
                    before > 0 ? "has room" : "was created", least, most);
    if (p->n > 0 && (!p->x.base || !p->v.base || !p->mass.base))
        return fail(s, SAPPORO_ERR_ARGUMENT, "particles without positions, velocities or masses");
    if (!(fabs(p->time) <= SAP_TREE_LIMIT)) return fail(s, SAPPORO_ERR_NOT_FINITE, "time is %g", p->time);
    int status = sap_stepper_check_step(s, p->time, p->time + s->signature.dt, s->signature.dt);
    if (!status) status = check_memory(s, p->memory);
    if (!status && p->memory == SAPPORO_MEMORY_HOST) status = check_numbers(s, p);
    if (!status) status = sap_stepper_check_lengths(s, p->n, &p->h);
    return status ? status : sap_stepper_reserve_lengths(s, &p->h);
}

/* Copies the particles; there are none until all else has succeeded. */
static int copy(sapporo_stepper *s, const sapporo_stepper_particles *p, int others)
{
    int bad;
    s->n = s->ready = 0;
    const struct sap_step_particles particles = {.n = p->n,
                                                 .memory = p->memory,
                                                 .x = p->x,
                                                 .v = p->v,
                                                 .mass = p->mass,
                                                 .gravity = s->tree_settings.gravity,
                                                 .lengths = sap_stepper_take_lengths(s, p->n, &p->h, others)};
    const int status = s->ops->take(s->particles, &particles, &bad);
    if (status) return sap_stepper_failed(s, status, "particles");
    if (bad >= 0) return fail(s, SAPPORO_ERR_NOT_FINITE, "velocity of particle %d is not finite", bad);
    for (int i = 0; i < p->n; i++) {
        s->label[i] = i;
        if (p->label.base) memcpy(&s->label[i], sap_column_at(&p->label, i, sizeof *s->label), sizeof *s->label);
    }
    s->n = p->n;
    s->massive = s->ops->massive(s->particles);
    s->clock = (struct sap_stepper_clock){.start = p->time};
    return SAPPORO_OK;
}

static int take(sapporo_stepper *s, const sapporo_stepper_particles *p)
{
    int others, status = sap_stepper_share_lengths(s, &p->h, &others);
    if (status) return status;
    status = sap_stepper_agree(s, copy(s, p, others));
    if (!status) status = sap_stepper_start(s);
    if (status) s->n = 0;
    s->ready = !status;
    return status;
}

int sapporo_stepper_set(sapporo_stepper *stepper, const sapporo_stepper_particles *particles)
{
    sapporo_stepper_particles p = {.n = 0};
    struct sap_public_call call;
    sapporo_stepper *const s = sap_call_begin(&call, SAP_HANDLE_STEPPER, stepper);
    if (!s) return SAPPORO_ERR_CLOSED;
    int status = sap_stepper_agree(s, sap_stepper_check_particles(s, particles, 0, &p));
    if (!status) status = take(s, &p);
    return sap_call_end(&call, status);
}

/* ---- outputs -------------------------------------------------------------------------------- */

static int check_output(sapporo_stepper *s, const sapporo_stepper_output *o)
{
    const double ahead = o->time - sap_stepper_time(s, s->clock.long_step, s->clock.tick);
    if (!s->ready) return sap_stepper_empty(s);
    if (o->n != s->n) return fail(s, SAPPORO_ERR_ARGUMENT, "n is %d; the stepper has %d particles", o->n, s->n);
    if ((int)o->when < 0 || o->when > SAPPORO_STEP_AT_TIME)
        return fail(s, SAPPORO_ERR_ARGUMENT, "when is %d; it may be 0 to %d", (int)o->when, (int)SAPPORO_STEP_AT_TIME);
    if (o->when == SAPPORO_STEP_AT_TIME && !(ahead >= 0 && ahead <= s->signature.dt))
        return fail(s, SAPPORO_ERR_ARGUMENT, "time is %.17g; it may be the present time, or up to dt after it",
                    o->time);
    if ((o->nearest || o->nearest_r2) && !s->settings.nearest)
        return fail(s, SAPPORO_ERR_ARGUMENT, "the stepper keeps no neighbours: see its option");
    if (s->settings.order && s->is_part && o->pot && o->when == SAPPORO_STEP_NOW)
        return fail(s, SAPPORO_ERR_UNSUPPORTED,
                    "present potentials of Hermite schemes over ranks: sapporo_mpi_stepper_get_potentials has them");
    return check_memory(s, o->memory);
}

/* Copies a column to memory of the caller; NULL: not wanted. */
static int give(sapporo_stepper *s, const sapporo_stepper_output *o, enum sap_step_column column, void *to)
{
    if (!to) return SAPPORO_OK;
    return o->memory == SAPPORO_MEMORY_DEVICE && column != SAP_STEP_MASS ? s->ops->read_device(s->particles, column, to)
                                                                         : s->ops->read(s->particles, column, to);
}

/* Copies positions and velocities. */
static int give_orbits(sapporo_stepper *s, const sapporo_stepper_output *o)
{
    struct sap_step step = sap_stepper_now(s);
    if (!o->x && !o->v) return SAPPORO_OK;
    if (o->when == SAPPORO_STEP_OWN) {
        const int status = give(s, o, SAP_STEP_X, o->x);
        return status ? status : give(s, o, SAP_STEP_V, o->v);
    }
    if (o->when == SAPPORO_STEP_AT_TIME) step.ahead = o->time - sap_stepper_time(s, s->clock.long_step, s->clock.tick);
    return s->ops->at(s->particles, &step, o->memory, o->x, o->v);
}

/* Writes levels, and the times at which particles ended their last steps. */
static int give_levels(sapporo_stepper *s, const sapporo_stepper_output *o)
{
    if (!o->level && !o->own_time) return SAPPORO_OK;
    int *const level = o->level ? o->level : malloc(((size_t)s->n + 1) * sizeof *level);
    const int status = level ? s->ops->read(s->particles, SAP_STEP_LEVEL, level) : (int)SAPPORO_ERR_MEMORY;
    for (int i = 0; i < s->n && !status && o->own_time; i++)
        o->own_time[i] =
            sap_stepper_time(s, s->clock.long_step, s->clock.tick - sap_step_behind(s->clock.tick, level[i], 1));
    if (!o->level) free(level);
    return status;
}

/* Copies the potentials of a Hermite scheme at the present time.  Forces are at predicted places: it needs one more. */
static int give_present_pots(sapporo_stepper *s, sapporo_memory memory, double *pot)
{
    const struct sap_step now = sap_stepper_now(s);
    const int status = sap_stepper_force_now(s, &now, s->n);
    return status ? status : s->ops->pots(s->particles, memory, pot);
}

static int give_pots(sapporo_stepper *s, const sapporo_stepper_output *o)
{
    const int present = s->settings.order && o->pot && o->when == SAPPORO_STEP_NOW;
    return present ? give_present_pots(s, o->memory, o->pot) : give(s, o, SAP_STEP_POT, o->pot);
}

/* Copies the nearest neighbours. */
static int give_nearest(sapporo_stepper *s, const sapporo_stepper_output *o)
{
    int status = o->nearest ? s->ops->read(s->particles, SAP_STEP_NEAREST, o->nearest) : SAPPORO_OK;
    if (!status && o->nearest_r2) status = s->ops->read(s->particles, SAP_STEP_NEAREST_R2, o->nearest_r2);
    return status;
}

static int give_all(sapporo_stepper *s, const sapporo_stepper_output *o)
{
    int status = give_orbits(s, o);
    if (!status) status = give(s, o, SAP_STEP_A, o->acc);
    if (!status) status = give_pots(s, o);
    if (!status) status = give(s, o, SAP_STEP_MASS, o->mass);
    const double gravity = s->tree_settings.gravity;
    for (int k = 0; k < s->n && !status && o->mass && gravity != 1; k++) o->mass[k] /= gravity;
    if (!status) status = give_levels(s, o);
    if (status) return sap_stepper_failed(s, status, "outputs");
    if (o->label) memcpy(o->label, s->label, (size_t)s->n * sizeof *o->label);
    for (int k = 0; k < s->n && o->h; k++) o->h[k] = s->has_lengths ? s->h[k] : 0;
    status = give_nearest(s, o);
    return status ? sap_stepper_failed(s, status, "nearest neighbours") : SAPPORO_OK;
}

static void fill_with_nan(double *to, int n)
{
    for (int k = 0; k < n && to; k++) to[k] = NAN;
}

/* Makes outputs in host memory invalid, for calls that fail: NaN, and -1 for levels and labels. */
static void erase(const sapporo_stepper_output *o)
{
    const int n = o->memory == SAPPORO_MEMORY_DEVICE ? 0 : o->n;
    for (int i = 0; i < n; i++) {
        if (o->x) fill_with_nan(o->x[i], 3);
        if (o->v) fill_with_nan(o->v[i], 3);
        if (o->acc) fill_with_nan(o->acc[i], 3);
    }
    fill_with_nan(o->pot, n);
    fill_with_nan(o->mass, o->n);
    fill_with_nan(o->own_time, o->n);
    fill_with_nan(o->h, o->n);
    for (int i = 0; i < o->n && o->level; i++) o->level[i] = -1;
    for (int i = 0; i < o->n && o->label; i++) o->label[i] = -1;
    for (int i = 0; i < o->n && o->nearest; i++) o->nearest[i] = -1;
    fill_with_nan(o->nearest_r2, o->n);
}

static int check_pots(sapporo_stepper *s, int n, const double *pot)
{
    if (!s->ready) return sap_stepper_empty(s);
    if (n != s->n) return fail(s, SAPPORO_ERR_ARGUMENT, "n is %d; the stepper has %d particles", n, s->n);
    return n > 0 && !pot ? fail(s, SAPPORO_ERR_ARGUMENT, "no array for %d potentials", n) : SAPPORO_OK;
}

int sap_stepper_part_pots(sapporo_stepper *stepper, int n, double *pot)
{
    struct sap_public_call call;
    sapporo_stepper *const s = sap_call_begin(&call, SAP_HANDLE_STEPPER, stepper);
    if (!s) return SAPPORO_ERR_CLOSED;
    int status = sap_stepper_agree(s, check_pots(s, n, pot));
    if (!status && s->settings.order)
        status = give_present_pots(s, SAPPORO_MEMORY_HOST, pot);
    else if (!status && n > 0)
        status = s->ops->read(s->particles, SAP_STEP_POT, pot);
    if (status) fill_with_nan(pot, n);
    return sap_call_end(&call, status);
}

int sapporo_stepper_get(sapporo_stepper *stepper, const sapporo_stepper_output *output)
{
    sapporo_stepper_output o = {.n = 0};
    const int known = output ? sap_struct_copy(&o, sizeof o, output, sizeof output->size) : SAPPORO_ERR_ARGUMENT;
    struct sap_public_call call;
    sapporo_stepper *const s = sap_call_begin(&call, SAP_HANDLE_STEPPER, stepper);
    if (!s) {
        erase(&o);
        return SAPPORO_ERR_CLOSED;
    }
    int status =
        known ? sap_struct_error(&s->object.notes, known, "sapporo_stepper_output", output) : check_output(s, &o);
    if (!status) status = give_all(s, &o);
    if (status) erase(&o);
    return sap_call_end(&call, status);
}

/* ---- statistics ------------------------------------------------------------------------------- */

static void fill_statistics(const sapporo_stepper *s, sapporo_stepper_statistics *to)
{
    const struct sap_stepper_clock *const c = &s->clock;
    size_t of_tree = 0;
    const int massless = s->n > 0 ? s->n - s->massive : 0;
    to->n = s->n;
    to->host_bytes = s->ops->memory(s->room, massless, sap_stepper_direct_order(s), &to->device_bytes);
    if (s->tree && !s->is_part) /* the size of a tree over ranks depends on the division among them */
        to->host_bytes += s->on.engine->tree->memory(s->on.devices, &s->tree_settings, s->room, &of_tree);
    to->device_bytes += of_tree;
    if (s->h) to->host_bytes += 3 * (size_t)s->room * sizeof *s->h; /* by address, reaches, and by slot */
    if (s->h && to->device_bytes > 0) to->device_bytes += 2 * (size_t)s->room * sizeof *s->h;
    if (!s->ready) return;
    to->massive = s->massive;
    to->active = c->active;
    to->steps = c->steps;
    to->particle_steps = c->particle_steps;
    to->builds = c->builds;
    to->refreshes = c->refreshes;
    to->interactions = s->tree && s->all.massive > 0 ? s->tree->ops->interactions(s->tree) : 0;
    memcpy(to->level, s->level, sizeof to->level);
    memcpy(to->seconds, s->seconds, sizeof to->seconds);
    to->group_extent = s->tunes_groups ? s->groups.extent : s->signature.group_extent;
    to->group_searches = s->groups.searches;
    to->rebuild_steps = s->interval;
}

int sapporo_stepper_get_statistics(sapporo_stepper *stepper, sapporo_stepper_statistics *statistics)
{
    sapporo_stepper_statistics whole = {.size = sizeof whole};
    const int sized = statistics && statistics->size >= sizeof statistics->size;
    int status = SAPPORO_OK;
    struct sap_public_call call;
    sapporo_stepper *const s = sap_call_begin(&call, SAP_HANDLE_STEPPER, stepper);
    if (s) {
        if (sized)
            fill_statistics(s, &whole);
        else
            status = sap_struct_error(&s->object.notes, SAPPORO_ERR_ARGUMENT, "sapporo_stepper_statistics", statistics);
        sap_call_leave(&call);
    }
    if (sized) sap_struct_return(statistics, &whole, sizeof whole);
    return s ? status : sized ? SAPPORO_ERR_CLOSED : SAPPORO_ERR_ARGUMENT;
}
