/*
 * blocks.h - several block steps of a Hermite scheme by one kernel, of at most a superpacket of particles.
 *
 * The groups of threads of the kernel run at the same time and wait for each other.  Slots are dealt out to them in
 * runs of 8.  In a step each group predicts its sources; when all are there, it sums the forces on those of its
 * particles that are active, and corrects them; when all groups have done so, it moves them.  All this is done by the
 * functions of the kernels that make one step (hermite_rows.h, few.h), so results have the same bits.
 */
#define FEW_ALONE 1
#include "device/few.h"
#include "device/hermite_rows.h"

enum {
    GIVEN = SAP_KERNEL_ORDER / 2,
    WORDS_KEPT = 3 * SAP_HERMITE_KEPT_OF(SAP_KERNEL_ORDER),
    RUN = 8,                    /* slots: a line of memory, in parts of j-particles */
    IS_ALONE = !SAP_FEW_STAGED, /* there is one group, else SAP_BLOCKS_GROUPS */
    ROOM = SAP_GPU_SUPERPACKET / (IS_ALONE ? 1 : SAP_BLOCKS_GROUPS) /* particles of a group */
};

/*
 * Active particles of a group by row: as targets, the sums of their forces by column, and what they are after the step:
 * in memory of the group, which a group that is alone may not have.
 */
#if SAP_FEW_STAGED
#define OWN LOCAL
#define OWN_ROWS                                                                                                       \
    SHARED struct sap_gpu_i target[ROOM * UNITS];                                                                      \
    SHARED D sum[ROOM * SUMS], after[ROOM * WORDS_KEPT];
#else
#define OWN GLOBAL
#define OWN_ROWS                                                                                                       \
    GLOBAL struct sap_gpu_i *const target = own_target;                                                                \
    GLOBAL D *const sum = own_sum, *const after = own_after;
#endif

/* By address: x to pot and level; by slot: store and predicted; by row: target, sum and after. */
struct blocks_memory {
    GLOBAL D *x, *v, *a, *higher, *pot;
    GLOBAL int *level;
    const GLOBAL int *address;
    GLOBAL D *store;
    GLOBAL part *predicted;
    OWN struct sap_gpu_i *target;
    OWN D *sum, *after;
    GLOBAL int *told;
};

/* What the threads of a group share. */
struct blocks_group {
    int level[ROOM];   /* of the group's particles */
    int slot[ROOM];    /* of those that are active, by row */
    int next[ROOM];    /* their next levels */
    int rows, massive; /* their number, and of those with mass */
    int finest, bad;   /* after the step: its finest level, and the first particle that is wrong */
    int finest_of[SAP_BLOCKS_GROUPS], bad_of[SAP_BLOCKS_GROUPS]; /* the same of all groups */
};

/* The constants of a run: arguments of the kernel. */
struct blocks_rules {
    const struct sap_hermite_force *f;
    const struct sap_stepper_order *order;
    const struct sap_hermite_rule *rule;
    const struct sap_hermite_units *u;
    const struct sap_field_list *fields;
};

/* Slot k of this group, of which own_slots() may be below n; and k of a slot. */
SAP_INLINE int own_slots(int n) { return (n + RUN * (int)num_groups() - 1) / (RUN * (int)num_groups()) * RUN; }
SAP_INLINE int own_slot(int k) { return (k / RUN * (int)num_groups() + (int)group_id(0)) * RUN + k % RUN; }
SAP_INLINE int place_of_slot(int slot) { return slot / (RUN * (int)num_groups()) * RUN + slot % RUN; }

/* Tells all groups the finest level of this one, and what is wrong.  They read it after together_barrier. */
SAP_INLINE void tell_all(LOCAL struct blocks_group *g)
{
    group_barrier_all();
    for (int k = local_id(); k < (int)num_groups(); k += local_size()) {
        of_group(g, k)->finest_of[group_id(0)] = g->finest;
        of_group(g, k)->bad_of[group_id(0)] = g->bad;
    }
}

SAP_INLINE int finest_of_all(const LOCAL struct blocks_group *g)
{
    int finest = 0;
    for (int k = 0; k < (int)num_groups(); k++) finest = max(finest, g->finest_of[k]);
    return finest;
}

SAP_INLINE int bad_of_all(const LOCAL struct blocks_group *g)
{
    int bad = SAP_HERMITE_NOBODY;
    for (int k = 0; k < (int)num_groups(); k++) bad = min(bad, g->bad_of[k]);
    return bad;
}

