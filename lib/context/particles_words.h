/*
 * particles_words.h - copies particles of contiguous columns into the store, a word of 16 addresses after the other.
 *
 * The functions read a client's arrays, which may be unaligned, and write columns of a segment (engine/jstore.h).  A
 * value that carries with `add` (base/finite.h) sets strange[w] of its word w; other entries keep their value.
 */
#ifndef SAP_PARTICLES_WORDS_H
#define SAP_PARTICLES_WORDS_H

#include <stdint.h>

/* One way to copy; all have the same results. */
struct sap_words {
    /* Copies x, y, z of 16 `words` particles to a column of vectors, divided by `factor`. */
    void (*vectors)(double *to, const char *from, int words, double factor, uint64_t add, unsigned char *strange);
    /* Copies one number of each of 16 `words` particles. */
    void (*numbers)(double *to, const char *from, int words, uint64_t add, unsigned char *strange);
};

/* Returns the way that takes `lanes` numbers at a time, 2 or 4; NULL: the processor lacks it.  All have 2. */
const struct sap_words *sap_words_of(int lanes);

/* Writes the indices first, first + 1, ... of 16 `words` particles. */
void sap_words_indices(int32_t *to, int first, int words);

#endif
