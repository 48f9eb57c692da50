/* stepper_run.c - the steps of a stepper: which particles are active, trees, times. */
#include "physics/ops_scalar.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/structs.h"
#include "context/call.h"
#include "context/stepper_private.h"

_Static_assert(SAP_STEP_LEVELS <= (int)SAP_REBUILD_CLASSES, "a force has the class of its coarsest level");

double sap_stepper_time(const sapporo_stepper *s, long long long_step, int tick)
{
    return s->clock.start + s->signature.dt * ((double)long_step + (double)tick * (1.0 / SAP_STEP_TICKS));
}

struct sap_step sap_stepper_now(const sapporo_stepper *s)
{
    return (struct sap_step){.dt = s->signature.dt, .tick = s->clock.tick};
}

/* Sets the error of a call that failed; words: why.  Statuses of ranks have no text in this library. */
static int failed_with(sapporo_stepper *s, int status, const char *what, const char *words)
{
    const int of_ranks = s->is_part && status < -100 && words[0];
    return fail(s, status, "%s: %s%s%s; the particles are those of time %.17g", what,
                of_ranks ? "" : sapporo_status_text(status), words[0] && !of_ranks ? ": " : "", words,
                sap_stepper_time(s, s->clock.long_step, s->clock.tick));
}

int sap_stepper_failed(sapporo_stepper *s, int status, const char *what)
{
    const char *const of_whole = s->is_part ? s->whole.words(s->whole.of) : "";
    return failed_with(s, status, what,
                       of_whole[0]                             ? of_whole
                       : !s->is_part && s->direct.source.force ? sapporo_last_error(s->direct.context)
                                                               : s->ops->words(s->particles));
}

/* Of a part on a device, whose calls may fail on it alone: agrees on their status. */
static int agree_on_device(sapporo_stepper *s, int status)
{
    return s->whole.source.place || s->whole.source.sharing ? sap_stepper_agree(s, status) : status;
}

int sap_stepper_agree(sapporo_stepper *s, int status)
{
    return s->is_part ? s->whole.agree(s->whole.of, status, s->object.notes.error) : status;
}

int sap_stepper_empty(sapporo_stepper *s)
{
    return fail(s, SAPPORO_ERR_ARGUMENT, "the stepper has no particles: set them first");
}

/* Collective of a part.  Adds the particles per level, and the active ones of the last step, over all parts. */
static int add_present(sapporo_stepper *s)
{
    enum { NUMBERS = 2 * SAP_STEP_LEVELS + 1 };
    long long number[NUMBERS];
    for (int k = 0; k < SAP_STEP_LEVELS; k++) {
        number[k] = s->level[k];
        number[SAP_STEP_LEVELS + k] = s->massless[k];
    }
    number[NUMBERS - 1] = s->clock.massive;
    const int status = s->is_part ? s->whole.add_counts(s->whole.of, number, NUMBERS) : SAPPORO_OK;
    memcpy(s->all.level, number, sizeof s->all.level);
    memcpy(s->all.massless, number + SAP_STEP_LEVELS, sizeof s->all.massless);
    s->all.moved = number[NUMBERS - 1];
    return status ? sap_stepper_failed(s, status, "counting particles") : SAPPORO_OK;
}

int sap_stepper_count_levels(sapporo_stepper *s, const void *level, const void *mass)
{
    const sapporo_column levels = {level, 0}, masses = {mass, 0};
    memset(s->level, 0, sizeof s->level);
    memset(s->massless, 0, sizeof s->massless);
    for (int i = 0; i < s->n; i++) {
        int mine;
        memcpy(&mine, sap_column_at(&levels, i, sizeof mine), sizeof mine);
        s->level[mine]++;
        s->massless[mine] += sap_column_double(&masses, i) == 0;
    }
    return add_present(s);
}

/* ---- trees ----------------------------------------------------------------------------------- */

static int failed_tree(sapporo_stepper *s, int status, const char *what)
{
    return failed_with(s, status, what, s->tree->ops->words(s->tree));
}

/* Whether there is a tree to build: some particles have a mass. */
static int has_tree(const sapporo_stepper *s) { return s->tree && s->all.massive > 0; }

