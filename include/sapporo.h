/*
 * sapporo.h - the native interface of libsapporo.
 *
 * The library sums the gravitational force of nj source particles ("j-particles",
 * kept in the library by address) on ni target particles ("i-particles", given
 * with each call).  G = 1; lengths, masses and times are in any consistent
 * system of units.  With r = x_j - x_i, v = v_j - v_i and R2 = |r|^2 + eps2,
 *
 *     acc  =  sum m_j r / R2^(3/2)
 *     jerk =  sum m_j [ v / R2^(3/2) - 3 (r.v) r / R2^(5/2) ]
 *     pot  = -sum m_j / R2^(1/2)
 *
 * where x_j, v_j are predicted to the context's time by the Taylor series of
 * the stored derivatives (Makino & Aarseth 1992, PASJ 44, 141, eqs. 1 and 2,
 * with the acceleration's second derivative as a further term).  i-particles
 * are taken as given.  Contexts of order 2 give acceleration and potential from
 * positions and masses alone; those of order 6 give the second derivative of
 * the acceleration (snap) too, those of order 8 the third (crackle), from the
 * accelerations and jerks of both particles: Nitadori & Makino 2008, New
 * Astronomy 13, 498.  All are full derivatives, without factors.
 *
 * Errors: functions return a sapporo_status; negative values are errors, the
 * library never ends the process.  After an error the particles in the library
 * are intact, and no output of the call is stale: numbers are NaN, the index of
 * a nearest neighbour is -1, the length of a list is 0 (its entries are then
 * not written), a handle is NULL.  This holds for every array that the caller
 * gave and for as many rows as the caller asked for, whatever was wrong: also
 * for arrays that the order does not have, for more rows than the force has,
 * and for closed handles.  Nothing is written where the number of rows is
 * negative, or where a struct does not tell its size.
 *
 * Handles: sapporo *, sapporo_job *, sapporo_batch * and sapporo_tree * name
 * contexts, forces, batches and trees.  They are no addresses; the library never follows one.  A handle
 * that was closed or freed is closed for ever, whatever was opened since: calls
 * with it return SAPPORO_ERR_CLOSED (functions without a status give "", 0 or
 * what their comment says), and closing it once more does nothing.  No handle
 * is ever given twice (where pointers have 32 bits: not before 65,535 others of
 * its kind).  Up to 4,194,304 handles of each kind are open at a time (32 bits:
 * 8,192).
 *
 * Threads: different contexts are independent.  Calls on one context from
 * several threads are serialised; a thread that waits sleeps.  Any thread may
 * close a handle that others use: closing waits for the call that is under way,
 * and calls after it find the handle closed.  The library's own threads block
 * all signals.  No call is a cancellation point: a thread with deferred
 * cancellation, the default of POSIX, is cancelled before or after a call.
 * Asynchronous cancellation, longjmp and C++ exceptions must not leave a call:
 * a log function returns, and a signal handler does not jump out of the
 * library.  Otherwise the context stays locked, and later calls on it wait for
 * ever.  After fork, the child may use contexts that no other thread was using.
 */
#ifndef SAPPORO_H
#define SAPPORO_H

#include <stddef.h> /* size_t, ptrdiff_t */

#include "sapporo_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The one line from which soname, packages and documents take the version. */
#define SAPPORO_VERSION "0.1.0"

/* ---- versions and texts ------------------------------------------------- */

/* Returns the version of the library that is linked, as text ("0.1.0"); static storage.  SAPPORO_VERSION is that of the
 * header. */
SAPPORO_API const char *sapporo_version(void);

/*
 * Returns the version of the arithmetic.  Results of one kind of engine (sapporo_kind) are the same to the bit as long
 * as this number is the same.
 */
SAPPORO_API int sapporo_arith_version(void);

/* ---- messages ------------------------------------------------------------ */

/*
 * Sends the messages of all contexts to log(user, level, text) instead of stderr; NULL restores stderr.
 * SAPPORO_VERBOSE decides which messages exist: 0 none, 1 (default) errors and warnings, 2 also the choices made, 3
 * also every force.  A context gives each warning once, and at level 1 at most 20 lines.
 */
