/* gpu_stepper.c - the stepper of the accelerator engines: its table, memory, and the parts of a step. */
#include "gpu/stepper/gpu_stepper.h"

#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "gpu/gpu_engine.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_primitives.h"
#include "gpu/gpu_status.h"
#include "gpu/stepper/gpu_direct.h"
#include "gpu/tree/gpu_kernels.h"

enum { THREADS = SAP_STEPPER_THREADS, TOLD = SAP_STEPPER_TOLD, NONE_BAD = 0x7F7F7F7F };
_Static_assert(SAP_STEPPER_TOLD >= 1 + 2 * SAP_STEP_LEVELS, "what is wrong, levels, and levels of massless particles");

static struct sap_gpu_stepper *of(struct sap_stepper *stepper) { return sap_gpu_stepper_of(stepper); }

int sap_stepper_for_each(const struct sap_gpu_stepper *s, struct sap_function *f, int n, const struct sap_argument *a,
                         int arguments)
{
    return sap_tree_for_each(s->t, f, n, THREADS, a, arguments);
}

int sap_stepper_entered(struct sap_gpu_stepper *s, int (*work)(struct sap_gpu_stepper *s, void *with), void *with)
{
    struct sap_gpu_host_tree *const t = s->t;
    t->words[0] = '\0';
    if (t->broken) return sap_tree_fail(t, SAPPORO_ERR_DEVICE, "the device is gone: make the stepper anew");
    const sap_fpguard caller = sap_fp_guard();
    int status = t->driver->enter(t->device->dev);
    if (!status) {
        status = work(s, with);
        t->driver->leave(t->device->dev);
    }
    const int result = sap_tree_judge(t, status);
    sap_fp_release(caller);
    return result;
}

int sap_stepper_reset(struct sap_gpu_stepper *s)
{
    const struct sap_driver *const d = s->t->driver;
    TRY(d->fill(s->t->stream, s->bad.mem, 0, 0x7F, sizeof(int)));
    return d->fill(s->t->stream, s->bad.mem, sizeof(int), 0, (TOLD - 1) * sizeof(int));
}

