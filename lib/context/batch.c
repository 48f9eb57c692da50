/* batch.c - batches of small forces: checks the arguments, calls the engine and writes NaN on failure. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/structs.h"
#include "base/team.h"
#include "base/threads.h"
#include "context/batch_units.h"
#include "context/call.h"
#include "context/job_rows.h"
#include "engine/addresses.h"

/* Whether both arrays are given with their sizes, so that the address of every element is known. */
static int has_rows(const struct sap_batch *m)
{
    return m->lists && m->results && m->lists->size >= SAP_SMALL_FORCE_LEAST && m->lists->size <= SAP_STRUCT_MOST &&
           m->results->size >= sizeof m->results->size && m->results->size <= SAP_STRUCT_MOST;
}

/* Writes NaN and -1 into every array of every result, including arrays that a batch cannot compute. */
static void write_failed(const struct sap_batch *m)
{
    for (int k = 0; has_rows(m) && k < m->nlists; k++) {
        sapporo_result r;
        (void)sap_result_copy(&r, sap_batch_result(m, k));
        sap_rows_write_failed(sap_batch_force(m, k)->ni, &r);
    }
}

/* Whether the n values of a column of squared softening are all finite and >= 0. */
static int good_softening(const sapporo_column *column, int n)
{
    for (int k = 0; k < n && column->base; k++) {
        double eps2;
        memcpy(&eps2, sap_column_at(column, k, sizeof eps2), sizeof eps2);
        if (!(eps2 >= 0 && isfinite(eps2))) return 0;
    }
    return 1;
}

/* Whether all n addresses are in 0 .. last. */
static int all_within(const int *address, int n, int last)
{
    return n == 0 || sap_addresses_within(sap_addresses_range(address, n), last);
}

/* Whether every address of a list holds a particle. */
static int good_addresses(const sapporo *c, const sapporo_small_force *l)
{
    if (!l->address || l->nj == 0 || (c->kept_below > 0 && sap_is_kept(&c->kept, l))) return 1;
    if (c->host.upper == 0 || !all_within(l->address, l->nj, c->host.upper - 1)) return 0;
    if (c->host.count == c->host.upper) return 1; /* no gaps below */
    for (int k = 0; k < l->nj; k++)
        if (!sap_jstore_has(&c->host, l->address[k])) return 0;
    return 1;
}

/* Whether a list names a lost particle; needed only for the message about a faulty list. */
static int names_lost(const sapporo *c, const sapporo_small_force *l)
{
    int lost = 0;
    for (int k = 0; l->address && k < l->nj && sap_jstore_any_lost(&c->host); k++)
        lost |= sap_jstore_is_lost(&c->host, l->address[k]);
    return lost;
}

/* Whether a column of sources, which goes by address if the list does, has squares alone. */
static int good_sources(const sapporo_small_force *l, const sapporo_column *column)
{
    if (!l->address) return good_softening(column, l->nj);
    for (int k = 0; k < l->nj && column->base; k++) {
        const double square = sap_column_double(column, l->address[k]);
        if (!(square >= 0 && isfinite(square))) return 0;
    }
    return 1;
}

/* What is wrong with what a list asks for beside monopoles. */
static const char *fault_of_more(const sapporo_small_force *given)
{
    sapporo_small_force all = {0}, *const l = &all;
    (void)sap_struct_copy(&all, sizeof all, given, SAP_SMALL_FORCE_LEAST);
    if (!(l->floor2 >= 0 && isfinite(l->floor2))) return "has a floor2 that is negative or not finite";
    if (!good_softening(&l->h2_i, l->ni)) return "has an h2_i that is negative or not finite";
    if (!good_softening(&l->floor2_i, l->ni)) return "has a floor2_i that is negative or not finite";
    if (!good_sources(l, &l->h2_j)) return "has an h2_j that is negative or not finite";
    if (!good_sources(l, &l->floor2_j)) return "has a floor2_j that is negative or not finite";
    return NULL;
}

