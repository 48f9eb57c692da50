/*
 * gpu_engine.h - shared declarations of the host flow for accelerators.
 *
 * One flow over lib/driver/driver.h serves every vendor. gpu_engine.c has the engine tables, gpu_devices.c devices and
 * kernels, gpu_store.c the j-particles, gpu_force.c forces, gpu_input.c the i-particles of a force, gpu_gather.c sums
 * of several devices, gpu_lists.c neighbour lists, gpu_joined.c neighbour lists of several devices, gpu_shape.c launch
 * parameters.
 */
#ifndef SAP_GPU_ENGINE_H
#define SAP_GPU_ENGINE_H

#include "device/gpu_layout.h"
#include "driver/driver.h"
#include "engine/engine.h"

enum {
    SAP_GPU_DEVICES = 64,
    SAP_GPU_SHAPES = 3,
    SAP_GPU_MODES = 10, /* kinds of treatment of pairs: sap_gpu_mode */
    SAP_GPU_CHOSEN = 4, /* chosen shapes that a device remembers */
    SAP_GPU_PARTS = 8,  /* most parts in which the rows of a long force come back */
    SAP_GPU_SIZES = 31  /* classes of forces, by the logarithm of ni */
};

/* i-particles per thread (many-target kernel) or per warp (few-target kernel), by shape; 0: no such shape. */
extern const int sap_gpu_many_ipt[SAP_GPU_SHAPES];
int sap_gpu_few_ipt(int order, int shape);

/* How kernels are cut into groups. CUDA, OpenCL on GPUs and OpenCL on CPUs (properties.vectors) each have one. */
struct sap_gpu_geometry {
    int shapes;                    /* shapes in the tables above that this geometry has kernels for */
    int many_threads, lanes;       /* threads per group; i-particles side by side in a thread */
    int few_threads, few_warps;    /* threads per group; threads that hold i-particles of their own, or warps */
    int few_columns;               /* columns of packet sums that an i-particle needs in shared memory; 0: none */
    int few_at_once;               /* i-particles of a warp that need these columns at a time; 0: all that it holds */
    int staged;                    /* few-target kernels hold a superpacket in shared memory, so they can predict it */
    unsigned stage, nearest, scan; /* threads per group of store_stage, finish_nearest, list_offsets */
};

/* The kernels of one precision on one device. They live as long as the process. */
struct sap_gpu_kernels {
    struct sap_gpu_geometry geometry;
    struct sap_function *predict, *clear, *stage, *sums, *merge, *nearest, *offsets, *fill, *sort;
    struct sap_function *sums_outside, *fill_outside; /* for regular forces */
    struct sap_function *many[SAP_GPU_SHAPES][SAP_GPU_MODES], *few[SAP_GPU_SHAPES][SAP_GPU_MODES]; /* NULL: none */
    struct sap_function *neighbour, *neighbour_put; /* neighbour forces: order 4 on devices with fp64; else NULL */
    /* of order 2: plain, zero, soft (device/batch.h); sums of long interaction lists */
    struct sap_function *batch[3], *longs;
    int many_groups[SAP_GPU_SHAPES];
    /* blocks of a few-target kernel that a unit holds; 0: it cannot run on this device */
    int few_groups[SAP_GPU_SHAPES];
};

/* One device of a context. */
struct sap_gpu_device {
    int number;
    struct sap_dev *dev;
    struct sap_device_properties properties;
    const struct sap_gpu_kernels *kernels;
    int *checked; /* the self-test has passed; kept with the kernels */
};

/* Measured numbers, per precision, that choose launch parameters and the engine. No result depends on them. */
struct sap_gpu_tuning {
    /* cost of a pair in a few-target kernel with most i-particles per warp, relative to a many-target kernel */
    double few_cost;
    double few1_cost;           /* the same, 1 i-particle per warp */
    double fill_cost;           /* cost of filling shared memory with a superpacket, in rows of 1,024 pairs */
    double many1_cost;          /* cost of a pair in a many-target kernel with 1 i-particle per thread, relative to 2 */
    double many4_cost;          /* the same with 4, where there is such a kernel */
    double full_warps;          /* warps that keep a unit busy */
    double cpu_below_nj;        /* j-particles below which the CPU engine is faster */
    double cpu_below_neighbour; /* members of all lists below which the CPU computes a neighbour force faster */
};

