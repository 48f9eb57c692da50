/*
 * p3t.c - calls with the arguments of nbody6-p3t's tree, linked with libnbody6_gpu or libnbody7_gpu, for
 * test_nbody6.sh: they are refused, and write NaN into the accelerations and jerks alone.  A force of stars that were
 * not sent is not refused.
 */
#include <math.h>
#include <stdio.h>

enum { N = 64, LMAX = 16 };

void gpunb_open_(const int *nn, const int *nnbmax);
void gpunb_close_(void);
/* Either code's arguments, after the number of stars. */
void gpunb_regf_(const int *n, const void *, const void *, const void *, const void *, const void *, const void *,
                 const void *, const void *, const void *, const void *);

static const int n = N, nnbmax = 10, lmax = LMAX;
static double mass[N], x[N][3], v[N][3], acc[N][3], jerk[N][3], cut[N], dtr[N], pot[N];
static int list[N][LMAX];

int main(void)
{
    int wrong = 0;
    for (int i = 0; i < N; i++) {
        mass[i] = 1.0 / N;
        cut[i] = 0.1;
        pot[i] = 7;
        for (int c = 0; c < 3; c++) x[i][c] = sin(3 * i + c + 0.3), v[i][c] = 0.1 * cos(i + c);
    }
    gpunb_open_(&n, &nnbmax);
    /* Nine arguments: mass, position, velocity, acceleration, jerk, length of a row, lists, radii. */
    gpunb_regf_(&n, mass, x, v, acc, jerk, &lmax, list, cut, NULL, NULL);
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 3; c++) wrong += !isnan(jerk[i][c]) || !isnan(acc[i][c]) || !isfinite(x[i][c] + v[i][c]);
    for (int k = 0; k < N * LMAX; k++) wrong += list[k / LMAX][k % LMAX] != 0;
    for (int i = 0; i < N; i++) wrong += cut[i] != 0.1;

    /* NBODY6's eleven: h2, dtr, x, v, acc, jerk, pot, lmax, nnbmax, list.  Without stars the force is 0. */
    gpunb_regf_(&n, cut, dtr, x, v, acc, jerk, pot, &lmax, &nnbmax, list);
    for (int i = 0; i < N; i++) wrong += acc[i][0] != 0 || jerk[i][0] != 0 || pot[i] != 0 || list[i][0] != 0;
    for (int i = 0; i < N; i++) x[i][0] = x[i][1] = x[i][2] = NAN; /* as that code's next positions */
    gpunb_regf_(&n, mass, x, v, acc, jerk, &lmax, list, cut, NULL, NULL);
    gpunb_close_();
    if (wrong) printf("# %d wrong numbers\n", wrong);
    return wrong != 0;
}
