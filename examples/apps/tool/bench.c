/*
 * bench.c - sapporo bench: measures how fast forces, and the calls around them, are on this machine.
 *
 * The program combines the lists of sizes, precisions and so on into cases; bench_measure.c measures each case.
 */
#include "bench.h"
#include "bench_nbody6.h"
#include "bench_steps.h"
#include "bench_tree.h"
#include "options.h"
#include "tool.h"
#include "util.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CASES = 4096 };

/* The command line. */
typedef struct request {
    count_list n, ni, nj, threads, devices, hermite;
    word_list cases, api, backend, precision, isa, neighbours, derivatives, order, sources;
    int nlists, list_length, advance, repeat, json, no_head, suite, most_stars;
    int precision_given; /* 0: `precision` is the default */
    double min_time;
    const char *label, *only, *criteria;
    tree_request tree;
    steps_request steps;
} request;

typedef struct case_list {
    int n;
    bench_case *each;
} case_list;

static bench_kind kind_from_name(const char *name)
{
    int kind = 0;
    while (kind < BENCH_KINDS - 1 && strcmp(name, BENCH_NAMES[kind]) != 0) kind++;
    return (bench_kind)kind;
}

static unsigned want_from_name(const char *name)
{
    unsigned want = 0;
    while (want < 3 && strcmp(name, bench_want_name(want)) != 0) want++;
    return want;
}

static model_derivatives derivatives_from_name(const char *name)
{
    int which = 0;
    while (which < 2 && strcmp(name, bench_derivatives_name((model_derivatives)which)) != 0) which++;
    return (model_derivatives)which;
}

/* ---- cases ------------------------------------------------------------------------------ */

/* Adds a case, unless the list is full: 4,096 cases take longer than any user waits. */
static void add_case(case_list *list, const bench_case *what)
{
    if (list->n < MOST_CASES) list->each[list->n++] = *what;
}

static bench_sources sources_from_name(const char *name)
{
    return strcmp(name, "own") == 0 ? BENCH_OWN : strcmp(name, "kept") == 0 ? BENCH_KEPT : BENCH_ADDRESSES;
}

/* Adds the variants of a case: orders of addresses, or threads and neighbours. */
static void add_variants(case_list *list, const request *asked, bench_case what)
{
    for (int t = 0; t < asked->threads.n; t++) {
        what.what.threads = asked->threads.value[t];
        if (what.kind == BENCH_FORCE || what.kind == BENCH_STEP) {
            for (int k = 0; k < asked->neighbours.n; k++) {
                what.want = want_from_name(asked->neighbours.word[k]);
                add_case(list, &what);
            }
        } else if (what.kind == BENCH_SETJ) {
            for (int k = 0; k < asked->order.n; k++) {
                what.shuffled = strcmp(asked->order.word[k], "random") == 0;
                add_case(list, &what);
            }
        } else if (what.kind == BENCH_BATCH) {
            for (int k = 0; k < asked->sources.n; k++) {
                what.sources = (int)sources_from_name(asked->sources.word[k]);
                add_case(list, &what);
            }
        } else {
            add_case(list, &what);
        }
    }
}

static void add_orders(case_list *list, const request *asked, bench_case what)
{
    for (int k = 0; k < asked->hermite.n; k++) {
        what.what.order = asked->hermite.value[k];
        add_variants(list, asked, what);
    }
}

static void add_engines(case_list *list, const request *asked, bench_case what)
{
    for (int a = 0; a < asked->api.n; a++) {
        what.type = client_type_from_name(asked->api.word[a]);
        for (int p = 0; p < asked->precision.n; p++) {
            what.what.precision = precision_from_name(asked->precision.word[p]);
            for (int k = 0; k < asked->isa.n; k++) {
                what.what.isa = asked->isa.word[k][0] != '\0' ? asked->isa.word[k] : NULL;
                add_orders(list, asked, what);
            }
        }
    }
}

