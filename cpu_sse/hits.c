/* hits.c - memory for the candidates of neighbour lists that kernels find. */
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

int sap_hits_grow(struct sap_hits *hits, int more)
{
    const int room = 2 * (hits->n + more);
    struct sap_hit *hit = realloc(hits->hit, (size_t)room * sizeof *hit);
    if (!hit) {
        hits->failed = 1;
        return 0;
    }
    hits->hit = hit;
    hits->room = room;
    return 1;
}

void sap_hits_free(struct sap_hits *hits)
{
    free(hits->hit);
    memset(hits, 0, sizeof *hits);
}
