/*
 * radii.c - a client of libnbody6_gpu or libnbody7_gpu, for test_nbody6_radii.sh: neighbour radii of both kinds, h2 and
 * m_j h2, as Aarseth's older and newer codes pass them.  Lists are compared with those of an extended-precision sum,
 * forces with the sum over all other stars.
 *
 *   radii auto          both kinds in turns, each recognised by its lists
 *   radii first         the same, each in a process of its own whose first force has one target
 *   radii plain|mass    the library takes this kind, whatever is passed
 *   radii wrong plain|mass     radii of the other kind are passed; the script looks at the messages
 *   radii doubt         masses are about 1, so lists by both kinds suit a code, and h2 is taken
 *   radii full          lists overflow by both kinds
 *   radii few           lists overflow by h2, and hold hardly any other star by m_j h2
 */
#define _POSIX_C_SOURCE        200809L
#define SAPPORO_NBODY6_AARSETH 1
#include "../../support/worst.h"
#include "sapporo_nbody6.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 2048, LMAX = 650, NI_MOST = 1024 };
enum kind { PLAIN, MASS };

static const char *const names[] = {"plain", "mass"};
static int wrong;

static double m[MOST], x[MOST][3], v[MOST][3];
static double h2[NI_MOST], dtr[NI_MOST], xi[NI_MOST][3], vi[NI_MOST][3];
static double acc[NI_MOST][3], jrk[NI_MOST][3], pot[NI_MOST];
static int list[NI_MOST][LMAX];

static double uniform(void)
{
    static unsigned long long s = 88172645463325252ULL;
    s ^= s << 13, s ^= s >> 7, s ^= s << 17;
    return (double)(s >> 11) * 0x1p-53;
}

static void direction(double size, double *to)
{
    const double z = 2 * uniform() - 1, phi = 6.283185307179586 * uniform(), s = size * sqrt(1 - z * z);
    to[0] = s * cos(phi), to[1] = s * sin(phi), to[2] = size * z;
}

/* ---- stars: Plummer models of total mass 1, by Aarseth, Henon & Wielen 1974, Astronomy and Astrophysics 37, 183 ----
 */

struct model {
    const char *name;
    int n;
    double neighbours; /* of a star at the half-mass radius */
    double decades;    /* of masses, which are uniform in the logarithm */
    int massless;      /* one star out of so many has no mass; 0: none */
    int most;          /* length of the longest list; 0: as NBODY6 takes it */
};

static const struct model models[] = {
    {.name = "equal masses", .n = 1024, .neighbours = 30},
    {.name = "few stars", .n = 64, .neighbours = 6},
    {.name = "very few stars", .n = 16, .neighbours = 3},
    {.name = "masses over a factor of 100", .n = 1024, .neighbours = 30, .decades = 2},
    {.name = "a factor of 1e6", .n = 2048, .neighbours = 60, .decades = 6},
    {.name = "some without mass", .n = 1024, .neighbours = 30, .decades = 6, .massless = 7},
    {.name = "lists of hardly any", .n = 1024, .neighbours = 0.4, .decades = 6},
    {.name = "lists of few", .n = 2048, .neighbours = 4, .decades = 1},
    {.name = "lists that are long", .n = 1024, .neighbours = 200},
    {.name = "half without mass", .n = 512, .neighbours = 20, .massless = 2},
    {.name = "lists that may hold all", .n = 500, .neighbours = 20, .most = LMAX - 5},
};
enum { MODELS = sizeof models / sizeof models[0] };

static void make_stars(const struct model *model)
{
    const double scale = 0.589048622548086; /* 3 pi / 16 */
    double total = 0;
    for (int k = 0; k < model->n; k++) {
        double r, q, y;
        do r = 1 / sqrt(pow(uniform() + 1e-9, -2. / 3) - 1);
        while (r > 10);
        do q = uniform(), y = uniform() / 10;
        while (y > q * q * pow(1 - q * q, 3.5));
        direction(scale * r, x[k]);
        direction(q * sqrt(2 / scale) * pow(1 + r * r, -0.25), v[k]);
        m[k] = model->massless && k % model->massless == 0 ? 0 : pow(10, -model->decades * uniform());
        total += m[k];
    }
    for (int k = 0; k < model->n; k++) m[k] /= total;
}

