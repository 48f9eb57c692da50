/*
 * hermite_host.c - the stepper of Hermite schemes over the forces of a context, or of the contexts of all ranks: for
 * CPUs, several devices, and devices without double precision.
 *
 * It makes the calls that a client makes: it stores the particles that have moved, sets the time, and asks for forces
 * on the active ones at their predicted places.  A particle with mass is stored at its slot (engine/step_order.h).
 */
#include "physics/ops_scalar.h"

#include "context/hermite_host.h"

#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "base/team.h"
#include "base/threads.h"
#include "engine/step_order.h"

enum { AT_ONCE = 256, MOST = SAP_HERMITE_GIVEN, KEPT = SAP_HERMITE_KEPT };

/* A particle at its own time. */
struct body {
    double d[KEPT][3]; /* x, v, acceleration and its derivatives */
    double mass, pot;
    double eps2; /* squared softening length */
    int level;
    int nearest;       /* as forces tell it (stepper_ops.h); -1: none, or not known */
    double nearest_r2; /* INFINITY: none */
};

/* A row of a force, and the particle after it. */
struct hermite_row {
    struct body after;
    int bad;
};

struct hermite_host {
    struct sap_stepper_settings settings;
    const struct sap_hermite_sums *sums;
    void *of; /* their first argument */
    int given, kept, sent, threads, room, n;
    int has_lengths; /* 1: particles have softening lengths */
    struct sap_step_order order;
    struct body *body;       /* by address */
    struct hermite_row *row; /* of the active particles */
    int *active, rows;       /* slots of the last force */
    int *address;            /* of its rows */
    double (*target[MOST])[3], (*f[MOST])[3], *pot, *eps2;
    int *nearest; /* of the rows; NULL: they are not wanted, as is nearest_r2 */
    double *nearest_r2;
    int done;   /* 1: the last prediction was to the end of the last step, not of the next one */
    int unsent; /* 1: the context does not have the particles as they are */
};

/* A loop over particles or rows that threads share. */
struct hermite_loop {
    struct hermite_host *s;
    const struct sap_step *step;
    int forced;
    double (*x)[3], (*v)[3], *sum;
};

static struct hermite_host *of(struct sap_stepper *stepper) { return (void *)stepper; }

/* ---- life ---------------------------------------------------------------------------------- */

static size_t memory(int n, int massless, int direct, size_t *device_bytes)
{
    const size_t each =
        sizeof(struct body) + sizeof(struct hermite_row) + 3 * sizeof(int) + (2 * MOST * 3 + 3) * sizeof(double);
    (void)direct;
    *device_bytes = 0;
    return sizeof(struct hermite_host) + (size_t)n * (each + (massless > 0 ? 2 * sizeof(int) : 0));
}

static void destroy(struct sap_stepper *stepper)
{
    struct hermite_host *const s = of(stepper);
    for (int k = 0; k < MOST; k++) {
        free(s->target[k]);
        free(s->f[k]);
    }
    free(s->body);
    free(s->row);
    free(s->active);
    free(s->address);
    free(s->pot);
    free(s->eps2);
    free(s->nearest);
    free(s->nearest_r2);
    sap_step_order_free(&s->order);
    free(s);
}

static int reserve(struct hermite_host *s)
{
    const size_t n = (size_t)s->room;
    s->body = calloc(n, sizeof *s->body);
    s->row = calloc(n, sizeof *s->row);
    s->active = malloc(n * sizeof *s->active);
    s->address = malloc(n * sizeof *s->address);
    s->pot = malloc(n * sizeof *s->pot);
    s->eps2 = malloc(n * sizeof *s->eps2);
    int whole = s->body && s->row && s->active && s->address && s->pot && s->eps2;
    if (s->settings.nearest) {
        s->nearest = malloc(n * sizeof *s->nearest);
        s->nearest_r2 = malloc(n * sizeof *s->nearest_r2);
        whole = whole && s->nearest && s->nearest_r2;
    }
    for (int k = 0; k < s->given; k++) {
        s->target[k] = malloc(n * sizeof *s->target[k]);
        s->f[k] = malloc(n * sizeof *s->f[k]);
        whole = whole && s->target[k] && s->f[k];
    }
    return whole ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
}

