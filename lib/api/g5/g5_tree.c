/* g5_tree.c - SAPPORO_METHOD=tree in the GRAPE-5 interface.  A device keeps its tree while its j-particles do not
 * change. */
#include "api/g5/g5_tree.h"

#include <math.h>
#include <stdlib.h>

#include "context/context.h"
#include "context/particles_part.h"

static int options_of(sapporo *context, double eps2, sapporo_tree_options *o)
{
    struct sap_tree_variables settings;
    const int status = sap_context_tree_variables(context, &settings);
    if (status) return status;
    *o = (sapporo_tree_options){.size = sizeof *o,
                                .kind = settings.kind,
                                .mac = settings.mac,
                                .accuracy = settings.accuracy,
                                .eps2 = eps2,
                                .precision = sapporo_get_precision(context) == SAPPORO_DP ? SAPPORO_DP : SAPPORO_SP};
    return SAPPORO_OK;
}

/* ---- the tree ------------------------------------------------------------------------------ */

/* Creates a tree with room for n particles, unless the present tree has the room and the softening. */
static int make(struct sap_g5_tree *t, sapporo *context, int n, double eps2)
{
    sapporo_tree_options o;
    if (t->tree != NULL && n <= t->room && eps2 == t->eps2) return SAPPORO_OK;
    sapporo_tree_destroy(t->tree);
    t->tree = NULL;
    int status = options_of(context, eps2, &o);
    if (status) return status;
    status = sapporo_tree_create(&o, n, &t->tree);
    if (status) return status;
    t->room = n;
    t->eps2 = eps2;
    return SAPPORO_OK;
}

static int fill(struct sap_g5_tree *t, sapporo *context, int n, int there)
{
    const size_t room = (size_t)there + 1;
    double(*x)[3] = malloc(room * sizeof *x), *mass = malloc(room * sizeof *mass);
    int status = SAPPORO_ERR_MEMORY;
    if (x != NULL && mass != NULL) {
        (void)sap_context_copy(context, n, x, mass);
        const sapporo_tree_particles p = {.size = sizeof p, .n = there, .x = {x, 0}, .mass = {mass, 0}};
        status = sapporo_tree_set(t->tree, &p);
        if (!status) status = sapporo_tree_build(t->tree);
    } else {
        (void)sap_context_error(context, status, "out of memory for a tree of %d particles", there);
    }
    free(x);
    free(mass);
    return status;
}

/* Builds the tree of the present first n j-particles, unless the tree is up to date. */
static int renew(struct sap_g5_tree *t, sapporo *context, int n, double eps2)
{
    const int complete = sap_context_check_parts(context, n);
    if (complete < 0) return complete;
    const unsigned long long version = sap_context_version(context);
    if (t->tree != NULL && t->fits && t->version == version && t->n == n && t->eps2 == eps2) return SAPPORO_OK;
    const int there = sap_context_copy(context, n, NULL, NULL);
    t->fits = 0;
    if (there < n)
        sap_context_warn_once(context, SAP_WARN_EMPTY_SLOT, "%d of the %d j-particles of a tree were never loaded",
                              n - there, n);
    int status = make(t, context, there, eps2);
    if (!status) status = fill(t, context, n, there);
    if (status) return status;
    t->version = version;
    t->n = n;
    t->fits = 1;
    return SAPPORO_OK;
}

static void fill_with_nan(int ni, const struct sap_g5_output *out)
{
    for (int i = 0; i < ni; i++) {
        for (int k = 0; k < 3 && out->a != NULL; k++) out->a[i][k] = NAN;
        if (out->p != NULL) out->p[i] = NAN;
    }
}

/* Handles a lost device: the next force creates another tree, and the next g5_open other contexts. */
static void lose(struct sap_g5_device *device)
{
    sapporo_tree_destroy(device->tree.tree);
    device->tree.tree = NULL;
    device->tree.fits = 0;
    device->lost = 1;
}

int sap_g5_tree_force(struct sap_g5_device *device, int n, double eps2, int ni, double (*x)[3],
                      const struct sap_g5_output *out)
{
    struct sap_g5_tree *const t = &device->tree;
    const sapporo_tree_request request = {.size = sizeof request, .ni = ni, .x = {x, 0}};
    int status = renew(t, device->context[SAP_G5_PLAIN], n, eps2);
    if (!status) status = sapporo_tree_force(t->tree, &request, out->a, out->p);
    if (status == SAPPORO_ERR_DEVICE) lose(device);
    if (status < 0) fill_with_nan(ni, out);
    return status;
}

void sap_g5_tree_in_batches(struct sap_g5_device *device, const char *caller)
{
    sap_context_warn_once(device->context[SAP_G5_PLAIN], SAP_WARN_TREE_BATCH,
                          "SAPPORO_METHOD=tree: %s is dear, since the groups of a small batch are large; "
                          "g5_calculate_force_on_x takes all particles at once",
                          caller);
}

void sap_g5_tree_not_here(struct sap_g5_device *device, enum sap_g5_memory memory, const char *caller)
{
    sap_context_warn_once(device->context[memory], SAP_WARN_METHOD,
                          "SAPPORO_METHOD=tree: %s sums directly; trees know one softening for all particles", caller);
}
