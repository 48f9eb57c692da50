/*
 * main.c - random sequences of collective calls of libsapporo_mpi.
 *
 *     mpirun -n RANKS fuzz_ranks [--seconds N | --sequences N] [--seed S] [--timeout SECONDS] [--most N]
 *                                [--calls K,K,...] [--particles N]
 *
 * One seed and one number of ranks make one sequence.  The first N that fail are reduced: calls, then particles;
 * --calls and --particles repeat a reduced sequence, as the report says.  A rank that crashes, or a call that takes
 * longer than the timeout, is reported with its stack, and ends the program.  The line `counted N passed, N failed`
 * tells what was counted so far.
 */
#define _DEFAULT_SOURCE 1
#include <execinfo.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "seconds.h"

enum { REDUCTION = 60 }; /* seconds */

struct options {
    struct part part;
    double seconds;
    int timeout, most;
    long sequences;
    uint64_t seed;
};

static struct options options = {.seconds = 10, .timeout = 200, .most = 3, .seed = 1};
static long passed, failed;
static struct plan plan;
static char under_way[200]; /* what this rank does, for signals */

/* ---- crashes and hangs ---------------------------------------------------------------------------- */

/* backtrace has been called before, so it allocates nothing. */
static void tell_stack(int signal)
{
    void *frame[40];
    const int n = backtrace(frame, 40);
    if (write(STDERR_FILENO, under_way, strlen(under_way)) < 0) _exit(128 + signal);
    backtrace_symbols_fd(frame, n, STDERR_FILENO);
    _exit(128 + signal);
}

static void catch_signals(void)
{
    static const int signals[] = {SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    static char stack[1 << 16];
    const stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = tell_stack, .sa_flags = SA_ONSTACK};
    void *frame[4];
    (void)backtrace(frame, 4);
    sigaltstack(&own, NULL);
    for (size_t k = 0; k < sizeof signals / sizeof *signals; k++) sigaction(signals[k], &action, NULL);
}

/* ---- sequences ------------------------------------------------------------------------------------- */

/* Makes the calls of a part of a sequence.  Returns the rank that found something wrong, the same on all ranks; -1: no
 * rank did.  *at: the last call. */
static int run(uint64_t seed, const struct part *part, int *at)
{
    int guilty = -1;
    plan_draw(&plan, seed);
    plan_cut(&plan, part);
    check_begin();
    for (*at = 0; *at < plan.n && guilty < 0; ++*at) {
        const struct call *const c = &plan.call[*at];
        (void)snprintf(under_way, sizeof under_way,
                       "\nfuzz: ranks, seed %" PRIu64 ", rank %d of %d, call %d, kind %d: hangs or ends the process\n",
                       seed, rank, ranks, *at, (int)c->kind);
        (void)alarm((unsigned)options.timeout);
        (c->kind < TREE_OPEN ? sums_call : c->kind < STEPPER_OPEN ? tree_call : stepper_call)(&plan, c);
        guilty = most_of(*check_text() ? rank : -1);
    }
    --*at;
    sums_close();
    tree_close();
    stepper_close();
    (void)alarm(0);
    return guilty;
}

/* Collective.  What the first rank decides. */
static int decide(int decision)
{
    ranks_share(&decision, sizeof decision);
    return decision;
}

static void reduce(uint64_t seed, struct part *part)
{
    const double end = seconds_now() + REDUCTION;
    int at;
    plan_draw(&plan, seed);
    const int n = plan.n;
    part->calls &= (UINT64_C(1) << n) - 1;
    for (int width = n / 2; width > 0; width /= 2)
        for (int first = n - width; first >= 0 && decide(seconds_now() < end); first--) {
            struct part less = *part;
            less.calls &= ~(((UINT64_C(1) << width) - 1) << first);
            if (less.calls != part->calls && run(seed, &less, &at) >= 0) *part = less;
        }
    for (int way = part->particles / 2; way > 0 && decide(seconds_now() < end); way /= 2) {
        struct part less = *part;
        less.particles -= way;
        if (less.particles > 0 && run(seed, &less, &at) >= 0) *part = less;
    }
}

static void print_again(uint64_t seed, const struct part *part)
{
    printf("  again: mpirun -n %d fuzz_ranks --seed %" PRIu64 " --sequences 1 --particles %d --calls ", ranks, seed,
           part->particles);
    for (int k = 0, any = 0; k < PLAN_CALLS; k++)
        if (part->calls >> k & 1) printf("%s%d", any++ ? "," : "", k);
    printf("\n");
}

/* Prints what a rank has found. */
static void print_found(uint64_t seed, int guilty, int at)
{
    char found[CHECK_TEXT];
    (void)snprintf(found, sizeof found, "%s", check_text());
    MPI_Bcast(found, (int)sizeof found, MPI_CHAR, guilty, MPI_COMM_WORLD);
    if (rank == 0)
        printf("\nfuzz: ranks, seed %" PRIu64 ", %d ranks, call %d, rank %d: %s\n", seed, ranks, at, guilty, found);
}

static void report_failure(uint64_t seed, int guilty, int at)
{
    struct part part = options.part;
    print_found(seed, guilty, at);
    if (failed++ >= options.most) return;
    reduce(seed, &part);
    guilty = run(seed, &part, &at);
    if (guilty < 0) {
        if (rank == 0) printf("  it did not happen again\n");
        return;
    }
    print_found(seed, guilty, at);
    if (rank > 0) return;
    plan_print(stdout, &plan);
    print_again(seed, &part);
}

/* Runs sequences until the time or their number is over. */
static void run_all(void)
{
    const double start = seconds_now();
    for (long k = 0;; k++) {
        int at;
        const uint64_t seed = options.seed + (uint64_t)k;
        const int goes_on = options.sequences > 0 ? k < options.sequences : seconds_now() - start < options.seconds;
        if (!decide(goes_on)) break;
        const int guilty = run(seed, &options.part, &at);
        if (guilty >= 0)
            report_failure(seed, guilty, at);
        else
            passed++;
        if (rank == 0) printf("counted %ld passed, %ld failed, next %" PRIu64 "\n", passed, failed, seed + 1);
        if (rank == 0) (void)fflush(stdout);
    }
}

/* ---- the command line -------------------------------------------------------------------------------- */

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
    if (strcmp(name, "--seconds") == 0) return o->seconds = strtod(value, NULL), 1;
    if (strcmp(name, "--timeout") == 0) return o->timeout = (int)strtol(value, NULL, 10), 1;
    if (strcmp(name, "--sequences") == 0) return o->sequences = strtol(value, NULL, 10), 1;
    if (strcmp(name, "--seed") == 0) return o->seed = strtoull(value, NULL, 10), 1;
    if (strcmp(name, "--most") == 0) return o->most = (int)strtol(value, NULL, 10), 1;
    if (strcmp(name, "--calls") == 0) return o->part.calls = calls_of(value), 1;
    if (strcmp(name, "--particles") == 0) return o->part.particles = (int)strtol(value, NULL, 10), 1;
    return 0;
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    options.part = (struct part){.calls = ~UINT64_C(0), .particles = PLAN_PARTICLES};
    for (int k = 1; k < argc; k += 2)
        if (k + 1 >= argc || !take_option(&options, argv[k], argv[k + 1])) {
            fprintf(stderr, "fuzz_ranks: what is %s?  See the head of test/fuzz/ranks/main.c\n", argv[k]);
            return 2;
        }
    setenv("SAPPORO_VERBOSE", "0", 0);
    catch_signals();
    run_all();
    (void)ranks_end();
    return failed > 0;
}