/* Text that says what is wrong with a list; NULL if nothing is wrong.  Addresses are checked where `left` is 0. */
static const char *fault_of(const sapporo *c, const sapporo_small_force *l, int left)
{
    if (l->ni < 0 || l->nj < 0) return "has negative numbers of particles";
    if (l->ni > 0 && !l->x.base) return "has no positions of i-particles";
    if (l->nj > 0 && !l->address && !l->x_j.base) return "has neither sources nor addresses";
    if (!(l->eps2 >= 0 && isfinite(l->eps2))) return "has an eps2 that is negative or not finite";
    if (!good_softening(&l->eps2_i, l->ni) || (!l->address && !good_softening(&l->eps2_j, l->nj)))
        return "has a softening that is negative or not finite";
    if (left) return NULL;
    if (!good_addresses(c, l)) return "names an address that holds no particle";
    return fault_of_more(l);
}

enum { KEPT_PART = 1 << 16 };

struct kept_check {
    const sapporo *c;
    atomic_int bad;
};

static void check_kept_parts(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct kept_check *const check = argument;
    const sapporo *const c = check->c;
    for (ptrdiff_t k = from; k < to; k++) {
        const size_t first = (size_t)k * KEPT_PART, left = c->kept.n - first;
        if (atomic_load_explicit(&check->bad, memory_order_relaxed)) return;
        if (!all_within(c->kept.address + first, (int)(left < KEPT_PART ? left : KEPT_PART), c->host.upper - 1))
            atomic_store_explicit(&check->bad, 1, memory_order_relaxed);
    }
}

/*
 * Checks the kept addresses, once for all lists, and sets kept_below.  An earlier result stays valid while no address
 * below `upper` is empty and `upper` does not fall.  With gaps it does not check: kept_below becomes 0.
 */
static void judge_kept(sapporo *c)
{
    const ptrdiff_t parts = (ptrdiff_t)((c->kept.n + KEPT_PART - 1) / KEPT_PART);
    const int upper = c->host.upper, holes = upper == 0 || c->host.count != upper;
    struct kept_check check = {.c = c, .bad = holes};
    if (c->kept_below > 0 && c->kept_below <= upper && !holes) return;
    sap_team_for(sap_threads_few((int)(parts < 1024 ? parts : 1024)), parts, 1, check_kept_parts, &check);
    c->kept_below = atomic_load(&check.bad) || parts == 0 ? 0 : upper;
}

/* Whether a result has arrays that a batch cannot compute: it gives acc, pot and count. */
static int wants_too_much(const sapporo_result *result)
{
    sapporo_result r;
    return sap_result_copy(&r, result) || r.jerk || r.nearest || r.nearest_r2 || r.snap || r.crackle || r.memory;
}

/* Whether a list or its result asks for more than monopoles. */
static int wants_more(const struct sap_batch *m, int k)
{
    const sapporo_small_force *l = sap_batch_force(m, k);
    sapporo_small_force all = {0};
    if (m->lists->size < sizeof all) {
        (void)sap_struct_copy(&all, sizeof all, l, SAP_SMALL_FORCE_LEAST);
        l = &all;
    }
    if (l->quad_j.base || l->h2_i.base || l->h2_j.base || l->floor2 != 0 || l->floor2_i.base || l->floor2_j.base)
        return 1;
    return m->results && m->results->size >= SAP_RESULT_COUNTED && sap_batch_result(m, k)->count;
}

/* One look at all lists: the first faulty one, and what they have together. */
struct list_check {
    const sapporo *c;
    const struct sap_batch *m;
    int left;         /* 1: without addresses */
    atomic_int first; /* the first list that is bad; nlists: none */
    atomic_int more, soft_own, massless;
    atomic_llong by_address, own, targets;
};

static int is_bad(const struct list_check *check, int k)
{
    if (check->m->results && wants_too_much(sap_batch_result(check->m, k))) return 1;
    const sapporo_small_force *const l = sap_batch_force(check->m, k);
    return fault_of(check->c, l, check->left && l->ni > 0) !=
           NULL; /* nobody copies sources of a list without targets */
}

