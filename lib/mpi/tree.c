/* tree.c - creates and destroys trees over a communicator, and answers queries about them. */
#include "mpi/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "context/internals.h"
#include "engine/softening.h"
#include "engine/units.h"
#include "mpi/node.h"

/* State of the process (base/process.h). */
static _Thread_local char create_error[SAP_LINK_TEXT];

void sap_mpi_tree_release(const sapporo_mpi_tree *h, void *memory)
{
    if (!h->link.broken) free(memory);
}

sapporo_mpi_tree *sap_mpi_tree_find(const sapporo_mpi_tree *handle)
{
    sapporo_mpi_tree *const h = sap_listed_find(SAP_LISTED_TREE, handle);
    if (h) sap_link_look(&h->link);
    return h;
}

/* ------------------------------------------------------------------ options */

static int bad_option(sapporo_mpi_tree *h, int status, const char *what)
{
    return sap_link_fail(&h->link, status, "%s: %s", h->call, what);
}

/* Copies what the options of a tree point to. */
static int copy_pointed(sapporo_mpi_tree *h)
{
    sapporo_tree_options *const o = &h->options;
    const int most = (int)(sizeof h->device / sizeof h->device[0]);
    if (o->devices && (o->ndevices < 0 || o->ndevices > most))
        return bad_option(h, SAPPORO_ERR_ARGUMENT, "more than 64 devices, or fewer than none");
    if (o->devices) memcpy(h->device, o->devices, (size_t)o->ndevices * sizeof *o->devices);
    if (o->devices) o->devices = h->device;
    if (!o->cpu_isa) return SAPPORO_OK;
    if (strlen(o->cpu_isa) >= sizeof h->isa) return bad_option(h, SAPPORO_ERR_ARGUMENT, "cpu_isa is no known path");
    (void)snprintf(h->isa, sizeof h->isa, "%s", o->cpu_isa);
    o->cpu_isa = h->isa;
    return SAPPORO_OK;
}

/* Copies the options of a caller, and checks those that are not of the tree. */
static int read_options(sapporo_mpi_tree *h, const sapporo_mpi_tree_options *given)
{
    static const char unsized[] = "options without a size, or of a newer version of the library";
    sapporo_mpi_tree_options own = {0};
    if (given && sap_struct_copy(&own, sizeof own, given, sizeof given->size))
        return bad_option(h, SAPPORO_ERR_ARGUMENT, unsized);
    h->options = (sapporo_tree_options){.size = sizeof h->options};
    if (own.tree && sap_struct_copy(&h->options, sizeof h->options, own.tree, sizeof own.tree->size))
        return bad_option(h, SAPPORO_ERR_ARGUMENT, unsized);
    h->options.size = sizeof h->options;
    if (!(own.timeout >= 0)) return bad_option(h, SAPPORO_ERR_ARGUMENT, "timeout must be >= 0");
    const int unread = sap_transport_read(&h->link, h->call, own.transport, &h->carrier.transport);
    if (unread) return unread;
    if (h->options.experiments)
        return bad_option(h, SAPPORO_ERR_UNSUPPORTED, "experiments must be 0 for trees over ranks");
    if (h->options.period != 0) return bad_option(h, SAPPORO_ERR_UNSUPPORTED, "period must be 0 for trees over ranks");
    if (!sap_gravity(h->options.gravitational_constant, &h->gravity))
        return bad_option(h, SAPPORO_ERR_ARGUMENT, "gravitational_constant: " SAP_GRAVITY_RANGE);
    if (!sap_mpi_tree_is_alone(h)) h->options.gravitational_constant = 1; /* it gets masses that have been multiplied */
    return copy_pointed(h);
}

/* The timeout of options that may be wrong in other ways. */
static double timeout_of(const sapporo_mpi_tree_options *given)
{
    sapporo_mpi_tree_options o = {0};
    if (given && sap_struct_copy(&o, sizeof o, given, sizeof given->size)) return sap_link_timeout(0);
    return sap_link_timeout(o.timeout);
}

/* ----------------------------------------------------------------- creation */

