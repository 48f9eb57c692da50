/*
 * tree_build.c - sapporo_mpi_tree_build and _refresh: take particles, send them to their ranks, and build or refresh
 * the tree of each rank.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fpenv.h"
#include "base/structs.h"
#include "context/partial.h"
#include "engine/tree_limits.h"
#include "mpi/tree.h"

/* ----------------------------------------------------------------- arguments */

/* Checks a particle; `body` is a copy. */
static int check_body(sapporo_mpi_tree *h, int i, const double *body)
{
    for (int c = 0; c < 3; c++)
        if (!(fabs(body[c]) <= SAP_TREE_LIMIT))
            return sap_link_fail(&h->link, SAPPORO_ERR_NOT_FINITE,
                                 "%s: position of particle %d is not finite, or beyond 1e100", h->call, i);
    if (!isfinite(body[SAP_BODY_MASS]))
        return sap_link_fail(&h->link, SAPPORO_ERR_NOT_FINITE, "%s: mass of particle %d is not finite", h->call, i);
    if (!isfinite(body[SAP_BODY_A]))
        return sap_link_fail(&h->link, SAPPORO_ERR_NOT_FINITE, "%s: acceleration of particle %d is not finite", h->call,
                             i);
    return SAPPORO_OK;
}

/* Particles that threads copy. */
struct body_rows {
    const sapporo_mpi_tree *h;
    const sapporo_tree_particles *p;
    double (*body)[SAP_BODY];
};

static void take_some_bodies(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct body_rows *const b = argument;
    for (int i = (int)from; i < to; i++) {
        memcpy(b->body[i], sap_column_at(&b->p->x, i, 3 * sizeof(double)), 3 * sizeof(double));
        b->body[i][SAP_BODY_MASS] = sap_column_double(&b->p->mass, i);
        b->body[i][SAP_BODY_A] = b->p->a.base ? sap_column_double(&b->p->a, i) : b->h->size[i];
    }
}

/* Copies the particles of the caller, and checks them. */
static int take_bodies(sapporo_mpi_tree *h, const sapporo_tree_particles *p, double (*body)[SAP_BODY])
{
    struct body_rows b = {h, p, body};
    int status = SAPPORO_OK;
    sapporo_partial_loop(h->options.threads, p->n, take_some_bodies, &b);
    for (int i = 0; i < p->n && !status; i++) status = check_body(h, i, body[i]);
    return status;
}

static int check_particles(sapporo_mpi_tree *h, const sapporo_tree_particles *given, sapporo_tree_particles *p)
{
    struct sap_link *const link = &h->link;
    if (!given || sap_struct_copy(p, sizeof *p, given, sizeof given->size))
        return sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "%s: size of sapporo_tree_particles is not set", h->call);
    if (p->n < 0 || (p->n > 0 && (!p->x.base || !p->mass.base)))
        return sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "%s: %d particles, or positions or masses are missing",
                             h->call, p->n);
    if (p->memory != SAPPORO_MEMORY_HOST)
        return sap_link_fail(link, SAPPORO_ERR_UNSUPPORTED, "%s: particles come from host memory only", h->call);
    return SAPPORO_OK;
}

/* Makes room for what is known of the caller's particles: nothing, if their number is another one. */
static int reserve_given(sapporo_mpi_tree *h, int n)
{
    if (n == h->given && h->size) return SAPPORO_OK;
    free(h->size);
    free(h->work);
    h->given = 0;
    h->size = malloc(((size_t)n + 1) * sizeof *h->size);
    h->work = malloc(((size_t)n + 1) * sizeof *h->work);
    if (!h->size || !h->work) {
        free(h->size);
        free(h->work);
        h->size = NULL;
        h->work = NULL;
        return sap_mpi_tree_no_memory(h, n);
    }
    h->given = n;
    for (int i = 0; i < n; i++) h->size[i] = -1, h->work[i] = -1;
    return SAPPORO_OK;
}

int sap_mpi_tree_take_work(sapporo_mpi_tree *h, int n, const int64_t *work)
{
    const int status = reserve_given(h, n);
    for (int i = 0; i < n && !status; i++) h->work[i] = work[i];
    return status;
}

/* --------------------------------------------------------------------- build */

/* Collective.  Finds the ranks of the particles and sends them there. */
static int distribute(sapporo_mpi_tree *h, const double (*body)[SAP_BODY])
{
    const int n = h->given;
    double mean = 1;
    int *const to = malloc(((size_t)n + 1) * sizeof *to);
    int status = sap_link_agree(&h->link, to ? SAPPORO_OK : sap_mpi_tree_no_memory(h, n));
    if (!status) status = sap_mpi_tree_find_whole(h, body, n, &mean);
    if (!status && !h->walker) status = sap_mpi_tree_split(h, body, n, mean, to);
    if (!status && h->walker && to) memcpy(to, h->walker, (size_t)n * sizeof *to);
    if (!status) status = sap_mpi_tree_send(h, body, to);
    free(to);
    return status;
}

/* Notes the seconds of a build or refresh whose particles were sent at `sent`. */
static void tell_seconds(sapporo_mpi_tree *h, double start, double sent)
{
    h->done.seconds[SAPPORO_MPI_PHASE_EXCHANGE] = sent - start;
    h->done.seconds[SAPPORO_MPI_PHASE_BUILD] = sap_clock_seconds() - sent;
}

