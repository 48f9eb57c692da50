/*
 * main.c - steppers of which allocations fail: random sequences of calls.
 *
 *     fuzz_steppers [--backend cpu|opencl|cuda|hip] [--seconds N | --sequences N] [--seed S] [--jobs J] [--timeout
 * SECONDS]
 *                   [--most N] [--calls K,K,...] [--rows N] [--tries N]
 *
 * One seed makes one sequence.  Children run the sequences; the first N that fail are reduced: calls, then particles,
 * then failures.  --calls, --rows and --tries repeat a reduced sequence, as the report says.  The last line reads
 * `N passed, N failed, N skipped`.
 */
#define _DEFAULT_SOURCE 1
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends.h"
#include "seconds.h"
#include "session.h"

enum { JOBS_MOST = 64, REDUCTION = 60 }; /* seconds of a reduction */

enum outcome { GOOD, DIFFERS, ENDED, HANGS };
static const char *const outcome_names[] = {"right", "differs", "ends the process", "hangs"};

struct options {
    sapporo_backend backend;
    const char *folder;
    struct part part;
    double seconds, timeout;
    long sequences;
    uint64_t seed;
    int jobs, most;
};

/* What a child tells its parent. */
struct progress {
    struct session_notes notes;
    atomic_ullong seed;
    _Atomic double began;
    atomic_int stop;
    atomic_int complete; /* 1: the child ends because its sequences are made, or since it has no engine */
    atomic_long done;
};

struct job {
    pid_t pid; /* 0: it has ended */
    struct progress *progress;
};

struct run {
    struct options o;
    struct job job[JOBS_MOST + 1]; /* the last one reduces */
    double start, reduce_until;
    long failed, passed;
    int unusable;
};

/* ---- children --------------------------------------------------------------------------------- */

static int is_usable(sapporo_backend backend)
{
    sapporo *c = NULL;
    const sapporo_options o = {.size = sizeof o, .backend = backend};
    const int status = sapporo_open(&o, &c);
    sapporo_close(c);
    return status == SAPPORO_OK;
}

/* Runs sequences seed, seed + step, ...; count 0: until it is told to stop. */
static void run_child(const struct options *o, struct progress *p, const struct part *part, uint64_t seed,
                      uint64_t step, long count)
{
    static struct plan plan;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("SAPPORO_VERBOSE", "0", 0);
    if (!is_usable(o->backend)) {
        atomic_store(&p->complete, 1);
        _exit(3);
    }
    for (long k = 0; (count == 0 || k < count) && !atomic_load(&p->stop); k++) {
        atomic_store(&p->seed, seed + (uint64_t)k * step);
        atomic_store(&p->began, seconds_now());
        plan_draw(&plan, seed + (uint64_t)k * step, o->backend);
        plan_cut(&plan, part);
        if (!session_run(&plan, o->folder, &p->notes)) _exit(1);
        atomic_fetch_add(&p->done, 1);
    }
    atomic_store(&p->complete, 1);
    _exit(0);
}

static void start(const struct run *run, struct job *j, const struct part *part, uint64_t seed, uint64_t step,
                  long count)
{
    atomic_store(&j->progress->seed, seed);
    atomic_store(&j->progress->began, seconds_now());
    atomic_store(&j->progress->done, 0);
    atomic_store(&j->progress->complete, 0);
    (void)fflush(NULL);
    j->pid = fork();
    if (j->pid == 0) run_child(&run->o, j->progress, part, seed, step, count);
    if (j->pid < 0) j->pid = 0;
}

/* Looks at a child; 1: it has ended, and *outcome says how. */
static int has_ended(const struct run *run, struct job *j, enum outcome *outcome)
{
    int status = 0;
    const int hangs = seconds_now() - atomic_load(&j->progress->began) > run->o.timeout;
    if (hangs) kill(j->pid, SIGKILL);
    if (waitpid(j->pid, &status, hangs ? 0 : WNOHANG) != j->pid) return 0;
    *outcome = ENDED;
    if (hangs) *outcome = HANGS;
    if (!hangs && WIFEXITED(status) && WEXITSTATUS(status) == 1) *outcome = DIFFERS;
    if (!hangs && WIFEXITED(status) && atomic_load(&j->progress->complete)) *outcome = GOOD;
    if (*outcome == GOOD && WEXITSTATUS(status) == 3) j->pid = -1; /* no engine */
    return 1;
}

