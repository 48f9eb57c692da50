/* variable_table.c - describes rows of the table of environment variables; see variable_table.h. */
#include "base/variable_table.h"

#include <limits.h>
#include <stdio.h>

const char *sap_variable_type(const struct sap_variable_row *variable)
{
    static const char *const names[SAP_TYPES] = {
        [SAP_TYPE_WORD] = "word",   [SAP_TYPE_COUNT] = "whole number",     [SAP_TYPE_FIRST] = "whole number",
        [SAP_TYPE_REAL] = "number", [SAP_TYPE_DEVICES] = "device numbers", [SAP_TYPE_PATH] = "path",
        [SAP_TYPE_TEXT] = "text"};
    return names[variable->type];
}

static void list_words(const struct sap_word *word, char *text, size_t room)
{
    for (size_t at = 0; word->text != NULL && at < room; word++) {
        const char *const next = word[1].text == NULL ? "" : word[2].text == NULL ? " or " : ", ";
        at += (size_t)snprintf(text + at, room - at, "`%s`%s", word->text, next);
    }
}

void sap_variable_values(const struct sap_variable_row *variable, char *text, size_t room)
{
    const char *const first = variable->type == SAP_TYPE_FIRST ? "; of a list, the first number counts" : "";
    if (room == 0) return;
    *text = 0;
    if (variable->values != NULL)
        (void)snprintf(text, room, "%s", variable->values);
    else if (variable->type == SAP_TYPE_WORD)
        list_words(variable->words, text, room);
    else if (variable->type == SAP_TYPE_REAL)
        (void)snprintf(text, room, "a number above 0, at most 1e30");
    else if (variable->most == INT_MAX)
        (void)snprintf(text, room, "a whole number of at least %d%s", variable->least, first);
    else
        (void)snprintf(text, room, "%d to %d", variable->least, variable->most);
}
