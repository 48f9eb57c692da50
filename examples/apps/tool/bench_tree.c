/* bench_tree.c - see bench_tree.h: times a shared step of a tree code, without its kick and drift. */
#include "bench_tree.h"
#include "cluster.h"
#include "exact_sum.h"
#include "number.h"
#include "sapporo_experiments.h"
#include "tree_errors.h"
#include "util.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Without --compared, all of MOST_EXACT active particles are compared, or SOME of more. */
enum { MOST_EXACT = 16384, SOME = 1000 };
enum { MOST_SAMPLES = 1000, WARM = 1, FEWEST = 3 };

static const double LONG_ENOUGH = 1; /* seconds of samples after which a few are enough */

static const char *const MODELS[] = {"plummer", "king",      "hernquist", "uniform",      "nfw",        "clumps",
                                     "disc",    "andromeda", "cold-disc", "two-clusters", "mass-ratios"};
static const char *const MACS[] = {"auto", "opening", "multipole", "acceleration"};

/* What the cases of one model, number of particles and fraction of them share; made by the first of them. */
typedef struct shared_model {
    bodies set;
    int seed;
    double active;      /* fraction of the particles that get forces */
    int compared;       /* rows of the force that are compared with exact ones */
    int *row;           /* which */
    double (*exact)[3]; /* their accelerations by a direct sum in dp */
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
    double median, min, max;      /* seconds of a step */
    double phase[SAPPORO_PHASES]; /* seconds, of the fastest step */
    tree_errors errors;           /* of accelerations */
    double net_force;             /* see tree_net_force; NAN unless all particles are active */
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

/* ---- errors, against a direct sum in dp ------------------------------------------------------ */

static sapporo_softening softening_of(const tree_request *asked)
{
    const char *const word = asked->softening.n > 0 ? asked->softening.word[0] : "plummer";
    return strcmp(word, "spline-mean") == 0 ? SAPPORO_SOFTENING_SPLINE_MEAN
           : strcmp(word, "spline") == 0    ? SAPPORO_SOFTENING_SPLINE_LARGER
                                            : SAPPORO_SOFTENING_PLUMMER;
}

static int number_compared(const tree_request *asked, int rows)
{
    if (asked->compared < 0) return rows <= MOST_EXACT ? rows : SOME;
    return asked->compared > 0 && asked->compared < rows ? asked->compared : rows;
}

/* Finds the exact accelerations of particles that are spread over the rows. */
static int find_exact(session *on)
{
    shared_model *const shared = on->what->shared;
    const int rows = on->result->rows, n = number_compared(on->asked, rows);
    int *target = allocate((size_t)n + 1, sizeof *target);
    message why = {""};
    shared->row = allocate((size_t)n + 1, sizeof *shared->row);
    shared->exact = allocate((size_t)n + 1, sizeof *shared->exact);
    shared->compared = n;
    for (int k = 0; k < n; k++) {
        shared->row[k] = (int)((long long)k * rows / n);
        target[k] = on->active ? on->active[shared->row[k]] : shared->row[k];
    }
    const int status =
        exact_sum(&on->asked->what, on->set, softening_of(on->asked), on->asked->eps, target, n, shared->exact, &why);
    free(target);
    return status ? give_up(on, why.text) : 0;
}

static void forget_exact(shared_model *shared)
{
    free(shared->row);
    free(shared->exact);
    shared->row = NULL;
    shared->exact = NULL;
}

static void find_errors(session *on)
{
    shared_model *const shared = on->what->shared;
    tree_result *const r = on->result;
    if (!shared->exact && find_exact(on)) {
        forget_exact(shared);
        return;
    }
    tree_errors_of((const double(*)[3])on->acc, (const double(*)[3])shared->exact, shared->row, shared->compared,
                   &r->errors);
    r->net_force = on->active ? (double)NAN : tree_net_force(on->set, (const double(*)[3])on->acc);
}

/* ---- a case -------------------------------------------------------------------------------------- */

int bench_make_model(const char *name, int n, int seed, const tree_request *asked, bodies *set, message *why)
{
    cluster_request request = cluster_default();
    request.n = n;
    request.cut = 300;
    request.seed = seed;
    /* galaxies and mass ratios have masses of their own */
    if (strcmp(asked->masses.word[0], "salpeter") == 0 && strcmp(name, "mass-ratios") != 0)
        request.masses = CLUSTER_SALPETER;
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
    const tree_case *const what = on->what;
    return bench_make_model(what->model, what->n, what->shared->seed, on->asked, set, &why) ? give_up(on, why.text) : 0;
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
                                      .error = asked->error,
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
    printf("%-12s %9s %-12s %8s %2s %-34s %9s %10s %9s %9s %9s %9s %9s %8s %8s %8s %7s %7s %7s %8s %4s\n", "model", "n",
           "criterion", "accuracy", "p", "engine", "ms", "rows/s", "median", "99%", "99.9%", "largest", "r.m.s.", "of",
           "p-p", "p-c", "sort", "link", "moments", "walk", "seed");
}

static void print_case(const tree_case *c, const tree_result *r)
{
    const tree_errors *const e = &r->errors;
    const double accuracy = r->tree.accuracy > 0 ? r->tree.accuracy : c->accuracy; /* which an error has found */
    printf("%-12s %9d %-12s %8.3g %2d %-34s ", c->model, c->n, MACS[c->mac], accuracy, c->multipoles, r->engine);
    if (r->failure[0] != '\0') {
        printf("no result: %s\n", r->failure);
        return;
    }
    printf("%9.4g %10.3e %9.2e %9.2e %9.2e %9.2e %9.2e %8d %8.1f %8.1f", 1e3 * r->median, r->rows / r->median,
           e->median, e->at99, e->at999, e->largest, e->rms, e->compared, (double)r->tree.particle_particle / r->rows,
           (double)r->tree.particle_cell / r->rows);
    for (int k = 0; k < SAPPORO_PHASES; k++) printf(" %*.2f", k < SAPPORO_PHASES - 1 ? 7 : 8, 1e3 * r->phase[k]);
    printf(" %4d\n", c->shared->seed);
}

static void print_numbers(const tree_result *r)
{
    static const char *const phases[SAPPORO_PHASES] = {"sort", "link", "moments", "walk"};
    const tree_errors *const e = &r->errors;
    json_integer("samples", r->samples);
    json_integer("rows", r->rows);
    json_real("seconds", r->median);
    json_real("min", r->min);
    json_real("max", r->max);
    for (int k = 0; k < SAPPORO_PHASES; k++) json_real(phases[k], r->phase[k]);
    json_integer("compared", e->compared);
    json_real("error50", e->median);
    json_real("error99", e->at99);
    json_real("error999", e->at999);
    json_real("error100", e->largest);
    json_real("error_rms", e->rms);
    json_real("net_force", r->net_force);
    json_begin("above", '[');
    for (int k = 0; k < TREE_QUANTILES; k++) json_real(NULL, e->above[k]);
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
    json_integer("seed", c->shared->seed);
    json_text("masses", asked->masses.word[0]);
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
    json_real("error_asked", asked->error);
    json_real("accuracy_found", r->tree.accuracy);
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
    int mac = 0;
    while (mac < 3 && strcmp(name, MACS[mac]) != 0) mac++;
    return mac;
}

const char *bench_mac_name(int mac) { return MACS[mac]; }

/* Reads one of the criteria, "opening:0.7:2", into the k-th of the list. */
static int read_listed(const char *text, size_t length, listed_criteria *list)
{
    char copy[64];
    const int k = list->n;
    if (k == LIST_ROOM || length >= sizeof copy) return -1;
    memcpy(copy, text, length);
    copy[length] = '\0';
    char *const accuracy = strchr(copy, ':'), *const order = accuracy ? strchr(accuracy + 1, ':') : NULL;
    if (!order) return -1;
    *accuracy = *order = '\0';
    list->mac[k] = bench_mac_of(copy);
    if (strcmp(copy, MACS[list->mac[k]]) != 0) return -1;
    if (number_real(accuracy + 1, strlen(accuracy + 1), &list->accuracy[k]) || list->accuracy[k] < 0) return -1;
    if (strcmp(order + 1, "1") != 0 && strcmp(order + 1, "2") != 0) return -1;
    list->multipoles[k] = order[1] - '0';
    list->n++;
    return 0;
}

int bench_read_criteria(const char *text, listed_criteria *list)
{
    while (text[0] != '\0') {
        const size_t length = strcspn(text, ",");
        if (read_listed(text, length, list)) return -1;
        text += length + (text[length] != '\0');
    }
    return 0;
}

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
static int run_criteria(const tree_request *asked, tree_case what)
{
    int failed = 0;
    for (int c = 0; c < asked->mac.n; c++)
        for (int a = 0; a < asked->accuracy.n; a++) {
            what.mac = bench_mac_of(asked->mac.word[c]);
            what.accuracy = asked->accuracy.value[a];
            failed += run_shapes(asked, what);
        }
    return failed;
}

/* Runs the criteria that are listed one by one. */
static int run_listed(const tree_request *asked, tree_case what)
{
    int failed = 0;
    for (int k = 0; k < asked->listed.n; k++) {
        tree_request one = *asked;
        one.multipoles = (count_list){1, {asked->listed.multipoles[k]}};
        what.mac = asked->listed.mac[k];
        what.accuracy = asked->listed.accuracy[k];
        failed += run_shapes(&one, what);
    }
    return failed;
}

/* Runs all kinds of trees and criteria with one fraction of the particles that get forces. */
static int run_kinds(const tree_request *asked, const char *of, int n, int part, shared_model *shared)
{
    int failed = 0;
    shared->active = asked->active.value[part];
    for (int k = 0; k < asked->kind.n; k++) {
        const tree_case what = {.model = of, .shared = shared, .kind = asked->kind.word[k], .n = asked->n.value[n]};
        failed += asked->listed.n > 0 ? run_listed(asked, what) : run_criteria(asked, what);
    }
    forget_exact(shared);
    return failed;
}

/* Runs all seeds of a model with one number of particles. */
static int run_seeds(const tree_request *asked, const char *of, int n)
{
    int failed = 0;
    for (int s = 0; s < asked->seed.n; s++) {
        shared_model shared = {.seed = asked->seed.value[s]};
        for (int p = 0; p < asked->active.n; p++) failed += run_kinds(asked, of, n, p, &shared);
        bodies_free(&shared.set);
    }
    return failed;
}

int bench_trees(const tree_request *asked)
{
    int failed = 0;
    if (!asked->json) print_head();
    for (int m = 0; m < asked->model.n; m++)
        for (int n = 0; n < asked->n.n; n++) failed += run_seeds(asked, asked->model.word[m], n);
    return failed;
}