SAPPORO_API void sapporo_set_log(sapporo_log_function log, void *user);

/*
 * Decides whether the process prints, to stderr, errors that calls return or keep for sapporo_last_error.  printed 1,
 * the default: yes.  0: no, for callers that raise errors as exceptions.  A log function gets the errors in either
 * case, and SAPPORO_VERBOSE of 2 or more prints them.
 */
SAPPORO_API void sapporo_print_errors(int printed);

/*
 * Writes a message of the caller to where the library writes its own, if SAPPORO_VERBOSE allows its level.  For
 * libraries built on this one.
 */
SAPPORO_API void sapporo_log(sapporo_log_level level, const char *text);

/* ---- devices --------------------------------------------------------------- */

/* How good reciprocal square roots are.  Only order 2 in sp on CPUs has both; all else is always full. */
typedef enum sapporo_root {
    SAPPORO_ROOT_DEFAULT = 0, /* SAPPORO_ROOT, or full */
    SAPPORO_ROOT_FULL = 1,    /* to the precision's last digits */
    SAPPORO_ROOT_FAST = 2     /* the processor's estimate as it is: errors of forces of about 1e-5, a kind of its own */
} sapporo_root;

/* A device, as sapporo_device_describe returns it. */
typedef struct sapporo_device {
    size_t size;             /* set to sizeof(sapporo_device) by the caller */
    sapporo_backend backend; /* CUDA, HIP, OPENCL or CPU */
    int number;              /* the number to name it by within its backend */
    int units;               /* cores or multiprocessors */
    int has_fp64;            /* 1: double precision in hardware */
    long long memory;        /* bytes of memory, 0 if unknown */
    char name[128];          /* what it is */
    char detail[128];        /* instruction path, driver, or why it cannot be used */
} sapporo_device;

/*
 * Returns the number of devices of a backend, or of all backends for SAPPORO_BACKEND_AUTO; 0 if there is none.  OpenCL
 * counts GPUs and accelerators first, then CPUs.  A context uses a CPU of OpenCL only if the caller names that backend,
 * and, beside GPUs, that device.  Devices of two kinds, whose bits would differ, cannot be opened together.
 */
SAPPORO_API int sapporo_device_count(sapporo_backend backend);

/*
 * Describes device `number` of a backend, 0 <= number < sapporo_device_count(backend).  The caller sets device->size.
 * After an error number is -1, texts are empty, all else is 0.
 */
SAPPORO_API int sapporo_device_describe(sapporo_backend backend, int number, sapporo_device *device);

/* ---- variables of the environment -------------------------------------------- */

/* A variable of the environment that the library reads.  Texts put what a user can type into back quotes. */
typedef struct sapporo_variable {
    size_t size; /* set to sizeof(sapporo_variable) by the caller */
    sapporo_audience audience;
    char name[40];    /* such as SAPPORO_PRECISION */
    char type[24];    /* "word", "whole number", "number", "device numbers", "path" or "text" */
    char values[128]; /* what it may be, such as "`sp`, `ds` or `dp`" */
    char usual[128];  /* the default; "": none */
    char about[256];  /* what it is for */
} sapporo_variable;

/*
 * Describes environment variable `number`, from 0 on, of those that the library reads.  The caller sets variable->size.
 * SAPPORO_ERR_ARGUMENT: there is no such variable; audience is then SAPPORO_FOR_NONE, and texts are empty.
 */
SAPPORO_API int sapporo_variable_describe(int number, sapporo_variable *variable);

/* ---- contexts ---------------------------------------------------------------- */

/* In ndevices of options: all devices of the backend. */
enum { SAPPORO_ALL_DEVICES = -1 };

/*
 * How to open a context.  Zero everywhere but in size means: the default, or what the environment says.  An option
 * takes precedence over its variable of the environment, and the variable over the default.
 */
