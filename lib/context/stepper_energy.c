/* stepper_energy.c - the totals of a stepper: energies, momentum, angular momentum and moments. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "context/call.h"
#include "context/stepper_private.h"

/* Adds the sums of runs, and those of all parts, and divides them by the constant by which masses were multiplied. */
static int add_runs(sapporo_stepper *s, sapporo_stepper_totals *t, const double *sum, int runs)
{
    double total[SAP_STEP_SUMS] = {0};
    for (int run = 0; run < runs; run++)
        for (int k = 0; k < SAP_STEP_SUMS; k++) total[k] += sum[(size_t)run * SAP_STEP_SUMS + (size_t)k];
    const int status = s->is_part ? s->whole.add(s->whole.of, total, SAP_STEP_SUMS) : SAPPORO_OK;
    for (int k = 0; k < SAP_STEP_SUMS; k++) total[k] /= s->tree_settings.gravity;
    t->kinetic = total[0];
    t->potential = total[1];
    t->field = total[2];
    memcpy(t->momentum, total + 3, sizeof t->momentum);
    memcpy(t->angular_momentum, total + 6, sizeof t->angular_momentum);
    memcpy(t->moment, total + 9, sizeof t->moment);
    t->time = sap_stepper_time(s, s->clock.long_step, s->clock.tick);
    return status ? sap_stepper_failed(s, status, "sums over particles") : SAPPORO_OK;
}

static int measure(sapporo_stepper *s, sapporo_stepper_totals *t)
{
    const struct sap_step now = sap_stepper_now(s);
    const int runs = (s->n + SAP_STEP_RUN - 1) / SAP_STEP_RUN, acts = s->all.massive > 0;
    const int forced = acts && (s->settings.order || s->all.moved < s->all.massive);
    double *const sum = malloc(((size_t)runs + 1) * SAP_STEP_SUMS * sizeof *sum);
    int status = sum ? SAPPORO_OK : fail(s, SAPPORO_ERR_MEMORY, "no memory for the sums of a stepper");
    status = sap_stepper_agree(s, status);
    if (!status && forced) status = sap_stepper_force_now(s, &now, s->massive);
    if (!status && sum) {
        status = s->ops->sums(s->particles, &now, forced, sum);
        if (status) (void)sap_stepper_failed(s, status, "sums over particles");
        status = sap_stepper_agree(s, status);
    }
    if (!status && sum) status = add_runs(s, t, sum, runs);
    free(sum);
    return status;
}

int sapporo_stepper_energy(sapporo_stepper *stepper, sapporo_stepper_totals *totals)
{
    static const sapporo_stepper_totals none = {.time = NAN,
                                                .kinetic = NAN,
                                                .potential = NAN,
                                                .field = NAN,
                                                .momentum = {NAN, NAN, NAN},
                                                .angular_momentum = {NAN, NAN, NAN},
                                                .moment = {NAN, NAN, NAN}};
    sapporo_stepper_totals whole = none;
    const int sized = totals && totals->size >= sizeof totals->size;
    struct sap_public_call call;
    sapporo_stepper *const s = sap_call_begin(&call, SAP_HANDLE_STEPPER, stepper);
    if (!s) {
        if (sized) sap_struct_return(totals, &whole, sizeof whole);
        return SAPPORO_ERR_CLOSED;
    }
    int status = !sized ? sap_struct_error(&s->object.notes, SAPPORO_ERR_ARGUMENT, "sapporo_stepper_totals", totals)
                 : !s->ready ? sap_stepper_empty(s)
                             : measure(s, &whole);
    if (status) whole = none;
    if (sized) sap_struct_return(totals, &whole, sizeof whole);
    return sap_call_end(&call, status);
}
