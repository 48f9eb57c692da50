/* nccl.c - NCCL, loaded when it is first needed (nccl.h). */
#define _POSIX_C_SOURCE 200809L

#include "mpi/nccl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "base/static_program.h"
#include "context/internals.h"

/*
 * What we need of NCCL's interface, from its documentation.  The library is not needed to build ours.  The struct of
 * options is that of version 2.14, which was the first with communicators that do not block.
 */
enum { NCCL_SUCCESS = 0, NCCL_IN_PROGRESS = 7, NCCL_INT8 = 0, OLDEST = 21400, MAGIC = (int)0xcafebeefu };

struct unique_id {
    char internal[128];
};

struct config {
    size_t size;
    unsigned magic, version;
    int blocking;
};

typedef struct communicator *communicator;

/* Types of the functions: member, symbol, arguments.  All return a number of ncclResult_t. */
#define CALLS(CALL)                                                                                                    \
    CALL(version, "ncclGetVersion", (int *version));                                                                   \
    CALL(unique_id, "ncclGetUniqueId", (struct unique_id * id));                                                       \
    CALL(init, "ncclCommInitRankConfig",                                                                               \
         (communicator * c, int ranks, struct unique_id id, int rank, struct config *config));                         \
    CALL(async_error, "ncclCommGetAsyncError", (communicator c, int *result));                                         \
    CALL(finalize, "ncclCommFinalize", (communicator c));                                                              \
    CALL(destroy, "ncclCommDestroy", (communicator c));                                                                \
    CALL(stop, "ncclCommAbort", (communicator c));                                                                     \
    CALL(group_start, "ncclGroupStart", (void));                                                                       \
    CALL(group_end, "ncclGroupEnd", (void));                                                                           \
    CALL(send, "ncclSend", (const void *from, size_t n, int type, int peer, communicator c, void *stream));            \
    CALL(receive, "ncclRecv", (void *to, size_t n, int type, int peer, communicator c, void *stream))

static struct {
    pthread_once_t once;
#define MEMBER(name, symbol, arguments) int(*name) arguments
    CALLS(MEMBER);
#undef MEMBER
    const char *(*error_string)(int result);
    int number;       /* version of the library */
    char absent[200]; /* why it cannot be used; "": it can */
} nccl = {.once = PTHREAD_ONCE_INIT};

struct sap_nccl {
    communicator c;
    int failed;    /* the status with which it failed; 0: it works */
    char why[220]; /* and the text */
    int told;      /* 1: this rank has told the other ranks that it failed */
    int *heard;    /* [ranks] 1: that rank has told this one; [ranks] who has told, for sap_nccl_close */
};

/* ----------------------------------------------------------------- loading */

/* Stores the address of a call, or NULL, in `room`, a pointer to a function. */
static int find(void *library, void *room, const char *symbol)
{
    void *const address = dlsym(library, symbol);
    memcpy(room, &address, sizeof address); /* ISO C has no conversion between the two kinds of pointers */
    return address != NULL;
}

/* Resolves all calls; returns the name of one that is missing, or NULL. */
static const char *find_calls(void *library)
{
    const char *missing = NULL;
#define FIND(name, symbol, arguments)                                                                                  \
    if (!find(library, &nccl.name, symbol) && !missing) missing = symbol
    CALLS(FIND);
#undef FIND
    if (!find(library, &nccl.error_string, "ncclGetErrorString") && !missing) missing = "ncclGetErrorString";
    return missing;
}

static void load(void)
{
    const size_t room = sizeof nccl.absent;
    if (sap_env_raised()) {
        (void)snprintf(nccl.absent, room, "no NCCL with raised privileges");
        return;
    }
    if (sap_program_is_static()) {
        (void)snprintf(nccl.absent, room, "no NCCL in a program that is linked statically");
        return;
    }
    void *const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *const why = dlerror();
        (void)snprintf(nccl.absent, room, "no NCCL: %s", why ? why : "libnccl.so.2 does not load");
        return;
    }
    const char *const missing = find_calls(library);
    if (missing)
        (void)snprintf(nccl.absent, room, "NCCL is too old: its libnccl.so.2 has no %s", missing);
    else if (nccl.version(&nccl.number) != NCCL_SUCCESS || nccl.number < OLDEST)
        (void)snprintf(nccl.absent, room, "NCCL is too old: version %d, not %d or later", nccl.number, OLDEST);
}

