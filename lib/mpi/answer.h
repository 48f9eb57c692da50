/*
 * answer.h - the sums of one i-particle from some of the j-particles: merged with those of the other j-particles, and
 * rounded.
 *
 * An answer is one accumulator per sum, in the order of sap_partial_end, and behind them a sap_partial_near if
 * nearest neighbours are wanted.  Addresses of nearest neighbours in merged answers count over all ranks.
 */
#ifndef SAP_MPI_ANSWER_H
#define SAP_MPI_ANSWER_H

#include "context/partial.h"
#include "mpi/handle.h"

enum { SAP_ANSWER_DOUBLES_MOST = SAP_PARTIAL_SUMS_MOST * (int)(sizeof(struct sap_accum) / sizeof(double)) + 2 };

/* Bytes of an answer of the handle's job; a multiple of those of a double. */
size_t sap_answer_bytes(const sapporo_mpi *h);

/* The nearest neighbour of an answer, which must have one. */
struct sap_partial_near *sap_answer_near(const sapporo_mpi *h, double *answer);

/* Merges an answer into another. */
void sap_answer_merge(const sapporo_mpi *h, double *into, double *from);

/* Rounds an answer and writes it to a row of the result; sum q is multiplied by scale[q]. */
void sap_answer_write(const sapporo_mpi *h, double *answer, const double *scale, int row, const sapporo_result *result);

/* Writes n rows of a failed force from row `first` on. */
void sap_answer_write_failed(int first, int n, const sapporo_result *result);

#endif
