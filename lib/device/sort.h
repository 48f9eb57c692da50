/*
 * sort.h - a stable radix sort of 64-bit keys with 32-bit values, 8 bits per pass.
 *
 * A pass counts the digits of each tile (sort_count), sums the counts over the tiles for each digit (sort_offsets), and
 * moves keys and values to their new positions (sort_scatter).  In sort_scatter a group first sorts its tile in memory
 * of the group, so that neighbouring threads write to neighbouring addresses.
 *
 * Atomic counters do not decide the order of equal digits.  Instead each of 32 neighbouring threads sets its bit in a
 * word of its digit, and counts the bits below its own.  So a device needs nothing more than 32 neighbouring threads
 * that pass barriers together.
 */
#include "dialect.h"
#include "scan.h"

#include "device/primitives_layout.h"

enum {
    SORT_MOST = SORT_LONG / SAP_PRIMITIVE_THREADS, /* keys per thread */
    SORT_THREADS = SAP_PRIMITIVE_THREADS,
    SORT_WARPS = SORT_THREADS / 32,
    SORT_DIGITS = SAP_SORT_DIGITS,
    SORT_BINS = SORT_WARPS * SORT_DIGITS,
    SORT_FEW_TILES = 4
};

SAP_INLINE int digit_of(U64 key, int shift) { return (int)(key >> shift) & (SORT_DIGITS - 1); }

/*
 * Counts the digits of each tile: count[digit * tiles + tile] is the number of keys of the tile with this digit.  count
 * follows one word per digit in scratch.
 */
KERNEL(SORT_THREADS)
sort_count(const GLOBAL U64 *key, GLOBAL int *scratch, const int n, const int shift, const int tile, const int tiles)
{
    SHARED int bins[SORT_BINS];
    const int me = (int)local_id();
    const size_t first = (size_t)group_id(0) * tile;
    const int here = (int)min((size_t)tile, (size_t)n - first);
    LOCAL int *mine = bins + me / 32 * SORT_DIGITS;
    int sum = 0;
    for (int k = me; k < SORT_BINS; k += SORT_THREADS) bins[k] = 0;
    group_barrier();
    for (int k = me; k < here; k += SORT_THREADS) atomic_add(&mine[digit_of(key[first + k], shift)], 1);
    group_barrier();
    for (int w = 0; w < SORT_WARPS; w++) sum += bins[w * SORT_DIGITS + me];
    scratch[SORT_DIGITS + (size_t)me * tiles + group_id(0)] = sum;
}

/*
 * Sums the counts, one group of threads per digit: count becomes the number of keys with the digit in the tiles before.
 * The first words of scratch become the number of keys with each digit.
 */
KERNEL(SORT_THREADS)
sort_offsets(GLOBAL int *scratch, const int tiles)
{
    SCAN_ROOM(room, SORT_THREADS);
    GLOBAL int *row = scratch + SORT_DIGITS + (size_t)group_id(0) * tiles;
    const int scanned = tiles > SORT_FEW_TILES ? tiles : 0; /* one thread sums few counts sooner than a scan does */
    int before = 0;
    for (int tile = 0; tile < tiles - scanned && local_id() == 0; tile++) {
        const int x = row[tile];
        row[tile] = before;
        before += x;
    }
    for (int first = 0; first < scanned; first += SORT_THREADS) {
        const int tile = first + (int)local_id(), x = tile < tiles ? row[tile] : 0;
        int at, sum;
        group_scan(room, SORT_THREADS, x, at, sum);
        if (tile < tiles) row[tile] = before + at;
        before += sum;
    }
    if (local_id() == 0) scratch[group_id(0)] = before;
}

/*
 * Returns how many earlier keys of this warp have this thread's digit, and counts this one.  bits: one word per digit
 * of the warp, 0 between calls; count: keys of the warp so far, by digit.  All threads of the group must call it.
 */
SAP_INLINE int rank_in_warp(LOCAL unsigned *bits, LOCAL int *count, int digit)
{
    const unsigned lane = (unsigned)local_id() & 31U;
    (void)atomic_or(&bits[digit], 1U << lane);
    near_barrier();
    const unsigned same = bits[digit];
    const int before = count[digit];
    near_barrier();
    if (same >> lane == 1U) { /* the last thread with this digit */
        bits[digit] = 0;
        count[digit] = before + (int)popcount(same);
    }
    near_barrier();
    return before + (int)popcount(same & ((1U << lane) - 1U));
}

/*
 * Computes positions after a tile has been counted, warp by warp: count[warp][digit] becomes the position in the sorted
 * tile of the warp's first key with this digit.  to[digit] becomes the difference between positions in the output and
 * in the sorted tile.
 */
