/* rebuild.c - when a new tree pays, from measured times of forces (rebuild.h). */
#include "context/rebuild.h"

#include <math.h>

const char *sap_rebuild_name(enum sap_rebuild_model model)
{
    static const char *const name[] = {"no growth", "linear growth", "growth by a power law", "growth by a parabola"};
    return name[model];
}

/* ---- times ------------------------------------------------------------------------------------ */

/* A force whose class has not been seen directly after a build counts as fresh until one takes less. */
static double fresh_time(struct sap_rebuild *t, int built, double seconds, int class)
{
    double *const fresh = &t->fresh[class];
    if (built || !(*fresh > 0) || seconds < *fresh) *fresh = seconds;
    return *fresh;
}

void sap_rebuild_note(struct sap_rebuild *t, int built, int early, double tree_seconds, double force_seconds, int class)
{
    if (built) {
        t->build = tree_seconds;
        t->early = early;
        t->n = 0;
        t->seconds = 0;
    } else {
        t->refresh = tree_seconds;
    }
    if (early) return;
    const double fresh = fresh_time(t, t->n == 0, force_seconds, class);
    if (!(fresh > 0)) return; /* the clock is too coarse for this force */
    if (t->n < SAP_REBUILD_POINTS) t->growth[t->n] = force_seconds / fresh;
    t->seconds += fresh;
    t->n++;
}

/* ---- fits -------------------------------------------------------------------------------------- */

static double value_of(const struct sap_growth *g, int k)
{
    if (g->model == SAP_GROWTH_POWER) return g->t * pow(g->r, k);
    return g->t + k * (g->b + k * g->a);
}

/* Sets the reduced chi square of a model with so many parameters; infinite if there are no more points than those. */
static void judge(struct sap_growth *g, const double *growth, int n, int parameters)
{
    double sum = 0;
    for (int k = 0; k < n; k++) {
        const double off = growth[k] - value_of(g, k);
        sum += off * off;
    }
    g->chi2 = n > parameters ? sum / (n - parameters) : (double)INFINITY;
}

/* Least squares of a straight line through y(k); y is growth or, with `logarithm`, its logarithm. */
static void fit_line(const double *growth, int n, int logarithm, double *at_0, double *slope)
{
    double y = 0, ky = 0;
    const double middle = (n - 1) / 2.0, kk = n * ((double)n * n - 1) / 12;
    for (int k = 0; k < n; k++) {
        const double value = logarithm ? log(growth[k]) : growth[k];
        y += value;
        ky += (k - middle) * value;
    }
    *slope = ky / kk;
    *at_0 = y / n - *slope * middle;
}

static struct sap_growth fit_linear(const double *growth, int n)
{
    struct sap_growth g = {.model = SAP_GROWTH_LINEAR};
    fit_line(growth, n, 0, &g.t, &g.b);
    judge(&g, growth, n, 2);
    return g;
}

static struct sap_growth fit_power(const double *growth, int n)
{
    struct sap_growth g = {.model = SAP_GROWTH_POWER};
    double at_0, slope;
    fit_line(growth, n, 1, &at_0, &slope);
    g.t = exp(at_0);
    g.r = exp(slope);
    judge(&g, growth, n, 2);
    return g;
}

/* Least squares by polynomials that are orthogonal on the points: 1, u, u^2 - m, with u = k - (n - 1)/2. */
static struct sap_growth fit_parabola(const double *growth, int n)
{
    struct sap_growth g = {.model = SAP_GROWTH_PARABOLA};
    const double middle = (n - 1) / 2.0, mean = ((double)n * n - 1) / 12;
    double at_0, slope, up = 0, norm = 0;
    fit_line(growth, n, 0, &at_0, &slope);
    for (int k = 0; k < n; k++) {
        const double u = k - middle, p = u * u - mean;
        up += p * growth[k];
        norm += p * p;
    }
    g.a = up / norm;
    g.b = slope - 2 * g.a * middle;
    g.t = at_0 + g.a * (middle * middle - mean);
    judge(&g, growth, n, 3);
    return g;
}

struct sap_growth sap_rebuild_fit(const double *growth, int n)
{
    struct sap_growth best = fit_linear(growth, n);
    if (n < 3) return best;
    const struct sap_growth power = fit_power(growth, n);
    if (power.chi2 < best.chi2) best = power;
    if (n < 4) return best;
    const struct sap_growth parabola = fit_parabola(growth, n);
    return parabola.chi2 < best.chi2 ? parabola : best;
}

/* ---- the decision ------------------------------------------------------------------------------ */

/* Appendix C: the derivative of the mean time is 0 at n for a linear growth, (C.4), and (C.11) with (C.13). */
int sap_rebuild_passed(const struct sap_growth *g, int n, double build)
{
    const double m = n;
    switch (g->model) {
    case SAP_GROWTH_LINEAR:
        return g->b > 0 && m * m * g->b / 2 >= build;
    case SAP_GROWTH_POWER:
        return g->r > 1 && (m * log(g->r) - 1) * pow(g->r, m) >= (g->r - 1) * build / g->t - 1;
    case SAP_GROWTH_PARABOLA:
        return (2 * m - 1) * g->a + g->b >= 0 && m * m * (g->b / 2 + (4 * m - 3) * g->a / 6) >= build;
    default:
        return 0;
    }
}

int sap_rebuild_pays(const struct sap_rebuild *t, enum sap_rebuild_model *model)
{
    if (model) *model = SAP_GROWTH_NONE;
    if (t->n < 2 || !(t->build > 0)) return 0;
    const int points = t->n < SAP_REBUILD_POINTS ? t->n : (int)SAP_REBUILD_POINTS;
    const struct sap_growth growth = sap_rebuild_fit(t->growth, points);
    const double extra = t->build > t->refresh ? t->build - t->refresh : 0; /* a step without a build refreshes */
    const double share = t->early ? 0.5 : 1;
    if (model) *model = growth.model;
    return sap_rebuild_passed(&growth, t->n, share * extra * t->n / t->seconds);
}
