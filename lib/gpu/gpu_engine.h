/*
 * gpu_engine.h - what the files of the host flow for accelerators share.
 *
 * One flow over lib/driver/driver.h, for every vendor: gpu_engine.c has the tables,
 * gpu_devices.c devices and kernels, gpu_store.c the j side, gpu_force.c
 * forces, gpu_input.c their i-particles, gpu_gather.c sums of several devices,
 * gpu_lists.c neighbour lists, gpu_joined.c those of several devices,
 * gpu_shape.c launch shapes.
 */
#ifndef SAP_GPU_ENGINE_H
#define SAP_GPU_ENGINE_H

#include "device/gpu_layout.h"
#include "driver/driver.h"
#include "engine/engine.h"

enum {
    SAP_GPU_DEVICES = 64,
    SAP_GPU_SHAPES = 3,
    SAP_GPU_MODES = 10, /* what a kernel does with pairs: sap_gpu_mode */
    SAP_GPU_CHOSEN = 4, /* shapes that are remembered */
    SAP_GPU_PARTS = 8,  /* in which rows of a long force come back at most */
    SAP_GPU_SIZES = 31  /* of forces, by the logarithm of ni */
};

/* i-particles that a thread (many) or a warp (few) holds, by shape; 0: no such shape. */
extern const int sap_gpu_many_ipt[SAP_GPU_SHAPES];
int sap_gpu_few_ipt(int order, int shape);

/* How kernels are cut into groups: CUDA's, OpenCL's on GPUs, OpenCL's on CPUs (properties.vectors). */
struct sap_gpu_geometry {
    int shapes;                    /* of force kernels that there may be, of those above */
    int many_threads, lanes;       /* of a group; i-particles side by side in a thread */
    int few_threads, few_warps;    /* of a group; threads that hold i-particles of their own, or warps */
    int few_columns;               /* of packet sums that an i-particle needs in shared memory; 0: it needs no memory */
    int few_at_once;               /* i-particles of a warp that need it at a time; 0: all that it holds */
    int staged;                    /* few-kernels hold a superpacket in shared memory, so they can predict it */
    unsigned stage, nearest, scan; /* threads of store_stage, finish_nearest, list_offsets */
};

/* The kernels of one precision on one device; they live as long as the process. */
struct sap_gpu_kernels {
    struct sap_gpu_geometry geometry;
    struct sap_function *predict, *clear, *stage, *sums, *merge, *nearest, *offsets, *fill, *sort;
    struct sap_function *sums_outside, *fill_outside; /* of forces without the members of lists */
    struct sap_function *many[SAP_GPU_SHAPES][SAP_GPU_MODES], *few[SAP_GPU_SHAPES][SAP_GPU_MODES]; /* NULL: not there */
    struct sap_function *neighbour, *neighbour_put; /* of order 4, devices with fp64: forces from lists; else NULL */
    struct sap_function *batch[3], *longs; /* of order 2: plain, zero, soft (device/batch.h); sums of long lists */
    int many_groups[SAP_GPU_SHAPES];
    int few_groups[SAP_GPU_SHAPES]; /* blocks of a few-kernel that a unit holds; 0: it cannot run here */
};

/* One device of a context. */
struct sap_gpu_device {
    int number;
    struct sap_dev *dev;
    struct sap_device_properties properties;
    const struct sap_gpu_kernels *kernels;
    int *checked; /* whether the self-test has passed; kept with the kernels */
};

/* Numbers that choose launch shapes and the engine, of one precision: none can change a bit (gpu_shape.c). */
struct sap_gpu_tuning {
    double few_cost;     /* of a pair in a few-kernel with most i-particles a warp, against one in a many-kernel */
    double few1_cost;    /* the same, 1 i-particle a warp */
    double fill_cost;    /* of filling shared memory with a superpacket, in rows of 1,024 pairs */
    double many1_cost;   /* of a pair in a many-kernel with 1 i-particle a thread, against 2 */
    double many4_cost;   /* the same with 4, where there is one */
    double full_warps;   /* warps of a unit that keep it busy */
    double cpu_below_nj; /* j-particles below which the CPU engine is faster */
    double cpu_below_neighbour; /* the same, members of lists */
};

