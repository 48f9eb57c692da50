/* bench_tree.c - see bench_tree.h: times a shared step of a tree code, without its kick and drift. */
#include "bench_tree.h"
#include "cluster.h"
#include "plain_sum.h"
#include "sapporo_experiments.h"
#include "util.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKED = 1000, MOST_SAMPLES = 1000, WARM = 1, QUANTILES = 10, FEWEST = 3 };

static const double LONG_ENOUGH = 1; /* seconds of samples after which a few are enough */

static const char *const MODELS[] = {"plummer", "king", "hernquist", "uniform", "nfw", "clumps", "disc", "andromeda"};
static const char *const MACS[] = {"", "opening", "multipole", "acceleration"};

/* What the cases of one model, number of particles and fraction of them share; made by the first of them. */
typedef struct shared_model {
    bodies set;
    double active;      /* fraction of the particles that get forces */
    double (*right)[3]; /* accelerations by a plain sum in double, of the particles that are compared */
} shared_model;

/* One case and its result. */
typedef struct tree_case {
    const char *model, *kind; /* kind: of tree */
    shared_model *shared;
    int n, mac, multipoles, leaf, group, ball, walk, curve;
    double accuracy;
} tree_case;

typedef struct tree_result {
    char engine[128], failure[256];
    int samples, rows;
    double median, min, max;           /* seconds of a step */
    double phase[SAPPORO_PHASES];      /* seconds, of the fastest step */
    double error50, error99, error100; /* relative, of accelerations */
    double above[QUANTILES];           /* error that a fraction 2^-k of the particles exceeds, k from 0 */
    sapporo_tree_statistics tree;
} tree_result;

typedef struct session {
    const tree_request *asked;
    const tree_case *what;
    const bodies *set;
    sapporo_tree *tree;
    int *active;
    double (*acc)[3], *pot;
    tree_result *result;
} session;

static int give_up(session *on, const char *why)
{
    snprintf(on->result->failure, sizeof on->result->failure, "%.*s", (int)sizeof on->result->failure - 1, why);
    return -1;
}

/* ---- a step ------------------------------------------------------------------------------- */

static int step(session *on)
{
    const sapporo_tree_particles p = {
        .size = sizeof p, .n = on->set->n, .x = {on->set->x, 0}, .mass = {on->set->mass, 0}};
    const sapporo_tree_request rows = {.size = sizeof rows, .ni = on->result->rows, .active = on->active};
    int status = sapporo_tree_set(on->tree, &p);
    if (!status)
        status = on->asked->refresh && on->result->samples > 0 ? sapporo_tree_refresh(on->tree)
                                                               : sapporo_tree_build(on->tree);
    if (!status) status = sapporo_tree_force(on->tree, &rows, on->acc, on->pot);
    return status ? give_up(on, sapporo_tree_last_error(on->tree)) : 0;
}

static int measure(session *on)
{
    tree_result *r = on->result;
    double *sample = allocate(MOST_SAMPLES, sizeof *sample), best = INFINITY;
    int status = 0, n = 0;
    for (int k = 0; k < WARM && !status; k++, r->samples = 1) status = step(on);
    for (const double start = now(); !status && n < MOST_SAMPLES; n++) {
        if (n > 0 && on->asked->once) break;
        if (n >= on->asked->repeat && now() - start >= on->asked->min_time) break;
        if (n >= FEWEST && now() - start >= LONG_ENOUGH) break;
        const double before = now();
        status = step(on);
        sample[n] = now() - before;
        r->tree.size = sizeof r->tree;
        if (sample[n] < best && !sapporo_tree_get_statistics(on->tree, &r->tree)) {
            best = sample[n];
            memcpy(r->phase, r->tree.seconds, sizeof r->phase);
        }
    }
    sort_values(sample, (size_t)n);
    r->samples = n;
    r->median = quantile(sample, (size_t)n, 0.5);
    r->min = n > 0 ? sample[0] : NAN;
    r->max = n > 0 ? sample[n - 1] : NAN;
    free(sample);
    return status;
}

/* ---- errors, against a plain sum in double --------------------------------------------------- */

static double error_of(const double *right, const double *acc)
{
    double off = 0, size = 0;
    for (int c = 0; c < 3; c++) {
        off += (acc[c] - right[c]) * (acc[c] - right[c]);
        size += right[c] * right[c];
    }
    return sqrt(off / size);
}

