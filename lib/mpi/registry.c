/* registry.c - makes, lists and finds the objects behind handles (registry.h). */
#include "mpi/registry.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "mpi/handle.h"
#include "mpi/stepper.h"
#include "mpi/tree.h"

/* State of the process (base/process.h). */
static struct sap_lock list_lock; /* guards list */
static struct sap_listed *list;
static atomic_uintptr_t last_number;

/* The spare objects, one of each kind. */
static union {
    struct sap_listed listed;
    struct sapporo_mpi sums;
    struct sapporo_mpi_tree tree;
    struct sapporo_mpi_stepper stepper;
} spare[SAP_LISTED_KINDS];
static atomic_int spare_is_used[SAP_LISTED_KINDS];

uintptr_t sap_mpi_number(void) { return 2 * atomic_fetch_add(&last_number, 1) + 1; }

void *sap_listed_make(enum sap_listed_kind kind, size_t bytes)
{
    struct sap_listed *o = calloc(1, bytes);
    if (!o && !atomic_exchange(&spare_is_used[kind], 1)) {
        o = &spare[kind].listed;
        memset(o, 0, bytes);
        o->is_spare = 1;
    }
    if (o) o->kind = kind;
    return o;
}

void sap_listed_free(struct sap_listed *o)
{
    if (o->is_spare)
        atomic_store(&spare_is_used[o->kind], 0);
    else
        free(o);
}

void *sap_listed_give(struct sap_listed *o)
{
    o->number = sap_mpi_number();
    sap_lock(&list_lock);
    o->next = list;
    list = o;
    sap_unlock(&list_lock);
    return (void *)o->number;
}

void sap_listed_withdraw(struct sap_listed *o)
{
    sap_lock(&list_lock);
    struct sap_listed **at = &list;
    while (*at && *at != o) at = &(*at)->next;
    if (*at) *at = o->next;
    sap_unlock(&list_lock);
}

void *sap_listed_search(enum sap_listed_kind kind, int (*is)(const struct sap_listed *, uintptr_t), uintptr_t number)
{
    sap_lock(&list_lock);
    struct sap_listed *o = list;
    while (o && !(o->kind == kind && is(o, number))) o = o->next;
    sap_unlock(&list_lock);
    return o;
}

static int has_number(const struct sap_listed *o, uintptr_t number) { return o->number == number; }

void *sap_listed_find(enum sap_listed_kind kind, const void *handle)
{
    return sap_listed_search(kind, has_number, (uintptr_t)handle);
}
