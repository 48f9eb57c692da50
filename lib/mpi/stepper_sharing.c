/*
 * stepper_sharing.c - sources of steppers over ranks of direct sums whose particles are on devices: records go from
 * each rank to all, by the transport of the direct sums (struct sap_step_sharing).
 */
#include <stdio.h>

#include "mpi/handle.h"
#include "mpi/stepper.h"

static sapporo_mpi_stepper *of_hook(void *of) { return of; }

/* Notes an error of this rank. */
static void note(sapporo_mpi_stepper *h, int status, const char *text)
{
    if (status) (void)sap_link_note(&h->link, status, text[0] ? text : sapporo_mpi_status_text(status));
}

static int announce(void *of, int status, const char *text, int rows, int *any)
{
    static const char *const name[2] = {NULL, NULL};
    sapporo_mpi_stepper *const h = of_hook(of);
    const double field[2] = {rows, *any};
    if (h->link.broken) return h->link.broken;
    note(h, status, text);
    status = sap_link_compare(&h->link, status, 2, field, name);
    if (status) h->agreed = 1;
    if (status) return sap_mpi_stepper_note(h, status, h->link.error);
    for (int k = 0; k < h->link.size; k++) *any |= sap_link_field(&h->link, k, 1) != 0;
    h->sharing.rows = sap_mpi_stepper_route(h, &h->rows_of_all, 0, rows);
    h->sharing.ahead = h->rows_of_all.got_at[h->link.rank];
    return SAPPORO_OK;
}

static int gather(void *of, int of_rows, size_t each, const void *own, void *all)
{
    sapporo_mpi_stepper *const h = of_hook(of);
    sapporo_mpi *const sums = sap_mpi_find(h->sums);
    if (h->link.size == 1 || !sums) return SAPPORO_OK;
    struct sap_wire wire = {.out = own, .in = all, .each = each, .by = &sums->carrier};
    const int status = sap_exchange(&sums->link, of_rows ? &h->rows_of_all : &h->sources, &wire);
    return sap_mpi_stepper_note(h, status, sums->link.error);
}

static int agree(void *of, int status, const char *text)
{
    sapporo_mpi_stepper *const h = of_hook(of);
    if (h->link.broken) return h->link.broken;
    if (status && h->words[0]) /* of the direct sums, with the rank */
        (void)snprintf(h->link.error, sizeof h->link.error, "%s", h->words);
    else
        note(h, status, text);
    status = sap_link_agree(&h->link, status);
    if (status) h->agreed = 1;
    return sap_mpi_stepper_note(h, status, h->link.error);
}

int sap_mpi_stepper_share(sapporo_mpi_stepper *h)
{
    h->sharing.announce = announce;
    h->sharing.gather = gather;
    h->sharing.agree = agree;
    if (!sap_route_reserve(&h->sources, h->link.size) && !sap_route_reserve(&h->rows_of_all, h->link.size))
        return SAPPORO_OK;
    return sap_link_fail(&h->link, SAPPORO_ERR_MEMORY, "%s: out of memory for %d ranks", h->call, h->link.size);
}
