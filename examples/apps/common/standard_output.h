/* standard_output.h - finds out at the end of a program whether all that it printed has arrived. */
#ifndef COMMON_STANDARD_OUTPUT_H
#define COMMON_STANDARD_OUTPUT_H

/*
 * Closes stdout; the last call of a program.  Returns `status`, or `failed` after a message on stderr if the output is
 * incomplete, for example because the disk is full.
 */
int standard_output_end(const char *program, int status, int failed);

#endif
