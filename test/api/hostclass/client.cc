/*
 * client.cc - a client of Sapporo2's C++ class: all orders against sums in long double, the clock on and off, lists,
 * particles read back, and bad input.
 *
 *     client BACKEND      1: skipped, since the backend has no device
 */
#include "sapporohostclass.h"

#include "../../support/worst.h"

static const int N = 300, NI = 7;
static int failures;

static void check(bool right, const char *what, const char *detail = "")
{
    failures += !right;
    printf("%s - %s%s\n", right ? "ok" : "not ok", what, detail);
}

static void check_number(bool right, const char *what, const char *detail, double number)
{
    failures += !right;
    printf("%s - %s%s%.1e\n", right ? "ok" : "not ok", what, detail, number);
}

static double mass[N], x[N][3], v[N][3], a[N][3], j[N][3], zero[3];
static int id[N];

static double uniform(double from, double to) { return from + (to - from) * rand() / RAND_MAX; }

static void make()
{
    srand(7);
    for (int k = 0; k < N; k++) {
        mass[k] = uniform(0.5, 1.5) / N;
        id[k] = 1000 - k;
        for (int c = 0; c < 3; c++) {
            x[k][c] = uniform(-1, 1);
            v[k][c] = uniform(-1, 1);
            a[k][c] = uniform(-0.5, 0.5);
            j[k][c] = uniform(-0.5, 0.5);
        }
    }
}

struct sums {
    long double pot, acc[3], jerk[3];
    int nearest;
    double r2;
    vector<int> list;
};

/* Stored in the form of an order, at time 0. */
static int store(sapporo &grav, int order)
{
    int status = 0;
    for (int k = 0; k < N; k++) {
        double a2[3], j6[3];
        for (int c = 0; c < 3; c++) a2[c] = order > FOURTH ? a[k][c] : a[k][c] / 2;
        for (int c = 0; c < 3; c++) j6[c] = order > FOURTH ? j[k][c] : j[k][c] / 6;
        status |= grav.set_j_particle(k, id[k], 0, 0, mass[k], zero, j6, a2, v[k], x[k], zero, NULL, 0.25);
    }
    return status;
}

/* The force on particle i where it is stored, from all others as they are at time t. */
static sums solve(int i, double t, double eps2, double h2)
{
    sums s = sums();
    s.nearest = -1;
    for (int k = 0; k < N; k++) {
        long double r[3], w[3], r2 = 0, rv = 0;
        if (k == i) continue;
        for (int c = 0; c < 3; c++) {
            r[c] = x[k][c] + t * (v[k][c] + t / 2 * (a[k][c] + t / 3 * j[k][c])) - x[i][c];
            w[c] = v[k][c] + t * (a[k][c] + t / 2 * j[k][c]) - v[i][c];
            r2 += r[c] * r[c];
            rv += r[c] * w[c];
        }
        if (s.nearest < 0 || r2 < s.r2) s.nearest = id[k], s.r2 = (double)r2;
        if (r2 < h2) s.list.push_back(id[k]);
        const long double u2 = 1 / (r2 + eps2), u = sqrtl(u2);
        s.pot -= mass[k] * u;
        for (int c = 0; c < 3; c++) {
            s.acc[c] += mass[k] * u * u2 * r[c];
            s.jerk[c] += mass[k] * u * u2 * (w[c] - 3 * rv * u2 * r[c]);
        }
    }
    sort(s.list.begin(), s.list.end());
    return s;
}

static double off(const double *got, const long double *right, int n)
{
    long double d = 0, size = 0;
    for (int c = 0; c < n; c++) d += (got[c] - right[c]) * (got[c] - right[c]), size += right[c] * right[c];
    return (double)sqrtl(d / size);
}

static void forces(sapporo &grav, const char *what, int order, double t, double bound)
{
    double acc[NI][3], jerk[NI][3], snp[NI][3], crk[NI][3], pot[NI], h2[NI], r2[NI], worst = 0;
    int near[NI], wrong = 0;
    for (int i = 0; i < NI; i++) h2[i] = 0.1;
    grav.startGravCalc(N, NI, id, x, v, a, j, NULL, 1e-3, h2, NULL);
    const int status = grav.getGravResults(N, NI, id, x, v, 1e-3, h2, acc, jerk, order > FOURTH ? snp : NULL,
                                           order > SIXTH ? crk : NULL, pot, near, r2, true);
    grav.read_ngb_list(0);
    for (int i = 0; i < NI; i++) {
        const sums s = solve(i, order == GRAPE5 ? 0 : t, 1e-3, h2[i]);
        int list[N], n = -1;
        worst = worst_of(worst, worst_of(off(&pot[i], &s.pot, 1), off(acc[i], s.acc, 3)));
        if (order > GRAPE5) worst = worst_of(worst, off(jerk[i], s.jerk, 3));
        wrong += near[i] != s.nearest || !(fabs(r2[i] - s.r2) <= 1e-12);
        wrong += grav.get_ngb_list(0, i, N, n, list) != 0 || n != (int)s.list.size();
        for (int k = 0; k < n && k < (int)s.list.size(); k++) wrong += list[k] != s.list[(size_t)k];
        wrong += n > 1 && (grav.get_ngb_list(0, i, 1, n, list) != 1 || n != (int)s.list.size());
    }
    check_number(status == 0 && wrong == 0 && worst < bound, what, ": errors ", worst);
}