/* Group 0 clears what is told, and makes the slots without a source; each group reads the levels of its particles. */
SAP_INLINE void begin_blocks(const struct blocks_memory *m, const struct blocks_rules *r, int n,
                             LOCAL struct blocks_group *g)
{
    D x[3], v[DERIVED], mass;
    part p[PARTS];
    empty_slot(x, v, &mass);
    pack(x, v, mass, 0, d_set1(SAP_ZERO), p);
    for (int a = r->order->massive + local_id(); a < SAP_GPU_SUPERPACKET && group_id(0) == 0; a += local_size())
        for (int w = 0; w < PARTS; w++) m->predicted[w * SAP_GPU_SUPERPACKET + a] = p[w];
    for (int k = local_id(); k < SAP_BLOCKS_TOLD && group_id(0) == 0; k += local_size()) m->told[k] = 0;
    if (local_id() == 0) g->finest = 0, g->bad = SAP_HERMITE_NOBODY;
    group_barrier_all();
    for (int k = local_id(); k < own_slots(n); k += local_size()) {
        if (own_slot(k) >= n) continue;
        g->level[k] = m->level[address_of(r->order, m->address, own_slot(k))];
        (void)atomic_max(&g->finest, g->level[k]);
    }
    together_barrier();
    tell_all(g);
}

/* Lists the active particles of this group, and writes them as targets.  A barrier follows. */
SAP_INLINE void list_targets(const struct blocks_memory *m, const struct blocks_rules *r, int n,
                             const struct sap_step *s, LOCAL struct blocks_group *g)
{
    if (local_id() == 0) g->rows = g->massive = g->finest = 0;
    group_barrier_all();
    for (int k = local_id(); k < own_slots(n); k += local_size()) {
        const int slot = own_slot(k), massive = slot < r->order->massive;
        if (slot >= n) continue;
        if (g->level[k] < s->coarsest) {
            (void)atomic_max(&g->finest, g->level[k]);
            continue;
        }
        const size_t i = (size_t)address_of(r->order, m->address, slot);
        const int row = atomic_add(&g->rows, 1);
        D d[3][MOST];
        g->slot[row] = slot;
        if (massive) (void)atomic_add(&g->massive, 1);
        predict_particle(GIVEN, m->x, m->v, m->a, m->higher, m->level, i, s, 0, d);
        write_target(GIVEN, d, slot + (massive ? r->f->before : r->f->beyond), r->f->eps2, r->u,
                     m->target + row * UNITS);
    }
}

/* Predicts the sources of this group, of the first nj slots. */
SAP_INLINE void predict_own(const struct blocks_memory *m, const struct sap_gpu_force *f)
{
    for (int k = local_id(); k < own_slots(f->nj); k += local_size()) {
        const int slot = own_slot(k);
        D x[3], v[DERIVED], mass, eps2 = d_set1(SAP_ZERO);
        part p[PARTS];
        int index;
        if (slot >= f->nj) continue;
        predict_there(m->store, f, 0, slot, x, v, &mass, &eps2, &index);
        pack(x, v, mass, index, eps2, p);
#pragma unroll
        for (int w = 0; w < PARTS; w++) m->predicted[w * SAP_GPU_SUPERPACKET + slot] = p[w];
    }
}

/* Copies the sources of all groups into memory of this one, if it has it. */
SAP_INLINE void stage_all(const struct blocks_memory *m, few_pointer tile)
{
#if SAP_FEW_STAGED
    LOCAL part *const to = (LOCAL part *)tile;
#pragma unroll 8
    for (int k = local_id(); k < PARTS * SAP_GPU_SUPERPACKET; k += SAP_BLOCKS_THREADS) to[k] = m->predicted[k];
    group_barrier();
#endif
}

/* Sums the forces on the targets of this group.  Without shuffles all threads take the same number of turns. */
SAP_INLINE void sum_targets(struct pair_mode mode, const struct force_memory *m, const struct sap_gpu_force *f,
                            few_pointer tile, sums_pointer room, const LOCAL struct blocks_group *g)
{
    const int first = local_id() / FEW_LANES, turn = local_size() / FEW_LANES;
    for (int k = first; k - (SAP_SHUFFLE ? 0 : first) < g->rows; k += turn) {
        const int row = min(k, g->rows - 1);
        struct i_words i[1];
        load_rows(mode.near, 1, m, f, row, i);
        few_rows(mode, 1, m, f, 0, tile, room, row, i);
    }
}

/* Makes the active particles of this group after the step. */
SAP_INLINE void judge_targets(const struct blocks_memory *m, const struct blocks_rules *r, const struct sap_step *s,
                              LOCAL struct blocks_group *g)
{
    for (int thread = local_id(); first_of_judge(thread) < g->rows; thread += local_size()) {
        const int k = min(row_of_judge(thread), g->rows - 1);
        const size_t i = (size_t)address_of(r->order, m->address, g->slot[k]);
        const D pot = m->sum[k] * r->u->pot;
        OWN D *const row = m->after + k * WORDS_KEPT;
        D wrong, now[3][MOST];
        force_of(GIVEN, m->x, m->v, m->a, m->higher, m->level, i, m->sum, r->f, r->u, s, r->fields, k, row, now);
        const int next = judge_row(GIVEN, m->x, m->v, m->a, m->higher, m->level[i], i, axis_of_judge(thread), now, s,
                                   r->rule, pot, row, &wrong);
        if (next < 0 || row_of_judge(thread) >= g->rows) continue;
        g->next[k] = next;
        (void)atomic_max(&g->finest, next);
        if (!(wrong + not_finite(pot) == 0.0)) (void)atomic_min(&g->bad, (int)i);
    }
}

