/*
 * settings.h - rows of the table of environment variables, for libraries that are built on libsapporo.
 *
 * These libraries contain the readers of base/environment.h, and take the table from libsapporo, as it hides its own
 * names.
 */
#ifndef SAP_CONTEXT_SETTINGS_H
#define SAP_CONTEXT_SETTINGS_H

#include "sapporo_types.h"
#include "variables.h"

/* The row of a variable; static storage. */
SAPPORO_API const struct sap_variable_row *sapporo_variable_row(enum sap_variable variable);

#endif