static void order_of(const char *name, int order, int precision, double bound)
{
    sapporo grav;
    int devices[] = {0};
    const string text(name);
    if (grav.open("CUDA/kernels.ptx", devices, 1, order, precision) != 0) {
        check(false, name, " does not open");
        return;
    }
    check(store(grav, order) == 0 && grav.set_time(0.125) == 0, name, ": particles are stored");
    forces(grav, (text + ", predicted").c_str(), order, 0.125, bound);
    check(grav.set_no_time() == 0, name, ": no time");
    forces(grav, (text + ", as stored").c_str(), order, 0, bound);
    check(grav.set_time(0.0625) == 0, name, ": time");
    forces(grav, (text + ", predicted again").c_str(), order, 0.0625, bound);
}

static void reading()
{
    sapporo grav;
    int devices[] = {0};
    double m, number, eps2, p[3], w[3], acc[3], jerk[3], pp[3], pv[3], pa[3];
    check(grav.open("", devices) == 0 && store(grav, FOURTH) == 0 && grav.set_time(0.5) == 0, "fourth order");
    grav.forcePrediction(N);
    grav.retrieve_j_particle_state(3, m, number, eps2, p, w, acc, jerk, pp, pv, pa);
    double wrong = fabs(m - mass[3]) + fabs(number - id[3]) + fabs(eps2 - 0.25);
    for (int c = 0; c < 3; c++) {
        wrong += fabs(p[c] - x[3][c]) + fabs(w[c] - v[3][c]) + fabs(acc[c] - a[3][c]) + fabs(jerk[c] - j[3][c]);
        wrong += fabs(pp[c] - (x[3][c] + 0.5 * (v[3][c] + 0.25 * (a[3][c] + 0.5 / 3 * j[3][c]))));
        wrong += fabs(pv[c] - (v[3][c] + 0.5 * (a[3][c] + 0.25 * j[3][c])));
    }
    check_number(wrong < 1e-14, "a particle is read back, stored and predicted", ", to ", wrong);
    grav.retrieve_predicted_j_particle(3, m, number, eps2, p, w, acc);
    check(fabs(p[1] - pp[1]) <= 0 && fabs(w[2] - pv[2]) <= 0, "the same, predicted alone");
    grav.retrieve_predicted_j_particle(N + 5, m, number, eps2, p, w, acc);
    check(m != m && number < 0 && p[0] != p[0], "an empty address is NaN");
    check(grav.set_j_particle(-1, 0, 0, 0, 1, zero, zero, zero, zero, zero, zero, zero, 0) == -1,
          "a bad address is refused");
}

static void bad()
{
    sapporo grav, other;
    int devices[] = {0}, near[1] = {5}, n, list[1];
    double acc[1][3] = {{0}}, pot[1] = {0};
    check(grav.set_time(0) == -1 && grav.set_no_time() == -1 &&
              grav.set_j_particle(0, 0, 0, 0, 1, zero, zero, zero, zero, zero, zero, zero, 0) == -1,
          "nothing is stored before open");
    grav.startGravCalc(1, 1, id, x, v, NULL, NULL, NULL, 0, NULL, NULL);
    check(grav.getGravResults(1, 1, id, x, v, 0, NULL, acc, NULL, NULL, NULL, pot, near, NULL, false) == -1 &&
              acc[0][0] != acc[0][0] && pot[0] != pot[0] && near[0] == -1 && grav.read_ngb_list(0) == -1 &&
              grav.get_ngb_list(0, 0, 1, n, list) == -1 && n == 0,
          "a force before open is NaN");
    check(grav.open("", devices, 1, 4) == -1 && grav.open("", devices, 1, FOURTH, 3) == -1 &&
              grav.open("", devices, 1, SIXTH, FLOAT) == -1,
          "orders and precisions that do not exist are refused");
    check(grav.open("", NULL, 0) == 0 && grav.open("", NULL, 0) == -1, "an open object is not opened again");
    check(other.open("", NULL, -1) == 0 && grav.get_n_pipes() == NPIPES, "two objects at a time");
    check(grav.close() == 0 && grav.close() == 0 && grav.open("", NULL, 0) == 0, "closed and opened again");
}

int main(int argc, char **argv)
{
    if (argc > 1) setenv("SAPPORO_BACKEND", argv[1], 1);
    sapporo first;
    if (first.open("", NULL, 0) != 0) return 1;
    make();
    order_of("GRAPE5, FLOAT", GRAPE5, FLOAT, 1e-5);
    order_of("FOURTH, DOUBLESINGLE", FOURTH, DOUBLESINGLE, 1e-5);
    order_of("FOURTH, DOUBLE", FOURTH, DOUBLE, 1e-12);
    order_of("FOURTH, precision not named", FOURTH, -1, 1e-12);
    order_of("SIXTH, DOUBLE", SIXTH, DOUBLE, 1e-12);
    order_of("EIGHT, DOUBLE", EIGHT, DOUBLE, 1e-12);
    reading();
    bad();
    return failures ? 2 : 0;
}
