/*
 * hermite.h - kernels of Hermite schemes: targets are predicted, corrected with their forces, and stored as sources.
 *
 * x, v and a are three doubles per particle, by address; `higher` has the other derivatives that the order keeps, one
 * vector after the other.  The j-store has the particles with mass by slot (device/gpu_layout.h).  Kernels that compute
 * with derivatives are instances for each order.
 */
#include "device/hermite_rows.h"

/* Stores all particles with mass, each with its own time, its slot as index, and its place. */
KERNEL(SAP_STEPPER_THREADS)
hermite_send(const GLOBAL D *x, const GLOBAL D *v, const GLOBAL D *a, const GLOBAL D *higher, const GLOBAL int *level,
             const GLOBAL D *particle, const GLOBAL int *address, GLOBAL D *store, const int n,
             const struct sap_hermite_force f, const struct sap_stepper_order order, const struct sap_step s,
             const struct sap_hermite_units u)
{
    const int slot = (int)global_id();
    if (slot >= n) return;
    const size_t i = (size_t)address_of(&order, address, slot);
    const int kept = SAP_HERMITE_KEPT_OF(f.order), sent = SAP_HERMITE_SENT_OF(f.order);
    for (int c = 0; c < 3; c++) {
        store_derivative(store, &f, &u, slot, 0, c, x[3 * i + c]);
        store_derivative(store, &f, &u, slot, 1, c, v[3 * i + c]);
        store_derivative(store, &f, &u, slot, 2, c, a[3 * i + c]);
        for (int k = 3; k < sent; k++)
            store_derivative(store, &f, &u, slot, k, c, higher[3 * ((size_t)(kept - 3) * i + k - 3) + c]);
    }
    store_number(store, &f, slot, SAP_GPU_MASS, particle[4 * (size_t)slot + 3] * u.mass);
    store_number(store, &f, slot, SAP_GPU_TIME, sap_hermite_own(&s, level[i], f.done) * u.time);
    store_tags(store, &f, slot);
}

/* Gives the active particles, as i-particles of two units, their own squared softening, by slot, and the common one. */
KERNEL(SAP_STEPPER_THREADS)
hermite_soften(const GLOBAL D *soft, const GLOBAL int *active, GLOBAL struct sap_gpu_i *to,
               const struct sap_hermite_force f)
{
    const int k = (int)global_id();
    if (k < f.rows) to[2 * (size_t)k + 1].h2 = f.eps2 + soft[slot_of_row(&f, active, k)];
}

/*
 * Returns the row of a particle, or -1: it is not active.  Rows of particles with mass come first; their order differs
 * from run to run, and no result depends on it.  All threads of a group call it; room: four ints of the group.
 */
SAP_INLINE int list_row(const struct sap_hermite_force *f, int active, int massless, int slot, GLOBAL int *list,
                        GLOBAL int *told, LOCAL int *room)
{
    const int me = (int)local_id(), listed = active && f->has_active;
    int row = active ? slot : -1;
    if (me < 2) room[me] = 0;
    group_barrier();
    if (listed) row = atomic_add(&room[massless], 1);
    group_barrier();
    if (me < 2) room[2 + me] = room[me] > 0 ? atomic_add(&told[f->told + SAP_HERMITE_LISTED + me], room[me]) : 0;
    group_barrier();
    if (!listed) return row;
    row += room[2 + massless] + (massless ? f->massive : 0);
    list[row] = slot;
    return row;
}

/* Whether the nearest neighbour of row k is closer than the limit. */
SAP_INLINE int is_close(const struct sap_hermite_force *f, const GLOBAL D *near, int k)
{
    if (!f->near) return 0;
    const GLOBAL int2 *const who = (const GLOBAL int2 *)(near + f->rows);
    return who[k].x > 0 && near[k] < f->close2;
}

/*
 * Adds what the rows of this group have found; the last group that ends copies all to `out`, memory of the host, and
 * behind it that it is there, if f->tells.  A group that is alone adds nothing; f->quiet: nothing is told.
 */
