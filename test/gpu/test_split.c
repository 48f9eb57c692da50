/*
 * test_split.c - positions in the form of kernels: in ds the two words of a position hold 48 bits of it.
 *
 * Some vectorising compilers turn `low = x - (double)(float)x` into zero, which costs half the digits and shows nowhere
 * else.
 *
 * With SPLIT_ALONE defined this is a program without CMocka over two kernels, for test_split_levels.sh, which compiles
 * them at other levels of optimisation.
 */
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

enum { TILE = SAP_CPU_SUPERPACKET, LANES = SAP_CPU_LANES };

/* A tile of particles in columns. */
struct tile {
    _Alignas(64) double derivative[SAP_TERMS + 1][3 * TILE];
    _Alignas(64) double mass[TILE], time[TILE];
    _Alignas(64) int32_t index[TILE];
};

static struct tile tile;
static _Alignas(64) unsigned char records[TILE * 16 * sizeof(double)];

static uint64_t draw(void)
{
    static uint64_t state = 88172645463325252u; /* xorshift64 (Marsaglia 2003) */
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static double uniform(void) { return (double)(draw() >> 11) * 0x1p-53; }

static size_t place(int a, int axis)
{
    return (size_t)(a / LANES) * 3 * LANES + (size_t)axis * LANES + (size_t)(a % LANES);
}

/* A coordinate: one of those that are hard to split, or any number within 2^-spread and 2^spread. */
static double coordinate(int spread)
{
    static const double hard[] = {
        0.0,           -0.0,         1.0,          0x1.fffffffffffffp0, 0x1.000001p0,  0x1.0000010000001p0,
        0x1.0000008p0, 0x1.fffffep0, 0x1.ffffffp0, 0x1.fffffefffffffp0, 0x1.0000018p0, 0x1.8000008000001p0};
    const double sign = draw() & 1 ? -1 : 1;
    if (draw() % 4 == 0) return sign * hard[draw() % (sizeof hard / sizeof hard[0])];
    return sign * ldexp(1 + uniform(), (int)(draw() % (uint64_t)(2 * spread + 1)) - spread);
}

static void fill_tile(int moving, int spread)
{
    for (int a = 0; a < TILE; a++) {
        tile.mass[a] = 1;
        tile.index[a] = a;
        tile.time[a] = moving ? uniform() - 0.5 : 0;
        for (int axis = 0; axis < 3; axis++)
            for (int k = 0; k <= SAP_TERMS; k++)
                tile.derivative[k][place(a, axis)] = k == 0 ? coordinate(spread) : 2 * uniform() - 1;
    }
}

/* A kernel, and the relative error that its words leave to a coordinate. */
struct subject {
    const struct sap_kernel *kernel;
    const char *name;
    double word; /* 2^-24: one float, 2^-48: two, 0: a double */
};

/* Near zero the smallest float counts. */
static double word_error(const struct subject *s, double x) { return s->word * fabs(x) + (s->word > 0 ? 0x1p-150 : 0); }

/* The predicted coordinate, and how far roundings of its series may have moved it. */
static long double series(int terms, int a, int axis, long double dt, double *slack)
{
    static const double factor[] = {1, 1, 1, 1, 0.75}; /* of x, v, a/2, jerk/6, snap/18 */
    long double x = 0, power = 1, size = 0;
    for (int k = 0; k <= terms; k++, power *= dt) {
        const long double term = factor[k] * tile.derivative[k][place(a, axis)] * power;
        x += term;
        size += fabsl(term);
    }
    *slack = (double)size * 0x1p-51;
    return x;
}

/* Complains about the first position that is not held well; returns how many. */
static int check_positions(const struct subject *s, int terms, double time, int n)
{
    struct sap_columns columns = {.mass = tile.mass, .time = tile.time, .index = tile.index};
    int wrong = 0;
    for (int k = 0; k <= terms; k++) columns.derivative[k] = tile.derivative[k];
    memset(records, 0xFF, s->kernel->tile_bytes);
    s->kernel->predict(&columns, terms, time, n, records);
    for (int a = 0; a < n; a++) {
        double got[3];
        s->kernel->position(records, a, got);
        for (int axis = 0; axis < 3; axis++) {
            double slack;
            const long double dt = (long double)time - tile.time[a], x = series(terms, a, axis, dt, &slack);
            const double off = (double)fabsl(got[axis] - x), most = word_error(s, (double)x) + (dt != 0 ? slack : 0);
            if (off <= most) continue;
            if (wrong++ == 0)
                printf("# %s, %d terms, dt %g: address %d, axis %d is %a, should be %La: off by %g, at most %g\n",
                       s->name, terms, (double)dt, a, axis, got[axis], x, off, most);
        }
    }
    return wrong;
}

/* The words of an i-particle: x, y, z, v, low parts. */
static int check_targets(const struct subject *s, int spread)
{
    static struct sap_group group;
    double x[SAP_GROUP_MAX][3], v[SAP_GROUP_MAX][3];
    const struct sap_i i = {.x = (const double(*)[3])x, .v = (const double(*)[3])v};
    int wrong = 0;
    for (int k = 0; k < s->kernel->group; k++)
        for (int axis = 0; axis < 3; axis++) x[k][axis] = coordinate(spread), v[k][axis] = 0;
    s->kernel->start_group(&group, &i, 0, s->kernel->group, 0);
    for (int k = 0; k < s->kernel->group; k++)
        for (int axis = 0; axis < 3; axis++) {
            const float *const high = (const float *)group.words[axis], *const low =
                                                                            (const float *)group.words[6 + axis];
            const double got =
                s->word == 0 ? group.words[axis][k] : (double)high[k] + (s->word < 0x1p-40 ? (double)low[k] : 0);
            if (fabs(got - x[k][axis]) <= word_error(s, x[k][axis])) continue;
            if (wrong++ == 0) printf("# %s: target at %a is kept as %a\n", s->name, x[k][axis], got);
        }
    return wrong;
}

static int check_kernel(const struct subject *s)
{
    int wrong = 0;
    if (s->kernel->tile_bytes > sizeof records) return 1;
    for (int turn = 0; turn < 3; turn++) {
        const int spread = turn == 0 ? 3 : turn == 1 ? 40 : 100; /* ends within the range of floats */
        for (int terms = 1; terms <= SAP_TERMS; terms++) {
            fill_tile(0, spread);
            wrong += check_positions(s, terms, 0.0, TILE);
            fill_tile(1, turn ? 20 : 3);
            wrong += check_positions(s, terms, 0.25, TILE);
            wrong += check_positions(s, terms, -0.125, 1 + (int)(draw() % TILE));
        }
        for (int k = 0; k < 50; k++) wrong += check_targets(s, spread);
    }
    return wrong;
}

#if defined(SPLIT_ALONE)

extern const struct sap_kernel sap_kernel_ds_scalar;
#if defined(SAP_HAVE_SSE2)
extern const struct sap_kernel sap_kernel_ds_sse2;
#endif

/* The kernels need it; nothing is asked of it here. */
int sap_hits_grow(struct sap_hits *hits, int more) { return (void)hits, (void)more, 0; }

int main(void)
{
    int wrong = check_kernel(&(struct subject){&sap_kernel_ds_scalar, "scalar", 0x1p-48});
#if defined(SAP_HAVE_SSE2)
    wrong += check_kernel(&(struct subject){&sap_kernel_ds_sse2, "sse2", 0x1p-48});
#endif
    return wrong != 0;
}

#else

#include <setjmp.h>

#include <cmocka.h>

#include "isa.h"
#include "model.h"

static void every_kernel(void **state)
{
    int wrong = 0;
    (void)state;
    for (int k = 0; k < CPU_ENGINES; k++) {
        const struct engine *e = &engines[k];
        if (!engine_usable(e)) continue;
        const struct subject s = {sap_isa_kernel((enum sap_isa)sap_isa_find(e->isa), 4, (int)e->precision, 0), e->name,
                                  e->precision == SAPPORO_DP   ? 0
                                  : e->precision == SAPPORO_DS ? 0x1p-48
                                                               : 0x1p-24};
        wrong += check_kernel(&s);
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kernel)};
    return cmocka_run_group_tests_name("split", tests, NULL, NULL);
}

#endif
