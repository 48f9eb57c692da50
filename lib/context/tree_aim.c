/*
 * tree_aim.c - the accuracy for an error that is asked for (tree_aim.h).
 *
 * The engine sums the forces on a sample directly: at accuracy 0 it accepts no cell.  Then it computes forces on all
 * particles at a few accuracies, since those on a sample alone would have other groups on accelerators.  The error of
 * each is that which 99 % of the sample's accelerations, and of its potentials, stay below.
 */
#include "context/tree_aim.h"

#include <math.h>
#include <stdlib.h>

#include "engine/tree_error.h"
#include "physics/tree_sample.h"

enum { SAMPLE = 1024, TRIALS = 8, STEP = 8 /* the most that the first trials change an accuracy by */ };

/* An accuracy is found if its error is the wanted one within this factor. */
static const double NEAR = 1.1;

/* The error and the accuracy of a trial. */
struct trial {
    double accuracy, error;
};

struct aim {
    sapporo_tree *t;
    int n, m;               /* particles of the tree, and of the sample */
    int *active;            /* [m] their addresses */
    double (*right)[3];     /* [m] direct sums */
    double *right_pot;      /* [m] */
    double (*acc)[3], *pot; /* [n] of a trial */
    double *error;          /* [m] */
};

int sap_aim_wanted(const sapporo_tree *t)
{
    const int n = t->tree->ops->count(t->tree, 0);
    return t->settings.error > 0 && n > 0 && n != t->aimed;
}

static int make(sapporo_tree *t, struct aim *a)
{
    a->t = t;
    a->n = t->tree->ops->count(t->tree, 0);
    a->m = a->n < SAMPLE ? a->n : (int)SAMPLE;
    const size_t n = (size_t)a->n, m = (size_t)a->m;
    a->active = malloc(m * sizeof *a->active);
    a->right = malloc(m * sizeof *a->right);
    a->right_pot = malloc(m * sizeof *a->right_pot);
    a->acc = malloc(n * sizeof *a->acc);
    a->pot = malloc(n * sizeof *a->pot);
    a->error = malloc(m * sizeof *a->error);
    if (!a->active || !a->right || !a->right_pot || !a->acc || !a->pot || !a->error) return SAPPORO_ERR_MEMORY;
    for (int k = 0; k < a->m; k++) a->active[k] = (int)sap_sample_member((sap_address)a->n, (sap_address)a->m, k);
    return SAPPORO_OK;
}

static void free_aim(struct aim *a)
{
    free(a->active);
    free(a->right);
    free(a->right_pot);
    free(a->acc);
    free(a->pot);
    free(a->error);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns which error 99 % of the sample stay below. */
static double quantile(const struct aim *a)
{
    qsort(a->error, (size_t)a->m, sizeof *a->error, by_size);
    return a->error[(long long)a->m * 99 / 100];
}

/* A relative error; 0 where none is defined. */
static double relative(double difference, double right)
{
    const double error = difference / right;
    return isfinite(error) ? error : 0;
}

static double length(const double *x) { return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]); }

/* Returns the error of the forces in a->acc and a->pot. */
static double error_of(const struct aim *a)
{
    for (int k = 0; k < a->m; k++) {
        const double *const x = a->acc[a->active[k]], *const y = a->right[k];
        a->error[k] = relative(length((double[3]){x[0] - y[0], x[1] - y[1], x[2] - y[2]}), length(y));
    }
    const double of_acc = quantile(a);
    for (int k = 0; k < a->m; k++)
        a->error[k] = relative(fabs(a->pot[a->active[k]] - a->right_pot[k]), fabs(a->right_pot[k]));
    return fmax(of_acc, quantile(a));
}

/* Computes forces at an accuracy; active NULL: on all particles. */
static int force(const struct aim *a, double accuracy, const int *active, double (*acc)[3], double *pot)
{
    const sapporo_tree_request r = {.size = sizeof r, .ni = active ? a->m : a->n, .active = active};
    a->t->tree->ops->aim(a->t->tree, accuracy);
    const int status = a->t->tree->ops->ask->force(a->t->tree, &r, acc, pot);
    return status < 0 ? status : (int)SAPPORO_OK;
}

/*
 * What trials have found: the largest accuracy whose error is small enough, and the smallest whose error is too large;
 * accuracy 0: none.
 */
struct bracket {
    struct trial low, high;
};

/* Puts a trial into the bracket; returns whether the wanted error is found. */
static int narrow(struct bracket *b, const struct trial *now, double wanted)
{
    if (now->error > NEAR * wanted) {
        if (!(b->high.accuracy > 0) || now->accuracy < b->high.accuracy) b->high = *now;
        return 0;
    }
    if (now->accuracy > b->low.accuracy) b->low = *now;
    return now->error > wanted / NEAR;
}

/* Returns the accuracy of the next trial. */
static double next_of(const struct bracket *b, const struct trial *now, double wanted, int order)
{
    const double low = b->low.accuracy, high = b->high.accuracy;
    const double next = sap_error_accuracy(now->accuracy, now->error, wanted, sap_error_slope(order));
    if (low > 0 && high > 0) {
        const int is_inside = next > low * NEAR && next < high / NEAR;
        return is_inside ? next : sap_error_short(sqrt(low) * sqrt(high));
    }
    return fmin(fmax(next, now->accuracy / STEP), now->accuracy * STEP);
}

/* Tries accuracies; writes the best of them. */
static int try_some(const struct aim *a, double *best)
{
    const double wanted = a->t->settings.error;
    const int order = a->t->settings.order;
    struct bracket b = {.low = {0}};
    struct trial now = {.accuracy = sap_error_first(order, wanted)};
    for (int k = 0, ends = 0; k < TRIALS && !ends; k++) {
        const int status = force(a, now.accuracy, NULL, a->acc, a->pot);
        if (status) return status;
        now.error = fmax(error_of(a), wanted * 0x1p-6);
        ends = narrow(&b, &now, wanted);
        const double next = next_of(&b, &now, wanted, order);
        ends |= next == now.accuracy || next > SAP_ERROR_ACCURACY_MOST;
        now.accuracy = next;
    }
    *best = b.low.accuracy > 0 ? b.low.accuracy : b.high.accuracy;
    return SAPPORO_OK;
}

int sap_aim_find(sapporo_tree *t)
{
    struct aim a = {.t = t};
    double accuracy = t->settings.accuracy;
    int status = make(t, &a);
    if (!status) status = force(&a, 0, a.active, a.right, a.right_pot);
    if (!status) status = try_some(&a, &accuracy);
    free_aim(&a);
    t->tree->ops->aim(t->tree, accuracy);
    if (status) return status;
    t->settings.accuracy = accuracy;
    t->aimed = a.n;
    return SAPPORO_OK;
}
