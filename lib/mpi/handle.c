/* handle.c - opens and closes handles over a communicator, and answers queries about them. */
#define _DEFAULT_SOURCE /* _SC_PHYS_PAGES */
#include "mpi/handle.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/structs.h"
#include "context/internals.h"
#include "engine/units.h"
#include "mpi/blocks.h"
#include "mpi/node.h"
#include "mpi/share.h"
#include "mpi/slab.h"
#include "mpi/transport.h"

enum { DEFAULT_ROWS = 16384, LEAST_PART = 32768 };

/* State of the process (base/process.h). */
static _Thread_local char open_error[SAP_LINK_TEXT];

const char *sapporo_mpi_status_text(int status)
{
    switch (status) {
    case SAPPORO_MPI_ERR_MPI:
        return "MPI reported an error";
    case SAPPORO_MPI_ERR_TIMEOUT:
        return "other ranks did not take part in a collective call in time";
    case SAPPORO_MPI_ERR_NCCL:
        return "NCCL reported an error";
    case SAPPORO_MPI_ERR_DIFFERENT:
        return "the ranks made different calls, or gave different options or arguments";
    default:
        return sapporo_status_text(status);
    }
}

/* ----------------------------------------------------------------- handles */

sapporo_mpi *sap_mpi_find(const sapporo_mpi *handle)
{
    sapporo_mpi *const h = sap_listed_find(SAP_LISTED_SUMS, handle);
    if (h) sap_link_look(&h->link);
    return h;
}

static int has_job(const struct sap_listed *listed, uintptr_t number)
{
    const sapporo_mpi *const h = (const sapporo_mpi *)listed;
    return h->job && h->job->number == number;
}

sapporo_mpi *sap_mpi_find_job(const sapporo_mpi_job *job)
{
    sapporo_mpi *const h = sap_listed_search(SAP_LISTED_SUMS, has_job, (uintptr_t)job);
    if (h) sap_link_look(&h->link);
    return h;
}

void sap_mpi_free_job(sapporo_mpi *h)
{
    sapporo_mpi_job *const j = h->job;
    if (!j) return;
    sap_slab_drop(h);
    sap_share_drop(h);
    h->job = NULL;
    free(j->rows);
    free(j);
}

/* ----------------------------------------------------------------- opening */

/* Options of the handle, of its context and costs, copied. */
struct all_options {
    sapporo_mpi_transport transport; /* of the options, or of the environment */
    sapporo_mpi_options own;
    sapporo_options context;
    sapporo_mpi_costs costs;
};

static int check_costs(struct sap_link *link, const sapporo_mpi_costs *c)
{
    const double cost[] = {c->message, c->byte, c->force, c->pair, c->row, c->store, c->exchange};
    for (size_t k = 0; k < sizeof cost / sizeof *cost; k++)
        if (!(cost[k] >= 0 && isfinite(cost[k])))
            return sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "sapporo_mpi_open: a cost is %g: it must be >= 0",
                                 cost[k]);
    return SAPPORO_OK;
}

/* Copies the options of a caller, and checks those that are not of the context. */
static int read_options(struct sap_link *link, const sapporo_mpi_options *given, struct all_options *o)
{
    static const char older[] = "sapporo_mpi_open: options without a size, or of a newer version of the library";
    memset(o, 0, sizeof *o);
    if (given && sap_struct_copy(&o->own, sizeof o->own, given, sizeof given->size))
        return sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "%s", older);
    const sapporo_options *const c = o->own.context;
    if (c && sap_struct_copy(&o->context, sizeof o->context, c, sizeof c->size))
        return sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "%s", older);
    const sapporo_mpi_costs *const m = o->own.costs;
    if (m && sap_struct_copy(&o->costs, sizeof o->costs, m, offsetof(sapporo_mpi_costs, exchange)))
        return sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "%s", older);
    if (m && m->size < sizeof *m) o->costs.exchange = o->costs.message;
    if (m) o->costs.size = sizeof o->costs;
    const int status = check_costs(link, &o->costs);
    if (status) return status;
    if (!(o->own.timeout >= 0))
        return sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "sapporo_mpi_open: timeout is %g: it must be >= 0",
                             o->own.timeout);
    if (o->own.rows < 0)
        return sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "sapporo_mpi_open: rows is %d: it must be >= 0", o->own.rows);
    if (o->own.sources < 0)
        return sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "sapporo_mpi_open: sources is %d: it must be >= 0",
                             o->own.sources);
    if ((int)o->own.way < SAPPORO_MPI_WAY_AUTO || (int)o->own.way > SAPPORO_MPI_WAY_SOURCES)
        return sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "sapporo_mpi_open: way is %d: it must be 0 to %d",
                             (int)o->own.way, SAPPORO_MPI_WAY_SOURCES);
    return sap_transport_read(link, "sapporo_mpi_open", o->own.transport, &o->transport);
}

