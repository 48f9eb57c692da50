/* option_parts.h - the parts of options that interfaces and the reader of options (options.h) share. */
#ifndef SAP_OPTION_PARTS_H
#define SAP_OPTION_PARTS_H

#include <limits.h>

#include "sapporo_tree.h"

/* The largest number of devices of a context. */
enum { SAP_DEVICES_MAX = 64 };

/* sapporo_options.ndevices = SAP_ANY_DEVICES + n means any n devices, 0 < n <= SAP_DEVICES_MAX. */
#define SAP_ANY_DEVICES INT_MIN

/* The values of SAPPORO_TREE_KIND, _MAC and _ACCURACY; 0 if a variable is not set. */
struct sap_tree_variables {
    sapporo_tree_kind kind;
    sapporo_tree_mac mac;
    double accuracy, error; /* > 0, at most 1e30; 0: not set */
};

#endif