struct sap_gpu_set {
    const struct sap_driver *driver;
    int precision, n;
    int order, sums; /* sums: per i-particle */
    int columns;     /* of the j-store */
    int has_fp64; /* all devices: kernels compute in doubles, and write the sums of a single superpacket themselves */
    struct sap_gpu_tuning tuning;
    int units;      /* units of an i-particle in an upload; sap_gpu_units */
    size_t working; /* bytes of a predicted j-particle */
    size_t update;  /* bytes of an update of a j-particle */
    size_t word;    /* bytes of the working type */
    double r2_error, x_error;
    struct sap_gpu_device device[];
};

/* Memory that grows and is reused. */
struct sap_gpu_buffer {
    struct sap_mem *mem;
    void *host; /* pinned memory only */
    size_t bytes;
};

/* Pinned memory for uploads, reused once the device has read it. */
struct sap_gpu_staging {
    struct sap_gpu_buffer buffer;
    int borrowed; /* with sap_gpu_borrow */
    struct sap_event *read;
    int under_way;
};

/* Returns the part of a kernel's name that stands for a mode, by order; NULL: no such mode. */
const char *sap_gpu_mode_name(int order, int mode);

/* Returns the mode of the kernels that serve a request. */
int sap_gpu_mode(const struct sap_gpu_set *set, const struct sap_force_request *request, int near);

/* Returns whether many-target kernels of this shape exist: only some modes hold 4 i-particles per thread (force.h). */
int sap_gpu_has_many(const struct sap_gpu_set *set, int shape, int mode);

/* How a force is cut into blocks. */
struct sap_gpu_shape {
    int many;  /* 1: many-target kernel; 0: few-target kernel */
    int which; /* i-particles per thread or warp: index into the tables above */
    int rows_per_group;
    int fused;
};

/* A chosen shape, and the launch for which it was chosen. */
struct sap_gpu_chosen {
    int ni, superpackets, predicted, mode;
    struct sap_gpu_shape shape;
};

/* A slab: some i-particles of a force on one device, and what the host launches for them. */
struct sap_gpu_slab {
    struct sap_gpu_store *store;
    struct sap_gpu_share *share;
    struct sap_gpu_part *part;
    struct sap_mem *i; /* memory of the i-particles */
    struct sap_gpu_shape shape;
    struct sap_gpu_force f; /* the kernel's argument */
    int near;               /* SAP_EXTRA_NEAREST | SAP_EXTRA_LISTS: extra results that this launch computes */
    int tells;              /* kernels report pairs at zero distance */
    int mode;               /* treatment of pairs, which chooses the kernels */
    int again;              /* 1: launched again for the lists only; all other results are complete */
    int by_mass;            /* h2 is multiplied by the mass of j, where h2 is used */
    int outside;            /* regular force: members of lists leave the sums, which therefore need all candidates */
};

/* Buffer sizes that the lists of a force needed: the estimate for the next force of similar size. */
struct sap_gpu_need {
    int ni, rows;    /* rows of the force; of its slabs; 0: no force yet */
    int units, most; /* units of SAP_GPU_LIST_UNIT entries: of all lists of the force; most of one slab */
    unsigned hits;   /* candidates of a slab */
};

/* The part of a store that one device holds. */
struct sap_gpu_share {
    struct sap_gpu_device *device;
    struct sap_stream *stream;
    struct sap_gpu_buffer j, predicted;
    int room;     /* slots that fit into j */
    int slots;    /* slots that hold a superpacket */
    int cleared;  /* slots, counted from the first, that are initialised */
    int *number;  /* [slots] superpacket in each slot */
    int *slot_of; /* [owned] by superpacket / devices: slot of the superpacket, or -1 */
    int numbers, owned;
    struct sap_gpu_staging update[2];
    int next_update;
    int updates;            /* staged updates that are not yet sent */
    uint64_t serial, batch; /* serial of the next update; serial of the first staged update */
    uint64_t *stamp;        /* by local address: serial of its last update + 1 */
    int stamps;
    int valid; /* the predicted records are valid, for this time and nj: */
    double time;
    int nj;
    struct sap_gpu_buffer record, near, i, counters;
    struct sap_gpu_buffer hit, hit_count, offset, cursor, entry; /* of the lists of a slab under construction */
    int counted; /* the last force with lists has reset its counters, hit_count among them, for the next force */
    struct sap_gpu_need need[SAP_GPU_SIZES];
    struct sap_gpu_chosen chosen[SAP_GPU_CHOSEN]; /* the last choices */
    int next_chosen;
    int slab_ni, slab_superpackets, slab_rows; /* of the last force that was cut into slabs */
    struct sap_gpu_buffer accum;               /* accumulators of a slab for the copy to the first device */
    struct sap_event *sent[2];                 /* recorded when the accumulators have arrived, by gather buffer */
};

