/*
 * client.c - a client of libnbody6pp_gpu, or with SAPPORO_NBODY6_AARSETH of libnbody6_gpu, or with
 * SAPPORO_NBODY6_2010 of libnbody6_2010_gpu, for test_nbody6.sh: regular
 * forces with their lists, irregular ones and potentials against sums in double, overflow, and calls out of turn.
 */
#include "sapporo_nbody6.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 5000, LMAX = 400 };

static int wrong;

static void check(int good, const char *what)
{
    if (good) return;
    printf("# wrong: %s\n", what);
    wrong++;
}

static double uniform(void)
{
    static unsigned long long s = 88172645463325252ULL;
    s ^= s << 13, s ^= s >> 7, s ^= s << 17;
    return (double)(s >> 11) * 0x1p-53;
}

static double m[N], x[N][3], v[N][3], h2[N], dtr[N], acc[N][3], jrk[N][3], pot[N];
static int list[N][LMAX];
#if !defined(SAPPORO_NBODY6_AARSETH)
static int nb[N];
#endif

static void make_stars(void)
{
    for (int k = 0; k < N; k++) {
        m[k] = (0.5 + uniform()) / N;
        h2[k] = 0.02 * uniform();
        dtr[k] = 0.1 * uniform();
#if defined(SAPPORO_NBODY6_2010)
        dtr[k] = 0; /* the calls have none */
#endif
        for (int c = 0; c < 3; c++) x[k][c] = uniform(), v[k][c] = uniform() - 0.5;
    }
    memcpy(x[9], x[8], sizeof x[9]); /* two at one place */
}

/* ---- what profiles are to tell ---- */

static int telling; /* 1: the program prints the ends of the lines that profiles print */

/* Since the last profile. */
static struct {
    long calls, rows, members, overflows;
} of_regular, of_irregular;

static void tell(void)
{
    if (telling && of_regular.calls > 0)
        printf("told: %ld calls on %ld particles\ntold: <NB>: %.1f, overflows: %ld\n", of_regular.calls,
               of_regular.rows, (double)of_regular.members / (double)of_regular.rows, of_regular.overflows);
#if !defined(SAPPORO_NBODY6_AARSETH)
    if (telling && of_irregular.calls > 0)
        printf("told: %ld calls on %ld particles\ntold: <NB>: %.1f\n", of_irregular.calls, of_irregular.rows,
               (double)of_irregular.members / (double)of_irregular.rows);
    memset(&of_irregular, 0, sizeof of_irregular);
#endif
    memset(&of_regular, 0, sizeof of_regular);
}

/* ---- the calls of both generations ---- */

static int is_open; /* regular forces */

static void open_regular(int n)
{
#if defined(SAPPORO_NBODY6_AARSETH)
    gpunb_open_(&n);
#else
    const int rank = 0;
    gpunb_devinit_(&rank);
    gpunb_open_(&n, &rank);
#endif
    is_open = 1;
}

static void profile(void)
{
#if defined(SAPPORO_NBODY6_AARSETH)
    gpunb_profile_();
#else
    const int rank = 3;
    gpunb_profile_(&rank);
    irr_simd_profile_(&rank);
#endif
    tell();
}

static void regular_rows(int first, int ni, int lmax, int nnbmax)
{
#if defined(SAPPORO_NBODY6_2010)
    gpunb_regf_(&ni, h2 + first, x + first, v + first, acc, jrk, pot, &lmax, &nnbmax, list[0]);
#elif defined(SAPPORO_NBODY6_AARSETH)
    gpunb_regf_(&ni, h2 + first, dtr + first, x + first, v + first, acc, jrk, pot, &lmax, &nnbmax, list[0]);
#else
    const int m_flag = 0;
    gpunb_regf_(&ni, h2 + first, dtr + first, x + first, v + first, acc, jrk, pot, &lmax, &nnbmax, list[0], &m_flag);
#endif
    if (!is_open || ni == 0) return;
    of_regular.calls++;
    of_regular.rows += ni;
    for (int i = 0; i < ni; i++) {
        const int n = list[0][i * lmax];
        of_regular.members += abs(n), of_regular.overflows += n < 0;
    }
}

static void regular(int first, int ni, int nnbmax) { regular_rows(first, ni, LMAX, nnbmax); }