int sap_stepper_build(sapporo_stepper *s)
{
    if (!s->tree) return SAPPORO_OK;
    const int status = has_tree(s) ? s->tree->ops->build(s->tree) : SAPPORO_OK;
    if (status) return failed_tree(s, status, "building the tree of a stepper");
    const int kept = s->ops->note_build(s->particles);
    return agree_on_device(s, kept ? sap_stepper_failed(s, SAPPORO_ERR_DEVICE, "keeping positions") : 0);
}

static int refresh(sapporo_stepper *s)
{
    const int status = has_tree(s) ? s->tree->ops->refresh(s->tree) : SAPPORO_OK;
    return status ? failed_tree(s, status, "refreshing the tree of a stepper") : SAPPORO_OK;
}

/* Whether measured times ask for a build; says by which model. */
static int times_ask(const sapporo_stepper *s)
{
    enum sap_rebuild_model model;
    if (!sap_rebuild_pays(&s->times, &model)) return 0;
    sap_log(SAPPORO_LOG_INFO, "stepper: a build after %d steps, by %s of times", s->times.n, sap_rebuild_name(model));
    return 1;
}

void sap_stepper_forget_times(sapporo_stepper *s)
{
    s->times = (struct sap_rebuild){.n = 0};
    s->interval = 0;
    if (!s->tunes_groups) return;
    sap_group_tuner_start(&s->groups, 1);
    sap_group_tuner_note(&s->groups, 1, 0, 0); /* the build that follows */
    s->tree->ops->limit(s->tree, s->groups.extent);
}

static void tell_groups(const struct sap_group_tuner *g)
{
    if (g->found > 0)
        sap_log(SAPPORO_LOG_INFO, "stepper: groups of at most %.3g; forces take %.3f of the time, after %d trials",
                g->found, g->share, g->trials);
    else
        sap_log(SAPPORO_LOG_INFO, "stepper: groups without a limit; with one, forces take %.3f of the time", g->share);
}

/* Before a build: if the present limit of groups has been measured, gives the tree the next one. */
static int limit_groups(sapporo_stepper *s)
{
    double median = 0, largest = 0;
    int status = SAPPORO_OK;
    if (!sap_group_tuner_is_ready(&s->groups)) return SAPPORO_OK;
    if (sap_group_tuner_needs_extents(&s->groups)) status = s->tree->ops->extents(s->tree, &median, &largest);
    if (status) return failed_tree(s, status, "extents of groups");
    if (sap_group_tuner_next(&s->groups, median, largest)) tell_groups(&s->groups);
    s->tree->ops->limit(s->tree, s->groups.extent);
    return SAPPORO_OK;
}

/* Whether the present tree is not that of the particles: it must be built, whatever forces cost. */
static int lacks_tree(const sapporo_stepper *s)
{
    return has_tree(s) && (s->signature.rebuild == 1 || s->tree->ops->count(s->tree, 1) != s->massive);
}

/* Copies the particles with mass per level, of all parts. */
static void count_massive(const sapporo_stepper *s, long long *count)
{
    for (int level = 0; level < SAP_STEP_LEVELS; level++) count[level] = s->all.level[level] - s->all.massless[level];
}

/* The ticks of a landing, at least 1; 0: of a step that is none. */
static long long ticks_of_rest(const struct sap_step *step)
{
    return step->rest > 0 ? 1 + (long long)(step->rest / step->dt * SAP_STEP_TICKS) : 0;
}

/* A force of a step, but for its interactions; its price is that of a build. */
static struct sap_life_force force_of(const sapporo_stepper *s, const struct sap_step *step)
{
    long long count[SAP_STEP_LEVELS];
    double active = 0;
    int finest = SAP_STEP_LEVELS - 1;
    count_massive(s, count);
    for (int level = step->coarsest; level < SAP_STEP_LEVELS; level++) active += (double)count[level];
    while (finest > 0 && count[finest] == 0) finest--;
    return (struct sap_life_force){.class = sap_life_class(count, step->coarsest),
                                   .active = active,
                                   .price =
                                       sap_life_price(&s->clock.life, sap_life_class(count, 0), (double)s->all.massive),
                                   .step = SAP_STEP_TICKS >> finest,
                                   .ticks = step->tick - s->clock.tick + ticks_of_rest(step)};
}

/* Whether counts of interactions decide about builds: always with `rebuild` 0, and until a build has been timed. */
static int counts_decide(const sapporo_stepper *s)
{
    return s->signature.rebuild <= 0 && !(s->is_timed && s->times.build > 0);
}

