/*
 * weak.h - makes the exported names of the interfaces weak.
 *
 * Clients define some of these names themselves: names by value in their sources, names by reference in their headers
 * (spec 11.2, 11.3).  With weak names the second definition is no error in a static library.
 */
#ifndef SAP_WEAK_H
#define SAP_WEAK_H

#if defined(__GNUC__)
#define SAP_WEAK __attribute__((weak))
#else
#define SAP_WEAK
#endif

#endif
