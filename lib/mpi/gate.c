/* gate.c - see gate.h: functions of libsapporo for a context or for a tree. */
#include "mpi/gate.h"

#include "context/internals.h"

int sap_gate_device(const struct sap_gate *g, struct sap_travel_device *device)
{
    return g->tree ? sapporo_internals()->port_device(*g->tree, device)
                   : sapporo_internals()->travel_device(g->context, device);
}

const char *sap_gate_error(const struct sap_gate *g)
{
    return g->tree ? sapporo_tree_last_error(*g->tree) : sapporo_last_error(g->context);
}

int sap_gate_enter(const struct sap_gate *g)
{
    return g->tree ? sapporo_internals()->port_enter(*g->tree) : sapporo_internals()->travel_enter(g->context);
}

void sap_gate_leave(const struct sap_gate *g)
{
    if (g->tree)
        sapporo_internals()->port_leave(*g->tree);
    else
        sapporo_internals()->travel_leave(g->context);
}

int sap_gate_hold(const struct sap_gate *g, size_t bytes, void **address)
{
    return g->tree ? sapporo_internals()->port_hold(*g->tree, bytes, address)
                   : sapporo_internals()->travel_hold(g->context, bytes, address);
}

int sap_gate_write(const struct sap_gate *g, const void *from, size_t bytes)
{
    return g->tree ? sapporo_internals()->port_write(*g->tree, from, bytes)
                   : sapporo_internals()->travel_write(g->context, from, bytes);
}

int sap_gate_read(const struct sap_gate *g, void *to, size_t bytes)
{
    return g->tree ? sapporo_internals()->port_read(*g->tree, to, bytes)
                   : sapporo_internals()->travel_read(g->context, to, bytes);
}

/* What a tree sends is complete when it tells where it is. */
int sap_gate_packed(const struct sap_gate *g)
{
    return g->tree ? (int)SAPPORO_OK : sapporo_internals()->travel_packed(g->context);
}

void *sap_gate_stream(const struct sap_gate *g)
{
    return g->tree ? sapporo_internals()->port_stream(*g->tree) : sapporo_internals()->travel_stream(g->context);
}

int sap_gate_started(const struct sap_gate *g)
{
    return g->tree ? sapporo_internals()->port_started(*g->tree) : sapporo_internals()->travel_started(g->context);
}

int sap_gate_state(const struct sap_gate *g)
{
    return g->tree ? sapporo_internals()->port_state(*g->tree) : sapporo_internals()->travel_state(g->context);
}
