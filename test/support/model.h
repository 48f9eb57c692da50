/*
 * model.h - star clusters for tests, and forces on them through sapporo.h.
 *
 * A problem is everything that a force depends on; an answer is everything that
 * the library says about it.
 */
#ifndef TEST_MODEL_H
#define TEST_MODEL_H

#include <stddef.h>

#include "rng.h"
#include "sapporo.h"

enum { TERMS = 8 }; /* x, v, acceleration, jerk, snap; crackle of order 6; two more of order 8 */

/* A j-particle; derivatives are full values at its own time. */
struct body {
    double derivative[TERMS][3];
    double mass, time;
    int index, address;
    double eps2; /* squared softening of its own */
};

/* An i-particle. */
struct target {
    double x[3], v[3], a[3], jerk[3], h2;
    int index;
    double eps2; /* squared softening of its own */
    double dtr;  /* time ahead, of problems with `outside` */
};

struct problem {
    int nbodies, ntargets;
    struct body *body; /* in order of arrival */
    struct target *target;
    int nj, no_index; /* no_index: i-particles have none, every pair counts */
    double time, eps2;
    int order; /* 2: bodies stay where they are, there is no jerk; 0 or 4: they are predicted; 6, 8: with more terms */
    int outside, by_mass; /* SAPPORO_PAIRS_OUTSIDE: who is within h leaves the force; with h2 times the mass of j */
    int soft;             /* SOFT_: whose eps2 counts beside the common one */
};

enum { SOFT_TARGETS = 1, SOFT_BODIES = 2 };

/* Memory of zeros; there is always some. */
void *zeroed(size_t n, size_t size);

/* 1 if n doubles have the same bits. */
int same_doubles(const double *a, const double *b, int n);

/* Kilobytes of this process in memory; 0 if it is not told. */
long resident_kilobytes(void);

/* What malloc has given out and not got back; 0 where the C library does not tell. */
size_t allocated_bytes(void);

void problem_free(struct problem *p);

/* Room for bodies and targets, all zero. */
void problem_new(struct problem *p, int nbodies, int ntargets);

/* A Plummer sphere of mass 1 in N-body units at time 0, address k at place k, indices in no order. */
void model_plummer(struct body *body, int n, uint64_t seed);

/* Gives bodies acceleration, jerk and so on about as a Plummer sphere's field would, up to derivative `highest`. */
void model_derivatives(struct body *body, int n, int highest);

/* Sets the times of bodies anywhere within `spread` of `middle`. */
void model_times(struct body *body, int n, double middle, double spread, uint64_t seed);

/* Brings elements into random order. */
void model_shuffle(void *base, int n, size_t size, uint64_t seed);

/* ---- engines: instruction paths and accelerators times precisions ---- */

struct engine {
    const char *name, *isa; /* isa: NULL unless it is a path of the CPU engine */
    sapporo_precision precision;
    sapporo_backend backend;
    int order;         /* 2, 6, 8, or 0 for 4 */
    sapporo_root root; /* FAST: order 2, sp, CPU */
};

/* The CPU's come first, three precisions a path. */
enum { ISAS = 4, CPU_ENGINES = 3 * ISAS, ENGINES = CPU_ENGINES + 6 };

extern const struct engine engines[ENGINES];

/* The same for order 2, and those with fast roots: a fourth one a path. */
enum { CPU_ENGINES2 = 4 * ISAS, ENGINES2 = CPU_ENGINES2 + 6 };

extern const struct engine engines2[ENGINES2];

/* The same for orders 6 and 8: ds and dp. */
enum { CPU_ENGINES68 = 2 * ISAS, ENGINES68 = CPU_ENGINES68 + 4 };

extern const struct engine engines6[ENGINES68], engines8[ENGINES68];

/*
 * 1 if this machine and build have the engine, and SAPPORO_TEST_ENGINES (the name of a backend) does not leave it
 * out; tells `skip: why` if not.
 */
int engine_usable(const struct engine *engine);

/* Whether tests leave out what others tell of: always, unless SAPPORO_TEST_SPARING is 0. */
int test_sparing(void);

/* For tests that need only one: scalar ds, or that of the accelerator that SAPPORO_TEST_ENGINES names. */
const struct engine *engine_any(void);

/* A context on an engine; fails the test if there is none. */
sapporo *engine_open(const struct engine *engine, int threads);

/* The same on devices of an accelerator. */
sapporo *engine_open_on(const struct engine *engine, const int *devices, int ndevices);

/* ---- forces ---- */

enum { OUT_NEAREST = SAPPORO_WANT_NEAREST, OUT_LISTS = SAPPORO_WANT_LISTS };

/* How a force is asked for. */
struct ask {
    unsigned outputs; /* OUT_: delivered beside the sums */
    unsigned want;    /* the hint to sapporo_force_begin */
    int batch;        /* i-particles a call; 0: all */
};

struct answer {
    double acc[3], jerk[3], snap[3], crackle[3], pot, nearest_r2;
    int nearest, nlist;
    int *list;
};

/* Loads the bodies in their order, and sets the time. */
void problem_load(sapporo *c, const struct problem *p);

/* The request of targets from, from + 1, ... */
sapporo_request problem_request(const struct problem *p, int from, int n);

/* Forces on all targets; every call must return SAPPORO_OK.  Free with answers_free. */
struct answer *problem_solve(sapporo *c, const struct problem *p, const struct ask *how);
void answers_free(struct answer *a, int n);

/* Gets the list of a job's target i. */
void answer_take_list(struct answer *a, sapporo_job *job, int i);

/* ---- the same bits, whatever else ---- */

enum { STANDARD_N = 4700, STANDARD_NI = 200 };

/* Three tiles with gaps, the last not full, predicted from times of their own. */
void standard_problem(struct problem *p, double eps2);

/* Answers from a context of its own, or from one that is then closed. */
struct answer *solve_with(const struct engine *e, int threads, const struct problem *p, const struct ask *how);
struct answer *solve_and_close(sapporo *c, const struct problem *p, const struct ask *how);

/* What must be so on an engine: `standard` are all answers of one thread that takes all targets at once. */
typedef void engine_test(const struct engine *e, const struct problem *p, const struct answer *standard);

/* Runs a test on every usable engine, with and without softening; skips it if there is none. */
void on_all_engines(engine_test *test);

/* The same on engines of an order; of order 2, without common softening each particle has its own, but for some. */
void on_all_engines_of(int order, engine_test *test);

/* The highest derivative that an order uses. */
int highest_of(int order);

/* A body as the library takes it. */
sapporo_particle particle_of(const struct body *b);

/* Checks answers against the standard, and frees them. */
void expect(const char *what, const struct engine *e, const struct problem *p, struct answer *a,
            const struct answer *standard, unsigned outputs);

/* Fails the test where answers differ in a bit; outputs names what is compared beside the sums. */
void answers_same(const char *what, const struct answer *a, const struct answer *b, int n, unsigned outputs);

#endif