/*
 * Whether the next step, of `massive` particles with mass, builds the tree for a force. Groups that get another limit
 * need a build, too. Steps of massless particles alone ask for no build, so these particles change no bit of the orbits
 * of the others.
 */
static int must_build(const sapporo_stepper *s, long long massive, const struct sap_life_force *force)
{
    const int every = s->signature.rebuild;
    if (lacks_tree(s)) return 1;
    if (!has_tree(s) || massive == 0) return 0;
    if (every > 0) return s->clock.since + 1 >= every;
    if (sap_group_tuner_is_ready(&s->groups)) return 1;
    return counts_decide(s) ? sap_life_ends(&s->clock.life, force) : times_ask(s);
}

/*
 * Returns how long after its build, in ticks, a tree that is built now for a force should be best: half of the life of
 * the present one. Cells that are fixed while particles leave them make errors that are correlated with velocities; the
 * errors of the two halves of a life cancel. A tree of one step has no halves.
 */
static long long lead_of_build(const sapporo_stepper *s, const struct sap_life_force *force)
{
    if (!has_tree(s) || s->signature.rebuild == 1) return 0;
    return counts_decide(s) ? sap_life_lead(&s->clock.life, force) : s->clock.life.used / 2;
}

/* Counts a build for `lead` ticks later, or a refresh (lead < 0), and notes what the force of the step has cost. */
static void note_tree(const sapporo_stepper *s, struct sap_stepper_clock *c, long long lead,
                      struct sap_life_force force)
{
    const int built = lead >= 0;
    if (!has_tree(s)) return;
    c->since = built ? 0 : c->since + (force.active > 0);
    c->life.age += force.ticks;
    if (built) sap_life_begin(&c->life, lead, &force);
    c->builds += built;
    c->refreshes += !built;
    if (!(force.active > 0)) return;
    force.interactions = s->tree->ops->interactions(s->tree);
    sap_life_note(&c->life, &force);
}

/* ---- times ------------------------------------------------------------------------------------ */

/* Notes the time of a phase that began at *since; the next phase begins now. */
static void end_phase(sapporo_stepper *s, enum sapporo_step_phase phase, double *since)
{
    const double now = sap_clock_seconds();
    s->seconds[phase] = now - *since;
    *since = now;
}

/* ---- a step ------------------------------------------------------------------------------------ */

static int not_finite(sapporo_stepper *s, const char *what, int i)
{
    return fail(s, SAPPORO_ERR_NOT_FINITE, "%s of particle %d is not finite; the particles are those of time %.17g",
                what, i, sap_stepper_time(s, s->clock.long_step, s->clock.tick));
}

/* Seconds in whole nanoseconds, of which parts add the same numbers in any order. */
static long long nanoseconds(double seconds) { return (long long)(1e9 * seconds); }

/*
 * Adds the particles that have chosen each level, the close ones, and the times of the step, over all parts; mine: the
 * status of this part.  Parts agree only if some part has failed.
 */
static int add_levels(sapporo_stepper *s, int mine, const struct sap_step_told *told, struct sap_stepper_counts *next)
{
    enum { TREE = 2 * SAP_STEP_LEVELS, FORCE, CLOSE, FAILED, NUMBERS };
    long long number[NUMBERS];
    if (!s->is_part && mine) return mine;
    for (int level = 0; level < SAP_STEP_LEVELS; level++) {
        number[level] = told->levels[level];
        number[SAP_STEP_LEVELS + level] = told->massless[level];
    }
    number[TREE] = nanoseconds(s->seconds[SAPPORO_STEP_PHASE_TREE]);
    number[FORCE] = nanoseconds(s->seconds[SAPPORO_STEP_PHASE_FORCE]);
    number[CLOSE] = told->close;
    number[FAILED] = mine != 0;
    const int status = s->is_part ? s->whole.add_counts(s->whole.of, number, NUMBERS) : SAPPORO_OK;
    if (!status && number[FAILED] > 0) return sap_stepper_agree(s, mine);
    memcpy(next->level, number, sizeof next->level);
    memcpy(next->massless, number + SAP_STEP_LEVELS, sizeof next->massless);
    next->close = number[CLOSE];
    s->tree_seconds = 1e-9 * (double)number[TREE];
    s->force_seconds = 1e-9 * (double)number[FORCE];
    return status ? sap_stepper_failed(s, status, "counting particles") : SAPPORO_OK;
}

