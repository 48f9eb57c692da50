/*
 * stepper.h - kernels of the stepper: particles on the device are predicted, corrected and summed.
 *
 * x, v and a are three doubles per particle, by address.  Predicted particles (x, y, z, mass) and sizes of
 * accelerations are by slot.  Row k of a force belongs to slot active[k], or to slot k if all particles are active
 * (has_active 0).
 */
#include "dialect.h"

#include "device/gpu_layout.h"
#include "device/stepper_layout.h"
#include "physics/step.h"

SAP_INLINE int is_small(D x) { return x <= 1e100 && x >= -1e100; } /* SAP_TREE_LIMIT */

/* Returns the particle of a slot, or the slot of a particle: an entry of the array, if there are arrays. */
SAP_INLINE int order_of(const struct sap_stepper_order *order, const GLOBAL int *of, int i)
{
    return order->has_order ? of[i] : i;
}

/* Loads three doubles of particle i. */
SAP_INLINE void load_three(const GLOBAL D *from, size_t i, D *to)
{
    for (int c = 0; c < 3; c++) to[c] = from[3 * i + c];
}

/*
 * Finds the first particle whose velocity is not finite; lowers *bad if its number is less.  Counts the massless
 * particles in bad[1]; here `particle` is by address.
 */
KERNEL(SAP_STEPPER_THREADS)
stepper_look(const GLOBAL D *v, const GLOBAL D *particle, GLOBAL int *bad, const int n)
{
    const size_t i = global_id();
    if (i >= (size_t)n) return;
    const D sum = (v[3 * i] - v[3 * i]) + (v[3 * i + 1] - v[3 * i + 1]) + (v[3 * i + 2] - v[3 * i + 2]);
    if (!(sum == 0.0)) (void)atomic_min(&bad[0], (int)i);
    if (particle[4 * i + 3] == 0.0) (void)atomic_add(&bad[1], 1);
}

/* Writes the particles by slot; x and mass are by address. */
KERNEL(SAP_STEPPER_THREADS)
stepper_arrange(const GLOBAL D *x, const GLOBAL D *mass, const GLOBAL int *slot, GLOBAL D *particle, const int n)
{
    const size_t i = global_id();
    if (i >= (size_t)n) return;
    const size_t to = (size_t)slot[i];
    for (int c = 0; c < 3; c++) particle[4 * to + c] = x[3 * i + c];
    particle[4 * to + 3] = mass[i];
}

/* Predicts all particles: positions go to the tree's particles (x, y, z, mass), and sizes of accelerations to sizes. */
KERNEL(SAP_STEPPER_THREADS)
stepper_predict(const GLOBAL D *x, const GLOBAL D *v, const GLOBAL D *a, const GLOBAL int *level,
                const GLOBAL int *slot, GLOBAL D *particle, GLOBAL D *sizes, GLOBAL int *bad, const int has_sizes,
                const int done, const int n, const struct sap_stepper_order order, const struct sap_step s)
{
    const size_t i = global_id();
    if (i >= (size_t)n) return;
    D at[3], speed[3], acc[3], middle;
    const D dt = sap_step_span(&s, level[i], done) + s.ahead;
    const size_t to = (size_t)order_of(&order, slot, (int)i);
    int good = 1;
    load_three(x, i, at);
    load_three(v, i, speed);
    load_three(a, i, acc);
    for (int c = 0; c < 3; c++) {
        const D next = sap_step_predict(at[c], speed[c], acc[c], dt, &middle);
        particle[4 * to + c] = next;
        good = good && is_small(next);
    }
    if (has_sizes) sizes[to] = sap_step_size(acc[0], acc[1], acc[2]);
    if (!good) (void)atomic_min(&bad[0], (int)i);
}

/* Writes positions and masses of predicted particles one after the other, for trees over ranks. */
KERNEL(SAP_STEPPER_THREADS)
stepper_columns(const GLOBAL D *particle, GLOBAL D *x, GLOBAL D *mass, const int n)
{
    const size_t k = global_id();
    if (k >= (size_t)n) return;
    for (int c = 0; c < 3; c++) x[3 * k + c] = particle[4 * k + c];
    mass[k] = particle[4 * k + 3];
}

