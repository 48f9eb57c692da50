/*
 * blocks.h - which rank keeps which addresses.
 *
 * Blocks of consecutive addresses belong to the ranks in turn.  A rank stores its blocks one after the other in its
 * context, so the order of its addresses is kept.  A block is a whole number of superpackets of every engine, and
 * begins in the context at a multiple of its length: so each superpacket has the particles that it has in a context
 * with all addresses, and the same sums.
 */
#ifndef SAP_MPI_BLOCKS_H
#define SAP_MPI_BLOCKS_H

#include <limits.h>
#include <stdint.h>

#include "base/ranges.h"
#include "physics/arithmetic.h"

enum { SAP_BLOCK = SAP_CPU_SUPERPACKET };

/* The highest address: that of a context, or with several ranks the highest one that a force can take in. */
static inline int sap_block_highest(int ranks) { return ranks > 1 ? INT_MAX - 1 : SAP_ADDRESSES - 1; }

/* The rank that keeps an address. */
static inline int sap_block_rank(int address, int ranks) { return address / SAP_BLOCK % ranks; }

/* The address in the context of that rank. */
static inline int sap_block_inner(int address, int ranks)
{
    return address / SAP_BLOCK / ranks * SAP_BLOCK + address % SAP_BLOCK;
}

/* The address over all ranks of an address in the context of `rank`. */
static inline int sap_block_outer(int inner, int rank, int ranks)
{
    return (inner / SAP_BLOCK * ranks + rank) * SAP_BLOCK + inner % SAP_BLOCK;
}

/* Number of blocks that have addresses below nj. */
static inline int sap_block_number(int nj) { return nj > 0 ? (nj - 1) / SAP_BLOCK + 1 : 0; }

/* Number of addresses below nj that `rank` keeps: the nj of its part of a force. */
static inline int sap_block_count(int nj, int rank, int ranks)
{
    const int blocks = nj / SAP_BLOCK, whole = blocks / ranks + (rank < blocks % ranks);
    return whole * SAP_BLOCK + (rank == blocks % ranks ? nj % SAP_BLOCK : 0);
}

#endif
