/*
 * tree_build.c - sapporo_mpi_tree_build and _refresh: take particles, send them to their ranks, and build or refresh
 * the tree of each rank.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fpenv.h"
#include "base/structs.h"
#include "context/internals.h"
#include "engine/softening.h"
#include "engine/tree_limits.h"
#include "mpi/tree.h"

/* ----------------------------------------------------------------- arguments */

static int is_place(const double *x)
{
    return fabs(x[0]) <= SAP_TREE_LIMIT && fabs(x[1]) <= SAP_TREE_LIMIT && fabs(x[2]) <= SAP_TREE_LIMIT;
}

static int is_length(double h) { return h >= 0 && h <= SAP_TREE_LIMIT; }

/* What of particle i is not finite; NULL: nothing. */
static const char *what_is_wrong(const struct sap_bodies *p, int i)
{
    double x[3];
    sap_bodies_position(p, i, x);
    if (!is_place(x)) return "position";
    if (!isfinite(sap_bodies_mass(p, i))) return "mass";
    if (p->h.base && !is_length(sap_column_double(&p->h, i))) return "h";
    return isfinite(sap_bodies_size(p, i)) ? NULL : "acceleration";
}

/* Particles that threads check. */
struct checking {
    const struct sap_bodies *bodies;
    atomic_int bad; /* the first particle with a number that is not finite, or the number of particles */
};

/* Notes a bad particle. */
static void note_bad(atomic_int *bad, int i)
{
    int first = atomic_load(bad);
    while (i < first && !atomic_compare_exchange_weak(bad, &first, i)) continue;
}

static void check_some_bodies(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct checking *const c = argument;
    int i = (int)from;
    while (i < to && !what_is_wrong(c->bodies, i)) i++;
    if (i < to) note_bad(&c->bad, i);
}

/* Fails if some number of the caller's particles is not finite. */
static int check_bodies(sapporo_mpi_tree *h, const struct sap_bodies *bodies)
{
    struct checking c = {.bodies = bodies, .bad = bodies->n};
    sapporo_internals()->partial_loop(h->options.threads, bodies->n, check_some_bodies, &c);
    const int bad = atomic_load(&c.bad);
    if (bad == bodies->n) return SAPPORO_OK;
    const char *const what = what_is_wrong(bodies, bad);
    return sap_link_fail(&h->link, SAPPORO_ERR_NOT_FINITE, "%s: %s of particle %d is not finite%s", h->call, what, bad,
                         what[0] == 'p'   ? ", or beyond 1e100"
                         : what[0] == 'h' ? ", negative, or beyond 1e100"
                                          : "");
}

/* The particles of the caller, of which reserve_given has made room for what is known. */
static struct sap_bodies bodies_of(const sapporo_mpi_tree *h, const sapporo_tree_particles *p)
{
    return (struct sap_bodies){.n = p->n,
                               .x = p->x,
                               .mass = p->mass,
                               .a = p->a,
                               .h = p->h,
                               .gravity = h->gravity,
                               .size = h->size,
                               .by_engine = h->by_engine};
}

int sap_mpi_tree_check(sapporo_mpi_tree *h, const sapporo_tree_particles *given, sapporo_tree_particles *p)
{
    struct sap_link *const link = &h->link;
    if (!given || sap_struct_copy(p, sizeof *p, given, sizeof given->size))
        return sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "%s: size of sapporo_tree_particles is not set", h->call);
    if (p->n < 0 || (p->n > 0 && (!p->x.base || !p->mass.base)))
        return sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "%s: %d particles, or positions or masses are missing",
                             h->call, p->n);
    if (p->memory != SAPPORO_MEMORY_HOST && p->memory != SAPPORO_MEMORY_DEVICE)
        return sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "%s: memory is %d; it may be 0 or 1", h->call, (int)p->memory);
    if (p->memory == SAPPORO_MEMORY_DEVICE && !sapporo_internals()->bodies_able(h->tree))
        return sap_link_fail(link, SAPPORO_ERR_UNSUPPORTED, "%s: trees on CPUs take particles from host memory only",
                             h->call);
    if (!p->h.base && h->has_lengths && p->n != h->given)
        return sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "%s: %d particles without h, and the last were %d", h->call,
                             p->n, h->given);
    return SAPPORO_OK;
}

