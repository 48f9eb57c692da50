/* job_rows.h - copies i-particles into a job and results out of it.  A row is one i-particle or its results. */
#ifndef SAP_JOB_ROWS_H
#define SAP_JOB_ROWS_H

#include "context/context_private.h"

/* What sap_rows_copy found in the i-particles of a request. */
struct sap_rows_found {
    int bad;  /* number of i-particles that are not finite */
    int wide; /* 1: some coordinate is SAP_WIDE or more */
    int far;  /* 1: some coordinate is SAP_FAR or more */
    int near; /* 1: some squared radius is not zero */
    int odd;  /* 1: some squared radius is negative or NaN, or some i-particle is bad */
};

/*
 * Copies i-particles into a job.  It marks an i-particle that is not finite in j->bad and replaces its coordinates by
 * finite values.  Columns that are absent become zeros.
 */
struct sap_rows_found sap_rows_copy(sapporo_job *j, const sapporo_request *r);

/* What sap_rows_write found: the first row of a good i-particle that is such, or -1. */
struct sap_rows_written {
    int not_finite;
    int faint; /* its potential, in the units of the job, is not 0 and below job->faint in size */
};

/*
 * Writes the sums of rows from .. to-1 and, where wanted, their nearest neighbours.  Rows of bad i-particles become
 * NaN.
 */
struct sap_rows_written sap_rows_write(const sapporo_job *j, int from, int to, const sapporo_result *r,
                                       const struct sap_force_output *out);

/* Writes ni rows of a failed force into every array of a result: NaN and -1.  ni < 0: writes nothing. */
void sap_rows_write_failed(int ni, const sapporo_result *r);

/*
 * Copies the struct of a caller, which may be compiled for any version of the library.  Arrays that an older version
 * does not have become NULL.  SAPPORO_ERR_ARGUMENT: `given` is NULL or its size is not set; then r has no arrays.
 * SAPPORO_ERR_UNSUPPORTED: `given` has an array that this library does not know; r has all known arrays.
 */
int sap_result_copy(sapporo_result *r, const sapporo_result *given);

#endif
