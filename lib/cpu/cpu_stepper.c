/*
 * cpu_stepper.c - the stepper of the CPU engine: particles, predictions, corrections, sums.
 *
 * Forces come from a tree of this engine, or from a source that computes from host memory.  Arrays are
 * by address, but what forces read is by slot (engine/step_order.h).
 */
#include "physics/ops_scalar.h"

#include "cpu/cpu_stepper.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "base/team.h"
#include "base/threads.h"
#include "cpu/tree/cpu_tree.h"
#include "engine/step_order.h"
#include "engine/tree_limits.h"
#include "physics/step.h"

enum { AT_ONCE = 1024 }; /* particles that a thread takes at a time at least */

struct cpu_stepper {
    struct sap_stepper_settings settings;
    struct sap_cpu_tree *tree;     /* or NULL: */
    struct sap_step_source source; /* force == NULL: there is a tree */
    int threads, room, n;
    struct sap_step_order order;
    double (*x)[3], (*v)[3], (*a)[3], *pot, *mass;
    double (*built)[3]; /* by slot; NULL: positions of builds are not kept */
    int *level;
    double (*next_x)[3]; /* by slot, predicted positions: of the tree, or our own without a tree */
    double *next_mass;   /* the same, masses */
    double *next_a;      /* the same, sizes of accelerations by the particles; NULL: without a tree */
    const struct sap_step_lengths *lengths; /* by address; NULL: particles have none */
    double *next_h;                         /* by slot, lengths that forces read; NULL: none were needed yet */
    double *sizes;   /* these at the particles' own times, by address, with fields; NULL: not needed */
    int knows_sizes; /* `sizes` belongs to x and a */
    double (*own_x)[3], *own_mass, *own_h;
    int *active; /* slots of the active particles; all are active if their number is n */
    double (*row_a)[3], *row_pot;
    int *row_level;
    double (*massless_x)[3], *massless_a, *massless_h; /* of a force; NULL: no particles are massless */
};

/* A loop over particles or rows that threads share. */
struct loop {
    struct cpu_stepper *s;
    const struct sap_step *step;
    int done, all, forced;
    double (*x)[3], (*v)[3];
    double *sum;
    atomic_int bad; /* of a prediction: the first particle that is too far; n: none */
};

static struct cpu_stepper *of(struct sap_stepper *stepper) { return (void *)stepper; }

/* ---- life ---------------------------------------------------------------------------------- */

static size_t bytes_of(size_t n)
{
    return n * (23 * sizeof(double) + 3 * sizeof(int)); /* six vectors, five numbers; levels, rows */
}

static size_t bytes_of_massless(size_t n, size_t massless)
{
    return massless > 0 ? massless * 4 * sizeof(double) + n * 2 * sizeof(int) : 0;
}

static size_t memory(int n, int massless, int direct, size_t *device_bytes)
{
    (void)direct;
    *device_bytes = 0;
    return sizeof(struct cpu_stepper) + bytes_of((size_t)n) + bytes_of_massless((size_t)n, (size_t)massless);
}

static void destroy(struct sap_stepper *stepper)
{
    struct cpu_stepper *const s = of(stepper);
    void *const all[] = {s->x,       s->v,         s->a,          s->pot,        s->mass,       s->sizes,
                         s->built,   s->level,     s->own_x,      s->own_mass,   s->active,     s->row_a,
                         s->row_pot, s->row_level, s->massless_x, s->massless_a, s->massless_h, s->own_h};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) free(all[k]);
    sap_step_order_free(&s->order);
    free(s);
}

