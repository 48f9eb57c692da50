/*
 * gpu_neighbour.c - neighbour forces on a device: decides which calls the device computes, and which the fallback
 * computes.
 *
 * The fallback engine keeps the particles in rows, which the device copies. Both engines give the same bits, so either
 * or both may compute a call.
 */
#include "gpu/gpu_neighbour.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/engine.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_store.h"

/* Returns whether the device computes this call faster than the fallback. */
static int suits_device(const struct sap_gpu_store *store, const struct sap_neighbour_request *l)
{
    const struct sap_gpu_set *const set = store->set;
    double members = 0;
    if (!set->device[0].kernels->neighbour.handle) return 0;
    for (int i = 0; l->length && i < l->ni; i++) members += l->length[i] > 0 ? l->length[i] : 0;
    return members >= set->tuning.cpu_below_neighbour;
}

/* Returns lists from .. to-1 of a call as a call of its own. */
static struct sap_neighbour_request some_of(const struct sap_neighbour_request *l, int from, int to)
{
    return (struct sap_neighbour_request){.ni = to - from,
                                          .address = l->address + from,
                                          .list = l->list + from,
                                          .length = l->length + from,
                                          .eps2 = l->eps2,
                                          .time = l->time,
                                          .acc = l->acc ? l->acc + from : NULL,
                                          .jerk = l->jerk ? l->jerk + from : NULL,
                                          .pot = l->pot ? l->pot + from : NULL,
                                          .nearest = l->nearest ? l->nearest + from : NULL,
                                          .nearest_r2 = l->nearest_r2 ? l->nearest_r2 + from : NULL};
}

/* Computes on the fallback the lists that the device cannot compute: lists of empty addresses, and very long lists. */
static int compute_left(const struct sap_neighbour_context *context, const struct sap_neighbour_request *l,
                        const unsigned char *left)
{
    int status = SAPPORO_OK;
    for (int i = 0, end; i < l->ni && status >= 0; i = end) {
        for (end = i + 1; end < l->ni && left[end] == left[i]; end++) continue;
        if (!left[i]) continue;
        const struct sap_neighbour_request some = some_of(l, i, end);
        const int worse = sap_neighbour_by_fallback(context, &some);
        status = worse != SAPPORO_OK ? worse : status;
    }
    return status;
}

/* Computes on the device. A failure costs time only: the fallback then computes all lists. */
static int compute(struct sap_gpu_store *store, const struct sap_neighbour_context *context,
                   const struct sap_given *given, const struct sap_neighbour_request *l, unsigned char *left)
{
    const struct sap_fallback *const f = context->fallback;
    const int status = sap_gpu_neighbour_slabs(store, given, l, left);
    f->engine->rows_copied(f->devices, status >= 0);
    if (status < 0) {
        sap_warn_once(context->notes, SAP_WARN_NEIGHBOUR, "neighbour forces are computed on the CPU instead: %s: %s",
                      sapporo_status_text(status), store->words);
        memset(left, 1, (size_t)l->ni);
    }
    return compute_left(context, l, left);
}

int sap_gpu_neighbour(struct sap_gpu_store *store, const struct sap_neighbour_context *context,
                      const struct sap_neighbour_request *l)
{
    const struct sap_fallback *const f = context->fallback;
    struct sap_given given;
    if (!context->takes_changes || !suits_device(store, l)) return SAP_LEFT;
    const int status = f->engine->rows(f->devices, context->host, l->time, &given);
    if (status) return status;
    unsigned char *const left = malloc((size_t)l->ni);
    const int result = left ? compute(store, context, &given, l, left) : SAPPORO_ERR_MEMORY;
    free(left);
    return result;
}
