/* blocks_sp.cl - several block steps of order 4 in the precision sp by one kernel, with double precision. */
#if !defined(SAP_NO_FP64) || !SAP_NO_FP64
#define SAP_KERNEL_SP
#include "device/blocks.h"
#endif
