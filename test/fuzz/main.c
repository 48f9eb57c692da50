/*
 * main.c - the fuzzer's command line: which interfaces on which engines, for how long.
 *
 *     fuzz [--interface g6,g5,...] [--backend cpu|opencl|cuda] [--seconds N | --sequences N] [--seed S] [--jobs J]
 *          [--timeout SECONDS] [--programs FOLDER] [--isa NAME] [--precision NAME] [--batch N] [--most N]
 *
 * One seed makes one sequence, always the same.  The last line reads `N passed, N failed, N skipped`.
 */
#define _DEFAULT_SOURCE 1
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "print.h"
#include "reduce.h"
#include "seconds.h"

const struct interface *const interfaces[] = {&interface_g6,      &interface_g5,     &interface_native,
                                              &interface_tree,    &interface_nbody6, &interface_sixth,
                                              &interface_onecall, &interface_g5c,    NULL};

enum { SETTINGS_MOST = 64, JOBS_MOST = 64, FOUND_MOST = 40 };

struct options {
    const char *interface, *backend, *programs, *isa, *precision;
    double seconds, timeout, reduction;
    long sequences;
    uint64_t seed;
    int jobs, batch, programs_most;
};

/* What was found, to be reduced once. */
struct found {
    const struct interface *interface;
    struct result result;
    long times;
};

struct run {
    struct options o;
    int nsettings, nfound;
    struct setting setting[SETTINGS_MOST];
    long passed[INTERFACES_MOST][SETTINGS_MOST], failed[INTERFACES_MOST][SETTINGS_MOST];
    struct found found[FOUND_MOST];
    struct job job[JOBS_MOST];
    int at_interface[JOBS_MOST], at_setting[JOBS_MOST];
    double slice_end[JOBS_MOST]; /* when a batch must make room for other interfaces and engines */
    long turn, begun;
    uint64_t next_seed;
    double start;
};

/* ---- engines -------------------------------------------------------------------- */

/* Whether a child can open a context; the parent calls nothing of the library. */
static int is_usable(const struct setting *s)
{
    int status = 1;
    const int pid = fork();
    if (pid == 0) {
        worker_environment(s);
        const char *const why = load_calls();
        if (why) fprintf(stderr, "fuzz: %s\n", why);
        _exit(why || !can_open() ? 1 : 0);
    }
    return waitpid(pid, &status, 0) == pid && status == 0;
}

static void add_setting(struct run *run, const char *isa, const char *precision)
{
    struct setting s = {.backend = run->o.backend, .isa = isa, .precision = precision, .threads = 1};
    s.cheap = strcmp(s.backend, "cpu") == 0;
    if (run->o.isa && strcmp(run->o.isa, isa) != 0) return;
    if (run->o.precision && strcmp(run->o.precision, precision) != 0) return;
    if (!is_usable(&s) || run->nsettings == SETTINGS_MOST) return;
    s.threads = 1 + run->nsettings % 3; /* 1 to 3: one thread alone, and a team */
    run->setting[run->nsettings++] = s;
}

static void find_settings(struct run *run)
{
    static const char *const isas[] = {"scalar", "sse2", "avx2", "avx512", "neon"};
    static const char *const precisions[] = {"ds", "dp", "sp", ""};
    const int cpu = strcmp(run->o.backend, "cpu") == 0;
    for (int k = 0; k < (cpu ? 5 : 1); k++)
        for (int p = 0; p < 4; p++) add_setting(run, cpu ? isas[k] : "", precisions[p]);
}

/* ---- findings -------------------------------------------------------------------- */

static struct found *note(struct run *run, const struct interface *interface, const struct result *result)
{
    for (int k = 0; k < run->nfound; k++)
        if (run->found[k].interface == interface && results_alike(&run->found[k].result, result)) {
            run->found[k].times++;
            return NULL;
        }
    if (run->nfound == FOUND_MOST) return NULL;
    struct found *const f = &run->found[run->nfound++];
    *f = (struct found){interface, *result, 1};
    return f;
}

/* The sequence that failed: alone, or with all those before it in its child. */
static int find_again(const struct job *from, struct job *job, struct sequence *s, struct result *result)
{
    struct result again;
    for (int with_history = 0; with_history < 2; with_history++) {
        memset(s, 0, sizeof *s);
        setting = from->setting;
        for (uint64_t seed = with_history ? from->seed : result->seed; seed <= result->seed; seed++) {
            struct sequence one;
            sequence_generate(&one, from->interface, seed);
            sequence_append(s, &one);
            sequence_clear(&one);
        }
        s->seed = result->seed;
        *job = *from;
        job->progress = NULL;
        job->given = s;
        job->count = 1;
        job->seed = result->seed;
        job_run(job, &again);
        if (results_alike(&again, result)) {
            *result = again;
            return 1;
        }
        sequence_clear(s);
    }
    return 0;
}

