/*
 * galaxy.c - a collisionless system, such as a galaxy, whose particles move on the device that computes their forces.
 *
 * The steps are those of sapporo_stepper.h: block steps, which each particle chooses by its acceleration, or one step
 * for all.
 */
#include "leapfrog.h"
#include "run.h"
#include "stepping.h"

#include <math.h>
#include <sapporo.h>
#include <string.h>

/*
 * The usual accuracy of the steps, and the length in softening lengths from which on it is good enough.  Measured with
 * all models of --help, 2 to 512 particles, both kinds of steps: the relative energy error of half a time unit stays
 * below 1e-3 in 447 of 448 runs, and below 4e-3 in all.  With the usual accuracy alone it reaches 1.2e-2.
 */
static const double USUAL_ETA = 0.025, USUAL_LENGTH = 20;

/*
 * Returns the accuracy of the steps that keeps the energy: the usual one where orbits bend over lengths that are much
 * longer than the softening, and less where particles meet closely.  The length is that over which the mean
 * acceleration, with the pull of the heaviest particle added, does the work that the mean potential allows.
 */
static double needed_eta(const stepping *s, const double (*a)[3])
{
    const double eps = s->job->plan.eps;
    double acc = 0, depth = 0, total = 0, heaviest = 0;
    for (int k = 0; k < s->set.n; k++) {
        const double mass = s->body.mass[k];
        acc += mass * sqrt(a[k][0] * a[k][0] + a[k][1] * a[k][1] + a[k][2] * a[k][2]);
        depth -= mass * s->pot[k];
        total += mass;
        heaviest = fmax(heaviest, mass);
    }
    const double pull = 0.385 * heaviest / (eps * eps); /* the largest of a Plummer sphere, at eps / sqrt(2) */
    if (!(total > 0)) return USUAL_ETA;
    const double length = (depth / total + heaviest / eps) / (acc / total + pull);
    return USUAL_ETA * fmin(1, pow(length / (USUAL_LENGTH * eps), 2));
}

/*
 * Returns the one step for all: the shortest that the criterion of acceleration chooses, or, where particles meet
 * closely, one that resolves encounters.
 */
static double needed_step(const stepping *s, const double (*a)[3])
{
    double most = 0;
    for (int k = 0; k < s->set.n; k++)
        most = fmax(most, sqrt(a[k][0] * a[k][0] + a[k][1] * a[k][1] + a[k][2] * a[k][2]));
    const double step = sqrt(2 * s->set.eta * s->job->plan.eps / most); /* infinite without forces */
    const int close = s->needed_eta && s->set.eta < USUAL_ETA;
    return close ? fmin(step, leapfrog_step(&s->body, a, s->pot, s->job->plan.eps)) : step;
}

/* ---- the command line ------------------------------------------------------------------------------------- */

static int wrong_settings(const stepping *s)
{
    const stepping_settings *set = &s->set;
    const int shared = set->scheme == SAPPORO_STEPS_SHARED;
    const run_useless useless[] = {
        {"criterion", shared, "with --steps shared: it chooses block steps"},
        {"eta", shared && s->job->dt_given, "with --steps shared and --dt-max: the one step is dt-max"},
        {"accuracy", set->error != 0, "with --error: it is found"},
        {"mac", set->error != 0 && set->mac != SAPPORO_MAC_ACCELERATION, "with --error, but for acceleration"}};
    if (run_refuse_useless(s->job, useless, 4)) return 1;
    if (run_given(s->job, "eps-halo") && !(set->eps_halo > 0)) {
        run_warn(s->job, "--eps-halo must be positive");
        return 1;
    }
    if (set->accuracy >= 0 && set->error >= 0 && (set->order == 1 || set->order == 2) && set->eta > 0)
        return stepping_wrong_images(s);
    run_warn(s->job, "--accuracy and --error must not be negative, --eta must be positive, --multipoles 1 or 2");
    return 1;
}

/* Andromeda with few particles, and with as much softening as these need. */
static const run_demo demo = {.model = "an Andromeda galaxy",
                              .help = "an Andromeda galaxy of 8,192 particles for 32 time units; no files",
                              .kind = CLUSTER_ANDROMEDA,
                              .n = 8192,
                              .eps = 0.25,
                              .interval = 8,
                              .dt_max = 8,
                              .end = 32};

