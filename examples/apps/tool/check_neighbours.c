/* check_neighbours.c - checks nearest neighbours and neighbour lists, which must be exact in every precision. */
#include "check.h"
#include "util.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- nearest neighbour ---------------------------------------------------------------- */

/* Returns the error of a squared distance between positions that were rounded to double. */
static double rounding(const double x[3], long double r2)
{
    const double r = sqrt((double)r2), size = fabs(x[0]) + fabs(x[1]) + fabs(x[2]);
    return 8.0 * DBL_EPSILON * r * (r + size);
}

/*
 * Returns 1 if a neighbour is wrong: it is not the true one, and rounded positions can tell that the true one is
 * nearer.
 */
static int nearest_is_wrong(const scene *on, const predicted *star, int i, int nearest, double r2, int rounded)
{
    const truth *exact = &on->exact[i];
    const double slack = rounded ? rounding(on->stars.x[i], exact->nearest_r2) : 0.0;
    if (!(fabsl(r2 - exact->nearest_r2) <= slack)) return 1;
    if (nearest == star[exact->nearest].index) return 0;
    if (!rounded) return 1; /* of equal distances the lowest address is right */
    for (int j = 0; j < on->cluster.n; j++) {
        if (star[j].index != nearest || nearest == on->stars.index[i]) continue;
        long double own = 0;
        for (int c = 0; c < 3; c++) own += (star[j].x[c] - on->stars.x[i][c]) * (star[j].x[c] - on->stars.x[i][c]);
        return !(own - exact->nearest_r2 <= slack);
    }
    return 1;
}

static void check_nearest(report *to, client *self, const scene *on, const predicted *star, int rounded)
{
    char test[80];
    snprintf(test, sizeof test, "nearest: %s", on->name);
    forces out = forces_new(on->stars.n, 0);
    int wrong = 0;
    if (scene_force(self, on, &on->stars, SAPPORO_WANT_NEAREST, &out) != 0) {
        report_failure(to, test, CLIENT_NATIVE.error(self));
    } else {
        for (int i = 0; i < on->stars.n; i++)
            wrong += nearest_is_wrong(on, star, i, out.nearest[i], out.nearest_r2[i], rounded);
        report_wrong(to, test, wrong, on->stars.n);
    }
    forces_free(&out);
}

/* ---- lists ------------------------------------------------------------------------------ */

