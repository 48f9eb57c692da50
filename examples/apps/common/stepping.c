/*
 * stepping.c - the parts that programs over sapporo_stepper.h share.  At outputs all particles have the same time.
 *
 * The restart file names the file of the stepper that belongs to it: these are written by turns, so that a run that is
 * killed while it writes goes on from the restart file before.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "stepping.h"
#include "collapse.h"
#include "film.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEVELS = 24 };

/* Steps between two looks at the clock and at signals: more of those that are short. */
enum { LOOK_LEAST = 16, LOOK_MOST = 1024 };
static const double look_seconds = 0.01;

static double seconds_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/*
 * The stepper counts time from the start of the run, as the schedule of outputs does: so a run that is shifted in time
 * takes the same steps.
 */
static double since(const stepping *s) { return sapporo_stepper_get_time(s->stepper); }

static double next_output(const stepping *s) { return (double)s->job->plan.done * s->job->plan.interval; }

static int is_hermite(const stepping *s) { return s->set.scheme >= SAPPORO_STEPS_HERMITE4; }

static int is_before(const stepping *s, double time) { return since(s) < time - s->set.dt / (1 << 24); }

/* ---- the library ---------------------------------------------------------------------------------------- */

static int failed(stepping *s, const char *what)
{
    char at[RUN_TIME_TEXT];
    run_warn(s->job, "%s at time %s: %s", what, run_time_text(s->job, s->stepper ? since(s) : 0, 10, at),
             sapporo_stepper_last_error(s->stepper));
    return -1;
}

static int open_stepper(stepping *s, double dt)
{
    const sapporo_tree_options tree = {.size = sizeof tree,
                                       .kind = (sapporo_tree_kind)s->set.kind,
                                       .mac = (sapporo_tree_mac)s->set.mac,
                                       .accuracy = s->set.accuracy,
                                       .error = s->set.error,
                                       .order = (int)s->set.order,
                                       .eps2 = s->job->plan.eps * s->job->plan.eps,
                                       .softening = s->set.eps_halo > 0 ? SAPPORO_SOFTENING_SPLINE_LARGER
                                                                        : SAPPORO_SOFTENING_PLUMMER};
    const sapporo_stepper_options options = {.size = sizeof options,
                                             .method = (sapporo_step_method)s->set.method,
                                             .tree = &tree,
                                             .scheme = (sapporo_step_scheme)s->set.scheme,
                                             .criterion = (sapporo_step_criterion)s->set.criterion,
                                             .dt = dt,
                                             .eta = s->set.eta,
                                             .levels = s->set.levels > 0 ? (int)s->set.levels : (int)LEVELS,
                                             .rebuild = (int)s->set.rebuild,
                                             .eta_start = s->set.eta_start};
    sapporo_stepper_destroy(s->stepper);
    s->stepper = NULL;
    s->set.dt = dt;
    return sapporo_stepper_create(&options, (int)s->set.n, &s->stepper) ? failed(s, "no stepper") : 0;
}

/*
 * Writes the lengths of splines: of the halo, and of all other particles.  They are those that have about the potential
 * of Plummer's softening at the centre of a particle.
 */
static int find_lengths(stepping *s, double *h)
{
    static const double OF_SPLINE = 2.8;
    image_view halo = {.first = 0};
    message why = {""};
    if (image_choose(&halo, s->job->plan.parts, "halo", &why)) {
        run_warn(s->job, "--eps-halo needs a model with a halo; the particles have %s",
                 s->job->plan.parts[0] ? s->job->plan.parts : "no parts");
        return -1;
    }
    for (int k = 0; k < s->body.n; k++) {
        const int is_halo = s->body.id[k] >= halo.first && s->body.id[k] <= halo.last;
        h[k] = OF_SPLINE * (is_halo ? s->set.eps_halo : s->job->plan.eps);
    }
    return 0;
}