/* What one rank can do alone: options, and a tree without particles. */
static int prepare(sapporo_mpi_tree *h, const sapporo_mpi_tree_options *given)
{
    if (!sap_internals_fit())
        return bad_option(h, SAPPORO_ERR_UNSUPPORTED, "libsapporo_mpi needs a libsapporo of its version");
    int status = read_options(h, given);
    if (status) return status;
    h->link.records = malloc((size_t)h->link.size * sizeof h->link.record);
    if (h->listed.is_spare || !h->link.records || sap_route_reserve(&h->route, h->link.size))
        return sap_mpi_tree_no_memory(h, 0);
    status = sapporo_tree_create(&h->options, 0, &h->tree);
    if (status) return sap_link_note(&h->link, status, sapporo_last_error(NULL));
    h->selects = sapporo_internals()->part_selects(h->tree);
    h->divides = sapporo_internals()->bodies_able(h->tree) && !sap_mpi_tree_is_alone(h);
    status = sapporo_internals()->part_settings(h->tree, &h->settings);
    h->words = sap_softening_lengths(&h->settings) ? sap_softening_words(&h->settings) : 0;
    return status;
}

/* Fails if the ranks have different options. */
static int compare_options(sapporo_mpi_tree *h)
{
    static const char *const name[] = {"kind",         "mac",
                                       "accuracy",     "order",
                                       "eps2",         "leaf_size",
                                       "group_size",   "precision",
                                       "timeout",      "sapporo_arith_version",
                                       "group_extent", "gravitational_constant",
                                       "softening",    "transport"};
    enum { FIELDS = sizeof name / sizeof *name };
    const struct sap_tree_settings *const s = &h->settings;
    const double field[FIELDS] = {s->kind,         s->mac,
                                  s->accuracy,     s->order,
                                  s->eps2,         s->leaf_size,
                                  s->group_size,   s->precision,
                                  h->link.timeout, sapporo_arith_version(),
                                  s->group_extent, h->gravity,
                                  s->softening,    h->carrier.transport};
    return sap_link_compare(&h->link, SAPPORO_OK, FIELDS, field, name);
}

/* Fails if the trees are not of the same kind of engine. */
static int compare_kinds(sapporo_mpi_tree *h)
{
    return sap_link_same_kind(&h->link, sapporo_tree_kind_text(h->tree), h->kind, sizeof h->kind);
}

/* Collective.  Chooses how particles travel, if there are other ranks. */
static int open_transport(sapporo_mpi_tree *h)
{
    const sapporo_mpi_transport asked = h->carrier.transport;
    h->carrier.transport = SAPPORO_MPI_TRANSPORT_HOST;
    if (sap_mpi_tree_is_alone(h)) return SAPPORO_OK;
    return sap_transport_open(&h->carrier, asked);
}

static int create(sapporo_mpi_tree *h, const sapporo_mpi_tree_options *options)
{
    int status = sap_link_agree(&h->link, prepare(h, options));
    if (!status) status = compare_options(h);
    if (!status) status = compare_kinds(h);
    if (!status) status = open_transport(h);
    return status ? status : sap_node_meet(&h->link, !h->selects, 0, NULL);
}

/* Frees the memory that operations of MPI use, or may use. */
static void free_shared(sapporo_mpi_tree *h)
{
    struct sap_room *const room = (void *)&h->rooms;
    for (size_t k = 0; k < sizeof h->rooms / sizeof *room; k++) sap_room_free(&room[k]);
    sap_travel_free(&h->travel);
    sap_route_free(&h->route);
    sap_route_free(&h->some);
}

/* Frees an object.  Memory that MPI may still use stays. */
static void destroy(sapporo_mpi_tree *h)
{
    const int keeps = sap_link_keeps(&h->link);
    sap_transport_close(&h->carrier);
    if (!keeps || !sap_carrier_on_device(&h->carrier)) sapporo_tree_destroy(h->tree); /* else MPI may use its memory */
    for (size_t k = 0; k < sizeof h->nodes.room / sizeof h->nodes.room[0]; k++) sap_room_free(&h->nodes.room[k]);
    if (!keeps) free_shared(h);
    if (!keeps) sap_carrier_free(&h->carrier);
    free(h->size);
    free(h->work);
    free(h->length);
    free(h->past_x[0]);
    free(h->past_x[1]);
    sap_link_close(&h->link);
    if (!keeps) sap_listed_free(&h->listed);
}

