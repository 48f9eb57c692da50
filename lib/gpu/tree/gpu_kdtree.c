/*
 * gpu_kdtree.c - kd-trees of accelerators: particles come from the device, nodes are built on the host by the builder
 * that the CPU engine has, and go to the device, where the kernels of octrees compute moments and walk.
 */
#include <stdlib.h>

#include "base/threads.h"
#include "engine/kdtree.h"
#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_tree.h"

/* Host memory of a kd-tree. */
struct sap_gpu_kd {
    struct sap_kd_builder builder;
    struct sap_tree_nodes made;
    double (*particle)[4];      /* [room] copies of the device's particles, by address */
    int *number;                /* [number_room] addresses of sorted particles, or levels of nodes */
    struct sap_tree_link *link; /* [number_room] */
    int number_room;
};

int sap_gpu_kd_new(struct sap_gpu_host_tree *t)
{
    struct sap_gpu_kd *const kd = calloc(1, sizeof *kd);
    t->kd = kd;
    if (!kd) return SAP_DRIVER_MEMORY;
    kd->particle = malloc(((size_t)t->room + 1) * sizeof *kd->particle);
    return kd->particle && !sap_kd_reserve(&kd->builder, t->room) ? SAP_DRIVER_OK : SAP_DRIVER_MEMORY;
}

void sap_gpu_kd_free(struct sap_gpu_host_tree *t)
{
    struct sap_gpu_kd *const kd = t->kd;
    if (!kd) return;
    sap_kd_free(&kd->builder);
    free(kd->made.node);
    free(kd->particle);
    free(kd->number);
    free(kd->link);
    free(kd);
    t->kd = NULL;
}

size_t sap_gpu_kd_bytes(const struct sap_tree_settings *settings, int n)
{
    const size_t nodes = (size_t)n / 2, each = sizeof(struct sap_tree_node) + sizeof(struct sap_tree_link) +
                                               sizeof(struct sap_kd_node) + sizeof(int);
    if (settings->kind != SAPPORO_TREE_KDTREE) return 0;
    return sizeof(struct sap_gpu_kd) + sap_kd_bytes(n) + ((size_t)n + 1) * 4 * sizeof(double) + nodes * each;
}

const struct sap_tree_nodes *sap_gpu_kd_nodes(const struct sap_gpu_host_tree *t) { return &t->kd->made; }

/* Makes room for the copies that _send makes. */
static int reserve_copies(struct sap_gpu_host_tree *t)
{
    struct sap_gpu_kd *const kd = t->kd;
    const int nodes = kd->made.nodes, need = nodes > t->given ? nodes : t->given;
    if (need <= kd->number_room) return SAP_DRIVER_OK;
    free(kd->number);
    free(kd->link);
    kd->number = sap_tree_host_memory(t, (size_t)need, sizeof *kd->number);
    kd->link = kd->number ? sap_tree_host_memory(t, (size_t)need, sizeof *kd->link) : NULL;
    kd->number_room = kd->link ? need : 0;
    return kd->link ? SAP_DRIVER_OK : SAP_DRIVER_MEMORY;
}

int sap_gpu_kd_make(struct sap_gpu_host_tree *t, const double *low, const double *high, double mass_unit)
{
    enum { A_THREAD = 16384 }; /* particles that are worth waking a thread */
    struct sap_gpu_kd *const kd = t->kd;
    const struct sap_kd_input in = {.n = t->given,
                                    .x = kd->particle[0],
                                    .mass = kd->particle[0] + 3,
                                    .x_stride = 4,
                                    .mass_stride = 4,
                                    .mass_unit = mass_unit,
                                    .low = low,
                                    .high = high,
                                    .leaf_size = t->settings.leaf_size,
                                    .levels = t->settings.walk == SAPPORO_WALK_STACKLESS ? 1 : 3};
    TRY(t->driver->copy_out(t->stream, kd->particle, t->particle.mem, 0, (size_t)in.n * sizeof *kd->particle));
    TRY(t->driver->stream_finish(t->stream));
    if (sap_kd_build(&kd->builder, &in, &kd->made, sap_threads_up_to(1 + in.n / A_THREAD))) {
        t->host_full = 1;
        return SAP_DRIVER_MEMORY;
    }
    return reserve_copies(t);
}

int sap_gpu_kd_send_order(struct sap_gpu_host_tree *t, const struct sap_gpu_buffer *to)
{
    const struct sap_gpu_kd *const kd = t->kd;
    for (int k = 0; k < t->given; k++) kd->number[k] = kd->builder.point[k].address;
    TRY(t->driver->copy_in(t->stream, to->mem, 0, kd->number, (size_t)t->given * sizeof *kd->number));
    return t->driver->stream_finish(t->stream);
}

int sap_gpu_kd_send_nodes(struct sap_gpu_host_tree *t)
{
    const struct sap_gpu_kd *const kd = t->kd;
    const size_t nodes = (size_t)kd->made.nodes;
    for (size_t k = 0; k < nodes; k++) {
        const struct sap_tree_node *const node = &kd->made.node[k];
        kd->link[k] = (struct sap_tree_link){node->first, node->count, node->child, node->children};
        kd->number[k] = node->level;
    }
    TRY(t->driver->copy_in(t->stream, t->node.mem, 0, kd->link, nodes * sizeof *kd->link));
    TRY(t->driver->copy_in(t->stream, t->node_level.mem, 0, kd->number, nodes * sizeof *kd->number));
    return t->driver->stream_finish(t->stream);
}