/* Gathers the sums of several devices on the first one: one buffer is filled while the other is merged. */
struct sap_gpu_gather {
    enum { SAP_GPU_GATHER_UNKNOWN, SAP_GPU_GATHER_HOST, SAP_GPU_GATHER_COPY, SAP_GPU_GATHER_WRITE } mode;
    unsigned turn;                /* buffer of the next slab: turn % 2 */
    struct sap_gpu_buffer all[2]; /* accumulators of a slab, one block per device */
    struct sap_event *merged[2];  /* recorded when the buffer can be filled again */
    int used[2];                  /* `merged` has been recorded */
};

struct sap_gpu_store {
    struct sap_gpu_set *set;
    struct sap_jstore *host;
    uint64_t seen, cleared; /* versions of the host's copy */
    int terms;              /* highest derivative that is not zero for some particle */
    int lost;               /* the devices' copy cannot be trusted: the next update uploads all particles again */
    int broken;             /* a device is lost: the caller must open the context again */
    int at;                 /* the device that the current call works on */
    int entered;            /* `at` + 1 while the context of that device is current, else 0 */
    struct sap_gpu_gather gather;
    struct sap_gpu_places *places;                 /* of sapporo_force_batch, or NULL */
    struct sap_gpu_neighbour_work *neighbour_work; /* of sapporo_neighbour_force, or NULL */
    struct sap_gpu_host_force *listing;            /* forces whose lists are not complete: their buffers may overflow */
    char words[200];                               /* why the last call failed; "": nothing to add to its status */
    struct sap_gpu_share share[];
};

/* Results of one device, in pinned memory. */
struct sap_gpu_part {
    struct sap_gpu_slab slab;     /* the slab that is being launched */
    struct sap_gpu_buffer i_host; /* i-particles for the upload */
    struct sap_gpu_buffer out;    /* columns of ni doubles: sums, or accumulators; by_row: ni rows of sums */
    int by_row;
    struct sap_gpu_buffer lists;    /* of the nearest: squared distances, then local addresses with indices */
    struct sap_gpu_buffer counters; /* two: counters that the device returns, and their initial values */
    struct sap_event *done;

    /* the first ready_rows[k] rows are complete once ready[k] is recorded */
    struct sap_event *ready[SAP_GPU_PARTS];
    int ready_rows[SAP_GPU_PARTS], parts;

    /* neighbour lists, and the sizes of their buffers at the launch (struct sap_gpu_need) */
    struct sap_gpu_buffer list_entries, list_rows;
    int hit_room, entry_room, list_room, slab_rows;
};

/* Some entries of a neighbour list. */
struct sap_gpu_run {
    const int32_t *at;
    int n;
};

struct sap_gpu_joined_row {
    size_t first;
    int n;
};

/* Neighbour lists of a force, joined from several devices. */
struct sap_gpu_joined {
    int ready; /* the lists are joined */
    int rows;  /* rows that fit */
    size_t room;
    struct sap_gpu_joined_row *row; /* [rows] */
    int32_t *entry;                 /* [room] */
};

