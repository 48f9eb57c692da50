/* gpu_columns.c - copies columns of particles between the caller's memory and a stepper on an accelerator. */
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "gpu/gpu_launch.h"
#include "gpu/stepper/gpu_direct.h"
#include "gpu/stepper/gpu_hermite.h"
#include "gpu/stepper/gpu_source.h"
#include "gpu/stepper/gpu_stepper.h"

enum { CHUNK = SAP_SESSION_CHUNK };

static struct sap_gpu_stepper *of(struct sap_stepper *stepper) { return sap_gpu_stepper_of(stepper); }

/* Uploads or, if the caller's columns are in device memory, copies three doubles per particle. */
static int send_three(struct sap_gpu_stepper *s, const struct sap_gpu_buffer *to, const sapporo_column *from,
                      sapporo_memory memory)
{
    const struct sap_driver *const d = s->session->driver;
    const size_t each = 3 * sizeof(double);
    if (memory == SAPPORO_MEMORY_DEVICE) {
        struct sap_mem *theirs = NULL;
        TRY(d->adopt(s->session->device->dev, from->base, (size_t)s->n * each, &theirs));
        int status = sap_session_copy(s->session, to->mem, 0, theirs, 0, (size_t)s->n * each);
        if (!status) status = sap_session_wait(s->session);
        d->release(theirs);
        return status;
    }
    return sap_session_upload_column(s->session, to, from, each, s->n);
}

static int take_columns(struct sap_gpu_stepper *s, const sapporo_tree_particles *p, const sapporo_column *v, int *bad)
{
    const int n = s->n;
    TRY(send_three(s, &s->x, &p->x, p->memory));
    TRY(send_three(s, &s->v, v, p->memory));
    TRY(sap_session_fill(s->session, s->a.mem, 0, 0, (size_t)n * 3 * sizeof(double)));
    TRY(sap_session_fill(s->session, s->level.mem, 0, 0, (size_t)n * sizeof(int)));
    if (s->hermite) TRY(sap_hermite_gpu_clear(s));
    TRY(sap_stepper_reset(s));
    TRY(sap_launch_stepper_look(s->session, s->f, n, s->v.mem, s->given->particle.mem, s->bad.mem, n));
    return sap_stepper_ask(s, bad);
}

/* Puts massless particles behind the others, where both are. */
static int arrange(struct sap_gpu_stepper *s, const double *mass)
{
    const int status = sap_session_begin(s->session);
    return status ? status : sap_session_end(s->session, sap_stepper_arrange(s, mass));
}

/* Puts particles with mass before massless ones; the tree has the former alone. */
static int take_order(struct sap_gpu_stepper *s)
{
    const int massless = ((const int *)s->told.host)[1], n = s->n;
    sap_step_order_free(&s->order);
    s->order = (struct sap_step_order){.n = n, .massive = n - massless};
    if (massless > 0 && massless < n) {
        double *const mass = malloc((size_t)n * sizeof *mass);
        const sapporo_column column = {mass, 0};
        int status = mass ? sap_stepper_read_gpu((void *)s, SAP_STEP_MASS, mass) : (int)SAPPORO_ERR_MEMORY;
        if (!status) status = sap_step_order_make(&s->order, n, &column);
        if (!status && s->order.slot) status = arrange(s, mass);
        free(mass);
        if (status) return status;
    }
    s->given->n = s->order.massive;
    return SAPPORO_OK;
}

/* Copies softening lengths to the device, if particles have them. */
static int take_lengths(struct sap_gpu_stepper *s)
{
    if (s->t && !s->lengths) sap_gpu_lengths_drop(&s->t->lengths);
    const int status = s->lengths ? sap_session_begin(s->session) : (int)SAPPORO_OK;
    return status || !s->lengths ? status : sap_session_end(s->session, sap_stepper_send_lengths(s));
}

/* Shows a source the particles that were taken. */
static int show(struct sap_gpu_stepper *s)
{
    int status = sap_session_begin(s->session);
    if (status) return status;
    status = sap_gpu_source_forget(s);
    status = sap_session_end(s->session, status ? status : sap_session_wait(s->session));
    if (!status) sap_gpu_source_place(s);
    return status;
}

