/*
 * tree_force.c - forces of trees over ranks: walks of each rank's particles, while the nodes of other ranks travel.
 */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "context/internals.h"
#include "engine/softening.h"
#include "engine/tree_macs.h"
#include "mpi/tree.h"

/* Forces on particles that this rank walks. */
struct rows {
    int n;
    double (*acc)[3], *pot;
    int *work;
};

/* A force under way.  Its memory is that of the handle. */
struct force {
    sapporo_mpi_tree *h;
    struct sap_force_wish *wish;
    struct sap_active active;
    double asked;   /* active particles of all ranks */
    double unknown; /* particles of all ranks whose sizes of accelerations are unknown */
    atomic_int mine_unknown;
    struct rows sum, more; /* from the rank's own tree, later from all; from the nodes of other ranks */
    double (*out)[SAP_ANSWER], (*in)[SAP_ANSWER]; /* answers to the other ranks' callers; of all ranks */
    double (*answered)[SAP_ANSWER];               /* of the caller's particles, if some of them are active */
};

/* Makes room for n rows; acc, pot: memory of the caller for them, or NULL. */
static int new_rows(struct sap_room *room, int n, double (*acc)[3], double *pot, struct rows *r)
{
    const size_t many = (size_t)n + 1;
    r->n = n;
    r->acc = acc ? acc : sap_room_array(&room[0], many, sizeof *acc);
    r->pot = pot ? pot : sap_room_array(&room[1], many, sizeof *pot);
    r->work = sap_room_array(&room[2], many, sizeof *r->work);
    return r->acc && r->pot && r->work ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
}

/* Makes room for a force.  If all are wanted and all particles stay on this rank, walks write into the caller's rows.
 */
static int new_force(sapporo_mpi_tree *h, struct force *f)
{
    struct sap_tree_rooms *const r = &h->rooms;
    const size_t answer = sizeof(double[SAP_ANSWER]), n = (size_t)h->route.arrived, given = (size_t)h->given;
    const int alone = sap_mpi_tree_is_alone(h), all = f->wish->all, theirs = all && !h->route.order;
    f->out = sap_room_array(&r->out, n + 1, answer);
    f->in = sap_room_array(&r->in, given + 1, answer);
    if (!f->out || !f->in) return SAPPORO_ERR_MEMORY;
    if (sap_mpi_tree_on_device(h)) return sap_mpi_tree_reserve_records(h, &h->route);
    if (h->by_engine) return SAPPORO_OK;
    int bad = new_rows(r->rows, h->route.arrived, theirs ? f->wish->acc : NULL, theirs ? f->wish->pot : NULL, &f->sum);
    if (!all) f->answered = sap_room_array(&r->given, given + 1, answer);
    bad |= !all && !f->answered;
    if (bad || alone) return bad ? SAPPORO_ERR_MEMORY : SAPPORO_OK;
    if (!h->selects) bad = new_rows(r->more, h->route.arrived, NULL, NULL, &f->more);
    return bad ? SAPPORO_ERR_MEMORY : SAPPORO_OK;
}

/* -------------------------------------------------------------------- walks */

/*
 * Walks active particles of this rank through its own tree, or through the nodes of other ranks; adds the interactions.
 * keeps: the engine keeps the results for the walk through the nodes of other ranks, which adds them; without such
 * nodes that walk is none.
 */
static int walk(sapporo_mpi_tree *h, int imported, int keeps, const struct sap_active *active, int by_a,
                struct rows *to)
{
    const int stays = keeps || h->by_engine, ends = imported && h->travel.in.nodes == 0;
    const struct sap_tree_pass pass = {.imported = imported && !ends,
                                       .ni = active->route->arrived,
                                       .active = active->address,
                                       .a = by_a && !h->by_engine ? h->a : NULL,
                                       .knows_a = h->selects && !sap_mpi_tree_is_alone(h),
                                       .has_a = by_a && h->by_engine,
                                       .keeps = keeps,
                                       .stays = h->by_engine && !keeps,
                                       .ends = ends,
                                       .adds = imported && h->selects && !ends};
    long long particles, cells;
    const double start = sap_clock_seconds();
    to->n = active->route->arrived;
    if (to->n == 0) return SAPPORO_OK;
    int status = sapporo_internals()->part_walk(h->tree, &pass, stays ? NULL : to->acc, stays ? NULL : to->pot,
                                                stays ? NULL : to->work);
    if (!status) status = sapporo_internals()->part_walked(h->tree, &particles, &cells);
    if (status) return sap_link_note(&h->link, status, sapporo_tree_last_error(h->tree));
    h->done.particle_particle += particles;
    h->done.particle_cell += cells;
    h->done.seconds[imported ? SAPPORO_MPI_PHASE_IMPORTED : SAPPORO_MPI_PHASE_WALK] += sap_clock_seconds() - start;
    return SAPPORO_OK;
}

