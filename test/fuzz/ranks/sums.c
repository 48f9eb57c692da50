/*
 * sums.c - direct sums over ranks, beside a context of this rank that has the particles of all ranks: same bits, and
 * statuses that follow from those of the context.
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "check.h"

enum { BLOCK = 2048, NEAR_BLOCKS = 6, FAR_BLOCKS = 5 };

/* Blocks of addresses far from 0.  The context, whose memory follows from addresses, has them behind the near ones. */
static const int far_block[FAR_BLOCKS] = {1000, 5000, 1 << 18, (1 << 19) - 1, (1 << 20) - 1};

static struct {
    sapporo_mpi *over; /* NULL: not open */
    sapporo *whole;    /* all particles */
    int has_no_time;   /* 1: the time that was set last is NaN */
} sums;

/* Particles of a call: of all ranks, and of this one. */
static struct {
    int n, mine, owner[PLAN_PARTICLES], address[PLAN_PARTICLES], is_given[PLAN_PARTICLES];
    struct point all[PLAN_PARTICLES], own[PLAN_PARTICLES];
    int own_address[PLAN_PARTICLES];
} given;

static const char *text(void) { return sapporo_mpi_last_error(sums.over); }

/* The address of the context for one over ranks. */
static int folded(int address)
{
    int block = address / BLOCK;
    for (int k = 0; k < FAR_BLOCKS; k++)
        if (block == far_block[k]) block = NEAR_BLOCKS + k;
    return block * BLOCK + address % BLOCK;
}

/* ---- opening ---------------------------------------------------------------------------------- */

void sums_close(void)
{
    sapporo_mpi_close(sums.over);
    sapporo_close(sums.whole);
    memset(&sums, 0, sizeof sums);
}

static void open_sums(const struct plan *p)
{
    static const sapporo_mpi_costs costs = {.size = sizeof costs};
    const sapporo_options context = one_thread(p->order, p->precision);
    const sapporo_mpi_options o = {.size = sizeof o,
                                   .context = &context,
                                   .timeout = 60,
                                   .rows = p->rows,
                                   .sources = p->sources,
                                   .way = p->way,
                                   .costs = &costs};
    sums_close();
    const int expected = sapporo_open(&context, &sums.whole);
    const int status = sapporo_mpi_open(MPI_COMM_WORLD, &o, &sums.over);
    check_status("open", status, expected, sapporo_mpi_last_error(NULL), NULL);
    if (status) sums_close();
}

/* ---- particles --------------------------------------------------------------------------------- */

static void draw_point(rng *r, struct point *p, int is_lattice, int k, int n)
{
    memset(p, 0, sizeof *p);
    draw_position(r, is_lattice, p->derivative[0]);
    for (int d = 1; d < SAPPORO_DERIVATIVES; d++) rng_direction(r, rng_uniform(r) * pow(0.5, d), p->derivative[d]);
    p->mass = one_in(r, 20) ? 0 : (0.5 + rng_uniform(r)) / n;
    p->time = (rng_uniform(r) - 0.5) * 0x1p-9;
    p->index = one_in(r, 30) ? 7 : 3 * k + 7;
}

static int draw_address(rng *r, int way)
{
    const int far = far_block[draw(r, FAR_BLOCKS)], near = draw(r, NEAR_BLOCKS), offset = draw(r, BLOCK - 1);
    switch (way) {
    case 0:
        return draw(r, 2 * PLAN_PARTICLES);
    case 1:
        return near * BLOCK + offset;
    case 2:
        return one_in(r, 4) ? far * BLOCK + offset : near * BLOCK + draw(r, 20);
    default:
        return near * BLOCK + draw(r, 30);
    }
}

/*
 * A rank gives each address once; several ranks may give the same one, of which the highest rank's particle remains.
 * The first particle, which mistakes spoil, is alone at its address.
 */
static void drop_repeated(void)
{
    for (int k = 0; k < given.n; k++) {
        given.is_given[k] = 1;
        for (int other = 0; other < k; other++)
            if (given.address[other] == given.address[k] && (given.owner[other] == given.owner[k] || other == 0))
                given.is_given[k] = 0;
    }
}

static void draw_particles(const struct call *c)
{
    rng random, *const r = &random;
    call_random(r, c, 1);
    const int is_lattice = one_in(r, 4), way = draw(r, 4);
    given.n = c->n;
    draw_owners(r, c->n, given.owner);
    if (c->mistake) given.owner[0] = c->odd;
    for (int k = 0; k < c->n; k++) {
        draw_point(r, &given.all[k], is_lattice, k, c->n);
        given.address[k] = way == 0 && one_in(r, 2) ? k : draw_address(r, way);
    }
    drop_repeated();
    if (c->mistake == 2) given.all[0].mass = NAN;
    if (c->mistake == 3) given.all[0].eps2 = -1;
    given.mine = 0;
    for (int k = 0; k < c->n; k++) {
        if (!given.is_given[k] || given.owner[k] != rank) continue;
        given.own[given.mine] = given.all[k];
        given.own_address[given.mine++] = given.address[k];
    }
}

