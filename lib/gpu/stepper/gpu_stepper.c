/* gpu_stepper.c - the stepper of the accelerator engines: its table, memory, and the parts of a step. */
#include "gpu/stepper/gpu_stepper.h"

#include <stdlib.h>

#include "gpu/gpu_launch.h"
#include "gpu/gpu_primitives.h"
#include "gpu/stepper/gpu_direct.h"
#include "gpu/stepper/gpu_hermite.h"
#include "gpu/stepper/gpu_shared.h"
#include "gpu/stepper/gpu_source.h"
#include "gpu/tree/gpu_kernels.h"

enum { TOLD = SAP_STEPPER_TOLD };
_Static_assert(SAP_STEPPER_TOLD >= 1 + 2 * SAP_STEP_LEVELS, "what is wrong, levels, and levels of massless particles");

static struct sap_gpu_stepper *of(struct sap_stepper *stepper) { return sap_gpu_stepper_of(stepper); }

/* ---- life ------------------------------------------------------------------------------------ */

/* Bytes per massless particle over a tree: position as given and as sorted, keys, places, size, and its group. */
enum { MASSLESS_BYTES = 8 * sizeof(double) + 2 * sizeof(uint64_t) + 4 * sizeof(int) + sizeof(double) };

static size_t memory(int n, int massless, int direct, size_t *device_bytes)
{
    const size_t size = (size_t)n, runs = size / SAP_STEP_RUN + 1, few = (size_t)massless;
    *device_bytes = size * (20 * sizeof(double) + 4 * sizeof(int)) + runs * SAP_STEP_SUMS * sizeof(double);
    if (direct == 2) *device_bytes += size * 5 * sizeof(double) + sap_gpu_direct_bytes(n);
    if (direct > 2) *device_bytes += size * 5 * sizeof(double) + sap_hermite_gpu_bytes(direct, n);
    if (massless > 0) *device_bytes += size * 2 * sizeof(int);
    if (massless > 0 && !direct) *device_bytes += size * 4 * sizeof(double) + few * MASSLESS_BYTES;
    return sizeof(struct sap_gpu_stepper);
}

static void destroy(struct sap_stepper *stepper)
{
    struct sap_gpu_stepper *const s = of(stepper);
    struct sap_gpu_buffer *const all[] = {&s->x,       &s->v,     &s->a,         &s->pot,  &s->level, &s->slot,
                                          &s->address, &s->built, &s->row_level, &s->flag, &s->place, &s->row_a,
                                          &s->row_pot, &s->bad,   &s->told,      &s->to_x, &s->to_v,  &s->sum,
                                          &s->active,  &s->reach, &s->length};
    if (s->session) {
        sap_session_stop(s->session);
        for (int k = 0; k < COUNT(all); k++) sap_gpu_free(s->session->driver, all[k]);
        sap_hermite_gpu_free(s);
        sap_gpu_source_free(s);
        sap_gpu_shared_free(s);
        if (s->direct)
            sap_gpu_direct_free(s);
        else
            sap_session_release(s->session);
    }
    sap_step_order_free(&s->order);
    free(s);
}

static int reserve(struct sap_gpu_stepper *s)
{
    const size_t n = (size_t)s->room + 1, three = n * 3 * sizeof(double);
    if (s->direct) TRY(sap_gpu_direct_open(s));
    TRY(sap_stepper_kernels(s));
    TRY(sap_gpu_reserve_pinned(s->session->driver, s->session->device->dev, &s->told, (TOLD + 1) * sizeof(int)));
    TRY(sap_session_reserve(s->session, &s->bad, TOLD * sizeof(int)));
    TRY(sap_session_reserve(s->session, &s->x, three));
    TRY(sap_session_reserve(s->session, &s->v, three));
    TRY(sap_session_reserve(s->session, &s->a, three));
    TRY(sap_session_reserve(s->session, &s->pot, n * sizeof(double)));
    TRY(sap_session_reserve(s->session, &s->level, n * sizeof(int)));
    TRY(sap_session_reserve(s->session, &s->row_level, n * sizeof(int)));
    if (s->settings.keeps_built) TRY(sap_session_reserve(s->session, &s->built, n * 4 * sizeof(double)));
    if (s->settings.order) TRY(sap_hermite_gpu_open(s));
    if (s->source) TRY(sap_gpu_source_open(s));
    return sap_session_reserve(s->session, &s->active, n * sizeof(int));
}

