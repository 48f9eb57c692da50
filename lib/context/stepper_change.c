/*
 * stepper_change.c - adds particles to a stepper, and removes some, at the present time.
 *
 * The particles that stay are taken again as they are saved and restored, so they keep every bit, on every engine.
 * Those that are added get first forces and steps from a start of all particles at their present positions.
 */
#include "physics/ops_scalar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "context/call.h"
#include "context/stepper_private.h"

enum { LABELS = SAP_STEP_COLUMNS, ALL = SAP_STEP_COLUMNS + 1 };

/* Columns of particles by address, as they are saved; LABELS: labels, with lengths if there are any. */
struct particle_columns {
    int n;
    size_t width[ALL]; /* bytes per particle; 0: there is no such column */
    void *at[ALL];
    int *nearest; /* NULL: the stepper keeps no neighbours, as is nearest_r2 */
    double *nearest_r2;
};

/* A change: particles of addresses from[0 .. kept-1] stay, in this order, and those of *add follow. */
struct change {
    const sapporo_stepper_particles *add;
    int *from, kept;
    int others_have_lengths; /* particles that any part adds have lengths */
    long long added;         /* by all parts */
    long long sources;       /* particles with mass that all parts add or remove */
    struct particle_columns before, after;
    double (*x)[3], (*v)[3]; /* of the particles after it, at the present time */
};

/* ---- columns ------------------------------------------------------------------------------- */

static void drop(struct particle_columns *c)
{
    for (int k = 0; k < ALL; k++) free(c->at[k]);
    free(c->nearest);
    free(c->nearest_r2);
}

/* Makes columns of zeros; label: bytes per label. */
static int make(const sapporo_stepper *s, int n, size_t label, struct particle_columns *c)
{
    const size_t rows = (size_t)n + 1;
    int whole = 1;
    c->n = n;
    for (int k = 0; k < ALL; k++) {
        c->width[k] = k == LABELS ? label : sap_stepper_saved_width(s, (enum sap_step_column)k);
        if (c->width[k] > 0) c->at[k] = calloc(rows, c->width[k]);
        whole = whole && (c->width[k] == 0 || c->at[k]);
    }
    if (!s->settings.nearest) return whole ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
    c->nearest = calloc(rows, sizeof *c->nearest);
    c->nearest_r2 = calloc(rows, sizeof *c->nearest_r2);
    return whole && c->nearest && c->nearest_r2 ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
}

/* Reads the particles of the engine. */
static int read_all(sapporo_stepper *s, struct particle_columns *c)
{
    int status = SAPPORO_OK;
    if (s->n == 0) return status;
    for (int k = 0; k < LABELS && !status; k++)
        if (c->width[k] > 0) status = s->ops->read(s->particles, (enum sap_step_column)k, c->at[k]);
    if (!status && c->nearest) status = s->ops->read(s->particles, SAP_STEP_NEAREST, c->nearest);
    if (!status && c->nearest) status = s->ops->read(s->particles, SAP_STEP_NEAREST_R2, c->nearest_r2);
    return status;
}

static char *row_of(const struct particle_columns *c, int column, int i)
{
    return (char *)c->at[column] + (size_t)i * c->width[column];
}

static double mass_of(const struct particle_columns *c, int i) { return ((const double *)c->at[SAP_STEP_MASS])[i]; }

/* Gives the engine particles at the present time. */
static int take(sapporo_stepper *s, const struct particle_columns *c, struct sap_stepper_clock clock)
{
    int status = sap_stepper_take_saved(s, c->n, &clock, (const void *const *)c->at, c->width[LABELS]);
    if (status || !c->nearest) return status;
    status = s->ops->write(s->particles, SAP_STEP_NEAREST, c->nearest);
    if (!status) status = s->ops->write(s->particles, SAP_STEP_NEAREST_R2, c->nearest_r2);
    return status ? sap_stepper_failed(s, status, "nearest neighbours") : SAPPORO_OK;
}

/* ---- the particles after a change ------------------------------------------------------------ */

/* Copies the particles that stay. */
static void keep(const struct change *g)
{
    const struct particle_columns *const before = &g->before, *const after = &g->after;
    for (int column = 0; column < ALL; column++)
        for (int k = 0; k < g->kept && before->width[column] > 0; k++)
            memcpy(row_of(after, column, k), row_of(before, column, g->from[k]), before->width[column]);
    for (int k = 0; k < g->kept && after->nearest; k++) {
        after->nearest[k] = before->nearest[g->from[k]];
        after->nearest_r2[k] = before->nearest_r2[g->from[k]];
    }
}

