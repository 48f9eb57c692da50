/*
 * transports.c - how particles travel: the transport that is chosen, what is said of it, transports that are not there,
 * and faults of NCCL.  Linked with hosted.c; libnccl.so.2 is fake_nccl.c.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/team.h"
#include "hosted.h"
#include "problem.h"

enum { NJ = 9000, NI = 40, PART = 2048 };

static struct point *source, *target;
static char warnings[2000], infos[2000];

static void listen(void *user, int level, const char *text)
{
    char *const to = level == SAPPORO_LOG_WARNING ? warnings : infos;
    (void)user;
    if (level != SAPPORO_LOG_WARNING && level != SAPPORO_LOG_INFO) return;
    (void)snprintf(to + strlen(to), sizeof warnings - strlen(to), "%s\n", text);
}

static int open_by(sapporo_mpi_transport transport, double timeout, sapporo_mpi **h)
{
    const sapporo_options context = one_thread(4, SAPPORO_DS);
    const sapporo_mpi_options options = {.size = sizeof options,
                                         .context = &context,
                                         .timeout = timeout,
                                         .way = SAPPORO_MPI_WAY_SOURCES,
                                         .sources = PART,
                                         .transport = transport};
    return sapporo_mpi_open(MPI_COMM_WORLD, &options, h);
}

static void set(const char *name, const char *value)
{
    if (value)
        (void)setenv(name, value, 1);
    else
        (void)unsetenv(name);
}

/* ------------------------------------------------------------------ choice */

/* The transport that `auto` takes; shared: all ranks have one device. */
static void test_auto(const char *what, const char *aware, const char *shared, const char *fault,
                      sapporo_mpi_transport right)
{
    sapporo_mpi *h = NULL;
    set("HOSTED_AWARE", aware), set("HOSTED_SHARED", shared), set("FAKE_NCCL", fault);
    infos[0] = '\0';
    const int status = open_by(SAPPORO_MPI_TRANSPORT_AUTO, 30, &h);
    if (ranks == 1) right = SAPPORO_MPI_TRANSPORT_HOST;
    static const char *const name[] = {"", "transport host over", "transport mpi over", "transport nccl over"};
    report(status == SAPPORO_OK && sapporo_mpi_get_transport(h) == right &&
               (rank > 0 || (strstr(infos, name[right]) && strstr(infos, ": 0 opencl 0"))),
           "auto, %s: status %d, transport %d", what, status, (int)sapporo_mpi_get_transport(h));
    sapporo_mpi_close(h);
    set("HOSTED_AWARE", NULL), set("HOSTED_SHARED", NULL), set("FAKE_NCCL", NULL);
}

static int count(const char *text, const char *word)
{
    int n = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) n++;
    return n;
}

static void test_choices(void)
{
    test_auto("all ranks have NCCL", "1", NULL, NULL, SAPPORO_MPI_TRANSPORT_NCCL);
    warnings[0] = '\0';
    test_auto("one device for all, MPI takes its memory", "1", "1", NULL, SAPPORO_MPI_TRANSPORT_MPI);
    test_auto("one device for all", "0", "1", NULL, SAPPORO_MPI_TRANSPORT_HOST);
    report(ranks == 1 || rank > 0 || count(warnings, "NCCL needs a device for each rank") == 1,
           "ranks that share a device: one warning");
    test_auto("NCCL does not begin on the last rank", "1", NULL, ranks > 2 ? "init 2" : "init 1",
              SAPPORO_MPI_TRANSPORT_MPI);
    test_auto("NCCL brings wrong bytes", "0", NULL, "wrong 0 1", SAPPORO_MPI_TRANSPORT_HOST);
    report(sapporo_mpi_get_transport(NULL) == SAPPORO_MPI_TRANSPORT_AUTO, "transport of no handle");
}

/* ------------------------------------------------------------------ errors */

/* Opens, and expects a status with these words. */
static void test_refused(const char *what, sapporo_mpi_transport transport, double timeout, int expected,
                         const char *words)
{
    sapporo_mpi *h = (sapporo_mpi *)&expected;
    const int status = open_by(transport, timeout, &h);
    report(status == expected && !h && strstr(sapporo_mpi_last_error(NULL), words), "%s: %d, %s", what, status,
           sapporo_mpi_last_error(NULL));
    sapporo_mpi_close(h);
}

