/*
 * hermite.c - integrates a star cluster in order 6 or 8, with individual power-of-two ("block") time steps.
 *
 * The library computes the acceleration with its derivatives to the snap (order 6) or crackle (8).  One round is
 * predict, evaluate, correct.  Between both ends of a step the force is the polynomial through all known values; its
 * further derivatives improve the next prediction and choose the next step.
 *
 * Start-up: a first force gives acceleration and jerk; a second one, with these stored, gives all derivatives that the
 * library computes.  Higher derivatives are zero at first, and first steps are cautious.  With --shared two trial steps
 * ahead give them instead, so that the first step is as accurate as any.
 */
#include "hermite.h"

#include "collapse.h"
#include "criterion.h"
#include "hermite_steps.h"
#include "interpolate.h"
#include "schedule.h"
#include "units.h"

#include <math.h>
#include <sapporo.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 2 + 2 * INTERPOLATE_MOST }; /* derivatives of x that a star keeps, x itself among them */

/* Rounding errors of a force, in units of the last digit of its largest part: the sum of a cluster has some ten. */
enum { ROUNDINGS = 64 };

/* A particle at its own time.  The restart file has the same bytes. */
typedef struct star {
    double d[KEPT][3]; /* x, v, acceleration and its derivatives */
    double mass;
    int64_t tick; /* its time */
    int64_t id;
    int32_t level, unused;
} star;

/* The particles of a block, in order of the schedule; f[k] are derivatives of the acceleration. */
typedef struct block {
    int *index;
    double (*x)[3], (*v)[3], (*a)[3], (*j)[3], (*f[INTERPOLATE_MOST])[3], *pot;
} block;

/* What the restart file keeps besides the plan and the stars. */
typedef struct settings {
    int64_t n, tick, order, averaged, shared;
    int64_t told_of_depth; /* 1: that a star has the shortest step */
    double eta, eta_start;
    units unit; /* of stars and steps */
} settings;

typedef struct hermite {
    run *job;
    settings set;
    int given, kept; /* derivatives of the force that the library computes; derivatives of x that it stores */
    int is_double;   /* 1: it computes in dp */
    sapporo *library;
    star *body;
    schedule plan;
    block now;
    bodies out; /* for snapshots */
} hermite;

/* ---- memory ------------------------------------------------------------------------------------------ */

static int allocate(hermite *h, int n)
{
    const size_t room = (size_t)n;
    block *now = &h->now;
    h->set.n = n;
    h->body = calloc(room, sizeof *h->body);
    now->index = calloc(room, sizeof *now->index);
    now->pot = calloc(room, sizeof *now->pot);
    now->x = calloc(room, sizeof *now->x);
    now->v = calloc(room, sizeof *now->v);
    now->a = calloc(room, sizeof *now->a);
    now->j = calloc(room, sizeof *now->j);
    int there = h->body && now->index && now->pot && now->x && now->v && now->a && now->j;
    for (int k = 0; k < INTERPOLATE_MOST; k++) {
        now->f[k] = calloc(room, sizeof *now->f[k]);
        there = there && now->f[k];
    }
    if (there && !schedule_create(&h->plan, n)) return 0;
    run_warn(h->job, "out of memory for %d particles", n);
    return -1;
}

static void release(hermite *h)
{
    free(h->body);
    free(h->now.index);
    free(h->now.x);
    free(h->now.v);
    free(h->now.a);
    free(h->now.j);
    for (int k = 0; k < INTERPOLATE_MOST; k++) free(h->now.f[k]);
    free(h->now.pot);
    schedule_free(&h->plan);
    bodies_free(&h->out);
}

/* ---- time -------------------------------------------------------------------------------------------- */

/* The longest step in the units of the integration; times of the plan are the user's. */
static double longest(const hermite *h) { return units_time(&h->set.unit, h->job->plan.dt_max); }

static double tick_length(const hermite *h) { return ldexp(longest(h), -SCHEDULE_DEPTH); }

/* Returns the time since the start of the run. */
static double since(const hermite *h) { return (double)h->plan.tick * ldexp(h->job->plan.dt_max, -SCHEDULE_DEPTH); }

