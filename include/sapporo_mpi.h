/*
 * sapporo_mpi.h - forces by direct sums and by trees over the ranks of an MPI communicator: libsapporo_mpi, on
 * libsapporo.
 *
 *   mpicc yours.c -lsapporo_mpi -lsapporo
 *
 * The j-particles are distributed over the ranks.  Each rank asks for the force on i-particles of its own from all
 * j-particles of all ranks.  Results have the same bits for any number of ranks, for any distribution of the particles
 * that the ranks give, and as from one context of sapporo.h that has all j-particles: ranks exchange reproducible
 * accumulators, never rounded sums.
 *
 * Collective calls: all ranks of the communicator make the same collective calls in the same order.  Each comment below
 * begins with "Collective" or "Local".  A collective call returns the same status on every rank.  If it fails on one
 * rank, it fails on all: sapporo_mpi_last_error names the rank and tells what failed there, and all outputs on all
 * ranks are what sapporo.h says of errors.  If ranks make different calls on an object, all of them get
 * SAPPORO_MPI_ERR_DIFFERENT, and the error names two of the calls; nothing was changed, except that a call which begins
 * with forgetting a tree has forgotten it, and that an object which one rank closes cannot be used on the others.  A
 * rank that has no handle to give cannot take part: a collective call with
 * a NULL or closed handle fails at once on this rank, and the other ranks wait for it until their timeout.
 *
 * Timeout: a collective call gives up with SAPPORO_MPI_ERR_TIMEOUT if it waits for other ranks longer than the timeout
 * of the options.  The handle cannot be used any more after that, or after an error of MPI itself: all calls on it but
 * sapporo_mpi_close return that status at once, so that the other ranks soon give up too.
 *
 * MPI: version 3.0 or later, initialised by the caller.  All communication is on a copy of the caller's communicator,
 * from the thread that calls.  Calls on one handle come from one thread at a time; with calls on several handles from
 * several threads, MPI must be initialised with MPI_THREAD_MULTIPLE.  Handles are closed before MPI_Finalize:
 * afterwards collective calls return SAPPORO_MPI_ERR_MPI, and closing frees what does not need MPI.
 *
 * Cores: MPI may bind a rank to one core, where the library has one thread and transfers wait.  Opening then warns
 * once, on one rank, with the option of the launcher (mpirun --bind-to none).
 */
#ifndef SAPPORO_MPI_H
#define SAPPORO_MPI_H

#include <mpi.h>

#include "sapporo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Statuses in addition to those of sapporo.h. */
enum sapporo_mpi_status {
    SAPPORO_MPI_ERR_MPI = -101,       /* MPI reported an error */
    SAPPORO_MPI_ERR_TIMEOUT = -102,   /* other ranks did not take part in a collective call in time */
    SAPPORO_MPI_ERR_DIFFERENT = -103, /* the ranks made different calls, or gave different options or
                                         arguments where they must be the same */
    SAPPORO_MPI_ERR_NCCL = -104       /* NCCL reported an error; forces of the handle fail with it from now on */
};

/* Local.  Returns one line of English for a status of this header or of sapporo.h; never NULL; static storage. */
SAPPORO_API const char *sapporo_mpi_status_text(int status);

typedef struct sapporo_mpi sapporo_mpi; /* handle of a distributed set of j-particles, never given twice */

/*
 * What travels between the ranks in a force.  Results have the same bits by both ways.  SAPPORO_MPI_WAY_TARGETS: the
 * i-particles of all ranks are gathered on each rank, which computes the force from the j-particles that it keeps; the
 * sums travel back.  SAPPORO_MPI_WAY_SOURCES: all j-particles are sent to all ranks, part by part, and each rank
 * computes the force on its own i-particles alone.  Of one rank nothing travels by either way.
 */
typedef enum sapporo_mpi_way {
    SAPPORO_MPI_WAY_AUTO = 0, /* for each force, the way that is faster by sapporo_mpi_costs */
    SAPPORO_MPI_WAY_TARGETS = 1,
    SAPPORO_MPI_WAY_SOURCES = 2
} sapporo_mpi_way;

/*
 * How particles travel: j-particles in a force by SAPPORO_MPI_WAY_SOURCES; of trees, particles that change their rank,
 * what ranks need of each other's trees, and forces that go back.  Results have the same bits by all transports,
 * because none of them adds numbers.  SAPPORO_MPI_TRANSPORT_MPI and SAPPORO_MPI_TRANSPORT_NCCL move device memory: each
 * rank computes on one GPU of the CUDA engine.  Of one rank nothing travels.
 */