/* Adds a case with the usual sizes of its kind, for users that give none. */
static void add_usual_sizes(case_list *list, const request *asked, bench_case what)
{
    static const int usual[] = {1024, 4096, 16384};
    what.ni = 1;
    if (what.kind == BENCH_BATCH) {
        what.ni = 64;
        what.nj = 1000;
        add_engines(list, asked, what);
        return;
    }
    what.nj = what.kind == BENCH_MEMORY ? 1000000 : what.kind == BENCH_OPEN ? 1024 : 65536;
    if (what.kind != BENCH_FORCE) {
        add_engines(list, asked, what);
        return;
    }
    for (int k = 0; k < 3; k++) {
        what.ni = what.nj = usual[k];
        add_engines(list, asked, what);
    }
}

static void add_sizes(case_list *list, const request *asked, bench_case what)
{
    for (int k = 0; k < asked->n.n; k++) {
        what.nj = asked->n.value[k];
        what.ni = what.kind == BENCH_FORCE ? what.nj : 1;
        add_engines(list, asked, what);
    }
    for (int j = 0; j < asked->nj.n; j++) {
        for (int i = 0; i < asked->ni.n; i++) {
            what.nj = asked->nj.value[j];
            what.ni = asked->ni.value[i];
            add_engines(list, asked, what);
        }
    }
    if (asked->n.n + asked->nj.n == 0) add_usual_sizes(list, asked, what);
}

static void add_cases(case_list *list, const request *asked)
{
    /* the sizes that tree codes ask for, one interaction list after the other */
    request tree_code = *asked;
    tree_code.ni = (count_list){5, {4, 16, 32, 47, 64}};
    tree_code.nj = (count_list){3, {100, 300, 3000}};
    bench_case what = {.repeat = asked->repeat, .min_time = asked->min_time};
    snprintf(what.label, sizeof what.label, "%s", asked->label);
    what.what.backend = backend_in_use(backend_from_name(asked->backend.word[0]));
    what.what.ndevices = asked->devices.n;
    memcpy(what.what.device, asked->devices.value, sizeof what.what.device);
    what.list_length = asked->list_length;
    what.nlists = asked->nlists;
    what.advance = asked->advance;
    what.derivatives = derivatives_from_name(asked->derivatives.word[0]);
    for (int k = 0; k < asked->cases.n; k++) {
        if (strcmp(asked->cases.word[k], "small") == 0) {
            what.kind = BENCH_FORCE;
            add_sizes(list, asked->n.n + asked->nj.n == 0 ? &tree_code : asked, what);
            continue;
        }
        what.kind = kind_from_name(asked->cases.word[k]);
        add_sizes(list, asked, what);
    }
}

static void add_suite(case_list *list, const request *asked)
{
    const suite_choice choice = {.backend = backend_from_name(asked->backend.word[0]),
                                 .most_stars = asked->most_stars,
                                 .only = asked->only,
                                 .devices = asked->devices};
    list->n = bench_suite(list->each, MOST_CASES, &choice);
    for (int k = 0; k < list->n; k++) {
        list->each[k].repeat = asked->repeat;
        list->each[k].min_time = asked->min_time;
    }
}

/* ---- command ---------------------------------------------------------------------------- */

static int run_cases(const case_list *list, const request *asked)
{
    int failed = 0;
    if (!asked->json && !asked->no_head) bench_print_head();
    for (int k = 0; k < list->n; k++) {
        const bench_case *what = &list->each[k];
        if (bench_needs_child(what)) {
            failed += bench_run_child(what, asked->json) != STATUS_OK;
            continue;
        }
        bench_result result;
        bench_measure(what, &result);
        bench_print(what, &result, asked->json);
        failed += result.failure[0] != '\0';
    }
    if (failed > 0 && !asked->no_head)
        fprintf(stderr, "sapporo bench: %d of %d cases gave no result\n", failed, list->n);
    return failed == 0 ? STATUS_OK : STATUS_FAILED;
}

/* Completes missing sizes: --nj alone means few i-particles, --ni alone the usual number of stars. */
static void complete_sizes(request *asked)
{
    if (asked->ni.n > 0 && asked->nj.n == 0) asked->nj = (count_list){1, {65536}};
    if (asked->nj.n > 0 && asked->ni.n == 0) asked->ni = (count_list){1, {1}};
}

/* Whether a list has one of the words that begin a text, separated by commas: "tree, stepper: groups ...". */
static int has_word_of(const word_list *list, const char *text)
{
    for (;;) {
        const size_t length = strcspn(text, " ,;:");
        for (int k = 0; k < list->n; k++)
            if (strlen(list->word[k]) == length && strncmp(list->word[k], text, length) == 0) return 1;
        if (strncmp(text + length, ", ", 2) != 0) return 0;
        text += length + 2;
    }
}

