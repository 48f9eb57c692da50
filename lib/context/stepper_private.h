/* stepper_private.h - the object behind the handle of a stepper, shared by stepper*.c. */
#ifndef SAP_STEPPER_PRIVATE_H
#define SAP_STEPPER_PRIVATE_H

#include "context/group_tuner.h"
#include "context/object.h"
#include "context/rebuild.h"
#include "context/stepper_part.h"
#include "context/tree_engine.h"
#include "engine/engine.h"

/*
 * Forces from direct sums.  They come from the devices of a context, where the particles are, or, if the engine cannot
 * have the particles there, through the context's own calls from host memory.
 */
struct sap_stepper_direct {
    sapporo *context;               /* NULL: forces come from a tree */
    struct sap_device_set *devices; /* of the context, if the particles are there; NULL: all that follows is used */
    double eps2;
    int law;         /* sapporo_softening */
    double (*x)[3];  /* positions of active particles */
    int *index;      /* 0 .. room-1 */
    double *eps2_of; /* [2 room] squared lengths of sources, then of targets; NULL: none was needed yet */
    int room;
    struct sap_step_source source;
};

/* Particles of all parts of a whole, or of a stepper that is no part. */
struct sap_stepper_counts {
    long long massive; /* with mass */
    long long moved;   /* active particles with mass of the last step */
    long long close;   /* active particles of the last step that are close to another one */
    long long level[SAP_STEP_LEVELS], massless[SAP_STEP_LEVELS]; /* per level; massless ones of them */
};

struct sapporo_stepper {
    struct sap_object object;
    int is_part; /* 1: of this whole */
    struct sap_stepper_whole whole;
    struct sap_tree_engine on;
    struct sap_tree *tree; /* NULL: direct sums */
    struct sap_tree_settings tree_settings;
    struct sap_stepper_direct direct;
    const struct sap_stepper_ops *ops;
    struct sap_stepper *particles;
    struct sap_stepper_settings settings;
    struct sap_stepper_signature signature;
    int room, n;
    int ready;   /* 1: there are particles; of a part n may be 0 */
    int massive; /* particles with mass: those of the tree, or the sources of direct sums */
    struct sap_stepper_counts all;
    long long *label;
    int has_lengths;                 /* the present particles have softening lengths */
    double *h;                       /* [room + 1] these by address, and as many reaches; NULL: none were needed yet */
    struct sap_step_lengths lengths; /* pointers to both */
    struct sap_stepper_clock clock;
    int level[SAP_STEP_LEVELS];          /* particles per level */
    int massless[SAP_STEP_LEVELS];       /* massless ones of them */
    double seconds[SAPPORO_STEP_PHASES]; /* of the last step */
    int wants_times;                     /* SAPPORO_REBUILD_TIMED, and tuning is not frozen */
    int is_timed;                        /* wants_times, in all parts */
    double tree_seconds, force_seconds;  /* of the last step, as measured times count: of all parts */
    int tunes_groups;                    /* is_timed, and the extent of groups is not given */
    struct sap_rebuild times;            /* if is_timed */
    struct sap_group_tuner groups;       /* if tunes_groups */
    int interval;                        /* steps between the last two builds; 0: there was one or none */
    double landing;                      /* the time at which a step with a rest ends */
    char kind[96];
};

#define fail(s, ...) sap_error(&(s)->object.notes, __VA_ARGS__)

/* Sets the error of an engine call: `what` failed; returns status. */
int sap_stepper_failed(sapporo_stepper *s, int status, const char *what);

/* Sets the error of a call that needs particles while there are none. */
int sap_stepper_empty(sapporo_stepper *s);

/* Collective of a part: returns the worst status of all parts; otherwise returns its own. */
int sap_stepper_agree(sapporo_stepper *s, int status);

/* The order of direct sums on devices; 0: forces come from elsewhere. */
static inline int sap_stepper_direct_order(const sapporo_stepper *s)
{
    return !s->direct.devices ? 0 : s->settings.order ? s->settings.order : 2;
}

/* ---- a run (stepper_run.c) ---- */

/* The time after complete long steps and ticks. */
double sap_stepper_time(const sapporo_stepper *s, long long long_step, int tick);