struct sap_gpu_set {
    const struct sap_driver *driver;
    int precision, n;
    int order, sums; /* sums: of an i-particle */
    int columns;     /* of the j-store */
    int has_fp64;    /* all devices: kernels know doubles, and write what is alone themselves */
    struct sap_gpu_tuning tuning;
    int units;      /* of an i-particle as it travels; sap_gpu_units */
    size_t working; /* bytes of a predicted j */
    size_t update;  /* bytes of a j-particle on its way */
    size_t word;    /* bytes of the working type */
    double r2_error, x_error;
    struct sap_gpu_device device[];
};

/* Memory that grows and is used again. */
struct sap_gpu_buffer {
    struct sap_mem *mem;
    void *host; /* pinned memory only */
    size_t bytes;
};

/* Pinned memory on its way to a device, used again once the device has read it. */
struct sap_gpu_staging {
    struct sap_gpu_buffer buffer;
    int borrowed; /* with sap_gpu_borrow */
    struct sap_event *read;
    int under_way;
};

/* Names of modes in those of kernels by order; NULL: no more. */
const char *sap_gpu_mode_name(int order, int mode);

/* The mode in which kernels serve a request. */
int sap_gpu_mode(const struct sap_gpu_set *set, const struct sap_force_request *request, int near);

/* Whether there are many-kernels of that shape: not all modes have those that hold 4 i-particles a thread (force.h). */
int sap_gpu_has_many(const struct sap_gpu_set *set, int shape, int mode);

/* How a force is cut into blocks. */
struct sap_gpu_shape {
    int many;  /* else few */
    int which; /* i-particles a thread or warp: place in the tables above */
    int rows_per_group;
    int fused;
};

/* A shape that was chosen, and for what. */
struct sap_gpu_chosen {
    int ni, superpackets, predicted, mode;
    struct sap_gpu_shape shape;
};

/* What is launched on one device for some i-particles of a force. */
struct sap_gpu_slab {
    struct sap_gpu_store *store;
    struct sap_gpu_share *share;
    struct sap_gpu_part *part;
    struct sap_mem *i; /* where the i-particles lie */
    struct sap_gpu_shape shape;
    struct sap_gpu_force f; /* kernel's argument */
    int near;               /* SAP_EXTRA_NEAREST | SAP_EXTRA_LISTS: what is launched brings these */
    int tells;              /* pairs at zero distance are reported */
    int mode;               /* of pairs, which chooses kernels */
    int again;              /* 1: only for its lists, the rest is there */
    int by_mass;            /* h2 is multiplied by the mass of j, where */
    int outside;            /* the members of lists leave the sums, so that these need all candidates */
};

/* What the lists of a force needed, for the next one like it. */
struct sap_gpu_need {
    int ni, rows;    /* of the force; of its slabs; 0: none yet */
    int units, most; /* SAP_GPU_LIST_UNIT entries: of all its lists, of those of a slab */
    unsigned hits;   /* candidates of a slab */
};

