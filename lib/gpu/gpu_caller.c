/*
 * gpu_caller.c - columns and results that the caller has in memory of the device, and j-particles that the device alone
 * has (engine/caller_ops.h).
 */
#include "gpu/gpu_caller.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "device/gpu_caller_layout.h"
#include "device/gpu_layout.h"
#include "driver/driver.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_direct_launch.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_lists.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_status.h"
#include "gpu/gpu_store.h"
#include "physics/arithmetic.h"

enum {
    SUPER = SAP_GPU_SUPERPACKET,
    LANES = SAP_CPU_LANES,
    COLUMNS = SAPPORO_DERIVATIVES + 3, /* of doubles: derivatives, then these three */
    MASS = SAPPORO_DERIVATIVES,
    TIME,
    EPS2,
    AT_ONCE = 8,  /* superpackets that are copied to the host at once */
    FOREIGN = 100 /* a status of no driver: the memory is not of the device */
};

static struct sap_gpu_store *of(struct sap_store *store) { return (void *)store; }

/* ---------------------------------------------------------- memory of the caller */

/* Wraps memory of the caller; NULL if the address is NULL. */
static int adopt(struct sap_gpu_store *store, const void *at, size_t bytes, struct sap_mem **mem)
{
    *mem = NULL;
    if (!at) return SAP_DRIVER_OK;
    const int status = store->set->driver->adopt(store->share[0].device->dev, at, bytes, mem);
    if (status != SAP_DRIVER_UNSUPPORTED) return status;
    return sap_gpu_refuse(store, FOREIGN, store->set->driver->error_text());
}

/* Begins a call of this table. */
static int begin(struct sap_gpu_store *store)
{
    store->words[0] = '\0';
    store->at = 0;
    if (sap_gpu_refuse_lost(store)) return SAP_DRIVER_LOST;
    return sap_gpu_store_stream(store);
}

/* Turns the driver status of a call into a sapporo_status.  What the device holds is lost only if `writes`. */
static int judge(struct sap_gpu_store *store, int status, int writes)
{
    const int lost = store->lost;
    if (status == FOREIGN) return SAPPORO_ERR_ARGUMENT;
    const int result = sap_gpu_judge(store, status);
    if (!writes && !store->broken) store->lost = lost;
    return result;
}

static int copy(struct sap_gpu_store *store, void *host, const void *theirs, size_t bytes, int to_device)
{
    const struct sap_driver *const d = store->set->driver;
    struct sap_stream *const stream = store->share[0].stream;
    struct sap_mem *mem;
    TRY(adopt(store, theirs, bytes, &mem));
    int status = to_device ? d->copy_in(stream, mem, 0, host, bytes) : d->copy_out(stream, host, mem, 0, bytes);
    if (!status) status = d->stream_finish(stream);
    d->release(mem);
    return status;
}

static int copy_judged(struct sap_gpu_store *store, void *host, const void *theirs, size_t bytes, int to_device)
{
    int status = bytes > 0 ? begin(store) : (int)SAP_DRIVER_OK;
    if (!status && bytes > 0) status = copy(store, host, theirs, bytes, to_device);
    return judge(store, status, 0);
}

/* ---------------------------------------------------------------------- columns */

/* The caller's columns; NULL: absent. */
struct caller_columns {
    struct sap_mem *number[COLUMNS], *index;
};

static const sapporo_column *column_of(const sapporo_particles *p, int k)
{
    return k < SAPPORO_DERIVATIVES ? &p->derivative[k] : k == MASS ? &p->mass : k == TIME ? &p->time : &p->eps2;
}

static int axes_of(int k) { return k < SAPPORO_DERIVATIVES ? 3 : 1; }

static void drop(const struct sap_gpu_store *store, const struct caller_columns *c)
{
    for (int k = 0; k < COLUMNS; k++) store->set->driver->release(c->number[k]);
    store->set->driver->release(c->index);
}

static int adopt_all(struct sap_gpu_store *store, int n, const sapporo_particles *p, struct caller_columns *c)
{
    for (int k = 0; k < COLUMNS; k++)
        TRY(adopt(store, column_of(p, k)->base, (size_t)n * (size_t)axes_of(k) * sizeof(double), &c->number[k]));
    return adopt(store, p->index.base, (size_t)n * sizeof(int32_t), &c->index);
}