/* Whether an option has an effect on the cases: its help says on which it has. */
static int has_effect(const request *asked, const option_spec *option)
{
    static const char api[] = "of --api ", cases[] = "of --case ", suite[] = "of --suite";
    const char *const help = option->help != NULL ? option->help : "";
    if (strncmp(help, api, sizeof api - 1) == 0) return has_word_of(&asked->api, help + sizeof api - 1);
    if (strncmp(help, cases, sizeof cases - 1) == 0) return has_word_of(&asked->cases, help + sizeof cases - 1);
    return asked->suite || strncmp(help, suite, sizeof suite - 1) != 0;
}

/* Refuses the first option that is given and has no effect: -1 after a message. */
static int refuse_useless(const request *asked, const option_spec *table, int argc, char **argv)
{
    for (const option_spec *option = table; option->name != NULL; option++) {
        if (has_effect(asked, option) || !options_given(option, argc, argv)) continue;
        fprintf(stderr, "sapporo bench: %s has no effect here; it is %s\n", option->name, option->help);
        return -1;
    }
    return 0;
}

static int read_request(request *asked, int argc, char **argv)
{
    const option_spec table[] = {
        {"--n", OPTION_COUNTS, &asked->n, "LIST", 2, "all pairs: ni = nj = N (default 1024,4096,16384)"},
        {"--ni", OPTION_COUNTS, &asked->ni, "LIST", 1, "i-particles a call (default 1 where --nj is given)"},
        {"--nj", OPTION_COUNTS, &asked->nj, "LIST", 2, "j-particles (default 65536 where --ni is given)"},
        {"--case", OPTION_WORDS, &asked->cases, "force|small|step|setj|load|open|memory|batch", 0,
         "what to measure (default force); small: forces of few particles, as tree codes ask for"},
        {"--api", OPTION_WORDS, &asked->api, "g6|native|g5|tree|stepper|nbody6", 0, "interface (default g6)"},
        {"--backend", OPTION_WORD, &asked->backend, "auto|cuda|hip|opencl|cpu", 0, "what computes"},
        {"--devices", OPTION_COUNTS, &asked->devices, "LIST", 0, "of the backend, used together (default: one)"},
        {"--precision", OPTION_WORDS, &asked->precision, "sp|ds|dp", 0,
         "default ds; of trees and steppers the library's"},
        {"--isa", OPTION_WORDS, &asked->isa, "scalar|sse2|avx2|avx512|neon", 0, "path of the CPU engine"},
        {"--threads", OPTION_COUNTS, &asked->threads, "LIST", 0,
         "threads of the CPU engine; 0: as the library chooses"},
        {"--neighbours", OPTION_WORDS, &asked->neighbours, "none|nearest|lists|both", 0, "asked for with each force"},
        {"--list-length", OPTION_COUNT, &asked->list_length, "L", 1, "about so many neighbours a list (default 50)"},
        {"--advance", OPTION_ON, &asked->advance, NULL, 0, "a new time each call, so that j are predicted (default)"},
        {"--no-advance", OPTION_OFF, &asked->advance, NULL, 0, "the time stays"},
        {"--derivatives", OPTION_WORD, &asked->derivatives, "all|nosnap|none", 0,
         "which j-particles have (default all)"},
        {"--hermite", OPTION_COUNTS, &asked->hermite, "LIST", 4,
         "order of the integrator: 4, 6, 8 (default 4); others than 4 by --api native"},
        {"--order", OPTION_WORDS, &asked->order, "address|random", 0, "of --case setj (default both)"},
        {"--lists", OPTION_COUNT, &asked->nlists, "L", 1,
         "of --case batch, each of nj sources on ni targets (default 10000)"},
        {"--sources", OPTION_WORDS, &asked->sources, "address|own|kept", 0, "of --case batch (default all)"},
        {"--repeat", OPTION_COUNT, &asked->repeat, "K", 9, "timed calls at least (default 9)"},
        {"--min-time", OPTION_REAL, &asked->min_time, "S", 0, "seconds of timed calls at least (default 0.3)"},
        {"--suite", OPTION_ON, &asked->suite, NULL, 0,
         "direct sums of docs/measurements.md; minutes.  --backend cuda, opencl: those of GPUs"},
        {"--only", OPTION_TEXT, &asked->only, "TEXT", 0, "of --suite: cases whose names contain TEXT"},
        {"--max-n", OPTION_COUNT, &asked->most_stars, "N", 1, "of --suite: leaves out what is larger"},
        {"--json", OPTION_ON, &asked->json, NULL, 0, "one JSON object a line instead of a table"},
        {"--label", OPTION_TEXT, &asked->label, "TEXT", 0, "a name for the cases"},
        {"--no-head", OPTION_ON, &asked->no_head, NULL, 0, NULL},
        {"--model", OPTION_WORDS, &asked->tree.model,
         "plummer|hernquist|uniform|nfw|clumps|king|disc|andromeda|cold-disc|two-clusters|mass-ratios", 0,
         "of --api tree, stepper (default plummer)"},
        {"--seed", OPTION_COUNTS, &asked->tree.seed, "LIST", 0,
         "of --api tree, stepper: other models of the kind (default 1)"},
        {"--imf", OPTION_WORD, &asked->tree.masses, "equal|salpeter", 0,
         "of --api tree, stepper: masses (default equal); salpeter: over a factor of 200"},
        {"--tree", OPTION_WORDS, &asked->tree.kind, "octree|kdtree", 0, "of --api tree, stepper (default octree)"},
        {"--mac", OPTION_WORDS, &asked->tree.mac, "auto|opening|multipole|acceleration", 0,
         "of --api tree, stepper: acceptance criteria (default auto: acceleration; with --accuracy opening)"},
        {"--accuracy", OPTION_REALS, &asked->tree.accuracy, "LIST", 0,
         "of --api tree, stepper; 0: the criterion's own (default)"},
        {"--error", OPTION_REAL, &asked->tree.error, "E", 0,
         "of --api tree, stepper: in place of --accuracy, what 99 % of the errors are to stay below"},
        {"--multipoles", OPTION_COUNTS, &asked->tree.multipoles, "LIST", 1, "of --api tree, stepper: 1, 2 (default 2)"},
        {"--criteria", OPTION_TEXT, &asked->criteria, "LIST", 0,
         "of --api tree: MAC:ACCURACY:MULTIPOLES, ..., in place of these three lists"},
        {"--compared", OPTION_COUNT, &asked->tree.compared, "K", 0,
         "of --api tree: particles whose errors are found; 0: all (default: all up to 16384, else 1000)"},
        {"--eps", OPTION_REAL, &asked->tree.eps, "L", 0, "of --api tree, stepper: softening length (default 0.01)"},
        {"--softening", OPTION_WORDS, &asked->tree.softening, "plummer|spline|spline-mean", 0,
         "of --api tree: one of them (default plummer), of length --eps"},
        {"--active", OPTION_REALS, &asked->tree.active, "LIST", 0,
         "of --api tree: fractions of the particles (default 1)"},
        {"--once", OPTION_ON, &asked->tree.once, NULL, 0, "of --api tree: one timed call: for errors and interactions"},
        {"--refresh", OPTION_ON, &asked->tree.refresh, NULL, 0, "of --api tree: the tree is refreshed, not built anew"},
        {"--leaf", OPTION_COUNTS, &asked->tree.leaf, "LIST", 0, "of --api tree, stepper: most particles of a leaf"},
        {"--group", OPTION_COUNTS, &asked->tree.group, "LIST", 0, "of --api tree, stepper: particles of a group"},
        {"--group-extent", OPTION_REAL, &asked->tree.extent, "L", 0,
         "of --api tree, stepper: groups of a longer diagonal are halved; 0: none is (default)"},
        {"--ball", OPTION_COUNTS, &asked->tree.ball, "LIST", 0, "of --api tree: sapporo_tree_ball"},
        {"--walk", OPTION_COUNTS, &asked->tree.walk, "LIST", 0, "of --api tree: sapporo_tree_walk"},
        {"--curve", OPTION_COUNTS, &asked->tree.curve, "LIST", 0, "of --api tree: sapporo_tree_curve"},
        {"--steps", OPTION_WORDS, &asked->steps.steps, "shared|block", 0, "of --api stepper (default block)"},
        {"--method", OPTION_WORDS, &asked->steps.method, "tree|direct", 0, "of --api stepper (default tree)"},
        {"--dt", OPTION_REAL, &asked->steps.dt, "DT", 0,
         "of --api stepper: the shared or the longest step (default 1/16; andromeda 1/2)"},
        {"--eta", OPTION_REAL, &asked->steps.eta, "ETA", 0, "of --api stepper: accuracy of steps (default 0.025)"},
        {"--count", OPTION_COUNT, &asked->steps.count, "K", 1, "of --api stepper: steps that are timed (default 64)"},
        {"--rebuild", OPTION_COUNT, &asked->steps.rebuild, "K", 0,
         "of --api stepper: a new tree every K steps; 0: when it pays (default)"},
        {"--timed", OPTION_ON, &asked->steps.timed, NULL, 0,
         "of --api stepper: builds, and --group-extent 0, by the clock"},
        {"--each", OPTION_ON, &asked->steps.each, NULL, 0, "of --api stepper --json: an object for each step, too"},
        {"--massless", OPTION_REAL, &asked->steps.massless, "PART", 0,
         "of --api stepper: of the particles, below 1 (default 0)"},
        {.name = NULL}};
    const int status =
        options_parse("Measures forces and the calls around them, on a Plummer model.  Lists are separated by\n"
                      "commas; every combination is a case.  Rates are ni * nj / median wall time of a call; they\n"
                      "are given only if forces agree with a plain sum.",
                      table, argc, argv);
    return status != 0 ? status : refuse_useless(asked, table, argc, argv);
}

