/*
 * partial.h - forces from a part of all j-particles, as accumulators that can be merged with those of other parts.
 *
 * libsapporo_mpi calls these functions by the table of internals.h.
 */
#ifndef SAP_PARTIAL_H
#define SAP_PARTIAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/team.h"
#include "engine/accum.h"
#include "sapporo.h"

enum { SAP_PARTIAL_SUMS_MOST = 13 }; /* of order 8 */

/* The nearest neighbour of an i-particle among the j-particles of the part. */
struct sap_partial_near {
    double r2;              /* squared distance; infinity: none */
    int32_t address, index; /* -1: none */
};

/* Results of sap_partial_end. */
struct sap_partial {
    int sums;                            /* number of sums per i-particle: pot, acc[3], jerk[3], ... of the order */
    double scale[SAP_PARTIAL_SUMS_MOST]; /* the value of sum q is its accumulator, rounded, times scale[q] */
};

/*
 * Like sapporo_force_begin, for a force whose accumulators can be asked for.  The context keeps its engine, whatever
 * the tuning file says of small forces: all parts must be computed by the same kind of engine.  all: number of
 * j-particles of all parts, which decides the precision where none was named.
 */
int sap_partial_begin(sapporo *context, const sapporo_request *request, int all, sapporo_job **job);

/* Like sapporo_force_begin, for a force of `all` j-particles whose request leaves out addresses above the highest one.
 */
int sap_whole_begin(sapporo *context, const sapporo_request *request, int all, sapporo_job **job);

/*
 * Waits for all rows of a force of sap_partial_begin and writes one row per i-particle from `rows` on, `pitch`
 * bytes apart: `sums` accumulators, and behind them a sap_partial_near if `nearest` is 1.  Rows of i-particles that are
 * not finite are NaN, and the status is SAPPORO_PARTIAL.  After an error no row is written.
 */
int sap_partial_end(sapporo_job *job, int nearest, void *rows, size_t pitch, struct sap_partial *partial);

/*
 * Keeps the engine of a context, whatever the tuning file says of small forces, as sap_partial_begin does: forces
 * of sapporo_force_begin then have the bits of that engine.
 */
int sap_partial_keep_engine(sapporo *context);

/*
 * Particles in the form in which a context stores them, so that copies in other contexts have the same bits.  A row has
 * three doubles for each derivative of the order (1 in order 2, 5 in order 4, else as many as the order), and a
 * sap_partial_tail behind them.
 */
struct sap_partial_tail {
    double mass, time, eps2;
    int32_t index, occupied; /* occupied is 0: the address holds no particle, and all else has no meaning */
};

/*
 * The first address below nj whose particle could not be stored, and was not stored since; -1: there is none.
 * sap_partial_read reads such an address as one that holds no particle.
 */
int sap_partial_first_lost(sapporo *context, int nj);

/* Writes the rows of n addresses from `first` on. */
int sap_partial_read(sapporo *context, int first, int n, double *rows);

/*
 * Stores rows of sap_partial_read at n addresses from `first` on; rows that are not occupied are skipped. Particles
 * that are not finite are stored without a message, since the context from which they come gave one.  After an error
 * addresses are lost.
 */
int sap_partial_store(sapporo *context, int first, int n, const double *rows);

/*
 * Calls range(argument, from, to) for the numbers 0 .. n-1, on at most `threads` threads of the library, fewer if n is
 * small; threads <= 0: on as many as a context of the default options has.  Ranges may come in any order.
 */
void sap_partial_loop(int threads, int n, sap_team_range *range, void *argument);

/* Whether the context with this handle computes forces of few particles in dp, because no precision was named. */
int sap_context_is_mixed(sapporo *context);

/* The numbers from .. to-1 of part `part`. */
typedef void sap_partial_part(void *argument, int part, int from, int to);

/* Does the same for `parts` parts of about equal length, whose limits do not depend on the threads. */
void sap_partial_parts(int threads, int n, int parts, sap_partial_part *work, void *argument);

#endif
