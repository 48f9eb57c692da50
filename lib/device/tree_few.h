/*
 * tree_few.h - forces on few walkers: a bunch of up to 32 that follow each other on the curve shares a walk, and the
 * threads of a group share the walkers (Miki & Umemura 2017, New Astronomy 52, 65, section 2.5).
 *
 * The walk is that of tree_walk.h, by more threads; the ball is that of the bunch.  Thread k has walker k % width and
 * adds each (threads / width)-th of a list to it; the sums of its threads are joined at the end.  A bunch whose ball
 * holds far more than the bunch, or is so wide that float would blur who is near, goes on one by one: about a walker
 * itself differences of coordinates lose nothing.  Who is in a bunch depends on who is active, and on nothing else.
 */
#include "device/tree_terms.h"

#if defined(SAP_KERNEL_DP)
#define FEW_NAME tree_few_dp
#else
#define FEW_NAME tree_few_sp
#endif

#ifndef FEW_GROUPS
#define FEW_GROUPS 0
#endif

enum {
    FEW_THREADS = SAP_FEW_THREADS,
    FEW_STACK = FEW_THREADS * SAP_LINK_LEVELS,
    FEW_CELLS = 2 * FEW_THREADS,
    FEW_NEARS = 4 * FEW_THREADS
};

/* Walkers of a bunch, in memory of the group. */
struct few_who {
    D x[SAP_FEW_MOST][3];
    int number[SAP_FEW_MOST];
    int taken, cells, bad; /* by a round: runs, cells; sums that are not finite */
};

/* The walker of a thread. */
struct few_walker {
    V x[3];
    int number; /* place among the tree's particles, -1: none */
    D sum[SAP_SUMS2];
};

/* Enclosing ball of rows walkers about the middle of their box. */
SAP_INLINE D few_ball(const LOCAL struct few_who *who, int first, int rows, D *centre)
{
    D r2 = d_set1(SAP_ZERO);
    for (int c = 0; c < 3; c++) {
        D low = who->x[first][c], high = low;
        for (int k = first + 1; k < first + rows; k++) low = d_min(low, who->x[k][c]), high = d_max(high, who->x[k][c]);
        centre[c] = rows > 1 ? d_add(low, d_mul(d_set1(SAP_HALF), d_sub(high, low))) : low;
    }
    for (int k = first; k < first + rows; k++) {
        D x[3];
        for (int c = 0; c < 3; c++) x[c] = who->x[k][c];
        r2 = d_max(r2, sap_ball_far(centre, x));
    }
    return d_sqrt(r2);
}

/* The particles of a list, by the sharer-th of `share` threads of a walker. */
SAP_INLINE void few_particles(const struct walk_frame *f, const LOCAL int *near, const LOCAL part *words,
                              struct few_walker *i, int sharer, int share, int n)
{
    V sum[SAP_SUMS2];
    W w[NEAR_WORDS];
    for (int q = 0; q < SAP_SUMS2; q++) sum[q] = v_set1(0.0);
    for (int e = sharer; e < n; e += share) {
        take_words(words + e * NEAR_PARTS, NEAR_PARTS, w);
        add_particle(f, i->x, w, 1, near[e] != i->number, sum);
    }
    for (int q = 0; q < SAP_SUMS2; q++) i->sum[q] = d_add(i->sum[q], d_of_w(sum[q]));
}

SAP_INLINE void few_cells(const struct walk_frame *f, const LOCAL part *words, struct few_walker *i, int sharer,
                          int share, int n)
{
    V sum[SAP_SUMS2];
    W w[CELL_WORDS];
    for (int q = 0; q < SAP_SUMS2; q++) sum[q] = v_set1(0.0);
    for (int e = sharer; e < n; e += share) {
        take_words(words + e * CELL_PARTS, f->order > 1 ? (int)CELL_PARTS : (int)NEAR_PARTS, w);
        if (f->order > 1)
            add_cell(f, i->x, w, sum);
        else
            add_particle(f, i->x, w, 0, 1, sum);
    }
    for (int q = 0; q < SAP_SUMS2; q++) i->sum[q] = d_add(i->sum[q], d_of_w(sum[q]));
}