static int build(sapporo_mpi_tree *h, const sapporo_tree_particles *given)
{
    sapporo_tree_particles p = {.n = 0};
    const double start = sap_clock_seconds();
    int status = check_particles(h, given, &p);
    if (!status) status = reserve_given(h, p.n);
    void *const memory = malloc(((size_t)(status ? 0 : p.n) + 1) * SAP_BODY * sizeof(double));
    double(*const body)[SAP_BODY] = memory;
    if (!status) status = body ? take_bodies(h, &p, body) : sap_mpi_tree_no_memory(h, p.n);
    status = sap_link_agree(&h->link, status);
    if (!status) status = distribute(h, (const double(*)[SAP_BODY])body);
    free(memory);
    const double sent = sap_clock_seconds();
    if (!status) status = sap_link_agree(&h->link, sap_mpi_tree_make_mine(h, 0));
    tell_seconds(h, start, sent);
    return status;
}

/* Forgets the tree before a build. */
static void forget(sapporo_mpi_tree *h)
{
    h->built = h->worked = 0;
    h->first_cost = h->last_cost = 0;
    h->costs = 0;
    memset(&h->done, 0, sizeof h->done);
    sap_mpi_tree_free_route(h);
    sap_mpi_tree_release(h, h->mine);
    h->mine = NULL;
}

static int build_anew(sapporo_mpi_tree *h, const sapporo_tree_particles *particles)
{
    forget(h);
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
    h->call = "sapporo_mpi_tree_build";
    const int status = build_anew(h, particles);
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
static int renew(sapporo_mpi_tree *h, const double (*body)[SAP_BODY], double start)
{
    h->built = 0;
    int status = sap_mpi_tree_send_again(h, body);
    const double sent = sap_clock_seconds();
    if (!status) status = sap_link_agree(&h->link, sap_mpi_tree_make_mine(h, 1));
    h->built = status == SAPPORO_OK;
    h->done.refreshes++;
    tell_seconds(h, start, sent);
    return status;
}

static int refresh(sapporo_mpi_tree *h, const sapporo_tree_particles *given)
{
    sapporo_tree_particles p = {.n = 0};
    const double start = sap_clock_seconds();
    int status = check_particles(h, given, &p);
    if (!status) status = check_tree(h, p.n);
    void *const memory = malloc(((size_t)(status ? 0 : p.n) + 1) * SAP_BODY * sizeof(double));
    double(*const body)[SAP_BODY] = memory;
    if (!status) status = body ? take_bodies(h, &p, body) : sap_mpi_tree_no_memory(h, p.n);
    status = sap_link_agree(&h->link, status);
    if (!status) status = sap_mpi_tree_find_range(h, (const double(*)[SAP_BODY])body, p.n);
    if (!status) status = renew(h, (const double(*)[SAP_BODY])body, start);
    free(memory);
    return status;
}

int sapporo_mpi_tree_refresh(sapporo_mpi_tree *tree, const sapporo_tree_particles *particles)
{
    sapporo_mpi_tree *const h = sap_mpi_tree_find(tree);
    if (!h) return SAPPORO_ERR_CLOSED;
    if (h->link.broken) return h->link.broken;
    const sap_fpenv callers = sap_fp_enter();
    h->call = "sapporo_mpi_tree_refresh";
    const int status = refresh(h, particles);
    sap_fp_leave(callers);
    return status;
}

/*
 * Collective.  Whether the trees of all ranks are to be built: some rank has another number of particles, or none; or
 * forces cost more than `factor` times those after the build, over all ranks or on the rank that has most to do.
 */
static int asks_for_build(sapporo_mpi_tree *h, const sapporo_tree_particles *given, double factor, int *builds)
{
    static const char *const name[] = {"factor", NULL, NULL, NULL};
    enum { FIELDS = sizeof name / sizeof *name };
    sapporo_tree_particles p = {.n = 0};
    int status = check_particles(h, given, &p);
    if (!status && !(factor >= 1))
        status = sap_link_fail(&h->link, SAPPORO_ERR_ARGUMENT, "%s: factor is %g; it may be 0, or 1 or more", h->call,
                               factor);
    const double field[FIELDS] = {factor, !h->built || p.n != h->given, h->first_cost, h->last_cost};
    status = sap_link_compare(&h->link, status, FIELDS, field, name);
    double sum[2] = {0}, most[2] = {0};
    *builds = 0;
    for (int r = 0; r < h->link.size && !status; r++) {
        *builds |= sap_link_field(&h->link, r, 1) != 0;
        for (int k = 0; k < 2; k++) {
            const double cost = sap_link_field(&h->link, r, 2 + k);
            sum[k] += cost;
            most[k] = fmax(most[k], cost);
        }
    }
    *builds |= sum[1] > factor * sum[0] || most[1] > factor * most[0];
    return status;
}

int sapporo_mpi_tree_refresh_or_build(sapporo_mpi_tree *tree, const sapporo_tree_particles *particles, double factor,
                                      int *built)
{
    static const double usual = 1.2; /* as of sapporo_tree_refresh_or_build */
    sapporo_mpi_tree *const h = sap_mpi_tree_find(tree);
    int builds = 0;
    if (built) *built = 0;
    if (!h) return SAPPORO_ERR_CLOSED;
    if (h->link.broken) return h->link.broken;
    const sap_fpenv callers = sap_fp_enter();
    h->call = "sapporo_mpi_tree_refresh_or_build";
    int status = asks_for_build(h, particles, factor == 0 ? usual : factor, &builds);
    if (!status) status = builds ? build_anew(h, particles) : refresh(h, particles);
    if (built) *built = builds && !status;
    sap_fp_leave(callers);
    return status;
}
