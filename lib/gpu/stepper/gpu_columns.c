/* gpu_columns.c - copies columns of particles between the caller's memory and a stepper on an accelerator. */
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "gpu/gpu_engine.h"
#include "gpu/gpu_launch.h"
#include "gpu/stepper/gpu_direct.h"
#include "gpu/stepper/gpu_stepper.h"

enum { CHUNK = SAP_TREE_CHUNK };

static struct sap_gpu_stepper *of(struct sap_stepper *stepper) { return sap_gpu_stepper_of(stepper); }

/* What is copied. */
struct column_copy {
    enum sap_step_column column;
    void *to;
    const void *from;
    const sapporo_column *x, *v;
    sapporo_memory memory;
    const struct sap_step *step;
    double (*to_x)[3], (*to_v)[3];
    int *bad;
};

/* Uploads or, if the caller's columns are in device memory, copies three doubles per particle. */
static int send_three(struct sap_gpu_stepper *s, const struct sap_gpu_buffer *to, const sapporo_column *from,
                      sapporo_memory memory)
{
    struct sap_gpu_host_tree *const t = s->t;
    const struct sap_driver *const d = t->driver;
    const size_t each = 3 * sizeof(double);
    if (memory == SAPPORO_MEMORY_DEVICE) {
        struct sap_mem *theirs = NULL;
        TRY(d->adopt(t->device->dev, from->base, (size_t)s->n * each, &theirs));
        int status = d->copy(t->stream, to->mem, 0, theirs, 0, (size_t)s->n * each);
        if (!status) status = d->stream_finish(t->stream);
        d->release(theirs);
        return status;
    }
    double(*const chunk)[3] = t->chunk.host;
    for (int first = 0; first < s->n; first += CHUNK) {
        const int n = s->n - first < CHUNK ? s->n - first : CHUNK;
        for (int k = 0; k < n; k++) memcpy(chunk[k], sap_column_at(from, first + k, each), each);
        TRY(d->copy_in(t->stream, to->mem, (size_t)first * each, chunk, (size_t)n * each));
        TRY(d->stream_finish(t->stream));
    }
    return SAP_DRIVER_OK;
}

static int take_work(struct sap_gpu_stepper *s, void *with)
{
    const struct column_copy *const c = with;
    const struct sap_driver *const d = s->t->driver;
    const int n = s->n;
    const struct sap_argument a[] = {MEM(s->v), MEM(s->t->particle), MEM(s->bad), VALUE(n)};
    TRY(send_three(s, &s->x, c->x, c->memory));
    TRY(send_three(s, &s->v, c->v, c->memory));
    TRY(d->fill(s->t->stream, s->a.mem, 0, 0, (size_t)n * 3 * sizeof(double)));
    TRY(d->fill(s->t->stream, s->level.mem, 0, 0, (size_t)n * sizeof(int)));
    TRY(sap_stepper_reset(s));
    TRY(sap_stepper_for_each(s, s->f->look, n, a, COUNT(a)));
    return sap_stepper_ask(s, c->bad);
}

static int arrange_work(struct sap_gpu_stepper *s, void *with) { return sap_stepper_arrange(s, with); }

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
        if (!status && s->order.slot) status = sap_stepper_entered(s, arrange_work, mass);
        free(mass);
        if (status) return status;
    }
    s->t->given = s->order.massive;
    return SAPPORO_OK;
}

int sap_stepper_take_gpu(struct sap_stepper *stepper, int n, sapporo_memory memory, const sapporo_column *x,
                         const sapporo_column *v, const sapporo_column *mass, int *bad)
{
    struct sap_gpu_stepper *const s = of(stepper);
    const sapporo_tree_particles p = {.size = sizeof p, .n = n, .memory = memory, .x = *x, .mass = *mass};
    struct column_copy c = {.x = x, .v = v, .memory = memory, .bad = bad};
    *bad = -1;
    s->t->words[0] = '\0';
    if (memory == SAPPORO_MEMORY_DEVICE && v->stride && v->stride != 3 * (ptrdiff_t)sizeof(double))
        return sap_tree_fail(s->t, SAPPORO_ERR_ARGUMENT, "columns in memory of the device have no gaps");
    const int status = sap_tree_gpu.set((void *)s->t, &p);
    if (status) return status;
    s->n = n;
    sap_gpu_direct_forget(s);
    s->t->has_a = 0;                /* also if the tree had as many particles */
    sap_step_order_free(&s->order); /* until the order is known, slots are addresses */
    const int taken = sap_stepper_entered(s, take_work, &c);
    return taken ? taken : take_order(s);
}

/* ---- columns ---------------------------------------------------------------------------------- */

/* The buffer of a column, and the bytes per particle. */
static const struct sap_gpu_buffer *buffer_of(const struct sap_gpu_stepper *s, enum sap_step_column column,
                                              size_t *each)
{
    const struct sap_gpu_buffer *const at[SAP_STEP_COLUMNS] = {&s->x,           &s->v,     &s->a,    &s->pot,
                                                               &s->t->particle, &s->built, &s->level};
    *each = column == SAP_STEP_LEVEL ? sizeof(int)
            : column == SAP_STEP_POT ? sizeof(double)
            : column < SAP_STEP_POT  ? 3 * sizeof(double)
                                     : 4 * sizeof(double);
    return at[column];
}