int sap_stepper_ask(struct sap_gpu_stepper *s, int *bad)
{
    const int *const told = s->told.host;
    TRY(s->t->driver->copy_out(s->t->stream, s->told.host, s->bad.mem, 0, TOLD * sizeof(int)));
    TRY(s->t->driver->stream_finish(s->t->stream));
    *bad = told[0] == NONE_BAD ? -1 : told[0];
    return SAP_DRIVER_OK;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Bytes per massless particle over a tree: position as given and as sorted, keys, places, size, and its group. */
enum { MASSLESS_BYTES = 8 * sizeof(double) + 2 * sizeof(uint64_t) + 4 * sizeof(int) + sizeof(double) };

static size_t memory(int n, int massless, int direct, size_t *device_bytes)
{
    const size_t size = (size_t)n, runs = size / SAP_STEP_RUN + 1, few = (size_t)massless;
    *device_bytes = size * (20 * sizeof(double) + 4 * sizeof(int)) + runs * SAP_STEP_SUMS * sizeof(double);
    if (direct) *device_bytes += size * 5 * sizeof(double) + sap_gpu_direct_bytes(n);
    if (massless > 0) *device_bytes += size * 2 * sizeof(int);
    if (massless > 0 && !direct) *device_bytes += size * 4 * sizeof(double) + few * MASSLESS_BYTES;
    return sizeof(struct sap_gpu_stepper);
}

static void destroy(struct sap_stepper *stepper)
{
    struct sap_gpu_stepper *const s = of(stepper);
    struct sap_gpu_buffer *const all[] = {&s->x,       &s->v,     &s->a,         &s->pot,  &s->level, &s->slot,
                                          &s->address, &s->built, &s->row_level, &s->flag, &s->place, &s->row_a,
                                          &s->row_pot, &s->bad,   &s->told,      &s->to_x, &s->to_v,  &s->sum};
    const sap_fpguard caller = sap_fp_guard();
    if (s->t) {
        (void)s->t->driver->stream_finish(s->t->stream);
        for (int k = 0; k < COUNT(all); k++) sap_gpu_free(s->t->driver, all[k]);
        s->t->listed = 0;
    }
    sap_gpu_direct_close(s);
    sap_step_order_free(&s->order);
    free(s);
    sap_fp_release(caller);
}

static int reserve(struct sap_gpu_stepper *s, void *with)
{
    struct sap_gpu_host_tree *const t = s->t;
    const size_t n = (size_t)s->room + 1, three = n * 3 * sizeof(double);
    (void)with;
    TRY(sap_stepper_kernels(s));
    TRY(sap_gpu_reserve_pinned(t->driver, t->device->dev, &s->told, TOLD * sizeof(int)));
    TRY(sap_tree_reserve(t, &s->bad, TOLD * sizeof(int)));
    TRY(sap_tree_reserve(t, &s->x, three));
    TRY(sap_tree_reserve(t, &s->v, three));
    TRY(sap_tree_reserve(t, &s->a, three));
    TRY(sap_tree_reserve(t, &s->pot, n * sizeof(double)));
    TRY(sap_tree_reserve(t, &s->level, n * sizeof(int)));
    TRY(sap_tree_reserve(t, &s->row_level, n * sizeof(int)));
    if (s->settings.keeps_built) TRY(sap_tree_reserve(t, &s->built, n * 4 * sizeof(double)));
    return sap_tree_reserve(t, &t->active, n * sizeof(int));
}

static int create(struct sap_device_set *devices, struct sap_tree *tree, const struct sap_step_source *source,
                  const struct sap_stepper_settings *settings, int n, struct sap_stepper **stepper)
{
    struct sap_gpu_stepper *const s = calloc(1, sizeof *s);
    (void)source;
    *stepper = NULL;
    if (!s) return SAPPORO_ERR_MEMORY;
    s->settings = *settings;
    s->t = (void *)tree;
    s->room = n;
    int status = tree ? SAPPORO_OK : sap_gpu_direct_open(s, devices);
    if (!status) status = sap_stepper_entered(s, reserve, NULL);
    if (status)
        destroy((void *)s);
    else
        *stepper = (void *)s;
    return status;
}

static const char *words(const struct sap_stepper *stepper)
{
    const struct sap_gpu_stepper *const s = (const void *)stepper;
    return s->t->words;
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* The arguments of a part of a step, and its result. */
struct part {
    const struct sap_step *step;
    const struct sap_step_active *active;
    int done, forced;
    int *bad;
    struct sap_step_told *told;
    double *sum;
};

/* Writes the sizes of accelerations without those of the fields. */
static int find_sizes(struct sap_gpu_stepper *s)
{
    const struct sap_field_list fields = s->settings.fields;
    const struct sap_stepper_order order = sap_stepper_order_of(s);
    const int n = s->n;
    const struct sap_argument a[] = {
        MEM(s->x), MEM(s->a), SAP_ARRAY(*sap_stepper_slots(s)), MEM(s->t->a), VALUE(n), VALUE(order), VALUE(fields)};
    return sap_stepper_for_each(s, s->f->own, n, a, COUNT(a));
}

static int predict_work(struct sap_gpu_stepper *s, void *with)
{
    const struct part *const p = with;
    struct sap_gpu_host_tree *const t = s->t;
    const struct sap_step step = *p->step;
    const int by_acceleration = s->settings.by_acceleration, has_fields = s->settings.fields.n > 0;
    const int sizes = by_acceleration && !has_fields, done = p->done, n = s->n;
    const struct sap_stepper_order order = sap_stepper_order_of(s);
    const struct sap_gpu_buffer *const slots = sap_stepper_slots(s);
    const struct sap_argument a[] = {MEM(s->x),        MEM(s->v),    MEM(s->a),   MEM(s->level), SAP_ARRAY(*slots),
                                     MEM(t->particle), MEM(t->a),    MEM(s->bad), VALUE(sizes),  VALUE(done),
                                     VALUE(n),         VALUE(order), VALUE(step)};
    TRY(sap_stepper_reset(s));
    TRY(sap_stepper_for_each(s, s->f->predict, n, a, COUNT(a)));
    if (by_acceleration && has_fields) TRY(find_sizes(s));
    if (by_acceleration) t->has_a = s->order.massive;
    return sap_stepper_ask(s, p->bad);
}

static int predict(struct sap_stepper *stepper, const struct sap_step *step, int done, int *bad)
{
    struct part p = {.step = step, .done = done, .bad = bad};
    *bad = -1;
    return sap_stepper_entered(of(stepper), predict_work, &p);
}

static int note_work(struct sap_gpu_stepper *s, void *with)
{
    (void)with;
    return s->t->driver->copy(s->t->stream, s->built.mem, 0, s->t->particle.mem, 0, (size_t)s->n * 4 * sizeof(double));
}

static int note_build(struct sap_stepper *stepper)
{
    return of(stepper)->settings.keeps_built ? sap_stepper_entered(of(stepper), note_work, NULL) : SAPPORO_OK;
}

/* Lists the slots of the active particles in the tree's memory. */
static int list_work(struct sap_gpu_stepper *s, void *with)
{
    const struct part *const p = with;
    struct sap_gpu_host_tree *const t = s->t;
    const int coarsest = p->step->coarsest, n = s->n;
    size_t total_at;
    TRY(sap_tree_reserve(t, &s->flag, (size_t)s->room * sizeof(int)));
    TRY(sap_tree_reserve(t, &s->place, (size_t)s->room * sizeof(int)));
    TRY(sap_tree_reserve(t, &t->scratch, sap_primitives_scratch(n)));
    const struct sap_stepper_order order = sap_stepper_order_of(s);
    const struct sap_argument a[] = {
        MEM(s->level), SAP_ARRAY(*sap_stepper_addresses(s)), MEM(s->flag), VALUE(coarsest), VALUE(n), VALUE(order)};
    TRY(sap_stepper_for_each(s, s->f->flag, n, a, COUNT(a)));
    return sap_primitives_compact(&t->f->primitives, t->stream, s->flag.mem, NULL, s->place.mem, t->active.mem, n,
                                  t->scratch.mem, &total_at);
}

/* Lists the active particles, and computes forces that come from no tree. */
static int force_work(struct sap_gpu_stepper *s, void *with)
{
    const struct part *const p = with;
    if (p->active->n < s->n) TRY(list_work(s, with));
    if (s->order.massive == 0) return sap_stepper_no_force(s, p->active->n);
    return s->direct ? sap_gpu_direct_force(s, p->active->n) : (int)SAP_DRIVER_OK;
}

static int force(struct sap_stepper *stepper, const struct sap_step *step, const struct sap_step_active *active)
{
    struct sap_gpu_stepper *const s = of(stepper);
    struct part p = {.step = step, .active = active};
    s->joined = 0;
    const int status = sap_stepper_entered(s, force_work, &p);
    return status || s->direct || s->order.massive == 0 ? status : sap_stepper_tree_force(s, step, active);
}

static int judge_work(struct sap_gpu_stepper *s, void *with)
{
    const struct part *const p = with;
    struct sap_gpu_host_tree *const t = s->t;
    const struct sap_step step = *p->step;
    const struct sap_step_rule rule = s->settings.rule;
    const struct sap_field_list fields = s->settings.fields;
    const int has_active = p->active->n < s->n, rows = p->active->n, massive = p->active->massive;
    const struct sap_stepper_order order = sap_stepper_order_of(s);
    const struct sap_argument a[] = {MEM(t->particle),
                                     MEM(s->v),
                                     MEM(s->a),
                                     MEM(s->level),
                                     MEM(t->active),
                                     SAP_ARRAY(*sap_stepper_addresses(s)),
                                     SAP_ARRAY(*sap_stepper_rows_a(s)),
                                     SAP_ARRAY(*sap_stepper_rows_pot(s)),
                                     MEM(s->row_level),
                                     MEM(s->bad),
                                     VALUE(has_active),
                                     VALUE(massive),
                                     VALUE(rows),
                                     VALUE(order),
                                     VALUE(step),
                                     VALUE(rule),
                                     VALUE(fields)};
    TRY(sap_stepper_reset(s));
    TRY(sap_stepper_for_each(s, s->f->judge, rows, a, COUNT(a)));
    TRY(sap_stepper_ask(s, &p->told->bad));
    memcpy(p->told->levels, (const int *)s->told.host + 1, sizeof p->told->levels);
    memcpy(p->told->massless, (const int *)s->told.host + 1 + SAP_STEP_LEVELS, sizeof p->told->massless);
    return SAP_DRIVER_OK;
}

static int judge(struct sap_stepper *stepper, const struct sap_step *step, const struct sap_step_active *active,
                 struct sap_step_told *told)
{
    struct part p = {.step = step, .active = active, .told = told};
    return sap_stepper_entered(of(stepper), judge_work, &p);
}

/* Launches the one kernel that changes the particles; errors of the device show in the next step. */
static int commit_work(struct sap_gpu_stepper *s, void *with)
{
    const struct part *const p = with;
    struct sap_gpu_host_tree *const t = s->t;
    const struct sap_step step = *p->step;
    const int has_active = p->active->n < s->n, rows = p->active->n;
    const struct sap_stepper_order order = sap_stepper_order_of(s);
    const struct sap_argument a[] = {MEM(s->x),
                                     MEM(s->v),
                                     MEM(s->a),
                                     MEM(s->pot),
                                     MEM(s->level),
                                     MEM(t->active),
                                     SAP_ARRAY(*sap_stepper_addresses(s)),
                                     SAP_ARRAY(*sap_stepper_rows_a(s)),
                                     SAP_ARRAY(*sap_stepper_rows_pot(s)),
                                     MEM(s->row_level),
                                     VALUE(has_active),
                                     VALUE(rows),
                                     VALUE(order),
                                     VALUE(step)};
    return sap_stepper_for_each(s, s->f->commit, rows, a, COUNT(a));
}

static int commit(struct sap_stepper *stepper, const struct sap_step *step, const struct sap_step_active *active)
{
    struct part p = {.step = step, .active = active};
    return sap_stepper_entered(of(stepper), commit_work, &p);
}

/* ---- sums -------------------------------------------------------------------------------------- */

static int sums_work(struct sap_gpu_stepper *s, void *with)
{
    const struct part *const p = with;
    struct sap_gpu_host_tree *const t = s->t;
    const struct sap_step step = *p->step;
    const struct sap_field_list fields = s->settings.fields;
    const struct sap_stepper_order order = sap_stepper_order_of(s);
    const struct sap_gpu_buffer *const pot = p->forced ? sap_stepper_rows_pot(s) : &s->pot;
    const int n = s->n, forced = p->forced, runs = (n + SAP_STEP_RUN - 1) / SAP_STEP_RUN;
    const size_t bytes = (size_t)runs * SAP_STEP_SUMS * sizeof(double);
    TRY(sap_tree_reserve(t, &s->sum, bytes));
    const struct sap_argument a[] = {
        MEM(s->x),        MEM(s->v),       MEM(s->a),    MEM(s->level), SAP_ARRAY(*sap_stepper_slots(s)),
        MEM(t->particle), SAP_ARRAY(*pot), MEM(s->sum),  VALUE(forced), VALUE(n),
        VALUE(order),     VALUE(step),     VALUE(fields)};
    TRY(sap_stepper_for_each(s, s->f->sums, runs, a, COUNT(a)));
    TRY(t->driver->copy_out(t->stream, p->sum, s->sum.mem, 0, bytes));
    return t->driver->stream_finish(t->stream);
}

static int sums(struct sap_stepper *stepper, const struct sap_step *step, int forced, double *sum)
{
    struct part p = {.step = step, .forced = forced, .sum = sum};
    return sap_stepper_entered(of(stepper), sums_work, &p);
}

static int massive(const struct sap_stepper *stepper)
{
    const struct sap_gpu_stepper *const s = (const void *)stepper;
    return s->order.massive;
}

const struct sap_stepper_ops sap_stepper_gpu = {
    .memory = memory,
    .direct = sap_gpu_direct_able,
    .create = create,
    .destroy = destroy,
    .take = sap_stepper_take_gpu,
    .massive = massive,
    .read = sap_stepper_read_gpu,
    .write = sap_stepper_write_gpu,
    .predict = predict,
    .note_build = note_build,
    .force = force,
    .judge = judge,
    .commit = commit,
    .at = sap_stepper_at_gpu,
    .read_device = sap_stepper_read_device_gpu,
    .sums = sums,
    .words = words,
};
