/*
 * tree_periodic.h - kernels of trees in a periodic cube: images of particles and of target particles, the moments and
 * the field of the far images (physics/tree_periodic.h), and sums over images.
 */
#include "device/tree_image_rest.h"

/* Replaces the positions of particles by their images inside the cube. */
KERNEL(SAP_TREE_THREADS)
tree_inside(GLOBAL D *particle, const D period, const int n)
{
    const size_t i = global_id();
    if (i >= (size_t)n) return;
    for (int c = 0; c < 3; c++) particle[4 * i + c] = sap_image_inside(particle[4 * i + c], period);
}

/* Replaces them by the images nearest to the sorted particles, for a refresh. */
KERNEL(SAP_TREE_THREADS)
tree_follow(GLOBAL D *particle, const GLOBAL D *sorted, const GLOBAL int *address, const D period, const int n)
{
    const size_t k = global_id();
    if (k >= (size_t)n) return;
    const size_t i = (size_t)address[k];
    for (int c = 0; c < 3; c++)
        particle[4 * i + c] = sap_image_followed(particle[4 * i + c], sorted[4 * k + c], period);
}

/* Copies n items of so many words each, and adds a shift to the first three. */
KERNEL(SAP_TREE_THREADS)
tree_shift(const GLOBAL D *from, GLOBAL D *to, const int words, const D x, const D y, const D z, const int n)
{
    const size_t i = global_id();
    if (i >= (size_t)n) return;
    const GLOBAL D *const item = from + i * (size_t)words;
    GLOBAL D *const image = to + i * (size_t)words;
    image[0] = d_add(item[0], x);
    image[1] = d_add(item[1], y);
    image[2] = d_add(item[2], z);
    for (int w = 3; w < words; w++) image[w] = item[w];
}

/* Adds results of an image to sums; has_sum 0: it is the first. */
KERNEL(SAP_TREE_THREADS)
tree_image_add(const GLOBAL D *from, GLOBAL D *sum, const int has_sum, const int n)
{
    const size_t i = global_id();
    if (i < (size_t)n) sum[i] = has_sum ? d_add(sum[i], from[i]) : from[i];
}

/* Adds what the walk of an image tells (tree_layout.h) to that of the others; one thread. */
KERNEL(SAP_TREE_THREADS)
tree_image_tell(const GLOBAL int *left, GLOBAL int *told, const int has_told)
{
    if (global_id() != 0) return;
    for (int k = 0; k < 2; k++) {
        const unsigned low = (unsigned)left[2 * k], high = (unsigned)left[2 * k + 1];
        const unsigned low_sum = low + (has_told ? (unsigned)told[2 * k] : 0U);
        told[2 * k + 1] = (int)(high + (has_told ? (unsigned)told[2 * k + 1] : 0U) + (low_sum < low ? 1U : 0U));
        told[2 * k] = (int)low_sum;
    }
    told[SAP_LEFT_BEYOND] = left[SAP_LEFT_BEYOND] | (has_told ? told[SAP_LEFT_BEYOND] : 0);
}

/* Raises sizes of accelerations to the least that the criterion takes. */
KERNEL(SAP_TREE_THREADS)
tree_least(GLOBAL D *a, const D least, const int n)
{
    const size_t i = global_id();
    if (i < (size_t)n && !dm_any(d_ge(a[i], least))) a[i] = least;
}

/* ---- moments ---- */

enum { FAR_EACH = 5 }; /* pairs of degrees per thread */

/* Pairs of degrees, and where their moments begin; many: how many they have, 0 of a pair that there is not. */
struct far_pairs {
    int a[FAR_EACH], b[FAR_EACH], first[FAR_EACH], many[FAR_EACH];
};

