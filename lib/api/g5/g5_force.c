/*
 * g5_force.c - the GRAPE-5 interface: i-particles and forces.
 *
 * If a force fails, all its rows become NaN, because most clients ignore the
 * return value.
 */
#include "api/g5/g5.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/g5/g5_tree.h"
#include "base/finite.h"
#include "base/fpenv.h"
#include "context/context.h"
#include "context/particles_part.h"

/* The i-particles of one force. */
struct set {
    int ni;
    double (*x)[3];
    double common;      /* common squared softening */
    const double *eps2; /* individual squared softening; NULL: all is common */
};

static void fill_with_nan(int ni, const struct sap_g5_output *out)
{
    for (int i = 0; i < ni; i++) {
        for (int k = 0; k < 3 && out->a != NULL; k++) out->a[i][k] = NAN;
        if (out->p != NULL) out->p[i] = NAN;
    }
}

static double softening_of_all(void) { return atomic_load_explicit(&sap_g5.eps2, memory_order_relaxed); }

static int cut_off(void) { return atomic_load_explicit(&sap_g5.cutoff, memory_order_relaxed); }

/* Reports an argument error in the plain context of the device, so that threads do not share error texts. */
static int complain(struct sap_g5_device *device, const char *caller, const char *what)
{
    return sap_context_error(device->context[SAP_G5_PLAIN], SAPPORO_ERR_ARGUMENT, "%s: %s", caller, what);
}

/* ---- i-particles ------------------------------------------------------------------ */

static int reserve(struct sap_g5_pipes *pipes, int ni)
{
    if (ni <= 0 || ni <= pipes->room) return 0;
    free(pipes->x);
    free(pipes->eps2);
    free(pipes->acc);
    free(pipes->pot);
    pipes->x = malloc((size_t)ni * sizeof *pipes->x);
    pipes->eps2 = malloc((size_t)ni * sizeof *pipes->eps2);
    pipes->acc = malloc((size_t)ni * sizeof *pipes->acc);
    pipes->pot = malloc((size_t)ni * sizeof *pipes->pot);
    pipes->room = pipes->x != NULL && pipes->eps2 != NULL && pipes->acc != NULL && pipes->pot != NULL ? ni : 0;
    return pipes->room > 0 ? 0 : -1;
}

/* Copies n softenings as squared lengths. */
static void copy_softening(double *to, const double *eps, int n, enum sap_g5_softening form)
{
    const sap_fpenv callers = sap_fp_enter();
    if (form == SAP_G5_EPS2)
        memcpy(to, eps, (size_t)n * sizeof *to);
    else
        for (int i = 0; i < n; i++) to[i] = eps[i] * eps[i];
    sap_fp_leave(callers);
}

/* Whether the first n pipes have a softening; reports the first that has none, and then forces fail. */
static int are_softened(struct sap_g5_device *device, int n, const char *caller)
{
    for (int i = 0; i < n; i++) {
        if (finite_length(device->pipes.eps2[i])) continue;
        const sap_fpenv callers = sap_fp_enter(); /* to print such a number may trap */
        device->pipes.failed = 1;
        sap_context_error(device->context[SAP_G5_PLAIN], SAPPORO_ERR_ARGUMENT,
                          "%s: the squared softening of pipe %d is %g: it is to be finite and not negative", caller, i,
                          device->pipes.eps2[i]);
        sap_fp_leave(callers);
        return 0;
    }
    return 1;
}