int sap_stepper_take_gpu(struct sap_stepper *stepper, const struct sap_step_particles *given, int *bad)
{
    struct sap_gpu_stepper *const s = of(stepper);
    const int n = given->n, strided = given->v.stride && given->v.stride != 3 * (ptrdiff_t)sizeof(double);
    const sapporo_tree_particles p = {
        .size = sizeof p, .n = n, .memory = given->memory, .x = given->x, .mass = given->mass};
    *bad = -1;
    if (p.memory == SAPPORO_MEMORY_DEVICE && strided)
        return sap_session_fail(s->session, SAPPORO_ERR_ARGUMENT, "columns in memory of the device have no gaps");
    s->given->gravity = given->gravity;
    s->lengths = given->lengths;
    int status = sap_gpu_given_set(s->session, s->given, &p);
    if (status) return status;
    s->n = n;
    sap_gpu_direct_forget(s);
    s->given->has_a = 0;            /* also if the tree had as many particles */
    sap_step_order_free(&s->order); /* until the order is known, slots are addresses */
    status = sap_session_begin(s->session);
    if (!status) status = sap_session_end(s->session, take_columns(s, &p, &given->v, bad));
    if (!status) status = take_order(s);
    if (!status) status = take_lengths(s);
    return status || !s->source ? status : show(s);
}

/* ---- columns ---------------------------------------------------------------------------------- */

/* The buffer of a column, and the bytes per particle. */
static const struct sap_gpu_buffer *buffer_of(const struct sap_gpu_stepper *s, enum sap_step_column column,
                                              size_t *each)
{
    const struct sap_gpu_buffer *const at[SAP_STEP_COLUMNS] = {&s->x,     &s->v,    &s->a, &s->pot, &s->given->particle,
                                                               &s->built, &s->level};
    if (column >= SAP_STEP_HIGHER) {
        *each = column == SAP_STEP_HIGHER    ? (size_t)sap_step_higher(&s->settings) * 3 * sizeof(double)
                : column == SAP_STEP_NEAREST ? sizeof(int)
                                             : sizeof(double);
        return sap_hermite_gpu_column(s, column);
    }
    *each = column == SAP_STEP_LEVEL ? sizeof(int)
            : column == SAP_STEP_POT ? sizeof(double)
            : column < SAP_STEP_POT  ? 3 * sizeof(double)
                                     : 4 * sizeof(double);
    return at[column];
}

/* Copies a part of particles of four doubles by slot, x, y, z, mass: the mass, or the position. */
static int read_part(struct sap_gpu_stepper *s, enum sap_step_column column, void *to)
{
    size_t each;
    const struct sap_gpu_buffer *const from = buffer_of(s, column, &each);
    const int mass = column == SAP_STEP_MASS, words = mass ? 1 : 3;
    double(*const chunk)[4] = s->session->chunk.host;
    for (int first = 0; first < s->n; first += CHUNK) {
        const int n = s->n - first < CHUNK ? s->n - first : CHUNK;
        TRY(sap_session_copy_out(s->session, chunk, from->mem, (size_t)first * each, (size_t)n * each));
        TRY(sap_session_wait(s->session));
        for (int k = 0; k < n; k++)
            memcpy((double *)to + (size_t)sap_step_address(&s->order, first + k) * (size_t)words,
                   chunk[k] + (mass ? 3 : 0), (size_t)words * sizeof(double));
    }
    return SAP_DRIVER_OK;
}

static int read_column(struct sap_gpu_stepper *s, enum sap_step_column column, void *to)
{
    size_t each;
    const struct sap_gpu_buffer *const from = buffer_of(s, column, &each);
    if (column == SAP_STEP_MASS || column == SAP_STEP_BUILT) return read_part(s, column, to);
    TRY(sap_session_copy_out(s->session, to, from->mem, 0, (size_t)s->n * each));
    return sap_session_wait(s->session);
}

int sap_stepper_read_gpu(struct sap_stepper *stepper, enum sap_step_column column, void *to)
{
    struct sap_gpu_stepper *const s = of(stepper);
    const int status = sap_session_begin(s->session);
    return status ? status : sap_session_end(s->session, read_column(s, column, to));
}

static int write_column(struct sap_gpu_stepper *s, enum sap_step_column column, const void *from)
{
    size_t each;
    const struct sap_gpu_buffer *const to = buffer_of(s, column, &each);
    TRY(sap_session_copy_in(s->session, to->mem, 0, from, (size_t)s->n * each));
    return sap_session_wait(s->session);
}

