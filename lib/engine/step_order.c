/* step_order.c - puts particles with mass before massless ones. */
#include "engine/step_order.h"

#include <stdlib.h>

#include "base/structs.h"

static int is_massive(const sapporo_column *mass, int i) { return sap_column_double(mass, i) != 0; }

void sap_step_order_free(struct sap_step_order *order)
{
    free(order->slot);
    free(order->address);
    *order = (struct sap_step_order){.n = 0};
}

int sap_step_order_make(struct sap_step_order *order, int n, const sapporo_column *mass)
{
    int massive = 0, last = -1;
    sap_step_order_free(order);
    for (int i = 0; i < n; i++)
        if (is_massive(mass, i)) massive++, last = i;
    if (last + 1 > massive) {
        int next = 0, massless = massive;
        order->slot = malloc((size_t)n * sizeof *order->slot);
        order->address = malloc((size_t)n * sizeof *order->address);
        if (!order->slot || !order->address) {
            sap_step_order_free(order);
            return SAPPORO_ERR_MEMORY;
        }
        for (int i = 0; i < n; i++) {
            const int slot = is_massive(mass, i) ? next++ : massless++;
            order->slot[i] = slot;
            order->address[slot] = i;
        }
    }
    order->n = n;
    order->massive = massive;
    return SAPPORO_OK;
}