static int set_pipes(struct sap_g5_device *device, int ni, double (*x)[3], enum sap_g5_softening form,
                     const double *eps, const char *caller)
{
    struct sap_g5_pipes *pipes = &device->pipes;
    pipes->failed = 1;
    pipes->fresh = 1;
    pipes->ni = 0;
    if (ni < 0) return complain(device, caller, "ni is negative");
    if (ni > 0 && x == NULL) return complain(device, caller, "xi is NULL");
    if (ni > 0 && form != SAP_G5_COMMON && eps == NULL) return complain(device, caller, "there is no softening");
    if (reserve(pipes, ni) < 0) return complain(device, caller, "out of memory");
    if (ni > 0) memcpy(pipes->x, x, (size_t)ni * sizeof *x);
    pipes->common = form == SAP_G5_COMMON ? softening_of_all() : 0;
    pipes->own = form != SAP_G5_COMMON;
    if (pipes->own && ni > 0) copy_softening(pipes->eps2, eps, ni, form);
    if (pipes->own && !are_softened(device, ni, caller)) return SAPPORO_ERR_ARGUMENT;
    pipes->ni = ni;
    pipes->failed = 0;
    return SAPPORO_OK;
}

int sap_g5_set_xi(int id, int ni, double (*x)[3], enum sap_g5_softening form, const double *eps, const char *caller)
{
    struct sap_g5_device *device = sap_g5_hold(id, caller);
    if (device == NULL) return -1;
    const int status = set_pipes(device, ni, x, form, eps, caller);
    sap_g5_release(device);
    return status < 0 ? -1 : 0;
}

static int soften_pipes(struct sap_g5_device *device, int ni, enum sap_g5_softening form, const double *eps,
                        const char *caller)
{
    struct sap_g5_pipes *pipes = &device->pipes;
    if (ni < 0 || ni > pipes->ni || (ni > 0 && eps == NULL)) {
        pipes->failed = 1;
        return complain(device, caller, "more pipes than g5_set_xi has set, or no softening");
    }
    for (int i = 0; i < pipes->ni && !pipes->own; i++) pipes->eps2[i] = pipes->common;
    if (ni > 0) copy_softening(pipes->eps2, eps, ni, form);
    pipes->own = 1;
    pipes->common = 0;
    return are_softened(device, ni, caller) ? SAPPORO_OK : SAPPORO_ERR_ARGUMENT;
}

int sap_g5_set_eps(int id, int ni, enum sap_g5_softening form, const double *eps, const char *caller)
{
    struct sap_g5_device *device = sap_g5_hold(id, caller);
    if (device == NULL) return -1;
    const int status = soften_pipes(device, ni, form, eps, caller);
    sap_g5_release(device);
    return status < 0 ? -1 : 0;
}

/* ---- forces ------------------------------------------------------------------------ */

/* The number of j-particles in the force; -1 after a message if it is not known. */
static int count_of_j(struct sap_g5_device *device, enum sap_g5_memory memory, const char *caller)
{
    if (device->n < 0) return complain(device, caller, "n is negative"), -1;
    if (!device->n_set)
        sap_context_warn_once(device->context[memory], SAP_WARN_G5_N,
                              "%s: before g5_set_n no j-particle takes part: the force is 0", caller);
    return device->n;
}

/* Begins a force; after a failure, which it reports, *job is NULL. */
static void begin(struct sap_g5_device *device, enum sap_g5_memory memory, const struct set *set, const char *caller,
                  sapporo_job **job)
{
    sapporo *context = sap_g5_context(device, memory);
    *job = NULL;
    if (context == NULL || cut_off()) return; /* sap_g5_context or g5_set_eta has given the message */
    const int n = count_of_j(device, memory, caller);
    if (n < 0) return;
    if (device->by_tree) sap_g5_tree_not_here(device, memory, caller);
    sapporo_request request = {
        .size = sizeof request, .nj = n, .ni = set->ni, .eps2 = set->common, .want = SAPPORO_ALLOW_EMPTY};
    request.x.base = set->x;
    request.eps2_i.base = set->eps2;
    if (sapporo_force_begin(context, &request, job) == SAPPORO_ERR_DEVICE) device->lost = 1;
    if (*job != NULL) sap_job_leave_neighbours(*job);
}

/* Changes the sign of n potentials, because GRAPE-5 potentials are positive; 0 stays 0 and does not become -0. */
static void turn(double *p, int n)
{
    const sap_fpenv callers = sap_fp_enter();
    for (int i = 0; i < n; i++) p[i] = 0 - p[i];
    sap_fp_leave(callers);
}

