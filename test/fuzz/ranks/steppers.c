/*
 * steppers.c - steppers over ranks, beside a stepper of this rank that has the particles of all ranks: same bits over
 * direct sums, and nearly the same numbers over trees.  Particles are known by their labels.
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../support/worst.h"
#include "check.h"

enum { N = PLAN_PARTICLES, ROWS = N + 10, PATH_MOST = 300 };

/* Particles of a stepper. */
struct rows {
    double x[ROWS][3], v[ROWS][3], acc[ROWS][3], pot[ROWS], mass[ROWS], own_time[ROWS], h[ROWS], nearest_r2[ROWS];
    int level[ROWS], nearest[ROWS];
    long long label[ROWS];
};

static struct {
    sapporo_mpi_stepper *over; /* NULL: not open */
    sapporo_stepper *whole;
    int n;       /* particles of all ranks; 0: none were set */
    int saved;   /* particles of the files; 0: there are none */
    int lengths; /* particles have softening lengths */
    int is_hermite, has_neighbours;
    int is_exact;     /* forces are direct sums: same bits */
    double tolerance; /* of other forces, and of what follows from them */
} stepper;

static char over_path[PATH_MOST], whole_path[PATH_MOST];
static struct rows over_rows, whole_rows;

static const char *text(void) { return sapporo_mpi_stepper_last_error(stepper.over); }

/* ---- opening ------------------------------------------------------------------------------------- */

/* All ranks know the file of the first one. */
static void name_files(void)
{
    const char *const folder = getenv("TMPDIR");
    int number = (int)getpid();
    (void)snprintf(whole_path, PATH_MOST, "%s/fuzz_whole.%d", folder ? folder : "/tmp", number);
    ranks_share(&number, sizeof number);
    (void)snprintf(over_path, PATH_MOST, "%s/fuzz_ranks.%d", folder ? folder : "/tmp", number);
}

static void destroy_both(void)
{
    sapporo_mpi_stepper_destroy(stepper.over);
    sapporo_stepper_destroy(stepper.whole);
    stepper.over = NULL;
    stepper.whole = NULL;
    stepper.n = 0;
}

void stepper_close(void)
{
    destroy_both();
    if (stepper.saved && rank == 0) (void)unlink(over_path);
    if (stepper.saved) (void)unlink(whole_path);
    stepper.saved = 0;
}

static void open_stepper(const struct plan *p)
{
    sapporo_stepper_options how = p->stepper;
    sapporo_tree_options tree = p->tree;
    how.tree = &tree;
    if (how.method == SAPPORO_STEP_DIRECT) tree.precision = SAPPORO_DP;
    const sapporo_mpi_stepper_options o = {.size = sizeof o, .stepper = &how, .timeout = 60};
    if (!*over_path) name_files();
    destroy_both();
    const int expected = sapporo_stepper_create(&how, N, &stepper.whole);
    const int status = sapporo_mpi_stepper_create(MPI_COMM_WORLD, &o, N, &stepper.over);
    check_status("create a stepper", status, expected, sapporo_mpi_stepper_last_error(NULL), NULL);
    stepper.lengths = p->lengths;
    stepper.is_hermite = how.scheme >= SAPPORO_STEPS_HERMITE4;
    stepper.has_neighbours = how.nearest || how.close > 0;
    stepper.is_exact = how.method == SAPPORO_STEP_DIRECT;
    stepper.tolerance = !p->strict ? 0.05 : tree.precision == SAPPORO_SP ? 1e-3 : 1e-9;
}

/* ---- comparison ------------------------------------------------------------------------------------ */

static sapporo_stepper_output outputs_of(struct rows *to, int n)
{
    poison(to->x[0], 3 * ROWS);
    poison(to->v[0], 3 * ROWS);
    poison(to->acc[0], 3 * ROWS);
    poison(to->pot, ROWS);
    return (sapporo_stepper_output){.size = sizeof(sapporo_stepper_output),
                                    .n = n,
                                    .when = stepper.is_hermite ? SAPPORO_STEP_OWN : SAPPORO_STEP_NOW,
                                    .nearest = stepper.has_neighbours ? to->nearest : NULL,
                                    .nearest_r2 = stepper.has_neighbours ? to->nearest_r2 : NULL,
                                    .x = to->x,
                                    .v = to->v,
                                    .acc = to->acc,
                                    .pot = to->pot,
                                    .mass = to->mass,
                                    .own_time = to->own_time,
                                    .level = to->level,
                                    .label = to->label,
                                    .h = to->h};
}

