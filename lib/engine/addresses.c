/*
 * addresses.c - lists of addresses, some at a time.
 *
 * Batches of small forces look at each address of each call, and the device waits for them: a list of 1,000 addresses
 * takes 0.17 us for its range and 0.09 us for its narrow form (SSE2, one core of an AMD EPYC).
 */
#include "engine/addresses.h"

#include <limits.h>

#include "base/stream.h"

typedef int four __attribute__((vector_size(16)));
typedef int loose_four __attribute__((vector_size(16), aligned(4), may_alias));

static inline four lesser(four a, four b)
{
    const four m = a < b;
    return (a & m) | (b & ~m);
}

static inline four larger(four a, four b)
{
    const four m = a > b;
    return (a & m) | (b & ~m);
}

static inline void widen(struct sap_address_range *r, int a)
{
    if (a < r->low) r->low = a;
    if (a > r->high) r->high = a;
}

struct sap_address_range sap_addresses_range(const int *address, int n)
{
    struct sap_address_range r = {INT_MAX, INT_MIN};
    four low[2], high[2];
    int k = 0;
    low[0] = low[1] = (four){INT_MAX, INT_MAX, INT_MAX, INT_MAX};
    high[0] = high[1] = (four){INT_MIN, INT_MIN, INT_MIN, INT_MIN};
    for (; k + 8 <= n; k += 8) {
        for (int half = 0; half < 2; half++) {
            const four a = *(const loose_four *)(const void *)(address + k + 4 * half);
            low[half] = lesser(low[half], a);
            high[half] = larger(high[half], a);
        }
    }
    low[0] = lesser(low[0], low[1]);
    high[0] = larger(high[0], high[1]);
    for (int c = 0; c < 4 && k > 0; c++) {
        widen(&r, low[0][c]);
        widen(&r, high[0][c]);
    }
    for (; k < n; k++) widen(&r, address[k]);
    return r;
}

void sap_addresses_narrow(const int *address, int n, int base, uint16_t *to)
{
    typedef int eight __attribute__((vector_size(32)));
    typedef int loose_eight __attribute__((vector_size(32), aligned(4), may_alias));
    typedef uint16_t halves __attribute__((vector_size(16)));
    const eight from = {base, base, base, base, base, base, base, base};
    int k = 0;
    for (; k + 8 <= n; k += 8)
        sap_stream(to + k, (sap_stream_unit) __builtin_convertvector(
                               *(const loose_eight *)(const void *)(address + k) - from, halves));
    for (; k < n; k++) to[k] = (uint16_t)(address[k] - base);
}