typedef struct sapporo_options {
    size_t size;                   /* sizeof(sapporo_options) */
    int order;                     /* of the integrator served.  4, the default: acceleration, jerk and potential of
                                      predicted j-particles; 6: the snap too; 8: the crackle too; 2: acceleration and
                                      potential, without prediction */
    sapporo_precision precision;   /* 0: SAPPORO_PRECISION, or its default; SAPPORO_SP is not for orders 6 and 8 */
    sapporo_backend backend;       /* 0: SAPPORO_BACKEND, or the first backend that has a device */
    const int *devices;            /* ndevices device numbers of the backend; copied; the CPU engine ignores them */
    int ndevices;                  /* 0: SAPPORO_DEVICES, or one device chosen by preferred_device */
    int preferred_device;          /* one device is used: this number modulo the number of devices */
    const char *cpu_isa;           /* "scalar", "sse2", "avx2", "avx512" or "neon", copied; NULL: SAPPORO_CPU_ISA, or
                                      the widest that this machine runs */
    int threads;                   /* threads of the CPU engine; 0: OMP_NUM_THREADS, or all cores granted */
    sapporo_root root;             /* 0: SAPPORO_ROOT, or full; SAPPORO_ROOT_FAST is for order 2 */
    double gravitational_constant; /* G in the units of the particles, 1e-100 to 1e100; 0: 1.  Potentials, accelerations
                                      and their derivatives are multiplied by it */
} sapporo_options;

/*
 * Opens a context.  `options` may be NULL.  Opening is cheap: memory grows with the particles.  Asking for something
 * that is not there is an error.  On failure *context is NULL and sapporo_last_error(NULL) says why.
 */
SAPPORO_API int sapporo_open(const sapporo_options *options, sapporo **context);

/*
 * Frees the context, its particles and all its jobs, whose handles are closed with it.  Waits for calls of other
 * threads on the context.  NULL is allowed; a context that was closed stays closed.
 */
SAPPORO_API void sapporo_close(sapporo *context);

/* Deletes the text that sapporo_last_error returns. */
SAPPORO_API void sapporo_clear_error(sapporo *context);

/*
 * Returns the kind of engine, a text that names everything on which the bits of results depend, such as "cpu avx512
 * ds+dp AuthenticAMD"; ds+dp means dp where j-particles are few.  The text lives as long as the context; of a closed
 * context it is "".  If a tuning file has cpu_below_nj, the first force may move the context to the CPU: then this
 * function, sapporo_get_backend, sapporo_get_threads and sapporo_memory_needed describe the CPU engine.
 */
SAPPORO_API const char *sapporo_kind(const sapporo *context);

/* Returns the backend that was chosen; of a closed context SAPPORO_BACKEND_AUTO. */
SAPPORO_API sapporo_backend sapporo_get_backend(const sapporo *context);

/*
 * Returns the precision that was chosen; of a closed context SAPPORO_PRECISION_DEFAULT.  If no precision was named, it
 * is that of forces of 1,024 or more j-particles.
 */
SAPPORO_API sapporo_precision sapporo_get_precision(const sapporo *context);

/* Returns the number of CPU threads that a large force may use; of a closed context 0. */
SAPPORO_API int sapporo_get_threads(const sapporo *context);

/*
 * Returns the bytes of host memory that nj j-particles need, and writes those of device memory to *device_bytes, which
 * may be NULL.  0 for nj <= 0, and of a closed context.
 */
SAPPORO_API size_t sapporo_memory_needed(const sapporo *context, int nj, size_t *device_bytes);

/* ---- j-particles --------------------------------------------------------------- */

enum { SAPPORO_DERIVATIVES = 8 }; /* x, v, acceleration, jerk, snap, crackle, pop, and the derivative of pop */

/*
 * One j-particle.  Derivatives are full values (not a/2, j/6).  Order 4 uses x to snap, order 6 x to crackle, order 8
 * all of them; sapporo_get_particle writes 0 into the others.  Order 2 uses x, mass, eps2 and index, and
 * sapporo_get_particle writes 0 into everything else: nothing is predicted, and the context's time plays no part.  This
 * struct never grows.
 */