static void drop_given(sapporo_mpi_tree *h)
{
    free(h->size);
    free(h->work);
    free(h->length);
    h->size = h->length = NULL;
    h->work = NULL;
    h->given = h->has_lengths = h->known_by_engine = 0;
}

/* Makes room for what is known of the caller's particles: nothing, if their number is another one. */
static int reserve_given(sapporo_mpi_tree *h, int n)
{
    const size_t room = (size_t)n + 1;
    if (n == h->given && h->size) return SAPPORO_OK;
    drop_given(h);
    h->size = malloc(room * sizeof *h->size);
    h->work = malloc(room * sizeof *h->work);
    if (!h->size || !h->work) {
        drop_given(h);
        return sap_mpi_tree_no_memory(h, n);
    }
    h->given = n;
    for (int i = 0; i < n; i++) h->size[i] = -1, h->work[i] = -1;
    return SAPPORO_OK;
}

/* Makes room for the lengths of the particles that the caller gives. */
static int reserve_given_lengths(sapporo_mpi_tree *h, const sapporo_tree_particles *p)
{
    return sap_mpi_tree_need_lengths(h, p->h.base || sap_softening_lengths(&h->settings));
}

void sap_mpi_tree_drop_lengths(sapporo_mpi_tree *h)
{
    if (sap_softening_lengths(&h->settings) || !(h->words || h->has_lengths)) return;
    free(h->length);
    h->length = NULL;
    h->built = h->words = h->has_lengths = 0;
    h->room = -1; /* the tree of this rank would keep the lengths of as many particles */
}

/* Softening lengths that threads copy. */
struct length_rows {
    const sapporo_column *from;
    double *to;
};

static void take_some_lengths(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct length_rows *const r = argument;
    for (ptrdiff_t i = from; i < to; i++) r->to[i] = sap_column_double(r->from, (int)i);
}

/* Takes the softening lengths of the caller's particles, if it gives them; else they are as before. */
static void take_lengths(sapporo_mpi_tree *h, const sapporo_tree_particles *p)
{
    struct length_rows r = {&p->h, h->length};
    if (!p->h.base) return;
    h->has_lengths = 1;
    if (h->length) /* of one rank the tree has them */
        sapporo_internals()->partial_loop(h->options.threads, p->n, take_some_lengths, &r);
}

int sap_mpi_tree_take_work(sapporo_mpi_tree *h, int n, const int64_t *work)
{
    h->built = 0; /* its particles may be others, and as many as before */
    const int status = reserve_given(h, n);
    h->known_by_engine = 0;
    for (int i = 0; i < n && !status; i++) h->work[i] = work[i];
    return status;
}

/* --------------------------------------------------------------------- build */

/* Brings back from the engine what it has of the particles: of a build what is known of them, of a refresh all. */
static int bring_back(sapporo_mpi_tree *h, int refreshes, sapporo_tree_particles *p, struct sap_bodies *bodies)
{
    int status = refreshes ? sap_mpi_tree_bring(h) : sap_mpi_tree_bring_known(h);
    if (!status) status = sap_mpi_tree_bring_columns(h, p);
    *bodies = bodies_of(h, p);
    return status;
}

/* Takes the particles of the caller, whose numbers are finite: leaves them with the engine, or has them in host memory.
 */
