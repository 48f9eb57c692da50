/* stepper.c - sapporo_mpi_stepper_*: creates and destroys steppers over ranks, and makes each call collective. */
#include "mpi/stepper.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "context/internals.h"
#include "engine/units.h"
#include "mpi/handle.h"
#include "mpi/tree.h"
#include "physics/arithmetic.h"

/* State of the process (base/process.h). */
static _Thread_local char create_error[SAP_LINK_TEXT];

sapporo_mpi_stepper *sap_mpi_stepper_find(const sapporo_mpi_stepper *handle)
{
    sapporo_mpi_stepper *const h = sap_listed_find(SAP_LISTED_STEPPER, handle);
    if (h) sap_link_look(&h->link);
    return h;
}

/* ------------------------------------------------------------------ options */

static int bad_option(sapporo_mpi_stepper *h, int status, const char *what)
{
    return sap_link_fail(&h->link, status, "%s: %s", h->call, what);
}

/* Copies the options of a caller, and checks those that all ranks compare. */
static int read_options(sapporo_mpi_stepper *h, const sapporo_mpi_stepper_options *given)
{
    static const char unsized[] = "options without a size, or of a newer version of the library";
    sapporo_mpi_stepper_options own = {0};
    if (!given || sap_struct_copy(&own, sizeof own, given, sizeof given->size))
        return bad_option(h, SAPPORO_ERR_ARGUMENT, unsized);
    const sapporo_stepper_options *const o = own.stepper;
    if (!o || sap_struct_copy(&h->options, sizeof h->options, o, sizeof o->size))
        return bad_option(h, SAPPORO_ERR_ARGUMENT, unsized);
    h->options.size = sizeof h->options;
    const sapporo_tree_options *const t = h->options.tree;
    if (t && sap_struct_copy(&h->tree_options, sizeof h->tree_options, t, sizeof t->size))
        return bad_option(h, SAPPORO_ERR_ARGUMENT, unsized);
    h->tree_options.size = sizeof h->tree_options;
    h->transport = own.transport; /* trees and direct sums look at it */
    h->order = sap_step_order_of(h->options.scheme);
    if (h->order && h->options.method == SAPPORO_STEP_METHOD_DEFAULT) h->options.method = SAPPORO_STEP_DIRECT;
    if (!(own.timeout >= 0)) return bad_option(h, SAPPORO_ERR_ARGUMENT, "timeout must be >= 0");
    if (h->options.nfields < 0 || h->options.nfields > SAPPORO_FIELDS_MOST ||
        (h->options.nfields > 0 && !h->options.fields))
        return bad_option(h, SAPPORO_ERR_ARGUMENT, "nfields may be 0 to 8, with fields");
    return SAPPORO_OK;
}

/* The timeout of options that may be wrong in other ways. */
static double timeout_of(const sapporo_mpi_stepper_options *given)
{
    sapporo_mpi_stepper_options o = {0};
    if (given && sap_struct_copy(&o, sizeof o, given, sizeof given->size)) return sap_link_timeout(0);
    return sap_link_timeout(o.timeout);
}

/* Collective.  Fails if the ranks have different fields. */
static int compare_fields(sapporo_mpi_stepper *h)
{
    static const char *const name[] = {"field.kind",      "field.strength",  "field.a",        "field.b",
                                       "field.centre[0]", "field.centre[1]", "field.centre[2]"};
    enum { NUMBERS = sizeof name / sizeof *name };
    int status = SAPPORO_OK;
    for (int k = 0; k < h->options.nfields && !status; k++) {
        const sapporo_field *const f = &h->options.fields[k];
        const double number[NUMBERS] = {f->kind, f->strength, f->a, f->b, f->centre[0], f->centre[1], f->centre[2]};
        status = sap_link_compare(&h->link, SAPPORO_OK, NUMBERS, number, name);
    }
    return status;
}

