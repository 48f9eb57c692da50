/* addresses.h - lists of addresses: their range, and a form of 16 bits per address. */
#ifndef SAP_ADDRESSES_H
#define SAP_ADDRESSES_H

#include <stdint.h>

/* The lowest and the highest of n addresses; of none INT_MAX and INT_MIN. */
struct sap_address_range {
    int low, high;
};
struct sap_address_range sap_addresses_range(const int *address, int n);

/* Whether all addresses of a range are in 0 .. last. */
static inline int sap_addresses_within(struct sap_address_range r, int last) { return r.low >= 0 && r.high <= last; }

/* Whether the addresses of a range fit into 16 bits each, counted from the lowest. */
static inline int sap_addresses_are_narrow(struct sap_address_range r)
{
    return r.low <= r.high && (int64_t)r.high - r.low <= UINT16_MAX;
}

/*
 * Writes address[k] - base for n addresses, which are base .. base + 65,535, past the caches (base/stream.h).  `to` is
 * a multiple of 16 bytes.
 */
void sap_addresses_narrow(const int *address, int n, int base, uint16_t *to);

#endif
