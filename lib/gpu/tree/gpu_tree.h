/*
 * gpu_tree.h - the tree of engines for accelerators: what its files share.
 *
 * gpu_tree.c has the table, memory and particles, gpu_build.c makes a tree, gpu_force.c walks it.  A tree lives on the
 * first device of its set.  How it lies there: physics/tree_layout.h.
 */
#ifndef SAP_GPU_TREE_H
#define SAP_GPU_TREE_H

#include "device/tree_layout.h"
#include "engine/cube.h"
#include "gpu/gpu_engine.h"
#include "gpu/gpu_primitives.h"

enum { SAP_TREE_CHUNK = 65536 }; /* particles that are copied at a time */
enum { SAP_TORN_MASSES = 2 };

/* Who walks, sorted: the tree's particles, or places of the caller. */
struct sap_gpu_walkers {
    struct sap_gpu_buffer address, sorted;
    struct sap_gpu_buffer ball, heavy, strict; /* of groups */
    struct sap_gpu_buffer key[2], value[2];    /* of a sort */
    int n, groups;
};

/* Of a device. */
struct sap_gpu_tree_kernels {
    struct sap_module *module[3];
    struct sap_primitives primitives;
    struct sap_function *look, *take, *look_active;                                                 /* tree_given.h */
    struct sap_function *bounds, *keys, *gather, *levels, *firsts, *link;                           /* tree_build.h */
    struct sap_function *leaves, *cells, *words, *groups;                                           /* tree_moments.h */
    struct sap_function *row_keys, *row_order, *row_slots, *row_places, *row_strict, *sizes, *pick; /* tree_rows.h */
    struct sap_function *next, *search;                                                             /* tree_search.h */
    struct sap_function *alone, *walk[2], *few[2], *large; /* tree_stackless.h, tree_walk.h, tree_few.h: sp, dp; sp */
};

/* What the device tells the host while a tree is made; pinned. */
struct sap_gpu_tree_told {
    double bounds[SAP_TREE_BOUNDS][SAP_TREE_PARTS];
    double sample[3 * SAP_CUBE_SAMPLE];
    int level_first[SAP_LINK_LEVELS + 1]; /* the last one: nodes */
    unsigned walked[4]; /* of a force: interactions with particles, with cells; each the lower word, the higher one */
};

struct sap_gpu_host_tree {
    struct sap_tree_settings settings;
    struct sap_gpu_set *set;
    const struct sap_driver *driver;
    struct sap_gpu_device *device;
    struct sap_stream *stream;
    const struct sap_gpu_tree_kernels *f;
    int events;                                 /* they tell times; else the host's clock does */
    struct sap_event *mark[SAPPORO_PHASES + 1]; /* between phases */
    double clock[SAPPORO_PHASES + 1];
    int room;
    int broken;       /* the device is gone */
    int host_full;    /* it was host memory that this call could not allocate */
    int out_of_range; /* a build or refresh found particles whose moments double does not hold */
    char words[200];

    /* particles by address */
    int given;          /* of the last set */
    double *mass;       /* [room] on the host: for a set without masses */
    int mass_elsewhere; /* the last ones came in memory of the device */
    int torn;           /* a set failed half way; SAP_TORN_MASSES: masses have been overwritten, too */
    int has_a;          /* particles whose accelerations are known */
    struct sap_gpu_buffer particle, a, chunk, told;

    /* the tree; linked: nodes and order are valid; built: moments and sorted particles are, too */
    int linked, built, n, levels;
    int level_first[SAP_LINK_LEVELS + 1];
    int has_next;          /* next is that of the nodes */
    struct sap_gpu_tree t; /* what kernels are told */
    struct sap_cube cube;
    struct sap_gpu_walkers own;
    struct sap_gpu_buffer place; /* of an address: its sorted particle */
    struct sap_gpu_buffer scratch, span, count, first, bounds;
    struct sap_gpu_buffer new_first; /* of a build: what becomes `first` */
    struct sap_gpu_buffer node, node_level, next, cell, word, turn, source, moments;
    int node_room;