/* ---- reduction ---------------------------------------------------------------------------------- */

/* Whether a part of a sequence fails in the same way. */
static int fails_alike(struct run *run, const struct part *part, uint64_t seed, enum outcome outcome)
{
    struct job *const j = &run->job[JOBS_MOST];
    enum outcome found;
    if (seconds_now() > run->reduce_until) return 0;
    start(run, j, part, seed, 1, 1);
    while (!has_ended(run, j, &found)) usleep(1000);
    return found == outcome;
}

static void reduce_calls(struct run *run, struct part *part, int n, uint64_t seed, enum outcome outcome)
{
    for (int width = n / 2; width > 0; width /= 2)
        for (int first = n - width; first >= 0; first--) {
            struct part less = *part;
            less.calls &= ~(((UINT64_C(1) << width) - 1) << first);
            if (less.calls != part->calls && fails_alike(run, &less, seed, outcome)) *part = less;
        }
}

static void reduce_number(struct run *run, struct part *part, int *number, int least, uint64_t seed,
                          enum outcome outcome)
{
    for (int way = *number / 2; way > 0; way /= 2) {
        const int before = *number;
        if (before - way < least) continue;
        *number -= way;
        if (!fails_alike(run, part, seed, outcome)) *number = before;
    }
}

static void report(struct run *run, uint64_t seed, enum outcome outcome)
{
    static struct plan plan;
    struct part part = run->o.part;
    printf("\nfuzz: steppers, seed %" PRIu64 ": %s\n", seed, outcome_names[outcome]);
    run->reduce_until = seconds_now() + REDUCTION;
    if (!fails_alike(run, &part, seed, outcome)) {
        printf("  it did not happen again\n");
        return;
    }
    plan_draw(&plan, seed, run->o.backend);
    const int n = plan.n;
    part.calls &= (UINT64_C(1) << n) - 1;
    reduce_calls(run, &part, n, seed, outcome);
    reduce_number(run, &part, &part.rows, 1, seed, outcome);
    reduce_number(run, &part, &part.tries, 0, seed, outcome);
    run->reduce_until = INFINITY;
    (void)fails_alike(run, &part, seed, outcome);
    const struct session_notes *const notes = &run->job[JOBS_MOST].progress->notes;
    plan_cut(&plan, &part);
    printf("  reduced from %d calls to %d: call %d: %s\n", n, plan.n, atomic_load(&notes->call),
           outcome == DIFFERS ? notes->text : outcome_names[outcome]);
    plan_print(stdout, &plan);
    printf("  again: fuzz_steppers --seed %" PRIu64 " --sequences 1 --rows %d --tries %d --calls ", seed, part.rows,
           part.tries);
    for (int k = 0, any = 0; k < n; k++)
        if (part.calls >> k & 1) printf("%s%d", any++ ? "," : "", k);
    printf("\n");
    (void)fflush(stdout);
}

/* ---- the run -------------------------------------------------------------------------------------- */

/* Sequences of a job from a seed on; 0: no limit. */
static long count_from(const struct run *run, uint64_t seed)
{
    const uint64_t end = run->o.seed + (uint64_t)run->o.sequences, jobs = (uint64_t)run->o.jobs;
    return run->o.sequences == 0 ? 0 : (long)((end - seed + jobs - 1) / jobs);
}

static void start_job(const struct run *run, struct job *j, uint64_t seed)
{
    const int is_over = run->o.sequences > 0 ? seed >= run->o.seed + (uint64_t)run->o.sequences
                                             : seconds_now() - run->start > run->o.seconds;
    j->pid = 0;
    if (!is_over) start(run, j, &run->o.part, seed, (uint64_t)run->o.jobs, count_from(run, seed));
}

/* Looks at a job; one that failed goes on behind the sequence that failed. */
static void look_at(struct run *run, struct job *j)
{
    enum outcome outcome;
    if (!has_ended(run, j, &outcome)) return;
    const uint64_t seed = atomic_load(&j->progress->seed);
    run->passed += atomic_load(&j->progress->done);
    run->unusable += j->pid < 0;
    j->pid = 0;
    if (outcome == GOOD) return;
    if (run->failed++ < run->o.most) {
        report(run, seed, outcome);
    } else {
        printf("\nfuzz: steppers, seed %" PRIu64 ": %s: %s\n", seed, outcome_names[outcome], j->progress->notes.text);
    }
    start_job(run, j, seed + (uint64_t)run->o.jobs);
}

