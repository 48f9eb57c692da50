/*
 * hard.c - a client of libsapporo6th, or with SAPPORO_YEBISU of libyebisug6, for test_hard_clients.sh: memory that runs
 * out while particles are sent, addresses at their ends, and numbers of all kinds under traps.
 *
 * A process has one set of particles, so each trial is a process of its own.
 */
#define _GNU_SOURCE
#include <fenv.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sapporo_hermite6.h"
#include "scarce.h"

enum { BLOCK = 30, N = 2 * BLOCK, FAR_OFF = 20000, NJ = FAR_OFF + BLOCK, NI = 4, QUANTITIES = 12 };

static int wrong;

static void check(int good, const char *what, int n)
{
    if (good) return;
    if (wrong == 0) printf("# wrong: %s (%d)\n", what, n);
    wrong++;
}

static sapporo_particle star[N];
static double eps2_of[N];

static int address_of(int k) { return k < BLOCK ? k : FAR_OFF + k - BLOCK; }

static void make_stars(int which)
{
    for (int k = 0; k < N; k++) {
        for (int d = 0; d < 6; d++)
            for (int c = 0; c < 3; c++) star[k].derivative[d][c] = sin(1.3 * k + 2 * c + d + 0.3 * which);
        star[k].mass = 1 + 0.1 * sin(k + which);
        star[k].time = 0;
        star[k].index = 1000 - k;
        eps2_of[k] = 0.5 * k + which;
    }
}

static void put(int address, sapporo_particle p, double eps2)
{
    double(*d)[3] = p.derivative;
#if defined(SAPPORO_YEBISU)
    if (address % 2)
        set_jp(address, p.mass, d[0], d[1], d[2], d[3], d[4], d[5], p.time, p.index, eps2);
    else
        set_jp_2(address, d[0], d[1], d[2], d[3], d[4], d[5], p.mass, p.time, p.index, eps2);
#else
    set_j_particle(address, d[0], d[1], d[2], d[3], d[4], d[5], p.mass, p.time, p.index, eps2);
#endif
}

static void send(void)
{
    for (int k = 0; k < N; k++) put(address_of(k), star[k], eps2_of[k]);
}

static void start(void)
{
#if defined(SAPPORO_YEBISU)
    initialize(N);
#else
    initialize();
#endif
}

static double target[NI][3] = {{3, 0, 0}, {0, 3, 0}, {0, 0, 3}, {2, 2, 2}}, moving[NI][3];
static double softening[NI] = {0.01, 0.01, 0.01, 0.01}, id[NI] = {-1, -2, -3, -4};

/* acc, jerk, snap, potential, nearest neighbour (NaN: none) and its distance. */
static void force(int ni, int nj, double (*out)[QUANTITIES])
{
    for (int i = 0; i < NI; i++)
        for (int q = 0; q < QUANTITIES; q++) out[i][q] = 7;
#if defined(SAPPORO_YEBISU)
    struct sapporo_yebisu_predictor p[NI];
    struct sapporo_yebisu_force f[NI];
    memset(f, 7, sizeof f);
    for (int i = 0; i < NI; i++) {
        memset(&p[i], 0, sizeof p[i]);
        memcpy(p[i].pos, target[i], sizeof p[i].pos);
        memcpy(p[i].vel, moving[i], sizeof p[i].vel);
        memcpy(&p[i].id, &id[i], sizeof id[i]);
        memcpy(&p[i].eps2, &softening[i], sizeof softening[i]);
    }
    calc_force_on_predictors(ni, p, f, nj);
    for (int i = 0; i < ni; i++) {
        memcpy(out[i], f[i].acc, sizeof f[i].acc);
        memcpy(out[i] + 3, f[i].jrk, sizeof f[i].jrk);
        memcpy(out[i] + 6, f[i].snp, sizeof f[i].snp);
        memcpy(out[i] + 9, &f[i].phi, sizeof f[i].phi);
        out[i][10] = f[i].nnb_id < 0 ? (double)NAN : f[i].nnb_id;
        out[i][11] = f[i].nnb_id < 0 ? (double)NAN : 1;
    }
#else
    double acc[NI][3], jerk[NI][3], snap[NI][3], crackle[NI][3], pot[NI], r2[NI];
    int nearest[NI], index[NI] = {-1, -2, -3, -4};
    memset(acc, 7, sizeof acc);
    calc_force_on_predictors(ni, nj, index, target, moving, moving, NULL, softening, acc, jerk, snap, crackle, pot,
                             nearest, r2);
    for (int i = 0; i < ni; i++) {
        memcpy(out[i], acc[i], sizeof acc[i]);
        memcpy(out[i] + 3, jerk[i], sizeof jerk[i]);
        memcpy(out[i] + 6, snap[i], sizeof snap[i]);
        memcpy(out[i] + 9, &pot[i], sizeof pot[i]);
        out[i][10] = nearest[i] < 0 ? (double)NAN : nearest[i];
        memcpy(out[i] + 11, &r2[i], sizeof r2[i]);
    }
#endif
}

