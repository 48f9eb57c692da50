/* gpu_result.c - results of a force on accelerators, delivered as soon as they are complete. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/team.h"
#include "base/threads.h"
#include "device/gpu_layout.h"
#include "driver/driver.h"
#include "engine/engine.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_force.h"
#include "gpu/gpu_lists.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_modes.h"
#include "gpu/gpu_status.h"
#include "gpu/gpu_store.h"
#include "gpu/gpu_told.h"
#include "physics/arithmetic.h"

static struct sap_accum accum_at(const double *out, size_t ni, int q, int i)
{
    struct sap_accum a;
    const double *at = out + (size_t)q * 6 * ni + (size_t)i;
    a.unit = at[0];
    for (int k = 0; k < SAP_LIMBS; k++) a.limb[k] = at[(size_t)(k + 1) * ni];
    a.special = at[5 * ni];
    return a;
}

/* Joins one row of accumulators, of all devices that return some. */
static void join_sums(struct sap_gpu_host_force *f, int i)
{
    const size_t ni = (size_t)f->request.ni, row = (size_t)i * (size_t)f->set->sums;
    for (int q = 0; q < f->set->sums; q++) {
        struct sap_accum a = accum_at(f->part[0].out.host, ni, q, i);
        for (int k = 1; k < f->from; k++) {
            const struct sap_accum b = accum_at(f->part[k].out.host, ni, q, i);
            sap_accum_merge(&a, &b);
        }
        f->accum[row + (size_t)q] = a;
        f->sum[row + (size_t)q] = f->scale[q] * sap_accum_round(&a);
    }
}

/* Joins one row of nearest neighbours. Ties go to the lower address. */
static void join_nearest(struct sap_gpu_host_force *f, int i)
{
    const int ni = f->request.ni, n = f->set->n;
    int best = 0; /* address + 1 */
    f->nearest[i] = f->nearest_address[i] = -1;
    f->nearest_r2[i] = INFINITY;
    for (int k = 0; k < n; k++) {
        const double *out = f->part[k].lists.host;
        int32_t who[2];
        memcpy(who, out + ni + i, sizeof who);
        if (who[0] == 0) continue;
        if (best > 0 && (out[i] > f->nearest_r2[i] || (out[i] == f->nearest_r2[i] && who[0] > best))) continue;
        best = who[0];
        f->nearest[i] = who[1];
        f->nearest_address[i] = best - 1;
        f->nearest_r2[i] = out[i];
    }
}

/* Returns the threads to use. Merging and rounding a row takes a thread a microsecond. */
static int join_threads(int rows)
{
    enum { ROWS_PER_THREAD = 64 };
    return sap_threads_few(rows / ROWS_PER_THREAD);
}

/* Joins rows from `first` on. */
struct joining {
    struct sap_gpu_host_force *force;
    int first;
};

static void join_range(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct joining *const j = argument;
    const int nearest = (j->force->have & SAP_EXTRA_NEAREST) != 0;
    for (int i = j->first + (int)from; i < j->first + (int)to; i++) {
        if (j->force->accumulate) join_sums(j->force, i);
        if (nearest) join_nearest(j->force, i);
    }
}

/* Joins rows, with several threads if there are many. */
static void join_rows(struct sap_gpu_host_force *f, int from, int to)
{
    const int threads = f->accumulate ? join_threads(to - from) : sap_threads_for_rows(to - from);
    struct joining j = {f, from};
    sap_team_for(threads, to - from, sap_team_chunk(to - from, threads, 16), join_range, &j);
}

/* Returns the part of a device's results that completes more than `from` rows; p->parts: all rows. */
static int part_beyond(const struct sap_gpu_part *p, int from)
{
    int k = 0;
    while (k < p->parts && p->ready_rows[k] <= from) k++;
    return k;
}

/* Waits for part k of a device's results. */
static int wait_part(struct sap_gpu_host_force *f, int device, int k)
{
    const struct sap_driver *const d = f->set->driver;
    const struct sap_gpu_part *const p = &f->part[device];
    const struct sap_gpu_counters *const counters = p->counters.host;
    const int status = k < p->parts ? d->event_wait(p->ready[k])
                       : p->told    ? sap_gpu_wait_told(d, &counters->ended, p->done)
                                    : d->event_wait(p->done);
    f->store->at = device;
    return status ? f->failed = sap_gpu_judge(f->store, status) : SAPPORO_OK;
}