static int reserve(struct cpu_stepper *s)
{
    const size_t room = (size_t)s->room;
    s->x = malloc(room * sizeof *s->x);
    s->v = malloc(room * sizeof *s->v);
    s->a = malloc(room * sizeof *s->a);
    s->pot = malloc(room * sizeof *s->pot);
    s->mass = malloc(room * sizeof *s->mass);
    s->level = malloc(room * sizeof *s->level);
    s->active = malloc(room * sizeof *s->active);
    s->row_a = malloc(room * sizeof *s->row_a);
    s->row_pot = malloc(room * sizeof *s->row_pot);
    s->row_level = malloc(room * sizeof *s->row_level);
    if (!s->x || !s->v || !s->a || !s->pot || !s->mass || !s->level || !s->active || !s->row_a || !s->row_pot ||
        !s->row_level)
        return SAPPORO_ERR_MEMORY;
    if (s->settings.keeps_built) s->built = malloc(room * sizeof *s->built);
    const int has_sizes = s->settings.by_acceleration && s->settings.fields.n > 0;
    if (has_sizes) s->sizes = malloc(room * sizeof *s->sizes);
    if (has_sizes && !s->sizes) return SAPPORO_ERR_MEMORY;
    const int own = !s->tree && !s->source.x;
    if (own) s->own_x = malloc(room * sizeof *s->own_x);
    if (own) s->own_mass = malloc(room * sizeof *s->own_mass);
    s->next_x = s->tree ? s->tree->given.x : own ? s->own_x : s->source.x;
    s->next_mass = s->tree ? s->tree->given.mass : own ? s->own_mass : s->source.mass;
    s->next_a = s->tree ? s->tree->given.a : s->source.a;
    if (!s->next_x || !s->next_mass) return SAPPORO_ERR_MEMORY;
    return s->settings.keeps_built && !s->built ? SAPPORO_ERR_MEMORY : SAPPORO_OK;
}

static int create(struct sap_device_set *devices, struct sap_tree *tree, const struct sap_step_source *source,
                  const struct sap_stepper_settings *settings, int n, struct sap_stepper **stepper)
{
    struct cpu_stepper *const s = calloc(1, sizeof *s);
    (void)devices;
    *stepper = NULL;
    if (!s) return SAPPORO_ERR_MEMORY;
    s->settings = *settings;
    s->tree = (void *)tree;
    if (source) s->source = *source;
    s->threads = tree ? s->tree->threads : source ? source->threads : 1;
    if (s->threads <= 0) s->threads = sap_threads_default();
    s->room = n > 0 ? n : 1;
    if (reserve(s)) {
        destroy((void *)s);
        return SAPPORO_ERR_MEMORY;
    }
    *stepper = (void *)s;
    return SAPPORO_OK;
}

/* ---- particles ------------------------------------------------------------------------------ */

static const char *words(const struct sap_stepper *stepper)
{
    const struct cpu_stepper *const s = (const void *)stepper;
    return s->tree ? s->tree->words : "";
}

/* Makes the order of the particles, and memory for forces on massless ones. */
static int take_order(struct cpu_stepper *s, int n, const sapporo_column *mass)
{
    const int status = sap_step_order_make(&s->order, n, mass);
    const size_t massless = (size_t)(s->order.n - s->order.massive);
    free(s->massless_x);
    free(s->massless_a);
    free(s->massless_h);
    s->massless_x = NULL;
    s->massless_a = NULL;
    s->massless_h = NULL;
    if (status || massless == 0 || !s->tree) return status;
    s->massless_x = malloc(massless * sizeof *s->massless_x);
    s->massless_a = malloc(massless * sizeof *s->massless_a);
    return s->massless_x && s->massless_a ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
}

/* Takes softening lengths, which forces read by slot: those of the tree, or our own for a source. */
static int take_lengths(struct cpu_stepper *s, const struct sap_step_lengths *lengths)
{
    s->lengths = lengths;
    if (s->tree && sap_cpu_want_lengths(s->tree, lengths != NULL)) return SAPPORO_ERR_MEMORY;
    if (!lengths) return SAPPORO_OK;
    const size_t massless = (size_t)(s->order.n - s->order.massive);
    if (s->tree && massless > 0) s->massless_h = malloc(massless * sizeof *s->massless_h);
    if (s->tree && massless > 0 && !s->massless_h) return SAPPORO_ERR_MEMORY;
    if (!s->tree && !s->source.h && !s->own_h) s->own_h = malloc((size_t)s->room * sizeof *s->own_h);
    s->next_h = s->tree ? s->tree->given.h : s->source.h ? s->source.h : s->own_h;
    double *const to = s->next_h;
    if (!to) return SAPPORO_ERR_MEMORY;
    for (int i = 0; i < s->order.n; i++) to[sap_step_slot(&s->order, i)] = lengths->h[i];
    return SAPPORO_OK;
}