static int create(struct sap_device_set *devices, struct sap_tree *tree, const struct sap_step_source *source,
                  const struct sap_stepper_settings *settings, int n, struct sap_stepper **stepper)
{
    struct hermite_host *const s = calloc(1, sizeof *s);
    (void)devices, (void)tree;
    *stepper = NULL;
    if (!s) return SAPPORO_ERR_MEMORY;
    s->settings = *settings;
    s->sums = source->sums;
    s->of = source->of;
    s->threads = source->threads;
    s->given = settings->order / 2;
    s->kept = SAP_HERMITE_KEPT_OF(settings->order);
    s->sent = SAP_HERMITE_SENT_OF(settings->order);
    s->room = n > 0 ? n : 1;
    if (reserve(s)) {
        destroy((void *)s);
        return SAPPORO_ERR_MEMORY;
    }
    *stepper = (void *)s;
    return SAPPORO_OK;
}

static const char *words(const struct sap_stepper *stepper)
{
    const struct hermite_host *const s = (const void *)stepper;
    return s->sums->words(s->of);
}

/* ---- particles ------------------------------------------------------------------------------ */

static int take(struct sap_stepper *stepper, const struct sap_step_particles *given, int *bad)
{
    struct hermite_host *const s = of(stepper);
    *bad = -1;
    if (given->memory != SAPPORO_MEMORY_HOST) return SAPPORO_ERR_UNSUPPORTED;
    int status = sap_step_order_make(&s->order, given->n, &given->mass);
    const int cleared = s->sums->clear(s->of); /* by all parts */
    if (!status) status = cleared;
    if (status) return status;
    s->n = given->n;
    s->has_lengths = given->lengths != NULL;
    s->unsent = 1;
    memset(s->body, 0, (size_t)s->n * sizeof *s->body);
    for (int i = 0; i < s->n; i++) {
        struct body *const p = &s->body[i];
        memcpy(p->d[0], sap_column_at(&given->x, i, sizeof p->d[0]), sizeof p->d[0]);
        memcpy(p->d[1], sap_column_at(&given->v, i, sizeof p->d[1]), sizeof p->d[1]);
        p->mass = sap_column_double(&given->mass, i) * given->gravity;
        if (given->lengths) p->eps2 = given->lengths->h[i] * given->lengths->h[i];
    }
    return SAPPORO_OK;
}

static int massive(const struct sap_stepper *stepper)
{
    const struct hermite_host *const s = (const void *)stepper;
    return s->order.massive;
}

/* Returns where a particle keeps what belongs to a column, and its bytes; NULL: there is no such column. */
static void *place_of(const struct hermite_host *s, struct body *p, enum sap_step_column column, size_t *each)
{
    *each = sizeof p->d[0];
    switch (column) {
    case SAP_STEP_X:
    case SAP_STEP_V:
    case SAP_STEP_A:
        return p->d[column - SAP_STEP_X];
    case SAP_STEP_HIGHER:
        *each = (size_t)(s->kept - 3) * sizeof p->d[0];
        return p->d[3];
    case SAP_STEP_LEVEL:
        *each = sizeof p->level;
        return &p->level;
    case SAP_STEP_POT:
    case SAP_STEP_MASS:
        *each = sizeof p->mass;
        return column == SAP_STEP_POT ? &p->pot : &p->mass;
    case SAP_STEP_NEAREST:
        *each = sizeof p->nearest;
        return &p->nearest;
    case SAP_STEP_NEAREST_R2:
        *each = sizeof p->nearest_r2;
        return &p->nearest_r2;
    default:
        return NULL;
    }
}

static int read_column(struct sap_stepper *stepper, enum sap_step_column column, void *to)
{
    const struct hermite_host *const s = of(stepper);
    size_t each;
    for (int i = 0; i < s->n; i++) {
        const void *const from = place_of(s, &s->body[i], column, &each);
        if (!from) return SAPPORO_ERR_UNSUPPORTED;
        memcpy((char *)to + (size_t)i * each, from, each);
    }
    return SAPPORO_OK;
}

