/* transport.c - how j-particles of all ranks come to all ranks (transport.h). */
#define _GNU_SOURCE /* RTLD_DEFAULT */

#include "mpi/transport.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "context/internals.h"
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

static int allocate_host(sapporo_mpi *h, struct sap_cargo *c, size_t units)
{
    c->at = sap_room_reserve(&c->room, units * c->unit);
    return c->at ? (int)SAPPORO_OK
                 : sap_link_fail(&h->link, SAPPORO_ERR_MEMORY, "out of memory for particles of %d ranks", h->link.size);
}

/* Starts one operation of MPI on this rank's units, which lie in place. */
static int post_host(sapporo_mpi *h, struct sap_cargo *c)
{
    c->requests = 1;
    return sap_link_judge(&h->link, MPI_Iallgatherv(MPI_IN_PLACE, 0, h->particle, c->at, c->count, c->first,
                                                    h->particle, h->link.communicator, c->request));
}

static int wait_mpi(sapporo_mpi *h, struct sap_cargo *c)
{
    int status = h->link.broken;
    for (int k = 0; k < c->requests && !status; k++) status = sap_link_wait(&h->link, &c->request[k]);
    c->requests = 0;
    return status;
}

static int poke_mpi(sapporo_mpi *h, struct sap_cargo *c)
{
    return c->requests > 0 ? sap_link_poke(&h->link, &c->request[0]) : h->link.broken;
}

static void free_host(struct sap_cargo *c) { sap_room_free(&c->room); }

/* ----------------------------------------------------- from device memory */

static int allocate_device(sapporo_mpi *h, struct sap_cargo *c, size_t units)
{
    void *address;
    const int status = sapporo_internals()->travel_hold(c->context, units * c->unit, &address);
    c->at = address;
    return status ? sap_link_note(&h->link, status, sapporo_last_error(c->context)) : SAPPORO_OK;
}

/* The hold goes with its context. */
static void free_device(struct sap_cargo *c) { c->at = NULL; }

/* Starts a message to each rank and one from each, once this rank's units are packed. */
static int post_device(sapporo_mpi *h, struct sap_cargo *c)
{
    const struct sap_link *const l = &h->link;
    const int failed =
        sapporo_internals()->travel_packed(c->context); /* the other ranks wait for the messages all the same */
    int code = MPI_SUCCESS;
    c->requests = 0;
    for (int k = 0; k < l->size && !code; k++) {
        const int peer = (l->rank + k) % l->size;
        if (peer == l->rank && sap_cargo_in_place(c, peer)) continue;
        code = MPI_Irecv(c->at + (size_t)c->first[peer] * c->unit, c->count[peer], h->unit, peer, 0, l->communicator,
                         &c->request[c->requests]);
        c->requests += !code;
        if (!code)
            code = MPI_Isend(c->own, c->count[l->rank], h->unit, peer, 0, l->communicator, &c->request[c->requests]);
        c->requests += !code;
    }
    const int status = sap_link_judge(&h->link, code);
    return status ? status : failed ? sap_link_note(&h->link, failed, sapporo_last_error(c->context)) : SAPPORO_OK;
}

static int post_nccl(sapporo_mpi *h, struct sap_cargo *c) { return sap_nccl_post(h->nccl, &h->link, c); }
static int wait_nccl(sapporo_mpi *h, struct sap_cargo *c) { return sap_nccl_wait(h->nccl, &h->link, c); }

