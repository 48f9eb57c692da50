/* gpu_hermite_blocks.c - several block steps of few particles by one kernel (lib/device/blocks.h). */
#include "gpu/stepper/gpu_hermite.h"

#include <string.h>

#include "device/hermite_layout.h"
#include "driver/driver.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_direct_launch.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_modes.h"
#include "gpu/gpu_status.h"
#include "gpu/stepper/gpu_direct.h"
#include "gpu/stepper/gpu_hermite_private.h"

/* Steps of one kernel at most: some milliseconds, within which no other work of the device is held up for long. */
enum { MOST = 256, SUPER = SAP_GPU_SUPERPACKET };

int sap_hermite_gpu_has_blocks(const struct sap_gpu_stepper *s)
{
    return !s->hermite->lacks_blocks && s->n <= SUPER && s->order.massive > 0 && s->settings.iterations == 1 &&
           !s->settings.nearest && !s->session->set->soft;
}

/* Describes forces whose sums have columns of so many rows. */
static void describe(struct sap_gpu_stepper *s, int rows)
{
    const struct sap_gpu_set *const set = s->session->set;
    s->hermite->force = (struct sap_hermite_force){.rows = rows,
                                                   .slots = s->n,
                                                   .massive = s->order.massive,
                                                   .stored = s->order.massive,
                                                   .order = s->settings.order,
                                                   .columns = set->columns,
                                                   .units = set->units};
}

/* Rows are in device memory where groups have none for them; the kernel then has one group. */
static int reserve(struct sap_gpu_stepper *s)
{
    const size_t n = (size_t)s->n, kept = 3 * (size_t)SAP_HERMITE_KEPT_OF(s->settings.order);
    const struct sap_gpu_set *const set = s->session->set;
    struct sap_gpu_hermite *const h = s->hermite;
    TRY(sap_session_reserve(s->session, &s->direct->out, n * (size_t)set->sums * sizeof(double)));
    TRY(sap_session_reserve(s->session, &s->direct->sums.i, n * (size_t)set->units * sizeof(struct sap_gpu_i)));
    TRY(sap_session_reserve(s->session, &h->row_d, n * kept * sizeof(double)));
    TRY(sap_session_reserve(s->session, &s->direct->sums.predicted, SUPER * set->working));
    s->direct->sums.valid = 0;
    TRY(sap_session_reserve(s->session, &h->blocks, SAP_BLOCKS_TOLD * sizeof(int)));
    return sap_gpu_reserve_pinned(s->session->driver, s->session->device->dev, &h->blocks_told,
                                  SAP_BLOCKS_TOLD * sizeof(int));
}

static int launch(struct sap_gpu_stepper *s, struct sap_gpu_force f, const struct sap_hermite_blocks *run)
{
    struct sap_gpu_hermite *const h = s->hermite;
    const struct sap_gpu_kernels *const k = s->session->device->kernels;
    const struct sap_gpu_grid grid = {.stream = s->session->stream,
                                      .driver = s->session->driver,
                                      .groups = {(unsigned)k->blocks_groups, 1},
                                      .threads = s->session->device->properties.vectors ? 1 : SAP_BLOCKS_THREADS,
                                      .shared = sap_gpu_few_shared(s->session->set, &k->geometry, 0),
                                      .together = k->blocks_groups > 1};
    f.ni = f.room_i = h->force.rows;
    f.lone = SAP_GPU_BY_COLUMN;
    return sap_direct_blocks(&grid, k->blocks, s->x.mem, s->v.mem, s->a.mem, h->higher.mem, s->pot.mem, s->level.mem,
                             sap_stepper_addresses(s)->mem, h->store.mem, s->direct->sums.predicted.mem,
                             s->direct->sums.i.mem, s->direct->out.mem, h->row_d.mem, h->blocks.mem, h->blocks_told.mem,
                             f, h->force, *run, sap_stepper_order_of(s), s->settings.hermite, h->units,
                             s->settings.fields);
}

static void read_told(const struct sap_gpu_stepper *s, struct sap_step_blocks *b, struct sap_step_told *told)
{
    const int *const from = s->hermite->blocks_told.host;
    b->done = from[SAP_BLOCKS_DONE];
    b->tick = from[SAP_BLOCKS_TICK];
    b->active = from[SAP_BLOCKS_ACTIVE];
    b->massive = from[SAP_BLOCKS_MASSIVE];
    b->all = from[SAP_BLOCKS_ALL];
    told->bad = from[SAP_BLOCKS_BAD] == SAP_HERMITE_NOBODY ? -1 : from[SAP_BLOCKS_BAD];
    told->close = 0;
    memcpy(told->levels, from + SAP_BLOCKS_LEVELS, sizeof told->levels);
    memcpy(told->massless, from + SAP_BLOCKS_MASSLESS, sizeof told->massless);
}

/* All sources are sent again when those of single steps would be, so that both have the same units. */
int sap_hermite_gpu_blocks(struct sap_gpu_stepper *s, const struct sap_step *step, struct sap_step_blocks *b,
                           struct sap_step_told *told)
{
    struct sap_gpu_hermite *const h = s->hermite;
    struct sap_gpu_direct *const d = s->direct;
    TRY(sap_gpu_load_blocks(s->session->set, s->session->device));
    const struct sap_gpu_kernels *const k = s->session->device->kernels;
    h->lacks_blocks = k->blocks_groups == 0;
    if (h->lacks_blocks) return SAP_DRIVER_OK;
    const int most = b->most < MOST ? b->most : MOST, left = SAP_HERMITE_FORCES - d->forces;
    describe(s, k->blocks_groups > 1 ? SUPER / SAP_BLOCKS_GROUPS : s->n);
    TRY(sap_hermite_send_all(s, *step));
    sap_hermite_set_units(s);
    TRY(reserve(s));
    const struct sap_gpu_slab slab = sap_hermite_slab(s, step);
    const struct sap_hermite_blocks run = {.dt = step->dt,
                                           .tick = b->tick,
                                           .last = b->last,
                                           .most = most < left ? most : left,
                                           .n = s->n,
                                           .zero = slab.mode == SAP_GPU_MODE_ZERO};
    TRY(launch(s, slab.f, &run));
    TRY(sap_gpu_to_host(s->session->stream, s->session->driver, h->blocks_told.mem, 0, SAP_BLOCKS_TOLD * sizeof(int)));
    TRY(s->session->driver->event_record(h->told, s->session->stream));
    TRY(s->session->driver->event_wait(h->told));
    read_told(s, b, told);
    d->forces = told->bad >= 0 ? 0 : (d->forces + b->done - 1) % SAP_HERMITE_FORCES;
    return SAP_DRIVER_OK;
}
