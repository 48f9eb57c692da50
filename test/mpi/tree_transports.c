/*
 * tree_transports.c - trees over ranks by each transport: the same bits, what goes through host memory, and faults of
 * NCCL.  Linked with hosted.c; libnccl.so.2 is fake_nccl.c.
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hosted.h"
#include "tree_problem.h"

/* Groups of transfers: of a trial, a build, and a force, whose nodes, particles and answers travel. */
enum { N = 4000, OF_TRIAL = 1, OF_BUILD = 1, OF_FORCE = 3 };
enum transport { HOST, MPI, NCCL, TRANSPORTS };

static const char *const word[TRANSPORTS] = {"host", "mpi", "nccl"};

static void set(const char *name, const char *value)
{
    if (value)
        (void)setenv(name, value, 1);
    else
        (void)unsetenv(name);
}

/* Collective.  A tree by a transport, which options or the environment name. */
static sapporo_mpi_tree *open_by(enum transport by, const sapporo_tree_options *how, double timeout)
{
    static const sapporo_mpi_transport number[TRANSPORTS] = {SAPPORO_MPI_TRANSPORT_HOST, SAPPORO_MPI_TRANSPORT_MPI,
                                                             SAPPORO_MPI_TRANSPORT_NCCL};
    static int names; /* in turn */
    const sapporo_mpi_transport right = ranks > 1 ? number[by] : SAPPORO_MPI_TRANSPORT_HOST;
    const sapporo_mpi_tree_options o = {.size = sizeof o,
                                        .tree = how,
                                        .timeout = timeout,
                                        .transport = names ? SAPPORO_MPI_TRANSPORT_AUTO : number[by]};
    sapporo_mpi_tree *t = NULL;
    set("SAPPORO_MPI_TRANSPORT", names ? word[by] : "host");
    set("HOSTED_AWARE", "1");
    names = !names;
    const int status = sapporo_mpi_tree_create(MPI_COMM_WORLD, &o, &t);
    report(!status && sapporo_mpi_tree_get_transport(t) == right, "a tree by %s is created: %s", word[by],
           sapporo_mpi_tree_last_error(NULL));
    set("SAPPORO_MPI_TRANSPORT", NULL);
    set("HOSTED_AWARE", NULL);
    return t;
}

/* ------------------------------------------------------------------ bits */

/* Forces of two builds, of some particles, and of a refresh; what the last build and its force sent. */
struct results {
    struct rows twice[2], some, moved;
    sapporo_mpi_traffic built, sent;
    sapporo_mpi_tree_statistics counts;
};

static struct results results_new(void)
{
    return (struct results){.twice = {rows_new(N), rows_new(N)},
                            .some = rows_new(N),
                            .moved = rows_new(N),
                            .built = {.size = sizeof(sapporo_mpi_traffic)},
                            .sent = {.size = sizeof(sapporo_mpi_traffic)},
                            .counts = {.size = sizeof(sapporo_mpi_tree_statistics)}};
}

static void results_free(struct results *r)
{
    rows_free(&r->twice[0]);
    rows_free(&r->twice[1]);
    rows_free(&r->some);
    rows_free(&r->moved);
}

static int same(const struct results *a, const struct results *b)
{
    return same_rows(&a->twice[0], &b->twice[0], N) && same_rows(&a->twice[1], &b->twice[1], N) &&
           same_rows(&a->some, &b->some, N) && same_rows(&a->moved, &b->moved, N);
}

static void subtract(sapporo_mpi_traffic *from, const sapporo_mpi_traffic *before)
{
    from->host_bytes -= before->host_bytes;
    from->device_bytes -= before->device_bytes;
}

/* Notes what a build and a force on all particles send. */
static int measure(sapporo_mpi_tree *t, const sapporo_tree_particles *p, struct rows *to, struct results *r)
{
    sapporo_mpi_traffic before = {.size = sizeof before};
    int bad = sapporo_mpi_tree_get_traffic(t, &before) || sapporo_mpi_tree_build(t, p);
    bad |= sapporo_mpi_tree_get_traffic(t, &r->built) || sapporo_mpi_tree_force(t, to->acc, to->pot);
    bad |= sapporo_mpi_tree_get_traffic(t, &r->sent) || sapporo_mpi_tree_get_statistics(t, &r->counts);
    subtract(&r->sent, &r->built);
    subtract(&r->built, &before);
    return bad;
}

static int compute(enum transport by, const sapporo_tree_options *o, const struct model *all, enum split how,
                   struct results *to)
{
    sapporo_mpi_tree *const t = open_by(by, o, 60);
    struct particles_of_rank m = model_pick(all, how);
    int *const active = calloc((size_t)m.n + 1, sizeof *active), some = 0, bad = !t;
    for (int i = m.n - 1; i >= 0; i -= 3) active[some++] = i;
    for (int k = 0; k < 2 && t; k++) {
        const sapporo_tree_particles p = columns_of(&m.model, m.n);
        bad |= measure(t, &p, &to->twice[k], to);
    }
    /* of the last rank none */
    if (rank == ranks - 1) some = 0;
    bad |= sapporo_mpi_tree_force_active(t, some, active, to->some.acc, to->some.pot);
    for (int i = 0; i < m.n; i++)
        for (int c = 0; c < 3; c++) m.model.x[i][c] *= 1.001;
    const sapporo_tree_particles p = columns_of(&m.model, m.n);
    bad |= sapporo_mpi_tree_refresh(t, &p) || sapporo_mpi_tree_force(t, to->moved.acc, to->moved.pot);
    if (bad) fprintf(stderr, "# %s\n", sapporo_mpi_tree_last_error(t));
    free(active);
    model_drop(&m);
    sapporo_mpi_tree_destroy(t);
    return bad;
}

