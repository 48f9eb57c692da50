/*
 * sapporo_stepper.h - integration of orbits: part of the native interface, included by sapporo.h.
 *
 * A stepper has n particles and moves them, with forces from a tree of its own or from direct sums.  The particles live
 * where the engine computes: in the memory of a GPU, nothing but small counts is copied to the host in a step.  The
 * order of calls is create, set, then any number of advance, get, energy, save.
 *
 * Schemes (docs/stepper.md has the formulas and their sources):
 *  - SAPPORO_STEPS_SHARED: leap-frog (kick, drift, kick) with one constant step dt for all particles.
 *  - SAPPORO_STEPS_BLOCK: each particle has a step dt / 2^level, level 0 to levels - 1, which a criterion chooses.  At
 *    each block the particles that end their steps are active: all particles are predicted to that time, and the
 *    active ones get forces and are corrected.  If all particles are on one level, results are those of shared steps of
 *    that length, to the bit.
 *  - SAPPORO_STEPS_HERMITE4, 6, 8: Hermite schemes of these orders over direct sums (predict, evaluate, correct), with
 *    block steps as above; levels = 1 makes them shared.  Forces are those of a context of the same order, so orbits
 *    have the bits of a program that does the same by calls, if dt is a power of two.
 * The first two are leap-frogs, of second order.
 *
 * The arithmetic of the stepper has the same bits on every engine; forces have those of the engine's kind.  Any
 * division of a run into calls of advance, save and restore gives the same bytes on one kind of engine, if it lands at
 * the same times, where the option `landing` is set.
 *
 * A tree with a `period` moves particles in a periodic cube.  Positions that a stepper returns go on beyond its faces:
 * they are not wrapped.
 *
 * The gravitational constant is that of the options of the tree.  Masses that a stepper returns are those that it was
 * given, to one unit in the last place; totals are in their units.
 *
 * A particle whose mass is exactly 0, of either sign, is massless: it feels forces and fields, and exerts no force.
 * Massless particles are not in the tree, nor among the sources of direct sums.  They change no bit of the orbits of
 * the other particles, unless SAPPORO_REBUILD_TIMED chooses the builds.  Everything else is as of other particles: time
 * steps, outputs, labels, order.  The force of a tree on a massless particle is that of sapporo_tree_force at its
 * position, within the accuracy of the tree; its bits depend on which massless particles are active with it.
 *
 * Errors are as for contexts: outputs of a call that fails are NaN.  If sapporo_stepper_advance fails, the particles
 * are those of the last complete step, and sapporo_stepper_get_time is its time; the call may be repeated.  If
 * sapporo_stepper_set or sapporo_stepper_restore fails after it has checked its input, the stepper has no particles
 * until one of them succeeds.  A device that is lost takes its steppers with it: SAPPORO_ERR_DEVICE from then on.
 *
 * Calls on one stepper are serialised; different steppers are independent.  Handles are as for contexts, too: a stepper
 * that was destroyed answers SAPPORO_ERR_CLOSED for ever, from any thread.
 */
#ifndef SAPPORO_STEPPER_H
#define SAPPORO_STEPPER_H

#include <stddef.h> /* size_t */

#include "sapporo_tree.h"
#include "sapporo_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sapporo_stepper sapporo_stepper; /* handle of a stepper */

/* Where forces come from. */
typedef enum sapporo_step_method {
    SAPPORO_STEP_METHOD_DEFAULT = 0, /* tree; of Hermite schemes direct sums */
    SAPPORO_STEP_TREE = 1,
    SAPPORO_STEP_DIRECT = 2 /* direct sums of the order of the scheme.  On several devices, or without double precision
                               there, the particles are in host memory */
} sapporo_step_method;

/* Which particles share a step. */
typedef enum sapporo_step_scheme {
    SAPPORO_STEPS_DEFAULT = 0, /* shared */
    SAPPORO_STEPS_SHARED = 1,
    SAPPORO_STEPS_BLOCK = 2,
    SAPPORO_STEPS_HERMITE4 = 3,
    SAPPORO_STEPS_HERMITE6 = 4,
    SAPPORO_STEPS_HERMITE8 = 5
} sapporo_step_scheme;

/*
 * How block steps are chosen; a is the acceleration, eta the accuracy, and eps the softening length: the root of eps2,
 * with lengths of particles the root of eps2 + 2 h^2, which softens pairs of such particles, and of a spline h / 2.8.
 * The first two are of leap-frogs, the others of Hermite schemes.
 */
