/*
 * primitives.h - exclusive scans, compaction and bounds of whole arrays, each in two or three launches: the first works
 * on tiles, the second joins the results of the tiles in one group of threads, the third finishes the tiles.
 */
#include "dialect.h"
#include "scan.h"

#include "device/primitives_layout.h"

enum { PRIMITIVE_THREADS = SAP_PRIMITIVE_THREADS, SCAN_EACH = SAP_SCAN_TILE / SAP_PRIMITIVE_THREADS };

/* ---- scan ---- */

/* Sums the integers of each tile into sums[tile]. */
KERNEL(PRIMITIVE_THREADS)
scan_tiles(const GLOBAL int *in, GLOBAL int *sums, const int n)
{
    SCAN_ROOM(room, PRIMITIVE_THREADS);
    const size_t first = (size_t)group_id(0) * SAP_SCAN_TILE + local_id();
    int sum = 0, at, total;
    for (int k = 0; k < SCAN_EACH; k++) {
        const size_t place = first + (size_t)k * PRIMITIVE_THREADS;
        if (place < (size_t)n) sum += in[place];
    }
    group_scan(room, PRIMITIVE_THREADS, sum, at, total);
    if (local_id() == 0) sums[group_id(0)] = total;
}

/*
 * Scans the sums, with one group of threads: sums[tile] becomes the sum of the tiles before, sums[tiles] the sum of
 * all.
 */
KERNEL(PRIMITIVE_THREADS)
scan_sums(GLOBAL int *sums, const int tiles)
{
    SCAN_ROOM(room, PRIMITIVE_THREADS);
    int before = 0;
    for (int first = 0; first < tiles; first += PRIMITIVE_THREADS) {
        const int tile = first + (int)local_id(), x = tile < tiles ? sums[tile] : 0;
        int at, total;
        group_scan(room, PRIMITIVE_THREADS, x, at, total);
        if (tile < tiles) sums[tile] = before + at;
        before += total;
    }
    if (local_id() == 0) sums[tiles] = before;
}

/* Finishes the scan: out[k] is the sum of the integers before k; out may be `in`. */
KERNEL(PRIMITIVE_THREADS)
scan_finish(const GLOBAL int *in, const GLOBAL int *sums, GLOBAL int *out, const int n)
{
    SCAN_ROOM(room, PRIMITIVE_THREADS);
    const size_t first = (size_t)group_id(0) * SAP_SCAN_TILE + local_id();
    int before = sums[group_id(0)];
    for (int k = 0; k < SCAN_EACH; k++) {
        const size_t place = first + (size_t)k * PRIMITIVE_THREADS;
        const int x = place < (size_t)n ? in[place] : 0;
        int at, total;
        group_scan(room, PRIMITIVE_THREADS, x, at, total);
        if (place < (size_t)n) out[place] = before + at;
        before += total;
    }
}

/* ---- compaction: place[] is the scan of flag[], whose entries are 0 or 1 ---- */

/* Writes value[k] (without values: k) of the flagged k to `out`, in order. */
KERNEL(PRIMITIVE_THREADS)
compact_fill(const GLOBAL int *flag, const GLOBAL int *place, const GLOBAL int *value, const int has_values,
             GLOBAL int *out, const int n)
{
    const size_t k = global_id();
    if (k < (size_t)n && flag[k] != 0) out[place[k]] = has_values ? value[k] : (int)k;
}

/* ---- bounds ---- */

/*
 * Finds the smallest and the largest of a group's values; the first thread receives them.  room: two values per thread.
 */
SAP_INLINE void group_bounds(LOCAL D *room, D *low, D *high)
{
    const int me = (int)local_id();
    room[me] = *low;
    room[PRIMITIVE_THREADS + me] = *high;
    for (int step = PRIMITIVE_THREADS / 2; step > 0; step /= 2) {
        group_barrier();
        if (me < step) {
            room[me] = d_min(room[me], room[me + step]);
            room[PRIMITIVE_THREADS + me] = d_max(room[PRIMITIVE_THREADS + me], room[PRIMITIVE_THREADS + me + step]);
        }
    }
    *low = room[0];
    *high = room[PRIMITIVE_THREADS];
}

/*
 * Computes bounds of columns of n values, `stride` apart.  part[2 * (column * groups + group)] and the next: bounds of
 * the values that a group looked at, which are every groups-th run of values.
 */
KERNEL(PRIMITIVE_THREADS)
bounds_parts(const GLOBAL D *x, GLOBAL D *part, const int n, const int stride)
{
    SHARED D room[2 * PRIMITIVE_THREADS];
    const int groups = (int)num_groups(), column = (int)group_id(1);
    const size_t step = (size_t)groups * PRIMITIVE_THREADS;
    const GLOBAL D *at = x + (size_t)column * stride;
    D low = at[0], high = at[0];
    for (size_t k = (size_t)group_id(0) * PRIMITIVE_THREADS + local_id(); k < (size_t)n; k += step) {
        low = d_min(low, at[k]);
        high = d_max(high, at[k]);
    }
    group_bounds(room, &low, &high);
    if (local_id() == 0) {
        GLOBAL D *to = part + 2 * ((size_t)column * groups + group_id(0));
        to[0] = low;
        to[1] = high;
    }
}

/* Joins the bounds of a column, one group of threads per column: out[2 * column], out[2 * column + 1]. */
KERNEL(PRIMITIVE_THREADS)
bounds_join(const GLOBAL D *part, GLOBAL D *out, const int groups)
{
    SHARED D room[2 * PRIMITIVE_THREADS];
    const int column = (int)group_id(0);
    const GLOBAL D *at = part + 2 * (size_t)column * groups;
    D low = at[0], high = at[1];
    for (int k = (int)local_id(); k < groups; k += PRIMITIVE_THREADS) {
        low = d_min(low, at[2 * k]);
        high = d_max(high, at[2 * k + 1]);
    }
    group_bounds(room, &low, &high);
    if (local_id() == 0) {
        out[2 * column] = low;
        out[2 * column + 1] = high;
    }
}
