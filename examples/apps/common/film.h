/* film.h - a film of the images that a run has written. */
#ifndef COMMON_FILM_H
#define COMMON_FILM_H

#include "message.h"

/* Returns 0 if a folder of PATH has a program ffmpeg, -1 with a message if not. */
int film_check(message *why);

/*
 * Has ffmpeg make PREFIX.mp4 of PREFIX.0000.pgm, PREFIX.0001.pgm, ..., 24 a second, in the place of an older film once
 * it is complete.  -1: ffmpeg is not installed, or it failed; the images stay.
 */
int film_make(const char *prefix, message *why);

#endif