/* The radius of a code: RS0 sqrt(1 + r^2), with the density at the half-mass radius 0.77 for RS0. */
static double radius2(const struct model *model, const double *at)
{
    const double r2 = at[0] * at[0] + at[1] * at[1] + at[2] * at[2],
                 density = model->n * 0.5 / (4.19 * 0.77 * 0.77 * 0.77);
    return pow(model->neighbours / (4.19 * density), 2. / 3) * (1 + r2) / 1.59;
}

/* ni targets from star `first` on, with radii as a code of one kind passes them. */
static void make_targets(const struct model *model, int first, int ni, enum kind kind)
{
    for (int i = 0; i < ni; i++) {
        const int k = (first + i) % model->n;
        memcpy(xi[i], x[k], sizeof xi[i]);
        memcpy(vi[i], v[k], sizeof vi[i]);
        h2[i] = radius2(model, x[k]) * (kind == MASS ? model->n : 1); /* the mean mass is 1/N */
        dtr[i] = i % 3 ? 0.0625 * uniform() : 0;
    }
}

/* ---- sums ---- */

static long double smaller(long double a, long double b) { return a < b ? a : b; }

/* Compares list i with the members by one kind; members at the edge of the sphere within rounding may be absent. */
static int list_is(int n, int i, enum kind kind, int most)
{
    int length = 0, at = 1, good = 1;
    for (int j = 0; j < n; j++) {
        long double now = 0, then = 0;
        for (int c = 0; c < 3; c++) {
            const long double d = (long double)x[j][c] - xi[i][c], e = d + dtr[i] * ((long double)v[j][c] - vi[i][c]);
            now += d * d, then += e * e;
        }
        const long double r2 = smaller(now, then), edge = kind == MASS ? (long double)m[j] * h2[i] : h2[i];
        const int told = at <= list[i][0] && list[i][at] == j, sure = fabsl(r2 - edge) > 1e-13L * edge;
        const int member = sure ? r2 < edge : told;
        length += member;
        if (list[i][0] >= 0) good &= told == member, at += told;
    }
    return good && list[i][0] == (length <= most ? length : -length);
}

static double largest(const double *at) { return larger_of(fabs(at[0]), larger_of(fabs(at[1]), fabs(at[2]))); }

/*
 * Whether acceleration i is that by all stars that are not in list i.  Bound: sp rounds each coordinate by half a unit
 * in the 24th bit, which changes a term by at most 3 sqrt(3) times the rounding of the two positions over r; 1e-6 is
 * the bound of the arithmetic of a term in sp.
 */
static int force_is(int n, int i)
{
    long double sum[3] = {0}, bound = 1e-30L, error = 0;
    for (int j = 0, at = 1; j < n; j++) {
        long double d[3], r2 = 0;
        if (at <= list[i][0] && list[i][at] == j) {
            at++;
            continue;
        }
        for (int c = 0; c < 3; c++) d[c] = (long double)x[j][c] - xi[i][c], r2 += d[c] * d[c];
        if (r2 == 0) continue;
        const long double r = sqrtl(r2), rounding = 0x1p-24L * (largest(x[j]) + largest(xi[i]));
        bound += m[j] / r2 * (5.2L * rounding / r + 1e-6L);
        for (int c = 0; c < 3; c++) sum[c] += m[j] / (r2 * r) * d[c];
    }
    for (int c = 0; c < 3; c++) error += (acc[i][c] - sum[c]) * (acc[i][c] - sum[c]);
    return sqrtl(error) <= bound;
}

/* ---- calls ---- */

static void compute(int ni, int most)
{
    const int lmax = LMAX;
    gpunb_regf_(&ni, h2, dtr, xi, vi, acc, jrk, pot, &lmax, &most, list[0]);
}

/* The largest length of a list; NBODY6's is at most half the number of stars. */
static int most_of(const struct model *model)
{
    if (model->most) return model->most;
    return model->n / 2 < LMAX - 5 ? model->n / 2 : LMAX - 5;
}

/* Compares some lists, and forces beside lists that fit. */
static void check(const struct model *model, int ni, enum kind kind, const char *what)
{
    int rows = 0, lists = 0, forces = 0;
    for (int i = 0; i < ni; i += 1 + ni / 50) {
        rows++;
        lists += list_is(model->n, i, kind, most_of(model));
        forces += list[i][0] < 0 || force_is(model->n, i);
    }
    if (lists == rows && forces == rows) return;
    printf("# wrong: %s, %s, %d targets: of %d rows %d lists are right by the kind %s, %d forces\n", model->name, what,
           ni, rows, lists, names[kind], forces);
    wrong++;
}