SAP_INLINE void tell(const struct sap_hermite_force *f, const LOCAL int *count, GLOBAL int *told, GLOBAL int *out,
                     LOCAL int *is_last)
{
    const int me = (int)local_id(), alone = num_groups() == 1, quiet = f->quiet;
    if (!quiet && !alone && me < SAP_HERMITE_CLOSE && count[me] > 0) (void)atomic_add(&told[1 + me], count[me]);
    global_fence();
    group_barrier();
    if (me == 0) *is_last = !quiet && (alone || atomic_add(&told[SAP_HERMITE_ENDED], 1) == (int)num_groups() - 1);
    group_barrier();
    if (*is_last && me < SAP_STEPPER_TOLD) out[me] = alone && me > 0 ? count[me - 1] : atomic_add(&told[me], 0);
#if SAP_TELLS
    group_barrier();
    if (me > 0 || !*is_last || !f->tells) return;
    system_fence();
    out[SAP_STEPPER_TOLD] = 1;
#endif
}

/*
 * Instances for an order.  _targets lists the active particles, and writes them as i-particles.  _judge makes the rows
 * after the step, and counts as stepper_judge does.  _at predicts all particles from their times after the step.
 */
#define SAP_HERMITE_KERNELS(TARGETS, JUDGE, AT, GIVEN)                                                                 \
    KERNEL(SAP_STEPPER_THREADS)                                                                                        \
    TARGETS(const GLOBAL D *x, const GLOBAL D *v, const GLOBAL D *a, const GLOBAL D *higher, const GLOBAL int *level,  \
            GLOBAL int *active, const GLOBAL int *address, GLOBAL struct sap_gpu_i *to, GLOBAL int *told,              \
            const struct sap_hermite_force f, const struct sap_stepper_order order, const struct sap_step s,           \
            const struct sap_hermite_units u)                                                                          \
    {                                                                                                                  \
        SHARED int room[4];                                                                                            \
        launches_barrier();                                                                                            \
        const int slot = (int)global_id(), there = slot < f.slots;                                                     \
        const size_t i = there ? (size_t)address_of(&order, address, slot) : 0;                                        \
        const int acts = there && (s.start || level[i] >= s.coarsest);                                                 \
        const int k = list_row(&f, acts, slot >= order.massive, slot, active, told, room);                             \
        if (k >= 0) {                                                                                                  \
            D d[3][MOST];                                                                                              \
            predict_particle(GIVEN, x, v, a, higher, level, i, &s, f.done, d);                                         \
            write_target(GIVEN, d, slot + (slot < order.massive ? f.before : f.beyond), f.eps2, &u,                    \
                         to + (size_t)k * f.units);                                                                    \
        }                                                                                                              \
    }                                                                                                                  \
    KERNEL(SAP_STEPPER_THREADS)                                                                                        \
    JUDGE(const GLOBAL D *x, const GLOBAL D *v, const GLOBAL D *a, const GLOBAL D *higher, const GLOBAL int *level,    \
          const GLOBAL int *active, const GLOBAL int *address, const GLOBAL D *sum, const GLOBAL D *near,              \
          GLOBAL D *row_d, GLOBAL D *row_pot, GLOBAL int *row_level, GLOBAL int *told, GLOBAL int *out,                \
          const struct sap_hermite_force f, const struct sap_stepper_order order, const struct sap_step s,             \
          const struct sap_hermite_rule rule, const struct sap_hermite_units u, const struct sap_field_list fields)    \
    {                                                                                                                  \
        SHARED int count[SAP_STEPPER_TOLD], is_last;                                                                   \
        const int me = (int)local_id(), thread = (int)global_id(), k = min(row_of_judge(thread), f.rows - 1);          \
        if (me < SAP_STEPPER_TOLD) count[me] = 0;                                                                      \
        launches_barrier();                                                                                            \
        group_barrier();                                                                                               \
        if (first_of_judge(thread) < f.rows) {                                                                         \
            const size_t i = (size_t)address_of(&order, address, slot_of_row(&f, active, k));                          \
            const D pot = sum[k] * u.pot;                                                                              \
            GLOBAL D *const row = row_d + (size_t)k * (3 * SAP_HERMITE_KEPT_OF(2 * GIVEN));                            \
            D wrong, now[3][MOST];                                                                                     \
            force_of(GIVEN, x, v, a, higher, level, i, sum, &f, &u, &s, &fields, k, row, now);                         \
            const int next = judge_row(GIVEN, x, v, a, higher, level[i], i, axis_of_judge(thread), now, &s, &rule,     \
                                       pot, row, &wrong);                                                              \
            if (next >= 0 && row_of_judge(thread) < f.rows) {                                                          \
                row_pot[k] = pot;                                                                                      \
                row_level[k] = next;                                                                                   \
                (void)atomic_add(&count[next], 1);                                                                     \
                if (is_close(&f, near, k)) (void)atomic_add(&count[SAP_HERMITE_CLOSE - 1], 1);                         \
                if (k >= f.massive) (void)atomic_add(&count[SAP_STEP_LEVELS + next], 1);                               \
                if (!(wrong + not_finite(pot) == 0.0)) (void)atomic_min(&told[f.told], (int)i);                        \
            }                                                                                                          \
        }                                                                                                              \
        group_barrier();                                                                                               \
        tell(&f, count, told + f.told, out, &is_last);                                                                 \
    }                                                                                                                  \
    KERNEL(SAP_STEPPER_THREADS)                                                                                        \
    AT(const GLOBAL D *x, const GLOBAL D *v, const GLOBAL D *a, const GLOBAL D *higher, const GLOBAL int *level,       \
       GLOBAL D *to_x, GLOBAL D *to_v, const int n, const struct sap_step s)                                           \
    {                                                                                                                  \
        const size_t i = global_id();                                                                                  \
        if (i >= (size_t)n) return;                                                                                    \
        D d[3][MOST];                                                                                                  \
        predict_particle(GIVEN, x, v, a, higher, level, i, &s, 1, d);                                                  \
        for (int c = 0; c < 3; c++) {                                                                                  \
            to_x[3 * i + c] = d[c][0];                                                                                 \
            to_v[3 * i + c] = d[c][1];                                                                                 \
        }                                                                                                              \
    }
