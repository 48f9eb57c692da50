/*
 * snapshot.h - reads and writes particles as text, or as HDF5 (snapshot_hdf5.h).
 *
 * Four forms of text can be read; the first lines of a file tell its form:
 *   init    time; N; then for each particle its index, mass, position, velocity, each on a line of its own
 *   pl      N; dimension (3); time; N masses; N positions; N velocities, each on a line of its own
 *   lines   one particle per line: [id] mass x y z vx vy vz; before them, on lines of their own, may be
 *           N, or time, or N and time, or N, dimension and time
 *   csv     a line of column names (id or index, m or mass, x, y, z, vx, vy, vz; any order, others are skipped)
 *           and one particle per line; separated by commas, semicolons, tabs or blanks
 * and the tables of other programs: csv and txt of AMUSE, whose units are in a comment below the names; snapshots of
 * PeTar as text (file id, N and time; mass x y z vx vy vz and more columns), whose ids are not read; tables of
 * mcluster.
 * `#` begins a comment; `# time 0.25` before the particles sets the time, `# G 0.0043` the
 * gravitational constant in the units of the file, `# units TEXT` and `# parts TEXT` the remarks
 * of the set, which are written again.  Units in a comment that names quantities, `# m[Msun] x[pc] v[km/s]`, are such
 * a remark, too: "Msun, pc, km/s".  A comment before the particles that is a line of column names is one, as
 * numpy.savetxt writes it; the file is refused if its lines do not agree.  1.5D-3 and 1.5-100 are numbers (Fortran), of
 * any number of digits.  1,5 is none: a line in which commas separate some numbers and not others is refused.  Ids are
 * whole numbers of 64 bits.
 */
#ifndef COMMON_SNAPSHOT_H
#define COMMON_SNAPSHOT_H

#include "bodies.h"
#include "message.h"

#include <stddef.h>
#include <stdio.h>

typedef enum snapshot_form { SNAPSHOT_INIT, SNAPSHOT_PL, SNAPSHOT_LINES, SNAPSHOT_CSV, SNAPSHOT_HDF5 } snapshot_form;

/* "init", "pl", "lines", "csv", "hdf5" */
const char *snapshot_form_name(snapshot_form form);
/* Returns the ending of names of files: "txt", "csv", "hdf5". */
const char *snapshot_form_ending(snapshot_form form);

/*
 * Reads a file ("-": standard input).  0: `set` holds the particles (the caller frees it), `about` is "" or a remark
 * about them, such as that their ids were not unique and have been replaced.  -1: `set` is empty, `about` names
 * FILE:LINE and the error.
 */
int snapshot_read(const char *path, bodies *set, snapshot_form *form, message *about);

/* Reads text in memory, which it changes; text[length] must exist, with any content.  Messages name the file `name`. */
int snapshot_parse(const char *name, char *text, size_t length, bodies *set, snapshot_form *form, message *about);

/*
 * Writes all digits, so that a reader gets the same bits.  Only lines, csv and HDF5 can be written.  The file appears
 * under its name once it is complete.
 */
int snapshot_write(const char *path, const bodies *set, snapshot_form form, message *about);

/* Writes the same text to a stream, whose errors show in ferror.  -1: the form is HDF5, or can only be read. */
int snapshot_print(FILE *stream, const bodies *set, snapshot_form form);

#endif
