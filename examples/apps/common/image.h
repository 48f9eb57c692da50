/* image.h - draws the projected density of a model as a grey picture. */
#ifndef COMMON_IMAGE_H
#define COMMON_IMAGE_H

#include "bodies.h"
#include "message.h"

/*
 * Writes the mass projected along z onto `pixels` x `pixels` squares of the window -half ... half in x and y as a PGM
 * file (16 levels of factors of two below the densest, 0: empty; y points up).  The file appears under its name once it
 * is complete.
 */
int image_write(const char *path, const bodies *set, int pixels, double half, message *why);

#endif
