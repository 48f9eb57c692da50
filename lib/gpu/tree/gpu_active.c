/* gpu_active.c - see gpu_active.h. */
#include "gpu/tree/gpu_active.h"

#include <string.h>

#include "gpu/gpu_launch.h"
#include "gpu/gpu_primitives.h"
#include "gpu/tree/gpu_kernels.h"

/* ---- list ------------------------------------------------------------------------------- */

/* Copies a list in memory of the host. */
static int take_from_host(const struct sap_gpu_active *a, const struct sap_gpu_session *s, const int *active,
                          size_t bytes)
{
    const int staged = bytes <= s->chunk.bytes;
    if (staged) memcpy(s->chunk.host, active, bytes); /* the chunk is free until the force is complete */
    TRY(sap_session_copy_in(s, a->list.mem, 0, staged ? s->chunk.host : active, bytes));
    return staged ? SAP_DRIVER_OK : sap_session_wait(s);
}

int sap_gpu_active_take(struct sap_gpu_active *a, struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                        const sapporo_tree_request *r, int n, int *bad)
{
    const size_t bytes = (size_t)r->ni * sizeof(int);
    struct sap_mem *theirs = NULL, *found = NULL;
    int looks[SAP_GIVEN_KINDS];
    *bad = -1;
    if (a->listed) return SAP_DRIVER_OK;
    TRY(sap_session_reserve(s, &a->list, bytes));
    if (!r->active) return SAP_DRIVER_OK;
    if (r->memory != SAPPORO_MEMORY_DEVICE) return take_from_host(a, s, r->active, bytes);
    TRY(sap_gpu_adopt(s, r->active, bytes, &theirs));
    int status = sap_session_copy(s, a->list.mem, 0, theirs, 0, bytes);
    if (!status) status = sap_session_wait(s);
    s->driver->release(theirs);
    if (!status) status = sap_gpu_given_look(s, &found);
    if (!status) status = sap_launch_tree_look_active(s, f, r->ni, a->list.mem, found, r->ni, n);
    if (!status) status = sap_gpu_given_ask(s, looks);
    if (!status && looks[0] != SAP_NONE_BAD) *bad = looks[0];
    return status;
}

/* ---- slots ------------------------------------------------------------------------------ */

/* Returns the bits that the indices of n particles need. */
static int bits_of(int n)
{
    int bits = 1;
    while ((n - 1) >> bits) bits++;
    return bits;
}

/* Sorts the rows by their sorted particles; *at: index of the sorted arrays in row_key and row. */
static int sort_rows(const struct sap_gpu_active *a, const struct sap_gpu_built *of, const sapporo_tree_request *r,
                     int *at)
{
    const struct sap_gpu_session *const s = of->session;
    const int n = r->ni, has_active = r->active != NULL;
    const struct sap_sort sort = {.key = {a->row_key[0].mem, a->row_key[1].mem},
                                  .value = {a->row[0].mem, a->row[1].mem},
                                  .n = n,
                                  .to = bits_of(of->own->n),
                                  .places = 1};
    *at = 1;
    TRY(sap_launch_tree_row_keys(s, of->f, n, of->own->sorted_at.mem, sap_gpu_active_list(a)->mem, has_active,
                                 a->row_key[0].mem, n));
    if (n <= SAP_GPU_FEW_ROWS)
        return sap_launch_tree_row_order(s, of->f, n, a->row_key[0].mem, a->row_key[1].mem, a->row[1].mem, n);
    return sap_primitives_sort(s->primitives, s->stream, &sort, s->scratch.mem, at);
}

int sap_gpu_active_slots(struct sap_gpu_active *a, const struct sap_gpu_built *of, const sapporo_tree_request *r,
                         int as_given, const struct sap_gpu_buffer **row)
{
    struct sap_gpu_session *const s = of->session;
    const int n = r->ni, has_active = r->active != NULL;
    int at = 1;
    TRY(sap_gpu_targets_reserve_sort(s, a->row_key, a->row, n));
    TRY(sap_session_reserve(s, &a->slot, (size_t)n * sizeof(int)));
    TRY(sap_session_reserve(s, &a->strict, (size_t)n * sizeof(float)));
    if (as_given)
        TRY(sap_launch_tree_row_places(s, of->f, n, of->own->sorted_at.mem, sap_gpu_active_list(a)->mem, has_active,
                                       a->slot.mem, a->row[1].mem, n));
    if (!as_given) TRY(sort_rows(a, of, r, &at));
    if (!as_given) TRY(sap_launch_tree_row_slots(s, of->f, n, a->row_key[at].mem, a->slot.mem, n));
    *row = &a->row[at];
    return SAP_DRIVER_OK;
}

void sap_gpu_active_free(const struct sap_driver *driver, struct sap_gpu_active *a)
{
    struct sap_gpu_buffer *const all[] = {&a->list,   &a->row_key[0], &a->row_key[1], &a->row[0],
                                          &a->row[1], &a->slot,       &a->strict};
    for (int k = 0; k < COUNT(all); k++) sap_gpu_free(driver, all[k]);
}