static int put(stepping *s)
{
    const bodies *const b = &s->body;
    double *const h = calloc((size_t)b->n, sizeof *h);
    const sapporo_stepper_particles p = {.size = sizeof p,
                                         .n = b->n,
                                         .x = {b->x, 0},
                                         .v = {b->v, 0},
                                         .mass = {b->mass, 0},
                                         .h = {s->set.eps_halo > 0 ? h : NULL, 0}};
    int bad = h == NULL;
    if (bad) run_warn(s->job, "out of memory for %d particles", b->n);
    if (!bad && s->set.eps_halo > 0) bad = find_lengths(s, h);
    if (!bad && sapporo_stepper_set(s->stepper, &p)) bad = failed(s, "particles");
    free(h);
    return bad ? -1 : 0;
}

/* Particles of an output, all of them at the present time. */
static int get(stepping *s)
{
    const sapporo_stepper_output now = {.size = sizeof now,
                                        .n = (int)s->set.n,
                                        .when = SAPPORO_STEP_NOW,
                                        .x = s->body.x,
                                        .v = s->body.v,
                                        .pot = s->pot};
    s->body.time = run_time(s->job, since(s));
    return sapporo_stepper_get(s->stepper, &now) ? failed(s, "no output") : 0;
}

/* Adds to the plan what the stepper did since *before. */
static int count_steps(stepping *s, sapporo_stepper_statistics *before)
{
    sapporo_stepper_statistics now = {.size = sizeof now};
    if (sapporo_stepper_get_statistics(s->stepper, &now)) return failed(s, "statistics");
    s->job->plan.blocks += now.steps - before->steps;
    s->job->plan.steps += now.particle_steps - before->particle_steps;
    *before = now;
    return 0;
}

/* ---- outputs and restart files ---------------------------------------------------------------------------- */

static int path_of_slot(const stepping *s, int slot, char path[RUN_PATH])
{
    message why = {""};
    if (!run_path(s->job, path, slot ? ".steps.1" : ".steps.0", &why)) return 0;
    run_warn(s->job, "%s", why.text);
    return -1;
}

static int save(stepping *s, int always)
{
    char path[RUN_PATH];
    const int slot = 1 - (int)s->set.slot;
    const size_t n = (size_t)s->set.n;
    const restart_piece piece[] = {{"stepping", &s->set, sizeof s->set}, {"id", s->body.id, n * sizeof *s->body.id}};
    if (!s->job->plan.files && !always) return 0;
    if (path_of_slot(s, slot, path)) return -1;
    const int saved = sapporo_stepper_save(s->stepper, path);
    if (saved) return failed(s, "no restart file");
    s->set.slot = slot;
    return run_save(s->job, piece, (int)(sizeof piece / sizeof *piece), always);
}

static int output(stepping *s)
{
    if (get(s) || run_draw(s->job, &s->body, &s->set.view) || run_output(s->job, &s->body, s->pot)) return -1;
    return save(s, 0);
}

static int allocate(stepping *s)
{
    s->pot = calloc((size_t)s->set.n, sizeof *s->pot);
    if (s->pot) return 0;
    run_warn(s->job, "out of memory for %lld particles", (long long)s->set.n);
    return -1;
}

static int read_particles(stepping *s, const restart_file *file)
{
    message why = {""};
    char path[RUN_PATH];
    int bad = restart_get(file, "stepping", &s->set, sizeof s->set, &why);
    if (!bad && (s->set.n < 1 || bodies_allocate(&s->body, (int)s->set.n)))
        bad = complain(&why, "%s: no memory for %lld particles", s->job->restart, (long long)s->set.n);
    if (!bad) bad = restart_get(file, "id", s->body.id, (size_t)s->set.n * sizeof *s->body.id, &why);
    if (bad) {
        run_warn(s->job, "%s", why.text);
        return -1;
    }
    const sapporo_stepper_output fixed = {.size = sizeof fixed, .n = (int)s->set.n, .mass = s->body.mass};
    if (allocate(s) || open_stepper(s, s->set.dt) || path_of_slot(s, (int)s->set.slot, path)) return -1;
    if (sapporo_stepper_restore(s->stepper, path)) return failed(s, path);
    if (sapporo_stepper_get(s->stepper, &fixed)) return failed(s, path);
    if (!s->film || s->set.view.pixels > 0) return 0;
    run_warn(s->job, "--film has no effect: the run of %s draws no images", s->job->restart);
    return -1;
}