static int accept(sapporo_mpi_tree *h, sapporo_tree_particles *p, struct sap_bodies *bodies)
{
    const int elsewhere = p->memory != SAPPORO_MEMORY_HOST;
    *bodies = bodies_of(h, p);
    int status = elsewhere ? SAPPORO_OK : check_bodies(h, bodies);
    if (!status) status = sap_mpi_tree_settle(h, p);
    *bodies = bodies_of(h, p);
    if (status || h->by_engine || !elsewhere) return status;
    status = sap_mpi_tree_bring_columns(h, p);
    *bodies = bodies_of(h, p);
    return status ? status : check_bodies(h, bodies);
}

/* Makes room for the ranks of the particles; NULL: the engine divides them, or the ranks are known, or no memory. */
static int *reserve_ranks(sapporo_mpi_tree *h)
{
    if (h->by_engine || h->walker) return NULL;
    return sap_room_array(&h->rooms.to, (size_t)h->given + 1, sizeof(int));
}

/* Collective.  Finds the ranks of the particles and sends them there. */
static int distribute(sapporo_mpi_tree *h, sapporo_tree_particles *p, struct sap_bodies *bodies)
{
    double mean = 1;
    int status = sap_mpi_tree_find_whole(h, bodies, &mean);
    if (status) return status;
    if (h->by_engine && h->words > 0) sap_mpi_tree_fail_late(h, bring_back(h, 0, p, bodies)); /* others have lengths */
    int *const to = reserve_ranks(h);
    if (!to && !h->by_engine && !h->walker) sap_mpi_tree_fail_late(h, sap_mpi_tree_no_memory(h, h->given));
    if (!h->walker) status = sap_mpi_tree_split(h, bodies, mean, to);
    return status ? status : sap_mpi_tree_send(h, bodies, to || h->by_engine ? to : h->walker);
}

/* Notes the seconds of a build or refresh whose particles were sent at `sent`. */
static void tell_seconds(sapporo_mpi_tree *h, double start, double sent)
{
    h->done.seconds[SAPPORO_MPI_PHASE_EXCHANGE] = sent - start;
    h->done.seconds[SAPPORO_MPI_PHASE_BUILD] = sap_clock_seconds() - sent;
}

/* Collective.  Builds the trees of all ranks. */
static int build_over_ranks(sapporo_mpi_tree *h, sapporo_tree_particles *p, int status)
{
    const double start = sap_clock_seconds();
    struct sap_bodies bodies = {.n = 0};
    status = sap_mpi_tree_agree_all(h, status ? status : accept(h, p, &bodies));
    if (!status) take_lengths(h, p);
    if (!status) status = distribute(h, p, &bodies);
    const double sent = sap_clock_seconds();
    if (status) return status;
    const sapporo_tree_particles mine = sap_mpi_tree_columns(h);
    status = sap_mpi_tree_agree(h, sap_mpi_tree_build_mine(h, &mine));
    tell_seconds(h, start, sent);
    return status;
}

/* Sizes of accelerations that threads copy. */
struct size_rows {
    const sapporo_mpi_tree *h;
    const sapporo_column *a;
    double *to;     /* NULL: they are only looked at */
    int refreshes;  /* 1: sizes below 0 change nothing */
    atomic_int bad; /* the first one that is not finite, or the number of particles */
};

static void take_some_sizes(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct size_rows *const r = argument;
    for (ptrdiff_t i = from; i < to; i++) {
        const double a = r->a->base ? sap_column_double(r->a, (int)i) : r->h->size[i];
        if (!isfinite(a)) note_bad(&r->bad, (int)i);
        if (r->to && (a >= 0 || !r->refreshes)) r->to[i] = a;
    }
}

/* Looks at the sizes of the caller's accelerations, or copies them to h->a. */
static int take_sizes(sapporo_mpi_tree *h, const sapporo_tree_particles *p, double *to, int refreshes)
{
    struct size_rows r = {.h = h, .a = &p->a, .to = to, .refreshes = refreshes, .bad = p->n};
    sapporo_internals()->partial_loop(h->options.threads, p->n, take_some_sizes, &r);
    const int bad = atomic_load(&r.bad);
    if (bad == p->n) return SAPPORO_OK;
    return sap_link_fail(&h->link, SAPPORO_ERR_NOT_FINITE, "%s: acceleration of particle %d is not finite", h->call,
                         bad);
}

