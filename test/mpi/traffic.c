/*
 * traffic.c - what sapporo_mpi_get_traffic and sapporo_mpi_tree_get_traffic count: the bytes that each call must send,
 * from which memory, and exactly as many waits as it needs.  A call that brings more through host memory, or that waits
 * more often, fails here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"
#include "tree_problem.h"

/* Blocks of 2,048 addresses, of which each rank keeps some; targets of a rank. */
enum { BLOCK = 2048, BLOCKS = 7, NJ = BLOCKS * BLOCK - 48, NI = 40 };

/* Bytes, as docs/ranks.md has them: of a stored particle with x, v, mass, address and index; of a source and of a
 * target in order 4; of a source in device memory; of seven accumulators. */
enum { RECORD = 64, SOURCE = 152, ON_DEVICE = 144, TARGET = 64, ANSWER = 336 };

/* Waits of the messages of a call: each is one operation of all ranks. */
enum {
    SET_WAITS = 5,     /* columns and statuses, numbers, memory, particles, the end */
    BEGIN_WAITS = 2,   /* requests; memory and what was chosen */
    START_WAITS = 1,   /* statuses, behind what travels */
    END_WAITS = 2,     /* statuses of the call, statuses of the force */
    TARGETS_WAITS = 2, /* targets and sums */
    TREE_WAITS = 8     /* of a force: arguments, boxes, numbers, memory, cells, particles, the end, answers */
};

static sapporo_mpi_traffic before;

/* What a handle has counted since the last call. */
static sapporo_mpi_traffic counted(const sapporo_mpi *h)
{
    sapporo_mpi_traffic now = {.size = sizeof now};
    if (sapporo_mpi_get_traffic(h, &now)) now.waits = -1;
    const sapporo_mpi_traffic since = {now.size, now.waits - before.waits, now.host_bytes - before.host_bytes,
                                       now.device_bytes - before.device_bytes};
    before = now;
    return since;
}

static void expect(const char *what, const sapporo_mpi_traffic *t, long long waits, long long host, long long device)
{
    report(t->waits == waits && t->host_bytes == host && t->device_bytes == device,
           "%s: %lld waits, %lld and %lld bytes, not %lld, %lld and %lld", what, t->waits, t->host_bytes,
           t->device_bytes, waits, host, device);
}

/* Addresses below nj that rank r keeps. */
static long long kept_by(int r)
{
    long long n = 0;
    for (int b = r; b < BLOCKS; b += ranks) n += b == BLOCKS - 1 ? NJ - b * BLOCK : BLOCK;
    return n;
}

/* ---- direct sums ------------------------------------------------------------------------------------ */

/* Stores a run of addresses per rank; a particle of another rank's block must be sent. */
static void store(sapporo_mpi *h, const struct point *all)
{
    const int first = (int)((long long)NJ * rank / ranks), end = (int)((long long)NJ * (rank + 1) / ranks);
    int *const address = calloc(NJ, sizeof *address);
    long long away = 0;
    sapporo_particles columns = points_columns(all + first);
    for (int k = first; k < end; k++) {
        address[k - first] = k;
        away += k / BLOCK % ranks != rank;
    }
    for (int d = 2; d < SAPPORO_DERIVATIVES; d++) columns.derivative[d].base = NULL;
    columns.time.base = columns.eps2.base = NULL;
    (void)counted(h);
    const int bad = sapporo_mpi_set_particles(h, end - first, address, &columns);
    const sapporo_mpi_traffic t = counted(h);
    report(!bad, "particles are stored");
    expect("storing", &t, SET_WAITS, away * RECORD, 0);
    free(address);
}

