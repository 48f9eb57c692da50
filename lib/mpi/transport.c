/* transport.c - how particles travel between ranks (transport.h). */
#define _GNU_SOURCE /* RTLD_DEFAULT */

#include "mpi/transport.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "context/internals.h"
#include "mpi/handle.h"
#include "mpi/nccl.h"
#include "physics/arithmetic.h"
#include "variables.h"

/* ------------------------------------------------------------------- cargo */

int sap_cargo_open(struct sap_cargo *c, int ranks)
{
    const size_t n = (size_t)ranks;
    c->count = calloc(2 * n, sizeof *c->count);
    c->request = malloc(2 * n * sizeof(MPI_Request));
    if (!c->count || !c->request) return -1;
    c->first = c->count + n;
    return 0;
}

void sap_cargo_close(struct sap_cargo *c)
{
    free(c->count);
    free(c->request);
    sap_room_free(&c->room);
    memset(c, 0, sizeof *c);
}

/* ------------------------------------------------- from host memory, by MPI */

static int allocate_host(struct sap_carrier *b, struct sap_cargo *c, size_t units)
{
    c->at = sap_room_reserve(&c->room, units * c->unit);
    return c->at ? (int)SAPPORO_OK
                 : sap_link_fail(b->link, SAPPORO_ERR_MEMORY, "out of memory for particles of %d ranks", b->link->size);
}

/* Starts one operation of MPI on this rank's units, which lie in place. */
static int post_host(struct sap_carrier *b, struct sap_cargo *c)
{
    c->requests = 1;
    return sap_link_judge(b->link, MPI_Iallgatherv(MPI_IN_PLACE, 0, b->particle, c->at, c->count, c->first, b->particle,
                                                   b->link->communicator, c->request));
}

static int wait_mpi(struct sap_carrier *b, struct sap_cargo *c)
{
    int status = b->link->broken;
    for (int k = 0; k < c->requests && !status; k++) status = sap_link_wait(b->link, &c->request[k]);
    c->requests = 0;
    return status;
}

static int poke_mpi(struct sap_carrier *b, struct sap_cargo *c)
{
    return c->requests > 0 ? sap_link_poke(b->link, &c->request[0]) : b->link->broken;
}

static void free_host(struct sap_cargo *c) { sap_room_free(&c->room); }

/* ----------------------------------------------------- from device memory */

static int allocate_device(struct sap_carrier *b, struct sap_cargo *c, size_t units)
{
    void *address;
    const int status = sap_gate_hold(&c->gate, units * c->unit, &address);
    c->at = address;
    return status ? sap_link_note(b->link, status, sap_gate_error(&c->gate)) : SAPPORO_OK;
}

/* The hold goes with its context. */
static void free_device(struct sap_cargo *c) { c->at = NULL; }

/* Starts a message to each rank and one from each, once this rank's units are packed. */
static int post_device(struct sap_carrier *b, struct sap_cargo *c)
{
    const struct sap_link *const l = b->link;
    const int failed = sap_gate_packed(&c->gate); /* the other ranks wait for the messages all the same */
    int code = MPI_SUCCESS;
    c->requests = 0;
    for (int k = 0; k < l->size && !code; k++) {
        const int peer = (l->rank + k) % l->size;
        if (peer == l->rank && sap_cargo_in_place(c, peer)) continue;
        code = MPI_Irecv(c->at + (size_t)c->first[peer] * c->unit, c->count[peer], b->unit, peer, 0, l->communicator,
                         &c->request[c->requests]);
        c->requests += !code;
        if (!code)
            code = MPI_Isend(c->own, c->count[l->rank], b->unit, peer, 0, l->communicator, &c->request[c->requests]);
        c->requests += !code;
    }
    const int status = sap_link_judge(b->link, code);
    return status ? status : failed ? sap_link_note(b->link, failed, sap_gate_error(&c->gate)) : SAPPORO_OK;
}

static int post_nccl(struct sap_carrier *b, struct sap_cargo *c) { return sap_nccl_post(b->nccl, b->link, c); }
static int wait_nccl(struct sap_carrier *b, struct sap_cargo *c) { return sap_nccl_wait(b->nccl, b->link, c); }

/* Transfers of NCCL go on by themselves. */
static int poke_nccl(struct sap_carrier *b, struct sap_cargo *c)
{
    (void)c;
    return b->link->broken;
}

