/*
 * fpenv.h - the floating-point environment of a computation.
 *
 * Clients trap exceptions, flush denormals or round upwards; our bits must not
 * know, and our masked lanes must not raise their signals.  Every thread that
 * computes enters a clean environment and leaves the caller's as it was, flags
 * included.  What a vendor's driver does to the registers stays inside as well:
 * sap_fp_guard and sap_fp_release stand around whatever may call one, and keep the
 * thread from being cancelled in between (cancel.h).
 */
#ifndef SAP_FPENV_H
#define SAP_FPENV_H

#if defined(__x86_64__) || defined(__SSE2__)

#include <stdint.h>
#include <xmmintrin.h>

#include "base/cancel.h"

typedef unsigned sap_fpenv;

/* Round to nearest, all exceptions masked, denormals kept. */
static inline sap_fpenv sap_fp_enter(void)
{
    const unsigned old = _mm_getcsr();
    _mm_setcsr(0x1F80);
    return old;
}

static inline void sap_fp_leave(sap_fpenv old) { _mm_setcsr(old); }

/* The registers of SSE, and control and flags of the x87, which kernels do not touch and drivers may. */
typedef struct {
    unsigned csr;
    unsigned short control, flags;
    int cancel; /* of sap_cancel_forbid */
} sap_fpguard;

enum { SAP_X87_DEFAULT = 0x037F, SAP_X87_FLAGS = 0x3F };

/* Reads them without touching them: some 10 ns. */
static inline sap_fpguard sap_fp_read(void)
{
    sap_fpguard r = {.csr = _mm_getcsr()};
    __asm__ volatile("fnstcw %0\n\tfnstsw %1" : "=m"(r.control), "=m"(r.flags));
    r.flags &= SAP_X87_FLAGS;
    return r;
}

/* The x87's as well as SSE's; dear, so only where they differ. */
static inline void sap_fp_write_x87(unsigned short control, unsigned short flags)
{
    struct {
        uint32_t control, flags, rest[5];
    } all;
    __asm__ volatile("fnstenv %0" : "=m"(all));
    all.control = (all.control & ~0xFFFFU) | control;
    all.flags = (all.flags & ~0x80FFU) | flags;
    __asm__ volatile("fldenv %0" : : "m"(all));
}

static inline sap_fpguard sap_fp_guard(void)
{
    sap_fpguard old = sap_fp_read();
    old.cancel = sap_cancel_forbid();
    if (old.control != SAP_X87_DEFAULT) sap_fp_write_x87(SAP_X87_DEFAULT, old.flags);
    _mm_setcsr(0x1F80);
    return old;
}

static inline void sap_fp_release(sap_fpguard old)
{
    const sap_fpguard now = sap_fp_read();
    if (now.control != old.control || now.flags != old.flags) sap_fp_write_x87(old.control, old.flags);
    _mm_setcsr(old.csr);
    sap_cancel_allow(old.cancel);
}

#else

#include <fenv.h>

#include "base/cancel.h"

typedef fenv_t sap_fpenv;

static inline sap_fpenv sap_fp_enter(void)
{
    fenv_t old;
    fegetenv(&old);
    fesetenv(FE_DFL_ENV);
    return old;
}

static inline void sap_fp_leave(sap_fpenv old) { fesetenv(&old); }

typedef struct {
    sap_fpenv environment;
    int cancel; /* of sap_cancel_forbid */
} sap_fpguard;

static inline sap_fpguard sap_fp_guard(void)
{
    return (sap_fpguard){.cancel = sap_cancel_forbid(), .environment = sap_fp_enter()};
}

static inline void sap_fp_release(sap_fpguard old)
{
    sap_fp_leave(old.environment);
    sap_cancel_allow(old.cancel);
}

#endif

/*
 * The same value, out of memory.  A compiler may move arithmetic on values in registers across sap_fp_enter and
 * sap_fp_leave; arithmetic on a held value stays behind the one, and a held result before the other.
 */
static inline double sap_fp_hold(double x)
{
    const volatile double held = x;
    return held;
}

#endif
