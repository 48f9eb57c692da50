/* stepper_lengths.c - softening lengths of the particles of a stepper, and what block steps by acceleration need. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "context/stepper_private.h"
#include "engine/softening.h"
#include "engine/tree_limits.h"

/* The length of a spline over that of Plummer's softening with the same potential at its centre (physics/spline.h). */
static const double SPLINE_OVER_PLUMMER = 2.8;

static int is_spline(const sapporo_stepper *s) { return sap_softening_lengths(&s->tree_settings); }

/* Whether particles with this column have lengths. */
static int has_lengths(const sapporo_stepper *s, const sapporo_column *h) { return h->base || is_spline(s); }

double sap_stepper_usual_length(const sapporo_stepper *s) { return is_spline(s) ? sqrt(s->tree_settings.eps2) : 0; }

/* Returns the reach (physics/step.h) of a particle with a length. */
static double reach_of(const sapporo_stepper *s, double h)
{
    const double eps = is_spline(s) ? h / SPLINE_OVER_PLUMMER : sqrt(s->tree_settings.eps2 + 2 * h * h);
    return 2 * s->settings.rule.eta * eps;
}

int sap_stepper_check_lengths(sapporo_stepper *s, int n, const sapporo_column *h)
{
    const int by_acceleration =
        s->settings.rule.levels > 1 && s->settings.rule.criterion == (int)SAP_STEP_BY_ACCELERATION;
    for (int i = 0; i < n; i++) {
        const double length = h->base ? sap_column_double(h, i) : sap_stepper_usual_length(s);
        if (!(length >= 0 && length <= SAP_TREE_LIMIT))
            return fail(s, SAPPORO_ERR_NOT_FINITE, "h of particle %d is not finite, negative, or beyond 1e100", i);
        if (by_acceleration && !(reach_of(s, length) > 0))
            return fail(s, SAPPORO_ERR_ARGUMENT,
                        "block steps by acceleration need a softening length > 0, and particle %d has none", i);
    }
    return SAPPORO_OK;
}

int sap_stepper_reserve_lengths(sapporo_stepper *s, const sapporo_column *h)
{
    const size_t room = (size_t)s->room + 1;
    if ((!has_lengths(s, h) && !s->is_part) || s->h) return SAPPORO_OK;
    double *const made = malloc(2 * room * sizeof *made);
    if (!made) return fail(s, SAPPORO_ERR_MEMORY, "no memory for the softening lengths of %d particles", s->room);
    s->h = made;
    s->lengths = (struct sap_step_lengths){.h = made, .reach = made + room};
    return SAPPORO_OK;
}

int sap_stepper_share_lengths(sapporo_stepper *s, const sapporo_column *h, int *others)
{
    long long mine = has_lengths(s, h);
    const int status = s->is_part ? s->whole.add_counts(s->whole.of, &mine, 1) : SAPPORO_OK;
    *others = mine > 0;
    return status ? sap_stepper_failed(s, status, "comparing softening lengths") : SAPPORO_OK;
}

const struct sap_step_lengths *sap_stepper_take_lengths(sapporo_stepper *s, int n, const sapporo_column *h, int others)
{
    s->has_lengths = others || has_lengths(s, h);
    if (!s->has_lengths) return NULL;
    double *const reach = s->h + s->room + 1;
    for (int i = 0; i < n; i++) {
        s->h[i] = h->base ? sap_column_double(h, i) : sap_stepper_usual_length(s);
        reach[i] = reach_of(s, s->h[i]);
    }
    return &s->lengths;
}