static const struct sap_transport_table tables[] = {
    {SAPPORO_MPI_TRANSPORT_HOST, "host", 0, allocate_host, post_host, wait_mpi, poke_mpi, free_host},
    {SAPPORO_MPI_TRANSPORT_MPI, "mpi", 1, allocate_device, post_device, wait_mpi, poke_mpi, free_device},
    {SAPPORO_MPI_TRANSPORT_NCCL, "nccl", 1, allocate_device, post_nccl, wait_nccl, poke_nccl, free_device}};

static const struct sap_transport_table *table_of(sapporo_mpi_transport transport)
{
    return &tables[transport == SAPPORO_MPI_TRANSPORT_NCCL ? 2 : transport == SAPPORO_MPI_TRANSPORT_MPI];
}

const struct sap_transport_table *sap_transport_of(const sapporo_mpi *h, int asked)
{
    return table_of(asked < SAP_FEW_J || h->by_host ? SAPPORO_MPI_TRANSPORT_HOST : h->carrier.transport);
}

/* ---------------------------------------------- records from device memory */

/* Starts messages of MPI with the records for each rank and from each. */
static int begin_mpi(struct sap_carrier *b, const struct sap_route *r, struct sap_wire *w)
{
    const struct sap_link *const l = b->link;
    int code = MPI_SUCCESS;
    for (int k = 1; k < l->size && !code; k++) {
        const int to = (l->rank + k) % l->size, from = (l->rank + l->size - k) % l->size;
        if (r->got[from] > 0)
            code = MPI_Irecv(sap_wire_in(w, r, l->rank, from), r->got[from], w->type, from, 0, l->communicator,
                             &b->request[b->requests++]);
        if (r->sent[to] > 0 && !code)
            code = MPI_Isend(sap_wire_out(w, r, l->rank, to), r->sent[to], w->type, to, 0, l->communicator,
                             &b->request[b->requests++]);
    }
    return sap_link_judge(b->link, code);
}

int sap_carrier_begin(struct sap_carrier *b, const struct sap_route *r, struct sap_wire *w)
{
    for (int k = 0; k < b->link->size; k++)
        if (k != b->link->rank) b->link->traffic.device_bytes += r->sent[k] * (long long)w->each;
    return b->transport == SAPPORO_MPI_TRANSPORT_NCCL ? sap_nccl_begin(b->nccl, b->link, &b->gate, r, w)
                                                      : begin_mpi(b, r, w);
}

int sap_carrier_end(struct sap_carrier *b)
{
    int status = SAPPORO_OK;
    if (b->transport == SAPPORO_MPI_TRANSPORT_NCCL) return sap_nccl_end(b->nccl, b->link, &b->gate);
    for (int k = 0; k < b->requests && !status; k++) status = sap_link_wait(b->link, &b->request[k]);
    b->requests = 0;
    return status;
}

/* ------------------------------------------------------- what ranks can do */

enum { NODE = 64 };

static void name_node(char node[NODE])
{
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length;
    if (MPI_Get_processor_name(name, &length) != MPI_SUCCESS) name[0] = '\0';
    memset(node, 0, NODE);
    (void)snprintf(node, NODE, "%.63s", name);
}

/* Collective.  Makes room for so many bytes of each rank, and once more for those that this rank sends. */
static int reserve_places(struct sap_carrier *b, size_t bytes)
{
    const int failed = !sap_room_reserve(&b->places, ((size_t)b->link->size + 1) * bytes);
    return sap_link_agree(b->link, failed ? sap_link_fail(b->link, SAPPORO_ERR_MEMORY, "%s: out of memory for %d ranks",
                                                          b->call, b->link->size)
                                          : SAPPORO_OK);
}

/* Collective.  Gathers these bytes of all ranks; the own ones are behind them. */
static int gather_places(struct sap_carrier *b, int bytes)
{
    char *const all = b->places.at;
    return sap_link_finish(b->link, MPI_Iallgather(all + (size_t)b->link->size * (size_t)bytes, bytes, MPI_BYTE, all,
                                                   bytes, MPI_BYTE, b->link->communicator, &b->link->request));
}

int sap_transport_node_rank(struct sap_carrier *b, int *number)
{
    int status = reserve_places(b, NODE);
    *number = 0;
    char(*const node)[NODE] = b->places.at;
    if (status || !node) return status;
    name_node(node[b->link->size]);
    status = gather_places(b, NODE);
    for (int r = 0; r < b->link->rank && !status; r++) *number += strcmp(node[r], node[b->link->size]) == 0;
    return status;
}

