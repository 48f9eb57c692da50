/*
 * job_rows.c - copies i-particles into a job and results out of it.
 *
 * A device computes thousands of rows in the time that one thread takes to copy
 * them.  So each row is read only once, and several threads copy large forces.
 * All tests are integer operations, which ignore the floating-point environment.
 */
#include "context/job_rows.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/finite.h"
#include "base/structs.h"
#include "base/team.h"
#include "base/threads.h"

enum { BLOCK = 64 }; /* rows per block: if any row of a block is unusual, all its rows are judged one by one */

/* ---------------------------------------------------------------------- in */

/* Copies n elements of a caller's column, from element `first` on; an absent column becomes zeros. */
static void copy_column(char *to, const sapporo_column *from, int first, int n, size_t size)
{
    to += (size_t)first * size;
    if (!from->base)
        memset(to, 0, (size_t)n * size);
    else if (!from->stride || from->stride == (ptrdiff_t)size)
        memcpy(to, sap_column_at(from, first, size), (size_t)n * size);
    else
        for (int k = 0; k < n; k++) memcpy(to + (size_t)k * size, sap_column_at(from, first + k, size), size);
}

/* Number of rows that a thread takes at a time: a multiple of BLOCK. */
static ptrdiff_t rows_of_each(int rows, int threads)
{
    return (sap_team_chunk(rows, threads, 1) + BLOCK - 1) / BLOCK * BLOCK;
}

/* Whether any of n doubles carries with `add` (base/finite.h). */
static int any_carry(const double *x, size_t n, uint64_t add)
{
    pair even = {0, 0}, odd = {0, 0};
    size_t k = 0;
    for (; k + 4 <= n; k += 4) {
        even |= carries((pair)two_at(x + k), add);
        odd |= carries((pair)two_at(x + k + 2), add);
    }
    for (; k < n; k++) even |= carries(pair_of(x[k], 0), add);
    return carried(even | odd);
}

/* Records an unusual row in *found.  A row that is not finite gets finite values, so that engines can compute it. */
static void judge_row(sapporo_job *j, int i, struct sap_rows_found *found)
{
    double(*const rest[])[3] = {j->v, j->a, j->jerk};
    int bad = any_carry(j->x[i], 3, if_not_finite);
    for (int k = 0; k < 3 && k + 1 < j->vectors; k++) bad |= any_carry(rest[k][i], 3, if_not_finite);
    if (bad) {
        j->bad[i] = 1;
        found->bad++;
        for (int axis = 0; axis < 3; axis++) j->x[i][axis] = SAP_EMPTY_X / 2;
        for (int k = 0; k < 3 && k + 1 < j->vectors; k++) memset(rest[k][i], 0, sizeof rest[k][i]);
        return;
    }
    if (!any_carry(j->x[i], 3, if_wide)) return;
    found->wide = 1;
    for (int k = 0; k < 3; k++) found->far |= fabs(j->x[i][k]) >= SAP_FAR;
}

/* Records in *found whether any of n squared radii is not zero, and whether any is negative or not finite. */
static void judge_h2(const double *h2, int n, struct sap_rows_found *found)
{
    pair any = {0, 0};
    int k = 0;
    for (; k + 2 <= n; k += 2) any |= (pair)two_at(h2 + k);
    if (k < n) any |= pair_of(h2[k], 0);
    found->near = (any[0] | any[1]) != 0;
    found->odd = carried(any) || any_carry(h2, (size_t)n, if_not_finite);
}

/* Multiplies copied rows, which may be unordinary, to the units of the job; by_mass: h2 is per mass. */
static void scale_block(sapporo_job *j, int first, int n, int by_mass)
{
    const struct sap_units *const u = &j->units;
    double(*const rows[])[3] = {j->x, j->v, j->a, j->jerk};
    for (int k = 0; k < j->vectors; k++) sap_scale_given(rows[k][first], 3 * (size_t)n, sap_units_derivative(u, k));
    sap_scale_given(j->h2 + first, (size_t)n, sap_units_square(u) - (by_mass ? u->mass : 0));
}