/* Collective.  Fails if the ranks have different options; those of trees and contexts are compared by these. */
static int compare_options(sapporo_mpi_stepper *h)
{
    static const char *const name[] = {
        "method",    "scheme",    "criterion",  "dt",      "eta",     "levels",
        "rebuild",   "landing",   "nfields",    "eps2",    "timeout", "gravitational_constant",
        "softening", "eta_start", "iterations", "nearest", "close"};
    enum { NUMBERS = sizeof name / sizeof *name };
    const sapporo_stepper_options *const o = &h->options;
    double gravity;
    (void)sap_gravity(h->tree_options.gravitational_constant, &gravity); /* the part's options are checked */
    const double number[NUMBERS] = {o->method,
                                    o->scheme,
                                    o->criterion,
                                    o->dt,
                                    o->eta,
                                    o->levels,
                                    o->rebuild,
                                    o->landing,
                                    o->nfields,
                                    h->tree_options.eps2,
                                    h->link.timeout,
                                    gravity,
                                    h->tree_options.softening,
                                    o->eta_start,
                                    o->iterations,
                                    o->nearest,
                                    o->close};
    const int status = sap_link_compare(&h->link, SAPPORO_OK, NUMBERS, number, name);
    return status ? status : compare_fields(h);
}

/* ----------------------------------------------------------------- creation */

static int reserve(sapporo_mpi_stepper *h, int n)
{
    const size_t room = (size_t)n + 1;
    h->room = n;
    h->x = malloc(room * sizeof *h->x);
    h->mass = malloc(room * sizeof *h->mass);
    h->a = malloc(room * sizeof *h->a);
    h->all_sums = malloc((size_t)h->link.size * sizeof h->sum);
    if (!h->x || !h->mass || !h->a || !h->all_sums) return SAPPORO_ERR_MEMORY;
    if (h->options.method != SAPPORO_STEP_DIRECT) {
        h->length = malloc(room * sizeof *h->length);
        return h->length ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
    }
    h->target = malloc(room * sizeof *h->target);
    h->address = malloc(room * sizeof *h->address);
    h->index = malloc(room * sizeof *h->index);
    h->soft = malloc(2 * room * sizeof *h->soft);
    h->first = calloc((size_t)h->link.size + 1, sizeof *h->first);
    if (h->order) h->kept = malloc(room * sizeof *h->kept);
    const int has_sums = h->target && h->address && h->index && h->soft && h->first;
    return has_sums && (!h->order || h->kept) ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
}

/* What one rank can do alone: options, and memory. */
static int prepare(sapporo_mpi_stepper *h, const sapporo_mpi_stepper_options *given, int n)
{
    if (!sap_internals_fit())
        return bad_option(h, SAPPORO_ERR_UNSUPPORTED, "libsapporo_mpi needs a libsapporo of its version");
    const int status = read_options(h, given);
    if (status) return status;
    if (n < 0) return sap_link_fail(&h->link, SAPPORO_ERR_ARGUMENT, "%s: %d particles", h->call, n);
    h->link.records = malloc((size_t)h->link.size * sizeof h->link.record);
    if (h->listed.is_spare || !h->link.records || reserve(h, n))
        return sap_link_fail(&h->link, SAPPORO_ERR_MEMORY, "%s: out of memory for %d particles and %d ranks", h->call,
                             n, h->link.size);
    return SAPPORO_OK;
}

/* The part of each rank multiplies masses by the gravitational constant, so forces have 1. */
static int open_tree(sapporo_mpi_stepper *h)
{
    sapporo_tree_options tree = h->tree_options;
    const sapporo_mpi_tree_options o = {
        .size = sizeof o, .tree = &tree, .timeout = h->link.timeout, .transport = h->transport};
    tree.gravitational_constant = 1;
    return sapporo_mpi_tree_create(h->link.communicator, &o, &h->tree);
}

/* Collective.  Counts the particles that all ranks have room for. */
static int count_room(sapporo_mpi_stepper *h, double *all)
{
    static const char *const name[1] = {NULL};
    const double room = h->room;
    const int status = sap_link_compare(&h->link, SAPPORO_OK, 1, &room, name);
    for (int r = 0; r < h->link.size && !status; r++) *all += sap_link_field(&h->link, r, 0);
    return status;
}

/*
 * Collective.  Opens direct sums.  Where those of a Hermite scheme would mix precisions, the number of particles
 * chooses one, as in one stepper of them all.
 */
static int open_sums(sapporo_mpi_stepper *h)
{
    const sapporo_tree_options *const t = &h->tree_options;
    sapporo_options context = {.size = sizeof context,
                               .order = h->order ? h->order : 2,
                               .precision = t->precision,
                               .backend = t->backend,
                               .devices = t->devices,
                               .ndevices = t->ndevices,
                               .preferred_device = t->preferred_device,
                               .cpu_isa = t->cpu_isa,
                               .threads = t->threads};
    const sapporo_mpi_options o = {
        .size = sizeof o, .context = &context, .timeout = h->link.timeout, .transport = h->transport};
    double all = 0;
    int status = sapporo_mpi_open(h->link.communicator, &o, &h->sums);
    if (status || !h->order || !sapporo_internals()->context_is_mixed(sapporo_mpi_context(h->sums))) return status;
    sapporo_mpi_close(h->sums);
    h->sums = NULL;
    status = count_room(h, &all);
    context.precision = all < SAP_FEW_J ? SAPPORO_DP : SAPPORO_DS;
    return status ? status : sapporo_mpi_open(h->link.communicator, &o, &h->sums);
}