static int write_column(struct sap_stepper *stepper, enum sap_step_column column, const void *from)
{
    struct hermite_host *const s = of(stepper);
    size_t each;
    for (int i = 0; i < s->n; i++) {
        void *const to = place_of(s, &s->body[i], column, &each);
        if (!to) return SAPPORO_ERR_UNSUPPORTED;
        memcpy(to, (const char *)from + (size_t)i * each, each);
    }
    s->unsent = 1;
    return SAPPORO_OK;
}

/* ---- the sums -------------------------------------------------------------------------------- */

/* Keeps a particle for the next `store`, with its own time. */
static int put_as(struct hermite_host *s, int slot, const struct body *p, double time)
{
    sapporo_particle q = {.mass = p->mass, .time = time, .eps2 = p->eps2, .index = sap_step_address(&s->order, slot)};
    memcpy(q.derivative, p->d, (size_t)s->sent * sizeof p->d[0]);
    return s->sums->put(s->of, slot, &q);
}

static int put(struct hermite_host *s, int slot, double time)
{
    return put_as(s, slot, &s->body[sap_step_address(&s->order, slot)], time);
}

/* Whether the times of particles are those after the present tick: first forces have no step before them. */
static int is_done(const struct hermite_host *s, const struct sap_step *step) { return s->done || step->start; }

/* Stores the particles that were put; status: of that. */
static int store(struct hermite_host *s, int status)
{
    const int stored = s->sums->store(s->of);
    return status ? status : stored;
}

/* Stores all particles with mass. */
static int send_all(struct hermite_host *s, const struct sap_step *step)
{
    int status = SAPPORO_OK;
    for (int slot = 0; slot < s->order.massive && !status; slot++) {
        const int level = s->body[sap_step_address(&s->order, slot)].level;
        status = put(s, slot, sap_hermite_own(step, level, is_done(s, step)));
    }
    status = store(s, status);
    s->unsent = status != SAPPORO_OK;
    return status;
}

