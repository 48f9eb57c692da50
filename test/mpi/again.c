/*
 * again.c - what a handle keeps of a call for the next one: a force after one with bad rows, sizes of accelerations,
 * the costs of forces on few particles, the costs that divide the particles, memory; and halos of many ranks that are
 * joined.
 */
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/worst.h"
#include "mpi/tree_halo.h"
#include "tree_problem.h"

enum { N = 3000 };

/* ---------------------------------------------------------------- direct sums */

/* A force with a bad row, and then one without: the second one is whole, and is said to be. */
static void test_bad_then_good(sapporo_mpi_way way)
{
    enum { NJ = 500, NI = 4, ORDER = 4 };
    struct point *const source = points_new(NJ), mine[NI];
    const sapporo_options context = one_thread(ORDER, SAPPORO_DS);
    const sapporo_mpi_options options = {.size = sizeof options, .context = &context, .timeout = 60, .way = way};
    struct answers a = answers_new(NI);
    const sapporo_result result = answers_result(&a, ORDER, 0);
    int address[NJ], status[2] = {0}, finite = 1;
    sapporo_mpi *h;
    for (int k = 0; k < NJ; k++) address[k] = k;
    const sapporo_particles columns = points_columns(source);
    int bad = sapporo_mpi_open(MPI_COMM_WORLD, &options, &h);
    if (!bad) bad = sapporo_mpi_set_particles(h, rank == 0 ? NJ : 0, address, &columns);
    for (int k = 0; k < 2 && !bad; k++) {
        sapporo_mpi_job *job;
        memcpy(mine, source, sizeof mine);
        if (k == 0 && rank == ranks - 1) mine[2].derivative[0][1] = NAN;
        const sapporo_request request = points_request(mine, NI, NJ);
        bad = sapporo_mpi_force_begin(h, &request, &job);
        status[k] = sapporo_mpi_force_end(job, NI, &result);
        sapporo_mpi_force_free(job);
    }
    for (int i = 0; i < NI; i++) finite &= isfinite(a.acc[i][0]) && isfinite(a.jerk[i][2]) && a.pot[i] < 0;
    report(!bad && status[0] == SAPPORO_PARTIAL && status[1] == SAPPORO_OK && finite,
           "way %d: a force with a bad row, then one without: statuses %d %d", (int)way, status[0], status[1]);
    sapporo_mpi_close(h);
    answers_free(&a);
    free(source);
}

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
/* Bytes that the process has of malloc. */
static double taken(void)
{
    const struct mallinfo2 m = mallinfo2();
    return (double)m.uordblks + (double)m.hblkhd;
}
#else
static double taken(void) { return 0; }
#endif

/* Many particles that travel: the memory of their way is given back. */
static void test_parcel(void)
{
    enum { MANY = 160000, ORDER = 8 }; /* of one rank; records of all derivatives */
    const int n = rank == ranks - 1 ? MANY : 0;
    struct point *const all = points_new(n + 1);
    int *const address = calloc((size_t)n + 1, sizeof *address);
    const sapporo_options context = one_thread(ORDER, SAPPORO_DP);
    const sapporo_mpi_options options = {.size = sizeof options, .context = &context, .timeout = 60};
    const sapporo_particles columns = points_columns(all);
    sapporo_mpi *h;
    for (int k = 0; k < n; k++) address[k] = k * ranks + (rank + 1) % ranks;
    int bad = sapporo_mpi_open(MPI_COMM_WORLD, &options, &h);
    const double before = taken();
    if (!bad) bad = sapporo_mpi_set_particles(h, n, address, &columns) || sapporo_mpi_clear_particles(h);
    const double stays = largest((taken() - before) / (1 << 20));
    report(!bad && stays < 32, "%d particles were set and cleared: %.1f MiB stay", (int)MANY, stays);
    sapporo_mpi_close(h);
    free(address);
    free(all);
}

/* --------------------------------------------------------------------- trees */

static double norm(const double *a) { return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]); }

/* The model, `by` times as large. */
static struct model scaled(const struct model *m, double by)
{
    struct model to = model_new(m->n);
    memcpy(to.mass, m->mass, (size_t)m->n * sizeof *to.mass);
    for (int i = 0; i < m->n; i++)
        for (int c = 0; c < 3; c++) to.x[i][c] = by * m->x[i][c];
    return to;
}