SAP_INLINE void place_digits(SCAN_ARGUMENT(room, SORT_THREADS), LOCAL int *count, LOCAL int *to,
                             const GLOBAL int *offset, const GLOBAL int *total, int tiles)
{
    const int digit = (int)local_id();
    int sum = 0, start, base, all;
    for (int w = 0; w < SORT_WARPS; w++) {
        const int c = count[w * SORT_DIGITS + digit];
        count[w * SORT_DIGITS + digit] = sum;
        sum += c;
    }
    group_scan(room, SORT_THREADS, sum, start, all);
    for (int w = 0; w < SORT_WARPS; w++) count[w * SORT_DIGITS + digit] += start;
    sum = total[digit];
    group_scan(room, SORT_THREADS, sum, base, all);
    to[digit] = base + offset[(size_t)digit * tiles + group_id(0)] - start;
    (void)all;
    group_barrier();
}

/* The arrays to sort; with values 0, the value of a key is its position. */
struct sort_arrays {
    const GLOBAL U64 *key;
    const GLOBAL int *value;
    GLOBAL U64 *key_out;
    GLOBAL int *value_out;
    int values, n, shift;
};

/*
 * Sorts a tile of `each` keys per thread, at most SORT_MOST, and writes it to the output.  A warp has consecutive keys,
 * 32 at a time.  sorted: memory for all keys of the tile, and at least half of SORT_BINS; to: one word per digit.
 */
SAP_INLINE void scatter_tile(SCAN_ARGUMENT(room, SORT_THREADS), LOCAL U64 *sorted, LOCAL int *count, LOCAL int *to,
                             struct sort_arrays s, const GLOBAL int *offset, const GLOBAL int *total, int tiles,
                             const int each)
{
    const int me = (int)local_id(), bins = me / 32 * SORT_DIGITS;
    const int first = (int)group_id(0) * (each * SORT_THREADS), here = min(each * SORT_THREADS, s.n - first);
    const int own = first + me / 32 * 32 * each + me % 32, left = s.n - own;
    LOCAL unsigned *bits = (LOCAL unsigned *)sorted;
    LOCAL int *moved = (LOCAL int *)sorted;
    U64 key[SORT_MOST];
    int place[SORT_MOST];
    UNROLL
    for (int k = 0; k < each; k++) key[k] = k * 32 < left ? (s.key + own)[k * 32] : ~(U64)0;
    for (int k = me; k < SORT_BINS; k += SORT_THREADS) bits[k] = 0, count[k] = 0;
    group_barrier();
    UNROLL
    for (int k = 0; k < each; k++) place[k] = rank_in_warp(bits + bins, count + bins, digit_of(key[k], s.shift));
    group_barrier();
    place_digits(room, count, to, offset, total, tiles);
    UNROLL
    for (int k = 0; k < each; k++) {
        place[k] += count[bins + digit_of(key[k], s.shift)];
        sorted[place[k]] = key[k];
    }
    group_barrier();
    UNROLL
    for (int k = 0; k < each; k++) {
        const int at = k * SORT_THREADS + me;
        const U64 now = sorted[at];
        const int digit = digit_of(now, s.shift);
        place[k] |= digit << 16; /* the digit at `at`, packed beside the position: the value needs it too */
        if (at < here) s.key_out[to[digit] + at] = now;
    }
    group_barrier();
    UNROLL
    for (int k = 0; k < each; k++)
        moved[place[k] & 0xFFFF] = k * 32 >= left ? 0 : s.values ? (s.value + own)[k * 32] : own + k * 32;
    group_barrier();
    UNROLL
    for (int k = 0; k < each; k++) {
        const int at = k * SORT_THREADS + me;
        if (at < here) s.value_out[to[place[k] >> 16] + at] = moved[at];
    }
}

/* Moves keys and values, one group of threads per tile; scratch: as sort_offsets left it. */
#define SORT_SCATTER(name, TILE, DENSITY)                                                                              \
    KERNEL_DENSE(SORT_THREADS, DENSITY)                                                                                \
    name(const GLOBAL U64 *key, const GLOBAL int *value, const int values, GLOBAL U64 *key_out, GLOBAL int *value_out, \
         const GLOBAL int *scratch, const int n, const int shift, const int tiles)                                     \
    {                                                                                                                  \
        SCAN_ROOM(room, SORT_THREADS);                                                                                 \
        SHARED U64 sorted[(TILE) < SORT_BINS / 2 ? SORT_BINS / 2 : (TILE)];                                            \
        SHARED int count[SORT_BINS], to[SORT_DIGITS];                                                                  \
        const struct sort_arrays s = {key, value, key_out, value_out, values, n, shift};                               \
        scatter_tile(room, sorted, count, to, s, scratch + SORT_DIGITS, scratch, tiles, (TILE) / SORT_THREADS);        \
    }

SORT_SCATTER(sort_scatter_short, SAP_SORT_SHORT, 4)
SORT_SCATTER(sort_scatter_long, SORT_LONG, 3)