static double picked_eps2(int address)
{
#if defined(SAPPORO_YEBISU)
    struct sapporo_yebisu_predictor p;
    pick_up_predictor(address, &p);
    return p.eps2;
#else
    double pos[3], vel[3], acc[3], mass, eps2;
    int index;
    pick_up_predictor_2(address, &index, &mass, &eps2, pos, vel, acc);
    return eps2;
#endif
}

/* Runs a trial in a process of its own; what it returns, or -1 after what is wrong. */
static int apart(int (*trial)(int n), int n)
{
    int status;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        const int found = trial(n);
        fflush(stdout);
        _exit(wrong ? 99 : found);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) == 99) {
        check(0, "a trial", n);
        return -1;
    }
    return WEXITSTATUS(status);
}

/* ---- memory ---- */

static int still, with_old;
static double right[NI][QUANTITIES];

static void ask_for_force(double (*out)[QUANTITIES])
{
    if (still)
        no_predict_all(0.25, NJ);
    else
        predict_all(0.25, NJ);
    force(NI, NJ, out);
}

static int expect(int n)
{
    (void)n;
    start();
    make_stars(2);
    send();
    ask_for_force(right);
    FILE *file = fopen(getenv("HARD_CLIENT_FILE"), "wb");
    int good = file && fwrite(right, sizeof right, 1, file) == 1;
    if (file) good &= fclose(file) == 0;
    check(good && isfinite(right[0][0]), "the force that is right", still);
    return 0;
}

static void compare(double (*got)[QUANTITIES], int may_fail, int n)
{
    for (int i = 0; i < NI; i++)
        for (int q = 0; q < QUANTITIES; q++)
            check(got[i][q] == right[i][q] || (may_fail && isnan(got[i][q])), still ? "at rest" : "moving", n);
    for (int k = 0; k < N; k++) {
        const double eps2 = picked_eps2(address_of(k));
        check(eps2 == eps2_of[k] || (may_fail && isnan(eps2)), "a softening", n);
    }
}

#if SCARCE
static int play(int n)
{
    double got[NI][QUANTITIES];
    if (with_old) {
        start();
        make_stars(1);
        send();
        if (still) no_predict_all(0, NJ);
    }
    make_stars(2);
    countdown = n;
    if (!with_old) start();
    send();
    if (still) no_predict_all(0.25, NJ);
    countdown = -1;
    ask_for_force(got);
    compare(got, refused, n);
    send();
    ask_for_force(got);
    compare(got, 0, n);
    return refused;
}