typedef enum sapporo_step_criterion {
    SAPPORO_STEP_CRITERION_DEFAULT =
        0,                            /* acceleration; Aarseth's, but in orders 6 and 8 the mean unless forces are dp */
    SAPPORO_STEP_BY_ACCELERATION = 1, /* step^2 <= 2 eta eps / |a|; needs eps > 0 of each particle */
    SAPPORO_STEP_BY_CHANGE = 2,       /* step <= eta |a| / |da/dt|, da/dt from the last step */
    SAPPORO_STEP_BY_AARSETH = 3,      /* order 4: step^2 <= eta (|a| |snap| + |jerk|^2) / (|jerk| |crackle| + |snap|^2)
                                         (Aarseth 1985); orders 6 and 8: its generalisation of Nitadori & Makino 2008 */
    SAPPORO_STEP_BY_MEAN = 4          /* orders 6 and 8: eta times the mean of the times in which derivatives change */
} sapporo_step_criterion;

/*
 * Analytic fields.  r: distance from the centre; R: distance from the axis, which is parallel to z.  The masses are
 * times the gravitational constant, which does not multiply `strength` again.
 */
typedef enum sapporo_field_kind {
    SAPPORO_FIELD_POINT = 1,          /* point of mass `strength` */
    SAPPORO_FIELD_PLUMMER = 2,        /* mass `strength`, length a */
    SAPPORO_FIELD_HERNQUIST = 3,      /* mass `strength`, length a */
    SAPPORO_FIELD_NFW = 4,            /* `strength` is 4 pi rho a^3 for the density rho / ((r/a) (1 + r/a)^2) */
    SAPPORO_FIELD_MIYAMOTO_NAGAI = 5, /* mass `strength`, lengths a and b */
    SAPPORO_FIELD_LOGARITHMIC = 6     /* potential strength/2 ln(a^2 + R^2 + z^2/b^2): b is the flattening, > 0 */
} sapporo_field_kind;

/* An external field.  Particles feel it; it does not move.  This struct never grows. */
typedef struct sapporo_field {
    sapporo_field_kind kind;
    double strength, a, b; /* strength >= 0; lengths >= 0, and > 0 of the NFW and Hernquist fields */
    double centre[3];
} sapporo_field;

/* A value of sapporo_stepper_options.rebuild: measured times decide when the tree is built. */
enum { SAPPORO_REBUILD_TIMED = -1 };

/* The largest number of fields, and of levels of block steps. */
enum { SAPPORO_FIELDS_MOST = 8, SAPPORO_STEP_LEVELS_MOST = 31 };

/* Options of a stepper.  Zero everywhere but in size and dt means the default. */
typedef struct sapporo_stepper_options {
    size_t size; /* sizeof(sapporo_stepper_options) */
    sapporo_step_method method;
    const sapporo_tree_options *tree; /* softening, G, engine and devices, and of trees the rest; copied; may be NULL.
                                         Splines of direct sums: the particles are in host memory */
    sapporo_step_scheme scheme;
    sapporo_step_criterion criterion; /* of block steps */
    double dt;                        /* > 0: the shared step, or the longest block step */
    double eta;                       /* > 0; 0: 0.025; of Hermite schemes 0.01, 0.4, 0.6 in orders 4, 6, 8 */
    int levels;  /* of block steps, 1 to SAPPORO_STEP_LEVELS_MOST; the shortest step is dt / 2^(levels - 1); 0: 16, of
                    Hermite schemes the most */
    int rebuild; /* steps between builds of the tree, with refreshes in between.  0 (default): the library decides by
                    counting interactions; runs repeat to the bit.  SAPPORO_REBUILD_TIMED: it decides by measured time
                    (Miki & Umemura 2017, section 2.6), and chooses group_extent of the tree by measured time, too,
                    unless that is given (section 2.4); runs differ within the tree's accuracy, unless SAPPORO_TUNE is
                    frozen.  A tree that is refreshed is built for the middle of its life, so energy does not drift */
    int nfields; /* 0 to SAPPORO_FIELDS_MOST */
    const sapporo_field *fields; /* [nfields]; copied */
    int landing; /* 1: sapporo_stepper_advance ends at the very time that it is asked for, by a shorter last step; 0: at
                    the last step that ends before */
    double eta_start; /* > 0: first steps of Hermite schemes are eta_start |a| / |jerk|; 0: 0.0025, in orders 6 and 8
                         0.01 */
    /* of Hermite schemes alone: */
    int nearest;    /* 1: each particle keeps its nearest neighbour */
    double close;   /* > 0: sapporo_stepper_advance stops after a step in which an active particle was closer to its
                       nearest neighbour; these are then kept, too */
    int iterations; /* n of P(EC)^n, 1 to 16; 0: 1.  After a correction the active particles act and feel forces where
                       they then are, and are corrected again, so that orbits are nearer to time-symmetric ones */
} sapporo_stepper_options;

