/* sphgrav_tree.c - StarSmasher's gravity by a tree with spline softening, where SAPPORO_METHOD says so. */
#include "api/sphgrav/sphgrav_tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/environment.h"
#include "variables.h"

int sap_sphgrav_by_tree(void)
{
    const struct sap_word *method = NULL;
    char wrong[SAP_WRONG_ROOM];
    if (sap_env_word(&sap_variables[SAP_VAR_METHOD], &method, wrong) == SAP_READ_BAD) {
        sapporo_log(SAPPORO_LOG_ERROR, wrong);
        return -1;
    }
    return method != NULL && method->value > 0;
}

/* Tells why a call of the tree failed; returns 0. */
static int failed(const sapporo_tree *tree, const char *call)
{
    char text[320];
    (void)snprintf(text, sizeof text, "firsthalf_grav_forces: %s: %s: forces are NaN", call,
                   tree ? sapporo_tree_last_error(tree) : sapporo_last_error(NULL));
    sapporo_log(SAPPORO_LOG_ERROR, text);
    return 0;
}

/* Reads what variables say of the tree; 0 after a message if one is not valid. */
static int read_variables(sapporo_tree_options *o)
{
    const struct sap_word *kind = NULL, *mac = NULL;
    double accuracy = 0, error = 0;
    char wrong[SAP_WRONG_ROOM];
    if (sap_env_word(&sap_variables[SAP_VAR_TREE_KIND], &kind, wrong) == SAP_READ_BAD ||
        sap_env_word(&sap_variables[SAP_VAR_TREE_MAC], &mac, wrong) == SAP_READ_BAD ||
        sap_env_real(&sap_variables[SAP_VAR_TREE_ACCURACY], &accuracy, wrong) == SAP_READ_BAD ||
        sap_env_real(&sap_variables[SAP_VAR_TREE_ERROR], &error, wrong) == SAP_READ_BAD) {
        sapporo_log(SAPPORO_LOG_ERROR, wrong);
        return 0;
    }
    if (kind != NULL) o->kind = (sapporo_tree_kind)kind->value;
    if (mac != NULL) {
        o->mac = (sapporo_tree_mac)mac->value;
        if (o->mac != SAPPORO_MAC_OPENING) o->accuracy = 0; /* theta is an angle */
    }
    if (error > 0) o->error = error, o->accuracy = 0;
    if (accuracy > 0) o->accuracy = accuracy;
    return 1;
}

/* Creates the tree for n particles, unless there is one. */
static int create(sapporo_tree **tree, int rank, double theta, int n)
{
    sapporo_tree_options o = {.size = sizeof o,
                              .accuracy = theta > 0 && theta <= 1e30 ? theta : 0,
                              .softening = SAPPORO_SOFTENING_SPLINE_MEAN,
                              .preferred_device = rank > 0 ? rank : 0};
    if (*tree != NULL) return 1;
    if (!read_variables(&o)) return 0;
    return sapporo_tree_create(&o, n, tree) == SAPPORO_OK || failed(NULL, "sapporo_tree_create");
}

static int fill(sapporo_tree *tree, const struct sap_sphgrav_force *f, double *h)
{
    const sapporo_tree_particles all = {
        .size = sizeof all, .n = f->n, .x = {f->x, 0}, .mass = {f->mass, 0}, .h = {h, 0}};
    for (int k = 0; k < f->n; k++) h[k] = sqrt(fabs(f->range2[k]));
    if (sapporo_tree_set(tree, &all) != SAPPORO_OK) return failed(tree, "sapporo_tree_set");
    return sapporo_tree_build(tree) == SAPPORO_OK || failed(tree, "sapporo_tree_build");
}

/* Computes the wanted rows; adds the potential of each particle that is not compact in its own field. */
static int compute(sapporo_tree *tree, const struct sap_sphgrav_force *f, const double *h, int *active)
{
    const sapporo_tree_request request = {.size = sizeof request, .ni = f->ni, .active = active};
    for (int k = 0; k < f->ni; k++) active[k] = f->first + k;
    if (sapporo_tree_force(tree, &request, f->acc, f->pot) < 0) return failed(tree, "sapporo_tree_force");
    for (int k = 0, i = f->first; k < f->ni; k++, i++)
        if (f->range2[i] > 0 && h[i] > 0) f->pot[k] -= 2.8 * f->mass[i] / h[i];
    return 1;
}

int sap_sphgrav_tree_force(sapporo_tree **tree, int rank, double theta, const struct sap_sphgrav_force *f)
{
    double *const h = malloc((size_t)f->n * sizeof *h);
    int *const active = malloc(((size_t)f->ni + 1) * sizeof *active);
    int good = h != NULL && active != NULL;
    if (!good) sapporo_log(SAPPORO_LOG_ERROR, "firsthalf_grav_forces: out of memory for a tree: forces are NaN");
    if (good) good = create(tree, rank, theta, f->room) && fill(*tree, f, h) && compute(*tree, f, h, active);
    free(h);
    free(active);
    return good;
}
