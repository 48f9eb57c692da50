/* lists.cu - kernels of neighbour lists. */
#include "device/lists.h"
