/* arrivals.h - kernels that keep the j-store: particles come, empty slots, i-particles of a force. */
#include "device/store.h"

/* Makes superpackets from .. to-1 empty: massless particles out of everyone's way. */
KERNEL(256) store_clear(GLOBAL D *store, const int from, const int to)
{
    const size_t n = (size_t)(to - from) * (SAP_GPU_COLUMNS * SAP_GPU_SUPERPACKET);
    GLOBAL D *at = store + (size_t)from * (SAP_GPU_COLUMNS * SAP_GPU_SUPERPACKET);
    for (size_t k = global_id(); k < n; k += global_size())
        at[k] = d_set1(k / SAP_GPU_SUPERPACKET % SAP_GPU_COLUMNS < 3 ? SAP_EMPTY_X : SAP_ZERO);
}

enum {
    UPDATE_WORDS = sizeof(struct sap_gpu_update) / sizeof(D), /* 19 */
    UPDATES = STAGE_ITEMS / UPDATE_WORDS                      /* that a group takes at a time */
};

SAP_INLINE void scatter(GLOBAL D *store, const LOCAL D *word, int w)
{
    const LOCAL struct sap_gpu_update *u = (const LOCAL struct sap_gpu_update *)word;
    const int sp = u->at / SAP_GPU_SUPERPACKET, a = u->at % SAP_GPU_SUPERPACKET;
    GLOBAL D *at = store + (size_t)sp * (SAP_GPU_COLUMNS * SAP_GPU_SUPERPACKET);
    if (w < SAP_GPU_TAGS) {
        at[w * SAP_GPU_SUPERPACKET + a] = word[w];
    } else if (w == SAP_GPU_TAGS) {
        GLOBAL int *tags = (GLOBAL int *)(at + SAP_GPU_TAGS * SAP_GPU_SUPERPACKET);
        tags[a] = u->index;
        tags[SAP_GPU_SUPERPACKET + a] = u->place;
    }
}

/* Stores n particles (each address once) and copies i-particles; both may lie in pinned memory of the host. */
KERNEL(STAGE_ITEMS)
store_stage(GLOBAL D *store, const GLOBAL D *update, const int n, GLOBAL wide *i, const GLOBAL wide *i_from,
            const int i_parts)
{
    SHARED D words[UPDATES * UPDATE_WORDS];
    const int t = local_id(), u = t / UPDATE_WORDS;
    for (int k = global_id(); k < i_parts; k += global_size()) i[k] = i_from[k];
    for (int first = group_id(0) * UPDATES; first < n; first += num_groups() * UPDATES) {
        const int mine = u < UPDATES && first + u < n;
        if (mine) words[t] = update[(size_t)first * UPDATE_WORDS + t];
        group_barrier();
        if (mine) scatter(store, words + u * UPDATE_WORDS, t % UPDATE_WORDS);
        group_barrier();
    }
}