/* Asks for the forces on the rows; those that are NaN are judged with the others. */
static int ask(struct hermite_host *s, double time)
{
    sapporo_request request = {.size = sizeof request,
                               .nj = s->order.massive,
                               .ni = s->rows,
                               .x = {s->target[0], 0},
                               .v = {s->target[1], 0},
                               .index = {s->address, 0},
                               .eps2 = s->settings.eps2,
                               .want = SAPPORO_ALLOW_EMPTY};
    const sapporo_result result = {.size = sizeof result,
                                   .acc = s->f[0],
                                   .jerk = s->f[1],
                                   .snap = s->f[2],
                                   .crackle = s->f[3],
                                   .pot = s->pot,
                                   .nearest = s->nearest,
                                   .nearest_r2 = s->nearest_r2};
    if (s->nearest) request.want |= SAPPORO_WANT_NEAREST;
    if (s->has_lengths) request.eps2_i.base = s->eps2;
    request.a.base = s->target[2];
    request.jerk.base = s->target[3];
    const int status = s->sums->force(s->of, time, &request, &result);
    return status == SAPPORO_PARTIAL ? (int)SAPPORO_OK : status;
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* Calls a function for chunks of n particles or rows. */
static void for_all(struct hermite_loop *l, int n, sap_team_range *range)
{
    const int most = 1 + n / AT_ONCE, threads = sap_threads_now(most < l->s->threads ? most : l->s->threads);
    sap_team_for(threads, n, sap_team_chunk(n, threads, AT_ONCE), range, l);
}

/* Sources are predicted by the force, and forces tell what is not finite. */
static int predict(struct sap_stepper *stepper, const struct sap_step *step, int done, int *bad)
{
    (void)step;
    of(stepper)->done = done;
    *bad = -1;
    return SAPPORO_OK;
}

static int note_build(struct sap_stepper *stepper)
{
    (void)stepper;
    return SAPPORO_OK;
}

/* Predicts particle i, with `given` derivatives, x among them. */
static void predict_one(const struct hermite_host *s, const struct sap_step *step, int done, int i, double (*to)[3])
{
    const struct body *const p = &s->body[i];
    const double dt = sap_hermite_end(step) - sap_hermite_own(step, p->level, done);
    for (int c = 0; c < 3; c++) {
        double d[KEPT] = {0}, out[MOST] = {0};
        for (int k = 0; k < s->kept; k++) d[k] = p->d[k][c];
        sap_hermite_predict(s->given, d, dt, out);
        for (int k = 0; k < s->given; k++) to[k][c] = out[k];
    }
}

static void predict_rows(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct hermite_loop *const l = argument;
    struct hermite_host *const s = l->s;
    for (int k = (int)from; k < to; k++) {
        double x[MOST][3] = {{0}};
        predict_one(s, l->step, is_done(s, l->step), s->address[k], x);
        for (int d = 0; d < s->given; d++) memcpy(s->target[d][k], x[d], sizeof x[d]);
    }
}

/* Lists the slots of the first n active particles. */
static void list_active(struct hermite_host *s, const struct sap_step *step, int n)
{
    s->rows = 0;
    for (int slot = 0; slot < s->n && s->rows < n; slot++)
        if (s->body[sap_step_address(&s->order, slot)].level >= step->coarsest) s->active[s->rows++] = slot;
    for (int k = 0; k < s->rows; k++) s->address[k] = sap_step_address(&s->order, s->active[k]);
    for (int k = 0; k < s->rows && s->has_lengths; k++) s->eps2[k] = s->body[s->address[k]].eps2;
}

/* Adds the fields to the forces on rows, which are at predicted places. */
static void add_fields(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct hermite_loop *const l = argument;
    const struct hermite_host *const s = l->s;
    for (ptrdiff_t k = from; k < to; k++) {
        double x[3][MOST] = {{0}}, acc[3][MOST] = {{0}};
        for (int c = 0; c < 3; c++)
            for (int m = 0; m < s->given; m++) x[c][m] = s->target[m][k][c];
        sap_field_add_series(&s->settings.fields, s->given, x, acc);
        for (int c = 0; c < 3; c++)
            for (int m = 0; m < s->given; m++) s->f[m][k][c] += acc[c][m];
    }
}

/* Computes the forces on the rows, of particles and fields, at s->target. */
static int sum_at_targets(struct hermite_host *s, struct hermite_loop *l)
{
    const int status = ask(s, sap_hermite_end(l->step));
    if (!status && s->settings.fields.n > 0) for_all(l, s->rows, add_fields);
    return status;
}

static int sum_forces(struct hermite_host *s, struct hermite_loop *l)
{
    for_all(l, s->rows, predict_rows);
    return sum_at_targets(s, l);
}

/* After a force on all particles: gives them its first two derivatives, which the others need. */
static int give_jerks(struct hermite_host *s, const struct sap_step *step)
{
    for (int k = 0; k < s->rows; k++)
        for (int d = 0; d < 2; d++) memcpy(s->body[s->address[k]].d[2 + d], s->f[d][k], sizeof s->f[d][k]);
    return send_all(s, step);
}

static int force(struct sap_stepper *stepper, const struct sap_step *step, const struct sap_step_active *active)
{
    struct hermite_host *const s = of(stepper);
    struct hermite_loop l = {.s = s, .step = step};
    int status = s->unsent ? send_all(s, step) : SAPPORO_OK;
    list_active(s, step, active->n);
    if (!status) status = sum_forces(s, &l);
    if (status || !step->start || s->given == 2) return status;
    status = give_jerks(s, step);
    return status ? status : sum_forces(s, &l);
}

/* ---- correction ------------------------------------------------------------------------------ */

/* Makes the particle of row k after its first force. */
static void begin_row(const struct hermite_host *s, const struct sap_step *step, int k, struct body *p)
{
    for (int d = 0; d < s->given; d++) memcpy(p->d[2 + d], s->f[d][k], sizeof p->d[0]);
    p->level = sap_hermite_first(&s->settings.hermite, step, sap_hermite_size(p->d[2][0], p->d[2][1], p->d[2][2]),
                                 sap_hermite_size(p->d[3][0], p->d[3][1], p->d[3][2]), s->pot[k]);
}

/* Corrects the particle of row k, which is at the beginning of its step, and chooses its next step. */
static void correct_row(const struct hermite_host *s, const struct sap_step *step, int k, struct body *p)
{
    const struct sap_hermite_rule *const rule = &s->settings.hermite;
    const double dt = sap_hermite_end(step) - sap_hermite_own(step, p->level, 0);
    struct sap_hermite_sizes sizes;
    sap_hermite_open(rule, p->level, dt, s->f[0][k], &sizes);
    for (int c = 0; c < 3; c++) {
        double d[KEPT] = {0}, f[MOST] = {0}, to[KEPT] = {0};
        for (int m = 0; m < s->kept; m++) d[m] = p->d[m][c];
        for (int m = 0; m < s->given; m++) f[m] = s->f[m][k][c];
        sap_hermite_correct(s->given, d, f, dt, to);
        sap_hermite_add(s->given, d, to, &sizes);
        for (int m = 0; m < s->kept; m++) p->d[m][c] = to[m];
    }
    const struct sap_hermite_choice choice = sap_hermite_choose(s->given, rule, &sizes, s->pot[k]);
    p->level = sap_hermite_level(rule, step, p->level, &choice, sizes.unit);
}

static int is_finite(const struct hermite_host *s, const struct body *p)
{
    double sum = p->pot - p->pot;
    for (int m = 0; m < s->kept; m++)
        for (int c = 0; c < 3; c++) sum += p->d[m][c] - p->d[m][c];
    return sum == 0;
}

/* Notes the nearest neighbour of a row. */
static void note_nearest(const struct hermite_host *s, int k, struct body *p)
{
    p->nearest = s->nearest[k];
    p->nearest_r2 = s->nearest_r2[k];
}

static void judge_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct hermite_loop *const l = argument;
    struct hermite_host *const s = l->s;
    for (int k = (int)from; k < to; k++) {
        struct hermite_row *const row = &s->row[k];
        row->after = s->body[s->address[k]];
        row->after.pot = s->pot[k];
        if (s->nearest) note_nearest(s, k, &row->after);
        (l->step->start ? begin_row : correct_row)(s, l->step, k, &row->after);
        row->bad = !is_finite(s, &row->after);
    }
}

