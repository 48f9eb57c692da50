/* kept.h - the blocks of addresses in which a rank keeps particles: a bit for each block of its context. */
#ifndef SAP_MPI_KEPT_H
#define SAP_MPI_KEPT_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/ranges.h"
#include "mpi/blocks.h"

enum { SAP_KEPT_BITS = 64, SAP_KEPT_WORDS = SAP_ADDRESSES / SAP_BLOCK / SAP_KEPT_BITS };

/* All zeros: no block. */
struct sap_kept_blocks {
    uint64_t *bits; /* [SAP_KEPT_WORDS] NULL: no block */
    int words;      /* words that may have a bit */
};

/* Makes room for all blocks, which is 64 KiB; -1: out of memory. */
static inline int sap_kept_reserve(struct sap_kept_blocks *kept)
{
    if (!kept->bits) kept->bits = calloc(SAP_KEPT_WORDS, sizeof *kept->bits);
    return kept->bits ? 0 : -1;
}

static inline void sap_kept_clear(struct sap_kept_blocks *kept)
{
    if (kept->bits) memset(kept->bits, 0, (size_t)kept->words * sizeof *kept->bits);
    kept->words = 0;
}

static inline void sap_kept_free(struct sap_kept_blocks *kept)
{
    free(kept->bits);
    *kept = (struct sap_kept_blocks){0};
}

/* Marks the blocks of n > 0 addresses of the context from `first` on. */
static inline void sap_kept_mark(struct sap_kept_blocks *kept, int first, int n)
{
    const int last = (first + (n - 1)) / SAP_BLOCK;
    for (int b = first / SAP_BLOCK; b <= last; b++) kept->bits[b / SAP_KEPT_BITS] |= UINT64_C(1) << b % SAP_KEPT_BITS;
    if (last / SAP_KEPT_BITS >= kept->words) kept->words = last / SAP_KEPT_BITS + 1;
}

/* The word of blocks below `blocks`. */
static inline uint64_t sap_kept_word(const struct sap_kept_blocks *kept, int word, int blocks)
{
    const int left = blocks - word * SAP_KEPT_BITS;
    const uint64_t all = left >= SAP_KEPT_BITS ? UINT64_MAX : (UINT64_C(1) << left) - 1;
    return kept->bits[word] & all;
}

/* Number of marked blocks below `blocks`. */
static inline int sap_kept_count(const struct sap_kept_blocks *kept, int blocks)
{
    int n = 0;
    for (int w = 0; w < kept->words && w * SAP_KEPT_BITS < blocks; w++)
        n += __builtin_popcountll(sap_kept_word(kept, w, blocks));
    return n;
}

/* Writes the marked blocks below `blocks`, in order. */
static inline void sap_kept_list(const struct sap_kept_blocks *kept, int blocks, int *list)
{
    for (int w = 0; w < kept->words && w * SAP_KEPT_BITS < blocks; w++)
        for (uint64_t word = sap_kept_word(kept, w, blocks); word; word &= word - 1)
            *list++ = w * SAP_KEPT_BITS + __builtin_ctzll(word);
}

#endif
