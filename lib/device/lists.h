/*
 * lists.h - kernels that make neighbour lists from candidates: each candidate is tested exactly, lists are sorted by
 * index, each index once.
 *
 * Candidates come in any order and leave in a fixed one, so results do not depend on the order in which atomic counters
 * were raised.
 */
#include "device/list_rows.h"
#include "device/store.h"

enum { FILL_ITEMS = 128 };

/*
 * Computes where the lists of a slab begin, after its force; one group of threads.  The list of a row begins at unit
 * offset[row] of the slab's lists; offset[n] is the end of the last list.  The kernel clears the counters of the next
 * slab and accumulates in *counters what the host needs to know of all slabs.  After the last slab it copies *counters
 * to *told and resets the counters for the next force, so no separate launch is needed to clear them.  cursor: number
 * of members of each row, then number of candidates of each row that are no members (list_fill_outside).
 */
KERNEL(SCAN_ITEMS)
list_offsets(GLOBAL int *count, GLOBAL int *offset, GLOBAL int *cursor, GLOBAL struct sap_gpu_counters *counters,
             const int n, GLOBAL struct sap_gpu_counters *told, const int last)
{
    SCAN_ROOM(room, SCAN_ITEMS);
    int before = 0;
    for (int first = 0; first < n; first += SCAN_ITEMS) {
        const int row = first + local_id();
        const int units = row < n ? (count[row] + SAP_GPU_LIST_UNIT - 1) / SAP_GPU_LIST_UNIT : 0;
        int at, total;
        group_scan(room, SCAN_ITEMS, units, at, total);
        if (row < n) {
            offset[row] = before + at;
            cursor[row * SAP_GPU_CURSOR] = cursor[(n + row) * SAP_GPU_CURSOR] = 0;
            count[row] = 0;
        }
        before += total;
    }
    if (local_id() == 0) {
        offset[n] = before;
        counters->noted = counters->hits;
        counters->first = min(counters->total, (int)SAP_GPU_LIST_UNITS);
        counters->total = counters->first + min(before, (int)SAP_GPU_LIST_UNITS);
        counters->most_hits = max(counters->most_hits, (unsigned)counters->hits);
        counters->most = max(counters->most, before);
        counters->hits = 0;
        if (!last) return;
        *told = *counters;
        counters->total = counters->most = 0;
        counters->most_hits = 0;
        counters->coincident = SAP_GPU_NOBODY;
    }
}

/*
 * Tests the candidates of a slab exactly and stores the members of lists, one mask of candidates per thread.  Lists
 * that do not fit into the buffer are left out.
 */
KERNEL(FILL_ITEMS)
list_fill(const GLOBAL D *store, const GLOBAL struct sap_gpu_i *i_all, const GLOBAL struct sap_gpu_hit *hit,
          const GLOBAL int *offset, GLOBAL int *cursor, GLOBAL int *entry,
          const GLOBAL struct sap_gpu_counters *counters, const int entry_room, const struct sap_gpu_force f)
{
    const int n = min(counters->noted, f.hit_room);
    for (int k = global_id(); k < n; k += global_size()) {
        const struct sap_gpu_hit h = hit[k];
        const struct sap_gpu_i i = i_all[(f.first_i + h.row) * f.units];
        const int sp = h.packet / SAP_GPU_PACKETS, packet = h.packet % SAP_GPU_PACKETS;
        if (offset[h.row + 1] > entry_room) continue;
        GLOBAL int *to = entry + (size_t)offset[h.row] * SAP_GPU_LIST_UNIT;
        for (unsigned bits = h.mask, element; bits; bits &= ~(0x80000000U >> element)) {
            element = (unsigned)leading_zeros(bits);
            const int a = (int)element * SAP_GPU_PACKETS + packet;
            if (!eligible(store, &f, sp, a, i.index) || !d_gt(i.h2, canonical_r2(store, &f, sp, a, i.x))) continue;
            to[atomic_add(&cursor[h.row * SAP_GPU_CURSOR], 1)] = tag_at(store, f.columns, sp, 0, a);
        }
    }
}

/*
 * list_fill of a regular force.  Candidates that are no members belong to the sums: their local addresses are stored at
 * the end of the row's buffer, from its last entry downwards.  The buffer has space for every candidate.
 */
KERNEL(FILL_ITEMS)
list_fill_outside(const GLOBAL D *store, const GLOBAL struct sap_gpu_i *i_all, const GLOBAL struct sap_gpu_hit *hit,
                  const GLOBAL int *offset, GLOBAL int *cursor, GLOBAL int *entry,
                  const GLOBAL struct sap_gpu_counters *counters, const int entry_room, const struct sap_gpu_force f,
                  const struct sap_gpu_outside outside)
{
    const int n = min(counters->noted, f.hit_room);
    for (int k = global_id(); k < n; k += global_size()) {
        const struct sap_gpu_hit h = hit[k];
        const struct sap_gpu_i i = i_all[(f.first_i + h.row) * f.units],
                               more = i_all[(f.first_i + h.row) * f.units + 1];
        const int sp = h.packet / SAP_GPU_PACKETS, packet = h.packet % SAP_GPU_PACKETS;
        if (offset[h.row + 1] > entry_room) continue;
        GLOBAL int *to = entry + (size_t)offset[h.row] * SAP_GPU_LIST_UNIT,
                   *end = entry + (size_t)offset[h.row + 1] * SAP_GPU_LIST_UNIT;
        for (unsigned bits = h.mask, element; bits; bits &= ~(0x80000000U >> element)) {
            element = (unsigned)leading_zeros(bits);
            const int a = (int)element * SAP_GPU_PACKETS + packet;
            if (!takes_part(store, &f, sp, a)) continue;
            const D mass = store_at(store, f.columns, sp, a)[SAP_GPU_MASS * SAP_GPU_SUPERPACKET];
            const D h2 = outside.by_mass ? d_mul(mass, i.h2) : i.h2;
            if (d_gt(h2, canonical_r2_ahead(store, &f, sp, a, i.x, more.x, more.h2)))
                to[atomic_add(&cursor[h.row * SAP_GPU_CURSOR], 1)] = tag_at(store, f.columns, sp, 0, a);
            else
                end[-1 - atomic_add(&cursor[(f.ni + h.row) * SAP_GPU_CURSOR], 1)] = sp * SAP_GPU_SUPERPACKET + a;
        }
    }
}

KERNEL(SORT_ITEMS)
list_sort(const GLOBAL int *offset, const GLOBAL int *cursor, GLOBAL int *entry,
          const GLOBAL struct sap_gpu_counters *counters, GLOBAL struct sap_gpu_list_row *list, GLOBAL int *out,
          const int first_row, const int entry_room, const int out_room, const int rows)
{
    SORT_MEMORY
    const struct list_memory m = {offset, cursor, entry, counters, list, out, rows, first_row, entry_room, out_room};
    sort_lists(&m, group_id(0) * SORT_TEAMS, sort_near, sort_rest, sort_scan);
}