/*
 * Whether the part of this rank may be on the device of its tree, whose memory has addresses.  A single rank's tree
 * would take sizes of accelerations that are not known yet for known ones.
 */
static int is_on_device_of_tree(const sapporo_mpi_stepper *h)
{
    struct sap_travel_device device = {.travels = 0};
    const sapporo_mpi_tree *const tree = sap_mpi_tree_find(h->tree);
    if (!tree || h->link.size == 1 || !sapporo_internals()->bodies_able(tree->tree)) return 0;
    return !sapporo_internals()->port_device(tree->tree, &device) && device.travels;
}

/* The same for direct sums, of which records must travel from device to device; the same on all ranks. */
static int is_on_device_of_sums(const sapporo_mpi_stepper *h)
{
    struct sap_travel_device device = {.travels = 0};
    const sapporo_mpi *const sums = sap_mpi_find(h->sums);
    if (!sums || h->tree_options.softening) return 0;
    if (h->link.size > 1 && !sap_carrier_on_device(&sums->carrier)) return 0;
    return !sapporo_internals()->travel_device(sums->context, &device) && device.travels;
}

static void free_arrays(sapporo_mpi_stepper *h)
{
    void *const of_host[] = {h->x, h->mass, h->a, h->length, h->target, h->address, h->index, h->soft, h->kept};
    for (size_t k = 0; k < sizeof of_host / sizeof *of_host; k++) free(of_host[k]);
    h->x = h->target = NULL;
    h->mass = h->a = h->length = h->soft = NULL;
    h->address = h->index = NULL;
    h->kept = NULL;
}

/* Decides where the part of this rank is; on a device it has no use of arrays of the host. */
static int look_at_device(sapporo_mpi_stepper *h)
{
    h->on_device = h->tree ? is_on_device_of_tree(h) : is_on_device_of_sums(h);
    if (h->on_device) free_arrays(h);
    return h->on_device && h->sums ? sap_mpi_stepper_share(h) : SAPPORO_OK;
}

/* Collective.  Opens the tree over ranks, or the direct sums. */
static int open_forces(sapporo_mpi_stepper *h)
{
    const int direct = h->options.method == SAPPORO_STEP_DIRECT, status = direct ? open_sums(h) : open_tree(h);
    if (status) {
        const char *const text = direct ? sapporo_mpi_last_error(NULL) : sapporo_mpi_tree_last_error(NULL);
        (void)snprintf(h->link.error, sizeof h->link.error, "%s", text);
        return sap_mpi_stepper_note(h, status, text);
    }
    (void)snprintf(h->kind, sizeof h->kind, "%s%s",
                   direct ? sapporo_mpi_kind(h->sums) : sapporo_mpi_tree_kind_text(h->tree), direct ? " direct" : "");
    return sap_link_agree(&h->link, look_at_device(h));
}

/* Collective.  Creates the part of each rank. */
static int create_part(sapporo_mpi_stepper *h)
{
    const struct sap_stepper_whole whole = sap_mpi_stepper_whole(h);
    int status = sapporo_internals()->stepper_part_create(&h->options, h->room, &whole, &h->stepper);
    if (status) (void)sap_link_note(&h->link, status, sapporo_last_error(NULL));
    return sap_link_agree(&h->link, status);
}

static int create(sapporo_mpi_stepper *h, const sapporo_mpi_stepper_options *options, int n)
{
    int status = sap_link_agree(&h->link, prepare(h, options, n));
    if (!status) status = compare_options(h);
    if (!status) status = open_forces(h);
    return status ? status : create_part(h);
}

/* Breaks the links of the forces of a broken stepper, so that their end waits for no rank. */
static void break_forces(const sapporo_mpi_stepper *h)
{
    sapporo_mpi_tree *const tree = sap_mpi_tree_find(h->tree);
    sapporo_mpi *const sums = sap_mpi_find(h->sums);
    if (tree && !tree->link.broken) tree->link.broken = h->link.broken;
    if (sums && !sums->link.broken) sums->link.broken = h->link.broken;
}