/* Waits until more than `from` rows are complete on all devices; sets *rows to the number of complete rows. */
static int wait_rows(struct sap_gpu_host_force *f, int from, int *rows)
{
    *rows = f->request.ni;
    for (int k = 0; k < f->set->n; k++) {
        const struct sap_gpu_part *p = &f->part[k];
        const int part = part_beyond(p, from);
        if (part < p->parts && p->ready_rows[part] < *rows) *rows = p->ready_rows[part];
    }
    for (int k = 0; k < f->set->n; k++) {
        const struct sap_gpu_part *p = &f->part[k];
        const int part = part_beyond(p, *rows - 1);
        const int status = wait_part(f, k, part);
        if (status) return status;
    }
    return SAPPORO_OK;
}

static void find_coincident(struct sap_gpu_host_force *f)
{
    f->coincident = -1;
    const int tells = f->set->order != 2 && f->request.eps2 < SAP_TINY_R2 && f->request.rule != SAP_PAIRS_OUTSIDE;
    for (int k = 0; k < f->set->n && tells; k++) {
        const struct sap_gpu_counters *c = f->part[k].counters.host;
        if (c->coincident != SAP_GPU_NOBODY && (f->coincident < 0 || c->coincident < f->coincident))
            f->coincident = c->coincident;
    }
}

int sap_gpu_done(struct sap_gpu_host_force *f)
{
    if ((f->complete && !f->listing) || f->failed) return 1;
    int status = SAP_DRIVER_OK;
    for (int k = 0; k < f->set->n && !status; k++) status = f->set->driver->event_query(f->part[k].done);
    if (status) return status != SAP_DRIVER_PENDING; /* `end` reports the error */
    if (f->listing) sap_gpu_lists_review(f);
    return !f->listing;
}

int sap_gpu_end(struct sap_gpu_host_force *f, int from, struct sap_force_output *out)
{
    int rows = f->complete ? f->request.ni : f->gathered;
    f->store->words[0] = '\0';
    if (f->failed) return sap_gpu_refuse(f->store, f->failed, "it has failed before");
    if (f->listing && sap_gpu_outside(&f->request, f->have)) sap_gpu_lists_settle(f); /* sums may lack candidates */
    if (f->failed) return f->failed;
    if (!f->complete && rows <= from) {
        const int status = wait_rows(f, from, &rows);
        if (status) return status;
        if (f->accumulate || (f->have & SAP_EXTRA_NEAREST)) join_rows(f, f->gathered, rows);
        f->gathered = rows;
        f->complete = rows == f->request.ni;
        if (f->complete) find_coincident(f);
        if (f->complete && f->listing) sap_gpu_lists_settle(f);
        if (f->failed) return f->failed;
    }
    const int near = (f->have & SAP_EXTRA_NEAREST) != 0;
    out->rows = rows;
    out->sum = f->accumulate ? f->sum : f->part[0].out.host;
    out->sum_row = f->accumulate || f->part[0].by_row ? f->set->sums : 1;
    out->sum_column = f->accumulate || f->part[0].by_row ? 1 : f->request.ni;
    out->accum = f->have & SAP_EXTRA_ACCUM ? f->accum : NULL;
    out->accum_row = f->set->sums;
    memcpy(out->accum_scale, f->scale, sizeof f->scale);
    out->nearest = near ? f->nearest : NULL;
    out->nearest_r2 = near ? f->nearest_r2 : NULL;
    out->nearest_address = near ? f->nearest_address : NULL;
    out->coincident = f->complete ? f->coincident : -1;
    return SAPPORO_OK;
}

void sap_gpu_drop(struct sap_gpu_host_force *f)
{
    if (!f) return;
    const struct sap_driver *d = f->set->driver;
    sap_gpu_lists_forget(f);
    for (int k = 0; k < f->set->n; k++) {
        struct sap_gpu_part *p = &f->part[k];
        if (p->done) {
            (void)d->event_wait(p->done); /* the device may still write into this memory */
            d->event_destroy(p->done);
        }
        for (int e = 0; e < SAP_GPU_PARTS; e++)
            if (p->ready[e]) d->event_destroy(p->ready[e]);
        sap_gpu_free(d, &p->i_host);
        sap_gpu_free(d, &p->out);
        sap_gpu_free(d, &p->lists);
        sap_gpu_free(d, &p->counters);
        sap_gpu_free(d, &p->list_entries);
        sap_gpu_free(d, &p->list_rows);
    }
    free(f->sum);
    free(f->accum);
    free(f->nearest);
    free(f->nearest_address);
    free(f->nearest_r2);
    sap_gpu_joined_free(f);
    free(f);
}
