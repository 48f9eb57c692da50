/*
 * disc_field.h - the force of an exponential disc with a vertical sech^2 profile, and of the spheres around it.
 *
 * The disc's force is a Hankel transform (Binney and Tremaine 2008, section 2.6.2) over the vertical profile, in a
 * table whose radii are spaced as squares, and heights evenly.
 */
#ifndef COMMON_DISC_FIELD_H
#define COMMON_DISC_FIELD_H

#include "spheres.h"

enum { DISC_RADII = 161, DISC_HEIGHTS = 41 };

/* The last node of the table, in scale lengths and in heights. */
#define DISC_OUTERMOST 16.0
#define DISC_HIGHEST   8.0

typedef struct disc_field {
    double scale, height;
    double radius[DISC_RADII], z[DISC_HEIGHTS];
    double inward[DISC_RADII][DISC_HEIGHTS];   /* the disc's force towards the axis */
    double downward[DISC_RADII][DISC_HEIGHTS]; /* the disc's force towards the plane */
    const spheres *around;                     /* NULL: the disc is alone */
} disc_field;

typedef struct disc_pull {
    double inward, downward;
} disc_pull;

/* Fills the table.  `around` stays the caller's, and must exist as long as the field. */
void disc_field_solve(disc_field *field, const disc_shape *shape, const spheres *around);
/*
 * Returns the force of disc and spheres; z >= 0.  Beyond the table the disc's force is that of the nearest place in the
 * table.
 */
disc_pull disc_field_at(const disc_field *field, double radius, double z);
/* Returns the node below a radius, and the part of the way to the next one; at most the last but one, and 1. */
int disc_field_node(const disc_field *field, double radius, double *part);

#endif
