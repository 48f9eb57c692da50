/*
 * stepper_part.h - steppers that are parts of a larger whole: of the particles of all ranks of MPI.
 *
 * A part has particles of its own, and takes the same steps at the same times as all other parts: it counts the
 * particles of all parts, and its forces come from functions of the whole.  These functions are collective:
 * all parts call them in the same order, and each returns the same status to all parts.
 *
 * libsapporo_mpi calls these functions by the table of internals.h.
 */
#ifndef SAP_CONTEXT_STEPPER_PART_H
#define SAP_CONTEXT_STEPPER_PART_H

#include "context/tree_life.h"
#include "engine/stepper_ops.h"

/* Where a run is.  A long step is one of level 0. */
struct sap_stepper_clock {
    double start;              /* time of the particles that were set, or of the last landing */
    long long long_step;       /* complete long steps */
    int tick;                  /* within the present long step, 0 to SAP_STEP_TICKS - 1 */
    int active;                /* particles of the last step */
    int since;                 /* steps of particles with mass since the last build of the tree */
    int massive;               /* particles with mass of the last step */
    struct sap_tree_life life; /* of the present tree */
    long long steps, particle_steps, builds, refreshes;
};

/*
 * The options on which a run depends, as they are saved.  Members fill the struct without gaps.  kind: of the tree, and
 * SAP_SIGNATURE_LAW times the softening.
 */
enum { SAP_SIGNATURE_LAW = 256 };
struct sap_stepper_signature {
    int method, scheme, criterion, levels, rebuild, kind, mac, order;
    int leaf_size, group_size /* of a Hermite scheme: further iterations */, precision, landing;
    double dt, eta, eps2, gravity, accuracy /* of a Hermite scheme: eta_start */, group_extent, period;
    struct sap_field_list fields;
};

/* Bytes per particle of labels that are saved, without lengths and with them. */
enum { SAP_LABEL_ALONE = 8, SAP_LABEL_LENGTH = 16 };

/*
 * What is saved of a part besides its columns: those of enum sap_step_column, and labels as number SAP_STEP_COLUMNS,
 * each followed by the softening length if particles have lengths.
 */
struct sap_stepper_saved {
    struct sap_stepper_signature signature;
    struct sap_stepper_clock clock; /* active, massive and particle_steps are of this part */
    int n;
    int width[SAP_STEP_COLUMNS + 1]; /* bytes per particle of each column; 0: it is not saved */
};

/* The functions of a whole; each returns a sapporo_status. */
struct sap_stepper_whole {
    void *of; /* their first argument */
    /* Collective.  Returns the worst status of all parts; text: what failed in this part. */
    int (*agree)(void *of, int status, const char *text);
    /* Collective.  Replaces n numbers by their sums over all parts. */
    int (*add_counts)(void *of, long long *count, int n);
    int (*add)(void *of, double *number, int n);
    /*
     * Collective.  Notes how many particles this part has from now on, how many of them have a mass, and whether those
     * of all parts have softening lengths.
     */
    int (*begin)(void *of, int n, int massive, int has_lengths);
    /*
     * Collective.  Gives n numbers of particles (engine/stepper_ops.h) those after a change.  This part has `before`
     * particles before it, with addresses to[0 .. before-1] after it, and `after` then.  -1: gone, or no particle.
     */
    int (*renumber)(void *of, int before, int after, const int *to, int n, int *number);
    /* What failed in the last force, build or refresh. */
    const char *(*words)(const void *of);
    /*
     * The tree of the whole, which the stepper does not destroy.  `count` returns the particles with mass of this part,
     * `interactions` the mean of all parts.  NULL: direct sums.
     */
    struct sap_tree *tree;
    struct sap_step_source source; /* collective forces, with arrays for the particles of this part */
    sapporo *context;              /* on whose device the particles of a source with `sharing` are */
    int precision;                 /* of the sums of Hermite schemes */
    const char *kind;              /* text of sapporo_stepper_kind_text */
};

/*
 * Creates a stepper of at most n >= 0 particles that is a part of a whole, as sapporo_stepper_create does; *whole is
 * copied.  With SAPPORO_REBUILD_TIMED the sums of the times of all parts decide; groups keep their extent.
 */
int sap_stepper_part_create(const sapporo_stepper_options *options, int n, const struct sap_stepper_whole *whole,
                            sapporo_stepper **stepper);

/* Collective.  Writes the potentials of n particles at the present time; NaN after an error. */
int sap_stepper_part_pots(sapporo_stepper *stepper, int n, double *pot);

/* A particle that ended a step at the present time, with a nearest neighbour that is close. */
struct sap_close_particle {
    int number, nearest;
    double r2;
};

enum { SAP_PAIRS_LEAST = sizeof(sapporo_stepper_pairs) }; /* the size of the first version of the struct */

/* Local.  Copies the close particles of a part; `number` is the address.  The caller frees *close. */
int sap_stepper_part_close(sapporo_stepper *stepper, struct sap_close_particle **close, int *n);

static inline int sap_pairs_have_room(const sapporo_stepper_pairs *p)
{
    return p->room == 0 || (p->room > 0 && p->pair);
}

/* Fills *pairs with the pairs of n close particles, in order of their numbers, each once; SAPPORO_TRUNCATED. */
int sap_close_pairs(const struct sap_close_particle *close, int n, sapporo_stepper_pairs *pairs);

/* Local.  Tells what is saved of a part.  SAPPORO_ERR_ARGUMENT: it has not been set; its options are told. */
int sap_stepper_part_saved(sapporo_stepper *stepper, struct sap_stepper_saved *saved);

/* Local.  Copies a column of all particles of a part. */
int sap_stepper_part_read(sapporo_stepper *stepper, int column, void *to);

/*
 * Collective.  Takes the particles of saved columns, builds the tree at the positions of its last build, and goes on
 * where the run was.  After a failure there are no particles.
 */
int sap_stepper_part_restore(sapporo_stepper *stepper, const struct sap_stepper_saved *saved,
                             const void *const *column);

#endif