SAP_HERMITE_KERNELS(hermite4_targets, hermite4_judge, hermite4_at, 2)
SAP_HERMITE_KERNELS(hermite6_targets, hermite6_judge, hermite6_at, 3)
SAP_HERMITE_KERNELS(hermite8_targets, hermite8_judge, hermite8_at, 4)

/* Writes the address or the number of the nearest neighbour of row k, and its squared distance. */
SAP_INLINE void note_nearest(const struct sap_hermite_force *f, const struct sap_stepper_order *order,
                             const GLOBAL int *address, const GLOBAL int *number, const GLOBAL D *near, int k,
                             GLOBAL int *nearest, GLOBAL D *nearest_r2)
{
    const GLOBAL int2 *const who = (const GLOBAL int2 *)(near + f->rows);
    const int found = who[k].x > 0;
    *nearest = !found ? -1 : f->numbered ? number[who[k].y] : address_of(order, address, who[k].y);
    *nearest_r2 = found ? near[k] * f->r2_unit : f->none;
}

/*
 * Moves the active particles to the end of the step, unless one is wrong, and stores those with mass as sources.
 * The ints of the next step become as they are before a step.
 */
KERNEL(SAP_STEPPER_THREADS)
hermite_commit(GLOBAL D *x, GLOBAL D *v, GLOBAL D *a, GLOBAL D *higher, GLOBAL D *pot, GLOBAL int *level,
               GLOBAL D *store, const GLOBAL int *active, const GLOBAL int *address, const GLOBAL D *row_d,
               const GLOBAL D *row_pot, const GLOBAL int *row_level, const GLOBAL D *near, const GLOBAL int *number,
               GLOBAL int *nearest, GLOBAL D *nearest_r2, GLOBAL int *told, const struct sap_hermite_force f,
               const struct sap_stepper_order order, const struct sap_step s, const struct sap_hermite_units u)
{
    const int words = 3 * SAP_HERMITE_KEPT_OF(f.order);
    const size_t all = (size_t)f.rows * words, step = global_size(), me = global_id();
    launches_barrier();
    if (me < SAP_HERMITE_TOLD) told[SAP_HERMITE_TOLD - f.told + me] = me == 0 ? SAP_HERMITE_NOBODY : 0;
    if (told[f.told] != SAP_HERMITE_NOBODY) return;
    for (size_t at = me; at < all; at += step) {
        const int k = (int)(at / words), w = (int)(at % words);
        const int slot = slot_of_row(&f, active, k), stored = k < f.stored;
        const size_t i = (size_t)address_of(&order, address, slot);
        move_word(&f, &u, x, v, a, higher, store, stored, slot, i, w, row_d[at]);
        if (w != 0) continue;
        pot[i] = row_pot[k];
        level[i] = row_level[k];
        if (f.near) note_nearest(&f, &order, address, number, near, k, nearest + i, nearest_r2 + i);
        if (stored) store_number(store, &f, slot, SAP_GPU_TIME, sap_hermite_after(&s) * u.time);
    }
}

