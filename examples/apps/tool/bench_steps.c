/* bench_steps.c - see bench_steps.h: times each step of a stepper, from calls of sapporo_stepper_advance. */
#include "bench_steps.h"
#include "bodies.h"
#include "galaxy.h"
#include "util.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM = 1 };

/* One case and its result. */
typedef struct steps_case {
    const char *model, *kind, *steps, *method; /* kind: of tree */
    const bodies *set;
    int mac, multipoles;
    double accuracy, dt;
} steps_case;

typedef struct steps_result {
    char engine[128], failure[256];
    int samples;
    double mean, median, min, max;     /* seconds of a step */
    double phase[SAPPORO_STEP_PHASES]; /* mean seconds of the parts of a step */
    double build, refresh;             /* mean seconds of a build of the tree, of a refresh; 0: there was none */
    double active;                     /* mean number of active particles of a step */
    double interactions;               /* per active particle, of the last force from a tree */
    double energy_error;               /* relative, from the first to the last timed step */
    double time;                       /* by which the model has moved */
    long long builds, refreshes;
    double group_extent; /* the limit of the last tree; 0: none */
    size_t host_bytes, device_bytes;
} steps_result;

typedef struct session {
    const steps_request *asked;
    const steps_case *what;
    sapporo_stepper *stepper;
    steps_result *result;
} session;

static int give_up(session *on, const char *why)
{
    snprintf(on->result->failure, sizeof on->result->failure, "%.*s", (int)sizeof on->result->failure - 1, why);
    return -1;
}

static int failed(session *on) { return give_up(on, sapporo_stepper_last_error(on->stepper)); }

/* ---- a case ------------------------------------------------------------------------------- */

static int is_direct(const steps_case *c) { return strcmp(c->method, "direct") == 0; }

static int open_stepper(session *on)
{
    const steps_case *c = on->what;
    const steps_request *const asked = on->asked;
    sapporo_tree_options tree;
    bench_tree_options(asked->tree, &tree);
    tree.kind = bench_tree_kind(c->kind);
    tree.mac = (sapporo_tree_mac)c->mac;
    tree.accuracy = c->accuracy;
    tree.order = c->multipoles;
    const sapporo_stepper_options o = {.size = sizeof o,
                                       .method = is_direct(c) ? SAPPORO_STEP_DIRECT : SAPPORO_STEP_TREE,
                                       .tree = &tree,
                                       .scheme =
                                           strcmp(c->steps, "block") == 0 ? SAPPORO_STEPS_BLOCK : SAPPORO_STEPS_SHARED,
                                       .dt = c->dt,
                                       .eta = asked->eta,
                                       .levels = SAPPORO_STEP_LEVELS_MOST,
                                       .rebuild = asked->timed ? (int)SAPPORO_REBUILD_TIMED : asked->rebuild};
    if (sapporo_stepper_create(&o, c->set->n, &on->stepper)) return give_up(on, sapporo_last_error(NULL));
    snprintf(on->result->engine, sizeof on->result->engine, "%s", sapporo_stepper_kind_text(on->stepper));
    return 0;
}

static int put_particles(session *on)
{
    const bodies *const b = on->what->set;
    const sapporo_stepper_particles p = {
        .size = sizeof p, .n = b->n, .x = {b->x, 0}, .v = {b->v, 0}, .mass = {b->mass, 0}};
    return sapporo_stepper_set(on->stepper, &p) ? failed(on) : 0;
}

/* Energy of the model: kinetic, and of all pairs; NaN after a failure. */
static double energy_now(session *on)
{
    sapporo_stepper_totals now = {.size = sizeof now};
    if (sapporo_stepper_energy(on->stepper, &now)) {
        (void)failed(on);
        return NAN;
    }
    return now.kinetic + now.potential;
}

/* Prints step k, which took so long; built: it built the tree. */
static void json_step(const session *on, int k, double seconds, const sapporo_stepper_statistics *s, int built)
{
    static const char *const phases[SAPPORO_STEP_PHASES] = {"predict", "tree", "force", "correct"};
    json_begin(NULL, '{');
    json_text("case", "step");
    json_text("model", on->what->model);
    json_integer("n", s->n);
    json_text("steps", on->what->steps);
    json_text("mac", bench_mac_name(on->what->mac));
    json_real("accuracy", on->what->accuracy);
    json_integer("step", k);
    json_integer("active", s->active);
    json_real("seconds", seconds);
    json_integer("built", built);
    json_real("interactions", s->interactions * s->active);
    for (int phase = 0; phase < SAPPORO_STEP_PHASES; phase++) json_real(phases[phase], s->seconds[phase]);
    json_real("group_extent", s->group_extent);
    json_end('}');
}

