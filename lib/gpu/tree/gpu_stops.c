/* gpu_stops.c - writes a tree on an accelerator in depth-first order, for the walk of single particles. */
#include "gpu/gpu_launch.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_primitives.h"
#include "gpu/tree/gpu_kernels.h"
#include "gpu/tree/gpu_tree.h"

enum { FAR_LEVEL = 0x7F }; /* each byte of a level that is larger than any */

/* Counts the cells that begin before each sorted particle; waits for their number. */
static int count_cells(struct sap_gpu_host_tree *t, int *cells)
{
    struct sap_gpu_tree_told *const told = t->told.host;
    const size_t begins = ((size_t)t->n + 1) * sizeof(int);
    size_t at;
    TRY(sap_session_reserve(&t->session, &t->stop_begin, begins));
    TRY(sap_session_reserve(&t->session, &t->stop_top, begins));
    TRY(sap_session_reserve(&t->session, &t->session.scratch, sap_primitives_scratch(t->n + 1)));
    TRY(sap_session_fill(&t->session, t->stop_begin.mem, 0, 0, begins));
    TRY(sap_session_fill(&t->session, t->stop_top.mem, 0, FAR_LEVEL, begins));
    TRY(sap_launch_tree_stop_count(&t->session, t->f, t->t.nodes, t->node.mem, t->node_level.mem, t->stop_begin.mem,
                                   t->stop_top.mem, t->t));
    TRY(sap_primitives_scan(t->session.primitives, t->session.stream, t->stop_begin.mem, t->stop_begin.mem, t->n + 1,
                            t->session.scratch.mem, &at));
    TRY(sap_session_copy_out(&t->session, &told->stop_cells, t->session.scratch.mem, at, sizeof(int)));
    TRY(sap_session_wait(&t->session));
    *cells = told->stop_cells;
    return SAP_DRIVER_OK;
}

int sap_gpu_tree_make_stops(struct sap_gpu_host_tree *t)
{
    int cells;
    if (t->stops > 0) return SAP_DRIVER_OK;
    TRY(count_cells(t, &cells));
    const size_t stops = (size_t)cells + (size_t)t->n;
    TRY(sap_session_reserve(&t->session, &t->stop, stops * SAP_STOP_PARTS * 2 * sizeof(double)));
    TRY(sap_launch_tree_stop_cells(&t->session, t->f, t->t.nodes, t->node.mem, t->node_level.mem, t->stop_begin.mem,
                                   t->stop_top.mem, t->word.mem, t->source.mem, t->stop.mem, t->t));
    TRY(sap_launch_tree_stop_particles(&t->session, t->f, t->n, t->own.sorted.mem, t->stop_begin.mem, t->stop.mem,
                                       t->t));
    t->stops = (int)stops;
    return SAP_DRIVER_OK;
}