/*
 * By ACCELERATION, a force takes the sizes of the force before.  Particles move away from each other, so that these
 * become smaller: the second force after that is the one of a tree to which they are given.
 */
static void test_sizes(void)
{
    enum { OLD, NEW, GIVEN, FORCES };
    struct model m = clusters(N), wide = scaled(&m, 4);
    struct particles_of_rank mine = model_pick(&m, IN_TURN), later = model_pick(&wide, IN_TURN);
    const sapporo_tree_particles before = columns_of(&mine.model, mine.n);
    sapporo_tree_particles after = columns_of(&later.model, later.n);
    sapporo_tree_options o = options_of(SAPPORO_TREE_OCTREE, SAPPORO_MAC_ACCELERATION, SAPPORO_DP);
    struct rows r[FORCES];
    double *const a = calloc((size_t)mine.n + 1, sizeof *a);
    int bad = 0;
    for (int k = 0; k < FORCES; k++) r[k] = rows_new(mine.n);
    for (int k = 0; k < 2; k++) { /* the second tree is given the sizes that the first one has found */
        sapporo_mpi_tree *const t = open_tree(&o);
        if (k) after.a = (sapporo_column){a, 0};
        bad |= sapporo_mpi_tree_build(t, &before) || sapporo_mpi_tree_force(t, NULL, NULL);
        bad |= sapporo_mpi_tree_refresh(t, &after) != SAPPORO_OK;
        if (!k) bad |= sapporo_mpi_tree_force(t, r[OLD].acc, r[OLD].pot) != SAPPORO_OK;
        for (int i = 0; i < mine.n && !k; i++) a[i] = norm(r[OLD].acc[i]);
        bad |= sapporo_mpi_tree_force(t, r[k ? GIVEN : NEW].acc, r[k ? GIVEN : NEW].pot) != SAPPORO_OK;
        sapporo_mpi_tree_destroy(t);
    }
    report(!bad && same_rows(&r[NEW], &r[GIVEN], mine.n), "a force takes the sizes of the force before");
    report(total(!same_rows(&r[OLD], &r[NEW], mine.n)) > 0, "and these matter");
    for (int k = 0; k < FORCES; k++) rows_free(&r[k]);
    free(a);
    model_drop(&mine);
    model_drop(&later);
    model_free(&m);
    model_free(&wide);
}

/* A size of 0 that a refresh is given is a size: no cell is accepted. */
static void test_size_of_zero(void)
{
    struct model m = clusters(N);
    struct particles_of_rank mine = model_pick(&m, IN_TURN);
    sapporo_tree_particles columns = columns_of(&mine.model, mine.n);
    const sapporo_tree_options o = options_of(SAPPORO_TREE_OCTREE, SAPPORO_MAC_ACCELERATION, SAPPORO_SP);
    sapporo_mpi_tree *const t = open_tree(&o);
    sapporo_mpi_tree_statistics before = {.size = sizeof before}, s = {.size = sizeof s};
    double *const a = calloc((size_t)mine.n + 1, sizeof *a);
    int bad = sapporo_mpi_tree_build(t, &columns) || sapporo_mpi_tree_force(t, NULL, NULL);
    bad |= sapporo_mpi_tree_get_statistics(t, &before);
    columns.a = (sapporo_column){a, 0};
    bad |= sapporo_mpi_tree_refresh(t, &columns) || sapporo_mpi_tree_force(t, NULL, NULL);
    bad |= sapporo_mpi_tree_get_statistics(t, &s);
    const double cells[2] = {total((double)before.particle_cell), total((double)s.particle_cell)};
    report(!bad && cells[0] > 0 && cells[1] < 1, "sizes of 0 after a refresh: %.0f cells, before it %.0f", cells[1],
           cells[0]);
    sapporo_mpi_tree_destroy(t);
    free(a);
    model_drop(&mine);
    model_free(&m);
}