/* Copies rows first .. first + n - 1, n <= BLOCK, and judges them. */
static void copy_block(sapporo_job *j, const sapporo_request *r, int first, int n, struct sap_rows_found *found)
{
    copy_column((char *)j->x, &r->x, first, n, sizeof j->x[0]);
    double(*const rest[])[3] = {j->v, j->a, j->jerk};
    const sapporo_column *const from[] = {&r->v, &r->a, &r->jerk};
    int strange = 0;
    for (int k = 0; k < 3 && k + 1 < j->vectors; k++) {
        copy_column((char *)rest[k], from[k], first, n, sizeof rest[k][0]);
        strange |= any_carry(rest[k][first], 3 * (size_t)n, if_not_finite);
    }
    copy_column((char *)j->index, &r->index, first, n, sizeof j->index[0]);
    memset(j->bad + first, 0, (size_t)n);
    if (r->h2.base) {
        copy_column((char *)j->h2, &r->h2, first, n, sizeof j->h2[0]);
        judge_h2(j->h2 + first, n, found);
    } else {
        memset(j->h2 + first, 0, (size_t)n * sizeof *j->h2);
    }
    if (!sap_units_are_plain(&j->units)) scale_block(j, first, n, j->h2_by_mass);
    if (!any_carry(j->x[first], 3 * (size_t)n, if_wide) && !strange) return;
    for (int i = first; i < first + n; i++) judge_row(j, i, found);
}

/* Copies rows from .. to-1. */
static struct sap_rows_found copy_rows(sapporo_job *j, const sapporo_request *r, int from, int to)
{
    struct sap_rows_found all = {0};
    for (int first = from; first < to; first += BLOCK) {
        struct sap_rows_found found = {0};
        copy_block(j, r, first, to - first < BLOCK ? to - first : BLOCK, &found);
        all.bad += found.bad;
        all.wide |= found.wide;
        all.far |= found.far;
        all.near |= found.near;
        all.odd |= found.odd;
    }
    return all;
}

/* Arguments of copy_range, which several threads run, and what they found. */
struct row_copy {
    sapporo_job *job;
    const sapporo_request *request;
    atomic_int bad, wide, far, near, odd;
};

static void copy_range(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct row_copy *const c = argument;
    const struct sap_rows_found found = copy_rows(c->job, c->request, (int)from, (int)to);
    if (found.bad) atomic_fetch_add(&c->bad, found.bad);
    if (found.wide) atomic_store(&c->wide, 1);
    if (found.far) atomic_store(&c->far, 1);
    if (found.near) atomic_store(&c->near, 1);
    if (found.odd) atomic_store(&c->odd, 1);
}

struct sap_rows_found sap_rows_copy(sapporo_job *j, const sapporo_request *r)
{
    const int ni = r->ni, threads = sap_threads_for_rows(ni);
    struct sap_rows_found all;
    if (threads == 1) {
        all = copy_rows(j, r, 0, ni);
    } else {
        struct row_copy c = {.job = j, .request = r};
        sap_team_for(threads, ni, rows_of_each(ni, threads), copy_range, &c);
        all = (struct sap_rows_found){.bad = c.bad, .wide = c.wide, .far = c.far, .near = c.near, .odd = c.odd};
    }
    all.odd |= all.bad > 0;
    return all;
}

/* --------------------------------------------------------------------- out */

static void write_bad_row(const sapporo_result *r, int i)
{
    for (int k = 0; k < 3; k++) {
        if (r->acc) r->acc[i][k] = NAN;
        if (r->jerk) r->jerk[i][k] = NAN;
        if (r->snap) r->snap[i][k] = NAN;
        if (r->crackle) r->crackle[i][k] = NAN;
    }
    if (r->pot) r->pot[i] = NAN;
    if (r->nearest) r->nearest[i] = -1;
    if (r->nearest_r2) r->nearest_r2[i] = NAN;
    if (r->count) r->count[i] = -1;
}

void sap_rows_write_failed(int ni, const sapporo_result *r)
{
    if (r->memory != SAPPORO_MEMORY_HOST) return;
    for (int i = 0; i < ni; i++) write_bad_row(r, i);
}