/* Keeps the options of contexts that are opened later, with copies of what they point to; -1: out of memory. */
static int keep_context_options(sapporo_mpi *h, const sapporo_options *o)
{
    sapporo_options *const kept = &h->context_options;
    const size_t devices = o->devices && o->ndevices > 0 ? (size_t)o->ndevices * sizeof *o->devices : 0;
    const size_t isa = o->cpu_isa ? strlen(o->cpu_isa) + 1 : 0;
    char *const text = h->kept_text = malloc(isa + 1);
    int *const numbers = h->kept_devices = malloc(devices + 1);
    *kept = *o;
    kept->size = sizeof *kept;
    if (!text || !numbers) return -1;
    if (isa) kept->cpu_isa = memcpy(text, o->cpu_isa, isa);
    if (devices) kept->devices = memcpy(numbers, o->devices, devices);
    return 0;
}

/* What one rank can prepare alone. */
static int prepare(sapporo_mpi *h, const sapporo_mpi_options *given, struct all_options *o)
{
    struct sap_link *const link = &h->link;
    if (!sap_internals_fit())
        return sap_link_fail(link, SAPPORO_ERR_UNSUPPORTED,
                             "libsapporo_mpi %s needs a libsapporo of its version, not %s", SAPPORO_VERSION,
                             sapporo_version());
    const int status = read_options(link, given, o);
    if (status) return status;
    link->records = malloc((size_t)link->size * sizeof link->record);
    if (h->listed.is_spare || !link->records || keep_context_options(h, &o->context))
        return sap_link_fail(link, SAPPORO_ERR_MEMORY, "sapporo_mpi_open: out of memory for %d ranks", link->size);
    h->order = o->context.order ? o->context.order : 4;
    h->rows = o->own.rows > 0 ? o->own.rows : DEFAULT_ROWS;
    h->sources = o->own.sources;
    h->way = o->own.way;
    (void)sap_gravity(o->context.gravitational_constant, &h->gravity); /* that of a bad one opens no context */
    h->costs = o->costs;
    return SAPPORO_OK;
}

/* Options that must be the same on all ranks, in the order in which they are compared. */
static const char *const option_name[] = {
    "order",
    "precision",
    "backend",
    "root",
    "timeout",
    "rows",
    "sapporo_arith_version",
    "way",
    "sources",
    "costs",
    "costs.message",
    "costs.byte",
    "costs.force",
    "costs.pair",
    "costs.row",
    "costs.store",
    "costs.exchange",
    "transport",
    "gravitational_constant",
};

/* Fails if the ranks have different options. */
static int compare_options(sapporo_mpi *h, const struct all_options *o)
{
    enum { FIELDS = sizeof option_name / sizeof *option_name };
    const double field[FIELDS] = {h->order,
                                  o->context.precision,
                                  o->context.backend,
                                  o->context.root,
                                  h->link.timeout,
                                  h->rows,
                                  sapporo_arith_version(),
                                  h->way,
                                  h->sources,
                                  h->costs.size > 0,
                                  h->costs.message,
                                  h->costs.byte,
                                  h->costs.force,
                                  h->costs.pair,
                                  h->costs.row,
                                  h->costs.store,
                                  h->costs.exchange,
                                  o->transport,
                                  h->gravity};
    return sap_link_compare(&h->link, SAPPORO_OK, FIELDS, field, option_name);
}

/* Fails if the contexts are not of the same kind. */
static int compare_kinds(sapporo_mpi *h)
{
    return sap_link_same_kind(&h->link, sapporo_kind(h->context), h->kind, sizeof h->kind);
}

/* Collective.  Opens the context of each rank, with a device by its number among the ranks of its machine. */
static int open_context(sapporo_mpi *h)
{
    int number, status = sap_transport_node_rank(&h->carrier, &number);
    if (status) return status;
    if (!h->context_options.preferred_device) h->context_options.preferred_device = number;
    status = sapporo_open(&h->context_options, &h->context);
    if (status) status = sap_link_note(&h->link, status, sapporo_last_error(NULL));
    if (!status) (void)sapporo_internals()->partial_keep_engine(h->context);
    return sap_link_agree(&h->link, status);
}

/* Makes the types of the records that ranks exchange. */
static int make_types(sapporo_mpi *h)
{
    enum { PARTICLE_EXTRA = 4 };
    h->vectors = h->order / 2;
    h->sums = 1 + 3 * h->vectors;
    h->terms = h->order == 2 ? 1 : h->order == 4 ? 5 : h->order == 6 ? 6 : 8;
    h->width = 3 * h->vectors + 2;
    const struct {
        MPI_Datatype *type;
        int doubles;
    } make[] = {{&h->carrier.particle, 3 * h->terms + PARTICLE_EXTRA}, {&h->target, h->width}};
    int status = SAPPORO_OK;
    for (int k = 0; k < 2 && !status; k++) {
        status = sap_link_judge(&h->link, MPI_Type_contiguous(make[k].doubles, MPI_DOUBLE, make[k].type));
        if (!status) status = sap_link_judge(&h->link, MPI_Type_commit(make[k].type));
    }
    return status;
}