/* Gives --api tree and stepper the options that they share with the other cases. */
static void share_options(request *asked)
{
    tree_request *const tree = &asked->tree;
    tree->n = asked->n.n > 0 ? asked->n : (count_list){1, {65536}};
    tree->repeat = asked->repeat;
    tree->min_time = asked->min_time;
    tree->json = asked->json;
    tree->what.backend = backend_from_name(asked->backend.word[0]);
    tree->what.precision =
        asked->precision_given ? precision_from_name(asked->precision.word[0]) : SAPPORO_PRECISION_DEFAULT;
    tree->what.isa = asked->isa.word[0][0] != '\0' ? asked->isa.word[0] : NULL;
    tree->what.threads = asked->threads.value[0];
    tree->what.ndevices = asked->devices.n;
    memcpy(tree->what.device, asked->devices.value, sizeof tree->what.device);
}

static int run_trees(request *asked)
{
    if (bench_read_criteria(asked->criteria, &asked->tree.listed)) {
        fprintf(stderr,
                "sapporo bench: bad value '%s' for --criteria; at most %d items as opening:0.7:2, multipole:0.1:1 or "
                "acceleration:0.01:2 are allowed\n",
                asked->criteria, LIST_ROOM);
        return STATUS_USAGE;
    }
    share_options(asked);
    return bench_trees(&asked->tree) == 0 ? STATUS_OK : STATUS_FAILED;
}

