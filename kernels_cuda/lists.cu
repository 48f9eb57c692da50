/* lists.cu - kernels of neighbour lists, and of batches with second moments or counts of neighbours. */
#include "device/batch_more.h"
#include "device/lists.h"
