/* client.c - see client.h. */
#define _GNU_SOURCE
#include "client.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/worst.h"
#include "alloc_faults.h"

/* Seconds of three sessions.  The first ones may have to compile the kernels of OpenCL, beside other tests. */
enum { TIME_LIMIT = 60, FIRST_LIMIT = 900 };

enum { FINDINGS_SHOWN = 12, FINDINGS_MOST = 200 };

/* What a child says; shared with its parent. */
static struct report {
    int done;          /* 1: the session came to its end */
    int told, missing; /* errors, and numbers that were NaN */
    long n;            /* the fault */
    int left;          /* 1: there may be more */
    long runs, runs_told;
    char call[40];     /* of the driver, that failed */
    char finding[200]; /* the first; "": none */
    struct alloc_faults_report allocation, crash;
} * report;

static int sure; /* 1: everything must succeed */

static alloc_faults_plan_function *plan;

/* ---------------------------------------------------------------- findings */

__attribute__((format(printf, 1, 2))) static void find(const char *format, ...)
{
    char text[sizeof report->finding];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (report->finding[0]) return;
    (void)snprintf(report->finding, sizeof report->finding, "%s%.170s", sure ? "without a fault: " : "", text);
}

int client_is_sure(void) { return sure; }

void client_require(int good, const char *what)
{
    if (!good) find("%s", what);
}

int client_told(const char *what, int status)
{
    if (status >= 0) return status;
    report->told++;
    if (sure) find("%s: status %d", what, status);
    return status;
}

void client_check(const char *what, int status, const double *got, const double *want, int n, double tolerance)
{
    double largest = 0;
    for (int k = 0; k < n; k++) largest = larger_of(largest, fabs(want[k]));
    for (int k = 0; k < n; k++) {
        const int is_nan = isnan(got[k]), is_right = fabs(got[k] - want[k]) <= tolerance * largest;
        report->missing += is_nan;
        if (is_nan && (sure || (status >= 0 && status != CLIENT_SILENT)))
            find("%s: NaN at %d of %d, status %d", what, k, n, status);
        else if (!is_nan && status < 0)
            find("FINITE NUMBER AFTER AN ERROR in %s: %g at %d of %d, status %d", what, got[k], k, n, status);
        else if (!is_nan && !is_right)
            find("FINITE WRONG NUMBER in %s: %.9g for %.9g at %d of %d", what, got[k], want[k], k, n);
    }
}

void client_check_int(const char *what, int status, const int *got, const int *want, int n, int none)
{
    for (int k = 0; k < n; k++) {
        const int is_none = got[k] == none, may_fail = !sure && (status < 0 || status == CLIENT_SILENT);
        if (status < 0 ? !is_none : got[k] != want[k] && !(is_none && may_fail))
            find("WRONG NUMBER in %s: %d for %d at %d of %d, status %d", what, got[k], want[k], k, n, status);
    }
}

/* ---------------------------------------------------------------- results that are kept */

enum { KEPT_BYTES = 1 << 24, KEPT_MOST = 512 };

/* Shared by all children; grows in the first of them alone. */
static struct kept {
    int n;
    size_t used; /* bytes */
    struct {
        unsigned long long key;
        size_t at;
    } entry[KEPT_MOST];
    char byte[KEPT_BYTES];
} * kept;

unsigned long long client_key(unsigned long long key, const void *data, size_t bytes)
{
    const unsigned char *const byte = data;
    for (size_t k = 0; k + 8 <= bytes; k += 8) {
        unsigned long long word;
        memcpy(&word, byte + k, 8);
        key = (key ^ word) * 0x9E3779B97F4A7C15ULL;
        key ^= key >> 29;
    }
    for (size_t k = bytes / 8 * 8; k < bytes; k++) key = (key ^ byte[k]) * 0x100000001B3ULL;
    return key;
}

int client_recall(unsigned long long key, void *result, size_t bytes)
{
    for (int k = 0; k < kept->n; k++)
        if (kept->entry[k].key == key) {
            memcpy(result, kept->byte + kept->entry[k].at, bytes);
            return 1;
        }
    return 0;
}

void client_keep(unsigned long long key, const void *result, size_t bytes)
{
    if (kept->n == KEPT_MOST || kept->used + bytes > KEPT_BYTES) return;
    kept->entry[kept->n].key = key;
    kept->entry[kept->n++].at = kept->used;
    memcpy(kept->byte + kept->used, result, bytes);
    kept->used += bytes;
}

/* ---------------------------------------------------------------- particles, sums */

double client_x[CLIENT_N][3], client_v[CLIENT_N][3], client_m[CLIENT_N];

static double uniform(unsigned long long *s)
{
    *s ^= *s << 13, *s ^= *s >> 7, *s ^= *s << 17;
    return (double)(*s >> 11) * 0x1p-53;
}