/* Columns of particles; those of softening are there only if it is wrong, since not all engines have it. */
static sapporo_particles columns_of(const struct point *from, int with_eps2)
{
    sapporo_particles columns = points_columns(from);
    if (!with_eps2) columns.eps2.base = NULL;
    return columns;
}

/* Stores the particles of the call in the context. */
static void store_whole(void)
{
    for (int owner = 0; owner < ranks; owner++)
        for (int k = 0; k < given.n; k++) {
            if (!given.is_given[k] || given.owner[k] != owner) continue;
            const sapporo_particles one = columns_of(&given.all[k], 0);
            (void)sapporo_set_particles(sums.whole, folded(given.address[k]), 1, &one);
        }
}

static int give_particles(const struct call *c)
{
    sapporo_particles columns = columns_of(given.own, c->mistake == 3);
    const int is_odd = rank == c->odd;
    if (is_odd && c->mistake == 1) given.own_address[0] = c->a % 2 ? -1 : INT_MAX;
    if (is_odd && c->mistake == 4) columns.derivative[0].base = NULL;
    return sapporo_mpi_set_particles(sums.over, is_odd && c->mistake == 5 ? -1 : given.mine, given.own_address,
                                     &columns);
}

static void set_particles(const struct call *c)
{
    draw_particles(c);
    const int status = give_particles(c), is_refused = c->mistake > 0 && c->mistake < 6 && c->mistake != 2;
    check_status("set", status,
                 is_refused        ? SAPPORO_ERR_ARGUMENT
                 : c->mistake == 2 ? SAPPORO_ERR_NOT_FINITE
                                   : SAPPORO_OK,
                 text(), "rank ");
    if (!is_refused) store_whole();
}

static void clear_particles(void)
{
    check_status("clear", sapporo_mpi_clear_particles(sums.over), SAPPORO_OK, text(), NULL);
    (void)sapporo_clear_particles(sums.whole);
}

/* The time of forces.  A time that differs between ranks fails the next force, and is mended then. */
static void set_time(const struct call *c)
{
    const double time = c->mistake == 1 ? NAN : c->time;
    const int status = sapporo_mpi_set_time(sums.over, time), expected = sapporo_set_time(sums.whole, time);
    if (status != expected) wrong("set_time: status %d, should be %d: %s", status, expected, text());
    sums.has_no_time = isnan(time);
    if (c->mistake != 2) return;
    const sapporo_request r = points_request(given.own, 0, 1);
    sapporo_mpi_job *job;
    (void)sapporo_mpi_set_time(sums.over, rank == c->odd ? time + 1 : time);
    check_status("begin at different times", sapporo_mpi_force_begin(sums.over, &r, &job), SAPPORO_MPI_ERR_DIFFERENT,
                 text(), NULL);
    (void)sapporo_mpi_set_time(sums.over, time);
}

/* ---- forces --------------------------------------------------------------------------------------- */

static struct {
    struct point target[PLAN_TARGETS];
    int n, order, nearest;
    sapporo_request request; /* over ranks */
    struct answers right, got;
} force;

static void poison_answers(const struct answers *a)
{
    poison(a->acc[0], 3 * PLAN_TARGETS);
    poison(a->jerk[0], 3 * PLAN_TARGETS);
    poison(a->snap[0], 3 * PLAN_TARGETS);
    poison(a->crackle[0], 3 * PLAN_TARGETS);
    poison(a->pot, PLAN_TARGETS);
    poison(a->nearest_r2, PLAN_TARGETS);
    for (int i = 0; i < PLAN_TARGETS; i++) a->nearest[i] = -77;
}

static void make_answers(void)
{
    if (!force.got.acc) force.got = answers_new(PLAN_TARGETS);
    if (!force.right.acc) force.right = answers_new(PLAN_TARGETS);
    poison_answers(&force.got);
    poison_answers(&force.right);
}

/* Sources that take part: those of near addresses, of some of them, or all. */
static int reach_of(const struct call *c)
{
    if (c->reach == 0) return INT_MAX;
    if (c->reach == 1) return 1 + (int)(c->model % 200);
    return c->reach == 2 ? 1 + (int)(c->model % (NEAR_BLOCKS * BLOCK)) : NEAR_BLOCKS * BLOCK;
}

