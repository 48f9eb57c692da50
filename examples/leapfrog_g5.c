/*
 * leapfrog_g5.c - a leap-frog with one constant step for all particles, by the GRAPE-5 calls.
 *
 *   cc leapfrog_g5.c -lsapporo -lm -o leapfrog_g5
 *   ./leapfrog_g5 [N [STEP [END [EPS]]]]
 *
 * N > 2 makes a Plummer sphere in N-body units (G = M = 1; E = -1/4, but for softening and chance); N = 2 makes a
 * binary of eccentricity 0.7 with G = M = a = 1, whose period is 2 pi.  Prints the total energy and its largest
 * relative error, which falls with the square of STEP.  An error above 0.01 gives a warning and exit status 1.
 */
#include <math.h>
#include <sapporo_g5.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 65536 };
static const double pi = 3.14159265358979324;
static double x[MOST][3], v[MOST][3], a[MOST][3], p[MOST], m[MOST];

/* A random number between 0 and 1, the same sequence on every machine. */
static double uniform(void)
{
    static unsigned long long state = 1;
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return ((double)(state >> 12) + 0.5) * 0x1p-52;
}

static void random_direction(double length, double vector[3])
{
    const double z = 2 * uniform() - 1, angle = 2 * pi * uniform(), r = sqrt(1 - z * z);
    vector[0] = length * r * cos(angle);
    vector[1] = length * r * sin(angle);
    vector[2] = length * z;
}

/* Aarseth, Henon & Wielen 1974, A&A 37, 183: radii from the enclosed mass, speeds by rejection. */
static void make_plummer(int n)
{
    const double unit = 3 * pi / 16; /* of length: makes the energy -1/4 */
    for (int k = 0; k < n; k++) {
        const double radius = 1 / sqrt(pow(0.999 * uniform(), -2.0 / 3) - 1);
        double q, level;
        do {
            q = uniform();
            level = 0.1 * uniform();
        } while (level > q * q * pow(1 - q * q, 3.5));
        m[k] = 1.0 / n;
        random_direction(unit * radius, x[k]);
        random_direction(q * sqrt(2 / sqrt(1 + radius * radius) / unit), v[k]);
    }
}

/* The binary starts at its pericentre, on the x axis. */
static void make_binary(void)
{
    const double e = 0.7, share[2] = {-0.25, 0.75}; /* of the relative orbit: the mass of the other, with a sign */
    for (int k = 0; k < 2; k++) {
        m[k] = fabs(share[1 - k]);
        x[k][0] = share[k] * (1 - e);
        v[k][1] = share[k] * sqrt((1 + e) / (1 - e));
    }
}

/* All particles have moved, so the library gets all of them before each force. */
static void compute_forces(int n)
{
    if (g5_set_xmj(0, n, x, m) == 0 && g5_set_n(n) == 0 && g5_calculate_force_on_x(x, a, p, n) == 0) return;
    fprintf(stderr, "leapfrog_g5: the library cannot compute the forces\n");
    exit(1);
}

/* The potential of GRAPE-5 is positive and contains the particle's own, m / eps. */
static double total_energy(int n, double eps)
{
    double energy = 0;
    for (int k = 0; k < n; k++)
        energy += 0.5 * m[k] *
                  (v[k][0] * v[k][0] + v[k][1] * v[k][1] + v[k][2] * v[k][2] - (p[k] - (eps > 0 ? m[k] / eps : 0)));
    return energy;
}

/* to += rate * time, for all particles: a kick if `to` are velocities, a drift if `to` are positions. */
static void advance(int n, double (*to)[3], double (*rate)[3], double time)
{
    for (int k = 0; k < n; k++)
        for (int axis = 0; axis < 3; axis++) to[k][axis] += rate[k][axis] * time;
}

int main(int argc, char **argv)
{
    double option[4] = {1024, 0, 1, 1.0 / 32}; /* N, STEP, END, EPS */
    char none[] = "", *rest = none;            /* of a word that is no number */
    for (int k = 0; k < 4 && k + 1 < argc && *rest == '\0'; k++) option[k] = strtod(argv[k + 1], &rest);
    const double number = option[0], end = option[2]; /* few stars meet more closely, with the mass of each larger */
    const double step = argc > 2 ? option[1] : number < 64 ? 1.0 / 2048 : 1.0 / 128;
    const double eps = number <= 2 && argc <= 4 ? 0 : option[3]; /* the binary needs no softening */
    if (*rest ||
        !(number >= 2 && number <= MOST && step > 0 && step < 1e9 && end >= 0 && eps >= 0 && end / step < 1e9)) {
        fprintf(stderr, "usage: leapfrog_g5 [N [STEP [END [EPS]]]], N from 2 to %d\n", MOST);
        return 2;
    }
    const int n = (int)number, steps = (int)ceil(end / step - 1e-9);
    n == 2 ? make_binary() : make_plummer(n);
    if (g5_open() != 0 || g5_set_eps_to_all(eps) != 0) return 1; /* the library has printed why */
    compute_forces(n);
    double before = total_energy(n, eps), energy = before, worst = 0;
    printf("# %d particles, energy %.12f\n", n, before);
    for (int k = 1; k <= steps; k++) {
        advance(n, v, a, step / 2);
        advance(n, x, v, step);
        compute_forces(n);
        advance(n, v, a, step / 2);
        energy = total_energy(n, eps);
        if (!(fabs((energy - before) / before) <= worst)) worst = fabs((energy - before) / before);
    }
    printf("# time %.4f, energy %.12f, largest relative error %.6e, %d steps\n", steps * step, energy, worst, steps);
    if (!(worst <= 1e-2)) fprintf(stderr, "leapfrog_g5: the energy is not conserved: use a smaller STEP\n");
    if (fflush(stdout) != 0) return perror("leapfrog_g5: standard output"), 1;
    return g5_close() != 0 || !(worst <= 1e-2);
}