static double distance(const double *a, const double *b)
{
    double worst = 0;
    for (int c = 0; c < 3; c++) worst = worst_of(worst, fabs(a[c] - b[c]));
    return worst;
}

/* One particle of this rank, and the same one of the stepper that has all. */
static void check_particle(int i, int k)
{
    const struct rows *const a = &over_rows, *const b = &whole_rows;
    int same = is_same(a->mass[i], b->mass[k]) && is_same(a->h[i], b->h[k]);
    if (stepper.is_exact) {
        same &= are_same(a->x[i], b->x[k], 3) && are_same(a->v[i], b->v[k], 3) && are_same(a->acc[i], b->acc[k], 3);
        same &= is_same(a->pot[i], b->pot[k]) && is_same(a->own_time[i], b->own_time[k]) && a->level[i] == b->level[k];
        same &=
            !stepper.has_neighbours || (a->nearest[i] == b->nearest[k] && is_same(a->nearest_r2[i], b->nearest_r2[k]));
    } else {
        const double near = stepper.tolerance,
                     size = 1 + fabs(b->pot[k]) + fabs(b->acc[k][0]) + fabs(b->acc[k][1]) + fabs(b->acc[k][2]);
        same &= distance(a->x[i], b->x[k]) <= near && distance(a->v[i], b->v[k]) <= near;
        same &= distance(a->acc[i], b->acc[k]) <= near * size && fabs(a->pot[i] - b->pot[k]) <= near * size;
    }
    if (!same)
        wrong("stepper: particle %d: x %.17g %.17g, v %.17g %.17g, a %.17g %.17g, level %d %d", k, a->x[i][0],
              b->x[k][0], a->v[i][0], b->v[k][0], a->acc[i][0], b->acc[k][0], a->level[i], b->level[k]);
}

/* Particles of this rank by their labels; every particle is on one rank. */
static void check_labels(int n)
{
    int mine[N] = {0}, all[N];
    for (int i = 0; i < n; i++) {
        const long long k = over_rows.label[i];
        if (k < 0 || k >= stepper.n)
            wrong("stepper: label %lld", k);
        else
            mine[k]++, check_particle(i, (int)k);
    }
    ranks_combine(mine, all, N, MPI_SUM);
    for (int k = 0; k < stepper.n; k++)
        if (all[k] != 1) wrong("stepper: particle %d is on %d ranks", k, all[k]);
}

/* The particles of all ranks after a call. */
static void check_particles(void)
{
    sapporo_stepper_statistics mine = {.size = sizeof mine}, all = {.size = sizeof all};
    (void)sapporo_mpi_stepper_get_statistics(stepper.over, &mine);
    (void)sapporo_stepper_get_statistics(stepper.whole, &all);
    const int n = mine.n <= N ? mine.n : N;
    const sapporo_stepper_output over = outputs_of(&over_rows, n), whole = outputs_of(&whole_rows, all.n);
    const int got = sapporo_mpi_stepper_get(stepper.over, &over), right = sapporo_stepper_get(stepper.whole, &whole);
    const double time = sapporo_mpi_stepper_get_time(stepper.over), now = sapporo_stepper_get_time(stepper.whole);
    if (stepper.n > 0 && (got || right)) wrong("stepper: get has status %d, of one process %d: %s", got, right, text());
    if (stepper.n == 0 && !got) wrong("stepper: get of no particles has status 0");
    if (!is_same(time, now)) wrong("stepper: time %.17g, should be %.17g", time, now);
    if (mine.steps != all.steps) wrong("stepper: %lld steps, should be %lld", mine.steps, all.steps);
    check_labels(stepper.n > 0 && !got && !right ? n : 0);
}

/* ---- particles ----------------------------------------------------------------------------------------- */

static struct {
    double x[ROWS][3], v[ROWS][3], mass[ROWS], h[ROWS];
    long long label[ROWS];
    int n;
} given[2]; /* by this rank, and by all of them in the order of ranks */

static void add(int to, const double *x, const double *v, double mass, double h, int label)
{
    const int k = given[to].n++;
    memcpy(given[to].x[k], x, sizeof given[to].x[k]);
    memcpy(given[to].v[k], v, sizeof given[to].v[k]);
    given[to].mass[k] = mass;
    given[to].h[k] = h;
    given[to].label[k] = label;
}

