/* gpu_batch.h - batches of small forces on accelerators. */
#ifndef SAP_GPU_BATCH_H
#define SAP_GPU_BATCH_H

#include <stdatomic.h>
#include <stddef.h>

#include "device/gpu_layout.h"
#include "driver/driver.h"
#include "engine/jstore.h"
#include "engine/small_forces.h"
#include "gpu/gpu_memory.h"

struct sap_gpu_store;

struct sap_gpu_places;

/* Implement the entries of struct sap_engine and of its batches in flight. */
int sap_gpu_batch(struct sap_gpu_store *store, const struct sap_jstore *host, const struct sap_batch *batch);
int sap_gpu_batch_begin(struct sap_gpu_store *store, const struct sap_jstore *host, const struct sap_batch *batch,
                        struct sap_gpu_places **flight);
int sap_gpu_batch_done(const struct sap_gpu_places *flight);
int sap_gpu_batch_end(struct sap_gpu_places *flight);
void sap_gpu_batch_drop(struct sap_gpu_places *flight);

/* ---- between gpu_batch.c, which cuts a call into slabs, and gpu_batch_rows.c, which fills and reads them ---- */

/* Some targets of an interaction list, and the positions of the targets and their sources in a slab. */
struct sap_batch_spot {
    int list, from, n;
    int row, item, longs, source, record;
    int bad; /* 1: some targets are not finite; set while the slab is filled */
};

/* What is found while a slab is filled; flags of all of its spots. */
enum {
    SAP_BATCH_BAD = 1,   /* some targets are not finite */
    SAP_BATCH_ZERO = 2,  /* some targets have no softening */
    SAP_BATCH_FAULTY = 4 /* some address holds no particle */
};

/* What the threads that fill a slab share; alone in its cache line, because all of them write it. */
struct sap_batch_filling {
    _Alignas(64) atomic_int units; /* of 64 bytes that lists have taken of the section of addresses */
    atomic_int found;
};

/* A slab, and the memory that later slabs reuse. */
struct sap_gpu_place {
    int device;
    struct sap_stream *stream; /* its own, or, where streams work in turn, that of the device's first slab */
    struct sap_event *done;
    struct sap_gpu_buffer host, input, out, record, marks;
    struct sap_batch_spot *spot;
    int spots, room;
    int under_way;
    int items, longs, rows, sources, records; /* of the slab so far */
    int units;    /* of 64 bytes of addresses: at most so many when it is planned; those taken when it is filled */
    int found;    /* when it is filled: as of struct sap_batch_filling */
    size_t bytes; /* of its input, approximately */
    unsigned char *bad; /* [rows] behind the input in `host`: 1: this target is not finite; set in bad spots only */
    struct sap_gpu_batch layout;
};

/* Work of the threads in a step: numbers of the slabs to fill and to write out (-1: none), or the end of the call. */
struct sap_batch_step {
    int fill, write, over;
};

/* Columns by address of a batch that asks for more than monopoles: squared radii, second moments, floors. */
struct sap_batch_columns {
    sapporo_column h2, quad, floor2;
    int differ; /* lists name different columns */
    int words;  /* doubles per address on the device; 0: no list has such columns */
};

/* The call, as all slabs see it. */
struct sap_batch_work {
    struct sap_gpu_store *store;
    struct sap_gpu_places *all; /* the slabs of the batch */
    const struct sap_jstore *host;
    const struct sap_batch *m;
    int rows;     /* rows per item */
    int soft;     /* some source has softening of its own */
    int resident; /* sources by address are read from the device's store */
    int in_order; /* every superpacket in the store lies in the slot of its own number */
    int kept;     /* the addresses that the caller keeps are on the device */
    int low;      /* positions have a low word */
    int sums;     /* columns of results */
    int floats;   /* of a batch that asks for more than monopoles: list_float computes it, list_more what that leaves */
    struct sap_batch_columns columns;
    size_t target_bytes, source_bytes;
    double bytes;                 /* of all input, approximately */
    int list, from;               /* the next list, and the next target of it */
    int planned, started, waited; /* counts of slabs */
    int status;                   /* status of the driver */
    int partial;                  /* some target is not finite */
    int faulty;                   /* some address holds no particle */
    int leave;                    /* return once all slabs have started */
};

/* Returns how many superpackets of a list are summed apart.  Lists that ask for more than monopoles are summed whole.
 */
static inline int sap_batch_superpackets(const struct sap_batch_work *w, const sapporo_small_force *l)
{
    if (w->m->more) return 1;
    return l->nj > SAP_GPU_SUPERPACKET ? (l->nj + SAP_GPU_SUPERPACKET - 1) / SAP_GPU_SUPERPACKET : 1;
}

/* Returns whether the device reads the sources of this list by address, too. */
static inline int sap_batch_by_address(const struct sap_batch_work *w, const sapporo_small_force *l)
{
    return l->address && w->resident;
}

/* Returns whether the device has the addresses of this list already. */
static inline int sap_batch_kept(const struct sap_batch_work *w, const sapporo_small_force *l)
{
    return w->kept && sap_is_kept(&w->m->kept, l);
}

/* Units of 64 bytes that n addresses of so many bytes each take. */
static inline int sap_batch_units(int n, size_t bytes) { return (int)(((size_t)n * bytes + 63) / 64); }

/*
 * Fills the pinned memory of a slab with the targets and sources of the spots from .. to - 1, SAP_BATCH_RUN at most;
 * writes a spot's rows to the caller's results.
 */
enum { SAP_BATCH_RUN = 16 };
void sap_batch_fill(const struct sap_batch_work *w, struct sap_gpu_place *p, struct sap_batch_filling *f, int from,
                    int to);
void sap_batch_write(const struct sap_batch_work *w, const struct sap_gpu_place *p, const struct sap_batch_spot *s);

/* ---- batches that ask for more than monopoles (gpu_batch_more.c) ---- */

/* Plans a batch: the sizes of its rows, and whether sources by address are read from the device's store. */
void sap_batch_more_plan(struct sap_batch_work *w);

/* Returns how many addresses need a row of w->columns on the device; writes the rows of addresses below n. */
size_t sap_batch_more_addresses(const struct sap_batch_work *w);
void sap_batch_more_columns(const struct sap_batch_work *w, size_t n, double *to);

/* Fill the targets and the own sources of a spot, the former with a return of the spot's flags. */
int sap_batch_more_targets(const struct sap_batch_spot *s, const sapporo_small_force *given, double *to,
                           unsigned char *bad);
void sap_batch_more_sources(const struct sap_batch_work *w, const sapporo_small_force *given, double *to);

/* Returns what the sources of a list have: SAP_GPU_ASKS_... */
int sap_batch_more_asks(const sapporo_small_force *given);

/* Writes the rows of a spot to the caller's results. */
void sap_batch_more_write(const struct sap_gpu_place *p, const struct sap_batch_spot *s, const sapporo_result *given);

#endif