typedef enum sapporo_mpi_transport {
    SAPPORO_MPI_TRANSPORT_AUTO = 0, /* what SAPPORO_MPI_TRANSPORT of the environment says; if nothing: NCCL, MPI, or
                                       host memory, the first of these that all ranks can use */
    SAPPORO_MPI_TRANSPORT_HOST = 1, /* by MPI from host memory */
    SAPPORO_MPI_TRANSPORT_MPI = 2,  /* by MPI from device memory, if MPI says that it takes it */
    SAPPORO_MPI_TRANSPORT_NCCL =
        3 /* by NCCL (libnccl.so.2, version 2.14 or later), if each rank has a GPU of its own */
} sapporo_mpi_transport;

/*
 * What parts of a force cost on a rank, in seconds: the numbers by which SAPPORO_MPI_WAY_AUTO chooses (docs/ranks.md
 * has the equations).  All are finite and >= 0.
 */
typedef struct sapporo_mpi_costs {
    size_t size;     /* sizeof(sapporo_mpi_costs) */
    double message;  /* a collective operation of MPI with a few bytes; both ways have the same number of them */
    double byte;     /* each byte that a rank receives */
    double force;    /* starting one force of a context */
    double pair;     /* each pair of an i-particle and a j-particle */
    double row;      /* each i-particle of a force whose sums are merged with those of other forces */
    double store;    /* each j-particle that a rank packs, or stores for a force */
    double exchange; /* an exchange of long messages between all ranks, besides its bytes; if `size` leaves it out, it
                        is `message` */
} sapporo_mpi_costs;

/* How to open a handle.  Zero everywhere but in size means the default. */
typedef struct sapporo_mpi_options {
    size_t size;                    /* sizeof(sapporo_mpi_options) */
    const sapporo_options *context; /* of the context of each rank; order, precision and root are the same on all ranks;
                                       NULL: the defaults */
    double timeout; /* seconds that a collective call waits for other ranks; 0: 3600; infinity: no limit */
    int rows;       /* i-particles of all ranks that are computed at a time, > 0; 0: 16384 */
    const sapporo_mpi_costs *costs; /* copied, the same on all ranks; NULL: measured once, by the first force that needs
                                       them, in less than a second */
    sapporo_mpi_way way;            /* the same on all ranks */
    int sources; /* of SAPPORO_MPI_WAY_SOURCES: j-particles in a part, > 0, rounded up to a multiple of 2048, of which
                    each rank keeps two in memory; 0: all in one part, or where that takes more than an eighth of the
                    memory of a machine or its devices, in parts of half as much.  Bits do not depend on it */
    sapporo_mpi_transport transport; /* the same on all ranks; SAPPORO_ERR_UNSUPPORTED if some rank cannot use it */
} sapporo_mpi_options;

/*
 * Collective.  Opens a context on each rank of a communicator, which is copied.  `options` may be NULL.  The options
 * are compared first: if they differ, SAPPORO_MPI_ERR_DIFFERENT, and the error names an option and a rank.  The same
 * holds for the version of the library and for sapporo_kind of the contexts: results of different kinds cannot be added
 * exactly.  On failure *handle is NULL, and sapporo_mpi_last_error(NULL) says why.  An intercommunicator and
 * MPI_COMM_NULL are SAPPORO_ERR_ARGUMENT, which only this rank notices.
 */
SAPPORO_API int sapporo_mpi_open(MPI_Comm communicator, const sapporo_mpi_options *options, sapporo_mpi **handle);

/* The same for Fortran, whose communicators are integers (MPI_Comm_f2c); module sapporo_mpi calls it sapporo_mpi_open.
 */
SAPPORO_API int sapporo_mpi_open_fortran(MPI_Fint communicator, const sapporo_mpi_options *options,
                                         sapporo_mpi **handle);

/*
 * Collective.  Closes the handle and its jobs.  It does not wait for other ranks if an earlier call ended with
 * SAPPORO_MPI_ERR_TIMEOUT or SAPPORO_MPI_ERR_MPI; then memory that MPI may still use is not freed.  NULL is allowed.
 */
SAPPORO_API void sapporo_mpi_close(sapporo_mpi *handle);

/*
 * Local.  Returns the text of the last error of a handle, or for NULL of the last sapporo_mpi_open of this thread; ""
 * if there was none.  The text is the same on every rank if the status is: "rank 3: ...".  It lives until the next call
 * on the handle.
 */
SAPPORO_API const char *sapporo_mpi_last_error(const sapporo_mpi *handle);

/* Local.  Returns sapporo_kind of the contexts, which is the same on all ranks; of a closed handle "". */
SAPPORO_API const char *sapporo_mpi_kind(const sapporo_mpi *handle);

/*
 * Local.  Returns the context of this rank, for queries such as sapporo_get_threads; NULL: the handle is not open.  Its
 * particles lie at addresses of its own; the context must neither be changed nor closed.
 */
