/*
 * galaxy.c - a collisionless system, such as a galaxy, whose particles move on the device that computes their forces.
 *
 * The steps are those of sapporo_stepper.h: block steps, which each particle chooses by its acceleration, or one step
 * for all.  At outputs all particles have the same time.  The restart file names the file of the stepper that belongs
 * to it: these are written by turns, so that a run that is killed while it writes goes on from the restart file before.
 */
#include "galaxy.h"
#include "film.h"
#include "run.h"

#include <math.h>
#include <sapporo.h>
#include <sapporo_stepper.h>
#include <stdlib.h>
#include <string.h>

enum { SHARED = 0, BLOCK = 1, LEVELS = 24 };

/* Steps between two looks at the clock and at signals. */
enum { STEPS_A_LOOK = 16 };

/* What the restart file keeps besides the plan. */
typedef struct settings {
    int64_t n, kind, mac, order, scheme, criterion, rebuild, pixels;
    int64_t slot; /* of the stepper's file: 0 or 1 */
    double accuracy, eta, half;
    double dt; /* the shared step, or the longest block step */
} settings;

typedef struct simulation {
    run *job;
    settings set;
    bodies body;
    double *pot;
    sapporo_stepper *stepper;
    int film;
} simulation;

/* ---- the library ---------------------------------------------------------------------------------------- */

static int failed(simulation *s, const char *what)
{
    run_warn(s->job, "%s at time %.10g: %s", what, s->body.time, sapporo_stepper_last_error(s->stepper));
    return -1;
}

static int open_stepper(simulation *s, double dt)
{
    const sapporo_tree_options tree = {.size = sizeof tree,
                                       .kind = (sapporo_tree_kind)s->set.kind,
                                       .mac = (sapporo_tree_mac)s->set.mac,
                                       .accuracy = s->set.accuracy,
                                       .order = (int)s->set.order,
                                       .eps2 = s->job->plan.eps * s->job->plan.eps};
    const sapporo_stepper_options options = {.size = sizeof options,
                                             .tree = &tree,
                                             .scheme =
                                                 s->set.scheme == BLOCK ? SAPPORO_STEPS_BLOCK : SAPPORO_STEPS_SHARED,
                                             .criterion = (sapporo_step_criterion)s->set.criterion,
                                             .dt = dt,
                                             .eta = s->set.eta,
                                             .levels = LEVELS,
                                             .rebuild = (int)s->set.rebuild};
    sapporo_stepper_destroy(s->stepper);
    s->stepper = NULL;
    s->set.dt = dt;
    return sapporo_stepper_create(&options, (int)s->set.n, &s->stepper) ? failed(s, "no stepper") : 0;
}

static int put(simulation *s)
{
    const bodies *const b = &s->body;
    const sapporo_stepper_particles p = {
        .size = sizeof p, .n = b->n, .x = {b->x, 0}, .v = {b->v, 0}, .mass = {b->mass, 0}, .time = b->time};
    return sapporo_stepper_set(s->stepper, &p) ? failed(s, "particles") : 0;
}

/* Particles of an output, all of them at the present time. */
static int get(simulation *s)
{
    const sapporo_stepper_output now = {.size = sizeof now,
                                        .n = (int)s->set.n,
                                        .when = SAPPORO_STEP_NOW,
                                        .x = s->body.x,
                                        .v = s->body.v,
                                        .pot = s->pot};
    s->body.time = sapporo_stepper_get_time(s->stepper);
    return sapporo_stepper_get(s->stepper, &now) ? failed(s, "no output") : 0;
}

/* Adds to the plan what the stepper did since *before. */
static int count_steps(simulation *s, sapporo_stepper_statistics *before)
{
    sapporo_stepper_statistics now = {.size = sizeof now};
    if (sapporo_stepper_get_statistics(s->stepper, &now)) return failed(s, "statistics");
    s->job->plan.blocks += now.steps - before->steps;
    s->job->plan.steps += now.particle_steps - before->particle_steps;
    *before = now;
    return 0;
}

/* ---- outputs and restart files ---------------------------------------------------------------------------- */

static int path_of_slot(const simulation *s, int slot, char path[RUN_PATH])
{
    message why = {""};
    if (!run_path(s->job, path, slot ? ".steps.1" : ".steps.0", &why)) return 0;
    run_warn(s->job, "%s", why.text);
    return -1;
}

static int save(simulation *s, int always)
{
    char path[RUN_PATH];
    const int slot = 1 - (int)s->set.slot;
    const size_t n = (size_t)s->set.n;
    const restart_piece piece[] = {{"galaxy", &s->set, sizeof s->set}, {"id", s->body.id, n * sizeof *s->body.id}};
    if (!s->job->plan.files && !always) return 0;
    if (path_of_slot(s, slot, path)) return -1;
    if (sapporo_stepper_save(s->stepper, path)) return failed(s, "no restart file");
    s->set.slot = slot;
    return run_save(s->job, piece, (int)(sizeof piece / sizeof *piece), always);
}

