/* internals.c - the table of functions for libsapporo_mpi; see internals.h. */
#include "context/internals.h"

const struct sap_internals *sapporo_internals(void)
{
#define SAP_INTERNALS_VALUE(name) .name = sap_##name,
    static const struct sap_internals table = {.size = sizeof table, SAP_INTERNALS(SAP_INTERNALS_VALUE)};
#undef SAP_INTERNALS_VALUE
    return &table;
}
