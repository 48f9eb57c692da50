/*
 * cpu_batch_more.c - lists of batches with second moments, a floor of the distance, or counts of neighbours in double
 * (cpu_sse/kernel_more.h), with the same bits on every path and in every precision.  In single precision cpu_batch.c
 * computes most lists with a floor or counts, but for rows that need more digits.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/finite.h"
#include "base/structs.h"
#include "cpu/cpu_engine.h"
#include "engine/small_forces.h"

enum { LANES = SAP_MORE_LANES, COLUMNS = 13 }; /* x, y, z, mass, eps2, h2, six moments, floor2 */

static int reserve(struct sap_more_memory *m, int nj)
{
    const size_t room = ((size_t)nj + LANES - 1) / LANES * LANES;
    if (room <= m->room) return SAPPORO_OK;
    free(m->column);
    m->column = aligned_alloc(64, room * COLUMNS * sizeof *m->column);
    m->room = m->column ? room : 0;
    return m->room ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
}

/* Reads source k of a list into its place in the columns; `room` elements per column. */
static void load(const struct sap_jstore *host, const sapporo_small_force *l, int k, double *to, size_t room)
{
    const int at = l->address ? l->address[k] : k; /* of the columns that the list gives with addresses, too */
    double x[3], moments[6] = {0};
    if (l->address) {
        const struct sap_segment *s = sap_jstore_segment(host, at);
        const unsigned in = (unsigned)at % SAP_SEGMENT;
        const double *const from = s->derivative[0] + sap_jstore_offset(in);
        for (int c = 0; c < 3; c++) x[c] = from[(ptrdiff_t)c * SAP_CPU_LANES];
        to[3 * room] = s->mass[in];
        to[4 * room] = s->eps2 ? s->eps2[in] : 0;
    } else {
        memcpy(x, sap_column_at(&l->x_j, k, sizeof x), sizeof x);
        to[3 * room] = sap_column_double(&l->mass_j, k);
        to[4 * room] = sap_column_double(&l->eps2_j, k);
    }
    for (int c = 0; c < 3; c++) to[(size_t)c * room] = x[c];
    to[5 * room] = sap_column_double(&l->h2_j, at);
    to[12 * room] = sap_column_double(&l->floor2_j, at);
    if (l->quad_j.base) memcpy(moments, sap_column_at(&l->quad_j, at, sizeof moments), sizeof moments);
    for (size_t q = 0; q < 6; q++) to[(6 + q) * room] = moments[q];
}

/* Fills the last vector with harmless sources. */
static void fill_up(double *column, size_t room, int n)
{
    for (int k = n; k % LANES; k++) {
        for (size_t c = 0; c < COLUMNS; c++) column[c * room + (size_t)k] = 0;
        for (size_t c = 0; c < 3; c++) column[c * room + (size_t)k] = SAP_EMPTY_X;
    }
}

int sap_cpu_more_load(struct sap_more_memory *memory, const struct sap_jstore *host, const sapporo_small_force *l)
{
    const int status = reserve(memory, l->nj > 0 ? l->nj : 1);
    if (status) return status;
    double *const column = memory->column;
    const size_t room = memory->room;
    for (int k = 0; k < l->nj; k++) load(host, l, k, column + k, room);
    fill_up(column, room, l->nj);
    memory->args = (struct sap_more_args){.n = l->nj,
                                          .x = {column, column + room, column + 2 * room},
                                          .mass = column + 3 * room,
                                          .eps2 = column + 4 * room,
                                          .h2 = column + 5 * room,
                                          .floor2 = column + 12 * room};
    for (size_t q = 0; q < 6 && l->quad_j.base; q++) memory->args.quad[q] = column + (6 + q) * room;
    return SAPPORO_OK;
}

int sap_cpu_more_row(const struct sap_more_memory *memory, const struct sap_kernel *kernel,
                     const sapporo_small_force *l, int i, const sapporo_result *r)
{
    struct sap_more_target t = {.eps2 = l->eps2 + sap_column_double(&l->eps2_i, i),
                                .h2 = sap_column_double(&l->h2_i, i),
                                .floor2 = sap_small_floor2(l, i)};
    double sum[4] = {NAN, NAN, NAN, NAN};
    int count = -1;
    memcpy(t.x, sap_column_at(&l->x, i, sizeof t.x), sizeof t.x);
    const int good = finite_place(t.x);
    if (good) kernel->more(&memory->args, &t, sum, &count);
    if (r->pot) r->pot[i] = sum[0];
    for (int c = 0; c < 3 && r->acc; c++) r->acc[i][c] = sum[1 + c];
    if (r->count) r->count[i] = count;
    return good;
}

int sap_cpu_batch_more(struct sap_more_memory *memory, const struct sap_kernel *kernel, const struct sap_jstore *host,
                       const sapporo_small_force *l, const sapporo_result *r)
{
    const int status = sap_cpu_more_load(memory, host, l);
    int bad = 0;
    if (status) return status;
    for (int i = 0; i < l->ni; i++) bad += !sap_cpu_more_row(memory, kernel, l, i, r);
    return bad ? SAPPORO_PARTIAL : SAPPORO_OK;
}