/* The row of the k-th of n particles that are compared. */
static int row_of(const session *on, int k, int n) { return (int)((long long)k * on->result->rows / n); }

static sapporo_softening softening_of(const tree_request *asked)
{
    const char *const word = asked->softening.n > 0 ? asked->softening.word[0] : "plummer";
    return strcmp(word, "spline-mean") == 0 ? SAPPORO_SOFTENING_SPLINE_MEAN
           : strcmp(word, "spline") == 0    ? SAPPORO_SOFTENING_SPLINE_LARGER
                                            : SAPPORO_SOFTENING_PLUMMER;
}

/* Acceleration over distance of mass 1 by the spline of length h: Springel, Yoshida & White 2001, appendix A. */
static double spline_pull(double r, double h)
{
    const double u = r / h;
    if (!(u < 1)) return 1 / (r * r * r);
    if (u < 0.5) return (32 / 3.0 + u * u * (32 * u - 38.4)) / (h * h * h);
    return (64 / 3.0 + u * (-48 + u * (38.4 - 32 / 3.0 * u)) - 1 / (15 * u * u * u)) / (h * h * h);
}

/* As plain_sum, by the spline of a length that all particles have. */
static void spline_sum(const bodies *set, double h, const int *target, int n, double (*acc)[3])
{
    for (int k = 0; k < n; k++) {
        memset(acc[k], 0, sizeof acc[k]);
        for (int j = 0; j < set->n; j++) {
            double d[3], r2 = 0;
            for (int c = 0; c < 3; c++) d[c] = set->x[j][c] - set->x[target[k]][c], r2 += d[c] * d[c];
            const double pull = r2 > 0 ? set->mass[j] * spline_pull(sqrt(r2), h) : 0;
            for (int c = 0; c < 3; c++) acc[k][c] += pull * d[c];
        }
    }
}

/* The accelerations of n particles, spread over the rows, by a plain sum. */
static void find_right(session *on, int n)
{
    int *target = allocate((size_t)n + 1, sizeof *target);
    for (int k = 0; k < n; k++) {
        const int row = row_of(on, k, n);
        target[k] = on->active ? on->active[row] : row;
    }
    on->what->shared->right = allocate((size_t)n + 1, sizeof *on->what->shared->right);
    if (softening_of(on->asked))
        spline_sum(on->set, on->asked->eps, target, n, on->what->shared->right);
    else
        plain_sum(on->set, on->asked->eps * on->asked->eps, target, n, on->what->shared->right);
    free(target);
}

static void find_errors(session *on)
{
    const int rows = on->result->rows, n = rows < CHECKED ? rows : CHECKED;
    double *error = allocate((size_t)n + 1, sizeof *error);
    if (!on->what->shared->right) find_right(on, n);
    for (int k = 0; k < n; k++) error[k] = error_of(on->what->shared->right[k], on->acc[row_of(on, k, n)]);
    sort_values(error, (size_t)n);
    on->result->error50 = quantile(error, (size_t)n, 0.5);
    on->result->error99 = quantile(error, (size_t)n, 0.99);
    on->result->error100 = quantile(error, (size_t)n, 1.0);
    for (int k = 0; k < QUANTILES; k++) on->result->above[k] = quantile(error, (size_t)n, 1 - ldexp(1, -k));
    free(error);
}

/* ---- a case -------------------------------------------------------------------------------------- */

int bench_make_model(const char *name, int n, bodies *set, message *why)
{
    cluster_request request = cluster_default();
    request.n = n;
    request.cut = 300;
    for (int k = 0; k < (int)(sizeof MODELS / sizeof *MODELS); k++)
        if (strcmp(MODELS[k], name) == 0) request.kind = (cluster_kind)k;
    return cluster_make(&request, set, why);
}

static int make_model(session *on)
{
    message why = {""};
    bodies *const set = &on->what->shared->set;
    on->set = set;
    if (set->n > 0) return 0;
    return bench_make_model(on->what->model, on->what->n, set, &why) ? give_up(on, why.text) : 0;
}

/* Chooses active particles spread over the whole model, whose particles are in no order. */
static void choose_active(session *on)
{
    const double part = on->what->shared->active;
    on->result->rows = on->set->n;
    if (!(part < 1)) return;
    const int rows = (int)ceil(part * on->set->n);
    on->result->rows = rows > 0 ? rows : 1;
    on->active = allocate((size_t)on->result->rows, sizeof *on->active);
    for (int k = 0; k < on->result->rows; k++) on->active[k] = (int)((long long)k * on->set->n / on->result->rows);
}

