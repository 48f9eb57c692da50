/* g6.c - a GRAPE-6 client that links libyebisug6 alone, for test_sixth.sh: the force of two particles on each other. */
#include <sapporo_g6.h>

#include <math.h>
#include <stdio.h>

int main(void)
{
    double x[2][3] = {{0, 0, 0}, {2, 0, 0}}, v[2][3] = {{0, 0, 0}, {0, 1, 0}}, mass[2] = {1, 4};
    double acc[2][3], jerk[2][3], pot[2], h2[2] = {0, 0}, zero[3] = {0, 0, 0};
    int index[2] = {1, 2};
    if (g6_open(0) != 0) return 1;
    for (int k = 0; k < 2; k++) g6_set_j_particle(0, k, index[k], 0, 0, mass[k], zero, zero, zero, v[k], x[k]);
    g6_set_ti(0, 0);
    g6calc_firsthalf(0, 2, 2, index, x, v, NULL, NULL, NULL, 0, h2);
    if (g6calc_lasthalf(0, 2, 2, index, x, v, 0, h2, acc, jerk, pot) != 0) return 1;
    printf("acc %g %g, pot %g %g, %d pipes\n", acc[0][0], acc[1][0], pot[0], pot[1], g6_npipes());
    return fabs(acc[0][0] - 1) > 1e-6 || fabs(acc[1][0] + 0.25) > 1e-6 || fabs(pot[0] + 2) > 1e-6 ||
           g6_npipes() != 16384 || g6_close(0) != 0;
}