/* Collective.  The interactions of the force on one particle of the first rank. */
static double cost_of(sapporo_mpi_tree *t, int particle)
{
    sapporo_mpi_tree_statistics s = {.size = sizeof s};
    double acc[1][3], pot[1];
    const int bad =
        sapporo_mpi_tree_force_active(t, rank == 0, &particle, acc, pot) || sapporo_mpi_tree_get_statistics(t, &s);
    return total(bad ? NAN : (double)(s.particle_particle + s.particle_cell));
}

/* Forces on few particles, however dear these are, tell nothing about the tree: it is not built. */
static void test_few_and_choice(void)
{
    enum { TRIED = 60 };
    struct model m = clusters(N);
    struct particles_of_rank mine = model_pick(&m, IN_TURN);
    const sapporo_tree_particles columns = columns_of(&mine.model, mine.n);
    const sapporo_tree_options o = options_of(SAPPORO_TREE_OCTREE, SAPPORO_MAC_MULTIPOLE, SAPPORO_SP);
    sapporo_mpi_tree *const t = open_tree(&o);
    int bad = 0, built = 0, dearest = 0;
    for (int k = 0; k < 3; k++) /* built for now, for later, and refreshed */
        bad |= sapporo_mpi_tree_refresh_or_build(t, &columns, 0, &built) || sapporo_mpi_tree_force(t, NULL, NULL);
    bad |= built;
    double most = 0, least = INFINITY;
    for (int k = 0; k < TRIED; k++) {
        const double cost = cost_of(t, k);
        if (!(cost <= most)) most = cost, dearest = k;
        if (!(cost >= least)) least = cost;
    }
    (void)cost_of(t, dearest);
    bad |= sapporo_mpi_tree_refresh_or_build(t, &columns, 0, &built);
    report(!bad && !built, "forces on few particles make no build: %s", sapporo_mpi_tree_last_error(t));
    report(most > 1.3 * least, "of these the dearest costs %.0f, the cheapest %.0f", most, least);
    sapporo_mpi_tree_destroy(t);
    model_drop(&mine);
    model_free(&m);
}

/* Moves the first particles of a model away, and writes accelerations of this rank's: small ones, which make them dear.
 */
static struct particles_of_rank pick_dear(struct model *m, int dear, double *a)
{
    for (int i = 0; i < dear; i++) m->x[i][0] += 300;
    const struct particles_of_rank mine = model_pick(m, IN_TURN);
    for (int i = 0; i < mine.n; i++) a[i] = mine.number[i] < dear ? 1e-30 : 1e30;
    return mine;
}

/* Particles that are dear, since small accelerations are given for them, and three times as many that are cheap. */
static void test_division(sapporo_tree_kind kind)
{
    enum { MANY = 12000, DEAR = MANY / 4 };
    struct model m = clusters(MANY);
    double *const a = calloc(MANY, sizeof *a);
    struct particles_of_rank mine = pick_dear(&m, DEAR, a);
    sapporo_tree_particles columns = columns_of(&mine.model, mine.n);
    columns.a = (sapporo_column){a, 0};
    const sapporo_tree_options o = options_of(kind, SAPPORO_MAC_ACCELERATION, SAPPORO_SP);
    sapporo_mpi_tree *const t = open_tree(&o);
    sapporo_mpi_tree_statistics s = {.size = sizeof s};
    int bad = 0;
    for (int k = 0; k < 2; k++) bad |= sapporo_mpi_tree_build(t, &columns) || sapporo_mpi_tree_force(t, NULL, NULL);
    bad |= sapporo_mpi_tree_get_statistics(t, &s);
    const double most = largest(s.n), mean = (double)MANY / ranks;
    report(!bad && most <= 3 * mean + 1, "no rank has more than 3 times the mean of particles of %s: %.2f",
           kind == SAPPORO_TREE_KDTREE ? "a kd-tree" : "an octree", most / mean);
    report(ranks < 5 || most > 1.5 * mean, "and the costs matter: %.2f", most / mean);
    sapporo_mpi_tree_destroy(t);
    free(a);
    model_drop(&mine);
    model_free(&m);
}

/*
 * Some groups of particles that are so dear that half of a group is more than a sixteenth of a rank's share: the
 * boundary between ranks lies within a group, where the work of both is even, and not where the group begins or ends.
 */