SAPPORO_API sapporo *sapporo_mpi_context(const sapporo_mpi *handle);

/*
 * Local.  Returns the way of the last force that was begun; SAPPORO_MPI_WAY_AUTO: none was begun, or the handle is not
 * open.
 */
SAPPORO_API sapporo_mpi_way sapporo_mpi_get_way(const sapporo_mpi *handle);

/*
 * Local.  Returns how j-particles travel; SAPPORO_MPI_TRANSPORT_AUTO: the handle is not open.  Forces from fewer than
 * 1,024 j-particles take SAPPORO_MPI_TRANSPORT_HOST in any case.
 */
SAPPORO_API sapporo_mpi_transport sapporo_mpi_get_transport(const sapporo_mpi *handle);

/*
 * Local.  Writes the costs by which ways are chosen, which are the same on all ranks; costs->size is set by the caller.
 * SAPPORO_ERR_GONE: they were neither given nor measured yet; all are 0.
 */
SAPPORO_API int sapporo_mpi_get_costs(const sapporo_mpi *handle, sapporo_mpi_costs *costs);

/*
 * What a rank has sent to other ranks since a handle was opened or a tree was created, and how often it has waited for
 * them.  Bytes are those of particles, targets, sums, boxes and cells: what all ranks get counts for each of them.
 * Statuses, numbers of records, and sums of a few numbers are waited for, but not counted as bytes.
 */
typedef struct sapporo_mpi_traffic {
    size_t size;            /* sizeof(sapporo_mpi_traffic), set by the caller */
    long long waits;        /* of the host for other ranks, or for transfers */
    long long host_bytes;   /* sent from host memory */
    long long device_bytes; /* sent from device memory, by SAPPORO_MPI_TRANSPORT_MPI or SAPPORO_MPI_TRANSPORT_NCCL */
} sapporo_mpi_traffic;

/* Local.  Fills *traffic up to its size; numbers are 0 if the handle is not open: SAPPORO_ERR_CLOSED. */
SAPPORO_API int sapporo_mpi_get_traffic(const sapporo_mpi *handle, sapporo_mpi_traffic *traffic);

/* ---- j-particles ---------------------------------------------------------------- */

/*
 * Collective.  Stores particles at addresses that count over all ranks: any rank gives any particles, each address at
 * most once per call (of an address that several ranks give, the highest rank's particle remains).  n may be 0 and may
 * differ.  Columns are those of sapporo_set_particles; an absent index is the address.  The particles are sent to the
 * ranks that keep them: blocks of 2,048 addresses belong to the ranks in turn, so that each rank keeps about as many
 * particles.  SAPPORO_ERR_NOT_FINITE: all were stored, as by sapporo_set_particles.  SAPPORO_ERR_ARGUMENT: an
 * address is not 0 to 2^30 - 1 (with several ranks 2^31 - 2), or an eps2 is negative or not finite; no particle of any
 * rank was stored.  After SAPPORO_ERR_MEMORY forces fail with that status until a call succeeds, and forces that
 * take in a particle which was lost, until one is stored there; or until sapporo_mpi_clear_particles.  A force takes
 * the time of its particles: blocks of 2,048 addresses without a particle are not sent.  With SAPPORO_MEMORY_DEVICE the
 * addresses are in device memory, too; ranks may differ in it, also in requests and results.
 */
SAPPORO_API int sapporo_mpi_set_particles(sapporo_mpi *handle, int n, const int *address,
                                          const sapporo_particles *particles);

/* Collective.  Empties all addresses of all ranks. */
SAPPORO_API int sapporo_mpi_clear_particles(sapporo_mpi *handle);

/*
 * Local.  Sets the time to which later forces predict j-particles; 0 after opening.  The next
 * sapporo_mpi_force_begin fails if the ranks set different times.  SAPPORO_ERR_NOT_FINITE if it is NaN or infinite: it
 * fails then, too, in all orders but 2, until another time is set.
 */
SAPPORO_API int sapporo_mpi_set_time(sapporo_mpi *handle, double time);

/* ---- forces ------------------------------------------------------------------------ */

typedef struct sapporo_mpi_job sapporo_mpi_job; /* handle of a force under way, never given twice */

/*
 * Collective.  Begins the force on the i-particles of each rank, of which there may be none, from the j-particles of
 * all ranks at addresses 0 .. nj-1.  nj, eps2 and want are the same on all ranks, and so is whether ranks with
 * i-particles give indices; else SAPPORO_MPI_ERR_DIFFERENT.  Inputs are copied.  `want` may have SAPPORO_WANT_NEAREST,
 * which must be asked for here, and SAPPORO_ALLOW_EMPTY: without it nj = 0 is SAPPORO_ERR_ARGUMENT if some rank has
 * i-particles, and some address a particle.  Neighbour lists and SAPPORO_PAIRS_OUTSIDE are SAPPORO_ERR_UNSUPPORTED; so
 * are h2 and regular. One force at a time: SAPPORO_ERR_ARGUMENT if a job of the handle was not freed.  On
 * failure *job is NULL.
 */