static void draw_targets(const struct plan *p, const struct call *c)
{
    rng random, *const r = &random;
    call_random(r, c, 2);
    const int no_index = one_in(r, 4), is_lattice = one_in(r, 4), softened = one_in(r, 2);
    make_answers();
    force.order = p->order;
    force.nearest = one_in(r, 2);
    for (int owner = 0; owner < ranks; owner++) {
        const int n = one_in(r, 4) ? 0 : 1 + draw(r, PLAN_TARGETS - 1);
        struct point here[PLAN_TARGETS];
        for (int i = 0; i < n; i++) draw_point(r, &here[i], is_lattice, i, n);
        if (owner == rank) memcpy(force.target, here, (size_t)n * sizeof *here), force.n = n;
    }
    force.request = points_request(force.target, force.n, reach_of(c));
    force.request.eps2 = softened ? 0x1p-8 : 0;
    force.request.want = (force.nearest ? SAPPORO_WANT_NEAREST : 0) | SAPPORO_ALLOW_EMPTY;
    if (no_index) force.request.index.base = NULL;
    if (c->mistake == 2 && rank == c->odd && force.n > 0) force.target[0].derivative[0][1] = NAN;
}

/* The force on this rank's targets from the context; returns its status. */
static int solve_whole(void)
{
    const sapporo_result result = answers_result(&force.right, force.order, force.nearest);
    sapporo_request r = force.request;
    sapporo_job *job = NULL;
    if (r.nj > NEAR_BLOCKS * BLOCK) r.nj = (NEAR_BLOCKS + FAR_BLOCKS) * BLOCK;
    int status = sapporo_force_begin(sums.whole, &r, &job);
    if (!status) status = sapporo_force_end(job, force.n, &result);
    sapporo_force_free(job);
    return status;
}

/* The status over ranks of statuses of contexts: an error of one, or SAPPORO_PARTIAL of one. */
static int joined(int status)
{
    const int worst = -most_of(-status), most = most_of(status);
    return worst < 0 ? worst : most;
}

static void check_rows(void)
{
    const struct answers *const got = &force.got, *const right = &force.right;
    for (int i = 0; i < PLAN_TARGETS; i++) {
        int same = are_same(got->acc[i], right->acc[i], 3) && is_same(got->pot[i], right->pot[i]);
        same &= are_same(got->jerk[i], right->jerk[i], 3) && are_same(got->snap[i], right->snap[i], 3);
        same &= are_same(got->crackle[i], right->crackle[i], 3);
        same &= got->nearest[i] == right->nearest[i] && is_same(got->nearest_r2[i], right->nearest_r2[i]);
        if (!same)
            wrong("force: row %d of %d differs: acc %.17g %.17g, pot %.17g %.17g, nearest %d %d", i, force.n,
                  got->acc[i][0], right->acc[i][0], got->pot[i], right->pot[i], got->nearest[i], right->nearest[i]);
    }
}

/* Outputs of a force that failed. */
static void check_failed_rows(void)
{
    const struct answers *const got = &force.got;
    if (!are_spoilt(got->acc[0], 3 * PLAN_TARGETS) || !are_spoilt(got->jerk[0], 3 * PLAN_TARGETS) ||
        !are_spoilt(got->pot, PLAN_TARGETS) || !are_spoilt(got->nearest_r2, PLAN_TARGETS))
        wrong("a failed force leaves numbers");
    if (!answers_failed(got, force.n, force.order)) wrong("rows of a failed force are not NaN");
}

/* Begins a force with a request that is wrong; no force is under way then. */
static void begin_wrongly(const struct call *c)
{
    sapporo_request r = force.request;
    sapporo_mpi_job *job = (sapporo_mpi_job *)&r;
    int expected = SAPPORO_ERR_ARGUMENT;
    if (c->mistake == 1) expected = SAPPORO_MPI_ERR_DIFFERENT, r.nj -= rank == c->odd;
    if (c->mistake == 3) expected = SAPPORO_ERR_UNSUPPORTED, r.want |= SAPPORO_WANT_LISTS;
    if (c->mistake == 8) r.eps2 = rank == c->odd ? -1 : r.eps2;
    const int status = sapporo_mpi_force_begin(sums.over, &r, &job);
    /* different softening is found first */
    if (c->mistake == 8 && status == SAPPORO_MPI_ERR_DIFFERENT) expected = status;
    check_status("begin", status, expected, text(), NULL);
    if (job) wrong("begin: a job of a force that failed");
}

