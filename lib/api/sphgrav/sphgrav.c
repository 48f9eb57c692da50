/* sphgrav.c - StarSmasher's gravity: direct sums or a tree, with spline softening, through sapporo.h. */
#include "sapporo_sphgrav.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/sphgrav/sphgrav_kernel.h"
#include "api/sphgrav/sphgrav_tree.h"
#include "base/fpenv.h"
#include "base/lock.h"

/* Guarded by `lock`, which every call holds while it runs. */
static struct {
    sapporo *context;   /* NULL: not open, as always with a tree */
    sapporo_tree *tree; /* NULL: there is none */
    int rank;
    double theta;           /* opening angle of the tree; 0: the default */
    int by_tree;            /* 1: forces come from a tree, which has computed them if `has_rows`; -1: bad variables */
    int is_ready, has_rows; /* is_ready: by_tree has been read */
    sapporo_job *job;       /* NULL: no force is under way */
    int n, first, ni;       /* of the first half; n < 0: there was none */
    double (*x)[3], *eps2;  /* [room] */
    double (*acc)[3], *pot; /* [room] */
    double (*more)[4];      /* [room]; what a Wendland kernel adds, if `kernel` is one */
    int *index, room, kernel;
} grav = {.n = -1};

static struct sap_lock lock = SAP_LOCK_INIT;

static void tell(const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    sapporo_log(SAPPORO_LOG_ERROR, text);
}

static void drop_force(void)
{
    sapporo_force_free(grav.job);
    grav.job = NULL;
    grav.has_rows = 0;
    grav.n = -1;
}

/* Reads the method, and opens the context of direct sums; 0 after a message. */
static int ready(void)
{
    if (!grav.is_ready) grav.by_tree = sap_sphgrav_by_tree();
    grav.is_ready = grav.by_tree >= 0;
    if (grav.by_tree) return grav.by_tree > 0;
    const sapporo_options options = {
        .size = sizeof options, .order = 2, .preferred_device = grav.rank > 0 ? grav.rank : 0};
    if (!grav.context) (void)sapporo_open(&options, &grav.context);
    return grav.context != NULL;
}

void gpu_init_dev_(const int *myrank, const double *theta)
{
    sap_lock(&lock);
    const sap_fpenv caller = sap_fp_enter();
    drop_force();
    sapporo_close(grav.context);
    sapporo_tree_destroy(grav.tree);
    grav.context = NULL;
    grav.tree = NULL;
    grav.is_ready = 0;
    grav.theta = theta ? *theta : 0;
    grav.rank = myrank ? *myrank : 0;
    (void)ready();
    sap_fp_leave(caller);
    sap_unlock(&lock);
}

/* Makes room for n particles; 0 if memory is short. */
static int reserve(int n)
{
    if (n <= grav.room) return 1;
    sapporo_tree_destroy(grav.tree); /* it has as much room */
    grav.tree = NULL;
    free(grav.x);
    free(grav.eps2);
    free(grav.acc);
    free(grav.pot);
    free(grav.index);
    free(grav.more);
    grav.x = malloc((size_t)n * sizeof *grav.x);
    grav.acc = malloc((size_t)n * sizeof *grav.acc);
    grav.eps2 = malloc((size_t)n * sizeof *grav.eps2);
    grav.pot = malloc((size_t)n * sizeof *grav.pot);
    grav.index = malloc((size_t)n * sizeof *grav.index);
    grav.more = malloc((size_t)n * sizeof *grav.more);
    grav.room = grav.x && grav.acc && grav.eps2 && grav.pot && grav.index && grav.more ? n : 0;
    return grav.room > 0;
}

/* Copies the positions of n particles. */
static void gather(int n, const double *x, const double *y, const double *z)
{
    for (int k = 0; k < n; k++) grav.x[k][0] = x[k], grav.x[k][1] = y[k], grav.x[k][2] = z[k];
}

/*
 * Stores the particles, whose indices are their addresses.  As targets, compact particles have that index, so that they
 * skip themselves; others have one that no particle has.
 */
static int store(int n, const double *mass, const double *range2)
{
    const sapporo_particles all = {
        .size = sizeof all, .derivative = {{grav.x, 0}}, .mass = {mass, 0}, .eps2 = {grav.eps2, 0}};
    for (int k = 0; k < n; k++) {
        grav.eps2[k] = fabs(range2[k]);
        grav.index[k] = range2[k] < 0 ? k : -1;
    }
    const int status = sapporo_set_particles(grav.context, 0, n, &all);
    return status == SAPPORO_OK || status == SAPPORO_ERR_NOT_FINITE;
}