/*
 * Creates a stepper for at most n >= 1 particles.  On failure *stepper is NULL and sapporo_last_error(NULL) says why.
 */
SAPPORO_API int sapporo_stepper_create(const sapporo_stepper_options *options, int n, sapporo_stepper **stepper);

/* Destroys a stepper.  Waits for calls of other threads on it.  NULL and steppers that were destroyed are allowed. */
SAPPORO_API void sapporo_stepper_destroy(sapporo_stepper *stepper);

/*
 * Returns the text of the last error of a stepper, "" if there was none; a copy, valid as that of sapporo_last_error.
 */
SAPPORO_API const char *sapporo_stepper_last_error(const sapporo_stepper *stepper);

/*
 * Returns a text that names everything on which the bits of its particles depend beside options and particles; with a
 * tree as sapporo_tree_kind_text.  "" of a stepper that was destroyed.
 */
SAPPORO_API const char *sapporo_stepper_kind_text(const sapporo_stepper *stepper);

/* Returns the backend that computes forces; SAPPORO_BACKEND_AUTO of a stepper that was destroyed. */
SAPPORO_API sapporo_backend sapporo_stepper_get_backend(const sapporo_stepper *stepper);

/*
 * Returns the present time, that of the last complete step.  NaN: there are no particles, or the stepper was destroyed.
 */
SAPPORO_API double sapporo_stepper_get_time(const sapporo_stepper *stepper);

/* Particles for a stepper.  Which particles have a mass stays as it is until particles are set again. */
typedef struct sapporo_stepper_particles {
    size_t size;           /* sizeof(sapporo_stepper_particles) */
    int n;                 /* addresses 0 .. n-1; 1 to as many as the stepper was created for */
    sapporo_memory memory; /* of x, v and mass, as of sapporo_tree_particles */
    sapporo_column x;      /* double[3]; beyond 1e100 counts as infinite */
    sapporo_column v;      /* double[3] */
    sapporo_column mass;   /* double */
    sapporo_column label;  /* long long, in host memory; absent: the addresses.  The stepper only returns labels */
    double time;           /* of the particles */
    sapporo_column h;      /* double, 0 to 1e100, in host memory: softening lengths.  With a spline as of trees; absent:
                              the root of eps2.  Plummer's: R2 = |r|^2 + eps2 + h_i^2 + h_j^2; absent: 0 */
} sapporo_stepper_particles;

/*
 * Copies all particles and computes the first forces and steps.  SAPPORO_ERR_NOT_FINITE names the first particle that
 * is NaN or infinite; if it is in host memory, nothing was copied.  SAPPORO_ERR_ARGUMENT, with time and step: a step of
 * dt does not change `time`, which has 53 bits; nothing was copied.
 */
SAPPORO_API int sapporo_stepper_set(sapporo_stepper *stepper, const sapporo_stepper_particles *particles);

/*
 * Adds particles, which get the addresses after those that there are, at the present time.  They get forces from all
 * particles at their present positions, and first steps as in sapporo_stepper_set, or shorter ones that may begin now.
 * The other particles keep all that they have to the bit: orbits, own times, steps, labels.  Their predictions do not
 * know of the new particles until their own next force, at the end of their present steps.  A massless particle changes
 * no bit of other orbits, as above.
 *
 * n, at least 1, is the number of new particles, in host memory; `time` must be sapporo_stepper_get_time.  Without h
 * new particles have the usual length; with h, particles that had none have lengths of 0.  Labels are kept as they are
 * given; absent: the addresses.  The call computes a force on all particles, and copies all of them.
 *
 * SAPPORO_ERR_ARGUMENT, _NOT_FINITE as in sapporo_stepper_set, also if there are no particles, or no room for these;
 * SAPPORO_ERR_UNSUPPORTED: device memory.  After any error the particles are those before the call, unless memory is
 * short or the device fails: then there may be none.
 */
SAPPORO_API int sapporo_stepper_add(sapporo_stepper *stepper, const sapporo_stepper_particles *particles);