static int run_steps(request *asked)
{
    if (!(asked->steps.massless >= 0 && asked->steps.massless < 1)) {
        fprintf(stderr, "sapporo bench: --massless is %g; it may be 0 or more, and less than 1\n",
                asked->steps.massless);
        return STATUS_USAGE;
    }
    share_options(asked);
    asked->steps.tree = &asked->tree;
    return bench_steps(&asked->steps) == 0 ? STATUS_OK : STATUS_FAILED;
}

/* Runs the cases of --api nbody6: all stars, and blocks of stars, as the client stores them. */
static int run_nbody6(const request *asked)
{
    nbody6_request n = {.nj = asked->nj.n > 0  ? asked->nj
                              : asked->n.n > 0 ? asked->n
                                               : (count_list){1, {16384}},
                        .ni = asked->ni.n > 0 ? asked->ni : (count_list){1, {1024}},
                        .list_length = asked->list_length,
                        .repeat = asked->repeat,
                        .json = asked->json,
                        .min_time = asked->min_time};
    n.what.backend = backend_from_name(asked->backend.word[0]);
    n.what.precision = precision_from_name(asked->precision.word[0]);
    n.what.isa = asked->isa.word[0][0] != '\0' ? asked->isa.word[0] : NULL;
    n.what.threads = asked->threads.value[0];
    n.what.ndevices = asked->devices.n;
    memcpy(n.what.device, asked->devices.value, sizeof n.what.device);
    return bench_nbody6(&n) == 0 ? STATUS_OK : STATUS_FAILED;
}