const char *sap_nccl_absent(void)
{
    (void)pthread_once(&nccl.once, load);
    return nccl.absent[0] ? nccl.absent : NULL;
}

int sap_nccl_version(void) { return nccl.number; }

/* ------------------------------------------------------------------ errors */

/* A message of no bytes, by which a rank tells another one that NCCL has failed. */
enum { FAILED_TAG = 7777 };

/* Aborts the communicator, which ends its transfers. */
static void give_up(struct sap_nccl *n, int status)
{
    if (n->c) (void)nccl.stop(n->c);
    n->c = NULL;
    n->failed = status;
}

/* Fails, and tells the other ranks. */
static int fail(struct sap_nccl *n, struct sap_link *l, int status, const char *call, const char *why)
{
    give_up(n, status);
    n->told = 1;
    for (int r = 0; r < l->size && !l->broken; r++) {
        MPI_Request request;
        if (r == l->rank) continue;
        if (sap_link_judge(l, MPI_Isend(NULL, 0, MPI_CHAR, r, FAILED_TAG, l->communicator, &request))) break;
        (void)MPI_Request_free(&request);
    }
    (void)snprintf(n->why, sizeof n->why, "NCCL failed: %s: %.160s", call, why);
    return l->broken ? l->broken : sap_link_fail(l, status, "%s", n->why);
}

/* Fails if `result` is an error. */
static int judge(struct sap_nccl *n, struct sap_link *l, int result, const char *call)
{
    if (result == NCCL_SUCCESS || result == NCCL_IN_PROGRESS) return SAPPORO_OK;
    return fail(n, l, SAPPORO_MPI_ERR_NCCL, call, nccl.error_string(result));
}

/* Receives what a rank has told, or will tell at once. */
static int hear(const struct sap_nccl *n, struct sap_link *l, int from)
{
    n->heard[from] = 1;
    return sap_link_finish(l, MPI_Irecv(NULL, 0, MPI_CHAR, from, FAILED_TAG, l->communicator, &l->request));
}

/* Collective.  Receives what was not heard: a later communicator must not find it. */
static int hear_all(struct sap_nccl *n, struct sap_link *l)
{
    int *const told = n->heard + l->size;
    int status =
        sap_link_finish(l, MPI_Iallgather(&n->told, 1, MPI_INT, told, 1, MPI_INT, l->communicator, &l->request));
    for (int r = 0; r < l->size && !status; r++)
        if (r != l->rank && told[r] && !n->heard[r]) status = hear(n, l, r);
    return status;
}

/* Fails if another rank has told that NCCL failed there.  That rank's own status is worse than this one. */
static int listen(struct sap_nccl *n, struct sap_link *l)
{
    int told = 0;
    MPI_Status from;
    int status = sap_link_judge(l, MPI_Iprobe(MPI_ANY_SOURCE, FAILED_TAG, l->communicator, &told, &from));
    if (status || !told) return status;
    status = hear(n, l, from.MPI_SOURCE);
    if (status) return status;
    give_up(n, SAPPORO_ERR_DEVICE);
    (void)snprintf(n->why, sizeof n->why, "NCCL failed on rank %d", from.MPI_SOURCE);
    return sap_link_fail(l, n->failed, "%s", n->why);
}

/* One look at everything that may have failed; *busy: NCCL has not finished what it was asked for. */
static int look(struct sap_nccl *n, struct sap_link *l, double start, const char *call, int *busy)
{
    int result = NCCL_SUCCESS;
    int status = judge(n, l, nccl.async_error(n->c, &result), "ncclCommGetAsyncError");
    *busy = result == NCCL_IN_PROGRESS;
    if (!status) status = judge(n, l, result, call);
    if (!status) status = listen(n, l);
    if (!status && MPI_Wtime() - start > l->timeout / 2)
        status = fail(n, l, SAPPORO_MPI_ERR_TIMEOUT, call, "it did not finish within half the timeout");
    return status;
}

