/*
 * snapshot_hdf5.c - finds out whether a file is HDF5, and reads it in a second process.
 *
 * libhdf5 can end the process that opens a damaged file, as 1.10.8 does.  So a child process reads the file and sends
 * the particles through a pipe; if the child ends without them, the file is damaged.  The child writes no core file,
 * prints nothing, and ends after a time that grows with the size of the file.
 */
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE   700
#include "snapshot_hdf5.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int snapshot_hdf5_is(const char *path)
{
    static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    unsigned char first[sizeof signature];
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) return 0;
    FILE *const file = fopen(path, "rb");
    if (!file) return 0;
    const size_t got = fread(first, 1, sizeof first, file);
    fclose(file);
    return got == sizeof first && !memcmp(first, signature, sizeof first);
}

#ifdef SNAPSHOT_HDF5_BUILT

enum { STANDARD = 3, SECONDS = 60, BYTES_PER_SECOND = 1000000 };

/* What the child sends first; the arrays of the set follow. */
typedef struct letter {
    int status;
    message about;
    bodies set;
} letter;

int snapshot_hdf5_built(void) { return 1; }

/* ---- child -------------------------------------------------------------------------------- */

static int send_bytes(int to, const void *bytes, size_t n)
{
    const char *at = bytes;
    while (n > 0) {
        const ssize_t done = write(to, at, n);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return -1;
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

/* Limits what a damaged file can do to the process. */
static void limit_child(const char *path)
{
    struct stat about;
    const rlim_t bytes = stat(path, &about) == 0 ? (rlim_t)about.st_size : 0;
    const struct rlimit none = {0, 0}, time = {SECONDS + bytes / BYTES_PER_SECOND, RLIM_INFINITY};
    static const int fatal[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGXCPU, SIGPIPE};
    const int silent = open("/dev/null", O_WRONLY);
    for (size_t k = 0; k < sizeof fatal / sizeof *fatal; k++) (void)signal(fatal[k], SIG_DFL);
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)setrlimit(RLIMIT_CPU, &time);
    if (silent >= 0) (void)dup2(silent, STDERR_FILENO);
}

static void read_and_send(const char *path, int to)
{
    static letter l; /* zero, also where it is not set */
    limit_child(path);
    l.status = snapshot_hdf5_read_here(path, &l.set, &l.about);
    const bodies *const set = &l.set;
    const size_t n = l.status ? 0 : (size_t)set->n;
    const int failed = send_bytes(to, &l, sizeof l) || send_bytes(to, set->id, n * sizeof *set->id) ||
                       send_bytes(to, set->mass, n * sizeof *set->mass) || send_bytes(to, set->x, n * sizeof *set->x) ||
                       send_bytes(to, set->v, n * sizeof *set->v);
    _exit(failed ? 1 : 0);
}

/* ---- parent ------------------------------------------------------------------------------- */

static int receive_bytes(int from, void *bytes, size_t n)
{
    char *at = bytes;
    while (n > 0) {
        const ssize_t done = read(from, at, n);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return -1;
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

static int fail_damaged(const char *path, message *about)
{
    return complain(about, "%s: libhdf5 cannot read this file: it is damaged", path);
}

/* Takes what the child sends. */
static int receive(const char *path, int from, bodies *set, message *about)
{
    static letter l;
    if (receive_bytes(from, &l, sizeof l)) return fail_damaged(path, about);
    l.about.text[sizeof l.about.text - 1] = 0;
    *about = l.about;
    if (l.status) return about->text[0] ? -1 : fail_damaged(path, about);
    if (l.set.n <= 0) return fail_damaged(path, about);
    if (bodies_allocate(set, l.set.n)) return complain(about, "%s: out of memory for %d particles", path, l.set.n);
    const size_t n = (size_t)set->n;
    set->time = l.set.time;
    set->G = l.set.G;
    memcpy(set->units, l.set.units, sizeof set->units - 1);
    memcpy(set->parts, l.set.parts, sizeof set->parts - 1);
    if (!receive_bytes(from, set->id, n * sizeof *set->id) && !receive_bytes(from, set->mass, n * sizeof *set->mass) &&
        !receive_bytes(from, set->x, n * sizeof *set->x) && !receive_bytes(from, set->v, n * sizeof *set->v))
        return 0;
    bodies_free(set);
    return fail_damaged(path, about);
}

/* Opens a pipe whose ends are no standard streams. */
static int open_pipe(int end[2])
{
    int low[2];
    if (pipe(low) != 0) return -1;
    for (int k = 0; k < 2; k++) end[k] = fcntl(low[k], F_DUPFD_CLOEXEC, STANDARD);
    for (int k = 0; k < 2; k++) close(low[k]);
    if (end[0] >= 0 && end[1] >= 0) return 0;
    for (int k = 0; k < 2; k++)
        if (end[k] >= 0) close(end[k]);
    return -1;
}

int snapshot_hdf5_read(const char *path, bodies *set, message *about)
{
    int end[2];
    *set = (bodies){0};
    if (open_pipe(end)) return complain(about, "%s: %s", path, strerror(errno));
    const pid_t child = fork();
    if (child == 0) read_and_send(path, end[1]);
    close(end[1]);
    const int status = child > 0 ? receive(path, end[0], set, about) : complain(about, "%s: %s", path, strerror(errno));
    close(end[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
    return status;
}

#else

static const char MISSING[] = "this program was built without HDF5 (install libhdf5 and build again: make HDF5=1)";

int snapshot_hdf5_built(void) { return 0; }

int snapshot_hdf5_read(const char *path, bodies *set, message *about)
{
    *set = (bodies){0};
    return complain(about, "%s: %s", path, MISSING);
}

int snapshot_hdf5_write(const char *path, const bodies *set, message *about)
{
    (void)set;
    return complain(about, "cannot write %s: %s", path, MISSING);
}

#endif