/* Writes the sizes of accelerations by the particles alone, at their own times, where there are fields. */
KERNEL(SAP_STEPPER_THREADS)
stepper_own(const GLOBAL D *x, const GLOBAL D *a, const GLOBAL int *slot, GLOBAL D *sizes, const int n,
            const struct sap_stepper_order order, const struct sap_field_list fields)
{
    const size_t i = global_id();
    if (i >= (size_t)n) return;
    D at[3], acc[3];
    load_three(x, i, at);
    load_three(a, i, acc);
    sizes[order_of(&order, slot, (int)i)] = sap_step_own_size(&fields, at, acc);
}

/* Sets flag[k]: whether the particle of slot k is active. */
KERNEL(SAP_STEPPER_THREADS)
stepper_flag(const GLOBAL int *level, const GLOBAL int *address, GLOBAL int *flag, const int coarsest, const int n,
             const struct sap_stepper_order order)
{
    const int k = (int)global_id();
    if (k < n) flag[k] = level[order_of(&order, address, k)] >= coarsest ? 1 : 0;
}

/*
 * Writes the active particles as i-particles of order 2 (device/gpu_layout.h).  Their indices are their slots, moved up
 * by `before` for the particles with mass, which are the first `massive`, and by `beyond` for the others.
 */
KERNEL(SAP_STEPPER_THREADS)
stepper_targets(const GLOBAL D *particle, const GLOBAL int *active, GLOBAL struct sap_gpu_i *to, const D eps2,
                const int has_active, const int massive, const int before, const int beyond, const int rows)
{
    const int k = (int)global_id();
    if (k >= rows) return;
    const int i = has_active ? active[k] : k;
    struct sap_gpu_i row;
    for (int c = 0; c < 3; c++) {
        row.x[c] = particle[4 * (size_t)i + c];
        row.v[c] = 0.0;
    }
    row.v[SAP_GPU_I_EPS2] = eps2;
    row.h2 = 0.0;
    row.index = i + (i < massive ? before : beyond);
    row.reach = 0.0F;
    to[k] = row;
}

/* Adds squared softening lengths by slot to those of i-particles. */
KERNEL(SAP_STEPPER_THREADS)
stepper_soften(const GLOBAL D *soft, const GLOBAL int *active, GLOBAL struct sap_gpu_i *to, const int has_active,
               const int rows)
{
    const int k = (int)global_id();
    if (k < rows) to[k].v[SAP_GPU_I_EPS2] += soft[has_active ? active[k] : k];
}

/* Copies particles, with positions and masses multiplied by powers of two (engine/units.h). */
KERNEL(SAP_STEPPER_THREADS)
stepper_units(const GLOBAL D *particle, GLOBAL D *to, const D length, const D mass, const int n)
{
    const size_t i = global_id();
    if (i >= (size_t)n) return;
    for (int c = 0; c < 3; c++) to[4 * i + c] = particle[4 * i + c] * length;
    to[4 * i + 3] = particle[4 * i + 3] * mass;
}

/*
 * Copies the sums of order 2, columns of `rows` numbers, to potentials and accelerations of rows, divided by powers of
 * two: pot and acc are the factors.
 */
KERNEL(SAP_STEPPER_THREADS)
stepper_results(const GLOBAL D *sum, GLOBAL D *row_a, GLOBAL D *row_pot, const D acc, const D pot, const int rows)
{
    const size_t k = global_id(), n = rows;
    if (k >= n) return;
    row_pot[k] = sum[k] * pot;
    for (int c = 0; c < 3; c++) row_a[3 * k + c] = sum[(1 + c) * n + k] * acc;
}

/* Returns whether a tree can give a force at a position. */
SAP_INLINE int is_within(const struct sap_stepper_range *range, const D *x)
{
    int within = 1;
    for (int c = 0; c < 3; c++) {
        const D far = (x[c] - range->low[c]) * range->unit;
        within = within && far <= range->most && far >= -range->most;
    }
    return within;
}

/*
 * Copies the active massless particles, rows first ... first + rows - 1, as target positions of a tree: x, y, z and a
 * mass of 1, for the centre of a group.  A position that is too far away is replaced by the corner of the cube.
 */
KERNEL(SAP_STEPPER_THREADS)
stepper_massless(const GLOBAL D *particle, const GLOBAL D *sizes, const GLOBAL int *active, GLOBAL D *to,
                 GLOBAL D *to_sizes, const int has_active, const int has_sizes, const int first, const int rows,
                 const struct sap_stepper_range range)
{
    const size_t k = global_id();
    if (k >= (size_t)rows) return;
    const size_t i = has_active ? (size_t)active[first + (int)k] : (size_t)first + k;
    D x[3];
    for (int c = 0; c < 3; c++) x[c] = particle[4 * i + c];
    const int within = is_within(&range, x);
    for (int c = 0; c < 3; c++) to[4 * k + c] = within ? x[c] : range.low[c];
    to[4 * k + 3] = 1.0;
    if (has_sizes) to_sizes[k] = sizes[i];
}

