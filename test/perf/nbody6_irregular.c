/*
 * nbody6_irregular.c - NBODY6's irregular force by several libraries in one run, in turns: this one's libnbody6pp_gpu
 * against a shared object of another that has the same names.
 *
 *   cc -O2 -Iinclude test/perf/nbody6_irregular.c -ldl -lm -o nbody6_irregular
 *   OMP_NUM_THREADS=1 ./nbody6_irregular [-n STARS] [-l LIST] [-b BLOCK] [-p] LIBRARY...
 *
 * With -fopenmp all threads send stars, as those of NBODY6++GPU do.  -p takes processor times, for busy machines.
 *
 * A Plummer model, each star with the list of its nearest.  A block is that many stars of like distance from the
 * centre (as those with short steps are), at a later time each call; its stars are sent again after their force, as
 * the code does.  Prints, for each size of block and library, members of lists/s of the force and of force and
 * sending together (medians of rounds), and the errors of forces against sums in double (median and worst).
 */
#define _DEFAULT_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LIBRARIES = 4, ROUNDS = 9, SLACK = 8, CHECKED = 256 };

struct library {
    const char *path;
    void (*open)(const int *, const int *, const int *), (*close)(const int *);
    void (*set_jp)(const int *, const double *, const double *, const double *, const double *, const double *,
                   const double *);
    void (*set_list)(const int *, const int *);
    void (*force)(const double *, const int *, const int *, double (*)[3], double (*)[3], int *);
    double force_s[ROUNDS], all_s[ROUNDS];
};

struct star {
    double x[3], v[3], a2[3], j6[3], mass, time;
};

static int n = 16384, length = 100;
static struct star *star;
static int *list; /* row k: length, then numbers from 1 on; SLACK behind */
static int *by_radius;
static double (*acc)[3], (*jerk)[3];
static int *nearest;

static clockid_t clock_of_times = CLOCK_MONOTONIC;

