/* gpu_shared.c - see gpu_shared.h. */
#include "gpu/stepper/gpu_shared.h"

#include <stdlib.h>

#include "gpu/stepper/gpu_direct.h"

enum { PARTICLE = 4 * sizeof(double) }; /* x, y, z, mass */

int sap_gpu_shared_new(struct sap_gpu_stepper *s, const struct sap_step_source *source)
{
    s->shared = calloc(1, sizeof *s->shared);
    if (!s->shared) return SAPPORO_ERR_MEMORY;
    s->shared->by = source->sharing;
    s->shared->of = source->of;
    return SAPPORO_OK;
}

void sap_gpu_shared_free(struct sap_gpu_stepper *s)
{
    struct sap_gpu_shared *const h = s->shared;
    if (!h) return;
    struct sap_gpu_buffer *const all[] = {&h->own, &h->all, &h->copy, &h->soft, &h->number};
    for (int k = 0; k < COUNT(all); k++) sap_gpu_free(s->session->driver, all[k]);
    free(h);
    s->shared = NULL;
}

int sap_gpu_shared_announce(struct sap_gpu_stepper *s, int status, int rows, int *any)
{
    return s->shared->by->announce(s->shared->of, status, s->session->message, rows, any);
}

int sap_gpu_shared_agree(struct sap_gpu_stepper *s, int status)
{
    return s->shared->by->agree(s->shared->of, status, s->session->message);
}

int sap_gpu_shared_gather(struct sap_gpu_stepper *s, int of_rows, size_t each, const struct sap_gpu_buffer *own,
                          const struct sap_gpu_buffer *all)
{
    return s->shared->by->gather(s->shared->of, of_rows, each, sap_stepper_place_of(s, own),
                                 sap_stepper_place_of(s, all));
}

int sap_gpu_shared_place(struct sap_gpu_stepper *s, struct sap_gpu_buffer *all, const struct sap_gpu_buffer *own,
                         size_t each)
{
    const struct sap_step_sharing *const by = s->shared->by;
    const size_t bytes = (size_t)s->order.massive * each;
    TRY(sap_session_reserve(s->session, all, (size_t)by->all * each));
    if (bytes > 0) TRY(sap_session_copy(s->session, all->mem, (size_t)by->before * each, own->mem, 0, bytes));
    return sap_session_wait(s->session); /* transfers have another stream */
}

int sap_gpu_shared_show(struct sap_gpu_stepper *s, int active)
{
    if (s->shared->by->all == 0) return sap_stepper_no_force(s, active + 1);
    TRY(sap_stepper_own_rows(s, active + 1));
    return sap_gpu_shared_place(s, &s->shared->all, &s->given->particle, PARTICLE);
}

/* Uploads this part's squared lengths as they are, and puts them at their place. */
static int show_squares(struct sap_gpu_stepper *s)
{
    s->direct->units = (struct sap_units){0, 0, 0};
    TRY(sap_gpu_direct_send_squares(s));
    return sap_gpu_shared_place(s, &s->shared->soft, &s->direct->soft, sizeof(double));
}

/* Collective.  Brings the squared lengths of all sources, after a gathering of this part with this status. */
static int share_squares(struct sap_gpu_stepper *s, int status)
{
    if (!status) status = sap_session_begin(s->session);
    if (!status) status = sap_session_end(s->session, show_squares(s));
    status = sap_gpu_shared_agree(s, status);
    return status ? status : sap_gpu_shared_gather(s, 0, sizeof(double), &s->direct->soft, &s->shared->soft);
}

/* Computes the forces from all sources. */
static int sum(struct sap_gpu_stepper *s, int active)
{
    const int status = sap_session_begin(s->session);
    return status ? status : sap_session_end(s->session, sap_gpu_direct_force(s, active));
}

int sap_gpu_shared_force(struct sap_gpu_stepper *s, int status, int active)
{
    struct sap_gpu_shared *const h = s->shared;
    int fresh = s->direct->forces == 0;
    status = sap_gpu_shared_announce(s, status, 0, &fresh);
    if (status || h->by->all == 0) return status;
    if (fresh) s->direct->forces = 0;
    status = sap_gpu_shared_gather(s, 0, PARTICLE, &s->given->particle, &h->all);
    if (fresh && s->lengths) status = share_squares(s, status);
    if (!status && active > 0) status = sum(s, active);
    if (s->n == 0) s->direct->forces = 1; /* it has no use of units */
    return sap_gpu_shared_agree(s, status);
}
