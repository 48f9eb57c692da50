/* hermite_layout.h - what the kernels of Hermite schemes and their host flow agree on. */
#ifndef SAP_DEVICE_HERMITE_LAYOUT_H
#define SAP_DEVICE_HERMITE_LAYOUT_H

#include "device/stepper_layout.h"
#include "physics/step.h" /* SAP_STEP_LEVELS */

/*
 * Powers of two: factors of what the force kernels are given (engine/units.h), derivatives of x, masses and times; and
 * of their results, the potential and derivatives of the acceleration.
 */
struct sap_hermite_units {
    SAP_GPU_REAL derivative[8], mass, time, pot, field[4];
};

/*
 * Ints in which the kernels of a step tell: those of SAP_STEPPER_TOLD, of which the last counts close pairs, rows that
 * are listed, with mass and without, and groups that have ended.  Two steps take turns with such ints: each leaves
 * those of the next as they are before a step.
 */
enum {
    SAP_HERMITE_CLOSE = SAP_STEPPER_TOLD - 1,
    SAP_HERMITE_LISTED = SAP_STEPPER_TOLD,
    SAP_HERMITE_ENDED = SAP_STEPPER_TOLD + 2,
    SAP_HERMITE_TOLD = SAP_STEPPER_TOLD + 4,
    SAP_HERMITE_NOBODY = 0x7F7F7F7F /* in the first: no particle is wrong; all others are 0 before a step */
};

/*
 * Where neighbouring threads read each other's registers, three of them make a row after the step: so many threads so
 * many rows.
 */
enum { SAP_JUDGE_THREADS = 32, SAP_JUDGE_ROWS = 10 };

/* A force of Hermite kernels. */
struct sap_hermite_force {
    int rows;       /* active particles; row k is of slot active[k], or, with has_active 0, of slot k */
    int slots;      /* slots among which the active particles are */
    int has_active; /* 0: the list is neither written nor read */
    int massive;    /* rows of particles with mass */
    int stored;     /* rows that a commit and an iteration store as sources: those, or 0 if they are shared first */
    /* what the indices of particles are above their slots: of particles with mass, and of massless ones */
    int before, beyond;
    int done;     /* 1: particles are predicted from their times after the present tick, not before it */
    int order;    /* of the scheme */
    int columns;  /* of the j-store */
    int units;    /* of an i-particle */
    int told;     /* where the ints of this step begin: 0 or SAP_HERMITE_TOLD */
    int again;    /* 1: an iteration: the active particles are where the correction before has brought them */
    int quiet;    /* 1: more iterations follow: nothing is told but what is wrong */
    int tells;    /* 1: behind all else the host is told that it is there (device/tell.h) */
    int near;     /* 1: nearest neighbours of the rows are there, as finish_nearest writes them */
    int numbered; /* 1: sources have numbers, by which neighbours are told; 0: they are slots, told by address */
    int unused;
    /* of neighbours: the limit and the factor of squared distances, and the distance where there is none: infinity */
    SAP_GPU_REAL close2, r2_unit, none;
    SAP_GPU_REAL eps2;
};

/*
 * Several block steps by one kernel (device/blocks.h), of at most a superpacket of particles: groups of threads that
 * run at the same time.
 */
enum {
    SAP_BLOCKS_THREADS = 256,
    SAP_BLOCKS_GROUPS = 16, /* at most */
    /* ints that the kernel tells: the particle that is wrong, as of SAP_HERMITE_NOBODY; complete steps; the tick at
       which the last one ended; its active particles, and those with mass; those of all steps; particles per level,
       massless ones of them */
    SAP_BLOCKS_BAD = 0,
    SAP_BLOCKS_DONE,
    SAP_BLOCKS_TICK,
    SAP_BLOCKS_ACTIVE,
    SAP_BLOCKS_MASSIVE,
    SAP_BLOCKS_ALL,
    SAP_BLOCKS_LEVELS,
    SAP_BLOCKS_MASSLESS = SAP_BLOCKS_LEVELS + SAP_STEP_LEVELS,
    SAP_BLOCKS_TOLD = SAP_BLOCKS_MASSLESS + SAP_STEP_LEVELS
};

struct sap_hermite_blocks {
    SAP_GPU_REAL dt; /* of level 0 */
    int tick;        /* at which the particles are */
    int last;        /* no step ends after this tick */
    int most;        /* steps at most */
    int n;           /* particles */
    int zero;        /* 1: pairs at zero distance are skipped */
    int unused;
};

/*
 * Records of sources that parts of a whole send to each other: derivatives as particles have them, one vector after the
 * other, then these numbers.
 */
enum {
    SAP_HERMITE_RECORD_INDEX, /* among the sources of all parts */
    SAP_HERMITE_RECORD_TIME,
    SAP_HERMITE_RECORD_MASS,
    SAP_HERMITE_RECORD_EPS2, /* squared softening length */
    SAP_HERMITE_RECORD_NUMBER,
    SAP_HERMITE_RECORD_EXTRA
};
#define SAP_HERMITE_RECORD_OF(order) (3 * SAP_HERMITE_SENT_OF(order) + SAP_HERMITE_RECORD_EXTRA)

struct sap_hermite_records {
    int n;          /* this part's, or those of all parts */
    int all;        /* 1: of all particles with mass; 0: of rows after their correction, of which only the first two of
                       these numbers are read */
    int has_soft;   /* 1: particles have softening lengths, and the store a column for them */
    int first;      /* the number of this part's first particle */
    int ahead, own; /* of rows: records of the parts before this one, and of this one, which did not move */
    SAP_GPU_REAL time, square; /* time of rows; the factor of squared lengths */
};

#endif
