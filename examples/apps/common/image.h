/*
 * image.h - what a model looks like: its projected density as a grey picture.
 */
#ifndef COMMON_IMAGE_H
#define COMMON_IMAGE_H

#include "bodies.h"
#include "message.h"

/*
 * Writes the mass projected along z onto `pixels` x `pixels` squares of the window -half ... half in x and y as a PGM
 * file (16 levels of factors of two below the densest, 0: none; y points up).  Appears under its name when it is
 * complete.
 */
int image_write(const char *path, const bodies *set, int pixels, double half, message *why);

#endif
