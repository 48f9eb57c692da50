/*
 * far.c - addresses over ranks: particles at distant addresses, up to the highest one, by both ways of a force, with
 * one part and several; what is refused changes nothing; and particles in columns of zeros or without them.
 *
 * A force has the bits of one from a context that has the same blocks of addresses, one behind the other: so the test
 * would take its timeout, and memory that no machine has, if work or messages followed addresses.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

enum { N = 90, NI = 20, BLOCK = 2048, ONE_RANK = 1 << 30 };

/* The highest address. */
static int highest(void) { return ranks > 1 ? INT_MAX - 1 : ONE_RANK - 1; }

/* Addresses of particles: their blocks, from the lowest to the highest one; of neighbours there are pairs. */
static void choose_addresses(int *address, int *near)
{
    const int blocks = highest() / BLOCK + 1, each = 6;
    for (int k = 0; k < N; k++) {
        const int group = k / each, groups = N / each, in = k == N - 1 ? highest() % BLOCK : 37 * (k % each);
        const int block =
            group == groups - 1 ? blocks - 1 : group + (int)((long long)(blocks - 20) * (group / 2) / groups);
        address[k] = block * BLOCK + in;
        near[k] = group * BLOCK + in;
    }
}

/* The particles k of `all` for which k % of == which, as columns over a copy. */
struct choice {
    int n, address[N];
    struct point point[N];
    sapporo_particles columns;
};

static void choose(struct choice *c, const struct point *all, const int *address, int which, int of)
{
    c->n = 0;
    for (int k = N - 1; k >= 0; k--) { /* from the highest address down */
        if (k % of != which) continue;
        c->address[c->n] = address[k];
        c->point[c->n++] = all[k];
    }
    c->columns = points_columns(c->point);
}

/* Forces of one context on the particles at near addresses. */
static int compute_near(const struct point *all, const int *near, int nj, int order, struct answers *to)
{
    const sapporo_options o = one_thread(order, SAPPORO_DS);
    sapporo *c;
    sapporo_job *job = NULL;
    sapporo_request request = points_request(all, NI, nj);
    const sapporo_result result = answers_result(to, order, 1);
    int bad = sapporo_open(&o, &c);
    request.want = SAPPORO_WANT_NEAREST;
    for (int k = 0; k < N && !bad; k++) {
        const sapporo_particles one = points_columns(&all[k]);
        bad = sapporo_set_particles(c, near[k], 1, &one);
    }
    if (!bad) bad = sapporo_force_begin(c, &request, &job) || sapporo_force_end(job, NI, &result);
    sapporo_force_free(job);
    sapporo_close(c);
    return bad;
}

static int compute(sapporo_mpi *h, const struct point *all, int nj, int order, struct answers *to)
{
    sapporo_request request = points_request(all, NI, nj);
    const sapporo_result result = answers_result(to, order, 1);
    sapporo_mpi_job *job = NULL;
    request.want = SAPPORO_WANT_NEAREST;
    const int bad = sapporo_mpi_force_begin(h, &request, &job) || sapporo_mpi_force_end(job, NI, &result);
    sapporo_mpi_force_free(job);
    return bad;
}

static int are_same(const struct answers *a, const struct answers *b, int order)
{
    int same = 1;
    for (int i = 0; i < NI; i++) same &= answers_same(a, i, b, i, order, 1);
    return same;
}

static sapporo_mpi *open_sums(sapporo_mpi_way way, int sources, int order)
{
    static const sapporo_mpi_costs costs = {.size = sizeof costs, .pair = 1e-9};
    const sapporo_options context = one_thread(order, SAPPORO_DS);
    const sapporo_mpi_options o = {
        .size = sizeof o, .context = &context, .timeout = 20, .way = way, .sources = sources, .costs = &costs};
    sapporo_mpi *h;
    if (sapporo_mpi_open(MPI_COMM_WORLD, &o, &h)) report(0, "open: %s", sapporo_mpi_last_error(NULL));
    return h;
}

/* ------------------------------------------------------------------- tests */

