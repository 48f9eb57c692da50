/* gpu_positions.c - see gpu_positions.h. */
#include "gpu/tree/gpu_positions.h"

#include <stdatomic.h>
#include <string.h>

#include "base/structs.h"
#include "engine/periodic.h"
#include "gpu/gpu_launch.h"

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

/* Positions on their way to the device. */
struct sending {
    const sapporo_tree_request *r;
    const struct sap_cube *cube;
    double unit, period;
    atomic_int bad; /* positions that were replaced */
};

static void fill_positions(void *argument, void *to, int first, int n)
{
    struct sending *const s = argument;
    double(*const chunk)[4] = to;
    int bad = 0;
    for (int k = 0; k < n; k++) {
        bad += !sap_gpu_positions_read(s->r, first + k, s->cube, s->unit, s->period, chunk[k]);
        chunk[k][3] = 1; /* mass, for the centre of mass of a group */
    }
    if (bad > 0) atomic_fetch_add(&s->bad, bad);
}

int sap_gpu_positions_upload(struct sap_gpu_positions *p, struct sap_gpu_session *s, const sapporo_tree_request *r,
                             const struct sap_cube *cube, double unit, double period, int *bad)
{
    const size_t each = 4 * sizeof(double);
    struct sending all = {.r = r, .cube = cube, .unit = unit, .period = period};
    TRY(sap_session_reserve(s, &p->given, (size_t)r->ni * each));
    TRY(sap_session_upload(s, &p->given, each, r->ni, fill_positions, &all));
    *bad = atomic_load(&all.bad);
    return SAP_DRIVER_OK;
}

void sap_gpu_positions_free(const struct sap_driver *driver, struct sap_gpu_positions *p)
{
    sap_gpu_free(driver, &p->given);
    sap_gpu_free(driver, &p->a);
    sap_gpu_targets_free(driver, &p->targets);
}
