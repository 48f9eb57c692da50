/*
 * fake_nccl.c - a libnccl.so.2 that moves bytes of host memory between processes by MPI: for tests of libsapporo_mpi
 * without a GPU.
 *
 * Streams are those of hosted.h.  Transfers are posted when a group ends, and go on when events are queried.  Ranks are
 * those of MPI_COMM_WORLD.  When the process ends, it prints a line of TAP for communicators that are still there.
 *
 * FAKE_NCCL names a fault, `KIND RANK GROUP`: of that rank, at its n-th group of transfers, counted from 1.
 *
 *   old          the version is too old
 *   id           no number for a communicator
 *   init, slow   making the communicator fails, or never ends
 *   end          the group fails
 *   async        the transfers fail after they have begun, and events are complete
 *   never        the transfers never end
 *   wrong        a byte is wrong
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hosted.h"

enum { SUCCESS = 0, SYSTEM_ERROR = 2, INVALID_USAGE = 5, REMOTE_ERROR = 6, IN_PROGRESS = 7, MOST = 64, TAG = 9000 };

struct unique_id {
    char internal[128];
};

struct config {
    size_t size;
    unsigned magic, version;
    int blocking;
};

struct communicator {
    int rank, ranks, groups, slow, error, finalized, tag;
};

static struct {
    MPI_Request request[2 * MOST];
    int n, never;
} under_way;

static struct {
    const void *from;
    void *to;
    size_t bytes;
    int peer;
    void *stream;
} asked[2 * MOST];
static int n_asked, in_group, communicators, last_tag = TAG; /* messages that were given up have other tags */
static struct communicator *of_group;

#define CALL(type, name, ...)                                                                                          \
    type name(__VA_ARGS__);                                                                                            \
    type name(__VA_ARGS__)

/* Whether a fault is meant for this place; group 0: any. */
static int fault(const char *kind, int rank, int group)
{
    const char *const text = getenv("FAKE_NCCL");
    const size_t length = strlen(kind);
    char *end;
    if (!text || strncmp(text, kind, length) != 0 || text[length] != ' ') return 0;
    const long at_rank = strtol(text + length, &end, 10), at_group = strtol(end, NULL, 10);
    return rank == at_rank && (group == 0 || group == at_group);
}

static int own_rank(void)
{
    int rank = 0;
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

__attribute__((destructor)) static void end(void)
{
    if (communicators) printf("not ok - %d communicators of NCCL left\n", communicators);
}

/* For queries of events: 1 while transfers are under way. */
static int pending(void)
{
    int done = 1;
    if (under_way.never) return 1;
    for (int k = 0; k < under_way.n && done; k++) (void)MPI_Test(&under_way.request[k], &done, MPI_STATUS_IGNORE);
    if (done) under_way.n = 0;
    return !done;
}

CALL(int, ncclGetVersion, int *version)
{
    *version = fault("old", own_rank(), 0) ? 21212 : 22304;
    return SUCCESS;
}

CALL(const char *, ncclGetErrorString, int result)
{
    return result == REMOTE_ERROR ? "remote process exited" : "unhandled system error";
}

CALL(int, ncclGetUniqueId, struct unique_id *id)
{
    memset(id, 42, sizeof *id);
    return fault("id", own_rank(), 0) ? SYSTEM_ERROR : SUCCESS;
}

CALL(int, ncclCommInitRankConfig, struct communicator **c, int ranks, struct unique_id id, int rank,
     struct config *config)
{
    if (id.internal[127] != 42 || config->magic != 0xcafebeefu || config->blocking != 0 || config->size < 20)
        return INVALID_USAGE;
    hosted_pending = pending;
    last_tag++;
    if (fault("init", rank, 0)) return SYSTEM_ERROR;
    *c = calloc(1, sizeof **c);
    (*c)->rank = rank;
    (*c)->tag = last_tag;
    (*c)->ranks = ranks;
    (*c)->slow = fault("slow", rank, 0);
    communicators++;
    return IN_PROGRESS;
}

CALL(int, ncclCommGetAsyncError, const struct communicator *c, int *result)
{
    *result = c->slow ? (int)IN_PROGRESS : c->error;
    return SUCCESS;
}

CALL(int, ncclCommFinalize, struct communicator *c)
{
    c->finalized = 1;
    return IN_PROGRESS;
}

CALL(int, ncclCommDestroy, struct communicator *c)
{
    if (!c->finalized) printf("not ok - a communicator is destroyed before its end\n");
    communicators--;
    free(c);
    return SUCCESS;
}

CALL(int, ncclCommAbort, struct communicator *c)
{
    for (int k = 0; k < under_way.n; k++) {
        if (under_way.request[k] == MPI_REQUEST_NULL) continue;
        (void)MPI_Cancel(&under_way.request[k]);
        (void)MPI_Request_free(&under_way.request[k]);
    }
    under_way.n = under_way.never = 0;
    communicators--;
    free(c);
    return SUCCESS;
}

/* ---------------------------------------------------------------- transfers */

CALL(int, ncclGroupStart, void)
{
    in_group = 1;
    n_asked = 0;
    of_group = NULL;
    return SUCCESS;
}

/* Notes a transfer, which begins with the end of its group. */
static int ask(const void *from, void *to, size_t n, int type, int peer, struct communicator *c, void *stream)
{
    if (!in_group || type != 0 || peer < 0 || peer >= c->ranks || n_asked == 2 * MOST) return INVALID_USAGE;
    asked[n_asked].from = from;
    asked[n_asked].to = to;
    asked[n_asked].bytes = n;
    asked[n_asked].peer = peer;
    asked[n_asked++].stream = stream;
    of_group = c;
    return SUCCESS;
}

CALL(int, ncclSend, const void *from, size_t n, int type, int peer, struct communicator *c, void *stream)
{
    return ask(from, NULL, n, type, peer, c, stream);
}

CALL(int, ncclRecv, void *to, size_t n, int type, int peer, struct communicator *c, void *stream)
{
    return ask(NULL, to, n, type, peer, c, stream);
}

static void post(int k)
{
    MPI_Request *const request = &under_way.request[under_way.n++];
    if (asked[k].to)
        (void)MPI_Irecv(asked[k].to, (int)asked[k].bytes, MPI_BYTE, asked[k].peer, of_group->tag, MPI_COMM_WORLD,
                        request);
    else
        (void)MPI_Isend(asked[k].from, (int)asked[k].bytes, MPI_BYTE, asked[k].peer, of_group->tag, MPI_COMM_WORLD,
                        request);
}

CALL(int, ncclGroupEnd, void)
{
    struct communicator *const c = of_group;
    in_group = 0;
    if (!c) return SUCCESS; /* nothing was asked for */
    const int group = ++c->groups;
    hosted_finish(asked[0].stream);
    if (fault("end", c->rank, group)) return SYSTEM_ERROR;
    if (fault("async", c->rank, group)) {
        c->error = REMOTE_ERROR;
        return IN_PROGRESS;
    }
    if (fault("wrong", c->rank, group) && asked[0].from) ((char *)asked[0].from)[asked[0].bytes / 2] ^= 1;
    under_way.never |= fault("never", c->rank, group); /* later groups of the stream wait, too */
    for (int k = 0; k < n_asked && !under_way.never; k++) post(k);
    return IN_PROGRESS;
}
