/*
 * arithmetic.h - the constants on which the bits of results depend.
 *
 * None of them is ever tuned.  Changing one changes SAP_ARITH_VERSION.
 * docs/numerics.md explains the scheme:
 *
 *   pair         a fixed sequence of named operations (physics/interaction.h)
 *   packet       pair terms added in order of address, in the working type
 *   superpacket  packet sums added in order, in double
 *   top          superpacket sums in an order-free accumulator (physics/accumulate.h)
 *
 * On CPUs a superpacket is 2,048 consecutive addresses.  Its 16 packets are
 * interleaved: packet l holds the addresses a with a % 16 == l.  So a vector of
 * 16 consecutive addresses is one element of each of 16 packets, and a loop over
 * j in vectors (few i) adds the same terms in the same order as a loop over
 * i in vectors that walks one packet after the other (many i).
 */
#ifndef SAP_ARITHMETIC_H
#define SAP_ARITHMETIC_H

#include "physics/numbers.h"

enum {
    SAP_ARITH_VERSION = 4,
    SAP_CPU_LANES = 16,                                   /* packets of a superpacket, CPU kinds */
    SAP_CPU_PACKET = 128,                                 /* particles of a packet, CPU kinds */
    SAP_CPU_SUPERPACKET = SAP_CPU_LANES * SAP_CPU_PACKET, /* the tile of the CPU engine */
    SAP_LIMBS = 4                                         /* 32-bit limbs of an accumulator */
};

/* Squared distances below this count as zero distance where eps2 does (single precision's smallest normal). */
#define SAP_TINY_R2 0x1p-126

/* Squares of coordinates up to this stay well inside the range of single precision. */
#define SAP_FAR 0x1p50

/* Coordinates from which on single precision loses small forces: m / R^3 = 1e-38 where m = 3e-6. Worth a warning. */
#define SAP_WIDE 0x1p36

#endif
