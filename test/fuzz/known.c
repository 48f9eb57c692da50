/* known.c - defects that are known and not mended yet: sequences do not touch them. */
#include <stddef.h>
#include <string.h>

#include "interface.h"

/* Only NULL when everything that the fuzzer has found is mended. */
static const char *const known[] = {NULL};

int is_known(const char *name)
{
    for (int k = 0; known[k]; k++)
        if (strcmp(known[k], name) == 0) return 1;
    return 0;
}