/* Says whether the tree of the only rank has the sizes of accelerations itself; the numbers here are then unknown. */
static void go_direct(sapporo_mpi_tree *h, int direct)
{
    for (int i = 0; i < h->given && direct && !h->direct; i++) h->size[i] = -1;
    h->direct = direct;
}

/* Builds the tree of the only rank from its caller's particles. */
static int build_alone(sapporo_mpi_tree *h, const sapporo_tree_particles *p, int status)
{
    sapporo_tree_particles mine = *p;
    const double start = sap_clock_seconds();
    const int direct = p->memory != SAPPORO_MEMORY_HOST;
    if (!direct) mine.a.base = NULL; /* walks get h->a */
    if (!status) go_direct(h, direct);
    if (!status) take_lengths(h, p);
    if (!status) status = sap_mpi_tree_stay(h, p->n);
    if (!status && !direct) status = take_sizes(h, p, h->a, 0);
    const double sent = sap_clock_seconds();
    if (!status) status = sap_mpi_tree_build_mine(h, &mine);
    h->done.total = p->n;
    tell_seconds(h, start, sent);
    return sap_link_agree(&h->link, status);
}

static int build(sapporo_mpi_tree *h, const sapporo_tree_particles *given)
{
    sapporo_tree_particles p = {.n = 0};
    int status = sap_mpi_tree_check(h, given, &p);
    if (!status) status = reserve_given(h, p.n);
    if (!status) status = reserve_given_lengths(h, &p);
    return sap_mpi_tree_is_alone(h) ? build_alone(h, &p, status) : build_over_ranks(h, &p, status);
}

/* Forgets the tree before a build. */
static void forget(sapporo_mpi_tree *h, double lead)
{
    h->built = h->worked = h->late = 0;
    sap_pace_begin(&h->pace, lead);
    memset(&h->done, 0, sizeof h->done);
    sap_route_forget(&h->route, h->link.size);
}

int sap_mpi_tree_build_anew(sapporo_mpi_tree *h, const sapporo_tree_particles *particles, double lead)
{
    forget(h, lead);
    const int status = build(h, particles);
    h->built = status == SAPPORO_OK;
    return status;
}

int sapporo_mpi_tree_build(sapporo_mpi_tree *tree, const sapporo_tree_particles *particles)
{
    sapporo_mpi_tree *const h = sap_mpi_tree_find(tree);
    if (!h) return SAPPORO_ERR_CLOSED;
    if (h->link.broken) return h->link.broken;
    const sap_fpenv callers = sap_fp_enter();
    h->call = sap_link_begin(&h->link, SAP_CALL_TREE_BUILD);
    const int status = sap_mpi_tree_build_anew(h, particles, 0);
    sap_fp_leave(callers);
    return status;
}

/* ------------------------------------------------------------------- refresh */

/* Fails unless there is a tree of so many particles of this rank. */
static int check_tree(sapporo_mpi_tree *h, int n)
{
    if (h->built && n == h->given) return SAPPORO_OK;
    if (!h->built) return sap_link_fail(&h->link, SAPPORO_ERR_ARGUMENT, "%s: build the tree first", h->call);
    return sap_link_fail(&h->link, SAPPORO_ERR_ARGUMENT, "%s: %d particles; the tree was built of %d of this rank",
                         h->call, n, h->given);
}