/* Finds the pairs of a thread: pair number k of all belongs to thread k % SAP_FAR_THREADS. */
SAP_INLINE struct far_pairs far_pairs_of(int thread)
{
    struct far_pairs p;
    int before = 0, number = 0;
    UNROLL
    for (int e = 0; e < FAR_EACH; e++) p.a[e] = p.b[e] = p.first[e] = p.many[e] = 0;
    for (int i = 0; i < SAP_FAR_DEGREES; i++)
        for (int k = 0, n = SAP_FAR_DEGREES; k < SAP_FAR_DEGREES; k++) {
            n = sap_far_thirds(n, i, k);
            UNROLL
            for (int e = 0; e < FAR_EACH; e++)
                if (n > 0 && number == thread + e * SAP_FAR_THREADS)
                    p.a[e] = i, p.b[e] = k, p.first[e] = before, p.many[e] = n;
            before += n;
            number += n > 0;
        }
    return p;
}

/* Writes the polynomials of the coordinates of a particle; those of the first times its mass. */
SAP_INLINE void far_polynomials(const GLOBAL D *particle, D inverse, LOCAL D (*value)[SAP_FAR_DEGREES])
{
    for (int c = 0; c < 3; c++) {
        D t[SAP_FAR_DEGREES];
        sap_far_values(sap_far_coordinate(particle[c], inverse), t);
        UNROLL
        for (int k = 0; k < SAP_FAR_DEGREES; k++) value[c][k] = c == 0 ? d_mul(t[k], particle[3]) : t[k];
    }
}

/*
 * Computes the moments of parts of the sorted particles, a group of threads for each; a thread has FAR_EACH pairs of
 * degrees, and adds the particles of its part in their order.
 */
KERNEL(SAP_FAR_THREADS)
tree_far_moments(const GLOBAL D *sorted, GLOBAL D *part, const D inverse, const int parts, const int n)
{
    SHARED wide room[SAP_FAR_THREADS * 3 * SAP_FAR_DEGREES / 2]; /* aligned for pairs of numbers */
    LOCAL D(*const value)[3][SAP_FAR_DEGREES] = (LOCAL D(*)[3][SAP_FAR_DEGREES])room;
    const int me = (int)local_id(), p = (int)group_id(0);
    const int begin = (int)((long)n * p / parts), end = (int)((long)n * (p + 1) / parts);
    const struct far_pairs mine = far_pairs_of(me);
    D sum[FAR_EACH][SAP_FAR_DEGREES];
    UNROLL
    for (int e = 0; e < FAR_EACH; e++) {
        UNROLL
        for (int k = 0; k < SAP_FAR_DEGREES; k++) sum[e][k] = d_set1(SAP_ZERO);
    }
    for (int from = begin; from < end; from += SAP_FAR_THREADS) {
        const int some = min(end - from, (int)SAP_FAR_THREADS);
        if (me < some) far_polynomials(sorted + 4 * (size_t)(from + me), inverse, value[me]);
        group_barrier();
        for (int j = 0; j < some; j++) {
            UNROLL
            for (int e = 0; e < FAR_EACH; e++) {
                const D both = d_mul(value[j][0][mine.a[e]], value[j][1][mine.b[e]]);
                UNROLL
                for (int k = 0; k < SAP_FAR_DEGREES; k++) sum[e][k] = d_fma(both, value[j][2][k], sum[e][k]);
            }
        }
        group_barrier();
    }
    UNROLL
    for (int e = 0; e < FAR_EACH; e++) {
        UNROLL
        for (int k = 0; k < SAP_FAR_DEGREES; k++)
            if (k < mine.many[e]) part[(size_t)p * SAP_FAR_TERMS + (size_t)(mine.first[e] + k)] = sum[e][k];
    }
}

/* Adds the moments of all parts in their order. */
KERNEL(SAP_TREE_THREADS)
tree_far_join(const GLOBAL D *part, GLOBAL D *far_sums, const int parts, const int n)
{
    const int k = (int)global_id();
    D sum = d_set1(SAP_ZERO);
    if (k >= n) return;
    for (int p = 0; p < parts; p++) sum = d_add(sum, part[(size_t)p * SAP_FAR_TERMS + (size_t)k]);
    far_sums[k] = sum;
}

/* ---- results ---- */

/* Returns a result of the field in the caller's units: over `power` periods. */
SAP_INLINE D far_result(D x, D mass_unit, D inverse, int power)
{
    D y = d_div(x, mass_unit);
    for (int k = 0; k < power; k++) y = d_mul(y, inverse);
    return y;
}