static void draw_stepper_particles(const struct call *c)
{
    rng random, *const r = &random;
    int owner[N];
    double x[N][3], v[N][3], mass[N], h[N];
    call_random(r, c, 6);
    const int is_lattice = one_in(r, 4), massless = one_in(r, 3) ? 2 + draw(r, 5) : 0;
    draw_owners(r, c->n, owner);
    if (c->mistake) owner[0] = c->odd;
    for (int k = 0; k < c->n; k++) {
        draw_position(r, is_lattice, x[k]);
        rng_direction(r, 0.5 * rng_uniform(r), v[k]);
        mass[k] = massless && one_in(r, massless) ? 0 : (0.5 + rng_uniform(r)) / c->n;
    }
    call_random(r, c, 9);
    for (int k = 0; k < c->n; k++) h[k] = 0.1 + (one_in(r, 4) ? 1 : 0.2) * rng_uniform(r);
    given[0].n = given[1].n = 0;
    for (int owned = 0; owned < ranks; owned++)
        for (int k = 0; k < c->n; k++) {
            if (owner[k] != owned) continue;
            if (owned == rank) add(0, x[k], v[k], mass[k], h[k], given[1].n);
            add(1, x[k], v[k], mass[k], h[k], given[1].n);
        }
}

static sapporo_stepper_particles columns_of(int of, double time)
{
    return (sapporo_stepper_particles){.size = sizeof(sapporo_stepper_particles),
                                       .n = given[of].n,
                                       .x = {given[of].x, 0},
                                       .v = {given[of].v, 0},
                                       .mass = {given[of].mass, 0},
                                       .label = {given[of].label, 0},
                                       .time = time,
                                       .h = {stepper.lengths ? given[of].h : NULL, 0}};
}

static void set(const struct call *c)
{
    draw_stepper_particles(c);
    const double time = c->a % 2;
    sapporo_stepper_particles p = columns_of(0, time);
    const sapporo_stepper_particles all = columns_of(1, time);
    int expected = SAPPORO_OK;
    if (c->mistake == 1) expected = SAPPORO_ERR_NOT_FINITE;
    if (c->mistake == 2) expected = SAPPORO_ERR_ARGUMENT;
    if (c->mistake == 3) expected = SAPPORO_MPI_ERR_DIFFERENT;
    if (rank == c->odd && c->mistake == 1) given[0].v[0][2] = NAN;
    if (rank == c->odd && c->mistake == 2) p.n = N + 1;
    if (rank == c->odd && c->mistake == 3) p.time += 1;
    check_status("set a stepper", sapporo_mpi_stepper_set(stepper.over, &p), expected, text(), NULL);
    if (expected) return;
    const int status = sapporo_stepper_set(stepper.whole, &all);
    if (status) wrong("set in one process: status %d: %s", status, sapporo_stepper_last_error(stepper.whole));
    stepper.n = all.n;
}

/* ---- steps ------------------------------------------------------------------------------------------------ */

static void advance(const struct plan *p, const struct call *c)
{
    const double now = sapporo_stepper_get_time(stepper.whole);
    double time = (isnan(now) ? 0 : now) + c->time * p->stepper.dt;
    int steps = c->steps, expected;
    if (c->mistake == 1) time = now - 1;
    if (c->mistake == 2) time = NAN;
    if (c->mistake == 3) steps = -1;
    const int different = c->mistake == 4 || c->mistake == 5;
    if (different) {
        const int is_odd = rank == c->odd, other = c->mistake == 5 && is_odd;
        const int status = sapporo_mpi_stepper_advance(stepper.over, c->mistake == 4 && is_odd ? time + 1 : time,
                                                       other ? steps + 1 : steps);
        expected = stepper.n == 0 && status == SAPPORO_ERR_ARGUMENT ? status : SAPPORO_MPI_ERR_DIFFERENT;
        check_status("advance to different times", status, expected, text(), NULL);
        return;
    }
    expected = sapporo_stepper_advance(stepper.whole, time, steps);
    check_status("advance", sapporo_mpi_stepper_advance(stepper.over, time, steps), expected, text(), NULL);
}

static void check_energy(const sapporo_stepper_totals *got, const sapporo_stepper_totals *right)
{
    const double size = fabs(right->kinetic) + fabs(right->potential) + 1e-3;
    const double near = (stepper.is_exact ? 1e-12 : stepper.tolerance) * size;
    if (!(fabs(got->kinetic - right->kinetic) <= near && fabs(got->potential - right->potential) <= near))
        wrong("energy: %.17g %.17g, should be %.17g %.17g", got->kinetic, got->potential, right->kinetic,
              right->potential);
    for (int c = 0; c < 3; c++)
        if (!(fabs(got->momentum[c] - right->momentum[c]) <= near &&
              fabs(got->angular_momentum[c] - right->angular_momentum[c]) <= 3 * near))
            wrong("energy: momentum %.17g, should be %.17g", got->momentum[c], right->momentum[c]);
}

