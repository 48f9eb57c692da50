/* tree_shares.h - which items of a walk a device computes (gpu/tree/gpu_shares.h). */
#ifndef SAP_TREE_SHARES_H
#define SAP_TREE_SHARES_H

#include "device/tree_units.h"

/* Returns whether item k of a walk is within its share, and how many items before it are. */
SAP_INLINE int sap_is_shared(int share, int shares, int k)
{
    const int at = k % SAP_SHARES - share;
    return shares == 0 || (at >= 0 && at < shares);
}

SAP_INLINE int sap_shared_before(int share, int shares, int k)
{
    const int at = k % SAP_SHARES - share;
    return shares == 0 ? k : k / SAP_SHARES * shares + (at < 0 ? 0 : at < shares ? at : shares);
}

#endif