sapporo_tree_kind bench_tree_kind(const char *name)
{
    return strcmp(name, "kdtree") == 0 ? SAPPORO_TREE_KDTREE : SAPPORO_TREE_OCTREE;
}

void bench_tree_options(const tree_request *asked, sapporo_tree_options *options)
{
    const settings *s = &asked->what;
    *options = (sapporo_tree_options){.size = sizeof *options,
                                      .eps2 = asked->eps * asked->eps,
                                      .leaf_size = asked->leaf.value[0],
                                      .group_size = asked->group.value[0],
                                      .group_extent = asked->extent,
                                      .precision = s->precision,
                                      .backend = s->backend,
                                      .devices = s->ndevices > 0 ? s->device : NULL,
                                      .ndevices = s->ndevices,
                                      .cpu_isa = s->isa,
                                      .threads = s->threads};
}

static int open_tree(session *on)
{
    const tree_case *c = on->what;
    sapporo_tree_options o;
    bench_tree_options(on->asked, &o);
    o.kind = bench_tree_kind(c->kind);
    o.softening = softening_of(on->asked);
    o.mac = (sapporo_tree_mac)c->mac;
    o.accuracy = c->accuracy;
    o.order = c->multipoles;
    o.leaf_size = c->leaf;
    o.group_size = c->group;
    o.experiments = SAPPORO_EXPERIMENTS(c->ball, c->walk, c->curve);
    if (sapporo_tree_create(&o, c->n, &on->tree)) return give_up(on, sapporo_last_error(NULL));
    snprintf(on->result->engine, sizeof on->result->engine, "%s", sapporo_tree_kind_text(on->tree));
    return 0;
}

static void run_case(const tree_request *asked, const tree_case *what, tree_result *result)
{
    session on = {.asked = asked, .what = what, .result = result};
    memset(result, 0, sizeof *result);
    if (!make_model(&on) && !open_tree(&on)) {
        choose_active(&on);
        on.acc = allocate((size_t)on.result->rows, sizeof *on.acc);
        on.pot = allocate((size_t)on.result->rows, sizeof *on.pot);
        if (!measure(&on)) find_errors(&on);
    }
    sapporo_tree_destroy(on.tree);
    free(on.active);
    free(on.acc);
    free(on.pot);
}

/* ---- output ---------------------------------------------------------------------------------------- */

static void print_head(void)
{
    printf("%-9s %9s %-12s %8s %2s %-34s %9s %10s %9s %8s %8s %7s %7s %7s %8s\n", "model", "n", "criterion", "accuracy",
           "p", "engine", "ms", "rows/s", "error99", "p-p", "p-c", "sort", "link", "moments", "walk");
}

static void print_case(const tree_case *c, const tree_result *r)
{
    printf("%-9s %9d %-12s %8.3g %2d %-34s ", c->model, c->n, MACS[c->mac], c->accuracy, c->multipoles, r->engine);
    if (r->failure[0] != '\0') {
        printf("no result: %s\n", r->failure);
        return;
    }
    printf("%9.4g %10.3e %9.2e %8.1f %8.1f", 1e3 * r->median, r->rows / r->median, r->error99,
           (double)r->tree.particle_particle / r->rows, (double)r->tree.particle_cell / r->rows);
    for (int k = 0; k < SAPPORO_PHASES; k++) printf(" %*.2f", k < SAPPORO_PHASES - 1 ? 7 : 8, 1e3 * r->phase[k]);
    printf("\n");
}

static void print_numbers(const tree_result *r)
{
    static const char *const phases[SAPPORO_PHASES] = {"sort", "link", "moments", "walk"};
    json_integer("samples", r->samples);
    json_integer("rows", r->rows);
    json_real("seconds", r->median);
    json_real("min", r->min);
    json_real("max", r->max);
    for (int k = 0; k < SAPPORO_PHASES; k++) json_real(phases[k], r->phase[k]);
    json_real("error50", r->error50);
    json_real("error99", r->error99);
    json_real("error100", r->error100);
    json_begin("above", '[');
    for (int k = 0; k < QUANTILES; k++) json_real(NULL, r->above[k]);
    json_end(']');
    json_real("particle_particle", (double)r->tree.particle_particle / r->rows);
    json_real("particle_cell", (double)r->tree.particle_cell / r->rows);
    json_integer("cells", r->tree.cells);
    json_integer("groups", r->tree.groups);
    json_integer("depth", r->tree.depth);
    json_integer("bytes", (long long)r->tree.host_bytes + (long long)r->tree.device_bytes);
}