static double now(void)
{
    struct timespec t;
    clock_gettime(clock_of_times, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double uniform(void)
{
    static unsigned long long state = 88172645463325252ULL;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}

static void direction(double length_of, double *to)
{
    const double z = 2 * uniform() - 1, phi = 6.283185307179586 * uniform(), r = sqrt(1 - z * z);
    to[0] = length_of * r * cos(phi);
    to[1] = length_of * r * sin(phi);
    to[2] = length_of * z;
}

static int *row(int k) { return list + (ptrdiff_t)k * (length + 1 + SLACK); }

static double distance2(const double *a, const double *b)
{
    const double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
}

static double *key; /* by which numbers are sorted */

static int by_key(const void *a, const void *b)
{
    const double p = key[*(const int *)a], q = key[*(const int *)b];
    return (p > q) - (p < q);
}

static int by_value(const void *a, const void *b)
{
    const double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* The nearest stars but itself, in order of their numbers, as the code has them. */
static void make_list(int k, int *number)
{
    int some = 0;
    double reach = 0.02;
    for (int j = 0; j < n; j++) key[j] = distance2(star[j].x, star[k].x);
    for (; some <= length; reach *= 1.3) {
        some = 0;
        for (int j = 0; j < n; j++)
            if (j != k && key[j] < reach * reach) number[some++] = j;
    }
    qsort(number, (size_t)some, sizeof *number, by_key);
    qsort(number, (size_t)length, sizeof *number, by_number);
    row(k)[0] = length;
    for (int j = 0; j < length; j++) row(k)[1 + j] = number[j] + 1;
}

static void *array(size_t count, size_t size)
{
    void *a = calloc(count, size);
    if (!a) exit(1);
    return a;
}

static void make(void)
{
    int *number = array((size_t)n, sizeof *number);
    star = array((size_t)n, sizeof *star);
    list = array((size_t)n * (size_t)(length + 1 + SLACK), sizeof *list);
    by_radius = array((size_t)n, sizeof *by_radius);
    acc = array((size_t)n, sizeof *acc);
    jerk = array((size_t)n, sizeof *jerk);
    nearest = array((size_t)n, sizeof *nearest);
    key = array((size_t)n, sizeof *key);
    for (int k = 0; k < n; k++) {
        const double r = 0.6 / sqrt(pow(0.001 + 0.98 * uniform(), -2.0 / 3) - 1), w = 1 / sqrt(1 + r * r);
        direction(r, star[k].x);
        direction(0.7 * sqrt(w) * uniform(), star[k].v);
        direction(0.5 * r * w * w * w, star[k].a2);
        direction(0.1 * w, star[k].j6);
        star[k].mass = (0.5 + uniform()) / n;
        star[k].time = -0.01 * uniform();
    }
    for (int k = 0; k < n; k++) make_list(k, number);
    for (int k = 0; k < n; k++) key[k] = distance2(star[k].x, (double[3]){0}), by_radius[k] = k;
    qsort(by_radius, (size_t)n, sizeof *by_radius, by_key);
    for (int k = 0; k < n; k++) by_radius[k]++;
    free(number);
}

static void *name(void *from, const char *what)
{
    void *found = dlsym(from, what);
    if (!found) fprintf(stderr, "no %s: %s\n", what, dlerror()), exit(1);
    return found;
}

static void send(const struct library *l, int number, double time)
{
    const struct star *s = &star[number - 1];
    l->set_jp(&number, s->x, s->v, s->a2, s->j6, &s->mass, &time);
}

static void load(struct library *l, const char *path)
{
    const int rank = 0, most = length + 100;
    void *from = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!from) fprintf(stderr, "%s\n", dlerror()), exit(1);
    l->path = path;
    *(void **)&l->open = name(from, "irr_simd_open_");
    *(void **)&l->close = name(from, "irr_simd_close_");
    *(void **)&l->set_jp = name(from, "irr_simd_set_jp_");
    *(void **)&l->set_list = name(from, "irr_simd_set_list_");
    *(void **)&l->force = name(from, "irr_simd_firr_vec_");
    l->open(&n, &most, &rank);
    for (int k = 1; k <= n; k++) {
        send(l, k, star[k - 1].time);
        l->set_list(&k, row(k - 1));
    }
}

static void predict(const struct star *s, double time, double *x, double *v)
{
    const double t = time - s->time;
    for (int c = 0; c < 3; c++) {
        x[c] = s->x[c] + t * (s->v[c] + t * (s->a2[c] + t * s->j6[c]));
        v[c] = s->v[c] + t * (2 * s->a2[c] + t * 3 * s->j6[c]);
    }
}

/* The error of acceleration and jerk of a star. */
static void error_of(int number, double time, const double *a, const double *j, double *error)
{
    double xi[3], vi[3], sum[6] = {0}, off[2] = {0}, size[2] = {0};
    const int *of = row(number - 1);
    predict(&star[number - 1], time, xi, vi);
    for (int k = 1; k <= of[0]; k++) {
        double x[3], v[3], d[3], w[3], r2 = 0, rv = 0;
        predict(&star[of[k] - 1], time, x, v);
        for (int c = 0; c < 3; c++) d[c] = x[c] - xi[c], w[c] = v[c] - vi[c], r2 += d[c] * d[c], rv += d[c] * w[c];
        const double m3 = star[of[k] - 1].mass / (r2 * sqrt(r2));
        for (int c = 0; c < 3; c++) sum[c] += m3 * d[c], sum[3 + c] += m3 * (w[c] - 3 * rv / r2 * d[c]);
    }
    for (int c = 0; c < 3; c++) {
        off[0] += (a[c] - sum[c]) * (a[c] - sum[c]), size[0] += sum[c] * sum[c];
        off[1] += (j[c] - sum[3 + c]) * (j[c] - sum[3 + c]), size[1] += sum[3 + c] * sum[3 + c];
    }
    error[0] = sqrt(off[0] / size[0]);
    error[1] = sqrt(off[1] / size[1]);
}

static void print_errors(struct library *l)
{
    static double of[2][CHECKED];
    const double time = 1e-3;
    const int most = n < CHECKED ? n : CHECKED, step = n / most;
    for (int k = 1; k <= n; k++) send(l, k, star[k - 1].time);
    l->force(&time, &n, by_radius, acc, jerk, nearest);
    for (int k = 0; k < most; k++) {
        double error[2];
        error_of(by_radius[k * step], time, acc[k * step], jerk[k * step], error);
        of[0][k] = error[0], of[1][k] = error[1];
    }
    for (int q = 0; q < 2; q++) qsort(of[q], (size_t)most, sizeof **of, by_value);
    printf("%-40s error of acc %.1e, at most %.1e; of jerk %.1e, at most %.1e\n", l->path, of[0][most / 2],
           of[0][most - 1], of[1][most / 2], of[1][most - 1]);
}

/* Calls on blocks from the centre outwards, until some 2e6 members were summed. */
static void measure(struct library *l, int block, int round, double *time)
{
    double force_s = 0, all_s = 0, members = 0;
    for (int from = 0; members < 2e6; from = from + 2 * block <= n ? from + block : 0) {
        *time += 1e-9;
        const double start = now();
        l->force(time, &block, by_radius + from, acc, jerk, nearest);
        const double between = now();
#pragma omp parallel for schedule(static)
        for (int k = 0; k < block; k++) send(l, by_radius[from + k], *time);
        force_s += between - start;
        all_s += now() - start;
        members += (double)block * length;
    }
    l->force_s[round] = force_s / members;
    l->all_s[round] = all_s / members;
}

static void compare(struct library *library, int libraries, int block)
{
    static double time[LIBRARIES];
    for (int round = 0; round < ROUNDS; round++)
        for (int k = 0; k < libraries; k++) measure(&library[k], block, round, &time[k]);
    for (int k = 0; k < libraries; k++) {
        struct library *l = &library[k];
        qsort(l->force_s, ROUNDS, sizeof *l->force_s, by_value);
        qsort(l->all_s, ROUNDS, sizeof *l->all_s, by_value);
        printf("%-40s blocks of %5d: %.3e members/s, with sending %.3e\n", l->path, block, 1 / l->force_s[ROUNDS / 2],
               1 / l->all_s[ROUNDS / 2]);
    }
}

int main(int argc, char **argv)
{
    static struct library library[LIBRARIES];
    static const int sizes[] = {1 << 30, 1024, 256, 64, 16, 4, 1};
    int libraries = 0, only = 0;
    for (int option; (option = getopt(argc, argv, "n:l:b:p")) != -1;) {
        if (option == 'n') n = (int)strtol(optarg, NULL, 10);
        if (option == 'l') length = (int)strtol(optarg, NULL, 10);
        if (option == 'b') only = (int)strtol(optarg, NULL, 10);
        if (option == 'p') clock_of_times = CLOCK_PROCESS_CPUTIME_ID;
        if (option == '?') return 2;
    }
    if (optind >= argc || n < 2 || length < 1 || length >= n) return 2;
    make();
    for (; optind < argc && libraries < LIBRARIES; optind++) load(&library[libraries++], argv[optind]);
    for (int k = 0; k < libraries; k++) print_errors(&library[k]);
    if (only > 0 && only <= n) compare(library, libraries, only);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes && !only; s++)
        if (sizes[s] < n || s == 0) compare(library, libraries, sizes[s] < n ? sizes[s] : n);
    return 0;
}
