/*
 * fpenv.h - the floating-point environment of a computation.
 *
 * Clients trap exceptions, flush denormals or round upwards; our bits must not
 * know, and our masked lanes must not raise their signals.  Every thread that
 * computes enters a clean environment and leaves the caller's as it was, flags
 * included.
 */
#ifndef SAP_FPENV_H
#define SAP_FPENV_H

#if defined(__x86_64__) || defined(__SSE2__)

#include <xmmintrin.h>

typedef unsigned sap_fpenv;

/* Round to nearest, all exceptions masked, denormals kept. */
static inline sap_fpenv sap_fp_enter(void)
{
    const unsigned old = _mm_getcsr();
    _mm_setcsr(0x1F80);
    return old;
}

static inline void sap_fp_leave(sap_fpenv old) { _mm_setcsr(old); }

#else

#include <fenv.h>

typedef fenv_t sap_fpenv;

static inline sap_fpenv sap_fp_enter(void)
{
    fenv_t old;
    fegetenv(&old);
    fesetenv(FE_DFL_ENV);
    return old;
}

static inline void sap_fp_leave(sap_fpenv old) { fesetenv(&old); }

#endif

#endif
