/* gpu_lists.h - neighbour lists: launched with a force, reviewed when the results have arrived. */
#ifndef SAP_GPU_LISTS_H
#define SAP_GPU_LISTS_H

#include <stdint.h>

#include "device/gpu_layout.h"
#include "gpu/gpu_memory.h"

struct sap_gpu_host_force;
struct sap_gpu_part;
struct sap_gpu_slab;
struct sap_gpu_store;

enum { SAP_GPU_SIZES = 31 }; /* classes of forces, by the logarithm of ni */

/* Buffer sizes that the lists of a force needed: the estimate for the next force of similar size. */
struct sap_gpu_need {
    int ni, rows;    /* rows of the force; of its slabs; 0: no force yet */
    int units, most; /* units of SAP_GPU_LIST_UNIT entries: of all lists of the force; most of one slab */
    unsigned hits;   /* candidates of a slab */
};

/* Device memory for the lists of a slab under construction, and what the lists of earlier forces needed. */
struct sap_gpu_list_memory {
    struct sap_gpu_buffer hit, hit_count, offset, cursor, entry;
    int counted; /* the last force with lists has reset hit_count for the next one */
    struct sap_gpu_need need[SAP_GPU_SIZES];
};

/* ---- lists of one device (gpu_lists.c) ---- */

/*
 * Reserves as much memory as the lists of similar forces needed, after room_i of the slabs is known; a driver status.
 */
int sap_gpu_lists_open(struct sap_gpu_slab *s, int ni);

/* Select the members among a slab's candidates, and sort the lists; driver statuses. */
int sap_gpu_lists_fill(struct sap_gpu_slab *s, int ni);
int sap_gpu_lists_sort(struct sap_gpu_slab *s);

/* Returns the number of groups that sort the lists of `rows` rows. */
static inline unsigned sap_gpu_sort_groups(int rows)
{
    return ((unsigned)rows + SAP_GPU_SORT_ROWS - 1) / SAP_GPU_SORT_ROWS;
}

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

/* Waits for the lists of all forces of a store. Call it before its particles change. */
void sap_gpu_lists_settle_all(struct sap_gpu_store *store);

/* Implements the entry `list` of the engine table; a sapporo_status. */
int sap_gpu_list(struct sap_gpu_host_force *force, int i, const int32_t **entries, int *n);

/* ---- lists of several devices (gpu_joined.c) ---- */

/* Some entries of a neighbour list. */
struct sap_gpu_run {
    const int32_t *at;
    int n;
};

/* Returns the sorted list that a device found for i-particle i. */
struct sap_gpu_run sap_gpu_list_of(const struct sap_gpu_part *p, int i);

/* Joins the lists of several devices for all rows of a force, unless f->is_joined; a sapporo_status. */
int sap_gpu_join_lists(struct sap_gpu_host_force *f);
struct sap_gpu_run sap_gpu_joined_list(const struct sap_gpu_host_force *f, int i);
void sap_gpu_joined_free(struct sap_gpu_host_force *f);

#endif