static int compare_integers(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Writes the true list of i-particle i: indices, ascending; returns its length. */
static int true_list(const predicted *star, int nj, const targets *stars, int i, distance *sorted, int *list)
{
    const int others = reference_distances(star, nj, stars, i, sorted);
    int n = 0;
    while (n < others && sorted[n].r2 < stars->h2[i]) {
        list[n] = star[sorted[n].address].index;
        n++;
    }
    qsort(list, (size_t)n, sizeof *list, compare_integers);
    return n;
}

/* Compares one list, and the same list truncated by one entry. */
static int list_is_wrong(sapporo_job *job, int i, const int *list, int n, int *got, int room)
{
    int length = -1, total = -1;
    if (sapporo_force_neighbours(job, i, room, &length, got, &total) != SAPPORO_OK) return 1;
    if (length != n || total != n || memcmp(got, list, (size_t)n * sizeof *list) != 0) return 1;
    if (n == 0) return 0;
    if (sapporo_force_neighbours(job, i, n - 1, &length, got, &total) != SAPPORO_TRUNCATED) return 1;
    return length != n - 1 || total != n || memcmp(got, list, (size_t)(n - 1) * sizeof *list) != 0;
}

/*
 * Counts the wrong lists of stars within h2; `want` announces lists to the library, or does not.  -1: the force failed.
 */
static int count_wrong_lists(sapporo *context, const predicted *star, int nj, const targets *stars, unsigned want)
{
    sapporo_request request = {.size = sizeof request, .nj = nj, .ni = stars->n, .want = want};
    request.x.base = stars->x;
    request.v.base = stars->v;
    request.index.base = stars->index;
    request.h2.base = stars->h2;
    sapporo_job *job;
    if (sapporo_force_begin(context, &request, &job) != SAPPORO_OK) return -1;
    distance *sorted = allocate((size_t)nj, sizeof *sorted);
    int *list = allocate((size_t)nj, sizeof *list), *got = allocate((size_t)nj, sizeof *got), wrong = 0;
    for (int i = 0; i < stars->n; i++) {
        const int n = true_list(star, nj, stars, i, sorted, list);
        wrong += list_is_wrong(job, i, list, n, got, nj);
    }
    sapporo_force_free(job);
    free(sorted);
    free(list);
    free(got);
    return wrong;
}

static void report_lists(report *to, sapporo *context, const char *test, int wrong, int n)
{
    if (wrong < 0)
        report_failure(to, test, sapporo_last_error(context));
    else
        report_wrong(to, test, wrong, n);
}

/* Chooses radii for lists of a given length, midway between two stars, so that rounding cannot decide membership. */
static void choose_radii(const predicted *star, int nj, targets *stars, int length)
{
    distance *sorted = allocate((size_t)nj, sizeof *sorted);
    for (int i = 0; i < stars->n; i++) {
        const int others = reference_distances(star, nj, stars, i, sorted);
        if (length == 0)
            stars->h2[i] = (double)(sorted[0].r2 / 2);
        else if (length >= others)
            stars->h2[i] = (double)(sorted[others - 1].r2 * 2);
        else
            stars->h2[i] = (double)((sorted[length - 1].r2 + sorted[length].r2) / 2);
    }
    free(sorted);
}

static void check_lists(report *to, sapporo *context, const scene *on, const predicted *star)
{
    const int n = on->cluster.n, lengths[] = {0, 1, 7, 50, n / 2, n};
    targets stars = model_targets(&on->cluster, (n + 63) / 64, on->time);
    for (int k = 0; k < 6; k++) {
        char test[64];
        const unsigned want = k % 2 == 0 ? SAPPORO_WANT_LISTS : 0; /* asked for in advance, or only afterwards */
        snprintf(test, sizeof test, "lists of %d, asked for %s", lengths[k], want != 0 ? "before" : "afterwards");
        choose_radii(star, n, &stars, lengths[k]);
        report_lists(to, context, test, count_wrong_lists(context, star, n, &stars, want), stars.n);
    }
    targets_free(&stars);
}

/* Checks a lattice, where distances are exact: equal ones go to the lowest address, and r^2 == h^2 is outside. */
static void check_lattice(report *to, const settings *what)
{
    scene on = {"ties on a lattice", model_lattice(8), 0.0, 0.0, -1, {0}, NULL};
    on.stars = model_targets(&on.cluster, 1, 0.0);
    on.exact = reference_forces(&on.cluster, 0.0, &on.stars, 0.0);
    predicted *star = reference_predict(&on.cluster, 0.0);
    client *self = CLIENT_NATIVE.open(what);
    if (CLIENT_NATIVE.error(self)[0] != '\0' || CLIENT_NATIVE.load(self, &on.cluster) != 0) {
        report_failure(to, on.name, CLIENT_NATIVE.error(self));
    } else {
        check_nearest(to, self, &on, star, 0);
        int wrong = 0;
        for (int h2 = 1; h2 <= 4 && wrong >= 0; h2++) {
            for (int i = 0; i < on.stars.n; i++) on.stars.h2[i] = h2;
            const int found =
                count_wrong_lists(client_native_context(self), star, on.cluster.n, &on.stars, SAPPORO_WANT_LISTS);
            wrong = found < 0 ? -1 : wrong + found;
        }
        report_lists(to, client_native_context(self), "lists: a star at r^2 == h^2 is outside", wrong, 4 * on.stars.n);
    }
    CLIENT_NATIVE.close(self);
    free(star);
    free(on.exact);
    targets_free(&on.stars);
    model_free(&on.cluster);
}

/* ---- all ---------------------------------------------------------------------------------- */

static void check_scene(report *to, const settings *what, const scene *on)
{
    client *self = CLIENT_NATIVE.open(what);
    if (CLIENT_NATIVE.error(self)[0] != '\0' || CLIENT_NATIVE.load(self, &on->cluster) != 0 ||
        CLIENT_NATIVE.set_time(self, on->time) != 0) {
        report_failure(to, on->name, CLIENT_NATIVE.error(self));
    } else {
        predicted *star = reference_predict(&on->cluster, on->time);
        check_nearest(to, self, on, star, 1);
        if (on->pair < 0) check_lists(to, client_native_context(self), on, star);
        free(star);
    }
    CLIENT_NATIVE.close(self);
}

void check_neighbours(report *to, const settings *what, const scene scenes[NSCENES])
{
    check_scene(to, what, &scenes[SCENE_SPREAD]);
    check_scene(to, what, &scenes[SCENE_PAIR]);
    check_scene(to, what, &scenes[SCENE_HARD]);
    check_lattice(to, what);
}
