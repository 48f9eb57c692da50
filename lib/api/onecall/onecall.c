/* onecall.c - see onecall.h. */
#include "api/onecall/onecall.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "base/fpenv.h"
#include "base/lock.h"

/* Guarded by `lock`, which every call holds while it runs. */
static struct {
    sapporo *context; /* NULL: not open */
    sapporo_job *job; /* started by sap_onecall_begin; NULL: none, or it failed */
    int started;      /* 1: sap_onecall_begin came last, with so many targets and sources */
    int ni, nj;
} state;

static struct sap_lock lock = SAP_LOCK_INIT;

static int ready(void)
{
    const sapporo_options options = {.size = sizeof options, .order = 2};
    if (!state.context) (void)sapporo_open(&options, &state.context);
    return state.context != NULL;
}

/* Text that says what is wrong with the arguments of a force; NULL if nothing is wrong. */
static const char *fault(const struct sap_onecall *f)
{
    if (f->ni < 0 || f->nj < 0) return "a number of particles is negative";
    if (f->ni > 0 && !f->xi) return "there are no positions of targets";
    return f->nj > 0 && (!f->xj || !f->mass) ? "there are no positions or masses of sources" : NULL;
}

static int store(const struct sap_onecall *f)
{
    const sapporo_particles all = {.size = sizeof all, .derivative = {{f->xj, 0}}, .mass = {f->mass, 0}};
    return f->nj > 0 ? sapporo_set_particles(state.context, 0, f->nj, &all) : SAPPORO_OK;
}

/* Starts a force; NULL after a message. */
static sapporo_job *start(const struct sap_onecall *f, const char *caller)
{
    const char *const wrong = fault(f);
    sapporo_job *job = NULL;
    if (wrong) {
        char text[128];
        (void)snprintf(text, sizeof text, "%s: %s (ni %d, nj %d); forces are NaN", caller, wrong, f->ni, f->nj);
        sapporo_log(SAPPORO_LOG_ERROR, text);
        return NULL;
    }
    if (f->ni == 0 || !ready()) return NULL;
    const sapporo_request request = {.size = sizeof request,
                                     .nj = f->nj,
                                     .ni = f->ni,
                                     .x = {f->xi, 0},
                                     .eps2 = f->eps2,
                                     .want = SAPPORO_ALLOW_EMPTY};
    int status = store(f);
    if (!status) status = sapporo_force_begin(state.context, &request, &job);
    if (status == SAPPORO_ERR_DEVICE) { /* the next force opens another context, and stores all particles */
        sapporo_close(state.context);
        state.context = NULL;
    }
    return job;
}

/* Waits for a force, writes its ni rows and frees it; job may be NULL. */
static void finish(sapporo_job *job, int ni, double (*acc)[3], double *pot)
{
    const sapporo_result out = {.size = sizeof out, .acc = acc, .pot = pot};
    const int status = job ? sapporo_force_end(job, ni, &out) : SAPPORO_ERR_ARGUMENT;
    sapporo_force_free(job);
    for (int i = 0; i < ni && status < 0; i++) {
        for (int k = 0; k < 3 && acc; k++) acc[i][k] = NAN;
        if (pot) pot[i] = NAN;
    }
    if (status == SAPPORO_ERR_DEVICE) {
        sapporo_close(state.context);
        state.context = NULL;
    }
}

void sap_onecall_open(void)
{
    sap_lock(&lock);
    const sap_fpenv caller = sap_fp_enter();
    (void)ready();
    sap_fp_leave(caller);
    sap_unlock(&lock);
}

void sap_onecall_begin(const struct sap_onecall *force, const char *caller)
{
    sap_lock(&lock);
    const sap_fpenv environment = sap_fp_enter();
    sapporo_force_free(state.job);
    state.job = start(force, caller);
    state.started = 1;
    state.ni = force->ni;
    state.nj = force->nj;
    sap_fp_leave(environment);
    sap_unlock(&lock);
}

void sap_onecall_end(const struct sap_onecall *force, double (*acc)[3], double *pot, const char *caller)
{
    sap_lock(&lock);
    const sap_fpenv environment = sap_fp_enter();
    const int fits = state.started && state.ni == force->ni && state.nj == force->nj;
    if (!fits) {
        sapporo_force_free(state.job);
        state.job = start(force, caller);
    }
    finish(state.job, force->ni, acc, pot);
    state.job = NULL;
    state.started = 0;
    sap_fp_leave(environment);
    sap_unlock(&lock);
}

void sap_onecall_compute(const struct sap_onecall *force, double (*acc)[3], double *pot, const char *caller)
{
    sap_lock(&lock);
    const sap_fpenv environment = sap_fp_enter();
    finish(start(force, caller), force->ni, acc, pot);
    sap_fp_leave(environment);
    sap_unlock(&lock);
}