/* What comes between the beginning and the end of a force. */
static int disturb(const struct call *c, sapporo_mpi_job *job, const sapporo_result *result)
{
    sapporo_mpi_job *second = NULL;
    if (c->mistake == 4) {
        const int status = sapporo_mpi_force_end(job, rank == c->odd ? force.n + 1 : force.n, result);
        check_status("end of too many rows", status, SAPPORO_ERR_ARGUMENT, text(), NULL);
        if (rank != c->odd) check_failed_rows();
        poison_answers(&force.got);
    }
    if (c->mistake == 5) {
        struct call set = *c;
        set.mistake = 0;
        set_particles(&set);
        return SAPPORO_ERR_GONE;
    }
    if (c->mistake == 6) {
        const int status = sapporo_mpi_force_begin(sums.over, &force.request, &second);
        check_status("a second begin", status, SAPPORO_ERR_ARGUMENT, text(), NULL);
    }
    return SAPPORO_OK;
}

/* Ends a force that was begun; expected: the status of the context. */
static void end_force(const struct call *c, sapporo_mpi_job *job, int expected)
{
    const sapporo_result result = answers_result(&force.got, force.order, force.nearest);
    const int gone = disturb(c, job, &result);
    const int status = sapporo_mpi_force_end(job, force.n, &result);
    check_status("end", status, gone ? gone : expected, text(), NULL);
    if (gone || expected < 0)
        check_failed_rows();
    else
        check_rows();
    if (c->mistake == 7) {
        check_status("a second end", sapporo_mpi_force_end(job, force.n, &result), SAPPORO_ERR_GONE, text(), NULL);
        check_failed_rows();
    }
}

static void compute_force(const struct plan *p, const struct call *c)
{
    sapporo_mpi_job *job = NULL;
    draw_targets(p, c);
    if ((c->mistake == 1 || c->mistake == 3 || c->mistake == 8) && !sums.has_no_time) begin_wrongly(c);
    const int expected = joined(solve_whole());
    const int status = sapporo_mpi_force_begin(sums.over, &force.request, &job);
    check_status("begin", status, expected < 0 ? expected : SAPPORO_OK, text(), NULL);
    if (!status) end_force(c, job, expected);
    sapporo_mpi_force_free(job);
}

/* ---- different calls --------------------------------------------------------------------------------- */

enum { SET, CLEAR, BEGIN, END, CLOSE, SUMS_CALLS };
static const char *const names[SUMS_CALLS] = {"sapporo_mpi_set_particles", "sapporo_mpi_clear_particles",
                                              "sapporo_mpi_force_begin", "sapporo_mpi_force_end", "sapporo_mpi_close"};

static int make_one(int which, sapporo_mpi_job *job)
{
    const sapporo_result result = answers_result(&force.got, force.order, force.nearest);
    const struct call plain = {.odd = -1};
    sapporo_mpi_job *other = NULL;
    switch (which) {
    case SET:
        return give_particles(&plain);
    case CLEAR:
        return sapporo_mpi_clear_particles(sums.over);
    case BEGIN:
        return sapporo_mpi_force_begin(sums.over, &force.request, &other);
    case END:
        return sapporo_mpi_force_end(job, force.n, &result);
    default:
        sapporo_mpi_close(sums.over);
        return SAPPORO_MPI_ERR_DIFFERENT;
    }
}

/* One rank makes another call than the others.  Nothing changes, so a force that is under way can be ended. */
static void differ(const struct plan *p, const struct call *c)
{
    const int a = c->a % CLOSE, b = (a + 1 + c->b % CLOSE) % SUMS_CALLS, own = rank == c->odd ? b : a;
    struct call plain = *c;
    sapporo_mpi_job *job = NULL;
    plain.mistake = 0;
    draw_targets(p, &plain);
    draw_particles(&plain);
    const int expected = joined(solve_whole()), has_job = a == END || b == END;
    if (has_job && (expected < 0 || sapporo_mpi_force_begin(sums.over, &force.request, &job))) return;
    const int status = make_one(own, job);
    check_different(status, own == CLOSE ? NULL : text(), names[a], names[b]);
    if (own == END) check_failed_rows();
    poison_answers(&force.got);
    if (has_job && b != CLOSE) end_force(&plain, job, expected);
    sapporo_mpi_force_free(job);
    if (b == CLOSE) sums_close();
}

void sums_call(const struct plan *p, const struct call *c)
{
    if (!sums.over || c->kind == SUMS_OPEN) open_sums(p);
    if (!sums.over) return;
    if (c->kind == SUMS_SET) set_particles(c);
    if (c->kind == SUMS_CLEAR) clear_particles();
    if (c->kind == SUMS_TIME) set_time(c);
    if (c->kind == SUMS_FORCE) compute_force(p, c);
    if (c->kind == SUMS_DIFFER) differ(p, c);
}
