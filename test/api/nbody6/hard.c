/*
 * hard.c - a client of libnbody6pp_gpu, or with SAPPORO_NBODY6_AARSETH of libnbody6_gpu, for test_hard_clients.sh:
 * memory that runs out while particles are sent, integers at their ends, and numbers of all kinds under traps.
 *
 * What a call cannot compute is NaN: it is neither what was there before nor the force of other particles.
 */
#define _GNU_SOURCE
#include <fenv.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sapporo_nbody6.h"
#include "scarce.h"

enum { N = 200, NI = 8, LMAX = 32 };

static int wrong;

static void check(int good, const char *what, int n)
{
    if (good) return;
    printf("# wrong: %s (%d)\n", what, n);
    wrong++;
}

static double m[N], x[N][3], v[N][3], a2[N][3], h2[N], dtr[N];
static double acc[N][3], jrk[N][3], pot[N];
static int list[N][LMAX], nearest[N];
static const int zero = 0;

static void make_stars(int which)
{
    for (int k = 0; k < N; k++) {
        m[k] = 1 + 0.1 * sin(k + which);
        h2[k] = 0.01;
        dtr[k] = 0.01;
        for (int c = 0; c < 3; c++) {
            x[k][c] = sin(1.3 * k + 2 * c + 0.3 * which);
            v[k][c] = 0.1 * sin(k + c);
            a2[k][c] = 0.01 * sin(k - c);
        }
    }
}

/* ---- the calls of both generations; zero is a rank, too ---- */

#if defined(SAPPORO_NBODY6_AARSETH)
static void open_regular(int n) { gpunb_open_(&n); }
static void open_irregular(int n, int most) { gpuirr_open_(&n, &most); }
static void close_irregular(void) { gpuirr_close_(); }
static void set_jp(int number, const double *mass, const double *time)
{
    const int k = number > 0 && number <= N ? number - 1 : 0;
    gpuirr_set_jp_(&number, x[k], v[k], a2[k], a2[k], mass, time);
}
static void set_list(int number, const int *members) { gpuirr_set_list_(&number, members); }
static void irregular(int ni, const int *number, double time)
{
    gpuirr_pred_all_(&zero, &ni, &time);
    gpuirr_firr_vec_(&ni, number, acc, jrk);
}
static void regular_of(int ni, int lmax, int nnbmax, int *lists)
{
    gpunb_regf_(&ni, h2, dtr, x, v, acc, jrk, pot, &lmax, &nnbmax, lists);
}
static void potential(int first, int ni, int n)
{
    (void)first, (void)ni;
    gpupot_(&n, m, x, pot);
}
static void profile(void) { gpunb_profile_(); }
#else
static void open_regular(int n) { gpunb_open_(&n, &zero); }
static void open_irregular(int n, int most) { irr_simd_open_(&n, &most, &zero); }
static void close_irregular(void) { irr_simd_close_(&zero); }
static void set_jp(int number, const double *mass, const double *time)
{
    const int k = number > 0 && number <= N ? number - 1 : 0;
    irr_simd_set_jp_(&number, x[k], v[k], a2[k], a2[k], mass, time);
}
static void set_list(int number, const int *members) { irr_simd_set_list_(&number, members); }
static void irregular(int ni, const int *number, double time)
{
    irr_simd_firr_vec_(&time, &ni, number, acc, jrk, nearest);
}
static void regular_of(int ni, int lmax, int nnbmax, int *lists)
{
    gpunb_regf_(&ni, h2, dtr, x, v, acc, jrk, pot, &lmax, &nnbmax, lists, &zero);
}
static void potential(int first, int ni, int n) { gpupot_(&zero, &first, &ni, &n, m, x, pot); }
static void profile(void)
{
    gpunb_profile_(&zero);
    irr_simd_profile_(&zero);
}
#endif

static void regular(void) { regular_of(NI, LMAX, LMAX - 1, list[0]); }

static void send(int n) { gpunb_send_(&n, m, x, v); }

static void soil(void)
{
    for (int i = 0; i < N; i++) {
        for (int c = 0; c < 3; c++) acc[i][c] = jrk[i][c] = 7;
        pot[i] = 7;
        list[i][0] = nearest[i] = 7;
    }
}

