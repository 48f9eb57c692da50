/*
 * galaxy.c - a collisionless system, such as a galaxy, whose particles move on the device that computes their forces.
 *
 * The steps are those of sapporo_stepper.h: block steps, which each particle chooses by its acceleration, or one step
 * for all.
 */
#include "run.h"
#include "stepping.h"

#include <math.h>
#include <sapporo.h>
#include <string.h>

/* Returns the shortest step that the criterion of acceleration chooses: the one step for all. */
static double needed_step(const stepping *s, const double (*a)[3])
{
    double most = 0;
    for (int k = 0; k < s->set.n; k++)
        most = fmax(most, sqrt(a[k][0] * a[k][0] + a[k][1] * a[k][1] + a[k][2] * a[k][2]));
    return sqrt(2 * s->set.eta * s->job->plan.eps / most); /* infinite without forces */
}

/* ---- the command line ------------------------------------------------------------------------------------- */

static int wrong_settings(const stepping *s)
{
    const stepping_settings *set = &s->set;
    if (set->accuracy >= 0 && (set->order == 1 || set->order == 2) && set->eta > 0) return stepping_wrong_images(s);
    run_warn(s->job, "--accuracy must not be negative, --eta must be positive, --multipoles 1 or 2");
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
    stepping s = {.job = job, .set = {.half = 30, .eta = 0.025}, .needed_step = needed_step};
    int kind = 0, mac = 2, order = 2, pixels = 0, scheme = 1, choice = 0, status;
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
        {OPTION_TEXT, 0, "rebuild", &rebuild, "K", "a new tree every K steps; auto, timed: when it pays (auto)", 0, 0,
         0},
        {OPTION_COUNT, 0, "image", &pixels, "PIXELS", "the projected density at each output, PREFIX.0000.pgm ...", 0, 0,
         0},
        {OPTION_REAL, 0, "half-width", &s.set.half, "L", "of the images, in x and y (30)", 0, 0, 0},
        {OPTION_FLAG, 0, "film", &s.film, 0, "PREFIX.mp4 of the images at the end, by ffmpeg", 0, 1, 0},
    };
    job->own = own;
    job->own_n = (int)(sizeof own / sizeof *own);
    if (run_parse(job, argc, argv, &status)) return status;
    prepare_demo(job);
    s.set.method = SAPPORO_STEP_TREE;
    s.set.kind = kind + 1;
    s.set.mac = mac + 1;
    s.set.order = order;
    s.set.scheme = scheme + 1;
    s.set.criterion = choice + 1;
    s.set.pixels = pixels;
    s.set.rebuild = SAPPORO_REBUILD_TIMED;
    if (strcmp(rebuild, "timed") != 0 && run_read_rebuild(job, rebuild, &s.set.rebuild)) return RUN_USAGE;
    if (!job->restart && wrong_settings(&s)) return RUN_USAGE;
    return stepping_run(&s);
}

int main(int argc, char **argv)
{
    run job = {.program = "galaxy",
               .layout = "galaxy 2",
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
