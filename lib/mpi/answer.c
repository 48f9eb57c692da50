/* answer.c - merges and rounds the sums of one i-particle (answer.h). */
#include "mpi/answer.h"

#include <math.h>

size_t sap_answer_bytes(const sapporo_mpi *h)
{
    return (size_t)h->sums * sizeof(struct sap_accum) + (h->job->nearest ? sizeof(struct sap_partial_near) : 0);
}

static struct sap_accum *sums_of(double *answer) { return (struct sap_accum *)(void *)answer; }

struct sap_partial_near *sap_answer_near(const sapporo_mpi *h, double *answer)
{
    return (struct sap_partial_near *)(void *)(sums_of(answer) + h->sums);
}

/* 1 if the i-particle is not finite. */
static int is_bad(const struct sap_partial_near *near) { return near->address < 0 && isnan(near->r2); }

/* Keeps the nearer of two neighbours; ties go to the lower address. */
static void merge_near(struct sap_partial_near *into, const struct sap_partial_near *from)
{
    if (is_bad(into) || (from->address < 0 && !is_bad(from))) return;
    if (is_bad(from) || into->address < 0 || from->r2 < into->r2 ||
        (from->r2 == into->r2 && from->address < into->address))
        *into = *from;
}

void sap_answer_merge(const sapporo_mpi *h, double *into, double *from)
{
    for (int q = 0; q < h->sums; q++) sap_accum_merge(sums_of(into) + q, sums_of(from) + q);
    if (h->job->nearest) merge_near(sap_answer_near(h, into), sap_answer_near(h, from));
}

/* Writes the vector of three sums from sum q on, times the gravitational constant, if it is wanted. */
static void write_vector(const sapporo_mpi *h, double *answer, const double *scale, int q, double (*to)[3], int row)
{
    for (int k = 0; k < 3 && to; k++) to[row][k] = sap_accum_round(sums_of(answer) + q + k) * scale[q + k] * h->gravity;
}

void sap_answer_write(const sapporo_mpi *h, double *answer, const double *scale, int row, const sapporo_result *result)
{
    if (result->pot) result->pot[row] = sap_accum_round(sums_of(answer)) * scale[0] * h->gravity;
    write_vector(h, answer, scale, 1, result->acc, row);
    if (h->vectors > 1) write_vector(h, answer, scale, 4, result->jerk, row);
    if (h->vectors > 2) write_vector(h, answer, scale, 7, result->snap, row);
    if (h->vectors > 3) write_vector(h, answer, scale, 10, result->crackle, row);
    if (!h->job->nearest) return;
    const struct sap_partial_near near = *sap_answer_near(h, answer);
    if (result->nearest) result->nearest[row] = near.address < 0 ? -1 : near.index;
    if (result->nearest_r2) result->nearest_r2[row] = near.r2;
}

void sap_answer_write_failed(int first, int n, const sapporo_result *result)
{
    for (int i = first; i < first + n; i++) {
        for (int k = 0; k < 3; k++) {
            if (result->acc) result->acc[i][k] = NAN;
            if (result->jerk) result->jerk[i][k] = NAN;
            if (result->snap) result->snap[i][k] = NAN;
            if (result->crackle) result->crackle[i][k] = NAN;
        }
        if (result->pot) result->pot[i] = NAN;
        if (result->nearest) result->nearest[i] = -1;
        if (result->nearest_r2) result->nearest_r2[i] = NAN;
        if (result->count) result->count[i] = -1;
    }
}