static int take(struct sap_stepper *stepper, const struct sap_step_particles *p, int *bad)
{
    struct cpu_stepper *const s = of(stepper);
    const int n = p->n;
    *bad = -1;
    if (p->memory != SAPPORO_MEMORY_HOST) return SAPPORO_ERR_UNSUPPORTED;
    int status = take_order(s, n, &p->mass);
    if (!status) status = take_lengths(s, p->lengths);
    if (status) return status;
    s->n = n;
    s->knows_sizes = 0;
    if (s->tree) {
        s->tree->given.n = s->order.massive;
        s->tree->words[0] = '\0';
    }
    for (int i = 0; i < n; i++) {
        const int k = sap_step_slot(&s->order, i);
        memcpy(s->x[i], sap_column_at(&p->x, i, sizeof *s->x), sizeof *s->x);
        memcpy(s->v[i], sap_column_at(&p->v, i, sizeof *s->v), sizeof *s->v);
        s->mass[i] = sap_column_double(&p->mass, i) * p->gravity;
        memcpy(s->next_x[k], s->x[i], sizeof *s->x);
        s->next_mass[k] = s->mass[i];
        if (s->next_a) s->next_a[k] = -1; /* unknown, also if the tree had as many particles */
        s->level[i] = 0;
    }
    return SAPPORO_OK;
}

static int massive(const struct sap_stepper *stepper)
{
    const struct cpu_stepper *const s = (const void *)stepper;
    return s->order.massive;
}

/* Returns the array of a column; NULL: it is not kept. */
static void *column_of(const struct cpu_stepper *s, enum sap_step_column column, size_t *each)
{
    void *const at[SAP_STEP_COLUMNS] = {s->x, s->v, s->a, s->pot, s->mass, s->built, s->level};
    *each = column == SAP_STEP_LEVEL                            ? sizeof(int)
            : column == SAP_STEP_POT || column == SAP_STEP_MASS ? sizeof(double)
                                                                : 3 * sizeof(double);
    return at[column];
}

static int read_column(struct sap_stepper *stepper, enum sap_step_column column, void *to)
{
    size_t each;
    const void *const from = column_of(of(stepper), column, &each);
    if (!from) return SAPPORO_ERR_UNSUPPORTED;
    if (column == SAP_STEP_BUILT) {
        const struct cpu_stepper *const s = of(stepper);
        for (int k = 0; k < s->n; k++)
            memcpy((char *)to + (size_t)sap_step_address(&s->order, k) * each, s->built[k], each);
    } else {
        memcpy(to, from, (size_t)of(stepper)->n * each);
    }
    return SAPPORO_OK;
}