/* Writes the particles that are added, without forces. */
static void append(const sapporo_stepper *s, const struct change *g)
{
    const struct particle_columns *const after = &g->after;
    const sapporo_stepper_particles *const p = g->add;
    for (int k = g->kept; k < after->n; k++) {
        const int i = k - g->kept;
        const double mass = sap_column_double(&p->mass, i) * s->tree_settings.gravity;
        const double h = p->h.base ? sap_column_double(&p->h, i) : sap_stepper_usual_length(s);
        long long label = k;
        memcpy(row_of(after, SAP_STEP_X, k), sap_column_at(&p->x, i, sizeof *g->x), sizeof *g->x);
        memcpy(row_of(after, SAP_STEP_V, k), sap_column_at(&p->v, i, sizeof *g->v), sizeof *g->v);
        memcpy(row_of(after, SAP_STEP_MASS, k), &mass, sizeof mass);
        if (p->label.base) memcpy(&label, sap_column_at(&p->label, i, sizeof label), sizeof label);
        memcpy(row_of(after, LABELS, k), &label, sizeof label);
        if (after->width[LABELS] == SAP_LABEL_LENGTH) memcpy(row_of(after, LABELS, k) + SAP_LABEL_ALONE, &h, sizeof h);
        memcpy(g->x[k], row_of(after, SAP_STEP_X, k), sizeof *g->x);
        memcpy(g->v[k], row_of(after, SAP_STEP_V, k), sizeof *g->v);
        if (after->width[SAP_STEP_BUILT] > 0) memcpy(row_of(after, SAP_STEP_BUILT, k), g->x[k], sizeof *g->x);
    }
}

/* Finds where the particles that stay are at the present time; first all that there are. */
static int find_present(sapporo_stepper *s, const struct change *g)
{
    const struct sap_step now = sap_stepper_now(s);
    const int status = s->n > 0 ? s->ops->at(s->particles, &now, SAPPORO_MEMORY_HOST, g->x, g->v) : SAPPORO_OK;
    for (int k = 0; k < g->kept && !status; k++) {
        memmove(g->x[k], g->x[g->from[k]], sizeof *g->x);
        memmove(g->v[k], g->v[g->from[k]], sizeof *g->v);
    }
    return status;
}

/* Local.  Makes the particles before and after the change. */
static int prepare(sapporo_stepper *s, struct change *g)
{
    const int n = g->kept + (g->add ? g->add->n : 0), most = n > s->n ? n : s->n;
    const int has_lengths = s->has_lengths || g->others_have_lengths;
    g->x = malloc(((size_t)most + 1) * sizeof *g->x);
    g->v = malloc(((size_t)most + 1) * sizeof *g->v);
    int status = g->x && g->v ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
    if (!status) status = make(s, s->n, sap_stepper_saved_width(s, SAP_STEP_COLUMNS), &g->before);
    if (!status) status = make(s, n, has_lengths ? SAP_LABEL_LENGTH : SAP_LABEL_ALONE, &g->after);
    if (!status) status = read_all(s, &g->before);
    if (!status) sap_stepper_read_labels(s, g->before.at[LABELS]);
    if (!status) status = find_present(s, g);
    if (!status) keep(g);
    if (!status) append(s, g);
    return status ? sap_stepper_failed(s, status, "a change of particles") : SAPPORO_OK;
}

/* Collective of a part.  Changes the numbers of nearest neighbours by the new addresses of this part's particles. */
static int renumber(sapporo_stepper *s, const struct change *g, const int *to)
{
    int *const nearest = g->after.nearest;
    if (s->is_part) return s->whole.renumber(s->whole.of, g->before.n, g->after.n, to, g->kept, nearest);
    for (int k = 0; k < g->kept; k++) nearest[k] = nearest[k] < 0 ? -1 : to[nearest[k]];
    return SAPPORO_OK;
}

/* Collective of a part.  Nearest neighbours get their new addresses or numbers; those that are gone are unknown. */
static int keep_nearest(sapporo_stepper *s, const struct change *g)
{
    if (!s->settings.nearest) return SAPPORO_OK;
    int *const to = malloc(((size_t)g->before.n + 1) * sizeof *to);
    for (int i = 0; i < g->before.n && to; i++) to[i] = -1;
    for (int k = 0; k < g->kept && to; k++) to[g->from[k]] = k;
    int status = to ? SAPPORO_OK : fail(s, SAPPORO_ERR_MEMORY, "no memory for the neighbours of %d particles", s->n);
    status = sap_stepper_agree(s, status);
    if (!status) {
        status = renumber(s, g, to);
        if (status) (void)sap_stepper_failed(s, status, "nearest neighbours");
    }
    free(to);
    for (int k = 0; k < g->kept; k++)
        if (g->after.nearest[k] < 0) g->after.nearest_r2[k] = INFINITY;
    return status;
}

