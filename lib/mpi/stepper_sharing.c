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

/* Records to every other rank, and those of all ranks one rank after the other; own ones do not move. */
static void make_route(sapporo_mpi_stepper *h, int n)
{
    struct sap_route *const r = &h->records;
    const struct sap_link *const l = &h->link;
    int ahead = 0;
    sap_route_forget(r, l->size);
    for (int k = 0; k < l->size; k++) {
        const int records = (int)sap_link_field(l, k, 0);
        if (k == l->rank) h->sharing.ahead = ahead;
        r->got_at[k] = ahead;
        if (k != l->rank) r->sent[k] = n, r->got[k] = records;
        ahead += records;
    }
    h->sharing.records = ahead;
}

static int announce(void *of, int status, const char *text, int n, int *any)
{
    static const char *const name[2] = {NULL, NULL};
    sapporo_mpi_stepper *const h = of_hook(of);
    const double field[2] = {n, *any};
    if (h->link.broken) return h->link.broken;
    note(h, status, text);
    status = sap_link_compare(&h->link, status, 2, field, name);
    if (status) h->agreed = 1;
    if (status) return sap_mpi_stepper_note(h, status, h->link.error);
    for (int k = 0; k < h->link.size; k++) *any |= sap_link_field(&h->link, k, 1) != 0;
    make_route(h, n);
    return SAPPORO_OK;
}

static int gather(void *of, size_t each, const void *own, void *all)
{
    sapporo_mpi_stepper *const h = of_hook(of);
    sapporo_mpi *const sums = sap_mpi_find(h->sums);
    if (h->link.size == 1 || !sums) return SAPPORO_OK;
    struct sap_wire wire = {.out = own, .in = all, .each = each, .by = &sums->carrier};
    return sap_mpi_stepper_note(h, sap_exchange(&sums->link, &h->records, &wire), sums->link.error);
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

void sap_mpi_stepper_share(sapporo_mpi_stepper *h)
{
    h->sharing.announce = announce;
    h->sharing.gather = gather;
    h->sharing.agree = agree;
}
