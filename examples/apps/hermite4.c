/*
 * hermite4.c - a star cluster integrated through the GRAPE-6 interface.
 *
 * Fourth-order Hermite scheme with individual power-of-two ("block") time steps: Makino and Aarseth (1992),
 * PASJ 44, 141; the step criterion is Aarseth's.  One round of predict, evaluate, correct.  An ordinary client:
 * all that this file knows of the library are the g6 functions, so that it would run on any other GRAPE-6 library too.
 * Where a GPU is, the library does the same on it, with the same orbits (common/hermite_steps.h).
 *
 * The life of a block step: go to the next time at which anyone's step ends; predict the particles of that block
 * (the library predicts the sources); let the library sum the force on them; correct; choose new steps; send them.
 */
#include "collapse.h"
#include "criterion.h"
#include "hermite_steps.h"
#include "noise.h"
#include "run.h"
#include "schedule.h"
#include "units.h"

#include <math.h>
#include <sapporo_g6.h>
#include <stdlib.h>
#include <string.h>

enum { CLUSTER = 0 };

/* A particle at its own time.  The bytes of these are also those of the restart file. */
typedef struct star {
    double x[3], v[3];
    double a[3], j[3], s[3]; /* acceleration and its first two derivatives */
    double mass;
    int64_t tick; /* its time */
    int64_t id;
    int32_t level, unused;
} star;

/* The particles of a block as GRAPE wants them: arrays, in order of the schedule. */
typedef struct block {
    int *index;
    double (*x)[3], (*v)[3], (*a)[3], (*j)[3];
    double *pot, *h2;
} block;

/* What the restart file keeps besides the plan and the stars. */
typedef struct settings {
    int64_t n, tick;
    double eta, eta_start;
    int64_t told_of_depth; /* 1: that steps have become as short as they can */
    int64_t shared;        /* 1: all steps are dt_max */
    noise_watch noise;
    units unit; /* of stars and steps */
} settings;

typedef struct hermite {
    run *job;
    settings set;
    star *body;
    schedule plan;
    block now;
    bodies out; /* for snapshots */
} hermite;

/* ---- memory ------------------------------------------------------------------------------------------ */

static int allocate(hermite *h, int n)
{
    size_t room = (size_t)n;
    block *now = &h->now;
    h->set.n = n;
    h->body = calloc(room, sizeof *h->body);
    now->index = calloc(room, sizeof *now->index);
    now->x = calloc(room, sizeof *now->x);
    now->v = calloc(room, sizeof *now->v);
    now->a = calloc(room, sizeof *now->a);
    now->j = calloc(room, sizeof *now->j);
    now->pot = calloc(room, sizeof *now->pot);
    now->h2 = calloc(room, sizeof *now->h2); /* stays 0: no neighbour lists */
    int there = h->body && now->index && now->x && now->v && now->a && now->j && now->pot && now->h2;
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
    free(h->now.pot);
    free(h->now.h2);
    schedule_free(&h->plan);
    bodies_free(&h->out);
}

/* ---- time -------------------------------------------------------------------------------------------- */

/* The longest step in the units of the integration; times of the plan are the user's. */
static double longest(const hermite *h) { return units_time(&h->set.unit, h->job->plan.dt_max); }

static double tick_length(const hermite *h) { return ldexp(longest(h), -SCHEDULE_DEPTH); }

/* Time since the start of the run. */
static double since(const hermite *h) { return (double)h->plan.tick * ldexp(h->job->plan.dt_max, -SCHEDULE_DEPTH); }

/*
 * The library counts time from the last multiple of the longest step, at which all particles were sent.  So its
 * numbers never get large, and differences of times are exact whenever a run starts and however long it is.
 */
static double time_of(const hermite *h, int64_t tick) { return (double)(tick % schedule_ticks(0)) * tick_length(h); }

/* The end of a block on the same clock, which the particles of a whole longest step are still on. */
static double end_of_block(const hermite *h)
{
    const double time = time_of(h, h->plan.tick);
    return time > 0 ? time : longest(h);
}

static int64_t next_output(const hermite *h)
{
    const run_plan *plan = &h->job->plan;
    int64_t steps = (int64_t)(plan->interval / plan->dt_max); /* a power of two, exactly */
    return plan->done * steps * schedule_ticks(0);
}

/* ---- the library ------------------------------------------------------------------------------------- */