static void run_all(struct run *run)
{
    int running = run->o.jobs;
    for (int k = 0; k < run->o.jobs; k++) start_job(run, &run->job[k], run->o.seed + (uint64_t)k);
    while (running > 0) {
        const int is_over = run->o.sequences == 0 && seconds_now() - run->start > run->o.seconds;
        running = 0;
        for (int k = 0; k < run->o.jobs; k++) {
            struct job *const j = &run->job[k];
            if (is_over) atomic_store(&j->progress->stop, 1);
            if (j->pid > 0) look_at(run, j);
            running += j->pid > 0;
        }
        usleep(2000);
    }
}

static int tell(const struct run *run)
{
    long failures = 0;
    for (int k = 0; k < run->o.jobs; k++) failures += atomic_load(&run->job[k].progress->notes.failures);
    printf("  %.0f s, %.0f sequences per second; %ld calls failed for lack of memory\n", seconds_now() - run->start,
           (double)(run->passed + run->failed) / (seconds_now() - run->start), failures);
    printf("%ld passed, %ld failed, %d skipped\n", run->passed, run->failed,
           run->passed + run->failed == 0 && run->unusable > 0);
    return run->failed > 0;
}

/* ---- the command line ------------------------------------------------------------------------------- */

static uint64_t calls_of(const char *list)
{
    uint64_t calls = 0;
    for (char *end = NULL; *list; list = *end ? end + 1 : end) {
        const unsigned long k = strtoul(list, &end, 10);
        if (end == list || k >= PLAN_CALLS) break;
        calls |= UINT64_C(1) << k;
    }
    return calls;
}

static int take_option(struct options *o, const char *name, const char *value)
{
    if (strcmp(name, "--backend") == 0) return (o->backend = backend_of(value)) != 0;
    if (strcmp(name, "--seconds") == 0) return o->seconds = strtod(value, NULL), 1;
    if (strcmp(name, "--timeout") == 0) return o->timeout = strtod(value, NULL), 1;
    if (strcmp(name, "--sequences") == 0) return o->sequences = strtol(value, NULL, 10), 1;
    if (strcmp(name, "--seed") == 0) return o->seed = strtoull(value, NULL, 10), 1;
    if (strcmp(name, "--jobs") == 0) return o->jobs = (int)strtol(value, NULL, 10), 1;
    if (strcmp(name, "--most") == 0) return o->most = (int)strtol(value, NULL, 10), 1;
    if (strcmp(name, "--calls") == 0) return o->part.calls = calls_of(value), 1;
    if (strcmp(name, "--rows") == 0) return o->part.rows = (int)strtol(value, NULL, 10), 1;
    if (strcmp(name, "--tries") == 0) return o->part.tries = (int)strtol(value, NULL, 10), 1;
    return 0;
}

int main(int argc, char **argv)
{
    static struct run run;
    const char *const folder = getenv("TMPDIR");
    run.o = (struct options){.backend = SAPPORO_BACKEND_CPU, .seconds = 10, .timeout = 60, .seed = 1, .jobs = 1};
    run.o.most = 5;
    run.o.part = whole_plan;
    run.o.folder = folder ? folder : "/tmp";
    for (int k = 1; k < argc; k += 2)
        if (k + 1 >= argc || !take_option(&run.o, argv[k], argv[k + 1])) {
            fprintf(stderr, "fuzz_steppers: what is %s?  See the head of test/fuzz/steppers/main.c\n", argv[k]);
            return 2;
        }
    if (run.o.jobs < 1 || run.o.jobs > JOBS_MOST) run.o.jobs = 1;
    run.start = seconds_now();
    for (int k = 0; k <= JOBS_MOST; k++) {
        void *const page =
            // cppcheck-suppress invalidFunctionArg ; no file
            mmap(NULL, sizeof(struct progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) return 2;
        run.job[k].progress = page;
    }
    run_all(&run);
    return tell(&run);
}
