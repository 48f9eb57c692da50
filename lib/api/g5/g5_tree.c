/* g5_tree.c - SAPPORO_METHOD=tree in the GRAPE-5 interface.  A device keeps its tree while its j-particles do not
 * change. */
#include "api/g5/g5_tree.h"

#include <math.h>
#include <stdlib.h>

#include "base/fpenv.h"
#include "context/context.h"
#include "context/particles_part.h"

/* For the criterion of acceleration: errors are at most those of the opening angle, also the smallest ones. */
static const double ACCURACY = 0.002;

/*
 * Without a criterion and an accuracy of the environment, or with an error, trees whose targets are their sources take
 * the criterion of acceleration: the tree remembers the accelerations of its particles.  Others take the opening angle,
 * since each force at positions would need two walks.
 */
static int is_free(const struct sap_tree_variables *settings)
{
    return settings->error > 0 || (!settings->mac && !(settings->accuracy > 0));
}

static int options_of(const struct sap_g5_tree *t, sapporo *context, double eps2, sapporo_tree_options *o)
{
    struct sap_tree_variables settings;
    const int status = sap_context_tree_variables(context, &settings);
    if (status) return status;
    const int usual = is_free(&settings) && !(settings.error > 0);
    const int usual_mac = t->elsewhere ? SAPPORO_MAC_OPENING : SAPPORO_MAC_ACCELERATION;
    *o = (sapporo_tree_options){.size = sizeof *o,
                                .kind = settings.kind,
                                .mac = usual ? (sapporo_tree_mac)usual_mac : settings.mac,
                                .accuracy = usual && !t->elsewhere ? ACCURACY : settings.accuracy,
                                .error = settings.error,
                                .eps2 = eps2,
                                .precision = sapporo_get_precision(context) == SAPPORO_DP ? SAPPORO_DP : SAPPORO_SP};
    return SAPPORO_OK;
}

/* ---- the tree ------------------------------------------------------------------------------ */

/* Creates a tree with room for n particles, unless the present tree has the room, the softening and the criterion. */
static int make(struct sap_g5_tree *t, sapporo *context, int n, double eps2)
{
    sapporo_tree_options o;
    if (t->tree != NULL && n <= t->room && eps2 == t->eps2 && t->by_angle == t->elsewhere) return SAPPORO_OK;
    sapporo_tree_destroy(t->tree);
    t->tree = NULL;
    int status = options_of(t, context, eps2, &o);
    if (status) return status;
    status = sapporo_tree_create(&o, n, &t->tree);
    if (status) return status;
    t->room = n;
    t->eps2 = eps2;
    t->by_angle = t->elsewhere;
    return SAPPORO_OK;
}

/* Copies of the j-particles of the next tree. */
struct new_sources {
    int n;
    double (*x)[3], *mass;
};

/*
 * Whether accelerations of the particles of the tree tell those of new ones: positions have moved by less than a
 * quarter of their extent, and masses have changed by less than a sixteenth, in the mean.
 */
static int are_like(const struct sap_g5_tree *t, const struct new_sources *now)
{
    double moved = 0, size = 0, changed = 0, mass = 0;
    if (now->n != t->sources) return 0;
    for (int i = 0; i < now->n; i++) {
        for (int c = 0; c < 3; c++) {
            const double step = now->x[i][c] - t->x[i][c], far = now->x[i][c] - now->x[now->n / 2][c];
            moved += step * step;
            size += far * far;
        }
        changed += fabs(now->mass[i] - t->mass[i]);
        mass += fabs(now->mass[i]);
    }
    return 16 * moved <= size && 16 * changed <= mass;
}

/* Makes copies the sources of the next tree. */
static void keep(struct sap_g5_tree *t, const struct new_sources *now)
{
    t->known &= are_like(t, now);
    free(t->x);
    free(t->mass);
    t->sources = now->n;
    t->x = now->x;
    t->mass = now->mass;
}