/*
 * The library counts time from the last multiple of the longest step, at which all particles were sent.  So its
 * numbers never get large, and differences of times are exact whenever a run starts and however long it is.
 */
static double time_of(const hermite *h, int64_t tick) { return (double)(tick % schedule_ticks(0)) * tick_length(h); }

/* Returns the end of a block on the same clock: particles still have the clock of the longest step that ends. */
static double end_of_block(const hermite *h)
{
    const double time = time_of(h, h->plan.tick);
    return time > 0 ? time : longest(h);
}

static int64_t next_output(const hermite *h)
{
    const run_plan *plan = &h->job->plan;
    const int64_t steps = (int64_t)(plan->interval / plan->dt_max); /* a power of two, exactly */
    return plan->done * steps * schedule_ticks(0);
}

/* ---- the library ------------------------------------------------------------------------------------- */

static int open_library(hermite *h)
{
    const sapporo_options options = {.size = sizeof options, .order = (int)h->set.order};
    if (sapporo_open(&options, &h->library) == SAPPORO_OK) return 0;
    run_warn(h->job, "the force library does not open: %s", sapporo_last_error(NULL));
    return -1;
}

static int send_star(hermite *h, int k)
{
    const star *p = &h->body[k];
    sapporo_particle q = {.mass = p->mass, .time = time_of(h, p->tick), .index = k};
    memcpy(q.derivative, p->d, (size_t)h->kept * sizeof *p->d);
    return sapporo_set_particle(h->library, k, &q) != SAPPORO_OK;
}

static int send_all(hermite *h)
{
    for (int k = 0; k < (int)h->set.n; k++)
        if (send_star(h, k)) {
            run_warn(h->job, "the force library does not take particle %lld", (long long)h->body[k].id);
            return -1;
        }
    return 0;
}

/* Computes the forces at `time` on the first ni particles of the block. */
static int forces(hermite *h, int ni, double time)
{
    block *now = &h->now;
    const double eps = units_length(&h->set.unit, h->job->plan.eps);
    const sapporo_request request = {.size = sizeof request,
                                     .nj = (int)h->set.n,
                                     .ni = ni,
                                     .x = {now->x, 0},
                                     .v = {now->v, 0},
                                     .a = {now->a, 0},
                                     .jerk = {now->j, 0},
                                     .index = {now->index, 0},
                                     .eps2 = eps * eps};
    const sapporo_result result = {.size = sizeof result,
                                   .acc = now->f[0],
                                   .jerk = now->f[1],
                                   .snap = now->f[2],
                                   .crackle = h->given > 3 ? now->f[3] : NULL,
                                   .pot = now->pot};
    sapporo_job *job;
    sapporo_set_time(h->library, time);
    int status = sapporo_force_begin(h->library, &request, &job);
    if (status >= 0) status = sapporo_force_end(job, ni, &result);
    sapporo_force_free(job);
    if (status == SAPPORO_OK) return 0;
    char at[RUN_TIME_TEXT];
    run_warn(h->job, "the force library failed at time %s: %s", run_time_text(h->job, since(h), 10, at),
             sapporo_last_error(h->library));
    return -1;
}

/* ---- the scheme -------------------------------------------------------------------------------------- */

/*
 * Returns an upper estimate of the rounding error of a force at the end of a step: of the force itself, and of
 * coordinates, which are off by their own roundings.  The jerk over the speed of the potential is the gradient of the
 * force.
 */
static double rounding_of_force(const hermite *h, const star *p, double pot)
{
    const double time = criterion_size(p->d[0]) / sqrt(fabs(pot));
    const double force = criterion_size(p->d[2]) + (pot < 0 ? time * criterion_size(p->d[3]) : 0);
    return ROUNDINGS * (h->is_double ? 0x1p-53 : 0x1p-24) * force;
}

