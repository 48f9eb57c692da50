/* store.cu - kernels that keep the j-store: particles come, empty slots, i-particles of a force. */
#include "store.h"

/* Makes superpackets from .. to-1 empty: massless particles out of everyone's way. */
extern "C" __global__ void __launch_bounds__(256) store_clear(double *store, int from, int to)
{
    const size_t n = (size_t)(to - from) * SAP_GPU_COLUMNS * SAP_GPU_SUPERPACKET;
    double *at = store + (size_t)from * SAP_GPU_COLUMNS * SAP_GPU_SUPERPACKET;
    for (size_t k = blockIdx.x * (size_t)blockDim.x + threadIdx.x; k < n; k += (size_t)gridDim.x * blockDim.x)
        at[k] = k / SAP_GPU_SUPERPACKET % SAP_GPU_COLUMNS < 3 ? SAP_EMPTY_X : 0.0;
}

enum {
    UPDATE_WORDS = sizeof(sap_gpu_update) / sizeof(double), /* 19 */
    UPDATES = 16                                            /* a block takes at a time */
};

SAP_INLINE void scatter(double *store, const double *word, int w)
{
    const sap_gpu_update *u = (const sap_gpu_update *)word;
    const int sp = u->at / SAP_GPU_SUPERPACKET, a = u->at % SAP_GPU_SUPERPACKET;
    double *at = store + (size_t)sp * SAP_GPU_COLUMNS * SAP_GPU_SUPERPACKET;
    if (w < SAP_GPU_TAGS) {
        at[(size_t)w * SAP_GPU_SUPERPACKET + a] = word[w];
    } else if (w == SAP_GPU_TAGS) {
        int *tags = (int *)(at + SAP_GPU_TAGS * SAP_GPU_SUPERPACKET);
        tags[a] = u->index;
        tags[SAP_GPU_SUPERPACKET + a] = u->place;
    }
}

/* Stores n particles (each address once) and copies i-particles; both may lie in pinned memory of the host. */
extern "C" __global__ void __launch_bounds__(UPDATES *UPDATE_WORDS)
    store_stage(double *store, const double *update, int n, double2 *i, const double2 *i_from, int i_parts)
{
    __shared__ double words[UPDATES * UPDATE_WORDS];
    const int t = threadIdx.x;
    for (int k = blockIdx.x * blockDim.x + t; k < i_parts; k += gridDim.x * blockDim.x) i[k] = i_from[k];
    for (int first = blockIdx.x * UPDATES; first < n; first += gridDim.x * UPDATES) {
        const bool mine = first + t / UPDATE_WORDS < n;
        if (mine) words[t] = update[(size_t)first * UPDATE_WORDS + t];
        __syncthreads();
        if (mine) scatter(store, words + t / UPDATE_WORDS * UPDATE_WORDS, t % UPDATE_WORDS);
        __syncthreads();
    }
}
