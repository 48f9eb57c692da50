/* g6.c - the GRAPE-6 interface over sapporo.h: checks arguments, finds clusters, queues begun forces.  No physics. */
#include "api/g6/g6.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/g6/npipes.h"
#include "base/fpenv.h"
#include "context/context.h"

/* ---- open and close ------------------------------------------------------------- */

static sapporo *open_context(const sapporo_options *options)
{
    sapporo *context = NULL;
    const int method = sap_context_method();
    if (method < 0) return NULL;
    if (sapporo_open(options, &context) < 0) return NULL;
    if (method > 0)
        sap_context_warn_once(context, SAP_WARN_METHOD, "SAPPORO_METHOD=tree: GRAPE-6 forces are summed directly");
    return context;
}

/* Opens a cluster unless it is open already; returns 1 if it is open now. */
static int try_to_open(int id, const sapporo_options *options)
{
    struct sap_g6_cluster *cluster = sap_g6_bind(id);
    if (cluster == NULL) return sap_context_error(NULL, SAPPORO_ERR_MEMORY, "g6_open: out of memory"), 0;
    int open = sap_g6_held(cluster) != NULL;
    if (!open) {
        sapporo *context = open_context(options);
        if (context != NULL) sap_g6_publish(cluster, context);
        open = context != NULL;
    }
    sap_g6_unbind(cluster);
    return open;
}

static int open_cluster(int id, const sapporo_options *options)
{
    const int open = try_to_open(id, options);
    sap_g6_note_open(id, !open);
    return open ? 0 : -1;
}

int sap_g6_open(int id)
{
    sapporo_options options = {.size = sizeof options, .preferred_device = id > 0 ? id : 0};
    return open_cluster(id, &options);
}

int sap_g6_open_special(int ndev, const int *list)
{
    sapporo_options options = {.size = sizeof options, .devices = list, .ndevices = ndev};
    if (sap_g6_exact(0) != NULL)
        sap_log(SAPPORO_LOG_INFO, "g6_open_special: cluster 0 is open already and stays on its devices");
    if (ndev == 0) options.ndevices = -1;
    if (ndev < 0) options.ndevices = SAP_ANY_DEVICES + (ndev > -SAP_DEVICES_MAX ? -ndev : SAP_DEVICES_MAX);
    return open_cluster(0, &options);
}

static void drop_last(struct sap_g6_cluster *cluster)
{
    sapporo_force_free(cluster->last);
    cluster->last = NULL;
    cluster->last_ni = 0;
}

int sap_g6_close(int id)
{
    struct sap_g6_cluster *cluster = sap_g6_hold_exact(id);
    sap_g6_note_open(id, 0);
    if (cluster == NULL) return 0;
    sapporo *context = sap_g6_held(cluster);
    sap_g6_publish(cluster, NULL);
    sap_g6_queue_clear(&cluster->queue);
    drop_last(cluster);
    sapporo_close(context);
    sap_g6_release(cluster);
    return 0;
}

int sap_g6_reset(int id, const char *caller)
{
    struct sap_g6_cluster *cluster = sap_g6_hold(id, caller);
    if (cluster == NULL) return -1;
    sap_g6_queue_clear(&cluster->queue);
    sap_g6_release(cluster);
    return 0;
}

/* ---- time and particles ------------------------------------------------------------ */

int sap_g6_set_ti(int id, double ti)
{
    const struct sap_context_name *context = sap_g6_direct(id);
    if (context == NULL) context = sap_g6_context(id, "g6_set_ti");
    return context == NULL || sapporo_set_time(sap_context_named(context), ti) < 0 ? -1 : 0;
}

int sap_g6_set_j_slowly(int id, int address, int index, double tj, double mass, const double *k18, const double *j6,
                        const double *a2, const double *v, const double *x)
{
    const struct sap_context_name *context = sap_g6_context(id, "g6_set_j_particle");
    if (context == NULL) return -1;
    if (x == NULL)
        return sap_context_error(sap_context_named(context), SAPPORO_ERR_ARGUMENT, "g6_set_j_particle: x is NULL"), -1;
    return sap_context_set_scaled(context, address, index, tj, mass, k18, j6, a2, v, x);
}

