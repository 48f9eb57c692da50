/* stepper_saved.c - takes the particles of a stepper as they were saved; what a part of a whole saves. */
#include <string.h>

#include "context/call.h"
#include "context/stepper_private.h"

size_t sap_stepper_saved_width(const sapporo_stepper *s, enum sap_step_column column)
{
    if (column == SAP_STEP_COLUMNS) return sizeof *s->label;
    if (column == SAP_STEP_LEVEL) return sizeof(int);
    if (column == SAP_STEP_HIGHER) return (size_t)sap_step_higher(&s->settings) * 3 * sizeof(double);
    if (column == SAP_STEP_POT || column == SAP_STEP_MASS) return sizeof(double);
    return column == SAP_STEP_BUILT && !s->settings.keeps_built ? 0 : 3 * sizeof(double);
}

int sap_stepper_levels_are_valid(const sapporo_stepper *s, const void *from, int n)
{
    for (int i = 0; i < n; i++) {
        int level;
        memcpy(&level, (const char *)from + (size_t)i * sizeof level, sizeof level);
        if (level < 0 || level >= s->settings.rule.levels) return 0;
    }
    return 1;
}

/* Gives the engine the particles, where they were at the last build of a tree that is refreshed. */
static int take_orbits(sapporo_stepper *s, int n, const void *const *at)
{
    const int built = s->settings.keeps_built;
    const sapporo_column x = {at[built ? SAP_STEP_BUILT : SAP_STEP_X], 0}, v = {at[SAP_STEP_V], 0},
                         mass = {at[SAP_STEP_MASS], 0};
    int bad;
    const int status = s->ops->take(s->particles, n, SAPPORO_MEMORY_HOST, &x, &v, &mass, 1, &bad);
    if (!status) s->massive = s->ops->massive(s->particles);
    return status;
}

/* Builds the tree of these particles, and gives the engine the columns that take_orbits did not. */
static int take_rest(sapporo_stepper *s, const void *const *at)
{
    static const enum sap_step_column rest[] = {SAP_STEP_X, SAP_STEP_A, SAP_STEP_POT, SAP_STEP_LEVEL};
    int status = SAPPORO_OK;
    if (s->settings.keeps_built && s->all.massive > 0) status = s->tree->ops->build(s->tree);
    if (!status) status = s->ops->note_build(s->particles);
    for (size_t k = 0; k < sizeof rest / sizeof rest[0] && !status; k++)
        status = s->ops->write(s->particles, rest[k], at[rest[k]]);
    if (!status && s->settings.order) status = s->ops->write(s->particles, SAP_STEP_HIGHER, at[SAP_STEP_HIGHER]);
    return status;
}

int sap_stepper_take_saved(sapporo_stepper *s, int n, const struct sap_stepper_clock *clock, const void *const *at)
{
    s->n = s->ready = 0;
    sap_stepper_forget_times(s);
    int status = take_orbits(s, n, at);
    if (status) (void)sap_stepper_failed(s, status, "restoring particles");
    status = sap_stepper_agree(s, status);
    if (status) return status;
    s->n = n;
    s->clock = *clock;
    status = sap_stepper_join(s);
    if (!status) status = take_rest(s, at);
    if (!status) {
        memcpy(s->label, at[SAP_STEP_COLUMNS], (size_t)n * sizeof *s->label);
        status = sap_stepper_count_levels(s, at[SAP_STEP_LEVEL], at[SAP_STEP_MASS]);
    } else {
        (void)sap_stepper_failed(s, status, "restoring particles");
    }
    if (status) s->n = 0;
    s->ready = !status;
    return status;
}

/* ---- parts ---------------------------------------------------------------------------------- */

int sap_stepper_part_saved(sapporo_stepper *stepper, struct sap_stepper_saved *saved)
{
    struct sap_public_call call;
    sapporo_stepper *const s = sap_call_look(&call, SAP_HANDLE_STEPPER, stepper);
    if (!s) return SAPPORO_ERR_CLOSED;
    saved->signature = s->signature;
    saved->clock = s->clock;
    saved->n = s->n;
    for (int k = 0; k <= SAP_STEP_COLUMNS; k++)
        saved->width[k] = (int)sap_stepper_saved_width(s, (enum sap_step_column)k);
    const int ready = s->ready;
    sap_call_leave(&call);
    return ready ? SAPPORO_OK : SAPPORO_ERR_ARGUMENT;
}

int sap_stepper_part_read(sapporo_stepper *stepper, int column, void *to)
{
    struct sap_public_call call;
    sapporo_stepper *const s = sap_call_begin(&call, SAP_HANDLE_STEPPER, stepper);
    int status = SAPPORO_OK;
    if (!s) return SAPPORO_ERR_CLOSED;
    if (column == SAP_STEP_COLUMNS)
        memcpy(to, s->label, (size_t)s->n * sizeof *s->label);
    else if (s->n > 0)
        status = s->ops->read(s->particles, (enum sap_step_column)column, to);
    if (status) (void)sap_stepper_failed(s, status, "saving particles");
    return sap_call_end(&call, status);
}

int sap_stepper_part_restore(sapporo_stepper *stepper, const struct sap_stepper_saved *saved, const void *const *column)
{
    struct sap_public_call call;
    sapporo_stepper *const s = sap_call_begin(&call, SAP_HANDLE_STEPPER, stepper);
    if (!s) return SAPPORO_ERR_CLOSED;
    int status = SAPPORO_OK;
    if (saved->n > s->room || !sap_stepper_levels_are_valid(s, column[SAP_STEP_LEVEL], saved->n))
        status = fail(s, SAPPORO_ERR_ARGUMENT, "levels or number of saved particles are wrong");
    status = sap_stepper_agree(s, status);
    if (!status) status = sap_stepper_take_saved(s, saved->n, &saved->clock, column);
    return sap_call_end(&call, status);
}