/*
 * Between iterations: the active particles become i-particles, and those with mass sources, where their correction has
 * brought them; unless one is wrong, which later iterations then find again.
 */
KERNEL(SAP_STEPPER_THREADS)
hermite_again(const GLOBAL D *row_d, const GLOBAL int *active, const GLOBAL int *told, GLOBAL D *store,
              GLOBAL struct sap_gpu_i *to, const struct sap_hermite_force f, const struct sap_step s,
              const struct sap_hermite_units u)
{
    const int k = (int)global_id(), given = f.order / 2, kept = SAP_HERMITE_KEPT_OF(f.order);
    if (k >= f.rows || told[f.told] != SAP_HERMITE_NOBODY) return;
    const int slot = slot_of_row(&f, active, k);
    const GLOBAL D *row = row_d + (size_t)k * (3 * kept);
    D d[3][MOST];
    load_row(given, row, d);
    write_target(given, d, slot + (k < f.massive ? f.before : f.beyond), f.eps2, &u, to + (size_t)k * f.units);
    if (k >= f.stored) return;
    for (int m = 0; m < SAP_HERMITE_SENT_OF(f.order); m++)
        for (int c = 0; c < 3; c++) store_derivative(store, &f, &u, slot, m, c, row[3 * m + c]);
    store_number(store, &f, slot, SAP_GPU_TIME, sap_hermite_end(&s) * u.time);
}

/* Writes records of this part's sources: of all, or of the rows with mass. */
KERNEL(SAP_STEPPER_THREADS)
hermite_share(const GLOBAL D *x, const GLOBAL D *v, const GLOBAL D *a, const GLOBAL D *higher, const GLOBAL int *level,
              const GLOBAL D *particle, const GLOBAL D *soft, const GLOBAL D *row_d, const GLOBAL int *active,
              const GLOBAL int *address, GLOBAL D *to, const struct sap_hermite_force f,
              const struct sap_hermite_records r, const struct sap_stepper_order order, const struct sap_step s)
{
    const int k = (int)global_id(), kept = SAP_HERMITE_KEPT_OF(f.order), sent = SAP_HERMITE_SENT_OF(f.order);
    if (k >= r.n) return;
    const int slot = r.all ? k : slot_of_row(&f, active, k);
    const size_t i = (size_t)address_of(&order, address, slot);
    const GLOBAL D *const row = row_d + (size_t)k * (3 * kept), *const more = higher + 3 * (size_t)(kept - 3) * i;
    GLOBAL D *const record = to + (size_t)k * SAP_HERMITE_RECORD_OF(f.order), *const extra = record + 3 * sent;
    for (int w = 0; w < 3 * sent; w++) {
        const int m = w / 3, c = w % 3;
        record[w] = !r.all   ? row[w]
                    : m == 0 ? x[3 * i + c]
                    : m == 1 ? v[3 * i + c]
                    : m == 2 ? a[3 * i + c]
                             : more[w - 9];
    }
    extra[SAP_HERMITE_RECORD_INDEX] = (D)(slot + f.before);
    extra[SAP_HERMITE_RECORD_TIME] = r.all ? sap_hermite_own(&s, level[i], f.done) : r.time;
    extra[SAP_HERMITE_RECORD_MASS] = particle[4 * (size_t)slot + 3];
    extra[SAP_HERMITE_RECORD_EPS2] = r.has_soft ? soft[slot] : 0.0;
    extra[SAP_HERMITE_RECORD_NUMBER] = (D)(r.first + (int)i);
}