/* Where kernels run that take each of so many numbers. */
static struct sap_gpu_grid grid_of(const struct sap_gpu_store *store, size_t numbers)
{
    enum { THREADS = 256, MOST = 2048 };
    const size_t wanted = (numbers + THREADS - 1) / THREADS;
    return (struct sap_gpu_grid){.stream = store->share[0].stream,
                                 .driver = store->set->driver,
                                 .groups = {wanted < MOST ? (unsigned)wanted : MOST, 1},
                                 .threads = THREADS};
}

/* --------------------------------------------------------------------- looking */

static int look_at(struct sap_gpu_store *store, int n, const struct caller_columns *c, struct sap_gpu_buffer *seen,
                   int (*words)[SAP_CALLER_WORDS], double *some_mass)
{
    const struct sap_driver *const d = store->set->driver;
    const struct sap_gpu_share *const share = &store->share[0];
    for (int k = 0; k < COLUMNS; k++) {
        const size_t at = sizeof words[0] * (size_t)k;
        TRY(d->fill(share->stream, seen->mem, 0, 0, sizeof words[0]));
        if (!c->number[k]) continue;
        const struct sap_gpu_grid grid = grid_of(store, (size_t)n * (size_t)axes_of(k));
        TRY(sap_direct_store_look(&grid, share->device->kernels->look, c->number[k], seen->mem, axes_of(k), n));
        TRY(d->copy_out(share->stream, (char *)words + at, seen->mem, 0, sizeof words[0]));
    }
    for (int k = 0; k < 4 && c->number[MASS]; k++)
        TRY(d->copy_out(share->stream, &some_mass[k], c->number[MASS],
                        (size_t)((2 * k + 1) * (int64_t)n / 8) * sizeof(double), sizeof(double)));
    return d->stream_finish(share->stream);
}

static void tell(struct sap_caller_seen *seen, int k, const int *word)
{
    struct sap_caller_sizes *const to = k < SAPPORO_DERIVATIVES ? &seen->derivative[k]
                                        : k == MASS             ? &seen->mass
                                        : k == TIME             ? &seen->time
                                                                : &seen->eps2;
    to->most = word[SAP_CALLER_MOST];
    to->least = SAP_CALLER_NONE - word[SAP_CALLER_LEAST];
    to->negative = word[SAP_CALLER_NEGATIVE];
}

static int look(struct sap_gpu_store *store, int n, const sapporo_particles *p, struct sap_caller_seen *seen)
{
    const struct sap_driver *const d = store->set->driver;
    struct sap_gpu_buffer found = {0};
    struct caller_columns c = {{NULL}, NULL};
    int words[COLUMNS][SAP_CALLER_WORDS] = {{0}}, status = begin(store);
    memset(seen, 0, sizeof *seen);
    if (!status) status = adopt_all(store, n, p, &c);
    if (!status) status = sap_gpu_reserve(d, store->share[0].device->dev, &found, sizeof words[0]);
    if (!status) status = look_at(store, n, &c, &found, words, seen->some_mass);
    for (int k = 0; k < COLUMNS && !status; k++) tell(seen, k, words[k]);
    drop(store, &c);
    sap_gpu_free(d, &found);
    return judge(store, status, 0);
}

/* ---------------------------------------------------------------------- taking */

/* The factor from derivative k in the store to the full one. */
static int factor_of(const struct sap_gpu_store *store, int k)
{
    static const int factor[SAP_DERIVATIVES] = {1, 1, 2, 6, 18};
    return store->host->full || k >= SAP_DERIVATIVES ? 1 : factor[k];
}

/* Number of derivatives that the columns of the store hold. */
static int derivatives_of(const struct sap_gpu_store *store)
{
    return store->host->full ? store->host->full : SAP_DERIVATIVES;
}

/* Copies a column, or zeros if it is absent, to column `to` of the store. */
static int take_column(struct sap_gpu_store *store, struct sap_mem *from, int to, int axes, int factor, int first,
                       int n)
{
    const struct sap_gpu_share *const share = &store->share[0];
    const struct sap_gpu_grid grid = grid_of(store, (size_t)n * (size_t)axes);
    return sap_direct_store_column(&grid, share->device->kernels->column, share->j.mem, store->set->columns, to,
                                   from ? from : share->j.mem, from != NULL, axes, factor, first, n);
}

