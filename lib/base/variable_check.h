/* variable_check.h - warnings about the environment: misspelt variables, values that are ignored. */
#ifndef SAP_VARIABLE_CHECK_H
#define SAP_VARIABLE_CHECK_H

/*
 * Warns once per process about each variable SAPPORO_* that the library does not know, with the nearest known name, and
 * about each value without a meaning that the library ignores (SAP_BAD_WARNED).  The first call looks, later calls do
 * nothing.
 */
void sap_variable_check(void);

/* Lets the next call look again, for tests. */
void sap_variable_check_again(void);

/*
 * The known variable whose name resembles that of `n` characters most; NULL: none resembles it.  Beginnings up to the
 * first '_' do not count: SAPPORO_NPIPES resembles GRAPE_NPIPES.
 */
const char *sap_variable_nearest(const char *name, int n);

#endif
