/*
 * fpenv.h - switches between the caller's and the library's floating-point environment.
 *
 * Clients trap exceptions, flush denormals or round upwards.  Such settings must
 * not change the bits of results, and masked vector lanes must not raise the
 * client's signals.  So each thread that computes enters a clean environment and
 * then restores the caller's environment, including its flags.  A vendor's driver
 * may change the registers, too: code that may call a driver runs between
 * sap_fp_guard and sap_fp_release, which also prevent that the thread is cancelled
 * in between (cancel.h).
 */
#ifndef SAP_FPENV_H
#define SAP_FPENV_H

#if defined(__x86_64__) || defined(__SSE2__)

#include <stdint.h>
#include <xmmintrin.h>

#include "base/cancel.h"

typedef unsigned sap_fpenv;

/* Enters the library's environment: round to nearest, all exceptions masked, denormals kept.  Returns the old one. */
static inline sap_fpenv sap_fp_enter(void)
{
    const unsigned old = _mm_getcsr();
    _mm_setcsr(0x1F80);
    return old;
}

static inline void sap_fp_leave(sap_fpenv old) { _mm_setcsr(old); }

/* The SSE control register, and control word and flags of the x87, which drivers may change and kernels do not. */
typedef struct {
    unsigned csr;
    unsigned short control, flags;
    int cancel; /* of sap_cancel_forbid */
} sap_fpguard;

enum { SAP_X87_DEFAULT = 0x037F, SAP_X87_FLAGS = 0x3F };

/* Reads the registers without changing them, in about 10 ns. */
static inline sap_fpguard sap_fp_read(void)
{
    sap_fpguard r = {.csr = _mm_getcsr()};
    __asm__ volatile("fnstcw %0\n\tfnstsw %1" : "=m"(r.control), "=m"(r.flags));
    r.flags &= SAP_X87_FLAGS;
    return r;
}

/* Writes control word and flags of the x87.  This is slow, so callers do it only if a value differs. */
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

#elif defined(__aarch64__)

#include <stdint.h>

#include "base/cancel.h"

/* The control register, which has rounding, flushing, traps and the widths of estimates, and the flags. */
typedef struct {
    uint64_t control, flags;
} sap_fpenv;

/* Writing takes longer than reading, and most callers have the default: zero. */
static inline void sap_fp_control(uint64_t now, uint64_t wanted)
{
    if (now != wanted) __asm__ volatile("msr fpcr, %0" : : "r"(wanted) : "memory");
}

/* Enters the library's environment: round to nearest, all exceptions masked, denormals kept.  Returns the old one. */
static inline sap_fpenv sap_fp_enter(void)
{
    sap_fpenv old;
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(old.control), "=r"(old.flags) : : "memory");
    sap_fp_control(old.control, 0);
    return old;
}

static inline void sap_fp_leave(sap_fpenv old)
{
    uint64_t now;
    __asm__ volatile("mrs %0, fpcr" : "=r"(now) : : "memory");
    sap_fp_control(now, old.control);
    __asm__ volatile("msr fpsr, %0" : : "r"(old.flags) : "memory");
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

#endif

#if !defined(__x86_64__) && !defined(__SSE2__)

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
 * Returns x after a write to memory and a read from memory.  A compiler may move arithmetic on values in registers
 * across sap_fp_enter and sap_fp_leave.  Arithmetic on a held value stays after sap_fp_enter, and the computation of a
 * held result stays before sap_fp_leave.
 */
static inline double sap_fp_hold(double x)
{
    const volatile double held = x;
    return held;
}

#endif