/* Works in the session of a tree, on its particles. */
static void take_tree(struct sap_gpu_stepper *s, struct sap_gpu_host_tree *t)
{
    s->t = t;
    s->session = &t->session;
    s->given = &t->given;
    s->session->owner = "stepper";
}

static int create(struct sap_device_set *devices, struct sap_tree *tree, const struct sap_step_source *source,
                  const struct sap_stepper_settings *settings, int n, struct sap_stepper **stepper)
{
    struct sap_gpu_stepper *const s = calloc(1, sizeof *s);
    *stepper = NULL;
    if (!s) return SAPPORO_ERR_MEMORY;
    s->settings = *settings;
    s->room = n;
    if (tree) take_tree(s, (void *)tree);
    int status = tree ? SAPPORO_OK : sap_gpu_direct_new(s, devices);
    if (!status && source) status = source->sharing ? sap_gpu_shared_new(s, source) : sap_gpu_source_new(s, source);
    if (!status) status = sap_session_begin(s->session);
    if (!status) status = sap_session_end(s->session, reserve(s));
    if (status)
        destroy((void *)s);
    else
        *stepper = (void *)s;
    return status;
}

static const char *words(const struct sap_stepper *stepper)
{
    const struct sap_gpu_stepper *const s = (const void *)stepper;
    return s->session->message;
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* Writes the sizes of accelerations without those of the fields. */
static int find_sizes(struct sap_gpu_stepper *s)
{
    const struct sap_field_list fields = s->settings.fields;
    const struct sap_stepper_order order = sap_stepper_order_of(s);
    const int n = s->n;
    return sap_launch_stepper_own(s->session, s->f, n, s->x.mem, s->a.mem, sap_stepper_slots(s)->mem, s->given->a.mem,
                                  n, order, fields);
}

static int launch_predict(struct sap_gpu_stepper *s, struct sap_step step, int done, int *bad)
{
    const int by_acceleration = s->settings.by_acceleration, has_fields = s->settings.fields.n > 0;
    const int sizes = by_acceleration && !has_fields, n = s->n;
    const struct sap_stepper_order order = sap_stepper_order_of(s);
    const struct sap_gpu_buffer *const slots = sap_stepper_slots(s);
    TRY(sap_stepper_reset(s));
    TRY(sap_launch_stepper_predict(s->session, s->f, n, s->x.mem, s->v.mem, s->a.mem, s->level.mem, slots->mem,
                                   s->given->particle.mem, s->given->a.mem, s->bad.mem, sizes, done, n, order, step));
    if (by_acceleration && has_fields) TRY(find_sizes(s));
    if (by_acceleration) s->given->has_a = s->order.massive;
    if (s->source) TRY(sap_gpu_source_show(s));
    return sap_stepper_ask(s, bad);
}

static int predict(struct sap_stepper *stepper, const struct sap_step *step, int done, int *bad)
{
    struct sap_gpu_stepper *const s = of(stepper);
    *bad = -1;
    if (s->hermite) {
        sap_hermite_gpu_predict(s, done); /* sources are predicted by the force */
        return SAPPORO_OK;
    }
    const int status = sap_session_begin(s->session);
    return status ? status : sap_session_end(s->session, launch_predict(s, *step, done, bad));
}

static int copy_built(struct sap_gpu_stepper *s)
{
    return sap_session_copy(s->session, s->built.mem, 0, s->given->particle.mem, 0, (size_t)s->n * 4 * sizeof(double));
}

static int note_build(struct sap_stepper *stepper)
{
    struct sap_gpu_stepper *const s = of(stepper);
    if (!s->settings.keeps_built) return SAPPORO_OK;
    const int status = sap_session_begin(s->session);
    return status ? status : sap_session_end(s->session, copy_built(s));
}

/* Lists the slots of the active particles in the tree's memory. */
static int list_active(struct sap_gpu_stepper *s, int coarsest)
{
    const int n = s->n;
    size_t total_at;
    TRY(sap_session_reserve(s->session, &s->flag, (size_t)s->room * sizeof(int)));
    TRY(sap_session_reserve(s->session, &s->place, (size_t)s->room * sizeof(int)));
    TRY(sap_session_reserve(s->session, &s->session->scratch, sap_primitives_scratch(n)));
    const struct sap_stepper_order order = sap_stepper_order_of(s);
    TRY(sap_launch_stepper_flag(s->session, s->f, n, s->level.mem, sap_stepper_addresses(s)->mem, s->flag.mem, coarsest,
                                n, order));
    return sap_primitives_compact(s->session->primitives, s->session->stream, s->flag.mem, NULL, s->place.mem,
                                  s->active.mem, n, s->session->scratch.mem, &total_at);
}

/* Lists the active particles, and computes forces that come from no tree. */
static int launch_force(struct sap_gpu_stepper *s, const struct sap_step *step, const struct sap_step_active *active)
{
    if (s->hermite) return sap_hermite_gpu_force(s, step, active);
    if (active->n < s->n) TRY(list_active(s, step->coarsest));
    if (s->source) return sap_gpu_source_prepare(s, active->n);
    if (s->shared) return sap_gpu_shared_show(s, active->n);
    if (s->order.massive == 0) return sap_stepper_no_force(s, active->n);
    return s->direct ? sap_gpu_direct_force(s, active->n) : (int)SAP_DRIVER_OK;
}

static int force(struct sap_stepper *stepper, const struct sap_step *step, const struct sap_step_active *active)
{
    struct sap_gpu_stepper *const s = of(stepper);
    s->own_rows = 0;
    if (s->hermite && s->shared) return sap_hermite_gpu_shared_force(s, step, active);
    int status = sap_session_begin(s->session);
    if (!status) status = sap_session_end(s->session, launch_force(s, step, active));
    if (s->source) return sap_gpu_source_force(s, status, active);
    if (s->shared) return sap_gpu_shared_force(s, status, active->n);
    return status || s->direct || s->order.massive == 0 ? status : sap_stepper_tree_force(s, step, active);
}

static int launch_leapfrog(struct sap_gpu_stepper *s, struct sap_step step, const struct sap_step_active *active)
{
    const struct sap_step_rule rule = s->settings.rule;
    const struct sap_field_list fields = s->settings.fields;
    const int has_active = active->n < s->n, rows = active->n, massive = active->massive;
    const int has_reach = s->lengths != NULL;
    const struct sap_gpu_buffer *const reach = has_reach ? &s->reach : &s->pot;
    const struct sap_stepper_order order = sap_stepper_order_of(s);
    return sap_launch_stepper_judge(s->session, s->f, rows, s->given->particle.mem, s->v.mem, s->a.mem, s->level.mem,
                                    s->active.mem, sap_stepper_addresses(s)->mem, sap_stepper_rows_a(s)->mem,
                                    sap_stepper_rows_pot(s)->mem, reach->mem, s->row_level.mem, s->bad.mem, has_active,
                                    has_reach, massive, rows, order, step, rule, fields);
}

static int launch_judge(struct sap_gpu_stepper *s, struct sap_step step, const struct sap_step_active *active,
                        struct sap_step_told *told)
{
    told->close = 0;
    if (s->hermite) {
        TRY(sap_hermite_gpu_judge(s, &step, told));
    } else {
        TRY(sap_stepper_reset(s));
        TRY(launch_leapfrog(s, step, active));
        TRY(sap_stepper_ask(s, &told->bad));
    }
    sap_stepper_copy_levels(s, told);
    return SAP_DRIVER_OK;
}

static int judge(struct sap_stepper *stepper, const struct sap_step *step, const struct sap_step_active *active,
                 struct sap_step_told *told)
{
    struct sap_gpu_stepper *const s = of(stepper);
    if (s->hermite && s->shared) return sap_hermite_gpu_shared_judge(s, step, told);
    const int status = sap_session_begin(s->session);
    return status ? status : sap_session_end(s->session, launch_judge(s, *step, active, told));
}

/* Launches the one kernel that changes the particles; errors of the device show in the next step. */
static int launch_commit(struct sap_gpu_stepper *s, struct sap_step step, int rows)
{
    const int has_active = rows < s->n;
    const struct sap_stepper_order order = sap_stepper_order_of(s);
    return sap_launch_stepper_commit(s->session, s->f, rows, s->x.mem, s->v.mem, s->a.mem, s->pot.mem, s->level.mem,
                                     s->active.mem, sap_stepper_addresses(s)->mem, sap_stepper_rows_a(s)->mem,
                                     sap_stepper_rows_pot(s)->mem, s->row_level.mem, has_active, rows, order, step);
}

static int commit(struct sap_stepper *stepper, const struct sap_step *step, const struct sap_step_active *active)
{
    struct sap_gpu_stepper *const s = of(stepper);
    if (s->hermite && s->shared) return sap_hermite_gpu_shared_commit(s, step);
    if (s->hermite) return SAPPORO_OK; /* sap_hermite_gpu_judge has done it */
    const int status = sap_session_begin(s->session);
    return status ? status : sap_session_end(s->session, launch_commit(s, *step, active->n));
}

static int blocks(struct sap_stepper *stepper, const struct sap_step *step, struct sap_step_blocks *b,
                  struct sap_step_told *told)
{
    struct sap_gpu_stepper *const s = of(stepper);
    b->done = 0;
    told->bad = -1;
    if (!s->hermite || s->shared || !sap_hermite_gpu_has_blocks(s)) return SAPPORO_OK;
    const int status = sap_session_begin(s->session);
    return status ? status : sap_session_end(s->session, sap_hermite_gpu_blocks(s, step, b, told));
}

/* ---- sums -------------------------------------------------------------------------------------- */

static int sum_leapfrog(struct sap_gpu_stepper *s, struct sap_step step, int forced, int runs)
{
    const struct sap_field_list fields = s->settings.fields;
    const struct sap_stepper_order order = sap_stepper_order_of(s);
    const struct sap_gpu_buffer *const pot = forced ? sap_stepper_rows_pot(s) : &s->pot;
    const int n = s->n;
    return sap_launch_stepper_sums(s->session, s->f, runs, s->x.mem, s->v.mem, s->a.mem, s->level.mem,
                                   sap_stepper_slots(s)->mem, s->given->particle.mem, pot->mem, s->sum.mem, forced, n,
                                   order, step, fields);
}

static int launch_sums(struct sap_gpu_stepper *s, struct sap_step step, int forced, double *sum)
{
    const int runs = (s->n + SAP_STEP_RUN - 1) / SAP_STEP_RUN;
    const size_t bytes = (size_t)runs * SAP_STEP_SUMS * sizeof(double);
    if (runs == 0) return SAP_DRIVER_OK;
    TRY(sap_session_reserve(s->session, &s->sum, bytes));
    TRY(s->hermite ? sap_hermite_gpu_sums(s, &step, forced) : sum_leapfrog(s, step, forced, runs));
    TRY(sap_session_copy_out(s->session, sum, s->sum.mem, 0, bytes));
    return sap_session_wait(s->session);
}

static int sums(struct sap_stepper *stepper, const struct sap_step *step, int forced, double *sum)
{
    struct sap_gpu_stepper *const s = of(stepper);
    const int status = sap_session_begin(s->session);
    return status ? status : sap_session_end(s->session, launch_sums(s, *step, forced, sum));
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
    .blocks = blocks,
    .at = sap_stepper_at_gpu,
    .read_device = sap_stepper_read_device_gpu,
    .sums = sums,
    .pots = sap_stepper_pots_gpu,
    .words = words,
};