/*
 * Removes n particles, 1 to all but one, at the present time; address: [n], in any order.  Those that follow them move
 * to lower addresses: the order, and labels, stay.  The others keep all that they have to the bit, as in
 * sapporo_stepper_add; a nearest neighbour that was removed is -1 until the particle's next step.  The call copies all
 * particles.
 *
 * A pair that merges is removed, and one particle is added: two calls without a step in between.  Potentials of
 * SAPPORO_STEP_OWN stay those of the last force; energies are those of the particles that there are.
 *
 * SAPPORO_ERR_ARGUMENT: an address is out of range or there twice, too many are removed, or there are no particles;
 * nothing changes.  Other errors as in sapporo_stepper_add.
 */
SAPPORO_API int sapporo_stepper_remove(sapporo_stepper *stepper, int n, const int *address);

/*
 * Moves the particles to the last step that ends at or before `time`, by at most `steps` steps (of block steps:
 * blocks); 0: no limit.  time may be INFINITY if steps > 0.  If `time` is not a whole number of steps after the start,
 * the particles stop before it: sapporo_stepper_get_time returns where, and sapporo_stepper_get predicts to the time
 * itself.  With the option `landing` one more step, from wherever each particle is, ends at `time` for all particles,
 * and steps begin there anew: such landings are part of the orbits.
 *
 * SAPPORO_STOPPED: a pair is closer than the option `close`; sapporo_stepper_get_pairs says which.  The step is
 * complete, and later calls go on; they stop again after each step in which a pair is that close.
 *
 * SAPPORO_ERR_ARGUMENT: the time is before the present one, or, with time and step, the next step is so short that it
 * does not change the time; count time from a start nearer to 0.  SAPPORO_ERR_NOT_FINITE: a force or a position of the
 * next step is not finite, or a massless particle is farther from the tree than a force reaches (2^300 times the size
 * of the tree or its softening); the error names the particle.
 */
SAPPORO_API int sapporo_stepper_advance(sapporo_stepper *stepper, double time, long long steps);

/* Which state sapporo_stepper_get returns. */
typedef enum sapporo_step_when {
    SAPPORO_STEP_NOW = 0,    /* all particles predicted to the present time; exact for those that ended a step then */
    SAPPORO_STEP_OWN = 1,    /* each particle at the end of its own last step */
    SAPPORO_STEP_AT_TIME = 2 /* all predicted to `time`, from the present time to dt after it */
} sapporo_step_when;

/* Outputs of sapporo_stepper_get: arrays of n rows in order of address; NULL members are not wanted. */
typedef struct sapporo_stepper_output {
    size_t size;           /* sizeof(sapporo_stepper_output) */
    int n;                 /* number of particles of the stepper */
    sapporo_memory memory; /* of x, v, acc, pot; the other members are in host memory */
    sapporo_step_when when;
    double time; /* of SAPPORO_STEP_AT_TIME */
    double (*x)[3], (*v)[3];
    double (*acc)[3]; /* at the end of the particle's last step, with fields */
    double *pot;      /* there too, of the particles alone; of Hermite schemes and SAPPORO_STEP_NOW at those x */
    double *mass;
    double *own_time; /* end of the particle's last step */
    int *level;       /* of the particle's present step */
    long long *label;
    double *h; /* softening lengths; of particles without lengths 0 */
    /* With the option `nearest` or `close`, as of the last step that the particle ended: */
    int *nearest;       /* address of the nearest particle with mass at the predicted places; ties: the lowest slot of
                           those with mass; -1: none, or not known after a restore */
    double *nearest_r2; /* its squared distance, without softening; +infinity where nearest is -1 */
} sapporo_stepper_output;

/*
 * Writes the state of all particles: positions, velocities, accelerations, potentials, masses, times, levels and
 * labels.  Prediction changes no later result.  After an error numbers are NaN.  SAPPORO_ERR_ARGUMENT: n is not the
 * number of particles, there are no particles, or the time of SAPPORO_STEP_AT_TIME is out of range.
 */
SAPPORO_API int sapporo_stepper_get(sapporo_stepper *stepper, const sapporo_stepper_output *output);

/* Pairs of particles that are close; arrays of `room` rows. */
typedef struct sapporo_stepper_pairs {
    size_t size;    /* sizeof(sapporo_stepper_pairs), set by the caller */
    int room;       /* of the arrays; 0: they may be NULL, and only n is wanted */
    int n;          /* set by the call: how many pairs there are */
    int (*pair)[2]; /* addresses, the lower one first */
    double *r2;     /* squared distances, without softening; NULL: not wanted */
} sapporo_stepper_pairs;