static void energy(void)
{
    sapporo_stepper_totals got = {.size = sizeof got, .kinetic = 77, .potential = 77}, right = {.size = sizeof right};
    const int expected = sapporo_stepper_energy(stepper.whole, &right);
    const int status = sapporo_mpi_stepper_energy(stepper.over, &got);
    check_status("energy", status, expected, text(), NULL);
    if (!status) check_energy(&got, &right);
    if (status && !(isnan(got.kinetic) && isnan(got.potential) && isnan(got.moment[2])))
        wrong("a failed energy leaves numbers");
    if (!is_common_double(got.potential) && !status) wrong("energy: ranks have different totals");
}

/* ---- pairs and potentials ----------------------------------------------------------------------------------- */

/* The pairs of all ranks are those of one stepper; a rank that has less room tells all of them. */
static void pairs(const struct call *c)
{
    static int pair[2][N][2];
    static double r2[2][N];
    const int small = c->mistake == 2 && rank == c->odd;
    sapporo_stepper_pairs got = {.size = sizeof got, .room = small ? 0 : N, .pair = pair[0], .r2 = r2[0]},
                          right = {.size = sizeof right, .room = N, .pair = pair[1], .r2 = r2[1]};
    int expected = sapporo_stepper_get_pairs(stepper.whole, &right);
    if (c->mistake == 1) expected = SAPPORO_ERR_ARGUMENT;
    if (c->mistake == 1 && rank == c->odd) got.room = -1;
    if (c->mistake == 2 && expected == SAPPORO_OK && right.n > 0) expected = SAPPORO_TRUNCATED;
    const int status = sapporo_mpi_stepper_get_pairs(stepper.over, &got);
    check_status("pairs", status, expected, text(), NULL);
    if (status < 0 && got.n != 0) wrong("failed pairs: there are %d", got.n);
    if (status < 0 || expected < 0) return;
    if (got.n != right.n) wrong("pairs: %d, should be %d", got.n, right.n);
    for (int k = 0; k < got.n && k < right.n && !small; k++) {
        if (pair[0][k][0] != pair[1][k][0] || pair[0][k][1] != pair[1][k][1] || !is_same(r2[0][k], r2[1][k]))
            wrong("pair %d: %d %d, should be %d %d", k, pair[0][k][0], pair[0][k][1], pair[1][k][0], pair[1][k][1]);
        int at = -1, address = -1;
        const int none = sapporo_mpi_stepper_locate(stepper.over, pair[0][k][0], &at, &address);
        if (none || at < 0 || at >= ranks || address < 0) wrong("no place of particle %d", pair[0][k][0]);
    }
}

/* Potentials at the present time. */
static void potentials(const struct call *c)
{
    static double got[ROWS], right[ROWS];
    sapporo_stepper_statistics mine = {.size = sizeof mine};
    const sapporo_stepper_output whole = {
        .size = sizeof whole, .n = stepper.n, .pot = right, .label = whole_rows.label};
    (void)sapporo_mpi_stepper_get_statistics(stepper.over, &mine);
    int expected = sapporo_stepper_get(stepper.whole, &whole), n = mine.n;
    if (c->mistake == 1) expected = SAPPORO_ERR_ARGUMENT;
    if (c->mistake == 1 && rank == c->odd) n++;
    poison(got, ROWS);
    const int status = sapporo_mpi_stepper_get_potentials(stepper.over, n, got);
    check_status("potentials", status, expected, text(), NULL);
    if (status && !are_spoilt(got, n)) wrong("failed potentials leave numbers");
    if (status || expected || !stepper.is_exact) return;
    const sapporo_stepper_output over = {.size = sizeof over, .n = n, .label = over_rows.label};
    if (sapporo_mpi_stepper_get(stepper.over, &over)) wrong("no labels");
    for (int i = 0; i < n; i++)
        if (!is_same(got[i], right[over_rows.label[i]])) wrong("potential of particle %lld", over_rows.label[i]);
}

/* ---- files ------------------------------------------------------------------------------------------------- */

/* The path that this rank gives; only that of the first rank counts. */
static const char *path_of(const struct call *c)
{
    if (rank > 0) return c->a % 2 ? NULL : "/nowhere/file";
    return c->mistake == 1 ? "/nowhere/file" : over_path;
}