/* Waits for a force and writes its first ni rows; job may be NULL, ni > 0. */
static int collect(struct sap_g5_device *device, sapporo_job *job, int ni, const struct sap_g5_output *out,
                   const char *caller)
{
    const sapporo_result result = {.size = sizeof result, .acc = out->a, .pot = out->p};
    const int status = job != NULL ? sapporo_force_end(job, ni, &result) : SAPPORO_ERR_ARGUMENT;
    if (status == SAPPORO_ERR_DEVICE) device->lost = 1;
    if (status < 0) {
        fill_with_nan(ni, out);
        return -1;
    }
    if (out->p != NULL) turn(out->p, ni);
    if (out->a == NULL || out->p == NULL) return complain(device, caller, "an output is NULL"), -1;
    return status == SAPPORO_PARTIAL;
}

/* Computes a force by the tree and writes its rows; ni > 0. */
static int by_tree(struct sap_g5_device *device, const struct set *set, const struct sap_g5_output *out,
                   const char *caller)
{
    const int n = count_of_j(device, SAP_G5_PLAIN, caller);
    const int status = n < 0 ? SAPPORO_ERR_ARGUMENT : sap_g5_tree_force(device, n, set->common, set->ni, set->x, out);
    if (status < 0) {
        fill_with_nan(set->ni, out);
        return -1;
    }
    if (out->p != NULL) turn(out->p, set->ni);
    if (out->a == NULL || out->p == NULL) return complain(device, caller, "an output is NULL"), -1;
    return status == SAPPORO_PARTIAL;
}

/* Whether a force from this memory is computed by the tree. */
static int goes_by_tree(struct sap_g5_device *device, enum sap_g5_memory memory)
{
    return memory == SAP_G5_PLAIN && !cut_off() && sap_g5_context(device, memory) != NULL && device->by_tree;
}

/* Computes the force on the i-particles of g5_set_xi by the tree and keeps it; 0, or -1 after a message. */
static int run_by_tree(struct sap_g5_device *device, const struct set *set, const char *caller)
{
    struct sap_g5_pipes *pipes = &device->pipes;
    const struct sap_g5_output out = {pipes->acc, pipes->pot};
    sap_g5_tree_in_batches(device, caller);
    const int rc = by_tree(device, set, &out, caller);
    pipes->ready = rc >= 0 ? set->ni : 0;
    pipes->partial = rc > 0;
    return rc < 0 ? -1 : 0;
}

int sap_g5_run(int id, enum sap_g5_memory memory, const char *caller)
{
    struct sap_g5_device *device = sap_g5_hold(id, caller);
    if (device == NULL) return -1;
    const struct sap_g5_pipes *pipes = &device->pipes;
    const struct set set = {pipes->ni, pipes->x, pipes->common, pipes->own ? pipes->eps2 : NULL};
    sap_g5_drop_job(device);
    device->pipes.fresh = 0;
    const int tree = !pipes->failed && pipes->ni > 0 && !pipes->own && goes_by_tree(device, memory);
    const int done = tree && run_by_tree(device, &set, caller) == 0;
    if (!tree && !pipes->failed && pipes->ni > 0) begin(device, memory, &set, caller, &device->job);
    device->job_ni = device->job != NULL ? pipes->ni : 0;
    const int ok = done || device->job != NULL || (pipes->ni == 0 && !pipes->failed);
    sap_g5_release(device);
    return ok ? 0 : -1;
}

/* Writes rows of the force that run_by_tree has kept. */
static int deliver_rows(struct sap_g5_device *device, int ni, const struct sap_g5_output *out, const char *caller)
{
    const struct sap_g5_pipes *pipes = &device->pipes;
    if (ni > pipes->ready) {
        fill_with_nan(ni, out);
        return complain(device, caller, "more i-particles than g5_set_xi has set"), -1;
    }
    if (out->a != NULL) memcpy(out->a, pipes->acc, (size_t)ni * sizeof *out->a);
    if (out->p != NULL) memcpy(out->p, pipes->pot, (size_t)ni * sizeof *out->p);
    if (out->a == NULL || out->p == NULL) return complain(device, caller, "an output is NULL"), -1;
    return pipes->partial;
}

