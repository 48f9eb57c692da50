/* gpu_positions.c - see gpu_positions.h. */
#include "gpu/tree/gpu_positions.h"

#include <string.h>

#include "base/structs.h"
#include "engine/periodic.h"
#include "gpu/gpu_launch.h"

enum { CHUNK = SAP_SESSION_CHUNK };

int sap_gpu_positions_read(const sapporo_tree_request *r, int i, const struct sap_cube *cube, double unit,
                           double period, double *x)
{
    memcpy(x, sap_column_at(&r->x, i, 3 * sizeof *x), 3 * sizeof *x);
    sap_periodic_inside(period, x);
    const int is_long = period > 0 && !(2 * sap_column_double(&r->h, i) < period);
    if (!is_long && sap_cube_is_position(cube, unit, x) && sap_cube_is_length(sap_column_double(&r->h, i), unit))
        return 1;
    memcpy(x, cube->low, sizeof cube->low);
    return 0;
}

int sap_gpu_positions_upload(struct sap_gpu_positions *p, const struct sap_gpu_session *s,
                             const sapporo_tree_request *r, const struct sap_cube *cube, double unit, double period,
                             int *bad)
{
    double(*const chunk)[4] = s->chunk.host;
    *bad = 0;
    TRY(sap_session_reserve(s, &p->given, (size_t)r->ni * sizeof *chunk));
    for (int first = 0; first < r->ni; first += CHUNK) {
        const int n = r->ni - first < CHUNK ? r->ni - first : CHUNK;
        for (int k = 0; k < n; k++) {
            *bad += !sap_gpu_positions_read(r, first + k, cube, unit, period, chunk[k]);
            chunk[k][3] = 1; /* mass, for the centre of mass of a group */
        }
        TRY(sap_session_copy_in(s, p->given.mem, (size_t)first * sizeof *chunk, chunk, (size_t)n * sizeof *chunk));
        TRY(sap_session_wait(s));
    }
    return SAP_DRIVER_OK;
}

void sap_gpu_positions_free(const struct sap_driver *driver, struct sap_gpu_positions *p)
{
    sap_gpu_free(driver, &p->given);
    sap_gpu_free(driver, &p->a);
    sap_gpu_targets_free(driver, &p->targets);
}