/* Whether a row of any part is wrong, or must count as such. */
static int has_bad(const struct hermite_host *s, int *status)
{
    int bad = 0;
    for (int k = 0; k < s->rows && !bad; k++) bad = s->row[k].bad;
    *status = s->sums->any(s->of, &bad);
    return bad || *status;
}

/* Computes the forces where the active particles are after their correction; they act from there, too. */
static int evaluate_again(struct hermite_host *s, struct hermite_loop *l, int massive)
{
    const double time = sap_hermite_end(l->step);
    int status = SAPPORO_OK;
    s->unsent = 1; /* until `commit` */
    for (int k = 0; k < massive && !status; k++) status = put_as(s, s->active[k], &s->row[k].after, time);
    status = store(s, status);
    for (int k = 0; k < s->rows; k++)
        for (int d = 0; d < s->given; d++) memcpy(s->target[d][k], s->row[k].after.d[d], sizeof s->target[d][k]);
    return status ? status : sum_at_targets(s, l);
}

/* Corrects the rows, as often as the scheme does. */
static int correct(struct hermite_host *s, struct hermite_loop *l, int massive)
{
    int status = SAPPORO_OK;
    for_all(l, s->rows, judge_some);
    for (int k = 1; k < s->settings.iterations && !l->step->start && !has_bad(s, &status); k++) {
        status = evaluate_again(s, l, massive);
        if (status) break;
        for_all(l, s->rows, judge_some);
    }
    return status;
}