static void test_errors(void)
{
    const sapporo_mpi_transport nccl = SAPPORO_MPI_TRANSPORT_NCCL;
    test_refused("MPI that takes no device memory", SAPPORO_MPI_TRANSPORT_MPI, 30, SAPPORO_ERR_UNSUPPORTED,
                 "does not say that it takes memory of CUDA");
    test_refused("an unknown transport", (sapporo_mpi_transport)4, 30, SAPPORO_ERR_ARGUMENT, "it must be 0 to 3");
    set("SAPPORO_MPI_TRANSPORT", "pigeon");
    test_refused("an unknown word", SAPPORO_MPI_TRANSPORT_AUTO, 30, SAPPORO_ERR_ARGUMENT,
                 "SAPPORO_MPI_TRANSPORT is 'pigeon'; it may be auto, host, mpi or nccl");
    set("SAPPORO_MPI_TRANSPORT", rank == 0 ? "host" : "nccl");
    if (ranks > 1)
        test_refused("different variables", SAPPORO_MPI_TRANSPORT_AUTO, 30, SAPPORO_MPI_ERR_DIFFERENT,
                     "transport differs: rank 0 has 1, rank 1 has 3");
    set("SAPPORO_MPI_TRANSPORT", NULL);
    set("HOSTED_SHARED", "1");
    if (ranks > 1)
        test_refused("NCCL on one device", nccl, 30, SAPPORO_ERR_UNSUPPORTED, "ranks 0 and 1 share opencl 0 of ");
    set("HOSTED_SHARED", NULL);
    set("FAKE_NCCL", "id 0");
    test_refused("NCCL without a number", nccl, 30, SAPPORO_MPI_ERR_NCCL, "ncclGetUniqueId: unhandled system error");
    set("FAKE_NCCL", ranks > 1 ? "init 1" : "init 0");
    test_refused("NCCL that does not begin", nccl, 30, SAPPORO_MPI_ERR_NCCL, "ncclCommInitRankConfig");
    set("FAKE_NCCL", "slow 0");
    test_refused("NCCL that never begins", nccl, 2, SAPPORO_MPI_ERR_TIMEOUT, "rank 0: NCCL failed: ncclCommInitRank");
    set("FAKE_NCCL", "wrong 0 1");
    test_refused("wrong bytes in the trial", nccl, 30, SAPPORO_ERR_DEVICE, "wrong bytes from rank 0");
    set("FAKE_NCCL", NULL);
}

/* ------------------------------------------------------------------ faults */

/* A fault in a later group, after forces that were right; what rank it names; later forces fail at once. */
static void test_fault(const char *kind, int group, int expected, const char *words)
{
    const struct problem p = way_problem(SAPPORO_MPI_WAY_SOURCES, PART, source, NJ, target, NI);
    struct mine m = pick(target, NI, IN_TURN);
    struct answers a = answers_new(m.n), alone = solve_alone(&p, 0);
    char fault[40];
    sapporo_mpi *h = NULL;
    int status = open_by(SAPPORO_MPI_TRANSPORT_NCCL, strcmp(kind, "never") == 0 ? 2 : 30, &h);
    const int set_status = set_all(h, source, NJ, IN_TURN), right = differing(h, &p, IN_TURN, &alone);
    (void)snprintf(fault, sizeof fault, "%s %d %d", kind, ranks - 1, 6 + group); /* the trial and five parts */
    set("FAKE_NCCL", fault);
    const int failed = compute(h, &p, &m, &a);
    char text[400];
    (void)snprintf(text, sizeof text, "%s", sapporo_mpi_last_error(h));
    report(!status && !set_status && right == 0 && failed && strstr(text, words) &&
               (group == 1 || answers_failed(&a, m.n, 4)), /* the first part travels before the force has begun */
           "%s at part %d: %d rows differ before, then %s", kind, group, right, text);
    set("FAKE_NCCL", NULL);
    const sapporo_request request = request_of(&p, m.point, m.n);
    sapporo_mpi_job *job;
    status = sapporo_mpi_force_begin(h, &request, &job);
    report(status == expected && !job, "%s: later forces fail, too: %d", kind, status);
    sapporo_mpi_close(h);
    answers_free(&a);
    answers_free(&alone);
    drop(&m);
}

static void test_faults(void)
{
    test_fault("end", 1, SAPPORO_MPI_ERR_NCCL, "NCCL failed: ncclGroupEnd: unhandled system error");
    test_fault("end", 3, SAPPORO_MPI_ERR_NCCL, "NCCL failed: ncclGroupEnd: unhandled system error");
    test_fault("async", 1, SAPPORO_MPI_ERR_NCCL, "NCCL failed: ncclGroupEnd: remote process exited");
    test_fault("async", 5, SAPPORO_MPI_ERR_NCCL, "NCCL failed: ncclGroupEnd: remote process exited");
    test_fault("never", 2, SAPPORO_MPI_ERR_TIMEOUT, "it did not finish within half the timeout");
}

/* What a rank does beside its device takes the threads of OMP_NUM_THREADS, 1, and not as many as the device has units.
 */
static void test_threads(void)
{
    enum { MANY = 30000 };
    sapporo_mpi *h = NULL;
    struct point *const all = points_new(MANY);
    int *const address = calloc(MANY, sizeof *address);
    const sapporo_particles columns = points_columns(all);
    for (int k = 0; k < MANY; k++) address[k] = k * ranks + rank;
    const int bad =
        open_by(SAPPORO_MPI_TRANSPORT_HOST, 30, &h) || sapporo_mpi_set_particles(h, MANY, address, &columns);
    report(!bad && sap_team_workers() == 0, "storing with one thread: %d workers", sap_team_workers());
    sapporo_mpi_close(h);
    free(address);
    free(all);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "devices") == 0) {
        if (hosted_devices() == 0) printf("OpenCL has no device\n");
        return hosted_devices() == 0;
    }
    ranks_begin(&argc, &argv);
    source = points_new(NJ);
    target = points_new(NI);
    sapporo_set_log(listen, NULL);
    if (argc > 1) {
        test_refused("NCCL that cannot be used", SAPPORO_MPI_TRANSPORT_NCCL, 30, SAPPORO_ERR_UNSUPPORTED, argv[1]);
        test_auto("without NCCL", "1", NULL, NULL, SAPPORO_MPI_TRANSPORT_MPI);
    } else {
        test_threads();
        test_choices();
        test_errors();
        if (ranks > 1) test_faults();
    }
    free(source);
    free(target);
    return ranks_end();
}
