/* test_tree_keys.c - the keys of a tree: curves, nested cells, the cube. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/cube.h"
#include "physics/scalars.h"
#include "rng.h"
#include "worst.h"

enum { LEVEL = 4, SIDE = 1 << LEVEL, CELLS = SIDE * SIDE * SIDE, SHIFT = SAP_KEY_LEVELS - LEVEL };

/* Each key of a level once; along Peano's and Hilbert's curve cells that follow each other share a face. */
static void curve(void **state)
{
    (void)state;
    static int where[CELLS][3], seen[CELLS];
    for (unsigned x = 0; x < SIDE; x++)
        for (unsigned y = 0; y < SIDE; y++)
            for (unsigned z = 0; z < SIDE; z++) {
                const sap_key key = sap_key_hilbert(x << SHIFT, y << SHIFT, z << SHIFT) >> (3 * SHIFT);
                assert_true(key < CELLS && seen[key]++ == 0);
                where[key][0] = (int)x;
                where[key][1] = (int)y;
                where[key][2] = (int)z;
            }
    for (int k = 1; k < CELLS; k++) {
        int apart = 0;
        for (int c = 0; c < 3; c++) apart += abs(where[k][c] - where[k - 1][c]);
        assert_int_equal(apart, 1);
    }
}

/* The highest 3 L bits tell the cell of level L, whatever is below. */
static void nesting(void **state)
{
    (void)state;
    rng source;
    rng_seed(&source, 5, 1);
    for (int k = 0; k < 20000; k++) {
        const uint64_t a = rng_next(&source), b = rng_next(&source);
        const int level = k % (SAP_KEY_LEVELS + 1), shift = SAP_KEY_LEVELS - level;
        sap_cell_number x[2][3];
        for (int c = 0; c < 3; c++) {
            x[0][c] = (sap_cell_number)(a >> (21 * c)) & 0x1FFFFF;
            const sap_cell_number low = (1U << shift) - 1;
            x[1][c] = (x[0][c] & ~low) | ((sap_cell_number)(b >> (21 * c)) & low);
        }
        assert_true(sap_key_hilbert(x[0][0], x[0][1], x[0][2]) >> (3 * shift) ==
                    sap_key_hilbert(x[1][0], x[1][1], x[1][2]) >> (3 * shift));
        const sap_key morton = sap_key_morton(x[0][0], x[0][1], x[0][2]);
        for (int bit = 0; bit < SAP_KEY_LEVELS; bit++)
            for (int c = 0; c < 3; c++) assert_true((morton >> (3 * bit + 2 - c) & 1) == (x[0][c] >> bit & 1));
        assert_int_equal(SAP_KEY_DIGIT(morton, 0), (int)(morton >> 60));
    }
}

static struct sap_cube cube_of(double (*x)[3], int n)
{
    static double sample[3][SAP_CUBE_SAMPLE];
    double low[3], high[3];
    const int m = sap_cube_sample(n);
    for (int c = 0; c < 3; c++) {
        low[c] = high[c] = x[0][c];
        for (int i = 0; i < n; i++) {
            low[c] = fmin(low[c], x[i][c]);
            high[c] = larger_of(high[c], x[i][c]);
        }
        for (int k = 0; k < m; k++) sample[c][k] = x[sap_cube_member(n, k)][c];
    }
    return sap_cube_of(low, high, sample, m);
}

/* Its edge is a power of two; it holds all, or nearly all where few are far out; its border takes the others. */
static void cube(void **state)
{
    (void)state;
    enum { N = 5000 };
    static double x[N][3];
    rng source;
    rng_seed(&source, 6, 1);
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 3; c++) x[i][c] = 3 * rng_uniform(&source) - 10;
    for (int far = 0; far < 3; far++) {
        if (far) x[17][1] = far == 1 ? 50 : 1e9;
        const struct sap_cube q = cube_of(x, N);
        int exponent, outside = 0;
        assert_true(frexp(q.edge, &exponent) == 0.5 && q.cells == 2097152 / q.edge);
        for (int i = 0; i < N; i++)
            for (int c = 0; c < 3; c++) {
                const double part = (x[i][c] - q.low[c]) / q.edge;
                outside += !(part >= 0 && part < 1);
                const sap_cell_number cell = sap_key_cell(x[i][c], q.low[c], q.cells);
                assert_true(cell <= 2097151 && (part < 1 || cell == 2097151));
            }
        assert_true(outside == (far == 2) && q.edge <= (far == 0 ? 4 : 256));
    }
    for (int i = 0; i < N; i++) memcpy(x[i], x[0], sizeof x[i]);
    assert_true(cube_of(x, N).edge == 0 && cube_of(x, 1).edge == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(curve), cmocka_unit_test(nesting), cmocka_unit_test(cube)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
