/*
 * exchanges.c - sapporo_mpi_tree_exchange over any number of ranks: each particle's record arrives on the rank that
 * walks the particle, forces keep their bits, nothing of forces and refreshes travels after it, and the next build
 * sends few particles.
 * sapporo_mpi_stepper_exchange: each particle arrives with all that the stepper knows of it, and the run goes on as
 * without it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/worst.h"
#include "tree_problem.h"

enum { N = 4000 };

/* Bytes that this rank has given to MPI_Ialltoallv, by which particles, records and forces travel. */
static double carried;

int MPI_Ialltoallv(const void *from, const int *sent, const int *sent_at, MPI_Datatype what, void *to, const int *got,
                   const int *got_at, MPI_Datatype type, MPI_Comm communicator, MPI_Request *request)
{
    int bytes, others;
    MPI_Comm_size(communicator, &others);
    MPI_Type_size(what, &bytes);
    for (int r = 0; r < others; r++) carried += (double)bytes * sent[r];
    return PMPI_Ialltoallv(from, sent, sent_at, what, to, got, got_at, type, communicator, request);
}

/* What the caller keeps of a particle: a number of bytes that no type of C has. */
enum { RECORD = 29 };

static void write_record(char *record, int number, const double *x)
{
    memset(record, number % 100, RECORD);
    memcpy(record, x, 3 * sizeof *x);
    memcpy(record + 3 * sizeof *x, &number, sizeof number);
}

/* Reads the records of n particles; returns 1 if each is as it was written. */
static int read_records(const char *records, int n, const struct model *all, struct particles_of_rank *to)
{
    char expected[RECORD];
    int good = 1;
    to->n = n;
    for (int i = 0; i < n; i++, records += RECORD) {
        memcpy(&to->number[i], records + sizeof(double[3]), sizeof to->number[i]);
        const int known = to->number[i] >= 0 && to->number[i] < all->n;
        if (!known) to->number[i] = 0;
        write_record(expected, to->number[i], all->x[to->number[i]]);
        good &= known && memcmp(records, expected, RECORD) == 0;
        memcpy(to->model.x[i], all->x[to->number[i]], sizeof *to->model.x);
        to->model.mass[i] = all->mass[to->number[i]];
    }
    return good;
}

/* Collective.  Exchanges the particles of this rank; returns 1 if all records arrive, each once. */
static int exchange(sapporo_mpi_tree *t, const struct model *all, struct particles_of_rank *m)
{
    char *const from = calloc((size_t)all->n + 1, RECORD), *const to = calloc((size_t)all->n + 1, RECORD);
    int *const here = calloc((size_t)all->n + 1, sizeof *here), *const sum = calloc((size_t)all->n + 1, sizeof *sum);
    int n = -1, good = 1;
    sapporo_mpi_tree_statistics s = {.size = sizeof s};
    for (int i = 0; i < m->n; i++) write_record(from + (size_t)i * RECORD, m->number[i], m->model.x[i]);
    good &= !sapporo_mpi_tree_get_statistics(t, &s) && s.given == m->n;
    good &= !sapporo_mpi_tree_exchange(t, RECORD, from, s.n, to, &n) && n == s.n;
    good = good && read_records(to, n, all, m);
    good &= !sapporo_mpi_tree_get_statistics(t, &s) && s.given == n && s.n == n && s.total == all->n;
    for (int i = 0; i < m->n; i++) here[m->number[i]]++;
    ranks_combine(here, sum, all->n, MPI_SUM);
    for (int k = 0; k < all->n; k++) good &= sum[k] == 1;
    free(from);
    free(to);
    free(here);
    free(sum);
    return good;
}

/* A tree, and what its ranks' callers have. */
struct side {
    sapporo_mpi_tree *tree;
    struct particles_of_rank m;
    struct rows own, all;
};

static struct side side_new(const sapporo_tree_options *o, const struct model *all, enum split how)
{
    return (struct side){open_tree(o), model_pick(all, how), rows_new(all->n), rows_new(all->n)};
}

