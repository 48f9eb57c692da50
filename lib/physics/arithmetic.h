/*
 * arithmetic.h - the constants on which the bits of results depend.
 *
 * None of them is ever tuned.  Changing one changes SAP_ARITH_VERSION.  docs/numerics.md explains the scheme:
 *
 *   pair         a fixed sequence of named operations (physics/interaction.h)
 *   packet       pair terms added in order of address, in the working type
 *   superpacket  packet sums added in order, in double
 *   top          superpacket sums in a reproducible accumulator (physics/accumulate.h)
 *
 * On CPUs a superpacket is 2,048 consecutive addresses.  Its 16 packets are interleaved: packet l holds the addresses a
 * with a % 16 == l.  So a vector of 16 consecutive addresses is one element of each of 16 packets.  The few-target
 * kernel loops over j in vectors; the many-target kernel loops over i in vectors and sums one packet after the other.
 * Both add the same terms in the same order.
 */
#ifndef SAP_ARITHMETIC_H
#define SAP_ARITHMETIC_H

#include "physics/numbers.h"

enum {
    SAP_ARITH_VERSION = 26,
    SAP_CPU_LANES = 16,                                   /* packets of a superpacket, CPU kinds */
    SAP_CPU_PACKET = 128,                                 /* particles of a packet, CPU kinds */
    SAP_CPU_SUPERPACKET = SAP_CPU_LANES * SAP_CPU_PACKET, /* a tile of the CPU engine */
    SAP_LIMBS = 4,                                        /* 32-bit limbs of an accumulator */
    SAP_MORE_LANES = 8, /* partial sums of a list with moments, a floor or counts, in double: source k is of k % 8 */
    SAP_FEW_J = 1024    /* forces of fewer j-particles are computed in dp where no precision was named */
};

/*
 * Where eps2 is below this, squared distances below this count as zero distance (single precision's smallest normal).
 */
#define SAP_TINY_R2 0x1p-126

/* Squares of coordinates up to this stay well inside the range of single precision. */
#define SAP_FAR 0x1p50

/*
 * Single precision loses small forces at coordinates above this: m / R^3 = 1e-38 at m = 3e-6. The library warns of
 * them.
 */
#define SAP_WIDE 0x1p36

#endif
