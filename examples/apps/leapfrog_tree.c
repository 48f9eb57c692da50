/*
 * leapfrog_tree.c - a stellar system integrated by leap-frog with one step for all, its forces from the library's tree.
 *
 * Kick, drift, kick: half a step of velocities with the force at its beginning, a step of positions, half a step of
 * velocities with the force at its end.  The tree is built anew at every step, or refreshed for some steps in between.
 * The criterion of acceleration needs the accelerations of the step before: they go into the restart file, so a run
 * that was stopped goes on with the same bits.
 */
#include "leapfrog.h"
#include "run.h"

#include <math.h>
#include <sapporo.h>
#include <stdlib.h>
#include <string.h>

/* What the restart file keeps besides the plan and the particles. */
typedef struct settings {
    /* rebuild: steps between builds, or RUN_AUTOMATIC; known: accelerations are those of this moment */
    int64_t n, step, kind, mac, order, rebuild, known;
    double accuracy, error; /* error: of 99 % of the forces, in place of `accuracy`; 0: not asked for */
    image_view view;
} settings;

typedef struct leapfrog {
    run *job;
    settings set;
    bodies body;
    double (*a)[3], *pot, *size; /* size: of the acceleration */
    sapporo_tree *tree;
    int since; /* steps since the tree was built; < 0: there is none */
} leapfrog;

/* Returns the time since the start of the run. */
static double since(const leapfrog *l) { return (double)l->set.step * l->job->plan.dt_max; }

/* ---- the library ---------------------------------------------------------------------------------------- */

static int failed(leapfrog *l, const char *what)
{
    char at[RUN_TIME_TEXT];
    run_warn(l->job, "%s at time %s: %s", what, run_time_text(l->job, since(l), 10, at),
             sapporo_tree_last_error(l->tree));
    return -1;
}

static int open_tree(leapfrog *l)
{
    const size_t n = (size_t)l->set.n;
    const sapporo_tree_options options = {.size = sizeof options,
                                          .kind = (sapporo_tree_kind)l->set.kind,
                                          .mac = (sapporo_tree_mac)l->set.mac,
                                          .accuracy = l->set.accuracy,
                                          .error = l->set.error,
                                          .order = (int)l->set.order,
                                          .eps2 = l->job->plan.eps * l->job->plan.eps};
    l->a = calloc(n, sizeof *l->a);
    l->pot = calloc(n, sizeof *l->pot);
    l->size = calloc(n, sizeof *l->size);
    l->since = -1;
    if (!l->a || !l->pot || !l->size) {
        run_warn(l->job, "out of memory for %d particles", (int)n);
        return -1;
    }
    return sapporo_tree_create(&options, (int)n, &l->tree) ? failed(l, "no tree") : 0;
}

/* The tree of the particles where they are; `fresh`: a new one whatever --rebuild says. */
static int plant(leapfrog *l, int fresh)
{
    sapporo_tree_particles p = {.size = sizeof p, .n = l->body.n, .x = {l->body.x, 0}, .mass = {l->body.mass, 0}};
    if (l->set.mac == SAPPORO_MAC_ACCELERATION && l->set.known) p.a.base = l->size;
    if (sapporo_tree_set(l->tree, &p)) return failed(l, "particles");
    const int automatic = l->set.rebuild == RUN_AUTOMATIC;
    fresh = fresh || l->since < 0 || (!automatic && l->since + 1 >= (int)l->set.rebuild);
    const int status = fresh       ? sapporo_tree_build(l->tree)
                       : automatic ? sapporo_tree_refresh_or_build(l->tree, 0, NULL)
                                   : sapporo_tree_refresh(l->tree);
    if (status) return failed(l, "tree");
    l->since = fresh ? 0 : l->since + 1;
    return 0;
}

/* Forces on all particles. */
static int force(leapfrog *l, int fresh)
{
    const sapporo_tree_request all = {.size = sizeof all, .ni = l->body.n};
    if (plant(l, fresh)) return -1;
    if (sapporo_tree_force(l->tree, &all, l->a, l->pot)) return failed(l, "force");
    for (int k = 0; k < l->body.n; k++)
        l->size[k] = sqrt(l->a[k][0] * l->a[k][0] + l->a[k][1] * l->a[k][1] + l->a[k][2] * l->a[k][2]);
    l->set.known = 1;
    return 0;
}

/*
 * With --rebuild auto, builds the tree before the first step after an output, and computes a force, whose cost the
 * library compares with that of later forces.  So a run that was stopped goes on with the same trees.
 */
static int renew(leapfrog *l)
{
    const sapporo_tree_request all = {.size = sizeof all, .ni = l->body.n};
    if (l->set.rebuild != RUN_AUTOMATIC) return 0;
    if (plant(l, 1)) return -1;
    return sapporo_tree_force(l->tree, &all, NULL, l->pot) ? failed(l, "force") : 0;
}

/* ---- the scheme ------------------------------------------------------------------------------------------- */

