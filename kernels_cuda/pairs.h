/* pairs.h - one pair, one packet, and what is noted of neighbours.  Included by force.h. */
#ifndef SAP_PAIRS_H
#define SAP_PAIRS_H

/* Sums of one i-particle over one packet, and who came near. */
struct packet_state {
    V sum[SAP_SUMS4];
    V low;         /* smallest softened squared distance */
    unsigned mask; /* elements within reach */
};

/* NEAR: 1 nearest neighbour, 2 list candidates, 3 both, 0 neither.  ZERO: pairs at zero distance are skipped. */
template <int NEAR, int ZERO>
SAP_INLINE void add_pair(packet_state *s, const i_words *i, const j_words *j, V eps2, bool skip_own, int element,
                         bool *coincident)
{
    V d[3], dv[3];
#pragma unroll
    for (int k = 0; k < 3; k++) {
        d[k] = v_sub(j->x[k], i->x[k]);
        if (LOW) d[k] = v_add(d[k], v_sub(j->low[k], i->low[k]));
        dv[k] = v_sub(j->v[k], i->v[k]);
    }
    const V r2 = v_fma(d[0], d[0], v_fma(d[1], d[1], v_fma(d[2], d[2], eps2)));
    bool keep = j->index != i->index || !skip_own;
    const V near2 = keep ? r2 : V_INFINITY;
    if (NEAR & 1) s->low = v_min(s->low, near2);
    if ((NEAR & 2) && near2 < i->reach) s->mask |= 1U << element;
    if (ZERO) {
        const bool zero = r2 < SAP_COINCIDENT;
        *coincident |= zero && keep;
        keep = keep && !zero;
    }
    /* the root of infinity is +0: the pair adds nothing */
    const V u = ROOT_OF_INFINITY ? v_root(ZERO ? (keep ? r2 : V_INFINITY) : near2) : keep ? v_root(r2) : v_set1(0.0);
    sap_pair4(s->sum, d[0], d[1], d[2], dv[0], dv[1], dv[2], j->mass, u);
}

SAP_INLINE void start_packet(packet_state *s)
{
#pragma unroll
    for (int q = 0; q < SAP_SUMS4; q++) s->sum[q] = v_set1(0.0);
    s->low = V_HUGE;
    s->mask = 0;
}

/* The smallest distance of all packets so far, the smallest in the other packets, and its packet. */
struct near_state {
    V best, second;
    int packet;
};

SAP_INLINE void start_near(near_state *n)
{
    n->best = n->second = V_HUGE;
    n->packet = -1;
}

SAP_INLINE void note_near(near_state *n, V best, V second, int packet)
{
    const bool closer = best < n->best;
    n->second = closer ? v_min(second, n->best) : v_min(n->second, best);
    n->packet = closer ? packet : n->packet;
    n->best = closer ? best : n->best;
}

/* Where candidates for lists go. */
struct hit_room {
    sap_gpu_hit *hit;
    int *count; /* by row: candidates */
    sap_gpu_counters *counters;
    int room;
};

SAP_INLINE void note_hits(const hit_room *h, int row, int packet, unsigned mask)
{
    const int at = atomicAdd(&h->counters->hits, 1);
    if (at < h->room) {
        h->hit[at].row = row;
        h->hit[at].packet = packet;
        h->hit[at].mask = mask;
    }
    atomicAdd(&h->count[row], __popc(mask));
}

/* Record of superpacket sp and row: column c of `columns`. */
SAP_INLINE size_t record_at(int sp, int columns, int c, int room, int row)
{
    return ((size_t)sp * columns + c) * room + row;
}

SAP_INLINE void store_near(double *near, int sp, int room, int row, const near_state *n)
{
    near[record_at(sp, 3, 0, room, row)] = (double)n->best;
    near[record_at(sp, 3, 1, room, row)] = (double)n->second;
    near[record_at(sp, 3, 2, room, row)] = (double)n->packet;
}

#endif
