/*
 * main.c - proves forces of trees on random systems that span many scales.
 *
 *     fuzz_trees [--backend cpu|opencl|cuda|hip] [--seconds N | --systems N] [--seed S] [--jobs J] [--timeout SECONDS]
 *                [--isa NAME] [--precision sp|ds|dp] [--programs FOLDER] [--most N]
 *
 * One seed makes one system, its options, its targets and its engine.  Each failure is printed with its seed, and the
 * first N of each job are reduced.  The last line reads `N passed, N failed, N skipped`.
 */
#define _DEFAULT_SOURCE 1
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends.h"
#include "seconds.h"
#include "worker.h"

enum { JOBS_MOST = 64, SYSTEMS_MOST = 1000000000 };

struct options {
    struct choice choice;
    double seconds, timeout;
    long systems;
    uint64_t seed;
    int jobs;
};

struct job {
    pid_t pid; /* 0: it has ended */
    struct progress *progress;
    int shown;  /* texts that were printed */
    long ended; /* systems at which a child ended or hung */
};

struct run {
    struct options o;
    struct job job[JOBS_MOST];
    double start;
    int unusable; /* children that had no engine */
};

/* ---- jobs ------------------------------------------------------------------------------------ */

/* Systems of a job that are left behind a seed. */
static long left_from(const struct run *run, uint64_t seed)
{
    const uint64_t n = run->o.systems > 0 ? (uint64_t)run->o.systems : SYSTEMS_MOST, end = run->o.seed + n;
    return seed < end ? (long)((end - seed + (uint64_t)run->o.jobs - 1) / (uint64_t)run->o.jobs) : 0;
}

static void start_job(struct run *run, struct job *j, uint64_t first)
{
    j->pid = 0;
    if (left_from(run, first) <= 0) return;
    atomic_store(&j->progress->seed, first);
    atomic_store(&j->progress->began, seconds_now());
    (void)fflush(NULL);
    j->pid = fork();
    if (j->pid == 0) worker_run(&run->o.choice, j->progress, first, (uint64_t)run->o.jobs, left_from(run, first));
    if (j->pid < 0) j->pid = 0;
}

static void show_failures(struct job *j)
{
    for (; j->shown < atomic_load(&j->progress->failures); j->shown++)
        printf("\nfuzz: %s\n", j->progress->text[j->shown]);
    (void)fflush(stdout);
}

/* Looks at a job; one whose child has ended early goes on behind the system at which it ended. */
static void look_at(struct run *run, struct job *j)
{
    int status = 0;
    const int hangs = seconds_now() - atomic_load(&j->progress->began) > run->o.timeout;
    const uint64_t seed = atomic_load(&j->progress->seed);
    if (hangs) kill(j->pid, SIGKILL);
    const int ended = waitpid(j->pid, &status, hangs ? 0 : WNOHANG) == j->pid;
    show_failures(j);
    if (!ended) return;
    if (!hangs && WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3)) {
        run->unusable += WEXITSTATUS(status) == 3;
        j->pid = 0;
        return;
    }
    j->ended++;
    printf("\nfuzz: seed %llu: the process %s\n", (unsigned long long)seed, hangs ? "hangs" : "ends");
    if (WIFSIGNALED(status)) printf("  signal %d\n", WTERMSIG(status));
    start_job(run, j, atomic_load(&j->progress->stop) ? UINT64_MAX : seed + (uint64_t)run->o.jobs);
}

static void run_all(struct run *run)
{
    int running = run->o.jobs;
    for (int k = 0; k < run->o.jobs; k++) start_job(run, &run->job[k], run->o.seed + (uint64_t)k);
    while (running > 0) {
        const int is_over = run->o.systems == 0 && seconds_now() - run->start > run->o.seconds;
        running = 0;
        for (int k = 0; k < run->o.jobs; k++) {
            struct job *const j = &run->job[k];
            if (is_over) atomic_store(&j->progress->stop, 1);
            if (j->pid > 0) look_at(run, j);
            running += j->pid > 0;
        }
        usleep(5000);
    }
}

static int tell(const struct run *run)
{
    long passed = 0, failed = 0, refused = 0;
    double worst = 0;
    for (int p = SAPPORO_SP; p <= SAPPORO_DP; p++) {
        long good = 0, bad = 0;
        for (int k = 0; k < run->o.jobs; k++) {
            good += atomic_load(&run->job[k].progress->passed[p]);
            bad += atomic_load(&run->job[k].progress->failed[p]);
        }
        if (good + bad > 0) printf("  %s %8ld right, %ld failed\n", precision_name((sapporo_precision)p), good, bad);
        passed += good;
        failed += bad;
    }
    for (int k = 0; k < run->o.jobs; k++) {
        failed += run->job[k].ended;
        refused += atomic_load(&run->job[k].progress->refused);
        const double w = atomic_load(&run->job[k].progress->worst);
        worst = w > worst ? w : worst;
    }
    printf("  %.0f s, %.0f systems per second; %ld refused; largest error that passed: %.2f of what is allowed\n",
           seconds_now() - run->start, (double)(passed + failed) / (seconds_now() - run->start), refused, worst);
    printf("%ld passed, %ld failed, %d skipped\n", passed, failed, passed + failed == 0 && run->unusable > 0);
    return failed > 0;
}

static int take_option(struct options *o, const char *name, const char *value)
{
    if (strcmp(name, "--backend") == 0) return (o->choice.backend = backend_of(value)) != 0;
    if (strcmp(name, "--isa") == 0) return o->choice.isa = value, 1;
    if (strcmp(name, "--precision") == 0) return o->choice.precision = value, 1;
    if (strcmp(name, "--programs") == 0) return o->choice.programs = value, 1;
    if (strcmp(name, "--most") == 0) return o->choice.reduced_most = (int)strtol(value, NULL, 10), 1;
    if (strcmp(name, "--seconds") == 0) return o->seconds = strtod(value, NULL), 1;
    if (strcmp(name, "--timeout") == 0) return o->timeout = strtod(value, NULL), 1;
    if (strcmp(name, "--systems") == 0) return o->systems = strtol(value, NULL, 10), 1;
    if (strcmp(name, "--seed") == 0) return o->seed = strtoull(value, NULL, 10), 1;
    if (strcmp(name, "--jobs") == 0) return o->jobs = (int)strtol(value, NULL, 10), 1;
    return 0;
}

int main(int argc, char **argv)
{
    static struct run run;
    run.o = (struct options){.choice = {.backend = SAPPORO_BACKEND_CPU, .reduced_most = 3},
                             .seconds = 10,
                             .timeout = 60,
                             .seed = 1,
                             .jobs = 1};
    for (int k = 1; k < argc; k += 2)
        if (k + 1 >= argc || !take_option(&run.o, argv[k], argv[k + 1])) {
            fprintf(stderr, "fuzz_trees: what is %s?  See the head of test/fuzz/trees/main.c\n", argv[k]);
            return 2;
        }
    if (run.o.jobs < 1 || run.o.jobs > JOBS_MOST) run.o.jobs = 1;
    run.start = seconds_now();
    for (int k = 0; k < run.o.jobs; k++) {
        void *const page =
            // cppcheck-suppress invalidFunctionArg ; no file
            mmap(NULL, sizeof(struct progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) return 2;
        run.job[k].progress = page;
    }
    run_all(&run);
    return tell(&run);
}