struct sap_gpu_host_force {
    struct sap_gpu_set *set;
    struct sap_gpu_store *store;
    struct sap_force_request request;
    int nj, superpackets[SAP_GPU_DEVICES];
    unsigned have;
    int accumulate; /* devices return accumulators */
    int from;       /* number of devices that return sums */
    int gathered;   /* rows of the arrays below that are filled */
    int complete;   /* all rows are complete */
    int failed;     /* sapporo_status of a failure: there are no results */
    int listing;    /* its lists are not complete: it is in the store's list `listing` */
    int no_lists;   /* sapporo_status of a failure of the lists alone */
    struct sap_gpu_host_force *next_listing;
    int room;
    double scale[SAP_GPU_OUT_SUMS];
    double *sum; /* set->sums per row; accum likewise */
    struct sap_accum *accum;
    int32_t *nearest;
    double *nearest_r2;
    struct sap_gpu_joined joined;
    int coincident;
    struct sap_gpu_part part[];
};

/* Trees on accelerators (lib/gpu/tree/gpu_tree.c). */
extern const struct sap_engine sap_engine_cuda, sap_engine_opencl;
extern const struct sap_tree_ops sap_tree_gpu;

/* Translates a driver status to the sapporo_status that a context understands. */
int sap_gpu_status(int driver_status);

/* ---- devices ---- */
int sap_gpu_count(const struct sap_driver *driver, const struct sap_embedded *kernels);
/* most: opens only the first `most` devices; 0: all. */
int sap_gpu_open(const struct sap_driver *driver, const struct sap_embedded *kernels, const struct sap_settings *s,
                 int most, struct sap_gpu_set **set, char *why, size_t room);
void sap_gpu_close(struct sap_gpu_set *set);

/* Marks a device as lost. It cannot be opened again before every context that uses it is closed. */
void sap_gpu_lose(const struct sap_gpu_set *set, const struct sap_gpu_device *device);

/* Unloads the kept kernels that no context uses. Tests that look for leaks call it. */
void sap_gpu_unload_idle(const struct sap_driver *driver);

/* Compares a small force on each device that is new to this process with double precision; a sapporo_status. */
int sap_gpu_selftest(struct sap_gpu_set *set, const struct sap_store_ops *store, const struct sap_force_ops *force,
                     char *why, size_t room);

/* Returns the dynamic shared memory of a few-target kernel: a superpacket, and the packet sums of each warp. */
size_t sap_gpu_few_shared(const struct sap_gpu_set *set, const struct sap_gpu_geometry *g, int which);

/* Returns the units of an i-particle in the upload of a force (physics/gpu_layout.h). */
int sap_gpu_units(const struct sap_gpu_set *set, const struct sap_force_request *request);

/* Synchronise pinned memory before and after kernels that access it (lib/driver/driver.h). */
int sap_gpu_to_device(struct sap_stream *stream, const struct sap_driver *d, struct sap_mem *mem, size_t at,
                      size_t bytes);
int sap_gpu_to_host(struct sap_stream *stream, const struct sap_driver *d, struct sap_mem *mem, size_t at,
                    size_t bytes);

/* ---- memory; driver statuses ---- */

/* Makes a buffer at least `bytes` long. Its contents are lost. On failure it is empty. */
int sap_gpu_reserve(const struct sap_driver *driver, struct sap_dev *dev, struct sap_gpu_buffer *b, size_t bytes);
int sap_gpu_reserve_pinned(const struct sap_driver *driver, struct sap_dev *dev, struct sap_gpu_buffer *b,
                           size_t bytes);
void sap_gpu_free(const struct sap_driver *driver, struct sap_gpu_buffer *b);

/*
 * Lends pinned memory that is kept with the device's kernels and outlives contexts, since allocating it takes long. A
 * context returns it before it closes, once nothing reads it. Returns a driver status.
 */
int sap_gpu_borrow(const struct sap_gpu_set *set, const struct sap_gpu_device *device, struct sap_gpu_buffer *b,
                   size_t bytes);
void sap_gpu_give_back(const struct sap_gpu_set *set, const struct sap_gpu_device *device, struct sap_gpu_buffer *b);

/*
 * Returns in *kept an object that belongs to an open device. The first call creates it with `make`; it is kept and
 * freed with the device's kernels. On failure there is nothing to free. Returns a driver status.
 */
int sap_gpu_keep(const struct sap_gpu_set *set, const struct sap_gpu_device *device,
                 int (*make)(const struct sap_driver *driver, struct sap_dev *dev, int number, void **kept),
                 void (*drop)(const struct sap_driver *driver, void *kept), void **kept);