/* Gives the tree the nodes of other ranks. */
static int import(sapporo_mpi_tree *h, struct sap_travel *t)
{
    struct sap_tree_halo halo;
    const int(*const count)[2] = (const int(*)[2])t->got;
    if (t->on_device) return sap_mpi_tree_failed(h, sapporo_internals()->port_join(h->tree, h->link.size, count));
    int status = sap_halo_join(&t->in, h->link.size, count, h->options.threads, &t->memory, &halo);
    if (status) return sap_mpi_tree_no_memory(h, h->route.arrived);
    if (halo.nodes > 0) status = sapporo_internals()->part_import(h->tree, &halo);
    return status ? sap_link_note(&h->link, status, sapporo_tree_last_error(h->tree)) : SAPPORO_OK;
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
static int add_imported(sapporo_mpi_tree *h, struct sap_travel *t, const struct sap_active *active, int by_a,
                        struct force *f)
{
    if (f->sum.n == 0 || (t->in.nodes == 0 && !h->selects)) return SAPPORO_OK;
    int status = t->in.nodes > 0 ? import(h, t) : SAPPORO_OK;
    if (!status) status = walk(h, 1, 0, active, by_a, h->selects ? &f->sum : &f->more);
    if (!status && !h->selects) sapporo_internals()->partial_loop(h->options.threads, f->sum.n, add_some_rows, f);
    return status;
}

/* Elements of an array of some room that n elements need when it grows; the room may be that of a larger force. */
static size_t grown(int n, int room)
{
    const int most = n + n / 2;
    return (size_t)(room < most ? room : most);
}

/* Bytes that a travel takes at most. */
static size_t bytes_of(const sapporo_mpi_tree *h, const struct sap_travel *t)
{
    const size_t ranks = (size_t)h->link.size, lengths = (size_t)h->words * sizeof(double);
    const size_t node = sizeof *t->in.node + lengths, x = sizeof *t->in.x + (h->words ? sizeof *t->in.h : 0);
    const size_t numbers = 4 + 2 * SAP_ROUTE_NUMBERS; /* per rank: sent and got, and of the two routes */
    const size_t joined = (size_t)t->in.nodes * (sizeof(struct sap_tree_node) + sizeof(struct sap_cell) + lengths);
    const size_t always = (ranks + 1) * (size_t)sap_travel_room(h) * sizeof *t->regions + numbers * ranks * sizeof(int);
    if (t->on_device) return always;
    return always + joined + (grown(t->out.nodes, t->out.node_room) + (size_t)t->in.nodes) * node +
           (grown(t->out.n, t->out.room) + (size_t)t->in.n) * x;
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

/*
 * Collective.  Walks through the rank's own tree while the nodes of other ranks travel, then through those.  The own
 * walk begins first if the engine has all that regions need; a device is then busy from the start.
 */
static int travel_and_walk(sapporo_mpi_tree *h, struct sap_travel *t, const struct sap_active *active, int by_a,
                           struct force *f)
{
    const int early = h->by_engine;
    const struct sap_halo_targets targets = {.x = (const double *)h->mine,
                                             .stride = SAP_BODY,
                                             .active = active->is,
                                             .h = sap_softening_lengths(&h->settings) ? h->mine_h : NULL,
                                             .a = by_a && !h->by_engine ? h->a : NULL,
                                             .has_a = by_a && h->by_engine,
                                             .walking = early && active->route->arrived > 0,
                                             .threads = h->options.threads};
    const double start = sap_clock_seconds();
    int walked = early ? walk(h, 0, 1, active, by_a, &f->sum) : SAPPORO_OK;
    int status = sap_travel_prepare(h, t, &targets);
    if (status) return status;
    if (h->selects && !early) walked = walk(h, 0, 1, active, by_a, &f->sum);
    status = sap_travel_start(h, t);
    h->done.seconds[SAPPORO_MPI_PHASE_SELECT] += sap_clock_seconds() - start;
    if (status) return status;
    if (!h->selects) walked = walk(h, 0, 0, active, by_a, &f->sum);
    const double waits = sap_clock_seconds();
    status = sap_travel_finish(h, t);
    h->done.seconds[SAPPORO_MPI_PHASE_WAIT] += sap_clock_seconds() - waits;
    if (status) return status;
    tell_travel(h, t);
    if (!walked && !h->late) walked = add_imported(h, t, active, by_a, f);
    return sap_mpi_tree_agree_all(h, walked);
}

/* Collective.  Computes forces from the particles of all ranks; by_a: by the sizes of accelerations, else by opening
 * angles. */
static int pass(sapporo_mpi_tree *h, const struct sap_active *active, int by_a, struct force *f)
{
    if (sap_mpi_tree_is_alone(h)) return sap_link_agree(&h->link, walk(h, 0, 0, active, by_a, &f->sum));
    return travel_and_walk(h, &h->travel, active, by_a, f);
}

/* ------------------------------------------------------------ accelerations */

static int is_by_acceleration(const sapporo_mpi_tree *h) { return sap_mac_row(h->settings.mac).by_a; }

static double size_of(const double *a) { return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]); }