static void kick(leapfrog *l, double dt)
{
    for (int k = 0; k < l->body.n; k++)
        for (int c = 0; c < 3; c++) l->body.v[k][c] += dt * l->a[k][c];
}

static void drift(leapfrog *l, double dt)
{
    for (int k = 0; k < l->body.n; k++)
        for (int c = 0; c < 3; c++) l->body.x[k][c] += dt * l->body.v[k][c];
}

static int64_t steps_an_output(const leapfrog *l) { return (int64_t)(l->job->plan.interval / l->job->plan.dt_max); }

/* At outputs, where runs are stopped and go on, trees are new: so a stop changes nothing. */
static int step(leapfrog *l)
{
    const double dt = l->job->plan.dt_max;
    kick(l, dt / 2);
    drift(l, dt);
    l->set.step++;
    l->body.time = run_time(l->job, since(l));
    if (force(l, l->set.step % steps_an_output(l) == 0)) return -1;
    kick(l, dt / 2);
    l->job->plan.blocks++;
    l->job->plan.steps += l->body.n;
    return 0;
}

/* ---- outputs and restart files ------------------------------------------------------------------------------ */

static int save(leapfrog *l, int always)
{
    const size_t n = (size_t)l->set.n;
    const restart_piece piece[] = {{"leapfrog", &l->set, sizeof l->set},
                                   {"id", l->body.id, n * sizeof *l->body.id},
                                   {"mass", l->body.mass, n * sizeof *l->body.mass},
                                   {"x", l->body.x, n * sizeof *l->body.x},
                                   {"v", l->body.v, n * sizeof *l->body.v},
                                   {"a", l->a, n * sizeof *l->a},
                                   {"pot", l->pot, n * sizeof *l->pot}};
    return run_save(l->job, piece, (int)(sizeof piece / sizeof *piece), always);
}

static int output(leapfrog *l)
{
    if (run_draw(l->job, &l->body, &l->set.view) || run_output(l->job, &l->body, l->pot)) return -1;
    return save(l, 0);
}

static int read_particles(leapfrog *l, const restart_file *file, message *why)
{
    if (restart_get(file, "leapfrog", &l->set, sizeof l->set, why)) return -1;
    const size_t n = (size_t)l->set.n;
    if (l->set.n < 1) return complain(why, "%s: there are no particles in it", l->job->restart);
    if (bodies_allocate(&l->body, (int)n)) return complain(why, "out of memory for %d particles", (int)n);
    if (open_tree(l)) return complain(why, "%s cannot go on", l->job->restart);
    if (restart_get(file, "id", l->body.id, n * sizeof *l->body.id, why) ||
        restart_get(file, "mass", l->body.mass, n * sizeof *l->body.mass, why) ||
        restart_get(file, "x", l->body.x, n * sizeof *l->body.x, why) ||
        restart_get(file, "v", l->body.v, n * sizeof *l->body.v, why) ||
        restart_get(file, "a", l->a, n * sizeof *l->a, why) ||
        restart_get(file, "pot", l->pot, n * sizeof *l->pot, why))
        return -1;
    for (size_t k = 0; k < n; k++)
        l->size[k] = sqrt(l->a[k][0] * l->a[k][0] + l->a[k][1] * l->a[k][1] + l->a[k][2] * l->a[k][2]);
    l->body.time = run_time(l->job, since(l));
    return 0;
}

static int go_on(leapfrog *l)
{
    restart_file file;
    message why = {""};
    int status = run_reopen(l->job, &file);
    if (status) return status;
    const int bad = read_particles(l, &file, &why);
    restart_free(&file);
    if (bad) {
        run_warn(l->job, "%s", why.text);
        return RUN_USAGE;
    }
    status = run_go_on(l->job, since(l));
    if (status) return status;
    return plant(l, 1) ? RUN_FAILED : RUN_OK; /* the next step may refresh it */
}

/* Chooses the step, unless the user did. */
static int choose_step(leapfrog *l)
{
    run *job = l->job;
    const int status =
        job->dt_given || l->body.n < 2
            ? RUN_OK
            : run_shorten_steps(job, leapfrog_step(&l->body, (const double(*)[3])l->a, l->pot, job->plan.eps));
    if (!status) run_say(job, "# one step for all particles: %.6g", job->plan.dt_max);
    return status;
}

static int begin(leapfrog *l)
{
    const int status = run_begin(l->job, &l->body);
    if (status) return status;
    if (l->job->plan.eps <= 0 && !l->job->dt_given && l->body.n > 1) {
        run_warn(l->job, "--eps 0: a leap-frog with one step cannot follow close encounters without softening; give "
                         "--eps, or --dt-max if you know that there are none");
        return RUN_USAGE;
    }
    l->set.n = l->body.n;
    return open_tree(l) || force(l, 1) ? RUN_FAILED : choose_step(l);
}

/* ---- the run -------------------------------------------------------------------------------------------------- */