static int run_program(run *job, int argc, char **argv)
{
    static const char *const criteria[] = {"opening", "multipole", "acceleration", NULL};
    static const char *const kinds[] = {"octree", "kdtree", NULL};
    static const char *const schemes[] = {"shared", "block", NULL};
    static const char *const choices[] = {"acceleration", "change", NULL};
    stepping s = {.job = job, .set = {.view = {.half = 30}, .eta = NAN}, .needed_step = needed_step};
    int kind = 0, mac = 2, order = 2, pixels = 0, scheme = 1, choice = 0, status;
    const char *rebuild = "auto";
    option_rule own[] = {
        {OPTION_CHOICE, 0, "steps", &scheme, "NAME", "block, or shared: one step for all (block)", schemes, 0, 0},
        {OPTION_REAL, 'e', "eta", &s.set.eta, "ETA", "accuracy of the steps (0.025; less where particles meet closely)",
         0, 0, 0},
        {OPTION_CHOICE, 0, "criterion", &choice, "NAME", "of block steps: acceleration or change (acceleration)",
         choices, 0, 0},
        {OPTION_REAL, 0, "eps-halo", &s.set.eps_halo, "L", "softening length of the halo, by splines (that of all)", 0,
         0, 0},
        {OPTION_CHOICE, 0, "tree", &kind, "NAME", "octree or kdtree (octree)", kinds, 0, 0},
        {OPTION_CHOICE, 0, "mac", &mac, "NAME", "opening, multipole or acceleration (acceleration)", criteria, 0, 0},
        {OPTION_REAL, 'a', "accuracy", &s.set.accuracy, "A", "of the criterion (0.7, 0.1, 0.01)", 0, 0, 0},
        {OPTION_REAL, 0, "error", &s.set.error, "E", "in its place: of 99 % of the forces, such as 1e-3", 0, 0, 0},
        {OPTION_COUNT, 0, "multipoles", &order, "P", "1: masses, 2: second moments too (2)", 0, 0, 0},
        {OPTION_TEXT, 0, "rebuild", &rebuild, "K", "a new tree every K steps; auto, timed: when it pays (auto)", 0, 0,
         0},
        {OPTION_COUNT, 0, "image", &pixels, "PIXELS", "the projected density at each output, PREFIX.0000.pgm ...", 0, 0,
         0},
        {OPTION_REAL, 0, "half-width", &s.set.view.half, "L", "of the images, in x and y (30)", 0, 0, 0},
        {OPTION_TEXT, 0, "part", &s.part, "NAME", "one component in the images: halo, bulge or disc (all)", 0, 0, 0},
        {OPTION_FLAG, 0, "film", &s.film, 0, "PREFIX.mp4 of the images at the end, by ffmpeg", 0, 1, 0},
    };
    job->own = own;
    job->own_n = (int)(sizeof own / sizeof *own);
    if (run_parse(job, argc, argv, &status)) return status;
    s.shared_remedy = "use a smaller --dt-max, a larger --eps, or a smaller --accuracy";
    if (isnan(s.set.eta)) {
        s.set.eta = USUAL_ETA;
        s.needed_eta = needed_eta;
    }
    s.set.method = SAPPORO_STEP_TREE;
    s.set.kind = kind + 1;
    s.set.mac = mac + 1;
    s.set.order = order;
    s.set.scheme = scheme + 1;
    s.set.criterion = choice + 1;
    s.set.view.pixels = pixels;
    s.set.rebuild = SAPPORO_REBUILD_TIMED;
    if (strcmp(rebuild, "timed") != 0 && run_read_rebuild(job, rebuild, &s.set.rebuild)) return RUN_USAGE;
    if (!job->restart && wrong_settings(&s)) return RUN_USAGE;
    return stepping_run(&s);
}

int main(int argc, char **argv)
{
    run job = {.program = "galaxy",
               .layout = "galaxy 7",
               .about = "a collisionless system by block time steps over the tree of libsapporo, on its device",
               .remedy = "use a smaller --eta, a larger --eps, or a smaller --accuracy",
               .eps_default = 1.0 / 32,
               .eps_help = "softening length (1/32; andromeda: 0.016)",
               .dt_help = "no step is longer than this, nor than the interval",
               .demo_run = &demo,
               .advice = "@ --model andromeda -n 65536 --eps 0.1 --image 512 -o m31   (writes m31.0000.txt, ...)\n"
                         "@ --restart m31.restart --end 200       (goes on with it)\n"
                         "@ --model disc -n 32768 -t 20 -o disc   (a disc alone)\n"};
    return run_end(&job, run_program(&job, argc, argv));
}