/*
 * Copies rows of a force, so that they follow those of other particles: to rows first ... first + rows - 1.
 * is_massless: rows of massless particles; those whose positions are too far away become NaN.
 */
KERNEL(SAP_STEPPER_THREADS)
stepper_join(const GLOBAL D *acc, const GLOBAL D *pot, const GLOBAL D *particle, const GLOBAL int *active,
             GLOBAL D *row_a, GLOBAL D *row_pot, const int has_active, const int is_massless, const int first,
             const int rows, const struct sap_stepper_range range)
{
    const size_t k = global_id(), to = (size_t)first + k;
    if (k >= (size_t)rows) return;
    int within = 1;
    if (is_massless) {
        const size_t i = has_active ? (size_t)active[to] : to;
        D x[3];
        for (int c = 0; c < 3; c++) x[c] = particle[4 * i + c];
        within = is_within(&range, x);
    }
    for (int c = 0; c < 3; c++) row_a[3 * to + c] = within ? acc[3 * k + c] : range.wrong;
    row_pot[to] = within ? pot[k] : range.wrong;
}

/*
 * Copies the softening lengths of the same particles, in order of their rows; erases: instead, makes rows whose lengths
 * are too long NaN.
 */
KERNEL(SAP_STEPPER_THREADS)
stepper_lengths(const GLOBAL D *lengths, const GLOBAL int *active, GLOBAL D *to, GLOBAL D *row_a, GLOBAL D *row_pot,
                const int has_active, const int erases, const int first, const int rows,
                const struct sap_stepper_range range)
{
    const size_t k = global_id(), row = (size_t)first + k;
    if (k >= (size_t)rows) return;
    const D length = lengths[has_active ? (size_t)active[row] : row];
    const int within = length * range.unit <= range.most;
    if (!erases) to[k] = within ? length : 0.0;
    if (!erases || within) return;
    for (int c = 0; c < 3; c++) row_a[3 * row + c] = range.wrong;
    row_pot[row] = range.wrong;
}

/*
 * Adds the fields to the accelerations of rows, chooses the next levels, and counts the levels in told[1 + level], and
 * those of massless particles, the rows from `massive` on, in told[1 + SAP_STEP_LEVELS + level]; lowers told[0] to the
 * first particle whose force or next velocity is not finite.  reach: of each particle, if has_reach.
 */
KERNEL(SAP_STEPPER_THREADS)
stepper_judge(const GLOBAL D *particle, const GLOBAL D *v, const GLOBAL D *a, const GLOBAL int *level,
              const GLOBAL int *active, const GLOBAL int *address, GLOBAL D *row_a, const GLOBAL D *row_pot,
              const GLOBAL D *reach, GLOBAL int *row_level, GLOBAL int *told, const int has_active, const int has_reach,
              const int massive, const int rows, const struct sap_stepper_order order, const struct sap_step s,
              const struct sap_step_rule common, const struct sap_field_list fields)
{
    SHARED int count[SAP_STEPPER_TOLD];
    const int me = (int)local_id(), k = (int)global_id();
    if (me < SAP_STEPPER_TOLD) count[me] = 0;
    group_barrier();
    if (k < rows) {
        const int slot = has_active ? active[k] : k;
        const size_t i = (size_t)order_of(&order, address, slot);
        D x[3], now[3], before[3], speed[3], outside = 0.0, sum = row_pot[k] - row_pot[k];
        const D dt = s.start ? 0.0 : sap_step_span(&s, level[i], 0);
        for (int c = 0; c < 3; c++) {
            x[c] = particle[4 * (size_t)slot + c];
            before[c] = s.start ? 0.0 : a[3 * i + c];
        }
        load_three(row_a, k, now);
        load_three(v, i, speed);
        sap_field_add(&fields, x, now, &outside);
        for (int c = 0; c < 3; c++) {
            D middle;
            (void)sap_step_predict(x[c], speed[c], before[c], dt, &middle);
            const D next = sap_step_correct(middle, now[c], dt);
            sum += (next - next) + (now[c] - now[c]);
            row_a[3 * (size_t)k + c] = now[c];
        }
        struct sap_step_rule rule = common;
        if (has_reach) rule.reach = reach[i];
        const int next = sap_step_level(&rule, &s, level[i], now, before);
        row_level[k] = next;
        (void)atomic_add(&count[next], 1);
        if (k >= massive) (void)atomic_add(&count[SAP_STEP_LEVELS + next], 1);
        if (!(sum == 0.0)) (void)atomic_min(&told[0], (int)i);
    }
    group_barrier();
    if (me < 2 * SAP_STEP_LEVELS && count[me] > 0) (void)atomic_add(&told[1 + me], count[me]);
}