/* Stops only where the tree will be new: unless --rebuild is 1, that is at the next output. */
static int may_stop(const leapfrog *l) { return l->set.rebuild == 1 || l->set.step % steps_an_output(l) == 0; }

static int integrate(leapfrog *l)
{
    run *job = l->job;
    for (;;) {
        if (l->set.step == job->plan.done * steps_an_output(l) && output(l)) return RUN_FAILED;
        if (job->plan.done > job->plan.outputs) return run_finish(job);
        if (run_must_stop(job) && may_stop(l)) return save(l, 1) ? RUN_FAILED : run_stopped(job, since(l));
        if (l->set.step % steps_an_output(l) == 0 && renew(l)) return RUN_FAILED;
        if (step(l)) return RUN_FAILED;
        (void)run_step(job, since(l));
    }
}

static int wrong_settings(const leapfrog *l)
{
    const settings *s = &l->set;
    const run_useless useless[] = {
        {"image", !l->job->plan.files, "on --demo, which writes no files without -o"},
        {"half-width", s->view.pixels == 0, "without --image PIXELS"},
        {"accuracy", s->error != 0, "with --error: it is found"},
        {"mac", s->error != 0 && s->mac != SAPPORO_MAC_ACCELERATION, "with --error, but for acceleration"}};
    if (run_refuse_useless(l->job, useless, 4)) return 1;
    if (s->accuracy >= 0 && s->error >= 0 && s->view.half > 0 && (s->order == 1 || s->order == 2)) return 0;
    run_warn(l->job, "--accuracy and --error must not be negative, --half-width must be positive, --multipoles 1 or 2");
    return 1;
}

static int run_program(run *job, int argc, char **argv)
{
    static const char *const criteria[] = {"opening", "multipole", "acceleration", NULL};
    static const char *const kinds[] = {"octree", "kdtree", NULL};
    leapfrog l = {.job = job, .set = {.view = {.half = 3}}};
    int kind = 0, mac = 2, order = 2, pixels = 0, status;
    const char *rebuild = "1";
    option_rule own[] = {
        {OPTION_CHOICE, 0, "tree", &kind, "NAME", "octree or kdtree (octree)", kinds, 0, 0},
        {OPTION_CHOICE, 0, "mac", &mac, "NAME", "opening, multipole or acceleration (acceleration)", criteria, 0, 0},
        {OPTION_REAL, 'a', "accuracy", &l.set.accuracy, "A", "of the criterion (0.7, 0.1, 0.01)", 0, 0, 0},
        {OPTION_REAL, 0, "error", &l.set.error, "E", "in its place: of 99 % of the forces, such as 1e-3", 0, 0, 0},
        {OPTION_COUNT, 0, "multipoles", &order, "P", "1: masses, 2: second moments too (2)", 0, 0, 0},
        {OPTION_TEXT, 0, "rebuild", &rebuild, "K",
         "a new tree every K steps, refreshed in between (1); auto: when it pays", 0, 0, 0},
        {OPTION_COUNT, 0, "image", &pixels, "PIXELS", "the projected density at each output, PREFIX.0000.pgm ...", 0, 0,
         0},
        {OPTION_REAL, 0, "half-width", &l.set.view.half, "L", "of the images, in x and y (3)", 0, 0, 0},
    };
    job->own = own;
    job->own_n = (int)(sizeof own / sizeof *own);
    if (run_parse(job, argc, argv, &status)) return status;
    l.set.kind = kind + 1;
    l.set.mac = mac + 1;
    l.set.order = order;
    l.set.view.pixels = pixels;
    if (run_read_rebuild(job, rebuild, &l.set.rebuild) || (!job->restart && wrong_settings(&l))) return RUN_USAGE;
    status = job->restart ? go_on(&l) : begin(&l);
    if (!status) status = integrate(&l);
    sapporo_tree_destroy(l.tree);
    free(l.a);
    free(l.pot);
    free(l.size);
    bodies_free(&l.body);
    return status;
}

int main(int argc, char **argv)
{
    run job = {.program = "leapfrog_tree",
               .layout = "leapfrog_tree 7",
               .about = "a stellar system by leap-frog with one step for all and the tree of libsapporo",
               .remedy = "use a smaller --dt-max, a larger --eps, or a smaller --accuracy",
               .eps_default = 1.0 / 32,
               .eps_help = "softening length (1/32)",
               .dt_help = "the step is at most this (chosen from --eps, masses and speeds)",
               .one_step = 1,
               .advice = "@ --model king --w0 9 -n 4096 --imf salpeter -o king   (writes king.0000.txt, ...)\n"
                         "@ king.0000.txt -o again                (reads a snapshot; --help tells the rest)\n"
                         "@ --demo --accuracy 0.05                (faster, less exact)\n"
                         "@ --demo --eps 1/64                     (closer encounters, shorter steps)\n"};
    return run_end(&job, run_program(&job, argc, argv));
}