/* Computes forces on the active particles, and checks them; next: the particles of all parts per level. */
static int judge_forces(sapporo_stepper *s, const struct sap_step *step, const struct sap_step_active *active,
                        struct sap_step_told *told, struct sap_stepper_counts *next, double *since)
{
    int status = s->ops->force(s->particles, step, active);
    if (status) (void)sap_stepper_failed(s, status, "forces of a step");
    if (status && !s->whole.source.sharing) return status; /* all parts have it */
    end_phase(s, SAPPORO_STEP_PHASE_FORCE, since);
    *told = (struct sap_step_told){.bad = -1};
    if (status) return add_levels(s, status, told, next);
    status = s->ops->judge(s->particles, step, active, told);
    if (status)
        (void)sap_stepper_failed(s, status, "time steps");
    else if (told->bad >= 0)
        status = not_finite(s, "force or velocity", told->bad);
    return add_levels(s, status, told, next);
}

/* Computes forces on the active particles, checks them, and moves the particles. */
static int finish_step(sapporo_stepper *s, const struct sap_step *step, const struct sap_step_active *active,
                       struct sap_step_told *told, struct sap_stepper_counts *next)
{
    double since = sap_clock_seconds();
    int status = judge_forces(s, step, active, told, next, &since);
    if (status) return status;
    status = s->ops->commit(s->particles, step, active);
    status = agree_on_device(s, status ? sap_stepper_failed(s, status, "correcting particles") : SAPPORO_OK);
    if (status) return status;
    end_phase(s, SAPPORO_STEP_PHASE_CORRECT, &since);
    return SAPPORO_OK;
}

/* Notes the times of a complete step. */
static void note_times(sapporo_stepper *s, const struct sap_step *step, int built, int early)
{
    if (!s->is_timed) return;
    sap_rebuild_note(&s->times, built, early, s->tree_seconds, s->force_seconds, step->coarsest);
    const int tick = step->rest > 0 ? 0 : step->tick % SAP_STEP_TICKS; /* a landing ends a long step */
    sap_group_tuner_note(&s->groups, built, s->seconds[SAPPORO_STEP_PHASE_FORCE], tick);
}

/* The next step: its end and its active particles. */
static struct sap_step next_step(const sapporo_stepper *s, struct sap_step_active *active)
{
    struct sap_step step = {.dt = s->signature.dt};
    int finest = SAP_STEP_LEVELS - 1;
    while (finest > 0 && s->all.level[finest] == 0) finest--;
    step.tick = sap_step_next(s->clock.tick, finest, &step.coarsest);
    *active = (struct sap_step_active){.n = 0};
    for (int level = step.coarsest; level < SAP_STEP_LEVELS; level++) {
        active->n += s->level[level];
        active->massive += s->level[level] - s->massless[level];
    }
    return step;
}

/* Takes the levels that the active particles have chosen, and those of all parts. */
static void take_levels(sapporo_stepper *s, int coarsest, const struct sap_step_told *told,
                        const struct sap_stepper_counts *next)
{
    for (int level = coarsest; level < SAP_STEP_LEVELS; level++) {
        s->level[level] = told->levels[level];
        s->massless[level] = told->massless[level];
        s->all.level[level] = next->level[level];
        s->all.massless[level] = next->massless[level];
    }
}

/* Returns the active particles with mass of all parts in the next step. */
static long long count_moving(const sapporo_stepper *s, int coarsest)
{
    long long n = 0;
    for (int level = coarsest; level < SAP_STEP_LEVELS; level++) n += s->all.level[level] - s->all.massless[level];
    return n;
}

/* Predicts all particles: to the end of a step, or, with `done`, to the present time. */
static int predict(sapporo_stepper *s, const struct sap_step *step, int done)
{
    int bad, status = s->ops->predict(s->particles, step, done, &bad);
    if (status)
        (void)sap_stepper_failed(s, status, "predicting particles");
    else if (bad >= 0)
        status = not_finite(s, "predicted position", bad);
    const int is_later = s->settings.order && s->whole.source.sharing; /* forces predict */
    return is_later ? status : sap_stepper_agree(s, status);
}

/*
 * Builds the tree for the positions of a time `lead` ticks after a step; then gives it those at the end of the step.
 * SAPPORO_ERR_NOT_FINITE: such positions are beyond what a tree can hold.
 */
