/* finish.cl - kernels that turn records into results. */
#include "device/finish.h"
