/*
 * bounds.c - memory of direct sums over ranks: what libsapporo_mpi has allocated at most, against the bound of
 * docs/ranks.md ("Bytes").
 *
 * The program is linked with the objects of libsapporo_mpi, and with -Wl,--wrap=malloc,--wrap=calloc,--wrap=free, so
 * that their allocations, and none of MPI or of the contexts, come through the functions below.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "ranks.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void __real_free(void *at);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void __wrap_free(void *at);

enum {
    ROWS = 1000,       /* i-particles of all ranks in a slab */
    SOURCES = 4096,    /* j-particles in a part */
    PARTICLE = 152,    /* bytes of order 4: a j-particle that travels */
    TARGET = 64,       /* an i-particle */
    ANSWER = 48 * 7,   /* its sums */
    CONSTANT = 1 << 14 /* what depends on nothing but the number of ranks */
};

static double live, peak, taken; /* bytes; taken: in all */

static void *add(void *at)
{
    live += at ? (double)malloc_usable_size(at) : 0;
    taken += at ? (double)malloc_usable_size(at) : 0;
    peak = live > peak ? live : peak;
    return at;
}

void *__wrap_malloc(size_t bytes) { return add(__real_malloc(bytes)); }

void *__wrap_calloc(size_t n, size_t bytes) { return add(__real_calloc(n, bytes)); }

void __wrap_free(void *at)
{
    live -= at ? (double)malloc_usable_size(at) : 0;
    __real_free(at);
}

/* Peaks while particles are stored and while a force is computed. */
struct peaks {
    double set, force;
};

/* The force on the first ni of this rank's particles; each rank gives a share of n particles. */
static int measure(const struct point *all, int n, int ni, sapporo_mpi_way way, struct peaks *p)
{
    const int first = (int)((long long)n * rank / ranks), own = (int)((long long)n * (rank + 1) / ranks) - first;
    const sapporo_options context = one_thread(4, SAPPORO_DS);
    const sapporo_mpi_options options = {
        .size = sizeof options, .context = &context, .rows = ROWS, .sources = SOURCES, .way = way};
    const sapporo_particles columns = points_columns(all + first);
    const sapporo_request request = points_request(all + first, ni, n);
    struct answers a = answers_new(ni);
    const sapporo_result result = answers_result(&a, 4, 0);
    int *const address = malloc((size_t)own * sizeof *address);
    for (int k = 0; k < own; k++) address[k] = first + k;
    sapporo_mpi *h;
    sapporo_mpi_job *job = NULL;
    int bad = sapporo_mpi_open(MPI_COMM_WORLD, &options, &h);
    double before = peak = live;
    if (!bad) bad = sapporo_mpi_set_particles(h, own, address, &columns);
    p->set = peak - before;
    before = peak = live;
    if (!bad) bad = sapporo_mpi_force_begin(h, &request, &job) || sapporo_mpi_force_end(job, ni, &result);
    p->force = peak - before;
    sapporo_mpi_force_free(job);
    sapporo_mpi_close(h);
    free(address);
    answers_free(&a);
    return bad;
}

/* The bound of a force on ni particles of each rank, by the page. */
static double bound_of(sapporo_mpi_way way, int ni)
{
    const double all = (double)ni * ranks, slab = (all < ROWS ? all : ROWS) + 2.0 * ranks;
    const double own = slab / ranks, given = (double)TARGET * ni;
    if (way == SAPPORO_MPI_WAY_TARGETS) return given + (256 + ANSWER) * slab + (double)ANSWER * own * ranks;
    return given + 2.0 * SOURCES * PARTICLE + ANSWER * ((double)ni + (ni < ROWS ? ni : ROWS) + 2);
}

static void test(const struct point *all, int n, int ni, sapporo_mpi_way way)
{
    struct peaks one = {0}, two = {0};
    const int bad = measure(all, n, ni, way, &one) || measure(all, 2 * n, ni, way, &two);
    const double bound = bound_of(way, ni) + CONSTANT, block = 2048; /* a rank has at most a block more than others */
    const double set = PARTICLE * (2.0 * n / ranks + block) + CONSTANT;
    report(!bad && one.force <= bound && one.force > 0.7 * (bound - CONSTANT),
           "way %d, %d targets: a force has %.0f bytes, bound %.0f", (int)way, ni, one.force, bound);
    report(!bad && two.force <= one.force * 1.001 + 4096, "of twice as many particles it has %.0f bytes, not more",
           two.force);
    report(!bad && one.set <= set && two.set <= set + PARTICLE * 2.0 * n / ranks,
           "storing %d particles has %.0f bytes, bound %.0f", n, one.set, set);
}

/* Of so many particles that records of them take more than small ones may keep, a second call takes no memory. */
static void test_kept(void)
{
    enum { OWN = 1 << 18 };
    const sapporo_options context = one_thread(4, SAPPORO_DS);
    const sapporo_mpi_options options = {.size = sizeof options, .context = &context};
    double *const x = malloc(3 * OWN * sizeof *x);
    int *const address = malloc(OWN * sizeof *address), given = x && address ? OWN : 0, status[2] = {-1, -1};
    const sapporo_column moving = {x, 0};
    const sapporo_particles columns = {.size = sizeof columns, .derivative = {moving, moving, moving, moving, moving}};
    for (int k = 0; k < given; k++) {
        for (int axis = 0; axis < 3; axis++) x[3 * k + axis] = 1.0 / (k + axis + 2);
        address[k] = rank * OWN + k;
    }
    sapporo_mpi *h;
    const int opened = sapporo_mpi_open(MPI_COMM_WORLD, &options, &h);
    for (int k = 0; k < 2; k++) {
        taken = 0;
        status[k] = opened ? opened : sapporo_mpi_set_particles(h, given, address, &columns);
    }
    report(!status[0] && !status[1] && given && taken < CONSTANT,
           "particles stored again: %d, %d, %.0f bytes are taken", status[0], status[1], taken);
    sapporo_mpi_close(h);
    free(x);
    free(address);
}

int main(int argc, char **argv)
{
    enum { N = 20000, NI = 2500 };
    ranks_begin(&argc, &argv);
    struct point *const all = points_new(2 * N);
    for (int way = SAPPORO_MPI_WAY_TARGETS; ranks > 1 && way <= SAPPORO_MPI_WAY_SOURCES; way++) {
        test(all, N, NI, (sapporo_mpi_way)way);
        test(all, N, 10, (sapporo_mpi_way)way);
    }
    free(all);
    test_kept();
    return ranks_end();
}
