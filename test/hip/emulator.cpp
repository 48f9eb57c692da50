/*
 * emulator.cpp - runs the kernels of AMD GPUs on a host: each thread of a group is a fiber.
 *
 * A fiber runs until it waits: for its group, for its 32 neighbours, or for the wavefront's answer.  When all wait, the
 * questions of 32 neighbours that all of them ask are answered; the two halves of a wavefront of 64 are answered
 * together if they ask the same, or apart, as chance has it.  Neighbours of which some ask and others wait for
 * something else would hang on a card of NVIDIA: that ends the program with a message.
 */
#include <mutex>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "builtins.h"

sap_numbers emulated_thread, emulated_group, emulated_size, emulated_grid;
void *emulated_memory;

enum { MOST = 1024, STACK = 256 << 10, ROOM = 256 << 10 };
enum state { RUNS, AT_GROUP, AT_LANES, AT_BALLOT, AT_READ, ENDED };

struct fiber {
    state at;
    unsigned question; /* the lane to read */
    int value;
    unsigned long long answer;
    jmp_buf place;
    int begun;
};

static fiber fibers[MOST];
static char *stacks;
static unsigned current, threads;
static jmp_buf scheduler;
static ucontext_t beginning, unused;
static const emulated_kernel *running;
static void **running_arguments;
static unsigned long long chance = 88172645463325252ULL;

static unsigned random_below(unsigned n)
{
    chance ^= chance << 13, chance ^= chance >> 7, chance ^= chance << 17;
    return (unsigned)(chance % n);
}

[[noreturn]] static void stop(const char *why, unsigned thread)
{
    fprintf(stderr, "emulator: %s: thread %u of group %u, %u: %s\n", running->name, thread, emulated_group.x,
            emulated_group.y, why);
    abort();
}

/* ---- fibers ---- */

static void wait_at(state where)
{
    fibers[current].at = where;
    if (!_setjmp(fibers[current].place)) longjmp(scheduler, 1);
}

/* A fiber runs one thread of each group: a new context per thread costs more system calls than most threads compute. */
static void body(void)
{
    for (;;) {
        running->call(running_arguments);
        wait_at(ENDED);
    }
}

static void resume(unsigned k)
{
    current = k;
    emulated_thread.x = k;
    if (_setjmp(scheduler)) return;
    if (fibers[k].begun) longjmp(fibers[k].place, 1);
    fibers[k].begun = 1;
    /* Threads of POSIX in place of contexts would switch by the kernel at each exchange of lanes. */
    getcontext(&beginning); /* cppcheck-suppress getcontextCalled */
    beginning.uc_stack.ss_sp = stacks + (size_t)k * STACK;
    beginning.uc_stack.ss_size = STACK;
    makecontext(&beginning, body, 0); /* cppcheck-suppress makecontextCalled */
    swapcontext(&unused, &beginning); /* cppcheck-suppress swapcontextCalled */
}

extern "C" void emulated_barrier(void) { wait_at(AT_GROUP); }
extern "C" void emulated_lanes_barrier(void) { wait_at(AT_LANES); }

extern "C" unsigned long long emulated_ballot(int yes)
{
    fiber *const f = &fibers[current];
    f->value = yes;
    wait_at(AT_BALLOT);
    return f->answer;
}

extern "C" int emulated_read_lane(int x, unsigned from)
{
    fiber *const f = &fibers[current];
    f->value = x;
    f->question = from;
    wait_at(AT_READ);
    return (int)f->answer;
}

/* ---- answers ---- */

static unsigned end_of(unsigned from, unsigned n) { return from + n < threads ? from + n : threads; }

/* What the 32 threads from `from` on wait for; ENDED: none is left.  They must agree, those at the group's end apart.
 */
static state agreed(unsigned from)
{
    state all = ENDED;
    for (unsigned k = from; k < end_of(from, 32); k++) {
        if (fibers[k].at == ENDED) continue;
        if (all != ENDED && fibers[k].at != all) stop("some of 32 neighbours ask what others do not", k);
        all = fibers[k].at;
    }
    return all;
}