static void potential(double *to)
{
    const int n = N;
#if defined(SAPPORO_NBODY6_AARSETH)
    gpupot_(&n, m, x, to);
#else
    const int rank = 0, half = N / 2, rest = N - N / 2, start = 1, next = N / 2 + 1;
    gpupot_(&rank, &start, &half, &n, m, x, to);
    gpupot_(&rank, &next, &rest, &n, m, x, to + N / 2);
#endif
}

static int length[N], lists_kept; /* of the lists that are set; lists_kept: irregular forces are open */

static void open_irregular(int nmax, int lmax)
{
    if (!lists_kept) memset(length, 0, sizeof length);
    lists_kept = 1;
#if defined(SAPPORO_NBODY6_AARSETH)
    gpuirr_open_(&nmax, &lmax);
#else
    const int rank = 0;
    irr_simd_open_(&nmax, &lmax, &rank);
#endif
}

static void close_irregular(void)
{
    lists_kept = 0;
#if defined(SAPPORO_NBODY6_AARSETH)
    gpuirr_close_();
#else
    const int rank = 0;
    irr_simd_close_(&rank);
#endif
}

static void set_star(int number, const double *at)
{
    const double a2[3] = {0.5, 0, 0}, j6[3] = {0, 1. / 6, 0}, time = 0;
#if defined(SAPPORO_NBODY6_AARSETH)
    gpuirr_set_jp_(&number, at, v[number - 1], a2, j6, &m[number - 1], &time);
#else
    irr_simd_set_jp_(&number, at, v[number - 1], a2, j6, &m[number - 1], &time);
#endif
}

static void set_irregular(int number, const int *nblist)
{
    set_star(number, x[number - 1]);
#if defined(SAPPORO_NBODY6_AARSETH)
    gpuirr_set_list_(&number, nblist);
#else
    irr_simd_set_list_(&number, nblist);
#endif
    length[number - 1] = lists_kept && nblist[0] <= 110 ? nblist[0] : 0;
}

static void irregular(double time, int ni, const int *number)
{
#if defined(SAPPORO_NBODY6_AARSETH)
    const int one = 1, last = N;
    if (ni % 2)
        gpuirr_pred_all_(&one, &last, &time);
    else
        gpuirr_pred_act_(&ni, number, &time);
    if (ni == 1)
        gpuirr_firr_(number, acc[0], jrk[0]);
    else
        gpuirr_firr_vec_(&ni, number, acc, jrk);
#else
    irr_simd_firr_vec_(&time, &ni, number, acc, jrk, nb);
#endif
    of_irregular.calls++;
    of_irregular.rows += ni;
    for (int i = 0; i < ni && lists_kept; i++) of_irregular.members += number[i] <= N ? length[number[i] - 1] : 0;
}

/* ---- sums in double ---- */

struct sums {
    double acc[3], jrk[3], pot, size;
};

static void add(struct sums *s, int j, const double *d, const double *w)
{
    const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2], rv = d[0] * w[0] + d[1] * w[1] + d[2] * w[2];
    if (r2 == 0) return;
    const double u = 1 / sqrt(r2), u3 = m[j] * u * u * u;
    s->pot += m[j] * u;
    s->size += u3 * sqrt(r2) + u3 * (sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]) + 3 * fabs(rv) * u);
    for (int c = 0; c < 3; c++) {
        s->acc[c] += u3 * d[c];
        s->jrk[c] += u3 * (w[c] - 3 * rv / r2 * d[c]);
    }
}

static int close_to(const struct sums *s, int row)
{
    int good = 1;
    for (int c = 0; c < 3; c++) {
        good &= fabs(acc[row][c] - s->acc[c]) <= 2e-6 * s->size;
        good &= fabs(jrk[row][c] - s->jrk[c]) <= 2e-6 * s->size;
    }
    return good;
}

/* Particle i; its list goes to expected. */
static struct sums regular_sums(int i, int *expected)
{
    struct sums s = {{0}, {0}, 0, 0};
    expected[0] = 0;
    for (int j = 0; j < N; j++) {
        double d[3], w[3], now = 0, later = 0;
        for (int c = 0; c < 3; c++) {
            d[c] = x[j][c] - x[i][c], w[c] = v[j][c] - v[i][c];
            now += d[c] * d[c];
            later += (d[c] + dtr[i] * w[c]) * (d[c] + dtr[i] * w[c]);
        }
        if (now < h2[i] || later < h2[i])
            expected[++expected[0]] = j;
        else
            add(&s, j, d, w);
    }
    return s;
}

