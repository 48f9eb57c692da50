/* finish.cu - kernels that turn records into results. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define SAP_EARLY 1 /* kernels wait for those before them, and so begin early */
#endif
#include "device/finish.h"
