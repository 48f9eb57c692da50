/* gpu_seekers.c - see gpu_seekers.h. */
#include "gpu/tree/gpu_seekers.h"

#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_pass.h"

static int choose_positions(struct sap_gpu_host_tree *t, const sapporo_tree_request *r, struct sap_gpu_seekers *s)
{
    struct sap_gpu_positions *const at = &t->positions;
    int bad; /* none: without a unit every finite position counts */
    TRY(sap_gpu_positions_upload(at, &t->session, r, &t->cube, 0, t->settings.period, &bad));
    TRY(sap_gpu_targets_positions(&t->session, t->f, &at->targets, &at->given, &t->frame, r->ni,
                                  t->settings.group_size));
    *s = (struct sap_gpu_seekers){.walker = &at->targets.sorted, .row = &at->targets.address};
    return SAP_DRIVER_OK;
}

static int choose_active(struct sap_gpu_host_tree *t, const sapporo_tree_request *r, struct sap_gpu_seekers *s,
                         int *bad_active)
{
    const struct sap_gpu_built tree = sap_gpu_tree_built(t);
    TRY(sap_gpu_active_take(&t->active, &t->session, t->f, r, t->frame.n, bad_active));
    if (*bad_active >= 0) return SAP_DRIVER_OK;
    *s = (struct sap_gpu_seekers){.walker = &t->own.sorted, .slot = &t->active.slot};
    return sap_gpu_active_slots(&t->active, &tree, r, 0, &s->row);
}

int sap_gpu_seekers_choose(struct sap_gpu_host_tree *t, const sapporo_tree_request *r, struct sap_gpu_seekers *s,
                           int *bad_active)
{
    if (r->x.base) return choose_positions(t, r, s);
    if (r->active || r->ni < t->frame.n) return choose_active(t, r, s, bad_active);
    *s = (struct sap_gpu_seekers){.walker = &t->own.sorted, .row = &t->own.address};
    return SAP_DRIVER_OK;
}

int sap_gpu_array_find(const struct sap_gpu_session *s, sapporo_memory memory, const void *at, size_t bytes,
                       struct sap_gpu_buffer *own, struct sap_gpu_array *array)
{
    if (!at) return SAP_DRIVER_OK;
    if (memory == SAPPORO_MEMORY_DEVICE)
        TRY(sap_gpu_adopt(s, at, bytes, &array->theirs));
    else
        TRY(sap_session_reserve(s, own, bytes));
    array->mem = array->theirs ? array->theirs : own->mem;
    return SAP_DRIVER_OK;
}

void sap_gpu_array_release(const struct sap_gpu_session *s, const struct sap_gpu_array *array)
{
    if (array->theirs) s->driver->release(array->theirs);
}