static void count_some_unknown(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct force *const f = argument;
    int unknown = 0;
    for (ptrdiff_t i = from; i < to; i++) unknown += !(f->h->a[i] >= 0);
    if (unknown) atomic_fetch_add(&f->mine_unknown, unknown);
}

/* How many sizes of accelerations are unknown, of the particles that this rank walks or that its caller gave. */
static double count_unknown(struct force *f)
{
    if (f->h->by_engine) return is_by_acceleration(f->h) ? f->h->unknown : 0;
    if (is_by_acceleration(f->h))
        sapporo_internals()->partial_loop(f->h->options.threads, f->h->route.arrived, count_some_unknown, f);
    return atomic_load(&f->mine_unknown);
}

static void take_some_unknown(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct force *const f = argument;
    for (ptrdiff_t i = from; i < to; i++)
        if (!(f->h->a[i] >= 0)) f->h->a[i] = size_of(f->sum.acc[i]);
}

/* Collective.  For ACCELERATION: finds unknown sizes of accelerations by a walk with an opening angle of 1. */
static int find_sizes(sapporo_mpi_tree *h, struct force *f)
{
    struct sap_active all;
    if (f->unknown == 0) return SAPPORO_OK;
    sap_active_choose_all(h, &all);
    const int status = pass(h, &all, 0, f);
    if (!status && h->by_engine) {
        sap_mpi_tree_fail_late(h, sap_mpi_tree_failed(h, sapporo_internals()->bodies_learn(h->tree)));
        h->unknown = 0;
    }
    if (!status && !h->by_engine)
        sapporo_internals()->partial_loop(h->options.threads, h->route.arrived, take_some_unknown, f);
    return status;
}

/* -------------------------------------------------------------------- force */

/* Writes an answer from row k. */
static void tell_row(const struct rows *r, ptrdiff_t k, double *answer)
{
    memcpy(answer, r->acc[k], sizeof *r->acc);
    answer[SAP_ANSWER_POT] = r->pot[k];
    answer[SAP_ANSWER_WORK] = r->work[k];
}

/* Answers some rows for other ranks: those before the rows of this rank's own particles, and those behind them. */
static void answer_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct force *const f = argument;
    const struct sap_route *const p = f->active.route;
    const int me = f->h->link.rank, first = p->got_at[me], own = p->got[me];
    for (ptrdiff_t k = from; k < to; k++) {
        const ptrdiff_t row = k < first ? k : k + own;
        tell_row(&f->sum, row, f->out[row]);
    }
}

/* What the engine is asked for. */
static struct sap_bodies_wish engine_wish(const sapporo_mpi_tree *h, const struct force *f)
{
    const struct sap_force_wish *const w = f->wish;
    return (struct sap_bodies_wish){.way = sap_mpi_tree_way(h, f->active.route),
                                    .item = w->all ? NULL : f->active.route->order,
                                    .all = w->all,
                                    .ni = w->ni,
                                    .particle = w->particle,
                                    .sized = is_by_acceleration(h),
                                    .first_force = !h->worked,
                                    .memory = w->memory,
                                    .acc = w->acc,
                                    .pot = w->pot};
}

/* Collective.  The same by the engine, from memory of the device if it can. */
static int answer_by_engine(sapporo_mpi_tree *h, struct force *f, const struct sap_route *back, struct sap_wire *wire)
{
    const struct sap_bodies_wish wish = engine_wish(h, f);
    if (sap_mpi_tree_on_device(h)) {
        (void)sap_mpi_tree_wire(h, back, wire); /* there is room */
        f->out = f->in = NULL;
    }
    sap_mpi_tree_fail_late(h, sap_mpi_tree_failed(h, sapporo_internals()->bodies_answer(h->tree, &wish, f->out)));
    const int status = sap_exchange(&h->link, back, wire);
    if (h->link.broken) return status;
    sap_mpi_tree_fail_late(h, status);
    return SAPPORO_OK;
}

