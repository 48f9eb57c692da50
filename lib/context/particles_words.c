/* particles_words.c - see particles_words.h.  Processors with AVX2 have the way of four numbers at a time. */
#include "context/particles_words.h"

#include <stddef.h>

#include "base/finite.h"
#include "physics/arithmetic.h"

typedef int32_t indices __attribute__((vector_size(16)));

enum { LANES = SAP_CPU_LANES, WORD_BYTES = 3 * LANES * (int)sizeof(double) };

#define ALWAYS __attribute__((always_inline)) static inline

/* ----------------------------------------------------------- two numbers at a time */

/* Loads two doubles of a client's array. */
ALWAYS two two_of(const char *from, ptrdiff_t k)
{
    typedef double anywhere __attribute__((vector_size(16), aligned(1), may_alias));
    const void *const place = from + k * (ptrdiff_t)sizeof(double);
    return *(const anywhere *)place;
}

ALWAYS void vectors_by_two(double *to, const char *from, int words, double factor, uint64_t add, unsigned char *strange)
{
    const two by = {factor, factor};
    for (int w = 0; w < words; w++, from += WORD_BYTES, to += 3 * LANES) {
        pair carry = {0, 0};
        for (int l = 0; l < LANES; l += 2) {
            const two xy = two_of(from, 3 * l) / by, zx = two_of(from, 3 * l + 2) / by,
                      yz = two_of(from, 3 * l + 4) / by;
            carry |= carries((pair)xy, add) | carries((pair)zx, add) | carries((pair)yz, add);
            put_two(to + l, sap_two_of(xy, 0, zx, 1));
            put_two(to + LANES + l, sap_two_of(xy, 1, yz, 0));
            put_two(to + 2 * LANES + l, sap_two_of(zx, 0, yz, 1));
        }
        strange[w] = (unsigned char)(strange[w] | carried(carry));
    }
}

static void vectors_two(double *to, const char *from, int words, double factor, uint64_t add, unsigned char *strange)
{
    if (factor == 1)
        vectors_by_two(to, from, words, 1, add, strange);
    else
        vectors_by_two(to, from, words, factor, add, strange);
}

static void numbers_two(double *to, const char *from, int words, uint64_t add, unsigned char *strange)
{
    for (int w = 0; w < words; w++, from += WORD_BYTES / 3, to += LANES) {
        pair carry = {0, 0};
        for (int l = 0; l < LANES; l += 2) {
            const two x = two_of(from, l);
            carry |= carries((pair)x, add);
            put_two(to + l, x);
        }
        strange[w] = (unsigned char)(strange[w] | carried(carry));
    }
}

/* ---------------------------------------------------------- four numbers at a time */

#if defined(__x86_64__)
#define BY_FOUR __attribute__((target("avx2")))

typedef double four __attribute__((vector_size(32)));
typedef uint64_t quad __attribute__((vector_size(32)));
typedef double four_anywhere __attribute__((vector_size(32), aligned(1), may_alias));

/* A vector of elements of a (0 to 3) and of b (4 to 7). */
#if defined(__clang__)
#define FOUR_OF(a, b, p, q, r, s) __builtin_shufflevector((a), (b), p, q, r, s)
#else
#define FOUR_OF(a, b, p, q, r, s) __builtin_shuffle((a), (b), (quad){p, q, r, s})
#endif

BY_FOUR ALWAYS four four_of(const char *from, ptrdiff_t k)
{
    const void *const place = from + k * (ptrdiff_t)sizeof(double);
    return *(const four_anywhere *)place;
}

BY_FOUR ALWAYS void put_four(double *to, four x) { *(four_anywhere *)(void *)to = x; }

BY_FOUR ALWAYS quad carries_of_four(four x, uint64_t add)
{
    const quad exponent = {finite_exponent, finite_exponent, finite_exponent, finite_exponent};
    return ((quad)x & exponent) + (quad){add, add, add, add};
}

BY_FOUR ALWAYS void note_four(quad carry, unsigned char *strange)
{
    *strange = (unsigned char)(*strange | (carry[0] | carry[1] | carry[2] | carry[3]) >> 63);
}

BY_FOUR static void vectors_four(double *to, const char *from, int words, double factor, uint64_t add,
                                 unsigned char *strange)
{
    const four by = {factor, factor, factor, factor};
    for (int w = 0; w < words; w++, from += WORD_BYTES, to += 3 * LANES) {
        quad carry = {0, 0, 0, 0};
        for (int l = 0; l < LANES; l += 4) {
            four a = four_of(from, 3 * l), b = four_of(from, 3 * l + 4), c = four_of(from, 3 * l + 8);
            if (factor != 1) a /= by, b /= by, c /= by;
            carry |= carries_of_four(a, add) | carries_of_four(b, add) | carries_of_four(c, add);
            /* a is x y z x, b y z x y, c z x y z: first all of one axis, then in order */
            const four x = FOUR_OF(FOUR_OF(a, c, 0, 5, 2, 3), b, 0, 1, 6, 3);
            const four y = FOUR_OF(FOUR_OF(b, a, 0, 5, 2, 3), c, 0, 1, 6, 3);
            const four z = FOUR_OF(FOUR_OF(c, b, 0, 5, 2, 3), a, 0, 1, 6, 3);
            put_four(to + l, FOUR_OF(x, x, 0, 3, 2, 1));
            put_four(to + LANES + l, FOUR_OF(y, y, 1, 0, 3, 2));
            put_four(to + 2 * LANES + l, FOUR_OF(z, z, 2, 1, 0, 3));
        }
        note_four(carry, strange + w);
    }
}

BY_FOUR static void numbers_four(double *to, const char *from, int words, uint64_t add, unsigned char *strange)
{
    for (int w = 0; w < words; w++, from += WORD_BYTES / 3, to += LANES) {
        quad carry = {0, 0, 0, 0};
        for (int l = 0; l < LANES; l += 4) {
            const four x = four_of(from, l);
            carry |= carries_of_four(x, add);
            put_four(to + l, x);
        }
        note_four(carry, strange + w);
    }
}
#endif

/* ------------------------------------------------------------------------ the ways */

const struct sap_words *sap_words_of(int lanes)
{
    static const struct sap_words by_two = {.vectors = vectors_two, .numbers = numbers_two};
#if defined(__x86_64__)
    static const struct sap_words by_four = {.vectors = vectors_four, .numbers = numbers_four};
    if (lanes == 4) return __builtin_cpu_supports("avx2") ? &by_four : NULL;
#endif
    return lanes == 2 ? &by_two : NULL;
}

void sap_words_indices(int32_t *to, int first, int words)
{
    indices at = {first, first + 1, first + 2, first + 3};
    for (int l = 0; l < words * LANES; l += 4, at += 4) memcpy(to + l, &at, sizeof at);
}
