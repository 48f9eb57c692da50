/* worker.c - see worker.h. */
#define _GNU_SOURCE 1
#include "worker.h"
#include "seconds.h"

#include <dirent.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a child notes for its parent. */
struct progress {
    atomic_ullong seed;
    atomic_long done;
    atomic_int op, stop;  /* stop: the parent wants no more sequences */
    _Atomic double began; /* when the sequence began */
    unsigned char made[OPS_NOTED];
    struct failure failure;
};

static int stack_pipe = -1; /* the child's end */

/* ---- the child --------------------------------------------------------------- */

/* Writes the stack of the thread that got the signal.  backtrace has been called before, so it allocates nothing. */
static void tell_stack(int signal)
{
    static const char line[] = "thread:\n";
    void *frame[40];
    const int n = backtrace(frame, 40);
    if (write(stack_pipe, line, sizeof line - 1) < 0) return;
    backtrace_symbols_fd(frame, n, stack_pipe);
    if (signal != SIGUSR1) _exit(128 + signal);
}

static void catch_signals(void)
{
    static char stack[1 << 16];
    static const int signals[] = {SIGUSR1, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    const stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = tell_stack, .sa_flags = SA_ONSTACK | SA_RESTART};
    void *frame[4];
    (void)backtrace(frame, 4); /* loads what it needs */
    sigaltstack(&own, NULL);
    for (size_t k = 0; k < sizeof signals / sizeof *signals; k++) sigaction(signals[k], &action, NULL);
}

void worker_environment(const struct setting *s)
{
    char threads[12];
    (void)snprintf(threads, sizeof threads, "%d", s->threads);
    setenv("SAPPORO_BACKEND", s->backend, 1);
    setenv("OMP_NUM_THREADS", threads, 1);
    setenv("OMP_WAIT_POLICY", "passive", 1);
    if (!getenv("FUZZ_VERBOSE")) setenv("SAPPORO_VERBOSE", "0", 1);
    if (*s->isa) setenv("SAPPORO_CPU_ISA", s->isa, 1);
    if (*s->precision)
        setenv("SAPPORO_PRECISION", s->precision, 1);
    else
        unsetenv("SAPPORO_PRECISION");
    setting = *s;
}

static unsigned char *made_here; /* where the call that comes next is noted */

void note_call(void)
{
    if (made_here) *made_here = 1;
}

/* 0: an operation failed. */
static int run_sequence(const struct job *job, const struct sequence *s)
{
    struct progress *const p = job->progress;
    struct failure failure;
    check_begin(&failure, 0);
    for (int k = 0; k < s->n && !failure.is_set; k++) {
        atomic_store(&p->op, k);
        check_operation(k);
        made_here = k < OPS_NOTED ? &p->made[k] : NULL;
        if (made_here) *made_here = 0;
        job->interface->run(&s->op[k]);
    }
    if (failure.is_set) p->failure = failure;
    return !failure.is_set;
}

static void run_child(struct job *job)
{
    struct progress *const p = job->progress;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    worker_environment(&job->setting);
    const char *const why = load_calls();
    if (why) {
        fprintf(stderr, "fuzz: %s\n", why);
        _exit(4);
    }
    catch_signals();
    for (long k = 0; k < job->count && !atomic_load(&p->stop); k++) {
        struct sequence made = {0};
        int good;
        atomic_store(&p->seed, job->seed + (uint64_t)k);
        atomic_store(&p->began, seconds_now());
        if (!job->given) sequence_generate(&made, job->interface, job->seed + (uint64_t)k);
        good = run_sequence(job, job->given ? job->given : &made);
        sequence_clear(&made);
        if (!good) _exit(1);
        atomic_fetch_add(&p->done, 1);
    }
    _exit(0);
}

void sequence_generate(struct sequence *s, const struct interface *interface, uint64_t seed)
{
    rng random;
    memset(s, 0, sizeof *s);
    s->seed = seed;
    rng_seed(&random, seed, 22);
    interface->generate(s, &random);
}

/* ---- the parent ---------------------------------------------------------------- */

int job_start(struct job *job)
{
    int ends[2];
    if (!job->progress) {
        /* cppcheck-suppress invalidFunctionArg ; no file */
        void *const page = mmap(NULL, sizeof *job->progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) return 0;
        job->progress = page;
    }
    memset(&job->progress->failure, 0, sizeof job->progress->failure);
    atomic_store(&job->progress->done, 0);
    atomic_store(&job->progress->stop, 0);
    atomic_store(&job->progress->seed, job->seed);
    atomic_store(&job->progress->began, seconds_now());
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return 0;
    (void)fflush(NULL);
    job->pid = fork();
    if (job->pid == 0) {
        stack_pipe = ends[1];
        run_child(job);
    }
    close(ends[1]);
    job->pipe = ends[0];
    return job->pid > 0;
}

void job_stop(struct job *job) { atomic_store(&job->progress->stop, 1); }

static void read_stack(struct job *job, struct result *result)
{
    size_t n = 0;
    ssize_t got;
    while (n + 1 < sizeof result->stack && (got = read(job->pipe, result->stack + n, sizeof result->stack - 1 - n)) > 0)
        n += (size_t)got;
    result->stack[n] = '\0';
}

/* Asks every thread of a hanging child for its stack. */
static void ask_stacks(struct job *job)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/task", job->pid);
    DIR *const tasks = opendir(path);
    /* cppcheck-suppress readdirCalled ; this thread alone reads the folder */
    for (const struct dirent *e; tasks && (e = readdir(tasks));)
        if (e->d_name[0] != '.') syscall(SYS_tgkill, job->pid, (int)strtol(e->d_name, NULL, 10), SIGUSR1);
    if (tasks) closedir(tasks);
    usleep(300000);
}

static void finish(struct job *job, struct result *result)
{
    result->seed = atomic_load(&job->progress->seed);
    result->done = atomic_load(&job->progress->done);
    result->failure = job->progress->failure;
    if (result->outcome != OUTCOME_DIFFERS) result->failure.op = atomic_load(&job->progress->op);
    memcpy(result->made, job->progress->made, sizeof result->made);
    read_stack(job, result);
    close(job->pipe);
}

int job_ended(struct job *job, struct result *result)
{
    int status = 0;
    const int ended = waitpid(job->pid, &status, WNOHANG) == job->pid;
    if (!ended && seconds_now() - atomic_load(&job->progress->began) < job->limit) return 0;
    memset(result, 0, sizeof *result);
    if (!ended) {
        result->outcome = OUTCOME_HANGS;
        ask_stacks(job);
        kill(job->pid, SIGKILL);
        waitpid(job->pid, &status, 0);
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == 0 &&
               (atomic_load(&job->progress->done) == job->count || atomic_load(&job->progress->stop))) {
        result->outcome = OUTCOME_GOOD;
    } else {
        result->outcome = job->progress->failure.is_set ? OUTCOME_DIFFERS : OUTCOME_ENDED;
    }
    result->status = status;
    finish(job, result);
    return 1;
}

void job_run(struct job *job, struct result *result)
{
    memset(result, 0, sizeof *result);
    if (!job_start(job)) return;
    for (useconds_t wait = 200; !job_ended(job, result); wait = wait < 5000 ? 2 * wait : 5000) usleep(wait);
}