/* Forces from particles at distant addresses, from all and from those below an address in a block. */
static void test_far(const struct point *all, sapporo_mpi_way way, int sources, int order)
{
    int address[N], near[N];
    static struct choice own;
    struct answers found = answers_new(NI), right = answers_new(NI);
    choose_addresses(address, near);
    choose(&own, all, address, rank, ranks);
    sapporo_mpi *const h = open_sums(way, sources, order);
    int bad = sapporo_mpi_set_particles(h, own.n, own.address, &own.columns), same = !bad;
    for (int part = 0; part < 3 && !bad; part++) { /* the last one has the particles of the first one again */
        const int last = part == 1 ? N / 2 + 2 : N - 1;
        bad =
            compute(h, all, address[last] + 1, order, &found) || compute_near(all, near, near[last] + 1, order, &right);
        same &= are_same(&found, &right, order);
    }
    report(!bad && same, "way %d, parts of %d, order %d: addresses up to %d: %s", (int)way, sources, order, highest(),
           sapporo_mpi_last_error(h));
    sapporo_mpi_close(h);
    answers_free(&found);
    answers_free(&right);
}

/* One rank gives an address or a softening that does not exist: no particle of any rank is stored. */
static void test_refused(const struct point *all, sapporo_mpi_way way)
{
    const int wrong[] = {-1, INT_MIN, highest() + 1, INT_MAX, 0};
    enum { WRONG = sizeof wrong / sizeof *wrong };
    int address[N], bad = 0;
    static struct choice own;
    struct answers before = answers_new(NI), after = answers_new(NI);
    sapporo_mpi *const h = open_sums(way, 0, 4);
    for (int k = 0; k < N; k++) address[k] = k;
    choose(&own, all, address, rank, ranks);
    bad |= sapporo_mpi_set_particles(h, own.n, own.address, &own.columns) || compute(h, all, N, 4, &before);
    for (int w = 0; w < WRONG; w++) {
        choose(&own, all, address, rank, ranks);
        for (int k = 0; k < own.n; k++) own.point[k].mass *= 2; /* what must not be stored */
        const int is_guilty = rank == ranks - 1, is_last = w == WRONG - 1;
        if (is_guilty && is_last) own.point[own.n - 1].eps2 = -1;
        if (is_guilty && !is_last) own.address[own.n - 1] = wrong[w];
        const int status = sapporo_mpi_set_particles(h, own.n, own.address, &own.columns);
        bad |= status != SAPPORO_ERR_ARGUMENT || !strstr(sapporo_mpi_last_error(h), is_last ? "eps2" : "address");
        bad |= compute(h, all, N, 4, &after) || !are_same(&before, &after, 4);
    }
    report(!bad, "way %d: a refused address changes nothing: %s", (int)way, sapporo_mpi_last_error(h));
    sapporo_mpi_close(h);
    answers_free(&before);
    answers_free(&after);
}

/* Columns of zeros, and numbers in them that come and go, have the bits of one context. */
static void test_columns(const struct point *model, int order)
{
    static struct point all[N];
    static struct choice own;
    int address[N], bad = 0, same = 1;
    struct answers found = answers_new(NI), right = answers_new(NI);
    sapporo_mpi *const h = open_sums(SAPPORO_MPI_WAY_AUTO, 0, order);
    for (int k = 0; k < N; k++) address[k] = k;
    for (int way = 0; way < 6; way++) { /* bits: eps2, time, higher derivatives; the last ones are as the first */
        const int has = way < 4 ? 7 >> way : 7;
        for (int k = 0; k < N; k++) {
            all[k] = model[k];
            if (!(has & 1)) all[k].eps2 = 0;
            if (!(has & 2)) all[k].time = 0;
            for (int d = 2; d < SAPPORO_DERIVATIVES && !(has & 4 && k % 3); d++)
                memset(all[k].derivative[d], 0, sizeof all[k].derivative[d]);
        }
        if (way == 4) all[N - 1].time = -0.0;
        choose(&own, all, address, rank, ranks);
        bad |= sapporo_mpi_set_particles(h, own.n, own.address, &own.columns) || compute(h, all, N, order, &found) ||
               compute_near(all, address, N, order, &right);
        same &= are_same(&found, &right, order);
    }
    report(!bad && same, "order %d: columns of zeros: %s", order, sapporo_mpi_last_error(h));
    sapporo_mpi_close(h);
    answers_free(&found);
    answers_free(&right);
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    struct point *const all = points_new(N);
    for (int way = SAPPORO_MPI_WAY_AUTO; way <= SAPPORO_MPI_WAY_SOURCES; way++) {
        test_far(all, (sapporo_mpi_way)way, 0, 4);
        test_far(all, (sapporo_mpi_way)way, 3 * BLOCK, 2);
        test_refused(all, (sapporo_mpi_way)way);
    }
    test_far(all, SAPPORO_MPI_WAY_SOURCES, INT_MAX, 6);
    test_columns(all, 2);
    test_columns(all, 4);
    test_columns(all, 8);
    free(all);
    return ranks_end();
}