/* Sums of the threads of each walker, joined by halves; thread k < width has those of walker k. */
SAP_INLINE void few_join(struct few_walker *i, LOCAL D *room, int width)
{
    const int me = (int)local_id();
    group_barrier();
    for (int q = 0; q < SAP_SUMS2; q++) room[me * SAP_SUMS2 + q] = i->sum[q];
    for (int step = FEW_THREADS / 2; step >= width; step /= 2) {
        group_barrier();
        for (int q = 0; q < SAP_SUMS2 && me < step; q++)
            room[me * SAP_SUMS2 + q] = d_add(room[me * SAP_SUMS2 + q], room[(me + step) * SAP_SUMS2 + q]);
    }
    for (int q = 0; q < SAP_SUMS2; q++) i->sum[q] = room[me * SAP_SUMS2 + q];
    group_barrier();
}

/* As tree_walk.h's; slot: walkers of slots, where not all walk; strict: then of slots. */
KERNEL_DENSE(FEW_THREADS, FEW_GROUPS)
FEW_NAME(const GLOBAL wide *particle, const GLOBAL wide *walker, const GLOBAL struct sap_tree_link *node,
         const GLOBAL float4 *word, const GLOBAL float *turn, const GLOBAL wide *centre, const GLOBAL float4 *moments,
         const GLOBAL struct sap_cell *cell, const GLOBAL D *ball, const GLOBAL int *heavy, const GLOBAL float *strict,
         const GLOBAL int *slot, const GLOBAL int *row, GLOBAL D *acc, GLOBAL D *pot, GLOBAL int *left,
         const struct sap_gpu_walk w, const struct sap_gpu_tree t)
{
    SCAN_ROOM(scan, FEW_THREADS);
    SHARED struct few_who who;
    SHARED unsigned stack[FEW_STACK];
    SHARED int next_ones[FEW_THREADS], cell_list[FEW_CELLS], near_list[FEW_NEARS];
    SHARED part words[FEW_CELLS * CELL_PARTS];
    const struct walk_sources s = {particle, centre, moments, cell};
    const int me = (int)local_id();
    const int all = items_of(left, &w, (w.slots + w.width - 1) / w.width);
    for (int item = (int)group_id(0); item < all; item += (int)num_groups()) {
        const int given = item_of(left, &w, item), begin = w.from < 0 ? given * w.width : given;
        const int group_end = w.all_slots ? (begin / t.group_size + 1) * t.group_size : w.slots;
        const int rows = min(min(begin + w.width, group_end), w.slots) - begin;
        if (me == 0) who.bad = 0;
        if (me < rows) {
            const int number = w.all_slots ? begin + me : slot[begin + me];
            D x[3], mass;
            load_particle(walker, number, x, &mass);
            who.number[me] = number;
            for (int c = 0; c < 3; c++) who.x[me][c] = x[c];
        }
        group_barrier();

        struct walk_frame f;
        struct walk_ball b;
        D at[3], radius = few_ball(&who, 0, rows, at);
        int together = rows, end = rows; /* walkers at a time; how many there are to do */
        V strictness = v_set1(0.0);
        for (int k = 0; k < rows; k++) {
            const int g = who.number[k] / t.group_size;
            if (w.strict) strictness = v_max(strictness, (V)strict[w.all_slots ? g : begin + k]);
#if !defined(SAP_KERNEL_DP)
            if (heavy[g]) end = 0;
            if (sap_group_wide(radius, ball[SAP_GROUP_WORDS * (size_t)g + 4])) together = 1;
#endif
        }
        for (int first = 0; first < end;) {
            const int many = min(together, end - first), width = together > 1 ? w.width : 1;
            const int mine = first + min(me % width, many - 1), sharer = me / width, share = FEW_THREADS / width;
            struct few_walker i;
            radius = few_ball(&who, first, many, at);
            start_frame(&t, at, radius, &f, &b);
            b.strictness = strictness;
            for (int c = 0; c < 3; c++) i.x[c] = w_of_d(d_mul(d_sub(who.x[mine][c], f.centre[c]), f.unit));
            i.number = w.own ? who.number[mine] : -1;
            for (int q = 0; q < SAP_SUMS2; q++) i.sum[q] = d_set1(SAP_ZERO);

            int top = 1, cells = 0, nears = 0, all_cells = 0, all_nears = 0, within = 0;
            group_barrier();
            if (me == 0) stack[0] = 0; /* the root alone */
            group_barrier();
            while (top > 0) {
                const unsigned run = me < top ? stack[top - 1 - me] : 0;
                const int length = me < top ? (int)(run & 7U) + 1 : 0;
                const int more = me + 1 < top ? (int)(stack[top - 2 - me] & 7U) + 1 : (int)FEW_THREADS + 1;
                int sum, before, near_at, near_sum, place, made;
                group_scan(scan, FEW_THREADS, length, before, sum);
                const int taken = me < top && before + length <= FEW_THREADS;
                for (int c = 0; c < length && taken; c++) next_ones[before + c] = (int)(run >> 3) + c;
                if (taken && (me == FEW_THREADS - 1 || before + length + more > FEW_THREADS)) {
                    who.taken = me + 1; /* the last that is taken */
                    who.cells = before + length;
                }
                group_barrier();
                top -= who.taken;

                const int here = me < who.cells, k = here ? next_ones[me] : 0;
                const struct sap_tree_link link = node[k];
                const int acts = here && accepted(word, turn, k, &b), leaf = link.children == 0;
                const int as_cell = acts && !(leaf && link.count <= t.order), opens = here && !acts && !leaf;
                const int crowds = here && leaf && inside(word, k, &b);
                group_scan(scan, FEW_THREADS, crowds * 65536 + opens * 256 + as_cell, place, made);
                const int near = here && leaf && !as_cell ? link.count : 0;
                group_scan(scan, FEW_THREADS, near, near_at, near_sum);
                const int opened = made / 256 % 256;
                if (opens)
                    stack[top + opened - 1 - place / 256 % 256] =
                        (unsigned)link.child << 3 | (unsigned)(link.children - 1);
                if (as_cell) cell_list[cells + place % 256] = k;
                within += made / 65536;
                top += opened;
                cells += made % 256;
                all_cells += made % 256;
                all_nears += near_sum;
                if (within > SAP_FEW_CROWD * width && many > 1) top = cells = nears = near_sum = 0; /* not together */
                group_barrier();

                const int last = top == 0; /* what is listed must be added now */
                const int adds_cells = cells > FEW_CELLS - FEW_THREADS || (last && cells > 0);
                for (int e = me; e < cells && adds_cells; e += FEW_THREADS)
                    bring_cell(&f, &s, cell_list[e], words + e * CELL_PARTS);
                group_barrier();
                if (adds_cells) {
                    few_cells(&f, words, &i, sharer, share, cells);
                    cells = 0;
                }
                group_barrier();
                for (int done = 0; done < near_sum || (last && nears > 0);) {
                    const int take = min(near_sum - done, FEW_NEARS - nears);
                    for (int e = max(near_at, done); e < min(near_at + near, done + take); e++)
                        near_list[nears + e - done] = link.first + e - near_at;
                    nears += take;
                    done += take;
                    group_barrier();
                    const int adds = nears == FEW_NEARS || last;
                    for (int e = me; e < nears && adds; e += FEW_THREADS)
                        bring_particle(&f, &s, near_list[e], words + e * NEAR_PARTS);
                    group_barrier();
                    if (adds) {
                        few_particles(&f, near_list, words, &i, sharer, share, nears);
                        nears = 0;
                    }
                    group_barrier();
                }
            }

            const int apart = many > 1 && within > SAP_FEW_CROWD * width;
            few_join(&i, (LOCAL D *)words, width);
            if (!apart && me < many && !deliver_row(i.sum, &t, (size_t)row[begin + first + me], acc, pot)) who.bad = 1;
            if (!apart && me == 0) tell(left, many, all_nears - (w.own ? 1 : 0), all_cells);
            if (apart)
                together = 1;
            else
                first += many;
        }
        group_barrier();
#if !defined(SAP_KERNEL_DP)
        if (me == 0 && (end == 0 || who.bad)) leave_it(left, &w, SAP_LEFT_WIDE, begin);
#endif
        group_barrier();
    }
}