/* Returns 0 after a message if the user names a device that does not exist. */
static int devices_exist(const request *asked)
{
    if (asked->devices.n == 0) return 1;
    const sapporo_backend backend = backend_in_use(backend_from_name(asked->backend.word[0]));
    const int there = sapporo_device_count(backend);
    for (int k = 0; k < asked->devices.n; k++)
        if (asked->devices.value[k] >= there) {
            fprintf(stderr, "sapporo bench: there is no device %d of %s, which has %d\n", asked->devices.value[k],
                    backend_name(backend), there);
            return 0;
        }
    return 1;
}

/* Returns 1 for interfaces whose cases have options of their own. */
static int stands_alone(const char *api)
{
    return strcmp(api, "tree") == 0 || strcmp(api, "stepper") == 0 || strcmp(api, "nbody6") == 0;
}

int bench_main(int argc, char **argv)
{
    request asked = {.threads = {1, {0}},
                     .hermite = {1, {4}},
                     .cases = {1, {"force"}},
                     .api = {1, {"g6"}},
                     .backend = {1, {"auto"}},
                     .isa = {1, {""}},
                     .neighbours = {1, {"none"}},
                     .derivatives = {1, {"all"}},
                     .order = {2, {"address", "random"}},
                     .sources = {3, {"address", "own", "kept"}},
                     .nlists = 10000,
                     .list_length = 50,
                     .advance = 1,
                     .repeat = 9,
                     .min_time = 0.3,
                     .most_stars = INT_MAX,
                     .label = "",
                     .only = "",
                     .criteria = "",
                     .tree = {.model = {1, {"plummer"}},
                              .kind = {1, {"octree"}},
                              .mac = {1, {"auto"}},
                              .seed = {1, {1}},
                              .masses = {1, {"equal"}},
                              .compared = -1,
                              .accuracy = {1, {0}},
                              .multipoles = {1, {2}},
                              .leaf = {1, {0}},
                              .group = {1, {0}},
                              .ball = {1, {0}},
                              .walk = {1, {0}},
                              .curve = {1, {0}},
                              .eps = 0.01,
                              .active = {1, {1}}},
                     .steps = {.steps = {1, {"block"}}, .method = {1, {"tree"}}, .eta = 0.025, .count = 64}};
    const int status = read_request(&asked, argc, argv);
    if (status != 0) return status > 0 ? STATUS_OK : STATUS_USAGE;
    asked.precision_given = asked.precision.n > 0;
    if (!asked.precision_given) asked.precision = (word_list){1, {"ds"}};
    if (!devices_exist(&asked)) return STATUS_FAILED;
    if (asked.api.n == 1 && strcmp(asked.api.word[0], "tree") == 0) return run_trees(&asked);
    if (asked.api.n == 1 && strcmp(asked.api.word[0], "stepper") == 0) return run_steps(&asked);
    if (asked.api.n == 1 && strcmp(asked.api.word[0], "nbody6") == 0) return run_nbody6(&asked);
    for (int k = 0; k < asked.api.n; k++)
        if (stands_alone(asked.api.word[k])) {
            fprintf(stderr, "sapporo bench: --api %s stands alone\n", asked.api.word[k]);
            return STATUS_USAGE;
        }
    complete_sizes(&asked);
    for (int k = 0; k < asked.hermite.n; k++)
        if (asked.hermite.value[k] != 4 && (asked.api.n != 1 || strcmp(asked.api.word[0], "native") != 0)) {
            fprintf(stderr, "sapporo bench: --hermite %d needs --api native\n", asked.hermite.value[k]);
            return STATUS_USAGE;
        }
    case_list list = {0, allocate(MOST_CASES, sizeof *list.each)};
    if (asked.suite)
        add_suite(&list, &asked);
    else
        add_cases(&list, &asked);
    const int result = run_cases(&list, &asked);
    free(list.each);
    return result;
}