static int take_columns(struct sap_gpu_store *store, int first, int n, const struct caller_columns *c, int terms)
{
    const struct sap_gpu_share *const share = &store->share[0];
    const struct sap_gpu_grid grid = grid_of(store, (size_t)n);
    const struct sap_gpu_set *const set = store->set;
    for (int k = 0; k < derivatives_of(store); k++)
        TRY(take_column(store, k <= terms ? c->number[k] : NULL, SAP_GPU_COLUMN(k, 0), 3, factor_of(store, k), first,
                        n));
    TRY(take_column(store, c->number[MASS], SAP_GPU_MASS, 1, 1, first, n));
    if (set->order != 2) TRY(take_column(store, c->number[TIME], SAP_GPU_TIME, 1, 1, first, n));
    if (set->order == 2 || set->soft)
        TRY(take_column(store, c->number[EPS2], SAP_GPU_EPS2_OF(set->order), 1, 1, first, n));
    return sap_direct_store_tags(&grid, share->device->kernels->tags, share->j.mem, store->set->columns,
                                 c->index ? c->index : share->j.mem, c->index != NULL, first, n);
}

static int take_all(struct sap_gpu_store *store, int first, int n, const sapporo_particles *p, int terms, int anew)
{
    struct caller_columns c = {{NULL}, NULL};
    const int superpackets = (first + n - 1) / SUPER + 1;
    sap_gpu_lists_settle_all(store);
    int status = adopt_all(store, n, p, &c);
    if (!status && c.number[EPS2]) status = sap_gpu_store_soften(store);
    if (!status)
        status = anew ? sap_gpu_store_give(store, NULL, superpackets, terms)
                      : sap_gpu_store_extend(store, superpackets, terms);
    if (!status) status = take_columns(store, first, n, &c, terms);
    if (!status) status = store->set->driver->stream_finish(store->share[0].stream); /* the caller may change them */
    drop(store, &c);
    return status;
}

static int take_judged(struct sap_gpu_store *store, int first, int n, const sapporo_particles *p, int terms, int anew)
{
    int status = begin(store);
    if (!status) status = take_all(store, first, n, p, terms, anew);
    return judge(store, status, 1);
}

/* -------------------------------------------------------------------- fetching */

/* Copies the particles of a superpacket, in the layout of the device, to the host's copy; `first` is its address. */
static void put_superpacket(struct sap_jstore *host, const struct sap_gpu_set *set, int first, int n,
                            const double *from)
{
    struct sap_segment *const s = host->segment[first / SAP_SEGMENT];
    const unsigned in = (unsigned)first % SAP_SEGMENT;
    const size_t bytes = (size_t)n * sizeof(double);
    for (int k = 0; k <= s->terms; k++)
        for (int axis = 0; axis < 3; axis++) {
            const double *const column = from + (ptrdiff_t)SAP_GPU_COLUMN(k, axis) * SUPER;
            for (int a = 0; a < n; a++)
                s->derivative[k][sap_jstore_offset(in + (unsigned)a) + (size_t)axis * LANES] = column[a];
        }
    memcpy(s->mass + in, from + (ptrdiff_t)SAP_GPU_MASS * SUPER, bytes);
    if (set->order == 2)
        memset(s->time + in, 0, bytes);
    else
        memcpy(s->time + in, from + (ptrdiff_t)SAP_GPU_TIME * SUPER, bytes);
    if (s->eps2 && (set->order == 2 || set->soft))
        memcpy(s->eps2 + in, from + (ptrdiff_t)SAP_GPU_EPS2_OF(set->order) * SUPER, bytes);
    memcpy(s->index + in, from + (ptrdiff_t)SAP_GPU_TAGS * SUPER, (size_t)n * sizeof *s->index);
    for (int a = 0, run; a < n; a += run) {
        run = n - a < LANES ? n - a : (int)LANES;
        sap_jstore_mark_run(host, s, first + a, run);
    }
}

/* Makes room of the host for a superpacket. */
static int reserve_host(const struct sap_gpu_store *store, int first, double soft)
{
    struct sap_jstore *const host = store->host;
    if (sap_jstore_reserve(host, first, store->given)) return SAP_DRIVER_MEMORY;
    return soft > 0 && sap_jstore_reserve_eps2(host, first, soft) ? (int)SAP_DRIVER_MEMORY : (int)SAP_DRIVER_OK;
}