SAPPORO_API int sapporo_mpi_force_begin(sapporo_mpi *handle, const sapporo_request *request, sapporo_mpi_job **job);

/*
 * Collective.  Waits for the force and writes the first ni rows of this rank, 0 <= ni <= the ni of this rank's request.
 * Particles and time must not have been set since the force began: SAPPORO_ERR_GONE.  Which arrays are wanted may
 * differ from rank to rank.  A force is delivered once: later calls are SAPPORO_ERR_GONE.  SAPPORO_PARTIAL, on all
 * ranks: i-particles of some rank are not finite; their rows are NaN.
 */
SAPPORO_API int sapporo_mpi_force_end(sapporo_mpi_job *job, int ni, const sapporo_result *result);

/*
 * Local.  Frees a job, delivered or not.  A job is freed on all ranks or on none before the next
 * sapporo_mpi_force_begin.  NULL and freed jobs are allowed.
 */
SAPPORO_API void sapporo_mpi_force_free(sapporo_mpi_job *job);

/* ---- trees ------------------------------------------------------------------------- */

/*
 * Forces of sapporo_tree.h over ranks: each rank gives particles and gets the forces on them from the particles of all
 * ranks.  A build sends the particles to the ranks that walk them: runs along the Peano-Hilbert curve, one per rank, of
 * about equal numbers of interactions in the forces since the build before.  Each rank builds a tree of its run.  A
 * force sends to each rank the cells and particles of the other trees that the acceptance criterion leaves there, and
 * walks through the own tree in the meantime.  Cells are accepted by the criterion of the options, with the cube and
 * the tolerance of all particles, so errors are those of one tree; the bits depend on the number of ranks and on which
 * rank gives which particle.  The same run has the same bits.  With one rank they are those of sapporo_tree_force.
 *
 * The rules above on collective calls, errors and timeouts hold, with sapporo_mpi_tree_last_error.
 */
typedef struct sapporo_mpi_tree sapporo_mpi_tree; /* handle of a tree over ranks, never given twice */

/* Options of a tree over ranks.  Zero everywhere but in size means the default. */
typedef struct sapporo_mpi_tree_options {
    size_t size;                      /* sizeof(sapporo_mpi_tree_options) */
    const sapporo_tree_options *tree; /* of the tree of each rank: the same on all ranks, but for devices and threads;
                                         experiments is 0; NULL: the defaults */
    double timeout;                   /* as in sapporo_mpi_options, */
    sapporo_mpi_transport transport;  /* and so is this */
} sapporo_mpi_tree_options;

/*
 * Collective.  Creates a tree without particles over a communicator, which is copied.  `options` may be NULL.  They are
 * compared, and so are the kinds of engine, as by sapporo_mpi_open.  On failure *tree is NULL, and
 * sapporo_mpi_tree_last_error(NULL) says why.
 */
SAPPORO_API int sapporo_mpi_tree_create(MPI_Comm communicator, const sapporo_mpi_tree_options *options,
                                        sapporo_mpi_tree **tree);

/* The same for Fortran; module sapporo_mpi calls it sapporo_mpi_tree_create. */
SAPPORO_API int sapporo_mpi_tree_create_fortran(MPI_Fint communicator, const sapporo_mpi_tree_options *options,
                                                sapporo_mpi_tree **tree);

/* Collective.  Destroys the tree, as sapporo_mpi_close closes a handle.  NULL and destroyed trees are allowed. */
SAPPORO_API void sapporo_mpi_tree_destroy(sapporo_mpi_tree *tree);

/*
 * Local.  Returns the text of the last error of a tree, or of creating one (NULL), with its rank; "" if there was none.
 */
SAPPORO_API const char *sapporo_mpi_tree_last_error(const sapporo_mpi_tree *tree);

/* Local.  Returns sapporo_tree_kind_text of the trees of all ranks; "" if there is no such tree. */
SAPPORO_API const char *sapporo_mpi_tree_kind_text(const sapporo_mpi_tree *tree);

/*
 * Local.  Returns how particles travel; SAPPORO_MPI_TRANSPORT_AUTO: there is no such tree.  Those with softening
 * lengths take SAPPORO_MPI_TRANSPORT_HOST in any case.
 */
SAPPORO_API sapporo_mpi_transport sapporo_mpi_tree_get_transport(const sapporo_mpi_tree *tree);