/* ---- store; driver statuses ---- */

/* Stages the changes that the devices' copies lack. */
int sap_gpu_store_update(struct sap_gpu_store *store);

/* Returns how many slots, counted from the first, may hold addresses below nj. */
int sap_gpu_slots_below(const struct sap_gpu_share *share, int nj);

/* Bytes of a superpacket of the j-store. */
size_t sap_gpu_superpacket_bytes(const struct sap_gpu_store *store);

void sap_gpu_staging_free(const struct sap_gpu_store *store, const struct sap_gpu_share *share,
                          struct sap_gpu_staging *s);

/* Waits until the next staging memory can be written. */
int sap_gpu_staging_ready(const struct sap_gpu_store *store, struct sap_gpu_share *share);

/* Uploads whole superpackets that are new, and removes their addresses from the list of changes. */
int sap_gpu_load(struct sap_gpu_store *store, struct sap_gpu_share *share);
int sap_gpu_store_put(struct sap_gpu_store *store, const struct sap_staged *particles,
                      const double (*rest)[SAP_DERIVATIVES_REST][3], int n); /* a sapporo status */

/* Sends the staged updates, and copies units of i-particles from pinned memory to share->i, in stream order. */
int sap_gpu_store_send(struct sap_gpu_store *store, struct sap_gpu_share *share, const struct sap_gpu_buffer *i,
                       int units);

/* Predicts the j-particles, unless the predicted records are valid already. */
int sap_gpu_store_predict(struct sap_gpu_store *store, struct sap_gpu_share *share, const struct sap_gpu_force *f);

void sap_gpu_store_free(struct sap_gpu_store *store);

/* Translates a failure on device store->at to a sapporo_status, and notes its message and consequences. */
int sap_gpu_judge(struct sap_gpu_store *store, int status);

/* Sets the message of a failure that the driver did not report, unless there is one already; returns status. */
int sap_gpu_refuse(struct sap_gpu_store *store, int status, const char *words);

/* ---- shapes ---- */

/* Fills set->tuning with the measured defaults, then with the numbers that the tuning file has for the first device. */
void sap_gpu_tune(struct sap_gpu_set *set, const struct sap_settings *settings);

struct sap_gpu_shape sap_gpu_choose_shape(const struct sap_gpu_set *set, const struct sap_gpu_device *device, int mode,
                                          int ni, int superpackets, int predicted);

/* Returns the shape of a launch for ni i-particles; remembers choices, since clients tend to repeat sizes. */
struct sap_gpu_shape sap_gpu_shape_of(const struct sap_gpu_slab *s, int ni);

/* Returns the rows of a slab: their records fit into the record buffer, and its last blocks leave few units idle. */
int sap_gpu_slab_rows(const struct sap_gpu_slab *s, int ni);

/* ---- forces; sapporo statuses ---- */
int sap_gpu_begin(struct sap_gpu_store *store, const struct sap_force_request *request,
                  struct sap_gpu_host_force **force);
int sap_gpu_extra(struct sap_gpu_store *store, struct sap_gpu_host_force *force, unsigned extra);
int sap_gpu_done(struct sap_gpu_host_force *force);
int sap_gpu_end(struct sap_gpu_host_force *force, int from, struct sap_force_output *output);
int sap_gpu_list(struct sap_gpu_host_force *force, int i, const int32_t **entries, int *n);
void sap_gpu_drop(struct sap_gpu_host_force *force);

/* ---- batches of small forces (gpu_batch.c) ---- */

/* Implements the entry of struct sap_engine. */
int sap_gpu_batch(struct sap_gpu_store *store, const struct sap_jstore *host, const struct sap_batch *batch);
void sap_gpu_batch_free(struct sap_gpu_store *store);

/* ---- neighbour forces (gpu_neighbour_slabs.c) ---- */

/* Computes neighbour forces (gpu_neighbour.c). Returns SAP_LEFT where the CPU fallback is faster. */
int sap_gpu_neighbour(struct sap_gpu_store *store, const struct sap_neighbour_context *context,
                      const struct sap_neighbour_request *request);

int sap_gpu_neighbour_slabs(struct sap_gpu_store *store, const struct sap_given *given,
                            const struct sap_neighbour_request *l, unsigned char *left);
