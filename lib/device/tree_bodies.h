/*
 * tree_bodies.h - kernels for the particles of a rank's caller, which a device divides among the ranks, and for the
 * forces that come back.
 *
 * Records that stay are written where they belong; those that travel lie one after the other.
 */
#include "device/tree_bodies_layout.h"
#include "device/tree_units.h"
#include "physics/tree_weight.h"

/* ---- weights along the curve ---- */

/* Copies the positions of n listed particles. */
KERNEL(SAP_TREE_THREADS)
tree_body_places(const GLOBAL wide *given, const GLOBAL int *list, GLOBAL D *x, const int n)
{
    const int k = (int)global_id();
    D place[3], mass;
    if (k >= n) return;
    load_particle(given, list[k], place, &mass);
    for (int c = 0; c < 3; c++) x[3 * (size_t)k + c] = place[c];
}

/* Counts for each of SAP_TREE_PARTS groups of threads what SAP_BODY_COUNTS says.  The top bit of `work`: unknown. */
KERNEL(SAP_TREE_THREADS)
tree_body_counts(const GLOBAL U64 *work, const GLOBAL D *size, GLOBAL U64 *sums, const int n)
{
    SHARED U64 room[SAP_BODY_COUNTS * SAP_TREE_THREADS];
    const int me = (int)local_id();
    U64 mine[SAP_BODY_COUNTS] = {0, 0, 0};
    for (size_t i = (size_t)global_id(); i < (size_t)n; i += (size_t)SAP_TREE_PARTS * SAP_TREE_THREADS) {
        const U64 known = work[i] >> 63 == 0;
        mine[0] += known;
        mine[1] += known ? work[i] : 0;
        mine[2] += !dm_any(d_ge(size[i], d_set1(SAP_ZERO)));
    }
    for (int w = 0; w < SAP_BODY_COUNTS; w++) room[w * SAP_TREE_THREADS + me] = mine[w];
    for (int step = SAP_TREE_THREADS / 2; step > 0; step /= 2) {
        group_barrier();
        if (me < step)
            for (int w = 0; w < SAP_BODY_COUNTS; w++)
                room[w * SAP_TREE_THREADS + me] += room[w * SAP_TREE_THREADS + me + step];
    }
    if (me == 0)
        for (int w = 0; w < SAP_BODY_COUNTS; w++)
            sums[SAP_BODY_COUNTS * (size_t)group_id(0) + w] = room[w * SAP_TREE_THREADS];
}

/* Writes the weights of particles in the order of their keys. */
KERNEL(SAP_TREE_THREADS)
tree_body_weights(const GLOBAL U64 *work, const GLOBAL int *order, GLOBAL U64 *weight, const struct sap_gpu_weights how)
{
    const int k = (int)global_id();
    if (k >= how.n) return;
    const U64 mean = (U64)how.mean_high << 32 | how.mean_low, known = work[order[k]];
    weight[k] = sap_tree_weight(known >> 63 ? mean : known, mean, how.is_kdtree);
}

/* Adds the weights of each block. */
KERNEL(SAP_TREE_THREADS)
tree_body_blocks(const GLOBAL U64 *weight, GLOBAL U64 *sums, const int blocks, const int n)
{
    const int b = (int)global_id();
    U64 sum = 0;
    if (b >= blocks) return;
    for (int k = b * SAP_BODY_BLOCK; k < n && k < (b + 1) * SAP_BODY_BLOCK; k++) sum += weight[k];
    sums[b] = sum;
}

/* Writes for each sought key the weight, or without `weighs` the number, of the particles with keys below. */
KERNEL(SAP_TREE_THREADS)
tree_body_below(const GLOBAL U64 *key, const GLOBAL U64 *weight, const GLOBAL U64 *sums, const GLOBAL U64 *sought,
                GLOBAL U64 *below, const int weighs, const int n, const int keys)
{
    const int q = (int)global_id();
    if (q >= keys) return;
    int from = 0, left = n;
    while (left > 0) {
        const int step = left / 2, is_below = key[from + step] < sought[q];
        from = is_below ? from + step + 1 : from;
        left = is_below ? left - step - 1 : step;
    }
    U64 sum = (U64)from;
    if (weighs) {
        sum = sums[from / SAP_BODY_BLOCK];
        for (int k = from / SAP_BODY_BLOCK * SAP_BODY_BLOCK; k < from; k++) sum += weight[k];
    }
    below[q] = sum;
}

/* ---- what travels ---- */