static void try_memory(void)
{
    for (still = 0; still < 2; still++) {
        (void)apart(expect, 0);
        FILE *file = fopen(getenv("HARD_CLIENT_FILE"), "rb");
        check(file && fread(right, sizeof right, 1, file) == 1, "the file", still);
        if (file) fclose(file);
        for (for_good = 0; for_good < 2; for_good++)
            for (with_old = 0; with_old < 2; with_old++) {
                int n = 0;
                while (apart(play, n) > 0) n++;
                check(n > 0 || with_old, "nothing was refused", n);
            }
    }
}
#else
static void try_memory(void) { (void)expect, (void)compare; }
#endif

/* ---- addresses ---- */

static long resident_pages(void)
{
    char line[128], *rest;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file) return 0;
    const int read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    if (!read) return 0;
    (void)strtol(line, &rest, 10); /* all pages */
    return strtol(rest, NULL, 10);
}

static int try_addresses(int n)
{
    static const int ends[] = {INT_MIN, -1, 1 << 30, INT_MAX};
    double got[NI][QUANTITIES], again[NI][QUANTITIES];
    start();
    make_stars(1);
    send();
    predict_all(0.25, NJ);
    force(NI, NJ, got);
    const long before = resident_pages();
    put(100000000, star[1], 3.5);
    put((1 << 30) - 1, star[1], 4.5);
    check(picked_eps2(100000000) == 3.5 && picked_eps2((1 << 30) - 1) == 4.5, "softenings far off", 0);
    check(isnan(picked_eps2(99999999)), "the softening of no particle", 0);
    check((resident_pages() - before) * (sysconf(_SC_PAGESIZE) / 1024) < 100 * 1024, "memory of two particles", 0);
    for (size_t k = 0; k < sizeof ends / sizeof ends[0]; k++) {
        put(ends[k], star[0], 1);
        check(isnan(picked_eps2(ends[k])), "a particle at an impossible address", ends[k]);
        force(NI, NJ, again);
        check(memcmp(got, again, sizeof got) == 0, "a force after an impossible address", ends[k]);
        if (ends[k] < 0) {
            force(ends[k], NJ, again);
            force(NI, ends[k], again);
            check(isnan(again[0][0]) && isnan(again[NI - 1][9]), "a force of a negative number", ends[k]);
        }
    }
    no_predict_all(0, NJ);
    force(NI, NJ, again);
    check(isfinite(again[0][0]), "a force at rest with particles far off", 0);
    return n;
}

/* ---- traps ---- */

static int try_numbers(int n)
{
    const uint64_t signalling = UINT64_C(0x7FF4000000000001);
    double odd[] = {NAN, INFINITY, -INFINITY, 1e308, -1e308, 1e200, 1e-200, 1e-310, 4.9e-324, -0.0, 0x1p60, 0};
    double got[NI][QUANTITIES];
    memcpy(&odd[11], &signalling, sizeof signalling);
#if defined(__GLIBC__)
    feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW | FE_UNDERFLOW);
#endif
    start();
    for (size_t k = 0; k < sizeof odd / sizeof odd[0]; k++)
        for (int where = 0; where < 9; where++) {
            make_stars(1);
            double time = 0, *const place[] = {star[3].derivative[0],
                                               star[3].derivative[5],
                                               &star[3].mass,
                                               &star[3].time,
                                               &eps2_of[3],
                                               target[1],
                                               &softening[1],
                                               &id[1],
                                               &time};
            double keep;
            memcpy(&keep, place[where], sizeof keep);
            memcpy(place[where], &odd[k], sizeof odd[k]);
            send();
            if (k % 2 == 0) predict_all(time, N);
            if (k % 2 != 0) no_predict_all(time, N);
            force(NI, NJ, got);
            (void)picked_eps2(3);
            memcpy(place[where], &keep, sizeof keep);
        }
    return n;
}

int main(void)
{
    (void)apart(try_numbers, 0);
    (void)apart(try_addresses, 0);
    try_memory();
    puts(wrong ? "something is wrong" : "all as it should be");
    return wrong > 0;
}