void sap_gpu_neighbour_free(struct sap_gpu_store *store);

/* ---- parts of a force; driver statuses ---- */

/* Copies i-particles from .. end-1 into pinned memory of the first device, with several threads if there are many. */
void sap_gpu_fill_i(struct sap_gpu_host_force *force, unsigned extra, int from, int end);

/* Uploads the n i-particles of a slab to device k. Slabs come in order from first == 0 on. */
int sap_gpu_bring_i(struct sap_gpu_host_force *force, int k, int first, int n);

/* Returns the pinned memory, readable by device k, that holds the uploaded i-particles. */
const struct sap_gpu_buffer *sap_gpu_pinned_i(const struct sap_gpu_host_force *force, int k);

/* Launches a force again: on device k for its lists, or whole on all devices. Particles must not have changed. */
int sap_gpu_launch_again(struct sap_gpu_host_force *force, int k);
int sap_gpu_launch_all_again(struct sap_gpu_host_force *force);

/* Returns whether members of lists leave the sums. If no radius is positive, there are no members to leave. */
int sap_gpu_outside(const struct sap_force_request *request, unsigned extra);

/* Waits until no work of a store is in flight: work that a failed force started must not outlive its memory. */
void sap_gpu_halt(struct sap_gpu_store *store);

/* Turns a slab's records into accumulators or rounded sums, in rows f->first_i and on of the columns in `out`. */
int sap_gpu_launch_sums(const struct sap_gpu_slab *s, struct sap_mem *out, const struct sap_gpu_force *f);

/* ---- several devices (gpu_gather.c); driver statuses ---- */

/* Returns whether the first device merges the sums of all devices; else the host does. */
int sap_gpu_gathers(struct sap_gpu_store *store);

/* Reserves memory for the accumulators of `rows` rows. */
int sap_gpu_gather_reserve(struct sap_gpu_store *store, int rows);

/* Sends the slab's sums to the first device. The first device must come last; it then merges all sums. */
int sap_gpu_gather_slab(struct sap_gpu_slab *s);

void sap_gpu_gather_free(struct sap_gpu_store *store);

/* ---- neighbour lists: launched with a force, reviewed when the results have arrived ---- */

/*
 * Reserves as much memory as the lists of similar forces needed, after room_i of the slabs is known; a driver status.
 */
int sap_gpu_lists_open(struct sap_gpu_slab *s, int ni);

/* Select the members among a slab's candidates, and sort the lists; driver statuses. */
int sap_gpu_lists_fill(struct sap_gpu_slab *s, int ni);
int sap_gpu_lists_sort(struct sap_gpu_slab *s);

/* Returns the arguments of a slab for the kernels of regular forces. */
struct sap_gpu_outside sap_gpu_outside_of(const struct sap_gpu_slab *s);

/* Launches the copy of the lists and the counters to the host; a driver status. */
int sap_gpu_lists_close(struct sap_gpu_slab *s, int ni);

/* Notes that a force has been launched with lists. */
void sap_gpu_lists_expect(struct sap_gpu_host_force *f);

/* Notes that a force will have no lists, because it failed or because its caller does not need them. */
void sap_gpu_lists_forget(struct sap_gpu_host_force *f);

/* Reviews the lists of a finished force. Launches the force again if a list overflowed; f->listing tells whether. */
void sap_gpu_lists_review(struct sap_gpu_host_force *f);

/* Waits until the lists of a force are complete. */
void sap_gpu_lists_settle(struct sap_gpu_host_force *f);

/* Returns the sorted list that a device found for i-particle i. */
struct sap_gpu_run sap_gpu_list_of(const struct sap_gpu_part *p, int i);

/* Joins the lists of several devices for all rows of a force; a sapporo_status. */
int sap_gpu_join_lists(struct sap_gpu_host_force *f);
struct sap_gpu_run sap_gpu_joined_list(const struct sap_gpu_host_force *f, int i);
void sap_gpu_joined_free(struct sap_gpu_host_force *f);

/* Waits for the lists of all forces of a store. Call it before its particles change. */
void sap_gpu_lists_settle_all(struct sap_gpu_store *store);

#endif
