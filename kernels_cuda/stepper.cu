/* stepper.cu - kernels that integrate orbits. */
#include "device/stepper.h"