static void free_types(sapporo_mpi *h)
{
    MPI_Datatype *const type[] = {&h->carrier.particle, &h->target};
    for (int k = 0; k < 2; k++) sap_link_free_type(&h->link, type[k]);
}

/* Frees an object.  Memory that MPI may still use stays. */
static void destroy(sapporo_mpi *h)
{
    const int keeps = sap_link_keeps(&h->link);
    sap_mpi_free_job(h);
    sap_transport_close(&h->carrier);
    if (!keeps || !sap_carrier_on_device(&h->carrier)) sapporo_close(h->context); /* else MPI may use its hold */
    free_types(h);
    sap_link_close(&h->link);
    if (keeps) return;
    sap_slab_free(h);
    sap_share_free(h);
    sap_room_free(&h->targets);
    sap_kept_free(&h->kept);
    sap_room_free(&h->parcel.outs);
    sap_room_free(&h->parcel.ins);
    sap_room_free(&h->parcel.keepers);
    sap_route_free(&h->parcel.route);
    sap_carrier_free(&h->carrier);
    free(h->kept_text);
    free(h->kept_devices);
    sap_listed_free(&h->listed);
}

/* ------------------------------------------------------------------- parts */

/* A number of j-particles, rounded up to blocks as far as it can be. */
static int round_to_blocks(int n) { return ((n - 1) / SAP_BLOCK + (n < INT_MAX - SAP_BLOCK)) * SAP_BLOCK; }

/* The memory of the smallest device of the context's backend, and the number of these devices. */
static double device_memory(const sapporo_mpi *h, int *devices)
{
    const sapporo_backend backend = sapporo_get_backend(h->context);
    double least = INFINITY;
    *devices = sapporo_device_count(backend);
    for (int k = 0; k < *devices; k++) {
        sapporo_device d = {.size = sizeof d};
        if (sapporo_device_describe(backend, k, &d) || d.memory <= 0) continue;
        least = fmin(least, (double)d.memory);
    }
    return least;
}

/*
 * The number of j-particles for whose exchange this rank has memory, if no other rank were on its machine: an eighth of
 * the host's and of the devices' memory.
 */
static double sources_in_memory(const sapporo_mpi *h)
{
    enum { SAMPLE = 1 << 20, PART_OF_MEMORY = 8 };
    int devices;
    size_t on_device = 0;
    const double row = 3.0 * h->terms * sizeof(double) + sizeof(struct sap_partial_tail);
    const double each = (double)sapporo_memory_needed(h->context, SAMPLE, &on_device) / SAMPLE + row;
    const double host = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / each;
    const double memory = device_memory(h, &devices);
    const double held = h->carrier.unit_addresses > 0 ? (double)h->carrier.unit_bytes / h->carrier.unit_addresses : 0;
    const double there = on_device > 0 ? memory * devices / ((double)on_device / SAMPLE + held) : INFINITY;
    return fmin(host, there) / PART_OF_MEMORY;
}

/*
 * Collective.  Chooses how many j-particles travel at a time.  Parts cost: their sums are merged.  So there are several
 * only if the options say so, or if all particles do not fit into memory; then two parts, which a rank keeps at a time,
 * take the memory of one.
 */
static int choose_parts(sapporo_mpi *h)
{
    double most = 0;
    const int on_cpu = sapporo_get_backend(h->context) == SAPPORO_BACKEND_CPU;
    const int status = sap_node_meet(&h->link, on_cpu, sources_in_memory(h), &most);
    const double whole = fmin(fmax(most, 2 * LEAST_PART), INT_MAX);
    h->whole = round_to_blocks(h->sources > 0 ? h->sources : (int)whole);
    h->part = h->sources > 0 ? h->whole : round_to_blocks(h->whole / 2);
    return status;
}

/* Opens everything behind the link. */
static int open_parts(sapporo_mpi *h, const sapporo_mpi_options *options)
{
    struct all_options o = {.own = {0}};
    (void)sap_link_begin(&h->link, SAP_CALL_OPEN);
    int status = sap_link_agree(&h->link, prepare(h, options, &o));
    if (!status) status = compare_options(h, &o);
    if (!status) status = open_context(h);
    if (!status) status = compare_kinds(h);
    if (!status) status = make_types(h);
    h->carrier.gate.context = h->context;
    if (!status) status = sap_transport_open(&h->carrier, o.transport);
    return status ? status : choose_parts(h);
}

