/*
 * step_order.h - the order in which an engine gives the particles of a stepper to its forces.
 *
 * Particles of mass 0, of either sign, are massless: they feel forces and exert none.  A particle has a slot.  The
 * particles with mass have the slots 0 .. massive-1, in order of address, and the massless ones the slots that follow,
 * in order of address.  So a tree, or the sources of direct sums, are the first slots.  If the massless particles come
 * last, slots are addresses, and there are no arrays.
 */
#ifndef SAP_STEP_ORDER_H
#define SAP_STEP_ORDER_H

#include "sapporo.h"

struct sap_step_order {
    int n, massive;
    int *slot;    /* [n] by address; NULL: slots are addresses */
    int *address; /* [n] by slot; NULL too */
};

/* Makes the order of n particles; frees the arrays of the order before.  A sapporo_status; after an error n is 0. */
int sap_step_order_make(struct sap_step_order *order, int n, const sapporo_column *mass);

void sap_step_order_free(struct sap_step_order *order);

static inline int sap_step_slot(const struct sap_step_order *order, int address)
{
    return order->slot ? order->slot[address] : address;
}

static inline int sap_step_address(const struct sap_step_order *order, int slot)
{
    return order->address ? order->address[slot] : slot;
}

#endif