static void check_lists(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct list_check *const check = argument;
    long long by_address = 0, own = 0, targets = 0;
    int more = 0, soft_own = 0, massless = 0;
    for (int k = (int)from; k < to; k++) {
        const sapporo_small_force *const l = sap_batch_force(check->m, k);
        int first = atomic_load_explicit(&check->first, memory_order_relaxed);
        if (k >= first) return;
        if (is_bad(check, k)) {
            while (k < first && !atomic_compare_exchange_weak(&check->first, &first, k)) continue;
            return;
        }
        *(l->address ? &by_address : &own) += l->nj;
        targets += l->ni;
        more |= wants_more(check->m, k);
        massless |= !l->address && l->ni > 0 && l->nj > 0 && !l->mass_j.base && !wants_more(check->m, k);
        soft_own |= !l->address && l->eps2_j.base;
    }
    atomic_fetch_add_explicit(&check->by_address, by_address, memory_order_relaxed);
    atomic_fetch_add_explicit(&check->own, own, memory_order_relaxed);
    atomic_fetch_add_explicit(&check->targets, targets, memory_order_relaxed);
    atomic_fetch_or_explicit(&check->more, more, memory_order_relaxed);
    atomic_fetch_or_explicit(&check->soft_own, soft_own, memory_order_relaxed);
    atomic_fetch_or_explicit(&check->massless, massless, memory_order_relaxed);
}

/*
 * Returns the number of the first faulty list, or nlists, and completes *m.  Long batches are checked by several
 * threads.  left: addresses are not looked at.
 */
static int first_bad(sapporo *c, struct sap_batch *m, int left)
{
    enum { LISTS_PER_THREAD = 128 };
    const int threads = sap_threads_few(m->nlists / LISTS_PER_THREAD);
    struct list_check check = {.c = c, .m = m, .left = left, .first = m->nlists};
    sap_team_for(threads, m->nlists, sap_team_chunk(m->nlists, threads, 1), check_lists, &check);
    m->more = atomic_load(&check.more);
    m->soft_own = atomic_load(&check.soft_own);
    m->by_address = atomic_load(&check.by_address);
    m->own = atomic_load(&check.own);
    m->targets = atomic_load(&check.targets);
    m->below = left ? c->host.upper : 0;
    if (atomic_load(&check.massless))
        sap_warn_once(&c->notes, SAP_WARN_NO_MASS,
                      "a list of a batch has sources without masses (mass_j.base is NULL): they exert no force");
    return atomic_load(&check.first);
}

/* Whether the engine can look at addresses while it copies them: they are good if they are below the highest. */
static int leaves_addresses(const sapporo *c)
{
    return c->engine->batch && c->engine->looks_at_addresses && c->host.upper > 0 && c->host.count == c->host.upper;
}

/* Reports what is wrong with list k. */
static int tell_fault(sapporo *c, const struct sap_batch *m, int k, const char *caller)
{
    const char *const fault = fault_of(c, sap_batch_force(m, k), 0);
    if (fault && names_lost(c, sap_batch_force(m, k))) {
        write_failed(m);
        return sap_fail(c, SAPPORO_ERR_MEMORY, "%s: list %d names a particle that could not be stored", caller, k);
    }
    if (fault) return sap_fail(c, SAPPORO_ERR_ARGUMENT, "%s: list %d %s", caller, k, fault);
    return sap_fail(c, SAPPORO_ERR_UNSUPPORTED, "%s gives acc, pot and count only (list %d)", caller, k);
}

/* Fails if lists or results tell no valid size, which is also the distance of the elements of an array. */
static int check_sizes(sapporo *c, const struct sap_batch *m)
{
    const sapporo_result *const r = m->results;
    if (!m->lists || m->lists->size < SAP_SMALL_FORCE_LEAST || m->lists->size > SAP_STRUCT_MOST)
        return sap_struct_error(&c->notes, SAPPORO_ERR_ARGUMENT, "sapporo_small_force", m->lists);
    if (r && (r->size < SAP_RESULT_LEAST || r->size > SAP_STRUCT_MOST))
        return sap_struct_error(&c->notes, SAPPORO_ERR_ARGUMENT, "sapporo_result", r);
    return SAPPORO_OK;
}

static int check(sapporo *c, struct sap_batch *m, const char *caller)
{
    const int n = m->nlists;
    if (n < 0) return sap_fail(c, SAPPORO_ERR_ARGUMENT, "%s: nlists is %d", caller, n);
    const int sizes = n > 0 ? check_sizes(c, m) : SAPPORO_OK;
    if (sizes) return sizes;
    if (c->settings.order != 2)
        return sap_fail(c, SAPPORO_ERR_UNSUPPORTED, "%s needs a context of order 2, this one has %d", caller,
                        c->settings.order);
    const int left = leaves_addresses(c);
    int k = first_bad(c, m, left);
    if (left && (k < n || m->more)) k = first_bad(c, m, 0);
    return k == n ? SAPPORO_OK : tell_fault(c, m, k, caller);
}