static void json_case(const tree_request *asked, const tree_case *c, const tree_result *r)
{
    json_begin(NULL, '{');
    json_text("case", "tree");
    json_text("model", c->model);
    json_integer("n", c->n);
    json_text("tree", c->kind);
    json_text("mac", MACS[c->mac]);
    json_real("accuracy", c->accuracy);
    json_integer("multipoles", c->multipoles);
    json_integer("leaf", c->leaf);
    json_integer("group", c->group);
    json_real("group_extent", asked->extent);
    json_integer("ball", c->ball);
    json_integer("walk_kind", c->walk);
    json_integer("curve", c->curve);
    json_real("eps", asked->eps);
    json_text("softening", asked->softening.n > 0 ? asked->softening.word[0] : "plummer");
    json_integer("threads", asked->what.threads);
    json_text("engine", r->engine);
    if (r->failure[0] != '\0')
        json_text("failure", r->failure);
    else
        print_numbers(r);
    json_end('}');
}

static int run_one(const tree_request *asked, const tree_case *what)
{
    tree_result result;
    run_case(asked, what, &result);
    if (asked->json)
        json_case(asked, what, &result);
    else
        print_case(what, &result);
    fflush(stdout);
    return result.failure[0] != '\0';
}

/* ---- every combination --------------------------------------------------------------------------------- */

int bench_mac_of(const char *name)
{
    int mac = 1;
    while (mac < 3 && strcmp(name, MACS[mac]) != 0) mac++;
    return mac;
}

const char *bench_mac_name(int mac) { return MACS[mac]; }

/* Runs all combinations of the lists that only experts use; the last list varies fastest. */
static int run_shapes(const tree_request *asked, tree_case what)
{
    const count_list *const list[] = {&asked->multipoles, &asked->leaf, &asked->group,
                                      &asked->ball,       &asked->walk, &asked->curve};
    int *const value[] = {&what.multipoles, &what.leaf, &what.group, &what.ball, &what.walk, &what.curve};
    enum { LISTS = 6 };
    int at[LISTS] = {0}, failed = 0, k;
    do {
        for (k = 0; k < LISTS; k++) *value[k] = list[k]->value[at[k]];
        failed += run_one(asked, &what);
        for (k = LISTS - 1; k >= 0 && ++at[k] == list[k]->n; k--) at[k] = 0;
    } while (k >= 0);
    return failed;
}

/* Runs all criteria and accuracies on a model, a number of particles and a kind of tree. */
static int run_criteria(const tree_request *asked, const char *of, int n, int kind, shared_model *shared)
{
    int failed = 0;
    for (int c = 0; c < asked->mac.n; c++)
        for (int a = 0; a < asked->accuracy.n; a++)
            failed += run_shapes(asked, (tree_case){.model = of,
                                                    .shared = shared,
                                                    .kind = asked->kind.word[kind],
                                                    .n = asked->n.value[n],
                                                    .mac = bench_mac_of(asked->mac.word[c]),
                                                    .accuracy = asked->accuracy.value[a]});
    return failed;
}

/* Runs all kinds of trees and criteria with one fraction of the particles that get forces. */
static int run_kinds(const tree_request *asked, const char *of, int n, int part, shared_model *shared)
{
    int failed = 0;
    shared->active = asked->active.value[part];
    for (int k = 0; k < asked->kind.n; k++) failed += run_criteria(asked, of, n, k, shared);
    free(shared->right);
    shared->right = NULL;
    return failed;
}

int bench_trees(const tree_request *asked)
{
    int failed = 0;
    if (!asked->json) print_head();
    for (int m = 0; m < asked->model.n; m++)
        for (int n = 0; n < asked->n.n; n++) {
            shared_model shared = {.right = NULL};
            for (int p = 0; p < asked->active.n; p++) failed += run_kinds(asked, asked->model.word[m], n, p, &shared);
            bodies_free(&shared.set);
        }
    return failed;
}
