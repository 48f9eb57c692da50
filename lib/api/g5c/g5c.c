/*
 * g5c.c - the calls of libg5c: a force of cells with quadrupole moments is one small force of sapporo_force_batch.
 *
 * A device is a memory for cells, as in the GRAPE-5 interface.  It is created at the first call that names it, and
 * never freed.
 */
#include "sapporo_g5c.h"

#include <math.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/lock.h"

enum { DEVICES = 65536, MOST_CELLS = 1 << 28 };

struct device {
    struct sap_lock lock;              /* held during every call on the device */
    sapporo *context;                  /* NULL: not open */
    int n;                             /* number of cells in a force */
    int loaded, room;                  /* cells below the highest address that was loaded; size of the arrays */
    double (*x)[3], *mass, (*quad)[6]; /* quad as sapporo_force_batch takes it */
};

static _Atomic(struct device *) devices[DEVICES];

static int complain(const char *caller, const char *what, int devid)
{
    char text[128];
    (void)snprintf(text, sizeof text, "%s: %s (device %d)", caller, what, devid);
    sapporo_log(SAPPORO_LOG_ERROR, text);
    return -1;
}

/* The device of an id, locked; NULL after a message. */
static struct device *hold(int devid, const char *caller)
{
    if (devid < 0 || devid >= DEVICES) return complain(caller, "device ids are from 0 to 65535", devid), NULL;
    struct device *d = atomic_load_explicit(&devices[devid], memory_order_acquire), *other = NULL;
    if (!d) {
        d = calloc(1, sizeof *d);
        if (!d) return complain(caller, "out of memory", devid), NULL;
        sap_lock_start(&d->lock);
        if (!atomic_compare_exchange_strong(&devices[devid], &other, d)) { /* another thread was first */
            free(d);
            d = other;
        }
    }
    sap_lock(&d->lock);
    return d;
}

int g5c_set_nMC(int devid, int n)
{
    struct device *const d = hold(devid, __func__);
    if (!d) return -1;
    d->n = n;
    sap_unlock(&d->lock);
    return n < 0 ? complain(__func__, "n is negative; forces are NaN until another n is set", devid) : 0;
}

/* Makes room for n cells; new ones are empty.  0: out of memory. */
static int reserve(struct device *d, int n)
{
    if (n > d->room) {
        const int room = n + n / 2;
        double(*const x)[3] = realloc(d->x, (size_t)room * sizeof *x);
        if (x) d->x = x;
        double *const mass = realloc(d->mass, (size_t)room * sizeof *mass);
        if (mass) d->mass = mass;
        double(*const quad)[6] = realloc(d->quad, (size_t)room * sizeof *quad);
        if (quad) d->quad = quad;
        if (!x || !mass || !quad) return 0;
        d->room = room;
    }
    if (n > d->loaded) {
        const size_t from = (size_t)d->loaded, more = (size_t)(n - d->loaded);
        memset(d->x + from, 0, more * sizeof *d->x);
        memset(d->mass + from, 0, more * sizeof *d->mass);
        memset(d->quad + from, 0, more * sizeof *d->quad);
        d->loaded = n;
    }
    return 1;
}

/*
 * Second moments from traceless ones: a third of them has the same force, and they have no trace.  Treecodes load cells
 * for each group of targets anew, so there are no divisions and no loop.
 */
static void copy_moments(double *to, const double *q)
{
    const double third = 1.0 / 3;
    to[0] = q[0] * third; /* xx, yy, zz, xy, xz, yz */
    to[1] = q[3] * third;
    to[2] = q[5] * third;
    to[3] = q[1] * third;
    to[4] = q[2] * third;
    to[5] = q[4] * third;
}

int g5c_set_xmjMC(int devid, int adr, int nj, double xj[][3], double mj[], double qj[][6])
{
    if (adr < 0 || nj < 0 || adr > MOST_CELLS - nj) return complain(__func__, "adr or nj is out of range", devid);
    if (nj > 0 && (!xj || !mj || !qj)) return complain(__func__, "an array is NULL", devid);
    struct device *const d = hold(devid, __func__);
    if (!d) return -1;
    const sap_fpenv caller = sap_fp_enter();
    const int there = reserve(d, adr + nj);
    for (int j = adr; j < adr + nj && there; j++) {
        memcpy(d->x[j], xj[j], sizeof d->x[j]);
        d->mass[j] = mj[j];
        copy_moments(d->quad[j], qj[j]);
    }
    sap_fp_leave(caller);
    sap_unlock(&d->lock);
    return there ? 0 : complain(__func__, "out of memory", devid);
}

static int ready(struct device *d, int devid)
{
    const sapporo_options options = {.size = sizeof options,
                                     .order = 2,
                                     .precision = (sapporo_precision)sapporo_g5_precision(),
                                     .preferred_device = devid};
    if (!d->context) (void)sapporo_open(&options, &d->context);
    return d->context != NULL;
}

static void fill_with_nan(int ni, double (*a)[3], double *p)
{
    for (int i = 0; i < ni; i++) {
        for (int k = 0; k < 3 && a; k++) a[i][k] = NAN;
        if (p) p[i] = NAN;
    }
}

/* Computes a force; a status of sapporo_force_batch. */
static int compute(struct device *d, double (*x)[3], double (*a)[3], double *p, int ni)
{
    const sapporo_small_force force = {.size = sizeof force,
                                       .ni = ni,
                                       .nj = d->n < d->loaded ? d->n : d->loaded,
                                       .x = {x, 0},
                                       .x_j = {d->x, 0},
                                       .mass_j = {d->mass, 0},
                                       .quad_j = {d->quad, 0},
                                       .eps2 = sapporo_g5_eps2()};
    const sapporo_result result = {.size = sizeof result, .acc = a, .pot = p};
    const int status = sapporo_force_batch(d->context, 1, &force, &result);
    if (status == SAPPORO_ERR_DEVICE) { /* the next force opens another context */
        sapporo_close(d->context);
        d->context = NULL;
    }
    return status;
}

int g5c_calculate_force_on_xMC(int devid, double x[][3], double a[][3], double p[], int ni)
{
    struct device *const d = hold(devid, __func__);
    int rc = 0;
    if (d && ni > 0 && x && d->n >= 0) {
        const sap_fpenv caller = sap_fp_enter();
        const int status = ready(d, devid) ? compute(d, x, a, p, ni) : SAPPORO_ERR_CLOSED;
        rc = status < 0 ? -1 : status == SAPPORO_PARTIAL;
        sap_fp_leave(caller);
    } else if (d && ni != 0) {
        rc = complain(__func__, ni < 0 ? "ni is negative" : x ? "n is negative" : "x is NULL", devid);
    }
    if (d) sap_unlock(&d->lock);
    if (!d) rc = -1;
    if (rc < 0) fill_with_nan(ni, a, p);
    return rc;
}