static int write_column(struct sap_stepper *stepper, enum sap_step_column column, const void *from)
{
    size_t each;
    void *const to = column_of(of(stepper), column, &each);
    if (!to || column == SAP_STEP_BUILT) return SAPPORO_ERR_UNSUPPORTED;
    memcpy(to, from, (size_t)of(stepper)->n * each);
    of(stepper)->knows_sizes = 0;
    return SAPPORO_OK;
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* Returns the threads that are worth waking for n particles. */
static int threads_for(const struct cpu_stepper *s, int n)
{
    enum { A_THREAD = 16384 };
    const int most = 1 + n / A_THREAD;
    return sap_threads_now(most < s->threads ? most : s->threads);
}

/* Calls a function for chunks of n particles or rows. */
static void for_all(struct loop *l, int n, sap_team_range *range)
{
    const int threads = threads_for(l->s, n);
    sap_team_for(threads, n, sap_team_chunk(n, threads, AT_ONCE), range, l);
}

/* Predicts particle i, by step->ahead beyond the step; done: after its step. */
static void predict_one(const struct cpu_stepper *s, const struct sap_step *step, int done, int i, double *x, double *v)
{
    const double dt = sap_step_span(step, s->level[i], done) + step->ahead;
    for (int c = 0; c < 3; c++) x[c] = sap_step_predict(s->x[i][c], s->v[i][c], s->a[i][c], dt, &v[c]);
}

/* Keeps the least number of particles that are too far. */
static void note_bad(struct loop *l, int i)
{
    int least = atomic_load(&l->bad);
    while (i < least && !atomic_compare_exchange_weak(&l->bad, &least, i)) continue;
}

/* Returns the size of the acceleration of particle i by the particles alone, at its own time. */
static double own_size(const struct cpu_stepper *s, int i)
{
    if (!s->sizes) return sap_step_size(s->a[i][0], s->a[i][1], s->a[i][2]);
    if (!s->knows_sizes) s->sizes[i] = sap_step_own_size(&s->settings.fields, s->x[i], s->a[i]);
    return s->sizes[i];
}

static void predict_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct loop *const l = argument;
    struct cpu_stepper *const s = l->s;
    double v[3];
    for (int i = (int)from; i < to; i++) {
        const int k = sap_step_slot(&s->order, i);
        const double *const x = s->next_x[k];
        predict_one(s, l->step, l->done, i, s->next_x[k], v);
        if (s->settings.by_acceleration) s->next_a[k] = own_size(s, i);
        if (!(fabs(x[0]) <= SAP_TREE_LIMIT && fabs(x[1]) <= SAP_TREE_LIMIT && fabs(x[2]) <= SAP_TREE_LIMIT))
            note_bad(l, i);
    }
}

static int predict(struct sap_stepper *stepper, const struct sap_step *step, int done, int *bad)
{
    struct cpu_stepper *const s = of(stepper);
    struct loop l = {.s = s, .step = step, .done = done};
    atomic_init(&l.bad, s->n);
    for_all(&l, s->n, predict_some);
    s->knows_sizes = 1;
    const int least = atomic_load(&l.bad);
    *bad = least < s->n ? least : -1;
    return SAPPORO_OK;
}

static int note_build(struct sap_stepper *stepper)
{
    struct cpu_stepper *const s = of(stepper);
    if (s->built) memcpy(s->built, s->next_x, (size_t)s->n * sizeof *s->built);
    return SAPPORO_OK;
}

/* Lists the slots of the active particles, unless all are active; returns the list, or NULL. */
static const int *list_active(struct cpu_stepper *s, const struct sap_step *step, int active)
{
    if (active == s->n) return NULL;
    for (int slot = 0, k = 0; slot < s->n && k < active; slot++)
        if (s->level[sap_step_address(&s->order, slot)] >= step->coarsest) s->active[k++] = slot;
    return s->active;
}

/* The status of a force for a step: rows that are NaN are judged with the others. */
static int to_be_judged(int status) { return status == SAPPORO_PARTIAL ? (int)SAPPORO_OK : status; }

/* Computes the forces of the tree on the massless ones of the active particles, as the last rows. */
static int force_massless(struct cpu_stepper *s, const struct sap_step *step, const struct sap_step_active *active,
                          const int *list)
{
    const int rows = active->n - active->massive, known = s->settings.by_acceleration && !step->start;
    const double(*x)[3] = (const double(*)[3])s->next_x + s->order.massive;
    const double *a = s->tree->given.a + s->order.massive, *h = s->lengths ? s->tree->given.h + s->order.massive : NULL;
    if (rows == 0) return SAPPORO_OK;
    for (int k = 0; k < rows && list; k++) {
        const int slot = list[active->massive + k];
        memcpy(s->massless_x[k], s->next_x[slot], sizeof *s->massless_x);
        s->massless_a[k] = s->tree->given.a[slot];
        if (h) s->massless_h[k] = s->tree->given.h[slot];
    }
    if (list) x = (const double(*)[3])s->massless_x, a = s->massless_a, h = h ? s->massless_h : NULL;
    const struct sap_cpu_targets targets = {.n = rows, .x = {x, 0}, .h = {h, 0}};
    return to_be_judged(sap_cpu_tree_force_massless(s->tree, &targets, known ? a : NULL, s->row_a + active->massive,
                                                    s->row_pot + active->massive));
}

