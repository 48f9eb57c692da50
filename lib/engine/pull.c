/* pull.c - the unit of the tolerance of MULTIPOLE, from a sample of particles. */
#include "engine/pull.h"

#include <math.h>
#include <string.h>

/*
 * Members that tell a pull; the part of the others that is near, 1 / NEAR, of few at least LEAST, more than a multiple
 * star has; how far those reach that count.
 */
enum { TELLERS = 16, NEAR = 16, LEAST = 8, REACH = 64 };

/* Returns the k-th smallest of n numbers, k from 0; changes their order. */
static double kth(double *x, int n, int k)
{
    for (int low = 0, high = n - 1; low < high;) {
        const double pivot = x[low + (high - low) / 2];
        int i = low, j = high;
        while (i <= j) {
            while (x[i] < pivot) i++;
            while (x[j] > pivot) j--;
            if (i > j) break;
            const double was = x[i];
            x[i++] = x[j];
            x[j--] = was;
        }
        if (k > j && k < i) return x[k];
        if (k <= j)
            high = j;
        else
            low = i;
    }
    return x[k];
}

/* Returns the squared distance of the teller from members within which a sixteenth of them is; 0: all are at its
 * position.  Distances are in units of `size`, which keeps their squares in range. */
static double near_distance2(const double (*sample)[SAP_CUBE_SAMPLE], int m, int teller, double size, double *r2)
{
    double apart[SAP_CUBE_SAMPLE] = {0};
    int n = 0;
    for (int s = 0; s < m; s++) {
        r2[s] = 0;
        for (int c = 0; c < 3; c++) {
            const double d = (sample[c][s] - sample[c][teller]) / size;
            r2[s] += d * d;
        }
        if (r2[s] > 0) apart[n++] = r2[s];
    }
    const int least = n / 2 < LEAST ? n / 2 : (int)LEAST;
    return n > 0 ? kth(apart, n, n / NEAR > least ? n / NEAR : least) : 0;
}

/* Returns f / s^2 of a teller, with s in units of `size`; 0: it has no extent. */
static double told_by(const double (*sample)[SAP_CUBE_SAMPLE], int m, int teller, double size)
{
    double r2[SAP_CUBE_SAMPLE] = {0}, mean[3] = {0, 0, 0}, s2 = 0;
    const double most = REACH * REACH * near_distance2(sample, m, teller, size, r2);
    int n = 0;
    for (int s = 0; s < m; s++) {
        if (!(r2[s] <= most)) continue;
        n++;
        for (int c = 0; c < 3; c++) mean[c] += (sample[c][s] - sample[c][teller]) / size;
    }
    for (int s = 0; s < m; s++) {
        if (!(r2[s] <= most)) continue;
        for (int c = 0; c < 3; c++) {
            const double d = (sample[c][s] - sample[c][teller]) / size - mean[c] / n;
            s2 += d * d;
        }
    }
    return s2 > 0 ? (double)n / m * n / s2 : 0;
}

/* Returns the longest edge of the box of the sample. */
static double size_of(const double (*sample)[SAP_CUBE_SAMPLE], int m)
{
    double size = 0;
    for (int c = 0; c < 3; c++) {
        double low = sample[c][0], high = low;
        for (int s = 1; s < m; s++) {
            low = fmin(low, sample[c][s]);
            high = fmax(high, sample[c][s]);
        }
        size = fmax(size, high - low);
    }
    return size;
}

double sap_pull_of(const double (*sample)[SAP_CUBE_SAMPLE], int m, double sum)
{
    double told[TELLERS] = {0};
    int n = 0;
    const double size = m > 0 ? size_of(sample, m) : 0;
    if (!(size > 0) || !(sum > 0)) return 1;
    for (int k = 0; k < TELLERS && k < m; k++) {
        told[n] = told_by(sample, m, (int)((long long)k * m / (m < TELLERS ? m : TELLERS)), size);
        n += told[n] > 0;
    }
    if (n == 0) return sum / size / size;
    const double pull = kth(told, n, n / 2) * (sum / size / size);
    return pull > 0 && isfinite(pull) ? pull : 1;
}
