/* check_accuracy.c - checks how accurately the library computes scenes with known forces. */
#include "check.h"
#include "util.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_TARGETS = 4096, PROMISED = 16384 };

/* Bounds of acc, jerk, pot by precision (sp, ds, dp), for PROMISED stars or more. */
typedef struct bounds {
    bound acc, jerk, pot;
} bounds;

/*
 * The project promises median and 99 % of ds, and of the acceleration of dp, for eps = 1/256; the other bounds are a
 * few times the measured errors, see docs/tool.md.  The largest error serves to find single wrong stars.  Individual
 * times add no visible error: one rounding of a position in double.
 */
static const bounds PLUMMER[3] = {
    {{4e-7, 4e-6, 4e-4}, {2e-6, 2e-5, 2e-3}, {1e-7, 3e-7, 3e-5}},
    {{4e-8, 3e-7, 3e-5}, {3e-7, 2e-6, 2e-4}, {3e-8, 1e-7, 1e-5}},
    {{1e-14, 1e-13, 1e-11}, {1e-13, 1e-12, 1e-10}, {1e-14, 1e-13, 1e-11}},
};
/*
 * Bounds of the unsoftened scene, in which close pairs count in full.  Velocity differences of 1 are taken between
 * velocities of 70, which have 24 bits in sp and ds: that costs the jerk one digit.  In sp the two stars of the binary
 * have the same position, so the largest error has no bound but must be finite.
 */
static const bounds HARD[3] = {
    {{4e-7, 1e-5, INFINITY}, {1e-5, 6e-5, INFINITY}, {2e-7, 1e-6, INFINITY}},
    {{2e-7, 1e-6, 1e-4}, {1e-5, 6e-5, 6e-3}, {1e-7, 4e-7, 4e-5}},
    {{1e-14, 1e-13, 1e-11}, {1e-13, 1e-12, 1e-10}, {1e-14, 1e-13, 1e-11}},
};
/*
 * Bounds of the two stars of a binary alone; the acceleration in ds is promised.  A row of infinities: positions in
 * single words cannot distinguish the two stars.
 */
static const bounds PAIR[3] = {
    {{INFINITY, INFINITY, INFINITY}, {INFINITY, INFINITY, INFINITY}, {INFINITY, INFINITY, INFINITY}},
    {{1e-5, 1e-5, 1e-5}, {3e-5, 3e-5, 3e-5}, {1e-5, 1e-5, 1e-5}},
    {{1e-14, 1e-14, 1e-14}, {1e-13, 1e-13, 1e-13}, {1e-14, 1e-14, 1e-14}},
};

/* ---- scenes ---------------------------------------------------------------------- */

static void scene_finish(scene *made)
{
    const int stride = (made->cluster.n + MOST_TARGETS - 1) / MOST_TARGETS;
    made->stars = model_targets(&made->cluster, stride, made->time);
    made->exact = reference_forces(&made->cluster, made->time, &made->stars, made->eps2);
}

void scenes_make(scene scenes[NSCENES], int n)
{
    const double eps2 = 1.0 / 65536.0;
    scenes[SCENE_PLUMMER] = (scene){"Plummer, eps = 1/256", model_plummer(n), 0.0, eps2, -1, {0}, NULL};
    scenes[SCENE_SPREAD] = (scene){"individual times", model_plummer(n), 0.5, eps2, -1, {0}, NULL};
    model_add_derivatives(&scenes[SCENE_SPREAD].cluster, DERIVATIVES_ALL);
    model_spread_times(&scenes[SCENE_SPREAD].cluster, 0.5);
    int pair;
    model cluster = model_tight_pair(n, &pair);
    scenes[SCENE_PAIR] = (scene){"pair 1e-9 apart at distance 1", cluster, 0.0, 0.0, pair, {0}, NULL};
    cluster = model_hard(n, &pair);
    scenes[SCENE_HARD] = (scene){"hard model, eps = 0", cluster, 0.0, 0.0, pair, {0}, NULL};
    for (int k = 0; k < NSCENES; k++) scene_finish(&scenes[k]);
    model_list_radii(&scenes[SCENE_SPREAD].stars, n, 20); /* for forces with lists */
}