void client_move(int step)
{
    unsigned long long s = 88172645463325252ULL + (unsigned long long)step * 0x9E3779B97F4A7C15ULL;
    for (int k = 0; k < CLIENT_N; k++) {
        for (int axis = 0; axis < 3; axis++) {
            client_x[k][axis] = 2 * uniform(&s) - 1 + 0.5 * step;
            client_v[k][axis] = uniform(&s) - 0.5;
        }
        client_m[k] = 1 + uniform(&s);
    }
}

static void sum_directly(int nj, int ni, const double (*x)[3], const double (*v)[3], const int *skip, double eps2,
                         double (*acc)[3], double (*jerk)[3], double *pot, int *nearest)
{
    for (int i = 0; i < ni; i++) {
        double a[3] = {0}, b[3] = {0}, p = 0, closest = INFINITY;
        nearest[i] = -1;
        for (int j = 0; j < nj; j++) {
            double r[3], w[3], r2 = 0, rw = 0;
            if (skip && skip[i] == j) continue;
            for (int c = 0; c < 3; c++) r[c] = client_x[j][c] - x[i][c], w[c] = client_v[j][c] - (v ? v[i][c] : 0);
            for (int c = 0; c < 3; c++) r2 += r[c] * r[c], rw += r[c] * w[c];
            if (r2 < closest) closest = r2, nearest[i] = j;
            if (r2 + eps2 == 0) continue;
            const double of_r = 1 / sqrt(r2 + eps2), m3 = client_m[j] * of_r * of_r * of_r,
                         alpha = 3 * rw * of_r * of_r;
            for (int c = 0; c < 3; c++) a[c] += m3 * r[c], b[c] += m3 * (w[c] - alpha * r[c]);
            p -= client_m[j] * of_r;
        }
        memcpy(acc[i], a, sizeof a);
        memcpy(jerk[i], b, sizeof b);
        pot[i] = p;
    }
}

void client_direct(int nj, int ni, const double (*x)[3], const double (*v)[3], const int *skip, double eps2,
                   double (*acc)[3], double (*jerk)[3], double *pot, int *nearest)
{
    enum { ROWS_MOST = 512 };
    static struct {
        double acc[ROWS_MOST][3], jerk[ROWS_MOST][3], pot[ROWS_MOST];
        int nearest[ROWS_MOST];
    } all;
    const size_t rows = (size_t)ni;
    unsigned long long key = client_key(1, client_x, sizeof client_x);
    if (ni > ROWS_MOST) find("the client wants too many rows");
    if (ni > ROWS_MOST) return;
    key = client_key(client_key(client_key(key, client_v, sizeof client_v), &nj, sizeof nj), &ni, sizeof ni);
    key = client_key(client_key(key, x, rows * sizeof *x), &eps2, sizeof eps2);
    if (v) key = client_key(key, v, rows * sizeof *v);
    if (skip) key = client_key(key, skip, rows * sizeof *skip);
    if (!client_recall(key, &all, sizeof all)) {
        sum_directly(nj, ni, x, v, skip, eps2, all.acc, all.jerk, all.pot, all.nearest);
        client_keep(key, &all, sizeof all);
    }
    if (acc) memcpy(acc, all.acc, rows * sizeof *acc);
    if (jerk) memcpy(jerk, all.jerk, rows * sizeof *jerk);
    if (pot) memcpy(pot, all.pot, rows * sizeof *pot);
    if (nearest) memcpy(nearest, all.nearest, rows * sizeof *nearest);
}

/* ---------------------------------------------------------------- one child */

enum fault { ALLOCATION, LIMIT, DRIVER };

/* How a walk is done. */
struct walk {
    const char *title;
    enum fault fault;
    int detail; /* ALLOCATION: 1: for good from there; LIMIT: RLIMIT_AS, RLIMIT_DATA */
    long every, start;
    enum alloc_faults_counted counted;
    int stay; /* 1: a child goes on with the next fault, so that what it has loaded serves for all */
};

/* Of driver_faults.c, where that is linked: driver calls that fail. */
extern void client_driver_plan(long n, const char *kind) __attribute__((weak));
extern const char *client_driver_failed(void) __attribute__((weak));

