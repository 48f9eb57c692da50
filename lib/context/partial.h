/*
 * partial.h - forces from a part of all j-particles, as accumulators that can be merged with those of other parts.
 *
 * libsapporo_mpi uses these functions, which the shared library exports.  They are not public: libsapporo_mpi refuses
 * to work with a libsapporo of another version.
 */
#ifndef SAP_PARTIAL_H
#define SAP_PARTIAL_H

#include <stddef.h>
#include <stdint.h>

#include "engine/accum.h"
#include "sapporo.h"

enum { SAP_PARTIAL_SUMS_MOST = 13 }; /* of order 8 */

/* The nearest neighbour of an i-particle among the j-particles of the part. */
struct sap_partial_near {
    double r2;              /* squared distance; infinity: none */
    int32_t address, index; /* -1: none */
};

/* Results of sapporo_partial_end. */
struct sap_partial {
    int sums;                            /* number of sums per i-particle: pot, acc[3], jerk[3], ... of the order */
    double scale[SAP_PARTIAL_SUMS_MOST]; /* the value of sum q is its accumulator, rounded, times scale[q] */
};

/*
 * Like sapporo_force_begin, for a force whose accumulators can be asked for.  The context keeps its engine, whatever
 * the tuning file says of small forces: all parts must be computed by the same kind of engine.
 */
SAPPORO_API int sapporo_partial_begin(sapporo *context, const sapporo_request *request, sapporo_job **job);

/*
 * Waits for all rows of a force of sapporo_partial_begin and writes one row per i-particle from `rows` on, `pitch`
 * bytes apart: `sums` accumulators, and behind them a sap_partial_near if `nearest` is 1.  Rows of i-particles that are
 * not finite are NaN, and the status is SAPPORO_PARTIAL.  After an error no row is written.
 */
SAPPORO_API int sapporo_partial_end(sapporo_job *job, int nearest, void *rows, size_t pitch,
                                    struct sap_partial *partial);

#endif
