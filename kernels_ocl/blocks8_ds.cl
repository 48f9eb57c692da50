/* blocks8_ds.cl - several block steps of order 8 in the precision ds by one kernel, with double precision. */
#if !defined(SAP_NO_FP64) || !SAP_NO_FP64
#define SAP_KERNEL_ORDER 8
#define SAP_KERNEL_DS
#include "device/blocks.h"
#endif
