/*
 * tree_force.c - sapporo_mpi_tree_force and _force_active: walks of each rank's particles, while the nodes of other
 * ranks travel.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fpenv.h"
#include "context/partial.h"
#include "mpi/tree.h"

/* What a caller asks for. */
struct wish {
    int all;                /* 1: forces on all particles of this rank's caller */
    int ni;                 /* rows */
    const int *particle;    /* [ni] particles of the caller; NULL: 0 .. ni-1 */
    double (*acc)[3], *pot; /* [ni] NULL: not wanted */
};

/* Forces on particles that this rank walks. */
struct rows {
    int n;
    double (*acc)[3], *pot;
    int *work;
};

/* Memory of a force. */
struct force {
    struct sap_active active;
    double asked;                   /* active particles of all ranks */
    double unknown;                 /* particles of all ranks whose sizes of accelerations are unknown */
    struct rows sum, more;          /* from the rank's own tree, later from all; from the nodes of other ranks */
    double *a;                      /* sizes of accelerations by address */
    double (*answer)[SAP_ANSWER];   /* of the particles that this rank walks; MPI reads it */
    double (*answered)[SAP_ANSWER]; /* of the caller's particles */
};

static int new_rows(struct rows *r, int n)
{
    const size_t room = (size_t)n + 1;
    *r = (struct rows){n, malloc(room * sizeof *r->acc), malloc(room * sizeof *r->pot), calloc(room, sizeof *r->work)};
    return r->acc && r->pot && r->work ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
}

static void free_rows(struct rows *r)
{
    free(r->acc);
    free(r->pot);
    free(r->work);
}

static int new_force(const sapporo_mpi_tree *h, struct force *f)
{
    const int n = h->route.arrived, bad = new_rows(&f->sum, n) | new_rows(&f->more, n);
    f->a = malloc(((size_t)n + 1) * sizeof *f->a);
    f->answer = malloc(((size_t)n + 1) * sizeof *f->answer);
    f->answered = malloc(((size_t)h->given + 1) * sizeof *f->answered);
    return bad || !f->a || !f->answer || !f->answered ? SAPPORO_ERR_MEMORY : SAPPORO_OK;
}

static void free_force(const sapporo_mpi_tree *h, struct force *f)
{
    sap_active_free(h, &f->active);
    free_rows(&f->sum);
    free_rows(&f->more);
    free(f->a);
    sap_mpi_tree_release(h, f->answer);
    free(f->answered);
}

/* -------------------------------------------------------------------- walks */

/* Walks active particles of this rank through its own tree, or through the nodes of other ranks; adds the interactions.
 */
static int walk(sapporo_mpi_tree *h, int imported, const struct sap_active *active, const double *a, struct rows *to)
{
    const struct sap_tree_pass pass = {.imported = imported, .ni = active->n, .active = active->address, .a = a};
    sapporo_tree_statistics s = {.size = sizeof s};
    const double start = sap_clock_seconds();
    to->n = active->n;
    if (to->n == 0) return SAPPORO_OK;
    int status = sapporo_tree_part_walk(h->tree, &pass, to->acc, to->pot, to->work);
    if (!status) status = sapporo_tree_get_statistics(h->tree, &s);
    if (status) return sap_link_note(&h->link, status, sapporo_tree_last_error(h->tree));
    h->done.particle_particle += s.particle_particle;
    h->done.particle_cell += s.particle_cell;
    h->done.seconds[imported ? SAPPORO_MPI_PHASE_IMPORTED : SAPPORO_MPI_PHASE_WALK] += sap_clock_seconds() - start;
    return SAPPORO_OK;
}

/* Gives the tree the nodes of other ranks. */
static int import(sapporo_mpi_tree *h, const struct sap_travel *t)
{
    struct sap_tree_halo halo;
    int status = sap_halo_join(&t->in, h->link.size, (const int(*)[2])t->got, &halo);
    if (status)
        (void)sap_mpi_tree_no_memory(h, h->route.arrived);
    else if (halo.nodes > 0) {
        status = sapporo_tree_part_import(h->tree, &halo);
        if (status) (void)sap_link_note(&h->link, status, sapporo_tree_last_error(h->tree));
    }
    free((void *)halo.node);
    free((void *)halo.cell);
    return status;
}

/* Adds the forces of the nodes of other ranks to some rows. */
static void add_some_rows(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct force *const f = argument;
    for (ptrdiff_t i = from; i < to; i++) {
        for (int c = 0; c < 3; c++) f->sum.acc[i][c] += f->more.acc[i][c];
        f->sum.pot[i] += f->more.pot[i];
        f->sum.work[i] += f->more.work[i];
    }
}

/* Adds the forces of the nodes of other ranks, which have arrived. */
static int add_imported(sapporo_mpi_tree *h, const struct sap_travel *t, const struct sap_active *active,
                        const double *a, struct force *f)
{
    if (t->in.nodes == 0 || f->sum.n == 0) return SAPPORO_OK;
    int status = import(h, t);
    if (!status) status = walk(h, 1, active, a, &f->more);
    if (!status) sapporo_partial_loop(h->options.threads, f->sum.n, add_some_rows, f);
    return status;
}