static int send_star(hermite *h, int k)
{
    star *p = &h->body[k];
    double k18[3], j6[3], a2[3];
    for (int c = 0; c < 3; c++) {
        k18[c] = p->s[c] / 18;
        j6[c] = p->j[c] / 6;
        a2[c] = p->a[c] / 2;
    }
    double step = (double)schedule_ticks(p->level) * tick_length(h);
    return g6_set_j_particle(CLUSTER, k, k, time_of(h, p->tick), step, p->mass, k18, j6, a2, p->v, p->x);
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

/* Forces at `time` on the first ni particles of the block, in batches as wide as the library likes. */
static int forces(hermite *h, int ni, double time)
{
    block *now = &h->now;
    int n = (int)h->set.n, width = g6_npipes();
    const double eps = units_length(&h->set.unit, h->job->plan.eps), eps2 = eps * eps;
    g6_set_ti(CLUSTER, time);
    for (int at = 0; at < ni; at += width) {
        int batch = ni - at < width ? ni - at : width;
        int *index = now->index + at;
        double(*x)[3] = now->x + at, (*v)[3] = now->v + at, (*a)[3] = now->a + at, (*j)[3] = now->j + at;
        double *pot = now->pot + at, *h2 = now->h2 + at;
        /* Results of the last force stand where GRAPE hardware wanted a guess of the new ones. */
        g6calc_firsthalf(CLUSTER, n, batch, index, x, v, a, j, pot, eps2, h2);
        if (g6calc_lasthalf(CLUSTER, n, batch, index, x, v, eps2, h2, a, j, pot)) {
            char text[RUN_TIME_TEXT];
            run_warn(h->job, "the force library failed at time %s", run_time_text(h->job, since(h), 10, text));
            return -1;
        }
    }
    return 0;
}

/* ---- the scheme -------------------------------------------------------------------------------------- */

/* Particle k at the time of the block, to the order that the library gives the sources. */
static void predict(hermite *h, int place, int k)
{
    const star *p = &h->body[k];
    double dt = (double)(h->plan.tick - p->tick) * tick_length(h);
    h->now.index[place] = k;
    for (int c = 0; c < 3; c++) {
        h->now.x[place][c] = p->x[c] + dt * (p->v[c] + dt / 2 * (p->a[c] + dt / 3 * (p->j[c] + dt / 4 * p->s[c])));
        h->now.v[place][c] = p->v[c] + dt * (p->a[c] + dt / 2 * (p->j[c] + dt / 3 * p->s[c]));
    }
}

/*
 * The interpolation through both ends of the step: a2 and a3 are the second and third derivative of the
 * acceleration at its beginning.  -1 if the force is not a number; 1 if a2 is not that of the last step's end.
 */
static int correct(hermite *h, int place, int k)
{
    star *p = &h->body[k];
    const double *a1 = h->now.a[place], *j1 = h->now.j[place];
    double dt = (double)(h->plan.tick - p->tick) * tick_length(h), old[3], found[3], a3[3], finite = 0;
    for (int c = 0; c < 3; c++) {
        double a0 = p->a[c], j0 = p->j[c], da = a0 - a1[c];
        double a2 = (-6 * da - dt * (4 * j0 + 2 * j1[c])) / (dt * dt);
        a3[c] = (12 * da + 6 * dt * (j0 + j1[c])) / (dt * dt * dt);
        /* Makino and Aarseth add a2 dt^4/24 + a3 dt^5/120 to the position predicted without snap. */
        p->x[c] += dt * (p->v[c] + dt / 2 * (a0 + dt / 3 * (j0 + dt / 4 * (a2 + dt / 5 * a3[c]))));
        p->v[c] += dt * (a0 + dt / 2 * (j0 + dt / 3 * (a2 + dt / 4 * a3[c])));
        p->a[c] = a1[c];
        p->j[c] = j1[c];
        old[c] = p->s[c];
        found[c] = a2;
        p->s[c] = a2 + dt * a3[c];
        finite += p->x[c] + p->v[c] + p->s[c];
    }
    p->tick = h->plan.tick;
    if (!isfinite(finite)) return -1;
    if (h->set.shared) return 0;
    double step = criterion_aarseth(p->a, p->j, p->s, a3, h->set.eta);
    p->level = schedule_choose(&h->plan, p->level, step / longest(h));
    h->plan.level[k] = p->level;
    return noise_disagree(old, found, dt * criterion_size(p->j) / criterion_size(p->a));
}

/* Warns of collapsed steps: of the first star of the schedule, whose step is the shortest. */
static void tell_collapse(hermite *h, const char *why, const char *remedy)
{
    const int shortest = h->plan.order[0];
    for (int k = 0; k < (int)h->set.n; k++) predict(h, k, k);
    memcpy(h->out.x, h->now.x, (size_t)h->set.n * sizeof *h->out.x);
    units_give(&h->set.unit, &h->out);
    collapse_warn(h->job, since(h), &h->out, shortest, ldexp(h->job->plan.dt_max, -h->body[shortest].level), why,
                  remedy);
}

/* Tells once, each, of two things that make a run slow without making it fail. */
static void watch(hermite *h, int active, int disagreeing)
{
    message why = {""};
    if (noise_block(&h->set.noise, active, disagreeing)) {
        complain(&why,
                 "the steps have collapsed: for --eta %g the force is not exact enough, and most of the last %d block "
                 "steps (by estimate) only follow its rounding noise",
                 h->set.eta, NOISE_WINDOW);
        tell_collapse(h, why.text,
                      "The results stay right, but it takes long; SAPPORO_PRECISION=dp or a larger --eta avoids it "
                      "(see docs/hermite.md)");
    }
    if (h->plan.count[SCHEDULE_DEPTH] && !h->set.told_of_depth) {
        h->set.told_of_depth = 1;
        tell_collapse(h, COLLAPSE_DEEP("40"), COLLAPSE_REMEDY);
    }
}

static int block_step(hermite *h)
{
    int64_t before = h->plan.tick;
    int active = schedule_advance(&h->plan);
    for (int place = 0; place < active; place++) predict(h, place, h->plan.order[place]);
    if (forces(h, active, end_of_block(h))) {
        h->plan.tick = before; /* nothing has changed yet: the restart file will be good */
        return -1;
    }
    int disagreeing = 0;
    for (int place = 0; place < active; place++) {
        int k = h->plan.order[place], verdict = correct(h, place, k);
        disagreeing += verdict > 0;
        if (verdict < 0 || send_star(h, k)) {
            char at[RUN_TIME_TEXT];
            run_warn(h->job, "the orbit of particle %lld is not finite at time %s", (long long)h->body[k].id,
                     run_time_text(h->job, since(h), 10, at));
            return -2;
        }
    }
    schedule_settle(&h->plan, active);
    h->job->plan.blocks++;
    h->job->plan.steps += active;
    watch(h, active, disagreeing);
    return 0;
}

/* ---- beginning --------------------------------------------------------------------------------------- */

/* All particles as they stand; only at times at which all of them are. */
static int force_on_all(hermite *h)
{
    for (int k = 0; k < (int)h->set.n; k++) {
        h->now.index[k] = k;
        memcpy(h->now.x[k], h->body[k].x, sizeof h->now.x[k]);
        memcpy(h->now.v[k], h->body[k].v, sizeof h->now.v[k]);
    }
    return forces(h, (int)h->set.n, time_of(h, h->plan.tick));
}

/* The first step: only a and its derivative are known yet. */
static void first_step(hermite *h, int k)
{
    star *p = &h->body[k];
    double step = criterion_first(p->a, p->j, h->now.pot[k], h->set.eta_start, longest(h));
    p->level = h->set.shared ? 0 : schedule_first(step / longest(h));
    h->plan.level[k] = p->level;
}

static int begin(hermite *h)
{
    int status = run_begin(h->job, &h->out);
    if (status) return status;
    if (allocate(h, h->out.n)) return RUN_FAILED;
    h->set.unit = units_choose(&h->out);
    units_take(&h->set.unit, &h->out);
    for (int k = 0; k < h->out.n; k++) {
        star *p = &h->body[k];
        p->mass = h->out.mass[k];
        p->id = h->out.id[k];
        memcpy(p->x, h->out.x[k], sizeof p->x);
        memcpy(p->v, h->out.v[k], sizeof p->v);
    }
    if (send_all(h) || force_on_all(h)) return RUN_FAILED;
    for (int k = 0; k < h->out.n; k++) {
        memcpy(h->body[k].a, h->now.a[k], sizeof h->body[k].a);
        memcpy(h->body[k].j, h->now.j[k], sizeof h->body[k].j);
        first_step(h, k);
    }
    schedule_rebuild(&h->plan);
    return send_all(h) ? RUN_FAILED : RUN_OK;
}

/* ---- outputs and restart files -------------------------------------------------------------------------- */

static int save(hermite *h, int always)
{
    h->set.tick = h->plan.tick;
    const restart_piece piece[] = {{"hermite4", &h->set, sizeof h->set},
                                   {"stars", h->body, (size_t)h->set.n * sizeof *h->body}};
    return run_save(h->job, piece, 2, always);
}

static int output(hermite *h)
{
    if (force_on_all(h)) return -1;
    h->out.time = run_time(h->job, since(h));
    for (int k = 0; k < (int)h->set.n; k++) {
        h->out.mass[k] = h->body[k].mass;
        memcpy(h->out.x[k], h->body[k].x, sizeof h->out.x[k]);
        memcpy(h->out.v[k], h->body[k].v, sizeof h->out.v[k]);
        h->now.pot[k] = units_give_potential(&h->set.unit, h->now.pot[k]);
    }
    units_give(&h->set.unit, &h->out);
    if (run_output(h->job, &h->out, h->now.pot)) return -1;
    return save(h, 0);
}

static int read_stars(hermite *h, const restart_file *file, message *why)
{
    if (restart_get(file, "hermite4", &h->set, sizeof h->set, why)) return -1;
    int n = (int)h->set.n;
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
    int bad = read_stars(h, &file, &why);
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
        if (job->plan.done > job->plan.outputs) {
            if (h->set.noise.found)
                run_say(job, "# by estimate %.0f %% of these block steps follow the noise of the force alone",
                        100 * h->set.noise.total / (double)job->plan.blocks);
            return run_finish(job);
        }
        if (run_must_stop(job)) return save(h, 1) ? RUN_FAILED : run_stopped(job, since(h));
        int bad = block_step(h);
        if (bad == -1) save(h, 1);
        if (bad) return RUN_FAILED;
        if (run_step(job, since(h))) tell_collapse(h, COLLAPSE_SLOW, COLLAPSE_REMEDY);
    }
}

