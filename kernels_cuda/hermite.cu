/* hermite.cu - kernels of Hermite schemes. */
#include "device/hermite.h"