static void compare_regular(int first, int ni, const char *what)
{
    static int expected[N + 1];
    int good = 1;
    regular(first, ni, LMAX - 1);
    for (int i = 0; i<ni; i += ni> 100 ? 37 : 1) {
        const struct sums s = regular_sums(first + i, expected);
        good &= close_to(&s, i) && fabs(pot[i] - s.pot) <= 1e-6 * s.pot;
        good &= memcmp(list[i], expected, (size_t)(expected[0] + 1) * sizeof *expected) == 0;
    }
    check(good, what);
}

static void all_regular(void)
{
    const int n = N;
    gpunb_send_(&n, m, x, v);
    regular(0, 3, 9);
    check(isnan(acc[2][0]) && isnan(pot[0]) && list[1][0] == 0, "no force before opening");
    open_regular(N);
    open_regular(N);
    for (int k = 0; k < 100; k++) gpunb_send_(&n, m, x, v); /* takes a time that the profile shows */
    compare_regular(0, 1, "one particle");
    compare_regular(7, 4, "some particles, two at one place");
    compare_regular(100, 1000, "a block");
    compare_regular(0, N, "all particles");
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < LMAX; k++) list[i][k] = 77;
    h2[0] = 0.02;
    regular(0, 5, 3);
    check(list[0][0] < -3 && list[0][1] == 77, "a negative number on overflow, the rest as it was");
    check(!isnan(acc[0][0]), "forces on overflow");
    const int members = -list[0][0];
    regular(0, 1, members);
    check(list[0][0] == members && list[0][members] != 77, "a list that is just as long as may be");
    regular(0, 1, members - 1);
    check(list[0][0] == -members, "a list that is longer by one");
    list[0][members] = list[0][members + 1] = 77;
    regular_rows(0, 1, members, N);
    check(list[0][0] == -members && list[0][members] == 77, "a list for which a row is too short by one");
    regular_rows(0, 1, members + 1, N);
    check(list[0][0] == members && list[0][members] != 77 && list[0][members + 1] == 77, "a list that fills its row");
    const double before = acc[0][0];
    compare_regular(0, 5, "repeated");
    check(acc[0][0] == before, "the same bits when repeated");
    regular(0, 0, 3);
    check(acc[0][0] == before, "no rows");
    profile();
    profile();
    regular(40, 5, LMAX - 1);
    profile();
    gpunb_close_();
    gpunb_close_();
    is_open = 0;
    regular(0, 1, 9);
    check(isnan(acc[0][0]), "no force after closing");
}

static void all_potential(void)
{
    static double got[N];
    potential(got);
    int good = 1;
    for (int i = 0; i < N; i += 99) {
        double sum = 0;
        for (int j = 0; j < N; j++) {
            double r2 = 0;
            for (int c = 0; c < 3; c++) r2 += (x[j][c] - x[i][c]) * (x[j][c] - x[i][c]);
            if (r2 > 0) sum += m[j] / sqrt(r2);
        }
        good &= fabs(got[i] - sum) <= 1e-12 * sum;
    }
    check(good, "potential in double precision");
}

static int nblist[N][110];

/* Everybody moves alike beside x + v t: accelerations and jerks are the same. */
static void compare_irregular(double t, int ni, const int *number, const char *what)
{
    int good = 1;
    irregular(t, ni, number);
    for (int i = 0; i < ni; i++) {
        const int one = number[i] - 1;
        struct sums s = {{0}, {0}, 0, 0};
        double least = INFINITY;
        int near = 0;
        for (int k = 1; k <= nblist[one][0]; k++) {
            const int j = nblist[one][k] - 1;
            double d[3], w[3], r2 = 0;
            for (int c = 0; c < 3; c++) {
                w[c] = v[j][c] - v[one][c];
                d[c] = x[j][c] - x[one][c] + t * w[c];
                r2 += d[c] * d[c];
            }
            if (j != one && r2 < least) least = r2, near = j + 1;
            if (j != one) add(&s, j, d, w);
        }
        good &= close_to(&s, i);
#if !defined(SAPPORO_NBODY6_AARSETH)
        good &= nb[i] == near;
#endif
        (void)near;
    }
    check(good, what);
}