static int force(struct sap_stepper *stepper, const struct sap_step *step, const struct sap_step_active *active)
{
    struct cpu_stepper *const s = of(stepper);
    const int *const list = list_active(s, step, active->n);
    const struct sap_step_rows rows = {.n = s->order.massive,
                                       .ni = active->n,
                                       .active = list,
                                       .x = (const double(*)[3])s->next_x,
                                       .mass = s->next_mass,
                                       .h = s->lengths ? s->next_h : NULL,
                                       .acc = s->row_a,
                                       .pot = s->row_pot};
    if (s->order.massive == 0 && !s->source.shared) {
        memset(s->row_a, 0, (size_t)active->n * sizeof *s->row_a);
        memset(s->row_pot, 0, (size_t)active->n * sizeof *s->row_pot);
        return SAPPORO_OK;
    }
    if (!s->tree) return s->source.force(s->source.of, &rows);
    const struct sap_cpu_targets massive = {.n = active->massive,
                                            .active = active->massive < s->order.massive ? list : NULL};
    const int status = force_massless(s, step, active, list);
    if (status || active->massive == 0) return status;
    return to_be_judged(sap_cpu_force(s->tree, &massive, s->row_a, s->row_pot));
}

/* Returns the slot of row k. */
static int slot_of(const struct cpu_stepper *s, int all, int k) { return all ? k : s->active[k]; }

/* Computes the acceleration at the end of the step, and the next level, of row k. */
static void judge_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct loop *const l = argument;
    struct cpu_stepper *const s = l->s;
    for (int k = (int)from; k < to; k++) {
        const int slot = slot_of(s, l->all, k), i = sap_step_address(&s->order, slot);
        double *const a = s->row_a[k], outside = 0;
        struct sap_step_rule rule = s->settings.rule;
        if (s->lengths) rule.reach = s->lengths->reach[i];
        sap_field_add(&s->settings.fields, s->next_x[slot], a, &outside);
        s->row_level[k] = sap_step_level(&rule, l->step, s->level[i], a, s->a[i]);
    }
}

/* Whether the force on a row and the velocity at the end of its step are finite. */
static int is_finite_row(const struct cpu_stepper *s, const struct sap_step *step, int k, int i)
{
    const double dt = step->start ? 0 : sap_step_span(step, s->level[i], 0);
    double sum = s->row_pot[k] - s->row_pot[k], middle;
    for (int c = 0; c < 3; c++) {
        (void)sap_step_predict(s->x[i][c], s->v[i][c], step->start ? 0 : s->a[i][c], dt, &middle);
        const double v = sap_step_correct(middle, s->row_a[k][c], dt);
        sum += (v - v) + (s->row_a[k][c] - s->row_a[k][c]);
    }
    return sum == 0;
}

static int judge(struct sap_stepper *stepper, const struct sap_step *step, const struct sap_step_active *active,
                 struct sap_step_told *told)
{
    struct cpu_stepper *const s = of(stepper);
    struct loop l = {.s = s, .step = step, .all = active->n == s->n};
    memset(told, 0, sizeof *told);
    told->bad = -1;
    for_all(&l, active->n, judge_some);
    for (int k = 0; k < active->n; k++) {
        const int i = sap_step_address(&s->order, slot_of(s, l.all, k));
        if ((told->bad < 0 || i < told->bad) && !is_finite_row(s, step, k, i)) told->bad = i;
        told->levels[s->row_level[k]]++;
        told->massless[s->row_level[k]] += k >= active->massive;
    }
    return SAPPORO_OK;
}

static void commit_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct loop *const l = argument;
    struct cpu_stepper *const s = l->s;
    for (int k = (int)from; k < to; k++) {
        const int i = sap_step_address(&s->order, slot_of(s, l->all, k));
        const double dt = l->step->start ? 0 : sap_step_span(l->step, s->level[i], 0);
        for (int c = 0; c < 3; c++) {
            double middle = s->v[i][c];
            if (!l->step->start) {
                s->x[i][c] = sap_step_predict(s->x[i][c], s->v[i][c], s->a[i][c], dt, &middle);
                s->v[i][c] = sap_step_correct(middle, s->row_a[k][c], dt);
            }
            s->a[i][c] = s->row_a[k][c];
        }
        if (s->sizes) s->sizes[i] = sap_step_own_size(&s->settings.fields, s->x[i], s->a[i]);
        s->pot[i] = s->row_pot[k];
        s->level[i] = s->row_level[k];
    }
}