/* The timeout of options that may be wrong in other ways. */
static double timeout_of(const sapporo_mpi_options *given)
{
    sapporo_mpi_options o = {0};
    if (given && sap_struct_copy(&o, sizeof o, given, sizeof given->size)) return sap_link_timeout(0);
    return sap_link_timeout(o.timeout);
}

int sapporo_mpi_open(MPI_Comm communicator, const sapporo_mpi_options *options, sapporo_mpi **handle)
{
    if (!handle) return SAPPORO_ERR_ARGUMENT;
    *handle = NULL;
    open_error[0] = '\0';
    int status = sap_link_check(communicator, "sapporo_mpi_open", open_error);
    if (status) return status;
    sapporo_mpi *const h = sap_listed_make(SAP_LISTED_SUMS, sizeof *h);
    if (!h) return SAPPORO_ERR_MEMORY;
    h->link.timeout = timeout_of(options);
    h->carrier = (struct sap_carrier){
        .link = &h->link, .call = "sapporo_mpi_open", .particle = MPI_DATATYPE_NULL, .unit = MPI_DATATYPE_NULL};
    h->target = MPI_DATATYPE_NULL;
    status = sap_link_open(&h->link, communicator);
    if (!status) status = open_parts(h, options);
    if (!status) {
        *handle = sap_listed_give(&h->listed);
        return status;
    }
    (void)snprintf(open_error, sizeof open_error, "%s", h->link.error);
    destroy(h);
    return status;
}

int sapporo_mpi_open_fortran(MPI_Fint communicator, const sapporo_mpi_options *options, sapporo_mpi **handle)
{
    return sapporo_mpi_open(sap_link_communicator(communicator), options, handle);
}

void sapporo_mpi_close(sapporo_mpi *handle)
{
    sapporo_mpi *const h = sap_mpi_find(handle);
    if (!h) return;
    sap_listed_withdraw(&h->listed);
    (void)sap_link_begin(&h->link, SAP_CALL_CLOSE);
    (void)sap_link_agree(&h->link, SAPPORO_OK); /* MPI_Comm_free has no timeout */
    destroy(h);
}

/* ----------------------------------------------------------------- queries */

const char *sapporo_mpi_last_error(const sapporo_mpi *handle)
{
    if (!handle) return open_error;
    const sapporo_mpi *const h = sap_mpi_find(handle);
    return h ? h->link.error : sapporo_status_text(SAPPORO_ERR_CLOSED);
}

const char *sapporo_mpi_kind(const sapporo_mpi *handle)
{
    const sapporo_mpi *const h = sap_mpi_find(handle);
    return h ? h->kind : "";
}

sapporo *sapporo_mpi_context(const sapporo_mpi *handle)
{
    const sapporo_mpi *const h = sap_mpi_find(handle);
    return h ? h->context : NULL;
}

sapporo_mpi_way sapporo_mpi_get_way(const sapporo_mpi *handle)
{
    const sapporo_mpi *const h = sap_mpi_find(handle);
    return h ? h->last_way : SAPPORO_MPI_WAY_AUTO;
}

sapporo_mpi_transport sapporo_mpi_get_transport(const sapporo_mpi *handle)
{
    const sapporo_mpi *const h = sap_mpi_find(handle);
    return h ? h->carrier.transport : SAPPORO_MPI_TRANSPORT_AUTO;
}

int sapporo_mpi_get_costs(const sapporo_mpi *handle, sapporo_mpi_costs *costs)
{
    const sapporo_mpi *const h = sap_mpi_find(handle);
    sapporo_mpi_costs known = {0};
    if (!costs) return SAPPORO_ERR_ARGUMENT;
    if (h) known = h->costs;
    sap_struct_return(costs, &known, sizeof known);
    return !h ? SAPPORO_ERR_CLOSED : h->costs.size ? SAPPORO_OK : SAPPORO_ERR_GONE;
}

int sapporo_mpi_get_traffic(const sapporo_mpi *handle, sapporo_mpi_traffic *traffic)
{
    const sapporo_mpi *const h = sap_mpi_find(handle);
    return sap_link_tell_traffic(h ? &h->link : NULL, traffic);
}

int sapporo_mpi_set_time(sapporo_mpi *handle, double time)
{
    sapporo_mpi *const h = sap_mpi_find(handle);
    if (!h) return SAPPORO_ERR_CLOSED;
    h->time = time; /* also if it is none: then forces fail, since those of the old time would look right */
    if (isfinite(time)) return SAPPORO_OK;
    return sap_link_fail(&h->link, SAPPORO_ERR_NOT_FINITE,
                         "sapporo_mpi_set_time: the time is %g: it is to be finite; predicting forces fail until "
                         "another one is set",
                         time);
}