static int build_ahead(sapporo_stepper *s, const struct sap_step *step, long long lead)
{
    struct sap_step later = *step;
    int bad;
    later.ahead = s->signature.dt * ((double)lead * (1.0 / SAP_STEP_TICKS));
    int status = s->ops->predict(s->particles, &later, 0, &bad);
    if (status) (void)sap_stepper_failed(s, status, "predicting particles");
    if (!status && bad >= 0) status = SAPPORO_ERR_NOT_FINITE;
    status = sap_stepper_agree(s, status);
    if (!status) status = sap_stepper_build(s);
    if (!status) status = predict(s, step, 0);
    return status ? status : refresh(s);
}

/* Predicts all particles, and builds the tree for a time *lead ticks later; *lead becomes 0 where that is impossible.
 */
static int build(sapporo_stepper *s, const struct sap_step *step, long long *lead)
{
    double since = sap_clock_seconds();
    int status = SAPPORO_ERR_NOT_FINITE;
    s->seconds[SAPPORO_STEP_PHASE_PREDICT] = 0;
    if (*lead > 0) status = build_ahead(s, step, *lead);
    if (status == SAPPORO_ERR_NOT_FINITE) {
        *lead = 0;
        status = predict(s, step, 0);
        end_phase(s, SAPPORO_STEP_PHASE_PREDICT, &since);
        if (!status) status = sap_stepper_build(s);
    }
    end_phase(s, SAPPORO_STEP_PHASE_TREE, &since);
    return status;
}

/* Predicts all particles, and refreshes the tree. */
static int predict_and_refresh(sapporo_stepper *s, const struct sap_step *step)
{
    double since = sap_clock_seconds();
    int status = predict(s, step, 0);
    end_phase(s, SAPPORO_STEP_PHASE_PREDICT, &since);
    if (!status) status = refresh(s);
    end_phase(s, SAPPORO_STEP_PHASE_TREE, &since);
    return status;
}

/* The clock after a step. */
static struct sap_stepper_clock next_clock(const sapporo_stepper *s, const struct sap_step *step,
                                           const struct sap_step_active *active)
{
    struct sap_stepper_clock clock = s->clock;
    clock.long_step += step->tick == SAP_STEP_TICKS;
    clock.tick = step->tick == SAP_STEP_TICKS ? 0 : step->tick;
    if (step->rest > 0) clock.start = s->landing, clock.long_step = clock.tick = 0;
    clock.active = active->n;
    clock.massive = active->massive;
    clock.steps++;
    clock.particle_steps += active->n;
    return clock;
}

static int one_step(sapporo_stepper *s, const struct sap_step *step, const struct sap_step_active *active)
{
    struct sap_stepper_clock clock = next_clock(s, step, active);
    struct sap_stepper_counts next;
    struct sap_step_told told;
    const long long moving = count_moving(s, step->coarsest);
    const struct sap_life_force force = force_of(s, step);
    const int builds = must_build(s, moving, &force);
    long long lead = builds ? lead_of_build(s, &force) : -1;
    int status = builds ? limit_groups(s) : SAPPORO_OK;
    if (!status) status = builds ? build(s, step, &lead) : predict_and_refresh(s, step);
    if (!status) status = finish_step(s, step, active, &told, &next);
    if (status) return status;
    note_tree(s, &clock, lead, force);
    if (builds && moving > 0) s->interval = s->clock.since + 1;
    if (moving > 0) note_times(s, step, builds, clock.life.age < clock.life.lead);
    take_levels(s, step->coarsest, &told, &next);
    s->all.moved = moving;
    s->all.close = next.close;
    s->clock = clock;
    return SAPPORO_OK;
}

int sap_stepper_join(sapporo_stepper *s)
{
    long long number[2] = {s->massive, !s->wants_times};
    int status = s->is_part ? s->whole.begin(s->whole.of, s->n, s->massive, s->has_lengths) : SAPPORO_OK;
    if (!status && s->is_part) status = s->whole.add_counts(s->whole.of, number, 2);
    s->all = (struct sap_stepper_counts){.massive = number[0]};
    s->is_timed = number[1] == 0;
    return status ? sap_stepper_failed(s, status, "counting particles") : SAPPORO_OK;
}

