/* gpu_ahead.c - a build for a later time on an accelerator, from positions extrapolated from those of earlier calls. */
#include "engine/tree_limits.h"
#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_kernels.h"
#include "gpu/tree/gpu_tree.h"

int sap_gpu_tree_past(struct sap_gpu_host_tree *t, int keeps)
{
    const size_t each = 4 * sizeof(double);
    for (int k = 0; k < 2; k++)
        TRY(sap_session_reserve(&t->session, &t->past_x[k], ((size_t)t->given.room + 1) * each));
    if (!keeps) return SAP_DRIVER_OK;
    const struct sap_gpu_buffer oldest = t->past_x[1];
    t->past_x[1] = t->past_x[0];
    t->past_x[0] = oldest;
    t->past[1] = t->past[0];
    t->past[0] = -1;
    if (t->given.n > 0)
        TRY(sap_session_copy(&t->session, t->past_x[0].mem, 0, t->given.particle.mem, 0, (size_t)t->given.n * each));
    t->past[0] = t->given.n;
    return SAP_DRIVER_OK;
}

static void exchange_particles(struct sap_gpu_host_tree *t)
{
    const struct sap_gpu_buffer particle = t->given.particle;
    t->given.particle = t->past_x[1];
    t->past_x[1] = particle;
}

int sap_gpu_tree_build_ahead(struct sap_gpu_host_tree *t, double lead)
{
    const int n = t->given.n, bends = t->past[1] == n;
    if (n == 0 || t->past[0] != n) return sap_gpu_tree_build(t);
    TRY(sap_gpu_tree_check_range(t));
    t->past[1] = -1;
    TRY(sap_launch_tree_ahead(&t->session, t->f, n, t->given.particle.mem, t->past_x[0].mem, t->past_x[1].mem, bends,
                              lead, SAP_TREE_LIMIT, n));
    exchange_particles(t);
    const int status = sap_gpu_tree_build(t);
    exchange_particles(t);
    if (t->out_of_range) {
        t->out_of_range = 0;
        return sap_gpu_tree_build(t);
    }
    if (status) return status;
    const sapporo_tree_statistics built = t->done;
    TRY(sap_gpu_tree_refresh(t));
    for (int phase = SAPPORO_PHASE_SORT; phase <= SAPPORO_PHASE_MOMENTS; phase++)
        t->done.seconds[phase] += built.seconds[phase];
    return SAP_DRIVER_OK;
}