/* Computes derivative k of the force at the beginning of a step from those at its end, f. */
static void derivative_at_begin(const hermite *h, const double (*f)[3], int k, double dt, double begin[3])
{
    const int top = 2 * h->given - 1;
    for (int c = 0; c < 3; c++) {
        begin[c] = f[top][c];
        for (int m = top - 1; m >= k; m--) begin[c] = f[m][c] - begin[c] * (dt / (m + 1 - k));
    }
}

/* Returns 1 if rounding errors of the force alone may make derivative k as large as it is. */
static int may_be_noise(const hermite *h, const double derivative[3], int k, double dt, double rounding)
{
    double change = criterion_size(derivative);
    for (int m = 0; m < k; m++) change *= dt;
    return change <= interpolate_amplification(h->given, k) * rounding;
}

/*
 * Returns 1 if derivative k at the beginning of a step is not the one at the end of the step before, `old`.  On a
 * smooth orbit both agree; if rounding errors make them, they are independent.
 */
static int is_broken(const hermite *h, const double (*f)[3], const double old[3], int k, double dt)
{
    double begin[3], between[3];
    derivative_at_begin(h, f, k, dt, begin);
    for (int c = 0; c < 3; c++) between[c] = begin[c] - old[c];
    return criterion_size(between) > 0.5 * (criterion_size(old) + criterion_size(begin));
}

/*
 * Returns the next step.  The generalised criterion divides by the highest derivatives, which are differences of forces
 * over powers of dt.  If rounding errors make them, each shorter step makes them larger, and the next step shorter
 * still, without a bound (docs/hermite.md).  So only derivatives below the first that is noise count in it, and where
 * noise may be taken for a derivative, the step by either criterion is at least an eighth of the one by the derivatives
 * that the library computes.  `old` are the derivatives at the end of the step before; they are 0 in first steps.
 */
static double choose_step(const hermite *h, const star *p, const double (*old)[3], double dt, double pot)
{
    const double(*const f)[3] = p->d + 2;
    const double rounding = rounding_of_force(h, p, pot), eta = h->set.eta;
    int highest = 2 * h->given - 1, uncertain = 0;
    for (int k = highest; k >= h->given; k--) {
        if (!may_be_noise(h, f[k], k, dt, rounding)) continue;
        uncertain = 1;
        if (criterion_size(old[k]) > 0 && is_broken(h, f, old[k], k, dt)) highest = k - 1;
    }
    const double step =
        h->set.averaged ? criterion_averaged(f, 2 * h->given - 2, eta) : criterion_generalised(f, highest, eta);
    return uncertain ? fmax(step, criterion_generalised(f, h->given - 1, eta) / 8) : step;
}

/* Predicts particle k to the time of the block, with the derivatives that the library predicts for sources. */
static void predict(hermite *h, int place, int k)
{
    const star *p = &h->body[k];
    const double dt = (double)(h->plan.tick - p->tick) * tick_length(h);
    double(*const to[])[3] = {h->now.x, h->now.v, h->now.a, h->now.j};
    h->now.index[place] = k;
    for (int d = 0; d < h->given; d++)
        for (int c = 0; c < 3; c++) {
            double sum = p->d[h->kept - 1][c];
            for (int m = h->kept - 2; m >= d; m--) sum = p->d[m][c] + sum * (dt / (m + 1 - d));
            to[d][place][c] = sum;
        }
}

/* Corrects x and v of one coordinate, and computes all derivatives of the force at the end. */
static void correct_axis(const hermite *h, int place, star *p, double dt, int c)
{
    double f0[INTERPOLATE_MOST + 1] = {0}, f1[INTERPOLATE_MOST + 1] = {0}, higher[INTERPOLATE_MOST] = {0};
    for (int k = 0; k < h->given; k++) {
        f0[k + 1] = p->d[2 + k][c];
        f1[k + 1] = h->now.f[k][place][c];
    }
    interpolate_derivatives(h->given, f1 + 1, f0 + 1, dt, higher);
    f0[0] = p->d[1][c];
    f1[0] = f0[0] + interpolate_integral(h->given, f0 + 1, f1 + 1, dt);
    p->d[0][c] += interpolate_integral(h->given, f0, f1, dt);
    p->d[1][c] = f1[0];
    for (int k = 0; k < h->given; k++) p->d[2 + k][c] = f1[k + 1], p->d[2 + h->given + k][c] = higher[k];
}

