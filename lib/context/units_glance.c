/*
 * units_glance.c - whether a few particles surely fit into single precision as they are.
 *
 * Every force asks this, also those of a few hundred nanoseconds, and each list of a batch.  So there is no arithmetic
 * but on exponents, and what is not plain at a glance is left to units.c.
 */
#include <math.h>
#include <string.h>

#include "base/structs.h"
#include "context/context_units.h"

enum { GLANCES = 4, VECTORS = SAPPORO_DERIVATIVES / 2, ONE = 1023 }; /* ONE: the biased exponent of 1 */

/* What is seen: largest biased exponents; 0: only zeros, or denormal numbers. */
struct glance {
    unsigned vector[VECTORS], heaviest, lightest;
    double whole; /* sum of masses */
};

/* Returns number k of GLANCES numbers that are spread over 0 .. n-1. */
static inline int place_of_glance(int k, int n)
{
    return n <= GLANCES ? k : (int)((2 * k + 1) * (int64_t)n / (2 * GLANCES));
}

static inline unsigned exponent_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (unsigned)(bits >> 52) & 0x7FF;
}

static inline void see_vector(unsigned *most, const double *x, ptrdiff_t stride)
{
    for (int axis = 0; axis < 3; axis++) {
        const unsigned e = exponent_of(x[axis * stride]);
        if (e > *most) *most = e;
    }
}

static inline void see_mass(struct glance *g, double mass)
{
    const unsigned e = exponent_of(mass);
    if (mass == 0) return;
    g->whole += fabs(mass);
    if (e > g->heaviest) g->heaviest = e;
    if (e < g->lightest) g->lightest = e;
}

/* Looks at an address; 0: it holds no particle. */
static inline int see_stored(const sapporo *c, int vectors, int address, struct glance *g)
{
    const struct sap_segment *const s = sap_jstore_segment(&c->host, address);
    const unsigned in = (unsigned)address % SAP_SEGMENT;
    if (!s || !(s->occupied[in / SAP_CPU_LANES] >> in % SAP_CPU_LANES & 1)) return 0;
    for (int k = 0; k < vectors && k <= s->terms; k++)
        see_vector(&g->vector[k], s->derivative[k] + sap_jstore_offset(in), SAP_CPU_LANES);
    see_mass(g, s->mass[in]);
    return 1;
}

/* Looks at row k of a column of vectors. */
static inline void see_row(unsigned *most, const sapporo_column *column, int k)
{
    double x[3];
    memcpy(x, sap_column_at(column, k, sizeof x), sizeof x);
    see_vector(most, x, 1);
}

static inline int is_about(unsigned e, int below, int above) { return (int)e >= ONE - below && (int)e <= ONE + above; }

/* Adds velocities of a few targets: beside sources at rest they alone make the jerk. */
static void see_targets(struct glance *g, const struct sap_targets *targets)
{
    for (int k = 0; targets->v && targets->v->base && k < GLANCES && k < targets->ni; k++)
        see_row(&g->vector[1], targets->v, place_of_glance(k, targets->ni));
}

/* Whether all is well inside the limits of sap_spread_is_plain. */
static int is_plain(struct glance *g, int vectors, const struct sap_targets *targets)
{
    if (!is_about(g->vector[0], 8, 8)) return 0;
    if (vectors > 1 && !g->vector[1]) see_targets(g, targets);
    for (int k = 1; k < vectors; k++)
        if (g->vector[k] && !is_about(g->vector[k], 28, 28)) return 0;
    return is_about(g->heaviest, 36, 36) && is_about(g->lightest, 90, 90);
}

/* Returns a number of 2^exponent. */
static double power_of_two(int exponent)
{
    const uint64_t bits = (uint64_t)(exponent + ONE) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The biased exponent of a size (engine/caller_ops.h). */
static unsigned biased(int size) { return (unsigned)size >> 20; }

/* What the device saw of its particles. */
static struct glance glance_of(const struct sap_caller_seen *seen)
{
    struct glance g = {.heaviest = biased(seen->mass.most), .lightest = 2 * ONE};
    for (int d = 0; d < VECTORS; d++) g.vector[d] = biased(seen->derivative[d].most);
    if (seen->mass.most > 0) g.lightest = biased(seen->mass.least);
    for (int k = 0; k < GLANCES; k++) g.whole += fabs(seen->some_mass[k]);
    return g;
}

int sap_context_sees_plain(const sapporo *c, const struct sap_caller_seen *seen)
{
    struct glance g = glance_of(seen);
    return is_plain(&g, c->settings.order / 2, &(struct sap_targets){0});
}

/* About the potential of forces that the precision loses: sap_faint_potential. */
static double faint_of(const struct glance *g, int looks, int nj)
{
    return g->whole / looks * nj * power_of_two((-126 - ((int)g->heaviest - ONE)) / 3 - 1);
}

int sap_context_glance(const sapporo *c, int nj, const struct sap_targets *targets, double *faint)
{
    const int vectors = c->settings.order / 2, end = nj < c->host.upper ? nj : c->host.upper;
    const int soft = (int)exponent_of(targets->most) <= ONE + 16 && (int)exponent_of(c->host.soft) <= ONE + 16;
    *faint = 0;
    if (!soft || end == 0) return 0;
    if (c->away) {
        struct glance g = glance_of(&c->seen);
        *faint = faint_of(&g, GLANCES, nj);
        return is_plain(&g, vectors, targets);
    }
    for (int waiting = 0; waiting < (c->nstaged > 0 ? 2 : 1); waiting++) {
        struct glance g = {.lightest = 2 * ONE};
        const int n = waiting ? c->nstaged : end, looks = n < GLANCES ? n : GLANCES;
        for (int k = 0; k < looks; k++) {
            const int at = place_of_glance(k, n);
            if (!waiting) {
                if (!see_stored(c, vectors, at, &g)) return 0;
                continue;
            }
            const struct sap_staged *const p = sap_staged_at(c->staged, c->staged_bytes, at);
            for (int d = 0; d < vectors; d++) see_vector(&g.vector[d], p->derivative[d], 1);
            see_mass(&g, p->mass);
        }
        if (!is_plain(&g, vectors, targets)) return 0;
        const double most = faint_of(&g, looks, nj);
        *faint = *faint > 0 && *faint < most ? *faint : most;
    }
    return 1;
}

int sap_small_force_glance(const sapporo_small_force *l)
{
    struct glance g = {.lightest = 2 * ONE};
    unsigned targets = 0, soft = exponent_of(l->eps2 + sap_column_double(&l->eps2_i, 0));
    for (int k = 0; k < GLANCES && k < l->ni; k++) see_row(&targets, &l->x, place_of_glance(k, l->ni));
    if (l->address) return is_about(targets, 8, 8) && (int)soft <= ONE + 16;
    for (int k = 0; k < GLANCES && k < l->nj; k++) {
        const int at = place_of_glance(k, l->nj);
        const unsigned own = exponent_of(sap_column_double(&l->eps2_j, at));
        see_row(&g.vector[0], &l->x_j, at);
        see_mass(&g, sap_column_double(&l->mass_j, at));
        if (own > soft) soft = own;
    }
    return (int)targets <= ONE + 8 && (int)soft <= ONE + 16 && is_plain(&g, 1, &(struct sap_targets){0});
}
