/*
 * rng.h - random numbers that are the same on every machine for the same seed.
 *
 * xoshiro256** (Blackman and Vigna 2018), its state filled by splitmix64 as its authors advise.
 */
#ifndef COMMON_RNG_H
#define COMMON_RNG_H

#include <stdint.h>

typedef struct rng {
    uint64_t state[4];
} rng;

/* Streams of the same seed have nothing to do with each other. */
void rng_seed(rng *source, uint64_t seed, uint64_t stream);
uint64_t rng_next(rng *source);
/* In (0, 1): neither end ever comes, so logarithms and powers of it are finite. */
double rng_uniform(rng *source);
/* A vector of the given length in a random direction. */
void rng_direction(rng *source, double length, double vector[3]);

#endif