/* Adds the parts of the last step; *builds: builds before it. */
static void add_phases(steps_result *r, const sapporo_stepper_statistics *s, long long *builds)
{
    double *const tree = s->builds > *builds ? &r->build : &r->refresh;
    *tree += s->seconds[SAPPORO_STEP_PHASE_TREE];
    *builds = s->builds;
    for (int phase = 0; phase < SAPPORO_STEP_PHASES; phase++) r->phase[phase] += s->seconds[phase];
}

/* Times the steps one by one; *before and *after: statistics. */
static int time_steps(session *on, double *sample, sapporo_stepper_statistics *before,
                      sapporo_stepper_statistics *after)
{
    before->size = after->size = sizeof *after;
    if (sapporo_stepper_get_statistics(on->stepper, before)) return failed(on);
    const double start = sapporo_stepper_get_time(on->stepper);
    long long builds = before->builds;
    for (int k = 0; k < on->asked->count; k++) {
        const double begun = now();
        if (sapporo_stepper_advance(on->stepper, INFINITY, 1)) return failed(on);
        sample[k] = now() - begun;
        on->result->mean += sample[k] / on->asked->count;
        if (sapporo_stepper_get_statistics(on->stepper, after)) return failed(on);
        if (on->asked->each && on->asked->tree->json) json_step(on, k, sample[k], after, after->builds > builds);
        add_phases(on->result, after, &builds);
    }
    on->result->time = sapporo_stepper_get_time(on->stepper) - start;
    return 0;
}

static double mean_of(double sum, long long n) { return n > 0 ? sum / (double)n : 0; }

static void summarise(steps_result *r, double *sample, int n, const sapporo_stepper_statistics *before,
                      const sapporo_stepper_statistics *after)
{
    sort_values(sample, (size_t)n);
    r->samples = n;
    r->median = quantile(sample, (size_t)n, 0.5);
    r->min = sample[0];
    r->max = sample[n - 1];
    r->active = (double)(after->particle_steps - before->particle_steps) / n;
    r->interactions = after->interactions;
    r->builds = after->builds - before->builds;
    r->group_extent = after->group_extent;
    r->refreshes = after->refreshes - before->refreshes;
    for (int phase = 0; phase < SAPPORO_STEP_PHASES; phase++) r->phase[phase] /= n;
    r->build = mean_of(r->build, r->builds);
    r->refresh = mean_of(r->refresh, r->refreshes);
    r->host_bytes = after->host_bytes;
    r->device_bytes = after->device_bytes;
}

static int measure(session *on)
{
    const int n = on->asked->count;
    sapporo_stepper_statistics before, after;
    double *const sample = allocate((size_t)n, sizeof *sample);
    int status = put_particles(on);
    if (!status && sapporo_stepper_advance(on->stepper, INFINITY, WARM)) status = failed(on);
    const double first = status ? NAN : energy_now(on);
    if (!status) status = time_steps(on, sample, &before, &after);
    if (!status) summarise(on->result, sample, n, &before, &after);
    if (!status) on->result->energy_error = (energy_now(on) - first) / fabs(first);
    free(sample);
    return status;
}

/* ---- output -------------------------------------------------------------------------------- */

static void print_head(void)
{
    printf("%-9s %9s %-6s %-6s %-12s %8s %-30s %9s %9s %8s %8s %8s %8s %8s %10s %10s %6s %8s %9s\n", "model", "n",
           "steps", "method", "criterion", "accuracy", "engine", "mean ms", "median", "predict", "refresh", "build",
           "force", "correct", "active", "rows/s", "builds", "inter/i", "dE/|E|");
}

static void print_case(const steps_case *c, const steps_result *r)
{
    printf("%-9s %9d %-6s %-6s %-12s %8.3g %-30s ", c->model, c->set->n, c->steps, c->method,
           is_direct(c) ? "-" : bench_mac_name(c->mac), c->accuracy, r->engine);
    if (r->failure[0] != '\0')
        printf("no result: %s\n", r->failure);
    else
        printf("%9.4g %9.4g %8.3g %8.3g %8.3g %8.3g %8.3g %10.4g %10.3e %6lld %8.1f %9.1e\n", 1e3 * r->mean,
               1e3 * r->median, 1e3 * r->phase[SAPPORO_STEP_PHASE_PREDICT], 1e3 * r->refresh, 1e3 * r->build,
               1e3 * r->phase[SAPPORO_STEP_PHASE_FORCE], 1e3 * r->phase[SAPPORO_STEP_PHASE_CORRECT], r->active,
               r->active / r->mean, r->builds, r->interactions, r->energy_error);
}

