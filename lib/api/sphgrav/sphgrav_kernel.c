/*
 * sphgrav_kernel.c - StarSmasher's gravity with Wendland's kernels.
 *
 * Engines compute the spline alone.  Forces of kernels with the same compact support differ from it only between
 * particles within that support, some tens per particle.  These differences are summed here in double, with a tree of
 * boxes that finds the pairs.
 */
#include "api/sphgrav/sphgrav_kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAF = 8, TERMS = 14, DEEP = 64 };

/*
 * The field of a sphere of mass 1 and radius 1 whose density is the kernel of table 1 in Dehnen & Aly 2012, MNRAS 425,
 * 1068, in three dimensions.  Polynomials have the lowest power first.
 *   u < 1/2:  acc is the mass within u, divided by u^3; pot is the potential; both in powers of u
 *   others:   mass is the mass beyond u, rim that mass with each shell divided by its radius; both divided by v^7, in
 *             powers of v = 1 - u, where the powers of u would cancel each other
 */
struct field {
    double acc[TERMS], pot[TERMS], mass[TERMS], rim[TERMS];
};

static const struct field wendland_c4 = {
    .acc = {165 / 8.0, 0, -231 / 2.0, 0, 2475 / 4.0, -1155, 1925 / 2.0, -396, 525 / 8.0},
    .pot = {-55 / 16.0, 0, 165 / 16.0, 0, -231 / 8.0, 0, 825 / 8.0, -165, 1925 / 16.0, -44, 105 / 16.0},
    .mass = {165, -4125 / 8.0, 4895 / 8.0, -2607 / 8.0, 525 / 8.0},
    .rim = {165, -1485 / 4.0, 2255 / 8.0, -1155 / 16.0}};

static const struct field wendland_c6 = {
    .acc = {455 / 16.0, 0, -3003 / 16.0, 0, 6435 / 8.0, 0, -35035 / 8.0, 9009, -143325 / 16.0, 5005, -24255 / 16.0,
            195},
    .pot = {-245 / 64.0, 0, 455 / 32.0, 0, -3003 / 64.0, 0, 2145 / 16.0, 0, -35035 / 64.0, 1001, -28665 / 32.0, 455,
            -8085 / 64.0, 15},
    .mass = {0, 0, 5005 / 8.0, -39039 / 16.0, 61425 / 16.0, -48685 / 16.0, 19425 / 16.0, -195},
    .rim = {0, 0, 5005 / 8.0, -15015 / 8.0, 34125 / 16.0, -69615 / 64.0, 210}};

static double polynomial(const double c[TERMS], double u)
{
    double sum = c[TERMS - 1];
    for (int k = TERMS - 2; k >= 0; k--) sum = sum * u + c[k];
    return sum;
}

/* Writes the acceleration per distance, and the potential, at u < 1. */
static void wendland(const struct field *w, double u, double *acc, double *pot)
{
    const double v = 1 - u, v3 = v * v * v, v7 = v3 * v3 * v;
    if (u < 0.5) {
        *acc = polynomial(w->acc, u);
        *pot = polynomial(w->pot, u);
    } else {
        const double mass = 1 - v7 * polynomial(w->mass, v);
        *acc = mass / (u * u * u);
        *pot = -mass / u - v7 * polynomial(w->rim, v);
    }
}

/* The same for the cubic spline: Springel, Yoshida & White 2001, New Astronomy 6, 79, appendix A. */
static void spline(double u, double *acc, double *pot)
{
    const double u2 = u * u;
    if (u < 0.5) {
        *acc = 32 / 3.0 + u2 * (32 * u - 38.4);
        *pot = -2.8 + u2 * (16 / 3.0 + u2 * (6.4 * u - 9.6));
    } else {
        *acc = 64 / 3.0 + u * (-48 + u * (38.4 - 32 / 3.0 * u)) - 1 / (15 * u2 * u);
        *pot = -3.2 + 1 / (15 * u) + u2 * (32 / 3.0 + u * (-16 + u * (9.6 - 32 / 15.0 * u)));
    }
}

/* Adds half the difference of both kernels of length h to the factors of mass: of r and of the potential. */
static void add_difference(const struct field *w, double r2, double h, double factor[2])
{
    double acc[2], pot[2];
    if (!(r2 < h * h)) return;
    const double u = sqrt(r2) / h;
    wendland(w, u, &acc[0], &pot[0]);
    spline(u, &acc[1], &pot[1]);
    factor[0] += 0.5 * (acc[0] - acc[1]) / (h * h * h);
    factor[1] += 0.5 * (pot[0] - pot[1]) / h;
}

/* A box of particles order[first] .. order[first + n - 1].  Its left half is the next box. */
struct box {
    double low[3], high[3], h; /* h: the largest length */
    int first, n, right;       /* right: the box of the right half; 0: the particles are not divided further */
};

struct boxes {
    const struct sap_sphgrav_force *f;
    double *h;
    int *order, used;
    struct box *box;
};

