/*
 * tree_sample.h - the sample of particles that stands for the whole model, written once.
 *
 * Addresses are cut into as many runs as the sample has members.  Each member begins one of 1,024 parts of its run, the
 * next one by the golden ratio.  So no order of particles, such as one of each cluster in turns, hides some of them.
 */
#ifndef SAP_PHYSICS_TREE_SAMPLE_H
#define SAP_PHYSICS_TREE_SAMPLE_H

#if defined(__OPENCL_VERSION__)
typedef ulong sap_address; /* 64 bits */
typedef uint sap_address_part;
#else
typedef unsigned long long sap_address;
typedef unsigned sap_address_part; /* 32 bits */
#endif

#ifdef SAP_HAVE_OPERATIONS

/* Returns the address of member k of a sample of `members` <= 2^10 of n < 2^44 particles. */
SAP_INLINE sap_address sap_sample_member(sap_address n, sap_address members, int k)
{
    const sap_address_part part = (sap_address_part)k * 2654435769U >> 22; /* 2^32 over the golden ratio */
    return (((sap_address)k << 10) + part) * n / (members << 10);
}

#endif

#endif