static void print_numbers(const steps_result *r)
{
    json_integer("samples", r->samples);
    json_real("mean", r->mean);
    json_real("seconds", r->median);
    json_real("min", r->min);
    json_real("max", r->max);
    json_real("active", r->active);
    json_real("interactions", r->interactions);
    json_integer("builds", r->builds);
    json_integer("refreshes", r->refreshes);
    json_real("group_extent", r->group_extent);
    json_real("predict", r->phase[SAPPORO_STEP_PHASE_PREDICT]);
    json_real("build", r->build);
    json_real("refresh", r->refresh);
    json_real("force", r->phase[SAPPORO_STEP_PHASE_FORCE]);
    json_real("correct", r->phase[SAPPORO_STEP_PHASE_CORRECT]);
    json_real("time", r->time);
    json_real("energy_error", r->energy_error);
    json_integer("bytes", (long long)r->host_bytes + (long long)r->device_bytes);
}

static void json_case(const steps_request *asked, const steps_case *c, const steps_result *r)
{
    json_begin(NULL, '{');
    json_text("case", "steps");
    json_text("model", c->model);
    json_integer("n", c->set->n);
    json_text("steps", c->steps);
    json_text("method", c->method);
    json_text("tree", c->kind);
    json_text("mac", bench_mac_name(c->mac));
    json_real("accuracy", c->accuracy);
    json_integer("multipoles", c->multipoles);
    json_real("eps", asked->tree->eps);
    json_real("dt", c->dt);
    json_real("eta", asked->eta);
    json_real("massless", asked->massless);
    json_integer("rebuild", asked->timed ? (int)SAPPORO_REBUILD_TIMED : asked->rebuild);
    json_integer("threads", asked->tree->what.threads);
    json_text("engine", r->engine);
    if (r->failure[0] != '\0')
        json_text("failure", r->failure);
    else
        print_numbers(r);
    json_end('}');
}

static int run_case(const steps_request *asked, const steps_case *what)
{
    steps_result result = {.samples = 0};
    session on = {.asked = asked, .what = what, .result = &result};
    if (!open_stepper(&on)) (void)measure(&on);
    sapporo_stepper_destroy(on.stepper);
    if (asked->tree->json)
        json_case(asked, what, &result);
    else
        print_case(what, &result);
    fflush(stdout);
    return result.failure[0] != '\0';
}

/* ---- every combination ---------------------------------------------------------------------- */

/* Runs all criteria, accuracies and orders of a tree; direct sums have none of them. */
static int run_criteria(const steps_request *asked, steps_case what)
{
    const tree_request *const t = asked->tree;
    int failures = 0;
    if (is_direct(&what)) return run_case(asked, &what);
    for (int c = 0; c < t->mac.n; c++)
        for (int a = 0; a < t->accuracy.n; a++)
            for (int p = 0; p < t->multipoles.n; p++) {
                what.mac = bench_mac_of(t->mac.word[c]);
                what.accuracy = t->accuracy.value[a];
                what.multipoles = t->multipoles.value[p];
                failures += run_case(asked, &what);
            }
    return failures;
}

/* Runs all methods, schemes and kinds of trees on a model. */
static int run_schemes(const steps_request *asked, steps_case what)
{
    int failures = 0;
    for (int m = 0; m < asked->method.n; m++)
        for (int s = 0; s < asked->steps.n; s++) {
            what.method = asked->method.word[m];
            what.steps = asked->steps.word[s];
            for (int k = 0; k < (is_direct(&what) ? 1 : asked->tree->kind.n); k++) {
                what.kind = asked->tree->kind.word[k];
                failures += run_criteria(asked, what);
            }
        }
    return failures;
}

/* Takes the mass of a share of the particles, evenly by address, and gives it to the others. */
static void take_masses(bodies *b, double share)
{
    for (int i = 0; i < b->n; i++) {
        const int massless = (int)((i + 1) * share) > (int)(i * share);
        b->mass[i] = massless ? 0 : b->mass[i] / (1 - share);
    }
}

int bench_steps(const steps_request *asked)
{
    const tree_request *const t = asked->tree;
    int failures = 0;
    if (!t->json) print_head();
    for (int m = 0; m < t->model.n; m++)
        for (int n = 0; n < t->n.n; n++) {
            bodies set = {.n = 0};
            message why = {""};
            const char *const name = t->model.word[m];
            const double unit = strcmp(name, "andromeda") == 0 ? GALAXY_INTERVAL : 1;
            if (bench_make_model(name, t->n.value[n], t->seed.value[0], t, &set, &why)) {
                fprintf(stderr, "sapporo bench: %s\n", why.text);
                failures++;
            } else {
                if (asked->massless > 0) take_masses(&set, asked->massless);
                failures += run_schemes(
                    asked, (steps_case){.model = name, .set = &set, .dt = asked->dt > 0 ? asked->dt : unit / 16});
            }
            bodies_free(&set);
        }
    return failures;
}