static void start(void)
{
    const sapporo_request request = {.size = sizeof request,
                                     .nj = grav.n,
                                     .ni = grav.ni,
                                     .x = {grav.x + grav.first, 0},
                                     .index = {grav.index + grav.first, 0},
                                     .eps2_i = {grav.eps2 + grav.first, 0},
                                     .want = SAPPORO_ALLOW_EMPTY,
                                     .softening = SAPPORO_SOFTENING_SPLINE_MEAN};
    (void)sapporo_force_begin(grav.context, &request, &grav.job);
}

/* Starts the forces by the tree, or by direct sums; then adds the pairs within a Wendland kernel. */
static void start_any(const double *mass, const double *range2, int kernel)
{
    const struct sap_sphgrav_force f = {.n = grav.n,
                                        .first = grav.first,
                                        .ni = grav.ni,
                                        .room = grav.room,
                                        .x = (const double(*)[3])grav.x,
                                        .mass = mass,
                                        .range2 = range2,
                                        .acc = grav.acc,
                                        .pot = grav.pot};
    grav.kernel = kernel;
    if (grav.by_tree)
        grav.has_rows = sap_sphgrav_tree_force(&grav.tree, grav.rank, grav.theta, &f);
    else if (store(f.n, mass, range2))
        start();
    if ((grav.has_rows || grav.job) && kernel != SAP_KERNEL_SPLINE &&
        !sap_sphgrav_kernel_force(kernel, &f, grav.more)) {
        drop_force();
        grav.n = f.n;
    }
}

/* Returns whether the numbers of a first half are valid; tells what is not. */
static int valid(int n, int lower, int length, int kernel)
{
    if (n < 1 || lower < 1 || length < 0 || length > n - lower + 1) {
        tell("firsthalf_grav_forces: n is %d, n_lower %d, my_length %d: forces are NaN", n, lower, length);
        return 0;
    }
    const int there = kernel >= SAP_KERNEL_SPLINE && kernel <= SAP_KERNEL_WENDLAND_C4;
    if (!there) tell("firsthalf_grav_forces: nkernel is %d, allowed are 0, 1 and 2: forces are NaN", kernel);
    return there;
}

void firsthalf_grav_forces_(const int *n, const int *n_lower, const int *my_length, const double x[], const double y[],
                            const double z[], const double mass[], const double range2[], const int *q,
                            const int *nkernel)
{
    (void)q;
    sap_lock(&lock);
    const sap_fpenv caller = sap_fp_enter();
    drop_force();
    if (valid(*n, *n_lower, *my_length, *nkernel) && ready()) {
        grav.n = *n;
        grav.first = *n_lower - 1;
        grav.ni = *my_length;
        const int there = reserve(*n);
        if (!there) tell("firsthalf_grav_forces: out of memory for %d particles: forces are NaN", *n);
        if (there) {
            gather(*n, x, y, z);
            start_any(mass, range2, *nkernel);
        }
    }
    sap_fp_leave(caller);
    sap_unlock(&lock);
}

static void write_nan(int n, double *ax, double *ay, double *az, double *pot)
{
    for (int k = 0; k < n; k++) ax[k] = ay[k] = az[k] = pot[k] = NAN;
}

/* Waits for the force and adds what its kernel adds; 0 if there is none, or it failed after a message. */
static int finish(void)
{
    const sapporo_result out = {.size = sizeof out, .acc = grav.acc, .pot = grav.pot};
    if (!grav.has_rows && (!grav.job || sapporo_force_end(grav.job, grav.ni, &out) < 0)) return 0;
    for (int k = 0; k < grav.ni && grav.kernel != SAP_KERNEL_SPLINE; k++) {
        for (int c = 0; c < 3; c++) grav.acc[k][c] += grav.more[k][c];
        grav.pot[k] += grav.more[k][3];
    }
    return 1;
}

void lasthalf_grav_forces_(const int *n, double ax[], double ay[], double az[], double pot[])
{
    sap_lock(&lock);
    const sap_fpenv caller = sap_fp_enter();
    const int first = grav.first;
    if (grav.n != *n) {
        if (grav.n >= 0)
            tell("lasthalf_grav_forces: n is %d, that of the first half was %d: forces are NaN", *n, grav.n);
        write_nan(*n, ax, ay, az, pot);
    } else if (finish()) {
        for (int k = 0; k < grav.ni; k++) {
            ax[first + k] = grav.acc[k][0], ay[first + k] = grav.acc[k][1], az[first + k] = grav.acc[k][2];
            pot[first + k] = grav.pot[k];
        }
    } else {
        write_nan(grav.ni, ax + first, ay + first, az + first, pot + first);
    }
    drop_force();
    sap_fp_leave(caller);
    sap_unlock(&lock);
}