static void side_free(struct side *s)
{
    sapporo_mpi_tree_destroy(s->tree);
    model_drop(&s->m);
    rows_free(&s->own);
    rows_free(&s->all);
}

static int build(struct side *s)
{
    const sapporo_tree_particles p = columns_of(&s->m.model, s->m.n);
    return sapporo_mpi_tree_build(s->tree, &p);
}

/* Forces on all particles, by number. */
static int force(struct side *s, int n)
{
    const int bad = sapporo_mpi_tree_force(s->tree, s->own.acc, s->own.pot);
    gather(&s->m, &s->own, n, &s->all);
    return bad;
}

/* Forces on every third particle, by number. */
static int force_some(struct side *s, int n)
{
    struct particles_of_rank some = {.number = calloc((size_t)n + 1, sizeof *some.number)};
    int *const active = calloc((size_t)n + 1, sizeof *active);
    for (int i = 0; i < s->m.n; i++)
        if (s->m.number[i] % 3 == 0) active[some.n] = i, some.number[some.n++] = s->m.number[i];
    const int bad = sapporo_mpi_tree_force_active(s->tree, some.n, active, s->own.acc, s->own.pot);
    gather(&some, &s->own, n, &s->all);
    free(active);
    free(some.number);
    return bad;
}

/* Moves the particles a little, by number, and refreshes the tree. */
static int refresh(struct side *s)
{
    for (int i = 0; i < s->m.n; i++)
        for (int c = 0; c < 3; c++) s->m.model.x[i][c] += 0.01 * sin(s->m.number[i] * (c + 1.7));
    const sapporo_tree_particles p = columns_of(&s->m.model, s->m.n);
    return sapporo_mpi_tree_refresh(s->tree, &p);
}

/* Compares a tree whose particles are exchanged with one whose callers keep theirs. */
static void test(const struct model *all, sapporo_tree_kind kind, enum split how, int threads)
{
    const char *const name = kind == SAPPORO_TREE_KDTREE ? "kdtree" : "octree";
    sapporo_tree_options o = options_of(kind, SAPPORO_MAC_ACCELERATION, SAPPORO_SP);
    struct side kept = side_new(&o, all, how);
    o.threads = threads;
    struct side sent = side_new(&o, all, how);
    int bad = 0;
    for (int round = 0; round < 2; round++) /* the second build knows the interactions */
        bad |= build(&kept) || build(&sent) || force(&kept, all->n) || force(&sent, all->n);
    bad |= !exchange(sent.tree, all, &sent.m);
    report(!bad, "%s, split %d: all records arrive: %s", name, (int)how, sapporo_mpi_tree_last_error(sent.tree));
    bad = force(&kept, all->n);
    carried = 0;
    bad |= sapporo_mpi_tree_force(sent.tree, sent.own.acc, sent.own.pot);
    sapporo_mpi_tree_statistics s = {.size = sizeof s};
    bad |= sapporo_mpi_tree_get_statistics(sent.tree, &s);
    const double nodes = carried - 32.0 * s.sent_particles - 152.0 * s.sent_cells;
    gather(&sent.m, &sent.own, all->n, &sent.all);
    report(!bad && same_rows(&kept.all, &sent.all, all->n), "%s, split %d: forces have the same bits", name, (int)how);
    report(nodes == 0, "%s, split %d: of a force cells and particles alone travel: %g bytes more", name, (int)how,
           largest(nodes));
    bad = force_some(&kept, all->n) || force_some(&sent, all->n);
    report(!bad && same_rows(&kept.all, &sent.all, all->n), "%s, split %d: active forces have the same bits", name,
           (int)how);
    carried = 0;
    bad = refresh(&sent);
    const double moved = carried;
    bad |= refresh(&kept) || force(&kept, all->n) || force(&sent, all->n);
    report(!bad && same_rows(&kept.all, &sent.all, all->n) && moved == 0,
           "%s, split %d: of a refresh nothing travels, and forces have the same bits", name, (int)how);
    carried = 0;
    bad = build(&sent);
    const double built = total(carried) / 40, few = all->n / 4.0;
    bad |= force(&sent, all->n);
    report(!bad && built <= few, "%s, split %d: the next build sends %g of %d particles", name, (int)how, built,
           all->n);
    struct model now = model_new(all->n);
    for (int k = 0; k < all->n; k++) { /* where particles are after refresh */
        for (int c = 0; c < 3; c++) now.x[k][c] = all->x[k][c] + 0.01 * sin(k * (c + 1.7));
        now.mass[k] = all->mass[k];
    }
    report(exchange(sent.tree, &now, &sent.m), "%s, split %d: a second exchange", name, (int)how);
    model_free(&now);
    side_free(&kept);
    side_free(&sent);
}