/* Loads the position of slot k in coordinates of the field. */
SAP_INLINE void far_position(const GLOBAL D *walker, const GLOBAL int *slot, int all_slots, int k, D inverse, D *x)
{
    const size_t own = all_slots ? (size_t)k : (size_t)slot[k];
    for (int c = 0; c < 3; c++) x[c] = sap_far_coordinate(walker[4 * own + c], inverse);
}

/* Copies a field to memory of the group, which is aligned for pairs. */
SAP_INLINE const LOCAL D *bring_field(const GLOBAL D *field, LOCAL wide *room)
{
    LOCAL D *const to = (LOCAL D *)room;
    for (int k = (int)local_id(); k < SAP_FAR_FIELD; k += SAP_ALONE_THREADS) to[k] = field[k];
    group_barrier();
    return to;
}

/* Writes rows: sums over the near images, and the far images.  told: as of tree_image_tell. */
KERNEL(SAP_ALONE_THREADS)
tree_far_force(const GLOBAL D *walker, const GLOBAL int *slot, const int all_slots, const GLOBAL int *row,
               const GLOBAL D *field, const GLOBAL D *sum_acc, const GLOBAL D *sum_pot, GLOBAL D *acc, GLOBAL D *pot,
               GLOBAL int *told, const D inverse, const D mass_unit, const int n)
{
    SHARED wide room[SAP_FAR_FIELD / 2];
    const LOCAL D *const near_field = bring_field(field, room);
    const int k = (int)global_id();
    if (k >= n) return;
    const size_t to = (size_t)row[k];
    D x[3], of[SAP_FAR_FORCE];
    far_position(walker, slot, all_slots, k, inverse, x);
    sap_far_force(near_field, x, of);
    D all = d_sub(sum_pot[to], far_result(of[0], mass_unit, inverse, 1));
    int finite = dm_any(d_eq(d_sub(all, all), d_set1(SAP_ZERO))) ? 1 : 0;
    pot[to] = all;
    for (int c = 0; c < 3; c++) {
        all = d_add(sum_acc[3 * to + c], far_result(d_mul(of[1 + c], d_set1(SAP_FAR_SCALE)), mass_unit, inverse, 2));
        finite &= dm_any(d_eq(d_sub(all, all), d_set1(SAP_ZERO))) ? 1 : 0;
        acc[3 * to + c] = all;
    }
    if (!finite) told[SAP_LEFT_BEYOND] = 1;
}

/* The same of tidal tensors: a row that double cannot hold is NaN. */
KERNEL(SAP_ALONE_THREADS)
tree_far_tidal(const GLOBAL D *walker, const GLOBAL int *slot, const int all_slots, const GLOBAL int *row,
               const GLOBAL D *field, const GLOBAL D *sum, GLOBAL D *tidal, GLOBAL int *told, const D inverse,
               const D mass_unit, const int n)
{
    SHARED wide room[SAP_FAR_FIELD / 2];
    const LOCAL D *const near_field = bring_field(field, room);
    const int k = (int)global_id();
    if (k >= n) return;
    const size_t to = SAP_FAR_TIDAL * (size_t)row[k];
    D x[3], of[SAP_FAR_TIDAL];
    int finite = 1;
    far_position(walker, slot, all_slots, k, inverse, x);
    sap_far_tidal(near_field, x, of);
    for (int q = 0; q < SAP_FAR_TIDAL; q++) {
        const D scaled = d_mul(d_mul(of[q], d_set1(SAP_FAR_SCALE)), d_set1(SAP_FAR_SCALE));
        of[q] = d_add(sum[to + q], far_result(scaled, mass_unit, inverse, 3));
        finite &= dm_any(d_eq(d_sub(of[q], of[q]), d_set1(SAP_ZERO))) ? 1 : 0;
    }
    for (int q = 0; q < SAP_FAR_TIDAL; q++) tidal[to + q] = finite ? of[q] : d_div(d_set1(SAP_ZERO), d_set1(SAP_ZERO));
    if (!finite) told[SAP_LEFT_BEYOND] = 1;
}
