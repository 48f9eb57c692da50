/*
 * bench_print.c - tables and JSON of sapporo bench.
 */
#include "bench.h"
#include "util.h"
#include <stdio.h>
#include <string.h>

const char *const BENCH_NAMES[BENCH_KINDS] = {"force", "setj", "open", "memory", "step", "load", "batch"};
const char *const BENCH_UNITS[BENCH_KINDS] = {"us", "ns", "us", "B", "us", "ns", "us"};

const char *bench_want_name(unsigned want)
{
    static const char *const names[] = {"none", "nearest", "lists", "both"};
    return names[want & (SAPPORO_WANT_NEAREST | SAPPORO_WANT_LISTS)];
}

const char *bench_derivatives_name(model_derivatives derivatives)
{
    static const char *const names[] = {"none", "nosnap", "all"};
    return names[derivatives];
}

/* Short descriptions of cases. */
static const char *const sources_text[] = {"addresses", "own sources", "addresses kept"}, *const sources_word[] = {
                                                                                              "address", "own", "kept"};

static void describe(const bench_case *what, char *text, size_t room)
{
    if (what->label[0] != '\0') {
        snprintf(text, room, "%s", what->label);
        return;
    }
    const char *api = what->type->name;
    if (what->kind == BENCH_SETJ) {
        snprintf(text, room, "%s setj, %s", api, what->shuffled ? "random order" : "in order");
    } else if (what->kind == BENCH_FORCE) {
        static const char *const asked[] = {"", " + nearest", " + lists", " + nearest, lists"};
        static const char *const order[] = {", no derivatives", ", no snap", ""};
        static const char *const hermite[] = {"", ", order 6", ", order 8"};
        snprintf(text, room, "%s force%s%s%s%s", api, hermite[what->what.order > 4 ? what->what.order / 2 - 2 : 0],
                 asked[what->want], what->advance ? "" : ", time stays", order[what->derivatives]);
    } else if (what->kind == BENCH_BATCH) {
        snprintf(text, room, "batch, %d lists, %s", what->nlists, sources_text[what->sources]);
    } else {
        snprintf(text, room, "%s %s", api, BENCH_NAMES[what->kind]);
    }
}

static void add_devices(const bench_case *what, char *text, size_t room)
{
    char devices[8 * DEVICES_ROOM];
    const size_t length = strlen(text);
    settings_devices(&what->what, devices, sizeof devices);
    if (devices[0] != '\0') snprintf(text + length, room - length, ", on %s", devices);
}

void bench_print_head(void)
{
    printf("%-42s %-30s %3s %7s %7s %12s %12s %12s %-8s %10s %8s\n", "case", "engine", "thr", "ni", "nj", "median",
           "min", "max", "", "inter./s", "error");
}

static void threads_text(int threads, char text[16])
{
    if (threads > 0)
        snprintf(text, 16, "%d", threads);
    else
        snprintf(text, 16, "-");
}

static void print_line(const bench_case *what, const bench_result *result)
{
    char text[64 + 10 * DEVICES_ROOM], threads[16];
    static const char *const units[BENCH_KINDS] = {"us/call", "ns/star", "us",     "B/star",
                                                   "us/step", "ns/star", "us/call"};
    describe(what, text, sizeof text);
    add_devices(what, text, sizeof text);
    threads_text(what->what.threads, threads);
    printf("%-42s %-30s %3s ", text, result->engine, threads);
    if (result->failure[0] != '\0') {
        printf("%7d %7d  no result: %s\n", what->ni, what->nj, result->failure);
        return;
    }
    printf("%7d %7d %12.5g %12.5g %12.5g %-8s ", what->ni, what->nj, result->median, result->min, result->max,
           units[what->kind]);
    if (result->rate > 0.0)
        printf("%10.3e ", result->rate);
    else
        printf("%10s ", "");
    if (what->kind != BENCH_OPEN) printf("%8.1e", result->acc_error);
    if ((what->want & SAPPORO_WANT_LISTS) != 0) printf("  lists of %.1f", result->list_mean);
    printf("\n");
}

static void json_case(const bench_case *what)
{
    char devices[8 * DEVICES_ROOM];
    settings_devices(&what->what, devices, sizeof devices);
    json_text("case", BENCH_NAMES[what->kind]);
    json_text("label", what->label);
    json_text("api", what->type->name);
    json_text("backend", backend_name(what->what.backend));
    json_text("precision", precision_name(what->what.precision));
    json_text("isa", what->what.isa != NULL ? what->what.isa : "");
    json_integer("threads", what->what.threads);
    json_text("devices", devices);
    json_integer("ni", what->ni);
    json_integer("nj", what->nj);
    json_text("neighbours", bench_want_name(what->want));
    json_truth("advance", what->advance);
    json_text("derivatives", bench_derivatives_name(what->derivatives));
    if (what->kind == BENCH_BATCH) {
        json_integer("lists", what->nlists);
        json_text("sources", sources_word[what->sources]);
    }
    json_text("order", what->shuffled ? "random" : "address");
    json_integer("hermite", what->what.order ? what->what.order : 4);
}

static void json_line(const bench_case *what, const bench_result *result)
{
    json_begin(NULL, '{');
    json_case(what);
    json_text("engine", result->engine);
    if (result->failure[0] != '\0') {
        json_text("failure", result->failure);
    } else {
        json_text("unit", BENCH_UNITS[what->kind]);
        json_integer("samples", result->samples);
        json_real("median", result->median);
        json_real("min", result->min);
        json_real("max", result->max);
        if (result->rate > 0.0) json_real("interactions_per_second", result->rate);
        if (what->kind != BENCH_OPEN) json_real("acc_error", result->acc_error);
        if ((what->want & SAPPORO_WANT_LISTS) != 0) json_real("list_length", result->list_mean);
    }
    json_end('}');
}

void bench_print(const bench_case *what, const bench_result *result, int json)
{
    if (json)
        json_line(what, result);
    else
        print_line(what, result);
    fflush(stdout);
}