/* Bytes that count for the limit now: the first number of /proc/self/statm, or the sixth, in pages. */
static size_t bytes_now(int resource)
{
    char line[200] = "", *at = line;
    unsigned long pages = 0;
    FILE *const file = fopen("/proc/self/statm", "r");
    if (file && !fgets(line, sizeof line, file)) line[0] = '\0';
    if (file) (void)fclose(file);
    for (int k = resource == RLIMIT_AS ? 1 : 6; k > 0; k--) pages = strtoul(at, &at, 10);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* The n-th limit: 16 KB beyond what is in use, then a fifth more each time, up to some hundred megabytes. */
static size_t step_of_limit(long n)
{
    double step = 16384;
    for (long k = 1; k < n; k++) step *= 1.2;
    return (size_t)step / 4096 * 4096;
}

enum { LIMITS = 54 };

static void limit_memory(int resource, size_t bytes)
{
    struct rlimit limit;
    /* NOLINTBEGIN(clang-diagnostic-sign-conversion): resources are an enum of glibc, and an int elsewhere */
    (void)getrlimit(resource, &limit);
    limit.rlim_cur = bytes ? bytes : limit.rlim_max;
    (void)setrlimit(resource, &limit);
    /* NOLINTEND(clang-diagnostic-sign-conversion) */
}

static void begin_fault(const struct walk *w, long n)
{
    memset(&report->allocation, 0, sizeof report->allocation); /* with stay=1, of the fault before */
    if (w->fault == ALLOCATION) plan(n, w->detail, w->counted, &report->allocation);
    if (w->fault == LIMIT) limit_memory(w->detail, bytes_now(w->detail) + step_of_limit(n));
    if (w->fault == DRIVER) client_driver_plan(n, w->title);
}

/* 0: no fault was left, the walk is over. */
static int end_fault(const struct walk *w)
{
    if (w->fault == ALLOCATION) plan(0, 0, w->counted, NULL);
    if (w->fault == LIMIT) limit_memory(w->detail, 0);
    if (w->fault != DRIVER) return w->fault == LIMIT ? report->n + w->every <= LIMITS : report->allocation.failed > 0;
    const char *const call = client_driver_failed();
    if (call) (void)snprintf(report->call, sizeof report->call, "%s", call);
    if (!call) client_driver_plan(0, w->title); /* a lost device stays lost until the session has closed it */
    return call != NULL;
}

/* Keeps where a crash happened, then lets it happen: not safe in a signal handler, but the child is lost anyway. */
static void note_crash(int number)
{
    // NOLINTBEGIN(bugprone-signal-handler, cert-sig30-c)
    const char *const call = client_driver_failed ? client_driver_failed() : NULL;
    if (call) (void)snprintf(report->call, sizeof report->call, "%s", call);
    report->crash.frames = backtrace(report->crash.frame, ALLOC_FAULTS_FRAMES);
    // NOLINTEND(bugprone-signal-handler, cert-sig30-c)
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void watch_crashes(void)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    void *first[2];
    (void)backtrace(first, 2); /* its first call loads a library */
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) (void)signal(numbers[k], note_crash);
}

/* One fault, n = 0: none; then all must be well. */
static void run_fault(const struct client *client, const struct walk *w, long n)
{
    (void)alarm(n == 0 ? FIRST_LIMIT : TIME_LIMIT);
    report->n = n;
    report->told = report->missing = 0;
    report->call[0] = '\0';
    sure = n == 0;
    if (n > 0) begin_fault(w, n);
    client->session();
    report->left = n > 0 && end_fault(w);
    /* a device comes back when all contexts on it are closed, and each notices by a force of its own that it is lost */
    if (n > 0 && w->fault == DRIVER) client->session();
    sure = 1;
    client->session();
    report->runs++;
    report->runs_told += report->told || report->missing;
}

/* From the n-th fault on. */
static void run_child(const struct client *client, const struct walk *w, long n)
{
    watch_crashes();
    run_fault(client, w, n);
    while (w->stay && report->left && !report->finding[0]) run_fault(client, w, n += w->every);
    report->done = 1;
    _exit(0);
}

/* ---------------------------------------------------------------- the walk */

static void show_frames(const struct alloc_faults_report *a)
{
    for (int k = 1; k < a->frames && k < 12; k++) {
        Dl_info info;
        char command[600], line[200] = "";
        if (!dladdr(a->frame[k], &info) || !info.dli_fname) continue;
        const size_t offset = (size_t)((char *)a->frame[k] - (char *)info.dli_fbase) - 1;
        (void)snprintf(command, sizeof command, "LD_PRELOAD= addr2line -f -e '%s' 0x%zx 2>/dev/null", info.dli_fname,
                       offset);
        FILE *const pipe = popen(command, "r"); // NOLINT(cert-env33-c): our own file names
        if (pipe && !fgets(line, sizeof line, pipe)) line[0] = '\0';
        if (pipe) (void)pclose(pipe);
        line[strcspn(line, "\n")] = '\0';
        printf("%s %s", k == 1 ? "#     in" : " <-", line[0] ? line : info.dli_fname);
    }
    printf("\n");
}