int sap_batch_prepare(sapporo *c, struct sap_batch *m, const char *caller)
{
    if (c->nstaged) sap_context_settle(c);
    const int status = sap_context_fetch(c);
    if (status) return status;
    sap_jstore_finish(&c->host);
    judge_kept(c);
    if (c->kept_below > 0) m->kept = c->kept;
    return check(c, m, caller);
}

/* Reports the first faulty list of a batch in which the engine found an address without a particle. */
static int tell_first_fault(sapporo *c, const struct sap_batch *m, const char *caller)
{
    struct sap_batch whole = *m;
    const int k = first_bad(c, &whole, 0);
    return k < m->nlists ? tell_fault(c, m, k, caller)
                         : sap_fail(c, SAPPORO_ERR_ARGUMENT, "%s: addresses changed during the call", caller);
}

/* Computes a batch, in units that serve, on the context's engine, or on the CPU fallback if the engine has none. */
static int run(sapporo *c, const struct sap_batch *m, struct sap_flight **flight, const char *caller)
{
    if (c->engine->batch) {
        sap_context_use_store(c, 0);
        const int begins = flight && c->engine->flight;
        const int status = begins ? c->engine->flight->begin(c->devices, c->store, &c->host, m, flight)
                                  : c->engine->batch(c->devices, c->store, &c->host, m);
        if (status == SAPPORO_ERR_ARGUMENT && m->below > 0) return tell_first_fault(c, m, caller);
        return status < 0 ? sap_engine_failed(c, c->store, status, "%d lists", m->nlists) : status;
    }
    if (c->settings.backend_given)
        return sap_fail(c, SAPPORO_ERR_UNSUPPORTED, "%s is not in this version of the %s engine", caller,
                        c->engine->name);
    const struct sap_fallback *const f = sap_context_fallback(c, caller);
    return f ? f->engine->batch(f->devices, NULL, &c->host, m) : SAPPORO_ERR_DEVICE;
}

int sap_batch_run(sapporo *c, struct sap_batch *m, struct sap_flight **flight, struct sap_units *units,
                  const char *caller)
{
    const sapporo_small_force *const given = m->lists;
    struct sap_batch_copy copy;
    int status = sap_batch_take_units(c, m, &copy);
    if (!m->more) sap_context_warn_wide(c);
    if (!status) status = run(c, m, flight, caller);
    *units = copy.units;
    if (status >= 0 && !(flight && *flight)) sap_batch_leave_units(c, m, NULL, &copy.units);
    m->lists = given;
    sap_batch_free_copy(&copy);
    return status;
}

int sapporo_force_batch(sapporo *context, int nlists, const sapporo_small_force *lists, const sapporo_result *results)
{
    struct sap_batch m = {.nlists = nlists, .lists = lists, .results = results};
    struct sap_units units;
    struct sap_public_call call;
    sapporo *const c = sap_call_begin(&call, SAP_HANDLE_CONTEXT, context);
    if (!c) {
        write_failed(&m);
        return SAPPORO_ERR_CLOSED;
    }
    int status = nlists > 0 && !results ? sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_force_batch: results is NULL")
                                        : sap_batch_prepare(c, &m, "sapporo_force_batch");
    if (!status && nlists > 0) status = sap_batch_run(c, &m, NULL, &units, "sapporo_force_batch");
    if (status < 0) write_failed(&m);
    return sap_call_end(&call, status);
}

int sapporo_keep_addresses(sapporo *context, const int *address, size_t n)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_look(&call, SAP_HANDLE_CONTEXT, context);
    if (!c) return SAPPORO_ERR_CLOSED;
    const int status =
        n > 0 && !address ? sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_keep_addresses: address is NULL") : SAPPORO_OK;
    if (!status) c->kept = (struct sap_kept){address, n, c->kept.number + 1};
    if (!status) c->kept_below = 0;
    return sap_call_end(&call, status);
}