/* Moves them. */
SAP_INLINE void move_targets(const struct blocks_memory *m, const struct blocks_rules *r, const struct sap_step *s,
                             LOCAL struct blocks_group *g)
{
    for (int at = local_id(); at < g->rows * WORDS_KEPT; at += local_size()) {
        const int k = at / WORDS_KEPT, w = at % WORDS_KEPT, slot = g->slot[k], stored = slot < r->order->massive;
        const size_t i = (size_t)address_of(r->order, m->address, slot);
        move_word(r->f, r->u, m->x, m->v, m->a, m->higher, m->store, stored, slot, i, w, m->after[at]);
        if (w != 0) continue;
        m->pot[i] = m->sum[k] * r->u->pot;
        m->level[i] = g->level[place_of_slot(slot)] = g->next[k];
        if (stored) store_number(m->store, r->f, slot, SAP_GPU_TIME, sap_hermite_after(s) * r->u->time);
    }
}

/* Adds the particles of this group per level, and the active ones of its steps. */
SAP_INLINE void add_group(const struct blocks_memory *m, const struct blocks_rules *r, int n,
                          const LOCAL struct blocks_group *g, const int *moved)
{
    for (int k = local_id(); k < own_slots(n); k += local_size()) {
        if (own_slot(k) >= n) continue;
        (void)atomic_add(&m->told[SAP_BLOCKS_LEVELS + g->level[k]], 1);
        if (own_slot(k) >= r->order->massive) (void)atomic_add(&m->told[SAP_BLOCKS_MASSLESS + g->level[k]], 1);
    }
    if (local_id() > 0) return;
    for (int k = 0; k < 3; k++) (void)atomic_add(&m->told[SAP_BLOCKS_ACTIVE + k], moved[k]);
}

/* Group 0 tells the host. */
SAP_INLINE void tell_host(const struct blocks_memory *m, int done, int tick, int bad, GLOBAL int *out)
{
    for (int k = local_id(); k < SAP_BLOCKS_TOLD && group_id(0) == 0; k += local_size())
        out[k] = k == SAP_BLOCKS_BAD ? bad : k == SAP_BLOCKS_DONE ? done : k == SAP_BLOCKS_TICK ? tick : m->told[k];
}

KERNEL(SAP_BLOCKS_THREADS)
NAMED(blocks)
(GLOBAL D *x, GLOBAL D *v, GLOBAL D *a, GLOBAL D *higher, GLOBAL D *pot, GLOBAL int *level, const GLOBAL int *address,
 GLOBAL D *store, GLOBAL part *predicted, GLOBAL struct sap_gpu_i *own_target, GLOBAL D *own_sum, GLOBAL D *own_after,
 GLOBAL int *told, GLOBAL int *out, const struct sap_gpu_force force, const struct sap_hermite_force f,
 const struct sap_hermite_blocks run, const struct sap_stepper_order order, const struct sap_hermite_rule rule,
 const struct sap_hermite_units u, const struct sap_field_list fields GROUP_ARGUMENT)
{
    SHARED struct blocks_group group;
    OWN_ROWS
    NOTED_MEMORY
    LOCAL struct blocks_group *const g = &group;
    const struct force_memory m = {store, predicted, target, sum, sum, 0, 0, 0 NOTED};
    const struct blocks_memory all = {x, v, a, higher, pot, level, address, store, predicted, target, sum, after, told};
    const struct blocks_rules rules = {&f, &order, &rule, &u, &fields};
    const struct pair_mode plain = {0, 0, 1, SAP_KERNEL_ORDER > 4, 0}, skips = {0, 1, 1, SAP_KERNEL_ORDER > 4, 0};
    struct sap_step s = {run.dt, 0.0, 0.0, run.tick, 0, 0, 0};
    int done = 0, tick = run.tick, bad = SAP_HERMITE_NOBODY, moved[3] = {0, 0, 0};
    FEW_ROOM(1)
    begin_blocks(&all, &rules, run.n, g);
    together_barrier();
    while (done < run.most && tick < run.last) { /* which is at most SAP_STEP_TICKS */
        struct sap_gpu_force now = force;
        s.tick = sap_step_next(tick, finest_of_all(g), &s.coarsest);
        if (s.tick > run.last) break;
        now.time = sap_hermite_end(&s) * u.time;
        list_targets(&all, &rules, run.n, &s, g);
        predict_own(&all, &now);
        together_barrier();
        stage_all(&all, tile);
        if (run.zero)
            sum_targets(skips, &m, &now, tile, room, g);
        else
            sum_targets(plain, &m, &now, tile, room, g);
        group_barrier_all();
        judge_targets(&all, &rules, &s, g);
        tell_all(g);
        together_barrier();
        bad = bad_of_all(g);
        if (bad != SAP_HERMITE_NOBODY) break;
        move_targets(&all, &rules, &s, g);
        moved[0] = g->rows;
        moved[1] = g->massive;
        moved[2] += g->rows;
        group_barrier_all();
        tick = s.tick;
        done++;
    }
    add_group(&all, &rules, run.n, g, moved);
    together_barrier();
    tell_host(&all, done, tick, bad, out);
}