/*
 * Particles, what a force needs of them and its answers stay in device memory, and boxes alone go through host memory;
 * all of particles with softening lengths does.
 */
static int right_bytes(enum transport by, const struct results *r, int has_lengths)
{
    enum { BOX = 56, RECORD = 40 };
    const long long halo = r->counts.sent_cells * 152LL + r->counts.sent_particles * 32LL;
    const long long answers = r->sent.device_bytes - halo;
    if (ranks == 1) return r->sent.host_bytes == 0 && r->sent.device_bytes == 0;
    if (by == HOST || has_lengths) return r->sent.device_bytes == 0 && (halo == 0 || r->sent.host_bytes > halo);
    return r->built.host_bytes == 0 && r->built.device_bytes % RECORD == 0 && answers >= 0 && answers % RECORD == 0 &&
           r->sent.host_bytes % (BOX * (ranks - 1)) == 0;
}

/* A model by all transports. */
static void test(const char *what, const sapporo_tree_options *o, const struct model *all, enum split how)
{
    struct results host = results_new();
    const int bad = compute(HOST, o, all, how, &host);
    report(!bad && right_bytes(HOST, &host, all->h != NULL), "%s, split %d: by the host", what, (int)how);
    for (enum transport by = MPI; by < TRANSPORTS; by++) {
        struct results here = results_new();
        const int failed = compute(by, o, all, how, &here);
        report(!failed && same(&host, &here) && right_bytes(by, &here, all->h != NULL),
               "%s, split %d: by %s, the same bits; %lld bytes from the device, %lld from the host", what, (int)how,
               word[by], here.sent.device_bytes, here.sent.host_bytes);
        results_free(&here);
    }
    results_free(&host);
}

static void test_models(void)
{
    static const double lengths[] = {0.01, 0.05, 0.02};
    struct model all = clusters(N), few = clusters(5);
    const sapporo_tree_options octree = options_of(SAPPORO_TREE_OCTREE, SAPPORO_MAC_ACCELERATION, SAPPORO_SP),
                               kdtree = options_of(SAPPORO_TREE_KDTREE, SAPPORO_MAC_OPENING, SAPPORO_DP);
    for (enum split how = 0; how < SPLITS; how++) test("octree", &octree, &all, how);
    test("kd-tree in dp", &kdtree, &all, PIECES);
    test("five particles", &octree, &few, IN_TURN);
    model_soften(&all, 0, 3, lengths);
    test("lengths", &octree, &all, IN_TURN);
    model_free(&all);
    model_free(&few);
}

/* ---------------------------------------------------------------- faults */

/* A fault of the last rank, in a group of the second build and force, which fail on all ranks, and so do later ones. */
static void test_fault(const char *kind, int group, int expected, const char *words)
{
    const sapporo_tree_options o = options_of(SAPPORO_TREE_OCTREE, SAPPORO_MAC_OPENING, SAPPORO_SP);
    struct model all = clusters(N);
    struct particles_of_rank m = model_pick(&all, PIECES);
    const sapporo_tree_particles p = columns_of(&m.model, m.n);
    struct rows rows = rows_new(N);
    char fault[40], text[400];
    sapporo_mpi_tree *const t = open_by(NCCL, &o, strcmp(kind, "never") == 0 ? 4 : 30);
    const int bad = sapporo_mpi_tree_build(t, &p) || sapporo_mpi_tree_force(t, rows.acc, rows.pot);
    (void)snprintf(fault, sizeof fault, "%s %d %d", kind, ranks - 1, OF_TRIAL + OF_BUILD + OF_FORCE + group);
    set("FAKE_NCCL", fault);
    int status = sapporo_mpi_tree_build(t, &p);
    if (!status) status = sapporo_mpi_tree_force(t, rows.acc, rows.pot);
    (void)snprintf(text, sizeof text, "%s", sapporo_mpi_tree_last_error(t));
    report(!bad && status == expected && strstr(text, words), "%s at group %d: %d, %s", kind, group, status, text);
    report(group <= OF_BUILD || m.n == 0 || isnan(rows.acc[0][0]), "%s at group %d: forces are NaN", kind, group);
    set("FAKE_NCCL", NULL);
    const int later = sapporo_mpi_tree_build(t, &p);
    report(later == expected && strstr(sapporo_mpi_tree_last_error(t), words), "%s: later builds fail, too: %d, %s",
           kind, later, sapporo_mpi_tree_last_error(t));
    sapporo_mpi_tree_destroy(t);
    rows_free(&rows);
    model_drop(&m);
    model_free(&all);
}

static void test_faults(void)
{
    for (int group = 1; group <= OF_BUILD + OF_FORCE; group++) {
        test_fault("end", group, SAPPORO_MPI_ERR_NCCL, "NCCL failed: ncclGroupEnd: unhandled system error");
        test_fault("async", group, SAPPORO_MPI_ERR_NCCL, "NCCL failed: ncclGroupEnd: remote process exited");
    }
    test_fault("never", OF_BUILD, SAPPORO_MPI_ERR_TIMEOUT, "it did not finish within half the timeout");
    test_fault("never", OF_BUILD + 1, SAPPORO_MPI_ERR_TIMEOUT, "it did not finish within half the timeout");
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    report(sapporo_mpi_tree_get_transport(NULL) == SAPPORO_MPI_TRANSPORT_AUTO, "transport of no tree");
    test_models();
    if (ranks > 1) test_faults();
    return ranks_end();
}
