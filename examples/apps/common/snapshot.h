/*
 * snapshot.h - reading and writing particles as text.
 *
 * Four forms are read; which one a file has is found out from its first lines:
 *   init    time; N; then for each particle its index, mass, position, velocity, each on a line of its own
 *   pl      N; dimension (3); time; N masses; N positions; N velocities, one of them a line
 *   lines   a particle a line: [id] mass x y z vx vy vz; before them, on lines of their own, may stand
 *           N, or time, or N and time, or N, dimension and time
 *   csv     a line of column names (id or index, m or mass, x, y, z, vx, vy, vz; any order, others are skipped)
 *           and a particle a line; separated by commas, semicolons, tabs or blanks
 * `#` begins a comment; `# time 0.25` before the particles sets the time.  1.5D-3 is a number (Fortran).
 */
#ifndef COMMON_SNAPSHOT_H
#define COMMON_SNAPSHOT_H

#include "bodies.h"
#include "message.h"

#include <stddef.h>
#include <stdio.h>

typedef enum snapshot_form { SNAPSHOT_INIT, SNAPSHOT_PL, SNAPSHOT_LINES, SNAPSHOT_CSV } snapshot_form;

/* "init", "pl", "lines", "csv" */
const char *snapshot_form_name(snapshot_form form);

/*
 * Reads a file ("-": standard input).  0: `set` holds the particles (free it), `about` is "" or a remark about
 * them, such as that their ids were not unique and have been replaced.  -1: `set` is empty, `about` says
 * FILE:LINE: what is wrong there.
 */
int snapshot_read(const char *path, bodies *set, snapshot_form *form, message *about);

/*
 * The same for text in memory, which is changed; text[length] must be there, whatever it holds.  `name` stands
 * for the file in messages.
 */
int snapshot_parse(const char *name, char *text, size_t length, bodies *set, snapshot_form *form, message *about);

/*
 * Writes all digits, so that reading gives the same bits.  Only lines and csv can be written.  The file
 * appears under its name when it is complete.
 */
int snapshot_write(const char *path, const bodies *set, snapshot_form form, message *about);

/* The same to a stream, whose errors show in ferror.  -1: the form can only be read. */
int snapshot_print(FILE *stream, const bodies *set, snapshot_form form);

#endif
