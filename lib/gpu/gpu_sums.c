/* gpu_sums.c - sums over predicted records on one device: memory and launches. */
#include "gpu/gpu_sums.h"

#include <string.h>

#include "gpu/gpu_devices.h"
#include "gpu/gpu_direct_launch.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_launch.h"

int sap_gpu_reserve_records(const struct sap_gpu_slab *s, int rows)
{
    const struct sap_driver *d = s->set->driver;
    struct sap_gpu_sums *h = s->sums;
    struct sap_dev *dev = s->device->dev;
    const size_t records = (size_t)s->f.superpackets * (size_t)rows * sizeof(double);
    TRY(sap_gpu_reserve(d, dev, &h->record, records * (size_t)s->f.sums + 1));
    TRY(sap_gpu_reserve(d, dev, &h->near, s->near ? records * 3 : 1));
    TRY(sap_gpu_reserve(d, dev, &h->predicted, 1));
    return sap_gpu_reserve(d, dev, &h->counters, sizeof(struct sap_gpu_counters));
}

int sap_gpu_launch_predict(const struct sap_gpu_set *set, const struct sap_gpu_device *device,
                           struct sap_stream *stream, struct sap_mem *j, const struct sap_gpu_sums *sums,
                           const struct sap_gpu_force *f)
{
    enum { THREADS = 256 };
    const struct sap_gpu_grid grid = {.stream = stream,
                                      .driver = set->driver,
                                      .groups = {(unsigned)f->superpackets * (SAP_GPU_SUPERPACKET / THREADS), 1},
                                      .threads = THREADS,
                                      .early = 1};
    return sap_direct_predict(&grid, device->kernels->predict, j, sums->predicted.mem, *f);
}

int sap_gpu_launch_force(const struct sap_gpu_slab *s)
{
    const struct sap_gpu_sums *const h = s->sums;
    const struct sap_gpu_list_memory *const l = &h->lists;
    const struct sap_gpu_shape *shape = &s->shape;
    const struct sap_gpu_kernels *k = s->device->kernels;
    struct sap_mem *const sums = s->f.lone ? s->out : h->record.mem;
    const unsigned rows = (unsigned)((s->f.ni + shape->rows_per_group - 1) / shape->rows_per_group);
    const unsigned superpackets = (unsigned)s->f.superpackets;
    struct sap_gpu_grid grid = {
        .stream = s->stream, .driver = s->set->driver, .groups = {rows, superpackets}, .early = 1};
    grid.threads = (unsigned)k->geometry.many_threads;
    if (!shape->many) {
        grid.groups[0] = superpackets, grid.groups[1] = rows;
        grid.threads = (unsigned)k->geometry.few_threads;
        grid.shared = sap_gpu_few_shared(s->set, &k->geometry, shape->which);
    }
    return sap_direct_force(&grid, (shape->many ? k->many : k->few)[shape->which][s->mode], s->j, h->predicted.mem,
                            s->i, sums, h->near.mem, l->hit.mem, l->hit_count.mem, h->counters.mem, s->f,
                            shape->rows_per_group);
}

/* Merging two accumulators takes as long as three deposits, so no more lanes are used than keep a unit busy. */
int sap_gpu_sharing_lanes(const struct sap_gpu_slab *s, const struct sap_gpu_force *f)
{
    const struct sap_device_properties *const p = &s->device->properties;
    const long long threads = (long long)p->units * (p->vectors ? 1 : 512);
    int parts = 1;
    while (parts < 32 && parts * 4 <= f->superpackets && (long long)f->ni * f->sums * parts * 2 <= threads) parts *= 2;
    return parts;
}

int sap_gpu_launch_sums(const struct sap_gpu_slab *s, struct sap_mem *out, const struct sap_gpu_force *f)
{
    const int parts = sap_gpu_sharing_lanes(s, f);
    const unsigned rows = (unsigned)(((long long)f->ni * parts + 127) / 128);
    const struct sap_gpu_grid grid = {
        .stream = s->stream, .driver = s->set->driver, .groups = {rows, (unsigned)f->sums}, .threads = 128, .early = 1};
    struct sap_mem *const told = f->first_i + f->ni == f->out_rows ? s->told : NULL;
    return sap_direct_finish_sums(&grid, s->device->kernels->sums, s->sums->record.mem, out, *f, parts,
                                  s->sums->counters.mem, told);
}

int sap_gpu_launch_nearest(const struct sap_gpu_slab *s, struct sap_mem *out)
{
    const struct sap_gpu_kernels *const k = s->device->kernels;
    const struct sap_gpu_grid grid = {.stream = s->stream,
                                      .driver = s->set->driver,
                                      .groups = {(unsigned)(s->f.ni + 31) / 32, 1}, /* 32 rows each */
                                      .threads = k->geometry.nearest};
    return sap_direct_finish_nearest(&grid, k->nearest, s->j, s->sums->near.mem, s->i, out, s->f);
}

void sap_gpu_sums_forget(struct sap_gpu_sums *sums)
{
    sums->valid = sums->slab_ni = 0;
    memset(sums->chosen, 0, sizeof sums->chosen);
}

void sap_gpu_sums_free(const struct sap_driver *driver, struct sap_gpu_sums *s)
{
    struct sap_gpu_list_memory *const l = &s->lists;
    struct sap_gpu_buffer *const all[] = {&s->predicted, &s->record,    &s->near,   &s->i,      &s->counters,
                                          &l->hit,       &l->hit_count, &l->offset, &l->cursor, &l->entry};
    for (int k = 0; k < COUNT(all); k++) sap_gpu_free(driver, all[k]);
}
