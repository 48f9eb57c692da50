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

/* Starts a stream; streams of the same seed are independent. */
void rng_seed(rng *source, uint64_t seed, uint64_t stream);
uint64_t rng_next(rng *source);
/* Returns a number in (0, 1), never 0 or 1, so its logarithms and powers are finite. */
double rng_uniform(rng *source);
/* Returns a number of the normal distribution, of mean 0 and variance 1. */
double rng_gauss(rng *source);
/* Makes a vector of the given length in a random direction. */
void rng_direction(rng *source, double length, double vector[3]);

#endif