/* Orders n particles so that the k-th smallest by a coordinate is at its place and no larger one lies before it. */
static void partition(const double (*x)[3], int axis, int *order, int n, int k)
{
    int low = 0, high = n - 1;
    while (low < high) {
        const double pivot = x[order[low + (high - low) / 2]][axis];
        int i = low, j = high;
        while (i <= j) {
            while (x[order[i]][axis] < pivot) i++;
            while (x[order[j]][axis] > pivot) j--;
            if (i > j) break;
            const int other = order[i];
            order[i++] = order[j];
            order[j--] = other;
        }
        if (k <= j)
            high = j;
        else if (k >= i)
            low = i;
        else
            return;
    }
}

/* Finds the bounds of a box and its largest length; returns its longest axis. */
static int bound(const struct boxes *b, struct box *box)
{
    int longest = 0;
    for (int k = 0; k < box->n; k++) {
        const int j = b->order[box->first + k];
        for (int c = 0; c < 3; c++) {
            const double at = b->f->x[j][c];
            box->low[c] = k && box->low[c] < at ? box->low[c] : at;
            box->high[c] = k && box->high[c] > at ? box->high[c] : at;
        }
        box->h = k && box->h > b->h[j] ? box->h : b->h[j];
    }
    for (int c = 1; c < 3; c++)
        if (box->high[c] - box->low[c] > box->high[longest] - box->low[longest]) longest = c;
    return longest;
}

/* Makes boxes of the particles from `first` on; each division halves their number, so the depth is that of 2^31. */
static void divide(struct boxes *b, int first, int n) /* NOLINT(misc-no-recursion) */
{
    struct box *const box = &b->box[b->used++];
    *box = (struct box){.first = first, .n = n};
    const int axis = bound(b, box);
    if (n <= LEAF) return;
    partition(b->f->x, axis, b->order + first, n, n / 2);
    divide(b, first, n / 2);
    box->right = b->used;
    divide(b, first + n / 2, n - n / 2);
}

/* Returns whether the particle may lie within its own length of a box, or within the lengths of its particles. */
static int reaches(const struct box *box, const double x[3], double h)
{
    const double far = h > box->h ? h : box->h;
    double r2 = 0;
    for (int c = 0; c < 3; c++) {
        const double d = x[c] < box->low[c] ? box->low[c] - x[c] : x[c] > box->high[c] ? x[c] - box->high[c] : 0;
        r2 += d * d;
    }
    return r2 < far * far * (1 + 1e-12);
}

/* Adds the pairs of particle i with those of a box. */
static void add_leaf(const struct boxes *b, const struct field *w, const struct box *box, int i, double more[4])
{
    const struct sap_sphgrav_force *const f = b->f;
    for (int k = box->first; k < box->first + box->n; k++) {
        const int j = b->order[k];
        double d[3], r2 = 0, factor[2] = {0};
        if (j == i && f->range2[i] < 0) continue;
        for (int c = 0; c < 3; c++) d[c] = f->x[j][c] - f->x[i][c], r2 += d[c] * d[c];
        add_difference(w, r2, b->h[i], factor);
        add_difference(w, r2, b->h[j], factor);
        for (int c = 0; c < 3; c++) more[c] += f->mass[j] * factor[0] * d[c];
        more[3] += f->mass[j] * factor[1];
    }
}

static void add_all(const struct boxes *b, const struct field *w, int i, double more[4])
{
    int stack[DEEP], n = 0;
    memset(more, 0, 4 * sizeof *more);
    stack[n++] = 0;
    while (n > 0) {
        const struct box *const box = &b->box[stack[--n]];
        if (!reaches(box, b->f->x[i], b->h[i])) continue;
        if (box->right == 0) {
            add_leaf(b, w, box, i, more);
        } else {
            stack[n++] = box->right;
            stack[n++] = (int)(box - b->box) + 1;
        }
    }
}

/* Fills lengths and order; returns 0 if a position or a length is not finite. */
static int fill(const struct boxes *b)
{
    int finite = 1;
    for (int k = 0; k < b->f->n; k++) {
        const double *const x = b->f->x[k];
        b->h[k] = sqrt(fabs(b->f->range2[k]));
        b->order[k] = k;
        finite &= isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]) && isfinite(b->h[k]);
    }
    return finite;
}

int sap_sphgrav_kernel_force(int kernel, const struct sap_sphgrav_force *f, double (*more)[4])
{
    const size_t n = (size_t)f->n;
    struct boxes b = {.f = f, .h = calloc(n, sizeof *b.h), .order = calloc(n, sizeof *b.order)};
    b.box = malloc((n / 2 + 1) * sizeof *b.box); /* boxes that are not divided have 4 particles at least */
    const int there = b.h && b.order && b.box;
    if (!there) {
        sapporo_log(SAPPORO_LOG_ERROR,
                    "firsthalf_grav_forces: out of memory for pairs within the kernel: forces are NaN");
    } else if (!fill(&b)) {
        for (int k = 0; k < f->ni; k++) more[k][0] = more[k][1] = more[k][2] = more[k][3] = NAN;
    } else {
        divide(&b, 0, f->n);
        const struct field *const w = kernel == SAP_KERNEL_WENDLAND_C6 ? &wendland_c6 : &wendland_c4;
        for (int k = 0; k < f->ni; k++) add_all(&b, w, f->first + k, more[k]);
    }
    free(b.h);
    free(b.order);
    free(b.box);
    return there;
}