/* Bytes that a travel takes at most. */
static size_t bytes_of(const sapporo_mpi_tree *h, const struct sap_travel *t)
{
    const size_t ranks = (size_t)h->link.size, node = sizeof *t->in.node, x = sizeof *t->in.x;
    const size_t joined = (size_t)t->in.nodes * (sizeof(struct sap_tree_node) + sizeof(struct sap_cell));
    return (ranks + 1) * (size_t)sap_travel_room(h) * sizeof *t->regions + 12 * ranks * sizeof *t->count + joined +
           ((size_t)t->out.node_room + (size_t)t->in.nodes) * node + ((size_t)t->out.room + (size_t)t->in.n) * x;
}

static void tell_travel(sapporo_mpi_tree *h, const struct sap_travel *t)
{
    const size_t bytes = bytes_of(h, t);
    h->done.regions = h->nodes.regions;
    h->done.sent_cells = t->out.nodes;
    h->done.sent_particles = t->out.n;
    h->done.got_cells = t->in.nodes;
    h->done.got_particles = t->in.n;
    if (bytes > h->done.halo_bytes) h->done.halo_bytes = bytes;
}

/* Collective.  Walks through the rank's own tree while the nodes of other ranks travel, then through those. */
static int travel_and_walk(sapporo_mpi_tree *h, struct sap_travel *t, const struct sap_active *active, const double *a,
                           struct force *f)
{
    const struct sap_halo_targets targets = {
        .x = (const double *)h->mine, .stride = SAP_BODY, .active = active->is, .a = a};
    const double start = sap_clock_seconds();
    int status = sap_travel_start(h, t, &targets);
    h->done.seconds[SAPPORO_MPI_PHASE_SELECT] += sap_clock_seconds() - start;
    if (status) return status;
    const int walked = walk(h, 0, active, a, &f->sum);
    const double waits = sap_clock_seconds();
    status = sap_travel_finish(h, t);
    h->done.seconds[SAPPORO_MPI_PHASE_WAIT] += sap_clock_seconds() - waits;
    if (status) return status;
    tell_travel(h, t);
    return sap_link_agree(&h->link, walked ? walked : add_imported(h, t, active, a, f));
}

/* Collective.  Computes forces from the particles of all ranks. */
static int pass(sapporo_mpi_tree *h, const struct sap_active *active, const double *a, struct force *f)
{
    if (h->link.size == 1) return sap_link_agree(&h->link, walk(h, 0, active, a, &f->sum));
    struct sap_travel *const t = calloc(1, sizeof *t);
    const int status = travel_and_walk(h, t, active, a, f);
    sap_travel_free(h, t);
    return status;
}

/* ------------------------------------------------------------ accelerations */

static double size_of(const double *a) { return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]); }

/* Copies the sizes of accelerations; returns how many are unknown. */
static int take_sizes(const sapporo_mpi_tree *h, struct force *f)
{
    int unknown = 0;
    for (int i = 0; i < h->route.arrived; i++) {
        f->a[i] = h->mine[i][SAP_BODY_A];
        unknown += !(f->a[i] >= 0);
    }
    return unknown;
}

/* Collective.  For ACCELERATION: finds unknown sizes of accelerations by a walk with an opening angle of 1. */
static int find_sizes(sapporo_mpi_tree *h, struct force *f)
{
    struct sap_active all;
    if (f->unknown == 0) return SAPPORO_OK;
    sap_active_choose_all(h, &all);
    const int status = pass(h, &all, NULL, f);
    for (int i = 0; i < all.n && !status; i++) {
        if (!(f->a[i] >= 0)) f->a[i] = size_of(f->sum.acc[i]);
        h->mine[i][SAP_BODY_A] = f->a[i];
    }
    return status;
}

/* -------------------------------------------------------------------- force */

/* Collective.  Returns the forces to the ranks whose callers gave the particles. */
static int answer(sapporo_mpi_tree *h, struct force *f)
{
    for (int i = 0; i < f->sum.n; i++) {
        memcpy(f->answer[i], f->sum.acc[i], sizeof f->sum.acc[i]);
        f->answer[i][SAP_ANSWER_POT] = f->sum.pot[i];
        f->answer[i][SAP_ANSWER_WORK] = f->sum.work[i];
    }
    return sap_mpi_tree_return(h, &f->active, (const double(*)[SAP_ANSWER])f->answer, f->answered);
}

/* Writes the results. */
static void deliver(const struct wish *wish, const struct force *f)
{
    for (int i = 0; i < wish->ni; i++) {
        const double *const row = f->answered[wish->particle ? wish->particle[i] : i];
        if (wish->acc) memcpy(wish->acc[i], row, sizeof *wish->acc);
        if (wish->pot) wish->pot[i] = row[SAP_ANSWER_POT];
    }
}