int sap_stepper_first_forces(sapporo_stepper *s)
{
    const struct sap_step step = {.dt = s->signature.dt, .start = 1};
    const struct sap_step_active all = {.n = s->n, .massive = s->massive};
    struct sap_stepper_counts next;
    struct sap_step_told told;
    int status = sap_stepper_build(s);
    if (!status) status = finish_step(s, &step, &all, &told, &next);
    if (!status) take_levels(s, 0, &told, &next);
    return status;
}

int sap_stepper_start(sapporo_stepper *s)
{
    sap_stepper_forget_times(s);
    int status = sap_stepper_join(s);
    if (!status) status = sap_stepper_first_forces(s);
    if (status) return status;
    s->clock = (struct sap_stepper_clock){.start = s->clock.start, .active = s->n, .massive = s->massive};
    note_tree(s, &s->clock, 0, (struct sap_life_force){.active = (double)s->all.massive});
    s->all.moved = s->all.massive;
    return SAPPORO_OK;
}

void sap_stepper_note_build(const sapporo_stepper *s, struct sap_stepper_clock *clock)
{
    note_tree(s, clock, 0, (struct sap_life_force){.active = 0});
}

/* ---- advance ----------------------------------------------------------------------------------- */

int sap_stepper_check_step(sapporo_stepper *s, double from, double to, double step)
{
    if (to > from) return SAPPORO_OK;
    return fail(
        s, SAPPORO_ERR_ARGUMENT,
        "a step of %.3g does not change the time %.17g, which has 53 bits: count time from a start nearer to 0, "
        "or take longer steps; no step was made",
        step, from);
}

/* Times that differ by so much are equal: 2^-10 of the shortest step. */
static double slack_of(const sapporo_stepper *s) { return ldexp(s->signature.dt, -s->signature.levels - 9); }

/*
 * The same of a stepper that lands.  Times that differ by rounding alone are equal, so that a run whose steps end at
 * the times that it asks for makes no other steps.
 */
static double slack_of_landing(const sapporo_stepper *s, double time)
{
    return 8 * DBL_EPSILON * (fabs(time) + fabs(s->clock.start));
}

/*
 * Whether a stepper that lands makes no step to `end`, but one to `time`: if that is before `end`, or so little after
 * it that the step between them would be of rounding errors.
 */
static int is_last(const sapporo_stepper *s, double end, double time)
{
    const double slack = slack_of_landing(s, time), left = time - end;
    return left < -slack || (left > slack && left < slack_of(s));
}

/* Moves all particles to `time`, unless that is the present time. */
static int land(sapporo_stepper *s, double time)
{
    const struct sap_step_active all = {.n = s->n, .massive = s->massive};
    struct sap_step step = sap_stepper_now(s);
    step.rest = time - sap_stepper_time(s, s->clock.long_step, s->clock.tick);
    if (!(step.rest > slack_of_landing(s, time))) return SAPPORO_OK;
    s->landing = time;
    const int status = one_step(s, &step, &all);
    return !status && s->all.close > 0 ? (int)SAPPORO_STOPPED : status;
}

/*
 * The last tick of this long step at which a step may end that the engine makes by itself: before `time`, or before a
 * landing there; 0: it makes none, because times are not finer than steps.
 */
static int last_tick(const sapporo_stepper *s, double time, int lands)
{
    const double limit = lands ? time - slack_of(s) : time + slack_of(s);
    const double begin = sap_stepper_time(s, s->clock.long_step, 0), end = begin + s->signature.dt;
    const double shortest = ldexp(s->signature.dt, 1 - s->signature.levels), least = shortest / 4;
    int tick = SAP_STEP_TICKS;
    if (!(fmax(fabs(begin), fabs(end)) + least > fmax(fabs(begin), fabs(end)))) return 0;
    if (limit < end) tick = (int)fmax((limit - begin) / s->signature.dt * SAP_STEP_TICKS, 0);
    for (int k = 0; k < 4 && tick > 0 && sap_stepper_time(s, s->clock.long_step, tick) > limit; k++) tick--;
    return sap_stepper_time(s, s->clock.long_step, tick) > limit ? 0 : tick;
}