/* ---- memory ---- */

static void open_all(void)
{
    open_regular(N);
    open_irregular(N, LMAX);
}

static void close_all(void)
{
    gpunb_close_();
    close_irregular();
}

static void send_regular(void) { send(N); }

static void send_irregular(void)
{
    const double time = 0;
    for (int k = 1; k <= N; k++) {
        const int members[4] = {3, k % N + 1, (k + 6) % N + 1, (k + 50) % N + 1};
        set_jp(k, &m[k - 1], &time);
        set_list(k, members);
    }
}

static void force_irregular(void)
{
    const int number[NI] = {1, 50, 100, 150, 200, 3, 4, 5};
    irregular(NI, number, 0.5);
}

static void send_nothing(void) {}
static void force_potential(void) { potential(1, N, N); }

static const struct scene {
    const char *name;
    void (*send)(void), (*force)(void);
    int with_pot, rows;
} scenes[] = {{"regular", send_regular, regular, 1, NI},
              {"irregular", send_irregular, force_irregular, 0, NI},
              {"potential", send_nothing, force_potential, 2, N}};

/* Rows are right, or NaN if they may be. */
static void compare(const struct scene *s, double (*const right)[7], int may_fail, int n)
{
    for (int i = 0; i < s->rows; i++) {
        const double got[7] = {acc[i][0], acc[i][1], acc[i][2], jrk[i][0], jrk[i][1], jrk[i][2], pot[i]};
        for (int q = s->with_pot == 2 ? 6 : 0; q < 6 + (s->with_pot > 0); q++)
            check(got[q] == right[i][q] || (may_fail && isnan(got[q])), s->name, n);
    }
}

#if SCARCE
static void take(double (*right)[7])
{
    for (int i = 0; i < N; i++) {
        const double got[7] = {acc[i][0], acc[i][1], acc[i][2], jrk[i][0], jrk[i][1], jrk[i][2], pot[i]};
        memcpy(right[i], got, sizeof got);
    }
}

/* Opens, sends and computes with allocation n refused, or all from there on; 0 once there are fewer. */
static int play(const struct scene *s, double (*right)[7], int n, int with_old)
{
    refused = 0;
    if (with_old) {
        open_all();
        make_stars(1);
        s->send();
    }
    make_stars(2);
    countdown = n;
    if (!with_old) open_all();
    s->send();
    if (s->send != send_nothing) countdown = -1;
    soil();
    s->force();
    countdown = -1;
    const int again = refused;
    compare(s, right, again, n);
    open_all(); /* where that failed */
    s->send();
    soil();
    s->force();
    compare(s, right, 0, n);
    close_all();
    return again;
}

static void try_memory(void)
{
    static double right[N][7];
    for (size_t k = 0; k < sizeof scenes / sizeof scenes[0]; k++) {
        open_all();
        make_stars(2);
        scenes[k].send();
        scenes[k].force();
        take(right);
        close_all();
        for (for_good = 0; for_good < 2; for_good++)
            for (int with_old = 0, n; with_old < 2; with_old++) {
                for (n = 0; play(&scenes[k], right, n, with_old) && wrong == 0;) n++;
                check(with_old || n > 0 || k == 2, "nothing was refused", n);
            }
    }
    for_good = 0;
}
#else
static void try_memory(void) {}
#endif

/* ---- integers ---- */

static int all_nan(int n)
{
    int good = 1;
    for (int i = 0; i < n; i++)
        for (int c = 0; c < 3; c++) good &= isnan(acc[i][c]) && isnan(jrk[i][c]);
    return good;
}

