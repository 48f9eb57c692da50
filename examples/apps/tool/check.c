/*
 * check.c - sapporo check: tests whether this machine computes right, and gives the same bits each time.
 *
 * Every test compares the library with a sum written independently in long double (reference.c), or with another way of
 * asking the library itself.  The last line and the exit status give the verdict.
 */
#include "check.h"
#include "options.h"
#include "tool.h"
#include "util.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- report ------------------------------------------------------------------------- */

static int enter(report *to, int passed)
{
    to->tests++;
    to->failed += !passed;
    return passed;
}

static void json_row(const report *to, const char *test, int passed)
{
    json_begin(NULL, '{');
    json_text("kind", to->kind);
    json_text("test", test);
    json_truth("passed", passed);
}

void report_errors(report *to, const char *test, const char *quantity, double *error, int n, bound allowed)
{
    sort_values(error, (size_t)n);
    const double median = quantile(error, (size_t)n, 0.5), high = quantile(error, (size_t)n, 0.99);
    const double largest = error[n - 1];
    const int passed =
        enter(to, isfinite(largest) && median <= allowed.median && high <= allowed.high && largest <= allowed.largest);
    if (to->json) {
        json_row(to, test, passed);
        json_text("quantity", quantity);
        json_real("median", median);
        json_real("median_bound", allowed.median);
        json_real("high", high);
        json_real("high_bound", allowed.high);
        json_real("largest", largest);
        json_real("largest_bound", allowed.largest);
        json_end('}');
        return;
    }
    printf("  %-40s %-4s  %7.1e %7.1e  %7.1e %7.1e  %7.1e %7.1e  %s\n", test, quantity, median, allowed.median, high,
           allowed.high, largest, allowed.largest, passed ? "ok" : "FAILED");
}

void report_wrong(report *to, const char *test, int wrong, int n)
{
    const int passed = enter(to, wrong == 0);
    if (to->json) {
        json_row(to, test, passed);
        json_integer("wrong", wrong);
        json_integer("of", n);
        json_end('}');
        return;
    }
    printf("  %-45s  %23d wrong of %-16d  %s\n", test, wrong, n, passed ? "ok" : "FAILED");
}

void report_failure(report *to, const char *test, const char *why)
{
    enter(to, 0);
    if (to->json) {
        json_row(to, test, 0);
        json_text("error", why);
        json_end('}');
        return;
    }
    printf("  %-40s  FAILED: %s\n", test, why);
}

void report_absent(report *to, const char *why)
{
    to->absent++;
    if (to->json) {
        json_row(to, "open", 0);
        json_truth("absent", 1);
        json_text("error", why);
        json_end('}');
        return;
    }
    printf("  absent: %s\n", why);
}

/* ---- command ------------------------------------------------------------------------ */

/* Checks an engine; makes the scenes, which take long, for the first engine that opens. */
static void check_kind(report *to, const settings *what, scene scenes[NSCENES], int n)
{
    char why[256];
    settings_kind(what, to->kind, sizeof to->kind, why, sizeof why);
    if (what->order != 4) {
        const size_t length = strlen(to->kind);
        snprintf(to->kind + length, sizeof to->kind - length, ", order %d", what->order);
    }
    if (!to->json && why[0] != '\0') printf("\n%s\n", backend_name(what->backend));
    if (why[0] != '\0') {
        report_absent(to, why);
        return;
    }
    if (scenes[0].name == NULL) scenes_make(scenes, n);
    if (!to->json) {
        printf("\n%s\n", to->kind);
        printf("  %-40s %-4s  %7s %7s  %7s %7s  %7s %7s\n", "test", "of", "median", "allowed", "99 %", "allowed",
               "largest", "allowed");
    }
    check_accuracy(to, what, scenes);
    check_neighbours(to, what, scenes);
    check_bits(to, what, &scenes[SCENE_SPREAD]);
    fflush(stdout);
}

static int verdict(const report *to)
{
    if (to->json) {
        json_begin(NULL, '{');
        json_truth("passed", to->failed == 0 && to->absent == 0);
        json_integer("tests", to->tests);
        json_integer("failed", to->failed);
        json_integer("absent", to->absent);
        json_end('}');
    } else if (to->failed == 0 && to->absent == 0) {
        printf("\nPASSED: all %d tests\n", to->tests);
    } else if (to->failed == 0 && to->tests == 0) {
        printf("\nABSENT: nothing was tested, because it cannot be opened on this machine\n");
    } else if (to->failed == 0) {
        printf("\nABSENT: what could be opened passed all %d tests; the rest was not tested\n", to->tests);
    } else {
        printf("\nFAILED: %d of %d tests; do not trust results of this machine with this library\n", to->failed,
               to->tests);
    }
    return to->failed == 0 && to->absent == 0 ? STATUS_OK : STATUS_FAILED;
}

/* Checks all precisions that the user wants, on all paths: "" is the path that the library chooses. */
static void check_all(report *to, sapporo_backend backend, const word_list *precisions, const word_list *isas,
                      const count_list *orders, int n)
{
    scene scenes[NSCENES] = {{.name = NULL}};
    for (int k = 0; k < isas->n * precisions->n * orders->n; k++) {
        const char *const isa = isas->word[k / orders->n / precisions->n];
        const settings what = {.backend = backend,
                               .precision = precision_from_name(precisions->word[k / orders->n % precisions->n]),
                               .isa = isa[0] != '\0' ? isa : NULL,
                               .order = orders->value[k % orders->n]};
        /* this combination does not exist */
        if (what.order > 4 && what.precision == SAPPORO_SP && precisions->n > 1) continue;
        check_kind(to, &what, scenes, n);
        if (sapporo_device_count(backend) == 0) break; /* the others are absent for the same reason */
    }
    if (scenes[0].name != NULL) scenes_free(scenes);
}

int check_main(int argc, char **argv)
{
    report to = {0};
    word_list backend = {1, {"auto"}}, precisions = {3, {"sp", "ds", "dp"}}, isas = {1, {""}};
    count_list orders = {1, {4}};
    int n = 4096;
    const option_spec table[] = {
        {"--backend", OPTION_WORD, &backend, "auto|cuda|hip|opencl|cpu", 0,
         "what computes (default: as the library chooses)"},
        {"--precision", OPTION_WORDS, &precisions, "sp|ds|dp", 0, "one or several, separated by commas (default: all)"},
        {"--isa", OPTION_WORDS, &isas, "scalar|sse2|avx2|avx512|neon", 0,
         "paths of the CPU engine (default: the one chosen)"},
        {"--hermite", OPTION_COUNTS, &orders, "LIST", 4, "order of the integrator: 4, 6, 8 (default 4)"},
        {"--n", OPTION_COUNT, &n, "N", 256, "stars of the models, from 256 (default 4096; time grows as N^2)"},
        {"--json", OPTION_ON, &to.json, NULL, 0, "one JSON object a line instead of a table"},
        {.name = NULL}};
    const int status =
        options_parse("Tests forces, neighbours and reproducibility of an engine against an independent\n"
                      "long double sum.  Exit status 0: all passed; 1: something failed, or is absent.",
                      table, argc, argv);
    if (status != 0) return status > 0 ? STATUS_OK : STATUS_USAGE;
    if (!to.json)
        printf("libsapporo %s, models of %d stars; errors are relative to the true vector\n", sapporo_version(), n);
    check_all(&to, backend_in_use(backend_from_name(backend.word[0])), &precisions, &isas, &orders, n);
    return verdict(&to);
}
