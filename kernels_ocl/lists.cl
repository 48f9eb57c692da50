/* lists.cl - kernels of neighbour lists. */
#include "device/lists.h"
