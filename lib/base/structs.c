/* structs.c - the message about a public struct that tells no valid size. */
#include "base/structs.h"

int sap_struct_error(struct sap_notes *notes, int status, const char *name, const void *given)
{
    size_t size;
    if (!given) return sap_error(notes, status, "%s is NULL", name);
    if (status == SAPPORO_ERR_UNSUPPORTED)
        return sap_error(notes, status, "%s of a newer version of the library: it has a member that is not known",
                         name);
    memcpy(&size, given, sizeof size);
    return sap_error(notes, status, "size of %s is %zu: it must be sizeof(%s)", name, size, name);
}