/* Collective.  Returns the forces to the ranks whose callers gave the particles. */
static int answer(sapporo_mpi_tree *h, struct force *f)
{
    const struct sap_route back = sap_route_back(f->active.route);
    struct sap_wire wire = {.out = f->out, .in = f->in, .each = sizeof *f->in, .own_stays = 1};
    if (sap_mpi_tree_is_alone(h)) return SAPPORO_OK;
    if (h->by_engine) return answer_by_engine(h, f, &back, &wire);
    sapporo_internals()->partial_loop(h->options.threads, back.n - back.sent[h->link.rank], answer_some, f);
    return sap_exchange(&h->link, &back, &wire);
}

/* Writes row k of the results of the caller's particle i, unless it is there. */
static void give_row(const struct force *f, ptrdiff_t i, const double *row)
{
    const struct sap_force_wish *const w = f->wish;
    if (!w->all) memcpy(f->answered[i], row, sizeof *f->answered);
    if (w->all && w->acc && w->acc != f->sum.acc) memcpy(w->acc[i], row, sizeof *w->acc);
    if (w->all && w->pot && w->pot != f->sum.pot) w->pot[i] = row[SAP_ANSWER_POT];
}

/* Takes some answers: results, and what the next build and force need of them.  Those of this rank are rows still. */
static void take_some_answers(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct force *const f = argument;
    const struct sap_route *const p = f->active.route;
    sapporo_mpi_tree *const h = f->h;
    const int sized = is_by_acceleration(h), me = h->link.rank;
    const int first = p->sent_at[me], end = first + p->sent[me];
    const ptrdiff_t before = p->got_at[me] - first;
    for (ptrdiff_t k = from; k < to; k++) {
        const ptrdiff_t i = p->order ? p->order[k] : k;
        const int is_own = k >= first && k < end;
        double own[SAP_ANSWER];
        const double *const row = is_own ? own : f->in[k];
        if (is_own) tell_row(&f->sum, k + before, own);
        give_row(f, i, row);
        if (sized) h->size[i] = size_of(row);
        h->work[i] += (int64_t)row[SAP_ANSWER_WORK];
    }
}

static void keep_some_sizes(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct force *const f = argument;
    for (ptrdiff_t k = from; k < to; k++)
        f->h->a[f->active.address ? f->active.address[k] : k] = size_of(f->sum.acc[k]);
}

/* Writes the results of some active rows. */
static void deliver_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct force *const f = argument;
    const struct sap_force_wish *const wish = f->wish;
    for (ptrdiff_t i = from; i < to; i++) {
        const double *const row = f->answered[wish->particle ? wish->particle[i] : i];
        if (wish->acc) memcpy(wish->acc[i], row, sizeof *wish->acc);
        if (wish->pot) wish->pot[i] = row[SAP_ANSWER_POT];
    }
}

/* Writes the results, and keeps what the next build and force need of them. */
static void deliver(sapporo_mpi_tree *h, struct force *f)
{
    const int threads = h->options.threads;
    if (h->by_engine) {
        const struct sap_bodies_wish wish = engine_wish(h, f);
        const int status = sapporo_internals()->bodies_deliver(h->tree, &wish, (const double(*)[SAP_ANSWER])f->in);
        sap_mpi_tree_fail_late(h, sap_mpi_tree_failed(h, status));
        h->worked = 1;
        return;
    }
    if (!h->worked) memset(h->work, 0, (size_t)h->given * sizeof *h->work);
    h->worked = 1;
    sapporo_internals()->partial_loop(threads, f->active.route->n, take_some_answers, f);
    if (is_by_acceleration(h)) sapporo_internals()->partial_loop(threads, f->active.route->arrived, keep_some_sizes, f);
    if (!f->wish->all) sapporo_internals()->partial_loop(threads, f->wish->ni, deliver_some, f);
}

/* Copies rows to memory of the device. */
static int send_rows(sapporo_mpi_tree *h, const struct sap_force_wish *w)
{
    const size_t rows = (size_t)w->ni;
    int status = SAPPORO_OK;
    if (w->acc_there)
        status = sapporo_internals()->bodies_copy(h->tree, w->acc_there, rows * sizeof *w->acc, w->acc, 0);
    if (!status && w->pot_there)
        status = sapporo_internals()->bodies_copy(h->tree, w->pot_there, rows * sizeof *w->pot, w->pot, 0);
    return sap_mpi_tree_failed(h, status);
}

