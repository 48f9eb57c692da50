/*
 * oracle.h - what the library must answer: particles as they are stored, and forces in extended precision.
 *
 * Nothing here comes from the library's sources but two decisions that docs/numerics.md fixes to the bit: the predicted
 * position in double, and the squared distance in double.  Nearest neighbours and lists follow from them exactly.
 * Sums are in long double, with a bound of the error that a precision may have; where coordinates or terms leave the
 * ranges of docs/numerics.md there is no bound, and any number is right that the call has written.
 */
#ifndef FUZZ_ORACLE_H
#define FUZZ_ORACLE_H

#include "sapporo.h"

typedef long double real;

enum { TERMS_MOST = 8 };

/* A j-particle as it is stored. */
struct particle {
    int address, index;
    double term[TERMS_MOST][3]; /* orders 2 and 4: x, v, acc/2, jerk/6, snap/18; others: full derivatives */
    double mass, time, eps2;
    int is_bad; /* a number that counts is not finite */
};

/* Particles by address. */
struct store {
    int order, n, room;
    struct particle *at;
};

void store_clear(struct store *s);
/* Stores a particle; sets its is_bad.  Terms that the order does not have become zero. */
void store_put(struct store *s, const struct particle *p);
void store_remove(struct store *s, int address);
/* The particle at an address; NULL: none.  Valid until the next store_put. */
const struct particle *store_find(const struct store *s, int address);

/* Predicted in double, by the fixed sequence of operations: derivatives 0 .. n-1. */
void predict_double(const struct store *s, const struct particle *p, double time, int n, double (*to)[3]);

/* Whether particles are so far out, fast, heavy or light that those beside them may be beyond the ranges, too. */
int store_is_wide(const struct store *s, sapporo_precision precision);

enum pairs { PAIRS_ALL, PAIRS_SKIP_OWN, PAIRS_OUTSIDE };

/* A force that is asked for; arrays may be NULL where the interface has none. */
struct force {
    sapporo_precision precision;
    enum pairs pairs;
    int nj, ni, by_mass;
    int spline; /* 1: spline softening, whose sums test_spline.c bounds: here they have no bounds */
    double time, eps2;
    const int *index;
    double (*x)[3], (*v)[3], (*a)[3], (*jerk)[3];
    const double *h2, *eps2_i, *dtr;
};

enum { POT, ACC, JERK, SNAP, CRACKLE, QUANTITIES };
enum { SUMS = 13 }; /* pot, acc[3], jerk[3], snap[3], crackle[3] */

/* What one target must get. */
struct row {
    int is_nan;                /* the target is not finite: NaN everywhere, no neighbours */
    int is_broken;             /* a particle with NaN acts: no sum may be finite */
    int is_shown;              /* one at infinity acts: some component of the acceleration is not finite */
    int is_doubtful;           /* such a particle has the target's own index, so the sums may show it, or not */
    int bounded[QUANTITIES];   /* the sums have bounds */
    int any_nearest, any_list; /* numbers beyond single precision: the neighbours may be any */
    double sum[SUMS], bound[QUANTITIES];
    int nearest; /* index; -1: none */
    double r2;
    int n, *list; /* ascending */
};

/* What a force must give. */
struct answer {
    int ni, order;
    struct row *row;
    int bad; /* rows that are NaN */
};

struct answer *answer_new(const struct store *s, const struct force *f);
void answer_free(struct answer *a);

/* The force on particles at addresses, each from its own list (sapporo_neighbour_force); rows that name no particle are
 * NaN.  list[i] NULL or length[i] < 0: NaN. */
struct neighbour_force {
    sapporo_precision precision;
    int ni;
    double time, eps2;
    const int *address, *length;
    const int *const *list;
};
struct answer *answer_of_lists(const struct store *s, const struct neighbour_force *f);

#endif