/* Takes the levels of all particles, and the clock, after steps that the engine has made. */
static void take_blocks(sapporo_stepper *s, const struct sap_step_blocks *b, const struct sap_step_told *told)
{
    struct sap_stepper_counts next = {.massive = 0};
    const struct sap_step step = {.dt = s->signature.dt, .tick = b->tick};
    struct sap_stepper_clock clock = next_clock(s, &step, &(struct sap_step_active){b->active, b->massive});
    for (int level = 0; level < SAP_STEP_LEVELS; level++) {
        next.level[level] = told->levels[level];
        next.massless[level] = told->massless[level];
    }
    clock.steps = s->clock.steps + b->done;
    clock.particle_steps = s->clock.particle_steps + b->all;
    take_levels(s, 0, told, &next);
    s->all.moved = b->massive;
    s->all.close = 0;
    s->clock = clock;
}

/* Lets the engine make at most `most` steps by itself, the first of which is *step; *done: how many it has made. */
static int run_blocks(sapporo_stepper *s, const struct sap_step *step, double time, int lands, long long most,
                      long long *done)
{
    struct sap_step_told told;
    *done = 0;
    if (!s->ops->blocks || s->tree || s->is_part) return SAPPORO_OK;
    struct sap_step_blocks b = {.last = last_tick(s, time, lands), .most = (int)most, .tick = s->clock.tick};
    const double since = sap_clock_seconds();
    if (step->tick > b.last) return SAPPORO_OK;
    const int status = s->ops->blocks(s->particles, step, &b, &told);
    if (status) return sap_stepper_failed(s, status, "steps");
    if (b.done > 0) {
        take_blocks(s, &b, &told);
        memset(s->seconds, 0, sizeof s->seconds);
        s->seconds[SAPPORO_STEP_PHASE_FORCE] = (sap_clock_seconds() - since) / b.done;
    }
    *done = b.done;
    return told.bad >= 0 ? not_finite(s, "force or velocity", told.bad) : (int)SAPPORO_OK;
}

static int run(sapporo_stepper *s, double time, long long steps)
{
    const int lands = s->signature.landing && isfinite(time);
    const double slack = slack_of(s);
    struct sap_step_active active;
    int status = SAPPORO_OK;
    for (long long done = 0, made = 0; !status && (steps == 0 || done < steps); done += made) {
        const long long most = steps == 0 || steps - done > INT_MAX ? INT_MAX : steps - done;
        const struct sap_step step = next_step(s, &active);
        const double now = sap_stepper_time(s, s->clock.long_step, s->clock.tick);
        const double end = sap_stepper_time(s, s->clock.long_step, step.tick);
        if (lands && is_last(s, end, time)) return land(s, time);
        if (!(end <= time + slack)) break;
        status = sap_stepper_check_step(s, now, end, step.dt * ((step.tick - s->clock.tick) * (1.0 / SAP_STEP_TICKS)));
        if (!status) status = run_blocks(s, &step, time, lands, most, &made);
        if (status || made > 0) continue;
        made = 1;
        status = one_step(s, &step, &active);
        if (!status && s->all.close > 0) status = SAPPORO_STOPPED;
    }
    return status;
}

int sapporo_stepper_advance(sapporo_stepper *stepper, double time, long long steps)
{
    struct sap_public_call call;
    sapporo_stepper *const s = sap_call_begin(&call, SAP_HANDLE_STEPPER, stepper);
    int status;
    if (!s) return SAPPORO_ERR_CLOSED;
    if (!s->ready)
        status = sap_stepper_empty(s);
    else if (isnan(time) || steps < 0 || (steps == 0 && isinf(time)))
        status =
            fail(s, SAPPORO_ERR_ARGUMENT, "time is %g and steps %lld; without end, steps must be > 0", time, steps);
    else if (time < sap_stepper_time(s, s->clock.long_step, s->clock.tick) - slack_of(s))
        status = fail(s, SAPPORO_ERR_ARGUMENT, "time is %.17g, before the present time %.17g: steps go forward alone",
                      time, sap_stepper_time(s, s->clock.long_step, s->clock.tick));
    else
        status = run(s, time, steps);
    return sap_call_end(&call, status);
}

int sap_stepper_force_now(sapporo_stepper *s, const struct sap_step *now, int n)
{
    const struct sap_step_active all = {.n = n, .massive = s->massive};
    const int build = lacks_tree(s);
    int status = predict(s, now, 1);
    if (status) return status;
    status = build ? sap_stepper_build(s) : refresh(s);
    if (status) return status;
    status = s->ops->force(s->particles, now, &all);
    if (status) (void)sap_stepper_failed(s, status, "forces on all particles");
    return s->whole.source.sharing ? sap_stepper_agree(s, status) : status;
}
