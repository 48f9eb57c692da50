/* gpu_results.c - see gpu_results.h. */
#include "gpu/tree/gpu_results.h"

#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_given.h"
#include "gpu/tree/gpu_kernels.h"

enum { DIRECT = 1 << 20 /* bytes that are copied without waiting for them */ };

/* ---- memory ----------------------------------------------------------------------------- */

void sap_gpu_results_free(const struct sap_driver *driver, struct sap_gpu_results *r)
{
    struct sap_gpu_buffer *const all[] = {&r->acc,      &r->pot,      &r->picked_acc, &r->picked_pot,
                                          &r->kept_acc, &r->kept_pot, &r->kept_work,  &r->tidal};
    for (int k = 0; k < COUNT(all); k++) sap_gpu_free(driver, all[k]);
}

int sap_gpu_results_reserve(const struct sap_gpu_session *s, struct sap_gpu_results *r, int rows)
{
    TRY(sap_session_reserve(s, &r->acc, (size_t)rows * 3 * sizeof(double)));
    return sap_session_reserve(s, &r->pot, (size_t)rows * sizeof(double));
}

/* ---- rows ------------------------------------------------------------------------------- */

int sap_gpu_results_pick(const struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                         struct sap_gpu_results *r, const struct sap_gpu_buffer *list, int n)
{
    const int has_list = list != NULL;
    TRY(sap_session_reserve(s, &r->picked_acc, (size_t)n * 3 * sizeof(double)));
    TRY(sap_session_reserve(s, &r->picked_pot, (size_t)n * sizeof(double)));
    return sap_launch_tree_pick(s, f, n, r->acc.mem, r->pot.mem, has_list ? list->mem : r->acc.mem, has_list,
                                r->picked_acc.mem, r->picked_pot.mem, n);
}

int sap_gpu_results_sizes(const struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                          const struct sap_gpu_results *r, const struct sap_gpu_buffer *list,
                          const struct sap_gpu_buffer *a, int n)
{
    const int has_list = list != NULL;
    return sap_launch_tree_sizes(s, f, n, r->acc.mem, has_list ? list->mem : r->acc.mem, has_list, a->mem, n);
}

int sap_gpu_results_keep(const struct sap_gpu_session *s, struct sap_gpu_results *r, const struct sap_gpu_buffer *left,
                         size_t at, int rows)
{
    const size_t bytes = (size_t)rows * sizeof(int), counts = SAP_LEFT_COUNT * sizeof(int);
    sap_gpu_exchange(&r->acc, &r->kept_acc);
    sap_gpu_exchange(&r->pot, &r->kept_pot);
    TRY(sap_session_reserve(s, &r->kept_work, bytes + counts));
    TRY(sap_session_copy(s, r->kept_work.mem, 0, left->mem, at * sizeof(int), bytes));
    return sap_session_copy(s, r->kept_work.mem, bytes, left->mem, SAP_LEFT_TOLD * sizeof(int), counts);
}

void sap_gpu_results_unkeep(struct sap_gpu_results *r)
{
    sap_gpu_exchange(&r->acc, &r->kept_acc);
    sap_gpu_exchange(&r->pot, &r->kept_pot);
}

int sap_gpu_results_add(const struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                        const struct sap_gpu_results *r, const struct sap_gpu_buffer *left, int at, int rows)
{
    return sap_launch_tree_rows_add(s, f, rows, r->acc.mem, r->pot.mem, left->mem, r->kept_acc.mem, r->kept_pot.mem,
                                    r->kept_work.mem, at, rows);
}

int sap_gpu_results_counts(struct sap_gpu_session *s, const struct sap_gpu_results *r, int rows, unsigned *counts)
{
    return sap_session_download(s, counts, &r->kept_work, (size_t)rows * sizeof(int), SAP_LEFT_COUNT * sizeof *counts);
}

/* ---- memory of the caller --------------------------------------------------------------- */

static int give(struct sap_gpu_session *s, sapporo_memory memory, void *to, const struct sap_gpu_buffer *from,
                size_t bytes)
{
    struct sap_mem *theirs = NULL;
    if (!to) return SAP_DRIVER_OK;
    if (memory != SAPPORO_MEMORY_DEVICE && bytes < DIRECT) return sap_session_copy_out(s, to, from->mem, 0, bytes);
    if (memory != SAPPORO_MEMORY_DEVICE) return sap_session_download(s, to, from, 0, bytes);
    TRY(sap_gpu_adopt(s, to, bytes, &theirs));
    int status = sap_session_copy(s, theirs, 0, from->mem, 0, bytes);
    if (!status) status = sap_session_wait(s);
    s->driver->release(theirs);
    return status;
}

void sap_gpu_results_expect(const sapporo_tree_request *to, double (*acc)[3], double *pot)
{
    const size_t rows = (size_t)to->ni;
    if (to->memory == SAPPORO_MEMORY_DEVICE) return;
    sap_session_expect(acc, rows * sizeof *acc);
    sap_session_expect(pot, rows * sizeof *pot);
}

int sap_gpu_results_give(struct sap_gpu_session *s, const struct sap_gpu_results *r, const sapporo_tree_request *to,
                         int picked, double (*acc)[3], double *pot)
{
    const size_t rows = (size_t)to->ni;
    TRY(give(s, to->memory, acc, picked ? &r->picked_acc : &r->acc, rows * sizeof *acc));
    return give(s, to->memory, pot, picked ? &r->picked_pot : &r->pot, rows * sizeof *pot);
}

int sap_gpu_results_give_tidal(struct sap_gpu_session *s, const struct sap_gpu_results *r,
                               const sapporo_tree_request *to, double (*tidal)[6])
{
    const size_t bytes = (size_t)to->ni * sizeof *tidal;
    if (to->memory != SAPPORO_MEMORY_DEVICE) sap_session_expect(tidal, bytes);
    return give(s, to->memory, tidal, &r->tidal, bytes);
}

static int erase(struct sap_gpu_session *s, void *to, size_t bytes)
{
    struct sap_mem *theirs = NULL;
    if (!to) return SAP_DRIVER_OK;
    TRY(sap_gpu_adopt(s, to, bytes, &theirs));
    int status = sap_session_fill(s, theirs, 0, 0xFF, bytes);
    if (!status) status = sap_session_wait(s);
    s->driver->release(theirs);
    return status;
}

void sap_gpu_results_erase(struct sap_gpu_session *s, void *results, size_t bytes)
{
    if (!s->driver->adopt || bytes == 0 || sap_session_begin(s)) return;
    (void)erase(s, results, bytes);
    (void)sap_session_end(s, SAP_DRIVER_OK);
}
