/*
 * model.h - star clusters for tests, and forces on them through sapporo.h.
 *
 * A problem is everything on which a force depends; an answer is everything that the library returns.
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
    double eps2; /* its own squared softening */
};

/* An i-particle. */
struct target {
    double x[3], v[3], a[3], jerk[3], h2;
    int index;
    double eps2; /* its own squared softening */
    double dtr;  /* time ahead, for problems with `outside` */
};

struct problem {
    int nbodies, ntargets;
    struct body *body; /* in the order in which they are stored */
    struct target *target;
    int nj, no_index; /* no_index: i-particles have none, every pair counts */
    double time, eps2;
    int order; /* 2: bodies do not move, there is no jerk; 0 or 4: they are predicted; 6, 8: with more terms */
    int outside, by_mass; /* SAPPORO_PAIRS_OUTSIDE: bodies within h leave the force; by_mass: h2 times the mass of j */
    int soft;             /* SOFT_: which particles have an eps2 beside the common one */
};

enum { SOFT_TARGETS = 1, SOFT_BODIES = 2 };

/* Returns memory of zeros; ends the program if there is not enough. */
void *zeroed(size_t n, size_t size);

/* Returns 1 if n doubles have the same bits. */
int same_doubles(const double *a, const double *b, int n);

/*
 * Returns the kilobytes of this process in memory; 0 if the system does not tell, or if SAPPORO_TEST_OBSERVED is set:
 * an instrument such as compute-sanitizer, which allocates in the process that it observes, would be counted, too.
 */
long resident_kilobytes(void);

/* Returns the bytes that malloc has given out and not got back; 0 under the same conditions. */
size_t allocated_bytes(void);

void problem_free(struct problem *p);

/* Allocates bodies and targets, all zero. */
void problem_new(struct problem *p, int nbodies, int ntargets);

/* Makes a Plummer sphere of mass 1 in N-body units at time 0; element k has address k, indices are in no order. */
void model_plummer(struct body *body, int n, uint64_t seed);

/* Sets acceleration, jerk and so on to about those in a Plummer sphere's field, up to derivative `highest`. */
void model_derivatives(struct body *body, int n, int highest);

/* Puts each target at rest at the body of its number, with one squared radius. */
void model_targets(struct problem *p, double h2);

/* Sets the times of bodies at random within `spread` of `middle`. */
void model_times(struct body *body, int n, double middle, double spread, uint64_t seed);

/* Brings elements into random order. */
void model_shuffle(void *base, int n, size_t size, uint64_t seed);

/* ---- engines: instruction paths and accelerators times precisions ---- */

struct engine {
    const char *name, *isa; /* isa: an instruction path of the CPU engine, else NULL */
    sapporo_precision precision;
    sapporo_backend backend;
    int order;         /* 2, 6, 8, or 0 for 4 */
    sapporo_root root; /* FAST: order 2, sp, CPU */
};

/* CPU engines come first, three precisions per path. */
#if defined(__aarch64__)
enum { ISAS = 2 }; /* instruction paths */
#else
enum { ISAS = 4 };
#endif
enum { CPU_ENGINES = 3 * ISAS, ENGINES = CPU_ENGINES + 9 };

extern const struct engine engines[ENGINES];

/* The same for order 2, with fast roots as a fourth engine per path. */
enum { CPU_ENGINES2 = 4 * ISAS, ENGINES2 = CPU_ENGINES2 + 9 };

extern const struct engine engines2[ENGINES2];

/* The same for orders 6 and 8: ds and dp. */
enum { CPU_ENGINES68 = 2 * ISAS, ENGINES68 = CPU_ENGINES68 + 6 };

extern const struct engine engines6[ENGINES68], engines8[ENGINES68];

/*
 * Returns 1 if this machine and build have the engine, and SAPPORO_TEST_ENGINES (the name of a backend) does not
 * exclude it; otherwise prints `skip: why`.
 */
int engine_usable(const struct engine *engine);

/* Runs a test on each of n engines that `serves` accepts; it is skipped if that is none. */
void engines_on_each(const struct engine *list, int n, int (*serves)(const struct engine *e),
                     void (*test)(const struct engine *e));

/*
 * Returns 1 if tests leave out engines for which other engines are representative: always, unless SAPPORO_TEST_SPARING
 * is 0.
 */
int test_sparing(void);

/* Returns the engine for tests that need only one: the widest path in ds, or that of SAPPORO_TEST_ENGINES. */
const struct engine *engine_any(void);

/* Opens a context on an engine; fails the test if that is not possible. */
sapporo *engine_open(const struct engine *engine, int threads);

/* Opens a context on devices of an accelerator. */
sapporo *engine_open_on(const struct engine *engine, const int *devices, int ndevices);

/* ---- forces ---- */

enum { OUT_NEAREST = SAPPORO_WANT_NEAREST, OUT_LISTS = SAPPORO_WANT_LISTS };

/* The way to ask for a force. */
struct ask {
    unsigned outputs; /* OUT_: results beside the sums */
    unsigned want;    /* the hint to sapporo_force_begin */
    int batch;        /* i-particles per call; 0: all */
};

struct answer {
    double acc[3], jerk[3], snap[3], crackle[3], pot, nearest_r2;
    int nearest, nlist;
    int *list;
};

/* Loads the bodies in their order, and sets the time. */
void problem_load(sapporo *c, const struct problem *p);

/* Returns the request for the targets from, from + 1, ... */
sapporo_request problem_request(const struct problem *p, int from, int n);

/* Computes forces on all targets; every call must return SAPPORO_OK.  Free the result with answers_free. */
struct answer *problem_solve(sapporo *c, const struct problem *p, const struct ask *how);
void answers_free(struct answer *a, int n);

/* Gets the list of a job's target i. */
void answer_take_list(struct answer *a, sapporo_job *job, int i);

/* ---- the same bits in all circumstances ---- */

enum { STANDARD_N = 4700, STANDARD_NI = 200 };

/* Makes a problem of three tiles with gaps, the last not full, predicted from individual times. */
void standard_problem(struct problem *p, double eps2);

/* Returns answers from a new context, or from a given one that it then closes. */
struct answer *solve_with(const struct engine *e, int threads, const struct problem *p, const struct ask *how);
struct answer *solve_and_close(sapporo *c, const struct problem *p, const struct ask *how);

/* A test of an engine; `standard` are the answers of one thread that computes all targets in one call. */
typedef void engine_test(const struct engine *e, const struct problem *p, const struct answer *standard);

/* Runs a test on every usable engine, with and without softening; skips it if there is none. */
void on_all_engines(engine_test *test);

/* Runs a test on the engines of an order.  In order 2 without common softening, most particles have their own. */
void on_all_engines_of(int order, engine_test *test);

/* Returns the highest derivative that an order uses. */
int highest_of(int order);

/* Returns a body as a particle of the library. */
sapporo_particle particle_of(const struct body *b);

/* Checks answers against the standard, and frees them. */
void expect(const char *what, const struct engine *e, const struct problem *p, struct answer *a,
            const struct answer *standard, unsigned outputs);

/* Fails the test if answers differ in a bit; outputs names the results to compare beside the sums. */
void answers_same(const char *what, const struct answer *a, const struct answer *b, int n, unsigned outputs);

#endif