static void test_even_division(void)
{
    enum { MANY = 16384, GROUP = 64, DEAR = 7 * GROUP };
    struct model m = clusters(MANY);
    double *const a = calloc(MANY, sizeof *a);
    struct particles_of_rank mine = pick_dear(&m, DEAR, a);
    sapporo_tree_particles columns = columns_of(&mine.model, mine.n);
    columns.a = (sapporo_column){a, 0};
    sapporo_tree_options o = options_of(SAPPORO_TREE_OCTREE, SAPPORO_MAC_ACCELERATION, SAPPORO_SP);
    o.group_size = GROUP;
    sapporo_mpi_tree *const t = open_tree(&o);
    sapporo_mpi_tree_statistics s = {.size = sizeof s};
    int bad = sapporo_mpi_tree_build(t, &columns) || sapporo_mpi_tree_force(t, NULL, NULL) ||
              sapporo_mpi_tree_get_statistics(t, &s);
    const double work = total((double)(s.particle_particle + s.particle_cell));
    bad |= sapporo_mpi_tree_build(t, &columns) || sapporo_mpi_tree_get_statistics(t, &s);
    /* The rank with fewest has dear ones alone; cheap ones weigh a bit more than they cost (weight_of). */
    const double fewest = -largest(-(double)s.n), even = work / ranks / (MANY - 1);
    report(!bad && fewest < DEAR && fewest > 0.99 * even && fewest < 1.06 * even,
           "of dear particles a rank has %.0f, even were %.1f, which is %.2f groups", fewest, even, even / GROUP);
    sapporo_mpi_tree_destroy(t);
    free(a);
    model_drop(&mine);
    model_free(&m);
}

/* --------------------------------------------------------------------- halos */

enum { HALOS = 80, LEAVES = 3, SPREAD = 2 }; /* SPREAD: particles of a leaf */

/* Halos of ranks, of which each fifth has none: a root with up to LEAVES leaves each, whose cells are right. */
struct many_halos {
    struct sap_halo_node node[HALOS * (LEAVES + 1)];
    double x[HALOS * LEAVES * SPREAD][4];
    int count[2 * HALOS][2];
    int halos, ranks, nodes, n;
};

static double drawn(void)
{
    static unsigned long long state = 1;
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(state >> 11) * 0x1p-53;
}

/* The cell of particles `first` to `end` - 1. */
static struct sap_cell cell_of(const double (*x)[4], int first, int end)
{
    struct sap_cell cell;
    sap_cell_start(&cell);
    for (int k = first; k < end; k++) sap_cell_add(&cell, x[k][3], fabs(x[k][3]), x[k], x[k], x[k]);
    sap_cell_centre(&cell);
    for (int k = first; k < end; k++) sap_cell_shape(&cell, x[k][3], x[k]);
    return cell;
}

static void add_halo(struct many_halos *h)
{
    const int leaves = 1 + h->halos % LEAVES, base = h->nodes, from = h->n;
    h->nodes += 1 + leaves;
    for (int l = 0; l < leaves; l++) {
        const int first = h->n;
        for (int k = 0; k < SPREAD; k++, h->n++)
            for (int c = 0; c < 4; c++) h->x[h->n][c] = c == 3 ? 0.5 + drawn() : 10 * drawn();
        h->node[base + 1 + l] = (struct sap_halo_node){
            .cell = cell_of((const double(*)[4])h->x, first, h->n), .first = first - from, .count = SPREAD};
    }
    h->node[base] =
        (struct sap_halo_node){.cell = cell_of((const double(*)[4])h->x, from, h->n), .child = 1, .children = leaves};
    h->count[h->ranks][0] = 1 + leaves;
    h->count[h->ranks++][1] = h->n - from;
    h->halos++;
    if (h->halos % 4 == 0) h->ranks++; /* a rank without a halo */
}