/* Corrects particle k; returns -1 if its orbit is not finite. */
static int correct(hermite *h, int place, int k)
{
    star *p = &h->body[k];
    const double dt = (double)(h->plan.tick - p->tick) * tick_length(h);
    double old[2 * INTERPOLATE_MOST][3];
    memcpy(old, p->d + 2, sizeof old);
    for (int c = 0; c < 3; c++) correct_axis(h, place, p, dt, c);
    p->tick = h->plan.tick;
    if (!isfinite(criterion_size(p->d[0]) + criterion_size(p->d[1]) + criterion_size(p->d[2]))) return -1;
    if (h->set.shared) return 0;
    const double step = choose_step(h, p, (const double(*)[3])old, dt, h->now.pot[place]);
    p->level = schedule_choose(&h->plan, p->level, step / longest(h));
    h->plan.level[k] = p->level;
    return 0;
}

/* Warns of collapsed steps: of the first star of the schedule, whose step is the shortest. */
static void tell_collapse(hermite *h, const char *why)
{
    const int shortest = h->plan.order[0];
    for (int k = 0; k < (int)h->set.n; k++) predict(h, k, k);
    memcpy(h->out.x, h->now.x, (size_t)h->set.n * sizeof *h->out.x);
    units_give(&h->set.unit, &h->out);
    collapse_warn(h->job, since(h), &h->out, shortest, ldexp(h->job->plan.dt_max, -h->body[shortest].level), why,
                  COLLAPSE_REMEDY);
}

static int block_step(hermite *h)
{
    const int64_t before = h->plan.tick;
    const int active = schedule_advance(&h->plan);
    for (int place = 0; place < active; place++) predict(h, place, h->plan.order[place]);
    if (forces(h, active, end_of_block(h))) {
        h->plan.tick = before; /* the stars have not changed yet, so the restart file will be good */
        return -1;
    }
    for (int place = 0; place < active; place++) {
        const int k = h->plan.order[place];
        if (correct(h, place, k) || send_star(h, k)) {
            char at[RUN_TIME_TEXT];
            run_warn(h->job, "the orbit of particle %lld is not finite at time %s", (long long)h->body[k].id,
                     run_time_text(h->job, since(h), 10, at));
            return -2;
        }
    }
    schedule_settle(&h->plan, active);
    h->job->plan.blocks++;
    h->job->plan.steps += active;
    if (h->plan.count[SCHEDULE_DEPTH] && !h->set.told_of_depth) {
        h->set.told_of_depth = 1;
        tell_collapse(h, COLLAPSE_DEEP("40"));
    }
    return 0;
}

/* ---- beginning --------------------------------------------------------------------------------------- */

/* Computes the force on all particles, at a time that they all have reached. */
static int force_on_all(hermite *h)
{
    for (int k = 0; k < (int)h->set.n; k++) {
        h->now.index[k] = k;
        memcpy(h->now.x[k], h->body[k].d[0], sizeof h->now.x[k]);
        memcpy(h->now.v[k], h->body[k].d[1], sizeof h->now.v[k]);
        memcpy(h->now.a[k], h->body[k].d[2], sizeof h->now.a[k]);
        memcpy(h->now.j[k], h->body[k].d[3], sizeof h->now.j[k]);
    }
    return forces(h, (int)h->set.n, time_of(h, h->plan.tick));
}

/* Copies the first n derivatives of the force to the stars, for the next upload. */
static void take_forces(hermite *h, int n)
{
    for (int k = 0; k < (int)h->set.n; k++)
        for (int d = 0; d < n; d++) memcpy(h->body[k].d[2 + d], h->now.f[d][k], sizeof h->body[k].d[0]);
}

