/* cpu_nodes.c - memory of the nodes of a tree or of its halo. */
#include <stdlib.h>
#include <string.h>

#include "cpu/tree/cpu_tree.h"

enum { WORD_COLUMNS = 6 }; /* of sap_tree_words */

size_t sap_cpu_bytes_of_nodes(size_t room)
{
    struct sap_cpu_nodes *t = NULL;
    return room * (2 * sizeof *t->node + sizeof *t->cell + sizeof *t->source + WORD_COLUMNS * sizeof(float));
}

void sap_cpu_free_nodes(struct sap_cpu_nodes *t)
{
    free(t->x);
    free(t->h);
    free(t->node);
    free(t->cell);
    free(t->word);
    free(t->source);
    free(t->of_node);
    memset(t, 0, sizeof *t);
}

int sap_cpu_reserve_cells(struct sap_cpu_nodes *t, int nodes)
{
    const size_t room = (size_t)nodes, column = (room + 31) / 16 * 16;
    if (nodes <= t->cell_room) return SAPPORO_OK;
    struct sap_cell *const cell = malloc(room * sizeof *cell);
    struct sap_tree_source *const source = malloc(room * sizeof *source);
    float *const word = aligned_alloc(64, WORD_COLUMNS * column * sizeof *word);
    double *const of_node = malloc((room * (size_t)t->words + 1) * sizeof *of_node);
    if (!cell || !source || !word || !of_node) {
        free(cell);
        free(source);
        free(word);
        free(of_node);
        return SAPPORO_ERR_MEMORY;
    }
    free(t->cell);
    free(t->source);
    free(t->word);
    free(t->of_node);
    t->of_node = of_node;
    t->cell = cell;
    t->source = source;
    t->word = word;
    t->cell_room = nodes;
    t->words_of = (struct sap_tree_words){
        word, word + column, word + 2 * column, word + 3 * column, word + 4 * column, word + 5 * column};
    return SAPPORO_OK;
}