/* Writes the first ni rows of the force that g5_run has begun or computed; ni > 0. */
static int deliver(struct sap_g5_device *device, int ni, const struct sap_g5_output *out, const char *caller)
{
    if (!device->pipes.fresh && device->pipes.ready > 0) return deliver_rows(device, ni, out, caller);
    sapporo_job *job = device->pipes.fresh || ni > device->job_ni ? NULL : device->job;
    if (device->pipes.fresh)
        complain(device, caller, "g5_run has not been called since g5_set_xi");
    else if (device->job != NULL && job == NULL)
        complain(device, caller, "more i-particles than g5_set_xi has set");
    return collect(device, job, ni, out, caller);
}

int sap_g5_get_force(int id, int ni, const struct sap_g5_output *out, const char *caller)
{
    struct sap_g5_device *device = sap_g5_hold(id, caller);
    int rc = ni < 0 ? -1 : 0;
    if (device == NULL) {
        fill_with_nan(ni, out);
        return -1;
    }
    if (ni > 0) rc = deliver(device, ni, out, caller);
    if (ni < 0) complain(device, caller, "ni is negative");
    sap_g5_release(device);
    return rc;
}

/* Text that says what is wrong with the i-particles of a force; NULL if nothing is wrong. */
static const char *fault(const struct sap_g5_targets *t)
{
    if (t->ni < 0) return "ni is negative";
    if (t->ni > 0 && t->x == NULL) return "x is NULL";
    return t->ni > 0 && t->form != SAP_G5_COMMON && t->eps == NULL ? "there is no softening" : NULL;
}

/* Computes the force on some i-particles and writes it. */
static int calculate(struct sap_g5_device *device, enum sap_g5_memory memory, const struct set *set,
                     const struct sap_g5_output *out, const char *caller)
{
    sapporo_job *job = NULL;
    if (set->eps2 == NULL && goes_by_tree(device, memory)) return by_tree(device, set, out, caller);
    begin(device, memory, set, caller, &job);
    const int rc = collect(device, job, set->ni, out, caller);
    sapporo_force_free(job);
    return rc;
}

/* The same for i-particles with softening of their own, given as lengths. */
static int calculate_by_lengths(struct sap_g5_device *device, enum sap_g5_memory memory,
                                const struct sap_g5_targets *targets, const struct sap_g5_output *out,
                                const char *caller)
{
    double *const eps2 = malloc((size_t)targets->ni * sizeof *eps2);
    if (eps2 == NULL) {
        fill_with_nan(targets->ni, out);
        return complain(device, caller, "out of memory"), -1;
    }
    copy_softening(eps2, targets->eps, targets->ni, SAP_G5_EPS);
    const int rc = calculate(device, memory, &(struct set){targets->ni, targets->x, 0, eps2}, out, caller);
    free(eps2);
    return rc;
}

int sap_g5_calculate(int id, enum sap_g5_memory memory, const struct sap_g5_targets *targets,
                     const struct sap_g5_output *out, const char *caller)
{
    struct sap_g5_device *device = sap_g5_hold(id, caller);
    const char *wrong = fault(targets);
    int rc = 0;
    if (device == NULL) {
        fill_with_nan(targets->ni, out);
        return -1;
    }
    if (wrong != NULL) {
        fill_with_nan(targets->ni, out);
        complain(device, caller, wrong);
        rc = -1;
    } else if (targets->ni > 0 && targets->form == SAP_G5_EPS) {
        rc = calculate_by_lengths(device, memory, targets, out, caller);
    } else if (targets->ni > 0) {
        const int own = targets->form == SAP_G5_EPS2;
        const struct set set = {targets->ni, targets->x, own ? 0 : softening_of_all(), own ? targets->eps : NULL};
        rc = calculate(device, memory, &set, out, caller);
    }
    sap_g5_release(device);
    return rc;
}
