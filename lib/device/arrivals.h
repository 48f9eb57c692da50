/*
 * arrivals.h - kernels that write the j-store: they store particles, clear slots, and copy the i-particles of a force.
 */
#include "device/store.h"

/* Makes superpackets from .. to-1 empty: massless particles at SAP_EMPTY_X, far from all others. */
KERNEL(256) store_clear(GLOBAL D *store, const int columns, const int from, const int to)
{
    const size_t n = (size_t)(to - from) * (columns * SAP_GPU_SUPERPACKET);
    GLOBAL D *at = store + (size_t)from * (columns * SAP_GPU_SUPERPACKET);
    for (size_t k = global_id(); k < n; k += global_size())
        at[k] = d_set1(k / SAP_GPU_SUPERPACKET % columns < 3 ? SAP_EMPTY_X : SAP_ZERO);
}

/*
 * Gives the particles of superpackets from .. to-1 the addresses that they have among the particles of several
 * processes: blocks of `block` addresses belong to the processes in turn, and address `before` of all becomes 0.
 */
KERNEL(256)
store_address(GLOBAL D *store, const int columns, const int from, const int to, const int block, const int processes,
              const int process, const int before)
{
    const size_t n = (size_t)(to - from) * SAP_GPU_SUPERPACKET;
    for (size_t k = global_id(); k < n; k += global_size()) {
        GLOBAL int *place = (GLOBAL int *)(store + (from + k / SAP_GPU_SUPERPACKET) * (columns * SAP_GPU_SUPERPACKET) +
                                           SAP_GPU_TAGS * SAP_GPU_SUPERPACKET) +
                            SAP_GPU_SUPERPACKET + k % SAP_GPU_SUPERPACKET;
        const int own = *place - 1;
        if (own >= 0) *place = (own / block * processes + process) * block + own % block - before + 1;
    }
}

/*
 * Stores word w of an update in its column.  struct sap_gpu_update has one word more than the j-store has columns; the
 * extra word precedes the columns of orders 6 and 8, and that of lengths.
 */
SAP_INLINE void scatter(GLOBAL D *store, int columns, const LOCAL D *word, int w)
{
    const LOCAL struct sap_gpu_update *u = (const LOCAL struct sap_gpu_update *)word;
    const int sp = u->at / SAP_GPU_SUPERPACKET, a = u->at % SAP_GPU_SUPERPACKET;
    GLOBAL D *at = store + (size_t)sp * (columns * SAP_GPU_SUPERPACKET);
    if (w == SAP_GPU_TAGS) {
        GLOBAL int *tags = (GLOBAL int *)(at + SAP_GPU_TAGS * SAP_GPU_SUPERPACKET);
        tags[a] = u->index;
        tags[SAP_GPU_SUPERPACKET + a] = u->place;
    } else if (w != SAP_GPU_COLUMNS) {
        at[(w > SAP_GPU_COLUMNS ? w - 1 : w) * SAP_GPU_SUPERPACKET + a] = word[w];
    }
}

/* Words of the updates that a group of threads handles at a time. */
#define STAGED(COLUMNS) (STAGE_ITEMS / SAP_GPU_UPDATE_WORDS(COLUMNS) * SAP_GPU_UPDATE_WORDS(COLUMNS))

SAP_INLINE void stage(int columns, GLOBAL D *store, const GLOBAL D *update, int n, GLOBAL wide *i,
                      const GLOBAL wide *i_from, int i_parts, LOCAL D *words)
{
    const int each = SAP_GPU_UPDATE_WORDS(columns), updates = STAGE_ITEMS / each;
    const int t = local_id(), u = t / each;
    for (int k = global_id(); k < i_parts; k += global_size()) i[k] = i_from[k];
    for (int first = group_id(0) * updates; first < n; first += num_groups() * updates) {
        const int mine = u < updates && first + u < n;
        if (mine) words[t] = update[(size_t)first * each + t];
        group_barrier();
        if (mine) scatter(store, columns, words + u * each, t % each);
        group_barrier();
    }
}

/* Stores n particles (each address at most once) and copies i-particles.  Both inputs may lie in pinned host memory. */
#define SAP_STAGE(NAME, COLUMNS)                                                                                       \
    KERNEL(STAGE_ITEMS)                                                                                                \
    NAME(GLOBAL D *store, const GLOBAL D *update, const int n, GLOBAL wide *i, const GLOBAL wide *i_from,              \
         const int i_parts)                                                                                            \
    {                                                                                                                  \
        SHARED D words[STAGED(COLUMNS)];                                                                               \
        launches_barrier();                                                                                            \
        stage(COLUMNS, store, update, n, i, i_from, i_parts, words);                                                   \
    }
SAP_STAGE(store_stage, SAP_GPU_COLUMNS) /* orders 4 and 2 */
SAP_STAGE(store_stage_order6, SAP_GPU_COLUMNS_OF(6))
SAP_STAGE(store_stage_order8, SAP_GPU_COLUMNS_OF(8))
SAP_STAGE(store_stage_order4_soft, SAP_GPU_COLUMNS + 1)
SAP_STAGE(store_stage_order6_soft, SAP_GPU_COLUMNS_OF(6) + 1)
SAP_STAGE(store_stage_order8_soft, SAP_GPU_COLUMNS_OF(8) + 1)