static void print_to_file(const struct run *run, const struct job *job, const struct sequence *s,
                          const struct result *result)
{
    char path[400];
    if (run->o.programs) {
        (void)mkdir(run->o.programs, 0777);
        (void)snprintf(path, sizeof path, "%s/%s_%" PRIu64 ".c", run->o.programs, job->interface->name, result->seed);
    }
    FILE *const to = run->o.programs ? fopen(path, "w") : stdout;
    if (!to) return;
    print_program(to, job, s, result);
    if (to != stdout) {
        (void)fclose(to);
        printf("  program: %s\n", path);
    }
}

static const char *const outcome_names[] = {"right", "differs", "ends the process", "hangs"};

static void report(struct run *run, const struct job *from, struct result *result)
{
    struct job job;
    struct sequence s;
    printf("\nfuzz: interface %s, %s %s %s, seed %" PRIu64 ", operation %d: %s%s%s\n", from->interface->name,
           from->setting.backend, from->setting.isa, from->setting.precision, result->seed, result->failure.op,
           outcome_names[result->outcome], result->outcome == OUTCOME_DIFFERS ? ": " : "", result->failure.text);
    if (*result->stack) printf("%s", result->stack);
    if (!find_again(from, &job, &s, result)) {
        printf("  it did not happen again\n");
        return;
    }
    const int before = s.n;
    reduce(&job, &s, result, run->o.reduction);
    printf("  reduced from %d operations to %d: %s\n", before, s.n, result->failure.text);
    print_to_file(run, &job, &s, result);
    sequence_clear(&s);
    (void)fflush(stdout);
}

/* ---- the run ------------------------------------------------------------------------ */

static int is_chosen(const char *list, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, name, n) == 0 && (at[n] == ',' || at[n] == '\0')) return 1;
    return !list;
}

static int is_over(const struct run *run)
{
    if (run->o.sequences > 0) return run->begun >= run->o.sequences;
    return seconds_now() - run->start > run->o.seconds;
}

/* The next batch: interfaces and engines take turns. */
static int start_batch(struct run *run, int k)
{
    int chosen[INTERFACES_MOST], n = 0;
    struct job *const job = &run->job[k];
    for (int i = 0; interfaces[i]; i++)
        if (is_chosen(run->o.interface, interfaces[i]->name)) chosen[n++] = i;
    if (n == 0 || is_over(run)) return 0;
    run->at_interface[k] = chosen[run->turn % n];
    /* steps through all engines, another one for each interface, so that short runs see all kinds */
    const long step = run->nsettings % 5 ? 5 : 7;
    run->at_setting[k] = (int)((run->turn / n * step + run->turn % n * 3 + (long)(run->o.seed % 64)) % run->nsettings);
    run->turn++;
    const double slice = run->o.seconds * run->o.jobs / (n * run->nsettings);
    run->slice_end[k] = seconds_now() + (slice > 2 ? slice : 2);
    job->interface = interfaces[run->at_interface[k]];
    job->setting = run->setting[run->at_setting[k]];
    job->seed = run->next_seed;
    job->count = run->o.batch;
    if (run->o.sequences > 0 && run->o.sequences - run->begun < job->count) job->count = run->o.sequences - run->begun;
    job->given = NULL;
    job->limit = run->o.timeout;
    run->next_seed += (uint64_t)job->count;
    run->begun += job->count;
    return job_start(job);
}

/* After a failure the child goes on behind the sequence that failed. */
static int go_on(struct run *run, int k, const struct result *result)
{
    struct job *const job = &run->job[k];
    const uint64_t end = job->seed + (uint64_t)job->count;
    if (result->outcome == OUTCOME_GOOD || result->seed + 1 >= end) return start_batch(run, k);
    if (run->o.sequences == 0 && is_over(run)) return 0;
    job->count = (long)(end - result->seed - 1);
    job->seed = result->seed + 1;
    return job_start(job);
}

