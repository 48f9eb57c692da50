/* tree_particles.c - see tree_particles.h. */
#include "tree_particles.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static uint64_t random_state;
static double uniform(void)
{
    random_state = random_state * 6364136223846793005U + 1442695040888963407U;
    return (double)(random_state >> 11) * 0x1p-53;
}

static double coordinate(enum tree_model model, int i, int k, double scale)
{
    switch (model) {
    case TREE_CUBE:
        return uniform();
    case TREE_CLUSTER: /* denser towards the middle */
        return scale * (uniform() - 0.5);
    case TREE_PAIRS: /* closer than keys can distinguish */
        return i % 2 ? 0 : uniform();
    case TREE_ONE_PLACE:
        return 3 + k;
    default: /* a few at great distance */
        return i % 500 == 7 ? 1e12 * (uniform() - 0.5) : uniform();
    }
}

struct tree_particles tree_particles_make(enum tree_model model, int n)
{
    struct tree_particles p = {n, calloc((size_t)n + 1, sizeof *p.x), calloc((size_t)n + 1, sizeof *p.mass)};
    random_state = (uint64_t)n + 17U * (unsigned)model;
    for (int i = 0; i < n; i++) {
        const double scale = pow(uniform(), 4);
        for (int k = 0; k < 3; k++) p.x[i][k] = coordinate(model, i, k, scale);
        p.mass[i] = (1 + uniform()) / n;
        if (model == TREE_PAIRS && i % 2)
            for (int k = 0; k < 3; k++) p.x[i][k] = p.x[i - 1][k] + 1e-12 * k;
    }
    return p;
}

void tree_particles_free(struct tree_particles *p)
{
    free(p->x);
    free(p->mass);
}

struct tree_particles tree_particles_plummer(int n)
{
    struct tree_particles p = {n, calloc((size_t)n + 1, sizeof *p.x), calloc((size_t)n + 1, sizeof *p.mass)};
    random_state = 1;
    for (int i = 0; i < n; i++) {
        const double m = uniform() * 0.999, r = 0.58904862 / sqrt(pow(m, -2.0 / 3) - 1), z = 2 * uniform() - 1,
                     phi = 6.283185307179586 * uniform(), w = sqrt(1 - z * z);
        p.x[i][0] = r * w * cos(phi);
        p.x[i][1] = r * w * sin(phi);
        p.x[i][2] = r * z;
        p.mass[i] = 1.0 / n;
    }
    return p;
}