typedef struct sapporo_particle {
    double derivative[SAPPORO_DERIVATIVES][3]; /* x, v, a, jerk, snap, ... at time t */
    double mass;                               /* may be 0 or negative */
    double time;                               /* time of the derivatives */
    double eps2;                               /* squared softening as a source, >= 0, added to that of i; 0: none */
    int index;                                 /* the caller's label; any value */
} sapporo_particle;

/* Columns of j-particles.  Absent columns are 0, but x must be there; an absent index is the address. */
typedef struct sapporo_particles {
    size_t size;                                    /* sizeof(sapporo_particles) */
    sapporo_column derivative[SAPPORO_DERIVATIVES]; /* double[3] each: x, v, a, jerk, snap, ... */
    sapporo_column mass;                            /* double */
    sapporo_column time;                            /* double */
    sapporo_column eps2;                            /* double */
    sapporo_column index;                           /* int */
    sapporo_memory memory;                          /* of all columns */
} sapporo_particles;

/*
 * Stores one particle at an address from 0 to 1073741823, in any order, with gaps; memory grows on demand.  A particle
 * that the address holds is replaced.  Allowed while forces are under way: the next sapporo_force_begin uses it.
 *
 * SAPPORO_ERR_ARGUMENT: a bad address, or an eps2 that is negative or not finite; nothing changes.
 * SAPPORO_ERR_NOT_FINITE: the particle is stored, and forces that include it are NaN until it is replaced.
 * SAPPORO_ERR_MEMORY: the particle is lost, and so is the one that the address held.  Forces with nj above the address,
 * and batches and neighbour forces that name it, are NaN until a particle is stored there (docs/conventions.md).
 */
SAPPORO_API int sapporo_set_particle(sapporo *context, int address, const sapporo_particle *particle);

/*
 * Stores n particles at addresses first, first + 1, ..., as sapporo_set_particle stores one.  SAPPORO_ERR_NOT_FINITE:
 * all particles are stored.  After any other error the particles before it are stored; the one that failed and all
 * after it are lost.  Bad arguments as a whole (no positions, addresses out of range) change nothing.
 *
 * Columns in device memory that replace all particles stay there: on one device, the host gets a copy only when a call
 * needs it (sapporo_set_particle, sapporo_get_particle, batches, neighbour forces).  If the device fails meanwhile, all
 * are lost.
 */
SAPPORO_API int sapporo_set_particles(sapporo *context, int first, int n, const sapporo_particles *particles);

/*
 * Reads the particle at an address: as it was stored (predicted = 0), or predicted to the context's time.  Predicted
 * are x and v, in order 6 the acceleration too, in order 8 the jerk too; all other members are as stored.
 *
 * After an error numbers are NaN, and index is -1.  SAPPORO_ERR_ARGUMENT: the address is empty.  SAPPORO_ERR_MEMORY:
 * the particle is lost.  SAPPORO_ERR_CLOSED: the context is closed.
 */
SAPPORO_API int sapporo_get_particle(sapporo *context, int address, int predicted, sapporo_particle *particle);

/* Empties all addresses.  No particle is lost any more.  Forces under way keep their particles. */
SAPPORO_API int sapporo_clear_particles(sapporo *context);

/*
 * Sets the time to which later forces predict j-particles; 0 after opening.  SAPPORO_ERR_NOT_FINITE: the time is NaN or
 * infinite, and forces and predictions fail, in all orders but 2, until another time is set.
 */
SAPPORO_API int sapporo_set_time(sapporo *context, double time);

/* ---- forces -------------------------------------------------------------------- */

typedef struct sapporo_job sapporo_job; /* handle of a force on a set of i-particles, under way or done */

/* Bits of sapporo_request.want. */
enum sapporo_want {
    SAPPORO_WANT_NEAREST = 1, /* nearest neighbour of each i-particle */
    SAPPORO_WANT_LISTS = 2,   /* neighbour lists: all j with |r|^2 < h2, unsoftened, strict */
    SAPPORO_ALLOW_EMPTY = 8   /* no output: nj = 0 is meant, also if the context holds particles */
};