/* Transfers of NCCL go on by themselves. */
static int poke_nccl(sapporo_mpi *h, struct sap_cargo *c)
{
    (void)c;
    return h->link.broken;
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
    return table_of(asked < SAP_FEW_J || h->by_host ? SAPPORO_MPI_TRANSPORT_HOST : h->transport);
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
static int reserve_places(sapporo_mpi *h, size_t bytes)
{
    const int failed = !sap_room_reserve(&h->places, ((size_t)h->link.size + 1) * bytes);
    return sap_link_agree(&h->link, failed ? sap_link_fail(&h->link, SAPPORO_ERR_MEMORY,
                                                           "sapporo_mpi_open: out of memory for %d ranks", h->link.size)
                                           : SAPPORO_OK);
}

/* Collective.  Gathers these bytes of all ranks; the own ones are behind them. */
static int gather_places(sapporo_mpi *h, int bytes)
{
    char *const all = h->places.at;
    return sap_link_finish(&h->link, MPI_Iallgather(all + (size_t)h->link.size * (size_t)bytes, bytes, MPI_BYTE, all,
                                                    bytes, MPI_BYTE, h->link.communicator, &h->link.request));
}

int sap_transport_node_rank(sapporo_mpi *h, int *number)
{
    int status = reserve_places(h, NODE);
    *number = 0;
    if (status) return status;
    char(*const node)[NODE] = h->places.at;
    name_node(node[h->link.size]);
    status = gather_places(h, NODE);
    for (int r = 0; r < h->link.rank && !status; r++) *number += strcmp(node[r], node[h->link.size]) == 0;
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

static void describe_place(sapporo_mpi *h, sapporo_mpi_transport asked, struct sap_place *p)
{
    struct sap_travel_device device;
    memset(p, 0, sizeof *p);
    (void)sapporo_internals()->travel_device(h->context, &device);
    name_node(p->node);
    (void)snprintf(p->device, sizeof p->device, "%s", device.text);
    (void)snprintf(p->uuid, sizeof p->uuid, "%s", device.uuid);
    h->unit_bytes = device.bytes;
    h->unit_addresses = device.unit;
    p->travels = device.travels;
    const int automatic = asked == SAPPORO_MPI_TRANSPORT_AUTO && h->link.size > 1;
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
static int check_named(sapporo_mpi *h, const struct sap_place *all, sapporo_mpi_transport asked)
{
    const struct sap_place *const own = &all[h->link.rank];
    int a, b;
    if (asked <= SAPPORO_MPI_TRANSPORT_HOST) return SAPPORO_OK;
    const char *const name = table_of(asked)->name;
    if (!own->travels)
        return sap_link_fail(&h->link, SAPPORO_ERR_UNSUPPORTED,
                             "transport %s: particles do not travel from the memory of '%s': it must be one device of "
                             "the CUDA engine",
                             name, own->device);
    if (asked == SAPPORO_MPI_TRANSPORT_MPI && !own->mpi)
        return sap_link_fail(&h->link, SAPPORO_ERR_UNSUPPORTED,
                             "transport mpi: this MPI does not say that it takes memory of CUDA");
    if (asked == SAPPORO_MPI_TRANSPORT_NCCL && !own->nccl)
        return sap_link_fail(&h->link, SAPPORO_ERR_UNSUPPORTED, "transport nccl: %s", sap_nccl_absent());
    if (asked == SAPPORO_MPI_TRANSPORT_NCCL && sharing(all, h->link.size, &a, &b))
        return sap_link_fail(&h->link, SAPPORO_ERR_UNSUPPORTED,
                             "transport nccl: ranks %d and %d share %s of %s: NCCL needs a device for each rank", a, b,
                             all[a].device, all[a].node);
    return SAPPORO_OK;
}

/* Says once in a process, on rank 0, why `auto` does not take a transport that seems to be there. */
static void warn_fallback(const sapporo_mpi *h, const char *why)
{
    static atomic_int said;
    char text[SAP_LINK_TEXT + 64];
    if (h->link.rank > 0 || atomic_exchange(&said, 1)) return;
    (void)snprintf(text, sizeof text, "another transport is used: %s", why);
    sapporo_log(SAPPORO_LOG_WARNING, text);
}

/* -------------------------------------------------------------- the choice */

/* A byte that a rank sends in the trial. */
static char trial_byte(int rank, size_t k) { return (char)(7 * rank + (int)(k % 251) + 1); }

enum { TRIAL = 1024 };

/* Writes what this rank sends behind what it receives. */
static int load_trial(sapporo_mpi *h, struct sap_cargo *c, char *bytes)
{
    const size_t all = (size_t)h->link.size * c->unit;
    int status = allocate_device(h, c, (size_t)h->link.size + 1);
    memset(bytes, 0, all);
    for (size_t k = 0; k < c->unit; k++) bytes[all + k] = trial_byte(h->link.rank, k);
    if (!status) status = sapporo_internals()->travel_write(h->context, bytes, all + c->unit);
    for (int r = 0; r < h->link.size; r++) c->count[r] = 1, c->first[r] = r;
    c->own = c->at + all;
    return status ? sap_link_note(&h->link, status, sapporo_last_error(h->context)) : SAPPORO_OK;
}

/* Fails if other bytes have arrived than were sent. */
static int check_trial(sapporo_mpi *h, const struct sap_cargo *c, char *bytes, const char *name)
{
    const int status = sapporo_internals()->travel_read(h->context, bytes, (size_t)h->link.size * c->unit);
    if (status) return sap_link_note(&h->link, status, sapporo_last_error(h->context));
    for (int r = 0; r < h->link.size; r++)
        for (size_t k = 0; k < c->unit; k++)
            if (bytes[(size_t)r * c->unit + k] != trial_byte(r, k))
                return sap_link_fail(&h->link, SAPPORO_ERR_DEVICE,
                                     "transport %s: a trial brought wrong bytes from rank %d", name, r);
    return SAPPORO_OK;
}

/* Collective.  Sends some bytes between the devices of all ranks, and from each rank to itself. */
static int try_transport(sapporo_mpi *h, const struct sap_transport_table *t)
{
    struct sap_cargo *const c = &h->trial;
    char *const bytes = h->trial_bytes.at;
    int status = sap_link_agree(&h->link, load_trial(h, c, bytes));
    if (status) return status;
    status = t->post(h, c);
    if (h->link.broken) return h->link.broken;
    if (!status) status = t->wait(h, c);
    if (h->link.broken) return h->link.broken;
    if (!status) status = check_trial(h, c, bytes, t->name);
    return sap_link_agree(&h->link, status);
}

/* Makes room for a trial. */
static int reserve_trial(sapporo_mpi *h)
{
    h->trial.context = h->context;
    h->trial.unit = TRIAL;
    if ((h->trial.count || !sap_cargo_open(&h->trial, h->link.size)) &&
        sap_room_reserve(&h->trial_bytes, ((size_t)h->link.size + 1) * TRIAL))
        return SAPPORO_OK;
    return sap_link_fail(&h->link, SAPPORO_ERR_MEMORY, "sapporo_mpi_open: out of memory for a trial");
}

/* Makes the type of units of so many bytes, in place of the last one. */
static int make_unit(sapporo_mpi *h, size_t bytes)
{
    sap_link_free_type(&h->link, &h->unit);
    const int status = sap_link_judge(&h->link, MPI_Type_contiguous((int)bytes, MPI_BYTE, &h->unit));
    return status ? status : sap_link_judge(&h->link, MPI_Type_commit(&h->unit));
}

/* Collective.  Opens and tries a transport. */
static int open_transport(sapporo_mpi *h, sapporo_mpi_transport transport)
{
    int status = SAPPORO_OK;
    if (transport == SAPPORO_MPI_TRANSPORT_HOST) return status;
    if (transport == SAPPORO_MPI_TRANSPORT_NCCL) status = sap_nccl_open(&h->link, h->context, &h->nccl);
    if (!status) status = sap_link_agree(&h->link, reserve_trial(h));
    if (!status) status = make_unit(h, TRIAL);
    if (!status) status = try_transport(h, table_of(transport));
    return status ? status : make_unit(h, h->unit_bytes);
}

/* Collective.  Tries the transports that all ranks can use, the fastest first. */
static int open_best(sapporo_mpi *h, const struct sap_place *all)
{
    int mpi = 1, library = 1, a, b;
    for (int r = 0; r < h->link.size; r++) mpi &= all[r].mpi, library &= all[r].nccl;
    const int shared = sharing(all, h->link.size, &a, &b);
    if (library && shared) {
        char why[SAP_LINK_TEXT];
        (void)snprintf(why, sizeof why, "ranks %d and %d share %s of %s, and NCCL needs a device for each rank", a, b,
                       all[a].device, all[a].node);
        warn_fallback(h, why);
    }
    const sapporo_mpi_transport best[] = {SAPPORO_MPI_TRANSPORT_NCCL, SAPPORO_MPI_TRANSPORT_MPI};
    const int can[] = {library && !shared, mpi};
    for (int k = 0; k < 2; k++) {
        if (!can[k]) continue;
        h->transport = best[k];
        const int status = open_transport(h, best[k]);
        if (!status || h->link.broken) return status;
        warn_fallback(h, h->link.error);
        sap_transport_close(h);
        h->link.error[0] = '\0';
    }
    h->transport = SAPPORO_MPI_TRANSPORT_HOST;
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
static void log_places(const sapporo_mpi *h, const struct sap_place *all)
{
    enum { ROOM = 1000, MARGIN = 160 };
    char text[ROOM] = "";
    append(text, ROOM, "%s over %d ranks:", table_of(h->transport)->name, h->link.size);
    for (int r = 0; r < h->link.size; r++) {
        const int again = r > 0 && strcmp(all[r].node, all[r - 1].node) == 0;
        if (strlen(text) + MARGIN > ROOM) {
            append(text, ROOM, "%s and %d more ranks", "", h->link.size - r);
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

int sap_transport_read(struct sap_link *l, sapporo_mpi_transport asked, sapporo_mpi_transport *transport)
{
    const struct sap_word *word = NULL;
    char wrong[SAP_WRONG_ROOM];
    *transport = asked;
    if ((int)asked < SAPPORO_MPI_TRANSPORT_AUTO || (int)asked > SAPPORO_MPI_TRANSPORT_NCCL)
        return sap_link_fail(l, SAPPORO_ERR_ARGUMENT, "sapporo_mpi_open: transport is %d: it must be 0 to %d",
                             (int)asked, SAPPORO_MPI_TRANSPORT_NCCL);
    if (asked != SAPPORO_MPI_TRANSPORT_AUTO) return SAPPORO_OK;
    if (sap_env_word(&sap_variables[SAP_VAR_MPI_TRANSPORT], &word, wrong) == SAP_READ_BAD)
        return sap_link_fail(l, SAPPORO_ERR_ARGUMENT, "%s", wrong);
    if (word) *transport = (sapporo_mpi_transport)word->value;
    return SAPPORO_OK;
}

int sap_transport_open(sapporo_mpi *h, sapporo_mpi_transport asked)
{
    int status = reserve_places(h, sizeof(struct sap_place));
    if (status) return status;
    struct sap_place *const all = h->places.at;
    describe_place(h, asked, &all[h->link.size]);
    status = gather_places(h, sizeof *all);
    if (!status) status = sap_link_agree(&h->link, check_named(h, all, asked));
    if (status) return status;
    h->transport = asked;
    status = asked == SAPPORO_MPI_TRANSPORT_AUTO ? open_best(h, all) : open_transport(h, asked);
    if (!status && h->link.rank == 0) log_places(h, all);
    return status;
}

void sap_transport_close(sapporo_mpi *h)
{
    sap_nccl_close(h->nccl, &h->link);
    h->nccl = NULL;
    sap_link_free_type(&h->link, &h->unit);
}