/*
 * Collective.  Copies the particles of all ranks and builds the trees.  A rank may give none.  Positions and
 * masses are needed.  Columns are in host memory or, of any rank whose tree is on a CUDA device, in memory of that
 * device, complete and without gaps: no result depends on it.  Column a is the size of each acceleration, for
 * SAPPORO_MAC_ACCELERATION; absent: that of the last force, if this rank gives as many particles as then.  Column h is
 * as of sapporo_tree_particles; some ranks may give it.  Particle i of this rank is row i of forces.
 * SAPPORO_ERR_NOT_FINITE names the first particle that is NaN, infinite or beyond 1e100, or says that moments of all
 * particles are beyond the range of double.  After an error there is no tree until a build succeeds.
 */
SAPPORO_API int sapporo_mpi_tree_build(sapporo_mpi_tree *tree, const sapporo_tree_particles *particles);

/*
 * Collective.  Takes new positions of the particles of the last build, as many on each rank as then and in the same
 * order, with masses (which may be others) and, if given, columns a and h.  Each rank walks the particles that it
 * walked, and each cell keeps its particles; moments, boxes and what travels between ranks are renewed.  It takes less
 * time than a build.  Forces keep their accuracy wherever particles move, but take more and more interactions, and
 * ranks need more of each other's cells: build again then.  SAPPORO_ERR_ARGUMENT: there is no tree, or a rank gives
 * another number of particles than in the last build.  After this error and SAPPORO_ERR_NOT_FINITE the tree is as it
 * was; after other errors there is no tree until a build succeeds.  With one rank forces have the bits of
 * sapporo_tree_refresh.
 */
SAPPORO_API int sapporo_mpi_tree_refresh(sapporo_mpi_tree *tree, const sapporo_tree_particles *particles);

/*
 * Collective.  Refreshes the trees while their forces are cheap, else builds new ones.  It builds if there is no tree
 * or a rank gives another number of particles, or if the last force cost more than `factor` times the cheapest one
 * since the last build: interactions per row over all ranks, or interactions of the rank that has most.  Only forces on
 * at least half of all particles count.  factor >= 1, the same on all ranks; 0 means 1.15.  Builds are for a later
 * time, as of sapporo_tree_refresh_or_build; the first call takes 48 bytes per particle more.  *built, unless built is
 * NULL: 1 after a build, 0 after a refresh or an error.  Errors are those of sapporo_mpi_tree_build and
 * sapporo_mpi_tree_refresh, and SAPPORO_ERR_MEMORY: no memory for positions, nothing has changed.
 */
SAPPORO_API int sapporo_mpi_tree_refresh_or_build(sapporo_mpi_tree *tree, const sapporo_tree_particles *particles,
                                                  double factor, int *built);

/*
 * Collective.  Writes accelerations and potentials of this rank's particles from the particles of all ranks, in host
 * memory, in the order of the last build; NULL: not wanted.  After an error all rows of all ranks are NaN, as many as
 * the last build was given; a NULL or destroyed tree has no rows to write.
 */
SAPPORO_API int sapporo_mpi_tree_force(sapporo_mpi_tree *tree, double (*acc)[3], double *pot);

/*
 * Collective.  The same on active particles of this rank: active[ni] are their numbers, in any order, repeated at will;
 * NULL: 0 .. ni-1.  ni may be 0 and may differ between ranks.  Row i is that of active[i].  Only cells and particles
 * that act on active particles travel.  The error of a force is that of sapporo_mpi_tree_force.  With one rank the bits
 * are those of sapporo_tree_force with these active particles.  After an error all rows are NaN.
 */
SAPPORO_API int sapporo_mpi_tree_force_active(sapporo_mpi_tree *tree, int ni, const int *active, double (*acc)[3],
                                              double *pot);

/*
 * Collective.  The same for a request, as of sapporo_tree_force: on active particles, or without a list on the first
 * ni; with SAPPORO_MEMORY_DEVICE from a list and into arrays in memory of the device of the rank's tree, which are
 * complete at return.  SAPPORO_ERR_UNSUPPORTED: column x, or memory of a device on a CPU or by OpenCL.  Ranks may ask
 * for different memory.
 */
SAPPORO_API int sapporo_mpi_tree_force_request(sapporo_mpi_tree *tree, const sapporo_tree_request *request,
                                               double (*acc)[3], double *pot);