static void save(const struct call *c)
{
    const int expected = stepper.n == 0 || c->mistake == 1 ? SAPPORO_ERR_ARGUMENT : SAPPORO_OK;
    const int status = sapporo_mpi_stepper_save(stepper.over, path_of(c));
    check_status("save", status, expected, text(), NULL);
    if (expected) return;
    if (sapporo_stepper_save(stepper.whole, whole_path)) wrong("one process cannot save");
    stepper.saved = stepper.n;
}

static void restore(const struct call *c)
{
    const int expected = stepper.saved == 0 || c->mistake == 1 ? SAPPORO_ERR_ARGUMENT : SAPPORO_OK;
    const int status = sapporo_mpi_stepper_restore(stepper.over, path_of(c));
    check_status("restore", status, expected, text(), NULL);
    if (expected) return;
    if (sapporo_stepper_restore(stepper.whole, whole_path)) wrong("one process cannot restore");
    stepper.n = stepper.saved;
}

static void exchange(void)
{
    const int status = sapporo_mpi_stepper_exchange(stepper.over);
    check_status("exchange of a stepper", status, stepper.n > 0 ? SAPPORO_OK : SAPPORO_ERR_ARGUMENT, text(), NULL);
}

/* ---- different calls ------------------------------------------------------------------------------------------ */

enum { SET, ADVANCE, ENERGY, PAIRS, POTENTIALS, EXCHANGE, SAVE, RESTORE, DESTROY, STEPPER_CALLS };
static const char *const names[STEPPER_CALLS] = {
    "sapporo_mpi_stepper_set",       "sapporo_mpi_stepper_advance",        "sapporo_mpi_stepper_energy",
    "sapporo_mpi_stepper_get_pairs", "sapporo_mpi_stepper_get_potentials", "sapporo_mpi_stepper_exchange",
    "sapporo_mpi_stepper_save",      "sapporo_mpi_stepper_restore",        "sapporo_mpi_stepper_destroy"};

static int make_one(int which, sapporo_stepper_totals *totals)
{
    const sapporo_stepper_particles p = columns_of(0, 0);
    sapporo_stepper_pairs none = {.size = sizeof none};
    switch (which) {
    case SET:
        return sapporo_mpi_stepper_set(stepper.over, &p);
    case ADVANCE:
        return sapporo_mpi_stepper_advance(stepper.over, INFINITY, 1);
    case ENERGY:
        return sapporo_mpi_stepper_energy(stepper.over, totals);
    case PAIRS:
        return sapporo_mpi_stepper_get_pairs(stepper.over, &none);
    case POTENTIALS:
        return sapporo_mpi_stepper_get_potentials(stepper.over, 0, NULL);
    case EXCHANGE:
        return sapporo_mpi_stepper_exchange(stepper.over);
    case SAVE:
        return sapporo_mpi_stepper_save(stepper.over, over_path);
    case RESTORE:
        return sapporo_mpi_stepper_restore(stepper.over, over_path);
    default:
        sapporo_mpi_stepper_destroy(stepper.over);
        return SAPPORO_MPI_ERR_DIFFERENT;
    }
}

static void differ(const struct call *c)
{
    const int a = c->a % DESTROY, b = (a + 1 + c->b % DESTROY) % STEPPER_CALLS, own = rank == c->odd ? b : a;
    struct call plain = *c;
    sapporo_stepper_totals totals = {.size = sizeof totals, .kinetic = 77, .potential = 77};
    plain.mistake = 0;
    draw_stepper_particles(&plain);
    const int status = make_one(own, &totals);
    check_different(status, own == DESTROY ? NULL : text(), names[a], names[b]);
    if (own == ENERGY && !(isnan(totals.kinetic) && isnan(totals.potential))) wrong("a failed energy leaves numbers");
    if (b == DESTROY) destroy_both();
}

void stepper_call(const struct plan *p, const struct call *c)
{
    if (!stepper.over || c->kind == STEPPER_OPEN) open_stepper(p);
    if (!stepper.over) return;
    if (c->kind == STEPPER_SET) set(c);
    if (c->kind == STEPPER_ADVANCE) advance(p, c);
    if (c->kind == STEPPER_ENERGY) energy();
    if (c->kind == STEPPER_PAIRS) pairs(c);
    if (c->kind == STEPPER_POTENTIALS) potentials(c);
    if (c->kind == STEPPER_EXCHANGE) exchange();
    if (c->kind == STEPPER_SAVE) save(c);
    if (c->kind == STEPPER_RESTORE) restore(c);
    if (c->kind == STEPPER_DIFFER) differ(c);
    if (stepper.over) check_particles();
}
