/* gpu_port.c - see gpu_port.h: addresses, the stream of transfers, and halos that arrive. */
#include "gpu/tree/gpu_port.h"

#include <stdlib.h>

#include "gpu/gpu_devices.h"
#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_aside.h"
#include "gpu/tree/gpu_kernels.h"

static struct sap_gpu_host_tree *of(struct sap_tree *tree) { return (void *)tree; }

void sap_gpu_port_free(const struct sap_driver *driver, struct sap_gpu_port *port)
{
    sap_gpu_free(driver, &port->hold);
    sap_gpu_free(driver, &port->in);
    sap_gpu_free(driver, &port->first);
    if (port->moved) driver->event_destroy(port->moved);
    port->moved = NULL;
}

/* ---- the device ------------------------------------------------------------------------------ */

static void describe(const struct sap_tree *tree, struct sap_travel_device *device)
{
    const struct sap_gpu_host_tree *const t = (const void *)tree;
    sap_gpu_describe_travels(t->session.set, device);
}

static int enter(struct sap_tree *tree)
{
    struct sap_gpu_built built;
    int status = sap_gpu_aside_begin(of(tree), &built);
    if (!status) status = sap_gpu_aside_end(of(tree), sap_gpu_aside_open(of(tree)));
    return status ? status : sap_session_lend(&of(tree)->session);
}

static void leave(struct sap_tree *tree) { sap_session_take_back(&of(tree)->session); }

/* ---- trials ---------------------------------------------------------------------------------- */

static int reserve_hold(struct sap_gpu_host_tree *t, size_t bytes, void **address)
{
    struct sap_gpu_port *const p = &t->part.port;
    TRY(sap_gpu_aside_open(t));
    TRY(sap_session_reserve(&t->part.aside, &p->hold, bytes));
    *address = t->session.driver->address(p->hold.mem);
    return SAP_DRIVER_OK;
}

static int hold(struct sap_tree *tree, size_t bytes, void **address)
{
    struct sap_gpu_built built;
    const int status = sap_gpu_aside_begin(of(tree), &built);
    *address = NULL;
    return status ? status : sap_gpu_aside_end(of(tree), reserve_hold(of(tree), bytes, address));
}

static int write_hold(struct sap_gpu_host_tree *t, const void *from, size_t bytes)
{
    TRY(sap_session_copy_in(&t->part.aside, t->part.port.hold.mem, 0, from, bytes));
    return sap_session_wait(&t->part.aside);
}

static int write(struct sap_tree *tree, const void *from, size_t bytes)
{
    struct sap_gpu_built built;
    const int status = sap_gpu_aside_begin(of(tree), &built);
    return status ? status : sap_gpu_aside_end(of(tree), write_hold(of(tree), from, bytes));
}

static int read(struct sap_tree *tree, void *to, size_t bytes)
{
    struct sap_gpu_host_tree *const t = of(tree);
    struct sap_gpu_built built;
    const int status = sap_gpu_aside_begin(t, &built);
    return status ? status
                  : sap_gpu_aside_end(t, sap_session_download(&t->part.aside, to, &t->part.port.hold, 0, bytes));
}

/* ---- transfers --------------------------------------------------------------------------------- */

static void *stream(struct sap_tree *tree)
{
    const struct sap_gpu_session *const s = &of(tree)->part.aside;
    return s->driver->native_stream(s->stream);
}

static int note_started(struct sap_gpu_host_tree *t)
{
    const struct sap_driver *const d = t->session.driver;
    struct sap_gpu_port *const p = &t->part.port;
    if (!p->moved) TRY(d->event_create(t->session.device->dev, &p->moved));
    return d->event_record(p->moved, t->part.aside.stream);
}

static int started(struct sap_tree *tree)
{
    struct sap_gpu_built built;
    const int status = sap_gpu_aside_begin(of(tree), &built);
    return status ? status : sap_gpu_aside_end(of(tree), note_started(of(tree)));
}

static int state(struct sap_tree *tree)
{
    struct sap_gpu_host_tree *const t = of(tree);
    struct sap_gpu_built built;
    const int begun = sap_gpu_aside_begin(t, &built);
    if (begun) return begun;
    const int status = t->session.driver->event_query(t->part.port.moved);
    const int ended = sap_gpu_aside_end(t, status == SAP_DRIVER_PENDING ? (int)SAP_DRIVER_OK : status);
    return ended ? ended : status == SAP_DRIVER_PENDING ? (int)SAP_TRAVEL_UNDER_WAY : (int)SAP_TRAVEL_DONE;
}

