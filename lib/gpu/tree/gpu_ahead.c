/* gpu_ahead.c - see gpu_ahead.h. */
#include "gpu/tree/gpu_ahead.h"

#include "engine/tree_limits.h"
#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_kernels.h"

int sap_gpu_ahead_keep(struct sap_gpu_ahead *past, const struct sap_gpu_session *s, const struct sap_gpu_given *given,
                       int keeps)
{
    const size_t each = 4 * sizeof(double);
    for (int k = 0; k < 2; k++) TRY(sap_session_reserve(s, &past->x[k], ((size_t)given->room + 1) * each));
    if (!keeps) return SAP_DRIVER_OK;
    sap_gpu_exchange(&past->x[0], &past->x[1]);
    past->n[1] = past->n[0];
    past->n[0] = -1;
    if (given->n > 0) TRY(sap_session_copy(s, past->x[0].mem, 0, given->particle.mem, 0, (size_t)given->n * each));
    past->n[0] = given->n;
    return SAP_DRIVER_OK;
}

int sap_gpu_ahead_extrapolate(struct sap_gpu_ahead *past, const struct sap_gpu_session *s,
                              const struct sap_gpu_given *given, double lead, double period)
{
    const int n = given->n, bends = past->n[1] == n;
    past->n[1] = -1;
    return sap_launch_tree_ahead(s, given->f, n, given->particle.mem, past->x[0].mem, past->x[1].mem, bends, lead,
                                 SAP_TREE_LIMIT, period, n);
}

void sap_gpu_ahead_exchange(struct sap_gpu_ahead *past, struct sap_gpu_given *given)
{
    sap_gpu_exchange(&past->x[1], &given->particle);
}

void sap_gpu_ahead_free(const struct sap_driver *driver, struct sap_gpu_ahead *past)
{
    sap_gpu_free(driver, &past->x[0]);
    sap_gpu_free(driver, &past->x[1]);
}
