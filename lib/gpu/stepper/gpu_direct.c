/*
 * gpu_direct.c - direct sums of order 2 for a stepper: the force kernels of contexts read the stepper's particles in
 * device memory and leave their sums there.
 */
#include "gpu/stepper/gpu_direct.h"

#include <stdlib.h>

#include "device/gpu_layout.h"
#include "engine/tree_ops.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_engine.h"
#include "gpu/gpu_force.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_shape.h"
#include "gpu/gpu_store.h"
#include "gpu/stepper/gpu_stepper.h"

enum { SUPER = SAP_GPU_SUPERPACKET, SUMS = 4 /* potential, acceleration */ };

struct sap_gpu_direct {
    /* lends predicted records, memory and launch parameters to the force kernels; it never holds j-particles */
    struct sap_gpu_store *store;
    struct sap_gpu_part none;  /* results stay on the device */
    struct sap_gpu_buffer out; /* columns of sums */
};

int sap_gpu_direct_able(const struct sap_device_set *opaque_set)
{
    const struct sap_gpu_set *const set = (const void *)opaque_set;
    return set->n == 1 && set->has_fp64 && set->order == 2;
}

size_t sap_gpu_direct_bytes(int n)
{
    enum { RECORDS = 80 << 20 };
    const size_t size = (size_t)n, records = size / SUPER * size * SUMS * sizeof(double);
    const size_t predicted = 64, sums = 2 * SUMS * sizeof(double);
    return size * (sizeof(struct sap_gpu_i) + predicted + sums) + (records < RECORDS ? records : RECORDS);
}

int sap_gpu_direct_open(struct sap_gpu_stepper *s, struct sap_device_set *devices)
{
    static const struct sap_tree_settings never_built = {.kind = SAPPORO_TREE_OCTREE, .leaf_size = 1, .group_size = 1};
    struct sap_tree *tree = NULL;
    s->direct = calloc(1, sizeof *s->direct);
    if (!s->direct) return SAPPORO_ERR_MEMORY;
    const int status = sap_tree_gpu.create(devices, &never_built, s->room, &tree);
    s->t = (void *)tree;
    if (status) return status;
    s->direct->store = sap_gpu_store_new(s->t->set, NULL);
    if (!s->direct->store) return SAPPORO_ERR_MEMORY;
    s->direct->store->share[0].stream = s->t->stream;
    s->direct->store->share[0].valid = 1;
    return SAPPORO_OK;
}

void sap_gpu_direct_close(struct sap_gpu_stepper *s)
{
    if (!s->direct) return;
    if (s->direct->store) {
        s->direct->store->share[0].stream = NULL; /* the stream belongs to the tree */
        sap_gpu_store_free(s->direct->store);
    }
    if (s->t) sap_gpu_free(s->t->driver, &s->direct->out);
    if (s->t) sap_tree_gpu.destroy((void *)s->t);
    free(s->direct);
}

/* Makes the records of all particles with mass at their predicted positions. */
static int pack_sources(struct sap_gpu_stepper *s, struct sap_gpu_share *h, int superpackets)
{
    const int n = s->order.massive;
    const unsigned groups[2] = {(unsigned)superpackets * (SUPER / 256), 1};
    TRY(sap_tree_reserve(s->t, &h->predicted, (size_t)superpackets * SUPER * s->t->set->working));
    const struct sap_argument a[] = {MEM(s->t->particle), MEM(h->predicted), VALUE(n), VALUE(superpackets)};
    return sap_gpu_launch(h->stream, s->t->driver, h->device->kernels->pack, groups, 256, 0, a, COUNT(a));
}

static int list_targets(struct sap_gpu_stepper *s, struct sap_gpu_share *h, int active)
{
    const int has_active = active < s->n;
    const double eps2 = s->settings.eps2;
    TRY(sap_tree_reserve(s->t, &h->i, (size_t)active * sizeof(struct sap_gpu_i)));
    const struct sap_argument a[] = {MEM(s->t->particle), MEM(s->t->active), MEM(h->i),
                                     VALUE(eps2),         VALUE(has_active), VALUE(active)};
    return sap_stepper_for_each(s, s->f->targets, active, a, COUNT(a));
}

/* Launches the force kernels slab by slab. */
static int sum_slabs(struct sap_gpu_slab *slab, struct sap_mem *out, int active, int all)
{
    slab->mode = sap_gpu_self_mode(slab, active, all);
    const int rows = sap_gpu_slab_rows(slab, active);
    TRY(sap_gpu_reserve_records(slab, rows));
    slab->f.room_i = rows;
    for (int first = 0; first < active; first += rows) {
        slab->f.first_i = first;
        slab->f.ni = active - first < rows ? active - first : rows;
        slab->shape = sap_gpu_shape_of(slab, slab->f.ni);
        TRY(sap_gpu_launch_force(slab));
        TRY(sap_gpu_launch_sums(slab, out, &slab->f));
    }
    return SAP_DRIVER_OK;
}

static int give_results(struct sap_gpu_stepper *s, int active)
{
    struct sap_gpu_host_tree *const t = s->t;
    const struct sap_argument a[] = {MEM(s->direct->out), MEM(t->acc), MEM(t->pot), VALUE(active)};
    t->picked = 0;
    return sap_stepper_for_each(s, s->f->results, active, a, COUNT(a));
}

int sap_gpu_direct_force(struct sap_gpu_stepper *s, int active)
{
    struct sap_gpu_direct *const d = s->direct;
    struct sap_gpu_share *const h = &d->store->share[0];
    const struct sap_gpu_set *const set = s->t->set;
    const int nj = s->order.massive, superpackets = (nj + SUPER - 1) / SUPER;
    struct sap_gpu_slab slab = {.store = d->store, .share = h, .part = &d->none};
    TRY(pack_sources(s, h, superpackets));
    TRY(list_targets(s, h, active));
    TRY(sap_tree_reserve(s->t, &d->out, (size_t)active * SUMS * sizeof(double)));
    TRY(sap_tree_reserve(s->t, &s->t->acc, (size_t)active * 3 * sizeof(double)));
    TRY(sap_tree_reserve(s->t, &s->t->pot, (size_t)active * sizeof(double)));
    h->nj = nj;
    slab.i = h->i.mem;
    slab.f = (struct sap_gpu_force){.eps2 = s->settings.eps2,
                                    .nj = nj,
                                    .superpackets = superpackets,
                                    .columns = set->columns,
                                    .units = set->units,
                                    .skip_own = 1,
                                    .out_rows = active,
                                    .sums = set->sums};
    TRY(sum_slabs(&slab, d->out.mem, active, active == s->n));
    return give_results(s, active);
}
