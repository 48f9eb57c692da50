/* image.h - draws the projected density of a model as a grey picture. */
#ifndef COMMON_IMAGE_H
#define COMMON_IMAGE_H

#include "bodies.h"
#include "message.h"

#include <stdint.h>

/* A restart file keeps it, so it has members of 8 bytes only. */
typedef struct image_view {
    int64_t pixels;      /* across and up; 0: no images */
    double half;         /* half the width of the window */
    int64_t first, last; /* ids of the particles that are drawn; last 0: all particles */
} image_view;

/*
 * Sets the ids of one component of `parts`, such as "halo 3000, disc 500": ids count the components in their order,
 * from
 * 1.  -1, with a message: there is no such component, or it has no particle.
 */
int image_choose(image_view *view, const char *parts, const char *name, message *why);

/*
 * Writes the mass projected along z onto pixels x pixels squares of the window -half ... half in x and y as a PGM
 * file (16 levels of factors of two below the densest, 0: empty; y points up).  The file appears under its name once it
 * is complete.
 */
int image_write(const char *path, const bodies *set, const image_view *view, message *why);

#endif
