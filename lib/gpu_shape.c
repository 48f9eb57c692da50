/*
 * gpu_shape.c - launch shapes: how a force is cut into blocks.  Nothing here can change a bit of a result.
 *
 * Many i-particles: a thread holds some and walks all j-particles of a
 * superpacket.  Few: a warp holds some and its lanes share the superpacket.
 */
#include "gpu_engine.h"

static int blocks(int n, int of) { return (n + of - 1) / of; }

struct sap_gpu_shape sap_gpu_choose_shape(const struct sap_device_set *set, const struct sap_gpu_device *device, int ni,
                                          int superpackets, int predicted)
{
    const int units = device->properties.units > 0 ? device->properties.units : 1;
    const int many_rows = SAP_GPU_MANY_THREADS * sap_gpu_many_ipt[1];
    struct sap_gpu_shape s = {.many = 1, .which = 1, .rows_per_group = many_rows};
    (void)set;
    const int few = ni < SAP_GPU_FEW_WARPS * 4 ? 0 : 1; /* one i-particle a warp, or four */
    if (device->kernels->few_groups[few] == 0) return s;
    if ((long long)blocks(ni, many_rows) * superpackets >= 8LL * units) return s;
    const int rows = SAP_GPU_FEW_WARPS * sap_gpu_few_ipt[few]; /* that a block takes at a time */
    const int wanted = blocks(device->kernels->few_groups[few] * units, superpackets > 0 ? superpackets : 1);
    const int turns = blocks(ni, rows), chunks = turns < wanted ? turns : wanted;
    s.many = 0;
    s.which = few;
    s.rows_per_group = blocks(turns, chunks > 0 ? chunks : 1) * rows;
    s.fused = !predicted && blocks(ni, s.rows_per_group) <= 2;
    return s;
}
