/* stepper_ops.h - the table of functions through which a context integrates the orbits of particles on an engine. */
#ifndef SAP_STEPPER_OPS_H
#define SAP_STEPPER_OPS_H

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "engine/tree_ops.h"
#include "physics/hermite.h"
#include "sapporo.h"

struct sap_stepper; /* the particles of a stepper; each engine has its own type */

/* The active particles of a step.  Their forces are rows: first those of particles with mass (engine/step_order.h). */
struct sap_step_active {
    int n, massive; /* number of all, and of those with mass */
};

/*
 * The particles of a force from a source: those of the first n slots act on ni of all; active NULL: on slots 0..ni-1.
 * Of a source on a device active, acc and pot are there, acc and pot are 0, and x, mass and h are not given.
 */
struct sap_step_rows {
    int n, ni;
    const int *active;           /* [ni] slots */
    const double (*x)[3], *mass; /* by slot; mass: [n] */
    const double *h;             /* by slot: softening lengths; NULL: particles have none */
    double (*acc)[3], *pot;      /* [ni] */
};

/* Squares the softening lengths of the first n sources, and of the rows. */
static inline void sap_step_square_lengths(const struct sap_step_rows *r, int n, double *of_sources, double *of_rows)
{
    for (int k = 0; k < n; k++) of_sources[k] = r->h[k] * r->h[k];
    for (int k = 0; k < r->ni; k++) {
        const double h = r->h[r->active ? r->active[k] : k];
        of_rows[k] = h * h;
    }
}

/* Softening lengths of particles, by address, in memory of the caller of `take`, where they stay until the next. */
struct sap_step_lengths {
    const double *h, *reach; /* reach: as of struct sap_step_rule */
};

/*
 * Direct sums of Hermite schemes: a context, or those of all parts of a whole, for which `clear`, `store`, `force` and
 * `any` are collective.  They return a sapporo_status.
 */
struct sap_hermite_sums {
    int (*clear)(void *of);
    /* Keeps the particle of a slot; later forces need a `store`. */
    int (*put)(void *of, int slot, const sapporo_particle *particle);
    int (*store)(void *of);
    /*
     * Computes forces at a time, on particles whose index is their address, from the first nj slots.  A nearest
     * neighbour is an address; of a whole it is a number, which counts the particles of all parts, one after the other.
     * Without a source it is sap_hermite_no_forces on every engine.
     */
    int (*force)(void *of, double time, const sapporo_request *request, const sapporo_result *result);
    /* *is: whether it is true of this part; then whether it is of any. */
    int (*any)(void *of, int *is);
    const char *(*words)(const void *of);
};

/* The forces of no source: +0 in all bits, and no neighbour.  Sums over nothing may have another sign of 0. */
static inline int sap_hermite_no_forces(const sapporo_request *request, const sapporo_result *result)
{
    const size_t rows = (size_t)request->ni * sizeof *result->acc;
    if (result->acc) memset(result->acc, 0, rows);
    if (result->jerk) memset(result->jerk, 0, rows);
    if (result->snap) memset(result->snap, 0, rows);
    if (result->crackle) memset(result->crackle, 0, rows);
    if (result->pot) memset(result->pot, 0, (size_t)request->ni * sizeof *result->pot);
    for (int k = 0; k < request->ni && result->nearest; k++) result->nearest[k] = -1;
    for (int k = 0; k < request->ni && result->nearest_r2; k++) result->nearest_r2[k] = INFINITY;
    return SAPPORO_OK;
}

/* Returns the order of a Hermite scheme; 0: it is a leap-frog. */
static inline int sap_step_order_of(sapporo_step_scheme scheme)
{
    return scheme < SAPPORO_STEPS_HERMITE4 ? 0 : 4 + 2 * ((int)scheme - (int)SAPPORO_STEPS_HERMITE4);
}

/* Where the arrays of a source are in memory of a device, by slot, one particle after the other; h NULL: no lengths. */
struct sap_step_places {
    const double *x, *mass, *a, *h;
};

/*
 * Direct sums of a part on a device, whose particles with mass and those of all other parts act on its particles: how
 * records of them go from the device memory of each part to that of all.  The functions are collective, and return a
 * sapporo_status; `gather` may fail on one part alone, and no other is called before an agreement.
 */
