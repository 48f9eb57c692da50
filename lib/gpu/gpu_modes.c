/* gpu_modes.c - which kernels of forces there are: how they treat pairs, and how many i-particles a thread holds. */
#include "gpu/gpu_modes.h"

#include <stddef.h>

#include "engine/engine.h"
#include "gpu/gpu_devices.h"
#include "physics/arithmetic.h"

const int sap_gpu_many_ipt[SAP_GPU_SHAPES] = {1, 2, 4};

int sap_gpu_few_ipt(int order, int shape) { return shape == 0 ? 1 : shape > 1 ? 0 : order > 4 ? 2 : 4; }

int sap_gpu_outside(const struct sap_force_request *r, unsigned extra)
{
    return r->rule == SAP_PAIRS_OUTSIDE && (extra & SAP_EXTRA_LISTS);
}

/*
 * Order 4: the mode depends on the requested results and on whether pairs at zero distance must be skipped. Two further
 * modes serve regular forces, the second with radii by mass. Other orders: see force.h. Orders 6 and 8 have few
 * kernels, all of which serve softening per i-particle, and of which all but the first skip pairs at zero distance.
 * With lengths the kernels are others of the same modes.
 */
enum {
    PLAIN,
    ZERO = SAP_GPU_MODE_ZERO,
    OWN = SAP_GPU_MODE_OWN,
    SOFT = SAP_GPU_MODE_SOFT,
    NEAR,
    SELF = SAP_GPU_MODE_SELF,
    SPLINE,
    SPLINE_NEAR,
    MODES2,
    NEAREST = OWN,
    ALL,
    MODES_HIGH,
    OUTSIDE4 = 8
};

const char *sap_gpu_mode_name(int order, int mode)
{
    static const char *const of4[] = {"n0_z0", "n0_z1", "n1_z0", "n1_z1",   "n2_z0",
                                      "n2_z1", "n3_z0", "n3_z1", "outside", "weighted"},
                             *const of2[] = {[PLAIN] = "plain", "zero",       "own", "soft", "near", "self",
                                             "spline",          "spline_near"},
                             *const of6[] = {[PLAIN] = "plain", "zero", "nearest", "all"};
    if (order > 4) return mode < MODES_HIGH ? of6[mode] : NULL;
    if (order == 2) return mode < MODES2 ? of2[mode] : NULL;
    return mode < SAP_GPU_MODES ? of4[mode] : NULL;
}

int sap_gpu_mode(const struct sap_gpu_set *set, const struct sap_force_request *r, int near)
{
    const int zero = r->eps2 < SAP_TINY_R2; /* softening of particles only adds to it */
    if (set->order == 4) return sap_gpu_outside(r, (unsigned)near) ? (int)OUTSIDE4 + r->h2_by_mass : near * 2 + zero;
    if (set->order > 4) return near > SAP_EXTRA_NEAREST ? ALL : near ? NEAREST : zero || r->eps2_i ? ZERO : PLAIN;
    if (r->spline) return near ? SPLINE_NEAR : SPLINE;
    if (near) return NEAR;
    return r->eps2_i ? SOFT : r->rule == SAP_PAIRS_SKIP_OWN ? OWN : zero ? ZERO : PLAIN;
}

int sap_gpu_has_many(const struct sap_gpu_set *set, int shape, int mode)
{
    if (set->order > 4) return sap_gpu_many_ipt[shape] == 1;
    return sap_gpu_many_ipt[shape] < 4 ||
           (set->order == 2 && set->precision != SAPPORO_DP && (mode <= ZERO || mode == SELF));
}

int sap_gpu_has_few(const struct sap_gpu_set *set, int mode) { return set->order != 2 || mode != SELF; }
