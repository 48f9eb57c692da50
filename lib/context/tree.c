/*
 * tree.c - sapporo_tree_*: checks arguments, locks the tree and calls the engine, which has the tree itself.  Searches
 * are in tree_search.c.
 */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/structs.h"
#include "base/team.h"
#include "base/threads.h"
#include "context/call.h"
#include "context/context.h"
#include "context/tree_aim.h"
#include "context/tree_private.h"
#include "engine/tree_limits.h"
#include "engine/tree_options.h"

#define fail(tree, ...) sap_error(&(tree)->object.notes, __VA_ARGS__)

/* Text that follows an error of a build or a refresh that has changed nothing. */
#define KEPT ", and the tree stays as it was"

/* ---- life ---------------------------------------------------------------------------- */

/* Frees the parts of a locked tree and ends its life. */
static void retire(sapporo_tree *t)
{
    sap_handle_withdraw(&t->object.self);
    if (t->tree) t->tree->ops->destroy(t->tree);
    sap_context_tree_engine_close(&t->on);
    sap_object_retire(&t->object, sizeof *t);
}

static int make(sapporo_tree *t, const sapporo_tree_options *options, int n)
{
    struct sap_settings settings;
    int status = n < 0 ? fail(t, SAPPORO_ERR_ARGUMENT, "a tree of %d particles", n) : SAPPORO_OK;
    if (!status) status = sap_tree_options_read(options, &settings, &t->settings, &t->object.notes);
    if (!status) status = sap_context_tree_engine_open(&settings, &t->on, &t->object.notes);
    if (status) return status;
    const struct sap_tree_maker *const maker = t->on.engine->tree;
    maker->kind(t->on.devices, &t->settings, t->kind, sizeof t->kind);
    status = maker->create(t->on.devices, &t->settings, n, &t->tree);
    if (!status) return SAPPORO_OK;
    size_t device = 0;
    const size_t host = maker->memory(t->on.devices, &t->settings, n, &device);
    return fail(t, status, "a tree of %d particles needs %zu bytes of memory and %zu of a device: %s", n, host, device,
                sapporo_status_text(status));
}

int sapporo_tree_create(const sapporo_tree_options *options, int n, sapporo_tree **tree)
{
    if (!tree) return SAPPORO_ERR_ARGUMENT;
    *tree = NULL;
    sapporo_tree *const t = sap_object_make(SAP_HANDLE_TREE, sizeof *t, "tree");
    if (!t) return SAPPORO_ERR_MEMORY;
    const sap_fpenv callers = sap_fp_enter();
    t->room = n;
    const int status = make(t, options, n);
    *tree = sap_object_give(&t->object, status);
    if (status) retire(t);
    sap_fp_leave(callers);
    return status;
}

void sapporo_tree_destroy(sapporo_tree *tree)
{
    struct sap_public_call call;
    sapporo_tree *const t = sap_call_look(&call, SAP_HANDLE_TREE, tree);
    if (t) retire(t);
}

const char *sapporo_tree_last_error(const sapporo_tree *tree) { return sap_object_error(SAP_HANDLE_TREE, tree); }

const char *sapporo_tree_kind_text(const sapporo_tree *tree)
{
    const sapporo_tree *const t = sap_handle_find(SAP_HANDLE_TREE, tree);
    return t ? t->kind : "";
}

sapporo_backend sapporo_tree_get_backend(const sapporo_tree *tree)
{
    struct sap_public_call call;
    sapporo_tree *const t = sap_call_look(&call, SAP_HANDLE_TREE, tree);
    return (sapporo_backend)sap_call_end(&call, (int)(t ? t->on.engine->backend : SAPPORO_BACKEND_AUTO));
}

