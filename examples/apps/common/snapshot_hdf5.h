/*
 * snapshot_hdf5.h - snapshots in HDF5, in the layout that GADGET-4 and SWIFT share.
 *
 * A file has the groups Header and PartType0 to PartType5.  Masses stand in a data set, or in Header/MassTable.  All
 * types are read as one set, in their order; the set is written as PartType1.  Numbers are written in double, so that a
 * reader gets the same bits.  The same set gives the same bytes.
 *
 * The functions need libhdf5 (make HDF5=1).  Without it they fail with a message that says so.
 */
#ifndef COMMON_SNAPSHOT_HDF5_H
#define COMMON_SNAPSHOT_HDF5_H

#include "bodies.h"
#include "message.h"

/* Whether the programs were built with libhdf5. */
int snapshot_hdf5_built(void);

/* Whether the path is a file that begins as HDF5 does.  Reads nothing from a FIFO or a device. */
int snapshot_hdf5_is(const char *path);

/*
 * Reads a file.  0: `set` holds the particles; their ids may not be unique; `about` is "" or a remark.  -1: `set` is
 * empty, `about` names the file, the data set and the error.  A damaged file is an error, even if it ends libhdf5.
 */
int snapshot_hdf5_read(const char *path, bodies *set, message *about);

/* The same in this process, which a damaged file can end; only with libhdf5. */
int snapshot_hdf5_read_here(const char *path, bodies *set, message *about);

/* Writes a file, which appears under its name once it is complete.  Until then it is in memory. */
int snapshot_hdf5_write(const char *path, const bodies *set, message *about);

/* ---- units (snapshot_hdf5_units.c), which need no libhdf5 ---- */

/* Units in cgs: g, cm, cm/s. */
typedef struct cgs_units {
    double mass, length, velocity;
} cgs_units;

/* The gravitational constant in cgs, CODATA 2018. */
#define CGS_G 6.67430e-8

/*
 * Reads a remark such as "1 Msun, 1 pc, 1 km/s, 0.977792 Myr".  G is the gravitational constant in these units, from
 * which the unit of mass follows where the remark does not name it.  -1: the remark does not tell all units.
 */
int cgs_units_read(const char *remark, double G, cgs_units *units);

/* Writes such a remark. */
void cgs_units_print(const cgs_units *units, char remark[BODIES_REMARK]);

/* Returns the gravitational constant in the units, from its value in cgs. */
double cgs_units_constant(const cgs_units *units, double G);

#endif