/*
 * Collective.  Sends the particles to the ranks that walk them, and makes them the particles of the callers there.  So
 * each rank has the particles of its own region, whose positions and forces need not travel.  `from` has a record of
 * `bytes` bytes (1 to 1 MiB, the same on all ranks) for each particle of this rank, in the order of the last build:
 * what the caller keeps of a particle.  The records of the particles that this rank walks are written to `to`, which
 * has room for `room` of them and does not overlap `from`.  From then on the particle of record i is particle i of this
 * rank, in refreshes and in forces.  What is known of its interactions and acceleration, and its softening length,
 * go with it: the tree is still built, the next force has the bits that it would have had, and the next build sends the
 * few particles that have come to another rank's region.  *n, unless n is NULL: the particles that this rank walks; 0
 * if there is no tree. SAPPORO_ERR_ARGUMENT: there is no tree, a record has no bytes or too many, records are missing,
 * or `room` is below *n.  After this error, SAPPORO_MPI_ERR_DIFFERENT (of `bytes`) and SAPPORO_ERR_MEMORY nothing has
 * changed.
 */
SAPPORO_API int sapporo_mpi_tree_exchange(sapporo_mpi_tree *tree, size_t bytes, const void *from, int room, void *to,
                                          int *n);

/* Phases of sapporo_mpi_tree_statistics. */
enum sapporo_mpi_tree_phase {
    SAPPORO_MPI_PHASE_EXCHANGE = 0, /* of a build: the division among the ranks, and sending particles */
    SAPPORO_MPI_PHASE_BUILD = 1,    /* the tree of this rank */
    SAPPORO_MPI_PHASE_SELECT = 2,   /* of a force: what other ranks need is selected, and announced */
    SAPPORO_MPI_PHASE_WALK = 3,     /* through the own tree; of GPUs that share with others, its start */
    SAPPORO_MPI_PHASE_WAIT = 4,     /* for the cells and particles of other ranks */
    SAPPORO_MPI_PHASE_IMPORTED = 5, /* the walk through those, and the rest of a GPU's walk */
    SAPPORO_MPI_PHASES = 6
};

/* What this rank has, and what its part of the last force took. */
typedef struct sapporo_mpi_tree_statistics {
    size_t size;     /* sizeof(sapporo_mpi_tree_statistics), set by the caller */
    int given;       /* particles that this rank gave */
    int n;           /* particles that it walks: at most three times the mean of all ranks, and one; more only if
                        several particles have one key, since these stay together */
    int cells;       /* of its tree; 0 if there is one rank */
    int regions;     /* boxes that tell other ranks where its particles are, at most 4,096 */
    long long total; /* particles of all ranks */
    int sent_cells, sent_particles;             /* to all other ranks, in the last walk */
    int got_cells, got_particles;               /* from them */
    long long particle_particle, particle_cell; /* interactions of the particles that this rank walks */
    size_t halo_bytes; /* memory for sending and receiving cells and particles, at most: of each rank 64 bytes and 56
                          for each region that a rank may have (docs/ranks.md), 152 per cell sent and 312 per cell
                          received, 32 per particle sent or received; arrays that grow take up to half as much again.
                          They are kept: a tree has as much as the largest force needed */
    double seconds[SAPPORO_MPI_PHASES]; /* of the last build or refresh and the last force */
    int rows;                           /* forces of the last call that this rank walked */
    int refreshes;                      /* since the last build */
} sapporo_mpi_tree_statistics;

/* Local.  Fills *statistics up to its size; numbers are 0 where there is no tree. */
SAPPORO_API int sapporo_mpi_tree_get_statistics(sapporo_mpi_tree *tree, sapporo_mpi_tree_statistics *statistics);

/* Local.  As sapporo_mpi_get_traffic, of a tree. */
SAPPORO_API int sapporo_mpi_tree_get_traffic(const sapporo_mpi_tree *tree, sapporo_mpi_traffic *traffic);

/* ---- steppers ---------------------------------------------------------------------- */

/*
 * Steppers of sapporo_stepper.h over ranks: each rank keeps the particles that its caller gave and moves them, with
 * forces from a tree over ranks or from direct sums over ranks.  All ranks take the same steps at the same times; which
 * particles are active follows from the levels of the particles of all ranks.  Formulas and criteria are those of
 * sapporo_stepper.h.  The arithmetic of a stepper runs where its forces do, on the GPU of each rank (CUDA), if there
 * are two ranks or more and a tree, or direct sums whose sources travel from device memory or of one rank; else it runs
 * on the CPU of each rank.  Bits do not depend on where.
 *
 * With one rank, orbits have the bits of sapporo_stepper.h, if no particle is massless.  With more ranks, those over
 * direct sums have the bits of one stepper with the particles of rank 0, then those of rank 1, and so on, if the
 * precision is named or the scheme is Hermite's; those over trees have the errors of one tree, and their bits depend on
 * the number of ranks.  The energy depends in the last bits on the number of ranks by either method.
 *
 * Differences from sapporo_stepper.h: massless particles are in trees, with their mass of 0, so they may change bits of
 * other orbits; with SAPPORO_REBUILD_TIMED the times of all ranks decide, and groups keep the extent of the options;
 * arrays of callers are in host memory.  Present potentials of Hermite schemes need a force of all ranks, so they have
 * a call of their own.
 *
 * Numbers: nearest neighbours (`nearest` of sapporo_stepper_output) and close pairs may be on other ranks.  They are
 * numbers, which count the particles of rank 0 in order of address, then those of rank 1, and so on: the addresses of
 * one stepper with all particles.  They are those of the present particles, also after some were added or removed;
 * sapporo_mpi_stepper_locate tells the rank and the address.
 *
 * The rules above on collective calls, errors and timeouts hold, with sapporo_mpi_stepper_last_error.  If
 * sapporo_mpi_stepper_advance fails, the particles of all ranks are those of the last complete step, and the call may
 * be repeated; but after SAPPORO_MPI_ERR_TIMEOUT and SAPPORO_MPI_ERR_MPI ranks may be one step apart.
 * sapporo_mpi_stepper_get and sapporo_mpi_stepper_get_time work also then.
 */