/* Waits until NCCL has finished a call that does not block. */
static int settle(struct sap_nccl *n, struct sap_link *l, int result, const char *call)
{
    const double start = MPI_Wtime();
    int busy = result == NCCL_IN_PROGRESS, status = judge(n, l, result, call);
    for (unsigned tries = 0; busy && !status; tries++) {
        status = look(n, l, start, call, &busy);
        sap_link_pause(tries);
    }
    return status;
}

/* ------------------------------------------------------------ communicators */

/* Collective.  Makes the communicator, while its device is current. */
static int make_communicator(struct sap_nccl *n, struct sap_link *l, const struct unique_id *id)
{
    struct config config = {.size = sizeof config, .magic = (unsigned)MAGIC, .version = OLDEST};
    return settle(n, l, nccl.init(&n->c, l->size, *id, l->rank, &config), "ncclCommInitRankConfig");
}

/* Collective.  Gives all ranks the number of a new communicator. */
static int share_id(struct sap_link *l, struct unique_id *id)
{
    int status = SAPPORO_OK, result = NCCL_SUCCESS;
    if (l->rank == 0) result = nccl.unique_id(id);
    if (result != NCCL_SUCCESS)
        status =
            sap_link_fail(l, SAPPORO_MPI_ERR_NCCL, "NCCL failed: ncclGetUniqueId: %.160s", nccl.error_string(result));
    status = sap_link_agree(l, status);
    return status ? status : sap_link_finish(l, MPI_Ibcast(id, sizeof *id, MPI_CHAR, 0, l->communicator, &l->request));
}

/* Makes an object without a communicator; NULL: out of memory. */
static struct sap_nccl *make_object(int ranks)
{
    struct sap_nccl *const n = calloc(1, sizeof *n);
    if (n) n->heard = calloc(2 * (size_t)ranks, sizeof *n->heard);
    if (n && n->heard) return n;
    free(n);
    return NULL;
}

static void free_object(struct sap_nccl *n)
{
    if (n) free(n->heard);
    free(n);
}

/* Collective.  Makes a communicator; *opened stays NULL if that was not even begun, which is so on all ranks. */
static int open_on_device(struct sap_nccl *n, struct sap_link *l, struct sap_nccl **opened)
{
    struct unique_id id = {{0}};
    int status = share_id(l, &id);
    if (status || !n) return status;
    *opened = n;
    status = sap_link_agree(l, make_communicator(n, l, &id));
    if (status && !n->failed) give_up(n, status);
    return status;
}

int sap_nccl_open(struct sap_link *l, const struct sap_gate *gate, struct sap_nccl **opened)
{
    struct sap_nccl *const n = make_object(l->size);
    int status = n ? sap_gate_enter(gate) : sap_link_fail(l, SAPPORO_ERR_MEMORY, "out of memory for NCCL");
    const int entered = n && !status;
    if (n && status) (void)sap_link_note(l, status, sap_gate_error(gate));
    *opened = NULL;
    status = sap_link_agree(l, status);
    if (!status) status = open_on_device(n, l, opened);
    if (entered) sap_gate_leave(gate);
    if (!*opened) free_object(n);
    return status;
}

void sap_nccl_close(struct sap_nccl *n, struct sap_link *l)
{
    if (!n) return;
    if (n->c && !l->broken && !settle(n, l, nccl.finalize(n->c), "ncclCommFinalize")) {
        (void)nccl.destroy(n->c);
        n->c = NULL;
    }
    give_up(n, 0);
    if (l->broken || hear_all(n, l)) return; /* MPI may still write to it */
    free_object(n);
}

/* --------------------------------------------------------------- transfers */

/* What travels in one group: records of a route, or a cargo. */
struct shipment {
    int by_wire;
    const struct sap_cargo *cargo;
    const struct sap_route *route;
    const struct sap_wire *wire;
};

/* What goes to a rank and what comes from it; bytes 0: nothing. */
struct pair {
    const char *out;
    char *in;
    size_t sent, got;
};

static struct pair pair_of(const struct shipment *of, int rank, int peer)
{
    const struct sap_cargo *const c = of->cargo;
    const struct sap_route *const r = of->route;
    const struct sap_wire *const w = of->wire;
    if (of->by_wire)
        return (struct pair){.out = sap_wire_out(w, r, rank, peer),
                             .in = sap_wire_in(w, r, rank, peer),
                             .sent = (size_t)r->sent[peer] * w->each,
                             .got = (size_t)r->got[peer] * w->each};
    return (struct pair){.out = c->own,
                         .in = c->at + (size_t)c->first[peer] * c->unit,
                         .sent = (size_t)c->count[rank] * c->unit,
                         .got = (size_t)c->count[peer] * c->unit};
}

