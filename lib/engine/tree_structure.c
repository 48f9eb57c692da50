/* tree_structure.c - copies cells into sap_tree_structure, which tests compare between engines; extents of groups. */
#include <stdlib.h>
#include <string.h>

#include "engine/tree_structure.h"
#include "physics/scalars.h"

void sap_tree_tell_cell(const struct sap_cell *cell, int k, struct sap_tree_structure *s)
{
    s->mass[k] = cell->mass;
    if (s->weight) s->weight[k] = cell->weight;
    memcpy(s->centre[k], cell->centre, sizeof s->centre[k]);
    memcpy(s->low[k], cell->low, sizeof s->low[k]);
    memcpy(s->high[k], cell->high, sizeof s->high[k]);
    memcpy(s->q[k], cell->q, sizeof s->q[k]);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void sap_tree_extents(double *extent, int groups, double *median, double *largest)
{
    *median = *largest = 0;
    if (groups == 0) return;
    qsort(extent, (size_t)groups, sizeof *extent, by_size);
    *median = extent[groups / 2];
    *largest = extent[groups - 1];
}
