/* g5.c - the GRAPE-5 interface: life cycle, softening, j-particles.  No physics. */
#include "api/g5/g5.h"

#include <math.h>
#include <string.h>

#include "base/finite.h"
#include "base/fpenv.h"
#include "context/context.h"
#include "context/particles_part.h"
#include "sapporo_g5.h"

/* ---- open and close ------------------------------------------------------------- */

int sap_g5_open(int id, const char *caller)
{
    struct sap_g5_device *device = sap_g5_hold(id, caller);
    if (device == NULL) return -1;
    sap_g5_recover(device);
    const int open = sap_g5_context(device, SAP_G5_PLAIN) != NULL;
    sap_g5_release(device);
    return open ? 0 : -1;
}

int sap_g5_open_special(int ndev, const int *list)
{
    static const char caller[] = "g5_open_special";
    struct sap_g5_device *device;
    if (ndev > SAP_DEVICES_MAX || (ndev > 0 && list == NULL))
        return sap_context_error(NULL, SAPPORO_ERR_ARGUMENT, "%s: %d devices, at most %d can be request", caller, ndev,
                                 SAP_DEVICES_MAX),
               -1;
    if ((device = sap_g5_hold(0, caller)) == NULL) return -1;
    sap_g5_recover(device);
    if (device->context[SAP_G5_PLAIN] != NULL || device->context[SAP_G5_SYMMETRIC] != NULL) {
        sap_log(SAPPORO_LOG_INFO, "%s: device 0 is open already and stays where it is", caller);
    } else {
        device->ndevices = ndev == 0 ? -1 : ndev;
        if (ndev < 0) device->ndevices = SAP_ANY_DEVICES + (ndev > -SAP_DEVICES_MAX ? -ndev : SAP_DEVICES_MAX);
        if (ndev > 0) memcpy(device->devices, list, (size_t)ndev * sizeof *list);
    }
    const int open = sap_g5_context(device, SAP_G5_PLAIN) != NULL;
    sap_g5_release(device);
    return open ? 0 : -1;
}

/* Keeps the context and its particles, because some clients open and close the device around every force. */
int sap_g5_close(int id, const char *caller)
{
    struct sap_g5_device *device = sap_g5_hold(id, caller);
    if (device == NULL) return -1;
    sap_g5_drop_job(device);
    sap_g5_recover(device);
    device->pipes.ni = 0;
    sap_g5_release(device);
    return 0;
}

/* ---- settings of all devices ------------------------------------------------------- */

/* Stores a squared softening, also one that is none: forces are NaN then, until another one is set. */
static int set_softening(double eps2, double given, const char *caller)
{
    atomic_store_explicit(&sap_g5.eps2, eps2, memory_order_relaxed);
    if (finite_length(eps2)) return 0;
    const sap_fpenv callers = sap_fp_enter(); /* to print such a number may trap */
    sap_context_error(NULL, SAPPORO_ERR_ARGUMENT,
                      "%s: the softening is %g: its square is to be finite and not negative; forces are NaN until "
                      "another one is set",
                      caller, given);
    sap_fp_leave(callers);
    return -1;
}

int sap_g5_set_eps2_to_all(double eps2) { return set_softening(eps2, eps2, "g5_set_eps2_to_all"); }

int sap_g5_set_eps_to_all(double eps)
{
    const sap_fpenv callers = sap_fp_enter();
    const double held = sap_fp_hold(eps), eps2 = sap_fp_hold(held * held);
    sap_fp_leave(callers);
    return set_softening(eps2, eps, "g5_set_eps_to_all");
}

double sapporo_g5_eps2(void) { return atomic_load_explicit(&sap_g5.eps2, memory_order_relaxed); }

int sapporo_g5_precision(void) { return (int)sap_g5_precision(); }

int sap_g5_set_cutoff(const char *caller)
{
    atomic_store_explicit(&sap_g5.cutoff, 1, memory_order_relaxed);
    return sap_context_error(NULL, SAPPORO_ERR_UNSUPPORTED,
                             "%s: forces with a cut-off are not in this library, which has Newton's alone: all forces "
                             "of GRAPE-5 calls are NaN from now on",
                             caller),
           -1;
}

/* ---- ranges -------------------------------------------------------------------------- */