static int fetch_some(struct sap_gpu_store *store, struct sap_gpu_buffer *pinned, int from, int to, int n)
{
    const struct sap_gpu_share *const share = &store->share[0];
    const size_t bytes = sap_gpu_superpacket_bytes(store);
    const struct sap_driver *const d = store->set->driver;
    TRY(d->copy_out(share->stream, pinned->host, share->j.mem, (size_t)from * bytes, (size_t)(to - from) * bytes));
    TRY(d->stream_finish(share->stream));
    for (int k = from; k < to; k++) {
        const int first = k * SUPER, left = n - first;
        if (reserve_host(store, first, store->host->soft))
            return sap_gpu_refuse(store, SAP_DRIVER_MEMORY, "no memory of the host for particles of the device");
        const char *const image = (const char *)pinned->host + (size_t)(k - from) * bytes;
        put_superpacket(store->host, store->set, first, left < SUPER ? left : (int)SUPER,
                        (const double *)(const void *)image);
    }
    return SAP_DRIVER_OK;
}

/* Clears the marks of changes: the device has what the host has. */
static void take_changes(struct sap_gpu_store *store)
{
    enum { TAKE = 256 };
    int32_t address[TAKE];
    int n = TAKE;
    for (int k = 0; k < store->share[0].slots; k++)
        (void)sap_jstore_take_whole(store->host, store->seen, k * SUPER, SUPER);
    for (int from = 0; n == TAKE; from = address[TAKE - 1] + 1)
        n = sap_jstore_take_changes(store->host, store->seen, from, address, TAKE);
    sap_gpu_store_returned(store);
}

static int fetch_all(struct sap_gpu_store *store, int n)
{
    const int superpackets = (n + SUPER - 1) / SUPER;
    struct sap_gpu_buffer pinned = {0};
    if (store->lost) return sap_gpu_refuse(store, SAP_DRIVER_ERROR, "particles were lost on the device");
    int status =
        sap_gpu_borrow(store->set, store->share[0].device, &pinned, AT_ONCE * sap_gpu_superpacket_bytes(store));
    for (int k = 0; k < superpackets && !status; k += AT_ONCE)
        status = fetch_some(store, &pinned, k, superpackets - k < AT_ONCE ? superpackets : k + AT_ONCE, n);
    sap_gpu_give_back(store->set, store->share[0].device, &pinned);
    if (!status) take_changes(store);
    return status;
}

static int fetch_judged(struct sap_gpu_store *store, int n)
{
    int status = begin(store);
    if (!status) status = fetch_all(store, n);
    return judge(store, status, 0);
}

/* --------------------------------------------------------------------- entries */

static int names(const struct sap_device_set *opaque_set)
{
    const struct sap_gpu_set *const set = (const void *)opaque_set;
    return set->driver->adopt != NULL;
}

static int keeps(const struct sap_device_set *opaque_set)
{
    const struct sap_gpu_set *const set = (const void *)opaque_set;
    return set->n == 1;
}

/* The body of an entry: a call in the standard floating-point environment. */
#define IN_STANDARD(call)                                                                                              \
    int result;                                                                                                        \
    GUARDED(result = call);                                                                                            \
    return result

static int read_caller(struct sap_store *store, void *to, const void *from, size_t bytes)
{
    IN_STANDARD(copy_judged(of(store), to, from, bytes, 0));
}

static int write_caller(struct sap_store *store, void *to, const void *from, size_t bytes)
{
    IN_STANDARD(copy_judged(of(store), (void *)(uintptr_t)from, to, bytes, 1));
}

static int look_entry(struct sap_store *store, int n, const sapporo_particles *columns, struct sap_caller_seen *seen)
{
    IN_STANDARD(look(of(store), n, columns, seen));
}

static int take(struct sap_store *store, int first, int n, const sapporo_particles *columns, int terms, int anew)
{
    IN_STANDARD(take_judged(of(store), first, n, columns, terms, anew));
}

static int fetch(struct sap_store *store, int n) { IN_STANDARD(fetch_judged(of(store), n)); }

const struct sap_caller_ops sap_caller_gpu = {.names = names,
                                              .keeps = keeps,
                                              .read = read_caller,
                                              .write = write_caller,
                                              .look = look_entry,
                                              .take = take,
                                              .fetch = fetch};