/* Sets all stars of one of four threads again and again: the last position of each is the right one. */
static void *set_quarter(void *which)
{
    for (int i = *(const int *)which; i < N; i += 4) {
        for (int time = 0; time < 8; time++) set_star(i + 1, x[(i + time) % N]);
        set_star(i + 1, x[i]);
    }
    return NULL;
}

static void set_by_threads(void)
{
    static const int which[4] = {0, 1, 2, 3};
    pthread_t thread[4];
    int started = 0;
    while (started < 4 && !pthread_create(&thread[started], NULL, set_quarter, (void *)&which[started])) started++;
    check(started == 4, "threads start");
    for (int k = 0; k < started; k++) (void)pthread_join(thread[k], NULL);
}

static void all_irregular(void)
{
    static int number[N];
    const int long_list[] = {200, 1}, empty[] = {0};
    for (int i = 0; i < N; i++) {
        number[i] = (i * 77) % N + 1;
        nblist[i][0] = i % 5 == 0 ? 0 : i % 110;
        for (int k = 1; k <= nblist[i][0]; k++) nblist[i][k] = (int)(uniform() * N) + 1;
    }
    set_irregular(1, empty);
    irregular(0, 1, number);
    check(isnan(acc[0][0]), "no irregular force before opening");
    close_irregular();
    open_irregular(N, 110);
    open_irregular(N, 110);
    for (int i = 0; i < N; i++) set_irregular(i + 1, nblist[i]);
    compare_irregular(0, 1, number, "irregular force on one");
    compare_irregular(0.125, 17, number, "irregular forces on some");
    compare_irregular(0.25, N, number, "irregular forces on all");
    set_by_threads();
    compare_irregular(0.125, N, number, "irregular forces after threads have set all stars");
    for (int i = 0; i < N; i += 3) set_star(i + 1, x[(i + 1) % N]);
    set_by_threads();
    set_star(number[0], x[0]); /* no force has asked for it when all is closed */
    close_irregular();
    open_irregular(N, 110);
    irregular(0, 1, number);
    check(isnan(acc[0][0]), "stars that were set before closing are gone");
    for (int i = 0; i < N; i++) set_irregular(i + 1, nblist[i]);
    compare_irregular(0.25, N, number, "irregular forces on all, opened again");
    set_irregular(4, long_list);
    irregular(0, 2, (const int[]){4, N + 5});
    check(isnan(acc[0][0]) && isnan(jrk[1][2]), "lists that are too long, and particles that are none");
    profile();
    profile();
    irregular(0, 7, number);
    profile();
    close_irregular();
#if !defined(SAPPORO_NBODY6_AARSETH)
    nb[0] = nb[1] = 77;
#endif
    irregular(0, 2, number);
    check(isnan(acc[1][0]), "no irregular force after closing");
#if !defined(SAPPORO_NBODY6_AARSETH)
    check(nb[0] == 0 && nb[1] == 0, "nor a nearest neighbour");
#endif
}

/* Pages of this process in memory; 0: the system does not tell. */
static long resident(void)
{
    char line[80] = "";
    FILE *const f = fopen("/proc/self/statm", "r");
    const int read = f && fgets(line, sizeof line, f) != NULL;
    const char *const second = read ? strchr(line, ' ') : NULL;
    if (f) fclose(f);
    return second ? strtol(second, NULL, 10) : 0;
}

/* Forces that are opened and closed again and again take no more memory. */
static void open_often(void)
{
    enum { OFTEN = 200, FEW = 2000, PAGES = 4000 };
    const int one[] = {1, 2}, number[] = {1}, n = FEW;
    long before = 0;
    for (int k = 0; k < 2 * OFTEN; k++) {
        if (k == OFTEN) before = resident();
        open_irregular(FEW, 110);
        for (int i = 0; i < 3; i++) set_irregular(i + 1, one);
        irregular(0, 1, number);
        close_irregular();
        open_regular(FEW);
        gpunb_send_(&n, m, x, v);
        regular(0, 1, 9);
        gpunb_close_();
        is_open = 0;
    }
    check(resident() < before + PAGES, "memory of forces that are closed is given back");
}

int main(int argc, char **argv)
{
    (void)argv;
    telling = argc > 1;
    make_stars();
    all_regular();
    all_potential();
    all_irregular();
    open_often();
    puts(wrong ? "failed" : "all as it should be");
    return wrong != 0;
}
