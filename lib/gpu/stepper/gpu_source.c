/* gpu_source.c - see gpu_source.h. */
#include "gpu/stepper/gpu_source.h"

#include <stdlib.h>

#include "gpu/gpu_launch.h"

int sap_gpu_source_new(struct sap_gpu_stepper *s, const struct sap_step_source *source)
{
    s->source = calloc(1, sizeof *s->source);
    if (!s->source) return SAPPORO_ERR_MEMORY;
    s->source->by = *source;
    return SAPPORO_OK;
}

int sap_gpu_source_open(struct sap_gpu_stepper *s)
{
    const size_t n = (size_t)s->room + 1;
    TRY(sap_session_reserve(s->session, &s->source->x, n * 3 * sizeof(double)));
    TRY(sap_session_reserve(s->session, &s->source->mass, n * sizeof(double)));
    return sap_stepper_own_rows(s, s->room + 1);
}

void sap_gpu_source_free(struct sap_gpu_stepper *s)
{
    if (!s->source) return;
    sap_gpu_free(s->session->driver, &s->source->x);
    sap_gpu_free(s->session->driver, &s->source->mass);
    free(s->source);
    s->source = NULL;
}

int sap_gpu_source_forget(struct sap_gpu_stepper *s)
{
    TRY(sap_session_fill(s->session, s->given->a.mem, 0, 0xBF, ((size_t)s->room + 1) * sizeof(double))); /* below 0 */
    return sap_gpu_source_show(s);
}

int sap_gpu_source_show(struct sap_gpu_stepper *s)
{
    const int n = s->n;
    return sap_launch_stepper_columns(s->session, s->f, n, s->given->particle.mem, s->source->x.mem,
                                      s->source->mass.mem, n);
}

void sap_gpu_source_place(const struct sap_gpu_stepper *s)
{
    const struct sap_step_places places = {.x = sap_stepper_place_of(s, &s->source->x),
                                           .mass = sap_stepper_place_of(s, &s->source->mass),
                                           .a = sap_stepper_place_of(s, &s->given->a),
                                           .h = s->lengths ? sap_stepper_place_of(s, &s->length) : NULL};
    s->source->by.place(s->source->by.of, &places);
}

int sap_gpu_source_prepare(struct sap_gpu_stepper *s, int active)
{
    TRY(sap_stepper_no_force(s, active + 1));
    return sap_session_wait(s->session); /* the source has another stream */
}

int sap_gpu_source_force(const struct sap_gpu_stepper *s, int status, const struct sap_step_active *active)
{
    const struct sap_step_source *const by = &s->source->by;
    status = by->ready(by->of, status);
    if (status) return status;
    const struct sap_step_rows rows = {.n = s->order.massive,
                                       .ni = active->n,
                                       .active = active->n < s->n ? sap_stepper_place_of(s, &s->active) : NULL,
                                       .acc = sap_stepper_place_of(s, &s->row_a),
                                       .pot = sap_stepper_place_of(s, &s->row_pot)};
    return by->force(by->of, &rows);
}