/* What the ranks tell each other of themselves. */
struct sap_place {
    char node[NODE], device[64], uuid[48];
    int travels; /* 1: particles can travel from device memory */
    int mpi;     /* 1: MPI takes device memory */
    int nccl;    /* 1: NCCL is there */
};

/* Whether MPI says that it takes pointers to memory of CUDA: each library by the function that it has. */
static int mpi_takes_devices(void)
{
    int (*query)(void) = NULL, (*query_kind)(int kind, int *is_supported) = NULL;
    int yes = 0;
    void *found = dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"); /* Open MPI, MVAPICH2, MPICH */
    memcpy(&query, &found, sizeof query); /* ISO C has no conversion between the two kinds of pointers */
    if (query) return query() == 1;
    found = dlsym(RTLD_DEFAULT, "MPIX_GPU_query_support"); /* MPICH and those made from it; kind 0 is CUDA */
    memcpy(&query_kind, &found, sizeof query_kind);
    return query_kind && query_kind(0, &yes) == MPI_SUCCESS && yes;
}

static void describe_place(struct sap_carrier *b, sapporo_mpi_transport asked, struct sap_place *p)
{
    struct sap_travel_device device;
    memset(p, 0, sizeof *p);
    (void)sap_gate_device(&b->gate, &device);
    name_node(p->node);
    (void)snprintf(p->device, sizeof p->device, "%s", device.text);
    (void)snprintf(p->uuid, sizeof p->uuid, "%s", device.uuid);
    b->unit_bytes = device.bytes;
    b->unit_addresses = device.unit;
    p->travels = device.travels;
    const int automatic = asked == SAPPORO_MPI_TRANSPORT_AUTO && b->link->size > 1;
    p->mpi = device.travels && (automatic || asked == SAPPORO_MPI_TRANSPORT_MPI) && mpi_takes_devices();
    p->nccl = device.travels && (automatic || asked == SAPPORO_MPI_TRANSPORT_NCCL) && !sap_nccl_absent();
}

/* Finds two ranks that use one device; returns 1, or 0 if there are none. */
static int sharing(const struct sap_place *all, int ranks, int *a, int *b)
{
    for (*a = 0; *a < ranks; ++*a)
        for (*b = *a + 1; *b < ranks; ++*b)
            if (all[*a].uuid[0] && strcmp(all[*a].uuid, all[*b].uuid) == 0 && strcmp(all[*a].node, all[*b].node) == 0)
                return 1;
    return 0;
}

/* Fails if this rank does not have the transport that was asked for. */
static int check_named(struct sap_carrier *b, const struct sap_place *all, sapporo_mpi_transport asked)
{
    const struct sap_place *const own = &all[b->link->rank];
    int a, other;
    if (asked <= SAPPORO_MPI_TRANSPORT_HOST) return SAPPORO_OK;
    const char *const name = table_of(asked)->name;
    if (!own->travels)
        return sap_link_fail(b->link, SAPPORO_ERR_UNSUPPORTED,
                             "transport %s: particles do not travel from the memory of '%s': it must be one device of "
                             "the CUDA engine",
                             name, own->device);
    if (asked == SAPPORO_MPI_TRANSPORT_MPI && !own->mpi)
        return sap_link_fail(b->link, SAPPORO_ERR_UNSUPPORTED,
                             "transport mpi: this MPI does not say that it takes memory of CUDA");
    if (asked == SAPPORO_MPI_TRANSPORT_NCCL && !own->nccl)
        return sap_link_fail(b->link, SAPPORO_ERR_UNSUPPORTED, "transport nccl: %s", sap_nccl_absent());
    if (asked == SAPPORO_MPI_TRANSPORT_NCCL && sharing(all, b->link->size, &a, &other))
        return sap_link_fail(b->link, SAPPORO_ERR_UNSUPPORTED,
                             "transport nccl: ranks %d and %d share %s of %s: NCCL needs a device for each rank", a,
                             other, all[a].device, all[a].node);
    return SAPPORO_OK;
}

/* Says once in a process, on rank 0, why `auto` does not take a transport that seems to be there. */
static void warn_fallback(const struct sap_carrier *b, const char *why)
{
    static atomic_int said;
    char text[SAP_LINK_TEXT + 64];
    if (b->link->rank > 0 || atomic_exchange(&said, 1)) return;
    (void)snprintf(text, sizeof text, "another transport is used: %s", why);
    sapporo_log(SAPPORO_LOG_WARNING, text);
}

/* -------------------------------------------------------------- the choice */