/* A run of a code that passes radii of the kind `passed`, with the library open: blocks of several sizes. */
static void run(const struct model *model, enum kind passed, enum kind taken, int begin_with, const char *what)
{
    static const int blocks[] = {NI_MOST, 1, 7, 40};
    gpunb_open_(&model->n);
    gpunb_send_(&model->n, m, x, v);
    for (int k = 0; k < 4; k++) {
        const int block = k == 0 && begin_with ? begin_with : blocks[k], ni = block < model->n ? block : model->n;
        make_targets(model, k * 13, ni, passed);
        compute(ni, most_of(model));
        check(model, ni, taken, what);
    }
    gpunb_close_();
}

static void run_models(int recognised, enum kind taken)
{
    for (int k = 0; k < MODELS; k++)
        for (enum kind passed = PLAIN; passed <= MASS; passed++) {
            make_stars(&models[k]);
            run(&models[k], passed, recognised ? passed : taken, 0, names[passed]);
            run(&models[k], passed, recognised ? passed : taken, 8, names[passed]);
        }
}

/*
 * Radii that are too large, so that all lists overflow: by the other kind no list holds another star.  Both kinds are
 * wrong, plain radii by less.  A code with weighted radii was served before.
 */
static void run_too_large(void)
{
    static const struct model model = {.name = "too large", .n = 1024, .neighbours = 400, .most = 100};
    make_stars(&models[0]);
    run(&models[0], MASS, MASS, 0, "before");
    make_stars(&model);
    run(&model, PLAIN, PLAIN, 0, "too large");
}

/* Runs that begin with one target, each in a new process. */
static void run_first(void)
{
    for (int k = 0; k < MODELS; k++)
        for (int passed = PLAIN; passed <= MASS; passed++) {
            int status = 1;
            make_stars(&models[k]);
            if (models[k].n < 64) continue; /* a kind does not show by one target of 16 stars */
            (void)fflush(stdout);
            const pid_t child = fork();
            if (child == 0) {
                run(&models[k], (enum kind)passed, (enum kind)passed, 1, names[passed]);
                (void)fflush(stdout);
                _exit(wrong > 0 ? 1 : 0);
            }
            wrong += child < 0 || waitpid(child, &status, 0) != child || status != 0;
        }
}

/* A code in other units, whose stars have masses of about 1: the library takes h2 and says that it may be wrong. */
static void run_doubtful(void)
{
    make_stars(&models[3]);
    for (int k = 0; k < models[3].n; k++) m[k] = 0.5 + uniform();
    run(&models[3], PLAIN, PLAIN, 0, "doubt");
}

/* Targets in the core, with radii by which lists overflow: by either kind, or only plain ones. */
static void run_overflows(double squared)
{
    static const struct model rows_for_few = {.name = "rows for few", .n = 1024, .most = 100};
    const struct model *const model = &rows_for_few;
    make_stars(model);
    gpunb_open_(&model->n);
    gpunb_send_(&model->n, m, x, v);
    for (int k = 0; k < 3; k++) {
        make_targets(model, 0, 100, PLAIN);
        for (int i = 0; i < 100; i++) h2[i] = squared, xi[i][0] *= 0.2, xi[i][1] *= 0.2, xi[i][2] *= 0.2;
        compute(100, most_of(model));
        check(model, 100, PLAIN, "overflow");
    }
    gpunb_close_();
}

int main(int argc, char **argv)
{
    const char *const word = argv[argc - 1];
    const enum kind kind = strcmp(word, "mass") == 0 ? MASS : PLAIN;
    if (argc == 3) {
        make_stars(&models[0]);
        run(&models[0], kind == MASS ? PLAIN : MASS, kind, 0, "wrong");
        run(&models[0], kind == MASS ? PLAIN : MASS, kind, 0, "wrong again");
    } else if (argc != 2) {
        return 2;
    } else if (strcmp(word, "first") == 0) {
        run_first();
    } else if (strcmp(word, "doubt") == 0) {
        run_doubtful();
    } else if (strcmp(word, "full") == 0) {
        run_overflows(1e7);
    } else if (strcmp(word, "few") == 0) {
        run_overflows(1);
    } else {
        run_models(strcmp(word, "auto") == 0, kind);
        if (strcmp(word, "auto") == 0) run_too_large();
    }
    puts(wrong ? "something is wrong" : "all as it should be");
    return wrong > 0;
}