/* Whether nothing goes from this rank to itself. */
static int own_stays(const struct shipment *of, int rank) { return of->by_wire || sap_cargo_in_place(of->cargo, rank); }

/* Sends to one rank and receives from it; the first result that is an error. */
static int exchange(const struct sap_nccl *n, const struct pair *p, int peer, void *s)
{
    int result = NCCL_SUCCESS;
    if (p->sent > 0) result = nccl.send(p->out, p->sent, NCCL_INT8, peer, n->c, s);
    if (p->got > 0 && (result == NCCL_SUCCESS || result == NCCL_IN_PROGRESS))
        result = nccl.receive(p->in, p->got, NCCL_INT8, peer, n->c, s);
    return result;
}

/* Starts the transfers with all ranks as one group; a result of NCCL. */
static int exchange_all(const struct sap_nccl *n, const struct sap_link *l, const struct shipment *of, void *s)
{
    int result = nccl.group_start();
    if (result != NCCL_SUCCESS) return result;
    for (int k = 0; k < l->size; k++) {
        const int peer = (l->rank + k) % l->size;
        if (peer == l->rank && own_stays(of, l->rank)) continue;
        const struct pair p = pair_of(of, l->rank, peer);
        result = exchange(n, &p, peer, s);
        if (result != NCCL_SUCCESS && result != NCCL_IN_PROGRESS) break;
    }
    const int ended = nccl.group_end();
    return result == NCCL_SUCCESS || result == NCCL_IN_PROGRESS ? ended : result;
}

/* Starts a shipment in the stream of a gate. */
static int start(struct sap_nccl *n, struct sap_link *l, const struct sap_gate *gate, const struct shipment *of)
{
    if (n->failed) return sap_link_note(l, n->failed, n->why);
    int status = sap_gate_enter(gate);
    if (status) return fail(n, l, status, "its device", sap_gate_error(gate));
    status = settle(n, l, exchange_all(n, l, of, sap_gate_stream(gate)), "ncclGroupEnd");
    sap_gate_leave(gate);
    if (!status && sap_gate_started(gate)) return fail(n, l, SAPPORO_ERR_DEVICE, "its stream", sap_gate_error(gate));
    return status;
}

/* Waits until the shipments are here that were started in the stream of a gate. */
static int finish(struct sap_nccl *n, struct sap_link *l, const struct sap_gate *gate)
{
    const double begun = MPI_Wtime();
    int busy, status = SAPPORO_OK;
    l->traffic.waits++;
    for (unsigned tries = 0; !status; tries++) {
        const int state = sap_gate_state(gate);
        if (state < 0) return fail(n, l, state, "its stream", sap_gate_error(gate));
        status = look(n, l, begun, "transfers", &busy); /* transfers that failed are done, too */
        if (state == SAP_TRAVEL_DONE) break;
        sap_link_pause(tries);
    }
    return status;
}

int sap_nccl_post(struct sap_nccl *n, struct sap_link *l, struct sap_cargo *c)
{
    const struct shipment of = {.cargo = c};
    const int status = start(n, l, &c->gate, &of);
    c->requests = !status;
    return status;
}

int sap_nccl_wait(struct sap_nccl *n, struct sap_link *l, struct sap_cargo *c)
{
    if (!c->requests || n->failed) return n->failed;
    c->requests = 0;
    return finish(n, l, &c->gate);
}

int sap_nccl_begin(struct sap_nccl *n, struct sap_link *l, const struct sap_gate *gate, const struct sap_route *r,
                   const struct sap_wire *w)
{
    const struct shipment of = {.by_wire = 1, .route = r, .wire = w};
    return start(n, l, gate, &of);
}

int sap_nccl_end(struct sap_nccl *n, struct sap_link *l, const struct sap_gate *gate)
{
    return n->failed ? sap_link_note(l, n->failed, n->why) : finish(n, l, gate);
}
