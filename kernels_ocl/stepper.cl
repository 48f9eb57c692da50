/* stepper.cl - kernels that integrate orbits, on devices with double precision. */
#if !defined(SAP_NO_FP64) || !SAP_NO_FP64
#include "device/stepper.h"
#endif