/* No particles, and one. */
static void test_tiny(int n)
{
    struct model m = clusters(1);
    m.n = n;
    const sapporo_tree_options o = options_of(SAPPORO_TREE_OCTREE, SAPPORO_MAC_OPENING, SAPPORO_DP);
    struct side s = side_new(&o, &m, ALL_ON_LAST);
    const int bad = build(&s) || !exchange(s.tree, &m, &s.m) || force(&s, n) || refresh(&s) || force(&s, n);
    report(!bad, "%d particles: %s", n, sapporo_mpi_tree_last_error(s.tree));
    side_free(&s);
    model_free(&m);
}

/* ----------------------------------------------------------------- steppers */

/* What a stepper returns of the particles of this rank. */
struct state {
    double (*x)[3], (*v)[3], (*acc)[3], *pot;
    int *level;
    long long *label;
};

static struct state state_new(int n)
{
    const size_t room = (size_t)n + 1;
    return (struct state){.x = calloc(room, sizeof(double[3])),
                          .v = calloc(room, sizeof(double[3])),
                          .acc = calloc(room, sizeof(double[3])),
                          .pot = calloc(room, sizeof(double)),
                          .level = calloc(room, sizeof(int)),
                          .label = calloc(room, sizeof(long long))};
}

static void state_free(struct state *s)
{
    free(s->x);
    free(s->v);
    free(s->acc);
    free(s->pot);
    free(s->level);
    free(s->label);
}

enum { ROW = 12, RANKS_WITH = 11 };

/* Numbers of a particle; the last is how many ranks have it. */
struct numbers {
    double of[ROW];
};

/* Collective.  Gives all ranks the states of all n particles, by label.  Returns 1 if each is on one rank. */
static int gather_states(sapporo_mpi_stepper *stepper, int n, struct numbers *all)
{
    struct state s = state_new(n);
    sapporo_stepper_statistics about = {.size = sizeof about};
    struct numbers *const mine = calloc((size_t)n + 1, sizeof *mine);
    int good = sapporo_mpi_stepper_get_statistics(stepper, &about) == SAPPORO_OK && about.n <= n;
    const sapporo_stepper_output out = {.size = sizeof out,
                                        .n = good ? (int)about.n : 0,
                                        .x = s.x,
                                        .v = s.v,
                                        .acc = s.acc,
                                        .pot = s.pot,
                                        .level = s.level,
                                        .label = s.label};
    good = good && sapporo_mpi_stepper_get(stepper, &out) == SAPPORO_OK;
    for (int i = 0; i < out.n && good; i++) {
        double *const row = mine[s.label[i]].of;
        for (int c = 0; c < 3; c++) row[c] = s.x[i][c], row[3 + c] = s.v[i][c], row[6 + c] = s.acc[i][c];
        row[9] = s.pot[i], row[10] = s.level[i], row[RANKS_WITH] += 1;
    }
    ranks_combine_doubles(mine->of, all->of, n * ROW, MPI_SUM);
    for (int k = 0; k < n; k++) good &= all[k].of[RANKS_WITH] == 1;
    state_free(&s);
    free(mine);
    return good;
}