/* Computes the force one step ahead, which gives the higher derivatives at the beginning. */
static int trial_step(hermite *h)
{
    const double dt = longest(h);
    const int n = (int)h->set.n;
    h->plan.tick = schedule_ticks(0);
    for (int k = 0; k < n; k++) predict(h, k, k);
    const int failed = forces(h, n, end_of_block(h));
    h->plan.tick = 0;
    if (failed) return -1;
    for (int k = 0; k < n; k++)
        for (int c = 0; c < 3; c++) {
            double here[INTERPOLATE_MOST], there[INTERPOLATE_MOST], higher[INTERPOLATE_MOST];
            for (int d = 0; d < h->given; d++) here[d] = h->body[k].d[2 + d][c], there[d] = h->now.f[d][k][c];
            interpolate_derivatives(h->given, here, there, -dt, higher);
            for (int d = 2 + h->given; d < h->kept; d++) h->body[k].d[d][c] = higher[d - 2 - h->given];
        }
    return send_all(h);
}

static void first_step(hermite *h, int k)
{
    star *p = &h->body[k];
    const double step = criterion_first(p->d[2], p->d[3], h->now.pot[k], h->set.eta_start, longest(h));
    p->level = h->set.shared ? 0 : schedule_first(step / longest(h));
    h->plan.level[k] = p->level;
}

static int start_up(hermite *h)
{
    if (send_all(h) || force_on_all(h)) return -1;
    take_forces(h, 2);
    if (send_all(h) || force_on_all(h)) return -1;
    take_forces(h, h->given);
    if (send_all(h)) return -1;
    for (int k = 0; k < 2 && h->set.shared; k++)
        if (trial_step(h)) return -1;
    for (int k = 0; k < (int)h->set.n; k++) first_step(h, k);
    schedule_rebuild(&h->plan);
    return 0;
}

static int begin(hermite *h)
{
    const int status = run_begin(h->job, &h->out);
    if (status) return status;
    if (allocate(h, h->out.n)) return RUN_FAILED;
    h->set.unit = units_choose(&h->out);
    units_take(&h->set.unit, &h->out);
    for (int k = 0; k < h->out.n; k++) {
        star *p = &h->body[k];
        p->mass = h->out.mass[k];
        p->id = h->out.id[k];
        memcpy(p->d[0], h->out.x[k], sizeof p->d[0]);
        memcpy(p->d[1], h->out.v[k], sizeof p->d[1]);
    }
    return start_up(h) ? RUN_FAILED : RUN_OK;
}

/* ---- outputs and restart files -------------------------------------------------------------------------- */

static int save(hermite *h, int always)
{
    h->set.tick = h->plan.tick;
    const restart_piece piece[] = {{"hermite", &h->set, sizeof h->set},
                                   {"stars", h->body, (size_t)h->set.n * sizeof *h->body}};
    return run_save(h->job, piece, 2, always);
}

static int output(hermite *h)
{
    if (force_on_all(h)) return -1;
    h->out.time = run_time(h->job, since(h));
    for (int k = 0; k < (int)h->set.n; k++) {
        h->out.mass[k] = h->body[k].mass;
        memcpy(h->out.x[k], h->body[k].d[0], sizeof h->out.x[k]);
        memcpy(h->out.v[k], h->body[k].d[1], sizeof h->out.v[k]);
        h->now.pot[k] = units_give_potential(&h->set.unit, h->now.pot[k]);
    }
    units_give(&h->set.unit, &h->out);
    if (run_output(h->job, &h->out, h->now.pot)) return -1;
    return save(h, 0);
}

static int read_stars(hermite *h, const restart_file *file, message *why)
{
    if (restart_get(file, "hermite", &h->set, sizeof h->set, why)) return -1;
    const int n = (int)h->set.n;
    if (n < 1) return complain(why, "%s: there are no stars in it", h->job->restart);
    if (bodies_allocate(&h->out, n) || allocate(h, n)) return complain(why, "out of memory for %d particles", n);
    if (restart_get(file, "stars", h->body, (size_t)n * sizeof *h->body, why)) return -1;
    h->plan.tick = h->set.tick;
    for (int k = 0; k < n; k++) {
        h->out.id[k] = h->body[k].id;
        h->plan.level[k] = h->body[k].level;
    }
    schedule_rebuild(&h->plan);
    return 0;
}

