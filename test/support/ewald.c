/* ewald.c - see ewald.h. */
#include "ewald.h"

#include <math.h>

typedef long double real;

static const real PI = 3.14159265358979323846264338327950288L;

enum { CELLS = 5, WAVES = 9 };

void ewald_add(struct ewald *to, const real *x, real pot, real f, real slope)
{
    to->pot += pot;
    for (int c = 0; c < 3; c++) to->acc[c] += f * x[c];
    for (int i = 0, q = 0; i < 3; i++)
        for (int k = i; k < 3; k++, q++) to->tidal[q] -= slope * x[i] * x[k] + (i == k ? f : 0);
}

/* Adds an image at x: of erfc(alpha r) / r, or of -erf(alpha r) / r at the origin itself. */
static void add_image(struct ewald *to, const real *x, real alpha)
{
    const real r2 = x[0] * x[0] + x[1] * x[1] + x[2] * x[2], r = sqrtl(r2), w = 2 * alpha / sqrtl(PI);
    if (r2 == 0) {
        ewald_add(to, x, -w, -2 * alpha * alpha * w / 3, 0);
        return;
    }
    if (alpha * r > 7) return;
    const real c = erfcl(alpha * r), g = w * expl(-alpha * alpha * r2), f = (c / r + g) / r2;
    ewald_add(to, x, c / r, f, -(3 * f + 2 * alpha * alpha * g) / r2);
}

/* Adds the wave k and its opposite. */
static void add_wave(struct ewald *to, const real *d, const int *k, real alpha)
{
    const real k2 = k[0] * k[0] + k[1] * k[1] + k[2] * k[2];
    const real size = 2 * expl(-PI * PI * k2 / (alpha * alpha)) / (PI * k2);
    const real phase = 2 * PI * (k[0] * d[0] + k[1] * d[1] + k[2] * d[2]);
    to->pot += size * cosl(phase);
    for (int c = 0; c < 3; c++) to->acc[c] += size * 2 * PI * k[c] * sinl(phase);
    for (int i = 0, q = 0; i < 3; i++)
        for (int j = i; j < 3; j++, q++) to->tidal[q] -= size * 4 * PI * PI * k[i] * k[j] * cosl(phase);
}

struct ewald ewald_sum(const real *d, real alpha)
{
    struct ewald sum = {.pot = -PI / (alpha * alpha)};
    for (int i = -CELLS; i <= CELLS; i++)
        for (int j = -CELLS; j <= CELLS; j++)
            for (int k = -CELLS; k <= CELLS; k++) add_image(&sum, (real[3]){d[0] + i, d[1] + j, d[2] + k}, alpha);
    for (int i = 0; i <= WAVES; i++)
        for (int j = -WAVES; j <= WAVES; j++)
            for (int k = -WAVES; k <= WAVES; k++) {
                if (i == 0 && (j < 0 || (j == 0 && k <= 0))) continue; /* the opposite of another one */
                if (PI * PI * (i * i + j * j + k * k) > 44 * alpha * alpha) continue;
                add_wave(&sum, d, (int[3]){i, j, k}, alpha);
            }
    return sum;
}