/* Which pairs make a force. */
typedef enum sapporo_pairs {
    SAPPORO_PAIRS_ALL = 0,    /* all but those of equal index, where indices are given */
    SAPPORO_PAIRS_OUTSIDE = 1 /* those outside the neighbour sphere: j-particles in it make the list, not the sums */
} sapporo_pairs;

/* The neighbour sphere of a regular force (SAPPORO_PAIRS_OUTSIDE), as NBODY6 needs it beside h2. */
typedef struct sapporo_regular {
    size_t size;        /* sizeof(sapporo_regular) */
    int h2_by_mass;     /* 1: h2 is multiplied by the mass of j */
    sapporo_column dtr; /* double, one per i-particle: time ahead, finite; absent: 0 */
} sapporo_regular;

/*
 * What a force is asked for.  Softening: R2 = |r|^2 + eps2 + eps2_i of the i-particle + eps2 of the j-particle, so that
 * symmetric softening (each particle has its own) is eps2 = 0 and both columns.  A pair with R2 = 0 is skipped.
 * Splines need order 2.  Of orders 4 to 8 the first particle with softening of its own makes accelerators load further
 * kernels, once.
 *
 * Without indices no pair is skipped for its index: a particle acts on itself, which adds -m/R to its potential.
 *
 * Spline softening spreads the mass of a particle by the cubic spline of Monaghan & Lattanzio 1985, A&A 149, 135.  Its
 * length h is the distance from which on forces are Newton's: h^2 = eps2 + eps2_i of the i-particle, eps2 + eps2_j of
 * the j-particle.  With h the larger of both, q = |r|/h, the pair gives (Springel, Yoshida & White 2001, New Astronomy
 * 6, 79, appendix A)
 *     acc = m r / h^3 (32/3 - 192/5 q^2 + 32 q^3),  pot = -m / h (14/5 - 16/3 q^2 + 48/5 q^4 - 32/5 q^5)    q < 1/2
 *     acc = m r / h^3 (64/3 - 48 q + 192/5 q^2 - 32/3 q^3 - 1/(15 q^3)),
 *     pot = -m / h (16/5 - 32/3 q^2 + 16 q^3 - 48/5 q^4 + 32/15 q^5 - 1/(15 q))                             q < 1
 * Plummer's softening eps has about the same potential at r = 0 as h = 2.8 eps.  A particle acts on itself with -2.8
 * m/h where no indices are given.  With SAPPORO_SOFTENING_SPLINE_MEAN a pair gives half the sum of such terms with both
 * h. A length of 0 is that of a point, which gives nothing at zero distance.
 *
 * SAPPORO_PAIRS_OUTSIDE is the regular force of Ahmad & Cohen 1973, J. Comput. Phys. 12, 389, in contexts of order 4.
 * A j-particle is in the sphere if min(|r|^2, |r + dtr v|^2) < h2, strictly, or < m_j h2 with h2_by_mass
 * (sapporo_regular); the same decision, exact as in double, makes lists and sums.  There are no indices, so a particle
 * is in its own sphere, and in its list where h2 > 0; where h2 <= 0 every j-particle counts that is not at the same
 * position.  Softening must be common, and there are no nearest neighbours.
 */
typedef struct sapporo_request {
    size_t size; /* sizeof(sapporo_request) */
    /* sources */
    int nj; /* addresses 0 .. nj-1 take part; empty addresses contribute nothing.  0: see SAPPORO_ALLOW_EMPTY */
    /* targets */
    int ni;               /* number of i-particles, any number >= 0 */
    sapporo_column x;     /* double[3] */
    sapporo_column v;     /* double[3]; absent: 0 */
    sapporo_column a;     /* double[3]: acceleration, for orders 6 and 8; absent: 0 */
    sapporo_column jerk;  /* double[3]: for order 8; absent: 0 */
    sapporo_column index; /* int: pairs of equal index are skipped; absent: no pair is skipped for its index */
    /* pairs and softening */
    double eps2;           /* square of the softening length, >= 0 */
    sapporo_column eps2_i; /* double: squared softening of each i-particle, >= 0; absent: 0 */
    sapporo_pairs pairs;
    /* neighbours */
    unsigned want;     /* sapporo_want: outputs that will surely be asked for.  A hint: all can be asked for later. */
    sapporo_column h2; /* double: squared radius of the neighbour sphere; <= 0 or absent: no list */
    sapporo_softening softening;
    const sapporo_regular *regular; /* of SAPPORO_PAIRS_OUTSIDE; NULL: h2 counts as it is, and dtr is 0 */
    sapporo_memory memory;          /* of all columns, also dtr */
} sapporo_request;

