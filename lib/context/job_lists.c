/* job_lists.c - copies out neighbour lists of a force: one list, or all lists at once. */
#include <string.h>

#include "base/fpenv.h"
#include "base/lock.h"
#include "base/team.h"
#include "base/threads.h"
#include "context/call.h"
#include "context/context_private.h"

/* Computes the lists if they are not computed yet.  Returns 1; 0 if the force has no lists; or an error. */
static int lists_there(sapporo *c, sapporo_job *j)
{
    c->lists_left = SAP_NEIGHBOUR_MEMORY;
    if (!(j->useful & SAP_EXTRA_LISTS)) return 0;
    if (c->engine->force->have(j->force) & SAP_EXTRA_LISTS) return 1;
    const sap_fpenv caller = sap_fp_enter();
    const int status = sap_job_supply(c, j, SAP_EXTRA_LISTS);
    sap_fp_leave(caller);
    return status ? status : 1;
}

/* Copies one list.  It does not switch the floating-point environment: clients read thousands of lists per force. */
static int copy_list(sapporo *c, sapporo_job *j, int i, int room, int *n, int *list, int *total)
{
    const int32_t *entries = NULL;
    int length = 0;
    const int there = lists_there(c, j);
    if (there < 0) return there;
    if (there) {
        const int status = c->engine->force->list(j->force, i, &entries, &length);
        if (status) return sap_engine_failed(c, sap_job_store(c, j), status, "list of i-particle %d", i);
    }
    if (total) *total = length;
    if (room < 0) room = 0;
    const int given = length < room ? length : room;
    if (entries && given > 0) memcpy(list, entries, (size_t)given * sizeof *list);
    *n = given;
    return length > room ? SAPPORO_TRUNCATED : SAPPORO_OK;
}

int sapporo_force_neighbours(sapporo_job *job, int i, int room, int *n, int *list, int *total)
{
    if (n) *n = 0;
    if (total) *total = 0;
    if (!job || !n || (!list && room > 0)) return SAPPORO_ERR_ARGUMENT;
    struct sap_public_call call;
    sapporo_job *const j = sap_call_look(&call, SAP_HANDLE_JOB, job);
    if (!j) return SAPPORO_ERR_CLOSED;
    sapporo *const c = j->context;
    int status;
    if (i < 0 || i >= j->ni)
        status = sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_force_neighbours: i is %d of %d", i, j->ni);
    else
        status = copy_list(c, j, i, room, n, list, total);
    return sap_call_end(&call, status);
}

/* ------------------------------------------------------------------ all lists */

/* The list of one i-particle, in memory of the engine. */
struct neighbour_list {
    const int32_t *entries;
    int n;
};

static struct neighbour_list list_of(const sapporo *c, sapporo_job *j, int i)
{
    struct neighbour_list r = {NULL, 0};
    (void)c->engine->force->list(j->force, i, &r.entries, &r.n); /* cannot fail: copy_all has read a list already */
    return r;
}

/* Prefetches a list and the memory that it is copied to. */
static void fetch(const struct neighbour_list *r, const int *to)
{
    enum { LINE = 16, MOST = 16 * LINE };
    for (int k = 0; k < r->n && k < MOST; k += LINE) {
        __builtin_prefetch(r->entries + k);
        __builtin_prefetch(to + k, 1);
    }
}

/* Copies lists from .. to-1.  A list longer than `room` is not copied; returns the number of such lists. */
static int copy_some(const sapporo *c, sapporo_job *j, int from, int to, int room, ptrdiff_t pitch, int *list, int *n)
{
    int left_out = 0;
    struct neighbour_list next = list_of(c, j, from);
    for (int i = from; i < to; i++) {
        const struct neighbour_list now = next;
        if (i + 1 < to) {
            next = list_of(c, j, i + 1);
            fetch(&next, list + (i + 1) * pitch);
        }
        n[i] = now.n;
        if (now.n > room)
            left_out++;
        else if (now.n > 0)
            memcpy(list + i * pitch, now.entries, (size_t)now.n * sizeof *list);
    }
    return left_out;
}

/* Arguments of copy_range, which several threads run. */
struct list_copy {
    const sapporo *c;
    sapporo_job *j;
    int room;
    ptrdiff_t pitch;
    int *list, *n;
    atomic_int left_out; /* number of lists longer than `room` */
};

static void copy_range(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct list_copy *const k = argument;
    const int left_out = copy_some(k->c, k->j, (int)from, (int)to, k->room, k->pitch, k->list, k->n);
    if (left_out > 0) atomic_fetch_add(&k->left_out, left_out);
}

static int copy_all(sapporo *c, sapporo_job *j, int ni, int room, ptrdiff_t pitch, int *list, int *n)
{
    enum { AT_ONCE = 32, PER_THREAD = 128 };
    struct list_copy all = {c, j, room, pitch, list, n, 0};
    const int32_t *entries;
    int length;
    const int status = c->engine->force->list(j->force, 0, &entries, &length);
    if (status) return sap_engine_failed(c, sap_job_store(c, j), status, "lists of %d i-particles", ni);
    sap_team_for(sap_threads_few(ni / PER_THREAD), ni, AT_ONCE, copy_range, &all);
    return atomic_load(&all.left_out) > 0 ? SAPPORO_TRUNCATED : SAPPORO_OK;
}

/* Sets the lengths of all lists to 0, for calls that fail. */
static void write_empty(int ni, int *n)
{
    if (n && ni > 0) memset(n, 0, (size_t)ni * sizeof *n);
}

int sapporo_force_neighbour_lists(sapporo_job *job, int ni, int room, ptrdiff_t pitch, int *list, int *n)
{
    struct sap_public_call call;
    sapporo_job *const j = sap_call_look(&call, SAP_HANDLE_JOB, job);
    if (!j) {
        write_empty(ni, n);
        return job ? SAPPORO_ERR_CLOSED : SAPPORO_ERR_ARGUMENT;
    }
    sapporo *const c = j->context;
    int status = SAPPORO_OK;
    if (ni < 0 || ni > j->ni || room < 0 || pitch < room || (ni > 0 && (!n || !list))) {
        status = sap_fail(c, SAPPORO_ERR_ARGUMENT,
                          "sapporo_force_neighbour_lists: ni is %d of %d, room %d, pitch %td, or there are no arrays",
                          ni, j->ni, room, pitch);
    } else if (ni > 0) {
        status = lists_there(c, j);
        if (status == 0) write_empty(ni, n);
        if (status > 0) status = copy_all(c, j, ni, room, pitch, list, n);
    }
    if (status < 0) write_empty(ni, n);
    return sap_call_end(&call, status);
}
