/* pairs.h - one pair, one packet, and what is noted of neighbours.  Included by force.h. */
#ifndef SAP_PAIRS_H
#define SAP_PAIRS_H

/* Sums of LANES i-particles (or packets) over one packet, and who came near. */
struct packet_state {
    V sum[SAP_SUMS4];
    V low;   /* smallest softened squared distance */
    VI mask; /* elements within reach */
};

/*
 * near: 1 nearest neighbour, 2 list candidates, 3 both, 0 neither.  zero: pairs at zero distance are skipped.
 * Both are constants where it is inlined.  any: -1 if pairs of the same index count too, else 0.
 */
SAP_INLINE void add_pair(int near, int zero, struct packet_state *s, const struct i_words *i, const struct j_words *j,
                         V eps2, VI any, int element, VI *coincident)
{
    V d[3], dv[3];
#pragma unroll
    for (int k = 0; k < 3; k++) {
        d[k] = v_sub(j->x[k], i->x[k]);
        if (LOW) d[k] = v_add(d[k], v_sub(j->low[k], i->low[k]));
        dv[k] = v_sub(j->v[k], i->v[k]);
    }
    const V r2 = v_fma(d[0], d[0], v_fma(d[1], d[1], v_fma(d[2], d[2], eps2)));
    VI keep = (j->index != i->index) | any;
    if (near & 1) s->low = v_select(keep, v_min(s->low, r2), s->low);
    if (near & 2) s->mask |= (keep & (r2 < i->reach)) ? (VI)(int)(1U << element) : (VI)0;
    if (zero) {
        const VI met = r2 < v_set1(SAP_COINCIDENT);
        *coincident |= (met & keep) ? (VI)-1 : (VI)0;
        keep = met ? (VI)0 : keep;
    }
    sap_pair4(s->sum, d[0], d[1], d[2], dv[0], dv[1], dv[2], j->mass, v_select(keep, v_root(r2), v_set1(0.0)));
}

SAP_INLINE void start_packet(struct packet_state *s)
{
#pragma unroll
    for (int q = 0; q < SAP_SUMS4; q++) s->sum[q] = v_set1(0.0);
    s->low = v_set1(W_HUGE);
    s->mask = (VI)0;
}

/* The smallest distance of all packets so far, the smallest in the other packets, and its packet. */
struct near_state {
    V best, second;
    VI packet;
};

SAP_INLINE void start_near(struct near_state *n)
{
    n->best = n->second = v_set1(W_HUGE);
    n->packet = (VI)-1;
}

SAP_INLINE void note_near(struct near_state *n, V low, int packet)
{
    const VI closer = low < n->best;
    n->second = v_select(closer, n->best, v_min(n->second, low));
    n->packet = closer ? (VI)packet : n->packet;
    n->best = v_select(closer, low, n->best);
}

/* Where the force kernels read and write. */
struct force_memory {
    const __global double *store;
    const __global part *predicted; /* [superpacket][part][1024] */
    const __global struct sap_gpu_i *i;
    __global double *record; /* [superpacket][7][room] */
    __global double *near;   /* [superpacket][3][room] */
    __global struct sap_gpu_hit *hit;
    __global int *hit_count; /* by row */
    __global struct sap_gpu_counters *counters;
};

SAP_INLINE void note_hits(const struct force_memory *m, const struct sap_gpu_force *f, int row, int packet,
                          unsigned mask)
{
    const int at = atomic_add(&m->counters->hits, 1);
    if (at < f->hit_room) {
        m->hit[at].row = row;
        m->hit[at].packet = packet;
        m->hit[at].mask = mask;
    }
    (void)atomic_add(&m->hit_count[row], (int)popcount(mask));
}

/* Record of superpacket sp and row: column c of `columns`. */
SAP_INLINE size_t record_at(int sp, int columns, int c, int room, int row)
{
    return ((size_t)sp * columns + c) * room + row;
}

SAP_INLINE void store_near(const struct force_memory *m, const struct sap_gpu_force *f, int sp, int row, double best,
                           double second, int packet)
{
    m->near[record_at(sp, 3, 0, f->room_i, row)] = best;
    m->near[record_at(sp, 3, 1, f->room_i, row)] = second;
    m->near[record_at(sp, 3, 2, f->room_i, row)] = (double)packet;
}

#endif
