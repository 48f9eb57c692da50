/*
 * client.h - what the clients of test_alloc_faults.sh share: a session that is repeated in child processes, in each of
 * which another allocation of the library fails, and checks of every number that a session gets.
 *
 * A number of a call may be right, or NaN with an error told.  Anything else is a
 * finding: a finite wrong number, NaN without an error where the interface has a
 * status, a crash, a hang, an exit of the process.  When no allocation fails any
 * more, the same session must succeed from end to end.
 */
#ifndef CLIENT_H
#define CLIENT_H

#include <stddef.h>

struct client {
    const char *name;
    void (*session)(void); /* opens, stores, computes, checks, closes; is called again and again */
};

/*
 * The whole of main.  Arguments say what the session meets: `once`, `forever` (allocations that fail), `address`,
 * `data` (limits on memory: RLIMIT_AS, RLIMIT_DATA), `memory`, `launch`, `lost`, `error` (calls of the driver).  Before
 * them `start=N` begins at the N-th, `every=N` takes every N-th only, `stay=1` meets all faults in one process, and
 * `chains=1` counts of the allocations with the same chain of callers the first, second, fourth, eighth and so on.
 */
int client_main(int argc, char **argv, const struct client *client);

/* What a call answered: CLIENT_SILENT if its interface has no status, else negative after an error. */
enum { CLIENT_SILENT = 1000 };

/* An error is a finding if all must succeed; returns the status. */
int client_told(const char *what, int status);

/*
 * Numbers of a call with that status: all must be right to `tolerance` times the largest of `want`, or, after an error,
 * all NaN; without a status each is right or NaN.
 */
void client_check(const char *what, int status, const double *got, const double *want, int n, double tolerance);

/* The same for whole numbers, of which `none` stands for NaN. */
void client_check_int(const char *what, int status, const int *got, const int *want, int n, int none);

/*
 * Results to compare with are computed once, by the first child, and kept for the others under a key, which client_key
 * makes of an earlier key and of the bytes on which a result depends.  client_recall: 1: here it is.
 */
unsigned long long client_key(unsigned long long key, const void *data, size_t bytes);
int client_recall(unsigned long long key, void *result, size_t bytes);
void client_keep(unsigned long long key, const void *result, size_t bytes);

/* A finding, if `good` is 0. */
void client_require(int good, const char *what);

/* 1: no fault is left, all must succeed. */
int client_is_sure(void);

/* ---- particles and sums that clients compare with ---- */

enum { CLIENT_N = 2500 };

/* Particles of a session; client_move changes all positions, and velocities, by its number. */
extern double client_x[CLIENT_N][3], client_v[CLIENT_N][3], client_m[CLIENT_N];
void client_move(int step);

/* Rows of three, to be read. */
#define CLIENT_READ(rows) ((const double(*)[3])(rows))

/*
 * Sums over particles 0 .. nj-1 for ni targets (x, v) with R2 = r^2 + eps2; target i skips particle skip[i]; nearest:
 * number of the nearest, without softening.  NULL: not wanted, or for skip: none.  Potentials are negative.
 */
void client_direct(int nj, int ni, const double (*x)[3], const double (*v)[3], const int *skip, double eps2,
                   double (*acc)[3], double (*jerk)[3], double *pot, int *nearest);

#endif