/* The part of a store that lies on one device. */
struct sap_gpu_share {
    struct sap_gpu_device *device;
    struct sap_stream *stream;
    struct sap_gpu_buffer j, predicted;
    int room;     /* slots that j has room for */
    int slots;    /* that hold a superpacket */
    int cleared;  /* slots from the first on that are set */
    int *number;  /* [slots] superpacket in the slot */
    int *slot_of; /* [owned] by superpacket / devices: its slot, or -1 */
    int numbers, owned;
    struct sap_gpu_staging update[2];
    int next_update;
    int updates;            /* staged, not yet sent */
    uint64_t serial, batch; /* of the next update, of the first of those staged */
    uint64_t *stamp;        /* by local address: serial of its last update + 1 */
    int stamps;
    int valid; /* predicted records are those of: */
    double time;
    int nj;
    struct sap_gpu_buffer record, near, i, counters;
    struct sap_gpu_buffer hit, hit_count, offset, cursor, entry; /* lists of a slab in the making */
    int counted; /* the last force with lists has left its counters, hit_count among them, as the next one needs them */
    struct sap_gpu_need need[SAP_GPU_SIZES];
    struct sap_gpu_chosen chosen[SAP_GPU_CHOSEN]; /* the last ones */
    int next_chosen;
    int slab_ni, slab_superpackets, slab_rows; /* of the last force that was cut into slabs */
    struct sap_gpu_slab slab;                  /* that is being launched */
    struct sap_gpu_buffer accum;               /* accumulators of a slab on their way to the first device */
    struct sap_event *sent[2];                 /* they are there, by gather's place */
};

/* How several devices' sums meet on the first one: in two places, so that one fills while the other is merged. */
struct sap_gpu_gather {
    enum { SAP_GPU_GATHER_UNKNOWN, SAP_GPU_GATHER_HOST, SAP_GPU_GATHER_COPY, SAP_GPU_GATHER_WRITE } mode;
    unsigned turn;                /* place of the next slab: turn % 2 */
    struct sap_gpu_buffer all[2]; /* accumulators of a slab, one block a device */
    struct sap_event *merged[2];  /* the place can be filled again */
    int used[2];                  /* that has been recorded */
};

struct sap_gpu_store {
    struct sap_gpu_set *set;
    struct sap_jstore *host;
    uint64_t seen, cleared; /* versions of the host's copy */
    int terms;              /* highest derivative of any particle */
    int lost;               /* the devices' copy cannot be trusted: all is sent again */
    int broken;             /* a device is gone: only opening anew helps */
    int at;                 /* the device that is worked on */
    int entered;            /* that device + 1 while its context is current, else 0 */
    struct sap_gpu_gather gather;
    struct sap_gpu_places *places;                 /* of sapporo_force_batch, or NULL */
    struct sap_gpu_neighbour_work *neighbour_work; /* of sapporo_neighbour_force, or NULL */
    struct sap_gpu_host_force *listing;            /* forces whose lists are under way: their room may not suffice */
    char words[200];                               /* why the last call failed; "": nothing to add to its status */
    struct sap_gpu_share share[];
};

/* Results of one device, in pinned memory. */
struct sap_gpu_part {
    struct sap_gpu_buffer i_host; /* i-particles on their way */
    struct sap_gpu_buffer out;    /* columns of ni doubles: sums, or accumulators; by_row: ni rows of sums */
    int by_row;
    struct sap_gpu_buffer lists;    /* of the nearest: squared distances, then local addresses with indices */
    struct sap_gpu_buffer counters; /* two: what comes back, and what they are at first */
    struct sap_event *done;

    /* the first ready_rows[k] rows are complete when ready[k] has come */
    struct sap_event *ready[SAP_GPU_PARTS];
    int ready_rows[SAP_GPU_PARTS], parts;