struct sap_step_sharing {
    /* particles with mass of the parts before this one, and of all; the number of this part's first particle: written
     * by `begin` of the whole */
    int before, all, first;
    /* Agrees on a status; text: what failed here.  Tells how many rows with mass this part has in the step; *any:
     * whether it is true of this part, then whether it is of any.  Writes the two numbers below. */
    int (*announce)(void *of, int status, const char *text, int rows, int *any);
    int ahead, rows; /* of the parts before this one, and of all */
    /* Brings records of so many bytes, this part's at `own`, to `all`, part by part; those of this part do not move.
     * They are of all particles with mass, or of the rows. */
    int (*gather)(void *of, int of_rows, size_t each, const void *own, void *all);
    int (*agree)(void *of, int status, const char *text);
};

/* A function that computes forces, from host memory unless `place` is there; it returns a sapporo_status. */
struct sap_step_source {
    int (*force)(void *of, const struct sap_step_rows *rows);
    /* Of direct sums on a device; NULL: forces come from `force` or `sums`. */
    const struct sap_step_sharing *sharing;
    /*
     * Of a source on a device: takes the places of the particles for the next build or refresh of a tree; and,
     * collective where forces are, tells whether the memory of a force is there on all parts.
     */
    void (*place)(void *of, const struct sap_step_places *places);
    int (*ready)(void *of, int status);
    const struct sap_hermite_sums *sums; /* in its place, of Hermite schemes */
    void *of;
    int threads; /* of the CPU, for all else; 0: the default */
    int shared;  /* 1: particles of other steppers act, too, so a force is needed also if none of these has a mass */
    /*
     * Arrays of the source, by slot, for as many particles as the stepper has room for: positions, masses, and sizes of
     * accelerations (< 0: unknown), as for the next build or refresh of a tree.  NULL: the stepper's own; `a` is then
     * not kept.
     */
    double (*x)[3], *mass, *a;
    double *h; /* likewise, softening lengths; NULL: the stepper's own */
};

/* Particles for a stepper; lengths NULL: they have none. */
struct sap_step_particles {
    int n;
    sapporo_memory memory; /* of x, v and mass */
    sapporo_column x, v, mass;
    double gravity; /* masses are multiplied by it */
    const struct sap_step_lengths *lengths;
};

/* Columns of particles that `read` and `write` copy, as doubles; SAP_STEP_LEVEL as int. */
enum sap_step_column {
    SAP_STEP_X,
    SAP_STEP_V,
    SAP_STEP_A,
    SAP_STEP_POT,
    SAP_STEP_MASS,  /* `take` writes masses */
    SAP_STEP_BUILT, /* positions of the last build of the tree, after `note_build` */
    SAP_STEP_LEVEL,
    SAP_STEP_HIGHER,  /* jerk, snap, ... of Hermite schemes, one vector after the other for each particle */
    SAP_STEP_COLUMNS, /* the number of columns that files have */
    SAP_STEP_NEAREST = SAP_STEP_COLUMNS, /* as int, of settings with `nearest`: as forces of a source tell them */
    SAP_STEP_NEAREST_R2
};

/* The settings of a stepper on an engine. */
struct sap_stepper_settings {
    struct sap_step_rule rule;
    struct sap_field_list fields;
    int by_acceleration; /* the tree needs the sizes of accelerations */
    int keeps_built;     /* positions of builds are kept */
    double eps2;         /* squared softening */
    int order;           /* of a Hermite scheme: 4, 6 or 8; 0: leap-frog */
    struct sap_hermite_rule hermite;
    int nearest;    /* of a Hermite scheme: 1: nearest neighbours are kept */
    int iterations; /* of a Hermite scheme: n of P(EC)^n */
    double close2;  /* squared distance within which they are counted */
};

/* Returns the vectors per particle of the column SAP_STEP_HIGHER. */
static inline int sap_step_higher(const struct sap_stepper_settings *s)
{
    return s->order ? SAP_HERMITE_KEPT_OF(s->order) - 3 : 0;
}

/* What a judged step told. */
struct sap_step_told {
    int bad; /* the first particle whose force or velocity is not finite; -1: none */
    /* active particles per level of the next step, and how many of them are massless */
    int levels[SAP_STEP_LEVELS], massless[SAP_STEP_LEVELS];
    int close; /* active particles whose nearest neighbour is closer than the limit */
};

/* Block steps that an engine makes by itself. */
struct sap_step_blocks {
    int last, most; /* no step ends after this tick, and so many are made at most */
    int tick;       /* of the particles: before, then after the steps */
    /* complete steps; active particles of the last one, those with mass, and those of all steps.  told->levels are then
     * of all particles, told->bad is of a step that was not made. */
    int done, active, massive, all;
};

