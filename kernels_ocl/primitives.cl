/* primitives.cl - scans, sorts, compaction and bounds. */
#define SORT_LONG SAP_SORT_LONG
#include "device/primitives.h"
#include "device/sort.h"