size_t sapporo_tree_memory_needed(const sapporo_tree_options *options, int n, size_t *device_bytes)
{
    struct sap_notes notes = {.lines = 0};
    struct sap_settings settings;
    struct sap_tree_settings tree;
    struct sap_tree_engine on = {.engine = NULL};
    size_t bytes = 0;
    if (device_bytes) *device_bytes = 0;
    if (n <= 0 || sap_tree_options_read(options, &settings, &tree, &notes)) return 0;
    if (!sap_context_tree_engine_open(&settings, &on, &notes))
        bytes = on.engine->tree->memory(on.devices, &tree, n, device_bytes);
    sap_context_tree_engine_close(&on);
    return bytes;
}

/* Number of particles of the tree; < 0 if there is no tree. */
static int particles_of(const sapporo_tree *t) { return t->tree->ops->count(t->tree, 0); }

int sap_context_tree_failed(sapporo_tree *t, int status, const char *what, const char *stays)
{
    const char *const words = t->tree->ops->words(t->tree), *const text = sapporo_status_text(status),
                      *const colon = words[0] ? ": " : "";
    if (status != SAPPORO_ERR_MEMORY) return fail(t, status, "%s: %s%s%s%s", what, text, colon, words, stays);
    size_t device = 0;
    const size_t host = t->on.engine->tree->memory(t->on.devices, &t->settings, t->room, &device);
    return fail(t, status, "%s: %s%s%s%s; %d particles need %zu bytes of memory and %zu of a device", what, text, colon,
                words, stays, t->room, host, device);
}

/* ---- calls: each locks the tree and runs in the library's floating-point environment ---------- */

int sap_context_tree_missing(sapporo_tree *t)
{
    const int cells = t->tree->ops->count(t->tree, 1);
    if (cells == SAP_TREE_GONE)
        return fail(t, SAPPORO_ERR_DEVICE, "the device of the tree is lost: create another tree");
    if (cells < 0) return fail(t, SAPPORO_ERR_ARGUMENT, "there is no tree: build it first");
    return fail(t, SAPPORO_ERR_ARGUMENT, "the last refresh failed: refresh or build the tree first");
}

/* ---- particles -------------------------------------------------------------------------------- */

int sap_context_tree_is_place(const void *at)
{
    double x[3];
    memcpy(x, at, sizeof x);
    return fabs(x[0]) <= SAP_TREE_LIMIT && fabs(x[1]) <= SAP_TREE_LIMIT && fabs(x[2]) <= SAP_TREE_LIMIT;
}

/* Whether a number, times a factor, is finite. */
static int is_number(const void *at, double factor)
{
    double x;
    memcpy(&x, at, sizeof x);
    return isfinite(x * factor);
}

/* Whether the double at `at` is a length: >= 0, and within SAP_TREE_LIMIT. */
static int is_length(const void *at)
{
    double h;
    memcpy(&h, at, sizeof h);
    return h >= 0 && h <= SAP_TREE_LIMIT;
}

/* What of particle i is not valid; NULL: nothing. */
static const char *what_is_wrong(const sapporo_tree_particles *p, double gravity, int i)
{
    if (!sap_context_tree_is_place(sap_column_at(&p->x, i, 3 * sizeof(double)))) return "position";
    if (p->mass.base && !is_number(sap_column_at(&p->mass, i, sizeof(double)), gravity)) return "mass";
    if (p->a.base && !is_number(sap_column_at(&p->a, i, sizeof(double)), 1)) return "acceleration";
    return p->h.base && !is_length(sap_column_at(&p->h, i, sizeof(double))) ? "h" : NULL;
}

/* Elements that threads look at. */
struct looking {
    sap_context_tree_look *is_wrong;
    const void *of;
    atomic_int bad; /* the first element that is not valid, or the number of elements */
};

static void look_at_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct looking *const l = argument;
    int i = (int)from;
    while (i < to && !l->is_wrong(l->of, i)) i++;
    if (i == to) return;
    int first = atomic_load(&l->bad);
    while (i < first && !atomic_compare_exchange_weak(&l->bad, &first, i)) continue;
}