/*
 * Where results go; NULL members are not wanted.  ni rows each, overwritten.  If a member cannot be had, the call
 * fails, and all members are NaN.
 */
typedef struct sapporo_result {
    size_t size; /* sizeof(sapporo_result) */
    double (*acc)[3];
    double (*jerk)[3];    /* not of order 2: SAPPORO_ERR_UNSUPPORTED */
    double (*snap)[3];    /* orders 6 and 8; of others SAPPORO_ERR_UNSUPPORTED */
    double (*crackle)[3]; /* order 8; of others SAPPORO_ERR_UNSUPPORTED */
    double *pot;
    int *nearest;          /* index of the nearest j (unsoftened, predicted); ties: lowest address; none: -1 */
    double *nearest_r2;    /* its squared distance; none: +infinity */
    int *count;            /* batches of small forces only: number of sources within the larger of both radii */
    sapporo_memory memory; /* of all arrays; batches and neighbour forces: HOST only */
} sapporo_result;

/*
 * Begins the force of the j-particles at addresses 0 to nj-1, as they are stored now, predicted to the time set last.
 * All inputs are copied.  Any number of forces may be under way, and they may end in any order.  *job must be freed by
 * sapporo_force_free.  An accelerator computes while the caller does something else; the CPU engine computes here.
 *
 * On error *job is NULL.  SAPPORO_ERR_MEMORY also if a particle below nj was lost.  SAPPORO_ERR_ARGUMENT also if nj is
 * 0 with ni > 0, the context holds particles, and want lacks SAPPORO_ALLOW_EMPTY: a request that forgets nj would get
 * forces of 0.
 */
SAPPORO_API int sapporo_force_begin(sapporo *context, const sapporo_request *request, sapporo_job **job);

/* Returns 1 if the force is ready or its handle closed, 0 if sapporo_force_end would wait. */
SAPPORO_API int sapporo_force_done(sapporo_job *job);

/*
 * Waits for the force and writes its first ni rows, 0 <= ni <= the ni of the request; may be repeated.
 * SAPPORO_PARTIAL: some i-particles are not finite; their rows are NaN (nearest -1), the others right.  After an error
 * all ni rows are NaN, also if the force has fewer.  SAPPORO_ERR_ARGUMENT if job is NULL.  SAPPORO_ERR_UNSUPPORTED if
 * the order lacks an output.
 */
SAPPORO_API int sapporo_force_end(sapporo_job *job, int ni, const sapporo_result *result);

/*
 * Writes the neighbour list of i-particle i (from 0) of a force: the indices of all j-particles with |r|^2 < h2,
 * ascending, each once, without the particle itself.  *n is the number of entries written, at most `room`.  *total, if
 * not NULL, is the full length.  SAPPORO_TRUNCATED: the list is longer than room.
 *
 * A force that was begun without SAPPORO_WANT_LISTS computes its lists now, from its own j-particles.  Later forces
 * compute neighbours at once, until 64 forces in a row were not asked for them.  Ask before the next force, neighbour
 * force or batch of the context begins: else SAPPORO_ERR_GONE, unless no particle was stored since.  After an error *n
 * and *total are 0.
 */
SAPPORO_API int sapporo_force_neighbours(sapporo_job *job, int i, int room, int *n, int *list, int *total);

/*
 * Writes the neighbour lists of the first ni i-particles, by threads: the list of i begins at list[i * pitch], and n[i]
 * becomes its full length.  A list of more than `room` <= pitch entries is not written: SAPPORO_TRUNCATED.  After an
 * error all ni lengths are 0.
 */
