/*
 * sapporo_types.h - what the headers of the native interface share, types and texts of errors: part of that interface,
 * included by sapporo.h.
 *
 * Programs include sapporo.h, which gives this header, sapporo_tree.h and sapporo_stepper.h too.  Each of these four
 * compiles alone; none includes sapporo.h.
 */
#ifndef SAPPORO_TYPES_H
#define SAPPORO_TYPES_H

#include <stddef.h> /* ptrdiff_t */

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) && !defined(SAPPORO_API)
#define SAPPORO_API __attribute__((visibility("default")))
#elif !defined(SAPPORO_API)
#define SAPPORO_API
#endif

/* ---- statuses and errors ------------------------------------------------ */

/* What a call returns: negative for an error, 0 for success, positive for success with a remark. */
typedef enum sapporo_status {
    SAPPORO_OK = 0,               /* success */
    SAPPORO_PARTIAL = 1,          /* some i-particles were not finite; their rows are NaN, the others right */
    SAPPORO_TRUNCATED = 2,        /* a list is longer than the buffer of the caller; it was truncated */
    SAPPORO_STOPPED = 3,          /* a stepper stopped before the time that was asked for: two particles are close */
    SAPPORO_ERR_ARGUMENT = -1,    /* an argument is out of range; nothing was changed */
    SAPPORO_ERR_MEMORY = -2,      /* out of memory; or a force includes a particle that was lost */
    SAPPORO_ERR_CLOSED = -3,      /* the handle is NULL or closed */
    SAPPORO_ERR_NOT_FINITE = -4,  /* particle data are NaN or infinite; contexts store them, so forces show it */
    SAPPORO_ERR_UNSUPPORTED = -5, /* this build or engine has no such order, precision or output */
    SAPPORO_ERR_DEVICE = -6,      /* no such device, or a device failed */
    SAPPORO_ERR_GONE = -7         /* the call came too late: the particles that the answer needs have changed */
} sapporo_status;

/* Returns one line of English for a status; never NULL; static storage. */
SAPPORO_API const char *sapporo_status_text(int status);

typedef struct sapporo sapporo; /* handle of a context: its particles, time and forces under way */

/*
 * Returns the text of the last error of a context, "" if there was none.  For NULL: why the calling thread's last call
 * failed that opens a context or creates a tree or a stepper.  Of a closed context: that it is not open.
 *
 * The text is a copy for the calling thread, made during the call and valid until the thread's eighth later call.  So
 * call it after the call that failed, not among the arguments of another call.  The error stays until
 * sapporo_clear_error.
 */
SAPPORO_API const char *sapporo_last_error(const sapporo *context);

/* ---- messages ------------------------------------------------------------ */

/* Kinds of messages. */
typedef enum sapporo_log_level {
    SAPPORO_LOG_ERROR = 0,   /* a call failed */
    SAPPORO_LOG_WARNING = 1, /* a result may not be what the caller expects */
    SAPPORO_LOG_INFO = 2,    /* a choice that was made */
    SAPPORO_LOG_CALL = 3     /* a force */
} sapporo_log_level;

/*
 * A function that receives one message, without line end.  level is a sapporo_log_level, as an int, which functions of
 * other languages have too.  Any thread that calls the library may call it, while the context is locked.  It must
 * return (no longjmp, no exception), and must not call the library.
 */
typedef void (*sapporo_log_function)(void *user, int level, const char *text);

/* ---- choices --------------------------------------------------------------- */

/* Where forces are computed. */
typedef enum sapporo_backend {
    SAPPORO_BACKEND_AUTO = 0, /* SAPPORO_BACKEND, or the first of CUDA, HIP, OpenCL, CPU that has a device */
    SAPPORO_BACKEND_CUDA = 1,
    SAPPORO_BACKEND_OPENCL = 2,
    SAPPORO_BACKEND_CPU = 3,
    SAPPORO_BACKEND_HIP = 4 /* AMD GPUs */
} sapporo_backend;

/* The precision of forces. */
typedef enum sapporo_precision {
    SAPPORO_PRECISION_DEFAULT = 0, /* SAPPORO_PRECISION, or ds, and dp for fewer than 1,024 j-particles; dp in orders 6
                                    * and 8 */
    SAPPORO_SP = 1,                /* positions and pair terms in single precision, sums as good as double; not of
                                      orders 6 and 8 */
    SAPPORO_DS = 2,                /* positions differenced to 2^-47, pair terms single, sums as good as double */
    SAPPORO_DP = 3                 /* double precision throughout */
} sapporo_precision;

/* How forces are softened; the spline is of order 2 alone. */
typedef enum sapporo_softening {
    SAPPORO_SOFTENING_PLUMMER = 0,       /* R2 = |r|^2 + eps2 + eps2_i + eps2_j */
    SAPPORO_SOFTENING_SPLINE_LARGER = 1, /* cubic spline of the larger of both lengths, as in GADGET */
    SAPPORO_SOFTENING_SPLINE_MEAN = 2    /* mean of the forces by the spline with each length, as in StarSmasher */
} sapporo_softening;

/* Who sets a variable of the environment. */
typedef enum sapporo_audience {
    SAPPORO_FOR_NONE = -1, /* there is no such variable */
    SAPPORO_FOR_USERS = 0,
    SAPPORO_FOR_TESTS = 1,
    SAPPORO_FOR_OTHERS = 2 /* other software, such as OpenMP and MPI launchers; this library reads it too */
} sapporo_audience;

/* ---- columns --------------------------------------------------------------- */

/*
 * A column of values, one per particle: the first value of particle k is at (const char *)base + k * stride.  stride 0
 * means that values follow each other without gaps.  base NULL means that the column is absent.  Columns need no
 * alignment.
 */
typedef struct sapporo_column {
    const void *base;
    ptrdiff_t stride; /* bytes from one particle to the next */
} sapporo_column;

/*
 * Where columns and arrays of a call lie.  DEVICE: addresses of memory of the CUDA or HIP device that computes, the
 * first one if there are several; complete before the call, and for columns without gaps.  Results are complete at
 * return, and NaN after an error, unless the device is lost or the handle closed.  Addresses that are not of this
 * device: SAPPORO_ERR_ARGUMENT.  OpenCL and the CPU engine: HOST only, else SAPPORO_ERR_UNSUPPORTED.
 */
typedef enum sapporo_memory { SAPPORO_MEMORY_HOST = 0, SAPPORO_MEMORY_DEVICE = 1 } sapporo_memory;

#ifdef __cplusplus
}
#endif

#endif