    /* a force */
    struct sap_gpu_walkers places;
    struct sap_gpu_buffer place_given, place_a, row_key[2], row[2], slot, slot_strict, active, left, acc, pot,
        picked_acc, picked_pot;

    /* a search */
    struct sap_gpu_buffer query, found, begin, list;

    sapporo_tree_statistics done;
};

/* Arguments of kernels. */
#define SAP_ARRAY(buffer)                                                                                              \
    {                                                                                                                  \
        (buffer).mem, 0                                                                                                \
    }

/* Finds or loads the kernels; a driver status. */
int sap_tree_kernels(struct sap_gpu_host_tree *t);

/* Launches so many groups of so many threads. */
int sap_tree_launch(const struct sap_gpu_host_tree *t, struct sap_function *f, int groups, int threads,
                    const struct sap_argument *a, int arguments);

/* Work until now belongs to phases before this one; what phases took, once they are over.  Driver statuses. */
int sap_tree_mark(struct sap_gpu_host_tree *t, int phase);
int sap_tree_take_seconds(struct sap_gpu_host_tree *t, int from, int to);

int sap_tree_reserve(const struct sap_gpu_host_tree *t, struct sap_gpu_buffer *b, size_t bytes);

/* Sorts n > 0 places, each with mass 1, that are stored as four doubles each.  A driver status. */
int sap_tree_sort_places(struct sap_gpu_host_tree *t, struct sap_gpu_walkers *w, const struct sap_gpu_buffer *given,
                         int n);

/* Bounds of their groups; by_a: a strictness, too, from t->a.  A driver status. */
int sap_tree_make_groups(struct sap_gpu_host_tree *t, struct sap_gpu_walkers *w, const struct sap_gpu_buffer *a);

/*
 * Make, or make anew with the same cells, the tree of the particles given; driver statuses.  After a failure t->built
 * and t->linked tell what there is: the tree before, or its cells alone, or nothing.
 */
int sap_tree_build_gpu(struct sap_gpu_host_tree *t);
int sap_tree_refresh_gpu(struct sap_gpu_host_tree *t);

/* The table's set; a sapporo_status. */
int sap_tree_set_gpu(struct sap_gpu_host_tree *t, const sapporo_tree_particles *p);

/* Brings a request's list to t->active; *bad: the first of it that is no particle, or -1.  A driver status. */
int sap_tree_take_active(struct sap_gpu_host_tree *t, const sapporo_tree_request *r, int *bad);

/* Brings results, or rows picked of them, to where the request wants them; the caller waits.  A driver status. */
int sap_tree_give(struct sap_gpu_host_tree *t, const sapporo_tree_request *r, int picked, double (*acc)[3],
                  double *pot);

/* The table's erase; whether it succeeds is of no use to a call that has failed already. */
void sap_tree_erase_gpu(struct sap_gpu_host_tree *t, int ni, double (*acc)[3], double *pot);

/* The table's force, entered. */
int sap_tree_force_gpu(struct sap_gpu_host_tree *t, const sapporo_tree_request *request, double (*acc)[3], double *pot);

/* Makes `next` where it is needed; a driver status. */
int sap_tree_make_next(struct sap_gpu_host_tree *t);

/* The table's search, entered. */
int sap_tree_search_gpu(struct sap_gpu_host_tree *t, int ni, const sapporo_column *x, const sapporo_column *h,
                        long long *first, long long room, int *list);

/* Keeps why; returns status. */
int sap_tree_fail(struct sap_gpu_host_tree *t, int status, const char *why);

/* Host memory for n elements, zero, or NULL: then SAP_DRIVER_MEMORY is to be returned. */
void *sap_tree_host_memory(struct sap_gpu_host_tree *t, size_t n, size_t each);

/* What a driver status means for the tree and its words; a sapporo_status.  After an error it waits for what was
 * started. */
int sap_tree_judge(struct sap_gpu_host_tree *t, int status);

#endif