static sapporo_mpi_traffic force(sapporo_mpi *h, const struct point *all, struct answers *to)
{
    const sapporo_request r = points_request(all + NI * rank, NI, NJ);
    const sapporo_result result = answers_result(to, 4, 0);
    sapporo_mpi_job *job = NULL;
    (void)counted(h);
    const int bad = sapporo_mpi_force_begin(h, &r, &job) || sapporo_mpi_force_end(job, NI, &result);
    sapporo_mpi_force_free(job);
    const sapporo_mpi_traffic t = counted(h);
    report(!bad, "a force is computed");
    return t;
}

/* Waits for the sources of all ranks: one of the host's transport and of NCCL, of MPI one per message. */
static int source_waits(sapporo_mpi_transport transport)
{
    return transport == SAPPORO_MPI_TRANSPORT_MPI ? 2 * (ranks - 1) : 1;
}

/* Sources go to all ranks once, in whole superpackets from device memory; then they are there. */
static void test_sources(sapporo_mpi *h, const struct point *all, struct answers *to)
{
    const sapporo_mpi_transport by = sapporo_mpi_get_transport(h);
    const long long kept = kept_by(rank) * (ranks - 1);
    const sapporo_mpi_traffic first = force(h, all, to);
    const int waits = BEGIN_WAITS + START_WAITS + END_WAITS;
    if (ranks == 1)
        expect("one rank", &first, waits, 0, 0);
    else if (by == SAPPORO_MPI_TRANSPORT_HOST)
        expect("sources", &first, waits + 1, kept * SOURCE, 0);
    else
        report(first.waits == waits + source_waits(by) && first.host_bytes == 0 &&
                   first.device_bytes >= kept * ON_DEVICE &&
                   first.device_bytes < (kept + BLOCK * (ranks - 1)) * ON_DEVICE,
               "sources: %lld waits, not %d, %lld bytes from the host, %lld from the device", first.waits,
               waits + source_waits(by), first.host_bytes, first.device_bytes);
    const sapporo_mpi_traffic again = force(h, all, to);
    expect("the same sources", &again, waits, 0, 0);
}

/* Targets go to all ranks, and accumulators back. */
static void test_targets(sapporo_mpi *h, const struct point *all, struct answers *to)
{
    const long long sent = (long long)NI * (ranks - 1) * (TARGET + ANSWER);
    const sapporo_mpi_traffic t = force(h, all, to);
    expect("targets", &t, BEGIN_WAITS + START_WAITS + END_WAITS + TARGETS_WAITS, sent, 0);
}

static void test_sums(const struct point *all)
{
    const sapporo_options context = one_thread(4, SAPPORO_DS);
    struct answers to = answers_new(NI);
    for (int way = 1; way <= 2; way++) {
        const sapporo_mpi_options options = {
            .size = sizeof options, .context = &context, .timeout = 60, .way = (sapporo_mpi_way)way};
        sapporo_mpi *h = NULL;
        report(!sapporo_mpi_open(MPI_COMM_WORLD, &options, &h), "a handle of way %d is opened", way);
        before = (sapporo_mpi_traffic){0};
        store(h, all);
        if (way == 2) (void)force(h, all, &to); /* opens contexts, and compares their kinds */
        if (way == 2) store(h, all);
        (way == 1 ? test_targets : test_sources)(h, all, &to);
        sapporo_mpi_close(h);
    }
    answers_free(&to);
}

/* ---- trees ------------------------------------------------------------------------------------------ */

/* Waits for cells, particles and answers, of which there are none, beyond one for each: MPI waits for each message. */
static int halo_waits(void)
{
    const char *const by = getenv("SAPPORO_MPI_TRANSPORT");
    return by && strcmp(by, "mpi") == 0 ? 4 * (ranks - 1) - 3 : 0;
}

