/*
 * stepper.h - kernels of the stepper: particles on the device are predicted, corrected and summed.
 *
 * x, v and a are three doubles per particle.  Row k of a force belongs to particle active[k], or to particle k if all
 * particles are active (has_active 0).
 */
#include "dialect.h"

#include "device/gpu_layout.h"
#include "device/stepper_layout.h"
#include "physics/step.h"

SAP_INLINE int is_small(D x) { return x <= 1e100 && x >= -1e100; } /* SAP_TREE_LIMIT */

/* Loads three doubles of particle i. */
SAP_INLINE void load_three(const GLOBAL D *from, size_t i, D *to)
{
    for (int c = 0; c < 3; c++) to[c] = from[3 * i + c];
}

/* Finds the first particle whose velocity is not finite; lowers *bad if its number is less. */
KERNEL(SAP_STEPPER_THREADS)
stepper_look(const GLOBAL D *v, GLOBAL int *bad, const int n)
{
    const size_t i = global_id();
    if (i >= (size_t)n) return;
    const D sum = (v[3 * i] - v[3 * i]) + (v[3 * i + 1] - v[3 * i + 1]) + (v[3 * i + 2] - v[3 * i + 2]);
    if (!(sum == 0.0)) (void)atomic_min(&bad[0], (int)i);
}

/* Predicts all particles: positions go to the tree's particles (x, y, z, mass), and sizes of accelerations to sizes. */
KERNEL(SAP_STEPPER_THREADS)
stepper_predict(const GLOBAL D *x, const GLOBAL D *v, const GLOBAL D *a, const GLOBAL int *level, GLOBAL D *particle,
                GLOBAL D *sizes, GLOBAL int *bad, const int has_sizes, const int done, const int n,
                const struct sap_step s)
{
    const size_t i = global_id();
    if (i >= (size_t)n) return;
    D at[3], speed[3], acc[3], middle;
    const D dt = sap_step_span(&s, level[i], done);
    int good = 1;
    load_three(x, i, at);
    load_three(v, i, speed);
    load_three(a, i, acc);
    for (int c = 0; c < 3; c++) {
        const D next = sap_step_predict(at[c], speed[c], acc[c], dt, &middle);
        particle[4 * i + c] = next;
        good = good && is_small(next);
    }
    if (has_sizes) sizes[i] = sap_step_size(acc[0], acc[1], acc[2]);
    if (!good) (void)atomic_min(&bad[0], (int)i);
}

/* Sets flag[i]: whether particle i is active. */
KERNEL(SAP_STEPPER_THREADS)
stepper_flag(const GLOBAL int *level, GLOBAL int *flag, const int coarsest, const int n)
{
    const int i = (int)global_id();
    if (i < n) flag[i] = level[i] >= coarsest ? 1 : 0;
}

/* Writes the active particles as i-particles of order 2 (device/gpu_layout.h), whose indices are their addresses. */
KERNEL(SAP_STEPPER_THREADS)
stepper_targets(const GLOBAL D *particle, const GLOBAL int *active, GLOBAL struct sap_gpu_i *to, const D eps2,
                const int has_active, const int rows)
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
    row.index = i;
    row.reach = 0.0F;
    to[k] = row;
}

/* Copies the sums of order 2, columns of `rows` numbers, to potentials and accelerations of rows. */
KERNEL(SAP_STEPPER_THREADS)
stepper_results(const GLOBAL D *sum, GLOBAL D *row_a, GLOBAL D *row_pot, const int rows)
{
    const size_t k = global_id(), n = rows;
    if (k >= n) return;
    row_pot[k] = sum[k];
    for (int c = 0; c < 3; c++) row_a[3 * k + c] = sum[(1 + c) * n + k];
}

/*
 * Adds the fields to the accelerations of rows, chooses the next levels, and counts the levels in told[1 + level];
 * lowers told[0] to the first particle whose force or next velocity is not finite.
 */
KERNEL(SAP_STEPPER_THREADS)
stepper_judge(const GLOBAL D *particle, const GLOBAL D *v, const GLOBAL D *a, const GLOBAL int *level,
              const GLOBAL int *active, GLOBAL D *row_a, const GLOBAL D *row_pot, GLOBAL int *row_level,
              GLOBAL int *told, const int has_active, const int rows, const struct sap_step s,
              const struct sap_step_rule rule, const struct sap_field_list fields)
{
    SHARED int count[SAP_STEP_LEVELS + 1];
    const int me = (int)local_id(), k = (int)global_id();
    if (me <= SAP_STEP_LEVELS) count[me] = 0;
    group_barrier();
    if (k < rows) {
        const size_t i = has_active ? (size_t)active[k] : (size_t)k;
        D x[3], now[3], before[3], speed[3], outside = 0.0, sum = row_pot[k] - row_pot[k];
        const D dt = s.start ? 0.0 : sap_step_span(&s, level[i], 0);
        for (int c = 0; c < 3; c++) {
            x[c] = particle[4 * i + c];
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
        const int next = sap_step_level(&rule, &s, level[i], now, before);
        row_level[k] = next;
        (void)atomic_add(&count[next], 1);
        if (!(sum == 0.0)) (void)atomic_min(&told[0], (int)i);
    }
    group_barrier();
    if (me < SAP_STEP_LEVELS && count[me] > 0) (void)atomic_add(&told[1 + me], count[me]);
}

/* Moves the active particles to the end of the step. */
KERNEL(SAP_STEPPER_THREADS)
stepper_commit(GLOBAL D *x, GLOBAL D *v, GLOBAL D *a, GLOBAL D *pot, GLOBAL int *level, const GLOBAL int *active,
               const GLOBAL D *row_a, const GLOBAL D *row_pot, const GLOBAL int *row_level, const int has_active,
               const int rows, const struct sap_step s)
{
    const size_t k = global_id();
    if (k >= (size_t)rows) return;
    const size_t i = has_active ? (size_t)active[k] : k;
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

/* Sums a run of particles per thread, in order within the run: out[SAP_STEP_SUMS * run + k]. */
KERNEL(SAP_STEPPER_THREADS)
stepper_sums(const GLOBAL D *x, const GLOBAL D *v, const GLOBAL D *a, const GLOBAL int *level, const GLOBAL D *particle,
             const GLOBAL D *pot, GLOBAL D *out, const int n, const struct sap_step s,
             const struct sap_field_list fields)
{
    const int run = (int)global_id(), first = run * SAP_STEP_RUN;
    if (first >= n) return;
    D sum[SAP_STEP_SUMS];
    for (int k = 0; k < SAP_STEP_SUMS; k++) sum[k] = 0.0;
    for (int i = first; i < n && i < first + SAP_STEP_RUN; i++) {
        const D dt = sap_step_span(&s, level[i], 1);
        D at[3], speed[3], outer[3], field = 0.0;
        for (int c = 0; c < 3; c++) {
            const size_t k = 3 * (size_t)i + c;
            D middle;
            at[c] = sap_step_predict(x[k], v[k], a[k], dt, &middle);
            speed[c] = sap_step_correct(middle, a[k], dt);
            outer[c] = 0.0;
        }
        sap_field_add(&fields, at, outer, &field);
        sap_step_add(sum, particle[4 * (size_t)i + 3], at, speed, pot[i], field);
    }
    for (int k = 0; k < SAP_STEP_SUMS; k++) out[(size_t)run * SAP_STEP_SUMS + k] = sum[k];
}