static void run_all(struct run *run)
{
    int running[JOBS_MOST] = {0}, left = 0;
    for (int k = 0; k < run->o.jobs; k++) left += running[k] = start_batch(run, k);
    while (left > 0) {
        int any = 0;
        const int is_late = run->o.sequences == 0 && is_over(run);
        for (int k = 0; k < run->o.jobs; k++) {
            struct result result;
            if (running[k] && run->o.sequences == 0 && (is_late || seconds_now() > run->slice_end[k]))
                job_stop(&run->job[k]);
            if (!running[k] || !job_ended(&run->job[k], &result)) continue;
            any = 1;
            run->passed[run->at_interface[k]][run->at_setting[k]] += result.done;
            if (result.outcome != OUTCOME_GOOD) {
                run->failed[run->at_interface[k]][run->at_setting[k]]++;
                if (note(run, run->job[k].interface, &result) && run->nfound <= run->o.programs_most)
                    report(run, &run->job[k], &result);
            }
            running[k] = go_on(run, k, &result);
            left -= !running[k];
        }
        if (!any) usleep(2000);
    }
}

static int tell(const struct run *run)
{
    long passed = 0, failed = 0;
    for (int i = 0; interfaces[i]; i++)
        for (int s = 0; s < run->nsettings; s++) {
            const struct setting *const e = &run->setting[s];
            passed += run->passed[i][s];
            failed += run->failed[i][s];
            if (run->passed[i][s] + run->failed[i][s] > 0)
                printf("  %-8s %-6s %-6s %-4s %8ld right, %ld failed\n", interfaces[i]->name, e->backend, e->isa,
                       *e->precision ? e->precision : "-", run->passed[i][s], run->failed[i][s]);
        }
    for (int k = 0; k < run->nfound; k++)
        printf("  %ld times: %s: %s %s\n", run->found[k].times, run->found[k].interface->name,
               outcome_names[run->found[k].result.outcome], run->found[k].result.failure.text);
    printf("  %.0f s, %.0f sequences per second\n", seconds_now() - run->start,
           (double)(passed + failed) / (seconds_now() - run->start));
    printf("%ld passed, %ld failed, %d skipped\n", passed, failed, run->nsettings == 0);
    return failed > 0;
}

static int take_option(struct options *o, const char *name, const char *value)
{
    if (strcmp(name, "--interface") == 0) return o->interface = value, 1;
    if (strcmp(name, "--backend") == 0) return o->backend = value, 1;
    if (strcmp(name, "--programs") == 0) return o->programs = value, 1;
    if (strcmp(name, "--isa") == 0) return o->isa = value, 1;
    if (strcmp(name, "--precision") == 0) return o->precision = value, 1;
    if (strcmp(name, "--seconds") == 0) return o->seconds = strtod(value, NULL), 1;
    if (strcmp(name, "--timeout") == 0) return o->timeout = strtod(value, NULL), 1;
    if (strcmp(name, "--reduction") == 0) return o->reduction = strtod(value, NULL), 1;
    if (strcmp(name, "--sequences") == 0) return o->sequences = strtol(value, NULL, 10), 1;
    if (strcmp(name, "--seed") == 0) return o->seed = strtoull(value, NULL, 10), 1;
    if (strcmp(name, "--jobs") == 0) return o->jobs = (int)strtol(value, NULL, 10), 1;
    if (strcmp(name, "--batch") == 0) return o->batch = (int)strtol(value, NULL, 10), 1;
    if (strcmp(name, "--most") == 0) return o->programs_most = (int)strtol(value, NULL, 10), 1;
    return 0;
}

int main(int argc, char **argv)
{
    static struct run run;
    run.o = (struct options){.backend = "cpu", .seconds = 10, .timeout = 30, .reduction = 30, .seed = 1, .jobs = 1};
    run.o.programs_most = FOUND_MOST;
    for (int k = 1; k < argc; k += 2)
        if (k + 1 >= argc || !take_option(&run.o, argv[k], argv[k + 1])) {
            fprintf(stderr, "fuzz: what is %s?  See the head of test/fuzz/main.c\n", argv[k]);
            return 2;
        }
    if (run.o.jobs < 1 || run.o.jobs > JOBS_MOST) run.o.jobs = 1;
    if (run.o.batch < 1) run.o.batch = strcmp(run.o.backend, "cpu") == 0 ? 200 : 1000; /* devices open slowly */
    run.next_seed = run.o.seed;
    find_settings(&run);
    run.start = seconds_now();
    if (run.nsettings > 0) run_all(&run);
    return tell(&run);
}