/*
 * Massless particles are neither in the tree nor among the sources of direct sums (engine/step_order.h).  A tree
 * without particles is neither built nor refreshed, and forces are then those of the fields.
 *
 * A step is predict, then build or refresh of the tree (tree_ops.h), force, judge, commit.  The particles change in
 * `commit` alone, whose failure leaves them as they were; those of Hermite schemes on accelerators in `judge`, if none
 * is wrong.
 */
struct sap_stepper_ops {
    /* Bytes of host memory of n particles, `massless` of them without mass, without the tree; *device_bytes: of device
     * memory; direct: the order of direct sums on the devices; 0: over a tree or a source. */
    size_t (*memory)(int n, int massless, int direct, size_t *device_bytes);
    /* Whether these devices have steppers over direct sums of their own; NULL: none has. */
    int (*direct)(const struct sap_device_set *devices);
    /* Creates a stepper of at most n particles over a tree, or without a tree over a source of forces in host memory or
     * in memory of the device, as the engine is one of CPUs or not, or without both over direct sums on the devices. */
    int (*create)(struct sap_device_set *devices, struct sap_tree *tree, const struct sap_step_source *source,
                  const struct sap_stepper_settings *settings, int n, struct sap_stepper **stepper);
    void (*destroy)(struct sap_stepper *stepper);
    /* Takes particles.  *bad: the first whose velocity is not finite, or -1.  After a failure particles must be taken
     * again. */
    int (*take)(struct sap_stepper *stepper, const struct sap_step_particles *particles, int *bad);
    /* Returns how many of the particles have a mass. */
    int (*massive)(const struct sap_stepper *stepper);
    /* Copies a column of all particles from or to host memory. */
    int (*read)(struct sap_stepper *stepper, enum sap_step_column column, void *to);
    int (*write)(struct sap_stepper *stepper, enum sap_step_column column, const void *from);
    /* Predicts all particles, by step->ahead beyond the step, as the particles of the tree's next build or refresh;
     * done: after `commit`.  *bad: the first particle whose position is not finite, or -1. */
    int (*predict)(struct sap_stepper *stepper, const struct sap_step *step, int done, int *bad);
    /* Keeps the predicted positions as those of the last build. */
    int (*note_build)(struct sap_stepper *stepper);
    /* Computes forces on the active particles at their predicted positions; `active` may also be all with mass. */
    int (*force)(struct sap_stepper *stepper, const struct sap_step *step, const struct sap_step_active *active);
    /* Checks the active particles and chooses their next steps. */
    int (*judge)(struct sap_stepper *stepper, const struct sap_step *step, const struct sap_step_active *active,
                 struct sap_step_told *told);
    /* Moves the active particles to the end of the step; `judge` may have done so if none was wrong. */
    int (*commit)(struct sap_stepper *stepper, const struct sap_step *step, const struct sap_step_active *active);
    /*
     * Makes steps like those by the functions above, with the same bits, the first of which is *step; blocks->done 0:
     * it makes none of these.  NULL: it never does.
     */
    int (*blocks)(struct sap_stepper *stepper, const struct sap_step *step, struct sap_step_blocks *blocks,
                  struct sap_step_told *told);
    /* Copies positions and velocities, predicted from `tick` by step->ahead, to memory of the caller; NULL: not
     * wanted. */
    int (*at)(struct sap_stepper *stepper, const struct sap_step *step, sapporo_memory memory, double (*x)[3],
              double (*v)[3]);
    /* Copies a column of doubles to memory of the caller on the device; NULL: the engine has no device memory. */
    int (*read_device)(struct sap_stepper *stepper, enum sap_step_column column, void *to);
    /* Sums of runs of SAP_STEP_RUN particles at `tick`; forced: with the potentials of the last force, which was on all
     * particles with mass.  sum: [runs][SAP_STEP_SUMS]. */
    int (*sums)(struct sap_stepper *stepper, const struct sap_step *step, int forced, double *sum);
    /* Of Hermite schemes: copies the potentials of the last force, which was on all particles, to memory of the caller,
     * by address. */
    int (*pots)(struct sap_stepper *stepper, sapporo_memory memory, double *to);
    /* Text why the last call failed; "": only the status is known. */
    const char *(*words)(const struct sap_stepper *stepper);
};

#endif
