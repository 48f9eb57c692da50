/* settings.c - reads environment variables for interfaces, and describes all variables to clients. */
#include <stdio.h>

#include "base/environment.h"
#include "base/structs.h"
#include "context/context.h"
#include "engine/options.h"
#include "variables.h"

int sap_context_method(void)
{
    char wrong[SAP_WRONG_ROOM];
    const int method = sap_settings_method(wrong);
    return method < 0 ? sap_context_error(NULL, method, "%s", wrong) : method;
}

int sap_context_tree_variables(sapporo *context, struct sap_tree_variables *out)
{
    char wrong[SAP_WRONG_ROOM];
    const int status = sap_settings_tree(out, wrong);
    return status ? sap_context_error(context, status, "%s", wrong) : SAPPORO_OK;
}

sapporo_precision sap_context_precision(sapporo_precision of_interface)
{
    return sap_settings_precision_is_set() ? SAPPORO_PRECISION_DEFAULT : of_interface;
}

static void describe(const struct sap_variable_row *row, sapporo_variable *out)
{
    out->audience = row->audience;
    (void)snprintf(out->name, sizeof out->name, "%s", row->name);
    (void)snprintf(out->type, sizeof out->type, "%s", sap_variable_type(row));
    (void)snprintf(out->usual, sizeof out->usual, "%s", row->usual);
    (void)snprintf(out->about, sizeof out->about, "%s", row->about);
    sap_variable_values(row, out->values, sizeof out->values);
}

int sapporo_variable_describe(int number, sapporo_variable *variable)
{
    sapporo_variable whole = {.audience = SAPPORO_FOR_NONE};
    if (!variable || variable->size < sizeof variable->size) return SAPPORO_ERR_ARGUMENT;
    const int there = number >= 0 && number < SAP_VARIABLES;
    if (there) describe(&sap_variables[number], &whole);
    sap_struct_return(variable, &whole, sizeof whole);
    return there ? SAPPORO_OK : SAPPORO_ERR_ARGUMENT;
}
