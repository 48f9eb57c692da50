/* words.h - the working type of one precision, for HIP: that of CUDA. */
#include "dialect.h"

#include "../kernels_cuda/words.h"