/* Frees an object.  Memory that MPI may still use stays. */
static void destroy(sapporo_mpi_stepper *h)
{
    const int keeps = sap_link_keeps(&h->link);
    if (h->link.broken) break_forces(h);
    sapporo_stepper_destroy(h->stepper);
    sapporo_mpi_tree_destroy(h->tree);
    sapporo_mpi_close(h->sums);
    free_arrays(h);
    free(h->first);
    sap_link_close(&h->link);
    if (keeps) return;
    sap_route_free(&h->sources);
    sap_route_free(&h->rows_of_all);
    free(h->all_sums);
    sap_listed_free(&h->listed);
}

int sapporo_mpi_stepper_create(MPI_Comm communicator, const sapporo_mpi_stepper_options *options, int n,
                               sapporo_mpi_stepper **stepper)
{
    if (!stepper) return SAPPORO_ERR_ARGUMENT;
    *stepper = NULL;
    create_error[0] = '\0';
    int status = sap_link_check(communicator, "sapporo_mpi_stepper_create", create_error);
    if (status) return status;
    sapporo_mpi_stepper *const h = sap_listed_make(SAP_LISTED_STEPPER, sizeof *h);
    if (!h) return SAPPORO_ERR_MEMORY;
    h->call = sap_link_begin(&h->link, SAP_CALL_STEPPER_CREATE);
    h->link.timeout = timeout_of(options);
    status = sap_link_open(&h->link, communicator);
    if (!status) status = create(h, options, n);
    if (!status) {
        *stepper = sap_listed_give(&h->listed);
        return status;
    }
    (void)snprintf(create_error, sizeof create_error, "%s", h->link.error);
    destroy(h);
    return status;
}

int sapporo_mpi_stepper_create_fortran(MPI_Fint communicator, const sapporo_mpi_stepper_options *options, int n,
                                       sapporo_mpi_stepper **stepper)
{
    return sapporo_mpi_stepper_create(sap_link_communicator(communicator), options, n, stepper);
}

void sapporo_mpi_stepper_destroy(sapporo_mpi_stepper *stepper)
{
    sapporo_mpi_stepper *const h = sap_mpi_stepper_find(stepper);
    if (!h) return;
    sap_listed_withdraw(&h->listed);
    (void)sap_link_begin(&h->link, SAP_CALL_STEPPER_DESTROY);
    (void)sap_link_agree(&h->link, SAPPORO_OK); /* MPI_Comm_free has no timeout */
    destroy(h);
}

/* --------------------------------------------------------- collective calls */

void sap_mpi_stepper_start(sapporo_mpi_stepper *h, enum sap_call call)
{
    h->call = sap_link_begin(&h->link, call);
    h->agreed = 0;
    h->words[0] = '\0';
}

int sap_mpi_stepper_end(sapporo_mpi_stepper *h, int status)
{
    if (status < 0 && !h->agreed)
        (void)snprintf(h->link.error, sizeof h->link.error, "%s", sapporo_stepper_last_error(h->stepper));
    return status;
}

int sapporo_mpi_stepper_set(sapporo_mpi_stepper *stepper, const sapporo_stepper_particles *particles)
{
    static const char *const name[1] = {"time"};
    sapporo_mpi_stepper *const h = sap_mpi_stepper_find(stepper);
    if (!h) return SAPPORO_ERR_CLOSED;
    if (h->link.broken) return h->link.broken;
    sap_mpi_stepper_start(h, SAP_CALL_STEPPER_SET);
    sapporo_stepper_particles p = {.n = 0};
    int status = SAPPORO_OK;
    if (!particles || sap_struct_copy(&p, sizeof p, particles, sizeof particles->size))
        status = bad_option(h, SAPPORO_ERR_ARGUMENT, "size of sapporo_stepper_particles is not set");
    else if (isnan(p.time))
        status = bad_option(h, SAPPORO_ERR_NOT_FINITE, "time is NaN");
    status = sap_link_compare(&h->link, status, 1, &p.time, name);
    if (status) return status;
    return sap_mpi_stepper_end(h, sapporo_stepper_set(h->stepper, particles));
}

/* Begins a call that needs nothing of all ranks before the parts make it; a status. */
static int begin(sapporo_mpi_stepper *h, enum sap_call call)
{
    if (!h) return SAPPORO_ERR_CLOSED;
    if (h->link.broken) return h->link.broken;
    sap_mpi_stepper_start(h, call);
    return SAPPORO_OK;
}