/* What became of a child; NULL: all is well. */
static const char *verdict(int status)
{
    static char text[300];
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        (void)snprintf(text, sizeof text, "HANG: no end after %d s", report->n == 0 ? FIRST_LIMIT : TIME_LIMIT);
    else if (WIFSIGNALED(status))
        (void)snprintf(text, sizeof text, "CRASH: signal %d", WTERMSIG(status));
    else if (!report->done)
        (void)snprintf(text, sizeof text, "EXIT: the library ended the process with status %d", WEXITSTATUS(status));
    else if (report->finding[0])
        (void)snprintf(text, sizeof text, "%s", report->finding);
    else
        return NULL;
    return text;
}

extern pid_t _Fork(void); /* no handlers: in a child the library may start threads as in any process */

/* A child from the n-th fault on; its status. */
static int step(const struct client *client, const struct walk *w, long n)
{
    int status = 0;
    memset(report, 0, sizeof *report);
    (void)fflush(stdout);
    const pid_t child = _Fork();
    if (child == 0) run_child(client, w, n);
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("fork");
        exit(2);
    }
    return status;
}

static void show(const struct walk *w, const char *finding)
{
    printf("#   %s %ld: %s\n", w->title, report->n, finding);
    if (report->call[0]) printf("#     the driver's %s\n", report->call);
    if (report->allocation.frames) show_frames(&report->allocation);
    if (report->crash.frames) show_frames(&report->crash);
}

/* The number of findings. */
static int walk(const struct client *client, const struct walk *w)
{
    long n = w->start, runs = 0, told = 0;
    const char *const good = verdict(step(client, w, 0));
    int findings = good != NULL;
    if (good) printf("#   without a fault: %s\n", good);
    for (int left = !findings; left; n = report->n + w->every) {
        const int status = step(client, w, n);
        const char *const what = verdict(status);
        if (what && findings++ < FINDINGS_SHOWN) show(w, what);
        runs += report->runs;
        told += report->runs_told;
        left = report->done ? report->left : findings < FINDINGS_MOST;
    }
    const char *const engine = getenv("SAPPORO_BACKEND");
    printf("%s - %s, %s: %s: %ld runs, %ld of them told of errors, %d findings\n", findings ? "not ok" : "ok",
           client->name, engine ? engine : "auto", w->title, runs, told, findings);
    return findings;
}

static const struct walk walks[] = {{.title = "once", .fault = ALLOCATION, .detail = 0},
                                    {.title = "forever", .fault = ALLOCATION, .detail = 1},
                                    {.title = "address", .fault = LIMIT, .detail = RLIMIT_AS},
                                    {.title = "data", .fault = LIMIT, .detail = RLIMIT_DATA},
                                    {.title = "memory", .fault = DRIVER},
                                    {.title = "launch", .fault = DRIVER},
                                    {.title = "lost", .fault = DRIVER},
                                    {.title = "error", .fault = DRIVER}};

/* A number behind a name; -1: it is not that argument. */
static long option(const char *argument, const char *name)
{
    const size_t n = strlen(name);
    return strncmp(argument, name, n) == 0 ? strtol(argument + n, NULL, 10) : -1;
}

static int walk_by(const struct client *client, const char *title, const struct walk *options)
{
    for (size_t k = 0; k < sizeof walks / sizeof walks[0]; k++) {
        struct walk w = walks[k];
        if (strcmp(title, w.title) != 0) continue;
        if (w.fault == DRIVER ? client_driver_plan == NULL : w.fault == ALLOCATION && plan == NULL) break;
        w.every = options->every, w.start = options->start, w.stay = options->stay, w.counted = options->counted;
        return walk(client, &w);
    }
    printf("not ok - %s: '%s' is not a kind of fault, or alloc_faults.so or driver_faults.c is missing\n", client->name,
           title);
    return 1;
}

int client_main(int argc, char **argv, const struct client *client)
{
    struct walk options = {.every = 1, .start = 1};
    int findings = 0;
    // cppcheck-suppress invalidFunctionArg ; no file
    report = mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    // cppcheck-suppress invalidFunctionArg ; no file
    kept = mmap(NULL, sizeof *kept, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *(void **)&plan = dlsym(RTLD_DEFAULT, "alloc_faults_plan");
    if (report == MAP_FAILED || kept == MAP_FAILED) return 2;
    for (int k = 1; k < argc; k++) {
        if (option(argv[k], "every=") > 0)
            options.every = option(argv[k], "every=");
        else if (option(argv[k], "start=") > 0)
            options.start = option(argv[k], "start=");
        else if (option(argv[k], "stay=") >= 0)
            options.stay = option(argv[k], "stay=") > 0;
        else if (option(argv[k], "chains=") >= 0)
            options.counted = option(argv[k], "chains=") > 0 ? ALLOC_FAULTS_BY_CALLERS : ALLOC_FAULTS_ALL;
        else
            findings += walk_by(client, argv[k], &options);
    }
    return findings > 0;
}