static int set_mass_position(const struct sap_context_name *context, int address, int index, double mass,
                             const double *x)
{
    sapporo *handle = sap_context_named(context);
    if (x == NULL) return sap_context_error(handle, SAPPORO_ERR_ARGUMENT, "g6_set_j_particle_mxonly: x is NULL"), -1;
    double tj = sap_context_time(handle);
    return sap_context_set_scaled(context, address, index, tj, mass, NULL, NULL, NULL, NULL, x);
}

int sap_g6_set_mass_position(int id, int address, int index, double mass, const double *x)
{
    const struct sap_context_name *context = sap_g6_context(id, "g6_set_j_particle_mxonly");
    return context != NULL ? set_mass_position(context, address, index, mass, x) : -1;
}

/* Sets the same particle in clusters id, id + 1, ...  Only the first id may stand for the only open cluster.  If one
 * cluster fails, the others still get the particle. */
int sap_g6_set_mass_position_of_many(int id, int clusters, int address, int index, double mass, const double *x)
{
    int rc = sap_g6_set_mass_position(id, address, index, mass, x);
    for (int k = 1; k < clusters && id <= INT_MAX - k; k++) {
        const struct sap_context_name *context = sap_g6_exact(id + k);
        if (context == NULL) {
            sap_context_error(NULL, SAPPORO_ERR_CLOSED, "g6_set_j_particle_multisend_mxfast: cluster %d is not open",
                              id + k);
            return -1;
        }
        if (set_mass_position(context, address, index, mass, x) < 0) rc = -1;
    }
    return rc;
}

/* ---- forces -------------------------------------------------------------------------- */

/* Whether eps2 is valid.  It tests bits, because a comparison with NaN raises an exception that some clients trap. */
static int is_softening(double eps2)
{
    uint64_t bits;
    memcpy(&bits, &eps2, sizeof bits);
    return bits == UINT64_C(1) << 63 || bits < UINT64_C(0x7ff) << 52;
}

/* Text that says what is wrong with the arguments of a force; NULL if nothing is wrong. */
static const char *fault(const struct sap_g6_force *force)
{
    if (force->nj < 0) return "nj is negative";
    if (force->ni < 0) return "ni is negative";
    if (!is_softening(force->eps2)) return "eps2 is not a number >= 0";
    if (force->index == NULL) return "index is NULL";
    if (force->x == NULL) return "xi is NULL";
    return force->v == NULL ? "vi is NULL" : NULL;
}

/* Begins a force.  After a failure, which it reports, begun->job is NULL. */
static void begin(struct sap_g6_cluster *cluster, const struct sap_g6_force *force, unsigned want, const char *caller,
                  struct sap_g6_begun *begun)
{
    sapporo *context = sap_g6_held(cluster);
    const char *wrong = fault(force);
    sapporo_request request = {.size = sizeof request, .nj = force->nj, .ni = force->ni, .eps2 = force->eps2};
    *begun = (struct sap_g6_begun){NULL, force->ni, force->index, force->x, force->eps2};
    if (wrong != NULL) {
        sap_context_error(context, SAPPORO_ERR_ARGUMENT, "%s: %s", caller, wrong);
        return;
    }
    if (force->ni > sap_npipes())
        sap_context_warn_once(context, SAP_WARN_MANY_I, "%s: ni is %d, more than the %d pipes of g6_npipes", caller,
                              force->ni, sap_npipes());
    request.x.base = force->x;
    request.v.base = force->v;
    request.index.base = force->index;
    request.h2.base = force->h2;
    request.want = want | SAPPORO_ALLOW_EMPTY; /* clients ask with nj = 0 on purpose: a rank without particles */
    sapporo_force_begin(context, &request, &begun->job);
}

int sap_g6_firsthalf(int id, const struct sap_g6_force *force)
{
    static const char caller[] = "g6calc_firsthalf";
    struct sap_g6_begun begun;
    struct sap_g6_cluster *cluster = sap_g6_hold(id, caller);
    if (cluster == NULL) return -1;
    if (force->ni != 0 || force->nj < 0) {
        begin(cluster, force, 0, caller, &begun);
        if (force->ni > 0 && sap_g6_queue_put(&cluster->queue, &begun))
            sap_context_warn_once(sap_g6_held(cluster), SAP_WARN_QUEUE,
                                  "%s: more than %d forces begun and not collected: the oldest is dropped", caller,
                                  SAP_G6_QUEUE);
    }
    sap_g6_release(cluster);
    return 0;
}