/* Sets an error if a step of this length, from one time to another, does not change the time. */
int sap_stepper_check_step(sapporo_stepper *s, double from, double to, double step);

/* Computes the first forces and steps of particles that were taken. */
int sap_stepper_start(sapporo_stepper *s);

/* Collective of a part.  The same after sap_stepper_join, without a new clock. */
int sap_stepper_first_forces(sapporo_stepper *s);

/* Counts a build of the tree for the present time, without a force. */
void sap_stepper_note_build(const sapporo_stepper *s, struct sap_stepper_clock *clock);

/*
 * Computes forces at the present time, which is that of `now`: on all particles with mass (n is their number), or on
 * all particles.
 */
int sap_stepper_force_now(sapporo_stepper *s, const struct sap_step *now, int n);

/* Builds the tree of the engine's present particles, if some have a mass, and keeps their positions. */
int sap_stepper_build(sapporo_stepper *s);

/* Begins to measure: the next builds come as if no time had been measured. */
void sap_stepper_forget_times(sapporo_stepper *s);

/*
 * Collective of a part.  Tells the whole the particles of this part, counts those of all parts that have a mass, and
 * finds out whether all parts want measured times to decide.
 */
int sap_stepper_join(sapporo_stepper *s);

/*
 * Collective of a part.  Counts the particles per level, from columns of levels and of masses, which need not be
 * aligned, those of all parts too, and the active particles of the last step.
 */
int sap_stepper_count_levels(sapporo_stepper *s, const void *level, const void *mass);

/* The step that describes the present time. */
struct sap_step sap_stepper_now(const sapporo_stepper *s);

/* ---- particles (stepper.c) ---- */

/* Copies and checks particles for a stepper that keeps `before` of those that it has. */
int sap_stepper_check_particles(sapporo_stepper *s, const sapporo_stepper_particles *given, int before,
                                sapporo_stepper_particles *p);

/* ---- softening lengths (stepper_lengths.c) ---- */

/* Returns the length of particles that have none of their own. */
double sap_stepper_usual_length(const sapporo_stepper *s);

/* Checks the lengths of n particles; a column without base: they have the usual one. */
int sap_stepper_check_lengths(sapporo_stepper *s, int n, const sapporo_column *h);

/* Makes memory for lengths, if particles with this column have lengths. */
int sap_stepper_reserve_lengths(sapporo_stepper *s, const sapporo_column *h);

/* Collective of a part.  Finds out whether particles of any part have lengths. */
int sap_stepper_share_lengths(sapporo_stepper *s, const sapporo_column *h, int *others);

/* Takes the lengths of n particles; others: those of other parts have lengths.  Returns NULL if none has. */
const struct sap_step_lengths *sap_stepper_take_lengths(sapporo_stepper *s, int n, const sapporo_column *h, int others);

/* ---- saved particles (stepper_saved.c) ---- */

/* Bytes per particle of a column, which may be SAP_STEP_COLUMNS: labels; 0: it is not saved. */
size_t sap_stepper_saved_width(const sapporo_stepper *s, enum sap_step_column column);

int sap_stepper_levels_are_valid(const sapporo_stepper *s, const void *from, int n);

/* Copies labels, each followed by the length if particles have lengths. */
void sap_stepper_read_labels(const sapporo_stepper *s, void *to);

/*
 * Collective of a part.  Takes positions (of the last build, if the tree is refreshed), velocities, masses and lengths
 * of columns; each: bytes per label.  Nothing has changed if lengths are wrong; after any other failure there are no
 * particles.
 */
int sap_stepper_take_orbits(sapporo_stepper *s, int n, const void *const *at, size_t each);

/*
 * Collective of a part.  Takes the particles of columns that were saved, and builds the tree of the last build.
 * Failures are those of sap_stepper_take_orbits.
 */
int sap_stepper_take_saved(sapporo_stepper *s, int n, const struct sap_stepper_clock *clock, const void *const *at,
                           size_t each);

/* ---- options (stepper_options.c) ---- */

/*
 * Reads the options, opens the engine, unless the stepper is a part, and makes tree and particles; after a failure the
 * caller frees what there is.
 */
int sap_stepper_open(sapporo_stepper *s, const sapporo_stepper_options *options, int n);

#endif
