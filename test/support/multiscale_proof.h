/*
 * multiscale_proof.h - proves the forces of a tree on a system of multiscale.h: every target against a sum in extended
 * precision.
 *
 * What a row of a force may be off by:
 *  - In double, from the sum of pairs: the error of the criterion, and rounding of the sum of the sizes of all pairs
 *    (proof_rounding).  The criterion's error is 0 where no cell was accepted; elsewhere it is bounded by a part of
 *    the sum of sizes.
 *  - In `sp` and `ds`, from the force in double of the same tree: PROOF_PAIR_SP or PROOF_PAIR_DS of the largest single
 *    pair of the target, and proof_rounding of the sum of the sizes of all pairs.  The second term is what sums of
 *    float terms have even if coordinates are exact.  Each term is off by up to PROOF_TERM units of 2^-24.  Up to
 *    PROOF_BLOCK_* terms are added in float; b additions of equal terms add b/2 units, because all of them may be
 *    rounded in the same direction.
 * A cell may be accepted in sp and not in dp, by rounding, whatever the numbers of interactions are.  So a row of a
 * tree that has cells may be off from the sum of pairs instead: by PROOF_OTHER_CELLS times the largest error that rows
 * in double have, and of the criterion of acceleration by the accuracy times the sum of sizes, too.  Where the
 * accelerations are those of an earlier force, all rows in double may have opened a cell that is accepted now.
 */
#ifndef TEST_MULTISCALE_PROOF_H
#define TEST_MULTISCALE_PROOF_H

#include "multiscale.h"

#define PROOF_PAIR_SP 1e-4
#define PROOF_PAIR_DS 1e-6

enum { PROOF_TERM = 10, PROOF_BLOCK_SP = 256, PROOF_BLOCK_DS = 16, PROOF_TERM_DP = 256 };

/* Sources nearer than this part of the coordinates may be served by a message in place of a right force. */
#define PROOF_NEAREST 0x1p-40

/* The engine of a force. */
struct proof_engine {
    sapporo_backend backend;
    const char *isa; /* NULL on accelerators */
    sapporo_precision precision;
    int threads;
};

/* What a force gave. */
struct proof_answer {
    int rows, status;
    double (*acc)[3], *pot;
    long long particles, cells; /* interactions; -1: not known */
    char text[300];             /* the last error or message */
};

/* The exact force on a target. */
struct proof_row {
    long double acc[3], pot;
    double size[2], most[2]; /* of acceleration and potential: sum of the sizes of all pairs, and the largest */
    double nearest;          /* smallest distance of a source that is not at the same position */
};

struct proof_verdict {
    int failed;
    char text[400];
    double worst;     /* largest error in units of what is allowed */
    double criterion; /* largest error of a row in double, in units of the sum of the sizes of all pairs */
    int refused;      /* an error refused the precision, or a system that has sources nearer than PROOF_NEAREST */
};

/* Returns the rounding of sums of n terms in units of the sum of their sizes. */
double proof_rounding(sapporo_precision precision, int n);

/* Computes the exact force on target i. */
void proof_exact(const struct multiscale *system, int i, struct proof_row *row);

/* Computes the forces by a tree or by a stepper.  0: no memory.  Free the answer with proof_free. */
int proof_force(const struct multiscale *system, const struct proof_engine *engine, struct proof_answer *answer);
void proof_free(struct proof_answer *answer);

/*
 * Checks forces in double, and, unless `narrow` is NULL, those in `sp` or `ds` of the same tree.  The statuses of both
 * are not negative.
 */
void proof_check(const struct multiscale *system, const struct proof_answer *wide, const struct proof_answer *narrow,
                 sapporo_precision precision, struct proof_verdict *verdict);

/* Computes and checks forces in the precision of the engine, and those in double of the same tree. */
void proof_of(const struct multiscale *system, const struct proof_engine *engine, struct proof_verdict *verdict);

#endif
