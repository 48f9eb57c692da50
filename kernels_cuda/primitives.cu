/* primitives.cu - scans, sorts, compaction and bounds. */
#define SORT_LONG SAP_SORT_LONGEST
#include "device/primitives.h"
#include "device/sort.h"