/*
 * Fills *pairs with the pairs that are closer than the option `close`: each particle that was active in the last step,
 * with its nearest neighbour, and each pair once, by the address of that particle.  SAPPORO_TRUNCATED: there are more
 * than room, of which the first are there.  SAPPORO_ERR_ARGUMENT: the stepper has no such option, or no particles.
 */
SAPPORO_API int sapporo_stepper_get_pairs(sapporo_stepper *stepper, sapporo_stepper_pairs *pairs);

/* Conserved quantities at the present time. */
typedef struct sapporo_stepper_totals {
    size_t size; /* sizeof(sapporo_stepper_totals), set by the caller */
    double time;
    double kinetic;
    double potential; /* of all pairs of particles */
    double field;     /* of the particles in the external fields */
    double momentum[3];
    double angular_momentum[3]; /* about the origin */
    double moment[3];           /* sum of mass times position */
} sapporo_stepper_totals;

/*
 * Fills *totals up to its size, from particles predicted to the present time.  If some particles are within a step,
 * forces on all particles are computed for the potential energy; that changes no later result.
 */
SAPPORO_API int sapporo_stepper_energy(sapporo_stepper *stepper, sapporo_stepper_totals *totals);

/*
 * Writes the particles to a new file, which replaces `path` when it is complete and on the disk.  The file has a
 * version, the byte order and a checksum.  A symbolic link at `path` is replaced, not followed.  Several steppers may
 * save to one path at a time: it then has one of these files.  SAPPORO_ERR_ARGUMENT: the file cannot be written (the
 * disk is full, a limit on the size of files is reached, `path` is a folder or a device); what was at `path` before is
 * unchanged.  No signal ends the process.
 */
SAPPORO_API int sapporo_stepper_save(sapporo_stepper *stepper, const char *path);

/*
 * Reads particles that a stepper with the same scheme, criterion, dt, eta, levels, rebuild, landing, method, softening
 * and fields has saved.  SAPPORO_ERR_ARGUMENT: the file is missing, incomplete, damaged or of another stepper; nothing
 * was taken.  SAPPORO_ERR_MEMORY: no memory for the file, and nothing was taken; or none for its particles, and then
 * there are none.  The first bytes of the file are checked before the rest is read.  A run continues with the same
 * bytes on the same kind of engine.
 */
SAPPORO_API int sapporo_stepper_restore(sapporo_stepper *stepper, const char *path);

/* Parts of a step, by the clock of the host. */
enum sapporo_step_phase {
    SAPPORO_STEP_PHASE_PREDICT = 0, /* all particles are predicted */
    SAPPORO_STEP_PHASE_TREE = 1,    /* the tree is built or refreshed */
    SAPPORO_STEP_PHASE_FORCE = 2,   /* forces on the active particles */
    SAPPORO_STEP_PHASE_CORRECT = 3, /* active particles are corrected and choose their steps */
    SAPPORO_STEP_PHASES = 4
};

/* What a stepper is and did since its particles were set. */
typedef struct sapporo_stepper_statistics {
    size_t size; /* sizeof(sapporo_stepper_statistics), set by the caller */
    int n;
    int active;               /* particles of the last step */
    long long steps;          /* complete steps (of block steps: blocks) */
    long long particle_steps; /* sum over the steps of their active particles */
    long long builds, refreshes;
    double interactions;                 /* per active particle with mass, of the last force from a tree */
    int level[SAPPORO_STEP_LEVELS_MOST]; /* particles per level */
    int massive; /* particles whose mass is not 0: those of the tree, or the sources of direct sums */
    size_t host_bytes, device_bytes;     /* of particles and tree */
    double seconds[SAPPORO_STEP_PHASES]; /* of the last step; an accelerator may still correct particles afterwards.  Of
                                            steps that it makes alone: their mean, as the phase of forces */
    double group_extent;                 /* the limit of the extent of groups of the tree; 0: none */
    int group_searches;                  /* of SAPPORO_REBUILD_TIMED: searches for that limit which have ended */
    int rebuild_steps;                   /* steps between the last two builds of the tree; 0: there have not been two */
} sapporo_stepper_statistics;

/* Fills *statistics up to its size; after an error, numbers are 0. */
SAPPORO_API int sapporo_stepper_get_statistics(sapporo_stepper *stepper, sapporo_stepper_statistics *statistics);

#ifdef __cplusplus
}
#endif

#endif
