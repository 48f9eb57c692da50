/* job_rows.h - the rows of a force on their way in and out: copies that cost little beside the force itself. */
#ifndef SAP_JOB_ROWS_H
#define SAP_JOB_ROWS_H

#include "context/context_private.h"

/* What was found in the i-particles of a request. */
struct sap_rows_found {
    int bad;  /* how many are not finite */
    int wide; /* some coordinate is SAP_WIDE or more */
    int far;  /* some coordinate is SAP_FAR or more */
    int near; /* some squared radius is not zero */
    int odd;  /* some squared radius is negative or NaN, or that of a bad i-particle */
};

/*
 * Copies i-particles into a job; those that are not finite are marked in j->bad and put where they do no harm.
 * Columns that are absent become zeros.
 */
struct sap_rows_found sap_rows_copy(sapporo_job *j, const sapporo_request *r);

/*
 * Writes the rows from .. to-1 of sums and, where wanted, of neighbours.  Rows of bad i-particles become NaN.  Returns
 * the first other row that is not finite, or -1.
 */
int sap_rows_write(const sapporo_job *j, int from, int to, const sapporo_result *r, const struct sap_force_output *out);

/* Writes rows that hold nothing into every array of a result: NaN and -1.  ni < 0: writes nothing. */
void sap_rows_write_failed(int ni, const sapporo_result *r);

/*
 * Copies a caller's result, of any version of the library: arrays that an older version does not have become NULL.
 * SAPPORO_ERR_ARGUMENT: there is none, or its size is not set, and r has no arrays.  SAPPORO_ERR_UNSUPPORTED: it asks
 * for an array that this library does not know; r has the others.
 */
int sap_result_copy(sapporo_result *r, const sapporo_result *given);

#endif