/* Keeps what the next build and force need of the results. */
static void keep(sapporo_mpi_tree *h, const struct force *f)
{
    const struct sap_active *const active = &f->active;
    for (int i = 0; i < h->given && !h->worked; i++) h->work[i] = 0;
    h->worked = 1;
    for (int k = 0; k < active->rows; k++) {
        const int i = active->order[k];
        h->size[i] = size_of(f->answered[i]);
        h->work[i] += (int64_t)f->answered[i][SAP_ANSWER_WORK];
    }
    for (int k = 0; k < active->n; k++)
        h->mine[active->address ? active->address[k] : k][SAP_BODY_A] = size_of(f->sum.acc[k]);
    h->done.rows = active->n;
    if (2 * f->asked < (double)h->done.total || f->asked == 0) return;
    h->last_cost = (double)(h->done.particle_particle + h->done.particle_cell) / f->asked;
    if (h->costs == 0) h->first_cost = h->last_cost;
    h->costs = 1;
}

/* Checks what this rank's caller asks for, and chooses the active particles. */
static int choose(sapporo_mpi_tree *h, const struct wish *wish, struct force *f)
{
    struct sap_link *const link = &h->link;
    if (!h->built) return sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "%s: build the tree first", h->call);
    if (wish->ni < 0 || (!wish->particle && wish->ni > h->given))
        return sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "%s: %d active particles; this rank has %d", h->call, wish->ni,
                             h->given);
    for (int i = 0; i < wish->ni && wish->particle; i++)
        if (wish->particle[i] < 0 || wish->particle[i] >= h->given)
            return sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "%s: active[%d] is %d; this rank has particles 0 to %d",
                                 h->call, i, wish->particle[i], h->given - 1);
    const int bad = wish->all ? SAPPORO_OK : sap_active_choose(h, wish->ni, wish->particle, &f->active);
    return bad || new_force(h, f) ? sap_mpi_tree_no_memory(h, h->route.arrived) : SAPPORO_OK;
}

/* Collective.  Chooses the active particles, and tells the ranks that walk them. */
static int begin(sapporo_mpi_tree *h, const struct wish *wish, struct force *f)
{
    static const char *const names[2] = {NULL, NULL};
    struct sap_link *const link = &h->link;
    int status = choose(h, wish, f);
    const double field[2] = {status ? 0 : wish->ni, status ? 0 : take_sizes(h, f)};
    status = sap_link_compare(link, status, 2, field, names);
    for (int r = 0; r < link->size && !status; r++) {
        f->asked += sap_link_field(link, r, 0);
        f->unknown += sap_link_field(link, r, 1);
    }
    if (status) return status;
    if (!wish->all) return sap_active_share(h, &f->active);
    sap_active_choose_all(h, &f->active);
    return SAPPORO_OK;
}

static int compute(sapporo_mpi_tree *h, struct force *f, const struct wish *wish)
{
    const int by_acceleration = h->settings.mac == SAPPORO_MAC_ACCELERATION;
    int status = begin(h, wish, f);
    if (!status && by_acceleration) status = find_sizes(h, f);
    h->done.particle_particle = h->done.particle_cell = 0;
    if (!status) status = pass(h, &f->active, by_acceleration ? f->a : NULL, f);
    if (!status) status = answer(h, f);
    if (status) return status;
    deliver(wish, f);
    keep(h, f);
    return SAPPORO_OK;
}

static void fill_with_nan(const struct wish *wish)
{
    for (int i = 0; i < wish->ni; i++) {
        for (int c = 0; c < 3 && wish->acc; c++) wish->acc[i][c] = NAN;
        if (wish->pot) wish->pot[i] = NAN;
    }
}

static int force(sapporo_mpi_tree *h, const struct wish *wish)
{
    struct force f = {.a = NULL};
    const sap_fpenv callers = sap_fp_enter();
    for (int k = SAPPORO_MPI_PHASE_SELECT; k < SAPPORO_MPI_PHASES; k++) h->done.seconds[k] = 0;
    h->done.halo_bytes = 0;
    const int status = h->link.broken ? h->link.broken : compute(h, &f, wish);
    if (status < 0) fill_with_nan(wish);
    free_force(h, &f);
    sap_fp_leave(callers);
    return status;
}

int sapporo_mpi_tree_force(sapporo_mpi_tree *tree, double (*acc)[3], double *pot)
{
    sapporo_mpi_tree *const h = sap_mpi_tree_find(tree);
    if (!h) return SAPPORO_ERR_CLOSED;
    const struct wish all = {.all = 1, .ni = h->given, .acc = acc, .pot = pot};
    h->call = "sapporo_mpi_tree_force";
    return force(h, &all);
}

int sapporo_mpi_tree_force_active(sapporo_mpi_tree *tree, int ni, const int *active, double (*acc)[3], double *pot)
{
    const struct wish some = {.ni = ni, .particle = active, .acc = acc, .pot = pot};
    sapporo_mpi_tree *const h = sap_mpi_tree_find(tree);
    if (!h) fill_with_nan(&some);
    if (!h) return SAPPORO_ERR_CLOSED;
    h->call = "sapporo_mpi_tree_force_active";
    return force(h, &some);
}
