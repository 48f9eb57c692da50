/*
 * gpu_batch.h - many small forces on accelerators: what gpu_batch.c, which cuts a call into slabs, and
 * gpu_batch_rows.c, which fills them and hands out results, have in common.
 */
#ifndef SAP_GPU_BATCH_H
#define SAP_GPU_BATCH_H

#include "gpu/gpu_engine.h"

/* Some targets of a list, and where they and its sources are in a slab. */
struct sap_batch_spot {
    int list, from, n;
    int row, item, longs, source, record;
    int found; /* what filling it has shown: SAP_BATCH_BAD, SAP_BATCH_ZERO */
};
enum { SAP_BATCH_BAD = 1, SAP_BATCH_ZERO = 2 }; /* some targets are not finite; some have no softening */

/* A slab, and memory that the next ones use again. */
struct sap_gpu_place {
    int device;
    struct sap_stream *stream; /* its own, but for that of the device's first place where streams work in turn */
    struct sap_event *done;
    struct sap_gpu_buffer host, input, out, record;
    struct sap_batch_spot *spot;
    int spots, room;
    int under_way;
    int items, longs, rows, sources, addresses, records; /* of the slab so far */
    struct sap_gpu_batch layout;
};

/* What threads do in a step: numbers of the slabs that are filled and handed out, -1: none; or it is all over. */
struct sap_batch_step {
    int fill, write, over;
};

/* What is asked, for all slabs. */
struct sap_batch_work {
    struct sap_gpu_store *store;
    const struct sap_jstore *host;
    const struct sap_batch *m;
    int rows;     /* of an item */
    int soft;     /* some source has softening of its own */
    int resident; /* sources by address are read from the device's store */
    int in_order; /* there every superpacket is where its number says */
    int kept;     /* addresses that the caller keeps are on the device */
    int low;      /* positions have a second word */
    size_t target_bytes, source_bytes;
    double bytes;                 /* of all input, about */
    int list, from;               /* what comes next */
    int planned, started, waited; /* slabs so far */
    int status;                   /* of the driver */
    int partial;                  /* some target is not finite */
};

static inline int sap_batch_superpackets(const sapporo_small_force *l)
{
    return l->nj > SAP_GPU_SUPERPACKET ? (l->nj + SAP_GPU_SUPERPACKET - 1) / SAP_GPU_SUPERPACKET : 1;
}

/* Whether the sources of a list are addresses for the device, too. */
static inline int sap_batch_by_address(const struct sap_batch_work *w, const sapporo_small_force *l)
{
    return l->address && w->resident;
}

/* Whether the device has them already. */
static inline int sap_batch_kept(const struct sap_batch_work *w, const sapporo_small_force *l)
{
    return w->kept && sap_is_kept(&w->m->kept, l);
}

/* Writes what a spot has in the pinned memory of its slab; its rows into the caller's results. */
void sap_batch_fill(const struct sap_batch_work *w, const struct sap_gpu_place *p, struct sap_batch_spot *s);
void sap_batch_write(const struct sap_batch_work *w, const struct sap_gpu_place *p, const struct sap_batch_spot *s);

#endif
