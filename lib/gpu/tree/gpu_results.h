/*
 * gpu_results.h - the rows that a walk of a tree writes to device memory: adding, selecting and copying them.
 *
 * Functions that return int return driver statuses unless their comment says otherwise.
 */
#ifndef SAP_GPU_RESULTS_H
#define SAP_GPU_RESULTS_H

#include "gpu/gpu_memory.h"
#include "gpu/gpu_session.h"
#include "sapporo.h"

struct sap_gpu_tree_kernels;

struct sap_gpu_results {
    struct sap_gpu_buffer acc, pot;                      /* of the last walk */
    struct sap_gpu_buffer picked_acc, picked_pot;        /* rows of these, in the order of a list */
    struct sap_gpu_buffer kept_acc, kept_pot, kept_work; /* of a walk of a part, until the next one adds them */
    struct sap_gpu_buffer tidal;                         /* tidal tensors of the last walk for some */
    int picked;   /* results of the last force are in picked_acc and picked_pot */
    int too_near; /* the last force found a pair whose force double cannot hold */
};

void sap_gpu_results_free(const struct sap_driver *driver, struct sap_gpu_results *r);

/* Reserves so many rows for a walk. */
int sap_gpu_results_reserve(const struct sap_gpu_session *s, struct sap_gpu_results *r, int rows);

/* Return where the rows of the last force are. */
static inline const struct sap_gpu_buffer *sap_gpu_results_acc(const struct sap_gpu_results *r)
{
    return r->picked ? &r->picked_acc : &r->acc;
}
static inline const struct sap_gpu_buffer *sap_gpu_results_pot(const struct sap_gpu_results *r)
{
    return r->picked ? &r->picked_pot : &r->pot;
}

/* Selects n rows by a list; NULL: the first n. */
int sap_gpu_results_pick(const struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                         struct sap_gpu_results *r, const struct sap_gpu_buffer *list, int n);

/* Writes to `a` the sizes of n accelerations, by a list; NULL: in the order of rows. */
int sap_gpu_results_sizes(const struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                          const struct sap_gpu_results *r, const struct sap_gpu_buffer *list,
                          const struct sap_gpu_buffer *a, int n);

/*
 * _unkeep makes the rows that were kept last those of the last walk again.  _keep keeps the rows of a walk; `left` is
 * what the walk leaves (device/tree_layout.h), with the interactions of rows from word `at` on. _add adds these rows
 * and their interactions to those of the last walk, and _counts reads the numbers of interactions of the walk that were
 * kept: counts[SAP_LEFT_COUNT]; it waits.
 */
int sap_gpu_results_keep(const struct sap_gpu_session *s, struct sap_gpu_results *r, const struct sap_gpu_buffer *left,
                         size_t at, int rows);
void sap_gpu_results_unkeep(struct sap_gpu_results *r);
int sap_gpu_results_add(const struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                        const struct sap_gpu_results *r, const struct sap_gpu_buffer *left, int at, int rows);
int sap_gpu_results_counts(struct sap_gpu_session *s, const struct sap_gpu_results *r, int rows, unsigned *counts);

/* Has the host prepare the memory that a request names for its rows, while a walk is under way. */
void sap_gpu_results_expect(const sapporo_tree_request *to, double (*acc)[3], double *pot);

/* Copies the rows, or selected ones, to the memory that a request names; the caller waits. */
int sap_gpu_results_give(struct sap_gpu_session *s, const struct sap_gpu_results *r, const sapporo_tree_request *to,
                         int picked, double (*acc)[3], double *pot);

/* Copies the tidal tensors to the memory that a request names; the caller waits. */
int sap_gpu_results_give_tidal(struct sap_gpu_session *s, const struct sap_gpu_results *r,
                               const sapporo_tree_request *to, double (*tidal)[6]);

/* Implements `erase` of the table, in a call of its own. It ignores errors, since a call has failed already. */
void sap_gpu_results_erase(struct sap_gpu_session *s, void *results, size_t bytes);

#endif