void scenes_free(scene scenes[NSCENES])
{
    for (int k = 0; k < NSCENES; k++) {
        model_free(&scenes[k].cluster);
        targets_free(&scenes[k].stars);
        free(scenes[k].exact);
    }
}

/* ---- forces ------------------------------------------------------------------------ */

static void drop_message(void *user, int level, const char *text) { (void)user, (void)level, (void)text; }

int scene_force(client *self, const scene *on, const targets *stars, unsigned want, forces *out)
{
    const batch all = {stars, 0, stars->n, 0};
    if (on->pair >= 0) sapporo_set_log(drop_message, NULL);
    const int status = CLIENT_NATIVE.force(self, on->cluster.n, &all, on->eps2, want, out);
    if (on->pair >= 0) sapporo_set_log(NULL, NULL);
    return status;
}

/* Computes forces on i-particles of a scene by the library; returns 0, or -1 after a report of the failure. */
static int compute(report *to, const settings *what, const scene *on, const targets *stars, forces *out)
{
    client *self = CLIENT_NATIVE.open(what);
    int status = CLIENT_NATIVE.error(self)[0] != '\0' ? -1 : 0;
    if (status == 0) status = CLIENT_NATIVE.load(self, &on->cluster);
    if (status == 0) status = CLIENT_NATIVE.set_time(self, on->time);
    if (status == 0) status = scene_force(self, on, stars, 0, out);
    if (status != 0) report_failure(to, on->name, CLIENT_NATIVE.error(self));
    CLIENT_NATIVE.close(self);
    return status;
}

static void report_three(report *to, const char *test, const forces *out, const truth *exact, int n,
                         const bounds *allowed)
{
    double *error = allocate((size_t)n, sizeof *error);
    for (int i = 0; i < n; i++) error[i] = vector_error(out->acc[i], exact[i].acc);
    report_errors(to, test, "acc", error, n, allowed->acc);
    for (int i = 0; i < n; i++) error[i] = vector_error(out->jerk[i], exact[i].jerk);
    report_errors(to, test, "jerk", error, n, allowed->jerk);
    for (int i = 0; i < n; i++) error[i] = number_error(out->pot[i], exact[i].pot);
    report_errors(to, test, "pot", error, n, allowed->pot);
    free(error);
}

/* Checks that forces that cannot be accurate are finite, because a force that is not would spoil others. */
static void report_finite(report *to, const char *test, const forces *out, int n)
{
    int wrong = 0;
    for (int i = 0; i < n; i++) {
        double sum = out->pot[i];
        for (int c = 0; c < 3; c++) sum += fabs(out->acc[i][c]) + fabs(out->jerk[i][c]);
        wrong += !isfinite(sum);
    }
    report_wrong(to, test, wrong, n);
}

static void check_scene(report *to, const settings *what, const scene *on, const bounds *allowed)
{
    forces out = forces_new(on->stars.n, 0);
    if (compute(to, what, on, &on->stars, &out) == 0) report_three(to, on->name, &out, on->exact, on->stars.n, allowed);
    forces_free(&out);
}

/* Checks the binary of a scene alone: two i-particles among many have no influence on percentiles. */
static void check_pair(report *to, const settings *what, const scene *on, const char *test, const bounds *allowed)
{
    const model two = {2, on->cluster.particle + on->pair};
    targets stars = model_targets(&two, 1, on->time);
    truth *exact = reference_forces(&on->cluster, on->time, &stars, on->eps2);
    forces out = forces_new(2, 0);
    if (compute(to, what, on, &stars, &out) == 0) {
        if (isinf(allowed->acc.median))
            report_finite(to, test, &out, 2);
        else
            report_three(to, test, &out, exact, 2, allowed);
    }
    forces_free(&out);
    free(exact);
    targets_free(&stars);
}

