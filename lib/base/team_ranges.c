/* team_ranges.c - numbers that the threads of a region take in chunks. */
#include "base/team.h"

void sap_items_start(struct sap_items *items, ptrdiff_t n, ptrdiff_t chunk)
{
    atomic_init(&items->next, 0);
    items->n = n;
    items->chunk = chunk;
}

ptrdiff_t sap_team_chunk(ptrdiff_t n, int threads, ptrdiff_t least)
{
    const ptrdiff_t parts = 4 * (ptrdiff_t)threads, chunk = (n + parts - 1) / parts;
    return chunk > least ? chunk : least;
}

struct ranges {
    struct sap_items items;
    sap_team_range *range;
    void *argument;
};

static void take_ranges(void *argument, int thread)
{
    struct ranges *const r = argument;
    ptrdiff_t from, to;
    (void)thread;
    while (sap_items_take(&r->items, &from, &to)) r->range(r->argument, from, to);
}

void sap_team_for(int threads, ptrdiff_t n, ptrdiff_t chunk, sap_team_range *range, void *argument)
{
    struct ranges r = {.range = range, .argument = argument};
    if (n <= 0) return;
    sap_items_start(&r.items, n, threads > 1 ? chunk : n);
    const ptrdiff_t chunks = (n + r.items.chunk - 1) / r.items.chunk;
    sap_team_run(chunks < threads ? (int)chunks : threads, take_ranges, &r);
}
