/* target_broken.c - how targets fail. */
#include "targets.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void parser_broken(const char *promise)
{
    fprintf(stderr, "broken: %s\n", promise);
    abort();
}
