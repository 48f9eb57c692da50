/* gpu_stops.c - see gpu_stops.h. */
#include "gpu/tree/gpu_stops.h"

#include "gpu/gpu_launch.h"
#include "gpu/gpu_primitives.h"
#include "gpu/tree/gpu_kernels.h"

enum { FAR_LEVEL = 0x7F }; /* each byte of a level that is larger than any */

/* Counts the cells that begin before each sorted particle; waits for their number. */
static int count_cells(struct sap_gpu_stops *stops, const struct sap_gpu_built *of, int *cells)
{
    struct sap_gpu_session *const s = of->session;
    const struct sap_gpu_nodes *const nodes = of->nodes;
    const int n = of->own->n;
    const size_t begins = ((size_t)n + 1) * sizeof(int);
    size_t at;
    TRY(sap_session_reserve(s, &stops->begin, begins));
    TRY(sap_session_reserve(s, &stops->top, begins));
    TRY(sap_session_reserve(s, &s->scratch, sap_primitives_scratch(n + 1)));
    TRY(sap_session_fill(s, stops->begin.mem, 0, 0, begins));
    TRY(sap_session_fill(s, stops->top.mem, 0, FAR_LEVEL, begins));
    TRY(sap_launch_tree_stop_count(s, of->f, nodes->n, nodes->link.mem, nodes->level.mem, stops->begin.mem,
                                   stops->top.mem, *of->frame));
    TRY(sap_primitives_scan(s->primitives, s->stream, stops->begin.mem, stops->begin.mem, n + 1, s->scratch.mem, &at));
    TRY(sap_session_copy_out(s, cells, s->scratch.mem, at, sizeof *cells));
    return sap_session_wait(s);
}

int sap_gpu_stops_make(struct sap_gpu_stops *stops, const struct sap_gpu_built *of, int *cells)
{
    const struct sap_gpu_session *const s = of->session;
    const struct sap_gpu_nodes *const nodes = of->nodes;
    if (stops->n > 0) return SAP_DRIVER_OK;
    TRY(count_cells(stops, of, cells));
    const size_t n = (size_t)*cells + (size_t)of->own->n;
    TRY(sap_session_reserve(s, &stops->stop, n * SAP_STOP_PARTS * 2 * sizeof(double)));
    TRY(sap_launch_tree_stop_cells(s, of->f, nodes->n, nodes->link.mem, nodes->level.mem, stops->begin.mem,
                                   stops->top.mem, nodes->word.mem, nodes->source.mem, stops->stop.mem, *of->frame));
    TRY(sap_launch_tree_stop_particles(s, of->f, of->own->n, of->own->sorted.mem, stops->begin.mem, stops->stop.mem,
                                       *of->frame));
    stops->n = (int)n;
    return SAP_DRIVER_OK;
}

void sap_gpu_stops_free(const struct sap_driver *driver, struct sap_gpu_stops *stops)
{
    sap_gpu_free(driver, &stops->begin);
    sap_gpu_free(driver, &stops->top);
    sap_gpu_free(driver, &stops->stop);
    stops->n = 0;
}