static int go_on(stepping *s)
{
    restart_file file;
    const int status = run_reopen(s->job, &file);
    if (status) return status;
    const int bad = read_particles(s, &file);
    restart_free(&file);
    const int gone_on = bad ? RUN_USAGE : run_go_on(s->job, since(s));
    if (gone_on || !run_lacks_snapshot(s->job, since(s))) return gone_on;
    return get(s) || run_rewrite(s->job, &s->body) ? RUN_FAILED : RUN_OK;
}

/* ---- the run ---------------------------------------------------------------------------------------------- */

/* Returns what a rule finds from the accelerations at the start, such as the one step for all; < 0: it failed. */
static double from_accelerations(stepping *s, double (*rule)(const stepping *, const double (*)[3]))
{
    double(*a)[3] = calloc((size_t)s->set.n, sizeof *a), found = -1;
    const sapporo_stepper_output now = {.size = sizeof now, .n = (int)s->set.n, .acc = a, .pot = s->pot};
    const int bad = !a || sapporo_stepper_get(s->stepper, &now);
    if (!bad) found = rule(s, (const double(*)[3])a);
    free(a);
    return bad ? failed(s, "no accelerations") : found;
}

/* Chooses the accuracy of the steps, unless the user did. */
static int choose_eta(stepping *s)
{
    if (!s->needed_eta) return RUN_OK;
    const double eta = from_accelerations(s, s->needed_eta);
    if (!(eta > 0)) return RUN_FAILED;
    if (eta == s->set.eta) return RUN_OK;
    s->set.eta = eta;
    run_say(s->job, "# accuracy of the steps: eta %.2g, because these particles have close encounters", eta);
    return open_stepper(s, s->job->plan.dt_max) || put(s) ? RUN_FAILED : RUN_OK;
}

static int choose_step(stepping *s)
{
    run *job = s->job;
    if (s->set.scheme != SAPPORO_STEPS_SHARED) return RUN_OK;
    const double dt = job->dt_given ? s->set.dt : from_accelerations(s, s->needed_step);
    if (!(dt > 0)) return RUN_FAILED;
    const int status = run_shorten_steps(job, dt);
    if (status) return status;
    if (job->plan.dt_max != s->set.dt && (open_stepper(s, job->plan.dt_max) || put(s))) return RUN_FAILED;
    run_say(job, "# one step for all particles: %.6g", s->set.dt);
    return RUN_OK;
}

static int begin(stepping *s)
{
    const int status = run_begin(s->job, &s->body);
    if (status) return status;
    const int shared = s->set.scheme == SAPPORO_STEPS_SHARED;
    message why = {""};
    if (s->part && image_choose(&s->set.view, s->job->plan.parts, s->part, &why)) {
        run_warn(s->job, "%s", why.text);
        return RUN_USAGE;
    }
    if (s->job->plan.eps <= 0 && !is_hermite(s) && !(shared && s->job->dt_given)) {
        run_warn(s->job, "--eps %g: steps are chosen by the softening length, which must be positive; give --eps%s",
                 s->job->plan.eps, shared ? ", or --dt-max if you know that there are no close encounters" : "");
        return RUN_USAGE;
    }
    s->set.n = s->body.n;
    if (allocate(s) || open_stepper(s, s->job->plan.dt_max) || put(s) || choose_eta(s)) return RUN_FAILED;
    return choose_step(s);
}

/* Warns of collapsed steps: of a particle with the shortest step. */
static int tell_collapse(stepping *s, const char *why)
{
    const size_t n = (size_t)s->set.n;
    int *const level = calloc(n, sizeof *level), shortest = 0;
    const sapporo_stepper_output now = {.size = sizeof now, .n = (int)s->set.n, .x = s->body.x, .level = level};
    const int bad = !level || sapporo_stepper_get(s->stepper, &now);
    for (size_t k = 0; k < n && !bad; k++)
        if (level[k] > level[shortest]) shortest = (int)k;
    if (!bad)
        collapse_warn(s->job, since(s), &s->body, shortest, ldexp(s->set.dt, -level[shortest]), why, COLLAPSE_REMEDY);
    free(level);
    return bad ? failed(s, "no levels") : 0;
}

