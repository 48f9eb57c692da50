/*
 * rng.c - see rng.h.
 */
#include "rng.h"

#include <math.h>

static uint64_t splitmix(uint64_t *counter)
{
    uint64_t z = *counter += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t rotate(uint64_t word, int left) { return (word << left) | (word >> (64 - left)); }

void rng_seed(rng *source, uint64_t seed, uint64_t stream)
{
    uint64_t counter = seed, mixed = splitmix(&counter);
    counter = mixed ^ splitmix(&stream);
    for (int k = 0; k < 4; k++) source->state[k] = splitmix(&counter);
}

uint64_t rng_next(rng *source)
{
    uint64_t *s = source->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9, shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate(s[3], 45);
    return result;
}

double rng_uniform(rng *source) { return ((double)(rng_next(source) >> 12) + 0.5) * 0x1p-52; }

double rng_gauss(rng *source)
{
    return sqrt(-2 * log(rng_uniform(source))) * cos(6.283185307179586 * rng_uniform(source));
}

void rng_direction(rng *source, double length, double vector[3])
{
    double z = 2 * rng_uniform(source) - 1, angle = 6.283185307179586477 * rng_uniform(source);
    double flat = sqrt(1 - z * z);
    vector[0] = length * flat * cos(angle);
    vector[1] = length * flat * sin(angle);
    vector[2] = length * z;
}
