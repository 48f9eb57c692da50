/* stepper_saved.c - takes the particles of a stepper as they were saved; what a part of a whole saves. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "context/call.h"
#include "context/stepper_private.h"

size_t sap_stepper_saved_width(const sapporo_stepper *s, enum sap_step_column column)
{
    if (column == SAP_STEP_COLUMNS) return s->has_lengths ? SAP_LABEL_LENGTH : SAP_LABEL_ALONE;
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

void sap_stepper_read_labels(const sapporo_stepper *s, void *to)
{
    const size_t each = sap_stepper_saved_width(s, SAP_STEP_COLUMNS);
    for (int i = 0; i < s->n; i++) {
        char *const at = (char *)to + (size_t)i * each;
        memcpy(at, &s->label[i], sizeof *s->label);
        if (s->has_lengths) memcpy(at + sizeof *s->label, &s->h[i], sizeof *s->h);
    }
}

/* Returns the lengths among saved labels. */
static sapporo_column lengths_in(const void *labels, size_t each)
{
    const sapporo_column none = {NULL, 0};
    return each == SAP_LABEL_ALONE ? none : (sapporo_column){(const char *)labels + SAP_LABEL_ALONE, (ptrdiff_t)each};
}

/* Gives the engine the particles, where they were at the last build of a tree that is refreshed. */
static int take_orbits(sapporo_stepper *s, int n, const void *const *at, const sapporo_column *h)
{
    const int built = s->settings.keeps_built;
    const struct sap_step_particles particles = {.n = n,
                                                 .memory = SAPPORO_MEMORY_HOST,
                                                 .x = {at[built ? SAP_STEP_BUILT : SAP_STEP_X], 0},
                                                 .v = {at[SAP_STEP_V], 0},
                                                 .mass = {at[SAP_STEP_MASS], 0},
                                                 .gravity = 1,
                                                 .lengths = sap_stepper_take_lengths(s, n, h, 0)};
    int bad;
    const int status = s->ops->take(s->particles, &particles, &bad);
    if (!status) s->massive = s->ops->massive(s->particles);
    return status;
}

/* Nearest neighbours are not saved: each is known after the next step of a particle. */
static int forget_nearest(sapporo_stepper *s)
{
    const size_t n = (size_t)s->n + 1;
    int *const nearest = s->settings.nearest ? malloc(n * sizeof *nearest) : NULL;
    double *const r2 = s->settings.nearest ? malloc(n * sizeof *r2) : NULL;
    int status = !s->settings.nearest || (nearest && r2) ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
    for (int i = 0; i < s->n && nearest && r2; i++) nearest[i] = -1, r2[i] = INFINITY;
    if (nearest && r2) {
        status = s->ops->write(s->particles, SAP_STEP_NEAREST, nearest);
        if (!status) status = s->ops->write(s->particles, SAP_STEP_NEAREST_R2, r2);
    }
    free(nearest);
    free(r2);
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
    return status ? status : forget_nearest(s);
}

/* Takes labels of `each` bytes. */
static void take_labels(sapporo_stepper *s, const void *labels, size_t each)
{
    for (int i = 0; i < s->n; i++) memcpy(&s->label[i], (const char *)labels + (size_t)i * each, sizeof *s->label);
}

int sap_stepper_take_orbits(sapporo_stepper *s, int n, const void *const *at, size_t each)
{
    const sapporo_column h = lengths_in(at[SAP_STEP_COLUMNS], each);
    int status = sap_stepper_check_lengths(s, n, &h);
    if (!status) status = sap_stepper_reserve_lengths(s, &h);
    status = sap_stepper_agree(s, status);
    if (status) return status;
    s->n = s->ready = 0;
    sap_stepper_forget_times(s);
    status = take_orbits(s, n, at, &h);
    if (status) (void)sap_stepper_failed(s, status, "restoring particles");
    status = sap_stepper_agree(s, status);
    if (status) return status;
    s->n = n;
    status = sap_stepper_join(s);
    if (status) s->n = 0;
    return status;
}

int sap_stepper_take_saved(sapporo_stepper *s, int n, const struct sap_stepper_clock *clock, const void *const *at,
                           size_t each)
{
    int status = sap_stepper_take_orbits(s, n, at, each);
    if (status) return status;
    s->clock = *clock;
    status = take_rest(s, at);
    if (status) (void)sap_stepper_failed(s, status, "restoring particles");
    status = sap_stepper_agree(s, status);
    if (!status) {
        take_labels(s, at[SAP_STEP_COLUMNS], each);
        status = sap_stepper_count_levels(s, at[SAP_STEP_LEVEL], at[SAP_STEP_MASS]);
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
        sap_stepper_read_labels(s, to);
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
    if (!status)
        status = sap_stepper_take_saved(s, saved->n, &saved->clock, column, (size_t)saved->width[SAP_STEP_COLUMNS]);
    return sap_call_end(&call, status);
}
