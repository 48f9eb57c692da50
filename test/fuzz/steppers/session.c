/* session.c - see session.h. */
#define _POSIX_C_SOURCE 200809L
#include "session.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "faults.h"
#include "state.h"

enum { STATES = 64, FILE_MOST = 1 << 16, PATH_MOST = 300 };

/* A stepper, its file, and the bytes of the file. */
struct side {
    sapporo_stepper *stepper;
    char path[PATH_MOST];
    size_t size;
    unsigned char bytes[FILE_MOST];
};

struct session {
    const struct plan *plan;
    struct session_notes *notes;
    const struct call *call;
    struct side calm, tried;
    char damaged[PATH_MOST], missing[PATH_MOST], spare[PATH_MOST];
    double target;              /* of CALL_ADVANCE and of AT_TIME */
    struct outputs right, got;  /* of the present call */
    struct state state[STATES]; /* of `calm`: before the call, and after each of its steps */
    int states;
    uint64_t changed; /* bit k: after k steps, modulo 64, particles came or went: forces were those before it */
};

static void wrong(struct session *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Notes what is wrong, if nothing is wrong yet. */
static void wrong(struct session *s, const char *format, ...)
{
    va_list args;
    if (*s->notes->text) return;
    va_start(args, format);
    (void)vsnprintf(s->notes->text, sizeof s->notes->text, format, args);
    va_end(args);
}

static int is_wrong(const struct session *s) { return *s->notes->text != '\0'; }

/* ---- files ----------------------------------------------------------------------------------- */

/* Reads the file of a side; there may be none. */
static void read_file(struct side *side)
{
    FILE *const from = fopen(side->path, "rb");
    side->size = from ? fread(side->bytes, 1, sizeof side->bytes, from) : 0;
    if (from) (void)fclose(from);
}

static void check_file(struct session *s, const struct side *other, const char *what)
{
    struct side *const now = &s->tried;
    read_file(now);
    if (now->size != other->size || memcmp(now->bytes, other->bytes, now->size) != 0) wrong(s, "file: %s", what);
}

/* ---- calls ------------------------------------------------------------------------------------- */

static int create(const struct session *s, struct side *side)
{
    sapporo_tree_options tree = s->plan->tree;
    sapporo_stepper_options o = s->plan->options;
    o.tree = &tree;
    o.fields = s->plan->field;
    if (s->call->mistake == 1) o.dt = -1;
    if (s->call->mistake == 2) tree.eps2 = NAN;
    sapporo_stepper_destroy(side->stepper);
    return sapporo_stepper_create(&o, s->call->mistake == 3 ? 0 : s->plan->room, &side->stepper);
}

static int set(const struct session *s, const struct side *side)
{
    static struct model m;
    plan_model(s->call, &m);
    const int mistake = s->call->mistake;
    const sapporo_stepper_particles p = {.size = sizeof p,
                                         .n = mistake == 2 ? s->plan->room + 1 : s->call->n,
                                         .x = {m.x, 0},
                                         .v = {m.v, 0},
                                         .mass = {mistake == 3 ? NULL : m.mass, 0},
                                         .h = {m.has_lengths ? m.h : NULL, 0},
                                         .label = {s->call->model % 2 ? m.label : NULL, 0},
                                         .time = s->call->time};
    return sapporo_stepper_set(side->stepper, &p);
}

/* Adds as many particles as there is room for, but at least one. */
static int add(const struct session *s, const struct side *side)
{
    static struct model m;
    plan_model(s->call, &m);
    const int mistake = s->call->mistake, fit = s->plan->room - s->state[0].n, n = s->call->n < fit ? s->call->n : fit;
    const sapporo_stepper_particles p = {.size = sizeof p,
                                         .n = mistake == 2 || n < 1 ? fit + 1 : n,
                                         .x = {m.x, 0},
                                         .v = {m.v, 0},
                                         .mass = {mistake == 3 ? NULL : m.mass, 0},
                                         .h = {m.has_lengths ? m.h : NULL, 0},
                                         .label = {s->call->model % 2 ? m.label : NULL, 0},
                                         .time = s->state[0].time};
    return sapporo_stepper_add(side->stepper, &p);
}

/* Removes particles one after the other from one on; all but one, if that is fewer. */
static int take_away(const struct session *s, const struct side *side)
{
    const int mistake = s->call->mistake, there = s->state[0].n, most = there - 1;
    const int n = s->call->n < most ? s->call->n : most;
    int address[PLAN_ROWS + 1] = {0};
    for (int k = 0; k < n; k++) address[k] = (int)((s->call->model + (uint64_t)k) % (uint64_t)there);
    address[n > 0 ? n : 0] = mistake == 1 ? address[0] : there;
    return sapporo_stepper_remove(side->stepper, mistake == 1 || mistake == 2 ? n + 1 : n,
                                  mistake == 3 ? NULL : address);
}

static int get(const struct session *s, const struct side *side, struct outputs *o)
{
    const int n = s->state[0].n + (s->call->mistake == 1), rows = n < PLAN_ROWS ? n : PLAN_ROWS;
    sapporo_stepper_output request = outputs_request(o, rows, s->call->when, s->target, s->call->wanted);
    if (s->call->mistake == 2) request.when = (sapporo_step_when)3;
    return sapporo_stepper_get(side->stepper, &request);
}

/* Makes the call on one side; steps: of CALL_ADVANCE. */
static int make(const struct session *s, struct side *side, struct outputs *o, int steps)
{
    const int mistake = s->call->mistake;
    switch (s->call->kind) {
    case CALL_CREATE:
        return create(s, side);
    case CALL_SET:
        return set(s, side);
    case CALL_ADD:
        return add(s, side);
    case CALL_REMOVE:
        return take_away(s, side);
    case CALL_ADVANCE:
        return sapporo_stepper_advance(side->stepper, s->target, steps);
    case CALL_GET:
        return get(s, side, o);
    case CALL_ENERGY:
        return sapporo_stepper_energy(side->stepper, mistake ? NULL : &o->totals);
    case CALL_SAVE:
        return sapporo_stepper_save(side->stepper, mistake ? s->missing : side->path);
    default:
        return sapporo_stepper_restore(side->stepper, mistake == 1   ? s->missing
                                                      : mistake == 2 ? s->damaged
                                                      : mistake      ? NULL
                                                                     : side->path);
    }
}

/* ---- the side without faults --------------------------------------------------------------------- */

/* The time that a call names. */
static void aim(struct session *s)
{
    const double now = s->state[0].time, dt = s->plan->options.dt;
    s->target = (isnan(now) ? 0 : now) + s->call->time * dt;
    if (s->call->mistake == 1) s->target = now - dt;
    if (s->call->mistake == 2) s->target = s->call->kind == CALL_GET ? now : NAN;
    if (s->call->mistake == 3) s->target = s->call->kind == CALL_GET ? now + 2 * dt : INFINITY;
}

/* Advances step by step, and keeps the states. */
static int advance_calm(struct session *s)
{
    int status = SAPPORO_OK;
    if (s->call->mistake) return make(s, &s->calm, &s->right, s->call->mistake == 3 ? 0 : 1);
    for (int done = 0; !status && (s->call->steps == 0 || done < s->call->steps) && s->states < STATES; done++) {
        status = make(s, &s->calm, &s->right, 1);
        state_take(s->calm.stepper, &s->state[s->states]);
        if (s->state[s->states].steps == s->state[s->states - 1].steps) break;
        s->states++;
    }
    return status;
}

/* Makes the call without faults; counts its allocations. */
static int run_calm(struct session *s, int *allocations)
{
    outputs_poison(&s->right);
    state_take(s->calm.stepper, &s->state[0]);
    s->states = 1;
    aim(s);
    faults_begin(0, 0);
    const int status = s->call->kind == CALL_ADVANCE ? advance_calm(s) : make(s, &s->calm, &s->right, s->call->steps);
    faults_end(allocations, NULL);
    return status;
}

/* ---- the side with faults ------------------------------------------------------------------------- */

/* Steps that the tried side has made of the present call. */
static int steps_done(const struct session *s)
{
    sapporo_stepper_statistics t = {.size = sizeof t};
    (void)sapporo_stepper_get_statistics(s->tried.stepper, &t);
    return (int)(t.steps - s->state[0].steps);
}

/* Makes the call, or what is left of it. */
static int make_tried(struct session *s)
{
    int steps = s->call->steps;
    outputs_poison(&s->got);
    if (s->call->kind == CALL_ADVANCE && s->call->mistake) steps = s->call->mistake == 3 ? 0 : 1;
    if (s->call->kind == CALL_ADVANCE && !s->call->mistake && steps > 0) steps -= steps_done(s);
    return make(s, &s->tried, &s->got, steps);
}

/* The stepper after a failed call, and whether its particles may be lost. */
static void check_state(struct session *s, int may_be_empty)
{
    static struct state now;
    const char *what;
    state_take(s->tried.stepper, &now);
    const long long done = now.steps - s->state[0].steps;
    if (may_be_empty && state_is_empty(&now)) return;
    if (done < 0 || done >= s->states || (s->call->kind != CALL_ADVANCE && done > 0)) {
        wrong(s, "after a failed call %lld steps are done", done);
    } else {
        what = state_difference(&now, &s->state[done]);
        if (what) wrong(s, "after a failed call: %s differ from those of a complete step", what);
    }
}

/* Rows of CALL_GET that must be spoilt. */
static void check_spoilt(struct session *s)
{
    const int rows = s->state[0].n + (s->call->mistake == 1);
    const int is_get = s->call->kind == CALL_GET;
    if (is_get && !outputs_are_spoilt(&s->got, rows, s->call->wanted)) wrong(s, "outputs of a failed call are numbers");
    if (s->call->kind == CALL_ENERGY && !s->call->mistake && !totals_are_spoilt(&s->got.totals))
        wrong(s, "totals of a failed call are numbers");
}

static void check_failed(struct session *s, int expected)
{
    const int changes = s->call->kind >= CALL_ADD;
    const int takes = s->call->kind == CALL_SET || s->call->kind == CALL_RESTORE || changes;
    atomic_fetch_add(&s->notes->failures, 1);
    if (s->call->kind == CALL_CREATE) {
        if (s->tried.stepper) wrong(s, "a failed creation gives a handle");
        if (!*sapporo_last_error(NULL)) wrong(s, "a failed creation has no text");
        return;
    }
    if (!*sapporo_stepper_last_error(s->tried.stepper)) wrong(s, "a failed call has no text");
    check_spoilt(s);
    check_state(s, takes && !expected);
    if (changes && isnan(sapporo_stepper_get_time(s->tried.stepper)))
        (void)sapporo_stepper_restore(s->tried.stepper, s->spare); /* what there was before the call, if anything */
    if (s->call->kind == CALL_SAVE) check_file(s, &s->tried, "a failed save changed it");
}

/* The outputs of a call without a failure. */
static void check_outputs(struct session *s)
{
    const struct outputs *const got = &s->got, *const right = &s->right;
    if (memcmp(got, right, sizeof *got) != 0) wrong(s, "outputs differ from those of a run without failures");
}

/* Makes the call with a fault; 1: it failed for it. */
static int try_once(struct session *s, const struct fault *f, int allocations, int expected)
{
    int failed = 0;
    faults_begin(1 + (int)(f->where * allocations), f->stays);
    const int status = make_tried(s);
    faults_end(NULL, &failed);
    if (failed && status == SAPPORO_ERR_MEMORY)
        check_failed(s, expected);
    else if (status != expected)
        wrong(s, "status %d while memory is short; without that %d", status, expected);
    return status == SAPPORO_ERR_MEMORY;
}

static void run_tried(struct session *s, int allocations, int expected)
{
    int status = SAPPORO_ERR_MEMORY, t = 0;
    read_file(&s->tried);
    (void)unlink(s->spare);
    if (s->call->kind >= CALL_ADD) (void)sapporo_stepper_save(s->tried.stepper, s->spare);
    for (; t < s->call->tries && status == SAPPORO_ERR_MEMORY && !is_wrong(s); t++)
        status = try_once(s, &s->call->fault[t], allocations, expected) ? SAPPORO_ERR_MEMORY : expected;
    if (is_wrong(s)) return;
    if (status == SAPPORO_ERR_MEMORY) {
        status = make_tried(s);
        if (status != expected)
            wrong(s, "status %d after %d failures, should be %d: %s", status, t, expected,
                  sapporo_stepper_last_error(s->tried.stepper));
    }
    check_outputs(s);
}

/* ---- sessions --------------------------------------------------------------------------------------- */

/* Forces of direct sums against sums in long double. */
static void check_forces(struct session *s, const struct state *now)
{
    const struct plan *const p = s->plan;
    /* sp rounds coordinates of about 2 to 2^-24 of them, and the softening length is 0.01 or more */
    const double bound = p->tree.precision == SAPPORO_DP ? 1e-14 : 1e-4;
    if (p->tree.softening || p->options.method != SAPPORO_STEP_DIRECT || p->options.scheme != SAPPORO_STEPS_SHARED)
        return;
    if (s->call->kind >= CALL_ADD) s->changed |= UINT64_C(1) << now->steps % 64;
    if (p->options.nfields > 0 || now->status || s->changed >> now->steps % 64 & 1) return;
    const double gravity = p->tree.gravitational_constant > 0 ? p->tree.gravitational_constant : 1;
    const double error = state_error(now, p->tree.eps2, gravity);
    if (!(error <= bound)) wrong(s, "forces are off by %.3g, allowed are %.3g", error, bound);
}

static void run_call(struct session *s)
{
    static struct state calm, tried;
    int allocations = 0;
    const int expected = run_calm(s, &allocations);
    run_tried(s, allocations, expected);
    state_take(s->calm.stepper, &calm);
    state_take(s->tried.stepper, &tried);
    const char *const what = state_difference(&calm, &tried);
    if (what) wrong(s, "after the call: %s differ from those of a run without failures", what);
    check_forces(s, &calm);
    if (s->call->kind != CALL_SAVE) return;
    read_file(&s->calm);
    check_file(s, &s->calm, "it differs from that of a run without failures");
}

static void begin(struct session *s, const struct plan *p, const char *folder, struct session_notes *notes)
{
    memset(s, 0, sizeof *s);
    s->plan = p;
    s->notes = notes;
    notes->text[0] = '\0';
    (void)snprintf(s->calm.path, PATH_MOST, "%s/calm.%ld", folder, (long)getpid());
    (void)snprintf(s->tried.path, PATH_MOST, "%s/tried.%ld", folder, (long)getpid());
    (void)snprintf(s->damaged, PATH_MOST, "%s/damaged.%ld", folder, (long)getpid());
    (void)snprintf(s->spare, PATH_MOST, "%s/spare.%ld", folder, (long)getpid());
    (void)snprintf(s->missing, PATH_MOST, "%s/missing.%ld/file", folder, (long)getpid());
    FILE *const damaged = fopen(s->damaged, "wb");
    if (!damaged) return;
    for (int k = 0; k < 1000; k++) (void)fputc(k, damaged);
    (void)fclose(damaged);
}

int session_run(const struct plan *p, const char *folder, struct session_notes *notes)
{
    static struct session s;
    begin(&s, p, folder, notes);
    for (int k = 0; k < p->n && !is_wrong(&s); k++) {
        atomic_store(&notes->call, k);
        s.call = &p->call[k];
        run_call(&s);
    }
    sapporo_stepper_destroy(s.calm.stepper);
    sapporo_stepper_destroy(s.tried.stepper);
    (void)unlink(s.calm.path);
    (void)unlink(s.tried.path);
    (void)unlink(s.damaged);
    (void)unlink(s.spare);
    return !is_wrong(&s);
}