/* Moves the active particles to the end of the step. */
KERNEL(SAP_STEPPER_THREADS)
stepper_commit(GLOBAL D *x, GLOBAL D *v, GLOBAL D *a, GLOBAL D *pot, GLOBAL int *level, const GLOBAL int *active,
               const GLOBAL int *address, const GLOBAL D *row_a, const GLOBAL D *row_pot, const GLOBAL int *row_level,
               const int has_active, const int rows, const struct sap_stepper_order order, const struct sap_step s)
{
    const size_t k = global_id();
    if (k >= (size_t)rows) return;
    const size_t i = (size_t)order_of(&order, address, has_active ? active[k] : (int)k);
    const D dt = s.start ? 0.0 : sap_step_span(&s, level[i], 0);
    D at[3], speed[3], before[3], now[3], middle;
    load_three(x, i, at); /* all loads come first: a store would keep later loads waiting */
    load_three(v, i, speed);
    load_three(a, i, before);
    load_three(row_a, k, now);
    const D potential = row_pot[k];
    for (int c = 0; c < 3; c++) {
        if (!s.start) {
            x[3 * i + c] = sap_step_predict(at[c], speed[c], before[c], dt, &middle);
            v[3 * i + c] = sap_step_correct(middle, now[c], dt);
        }
        a[3 * i + c] = now[c];
    }
    pot[i] = potential;
    level[i] = row_level[k];
}

/* Predicts positions and velocities after a step, for outputs. */
KERNEL(SAP_STEPPER_THREADS)
stepper_at(const GLOBAL D *x, const GLOBAL D *v, const GLOBAL D *a, const GLOBAL int *level, GLOBAL D *to_x,
           GLOBAL D *to_v, const int n, const struct sap_step s)
{
    const size_t i = global_id();
    if (i >= (size_t)n) return;
    const D dt = sap_step_span(&s, level[i], 1) + s.ahead;
    for (int c = 0; c < 3; c++) {
        D middle;
        to_x[3 * i + c] = sap_step_predict(x[3 * i + c], v[3 * i + c], a[3 * i + c], dt, &middle);
        to_v[3 * i + c] = sap_step_correct(middle, a[3 * i + c], dt);
    }
}

/*
 * Sums a run of particles per thread, in order within the run: out[SAP_STEP_SUMS * run + k].  forced: pot are rows of a
 * force on all particles with mass; massless ones add nothing to the potential energy.
 */
KERNEL(SAP_STEPPER_THREADS)
stepper_sums(const GLOBAL D *x, const GLOBAL D *v, const GLOBAL D *a, const GLOBAL int *level, const GLOBAL int *slot,
             const GLOBAL D *particle, const GLOBAL D *pot, GLOBAL D *out, const int forced, const int n,
             const struct sap_stepper_order order, const struct sap_step s, const struct sap_field_list fields)
{
    const int run = (int)global_id(), first = run * SAP_STEP_RUN;
    if (first >= n) return;
    D sum[SAP_STEP_SUMS];
    for (int k = 0; k < SAP_STEP_SUMS; k++) sum[k] = 0.0;
    for (int i = first; i < n && i < first + SAP_STEP_RUN; i++) {
        const D dt = sap_step_span(&s, level[i], 1);
        const int mine = order_of(&order, slot, i);
        const D potential = !forced ? pot[i] : mine < order.massive ? pot[mine] : 0.0;
        D at[3], speed[3], outer[3], field = 0.0;
        for (int c = 0; c < 3; c++) {
            const size_t k = 3 * (size_t)i + c;
            D middle;
            at[c] = sap_step_predict(x[k], v[k], a[k], dt, &middle);
            speed[c] = sap_step_correct(middle, a[k], dt);
            outer[c] = 0.0;
        }
        sap_field_add(&fields, at, outer, &field);
        sap_step_add(sum, particle[4 * (size_t)mine + 3], at, speed, potential, field);
    }
    for (int k = 0; k < SAP_STEP_SUMS; k++) out[(size_t)run * SAP_STEP_SUMS + k] = sum[k];
}
