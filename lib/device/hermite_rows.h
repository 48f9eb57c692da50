/*
 * hermite_rows.h - one particle of a Hermite scheme: how it is predicted, becomes a target, is corrected and stored as
 * a source.
 */
#ifndef SAP_DEVICE_HERMITE_ROWS_H
#define SAP_DEVICE_HERMITE_ROWS_H

#include "dialect.h"

#include "device/gpu_layout.h"
#include "device/hermite_layout.h"
#include "physics/hermite.h"

enum { MOST = SAP_HERMITE_GIVEN, KEPT = SAP_HERMITE_KEPT };

SAP_INLINE int slot_of_row(const struct sap_hermite_force *f, const GLOBAL int *active, int k)
{
    return f->has_active ? active[k] : k;
}

/* Returns the particle of a slot. */
SAP_INLINE int address_of(const struct sap_stepper_order *order, const GLOBAL int *address, int slot)
{
    return order->has_order ? address[slot] : slot;
}

/* Loads axis c of the derivatives of particle i. */
SAP_INLINE void load_axis(int kept, const GLOBAL D *x, const GLOBAL D *v, const GLOBAL D *a, const GLOBAL D *higher,
                          size_t i, int c, D *d)
{
    const GLOBAL D *more = higher + 3 * (size_t)(kept - 3) * i + c;
    d[0] = x[3 * i + c];
    d[1] = v[3 * i + c];
    d[2] = a[3 * i + c];
#pragma unroll
    for (int k = 3; k < kept; k++) d[k] = more[3 * (k - 3)];
}

/* Returns derivative k of a particle as the j-store keeps it: order 4 keeps acc/2, jerk/6, snap/18. */
SAP_INLINE D kept_as(int order, int k, D d)
{
    if (order > 4 || k < 2) return d;
    return k == 2 ? d / 2.0 : k == 3 ? d / 6.0 : d / 18.0;
}

/* Stores a derivative of a particle as a source. */
SAP_INLINE void store_derivative(GLOBAL D *store, const struct sap_hermite_force *f, const struct sap_hermite_units *u,
                                 int slot, int k, int c, D d)
{
    GLOBAL D *at =
        store + (size_t)(slot / SAP_GPU_SUPERPACKET) * (f->columns * SAP_GPU_SUPERPACKET) + slot % SAP_GPU_SUPERPACKET;
    at[SAP_GPU_COLUMN(k, c) * SAP_GPU_SUPERPACKET] = kept_as(f->order, k, d) * u->derivative[k];
}

SAP_INLINE void store_number(GLOBAL D *store, const struct sap_hermite_force *f, int slot, int column, D d)
{
    store[(size_t)(slot / SAP_GPU_SUPERPACKET) * (f->columns * SAP_GPU_SUPERPACKET) + column * SAP_GPU_SUPERPACKET +
          slot % SAP_GPU_SUPERPACKET] = d;
}

/* Stores the index of a source, which is its slot, and its place. */
SAP_INLINE void store_tags(GLOBAL D *store, const struct sap_hermite_force *f, int slot)
{
    GLOBAL int *tags =
        (GLOBAL int *)(store + (size_t)(slot / SAP_GPU_SUPERPACKET) * (f->columns * SAP_GPU_SUPERPACKET) +
                       SAP_GPU_TAGS * SAP_GPU_SUPERPACKET);
    tags[slot % SAP_GPU_SUPERPACKET] = slot;
    tags[SAP_GPU_SUPERPACKET + slot % SAP_GPU_SUPERPACKET] = slot + 1;
}

/* Predicts a particle to the end of the step, and beyond it by s->ahead. */
SAP_INLINE void predict_particle(int given, const GLOBAL D *x, const GLOBAL D *v, const GLOBAL D *a,
                                 const GLOBAL D *higher, const GLOBAL int *level, size_t i, const struct sap_step *s,
                                 int done, D (*to)[MOST])
{
    const D dt = sap_hermite_end(s) - sap_hermite_own(s, level[i], done);
#pragma unroll
    for (int c = 0; c < 3; c++) {
        D d[KEPT];
        load_axis(SAP_HERMITE_KEPT_OF(2 * given), x, v, a, higher, i, c, d);
        sap_hermite_predict(given, d, dt, to[c]);
    }
}