static int output(simulation *s)
{
    if (get(s) || run_draw(s->job, &s->body, (int)s->set.pixels, s->set.half) || run_output(s->job, &s->body, s->pot))
        return -1;
    return save(s, 0);
}

static int allocate(simulation *s)
{
    s->pot = calloc((size_t)s->set.n, sizeof *s->pot);
    if (s->pot) return 0;
    run_warn(s->job, "out of memory for %lld particles", (long long)s->set.n);
    return -1;
}

static int read_particles(simulation *s, const restart_file *file)
{
    message why = {""};
    char path[RUN_PATH];
    int bad = restart_get(file, "galaxy", &s->set, sizeof s->set, &why);
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
    s->body.time = sapporo_stepper_get_time(s->stepper);
    return 0;
}

static int go_on(simulation *s)
{
    restart_file file;
    const int status = run_reopen(s->job, &file);
    if (status) return status;
    const int bad = read_particles(s, &file);
    restart_free(&file);
    return bad ? RUN_USAGE : run_go_on(s->job, s->body.time);
}

/* ---- the run ---------------------------------------------------------------------------------------------- */

/* Returns the shortest step that the criterion of acceleration chooses now: the one step for all; < 0: it failed. */
static double needed_step(simulation *s)
{
    double most = 0, (*a)[3] = NULL;
    a = calloc((size_t)s->set.n, sizeof *a);
    const sapporo_stepper_output now = {.size = sizeof now, .n = (int)s->set.n, .acc = a};
    const int bad = !a || sapporo_stepper_get(s->stepper, &now);
    for (int k = 0; !bad && k < s->set.n; k++)
        most = fmax(most, sqrt(a[k][0] * a[k][0] + a[k][1] * a[k][1] + a[k][2] * a[k][2]));
    free(a);
    if (bad) return failed(s, "no accelerations");
    return sqrt(2 * s->set.eta * s->job->plan.eps / most); /* infinite without forces */
}

static int choose_step(simulation *s)
{
    run *job = s->job;
    if (s->set.scheme == BLOCK) return RUN_OK;
    const double dt = job->dt_given ? s->set.dt : needed_step(s);
    if (!(dt > 0)) return RUN_FAILED;
    const int status = run_shorten_steps(job, dt);
    if (status) return status;
    if (job->plan.dt_max != s->set.dt && (open_stepper(s, job->plan.dt_max) || put(s))) return RUN_FAILED;
    run_say(job, "# one step for all particles: %.6g", s->set.dt);
    return RUN_OK;
}

static int begin(simulation *s)
{
    const int status = run_begin(s->job, &s->body);
    if (status) return status;
    if (s->job->plan.eps <= 0) {
        run_warn(s->job, "--eps must be positive: steps are chosen by the softening length");
        return RUN_USAGE;
    }
    s->set.n = s->body.n;
    return allocate(s) || open_stepper(s, s->job->plan.dt_max) || put(s) ? RUN_FAILED : choose_step(s);
}

/* Goes on to the next output, or until a signal; < 0: it failed. */
static int advance(simulation *s)
{
    run *const job = s->job;
    const double next = job->plan.start + (double)job->plan.done * job->plan.interval;
    sapporo_stepper_statistics before = {.size = sizeof before};
    if (sapporo_stepper_get_statistics(s->stepper, &before)) return failed(s, "statistics");
    while (s->body.time < next - s->set.dt / (1 << 24) && !run_must_stop(job)) {
        const long long left =
            job->stop_after ? job->stop_after - (job->plan.blocks - job->blocks_before) : STEPS_A_LOOK;
        const int bad = sapporo_stepper_advance(s->stepper, next, left < STEPS_A_LOOK ? left : STEPS_A_LOOK);
        s->body.time = sapporo_stepper_get_time(s->stepper);
        if (bad) return failed(s, "no step");
        if (count_steps(s, &before)) return -1;
        progress_show(&job->bar, s->body.time);
    }
    return 0;
}

static int finish(simulation *s)
{
    message why = {""};
    if (s->film && film_make(s->job->prefix, &why)) run_warn(s->job, "%s", why.text);
    return run_finish(s->job);
}

static int integrate(simulation *s)
{
    run *const job = s->job;
    for (;;) {
        const double next = job->plan.start + (double)job->plan.done * job->plan.interval;
        if (s->body.time >= next - s->set.dt / (1 << 24) && job->plan.done <= job->plan.outputs && output(s))
            return RUN_FAILED;
        if (job->plan.done > job->plan.outputs) return finish(s);
        if (run_must_stop(job)) return save(s, 1) ? RUN_FAILED : run_stopped(job, s->body.time);
        if (advance(s)) return RUN_FAILED;
    }
}