/* The largest distance between positions of the same particles. */
static double apart(const struct numbers *a, const struct numbers *b, int n)
{
    double worst = 0;
    for (int k = 0; k < n; k++)
        for (int c = 0; c < 3; c++) worst = worst_of(worst, fabs(a[k].of[c] - b[k].of[c]));
    return worst;
}

/* A stepper with the model's particles, and room for `room` on each rank at least. */
static sapporo_mpi_stepper *open_stepper(const struct model *all, sapporo_step_method method, int rebuild,
                                         enum split how, int room)
{
    struct particles_of_rank m = model_pick(all, how);
    sapporo_tree_options tree = options_of(SAPPORO_TREE_OCTREE, SAPPORO_MAC_ACCELERATION, SAPPORO_DP);
    tree.eps2 = 0.01;
    const sapporo_stepper_options o = {.size = sizeof o,
                                       .method = method,
                                       .scheme = SAPPORO_STEPS_BLOCK,
                                       .dt = 1.0 / 32,
                                       .levels = 4,
                                       .rebuild = rebuild,
                                       .tree = &tree};
    const sapporo_mpi_stepper_options options = {.size = sizeof options, .stepper = &o, .timeout = 60};
    double *const v = calloc(3 * (size_t)m.n + 1, sizeof *v);
    long long *const label = calloc((size_t)m.n + 1, sizeof *label);
    for (int i = 0; i < m.n; i++) {
        for (int c = 0; c < 3; c++) v[3 * i + c] = 0.3 * cos(m.number[i] * (c + 1.3));
        label[i] = m.number[i];
    }
    const sapporo_stepper_particles p = {
        .size = sizeof p, .n = m.n, .x = {m.model.x, 0}, .v = {v, 0}, .mass = {m.model.mass, 0}, .label = {label, 0}};
    sapporo_mpi_stepper *s;
    const int bad = sapporo_mpi_stepper_create(MPI_COMM_WORLD, &options, room > m.n ? room : m.n, &s) ||
                    sapporo_mpi_stepper_set(s, &p);
    if (bad) report(0, "a stepper: %s", sapporo_mpi_stepper_last_error(s));
    free(v);
    free(label);
    model_drop(&m);
    return s;
}

/* Compares a stepper whose particles are exchanged in mid-run with one whose ranks keep theirs. */
static void test_stepper(const struct model *all, sapporo_step_method method, int rebuild, enum split how)
{
    const char *const name = method == SAPPORO_STEP_DIRECT ? "direct" : "tree";
    const int n = all->n;
    sapporo_mpi_stepper *const kept = open_stepper(all, method, rebuild, how, n);
    sapporo_mpi_stepper *const sent = open_stepper(all, method, rebuild, how, n);
    struct numbers *const a = calloc((size_t)n + 1, sizeof *a), *const b = calloc((size_t)n + 1, sizeof *b);
    struct numbers *const first = calloc((size_t)n + 1, sizeof *first);
    sapporo_stepper_statistics s = {.size = sizeof s}, t = {.size = sizeof t};
    int bad = sapporo_mpi_stepper_advance(kept, 1, 5) || sapporo_mpi_stepper_advance(sent, 1, 5);
    bad |= sapporo_mpi_stepper_exchange(sent) || !gather_states(kept, n, a) || !gather_states(sent, n, b);
    report(!bad && memcmp(a, b, (size_t)n * sizeof *a) == 0,
           "%s, rebuild %d, split %d: particles of a stepper arrive as they were: %s", name, rebuild, (int)how,
           sapporo_mpi_stepper_last_error(sent));
    memcpy(first, b, (size_t)n * sizeof *b);
    carried = 0;
    bad = sapporo_mpi_stepper_advance(sent, 0.25, 0);
    const double after = total(carried);
    carried = 0;
    bad |= sapporo_mpi_stepper_advance(kept, 0.25, 0);
    const double before = total(carried);
    bad |= !gather_states(kept, n, a) || !gather_states(sent, n, b);
    bad |= sapporo_mpi_stepper_get_statistics(kept, &s) || sapporo_mpi_stepper_get_statistics(sent, &t);
    bad |= s.steps != t.steps;
    if (ranks == 1 || method == SAPPORO_STEP_DIRECT) bad |= memcmp(a, b, (size_t)n * sizeof *a) != 0;
    const double distance = apart(a, b, n);
    report(!bad && distance < 1e-3 && apart(first, b, n) > 0.01,
           "%s, rebuild %d, split %d: the run goes on, %.1e apart: %s", name, rebuild, (int)how, distance,
           sapporo_mpi_stepper_last_error(sent));
    report(ranks == 1 || method == SAPPORO_STEP_DIRECT || after < before,
           "%s, rebuild %d, split %d: %g bytes travel, not %g", name, rebuild, (int)how, after, before);
    sapporo_mpi_stepper_destroy(kept);
    sapporo_mpi_stepper_destroy(sent);
    free(first);
    free(a);
    free(b);
}