/* Writes an active particle as an i-particle. */
SAP_INLINE void write_target(int given, D (*d)[MOST], int index, D eps2, const struct sap_hermite_units *u,
                             GLOBAL struct sap_gpu_i *to)
{
    struct sap_gpu_i unit;
    for (int c = 0; c < 3; c++) {
        unit.x[c] = d[c][0] * u->derivative[0];
        unit.v[c] = d[c][1] * u->derivative[1];
    }
    unit.h2 = 0.0;
    unit.index = index;
    unit.reach = 0.0F;
    to[0] = unit;
    if (given == 2) return;
    for (int c = 0; c < 3; c++) {
        unit.x[c] = d[c][2] * u->derivative[2];
        unit.v[c] = given > 3 ? d[c][3] * u->derivative[3] : 0.0;
    }
    unit.h2 = eps2;
    unit.index = 0;
    to[1] = unit;
}

/* Loads the derivatives up to `given` of a row, by axis; the others are 0. */
SAP_INLINE void load_row(int given, const GLOBAL D *row, D (*d)[MOST])
{
    for (int c = 0; c < 3; c++)
        for (int m = 0; m < MOST; m++) d[c][m] = m < given ? row[3 * m + c] : 0.0;
}

/* Sums of a force: column 0 is the potential, then three for each derivative of the acceleration. */
SAP_INLINE D sum_of(const GLOBAL D *sum, const struct sap_hermite_force *f, const struct sap_hermite_units *u, int m,
                    int c, int k)
{
    return sum[(size_t)(1 + 3 * m + c) * f->rows + k] * u->field[m];
}

/*
 * The force on an active particle, by axis: sums of pairs, and the fields at its predicted place, or, in iterations, at
 * that of `row`, the particle after the correction before.
 */
SAP_INLINE void force_of(int given, const GLOBAL D *x, const GLOBAL D *v, const GLOBAL D *a, const GLOBAL D *higher,
                         const GLOBAL int *level, size_t i, const GLOBAL D *sum, const struct sap_hermite_force *f,
                         const struct sap_hermite_units *u, const struct sap_step *s,
                         const struct sap_field_list *fields, int k, const GLOBAL D *row, D (*now)[MOST])
{
    for (int c = 0; c < 3; c++)
        for (int m = 0; m < given; m++) now[c][m] = sum_of(sum, f, u, m, c, k);
    if (fields->n == 0) return;
    D d[3][MOST], outer[3][MOST];
    for (int c = 0; c < 3; c++)
        for (int m = 0; m < MOST; m++) outer[c][m] = 0.0;
    if (f->again)
        load_row(given, row, d);
    else
        predict_particle(given, x, v, a, higher, level, i, s, f->done, d);
    sap_field_add_series(fields, given, d, outer);
    for (int c = 0; c < 3; c++)
        for (int m = 0; m < given; m++) now[c][m] += outer[c][m];
}

/* Returns 0 if a number is finite, else NaN. */
SAP_INLINE D not_finite(D x) { return x - x; }

/*
 * Corrects axis c of a particle; `after` has all that it keeps, one vector after the other.  Adds NaN to *wrong if it
 * is not finite.
 */
SAP_INLINE void correct_axis(int given, const GLOBAL D *x, const GLOBAL D *v, const GLOBAL D *a, const GLOBAL D *higher,
                             size_t i, int c, const D *now, D dt, GLOBAL D *after, struct sap_hermite_sizes *sizes,
                             D *wrong)
{
    const int kept = SAP_HERMITE_KEPT_OF(2 * given);
    D d[KEPT], to[KEPT];
    load_axis(kept, x, v, a, higher, i, c, d);
    sap_hermite_correct(given, d, now, dt, to);
    sap_hermite_add(given, d, to, sizes);
#pragma unroll
    for (int m = 0; m < kept; m++) {
        *wrong += not_finite(to[m]);
        after[3 * m + c] = to[m];
    }
}

/* Makes one particle after its first force, at the place where it is.  Returns 0 or NaN. */
SAP_INLINE D begin_particle(int given, const GLOBAL D *x, const GLOBAL D *v, size_t i, D (*now)[MOST], GLOBAL D *after)
{
    D wrong = 0.0;
    for (int c = 0; c < 3; c++) {
        after[c] = x[3 * i + c];
        after[3 + c] = v[3 * i + c];
#pragma unroll
        for (int m = 2; m < SAP_HERMITE_KEPT_OF(2 * given); m++) {
            const D d = m < 2 + given ? now[c][m < 2 + given ? m - 2 : 0] : 0.0;
            after[3 * m + c] = d;
            wrong += not_finite(d);
        }
    }
    return wrong;
}

/*
 * The row that a thread makes, the first one that its neighbours make, and its axis; 3: it has all axes.  Beyond the
 * last row a thread makes that one, too, for the sake of its neighbours.
 */