SAPPORO_API int sapporo_force_neighbour_lists(sapporo_job *job, int ni, int room, ptrdiff_t pitch, int *list, int *n);

/* Frees a job, done or not.  NULL and handles that are freed or closed are allowed. */
SAPPORO_API void sapporo_force_free(sapporo_job *job);

/* ---- forces from lists ------------------------------------------------------------- */

/*
 * i-particles and their sources, all of them particles of the context by address.  Positions and velocities of both are
 * predicted to the context's time; a source with the index of the i-particle is skipped, and one at zero distance
 * without softening.
 */
typedef struct sapporo_neighbour_request {
    size_t size;            /* sizeof(sapporo_neighbour_request) */
    int ni;                 /* number of i-particles */
    const int *address;     /* [ni] addresses of the i-particles */
    const int *const *list; /* [ni] addresses of the sources of each, in any order; may be NULL where length is 0 */
    const int *length;      /* [ni] numbers of sources */
    double eps2;            /* squared softening */
} sapporo_neighbour_request;

/*
 * Computes the force on each target from its own list of neighbours: the irregular force of Ahmad-Cohen schemes, in
 * contexts of order 4.  Rows of `result`: acc, jerk, pot, nearest and nearest_r2.  SAPPORO_PARTIAL: an address holds no
 * particle (perhaps it was lost), a length is negative, or a target's position or velocity is not finite at that time;
 * rows with it are NaN.
 *
 * The bits of a row depend on the order of its list alone: not on the engine, the processor or other lists, where there
 * are fused operations (docs/numerics.md).  In contexts of accelerators the device computes calls with many members
 * (cpu_below_neighbour of the tuning file), and the CPU all others.  The CPU also computes every call on a device
 * without double precision, in a context where a force was begun, where no precision was named and all addresses are
 * below 1,024, and while most addresses below the highest are empty.
 *
 * Memory is proportional to the number of stored particles.  On Linux the call also reserves up to 400 bytes of address
 * space per address: SAPPORO_ERR_MEMORY if a limit (ulimit -v) refuses that.
 */
SAPPORO_API int sapporo_neighbour_force(sapporo *context, const sapporo_neighbour_request *request,
                                        const sapporo_result *result);

/* ---- many small forces at once ---------------------------------------------------- */

/*
 * One force of sapporo_force_batch: ni targets on which nj sources act.  The sources are either the list's own (x_j,
 * mass_j, eps2_j) or, where `address` is given, particles of the context by address.  Softening as in sapporo_request.
 */
typedef struct sapporo_small_force {
    size_t size; /* sizeof(sapporo_small_force) */
    int ni, nj;
    sapporo_column x;      /* double[3] of each i-particle */
    sapporo_column eps2_i; /* double; absent: 0 */
    const int *address;    /* nj addresses that hold particles, in any order; NULL: own sources */
    sapporo_column x_j;    /* double[3] of each own source */
    sapporo_column mass_j; /* double; absent: 0 */
    sapporo_column eps2_j; /* double; absent: 0 */
    double eps2;           /* squared softening, common */
    /* more than monopoles: see sapporo_force_batch */
    sapporo_column quad_j; /* double[6]: second moments of each source, trace not removed: sums of m x x, m y y, m z z,
                              m x y, m x z, m y z about its position; absent: 0 */
    sapporo_column h2_i;   /* double: squared radius of each i-particle, for results.count; absent: 0 */
    sapporo_column h2_j;   /* double: squared radius of each source; absent: 0 */
    double floor2;         /* squared floor of the distance: R2 is at least this; 0: none */
    sapporo_column floor2_i; /* double: squared floor of each i-particle; absent: 0 */
    sapporo_column floor2_j; /* double: squared floor of each source; absent: 0 */
} sapporo_small_force;

typedef struct sapporo_batch sapporo_batch; /* handle of a batch of small forces, under way or done */