/* Writes NaN into all rows after a failure, because clients tend to ignore the return value of lasthalf. */
static void fill_with_nan(int ni, const struct sap_g6_output *output)
{
    for (int i = 0; i < ni; i++) {
        for (int k = 0; k < 3; k++) {
            if (output->acc != NULL) output->acc[i][k] = NAN;
            if (output->jerk != NULL) output->jerk[i][k] = NAN;
        }
        if (output->pot != NULL) output->pot[i] = NAN;
        if (output->nearest != NULL) output->nearest[i] = -1;
        if (output->distance != NULL) output->distance[i] = NAN;
    }
}

static const char *name_of(enum sap_g6_form form)
{
    static const char *const names[] = {"g6calc_lasthalf", "g6calc_lasthalf2", "g6calc_lasthalf2p"};
    return names[form];
}

/* The name of the first required output that is NULL; NULL if none is missing. */
static const char *missing(const struct sap_g6_output *output)
{
    if (output->acc == NULL) return "acc";
    if (output->jerk == NULL) return "jerk";
    if (output->pot == NULL) return "pot";
    if (output->form >= SAP_G6_LASTHALF2 && output->nearest == NULL) return "nnbindex";
    return output->form >= SAP_G6_LASTHALF2P && output->distance == NULL ? "rnnb" : NULL;
}

/* Computes softened distances in the library's floating-point environment. */
static void soften(int ni, const double *r2, double eps2, float *distance)
{
    sap_fpenv callers = sap_fp_enter();
    for (int i = 0; i < ni; i++) distance[i] = (float)sqrt(r2[i] + eps2);
    sap_fp_leave(callers);
}

/* Waits for a force and writes the wanted outputs; returns a sapporo_status. */
static int collect(sapporo *context, const struct sap_g6_begun *begun, int ni, const struct sap_g6_output *output)
{
    sapporo_result result = {.size = sizeof result, .acc = output->acc, .jerk = output->jerk, .pot = output->pot};
    result.nearest = output->nearest;
    if (output->distance == NULL) return sapporo_force_end(begun->job, ni, &result);
    result.nearest_r2 = malloc((size_t)ni * sizeof *result.nearest_r2);
    if (result.nearest_r2 == NULL)
        return sap_context_error(context, SAPPORO_ERR_MEMORY, "%s: out of memory", name_of(output->form));
    int status = sapporo_force_end(begun->job, ni, &result);
    if (status >= 0) soften(ni, result.nearest_r2, begun->eps2, output->distance);
    free(result.nearest_r2);
    return status;
}

/* Finds the begun force that matches a call, or begins it now; begun->job is NULL if both fail. */
static void find_force(struct sap_g6_cluster *cluster, const struct sap_g6_force *force, enum sap_g6_form form,
                       struct sap_g6_begun *begun)
{
    sapporo *context = sap_g6_held(cluster);
    switch (sap_g6_queue_take(&cluster->queue, force, begun)) {
    case SAP_G6_MATCH:
        break;
    case SAP_G6_NO_MATCH:
        begin(cluster, force, form == SAP_G6_LASTHALF ? 0 : SAPPORO_WANT_NEAREST, name_of(form), begun);
        break;
    case SAP_G6_TOO_LARGE:
        sap_context_error(context, SAPPORO_ERR_ARGUMENT, "%s: ni is %d, but only %d were sent with g6calc_firsthalf",
                          name_of(form), force->ni, begun->ni);
        sapporo_force_free(begun->job);
        begun->job = NULL;
        break;
    }
}

