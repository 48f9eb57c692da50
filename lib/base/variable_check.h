/* variable_check.h - warnings about the environment: misspelt variables, values that are ignored. */
#ifndef SAP_VARIABLE_CHECK_H
#define SAP_VARIABLE_CHECK_H

/*
 * Warns once per process about each unknown variable SAPPORO_*, with the nearest known name, and about each invalid
 * value that the library ignores (SAP_BAD_WARNED).  The first call checks; later calls do nothing.
 */
void sap_variable_check(void);

/* Makes the next call of sap_variable_check check again, for tests. */
void sap_variable_check_again(void);

/*
 * The known variable with the name most similar to a name of n characters; NULL: no name is similar.  The part up to
 * the first '_' does not count: SAPPORO_NPIPES is similar to GRAPE_NPIPES.
 */
const char *sap_variable_nearest(const char *name, int n);

#endif
