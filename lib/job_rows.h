/* job_rows.h - the rows of a force on their way in and out: copies that cost little beside the force itself. */
#ifndef SAP_JOB_ROWS_H
#define SAP_JOB_ROWS_H

#include "context_private.h"

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

/* Rows that hold nothing: NaN and -1. */
void sap_rows_write_failed(int ni, const sapporo_result *r);

#endif