/* Delivers a force and makes it the last force of the cluster, so that its neighbour lists can be read.  ni > 0. */
static int deliver(struct sap_g6_cluster *cluster, const struct sap_g6_force *force, const struct sap_g6_output *output)
{
    sapporo *context = sap_g6_held(cluster);
    const char *without = missing(output);
    struct sap_g6_begun begun;
    int status = SAPPORO_ERR_ARGUMENT;
    if (without != NULL)
        sap_context_error(context, SAPPORO_ERR_ARGUMENT, "%s: %s is NULL", name_of(output->form), without);
    drop_last(cluster);
    find_force(cluster, force, output->form, &begun);
    if (begun.job != NULL) status = collect(context, &begun, force->ni, output);
    if (status < 0) {
        fill_with_nan(force->ni, output);
        sapporo_force_free(begun.job);
        return -1;
    }
    cluster->last = begun.job;
    cluster->last_ni = force->ni;
    return without != NULL ? -1 : status == SAPPORO_PARTIAL;
}

int sap_g6_lasthalf(int id, const struct sap_g6_force *force, const struct sap_g6_output *output)
{
    struct sap_g6_cluster *cluster = sap_g6_hold(id, name_of(output->form));
    int rc = 0;
    if (cluster == NULL) {
        fill_with_nan(force->ni, output);
        return -1;
    }
    if (force->ni > 0) {
        rc = deliver(cluster, force, output);
    } else if (force->ni < 0 || force->nj < 0) {
        sap_context_error(sap_g6_held(cluster), SAPPORO_ERR_ARGUMENT, "%s: %s", name_of(output->form), fault(force));
        rc = -1;
    }
    sap_g6_release(cluster);
    return rc;
}

/* ---- neighbour lists --------------------------------------------------------------------- */

/* The cluster of an id, locked, if it has delivered a force; else NULL after a message. */
static struct sap_g6_cluster *hold_last(int id, const char *caller)
{
    struct sap_g6_cluster *cluster = sap_g6_hold(id, caller);
    if (cluster == NULL || cluster->last != NULL) return cluster;
    sap_context_error(sap_g6_held(cluster), SAPPORO_ERR_ARGUMENT, "%s: no force has been delivered", caller);
    sap_g6_release(cluster);
    return NULL;
}

int sap_g6_read_lists(int id)
{
    int n = 0;
    struct sap_g6_cluster *cluster = hold_last(id, "g6_read_neighbour_list");
    if (cluster == NULL) return -1;
    int status = sapporo_force_neighbours(cluster->last, 0, 0, &n, NULL, NULL);
    sap_g6_release(cluster);
    return status >= 0 ? 0 : status == SAPPORO_ERR_MEMORY ? 1 : -1;
}

static int get_list(struct sap_g6_cluster *cluster, int pipe, int room, int *n, int *list)
{
    sapporo *context = sap_g6_held(cluster);
    int found = 0;
    if (pipe < 0 || pipe >= cluster->last_ni)
        return sap_context_error(context, SAPPORO_ERR_ARGUMENT, "g6_get_neighbour_list: ipipe is %d of %d", pipe,
                                 cluster->last_ni);
    if (list == NULL && room > 0)
        return sap_context_error(context, SAPPORO_ERR_ARGUMENT, "g6_get_neighbour_list: nbl is NULL");
    int status = sapporo_force_neighbours(cluster->last, pipe, room > 0 ? room : 0, &found, list, NULL);
    if (status >= 0) *n = found;
    return status;
}

int sap_g6_get_list(int id, int pipe, int room, int *n, int *list)
{
    int unwanted;
    struct sap_g6_cluster *cluster = hold_last(id, "g6_get_neighbour_list");
    if (n != NULL) *n = 0;
    if (cluster == NULL) return -1;
    int status = get_list(cluster, pipe, room, n != NULL ? n : &unwanted, list);
    if (n == NULL)
        status = sap_context_error(sap_g6_held(cluster), SAPPORO_ERR_ARGUMENT, "g6_get_neighbour_list: nblen is NULL");
    sap_g6_release(cluster);
    return status < 0 ? -1 : status == SAPPORO_TRUNCATED;
}

int sap_g6_set_sort_mode(int mode)
{
    atomic_store_explicit(&sap_g6.sort_mode, mode, memory_order_relaxed);
    return 0;
}

int sap_g6_get_sort_mode(void) { return atomic_load_explicit(&sap_g6.sort_mode, memory_order_relaxed); }