/* Keeps what a force cost. */
static void keep_costs(sapporo_mpi_tree *h, const struct force *f)
{
    h->done.rows = f->active.route->arrived;
    if (2 * f->asked < (double)h->done.total || f->asked == 0) return;
    sap_pace_note(&h->pace, (double)(h->done.particle_particle + h->done.particle_cell) / f->asked);
}

/* Checks what this rank's caller asks for, and chooses the active particles. */
static int choose(sapporo_mpi_tree *h, struct force *f)
{
    const struct sap_force_wish *const wish = f->wish;
    struct sap_link *const link = &h->link;
    if (!h->built) return sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "%s: build the tree first", h->call);
    if (wish->wrong) return wish->wrong;
    if (wish->ni < 0 || (!wish->particle && wish->ni > h->given))
        return sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "%s: %d active particles; this rank has %d", h->call, wish->ni,
                             h->given);
    for (int i = 0; i < wish->ni && wish->particle; i++)
        if (wish->particle[i] < 0 || wish->particle[i] >= h->given)
            return sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "%s: active[%d] is %d; this rank has particles 0 to %d",
                                 h->call, i, wish->particle[i], h->given - 1);
    const int late = wish->all ? SAPPORO_OK : sap_mpi_tree_bring_order(h);
    if (late) return late;
    const int bad = wish->all ? SAPPORO_OK : sap_active_choose(h, wish->ni, wish->particle, &f->active);
    const int made = bad ? (int)SAPPORO_ERR_MEMORY : new_force(h, f);
    if (made) return made == SAPPORO_ERR_MEMORY ? sap_mpi_tree_no_memory(h, h->route.arrived) : made;
    return sap_mpi_tree_is_alone(h) ? SAPPORO_OK : sap_travel_reserve(h);
}

/* Collective.  Lists of active particles travel unless all ranks want all of theirs. */
static int settle_all(sapporo_mpi_tree *h, struct force *f, int wanting)
{
    if (wanting == 0 || wanting == h->link.size) return SAPPORO_OK;
    const int chosen = !f->wish->all;
    f->wish->all = 0;
    return sap_link_agree(&h->link, chosen ? SAPPORO_OK : choose(h, f));
}

/* Collective.  Chooses the active particles, and tells the ranks that walk them. */
static int begin(sapporo_mpi_tree *h, struct force *f)
{
    static const char *const names[3] = {NULL, NULL, NULL};
    struct sap_link *const link = &h->link;
    int status = choose(h, f), wanting = 0;
    const double field[3] = {status ? 0 : f->wish->ni, status ? 0 : count_unknown(f), f->wish->all};
    status = sap_link_compare(link, status, 3, field, names);
    for (int r = 0; r < link->size && !status; r++) {
        f->asked += sap_link_field(link, r, 0);
        f->unknown += sap_link_field(link, r, 1);
        wanting += sap_link_field(link, r, 2) > 0;
    }
    if (!status) status = settle_all(h, f, wanting);
    if (status) return status;
    if (!f->wish->all) return sap_active_share(h, &f->active);
    sap_active_choose_all(h, &f->active);
    return SAPPORO_OK;
}

static int compute(sapporo_mpi_tree *h, struct force *f)
{
    int status = begin(h, f);
    if (!status && is_by_acceleration(h)) status = find_sizes(h, f);
    h->done.particle_particle = h->done.particle_cell = 0;
    if (!status) status = pass(h, &f->active, is_by_acceleration(h), f);
    if (!status) status = answer(h, f);
    if (status) return status;
    deliver(h, f);
    if (f->wish->acc_there || f->wish->pot_there) sap_mpi_tree_fail_late(h, send_rows(h, f->wish));
    if (h->divides) status = sap_mpi_tree_agree_all(h, SAPPORO_OK);
    if (!status) keep_costs(h, f);
    return status;
}

int sap_mpi_tree_force(sapporo_mpi_tree *h, const struct sap_force_wish *wish)
{
    struct sap_force_wish agreed = *wish;
    struct force f = {.h = h, .wish = &agreed};
    for (int k = SAPPORO_MPI_PHASE_SELECT; k < SAPPORO_MPI_PHASES; k++) h->done.seconds[k] = 0;
    h->done.halo_bytes = 0;
    return compute(h, &f);
}