int sap_result_copy(sapporo_result *r, const sapporo_result *given)
{
    const size_t pointer = sizeof(void *);
    memset(r, 0, sizeof *r);
    if (!given || given->size < sizeof given->size || given->size > SAP_STRUCT_MOST) return SAPPORO_ERR_ARGUMENT;
    const size_t known = given->size < sizeof *r ? given->size : sizeof *r;
    memcpy(r, given, known / pointer * pointer); /* only whole pointers */
    for (size_t k = sizeof *r; k < given->size; k++)
        if (((const unsigned char *)given)[k] != 0) return SAPPORO_ERR_UNSUPPORTED;
    return SAPPORO_OK;
}

/* Copies three columns of sums of n rows with any strides; returns their carries.  to NULL: only the carries. */
static pair write_three(double (*to)[3], const double *from, ptrdiff_t row, ptrdiff_t column, int n)
{
    pair carry = {0, 0};
    for (int i = 0; i < n; i++, from += row)
        for (int k = 0; k < 3; k++) {
            const pair one = pair_of(from[k * column], 0);
            carry |= carries(one, if_not_finite);
            if (to) memcpy(&to[i][k], &one, sizeof to[i][k]);
        }
    return carry;
}

/* Like write_three for contiguous rows (row stride 1): two rows at a time. */
static pair write_columns(double (*to)[3], const double *from, ptrdiff_t column, int n)
{
    pair carry = {0, 0};
    int i = 0;
    for (; i + 2 <= n; i += 2) {
        const two x = two_at(from + i), y = two_at(from + column + i), z = two_at(from + 2 * column + i);
        carry |= carries((pair)x, if_not_finite) | carries((pair)y, if_not_finite) | carries((pair)z, if_not_finite);
        put_two(&to[i][0], sap_two_of(x, 0, y, 0));
        put_two(&to[i][2], sap_two_of(z, 0, x, 1));
        put_two(&to[i + 1][1], sap_two_of(y, 1, z, 1));
    }
    return carry | write_three(to + i, from + i, 1, column, n - i);
}

/* Copies n potentials; returns their carries.  to NULL: only the carries. */
static pair write_pot(double *to, const double *from, ptrdiff_t row, int n)
{
    pair carry = {0, 0};
    int i = 0;
    for (; row == 1 && i + 2 <= n; i += 2) {
        const two x = two_at(from + i);
        carry |= carries((pair)x, if_not_finite);
        if (to) put_two(to + i, x);
    }
    for (; i < n; i++) {
        const pair one = pair_of(from[i * row], 0);
        carry |= carries(one, if_not_finite);
        if (to) memcpy(to + i, &one, sizeof to[i]);
    }
    return carry;
}

/* Whether results of a job are its sums as they are. */
static int are_plain(const sapporo_job *j)
{
    return sap_units_are_plain(&j->units) && j->context->settings.gravity == 1;
}

/* Returns sum q as the caller gets it. */
static double unscaled(const sapporo_job *j, int q, double sum)
{
    sap_scale_sums(&sum, 1, -sap_units_sum(&j->units, q), j->context->settings.gravity);
    return sum;
}

/* Returns the first of some rows with a result that is not finite, or -1. */
static int first_not_finite(const sapporo_job *j, int from, int to, const struct sap_force_output *out)
{
    for (int i = from; i < to; i++)
        for (int q = 0; q < 1 + 3 * j->vectors && !j->bad[i]; q++) {
            const double result = unscaled(j, q, out->sum[i * out->sum_row + q * out->sum_column]);
            if (any_carry(&result, 1, if_not_finite)) return i;
        }
    return -1;
}

/* Divides n numbers by units and multiplies them by the gravitational constant; returns whether any is not finite. */
static int unscale(double *x, size_t n, int exponent, double gravity)
{
    sap_scale_sums(x, n, -exponent, gravity);
    return any_carry(x, n, if_not_finite);
}