#if SAP_SHUFFLE
SAP_INLINE int first_of_judge(int thread) { return thread / SAP_JUDGE_THREADS * SAP_JUDGE_ROWS; }
SAP_INLINE int row_of_judge(int thread)
{
    return first_of_judge(thread) + min(thread % SAP_JUDGE_THREADS / 3, SAP_JUDGE_ROWS - 1);
}
SAP_INLINE int axis_of_judge(int thread)
{
    const int lane = thread % SAP_JUDGE_THREADS;
    return lane < 3 * SAP_JUDGE_ROWS ? lane % 3 : 1;
}
#else
SAP_INLINE int first_of_judge(int thread) { return thread; }
SAP_INLINE int row_of_judge(int thread) { return thread; }
SAP_INLINE int axis_of_judge(int thread) { return 3; }
#endif

/* What a thread knows of its axes. */
struct judged_axes {
    struct sap_hermite_sizes sizes;
    D wrong; /* 0, or NaN if a number is not finite */
};

/* Adds what the next two threads know of the other axes, if c is not all axes. */
SAP_INLINE void join_axes(int c, struct judged_axes *own)
{
#if SAP_SHUFFLE
    enum { WORDS = sizeof *own / sizeof(D) };
    struct judged_axes next, last;
    lanes_down((const D *)own, (D *)&next, WORDS, 1, 0, 0);
    lanes_down((const D *)own, (D *)&last, WORDS, 2, 0, 0);
    sap_hermite_join(&own->sizes, &next.sizes);
    sap_hermite_join(&own->sizes, &last.sizes);
    own->wrong += next.wrong + last.wrong;
#endif
}

/*
 * Makes the particle of a row after the step, by the threads that have its axes; c: the axis of this one.  Returns its
 * level, -1 in threads that have another axis than the first; *wrong: 0, or NaN if it is not finite.
 */
SAP_INLINE int judge_row(int given, const GLOBAL D *x, const GLOBAL D *v, const GLOBAL D *a, const GLOBAL D *higher,
                         int level, size_t i, int c, D (*now)[MOST], const struct sap_step *s,
                         const struct sap_hermite_rule *rule, D pot, GLOBAL D *after, D *wrong)
{
    if (s->start) {
        if (c % 3 > 0) return -1;
        *wrong = begin_particle(given, x, v, i, now, after);
        return sap_hermite_first(rule, s, sap_hermite_size(now[0][0], now[1][0], now[2][0]),
                                 sap_hermite_size(now[0][1], now[1][1], now[2][1]), pot);
    }
#if SAP_SHUFFLE
    lanes_barrier(); /* in iterations all have read the row that is written now */
#endif
    const D dt = sap_hermite_end(s) - sap_hermite_own(s, level, 0);
    const D acc[3] = {now[0][0], now[1][0], now[2][0]};
    struct judged_axes own;
    own.wrong = 0.0;
    sap_hermite_open(rule, level, dt, acc, &own.sizes);
#pragma unroll
    for (int axis = 0; axis < 3; axis++) {
        D mine[MOST];
        if (c < 3 && axis > 0) continue;
        for (int m = 0; m < given; m++) mine[m] = c == 1 ? now[1][m] : c == 2 ? now[2][m] : now[axis][m];
        correct_axis(given, x, v, a, higher, i, c < 3 ? c : axis, mine, dt, after, &own.sizes, &own.wrong);
    }
    join_axes(c, &own);
    if (c % 3 > 0) return -1;
    *wrong = own.wrong;
    const struct sap_hermite_choice choice = sap_hermite_choose(given, rule, &own.sizes, pot);
    return sap_hermite_level(rule, s, level, &choice, own.sizes.unit);
}

/* Moves word w of a particle after the step, d, to particle i; stored: and to the sources. */
SAP_INLINE void move_word(const struct sap_hermite_force *f, const struct sap_hermite_units *u, GLOBAL D *x,
                          GLOBAL D *v, GLOBAL D *a, GLOBAL D *higher, GLOBAL D *store, int stored, int slot, size_t i,
                          int w, D d)
{
    const int m = w / 3, c = w % 3;
    if (m < 3) {
        GLOBAL D *const to = m == 0 ? x : m == 1 ? v : a;
        to[3 * i + c] = d;
    } else {
        higher[3 * ((size_t)(SAP_HERMITE_KEPT_OF(f->order) - 3) * i + m - 3) + c] = d;
    }
    if (stored && m < SAP_HERMITE_SENT_OF(f->order)) store_derivative(store, f, u, slot, m, c, d);
}

#endif