typedef struct sapporo_mpi_stepper sapporo_mpi_stepper; /* handle of a stepper over ranks, never given twice */

/* Options of a stepper over ranks. */
typedef struct sapporo_mpi_stepper_options {
    size_t size;                            /* sizeof(sapporo_mpi_stepper_options) */
    const sapporo_stepper_options *stepper; /* the same on all ranks, but for devices and threads of its tree */
    double timeout;                         /* as in sapporo_mpi_options, */
    sapporo_mpi_transport transport;        /* and so is this */
} sapporo_mpi_stepper_options;

/*
 * Collective.  Creates a stepper without particles, with room for n >= 0 particles of this rank; n may differ between
 * ranks.  Options are compared, and so are the kinds of engine, as by sapporo_mpi_open.  On failure *stepper is NULL,
 * and sapporo_mpi_stepper_last_error(NULL) says why.
 */
SAPPORO_API int sapporo_mpi_stepper_create(MPI_Comm communicator, const sapporo_mpi_stepper_options *options, int n,
                                           sapporo_mpi_stepper **stepper);

/* The same for Fortran; module sapporo_mpi calls it sapporo_mpi_stepper_create. */
SAPPORO_API int sapporo_mpi_stepper_create_fortran(MPI_Fint communicator, const sapporo_mpi_stepper_options *options,
                                                   int n, sapporo_mpi_stepper **stepper);

/* Collective.  Destroys the stepper, as sapporo_mpi_close closes a handle.  NULL and destroyed steppers are allowed. */
SAPPORO_API void sapporo_mpi_stepper_destroy(sapporo_mpi_stepper *stepper);

/* Local.  Returns the text of the last error of a stepper, or of creating one (NULL), with its rank; "" if there was
 * none. */
SAPPORO_API const char *sapporo_mpi_stepper_last_error(const sapporo_mpi_stepper *stepper);

/* Local.  Returns the kind of the forces of all ranks, as sapporo_stepper_kind_text; "" if there is no such stepper. */
SAPPORO_API const char *sapporo_mpi_stepper_kind_text(const sapporo_mpi_stepper *stepper);

/*
 * Collective.  Copies the particles of each rank, 0 to as many as it has room for, and computes the first forces and
 * steps.  The time is the same on all ranks.  If some ranks give softening lengths h, the particles of the others have
 * the length that sapporo_stepper.h says for an absent h.  Other rules are those of sapporo_stepper_set.
 */
SAPPORO_API int sapporo_mpi_stepper_set(sapporo_mpi_stepper *stepper, const sapporo_stepper_particles *particles);

/*
 * Collective.  Adds particles to those of each rank, as sapporo_stepper_add.  A rank may add none.  A failure on one
 * rank is one on all.
 */
SAPPORO_API int sapporo_mpi_stepper_add(sapporo_mpi_stepper *stepper, const sapporo_stepper_particles *particles);

/*
 * Collective.  Removes particles of each rank by their addresses there, as sapporo_stepper_remove.  A rank may remove
 * none, or all that it has.  A failure on one rank is one on all.
 */
SAPPORO_API int sapporo_mpi_stepper_remove(sapporo_mpi_stepper *stepper, int n, const int *address);

/*
 * Collective.  Moves the particles of all ranks, as sapporo_stepper_advance; time and steps are the same on all ranks.
 * SAPPORO_STOPPED, on all ranks: particles of any ranks are closer than the option `close`.
 */
SAPPORO_API int sapporo_mpi_stepper_advance(sapporo_mpi_stepper *stepper, double time, long long steps);

/*
 * Collective.  Fills *totals, as sapporo_stepper_energy, for the particles of all ranks; all ranks get the same totals.
 * Over trees on several ranks a force that it needs counts as work of the particles, so the next division among the
 * ranks, and later bits, may depend on it.
 */