/* Copies the particles that stay to a tree, and those that travel to records. */
KERNEL(SAP_TREE_THREADS)
tree_body_pack(const GLOBAL wide *given, const GLOBAL D *size, const GLOBAL int *order, const int has_order,
               GLOBAL wide *particle, GLOBAL D *a, GLOBAL D *out, const struct sap_gpu_staying how)
{
    const int k = (int)global_id();
    if (k >= how.n) return;
    const size_t i = has_order ? (size_t)order[k] : (size_t)k;
    const wide p = given[2 * i], q = given[2 * i + 1];
    const D mine = size[i];
    if (k >= how.first && k < how.first + how.stays) {
        const size_t at = (size_t)(how.at + k - how.first);
        particle[2 * at] = p;
        particle[2 * at + 1] = q;
        if (!how.keeps || dm_any(d_ge(mine, d_set1(SAP_ZERO)))) a[at] = mine;
    } else {
        GLOBAL D *const to = out + SAP_BODY_WORDS * (size_t)(k < how.first ? k : k - how.stays);
        to[0] = p.x, to[1] = p.y, to[2] = q.x, to[3] = q.y, to[4] = mine;
    }
}

/* Copies n records that have arrived to a tree. */
KERNEL(SAP_TREE_THREADS)
tree_body_unpack(const GLOBAL D *in, GLOBAL wide *particle, GLOBAL D *a, const struct sap_gpu_staying how, const int n)
{
    const int k = (int)global_id();
    if (k >= n) return;
    const GLOBAL D *const from = in + SAP_BODY_WORDS * (size_t)k;
    const size_t at = (size_t)(k < how.at ? k : k + how.stays);
    wide p, q;
    p.x = from[0], p.y = from[1], q.x = from[2], q.y = from[3];
    particle[2 * at] = p;
    particle[2 * at + 1] = q;
    if (!how.keeps || dm_any(d_ge(from[4], d_set1(SAP_ZERO)))) a[at] = from[4];
}

/* ---- forces ---- */

/* Replaces sizes that are unknown by those of the rows of all particles. */
KERNEL(SAP_TREE_THREADS)
tree_body_learn(const GLOBAL D *acc, GLOBAL D *a, const int n)
{
    const size_t i = global_id();
    if (i < (size_t)n && !dm_any(d_ge(a[i], d_set1(SAP_ZERO)))) a[i] = size_of_row(acc, i);
}

/* Copies rows of particles that came from other ranks to answers, and keeps the sizes of all. */
KERNEL(SAP_TREE_THREADS)
tree_body_answer(const GLOBAL D *acc, const GLOBAL D *pot, const GLOBAL int *left, const GLOBAL int *active,
                 GLOBAL D *a, GLOBAL D *out, const struct sap_gpu_told told, const struct sap_gpu_staying how)
{
    const int k = (int)global_id();
    if (k >= told.rows) return;
    const int address = told.has_list ? active[k] : k;
    if (told.sized) a[address] = size_of_row(acc, (size_t)k);
    if (k >= how.at && k < how.at + how.stays) return;
    GLOBAL D *const to = out + SAP_TOLD_WORDS * (size_t)(k < how.at ? k : k - how.stays);
    for (int c = 0; c < 3; c++) to[c] = acc[3 * (size_t)k + c];
    to[3] = pot[k];
    to[4] = d_of_int(left[(size_t)told.work_at + (size_t)(told.picked ? address : k)]);
}

/*
 * Takes answers: of the particles that stayed from the rows, of others from records.  Writes results by particle of the
 * caller, and what the next build needs of them.
 */
KERNEL(SAP_TREE_THREADS)
tree_body_deliver(const GLOBAL D *acc, const GLOBAL D *pot, const GLOBAL int *left, const GLOBAL int *active,
                  const GLOBAL D *in, const GLOBAL int *order, const int has_order, GLOBAL D *size, GLOBAL U64 *work,
                  GLOBAL D *to_acc, GLOBAL D *to_pot, const int writes, const struct sap_gpu_told told,
                  const struct sap_gpu_staying how)
{
    const int k = (int)global_id();
    if (k >= how.n) return;
    const size_t i = has_order ? (size_t)order[k] : (size_t)k;
    D row[3], potential;
    U64 cost;
    if (k >= how.first && k < how.first + how.stays) {
        const size_t at = (size_t)(how.at + k - how.first);
        for (int c = 0; c < 3; c++) row[c] = acc[3 * at + c];
        potential = pot[at];
        cost = (U64)left[(size_t)told.work_at + (told.picked ? (size_t)active[at] : at)];
    } else {
        const GLOBAL D *const from = in + SAP_TOLD_WORDS * (size_t)(k < how.first ? k : k - how.stays);
        for (int c = 0; c < 3; c++) row[c] = from[c];
        potential = from[3];
        cost = (U64)int_of_d(from[4]);
    }
    if (told.sized) size[i] = size_of(row);
    work[i] += cost;
    if (!writes) return;
    for (int c = 0; c < 3; c++) to_acc[3 * i + c] = row[c];
    to_pot[i] = potential;
}