/* Tells, once each, that steps have collapsed, or that a particle has the shortest one that there is. */
static int watch(stepping *s, const sapporo_stepper_statistics *now)
{
    const int slow = run_step(s->job, since(s));
    if (!is_hermite(s) || s->set.levels == 1) return 0;
    if (slow && tell_collapse(s, COLLAPSE_SLOW)) return -1;
    if (s->told_of_depth || now->level[SAPPORO_STEP_LEVELS_MOST - 1] == 0) return 0;
    s->told_of_depth = 1;
    return tell_collapse(s, COLLAPSE_DEEP("30"));
}

/* Goes on to the next output, or until a signal; < 0: it failed. */
static int advance(stepping *s)
{
    run *const job = s->job;
    const double next = next_output(s);
    sapporo_stepper_statistics before = {.size = sizeof before};
    if (sapporo_stepper_get_statistics(s->stepper, &before)) return failed(s, "statistics");
    for (long long look = LOOK_LEAST; is_before(s, next) && !run_must_stop(job);) {
        const long long left = job->stop_after ? job->stop_after - (job->plan.blocks - job->blocks_before) : look;
        const double begun = seconds_now();
        const int bad = sapporo_stepper_advance(s->stepper, next, left < look ? left : look);
        const double took = seconds_now() - begun;
        s->seconds += took;
        if (took < look_seconds && look < LOOK_MOST) look *= 2;
        if (bad) return failed(s, "no step");
        if (count_steps(s, &before) || watch(s, &before)) return -1;
    }
    return 0;
}

/* Says how fast direct sums were. */
static void tell_speed(stepping *s)
{
    run *const job = s->job;
    const double pairs = (double)(job->plan.steps - job->steps_before) * (double)s->set.n;
    if (s->set.method == SAPPORO_STEP_DIRECT && s->seconds > 0)
        run_say(job, "# %.4g interactions in %.4g s: %.4g per second, %s", pairs, s->seconds, pairs / s->seconds,
                sapporo_stepper_kind_text(s->stepper));
}

static int finish(stepping *s)
{
    message why = {""};
    tell_speed(s);
    if (s->film && film_make(s->job->prefix, &why)) run_warn(s->job, "%s", why.text);
    if (s->set.scheme == SAPPORO_STEPS_SHARED && s->shared_remedy) s->job->remedy = s->shared_remedy;
    return run_finish(s->job);
}

/* Goes on to the end, or until a signal, and waits for the last snapshot. */
static int integrate(stepping *s)
{
    run *const job = s->job;
    for (;;) {
        if (!is_before(s, next_output(s)) && job->plan.done <= job->plan.outputs && output(s)) return RUN_FAILED;
        const int at_end = job->plan.done > job->plan.outputs, stops = !at_end && run_must_stop(job);
        if ((at_end || stops) && run_wait(job)) return RUN_FAILED;
        if (at_end) return finish(s);
        if (stops) return save(s, 1) ? RUN_FAILED : run_stopped(job, since(s));
        if (advance(s)) return RUN_FAILED;
    }
}

/* Finds out before the run whether there can be a film at its end. */
static int check_film(const stepping *s)
{
    message why = {""};
    if (!s->film || !film_check(&why)) return RUN_OK;
    run_warn(s->job, "%s; the run has not begun", why.text);
    return RUN_USAGE;
}

int stepping_run(stepping *s)
{
    int status = check_film(s);
    s->job->writes_behind = 1;
    if (!status) status = s->job->restart ? go_on(s) : begin(s);
    if (!status) status = integrate(s);
    if (run_wait(s->job)) status = RUN_FAILED; /* after another failure */
    sapporo_stepper_destroy(s->stepper);
    free(s->pot);
    bodies_free(&s->body);
    return status;
}

int stepping_wrong_images(const stepping *s)
{
    run *const job = s->job;
    const run_useless useless[] = {{"image", !job->plan.files, "on --demo, which writes no files without -o"},
                                   {"half-width", s->set.view.pixels == 0, "without --image PIXELS"},
                                   {"part", s->set.view.pixels == 0, "without --image PIXELS"}};
    if (!(s->set.view.half > 0))
        run_warn(job, "--half-width must be positive");
    else if (s->film && s->set.view.pixels == 0)
        run_warn(job, "--film needs frames: give --image PIXELS, too");
    else
        return run_refuse_useless(job, useless, 3) != RUN_OK;
    return 1;
}