int sap_context_tree_first_wrong(const sapporo_tree *t, int n, sap_context_tree_look *is_wrong, const void *of)
{
    enum { A_THREAD = 32768 };
    struct looking l = {.is_wrong = is_wrong, .of = of, .bad = n};
    const int most = 1 + n / A_THREAD, all = t->on.engine->threads(t->on.devices);
    const int threads = sap_threads_few(most < all ? most : all);
    sap_team_for(threads, n, sap_team_chunk(n, threads, A_THREAD / 8), look_at_some, &l);
    return atomic_load(&l.bad);
}

/* Particles, and the gravitational constant of their tree. */
struct numbers {
    const sapporo_tree_particles *p;
    double gravity;
};

static int is_particle_wrong(const void *of, int i)
{
    const struct numbers *const n = of;
    return what_is_wrong(n->p, n->gravity, i) != NULL;
}

static int check_numbers(sapporo_tree *t, const sapporo_tree_particles *p)
{
    const struct numbers all = {p, t->settings.gravity};
    const int bad = sap_context_tree_first_wrong(t, p->n, is_particle_wrong, &all);
    if (bad == p->n) return SAPPORO_OK;
    const char *const what = what_is_wrong(p, t->settings.gravity, bad);
    return fail(t, SAPPORO_ERR_NOT_FINITE, "%s of particle %d is not finite%s", what, bad,
                what[0] == 'p'   ? ", or beyond 1e100"
                : what[0] == 'h' ? ", negative, or beyond 1e100"
                                 : "");
}

/* Softening lengths of a periodic cube must be below half its period; the engine looks at those in device memory. */
static int check_lengths(sapporo_tree *t, const sapporo_tree_particles *p)
{
    for (int i = 0; i < p->n && p->h.base && t->settings.period > 0; i++) {
        const double h = sap_column_double(&p->h, i);
        if (2 * h >= t->settings.period)
            return fail(t, SAPPORO_ERR_ARGUMENT, "h of particle %d is %g; it must be below half the period %g", i, h,
                        t->settings.period);
    }
    return SAPPORO_OK;
}

static int check_particles(sapporo_tree *t, const sapporo_tree_particles *given, sapporo_tree_particles *p)
{
    const int known = given ? sap_struct_copy(p, sizeof *p, given, sizeof given->size) : (int)SAPPORO_ERR_ARGUMENT;
    if (known) return sap_struct_error(&t->object.notes, known, "sapporo_tree_particles", given);
    if (p->n < 0 || p->n > t->room)
        return fail(t, SAPPORO_ERR_ARGUMENT, "%d particles; the tree was created for 0 to %d", p->n, t->room);
    if (p->n > 0 && !p->x.base) return fail(t, SAPPORO_ERR_ARGUMENT, "particles without positions");
    if (!p->mass.base && t->given >= 0 && p->n != t->given && t->given > 0)
        return fail(t, SAPPORO_ERR_ARGUMENT, "%d particles without masses, and the last were %d", p->n, t->given);
    if (p->memory != SAPPORO_MEMORY_HOST && p->memory != SAPPORO_MEMORY_DEVICE)
        return fail(t, SAPPORO_ERR_ARGUMENT, "memory is %d; it may be 0 or 1", (int)p->memory);
    if (!p->h.base && t->has_lengths && p->n != t->given)
        return fail(t, SAPPORO_ERR_ARGUMENT, "%d particles without h, and the last were %d", p->n, t->given);
    if (p->memory != SAPPORO_MEMORY_HOST) return SAPPORO_OK;
    if (t->on.engine->tree->looks && !p->a.base && !p->h.base) return SAPPORO_OK;
    const int status = check_numbers(t, p);
    return status ? status : check_lengths(t, p);
}