static void try_integers(void)
{
    static const int ends[] = {INT_MIN, INT_MIN + 1, -1, 0, N + 1, INT_MAX - 1, INT_MAX};
    const double time = 0;
    open_all();
    make_stars(1);
    send_regular();
    send_irregular();
    for (size_t k = 0; k < sizeof ends / sizeof ends[0]; k++) {
        const int end = ends[k], members[3] = {2, 2, end}, length[2] = {end < 0 || end > LMAX ? end : -1, 1};
        set_jp(end, &m[0], &time);
        set_list(end, members);
        set_list(1, members);
        soil();
        irregular(1, &(int){1}, 0);
        check(all_nan(1), "a list that names none of the particles", end);
        set_list(2, length);
        soil();
        irregular(1, &(int){2}, 0);
        check(all_nan(1), "a list of impossible length", end);
        soil();
        irregular(1, &end, 0);
        check(all_nan(1), "a force on none of the particles", end);
        if (end == -1) { /* as long as there is room for, and one longer */
            int most[LMAX + 2] = {LMAX};
            for (int n = 1; n < LMAX + 2; n++) most[n] = n + 2;
            set_list(2, most);
            soil();
            irregular(1, &(int){2}, 0);
            check(isfinite(acc[0][0]) && acc[0][0] != 7, "the longest list", LMAX);
            most[0] = LMAX + 1;
            set_list(2, most);
            soil();
            irregular(1, &(int){2}, 0);
            check(all_nan(1), "a list of one too many", LMAX + 1);
        }
        if (end <= 0) irregular(end, &end, 0);
        if (end <= 0) regular_of(end, LMAX, LMAX - 1, list[0]);
        soil();
        if (end <= 0) {
            regular_of(NI, end, LMAX - 1, list[0]);
            check(all_nan(NI) && isnan(pot[0]) && isnan(pot[NI - 1]), "lists without room", end);
            check(list[0][0] == 7, "lists without room are not written", end);
            soil();
            regular_of(NI, LMAX, end, list[0]);
            check(isfinite(acc[0][0]) && list[0][0] <= 0, "lists of no members", end);
        }
#if !defined(SAPPORO_NBODY6_AARSETH)
        soil();
        potential(end, 1, N);
        check(isnan(pot[0]), "potential of none of the particles", end);
        soil();
        potential(1, 1, end <= 0 ? end : -end);
        check(isnan(pot[0]), "potential among none", end);
        soil();
        potential(N - 1, 2, N);
        check(isfinite(pot[0]) && pot[1] > 0 && pot[1] != 7, "potential of the last two", N);
        soil();
        potential(N, 2, N);
        check(isnan(pot[0]) && isnan(pot[1]) && pot[2] == 7, "potential of one beyond the last", N + 1);
#endif
        if (end < 0) {
            send(end);
            soil();
            regular();
            check(all_nan(NI) && isnan(pot[0]) && list[0][0] == 0, "a force after a send that failed", end);
            send_regular();
            soil();
            regular();
            check(isfinite(acc[0][0]), "a force after a good one", end);
        }
    }
    close_all();
    soil();
    send(N); /* no device is open */
    open_all();
    regular();
    check(all_nan(NI), "a force without a send since", 0);
    close_all();
}

/* ---- traps ---- */

static void try_numbers(void)
{
    const uint64_t signalling = UINT64_C(0x7FF4000000000001);
    double odd[] = {NAN, INFINITY, -INFINITY, 1e308, -1e308, 1e200, 1e-200, 1e-310, 4.9e-324, -0.0, 0x1p60, 0};
    memcpy(&odd[11], &signalling, sizeof signalling);
    open_all();
    for (size_t k = 0; k < sizeof odd / sizeof odd[0]; k++)
        for (int where = 0; where < 8; where++) {
            make_stars(1);
            double time = 0, mass = 1, *const place[] = {&m[3], x[3], v[3], a2[3], &h2[3], &dtr[3], &time, &mass};
            memcpy(place[where], &odd[k], sizeof odd[k]);
            send_regular();
            regular();
            profile();
            send_irregular();
            set_jp(4, &mass, &time);
            force_irregular();
            irregular(1, &(int){4}, odd[k]);
            potential(1, N, N);
        }
    close_all();
}

int main(void)
{
    make_stars(1);
#if defined(__GLIBC__)
    feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW | FE_UNDERFLOW);
    try_numbers();
    fedisableexcept(FE_ALL_EXCEPT);
#endif
    try_integers();
    try_memory();
    puts(wrong ? "something is wrong" : "all as it should be");
    return wrong > 0;
}
