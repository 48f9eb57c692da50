/* hermite.cl - kernels of Hermite schemes, on devices with double precision. */
#if !defined(SAP_NO_FP64) || !SAP_NO_FP64
#include "device/hermite.h"
#endif