/* Collective of a part.  Counts the particles that are added, and those with mass that are added or removed. */
static int count(sapporo_stepper *s, struct change *g)
{
    long long number[2] = {g->after.n - g->kept, s->massive};
    for (int k = 0; k < g->kept; k++) number[1] -= mass_of(&g->after, k) != 0;
    for (int k = g->kept; k < g->after.n; k++) number[1] += mass_of(&g->after, k) != 0;
    const int status = s->is_part ? s->whole.add_counts(s->whole.of, number, 2) : SAPPORO_OK;
    g->added = number[0];
    g->sources = number[1];
    return status ? sap_stepper_failed(s, status, "counting particles") : SAPPORO_OK;
}

/* ---- first forces ---------------------------------------------------------------------------- */

/* Returns the coarsest level from `level` on whose steps may begin at the present time. */
static int align(const sapporo_stepper *s, int level)
{
    while (level < s->settings.rule.levels - 1 && sap_step_behind(s->clock.tick, level, 1) != 0) level++;
    return level;
}

/* Gives the particles that are added what they have in `begun`, after a start of all. */
static void begin_added(const sapporo_stepper *s, const struct change *g, const struct particle_columns *begun)
{
    static const int column[] = {SAP_STEP_A, SAP_STEP_POT, SAP_STEP_HIGHER};
    const struct particle_columns *const after = &g->after;
    for (int k = g->kept; k < after->n; k++) {
        int level;
        for (size_t c = 0; c < sizeof column / sizeof column[0]; c++)
            if (after->width[column[c]] > 0)
                memcpy(row_of(after, column[c], k), row_of(begun, column[c], k), after->width[column[c]]);
        memcpy(&level, row_of(begun, SAP_STEP_LEVEL, k), sizeof level);
        level = align(s, level);
        memcpy(row_of(after, SAP_STEP_LEVEL, k), &level, sizeof level);
        if (!after->nearest) continue;
        after->nearest[k] = begun->nearest[k];
        after->nearest_r2[k] = begun->nearest_r2[k];
    }
}

/* Collective of a part.  Starts all particles at the present time, for those that are added. */
static int start_all(sapporo_stepper *s, const struct change *g, struct particle_columns *begun)
{
    const void *at[ALL];
    memcpy(at, g->after.at, sizeof at);
    at[SAP_STEP_X] = at[SAP_STEP_BUILT] = g->x;
    at[SAP_STEP_V] = g->v;
    int status = sap_stepper_take_orbits(s, g->after.n, at, g->after.width[LABELS]);
    if (!status) status = sap_stepper_first_forces(s);
    if (status) return status;
    status = make(s, g->after.n, g->after.width[LABELS], begun);
    if (!status) status = read_all(s, begun);
    if (status) (void)sap_stepper_failed(s, status, "forces on particles that are added");
    return sap_stepper_agree(s, status);
}

/* ---- a change -------------------------------------------------------------------------------- */

/*
 * Collective of a part.  Gives the engine the particles after the change.  If only massless particles have changed, the
 * tree stays that of its last build; otherwise a tree of the present begins.
 */
static int replace(sapporo_stepper *s, const struct change *g)
{
    struct sap_stepper_clock clock = s->clock;
    struct particle_columns begun = {.n = 0};
    int status = g->added > 0 ? start_all(s, g, &begun) : SAPPORO_OK;
    if (!status && g->added > 0) begin_added(s, g, &begun);
    drop(&begun);
    if (status) return status;
    if (g->sources > 0) clock.massive = 0; /* potentials of all are old */
    if (g->sources > 0 && g->after.width[SAP_STEP_BUILT] > 0)
        memcpy(g->after.at[SAP_STEP_BUILT], g->x, (size_t)g->after.n * sizeof *g->x);
    status = take(s, &g->after, clock);
    if (!status && g->sources > 0) sap_stepper_note_build(s, &s->clock);
    return status;
}