static int go_on(hermite *h)
{
    restart_file file;
    message why = {""};
    int status = run_reopen(h->job, &file);
    if (status) return status;
    const int bad = read_stars(h, &file, &why);
    restart_free(&file);
    if (bad) {
        run_warn(h->job, "%s", why.text);
        return RUN_USAGE;
    }
    status = run_go_on(h->job, since(h));
    if (status) return status;
    return send_all(h) ? RUN_FAILED : RUN_OK;
}

/* ---- the run ------------------------------------------------------------------------------------------- */

static int integrate(hermite *h)
{
    run *job = h->job;
    for (;;) {
        if (h->plan.tick == next_output(h) && output(h)) return RUN_FAILED;
        if (job->plan.done > job->plan.outputs) return run_finish(job);
        if (run_must_stop(job)) return save(h, 1) ? RUN_FAILED : run_stopped(job, since(h));
        const int bad = block_step(h);
        if (bad == -1) save(h, 1);
        if (bad) return RUN_FAILED;
        if (run_step(job, since(h))) tell_collapse(h, COLLAPSE_SLOW);
    }
}

static int run_program(run *job, int order, int argc, char **argv)
{
    enum { AUTO, AARSETH, AVERAGED };
    static const char *const criteria[] = {"auto", "aarseth", "averaged", NULL};
    hermite h = {.job = job, .set = {.order = order, .eta = order == 6 ? 0.4 : 0.6, .eta_start = 0.01}};
    static const sapporo_step_criterion of_steps[] = {SAPPORO_STEP_CRITERION_DEFAULT, SAPPORO_STEP_BY_AARSETH,
                                                      SAPPORO_STEP_BY_MEAN};
    hermite_steps steps = {.order = order};
    int criterion = AUTO, shared = 0, status;
    option_rule own[] = {
        {OPTION_REAL, 'e', "eta", &h.set.eta, "ETA", "accuracy: steps are eta times the time of the criterion", 0, 0,
         0},
        {OPTION_CHOICE, 0, "criterion", &criterion, "NAME",
         "aarseth (generalised), averaged, or as the precision needs", criteria, 0, 0},
        {OPTION_REAL, 0, "eta-start", &h.set.eta_start, "ETA", "first step: dt = eta-start a/j (1/100)", 0, 0, 0},
        {OPTION_FLAG, 0, "shared", &shared, 0, "all steps are dt-max: for tests of convergence", 0, 0, 0},
        HERMITE_STEPS_OPTIONS(steps),
    };
    job->own = own;
    job->own_n = (int)(sizeof own / sizeof *own);
    if (run_parse(job, argc, argv, &status)) return status;
    if (!(h.set.eta > 0) || !(h.set.eta_start > 0)) {
        run_warn(job, "--eta and --eta-start must be positive");
        return RUN_USAGE;
    }
    static const char why[] = "with --shared: all steps are dt-max";
    const run_useless useless[] = {{"eta", shared, why}, {"eta-start", shared, why}, {"criterion", shared, why}};
    if (run_refuse_useless(job, useless, 3)) return RUN_USAGE;
    h.set.shared = steps.shared = shared;
    steps.eta = h.set.eta;
    steps.eta_start = h.set.eta_start;
    steps.criterion = of_steps[criterion];
    status = hermite_steps_run(job, &steps);
    if (status >= 0) return status;
    h.given = order / 2;
    h.kept = order == 6 ? 6 : 8;
    if (open_library(&h)) return RUN_FAILED;
    h.is_double = sapporo_get_precision(h.library) == SAPPORO_DP;
    h.set.averaged = criterion == AUTO ? !h.is_double : criterion == AVERAGED;
    status = job->restart ? go_on(&h) : begin(&h);
    if (!status) status = integrate(&h);
    sapporo_close(h.library);
    release(&h);
    return status;
}

int hermite_main(run *job, int order, int argc, char **argv)
{
    job->remedy = "use a smaller --eta, a larger --eps, or with --shared a smaller --dt-max";
    return run_end(job, run_program(job, order, argc, argv));
}