int sapporo_tree_set(sapporo_tree *tree, const sapporo_tree_particles *particles)
{
    sapporo_tree_particles p;
    struct sap_public_call call;
    sapporo_tree *const t = sap_call_begin(&call, SAP_HANDLE_TREE, tree);
    if (!t) return SAPPORO_ERR_CLOSED;
    int status = check_particles(t, particles, &p);
    if (!status) {
        status = t->tree->ops->set(t->tree, &p);
        if (status == SAPPORO_ERR_NOT_FINITE)
            (void)fail(t, status, "%s", t->tree->ops->words(t->tree));
        else if (status)
            (void)sap_context_tree_failed(t, status, "particles", "");
        else {
            t->has_lengths = p.h.base || (t->has_lengths && p.n == t->given);
            t->has_masses |= p.mass.base != NULL;
            t->given = p.n;
        }
    }
    return sap_call_end(&call, status);
}

/* Builds the tree of a locked handle for a time `lead` calls later. */
static int build(sapporo_tree *t, double lead)
{
    const int before = particles_of(t);
    const int status = lead > 0 ? t->tree->ops->build_ahead(t->tree, lead) : t->tree->ops->build(t->tree);
    const int lost = particles_of(t) < 0;
    if (status)
        (void)sap_context_tree_failed(t, status, "building a tree",
                                      before < 0 ? ""
                                      : lost     ? ", and the last tree is lost"
                                                 : KEPT);
    else
        sap_pace_begin(&t->pace, lead);
    if (!status) t->soft = t->has_lengths || t->settings.softening;
    return status;
}

int sapporo_tree_build(sapporo_tree *tree)
{
    struct sap_public_call call;
    sapporo_tree *const t = sap_call_begin(&call, SAP_HANDLE_TREE, tree);
    return sap_call_end(&call, t ? build(t, 0) : SAPPORO_ERR_CLOSED);
}

/* Refreshes the tree of a locked handle. */
static int refresh(sapporo_tree *t)
{
    int status;
    const int cells = t->tree->ops->count(t->tree, 1);
    if (cells == SAP_TREE_GONE) {
        status = sap_context_tree_missing(t);
    } else if (cells != t->given) {
        status = fail(t, SAPPORO_ERR_ARGUMENT, "there is no tree of %d particles to be refreshed", t->given);
    } else {
        status = t->tree->ops->refresh(t->tree);
        const int lost = particles_of(t) < 0;
        if (status)
            (void)sap_context_tree_failed(t, status, "refreshing the tree",
                                          lost ? ", and forces need a refresh or a build" : KEPT);
        else
            t->pace.age++;
        if (!status) t->soft = t->has_lengths || t->settings.softening;
    }
    return status;
}

int sapporo_tree_refresh(sapporo_tree *tree)
{
    struct sap_public_call call;
    sapporo_tree *const t = sap_call_begin(&call, SAP_HANDLE_TREE, tree);
    return sap_call_end(&call, t ? refresh(t) : SAPPORO_ERR_CLOSED);
}

/* Makes room for the positions that were set last, or keeps them for the next build. */
static int make_past(sapporo_tree *t, int keeps)
{
    const int status = t->tree->ops->past(t->tree, keeps);
    return status ? sap_context_tree_failed(t, status, "positions for later builds", "") : SAPPORO_OK;
}

int sapporo_tree_refresh_or_build(sapporo_tree *tree, double factor, int *built)
{
    struct sap_public_call call;
    sapporo_tree *const t = sap_call_begin(&call, SAP_HANDLE_TREE, tree);
    int status = SAPPORO_ERR_ARGUMENT;
    if (built) *built = 0;
    if (!t) return SAPPORO_ERR_CLOSED;
    const double most = factor == 0 ? SAP_PACE_FACTOR : factor;
    if (!(most >= 1)) return sap_call_end(&call, fail(t, status, "factor is %g; it may be 0, or 1 or more", factor));
    const int cells = t->tree->ops->count(t->tree, 1), knows = t->past > 0 && t->past == t->given;
    const struct sap_pace_plan plan = sap_pace_decide(&t->pace, most, cells != t->given, knows);
    status = cells == SAP_TREE_GONE ? sap_context_tree_missing(t) : make_past(t, 0);
    if (!status) status = plan.builds ? build(t, plan.lead) : refresh(t);
    if (!status) status = make_past(t, 1);
    t->past = status ? 0 : t->given;
    if (built) *built = plan.builds && !status;
    return sap_call_end(&call, status);
}

