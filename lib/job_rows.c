/*
 * job_rows.c - the rows of a force on their way in and out.
 *
 * A device computes thousands of rows in the time that one thread takes to copy
 * them, so rows are looked at once, and many of them by a few threads.  Tests
 * are integer ones: the caller's floating-point environment does not matter.
 */
#include "job_rows.h"

#include <math.h>
#include <string.h>

#include "finite.h"
#include "threads.h"

enum { BLOCK = 64 }; /* rows that are looked at one by one if any of them is unusual */

/* ---------------------------------------------------------------------- in */

static const char *at(const sapporo_column *column, int k, size_t size)
{
    const ptrdiff_t stride = column->stride ? column->stride : (ptrdiff_t)size;
    return (const char *)column->base + k * stride;
}

static void copy_column(char *to, const sapporo_column *from, int first, int n, size_t size)
{
    to += (size_t)first * size;
    if (!from->base)
        memset(to, 0, (size_t)n * size);
    else if (!from->stride || from->stride == (ptrdiff_t)size)
        memcpy(to, at(from, first, size), (size_t)n * size);
    else
        for (int k = 0; k < n; k++) memcpy(to + (size_t)k * size, at(from, first + k, size), size);
}

/* Whether any of n doubles carries. */
static int any_carry(const double *x, size_t n, uint64_t add)
{
    uint64_t carry = 0;
    for (size_t k = 0; k < n; k++) {
        uint64_t bits;
        memcpy(&bits, &x[k], sizeof bits);
        carry |= (bits & exponent) + add;
    }
    return (int)(carry >> 63);
}

static void judge_row(sapporo_job *j, int i, struct sap_rows_found *found)
{
    if (any_carry(j->x[i], 3, if_not_finite) || any_carry(j->v[i], 3, if_not_finite)) {
        j->bad[i] = 1;
        found->bad++;
        for (int k = 0; k < 3; k++) j->x[i][k] = SAP_EMPTY_X / 2, j->v[i][k] = 0;
        return;
    }
    if (!any_carry(j->x[i], 3, if_wide)) return;
    found->wide = 1;
    for (int k = 0; k < 3; k++) found->far |= fabs(j->x[i][k]) >= SAP_FAR;
}

static void copy_block(sapporo_job *j, const sapporo_request *r, int first, int n, struct sap_rows_found *found)
{
    copy_column((char *)j->x, &r->x, first, n, sizeof j->x[0]);
    copy_column((char *)j->v, &r->v, first, n, sizeof j->v[0]);
    copy_column((char *)j->index, &r->index, first, n, sizeof j->index[0]);
    if (r->h2.base) copy_column((char *)j->h2, &r->h2, first, n, sizeof j->h2[0]);
    memset(j->bad + first, 0, (size_t)n);
    if (!any_carry(j->x[first], 3 * (size_t)n, if_wide) && !any_carry(j->v[first], 3 * (size_t)n, if_not_finite))
        return;
    for (int i = first; i < first + n; i++) judge_row(j, i, found);
}

struct sap_rows_found sap_rows_copy(sapporo_job *j, const sapporo_request *r)
{
    const int ni = r->ni, threads = sap_threads_for_rows(ni);
    int bad = 0, wide = 0, far = 0;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1) reduction(+ : bad) reduction(| : wide, far)
    for (int first = 0; first < ni; first += BLOCK) {
        struct sap_rows_found found = {0, 0, 0};
        copy_block(j, r, first, ni - first < BLOCK ? ni - first : BLOCK, &found);
        bad += found.bad;
        wide |= found.wide;
        far |= found.far;
    }
    (void)threads;
    return (struct sap_rows_found){bad, wide, far};
}

/* --------------------------------------------------------------------- out */

static void write_bad_row(const sapporo_result *r, int i)
{
    for (int k = 0; k < 3; k++) {
        if (r->acc) r->acc[i][k] = NAN;
        if (r->jerk) r->jerk[i][k] = NAN;
    }
    if (r->pot) r->pot[i] = NAN;
    if (r->nearest) r->nearest[i] = -1;
    if (r->nearest_r2) r->nearest_r2[i] = NAN;
}

void sap_rows_write_failed(int ni, const sapporo_result *r)
{
    for (int i = 0; i < ni; i++) write_bad_row(r, i);
}

/* Three columns of sums; returns their carries. */
static uint64_t write_three(double (*to)[3], const double *from, ptrdiff_t row, ptrdiff_t column, int n)
{
    uint64_t carry = 0;
    for (int i = 0; i < n; i++, from += row)
        for (int k = 0; k < 3; k++) {
            uint64_t bits;
            memcpy(&bits, &from[k * column], sizeof bits);
            carry |= (bits & exponent) + if_not_finite;
            if (to) memcpy(&to[i][k], &bits, sizeof bits);
        }
    return carry;
}

/* Rows first .. first + n - 1; returns whether any sum is not finite. */
static int write_block(const sapporo_job *j, int first, int n, const sapporo_result *r,
                       const struct sap_force_output *out)
{
    const ptrdiff_t row = out->sum_row, column = out->sum_column;
    const double *const from = out->sum + first * row;
    uint64_t carry = 0;
    for (int i = 0; i < n; i++) {
        const double pot = from[i * row];
        carry |= any_carry(&pot, 1, if_not_finite) ? ~UINT64_C(0) : 0;
        if (r->pot) r->pot[first + i] = pot;
    }
    carry |= write_three(r->acc ? r->acc + first : NULL, from + column, row, column, n);
    carry |= write_three(r->jerk ? r->jerk + first : NULL, from + 4 * column, row, column, n);
    if (r->nearest) memcpy(r->nearest + first, out->nearest + first, (size_t)n * sizeof *r->nearest);
    if (r->nearest_r2) memcpy(r->nearest_r2 + first, out->nearest_r2 + first, (size_t)n * sizeof *r->nearest_r2);
    if (j->nbad > 0)
        for (int i = first; i < first + n; i++)
            if (j->bad[i]) write_bad_row(r, i);
    return (int)(carry >> 63);
}

static int first_not_finite(const sapporo_job *j, int from, int to, const struct sap_force_output *out)
{
    for (int i = from; i < to; i++)
        for (int q = 0; q < 7 && !j->bad[i]; q++)
            if (any_carry(&out->sum[i * out->sum_row + q * out->sum_column], 1, if_not_finite)) return i;
    return -1;
}

int sap_rows_write(const sapporo_job *j, int from, int to, const sapporo_result *r, const struct sap_force_output *out)
{
    const int threads = sap_threads_for_rows(to - from);
    int unusual = 0;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1) reduction(| : unusual)
    for (int first = from; first < to; first += BLOCK)
        unusual |= write_block(j, first, to - first < BLOCK ? to - first : BLOCK, r, out);
    (void)threads;
    return unusual ? first_not_finite(j, from, to, out) : -1;
}