SAPPORO_API int sapporo_mpi_stepper_energy(sapporo_mpi_stepper *stepper, sapporo_stepper_totals *totals);

/*
 * Collective.  Writes the potentials of the n particles of this rank at the present time, as sapporo_stepper_get with
 * SAPPORO_STEP_NOW: of Hermite schemes it computes a force on all particles, which changes no later result.  pot: [n],
 * NaN after an error; NULL if n is 0.
 */
SAPPORO_API int sapporo_mpi_stepper_get_potentials(sapporo_mpi_stepper *stepper, int n, double *pot);

/*
 * Collective.  Fills *pairs, as sapporo_stepper_get_pairs, with the pairs of all ranks, the same on each: numbers, in
 * order of the particles that ended a step.  Ranks may differ in room.  SAPPORO_TRUNCATED, on all ranks: some rank has
 * less room than there are pairs.
 */
SAPPORO_API int sapporo_mpi_stepper_get_pairs(sapporo_mpi_stepper *stepper, sapporo_stepper_pairs *pairs);

/*
 * Collective.  Sends the particles of trees to the ranks that walk them, and makes them the particles of these ranks:
 * as sapporo_mpi_tree_exchange, so that forces need not travel.  A rank then has other particles, in another order:
 * labels tell which, and sapporo_mpi_stepper_get_statistics how many; a rank needs room for them, up to three times the
 * mean of all ranks.  The run goes on as after sapporo_mpi_stepper_restore: with errors of forces as before, and other
 * bits. Over direct sums, and where no particle has a mass, nothing moves.  SAPPORO_ERR_ARGUMENT: there are no
 * particles, or a rank has too little room; nothing has changed.  After other errors set the particles again.
 */
SAPPORO_API int sapporo_mpi_stepper_exchange(sapporo_mpi_stepper *stepper);

/*
 * Collective.  Rank 0 writes the particles of all ranks to one new file, which replaces `path` when it is complete: a
 * job that is killed at any moment leaves the file before, or the new one.  `path` of other ranks is not used.  The
 * file has a version, the byte order and a checksum; it is not that of sapporo_stepper_save.  Rank 0 needs memory for
 * its particles and 1 MiB, other ranks 24 bytes per particle.  SAPPORO_ERR_ARGUMENT: there are no particles, or the
 * file cannot be written; the rules of files are those of sapporo_stepper_save.
 */
SAPPORO_API int sapporo_mpi_stepper_save(sapporo_mpi_stepper *stepper, const char *path);

/*
 * Collective.  Rank 0 reads a file that steppers over ranks with the same options have saved, and sends each rank its
 * particles; `path` of other ranks is not used.  With as many ranks as saved it, each rank gets the particles that it
 * had, and a run continues with the same bits on the same kind of engine.  Other numbers of ranks divide the particles
 * evenly, as far as they have room, in the order of the ranks that saved them: over direct sums the bits are still the
 * same; over trees forces have the errors of one tree, and bits differ.  sapporo_stepper_statistics tells how many
 * particles this rank got.  SAPPORO_ERR_ARGUMENT: the file is missing, incomplete, damaged or of another stepper, or
 * a rank has too little room; nothing was taken.  After other errors there are no particles.
 */
SAPPORO_API int sapporo_mpi_stepper_restore(sapporo_mpi_stepper *stepper, const char *path);

/*
 * Local.  Finds the rank of a particle by its number, and its address there; either may be NULL.  Steppers over direct
 * sums have numbers.  SAPPORO_ERR_ARGUMENT: no particle has this number; both are -1.
 */
SAPPORO_API int sapporo_mpi_stepper_locate(const sapporo_mpi_stepper *stepper, int number, int *rank, int *address);

/*
 * Local.  Writes the state of the particles of this rank, as sapporo_stepper_get, in host memory.  With potentials of a
 * Hermite scheme `when` is SAPPORO_STEP_OWN or SAPPORO_STEP_AT_TIME, and these are the last ones of each particle.
 */
SAPPORO_API int sapporo_mpi_stepper_get(sapporo_mpi_stepper *stepper, const sapporo_stepper_output *output);

/* Local.  Returns the present time, as sapporo_stepper_get_time. */
SAPPORO_API double sapporo_mpi_stepper_get_time(const sapporo_mpi_stepper *stepper);

/*
 * Local.  Fills *statistics, as sapporo_stepper_get_statistics, for the particles of this rank; steps, builds,
 * refreshes and `interactions` are those of all ranks.  Bytes are without those of the tree.
 */
SAPPORO_API int sapporo_mpi_stepper_get_statistics(sapporo_mpi_stepper *stepper,
                                                   sapporo_stepper_statistics *statistics);

#ifdef __cplusplus
}
#endif

#endif