/* Notes what a force on at least half of the particles cost. */
static void note_interactions(sapporo_tree *t, const sapporo_tree_request *r)
{
    if (r->x.base || r->ni < particles_of(t) - r->ni) return;
    sap_pace_note(&t->pace, t->tree->ops->interactions(t->tree));
}

/* ---- forces ------------------------------------------------------------------------------------ */

void sap_context_tree_erase(sapporo_tree *t, const sapporo_tree_request *r, void *results, size_t row)
{
    if (r->ni <= 0 || !results) return;
    const size_t bytes = (size_t)r->ni * row;
    if (r->memory == SAPPORO_MEMORY_HOST) memset(results, 0xFF, bytes);
    if (r->memory == SAPPORO_MEMORY_DEVICE && t && t->tree->ops->ask->erase)
        t->tree->ops->ask->erase(t->tree, results, bytes);
}

static int check_active(sapporo_tree *t, const sapporo_tree_request *r)
{
    const int n = particles_of(t);
    for (int i = 0; i < r->ni && r->active && r->memory == SAPPORO_MEMORY_HOST; i++)
        if (r->active[i] < 0 || r->active[i] >= n)
            return fail(t, SAPPORO_ERR_ARGUMENT, "active[%d] is %d; the tree has particles 0 to %d", i, r->active[i],
                        n - 1);
    return SAPPORO_OK;
}

static int check_request(sapporo_tree *t, const sapporo_tree_request *r)
{
    const int n = particles_of(t);
    if (n < 0) return sap_context_tree_missing(t);
    if (r->ni < 0) return fail(t, SAPPORO_ERR_ARGUMENT, "ni is %d", r->ni);
    if (r->memory != SAPPORO_MEMORY_HOST && r->memory != SAPPORO_MEMORY_DEVICE)
        return fail(t, SAPPORO_ERR_ARGUMENT, "memory is %d; it may be 0 or 1", (int)r->memory);
    if (r->x.base && r->active) return fail(t, SAPPORO_ERR_ARGUMENT, "both places and active particles");
    if (r->h.base && !t->soft)
        return fail(t, SAPPORO_ERR_ARGUMENT, "places with h, and particles of the tree have none");
    if (r->h.base && !r->x.base) return fail(t, SAPPORO_ERR_ARGUMENT, "h without places: particles have their own");
    if (!r->x.base && !r->active && r->ni > n)
        return fail(t, SAPPORO_ERR_ARGUMENT, "ni is %d; the tree has %d particles", r->ni, n);
    return check_active(t, r);
}

sapporo_tree *sap_context_tree_asked(struct sap_public_call *call, sapporo_tree *tree,
                                     const sapporo_tree_request *request, sapporo_tree_request *r, int *status)
{
    const int known = request ? sap_struct_copy(r, sizeof *r, request, sizeof request->size) : SAPPORO_ERR_ARGUMENT;
    sapporo_tree *const t = sap_call_begin(call, SAP_HANDLE_TREE, tree);
    *status = !t      ? SAPPORO_ERR_CLOSED
              : known ? sap_struct_error(&t->object.notes, known, "sapporo_tree_request", request)
                      : check_request(t, r);
    return t;
}

/* Warns once of forces that are 0 because the tree has no particles, or because they were set without masses. */
static void warn_of_nothing(sapporo_tree *t)
{
    if (particles_of(t) == 0)
        sap_warn_once(&t->object.notes, SAP_WARN_NO_SOURCES, "a force of a tree without particles is 0");
    else if (!t->has_masses)
        sap_warn_once(&t->object.notes, SAP_WARN_NO_MASS,
                      "the particles of the tree were set without masses: they exert no force");
}