int sap_g5_set_range(int id, double xmin, double xmax, double mmin, const char *caller)
{
    struct sap_g5_device *device = sap_g5_hold(id, caller);
    if (device == NULL) return -1;
    const sap_fpenv callers = sap_fp_enter();
    if (!finite_number(xmin) || !finite_number(xmax) || !finite_number(mmin)) {
        sap_context_error(device->context[SAP_G5_PLAIN], SAPPORO_ERR_ARGUMENT,
                          "%s: xmin %g, xmax %g and mmin %g are to be finite; the range stays as it was", caller, xmin,
                          xmax, mmin);
        sap_fp_leave(callers);
        sap_g5_release(device);
        return -1;
    }
    if (!(sap_fp_hold(xmin) < sap_fp_hold(xmax)))
        sap_context_warn_once(device->context[SAP_G5_PLAIN], SAP_WARN_G5_RANGE,
                              "%s: xmin %g is not below xmax %g; ranges are not needed, and not looked at", caller,
                              xmin, xmax);
    sap_fp_leave(callers);
    device->range[0] = xmin;
    device->range[1] = xmax;
    device->range[2] = mmin;
    sap_g5_release(device);
    return 0;
}

int sap_g5_get_range(int id, double *xmin, double *xmax, double *mmin, const char *caller)
{
    static const double none[3] = {NAN, NAN, NAN};
    struct sap_g5_device *device = sap_g5_hold(id, caller);
    const double *const range = device != NULL ? device->range : none;
    if (xmin != NULL) *xmin = range[0];
    if (xmax != NULL) *xmax = range[1];
    if (mmin != NULL) *mmin = range[2];
    if (device != NULL) sap_g5_release(device);
    return device != NULL ? 0 : -1;
}

/* ---- j-particles ------------------------------------------------------------------------- */

int sap_g5_set_n(int id, int n, const char *caller)
{
    struct sap_g5_device *device = sap_g5_hold(id, caller);
    if (device == NULL) return -1;
    device->n = n;
    device->n_set = 1;
    if (n < 0) sap_context_error(device->context[SAP_G5_PLAIN], SAPPORO_ERR_ARGUMENT, "%s: n is %d", caller, n);
    sap_g5_release(device);
    return n < 0 ? -1 : 0;
}

/* Number of addresses of a context. */
enum { MOST_ADDRESSES = 1 << 30 };

/* Text that says what is wrong with the arguments of a load; NULL if nothing is wrong. */
static const char *fault(const struct sap_g5_load *load, unsigned needs)
{
    if (load->adr < 0) return "adr is negative";
    if (load->nj < 0) return "nj is negative";
    if (load->adr > MOST_ADDRESSES - load->nj) return "adr + nj is too large";
    if (load->nj == 0) return NULL;
    if (needs & SAP_G5_NEEDS_X && load->x == NULL) return "xj is NULL";
    if (needs & SAP_G5_NEEDS_M && load->m == NULL) return "mj is NULL";
    return needs & SAP_G5_NEEDS_EPS2 && load->eps2 == NULL ? "epsj2 is NULL" : NULL;
}

/* Stores a load in a context; load->nj > 0.  If it has both positions and masses, they are stored as columns. */
static int store(sapporo *context, const struct sap_g5_load *load)
{
    sapporo_particles all = {.size = sizeof all};
    const double(*x)[3] = load->x != NULL ? (const double(*)[3])load->x + load->adr : NULL;
    const double *m = load->m != NULL ? load->m + load->adr : NULL;
    if (x == NULL || m == NULL) return sap_context_set_part(context, load->adr, load->nj, x, m);
    all.derivative[0].base = x;
    all.mass.base = m;
    all.eps2.base = load->eps2 != NULL ? load->eps2 + load->adr : NULL;
    return sapporo_set_particles(context, load->adr, load->nj, &all);
}

static int put(struct sap_g5_device *device, enum sap_g5_memory memory, const struct sap_g5_load *load, unsigned needs,
               const char *caller)
{
    sapporo *context = sap_g5_context(device, memory);
    const char *wrong = fault(load, needs);
    if (wrong != NULL)
        return sap_context_error(context, SAPPORO_ERR_ARGUMENT, "%s: %s (adr %d, nj %d)", caller, wrong, load->adr,
                                 load->nj);
    if (load->nj > 0 && context == NULL) sap_g5_lose(device, memory, load->adr, load->nj);
    if (context == NULL) return SAPPORO_ERR_CLOSED;
    return load->nj > 0 ? store(context, load) : SAPPORO_OK;
}

int sap_g5_load(int id, enum sap_g5_memory memory, const struct sap_g5_load *load, unsigned needs, const char *caller)
{
    struct sap_g5_device *device = sap_g5_hold(id, caller);
    if (device == NULL) return -1;
    const int status = put(device, memory, load, needs, caller);
    sap_g5_release(device);
    return status < 0 ? -1 : 0;
}