/* Copies the present first n j-particles, unless the copies and the tree are those. */
static int take(struct sap_g5_tree *t, sapporo *context, int n)
{
    const int complete = sap_context_check_parts(context, n);
    if (complete < 0) return complete;
    const unsigned long long version = sap_context_version(context);
    if (t->fits && t->version == version && t->n == n) return SAPPORO_OK;
    t->fits = 0;
    struct new_sources now = {.n = sap_context_copy(context, n, NULL, NULL)};
    if (now.n < n)
        sap_context_warn_once(context, SAP_WARN_EMPTY_SLOT, "%d of the %d j-particles of a tree were never loaded",
                              n - now.n, n);
    const size_t room = (size_t)now.n + 1;
    now.x = malloc(room * sizeof *now.x);
    now.mass = malloc(room * sizeof *now.mass);
    if (now.x == NULL || now.mass == NULL) {
        free(now.x);
        free(now.mass);
        return sap_context_error(context, SAPPORO_ERR_MEMORY, "out of memory for a tree of %d particles", now.n);
    }
    (void)sap_context_copy(context, n, now.x, now.mass);
    keep(t, &now);
    t->version = version;
    t->n = n;
    return SAPPORO_OK;
}

/* Builds the tree of the copied particles, unless it is up to date. */
static int renew(struct sap_g5_tree *t, sapporo *context, double eps2)
{
    if (t->tree != NULL && t->fits && t->eps2 == eps2 && t->by_angle == t->elsewhere) return SAPPORO_OK;
    const sapporo_tree_particles p = {.size = sizeof p, .n = t->sources, .x = {t->x, 0}, .mass = {t->mass, 0}};
    const sapporo_tree_particles none = {.size = sizeof none, .mass = {t->mass, 0}};
    t->fits = 0;
    int status = make(t, context, t->sources, eps2);
    if (!status && !t->known) status = sapporo_tree_set(t->tree, &none); /* which forgets accelerations */
    if (!status) status = sapporo_tree_set(t->tree, &p);
    if (!status) status = sapporo_tree_build(t->tree);
    t->fits = !status;
    t->known |= t->fits;
    return status;
}

/* ---- forces -------------------------------------------------------------------------------- */

/* Whether the targets are the particles of the tree, in their order. */
static int are_sources(const struct sap_g5_tree *t, int ni, double (*x)[3])
{
    int i = 0;
    if (ni != t->sources) return 0;
    while (i < ni && x[i][0] == t->x[i][0] && x[i][1] == t->x[i][1] && x[i][2] == t->x[i][2]) i++;
    return i == ni;
}

/* Computes the force on the particles of the tree, with their own potentials. */
static int force_on_sources(const struct sap_g5_tree *t, double eps2, const struct sap_g5_output *out)
{
    const sapporo_tree_request request = {.size = sizeof request, .ni = t->sources};
    const int status = sapporo_tree_force(t->tree, &request, out->a, out->p);
    if (status < 0 || out->p == NULL || !(eps2 > 0)) return status;
    const double eps = sqrt(eps2);
    for (int i = 0; i < t->sources; i++) out->p[i] -= t->mass[i] / eps;
    return status;
}

static int force_at(const struct sap_g5_tree *t, int ni, double (*x)[3], const struct sap_g5_output *out)
{
    const sapporo_tree_request request = {.size = sizeof request, .ni = ni, .x = {x, 0}};
    return sapporo_tree_force(t->tree, &request, out->a, out->p);
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
    sapporo *const context = device->context[SAP_G5_PLAIN];
    struct sap_tree_variables settings;
    const sap_fpenv callers = sap_fp_enter();
    int status = sap_context_tree_variables(context, &settings);
    if (!status) status = take(t, context, n);
    const int own = !status && is_free(&settings) && !t->elsewhere && are_sources(t, ni, x);
    if (!status) t->elsewhere |= !own;
    if (!status) status = renew(t, context, eps2);
    if (!status) status = own ? force_on_sources(t, eps2, out) : force_at(t, ni, x, out);
    if (status == SAPPORO_ERR_DEVICE) lose(device);
    if (status < 0) fill_with_nan(ni, out);
    sap_fp_leave(callers);
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