static int run_program(run *job, int argc, char **argv)
{
    hermite h = {.job = job, .set = {.eta = 0.01, .eta_start = 0.0025}};
    hermite_steps steps = {.order = 4, .criterion = SAPPORO_STEP_BY_AARSETH};
    int shared = 0;
    option_rule own[] = {
        {OPTION_REAL, 'e', "eta", &h.set.eta, "ETA", "accuracy: dt^2 = eta (a a2 + j^2)/(j a3 + a2^2) (0.01)", 0, 0, 0},
        {OPTION_REAL, 0, "eta-start", &h.set.eta_start, "ETA", "first step: dt = eta-start a/j (1/400)", 0, 0, 0},
        {OPTION_FLAG, 0, "shared", &shared, 0, "all steps are dt-max: for tests of convergence", 0, 0, 0},
        HERMITE_STEPS_OPTIONS(steps),
    };
    int status;
    job->own = own;
    job->own_n = (int)(sizeof own / sizeof *own);
    if (run_parse(job, argc, argv, &status)) return status;
    if (!(h.set.eta > 0) || !(h.set.eta_start > 0)) {
        run_warn(job, "--eta and --eta-start must be positive");
        return RUN_USAGE;
    }
    static const char why[] = "with --shared: all steps are dt-max";
    const run_useless useless[] = {{"eta", shared, why}, {"eta-start", shared, why}};
    if (run_refuse_useless(job, useless, 2)) return RUN_USAGE;
    h.set.shared = steps.shared = shared;
    steps.eta = h.set.eta;
    steps.eta_start = h.set.eta_start;
    status = hermite_steps_run(job, &steps);
    if (status >= 0) return status;
    if (g6_open(CLUSTER)) {
        run_warn(job, "the force library does not open");
        return RUN_FAILED;
    }
    status = job->restart ? go_on(&h) : begin(&h);
    if (!status) status = integrate(&h);
    g6_close(CLUSTER);
    release(&h);
    return status;
}

int main(int argc, char **argv)
{
    run job = {.program = "hermite4",
               .layout = "hermite4 6",
               .remedy = "use a smaller --eta, a larger --eps, or with --shared a smaller --dt-max",
               .advice = "@ --model king --w0 9 -n 4096 --imf salpeter -t 2 -o king   (writes king.0000.txt, ...)\n"
                         "@ king.0000.txt -o again                (reads a snapshot; --help tells the rest)\n"
                         "@ --demo --eta 0.02                     (faster, less exact)\n"
                         "SAPPORO_PRECISION=dp @ --demo           (pair forces in double)\n",
               .about = "a star cluster by the fourth-order Hermite scheme with block steps, on libsapporo"};
    return run_end(&job, run_program(&job, argc, argv));
}