    /* neighbour lists, and room for them when they were launched (struct sap_gpu_need) */
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

/* Neighbour lists of a force in which several devices have a part. */
struct sap_gpu_joined {
    int ready; /* they have been joined */
    int rows;  /* for which there is room */
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
    int accumulate; /* results come as accumulators */
    int from;       /* so many devices deliver sums */
    int gathered;   /* rows of the arrays below that are filled */
    int complete;   /* everything is */
    int failed;     /* sapporo_status of a failure: there are no results */
    int listing;    /* its lists are under way: it is among those of the store */
    int no_lists;   /* sapporo_status of a failure of them alone */
    struct sap_gpu_host_force *next_listing;
    int room;
    double scale[SAP_GPU_OUT_SUMS];
    double *sum; /* set->sums a row, as of the accumulators */
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

/* The status that a context understands, of a driver's. */
int sap_gpu_status(int driver_status);

/* ---- devices ---- */
int sap_gpu_count(const struct sap_driver *driver, const struct sap_embedded *kernels);
/* most: only the first so many devices; 0: all. */
int sap_gpu_open(const struct sap_driver *driver, const struct sap_embedded *kernels, const struct sap_settings *s,
                 int most, struct sap_gpu_set **set, char *why, size_t room);
void sap_gpu_close(struct sap_gpu_set *set);

/* A call found a device gone: it cannot be opened before all who have it open have closed it. */
void sap_gpu_lose(const struct sap_gpu_set *set, const struct sap_gpu_device *device);

/* Unloads kernels that no context uses, which are kept otherwise: for tests that look for leaks. */
void sap_gpu_unload_idle(const struct sap_driver *driver);

/* A small force on each device that this process has not tested yet, against double precision; a sapporo status. */
int sap_gpu_selftest(struct sap_gpu_set *set, const struct sap_store_ops *store, const struct sap_force_ops *force,
                     char *why, size_t room);

/* Dynamic shared memory of a few-kernel: a superpacket, and packet sums of each warp. */
size_t sap_gpu_few_shared(const struct sap_gpu_set *set, const struct sap_gpu_geometry *g, int which);

/* Units of an i-particle of a force as it travels (physics/gpu_layout.h). */
int sap_gpu_units(const struct sap_gpu_set *set, const struct sap_force_request *request);

/* What pinned memory needs around kernels that touch it (lib/driver/driver.h). */
int sap_gpu_to_device(const struct sap_gpu_share *share, const struct sap_driver *d, struct sap_mem *mem, size_t at,
                      size_t bytes);
int sap_gpu_to_host(const struct sap_gpu_share *share, const struct sap_driver *d, struct sap_mem *mem, size_t at,
                    size_t bytes);

/* ---- memory; driver statuses ---- */

/* Makes a buffer at least so large; what it held is lost.  On failure it is empty. */
int sap_gpu_reserve(const struct sap_driver *driver, struct sap_dev *dev, struct sap_gpu_buffer *b, size_t bytes);
int sap_gpu_reserve_pinned(const struct sap_driver *driver, struct sap_dev *dev, struct sap_gpu_buffer *b,
                           size_t bytes);
void sap_gpu_free(const struct sap_driver *driver, struct sap_gpu_buffer *b);

/*
 * Pinned memory of the device's kernels, which outlives contexts, since allocating it takes long: lent to one of them,
 * which gives it back before it closes, once nothing reads it any more.  A driver status.
 */
int sap_gpu_borrow(const struct sap_gpu_set *set, const struct sap_gpu_device *device, struct sap_gpu_buffer *b,
                   size_t bytes);
void sap_gpu_give_back(const struct sap_gpu_set *set, const struct sap_gpu_device *device, struct sap_gpu_buffer *b);

/*
 * What `make` makes of an open device when it is first asked for, kept with the device's kernels, and dropped with
 * them. On failure there is nothing to drop.  A driver status.
 */
int sap_gpu_keep(const struct sap_gpu_set *set, const struct sap_gpu_device *device,
                 int (*make)(const struct sap_driver *driver, struct sap_dev *dev, int number, void **kept),
                 void (*drop)(const struct sap_driver *driver, void *kept), void **kept);

/* ---- store; driver statuses ---- */

/* Stages what the devices' copies lack. */
int sap_gpu_store_update(struct sap_gpu_store *store);

/* Slots, from the first on, that may hold addresses below nj. */
int sap_gpu_slots_below(const struct sap_gpu_share *share, int nj);

/* Bytes of a superpacket of the j-store. */
size_t sap_gpu_superpacket_bytes(const struct sap_gpu_store *store);

void sap_gpu_staging_free(const struct sap_gpu_store *store, const struct sap_gpu_share *share,
                          struct sap_gpu_staging *s);

/* Waits until the staging memory that comes next can be written. */
int sap_gpu_staging_ready(const struct sap_gpu_store *store, struct sap_gpu_share *share);

/* Sends superpackets that are new as a whole, and takes their changes. */
int sap_gpu_load(struct sap_gpu_store *store, struct sap_gpu_share *share);
int sap_gpu_store_put(struct sap_gpu_store *store, const struct sap_staged *particles,
                      const double (*rest)[SAP_DERIVATIVES_REST][3], int n); /* a sapporo status */

/* Sends what is staged, and copies units of i-particles from pinned memory to share->i, in stream order. */
int sap_gpu_store_send(struct sap_gpu_store *store, struct sap_gpu_share *share, const struct sap_gpu_buffer *i,
                       int units);

/* Makes predicted records valid. */
int sap_gpu_store_predict(struct sap_gpu_store *store, struct sap_gpu_share *share, const struct sap_gpu_force *f);

void sap_gpu_store_free(struct sap_gpu_store *store);

/* Remembers what a failure on the device store->at means for what comes after, and its words; a sapporo_status. */
int sap_gpu_judge(struct sap_gpu_store *store, int status);

/* Gives the words of a failure that is not the driver's, unless there are some; returns status. */
int sap_gpu_refuse(struct sap_gpu_store *store, int status, const char *words);

/* ---- shapes ---- */

/* Fills set->tuning: what was measured on one card, overlaid by the tuning file's numbers for the first device. */
void sap_gpu_tune(struct sap_gpu_set *set, const struct sap_settings *settings);

struct sap_gpu_shape sap_gpu_choose_shape(const struct sap_gpu_set *set, const struct sap_gpu_device *device, int mode,
                                          int ni, int superpackets, int predicted);

/* The shape of a launch for so many i-particles; clients tend to ask for the same again. */
struct sap_gpu_shape sap_gpu_shape_of(const struct sap_gpu_slab *s, int ni);

/* Rows of a slab: their records fit into what is set aside for them, and its last blocks leave few units idle. */
int sap_gpu_slab_rows(const struct sap_gpu_slab *s, int ni);

/* ---- forces; sapporo statuses ---- */
int sap_gpu_begin(struct sap_gpu_store *store, const struct sap_force_request *request,
                  struct sap_gpu_host_force **force);
int sap_gpu_extra(struct sap_gpu_store *store, struct sap_gpu_host_force *force, unsigned extra);
int sap_gpu_done(struct sap_gpu_host_force *force);
int sap_gpu_end(struct sap_gpu_host_force *force, int from, struct sap_force_output *output);
int sap_gpu_list(struct sap_gpu_host_force *force, int i, const int32_t **entries, int *n);
void sap_gpu_drop(struct sap_gpu_host_force *force);

/* ---- many small forces (gpu_batch.c) ---- */

/* As the entry of struct sap_engine. */
int sap_gpu_batch(struct sap_gpu_store *store, const struct sap_jstore *host, const struct sap_batch *batch);
void sap_gpu_batch_free(struct sap_gpu_store *store);

/* ---- forces from lists (gpu_neighbour_slabs.c) ---- */

/* As `batch` of struct sap_engine. */
/* Neighbour forces (gpu_neighbour.c): SAP_LEFT where the fallback is faster. */
int sap_gpu_neighbour(struct sap_gpu_store *store, const struct sap_neighbour_context *context,
                      const struct sap_neighbour_request *request);

int sap_gpu_neighbour_slabs(struct sap_gpu_store *store, const struct sap_given *given,
                            const struct sap_neighbour_request *l, unsigned char *left);
void sap_gpu_neighbour_free(struct sap_gpu_store *store);

/* ---- parts of a force; driver statuses ---- */

/* Copies i-particles from .. end-1 into pinned memory of the first device; by a few threads where there are many. */
void sap_gpu_fill_i(struct sap_gpu_host_force *force, unsigned extra, int from, int end);

/* Brings n of them, a slab, to device k; slabs come in order from first == 0 on. */
int sap_gpu_bring_i(struct sap_gpu_host_force *force, int k, int first, int n);

/* Those that have been brought, in pinned memory that device k can read. */
const struct sap_gpu_buffer *sap_gpu_pinned_i(const struct sap_gpu_host_force *force, int k);

/*
 * Launches a force again, on device k for its lists, or whole on all devices; what they hold must be what they held.
 */
int sap_gpu_launch_again(struct sap_gpu_host_force *force, int k);
int sap_gpu_launch_all_again(struct sap_gpu_host_force *force);

/* Whether the members of its lists leave the sums, and some radius is positive: else there is nobody to leave. */
int sap_gpu_outside(const struct sap_force_request *request, unsigned extra);

/* Waits until nothing of a store is under way: what a force that failed has started must not outlive its memory. */
void sap_gpu_halt(struct sap_gpu_store *store);

/* Launches what makes accumulators or rounded sums of a slab's records, in rows f->first_i and on of columns in `out`.
 */
int sap_gpu_launch_sums(const struct sap_gpu_slab *s, struct sap_mem *out, const struct sap_gpu_force *f);

/* ---- several devices (gpu_gather.c); driver statuses ---- */

/* Whether the first device merges the sums of all; else the host does. */
int sap_gpu_gathers(struct sap_gpu_store *store);

/* Room for the accumulators of so many rows. */
int sap_gpu_gather_reserve(struct sap_gpu_store *store, int rows);

/* The slab's sums go to the first device; its own, which must come last, are merged with those of all others. */
int sap_gpu_gather_slab(struct sap_gpu_slab *s);

void sap_gpu_gather_free(struct sap_gpu_store *store);

/* ---- lists: launched with a force, looked at once they are there ---- */

/* Room for the lists of a force, as its like needed; after room_i of the slabs is known; a driver status. */
int sap_gpu_lists_open(struct sap_gpu_slab *s, int ni);

/* Launches what makes lists of the candidates of a slab: who is in them, then their order; driver statuses. */
int sap_gpu_lists_fill(struct sap_gpu_slab *s, int ni);
int sap_gpu_lists_sort(struct sap_gpu_slab *s);

/* What kernels of a force without the members of lists are told of a slab. */
struct sap_gpu_outside sap_gpu_outside_of(const struct sap_gpu_slab *s);

/* Launches what brings them to the host, and the counters; a driver status. */
int sap_gpu_lists_close(struct sap_gpu_slab *s, int ni);

/* A force has been launched with lists. */
void sap_gpu_lists_expect(struct sap_gpu_host_force *f);

/* A force will have no lists: it failed, or nobody wants them any more. */
void sap_gpu_lists_forget(struct sap_gpu_host_force *f);

/* A force is there.  Launches it again for those lists that found no room; f->listing tells whether. */
void sap_gpu_lists_review(struct sap_gpu_host_force *f);

/* Waits until a force's lists are there. */
void sap_gpu_lists_settle(struct sap_gpu_host_force *f);

/* What a device found for i-particle i, sorted. */
struct sap_gpu_run sap_gpu_list_of(const struct sap_gpu_part *p, int i);

/* Joins the lists of several devices, all that a force has; a sapporo_status. */
int sap_gpu_join_lists(struct sap_gpu_host_force *f);
struct sap_gpu_run sap_gpu_joined_list(const struct sap_gpu_host_force *f, int i);
void sap_gpu_joined_free(struct sap_gpu_host_force *f);

/* The same for all forces of a store: before its particles change. */
void sap_gpu_lists_settle_all(struct sap_gpu_store *store);

int sap_gpu_launch(const struct sap_gpu_share *share, const struct sap_driver *d, struct sap_function *f,
                   const unsigned groups[2], unsigned threads, size_t shared, const struct sap_argument *a, int n);

#endif