/* Stores the sources of all parts that records tell of; `own` has those of this part's rows. */
KERNEL(SAP_STEPPER_THREADS)
hermite_join(const GLOBAL D *own, const GLOBAL D *all, GLOBAL D *store, GLOBAL int *number,
             const struct sap_hermite_force f, const struct sap_hermite_records r, const struct sap_hermite_units u)
{
    const int k = (int)global_id(), mine = k - r.ahead, sent = SAP_HERMITE_SENT_OF(f.order);
    if (k >= r.n) return;
    const int is_own = mine >= 0 && mine < r.own;
    const GLOBAL D *const record = (is_own ? own : all) + (size_t)(is_own ? mine : k) * SAP_HERMITE_RECORD_OF(f.order);
    const GLOBAL D *const extra = record + 3 * sent;
    const int slot = (int)extra[SAP_HERMITE_RECORD_INDEX];
    for (int w = 0; w < 3 * sent; w++) store_derivative(store, &f, &u, slot, w / 3, w % 3, record[w]);
    store_number(store, &f, slot, SAP_GPU_TIME, extra[SAP_HERMITE_RECORD_TIME] * u.time);
    if (!r.all) return;
    store_number(store, &f, slot, SAP_GPU_MASS, extra[SAP_HERMITE_RECORD_MASS] * u.mass);
    if (r.has_soft) store_number(store, &f, slot, SAP_GPU_EPS2_OF(f.order), extra[SAP_HERMITE_RECORD_EPS2] * r.square);
    store_tags(store, &f, slot);
    number[slot] = (int)extra[SAP_HERMITE_RECORD_NUMBER];
}

/* Writes the potentials of a force on all particles, multiplied by `unit`. */
KERNEL(SAP_STEPPER_THREADS)
hermite_pots(const GLOBAL D *sum, const GLOBAL int *address, GLOBAL D *pot, const D unit, const int n,
             const struct sap_stepper_order order)
{
    const int slot = (int)global_id();
    if (slot < n) pot[address_of(&order, address, slot)] = sum[slot] * unit;
}

/* After a force on all particles: gives them accelerations and jerks, which further derivatives need. */
KERNEL(SAP_STEPPER_THREADS)
hermite_jerks(const GLOBAL D *x, const GLOBAL D *v, const GLOBAL int *level, const GLOBAL D *sum,
              const GLOBAL int *address, GLOBAL D *a, GLOBAL D *higher, const struct sap_hermite_force f,
              const struct sap_stepper_order order, const struct sap_step s, const struct sap_hermite_units u,
              const struct sap_field_list fields)
{
    const int slot = (int)global_id(), vectors = SAP_HERMITE_KEPT_OF(f.order) - 3;
    if (slot >= f.rows) return;
    const size_t i = (size_t)address_of(&order, address, slot);
    D now[3][MOST];
    if (f.order == 6)
        force_of(3, x, v, a, higher, level, i, sum, &f, &u, &s, &fields, slot, sum, now);
    else
        force_of(4, x, v, a, higher, level, i, sum, &f, &u, &s, &fields, slot, sum, now);
    for (int c = 0; c < 3; c++) {
        a[3 * i + c] = now[c][0];
        higher[3 * vectors * i + c] = now[c][1];
    }
}

/*
 * Sums runs of particles, as stepper_sums does, at predicted places x with velocities v, by address.  forced: pot is
 * the first column of a force on all particles with mass.  Potentials are multiplied by `unit`.
 */
KERNEL(SAP_STEPPER_THREADS)
hermite_sums(const GLOBAL D *x, const GLOBAL D *v, const GLOBAL int *slot, const GLOBAL D *particle,
             const GLOBAL D *pot, GLOBAL D *out, const int forced, const D unit, const int n,
             const struct sap_stepper_order order, const struct sap_field_list fields)
{
    const int run = (int)global_id(), first = run * SAP_STEP_RUN;
    if (first >= n) return;
    D sum[SAP_STEP_SUMS];
    for (int k = 0; k < SAP_STEP_SUMS; k++) sum[k] = 0.0;
    for (int i = first; i < n && i < first + SAP_STEP_RUN; i++) {
        const int mine = order.has_order ? slot[i] : i;
        const D potential = !forced ? pot[i] : mine < order.massive ? pot[mine] : 0.0;
        D at[3], speed[3], outer[3] = {0.0, 0.0, 0.0}, field = 0.0;
        for (int c = 0; c < 3; c++) {
            at[c] = x[3 * (size_t)i + c];
            speed[c] = v[3 * (size_t)i + c];
        }
        sap_field_add(&fields, at, outer, &field);
        sap_step_add(sum, particle[4 * (size_t)mine + 3], at, speed, potential * unit, field);
    }
    for (int k = 0; k < SAP_STEP_SUMS; k++) out[(size_t)run * SAP_STEP_SUMS + k] = sum[k];
}