static int commit(struct sap_stepper *stepper, const struct sap_step *step, const struct sap_step_active *active)
{
    struct cpu_stepper *const s = of(stepper);
    struct loop l = {.s = s, .step = step, .all = active->n == s->n};
    for_all(&l, active->n, commit_some);
    return SAPPORO_OK;
}

/* ---- outputs ----------------------------------------------------------------------------------- */

static void at_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct loop *const l = argument;
    const struct cpu_stepper *const s = l->s;
    for (int i = (int)from; i < to; i++) {
        const double dt = sap_step_span(l->step, s->level[i], 1) + l->step->ahead;
        for (int c = 0; c < 3; c++) {
            double middle;
            const double x = sap_step_predict(s->x[i][c], s->v[i][c], s->a[i][c], dt, &middle);
            if (l->x) l->x[i][c] = x;
            if (l->v) l->v[i][c] = sap_step_correct(middle, s->a[i][c], dt);
        }
    }
}

static int at(struct sap_stepper *stepper, const struct sap_step *step, sapporo_memory where, double (*x)[3],
              double (*v)[3])
{
    struct cpu_stepper *const s = of(stepper);
    struct loop l = {.s = s, .step = step, .x = x, .v = v};
    if (where != SAPPORO_MEMORY_HOST) return SAPPORO_ERR_UNSUPPORTED;
    for_all(&l, s->n, at_some);
    return SAPPORO_OK;
}

/* Returns the potential of particle i after a force on all particles with mass; 0 of massless ones, which add nothing.
 */
static double pot_of_row(const struct cpu_stepper *s, int i)
{
    const int slot = sap_step_slot(&s->order, i);
    return slot < s->order.massive ? s->row_pot[slot] : 0;
}

/* Sums runs of particles, in order within each run. */
static void sum_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct loop *const l = argument;
    const struct cpu_stepper *const s = l->s;
    for (int run = (int)from; run < to; run++) {
        double *const sum = l->sum + (size_t)run * SAP_STEP_SUMS;
        memset(sum, 0, SAP_STEP_SUMS * sizeof *sum);
        for (int i = run * SAP_STEP_RUN; i < s->n && i < (run + 1) * SAP_STEP_RUN; i++) {
            const double dt = sap_step_span(l->step, s->level[i], 1);
            double x[3], v[3], outer[3] = {0, 0, 0}, field = 0;
            predict_one(s, l->step, 1, i, x, v);
            for (int c = 0; c < 3; c++) v[c] = sap_step_correct(v[c], s->a[i][c], dt);
            sap_field_add(&s->settings.fields, x, outer, &field);
            sap_step_add(sum, s->mass[i], x, v, l->forced ? pot_of_row(s, i) : s->pot[i], field);
        }
    }
}

static int sums(struct sap_stepper *stepper, const struct sap_step *step, int forced, double *sum)
{
    struct cpu_stepper *const s = of(stepper);
    struct loop l = {.s = s, .step = step, .forced = forced, .sum = sum};
    const int runs = (s->n + SAP_STEP_RUN - 1) / SAP_STEP_RUN;
    const int threads = threads_for(s, s->n);
    sap_team_for(threads, runs, sap_team_chunk(runs, threads, 1), sum_some, &l);
    return SAPPORO_OK;
}

const struct sap_stepper_ops sap_stepper_cpu = {
    .memory = memory,
    .create = create,
    .destroy = destroy,
    .take = take,
    .massive = massive,
    .read = read_column,
    .write = write_column,
    .predict = predict,
    .note_build = note_build,
    .force = force,
    .judge = judge,
    .commit = commit,
    .at = at,
    .sums = sums,
    .words = words,
};
