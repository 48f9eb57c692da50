/*
 * gpu_results.c - a force between the caller's memory and an accelerator: copies of lists of active particles and of
 * results.
 */
#include <string.h>

#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_kernels.h"
#include "gpu/tree/gpu_tree.h"

enum { DIRECT = 1 << 20 /* bytes that are copied without waiting for them */ };

int sap_gpu_tree_take_active(struct sap_gpu_host_tree *t, const sapporo_tree_request *r, int *bad)
{
    const size_t bytes = (size_t)r->ni * sizeof(int);
    const int ni = r->ni, n = t->n, staged = bytes <= t->session.chunk.bytes;
    struct sap_mem *theirs = NULL;
    struct sap_mem *found = NULL;
    int looks[SAP_GIVEN_KINDS];
    *bad = -1;
    if (t->listed) return SAP_DRIVER_OK;
    TRY(sap_session_reserve(&t->session, &t->active, bytes));
    if (!r->active) return SAP_DRIVER_OK;
    if (r->memory != SAPPORO_MEMORY_DEVICE) {
        if (staged) memcpy(t->session.chunk.host, r->active, bytes); /* the chunk is free until the force is complete */
        TRY(sap_session_copy_in(&t->session, t->active.mem, 0, staged ? t->session.chunk.host : r->active, bytes));
        return staged ? SAP_DRIVER_OK : sap_session_wait(&t->session);
    }
    TRY(sap_gpu_adopt(&t->session, r->active, bytes, &theirs));
    int status = sap_session_copy(&t->session, t->active.mem, 0, theirs, 0, bytes);
    if (!status) status = sap_session_wait(&t->session);
    t->session.driver->release(theirs);
    if (!status) status = sap_gpu_given_look(&t->session, &found);
    if (!status) status = sap_launch_tree_look_active(&t->session, t->f, ni, t->active.mem, found, ni, n);
    if (!status) status = sap_gpu_given_ask(&t->session, looks);
    if (!status && looks[0] != SAP_NONE_BAD) *bad = looks[0];
    return status;
}

static int give(struct sap_gpu_host_tree *t, sapporo_memory memory, void *to, const struct sap_gpu_buffer *from,
                size_t bytes)
{
    struct sap_mem *theirs = NULL;
    if (!to) return SAP_DRIVER_OK;
    if (memory != SAPPORO_MEMORY_DEVICE && bytes < DIRECT)
        return sap_session_copy_out(&t->session, to, from->mem, 0, bytes);
    if (memory != SAPPORO_MEMORY_DEVICE) return sap_session_download(&t->session, to, from, 0, bytes);
    TRY(sap_gpu_adopt(&t->session, to, bytes, &theirs));
    int status = sap_session_copy(&t->session, theirs, 0, from->mem, 0, bytes);
    if (!status) status = sap_session_wait(&t->session);
    t->session.driver->release(theirs);
    return status;
}

int sap_gpu_tree_give(struct sap_gpu_host_tree *t, const sapporo_tree_request *r, int picked, double (*acc)[3],
                      double *pot)
{
    TRY(give(t, r->memory, acc, picked ? &t->picked_acc : &t->acc, (size_t)r->ni * sizeof *acc));
    return give(t, r->memory, pot, picked ? &t->picked_pot : &t->pot, (size_t)r->ni * sizeof *pot);
}

/* Writes NaN: bytes with all bits set form a NaN. */
static int erase(struct sap_gpu_host_tree *t, void *to, size_t bytes)
{
    struct sap_mem *theirs = NULL;
    if (!to) return SAP_DRIVER_OK;
    TRY(sap_gpu_adopt(&t->session, to, bytes, &theirs));
    int status = sap_session_fill(&t->session, theirs, 0, 0xFF, bytes);
    if (!status) status = sap_session_wait(&t->session);
    t->session.driver->release(theirs);
    return status;
}

void sap_gpu_tree_erase(struct sap_gpu_host_tree *t, int ni, double (*acc)[3], double *pot)
{
    if (!t->session.driver->adopt || ni <= 0 || sap_session_begin(&t->session)) return;
    (void)erase(t, acc, (size_t)ni * sizeof *acc);
    (void)erase(t, pot, (size_t)ni * sizeof *pot);
    (void)sap_session_end(&t->session, SAP_DRIVER_OK);
}