/* The same for results that were written to the caller. */
static int unscale_block(const sapporo_job *j, int first, int n, const sapporo_result *r)
{
    const struct sap_units *const u = &j->units;
    const double gravity = j->context->settings.gravity;
    double(*const rows[])[3] = {r->acc, r->jerk, r->snap, r->crackle};
    int unusual = r->pot && unscale(r->pot + first, (size_t)n, sap_units_potential(u), gravity);
    for (int k = 0; k < j->vectors; k++)
        unusual |= rows[k] && unscale(rows[k][first], 3 * (size_t)n, sap_units_field(u, k), gravity);
    if (r->nearest_r2) sap_scale(r->nearest_r2 + first, (size_t)n, -sap_units_square(u));
    return unusual;
}

/* What may be found in rows that are written: bits of write_block. */
enum { NOT_FINITE = 1, FAINT = 2 };

/* Returns FAINT if some of n potentials lie between 0 and `faint`, in size. */
static int any_faint(const double *pot, ptrdiff_t row, int n, double faint)
{
    int some = 0;
    for (int i = 0; i < n; i++) some |= (fabs(pot[i * row]) < faint) & (pot[i * row] != 0);
    return some ? FAINT : 0;
}

/* Writes rows first .. first + n - 1; returns what it finds. */
static int write_block(const sapporo_job *j, int first, int n, const sapporo_result *r,
                       const struct sap_force_output *out)
{
    const ptrdiff_t row = out->sum_row, column = out->sum_column;
    const double *const from = out->sum + first * row;
    pair carry = write_pot(r->pot ? r->pot + first : NULL, from, row, n);
    double(*const rows[])[3] = {r->acc, r->jerk, r->snap, r->crackle};
    for (int q = 0; q < j->vectors; q++) {
        double(*const to)[3] = rows[q];
        const double *const three = from + (1 + 3 * q) * column;
        carry |= to && row == 1 ? write_columns(to + first, three, column, n)
                                : write_three(to ? to + first : NULL, three, row, column, n);
    }
    if (r->nearest) memcpy(r->nearest + first, out->nearest + first, (size_t)n * sizeof *r->nearest);
    if (r->nearest_r2) memcpy(r->nearest_r2 + first, out->nearest_r2 + first, (size_t)n * sizeof *r->nearest_r2);
    const int unusual = !are_plain(j) && unscale_block(j, first, n, r);
    if (j->nbad > 0)
        for (int i = first; i < first + n; i++)
            if (j->bad[i]) write_bad_row(r, i);
    const int faint = j->faint > 0 ? any_faint(from, row, n, j->faint) : 0;
    return (carried(carry) || unusual ? NOT_FINITE : 0) | faint;
}

static int write_rows(const sapporo_job *j, int from, int to, const sapporo_result *r,
                      const struct sap_force_output *out)
{
    int found = 0;
    for (int first = from; first < to; first += BLOCK)
        found |= write_block(j, first, to - first < BLOCK ? to - first : BLOCK, r, out);
    return found;
}

/* Arguments of write_range, which several threads run on rows from `first` on. */
struct writing {
    const sapporo_job *job;
    const sapporo_result *result;
    const struct sap_force_output *out;
    int first;
    atomic_int found;
};

static void write_range(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct writing *const w = argument;
    const int found = write_rows(w->job, w->first + (int)from, w->first + (int)to, w->result, w->out);
    if (found) atomic_fetch_or(&w->found, found);
}

/* Returns the first of some rows whose good i-particle has a faint potential, or -1. */
static int first_faint(const sapporo_job *j, int from, int to, const struct sap_force_output *out)
{
    for (int i = from; i < to; i++)
        if (!j->bad[i] && any_faint(out->sum + i * out->sum_row, 1, 1, j->faint)) return i;
    return -1;
}

struct sap_rows_written sap_rows_write(const sapporo_job *j, int from, int to, const sapporo_result *r,
                                       const struct sap_force_output *out)
{
    const int threads = sap_threads_for_rows(to - from);
    struct writing w = {j, r, out, from, 0};
    if (threads == 1)
        w.found = write_rows(j, from, to, r, out);
    else
        sap_team_for(threads, to - from, rows_of_each(to - from, threads), write_range, &w);
    const int found = w.found;
    return (struct sap_rows_written){.not_finite = found & NOT_FINITE ? first_not_finite(j, from, to, out) : -1,
                                     .faint = found & FAINT ? first_faint(j, from, to, out) : -1};
}