static int judge(struct sap_stepper *stepper, const struct sap_step *step, const struct sap_step_active *active,
                 struct sap_step_told *told)
{
    struct hermite_host *const s = of(stepper);
    struct hermite_loop l = {.s = s, .step = step};
    memset(told, 0, sizeof *told);
    told->bad = -1;
    const int status = correct(s, &l, active->massive);
    if (status) return status;
    for (int k = 0; k < s->rows; k++) {
        const int i = s->address[k], level = s->row[k].after.level;
        if (s->row[k].bad && (told->bad < 0 || i < told->bad)) told->bad = i;
        told->levels[level]++;
        told->massless[level] += k >= active->massive;
        told->close += s->nearest && s->nearest_r2[k] < s->settings.close2;
    }
    return SAPPORO_OK;
}

/* A failure here leaves the particles moved; the context gets all of them at the next force. */
static int commit(struct sap_stepper *stepper, const struct sap_step *step, const struct sap_step_active *active)
{
    struct hermite_host *const s = of(stepper);
    const double time = sap_hermite_after(step);
    int status = SAPPORO_OK; /* the active particles that were sent where iterations had them are sent again */
    for (int k = 0; k < s->rows; k++) s->body[s->address[k]] = s->row[k].after;
    for (int k = 0; k < active->massive && !status; k++) status = put(s, s->active[k], time);
    s->unsent = store(s, status) != SAPPORO_OK;
    return SAPPORO_OK;
}

/* ---- outputs ----------------------------------------------------------------------------------- */

static void at_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct hermite_loop *const l = argument;
    for (int i = (int)from; i < to; i++) {
        double out[MOST][3] = {{0}};
        predict_one(l->s, l->step, 1, i, out);
        if (l->x) memcpy(l->x[i], out[0], sizeof out[0]);
        if (l->v) memcpy(l->v[i], out[1], sizeof out[1]);
    }
}

static int at(struct sap_stepper *stepper, const struct sap_step *step, sapporo_memory where, double (*x)[3],
              double (*v)[3])
{
    struct hermite_host *const s = of(stepper);
    struct hermite_loop l = {.s = s, .step = step, .x = x, .v = v};
    if (where != SAPPORO_MEMORY_HOST) return SAPPORO_ERR_UNSUPPORTED;
    for_all(&l, s->n, at_some);
    return SAPPORO_OK;
}

/* Sums runs of particles, in order within each run; forced: with the potentials of a force on all with mass. */
static void sum_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct hermite_loop *const l = argument;
    const struct hermite_host *const s = l->s;
    for (int run = (int)from; run < to; run++) {
        double *const sum = l->sum + (size_t)run * SAP_STEP_SUMS;
        memset(sum, 0, SAP_STEP_SUMS * sizeof *sum);
        for (int i = run * SAP_STEP_RUN; i < s->n && i < (run + 1) * SAP_STEP_RUN; i++) {
            const int slot = sap_step_slot(&s->order, i);
            double out[MOST][3] = {{0}}, outer[3] = {0, 0, 0}, field = 0;
            predict_one(s, l->step, 1, i, out);
            sap_field_add(&s->settings.fields, out[0], outer, &field);
            const double forced = slot < s->order.massive ? s->pot[slot] : 0;
            sap_step_add(sum, s->body[i].mass, out[0], out[1], l->forced ? forced : s->body[i].pot, field);
        }
    }
}

static int sums(struct sap_stepper *stepper, const struct sap_step *step, int forced, double *sum)
{
    struct hermite_host *const s = of(stepper);
    struct hermite_loop l = {.s = s, .step = step, .forced = forced, .sum = sum};
    const int runs = (s->n + SAP_STEP_RUN - 1) / SAP_STEP_RUN, threads = sap_threads_now(s->threads);
    sap_team_for(threads, runs, sap_team_chunk(runs, threads, 1), sum_some, &l);
    return SAPPORO_OK;
}

static int pots(struct sap_stepper *stepper, sapporo_memory where, double *to)
{
    const struct hermite_host *const s = of(stepper);
    if (where != SAPPORO_MEMORY_HOST) return SAPPORO_ERR_UNSUPPORTED;
    for (int slot = 0; slot < s->n; slot++) to[sap_step_address(&s->order, slot)] = s->pot[slot];
    return SAPPORO_OK;
}

const struct sap_stepper_ops sap_hermite_host = {
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
    .pots = pots,
    .words = words,
};
