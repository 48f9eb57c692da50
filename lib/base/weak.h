/*
 * weak.h - names of the dialects are weak.
 *
 * Clients define some of these names themselves, by value in their sources and by reference in their headers
 * (spec 11.2, 11.3).  In a static library a second definition is then no error.
 */
#ifndef SAP_WEAK_H
#define SAP_WEAK_H

#if defined(__GNUC__)
#define SAP_WEAK __attribute__((weak))
#else
#define SAP_WEAK
#endif

#endif
