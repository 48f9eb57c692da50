/*
 * lists.h - neighbour lists out of candidates: decided exactly, sorted by index, each index once.
 *
 * Candidates come in any order and leave in a fixed one, so nothing depends on
 * the order in which atomic counters were raised.
 */
#include "device/store.h"
#include "scan.h"

enum { FILL_ITEMS = 128, SORT_ITEMS = 128, SORT_ROOM = 2048 };

/*
 * One group, after the force of a slab: row's list begins at unit offset[row] of the slab's, offset[n] is their end.
 * Clears what the next slab counts in, and keeps in *counters what the host needs to know of all slabs.  cursor: of
 * members by row, then of candidates that are none (list_fill_outside).
 */
KERNEL(SCAN_ITEMS)
list_offsets(GLOBAL int *count, GLOBAL int *offset, GLOBAL int *cursor, GLOBAL struct sap_gpu_counters *counters,
             const int n)
{
    SCAN_ROOM(room, SCAN_ITEMS);
    int before = 0;
    for (int first = 0; first < n; first += SCAN_ITEMS) {
        const int row = first + local_id();
        const int units = row < n ? (count[row] + SAP_GPU_LIST_UNIT - 1) / SAP_GPU_LIST_UNIT : 0;
        int at, total;
        group_scan(room, SCAN_ITEMS, units, at, total);
        if (row < n) offset[row] = before + at, cursor[row] = 0, cursor[n + row] = 0, count[row] = 0;
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
    }
}

/* A thread takes a candidate's mask; lists for which there is no room are left out. */
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
            to[atomic_add(&cursor[h.row], 1)] = tag_at(store, f.columns, sp, 0, a);
        }
    }
}

/*
 * The same of a force without the members of lists.  Candidates that are no members are noted for its sums: their local
 * addresses come last in the room of a row, from its end on; there is room for every candidate.
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
                to[atomic_add(&cursor[h.row], 1)] = tag_at(store, f.columns, sp, 0, a);
            else
                end[-1 - atomic_add(&cursor[f.ni + h.row], 1)] = sp * SAP_GPU_SUPERPACKET + a;
        }
    }
}

/*
 * One step of a sorting network, of n integers that all threads of a group see; missing partners are infinite.  The
 * choice of memory stands within: PoCL's compiler ends the process over two loops in branches before a barrier.
 */
SAP_INLINE void sort_step(LOCAL int *near, GLOBAL int *out, int fits, int n, int k, int span, int size)
{
    for (int t = local_id(); t < size / 2; t += local_size()) {
        const int low = t / span * 2 * span + t % span;
        /* the first step of a merge compares mirrored places, so that all comparisons point the same way */
        const int high = span == k / 2 ? (low / k) * k + k - 1 - low % k : low + span;
        if (high >= n) continue;
        const int a = fits ? near[low] : out[low], b = fits ? near[high] : out[high];
        if (a <= b) continue;
        if (fits)
            near[low] = b, near[high] = a;
        else
            out[low] = b, out[high] = a;
    }
}

/*
 * Lists of no more entries than threads: an entry goes where the number of smaller ones says.  0 if some are equal:
 * then nothing is written.
 */
SAP_INLINE int sort_short(LOCAL int *near, int n, GLOBAL int *to, LOCAL int *equal)
{
    const int me = local_id(), mine = near[max(min(me, n - 1), 0)];
    int place = 0, same = 0;
    if (me == 0) *equal = 0;
    for (int k = 0; k < n; k++) {
        place += near[k] < mine;
        same += near[k] == mine;
    }
    group_barrier();
    if (me < n && same > 1) (void)atomic_or(equal, 1);
    group_barrier();
    const int ready = *equal == 0;
    if (me < n && ready) near[place] = mine;
    group_barrier();
    if (me < n && ready) to[me] = near[me]; /* neighbours side by side, since `to` may lie beyond a bus */
    return ready;
}

/*
 * A group a row: sorts its entries, and writes each once into `out`, all lists of the force in units; list[row] says
 * where.  A list for which there is no room, here or there, is left out.
 */
KERNEL(SORT_ITEMS)
list_sort(const GLOBAL int *offset, const GLOBAL int *cursor, GLOBAL int *entry,
          const GLOBAL struct sap_gpu_counters *counters, GLOBAL struct sap_gpu_list_row *list, GLOBAL int *out,
          const int first_row, const int entry_room, const int out_room)
{
    SCAN_ROOM(room, SORT_ITEMS);
    SHARED int near[SORT_ROOM];
    SHARED int equal;
    const int row = group_id(0), unit = counters->first + offset[row];
    const int there = offset[row + 1] <= entry_room && counters->first + offset[row + 1] <= out_room;
    const int found = cursor[row], n = there ? found : 0, fits = n <= SORT_ROOM;
    GLOBAL int *from = entry + (size_t)offset[row] * SAP_GPU_LIST_UNIT;
    GLOBAL int *to = out + (size_t)unit * SAP_GPU_LIST_UNIT;
    int size = 2, kept = 0;
    while (size < n) size *= 2;
    if (fits)
        for (int k = local_id(); k < n; k += local_size()) near[k] = from[k];
    group_barrier_all();
    const int ready = sort_short(near, n <= SORT_ITEMS ? n : 0, to, &equal) && n <= SORT_ITEMS;
    size = ready ? 1 : size; /* the rest has no rounds */
    for (int k = 2; k <= size; k *= 2)
        for (int span = k / 2; span > 0; span /= 2) {
            sort_step(near, from, fits, n, k, span, size);
            group_barrier_all();
        }
    for (int first = ready ? n : 0; first < n; first += SORT_ITEMS) {
        const int k = first + local_id(), here = min(k, n - 1), last = max(here - 1, 0);
        /* loaded without branches: LLVM's checks of itself end the process of PoCL 6 over them */
        const int mine = fits ? near[here] : from[here], before = fits ? near[last] : from[last];
        const int is_new = k < n && (k == 0 || before != mine);
        int at, total;
        group_scan(room, SORT_ITEMS, is_new, at, total);
        if (is_new) to[kept + at] = mine;
        kept += total;
    }
    if (local_id() == 0) list[first_row + row].first = unit, list[first_row + row].count = ready ? n : kept;
}
