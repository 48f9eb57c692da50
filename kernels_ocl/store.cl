/* store.cl - kernels that keep the j-store. */
#include "device/arrivals.h"
#include "device/caller.h"
