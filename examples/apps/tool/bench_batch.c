/*
 * bench_batch.c - sapporo_force_batch as a tree code calls it: many lists of sources, each on some tens of targets.
 */
#include "bench.h"
#include "util.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STARS = 65536, STEP = 3 };

struct batch_case {
    const bench_case *what;
    sapporo *context;
    model cluster;
    targets stars;
    double *mass;
    int *address; /* addresses of all lists, one after the other, as a tree code has them */
    sapporo_small_force *list;
    sapporo_result *result;
    double (*acc)[3], *pot;
};

batch_case *batch_new(const bench_case *what, sapporo *context)
{
    batch_case *on = allocate(1, sizeof *on);
    const size_t n = (size_t)what->nlists, rows = n * (size_t)what->ni;
    on->what = what;
    on->context = context;
    const int stars = STARS > what->nj ? STARS : what->nj;
    on->cluster = model_plummer(stars);
    on->stars = model_targets(&on->cluster, 1, 0.0);
    on->mass = allocate((size_t)stars, sizeof *on->mass);
    on->address = allocate(n * (size_t)what->nj, sizeof *on->address);
    on->list = allocate(n, sizeof *on->list);
    on->result = allocate(n, sizeof *on->result);
    on->acc = allocate(rows, sizeof *on->acc);
    on->pot = allocate(rows, sizeof *on->pot);
    for (int k = 0; k < stars; k++) on->mass[k] = on->cluster.particle[k].mass;
    for (int k = 0; k < what->nlists; k++) {
        sapporo_small_force *l = &on->list[k];
        *l = (sapporo_small_force){.size = sizeof *l, .ni = what->ni, .nj = what->nj, .eps2 = BENCH_EPS2};
        l->x.base = on->stars.x + (long)k * what->ni % (stars - what->ni + 1);
        if (what->sources == BENCH_OWN) {
            const long first = (long)k * 7919 % (stars - what->nj + 1);
            l->x_j.base = on->stars.x + first;
            l->mass_j.base = on->mass + first;
        } else {
            int *const address = on->address + (size_t)k * (size_t)what->nj;
            for (int j = 0; j < what->nj; j++) address[j] = (int)((k * 7919L + j) * STEP % stars);
            l->address = address;
        }
        on->result[k] = (sapporo_result){.size = sizeof on->result[k],
                                         .acc = on->acc + (size_t)k * (size_t)what->ni,
                                         .pot = on->pot + (size_t)k * (size_t)what->ni};
    }
    return on;
}

void batch_free(batch_case *on)
{
    model_free(&on->cluster);
    targets_free(&on->stars);
    free(on->mass);
    free(on->address);
    free(on->list);
    free(on->result);
    free(on->acc);
    free(on->pot);
    free(on);
}

int batch_load(const batch_case *on)
{
    const sapporo_particles all = {
        .size = sizeof all, .derivative = {{on->stars.x, 0}}, .mass = {on->mass, 0}, .index = {on->stars.index, 0}};
    const int status = sapporo_set_particles(on->context, 0, on->cluster.n, &all);
    if (status != SAPPORO_OK || on->what->sources != BENCH_KEPT) return status;
    return sapporo_keep_addresses(on->context, on->address, (size_t)on->what->nlists * (size_t)on->what->nj);
}

int batch_compute(const batch_case *on)
{
    return sapporo_force_batch(on->context, on->what->nlists, on->list, on->result);
}

double batch_error(const batch_case *on)
{
    double worst = 0.0;
    for (int k = 0; k < on->what->nlists; k += on->what->nlists / 8 + 1) {
        const sapporo_small_force *l = &on->list[k];
        const double *x = l->x.base;
        double acc[3] = {0}, off = 0.0, size = 0.0;
        for (int j = 0; j < l->nj; j++) {
            const double *from = l->address != NULL ? on->stars.x[l->address[j]] : (const double *)l->x_j.base + 3L * j;
            const double r[3] = {from[0] - x[0], from[1] - x[1], from[2] - x[2]};
            const double r2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + l->eps2;
            for (int c = 0; c < 3; c++) acc[c] += r[c] / (r2 * sqrt(r2)) / on->cluster.n;
        }
        for (int c = 0; c < 3; c++) {
            off += (on->result[k].acc[0][c] - acc[c]) * (on->result[k].acc[0][c] - acc[c]);
            size += acc[c] * acc[c];
        }
        const double error = sqrt(off / size);
        if (!(error <= worst)) worst = isfinite(error) ? error : INFINITY;
    }
    return worst;
}
