/*
 * stepper_exchange.c - sapporo_mpi_stepper_exchange: sends the particles of steppers to their owners: the ranks that
 * compute their forces in trees. They are exchanged as columns, as to a file and back (stepper_saved.h).
 */
#include <stdlib.h>
#include <string.h>

#include "context/internals.h"
#include "mpi/exchange.h"
#include "mpi/stepper_saved.h"
#include "mpi/tree.h"

enum { WIDEST = 24 }; /* bytes per particle of a column at most: three doubles */

/* Memory of a call, which MPI reads and writes. */
struct departure {
    struct sap_stepper_saved part;
    struct sap_saved_columns c; /* of the particles that arrive */
    int n, worked;              /* particles that this rank has before the call; that of the tree */
    struct sap_route route;
    int *owner;         /* the rank of each particle */
    char *column, *out; /* a column of this rank, by particle and by rank; room for two more of numbers */
};

static int no_memory(sapporo_mpi_stepper *h, int n)
{
    return sap_link_fail(&h->link, SAPPORO_ERR_MEMORY, "%s: out of memory for %d particles and %d ranks", h->call, n,
                         h->link.size);
}

/* What a rank does alone before others take part. */
static int prepare(sapporo_mpi_stepper *h, struct departure *d)
{
    if (!d) return no_memory(h, h->n);
    const int status = sapporo_internals()->stepper_part_saved(h->stepper, &d->part);
    if (status) return sap_link_fail(&h->link, status, "%s: the stepper has no particles: set them first", h->call);
    const size_t room = (size_t)d->part.n + 1;
    d->n = d->part.n;
    d->owner = malloc(room * sizeof *d->owner);
    d->column = malloc(4 * room * WIDEST);
    if (!d->owner || !d->column || sap_route_reserve(&d->route, h->link.size)) return no_memory(h, d->n);
    d->out = d->column + room * WIDEST;
    return SAPPORO_OK;
}

/* Reads column k of this rank's particles. */
static int read_column(sapporo_mpi_stepper *h, struct departure *d, int k, void *to)
{
    const size_t room = (size_t)d->n + 1;
    char *const mass = d->out + room * WIDEST, *const by_slot = mass + room * WIDEST;
    const int status = k > (int)SAP_STEP_COLUMNS ? sap_saved_read_tree(h, k, d->n, mass, by_slot, to)
                                                 : sapporo_internals()->stepper_part_read(h->stepper, k, to);
    return status ? sap_link_note(&h->link, status, sapporo_stepper_last_error(h->stepper)) : SAPPORO_OK;
}

/* Sorts this rank's particles by their owners. */
static int sort(sapporo_mpi_stepper *h, struct departure *d)
{
    const int status = read_column(h, d, SAP_SAVED_WALKER, d->owner);
    if (status) return status;
    return sap_route_sort(&d->route, h->link.size, d->n, d->owner, 1) ? no_memory(h, d->n) : SAPPORO_OK;
}

/* Collective.  Finds how many particles come, and makes room for them. */
static int announce(sapporo_mpi_stepper *h, struct departure *d)
{
    struct sap_link *const link = &h->link;
    int64_t n = 0;
    int status = sap_link_agree(link, sort(h, d));
    if (!status) status = sap_route_announce(link, &d->route, &n);
    if (status) return status;
    memcpy(d->c.width, d->part.width, sizeof d->part.width);
    d->c.width[SAP_SAVED_WALKER] = sizeof(int);
    d->c.width[SAP_SAVED_WORK] = sizeof(int64_t);
    if (n > h->room)
        status = sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "%s: this rank walks %lld particles; it has room for %d",
                               h->call, (long long)n, h->room);
    return sap_link_agree(link, status ? status : sap_saved_reserve(h, &d->c, (int)n));
}

/* Collective.  Sends column k.  A rank that cannot read it sends what it has, and tells it later. */
static int send_column(sapporo_mpi_stepper *h, struct departure *d, int k, int *failed)
{
    const size_t width = (size_t)d->c.width[k];
    struct sap_wire wire = {.out = d->out, .in = d->c.column[k], .each = width};
    const int bad = read_column(h, d, k, d->column);
    if (bad) *failed = bad;
    for (int i = 0; i < d->n; i++)
        memcpy(d->out + (size_t)i * width, d->column + (size_t)d->route.order[i] * width, width);
    return sap_exchange(&h->link, &d->route, &wire);
}

/* Collective.  Sends all columns, and makes the particles that arrive those of the stepper. */
static int exchange(sapporo_mpi_stepper *h, struct departure *d)
{
    int failed = SAPPORO_OK, status = announce(h, d);
    for (int k = 0; k < SAP_SAVED_COLUMNS && !status; k++)
        if (d->c.width[k] > 0) status = send_column(h, d, k, &failed);
    if (!status) status = sap_link_agree(&h->link, failed);
    /* a device divides particles anew, most of which stay; ranks that were told would keep them in host memory */
    return status ? status : sap_saved_take(h, &d->part, &d->c, !h->on_device, d->worked);
}

static void free_departure(const sapporo_mpi_stepper *h, struct departure *d)
{
    if (!d || h->link.broken) return; /* MPI may use it */
    sap_route_free(&d->route);
    free(d->owner);
    free(d->column);
    free(d->c.memory);
    free(d);
}

int sapporo_mpi_stepper_exchange(sapporo_mpi_stepper *stepper)
{
    sapporo_mpi_stepper *const h = sap_mpi_stepper_find(stepper);
    if (!h) return SAPPORO_ERR_CLOSED;
    if (h->link.broken) return h->link.broken;
    sap_mpi_stepper_start(h, SAP_CALL_STEPPER_EXCHANGE);
    struct departure *const d = calloc(1, sizeof *d);
    int status = sap_link_agree(&h->link, prepare(h, d));
    const sapporo_mpi_tree *const tree = sap_saved_tree(h);
    if (!status && d && tree) {
        d->worked = tree->worked;
        status = exchange(h, d);
    }
    free_departure(h, d);
    return status;
}
