/*
 * standard_output.c - see standard_output.h.
 */
#include "standard_output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int standard_output_end(const char *program, int status, int failed)
{
    const int earlier = ferror(stdout);
    const int unwritten = fflush(stdout) != 0;
    const int reason = unwritten ? errno : 0;
    const int unclosed = fclose(stdout) != 0 && errno != EBADF; /* EBADF: it was never open, and nothing was printed */
    if (!earlier && !unwritten && !unclosed) return status;
    fprintf(stderr, "%s: the output is incomplete: cannot write to standard output%s%s\n", program, reason ? ": " : "",
            reason ? strerror(reason) : "");
    return failed;
}