/*
 * Computes nlists independent forces in one call, in contexts of order 2.  List k gives results[k].acc, .pot and
 * .count, ni rows each; all other members must be NULL.  The call serves tree codes of the multi-walk kind (FDPS): a
 * list is a group of particles with its interaction list, and thousands of lists keep all threads or a whole GPU busy.
 * Only pairs with R2 = 0 are skipped.  Each force has the bits that its sources, stored at addresses 0 to nj-1 of a
 * context of the same kind in their order, would give.
 *
 * Members beyond masses:
 *   - quad_j: second moments Q of each source.  At the distance d they add -(3 d.Q d / R^5 - tr Q / R^3) / 2 to the
 *     potential, and the gradient of that to the acceleration.
 *   - h2_i, h2_j: squared radii.  `count` is the number of sources with r2 < max(h2_i, h2_j), the target itself among
 *     them if its list has it.
 *   - floor2, floor2_i, floor2_j: smallest squared distances.  R2 is the largest of r2 + eps2 and these three.
 *
 * With addresses, quad_j, h2_j and floor2_j have an element per address: element a is that of the particle at address
 * a.  If all lists name the same columns, one device gets them once per call.  Otherwise, and on several devices, the
 * host sends the sources of each list: 48 bytes per source, 96 with moments, 104 with floor2_j.
 *
 * A batch in which some list has one of these members, or a result `count`, is computed in the precision of the context
 * with the errors and bits of its kind; in double, with the same bits on all engines, in `dp` and where floats do not
 * hold the terms.  Counts are always those of distances in double.
 *
 * All elements of an array have the same `size`.  SAPPORO_PARTIAL: i-particles of some list are not finite; their rows
 * are NaN.  After an error all rows of all lists are NaN, in every member that is not NULL.  A list whose ni is
 * negative has no rows.
 */
SAPPORO_API int sapporo_force_batch(sapporo *context, int nlists, const sapporo_small_force *lists,
                                    const sapporo_result *results);

/*
 * Begins what sapporo_force_batch computes in one call, so that the caller does something else while an accelerator
 * computes.  All inputs are copied, and the forces are those of the particles as they are stored now.  Several batches
 * may be under way; particles, addresses and lists may change meanwhile.  *batch must be freed by
 * sapporo_force_batch_free.  On error *batch is NULL.  The CPU engine computes here.
 */
SAPPORO_API int sapporo_force_batch_begin(sapporo *context, int nlists, const sapporo_small_force *lists,
                                          sapporo_batch **batch);

/* Returns 1 if the batch is ready or its handle closed, 0 if sapporo_force_batch_end would wait. */
SAPPORO_API int sapporo_force_batch_done(sapporo_batch *batch);

/*
 * Waits for the batch and writes its first nlists lists (0 <= nlists <= those it was begun with): the first ni[k] rows
 * (0 <= ni[k] <= lists[k].ni) of list k to results[k], as sapporo_force_batch does.  May be repeated.  Returns
 * SAPPORO_PARTIAL if some targets are not finite.  After an error the ni[k] rows of all nlists lists are NaN.
 * SAPPORO_ERR_ARGUMENT if batch is NULL.
 */
SAPPORO_API int sapporo_force_batch_end(sapporo_batch *batch, int nlists, const int *ni, const sapporo_result *results);

/* Frees a batch, done or not.  NULL and handles that are freed or closed are allowed. */
SAPPORO_API void sapporo_force_batch_free(sapporo_batch *batch);

/*
 * Keeps a copy of address[0..n-1] on the GPU.  Later batches whose `address` points into this array, with all nj
 * numbers, reuse the copy.  Do not change or free the array until the next call; n = 0 ends it.  Results are the same.
 * Particles may change and be added.  Engines that have no use for a copy ignore the call.  Any thread may call it.
 * SAPPORO_ERR_ARGUMENT: address is NULL and n > 0; the array of the last call remains.
 */
SAPPORO_API int sapporo_keep_addresses(sapporo *context, const int *address, size_t n);

#ifdef __cplusplus
}
#endif

#include "sapporo_stepper.h"
#include "sapporo_tree.h"

#endif
