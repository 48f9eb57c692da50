/*
 * test_dlopen.c - opens and closes each library by dlopen and dlclose many times, used and unused: nothing leaks, and
 * threads that sleep in its code do no harm.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sapporo.h"

/* The C library settles in the first hundred cycles, and keeps FEW bytes for itself. */
enum { CYCLES = 200, WARM = 100, FEW = 2048 };

/* Sanitizers map memory beside every access. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static const char *const libraries[] = {"sapporo",         "g6",           "pg5_symmetric", "sapporo6th",
                                        "yebisug6",        "nbody6pp_gpu", "nbody6_gpu",    "nbody7_gpu",
                                        "nbody6_2010_gpu", "cunbody1",     "harp3",         "g5c"};

/* A function of a library, or NULL. */
#define FUNCTION(library, pointer, name)                                                                               \
    do {                                                                                                               \
        void *const found = dlsym(library, name);                                                                      \
        memcpy(&(pointer), &found, sizeof(pointer));                                                                   \
    } while (0)

/* Bytes that are allocated. */
static size_t allocated(void)
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    const struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
#else
    return 0;
#endif
}

/* Mapped pages of the process. */
static long mapped(void)
{
    char line[64] = "";
    FILE *const f = fopen("/proc/self/statm", "r");
    if (f && !fgets(line, sizeof line, f)) line[0] = '\0';
    if (f) (void)fclose(f);
    return strtol(line, NULL, 10);
}

/* A force by several threads in a context that is closed afterwards; how much is wrong. */
static int use(void *library)
{
    enum { N = 3000 };
    static double x[N][3], acc[N][3], pot[N];
    int (*open_context)(const sapporo_options *, sapporo **) = NULL;
    int (*set)(sapporo *, int, const sapporo_particle *) = NULL;
    int (*begin)(sapporo *, const sapporo_request *, sapporo_job **) = NULL;
    int (*end)(sapporo_job *, int, const sapporo_result *) = NULL;
    void (*release)(sapporo_job *) = NULL;
    void (*close_context)(sapporo *) = NULL;
    sapporo *c = NULL;
    sapporo_job *job = NULL;
    FUNCTION(library, open_context, "sapporo_open");
    FUNCTION(library, set, "sapporo_set_particle");
    FUNCTION(library, begin, "sapporo_force_begin");
    FUNCTION(library, end, "sapporo_force_end");
    FUNCTION(library, release, "sapporo_force_free");
    FUNCTION(library, close_context, "sapporo_close");
    if (!open_context || !set || !begin || !end || !release || !close_context) return 1;
    const sapporo_options options = {.size = sizeof options, .backend = SAPPORO_BACKEND_CPU, .order = 2, .threads = 4};
    if (open_context(&options, &c)) return 1;
    int wrong = 0;
    for (int k = 0; k < N; k++) {
        for (int axis = 0; axis < 3; axis++) x[k][axis] = sin(3 * k + axis);
        const sapporo_particle p = {.mass = 1, .derivative = {{x[k][0], x[k][1], x[k][2]}}};
        wrong += set(c, k, &p) != SAPPORO_OK;
    }
    const sapporo_request request = {.size = sizeof request, .nj = N, .ni = 600, .x = {.base = x}, .eps2 = 1};
    const sapporo_result result = {.size = sizeof result, .acc = acc, .pot = pot};
    wrong += begin(c, &request, &job) != SAPPORO_OK || end(job, 600, &result) != SAPPORO_OK || !(pot[0] < 0);
    release(job);
    close_context(c);
    return wrong;
}

/* Cycles with one library; how much is wrong. */
static int cycles(const char *path, int used)
{
    size_t bytes = 0;
    long pages = 0;
    int wrong = 0;
    for (int k = 0; k < CYCLES && !wrong; k++) {
        void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        if (used && k % 10 == 0) wrong += use(library);
        wrong += dlclose(library) != 0;
        if (k != WARM) continue;
        bytes = allocated();
        pages = mapped();
    }
    if (allocated() > bytes + FEW || (!SANITIZED && mapped() > pages + 256)) {
        fprintf(stderr, "%s: %zu bytes, %ld pages more\n", path, allocated() - bytes, mapped() - pages);
        wrong++;
    }
    return wrong;
}

static void nothing_is_lost(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof libraries / sizeof *libraries; k++) {
        char path[512];
        int status = 0;
        (void)snprintf(path, sizeof path, "lib/lib%s.so", libraries[k]);
        (void)fflush(NULL);
        const pid_t child = fork(); /* in which no library is loaded */
        assert_true(child >= 0);
        if (child == 0) {
            (void)alarm(300);
            _exit(cycles(path, 0) + (k < 2 ? cycles(path, 1) : 0));
        }
        (void)waitpid(child, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status)) fail_msg("lib%s: status %x", libraries[k], (unsigned)status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_lost)};
    return cmocka_run_group_tests_name("dlopen", tests, NULL, NULL);
}