/* A byte that a rank sends in the trial. */
static char trial_byte(int rank, size_t k) { return (char)(7 * rank + (int)(k % 251) + 1); }

enum { TRIAL = 1024 };

/* Writes what this rank sends behind what it receives. */
static int load_trial(struct sap_carrier *b, struct sap_cargo *c, char *bytes)
{
    const size_t all = (size_t)b->link->size * c->unit;
    int status = allocate_device(b, c, (size_t)b->link->size + 1);
    memset(bytes, 0, all);
    for (size_t k = 0; k < c->unit; k++) bytes[all + k] = trial_byte(b->link->rank, k);
    if (!status) status = sap_gate_write(&b->gate, bytes, all + c->unit);
    for (int r = 0; r < b->link->size; r++) c->count[r] = 1, c->first[r] = r;
    c->own = c->at + all;
    return status ? sap_link_note(b->link, status, sap_gate_error(&b->gate)) : SAPPORO_OK;
}

/* Fails if other bytes have arrived than were sent. */
static int check_trial(struct sap_carrier *b, const struct sap_cargo *c, char *bytes, const char *name)
{
    const int status = sap_gate_read(&b->gate, bytes, (size_t)b->link->size * c->unit);
    if (status) return sap_link_note(b->link, status, sap_gate_error(&b->gate));
    for (int r = 0; r < b->link->size; r++)
        for (size_t k = 0; k < c->unit; k++)
            if (bytes[(size_t)r * c->unit + k] != trial_byte(r, k))
                return sap_link_fail(b->link, SAPPORO_ERR_DEVICE,
                                     "transport %s: a trial brought wrong bytes from rank %d", name, r);
    return SAPPORO_OK;
}

/* Collective.  Sends some bytes between the devices of all ranks, and from each rank to itself. */
static int try_transport(struct sap_carrier *b, const struct sap_transport_table *t)
{
    struct sap_cargo *const c = &b->trial;
    char *const bytes = b->trial_bytes.at;
    int status = sap_link_agree(b->link, load_trial(b, c, bytes));
    if (status) return status;
    status = t->post(b, c);
    if (b->link->broken) return b->link->broken;
    if (!status) status = t->wait(b, c);
    if (b->link->broken) return b->link->broken;
    if (!status) status = check_trial(b, c, bytes, t->name);
    return sap_link_agree(b->link, status);
}

/* Makes room for a trial, and for messages of two wires. */
static int reserve_trial(struct sap_carrier *b)
{
    b->request = sap_room_reserve(&b->requests_room, 4 * (size_t)b->link->size * sizeof(MPI_Request));
    b->trial.gate = b->gate;
    b->trial.unit = TRIAL;
    if ((b->trial.count || !sap_cargo_open(&b->trial, b->link->size)) &&
        sap_room_reserve(&b->trial_bytes, ((size_t)b->link->size + 1) * TRIAL) && b->request)
        return SAPPORO_OK;
    return sap_link_fail(b->link, SAPPORO_ERR_MEMORY, "%s: out of memory for a trial", b->call);
}

/* Makes the type of units of so many bytes, in place of the last one. */
static int make_unit(struct sap_carrier *b, size_t bytes)
{
    sap_link_free_type(b->link, &b->unit);
    const int status = sap_link_judge(b->link, MPI_Type_contiguous((int)bytes, MPI_BYTE, &b->unit));
    return status ? status : sap_link_judge(b->link, MPI_Type_commit(&b->unit));
}

/* Collective.  Opens and tries a transport. */
static int open_transport(struct sap_carrier *b, sapporo_mpi_transport transport)
{
    int status = SAPPORO_OK;
    if (transport == SAPPORO_MPI_TRANSPORT_HOST) return status;
    if (transport == SAPPORO_MPI_TRANSPORT_NCCL) status = sap_nccl_open(b->link, &b->gate, &b->nccl);
    if (!status) status = sap_link_agree(b->link, reserve_trial(b));
    if (!status) status = make_unit(b, TRIAL);
    if (!status) status = try_transport(b, table_of(transport));
    return status ? status : make_unit(b, b->unit_bytes);
}