int sapporo_mpi_tree_create(MPI_Comm communicator, const sapporo_mpi_tree_options *options, sapporo_mpi_tree **tree)
{
    if (!tree) return SAPPORO_ERR_ARGUMENT;
    *tree = NULL;
    create_error[0] = '\0';
    int status = sap_link_check(communicator, "sapporo_mpi_tree_create", create_error);
    if (status) return status;
    sapporo_mpi_tree *const h = sap_listed_make(SAP_LISTED_TREE, sizeof *h);
    if (!h) return SAPPORO_ERR_MEMORY;
    h->call = sap_link_begin(&h->link, SAP_CALL_TREE_CREATE);
    h->link.timeout = timeout_of(options);
    h->carrier = (struct sap_carrier){.link = &h->link,
                                      .gate.tree = &h->tree,
                                      .call = h->call,
                                      .particle = MPI_DATATYPE_NULL,
                                      .unit = MPI_DATATYPE_NULL};
    status = sap_link_open(&h->link, communicator);
    if (!status) status = create(h, options);
    if (!status) {
        *tree = sap_listed_give(&h->listed);
        return status;
    }
    (void)snprintf(create_error, sizeof create_error, "%s", h->link.error);
    destroy(h);
    return status;
}

int sapporo_mpi_tree_create_fortran(MPI_Fint communicator, const sapporo_mpi_tree_options *options,
                                    sapporo_mpi_tree **tree)
{
    return sapporo_mpi_tree_create(sap_link_communicator(communicator), options, tree);
}

void sapporo_mpi_tree_destroy(sapporo_mpi_tree *tree)
{
    sapporo_mpi_tree *const h = sap_mpi_tree_find(tree);
    if (!h) return;
    sap_listed_withdraw(&h->listed);
    h->call = sap_link_begin(&h->link, SAP_CALL_TREE_DESTROY);
    (void)sap_link_agree(&h->link, SAPPORO_OK); /* MPI_Comm_free has no timeout */
    destroy(h);
}

/* ------------------------------------------------------------------ queries */

const char *sapporo_mpi_tree_last_error(const sapporo_mpi_tree *tree)
{
    if (!tree) return create_error;
    const sapporo_mpi_tree *const h = sap_mpi_tree_find(tree);
    return h ? h->link.error : sapporo_status_text(SAPPORO_ERR_CLOSED);
}

const char *sapporo_mpi_tree_kind_text(const sapporo_mpi_tree *tree)
{
    const sapporo_mpi_tree *const h = sap_mpi_tree_find(tree);
    return h ? h->kind : "";
}

sapporo_mpi_transport sapporo_mpi_tree_get_transport(const sapporo_mpi_tree *tree)
{
    const sapporo_mpi_tree *const h = sap_mpi_tree_find(tree);
    return h ? h->carrier.transport : SAPPORO_MPI_TRANSPORT_AUTO;
}

int sapporo_mpi_tree_get_statistics(sapporo_mpi_tree *tree, sapporo_mpi_tree_statistics *statistics)
{
    static const sapporo_mpi_tree_statistics none;
    if (!statistics || statistics->size < sizeof statistics->size) return SAPPORO_ERR_ARGUMENT;
    const sapporo_mpi_tree *const h = sap_mpi_tree_find(tree);
    sapporo_mpi_tree_statistics all = none;
    if (h && h->built) {
        all = h->done;
        all.given = h->given;
        all.n = h->route.arrived;
        all.cells = h->nodes.nodes;
    }
    sap_struct_return(statistics, &all, sizeof all);
    return h ? SAPPORO_OK : SAPPORO_ERR_CLOSED;
}

int sapporo_mpi_tree_get_traffic(const sapporo_mpi_tree *tree, sapporo_mpi_traffic *traffic)
{
    const sapporo_mpi_tree *const h = sap_mpi_tree_find(tree);
    return sap_link_tell_traffic(h ? &h->link : NULL, traffic);
}
