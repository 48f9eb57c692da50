/* tune_search.c - searches better launch parameters: one after the other, up and down, while forces become faster. */
#include "tune.h"
#include "util.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char CPU_BELOW[] = "cpu_below_nj";

/* Least fraction of time that a trial must save to count, and that all trials together must save: less is noise. */
static const double WORTH_A_STEP = 0.004, WORTH_A_CHANGE = 0.006;

/* Returns the first factor by which a launch parameter is varied; later factors are its roots. */
static double first_step(const char *key)
{
    static const struct {
        const char *key;
        double step;
    } STEPS[] = {{"fill_cost", 1.6}, {"full_warps", 1.5}, {"many1_cost", 1.06}, {"many4_cost", 1.06}};
    for (size_t k = 0; k < sizeof STEPS / sizeof STEPS[0]; k++)
        if (strcmp(STEPS[k].key, key) == 0) return STEPS[k].step;
    return 1.2;
}

/* Returns the mean logarithm of the ratio of times to other times. */
static double compare(const grid *times, const grid *others)
{
    double sum = 0.0;
    for (int k = 0; k < times->n; k++) sum += log(times->seconds[k] / others->seconds[k]);
    return times->n > 0 ? sum / times->n : 0.0;
}

typedef struct search {
    tuner *self;
    tune_result *result;
    grid reference;
    double score; /* score of result->now against the reference */
    double until; /* time to stop */
} search;

/* Rounds to three digits, which are more than timing can resolve. */
static double rounded(double value)
{
    char text[32];
    double short_value = value;
    snprintf(text, sizeof text, "%.3g", value);
    sscanf(text, "%lf", &short_value); /* NOLINT(cert-err34-c): our own text */
    return short_value;
}

/*
 * Tries a launch parameter times a factor; returns 1 if that is better and is taken, 0 if not, or time is up; -1:
 * failed.
 */
static int try_factor(search *s, int k, double factor)
{
    tuning trial = s->result->now;
    grid times = s->reference;
    trial.value[k] = rounded(trial.value[k] * factor);
    if (now() >= s->until || trial.value[k] == s->result->now.value[k]) return 0;
    if (tune_time_grid(s->self, &trial, &times, 0) != 0) return -1;
    s->result->trials++;
    const double score = compare(&times, &s->reference);
    if (score > s->score - WORTH_A_STEP) return 0;
    s->score = score;
    s->result->now = trial;
    return 1;
}

static int try_number(search *s, int k, double step)
{
    for (int down = 0; down < 2; down++) {
        int better = 0, found = 0;
        while ((better = try_factor(s, k, down ? 1.0 / step : step)) > 0) found = 1;
        if (better < 0) return -1;
        if (found) break;
    }
    return 0;
}

/* Times both sets of launch parameters in turns, so that a drift of the machine is in both. */
static int confirm(search *s)
{
    tune_result *r = s->result;
    grid before = s->reference, after = s->reference;
    for (int turn = 0; turn < 3; turn++) {
        if (tune_time_grid(s->self, &r->before, &before, turn > 0) != 0) return -1;
        if (tune_time_grid(s->self, &r->now, &after, turn > 0) != 0) return -1;
    }
    r->sizes = before.n;
    r->gain = 1.0 - exp(compare(&after, &before));
    r->best = -INFINITY;
    r->worst = INFINITY;
    for (int k = 0; k < before.n; k++) {
        const double saved = 1.0 - after.seconds[k] / before.seconds[k];
        r->best = fmax(r->best, saved);
        r->worst = fmin(r->worst, saved);
    }
    if (r->gain >= WORTH_A_CHANGE) return 0;
    r->now = r->before;
    r->gain = r->best = r->worst = 0.0;
    return 0;
}

static int search_shapes(tuner *self, tune_result *result)
{
    search s = {.self = self, .result = result, .until = now() + 0.5 * self->seconds};
    tune_sizes(self, &s.reference);
    for (int turn = 0; turn < 2; turn++) /* the first also warms up */
        if (tune_time_grid(self, &result->before, &s.reference, turn > 0) != 0) return -1;
    for (int round = 0; round < (self->quick ? 1 : 3); round++) {
        const double before = s.score;
        for (int k = 0; k < result->now.n; k++) {
            if (strncmp(result->now.key[k], "cpu_below", 9) == 0) continue; /* these are no launch shapes */
            if (try_number(&s, k, pow(first_step(result->now.key[k]), pow(0.5, round))) != 0) return -1;
        }
        if (round > 0 && s.score > before - WORTH_A_STEP) break;
    }
    return s.score < 0.0 ? confirm(&s) : 0;
}

/* ---- the CPU ------------------------------------------------------------------------ */

/* Returns the mean logarithm of CPU time over device time, for block steps of a sixteenth and of all; NAN: failed. */
static double cpu_against_device(tuner *self, client *cpu, client *device, int nj)
{
    double sum = 0.0;
    for (int part = 16; part >= 1; part /= 16) {
        const int ni = nj / part > 0 ? nj / part : 1;
        const double slow = tune_time(self, cpu, ni, nj, 1), fast = tune_time(self, device, ni, nj, 1);
        if (slow < 0.0 || fast < 0.0) return NAN;
        sum += 0.5 * log(slow / fast);
    }
    return sum;
}

/* Returns the nj from which on the device stays faster, between the measured powers of two; -1: failed. */
static double find_crossing(tuner *self, client *cpu, client *device)
{
    double crossing = 0.0, last = 0.0;
    for (int nj = 64, clear = 0; nj <= self->cluster.n && clear < 3; nj *= 2) {
        const double ratio = cpu_against_device(self, cpu, device, nj);
        if (isnan(ratio)) return -1.0;
        clear = ratio > log(3.0) ? clear + 1 : 0;
        if (ratio <= 0.0)
            crossing = nj; /* at least */
        else if (last < 0.0)
            crossing = 0.5 * nj * exp2(-last / (ratio - last));
        last = ratio;
    }
    return crossing;
}

static int search_cpu(tuner *self, tune_result *result)
{
    const int k = tune_find(&result->now, CPU_BELOW);
    if (k < 0) return 0;
    client *device = tune_open(self, &result->now), *cpu = device != NULL ? tune_open_cpu(self) : NULL;
    double crossing = -1.0;
    if (cpu != NULL) {
        snprintf(result->cpu, sizeof result->cpu, "%s, %d threads", sapporo_kind(client_native_context(cpu)),
                 sapporo_get_threads(client_native_context(cpu)));
        crossing = find_crossing(self, cpu, device);
        CLIENT_NATIVE.close(cpu);
    }
    if (device != NULL) CLIENT_NATIVE.close(device);
    if (crossing < 0.0) return -1;
    result->now.value[k] = floor(crossing);
    return 0;
}

int tune_search(tuner *self, tune_result *result)
{
    memset(result, 0, sizeof *result);
    if (tune_ask(self, &result->before) != 0) return -1;
    result->now = result->before;
    if (search_shapes(self, result) != 0) return -1;
    if (search_cpu(self, result) != 0) return -1;
    return tune_neighbour(self, &result->now);
}