/* Copies a part of particles of four doubles by slot, x, y, z, mass: the mass, or the position. */
static int read_part(struct sap_gpu_stepper *s, const struct column_copy *c)
{
    struct sap_gpu_host_tree *const t = s->t;
    size_t each;
    const struct sap_gpu_buffer *const from = buffer_of(s, c->column, &each);
    const int mass = c->column == SAP_STEP_MASS, words = mass ? 1 : 3;
    double(*const chunk)[4] = t->chunk.host;
    for (int first = 0; first < s->n; first += CHUNK) {
        const int n = s->n - first < CHUNK ? s->n - first : CHUNK;
        TRY(t->driver->copy_out(t->stream, chunk, from->mem, (size_t)first * each, (size_t)n * each));
        TRY(t->driver->stream_finish(t->stream));
        for (int k = 0; k < n; k++)
            memcpy((double *)c->to + (size_t)sap_step_address(&s->order, first + k) * (size_t)words,
                   chunk[k] + (mass ? 3 : 0), (size_t)words * sizeof(double));
    }
    return SAP_DRIVER_OK;
}

static int read_work(struct sap_gpu_stepper *s, void *with)
{
    const struct column_copy *const c = with;
    size_t each;
    const struct sap_gpu_buffer *const from = buffer_of(s, c->column, &each);
    if (c->column == SAP_STEP_MASS || c->column == SAP_STEP_BUILT) return read_part(s, c);
    TRY(s->t->driver->copy_out(s->t->stream, c->to, from->mem, 0, (size_t)s->n * each));
    return s->t->driver->stream_finish(s->t->stream);
}

int sap_stepper_read_gpu(struct sap_stepper *stepper, enum sap_step_column column, void *to)
{
    struct column_copy c = {.column = column, .to = to};
    return sap_stepper_entered(of(stepper), read_work, &c);
}

static int write_work(struct sap_gpu_stepper *s, void *with)
{
    const struct column_copy *const c = with;
    size_t each;
    const struct sap_gpu_buffer *const to = buffer_of(s, c->column, &each);
    TRY(s->t->driver->copy_in(s->t->stream, to->mem, 0, c->from, (size_t)s->n * each));
    return s->t->driver->stream_finish(s->t->stream);
}

int sap_stepper_write_gpu(struct sap_stepper *stepper, enum sap_step_column column, const void *from)
{
    struct column_copy c = {.column = column, .from = from};
    if (column == SAP_STEP_MASS || column == SAP_STEP_BUILT) return SAPPORO_ERR_UNSUPPORTED;
    sap_gpu_direct_forget(of(stepper));
    return sap_stepper_entered(of(stepper), write_work, &c);
}

/* ---- memory of the caller on the device -------------------------------------------------------- */

/* Copies a buffer to memory of the caller, on the host or on the device. */
static int give(struct sap_gpu_stepper *s, sapporo_memory memory, void *to, const struct sap_gpu_buffer *from,
                size_t bytes)
{
    const struct sap_driver *const d = s->t->driver;
    struct sap_mem *theirs = NULL;
    if (!to) return SAP_DRIVER_OK;
    if (memory != SAPPORO_MEMORY_DEVICE) return d->copy_out(s->t->stream, to, from->mem, 0, bytes);
    TRY(d->adopt(s->t->device->dev, to, bytes, &theirs));
    int status = d->copy(s->t->stream, theirs, 0, from->mem, 0, bytes);
    if (!status) status = d->stream_finish(s->t->stream);
    d->release(theirs);
    return status;
}

static int device_work(struct sap_gpu_stepper *s, void *with)
{
    const struct column_copy *const c = with;
    size_t each;
    const struct sap_gpu_buffer *const from = buffer_of(s, c->column, &each);
    return give(s, SAPPORO_MEMORY_DEVICE, c->to, from, (size_t)s->n * each);
}

int sap_stepper_read_device_gpu(struct sap_stepper *stepper, enum sap_step_column column, void *to)
{
    struct column_copy c = {.column = column, .to = to};
    if (!of(stepper)->t->driver->adopt || column > SAP_STEP_POT) return SAPPORO_ERR_UNSUPPORTED;
    return sap_stepper_entered(of(stepper), device_work, &c);
}

static int at_work(struct sap_gpu_stepper *s, void *with)
{
    const struct column_copy *const c = with;
    struct sap_gpu_host_tree *const t = s->t;
    const struct sap_step step = *c->step;
    const int n = s->n;
    const size_t bytes = (size_t)n * 3 * sizeof(double);
    TRY(sap_tree_reserve(t, &s->to_x, bytes));
    TRY(sap_tree_reserve(t, &s->to_v, bytes));
    const struct sap_argument a[] = {MEM(s->x),    MEM(s->v),    MEM(s->a), MEM(s->level),
                                     MEM(s->to_x), MEM(s->to_v), VALUE(n),  VALUE(step)};
    TRY(sap_stepper_for_each(s, s->f->at, n, a, COUNT(a)));
    TRY(give(s, c->memory, c->to_x, &s->to_x, bytes));
    TRY(give(s, c->memory, c->to_v, &s->to_v, bytes));
    return t->driver->stream_finish(t->stream);
}

int sap_stepper_at_gpu(struct sap_stepper *stepper, const struct sap_step *step, sapporo_memory memory, double (*x)[3],
                       double (*v)[3])
{
    struct column_copy c = {.step = step, .memory = memory, .to_x = x, .to_v = v};
    if (memory == SAPPORO_MEMORY_DEVICE && !of(stepper)->t->driver->adopt) return SAPPORO_ERR_UNSUPPORTED;
    return sap_stepper_entered(of(stepper), at_work, &c);
}