/* Finds the accuracy of the criterion if it is to be found for an error. */
static int find_accuracy(sapporo_tree *t) { return sap_aim_wanted(t) ? sap_aim_find(t) : (int)SAPPORO_OK; }

static int force(sapporo_tree *t, const sapporo_tree_request *r, double (*acc)[3], double *pot)
{
    int status = find_accuracy(t);
    if (!status) status = t->tree->ops->ask->force(t->tree, r, acc, pot);
    if (status < 0)
        (void)sap_context_tree_failed(t, status, "force of the tree", "");
    else
        note_interactions(t, r);
    return status;
}

int sapporo_tree_force(sapporo_tree *tree, const sapporo_tree_request *request, double (*acc)[3], double *pot)
{
    sapporo_tree_request r = {.ni = 0};
    struct sap_public_call call;
    int status;
    sapporo_tree *const t = sap_context_tree_asked(&call, tree, request, &r, &status);
    if (!status && r.ni > 0 && (acc || pot)) {
        warn_of_nothing(t);
        status = force(t, &r, acc, pot);
    }
    if (status < 0) sap_context_tree_erase(t, &r, acc, sizeof *acc);
    if (status < 0) sap_context_tree_erase(t, &r, pot, sizeof *pot);
    return sap_call_end(&call, status);
}

static int tidal_tensors(sapporo_tree *t, const sapporo_tree_request *r, double (*tidal)[6])
{
    int status = find_accuracy(t);
    if (!status) status = t->tree->ops->ask->tidal(t->tree, r, tidal);
    if (status < 0) (void)sap_context_tree_failed(t, status, "tidal tensors", "");
    return status;
}

int sapporo_tree_tidal(sapporo_tree *tree, const sapporo_tree_request *request, double (*tidal)[6])
{
    sapporo_tree_request r = {.ni = 0};
    struct sap_public_call call;
    int status;
    sapporo_tree *const t = sap_context_tree_asked(&call, tree, request, &r, &status);
    if (!status && r.ni > 0 && !tidal)
        status = fail(t, SAPPORO_ERR_ARGUMENT, "tidal tensors without an array for them");
    if (!status && r.ni > 0) {
        warn_of_nothing(t);
        status = tidal_tensors(t, &r, tidal);
    }
    if (status < 0) sap_context_tree_erase(t, &r, tidal, sizeof *tidal);
    return sap_call_end(&call, status);
}

/* ---- statistics ----------------------------------------------------------------- */

/* Copies as many bytes as the caller's struct has. */
static void give_statistics(sapporo_tree_statistics *to, sapporo_tree_statistics *whole)
{
    whole->size = to->size < sizeof *whole ? to->size : sizeof *whole;
    memcpy(to, whole, whole->size);
}

int sapporo_tree_get_statistics(sapporo_tree *tree, sapporo_tree_statistics *statistics)
{
    static const sapporo_tree_statistics none = {.seconds = {NAN, NAN, NAN, NAN}};
    sapporo_tree_statistics whole = none;
    const int sized = statistics && statistics->size >= sizeof statistics->size;
    struct sap_public_call call;
    sapporo_tree *const t = sap_call_begin(&call, SAP_HANDLE_TREE, tree);
    if (!t) {
        if (sized) give_statistics(statistics, &whole);
        return sized || !tree ? SAPPORO_ERR_CLOSED : SAPPORO_ERR_ARGUMENT;
    }
    if (!sized)
        return sap_call_end(
            &call, sap_struct_error(&t->object.notes, SAPPORO_ERR_ARGUMENT, "sapporo_tree_statistics", statistics));
    memset(whole.seconds, 0, sizeof whole.seconds);
    const int status = t->tree->ops->ask->statistics(t->tree, &whole);
    whole.first_interactions = t->pace.first;
    whole.accuracy = t->settings.accuracy;
    if (status) {
        whole = none;
        (void)sap_context_tree_failed(t, status, "statistics of the tree", "");
    }
    give_statistics(statistics, &whole);
    return sap_call_end(&call, status);
}
