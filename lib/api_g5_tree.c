/* api_g5_tree.c - SAPPORO_METHOD=tree behind the GRAPE-5 interface: a tree of a device's j-particles, kept while it
 * fits. */
#define _POSIX_C_SOURCE 200809L
#include "api_g5_tree.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

#include "context.h"
#include "particles_part.h"

/* ---- SAPPORO_TREE_KIND, _MAC, _ACCURACY ------------------------------------------------ */

struct word {
    const char *text;
    int value;
};

static const struct word kinds[] = {{"octree", SAPPORO_TREE_OCTREE}, {"kdtree", SAPPORO_TREE_KDTREE}, {NULL, 0}};
static const struct word macs[] = {{"opening", SAPPORO_MAC_OPENING},
                                   {"multipole", SAPPORO_MAC_MULTIPOLE},
                                   {"acceleration", SAPPORO_MAC_ACCELERATION},
                                   {NULL, 0}};

static const char *variable(const char *name)
{
    const char *text = getenv(name);
    return text != NULL && *text != 0 ? text : NULL;
}

/* The value of one of some words; 0 if the variable is not set, -1 after a message if it is something else. */
static int word_of(sapporo *context, const char *name, const struct word *words, const char *choices)
{
    const char *text = variable(name);
    if (text == NULL) return 0;
    for (const struct word *w = words; w->text != NULL; w++)
        if (strcasecmp(w->text, text) == 0) return w->value;
    (void)sap_context_error(context, SAPPORO_ERR_ARGUMENT, "%s is '%.40s'; it may be %s", name, text, choices);
    return -1;
}

/* The accuracy; 0 if the variable is not set, -1 after a message if it is no number above 0. */
static double accuracy_of(sapporo *context)
{
    const char *text = variable("SAPPORO_TREE_ACCURACY");
    char *end;
    if (text == NULL) return 0;
    const double value = strtod(text, &end);
    if (end != text && *end == 0 && value > 0 && value <= 1e30) return value;
    (void)sap_context_error(context, SAPPORO_ERR_ARGUMENT, "SAPPORO_TREE_ACCURACY is '%.40s'; it may be a number > 0",
                            text);
    return -1;
}

static int options_of(sapporo *context, double eps2, sapporo_tree_options *o)
{
    const int kind = word_of(context, "SAPPORO_TREE_KIND", kinds, "octree or kdtree");
    const int mac = word_of(context, "SAPPORO_TREE_MAC", macs, "opening, multipole or acceleration");
    const double accuracy = accuracy_of(context);
    if (kind < 0 || mac < 0 || accuracy < 0) return SAPPORO_ERR_ARGUMENT;
    *o = (sapporo_tree_options){.size = sizeof *o,
                                .kind = (sapporo_tree_kind)kind,
                                .mac = (sapporo_tree_mac)mac,
                                .accuracy = accuracy,
                                .eps2 = eps2,
                                .precision = sapporo_get_precision(context) == SAPPORO_DP ? SAPPORO_DP : SAPPORO_SP};
    return SAPPORO_OK;
}

/* ---- the tree ------------------------------------------------------------------------------ */

/* A tree with room for n particles; what there was is kept if it will do. */
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

/* The tree of the j-particles as they are. */
static int renew(struct sap_g5_tree *t, sapporo *context, int n, double eps2)
{
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

int sap_g5_tree_force(struct sap_g5_device *device, int n, double eps2, int ni, double (*x)[3],
                      const struct sap_g5_output *out)
{
    struct sap_g5_tree *const t = &device->tree;
    const sapporo_tree_request request = {.size = sizeof request, .ni = ni, .x = {x, 0}};
    int status = renew(t, device->context[SAP_G5_PLAIN], n, eps2);
    if (!status) status = sapporo_tree_force(t->tree, &request, out->a, out->p);
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