/* Collective of a part.  Makes a change; if that fails, the particles are those before it, if possible. */
static int change(sapporo_stepper *s, struct change *g)
{
    const struct sap_stepper_clock clock = s->clock;
    int status = sap_stepper_agree(s, prepare(s, g));
    if (!status) status = keep_nearest(s, g);
    if (!status) status = count(s, g);
    if (!status) {
        status = replace(s, g);
        if (status) (void)take(s, &g->before, clock);
    }
    drop(&g->before);
    drop(&g->after);
    free(g->x);
    free(g->v);
    return status;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int check_added(sapporo_stepper *s, const sapporo_stepper_particles *given, sapporo_stepper_particles *p)
{
    const double now = sap_stepper_time(s, s->clock.long_step, s->clock.tick);
    if (!s->ready) return sap_stepper_empty(s);
    const int status = sap_stepper_check_particles(s, given, s->n, p);
    if (status) return status;
    if (p->memory != SAPPORO_MEMORY_HOST)
        return fail(s, SAPPORO_ERR_UNSUPPORTED, "particles that are added come from host memory");
    if (p->time != now)
        return fail(s, SAPPORO_ERR_ARGUMENT, "time is %.17g; particles are added at the present time %.17g", p->time,
                    now);
    return SAPPORO_OK;
}

/* Adds particles to those that there are. */
static int add(sapporo_stepper *s, const sapporo_stepper_particles *p)
{
    struct change g = {.add = p, .from = malloc(((size_t)s->n + 1) * sizeof *g.from), .kept = s->n};
    int status = g.from ? SAPPORO_OK : fail(s, SAPPORO_ERR_MEMORY, "no memory to add %d particles", p->n);
    for (int k = 0; k < s->n && g.from; k++) g.from[k] = k;
    status = sap_stepper_agree(s, status);
    if (!status) status = sap_stepper_share_lengths(s, &p->h, &g.others_have_lengths);
    if (!status) status = change(s, &g);
    free(g.from);
    return status;
}

int sapporo_stepper_add(sapporo_stepper *stepper, const sapporo_stepper_particles *particles)
{
    sapporo_stepper_particles p = {.n = 0};
    struct sap_public_call call;
    sapporo_stepper *const s = sap_call_begin(&call, SAP_HANDLE_STEPPER, stepper);
    if (!s) return SAPPORO_ERR_CLOSED;
    int status = sap_stepper_agree(s, check_added(s, particles, &p));
    if (!status) status = add(s, &p);
    return sap_call_end(&call, status);
}

/* Marks the particles that go: goes[address] = 1. */
static int mark(sapporo_stepper *s, int n, const int *address, char *goes)
{
    for (int k = 0; k < n; k++) {
        const int i = address[k];
        if (i < 0 || i >= s->n)
            return fail(s, SAPPORO_ERR_ARGUMENT, "address %d; the stepper has addresses 0 to %d", i, s->n - 1);
        if (goes[i]) return fail(s, SAPPORO_ERR_ARGUMENT, "address %d is there twice", i);
        goes[i] = 1;
    }
    return SAPPORO_OK;
}

/* Lists the particles that stay. */
static int list_kept(sapporo_stepper *s, int n, const int *address, struct change *g)
{
    const int least = s->is_part ? 0 : 1, most = s->n - least;
    if (!s->ready) return sap_stepper_empty(s);
    if (n < least || n > most)
        return fail(s, SAPPORO_ERR_ARGUMENT, "%d particles to remove of %d; it may be %d to %d", n, s->n, least, most);
    if (n > 0 && !address) return fail(s, SAPPORO_ERR_ARGUMENT, "no addresses of particles to remove");
    char *const goes = calloc((size_t)s->n + 1, sizeof *goes);
    g->from = malloc(((size_t)s->n + 1) * sizeof *g->from);
    int status = goes && g->from ? mark(s, n, address, goes)
                                 : fail(s, SAPPORO_ERR_MEMORY, "no memory to remove %d particles", n);
    for (int i = 0; i < s->n && !status && goes && g->from; i++)
        if (!goes[i]) g->from[g->kept++] = i;
    free(goes);
    return status;
}

int sapporo_stepper_remove(sapporo_stepper *stepper, int n, const int *address)
{
    struct change g = {.add = NULL};
    struct sap_public_call call;
    sapporo_stepper *const s = sap_call_begin(&call, SAP_HANDLE_STEPPER, stepper);
    if (!s) return SAPPORO_ERR_CLOSED;
    int status = sap_stepper_agree(s, list_kept(s, n, address, &g));
    if (!status) status = change(s, &g);
    free(g.from);
    return sap_call_end(&call, status);
}