int sap_stepper_write_gpu(struct sap_stepper *stepper, enum sap_step_column column, const void *from)
{
    struct sap_gpu_stepper *const s = of(stepper);
    if (column == SAP_STEP_MASS || column == SAP_STEP_BUILT) return SAPPORO_ERR_UNSUPPORTED;
    sap_gpu_direct_forget(s);
    const int status = sap_session_begin(s->session);
    return status ? status : sap_session_end(s->session, write_column(s, column, from));
}

/* ---- memory of the caller on the device -------------------------------------------------------- */

/* Copies a buffer to memory of the caller, on the host or on the device. */
static int give(struct sap_gpu_stepper *s, sapporo_memory memory, void *to, const struct sap_gpu_buffer *from,
                size_t bytes)
{
    const struct sap_driver *const d = s->session->driver;
    struct sap_mem *theirs = NULL;
    if (!to || s->n == 0) return SAP_DRIVER_OK;
    if (memory != SAPPORO_MEMORY_DEVICE) return sap_session_copy_out(s->session, to, from->mem, 0, bytes);
    TRY(d->adopt(s->session->device->dev, to, bytes, &theirs));
    int status = sap_session_copy(s->session, theirs, 0, from->mem, 0, bytes);
    if (!status) status = sap_session_wait(s->session);
    d->release(theirs);
    return status;
}

static int give_column(struct sap_gpu_stepper *s, enum sap_step_column column, void *to)
{
    size_t each;
    const struct sap_gpu_buffer *const from = buffer_of(s, column, &each);
    return give(s, SAPPORO_MEMORY_DEVICE, to, from, (size_t)s->n * each);
}

int sap_stepper_read_device_gpu(struct sap_stepper *stepper, enum sap_step_column column, void *to)
{
    struct sap_gpu_stepper *const s = of(stepper);
    if (!s->session->driver->adopt || column > SAP_STEP_POT) return SAPPORO_ERR_UNSUPPORTED;
    const int status = sap_session_begin(s->session);
    return status ? status : sap_session_end(s->session, give_column(s, column, to));
}

static int give_at(struct sap_gpu_stepper *s, struct sap_step step, sapporo_memory memory, double (*x)[3],
                   double (*v)[3])
{
    const int n = s->n;
    const size_t bytes = (size_t)n * 3 * sizeof(double), room = bytes + sizeof(double); /* n may be 0 */
    TRY(sap_session_reserve(s->session, &s->to_x, room));
    TRY(sap_session_reserve(s->session, &s->to_v, room));
    if (s->hermite)
        TRY(sap_hermite_gpu_at(s, &step));
    else
        TRY(sap_launch_stepper_at(s->session, s->f, n, s->x.mem, s->v.mem, s->a.mem, s->level.mem, s->to_x.mem,
                                  s->to_v.mem, n, step));
    TRY(give(s, memory, x, &s->to_x, bytes));
    TRY(give(s, memory, v, &s->to_v, bytes));
    return sap_session_wait(s->session);
}

int sap_stepper_at_gpu(struct sap_stepper *stepper, const struct sap_step *step, sapporo_memory memory, double (*x)[3],
                       double (*v)[3])
{
    struct sap_gpu_stepper *const s = of(stepper);
    if (memory == SAPPORO_MEMORY_DEVICE && !s->session->driver->adopt) return SAPPORO_ERR_UNSUPPORTED;
    const int status = sap_session_begin(s->session);
    return status ? status : sap_session_end(s->session, give_at(s, *step, memory, x, v));
}

static int give_pots(struct sap_gpu_stepper *s, sapporo_memory memory, double *to)
{
    TRY(sap_hermite_gpu_pots(s));
    TRY(give(s, memory, to, &s->to_x, (size_t)s->n * sizeof *to));
    return sap_session_wait(s->session);
}

int sap_stepper_pots_gpu(struct sap_stepper *stepper, sapporo_memory memory, double *to)
{
    struct sap_gpu_stepper *const s = of(stepper);
    const int status = sap_session_begin(s->session);
    return status ? status : sap_session_end(s->session, give_pots(s, memory, to));
}
