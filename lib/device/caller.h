/*
 * caller.h - kernels for j-particles whose columns the caller has in device memory: they look at a column, and copy it
 * to the j-store.
 */
#include "device/gpu_caller_layout.h"
#include "device/store.h"

SAP_INLINE void raise_to(GLOBAL int *most, int x)
{
    if (x > *most) (void)atomic_max(most, x);
}

/* Finds the sizes of the numbers of n particles, as gpu_caller_layout.h says; `seen` begins as zeros. */
KERNEL(256) store_look(const GLOBAL D *column, GLOBAL int *seen, const int axes, const int n)
{
    const size_t numbers = (size_t)n * (size_t)axes;
    int most = 0, least = 0, negative = 0;
    for (size_t k = global_id(); k < numbers; k += global_size()) {
        const D x = column[k];
        const int high = high_word(x), size = high & 0x7FFFFFFF, word = size > 0 ? size : low_word(x) != 0;
        most = max(most, word);
        if (word > 0) least = max(least, SAP_CALLER_NONE - word);
        negative |= word > 0 && high < 0;
    }
    raise_to(&seen[SAP_CALLER_MOST], most);
    raise_to(&seen[SAP_CALLER_LEAST], least);
    raise_to(&seen[SAP_CALLER_NEGATIVE], negative);
}

/*
 * Copies a column of n particles, which has `axes` numbers of each, to columns of the store from number `to` on, for
 * addresses from `first` on, which are local ones.  Numbers are divided by `factor`; without has_from they are 0.
 */
KERNEL(256)
store_column(GLOBAL D *store, const int columns, const int to, const GLOBAL D *from, const int has_from, const int axes,
             const int factor, const int first, const int n)
{
    const size_t numbers = (size_t)n * (size_t)axes;
    for (size_t k = global_id(); k < numbers; k += global_size()) {
        const int axis = (int)(k % (size_t)axes), at = first + (int)(k / (size_t)axes);
        GLOBAL D *x = store + (size_t)(at / SAP_GPU_SUPERPACKET) * (columns * SAP_GPU_SUPERPACKET) +
                      (to + axis) * SAP_GPU_SUPERPACKET + at % SAP_GPU_SUPERPACKET;
        const D value = has_from ? from[k] : d_set1(SAP_ZERO);
        *x = factor == 1 ? value : d_div(value, d_of_int(factor));
    }
}

/* Sets the indices of n particles, or without has_index their addresses, and marks their slots as occupied. */
KERNEL(256)
store_tags(GLOBAL D *store, const int columns, const GLOBAL int *index, const int has_index, const int first,
           const int n)
{
    for (int k = global_id(); k < n; k += global_size()) {
        const int at = first + k, a = at % SAP_GPU_SUPERPACKET;
        GLOBAL int *tags = (GLOBAL int *)(store + (size_t)(at / SAP_GPU_SUPERPACKET) * (columns * SAP_GPU_SUPERPACKET) +
                                          SAP_GPU_TAGS * SAP_GPU_SUPERPACKET);
        tags[a] = has_index ? index[k] : at;
        tags[SAP_GPU_SUPERPACKET + a] = at + 1;
    }
}