/* How often a walk from node k on meets each node and particle; returns how many levels it goes down. */
static int meet(const struct sap_tree_halo *h, int k, int *nodes, int *particles)
{
    const struct sap_tree_node *const node = &h->node[k];
    int deepest = 0;
    if (k < 0 || k >= h->nodes || nodes[k]++ || node->children > 8) return 1000;
    for (int p = node->first; p < node->first + node->count; p++)
        if (p >= 0 && p < h->n) particles[p]++;
    for (int c = 0; c < node->children; c++) {
        const int levels = meet(h, node->child + c, nodes, particles);
        if (levels > deepest) deepest = levels;
    }
    return 1 + deepest;
}

/* The largest error of a cell against the sums of all particles in extended precision. */
static double error_of_cell(const struct sap_cell *cell, const struct many_halos *h)
{
    long double mass = 0, centre[3] = {0}, q[6] = {0}, worst = 0;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int k = 0; k < h->n; k++) {
        mass += h->x[k][3];
        for (int c = 0; c < 3; c++) {
            centre[c] += (long double)h->x[k][3] * h->x[k][c];
            if (h->x[k][c] < low[c]) low[c] = h->x[k][c];
            if (h->x[k][c] > high[c]) high[c] = h->x[k][c];
        }
    }
    for (int c = 0; c < 3; c++) centre[c] /= mass;
    for (int k = 0; k < h->n; k++)
        for (int a = 0, at = 0; a < 3; a++)
            for (int b = a; b < 3; b++, at++) q[at] += h->x[k][3] * (h->x[k][a] - centre[a]) * (h->x[k][b] - centre[b]);
    worst = larger_of_long(fabsl(cell->mass / mass - 1), fabsl(cell->weight / mass - 1));
    for (int c = 0; c < 3; c++) {
        worst = larger_of_long(worst, fabsl(cell->centre[c] / centre[c] - 1));
        if (cell->low[c] < low[c] || cell->low[c] > low[c] || cell->high[c] < high[c] || cell->high[c] > high[c])
            worst = INFINITY;
    }
    for (int k = 0; k < 6; k++) worst = larger_of_long(worst, fabsl(cell->q[k] - q[k]) / (100 * mass));
    return (double)worst;
}

/* Joins as many halos: a walk meets each node and each particle once, and the root is the cell of all. */
static void test_join(int halos)
{
    struct many_halos *const h = calloc(1, sizeof *h);
    while (h->halos < halos) add_halo(h);
    const struct sap_halo all = {.nodes = h->nodes, .n = h->n, .node = h->node, .x = h->x};
    struct sap_halo_memory memory;
    struct sap_tree_halo joined;
    memset(&memory, 0, sizeof memory);
    const int status = sap_halo_join(&all, h->ranks, (const int(*)[2])h->count, 1, &memory, &joined);
    int *const nodes = calloc((size_t)joined.nodes + 1, sizeof *nodes), *const particles =
                                                                            calloc((size_t)h->n + 1, sizeof *particles);
    const int levels = status ? 0 : meet(&joined, 0, nodes, particles);
    int once = !status && joined.n == h->n;
    for (int k = 0; k < joined.nodes; k++) once &= nodes[k] == 1;
    for (int k = 0; k < h->n; k++) once &= particles[k] == 1;
    const double error = status ? INFINITY : error_of_cell(&joined.cell[0], h);
    report(once && levels == sap_halo_levels_above(halos) + 2 && error < 1e-14,
           "%d halos are joined to %d nodes of %d levels, error of the root %.1e", halos, joined.nodes, levels, error);
    free(nodes);
    free(particles);
    sap_room_free(&memory.node);
    sap_room_free(&memory.cell);
    free(h);
}

int main(int argc, char **argv)
{
    static const int halos[] = {1, 2, 7, 8, 9, 16, 63, 64, 65, 73};
    ranks_begin(&argc, &argv);
    if (has_device()) {
        test_bad_then_good(SAPPORO_MPI_WAY_TARGETS);
        test_bad_then_good(SAPPORO_MPI_WAY_SOURCES);
        test_parcel();
        test_sizes();
        test_size_of_zero();
        test_few_and_choice();
        test_division(SAPPORO_TREE_OCTREE);
        test_division(SAPPORO_TREE_KDTREE);
        if (ranks == 5) test_even_division();
        for (size_t k = 0; k < sizeof halos / sizeof *halos; k++) test_join(halos[k]);
    }
    return ranks_end();
}
