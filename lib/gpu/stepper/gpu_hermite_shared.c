/* gpu_hermite_shared.c - Hermite schemes of parts of a whole: each stores the sources of all, and moves its own. */
#include "physics/ops_scalar.h"

#include "gpu/stepper/gpu_hermite.h"

#include <string.h>

#include "gpu/stepper/gpu_direct.h"
#include "gpu/stepper/gpu_hermite_private.h"
#include "gpu/stepper/gpu_shared.h"

typedef int work(struct sap_gpu_stepper *s, const struct sap_step *step);

/* Does one thing of a step within a call. */
static int in_call(struct sap_gpu_stepper *s, work *what, const struct sap_step *step)
{
    const int status = sap_session_begin(s->session);
    return status ? status : sap_session_end(s->session, what(s, step));
}

/* Collective.  Brings records of all sources, or of the rows; this part may fail alone. */
static int gather(struct sap_gpu_stepper *s, int of_rows)
{
    return sap_gpu_shared_gather(s, of_rows, sap_hermite_record_bytes(s->settings.order), &s->shared->own,
                                 &s->shared->all);
}

/* Collective.  The same, does what follows, and agrees. */
static int gather_and(struct sap_gpu_stepper *s, int of_rows, work *then, const struct sap_step *step)
{
    const int status = gather(s, of_rows);
    return sap_gpu_shared_agree(s, status ? status : in_call(s, then, step));
}

/* ---- forces ---------------------------------------------------------------------------------- */

static int join_all(struct sap_gpu_stepper *s, const struct sap_step *step)
{
    (void)step;
    return sap_hermite_join_all(s);
}

/*
 * Collective.  All parts send all of their sources if one of them must: at first, now and then in new units, and after
 * failures.
 */
static int send_sources(struct sap_gpu_stepper *s, const struct sap_step *step, int status)
{
    struct sap_gpu_direct *const d = s->direct;
    int fresh = d->forces == 0;
    status = sap_gpu_shared_announce(s, status, s->hermite->force.massive, &fresh);
    d->forces = fresh ? 0 : (d->forces + 1) % SAP_HERMITE_FORCES;
    if (status || !fresh) return status;
    status = sap_gpu_shared_agree(s, in_call(s, sap_hermite_share_all, step));
    return status ? status : gather_and(s, 0, join_all, step);
}

static int describe(struct sap_gpu_stepper *s, const struct sap_step *step, const struct sap_step_active *active)
{
    const int status = sap_session_begin(s->session);
    return status ? status : sap_session_end(s->session, sap_hermite_describe(s, step, active));
}

/* Sums that fail on this part alone are told by the status of the step, or before collective iterations. */
static int sum(struct sap_gpu_stepper *s, const struct sap_step *step)
{
    const int status = in_call(s, sap_hermite_sum, step);
    return s->settings.iterations > 1 ? sap_gpu_shared_agree(s, status) : status;
}

int sap_hermite_gpu_shared_force(struct sap_gpu_stepper *s, const struct sap_step *step,
                                 const struct sap_step_active *active)
{
    int status = send_sources(s, step, describe(s, step, active));
    if (status) return status;
    if (!step->start || s->settings.order == 4) return sum(s, step);
    status = in_call(s, sap_hermite_sum, step);
    if (!status) status = in_call(s, sap_hermite_give_jerks, step);
    s->direct->forces = 0;
    status = send_sources(s, step, status);
    return status ? status : sum(s, step);
}

/* ---- correction ------------------------------------------------------------------------------ */

/* Corrects the rows, and writes them as targets and as records. */
static int correct(struct sap_gpu_stepper *s, const struct sap_step *step)
{
    TRY(sap_hermite_judge(s, *step, 1));
    TRY(sap_hermite_go_again(s, step));
    return sap_hermite_share_rows(s, step, sap_hermite_end(step));
}

static int join_and_sum(struct sap_gpu_stepper *s, const struct sap_step *step)
{
    TRY(sap_hermite_join_rows(s));
    return sap_hermite_sum_again(s, step);
}

/* Collective.  All iterations but the last. */
static int iterate(struct sap_gpu_stepper *s, const struct sap_step *step)
{
    int status = SAPPORO_OK;
    if (s->settings.iterations == 1 || step->start) return status;
    s->direct->forces = 0;
    for (int k = 1; k < s->settings.iterations && !status; k++) {
        status = sap_gpu_shared_agree(s, in_call(s, correct, step));
        if (!status) status = gather_and(s, 1, join_and_sum, step);
    }
    return status;
}

/* Makes the rows after the step, and their records, and waits for both. */
static int judge(struct sap_gpu_stepper *s, const struct sap_step *step)
{
    if (s->hermite->force.rows == 0) {
        int *const told = s->told.host;
        memset(told, 0, SAP_STEPPER_TOLD * sizeof *told);
        told[0] = SAP_HERMITE_NOBODY;
    } else {
        TRY(sap_hermite_judge(s, *step, 0));
        TRY(sap_hermite_ask(s));
    }
    return sap_hermite_share_rows(s, step, sap_hermite_after(step));
}

int sap_hermite_gpu_shared_judge(struct sap_gpu_stepper *s, const struct sap_step *step, struct sap_step_told *to)
{
    const int forces = step->start ? 0 : s->direct->forces; /* as of one stepper */
    int status = iterate(s, step);
    if (status) return status;
    status = in_call(s, judge, step);
    sap_hermite_read_told(s, to);
    sap_stepper_copy_levels(s, to);
    s->direct->forces = !status && to->bad < 0 ? forces : 0;
    return status;
}

/* ---- the end of a step ------------------------------------------------------------------------- */

static int move(struct sap_gpu_stepper *s, const struct sap_step *step)
{
    TRY(sap_hermite_commit(s, *step));
    return sap_hermite_join_rows(s);
}

int sap_hermite_gpu_shared_commit(struct sap_gpu_stepper *s, const struct sap_step *step)
{
    int status = sap_gpu_shared_agree(s, gather(s, 1));
    if (!status) status = in_call(s, move, step);
    if (status) s->direct->forces = 0;
    return status;
}