/* ---- halos --------------------------------------------------------------------------------------- */

static int made(struct sap_tree *tree, struct sap_halo_room *at)
{
    struct sap_gpu_host_tree *const t = of(tree);
    const struct sap_gpu_selection *const s = &t->part.selection;
    const struct sap_driver *const d = t->session.driver;
    *at = (struct sap_halo_room){.node = s->sent > 0 ? d->address(s->made.mem) : NULL,
                                 .x = s->sent > 0 ? d->address(s->made_x.mem) : NULL};
    return SAPPORO_OK;
}

static int make_room(struct sap_gpu_host_tree *t, int nodes, int n, struct sap_halo_room *at)
{
    const struct sap_driver *const d = t->session.driver;
    struct sap_gpu_port *const p = &t->part.port;
    TRY(sap_gpu_aside_open(t));
    TRY(sap_session_reserve(&t->part.aside, &p->in, ((size_t)nodes + 1) * sizeof *at->node));
    TRY(sap_gpu_halo_reserve(&t->part.aside, &t->part.halo, nodes, n));
    *at = (struct sap_halo_room){.node = d->address(p->in.mem), .x = d->address(t->part.halo.sorted.mem)};
    return SAP_DRIVER_OK;
}

static int receive(struct sap_tree *tree, int nodes, int n, struct sap_halo_room *at)
{
    struct sap_gpu_built built;
    const int status = sap_gpu_aside_begin(of(tree), &built);
    return status ? status : sap_gpu_aside_end(of(tree), make_room(of(tree), nodes, n, at));
}

static int join_arrived(struct sap_gpu_host_tree *t, const struct sap_gpu_built *built, int parts,
                        const int (*count)[2])
{
    struct sap_gpu_session *const s = &t->part.aside;
    struct sap_gpu_port *const p = &t->part.port;
    const size_t many = 3 * (size_t)parts;
    int *const first = sap_session_host_memory(s, many, sizeof *first);
    if (!first) return SAP_DRIVER_MEMORY;
    const struct sap_gpu_arrived a = sap_gpu_halo_table(parts, count, 0, first);
    int status = sap_session_reserve(s, &p->first, many * sizeof *first);
    if (!status) status = sap_session_copy_in(s, p->first.mem, 0, first, many * sizeof *first);
    if (!status) status = sap_gpu_halo_join(&t->part.halo, built, &p->in, &p->first, &a);
    const int waited = sap_session_wait(s); /* for the table, and because walks are in another stream */
    free(first);
    return status ? status : waited;
}

static int join(struct sap_tree *tree, int parts, const int (*count)[2])
{
    struct sap_gpu_built built;
    const int status = sap_gpu_aside_begin(of(tree), &built);
    return status ? status : sap_gpu_aside_end(of(tree), join_arrived(of(tree), &built, parts, count));
}

/* ---- records --------------------------------------------------------------------------------------- */

static int records(struct sap_tree *tree, int n, void **out, void **in)
{
    struct sap_gpu_host_tree *const t = of(tree);
    const struct sap_driver *const d = t->session.driver;
    struct sap_gpu_bodies *const b = &t->part.bodies;
    const size_t bytes = ((size_t)n + 1) * sizeof(double[SAP_BODY]);
    int status = sap_session_begin(&t->session);
    if (status) return status;
    status = sap_session_reserve(&t->session, &b->out, bytes);
    if (!status) status = sap_session_reserve(&t->session, &b->in, bytes);
    if (!status) *out = d->address(b->out.mem), *in = d->address(b->in.mem);
    return sap_session_end(&t->session, status);
}

const struct sap_tree_port_ops sap_gpu_port_ops = {.describe = describe,
                                                   .enter = enter,
                                                   .leave = leave,
                                                   .hold = hold,
                                                   .write = write,
                                                   .read = read,
                                                   .stream = stream,
                                                   .started = started,
                                                   .state = state,
                                                   .made = made,
                                                   .receive = receive,
                                                   .join = join,
                                                   .records = records};
