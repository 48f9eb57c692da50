/* option_parts.h - what interfaces and the reader of options (options.h) both know of them. */
#ifndef SAP_OPTION_PARTS_H
#define SAP_OPTION_PARTS_H

#include <limits.h>

#include "sapporo_tree.h"

/* Most devices of a context. */
enum { SAP_DEVICES_MAX = 64 };

/* For interfaces whose clients say "any n": SAP_ANY_DEVICES + n in sapporo_options.ndevices, 0 < n <= the above. */
#define SAP_ANY_DEVICES INT_MIN

/* SAPPORO_TREE_KIND, _MAC, _ACCURACY; what is not set is 0. */
struct sap_tree_variables {
    sapporo_tree_kind kind;
    sapporo_tree_mac mac;
    double accuracy; /* > 0, at most 1e30 */
};

#endif
