/*
 * tree_device.c - trees over ranks whose particles and forces are in memory of CUDA devices: the bits are those of host
 * memory, whichever ranks use which.  Prints TAP; says that there is no such device where there is none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_memory.h"
#include "tree_problem.h"

enum { N = 3000 };

/* How a rank gives its particles and takes its forces. */
enum place { HOST, DEVICE, TAKES_DEVICE, MIXED, PLACES };

static const char *const word[PLACES] = {"host", "device", "results on the device", "device of odd ranks"};

static int gives_device(enum place p) { return p == DEVICE || (p == MIXED && rank % 2 == 1); }
static int takes_device(enum place p) { return gives_device(p) || p == TAKES_DEVICE; }

/* Columns of particles, in memory of a device if these are. */
struct columns {
    sapporo_tree_particles p;
    void *memory[3];
};

static struct columns columns_at(const struct particles_of_rank *m, enum place place)
{
    struct columns c = {.p = columns_of(&m->model, m->n)};
    if (!gives_device(place)) return c;
    const size_t n = (size_t)m->n;
    c.p.memory = SAPPORO_MEMORY_DEVICE;
    c.p.x.base = c.memory[0] = cuda_copy(m->model.x, n * sizeof *m->model.x);
    c.p.mass.base = c.memory[1] = cuda_copy(m->model.mass, n * sizeof *m->model.mass);
    if (c.p.h.base) c.p.h.base = c.memory[2] = cuda_copy(m->model.h, n * sizeof *m->model.h);
    return c;
}

static void drop(struct columns *c)
{
    for (int k = 0; k < 3; k++) cuda_free(c->memory[k]);
}

/* Collective.  Forces on the ni first, or on active particles. */
static int force(sapporo_mpi_tree *t, enum place place, int ni, const int *active, struct rows *to)
{
    const size_t n = (size_t)ni;
    sapporo_tree_request r = {.size = sizeof r, .ni = ni, .active = active};
    if (!takes_device(place)) return sapporo_mpi_tree_force_request(t, &r, to->acc, to->pot);
    double(*const acc)[3] = cuda_copy(NULL, n * sizeof *acc), *const pot = cuda_copy(NULL, n * sizeof *pot);
    int *const list = active ? cuda_copy(active, n * sizeof *list) : NULL;
    r.memory = SAPPORO_MEMORY_DEVICE;
    r.active = list;
    const int status = sapporo_mpi_tree_force_request(t, &r, acc, pot);
    cuda_fetch(to->acc, acc, n * sizeof *acc);
    cuda_fetch(to->pot, pot, n * sizeof *pot);
    cuda_free(acc);
    cuda_free(pot);
    cuda_free(list);
    return status;
}

/* Forces of two builds, of a refresh and of some particles. */
struct results {
    struct rows twice[2], moved, some;
};

static int compute(const sapporo_tree_options *o, const struct model *all, enum split how, enum place place,
                   struct results *to)
{
    sapporo_mpi_tree *const t = open_tree(o);
    struct particles_of_rank m = model_pick(all, how);
    int *const active = calloc((size_t)m.n + 1, sizeof *active), some = 0, bad = 0;
    for (int i = m.n - 1; i >= 0; i -= 3) active[some++] = i;
    for (int k = 0; k < 2; k++) {
        struct columns c = columns_at(&m, place);
        bad |= sapporo_mpi_tree_build(t, &c.p);
        bad |= force(t, place, m.n, NULL, &to->twice[k]);
        drop(&c);
    }
    bad |= force(t, place, some, active, &to->some);
    for (int i = 0; i < m.n; i++)
        for (int c = 0; c < 3; c++) m.model.x[i][c] *= 1.001;
    struct columns c = columns_at(&m, place);
    bad |= sapporo_mpi_tree_refresh(t, &c.p) || force(t, place, m.n, NULL, &to->moved);
    if (bad) fprintf(stderr, "# %s\n", sapporo_mpi_tree_last_error(t));
    drop(&c);
    free(active);
    model_drop(&m);
    sapporo_mpi_tree_destroy(t);
    return bad;
}

static struct results results_new(void)
{
    return (struct results){{rows_new(N), rows_new(N)}, rows_new(N), rows_new(N)};
}

static void results_free(struct results *r)
{
    rows_free(&r->twice[0]);
    rows_free(&r->twice[1]);
    rows_free(&r->moved);
    rows_free(&r->some);
}

static int same(const struct results *a, const struct results *b)
{
    return same_rows(&a->twice[0], &b->twice[0], N) && same_rows(&a->twice[1], &b->twice[1], N) &&
           same_rows(&a->moved, &b->moved, N) && same_rows(&a->some, &b->some, N);
}

static void test(sapporo_tree_kind kind, sapporo_tree_mac mac, int softening, enum split how)
{
    static const double lengths[] = {0.01, 0.05, 0.02};
    struct model all = clusters(N);
    const sapporo_tree_options o = options_of(kind, mac, SAPPORO_SP);
    struct results host = results_new();
    if (softening) model_soften(&all, 0, 3, lengths);
    const int bad = compute(&o, &all, how, HOST, &host);
    for (enum place p = DEVICE; p < PLACES; p++) {
        struct results here = results_new();
        const int failed = compute(&o, &all, how, p, &here);
        report(!bad && !failed && same(&host, &here), "kind %d, criterion %d, lengths %d, split %d: %s, the same bits",
               (int)kind, (int)mac, softening, (int)how, word[p]);
        results_free(&here);
    }
    results_free(&host);
    model_free(&all);
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    if (!has_device() || !cuda_open(rank)) {
        report(1, "there is no such device");
        return ranks_end();
    }
    for (enum split how = 0; how < SPLITS; how++) test(SAPPORO_TREE_OCTREE, SAPPORO_MAC_ACCELERATION, 0, how);
    test(SAPPORO_TREE_OCTREE, SAPPORO_MAC_OPENING, 0, IN_TURN);
    test(SAPPORO_TREE_KDTREE, SAPPORO_MAC_ACCELERATION, 0, IN_TURN);
    test(SAPPORO_TREE_KDTREE, SAPPORO_MAC_MULTIPOLE, 0, PIECES);
    test(SAPPORO_TREE_OCTREE, SAPPORO_MAC_ACCELERATION, 1, IN_TURN);
    return ranks_end();
}