/* Collective.  Tries the transports that all ranks can use, the fastest first. */
static int open_best(struct sap_carrier *b, const struct sap_place *all)
{
    int mpi = 1, library = 1, a, other;
    for (int r = 0; r < b->link->size; r++) mpi &= all[r].mpi, library &= all[r].nccl;
    const int shared = sharing(all, b->link->size, &a, &other);
    if (library && shared) {
        char why[SAP_LINK_TEXT];
        (void)snprintf(why, sizeof why, "ranks %d and %d share %s of %s, and NCCL needs a device for each rank", a,
                       other, all[a].device, all[a].node);
        warn_fallback(b, why);
    }
    const sapporo_mpi_transport best[] = {SAPPORO_MPI_TRANSPORT_NCCL, SAPPORO_MPI_TRANSPORT_MPI};
    const int can[] = {library && !shared, mpi};
    for (int k = 0; k < 2; k++) {
        if (!can[k]) continue;
        b->transport = best[k];
        const int status = open_transport(b, best[k]);
        if (!status || b->link->broken) return status;
        warn_fallback(b, b->link->error);
        sap_transport_close(b);
        b->link->error[0] = '\0';
    }
    b->transport = SAPPORO_MPI_TRANSPORT_HOST;
    return SAPPORO_OK;
}

/* -------------------------------------------------------------------- log */

/* Appends to a text that may be full. */
static void append(char *text, size_t room, const char *format, const char *word, int number)
{
    const size_t used = strlen(text);
    (void)snprintf(text + used, room - used, format, word, number);
}

/* Logs the transport and the map from ranks over nodes to devices, in one line. */
static void log_places(const struct sap_carrier *b, const struct sap_place *all)
{
    enum { ROOM = 1000, MARGIN = 160 };
    char text[ROOM] = "";
    append(text, ROOM, "%s over %d ranks:", table_of(b->transport)->name, b->link->size);
    for (int r = 0; r < b->link->size; r++) {
        const int again = r > 0 && strcmp(all[r].node, all[r - 1].node) == 0;
        if (strlen(text) + MARGIN > ROOM) {
            append(text, ROOM, "%s and %d more ranks", "", b->link->size - r);
            break;
        }
        append(text, ROOM, again ? "%s %d" : r > 0 ? "; %s: %d" : " %s: %d", again ? "," : all[r].node, r);
        append(text, ROOM, " %s%.0d", all[r].device, 0);
    }
    char line[ROOM + 32];
    (void)snprintf(line, sizeof line, "MPI: transport %s", text);
    sapporo_log(SAPPORO_LOG_INFO, line);
}

/* ----------------------------------------------------------------- opening */

int sap_transport_read(struct sap_link *l, const char *call, sapporo_mpi_transport asked,
                       sapporo_mpi_transport *transport)
{
    const struct sap_word *word = NULL;
    char wrong[SAP_WRONG_ROOM];
    *transport = asked;
    if ((int)asked < SAPPORO_MPI_TRANSPORT_AUTO || (int)asked > SAPPORO_MPI_TRANSPORT_NCCL)
        return sap_link_fail(l, SAPPORO_ERR_ARGUMENT, "%s: transport is %d: it must be 0 to %d", call, (int)asked,
                             SAPPORO_MPI_TRANSPORT_NCCL);
    if (asked != SAPPORO_MPI_TRANSPORT_AUTO) return SAPPORO_OK;
    if (sap_env_word(&sap_variables[SAP_VAR_MPI_TRANSPORT], &word, wrong) == SAP_READ_BAD)
        return sap_link_fail(l, SAPPORO_ERR_ARGUMENT, "%s", wrong);
    if (word) *transport = (sapporo_mpi_transport)word->value;
    return SAPPORO_OK;
}

int sap_transport_open(struct sap_carrier *b, sapporo_mpi_transport asked)
{
    int status = reserve_places(b, sizeof(struct sap_place));
    if (status) return status;
    struct sap_place *const all = b->places.at;
    describe_place(b, asked, &all[b->link->size]);
    status = gather_places(b, sizeof *all);
    if (!status) status = sap_link_agree(b->link, check_named(b, all, asked));
    if (status) return status;
    b->transport = asked;
    status = asked == SAPPORO_MPI_TRANSPORT_AUTO ? open_best(b, all) : open_transport(b, asked);
    if (!status && b->link->rank == 0) log_places(b, all);
    return status;
}

void sap_carrier_free(struct sap_carrier *b)
{
    sap_room_free(&b->places);
    sap_room_free(&b->trial_bytes);
    sap_room_free(&b->requests_room);
    sap_cargo_close(&b->trial);
}

void sap_transport_close(struct sap_carrier *b)
{
    sap_nccl_close(b->nccl, b->link);
    b->nccl = NULL;
    sap_link_free_type(b->link, &b->unit);
}
