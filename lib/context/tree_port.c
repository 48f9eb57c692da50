/* tree_port.c - nodes and particles of trees that travel from device memory to device memory (tree_port.h). */
#include "context/tree_port.h"

#include <stdio.h>
#include <string.h>

#include "context/call.h"
#include "context/context.h"
#include "context/tree_private.h"

/* Begins a call on a tree whose engine has device memory, as sap_call_look; NULL: there is none. */
static sapporo_tree *begin(struct sap_public_call *call, sapporo_tree *handle)
{
    sapporo_tree *const t = sap_call_look(call, SAP_HANDLE_TREE, handle);
    if (!t || t->tree->ops->part->port) return t;
    sap_call_leave(call);
    return NULL;
}

/* Ends a call on a tree, unless it is NULL: sets the error of a status below 0. */
static int end(struct sap_public_call *call, sapporo_tree *t, int status)
{
    if (t && status < 0) (void)sap_context_tree_failed(t, status, "particles between processes", "");
    return sap_call_end(call, t ? status : SAPPORO_ERR_CLOSED);
}

/* The body of a function: calls an entry with the tree, whose arguments follow. */
#define ENTRY(tree, entry, ...)                                                                                        \
    struct sap_public_call call;                                                                                       \
    sapporo_tree *const t = begin(&call, tree);                                                                        \
    return end(&call, t, t ? t->tree->ops->part->port->entry(__VA_ARGS__) : SAPPORO_ERR_CLOSED)

int sap_port_device(sapporo_tree *tree, struct sap_travel_device *device)
{
    struct sap_public_call call;
    sapporo_tree *const t = sap_call_look(&call, SAP_HANDLE_TREE, tree);
    memset(device, 0, sizeof *device);
    if (!t) return SAPPORO_ERR_CLOSED;
    (void)snprintf(device->text, sizeof device->text, "%s", t->on.engine->name);
    if (t->tree->ops->part->port) t->tree->ops->part->port->describe(t->tree, device);
    return sap_call_end(&call, SAPPORO_OK);
}

int sap_port_enter(sapporo_tree *tree) { ENTRY(tree, enter, t->tree); }

void sap_port_leave(sapporo_tree *tree)
{
    struct sap_public_call call;
    sapporo_tree *const t = begin(&call, tree);
    if (t) t->tree->ops->part->port->leave(t->tree);
    sap_call_leave(&call);
}

int sap_port_hold(sapporo_tree *tree, size_t bytes, void **address) { ENTRY(tree, hold, t->tree, bytes, address); }

int sap_port_write(sapporo_tree *tree, const void *from, size_t bytes) { ENTRY(tree, write, t->tree, from, bytes); }

int sap_port_read(sapporo_tree *tree, void *to, size_t bytes) { ENTRY(tree, read, t->tree, to, bytes); }

void *sap_port_stream(sapporo_tree *tree)
{
    struct sap_public_call call;
    sapporo_tree *const t = begin(&call, tree);
    void *const stream = t ? t->tree->ops->part->port->stream(t->tree) : NULL;
    sap_call_leave(&call);
    return stream;
}

int sap_port_started(sapporo_tree *tree) { ENTRY(tree, started, t->tree); }

int sap_port_state(sapporo_tree *tree) { ENTRY(tree, state, t->tree); }

int sap_port_made(sapporo_tree *tree, struct sap_halo_room *at) { ENTRY(tree, made, t->tree, at); }

int sap_port_receive(sapporo_tree *tree, int nodes, int n, struct sap_halo_room *at)
{
    ENTRY(tree, receive, t->tree, nodes, n, at);
}

int sap_port_join(sapporo_tree *tree, int parts, const int (*count)[2]) { ENTRY(tree, join, t->tree, parts, count); }

int sap_port_records(sapporo_tree *tree, int n, void **out, void **in)
{
    *out = *in = NULL;
    ENTRY(tree, records, t->tree, n, out, in);
}