/* Collective.  Renews the moments of the trees of all ranks; there is no tree after a failure from here on. */
static int renew(sapporo_mpi_tree *h, const struct sap_bodies *bodies, double start)
{
    h->built = 0;
    int status = sap_mpi_tree_send_again(h, bodies);
    const double sent = sap_clock_seconds();
    if (!status) {
        const sapporo_tree_particles mine = sap_mpi_tree_columns(h);
        status = sap_mpi_tree_set_mine(h, &mine);
        status = sap_mpi_tree_agree(h, status ? status : sap_mpi_tree_refresh_mine(h));
    }
    h->built = status == SAPPORO_OK;
    h->done.refreshes++;
    tell_seconds(h, start, sent);
    return status;
}

/* Takes the particles of the caller for a refresh, where those of the build are. */
static int accept_again(sapporo_mpi_tree *h, sapporo_tree_particles *p, struct sap_bodies *bodies)
{
    int status = h->by_engine && h->length ? sap_mpi_tree_bring(h) : SAPPORO_OK; /* they have lengths now */
    if (!status && !h->by_engine) status = sap_mpi_tree_bring_columns(h, p);
    *bodies = bodies_of(h, p);
    if (!status && p->memory == SAPPORO_MEMORY_HOST) status = check_bodies(h, bodies);
    if (status || !h->by_engine) return status;
    return sap_mpi_tree_failed(h, sapporo_internals()->bodies_take(h->tree, p, h->gravity));
}

static int refresh_over_ranks(sapporo_mpi_tree *h, sapporo_tree_particles *p, int status)
{
    const double start = sap_clock_seconds();
    struct sap_bodies bodies = {.n = 0};
    status = sap_mpi_tree_agree_all(h, status ? status : accept_again(h, p, &bodies));
    if (!status) take_lengths(h, p);
    if (!status) status = sap_mpi_tree_find_range(h, &bodies);
    if (status) return status;
    if (h->by_engine && h->words > 0) sap_mpi_tree_fail_late(h, bring_back(h, 1, p, &bodies)); /* likewise */
    return renew(h, &bodies, start);
}

/* Refreshes the tree of the only rank. */
static int refresh_alone(sapporo_mpi_tree *h, const sapporo_tree_particles *p, int status)
{
    sapporo_tree_particles mine = *p;
    const double start = sap_clock_seconds();
    const int direct = p->memory != SAPPORO_MEMORY_HOST;
    if (!direct) mine.a.base = NULL;
    if (!status) go_direct(h, direct);
    if (!status) take_lengths(h, p);
    if (!status && !direct) status = take_sizes(h, p, NULL, 1);
    if (!status) status = sap_mpi_tree_set_mine(h, &mine);
    const double sent = sap_clock_seconds();
    if (status) return sap_link_agree(&h->link, status);
    status = sap_mpi_tree_refresh_mine(h);
    h->built = status == SAPPORO_OK || sap_mpi_tree_remains(h);
    if (!status && !direct) status = take_sizes(h, p, h->a, 1);
    h->done.refreshes++;
    tell_seconds(h, start, sent);
    return sap_link_agree(&h->link, status);
}

int sap_mpi_tree_refresh(sapporo_mpi_tree *h, const sapporo_tree_particles *given)
{
    sapporo_tree_particles p = {.n = 0};
    int status = sap_mpi_tree_check(h, given, &p);
    if (!status) status = check_tree(h, p.n);
    if (!status) status = reserve_given_lengths(h, &p);
    h->pace.age++;
    return sap_mpi_tree_is_alone(h) ? refresh_alone(h, &p, status) : refresh_over_ranks(h, &p, status);
}

int sapporo_mpi_tree_refresh(sapporo_mpi_tree *tree, const sapporo_tree_particles *particles)
{
    sapporo_mpi_tree *const h = sap_mpi_tree_find(tree);
    if (!h) return SAPPORO_ERR_CLOSED;
    if (h->link.broken) return h->link.broken;
    const sap_fpenv callers = sap_fp_enter();
    h->call = sap_link_begin(&h->link, SAP_CALL_TREE_REFRESH);
    const int status = sap_mpi_tree_refresh(h, particles);
    sap_fp_leave(callers);
    return status;
}