/* Exchanges that fail: to ranks without room, before particles are set, and of a stepper that is destroyed. */
static void test_stepper_errors(const struct model *all)
{
    sapporo_mpi_stepper *s = open_stepper(all, SAPPORO_STEP_TREE, 0, ALL_ON_FIRST, 1);
    struct numbers *const a = calloc((size_t)all->n + 1, sizeof *a), *const b = calloc((size_t)all->n + 1, sizeof *b);
    int bad = !gather_states(s, all->n, a);
    const int status = sapporo_mpi_stepper_exchange(s);
    bad |= status != (ranks > 1 ? SAPPORO_ERR_ARGUMENT : SAPPORO_OK);
    bad |= ranks > 1 && !strstr(sapporo_mpi_stepper_last_error(s), "it has room for 1");
    bad |= !gather_states(s, all->n, b) || memcmp(a, b, (size_t)all->n * sizeof *a) != 0;
    bad |= sapporo_mpi_stepper_advance(s, 1, 2);
    report(!bad, "an exchange to ranks without room changes nothing: %s", sapporo_mpi_stepper_last_error(s));
    sapporo_mpi_stepper_destroy(s);
    bad = sapporo_mpi_stepper_exchange(s) != SAPPORO_ERR_CLOSED;
    const sapporo_tree_options tree = options_of(SAPPORO_TREE_OCTREE, SAPPORO_MAC_OPENING, SAPPORO_SP);
    const sapporo_stepper_options o = {.size = sizeof o, .dt = 1.0 / 32, .tree = &tree};
    const sapporo_mpi_stepper_options options = {.size = sizeof options, .stepper = &o, .timeout = 60};
    bad |= sapporo_mpi_stepper_create(MPI_COMM_WORLD, &options, 5, &s);
    bad |= sapporo_mpi_stepper_exchange(s) != SAPPORO_ERR_ARGUMENT;
    report(!bad && strstr(sapporo_mpi_stepper_last_error(s), "set them first"), "an exchange of no particles: %s",
           sapporo_mpi_stepper_last_error(s));
    sapporo_mpi_stepper_destroy(s);
    free(a);
    free(b);
}

static void test_steppers(void)
{
    struct model m = clusters(1200);
    for (int k = 0; k < m.n; k += 10) m.mass[k] = 0;
    test_stepper(&m, SAPPORO_STEP_TREE, 0, IN_TURN);
    test_stepper(&m, SAPPORO_STEP_TREE, 1, PIECES);
    test_stepper(&m, SAPPORO_STEP_DIRECT, 0, IN_TURN);
    test_stepper_errors(&m);
    model_free(&m);
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    if (has_device()) {
        struct model m = clusters(N);
        for (int k = 0; k < N; k++) m.mass[k] = 0x1p-12; /* sums are exact, in any order */
        for (int how = IN_TURN; how < SPLITS; how++)
            test(&m, how % 2 ? SAPPORO_TREE_KDTREE : SAPPORO_TREE_OCTREE, (enum split)how, how == PIECES ? 3 : 1);
        for (int n = 0; n < 2; n++) test_tiny(n);
        test_steppers();
        model_free(&m);
    }
    return ranks_end();
}