/* ---- the command line ------------------------------------------------------------------------------------- */

static int wrong_settings(const simulation *s)
{
    const settings *set = &s->set;
    if (!(set->accuracy >= 0) || !(set->half > 0) || (set->order != 1 && set->order != 2) || !(set->eta > 0))
        run_warn(s->job,
                 "--accuracy must not be negative, --half-width and --eta must be positive, --multipoles 1 or 2");
    else if (s->film && set->pixels == 0)
        run_warn(s->job, "--film needs frames: give --image PIXELS, too");
    else
        return 0;
    return 1;
}

/* What --demo shows: Andromeda with few particles, and with as much softening as these need. */
static void prepare_demo(run *job)
{
    if (!job->demo) return;
    job->model.kind = CLUSTER_ANDROMEDA;
    job->model.n = 8192;
    job->eps = 0.25;
    job->interval = 8;
    job->dt_max = 8;
    if (!(job->end > -1e300)) job->end = 32;
}

static int run_program(run *job, int argc, char **argv)
{
    static const char *const criteria[] = {"opening", "multipole", "acceleration", NULL};
    static const char *const kinds[] = {"octree", "kdtree", NULL};
    static const char *const schemes[] = {"shared", "block", NULL};
    static const char *const choices[] = {"acceleration", "change", NULL};
    simulation s = {.job = job, .set = {.half = 30, .eta = 0.025}};
    int kind = 0, mac = 2, order = 2, pixels = 0, scheme = BLOCK, choice = 0, status;
    const char *rebuild = "auto";
    option_rule own[] = {
        {OPTION_CHOICE, 0, "steps", &scheme, "NAME", "block, or shared: one step for all (block)", schemes, 0, 0},
        {OPTION_REAL, 0, "eta", &s.set.eta, "ETA", "accuracy of the steps (0.025)", 0, 0, 0},
        {OPTION_CHOICE, 0, "criterion", &choice, "NAME", "of block steps: acceleration or change (acceleration)",
         choices, 0, 0},
        {OPTION_CHOICE, 0, "tree", &kind, "NAME", "octree or kdtree (octree)", kinds, 0, 0},
        {OPTION_CHOICE, 0, "mac", &mac, "NAME", "opening, multipole or acceleration (acceleration)", criteria, 0, 0},
        {OPTION_REAL, 'e', "accuracy", &s.set.accuracy, "A", "of the criterion (0.7, 0.1, 0.01)", 0, 0, 0},
        {OPTION_COUNT, 0, "multipoles", &order, "P", "1: masses, 2: second moments too (2)", 0, 0, 0},
        {OPTION_TEXT, 0, "rebuild", &rebuild, "K", "a new tree every K steps; auto: when it pays (auto)", 0, 0, 0},
        {OPTION_COUNT, 0, "image", &pixels, "PIXELS", "the projected density at each output, PREFIX.0000.pgm ...", 0, 0,
         0},
        {OPTION_REAL, 0, "half-width", &s.set.half, "L", "of the images, in x and y (30)", 0, 0, 0},
        {OPTION_FLAG, 0, "film", &s.film, 0, "PREFIX.mp4 of the images at the end, by ffmpeg", 0, 1, 0},
    };
    job->own = own;
    job->own_n = (int)(sizeof own / sizeof *own);
    if (run_parse(job, argc, argv, &status)) return status;
    prepare_demo(job);
    s.set.kind = kind + 1;
    s.set.mac = mac + 1;
    s.set.order = order;
    s.set.scheme = scheme;
    s.set.criterion = choice + 1;
    s.set.pixels = pixels;
    if (run_read_rebuild(job, rebuild, &s.set.rebuild) || (!job->restart && wrong_settings(&s))) return RUN_USAGE;
    status = job->restart ? go_on(&s) : begin(&s);
    if (!status) status = integrate(&s);
    sapporo_stepper_destroy(s.stepper);
    free(s.pot);
    bodies_free(&s.body);
    return status;
}

int main(int argc, char **argv)
{
    run job = {.program = "galaxy",
               .layout = "galaxy 1",
               .about = "a collisionless system by block time steps over the tree of libsapporo, on its device",
               .remedy = "use a smaller --eta, a larger --eps, or a smaller --accuracy",
               .eps_default = 1.0 / 32,
               .eps_help = "softening length (1/32; andromeda: 0.016)",
               .dt_help = "no step is longer than this, nor than the interval",
               .demo_model = "an Andromeda galaxy",
               .advice = "@ --model andromeda -n 65536 --eps 0.1 --image 512 -o m31   (writes m31.0000.txt, ...)\n"
                         "@ --restart m31.restart --end 200       (goes on with it)\n"
                         "@ --model disc -n 32768 -t 20 -o disc   (a disc alone)\n"};
    return run_end(&job, run_program(&job, argc, argv));
}