int sapporo_mpi_stepper_add(sapporo_mpi_stepper *stepper, const sapporo_stepper_particles *particles)
{
    sapporo_mpi_stepper *const h = sap_mpi_stepper_find(stepper);
    const int status = begin(h, SAP_CALL_STEPPER_ADD);
    return status ? status : sap_mpi_stepper_end(h, sapporo_stepper_add(h->stepper, particles));
}

int sapporo_mpi_stepper_remove(sapporo_mpi_stepper *stepper, int n, const int *address)
{
    sapporo_mpi_stepper *const h = sap_mpi_stepper_find(stepper);
    const int status = begin(h, SAP_CALL_STEPPER_REMOVE);
    return status ? status : sap_mpi_stepper_end(h, sapporo_stepper_remove(h->stepper, n, address));
}

int sapporo_mpi_stepper_advance(sapporo_mpi_stepper *stepper, double time, long long steps)
{
    static const char *const name[2] = {"time", "steps"};
    sapporo_mpi_stepper *const h = sap_mpi_stepper_find(stepper);
    if (!h) return SAPPORO_ERR_CLOSED;
    if (h->link.broken) return h->link.broken;
    sap_mpi_stepper_start(h, SAP_CALL_STEPPER_ADVANCE);
    int status = SAPPORO_OK;
    if (isnan(time) || steps < 0 || (steps == 0 && isinf(time)))
        status = sap_link_fail(&h->link, SAPPORO_ERR_ARGUMENT,
                               "%s: time is %g and steps %lld; without end, steps must be > 0", h->call, time, steps);
    const double field[2] = {time, (double)steps};
    status = sap_link_compare(&h->link, status, 2, field, name);
    if (status) return status;
    return sap_mpi_stepper_end(h, sapporo_stepper_advance(h->stepper, time, steps));
}

int sapporo_mpi_stepper_energy(sapporo_mpi_stepper *stepper, sapporo_stepper_totals *totals)
{
    sapporo_mpi_stepper *const h = sap_mpi_stepper_find(stepper);
    int status = SAPPORO_OK;
    (void)sapporo_stepper_energy(NULL, totals); /* numbers of a call that fails */
    if (!h) return SAPPORO_ERR_CLOSED;
    if (h->link.broken) return h->link.broken;
    sap_mpi_stepper_start(h, SAP_CALL_STEPPER_ENERGY);
    if (!totals || totals->size < sizeof totals->size || totals->size > SAP_STRUCT_MOST)
        status = bad_option(h, SAPPORO_ERR_ARGUMENT, "size of sapporo_stepper_totals is not set");
    status = sap_link_agree(&h->link, status);
    if (status) return status;
    return sap_mpi_stepper_end(h, sapporo_stepper_energy(h->stepper, totals));
}

/* -------------------------------------------------------------- local calls */

int sapporo_mpi_stepper_get(sapporo_mpi_stepper *stepper, const sapporo_stepper_output *output)
{
    sapporo_mpi_stepper *const h = sap_mpi_stepper_find(stepper);
    if (!h) return sapporo_stepper_get(NULL, output);
    const int status = sapporo_stepper_get(h->stepper, output);
    if (status) (void)sap_link_note(&h->link, status, sapporo_stepper_last_error(h->stepper));
    return status;
}

double sapporo_mpi_stepper_get_time(const sapporo_mpi_stepper *stepper)
{
    const sapporo_mpi_stepper *const h = sap_mpi_stepper_find(stepper);
    return h ? sapporo_stepper_get_time(h->stepper) : NAN;
}

const char *sapporo_mpi_stepper_last_error(const sapporo_mpi_stepper *stepper)
{
    if (!stepper) return create_error;
    const sapporo_mpi_stepper *const h = sap_mpi_stepper_find(stepper);
    return h ? h->link.error : sapporo_status_text(SAPPORO_ERR_CLOSED);
}

const char *sapporo_mpi_stepper_kind_text(const sapporo_mpi_stepper *stepper)
{
    const sapporo_mpi_stepper *const h = sap_mpi_stepper_find(stepper);
    return h ? h->kind : "";
}

int sapporo_mpi_stepper_get_statistics(sapporo_mpi_stepper *stepper, sapporo_stepper_statistics *statistics)
{
    const sapporo_mpi_stepper *const h = sap_mpi_stepper_find(stepper);
    return sapporo_stepper_get_statistics(h ? h->stepper : NULL, statistics);
}