static void test_tree(void)
{
    const sapporo_tree_options tree_options = {
        .size = sizeof tree_options, .backend = tested_backend(), .threads = 1, .eps2 = 1e-4};
    const sapporo_mpi_tree_options options = {.size = sizeof options, .tree = &tree_options, .timeout = 60};
    struct model m = clusters(6000);
    const int first = m.n * rank / ranks, n = m.n * (rank + 1) / ranks - first;
    struct rows rows = rows_new(m.n);
    sapporo_mpi_tree *t = NULL;
    sapporo_mpi_traffic a = {.size = sizeof a}, b = {.size = sizeof b};
    sapporo_mpi_tree_statistics s = {.size = sizeof s};
    const sapporo_tree_particles p = {.size = sizeof p, .n = n, .x = {m.x + first, 0}, .mass = {m.mass + first, 0}};
    double *const label = calloc((size_t)m.n, sizeof *label), *const got = calloc((size_t)m.n, sizeof *got);
    int bad = sapporo_mpi_tree_create(MPI_COMM_WORLD, &options, &t);
    if (!bad) bad = sapporo_mpi_tree_build(t, &p) || sapporo_mpi_tree_force(t, rows.acc, rows.pot);
    if (!bad) bad = sapporo_mpi_tree_exchange(t, sizeof *label, label, m.n, got, NULL);
    if (!bad) bad = sapporo_mpi_tree_get_traffic(t, &a) || sapporo_mpi_tree_force(t, rows.acc, rows.pot);
    if (!bad) bad = sapporo_mpi_tree_get_traffic(t, &b) || sapporo_mpi_tree_get_statistics(t, &s);
    report(!bad, "a tree is built, and its force computed: %s", sapporo_mpi_tree_last_error(t));
    const long long host = b.host_bytes - a.host_bytes, device = b.device_bytes - a.device_bytes;
    const long long nodes = s.sent_cells * 152LL + s.sent_particles * 32LL, boxes = host + device - nodes;
    report(
        ranks == 1 || (boxes > 0 && boxes % (56 * (ranks - 1)) == 0 && (device == 0 || device == nodes)),
        "a force of own regions sends %lld bytes from the host, %lld from the device: cells and particles, %lld, and "
        "boxes",
        host, device, nodes);
    const int is_cpu = strncmp(sapporo_mpi_tree_kind_text(t), "cpu", 3) == 0; /* an accelerator's rows come later */
    const int waits = TREE_WAITS + !is_cpu + (device > 0 ? halo_waits() : 0);
    report(ranks == 1 || b.waits - a.waits == waits, "a force of own regions waits %lld times, not %d",
           b.waits - a.waits, waits);
    sapporo_mpi_tree_destroy(t);
    report(sapporo_mpi_tree_get_traffic(t, &b) == SAPPORO_ERR_CLOSED && b.waits == 0,
           "a destroyed tree has no traffic");
    free(label);
    free(got);
    rows_free(&rows);
    model_free(&m);
}

/* ---- misuse ----------------------------------------------------------------------------------------- */

static void test_misuse(void)
{
    struct {
        sapporo_mpi_traffic known;
        long long more;
    } newer = {.known = {.size = sizeof newer}, .more = 7};
    sapporo_mpi_traffic small = {.size = sizeof(size_t) - 1};
    sapporo_mpi *h = NULL;
    report(sapporo_mpi_get_traffic(NULL, &newer.known) == SAPPORO_ERR_CLOSED && newer.known.waits == 0,
           "no handle has no traffic");
    report(!sapporo_mpi_open(MPI_COMM_WORLD, NULL, &h), "a handle is opened");
    report(sapporo_mpi_get_traffic(h, NULL) == SAPPORO_ERR_ARGUMENT, "traffic needs memory");
    report(sapporo_mpi_get_traffic(h, &small) == SAPPORO_ERR_ARGUMENT && small.waits == 0, "traffic needs a size");
    newer.known.size = sizeof newer;
    report(!sapporo_mpi_get_traffic(h, &newer.known) && newer.known.size == sizeof small && newer.more == 7,
           "a newer caller gets what is known");
    sapporo_mpi_close(h);
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    struct point *const all = points_new(NJ);
    test_sums(all);
    test_tree();
    test_misuse();
    free(all);
    return ranks_end();
}