static void answer(unsigned from, unsigned n, state what)
{
    const unsigned wave = from / SAP_WAVE * SAP_WAVE;
    unsigned long long yes = 0;
    for (unsigned k = from; k < end_of(from, n); k++)
        if (fibers[k].at == AT_BALLOT && fibers[k].value) yes |= 1ULL << (k - wave);
    int value[64];
    for (unsigned k = from; k < end_of(from, n); k++) {
        fiber *const f = &fibers[k];
        if (what == AT_BALLOT) f->answer = yes;
        if (what != AT_READ || f->at == ENDED) continue;
        const unsigned source = wave + f->question;
        if (f->question >= SAP_WAVE) stop("reads of no lane of its wavefront", k);
        if (source / 32 != k / 32) stop("reads of the other half of its wavefront", k);
        /* a lane that has ended, or never was, has no value */
        value[k - from] = source < threads && fibers[source].at == AT_READ ? fibers[source].value : (int)0xA5A5A5A5;
    }
    for (unsigned k = from; k < end_of(from, n); k++) {
        if (fibers[k].at == ENDED) continue;
        if (what == AT_READ) fibers[k].answer = (unsigned)value[k - from];
        fibers[k].at = RUNS;
    }
}

/* Answers what all threads wait for; returns 0 once all have ended. */
static int proceed(void)
{
    unsigned left = 0, asked = 0;
    for (unsigned wave = 0; wave < threads; wave += SAP_WAVE) {
        const int halves = SAP_WAVE == 64 && wave + 32 < threads;
        const state first = agreed(wave), second = halves ? agreed(wave + 32) : ENDED;
        left += (first != ENDED) + (second != ENDED);
        const int asks = first != ENDED && first != AT_GROUP, other = second != ENDED && second != AT_GROUP;
        asked += (unsigned)(asks + other);
        if (asks && other && first == second && random_below(2))
            answer(wave, 64, first);
        else if (asks && (!other || random_below(2)))
            answer(wave, 32, first);
        else if (other)
            answer(wave + 32, 32, second);
    }
    if (left && !asked) /* all are at the group's barrier */
        for (unsigned k = 0; k < threads; k++)
            if (fibers[k].at == AT_GROUP) fibers[k].at = RUNS;
    return left > 0;
}

static void run_group(void)
{
    for (unsigned k = 0; k < threads; k++) fibers[k].at = RUNS;
    do {
        const unsigned start = random_below(threads), step = random_below(2) ? 1 : threads - 1;
        for (unsigned n = 0, k = start; n < threads; n++, k = (k + step) % threads)
            if (fibers[k].at == RUNS) resume(k);
    } while (proceed());
}

/* ---- kernels ---- */

static emulated_kernel *all;

void emulated_register(emulated_kernel *kernel)
{
    kernel->next = all;
    all = kernel;
}

extern "C" const void *emulated_find(const char *name)
{
    for (const emulated_kernel *k = all; k; k = k->next)
        if (strcmp(k->name, name) == 0) return k;
    return nullptr;
}

/* Runs a kernel.  Memory of the group begins with no meaning. */
extern "C" void emulated_launch(const void *kernel, unsigned x, unsigned y, unsigned n, unsigned shared,
                                void **arguments)
{
    static std::mutex one;
    const std::lock_guard<std::mutex> lock(one);
    static void *room;
    if (!stacks) {
        void *const memory = mmap(nullptr, (size_t)MOST * STACK, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED || posix_memalign(&room, 64, ROOM)) abort();
        stacks = (char *)memory;
    }
    running = (const emulated_kernel *)kernel;
    running_arguments = arguments;
    if (n > MOST || shared > ROOM) stop("too many threads or bytes", 0);
    threads = n;
    emulated_memory = room;
    emulated_size = {n, 1};
    emulated_grid = {x, y};
    for (unsigned b = 0; b < y; b++)
        for (unsigned a = 0; a < x; a++) {
            emulated_group = {a, b};
            memset(room, 0xA5, shared);
            run_group();
        }
}
