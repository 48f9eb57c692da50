/* store.cl - kernels that keep the j-store: particles come, empty slots, i-particles of a force. */
#include "store.h"

/* Makes superpackets from .. to-1 empty: massless particles out of everyone's way. */
__kernel void store_clear(__global double *store, const int from, const int to)
{
    const size_t n = (size_t)(to - from) * (SAP_GPU_COLUMNS * SAP_GPU_SUPERPACKET);
    __global double *at = store + (size_t)from * (SAP_GPU_COLUMNS * SAP_GPU_SUPERPACKET);
    for (size_t k = get_global_id(0); k < n; k += get_global_size(0))
        at[k] = k / SAP_GPU_SUPERPACKET % SAP_GPU_COLUMNS < 3 ? SAP_EMPTY_X : 0.0;
}

enum { UPDATE_WORDS = sizeof(struct sap_gpu_update) / sizeof(double) };

/* Stores n particles (each address once) and copies i-particles. */
__kernel void store_stage(__global double *store, const __global struct sap_gpu_update *update, const int n,
                          __global double2 *i, const __global double2 *i_from, const int i_parts)
{
    const size_t words = (size_t)n * UPDATE_WORDS;
    for (size_t k = get_global_id(0); k < (size_t)i_parts; k += get_global_size(0)) i[k] = i_from[k];
    for (size_t k = get_global_id(0); k < words; k += get_global_size(0)) {
        const __global struct sap_gpu_update *u = &update[k / UPDATE_WORDS];
        const int w = (int)(k % UPDATE_WORDS), sp = u->at / SAP_GPU_SUPERPACKET, a = u->at % SAP_GPU_SUPERPACKET;
        __global double *at = store + (size_t)sp * (SAP_GPU_COLUMNS * SAP_GPU_SUPERPACKET);
        if (w < SAP_GPU_TAGS) {
            at[w * SAP_GPU_SUPERPACKET + a] = ((const __global double *)u)[w];
        } else if (w == SAP_GPU_TAGS) {
            __global int *tags = (__global int *)(at + SAP_GPU_TAGS * SAP_GPU_SUPERPACKET);
            tags[a] = u->index;
            tags[SAP_GPU_SUPERPACKET + a] = u->place;
        }
    }
}
