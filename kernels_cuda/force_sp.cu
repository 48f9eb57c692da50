/* force_sp.cu - kernels of the precision sp. */
#define SAP_KERNEL_SP
#include "force.h"

extern "C" __global__ void __launch_bounds__(256) NAMED(predict)(const double *store, part *predicted, sap_gpu_force f)
{
    const int a = blockIdx.x * blockDim.x + threadIdx.x, sp = a / SAP_GPU_SUPERPACKET;
    part p[PARTS];
    if (sp >= f.superpackets) return;
    predict_one(store, f, sp, a % SAP_GPU_SUPERPACKET, p);
    for (int w = 0; w < PARTS; w++)
        predicted[((size_t)sp * PARTS + w) * SAP_GPU_SUPERPACKET + a % SAP_GPU_SUPERPACKET] = p[w];
}

SAP_ALL(SAP_MANY, 1)
SAP_ALL(SAP_MANY, 2)
SAP_ALL(SAP_FEW, 1)
SAP_ALL(SAP_FEW, 4)