/* ---- predictor ------------------------------------------------------------------------ */

/* Returns 1 if a predicted coordinate has an error of more than a few roundings of the largest term of its series. */
static int is_off(double value, long double exact, const sapporo_particle *star, int from, int c, double dt)
{
    double size = 0.0, term = 1.0;
    for (int k = from; k <= 4; k++) {
        size += fabs(star->derivative[k][c] * term);
        term *= fabs(dt) / (k - from + 1);
    }
    return !(fabsl(value - exact) <= 4.0 * DBL_EPSILON * size);
}

static int count_off(sapporo *context, const scene *on, const predicted *exact)
{
    int wrong = 0;
    for (int k = 0; k < on->cluster.n; k++) {
        const sapporo_particle *star = &on->cluster.particle[k];
        sapporo_particle out;
        int off = sapporo_get_particle(context, k, 1, &out) != SAPPORO_OK || out.index != star->index;
        for (int c = 0; c < 3 && !off; c++)
            off = is_off(out.derivative[0][c], exact[k].x[c], star, 0, c, on->time - star->time) ||
                  is_off(out.derivative[1][c], exact[k].v[c], star, 1, c, on->time - star->time);
        wrong += off;
    }
    return wrong;
}

static void check_predictor(report *to, const settings *what, const scene *on)
{
    const char *test = "predicted positions and velocities";
    client *self = CLIENT_NATIVE.open(what);
    if (CLIENT_NATIVE.error(self)[0] != '\0' || CLIENT_NATIVE.load(self, &on->cluster) != 0 ||
        CLIENT_NATIVE.set_time(self, on->time) != 0) {
        report_failure(to, test, CLIENT_NATIVE.error(self));
    } else {
        predicted *exact = reference_predict(&on->cluster, on->time);
        report_wrong(to, test, count_off(client_native_context(self), on, exact), on->cluster.n);
        free(exact);
    }
    CLIENT_NATIVE.close(self);
}

/* Returns wider bounds for few stars, whose errors average less: with the root of PROMISED over their number. */
static bounds widened(const bounds *allowed, int n)
{
    const double factor = n < PROMISED ? sqrt((double)PROMISED / n) : 1.0;
    bounds wide = *allowed;
    bound *each[] = {&wide.acc, &wide.jerk, &wide.pot};
    for (int k = 0; k < 3; k++) {
        each[k]->median *= factor;
        each[k]->high *= factor;
        each[k]->largest *= factor;
    }
    return wide;
}

void check_accuracy(report *to, const settings *what, const scene scenes[NSCENES])
{
    const int p = (int)what->precision - SAPPORO_SP, n = scenes[SCENE_PLUMMER].cluster.n;
    const bounds plummer = widened(&PLUMMER[p], n), hard = widened(&HARD[p], n);
    check_scene(to, what, &scenes[SCENE_PLUMMER], &plummer);
    check_scene(to, what, &scenes[SCENE_SPREAD], &plummer);
    check_predictor(to, what, &scenes[SCENE_SPREAD]);
    const int unresolved = isinf(PAIR[p].acc.median);
    check_pair(to, what, &scenes[SCENE_PAIR],
               unresolved ? "pair 1e-9 apart (not resolved): finite" : scenes[SCENE_PAIR].name, &PAIR[p]);
    check_scene(to, what, &scenes[SCENE_HARD], &hard);
    check_pair(to, what, &scenes[SCENE_HARD],
               unresolved ? "binary of 1e-6 (not resolved): finite" : "hard model, its binary of 1e-6", &PAIR[p]);
    if (what->order == 4) check_order2(to, what, &scenes[SCENE_PLUMMER], plummer.acc, plummer.pot);
}
