/*
 * run.c - see run.h: the course of a run that all sample integrators share.
 */
#define _POSIX_C_SOURCE 200809L
#include "run.h"
#include "atomic_file.h"
#include "gravity.h"
#include "interrupt.h"
#include "snapshot_hdf5.h"
#include "snapshot_writer.h"
#include "standard_output.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HALVINGS_MAX = 30 };

static const double INTERVALS_MAX = 4194304; /* this times 2^40 ticks fits into 63 bits */

void run_warn(run *job, const char *format, ...)
{
    message text;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text.text, sizeof text.text, format, arguments);
    va_end(arguments);
    progress_wipe(&job->bar);
    fprintf(stderr, "%s: %s\n", job->program, text.text);
}

void run_say(run *job, const char *format, ...)
{
    va_list arguments;
    if (job->quiet) return;
    progress_wipe(&job->bar);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout); /* a log file shows the line at once */
}

int run_path(const run *job, char path[RUN_PATH], const char *ending, message *why)
{
    int length = snprintf(path, RUN_PATH, "%s%s", job->prefix, ending);
    return length < 0 || length >= RUN_PATH ? complain(why, "the name of the output is too long") : 0;
}

/* ---- time ------------------------------------------------------------------------------------------------ */

double run_time(const run *job, double since) { return job->plan.start + since; }

/* Returns the digits that tell outputs apart at a time, at least `digits`. */
static int digits_of(const run *job, double since, int digits)
{
    const double outputs = fabs(run_time(job, since)) / job->plan.interval;
    if (outputs > 1000) digits += (int)fmin(log10(outputs) - 2, 17);
    return digits < 17 ? digits : 17;
}

const char *run_time_text(const run *job, double since, int digits, char text[RUN_TIME_TEXT])
{
    snprintf(text, RUN_TIME_TEXT, "%.*g", digits_of(job, since, digits), run_time(job, since));
    return text;
}

static double spacing(double time) { return nextafter(fabs(time), INFINITY) - fabs(time); }

/*
 * Returns the length of a run.  Both times are rounded, and a run that is shifted in time must have the same length: so
 * the length is the shortest decimal number within the roundings, unless the difference has few digits itself.
 */
static double length_of(double start, double end)
{
    const double span = end - start, rounding = 0.5 * (spacing(start) + spacing(end));
    char text[40];
    if (start == 0) return span;
    snprintf(text, sizeof text, "%.6e", span);
    if (strtod(text, NULL) == span) return span;
    for (int digits = 0; digits < 16; digits++) {
        snprintf(text, sizeof text, "%.*e", digits, span);
        const double near = strtod(text, NULL);
        if (fabs(near - span) <= rounding) return near;
    }
    return span;
}

static double last_output(const run *job) { return (double)job->plan.outputs * job->plan.interval; }

/* ---- beginning ------------------------------------------------------------------------------------------- */

/* Describes the settings that decide the bits of a force, as far as a client knows them. */
static void describe_engine(char text[64])
{
    static const char *const name[] = {"SAPPORO_PRECISION", "SAPPORO_BACKEND", "SAPPORO_CPU_ISA"};
    memset(text, 0, 64);
    for (int k = 0; k < 3; k++) {
        const char *value = getenv(name[k]);
        size_t used = strlen(text);
        snprintf(text + used, 64 - used, "%s%s", k ? "/" : "", value ? value : "");
    }
}

/*
 * Reads the units that a file names; G 0: none.  Units without a word here are remarks where G is known without them.
 */
static int read_units(const run *job, const bodies *set, unit_system *said, message *why)
{
    message unknown = {""};
    *said = (unit_system){.G = 0};
    if (!set->units[0] || !unit_words_read(set->units, said, &unknown)) return 0;
    *said = (unit_system){.G = 0};
    if (job->G > 0 || job->units || set->G > 0) return 0;
    return complain(why, "%s:%d: %s; give --units or --G", job->input, set->units_line, unknown.text);
}

/* Decides the gravitational constant: of the command line, or of the file.  They must not disagree. */
static int choose_constant(run *job, const bodies *set, const unit_system *said, message *why)
{
    const char *const option = job->units ? "--units" : "--G", *const text = job->units ? job->units : "";
    const double given = job->units ? job->system.G : job->G, told = set->G;
    if (job->G > 0 && told > 0 && told != given)
        return complain(why, "--G %.10g is not the G of %s, which is %.10g", given, job->input, told);
    if (told > 0 && given > 0 && !unit_words_agree(told, given))
        return complain(why, "--units %.60s have G = %.10g; that is not the G of %s, which is %.10g", text, given,
                        job->input, told);
    if (said->G > 0 && given > 0 && !unit_words_agree(said->G, given))
        return complain(why, "%s:%d: the units '%.80s' have G = %.10g; %s%s%.60s says %.10g", job->input,
                        set->units_line, set->units, said->G, option, job->units ? " " : "", text, given);
    if (said->G > 0 && told > 0 && !unit_words_agree(said->G, told))
        return complain(why, "%s:%d: the units '%.80s' have G = %.10g, but a comment says G = %.10g", job->input,
                        set->units_line, set->units, said->G, told);
    job->plan.G = told > 0 ? told : given > 0 ? given : said->G > 0 ? said->G : 1;
    return 0;
}

/* Multiplies masses by G, which the command line or the file tells, and sets the remark of the units. */
static int take_constant(run *job, bodies *set)
{
    unit_system said;
    message why = {""};
    const int bad = read_units(job, set, &said, &why) || choose_constant(job, set, &said, &why);
    const unit_system *const system = job->units ? &job->system : said.G > 0 ? &said : NULL;
    if (system && !(job->units && said.G == 1 && system->G == 1)) memcpy(set->units, system->remark, sizeof set->units);
    set->G = 0;
    if (!bad && (job->plan.G == 1 || !gravity_take(job->plan.G, set, &why))) return 0;
    run_warn(job, "%s%s%s", bad ? "" : job->input, bad ? "" : ": ", why.text);
    return -1;
}

static int get_particles(run *job, bodies *set)
{
    message about = {""};
    snapshot_form form;
    if (!job->input) {
        job->plan.G = 1;
        if (!cluster_make(&job->model, set, &about)) return 0;
    } else if (!snapshot_read(job->input, set, &form, &about)) {
        if (about.text[0]) run_warn(job, "%s", about.text);
        run_say(job, "# %s: %d particles at time %.10g (form: %s)", job->input, set->n, set->time,
                snapshot_form_name(form));
        if (!take_constant(job, set)) return 0;
        bodies_free(set);
        return -1;
    }
    run_warn(job, "%s", about.text);
    return -1;
}

/*
 * Chooses the steps as 1/2^k of the interval.  Then all particles have the same time at every output, so an output
 * needs no prediction and changes nothing.
 */
static int plan_steps(run *job, double span)
{
    run_plan *plan = &job->plan;
    double intervals;
    if (span < 0) {
        run_warn(job, "--end %.10g lies before the start at %.10g", plan->end, plan->start);
        return -1;
    }
    if (span > 0 && !(plan->start + span > plan->start)) {
        run_warn(
            job,
            "a run of length %g does not change the time %.17g, which has 53 bits: give a later --end, or particles "
            "of a time nearer to 0",
            span, plan->start);
        return -1;
    }
    if (span > 0 && plan->interval > span) plan->interval = span;
    intervals = ceil(span / plan->interval - 1e-9);
    plan->dt_max = plan->interval;
    int halvings = 0;
    for (; plan->dt_max > job->dt_max * (1 + 1e-12); halvings++) plan->dt_max /= 2;
    if (halvings > HALVINGS_MAX || intervals * ldexp(1, halvings) > INTERVALS_MAX) {
        run_warn(job,
                 "too many steps of at most %g from %.10g to %.10g: 4,194,304 are possible; give a longer --dt-max and "
                 "--interval, in the unit of time of the particles",
                 plan->dt_max, plan->start, plan->end);
        return -1;
    }
    plan->outputs = (int64_t)intervals;
    return 0;
}

int run_shorten_steps(run *job, double dt)
{
    run_plan *plan = &job->plan;
    const double most = INTERVALS_MAX / (plan->outputs > 0 ? (double)plan->outputs : 1);
    while (plan->dt_max > dt && plan->interval / plan->dt_max * 2 <= most) plan->dt_max /= 2;
    if (plan->dt_max <= dt) return RUN_OK;
    run_warn(job, "steps of %.3g are needed, and there would be more than 4,194,304; %s, or give --dt-max", dt,
             job->remedy);
    return RUN_USAGE;
}

static void say_end(run *job)
{
    const run_plan *plan = &job->plan;
    const double last = last_output(job), span = length_of(plan->start, plan->end);
    char at[RUN_TIME_TEXT], wanted[RUN_TIME_TEXT];
    if (last > span + 1e-9 * plan->interval)
        run_say(job, "# the end is at %s, the first output at or after %s", run_time_text(job, last, 10, at),
                run_time_text(job, span, 10, wanted));
}

static int refuse_overwriting(run *job)
{
    char path[RUN_PATH];
    message why = {""};
    if (run_path(job, path, ".restart", &why)) {
        run_warn(job, "%s", why.text);
        return -1;
    }
    if (!job->plan.files || job->overwrite || access(path, F_OK) != 0) return 0;
    run_warn(job,
             "%s is there: a run under this name was stopped or has ended.  Go on with --restart %s, or begin "
             "anew with --overwrite, or choose another name with -o",
             path, path);
    return -1;
}

/* Finds out before the first force whether the files of the run can be written. */
static int check_writing(run *job)
{
    char path[RUN_PATH];
    message why = {""};
    if (!job->plan.files) return 0;
    if (job->plan.form == SNAPSHOT_HDF5 && !snapshot_hdf5_built()) {
        run_warn(job, "%s goes on with snapshots in HDF5, and this program was built without", job->restart);
        return -1;
    }
    if (!run_path(job, path, ".restart", &why) && !atomic_check(path, &why)) return 0;
    run_warn(job, "%s", why.text);
    return -1;
}

enum { BLOCKS_UNTOLD = 65536 }; /* block steps without an output, after which a line says how far the run is */

static void start_clock(run *job, double since)
{
    const run_plan *plan = &job->plan;
    job->blocks_before = job->blocks_told = plan->blocks;
    job->next_told = BLOCKS_UNTOLD;
    job->since_told = since;
    job->steps_before = plan->steps;
    progress_begin(&job->bar, since, last_output(job), job->quiet);
    job->bar.origin = plan->start;
    job->bar.digits = digits_of(job, last_output(job), 6);
}

/* Tells where snapshots go, so that a saved output names them: examples/report reads this line. */
static void say_files(run *job)
{
    if (job->plan.files)
        run_say(job, "# snapshots of %s: %s.0000.%s and so on", job->program, job->prefix,
                snapshot_form_ending((snapshot_form)job->plan.form));
}

static void say_units(run *job)
{
    if (job->plan.G != 1) run_say(job, "# G = %.10g", job->plan.G);
    if (job->plan.units[0]) run_say(job, "# units: %s", job->plan.units);
}

/*
 * Reads or makes the particles, and finds out whether the files of the run may be written.  A file is read first: what
 * is wrong with it is said first.  A model, which may take long, is made last.
 */
static int get_ready(run *job, bodies *set)
{
    *set = (bodies){0};
    if (job->input && get_particles(job, set)) return RUN_USAGE;
    const int status = refuse_overwriting(job) ? RUN_USAGE : check_writing(job) ? RUN_FAILED : RUN_OK;
    if (status) bodies_free(set);
    if (status || job->input) return status;
    return get_particles(job, set) ? RUN_USAGE : RUN_OK;
}

int run_begin(run *job, bodies *set)
{
    run_plan *plan = &job->plan;
    char steps[64] = "", from[RUN_TIME_TEXT], to[RUN_TIME_TEXT];
    const int status = get_ready(job, set);
    if (status) return status;
    plan->start = set->time;
    const int given = job->end > -1e300;
    const double span = given ? length_of(plan->start, job->end) : job->demo ? 3 : 1;
    plan->end = given ? job->end : plan->start + span;
    plan->interval = job->interval;
    plan->eps = job->eps;
    plan->form = SNAPSHOT_LINES + job->form; /* in the order of --format */
    memcpy(plan->units, set->units, sizeof plan->units);
    memcpy(plan->parts, set->parts, sizeof plan->parts);
    describe_engine(plan->engine);
    if (plan_steps(job, span)) {
        bodies_free(set);
        return RUN_USAGE;
    }
    interrupt_catch(); /* from now on an interruption would lose results */
    if (!job->one_step) snprintf(steps, sizeof steps, ", steps up to %.6g", plan->dt_max);
    run_say(job, "# %d particles, softening %.6g, time %s to %s, outputs every %.6g%s", set->n, plan->eps,
            run_time_text(job, 0, 10, from), run_time_text(job, span, 10, to), plan->interval, steps);
    say_units(job);
    if (set->parts[0]) run_say(job, "# parts: %s", set->parts);
    say_end(job);
    say_files(job);
    start_clock(job, 0);
    return RUN_OK;
}

int run_reopen(run *job, restart_file *file)
{
    message why = {""};
    run_plan *plan = &job->plan;
    if (restart_read(job->restart, job->layout, file, &why) || restart_get(file, "run", plan, sizeof *plan, &why)) {
        run_warn(job, "%s", why.text);
        restart_free(file);
        return RUN_USAGE;
    }
    return RUN_OK;
}

/*
 * Moves the end of the run; returns -1 after a message if the new end is not possible.  The interval is the unit of the
 * steps and stays, so only the number of outputs changes.
 */
static int move_end(run *job, double since)
{
    run_plan *plan = &job->plan;
    char at[RUN_TIME_TEXT];
    if (!(job->end > -1e300)) return 0;
    const double span = length_of(plan->start, job->end);
    if (span < since - 1e-9 * plan->interval) {
        run_warn(job, "--end %.10g lies before the present time of %s, %s", job->end, job->restart,
                 run_time_text(job, since, 10, at));
        return -1;
    }
    double intervals = ceil(span / plan->interval - 1e-9);
    if (intervals * (plan->interval / plan->dt_max) > INTERVALS_MAX) {
        run_warn(job, "--end %g is too far away for steps of at most %g: 4,194,304 are possible", job->end,
                 plan->dt_max);
        return -1;
    }
    plan->end = job->end;
    plan->outputs = (int64_t)intervals;
    say_end(job);
    return 0;
}

int run_go_on(run *job, double since)
{
    char engine[64], at[RUN_TIME_TEXT], to[RUN_TIME_TEXT];
    if (move_end(job, since)) return RUN_USAGE;
    if (check_writing(job)) return RUN_FAILED;
    interrupt_catch();
    describe_engine(engine);
    if (strcmp(engine, job->plan.engine) != 0)
        run_warn(job,
                 "this run began with SAPPORO_PRECISION/BACKEND/CPU_ISA = %s, and goes on with %s: it will not be "
                 "what it would have been to the last bit",
                 job->plan.engine, engine);
    memcpy(job->plan.engine, engine, sizeof engine);
    job->now = job->plan.last;
    if (job->plan.done > job->plan.outputs)
        run_say(job, "# this run has ended at time %s; --end with a later time goes on with it",
                run_time_text(job, since, 10, at));
    else
        run_say(job, "# going on at time %s, after %lld block steps, to %s", run_time_text(job, since, 10, at),
                (long long)job->plan.blocks, run_time_text(job, length_of(job->plan.start, job->plan.end), 10, to));
    if (job->plan.G != 1) say_units(job);
    say_files(job);
    start_clock(job, since);
    return RUN_OK;
}

/* ---- outputs --------------------------------------------------------------------------------------------- */

int run_step(run *job, double since)
{
    char now[RUN_TIME_TEXT], next[RUN_TIME_TEXT], elapsed[32];
    progress_show(&job->bar, since);
    if (job->plan.blocks - job->blocks_told < job->next_told) return 0;
    job->next_told *= 2;
    run_say(job, "# time %s: %lld block steps since the last output; the next is at %s; %s have passed",
            run_time_text(job, since, 12, now), (long long)(job->plan.blocks - job->blocks_told),
            run_time_text(job, (double)job->plan.done * job->plan.interval, 6, next),
            progress_span(progress_elapsed(&job->bar), elapsed));
    if (job->is_slow || 64 * (since - job->since_told) >= job->plan.interval) return 0;
    return job->is_slow = 1;
}

static void print_line(run *job, double since)
{
    const run_plan *plan = &job->plan;
    char elapsed[32], left[32], now[RUN_TIME_TEXT], energy[32];
    double blocks = (double)plan->blocks, mean = plan->blocks ? (double)plan->steps / blocks : 0;
    if (job->lines++ == 0)
        run_say(job, "#%11s %18s %10s %12s %8s %10s %10s   elapsed, left", "time", "energy", "dE/|E|", "|L|", "-T/W",
                "blocks", "mean block");
    const double size = fabs(job->now.energy); /* units may be any */
    snprintf(energy, sizeof energy, size > 0 && (size < 1e-3 || size >= 1e5) ? "%18.11e" : "%18.12f", job->now.energy);
    run_say(job, "%12s %s %10.2e %12.5e %8.5f %10lld %10.1f   %s, %s", run_time_text(job, since, 6, now), energy,
            report_energy_error(&job->now, &plan->first), job->now.spin, job->now.virial, (long long)plan->blocks, mean,
            progress_span(progress_elapsed(&job->bar), elapsed), progress_span(progress_left(&job->bar, since), left));
}

int run_wait(run *job)
{
    message why = {""};
    if (!snapshot_writer_wait(job->writer, &why)) return 0;
    run_warn(job, "%s", why.text);
    return -1;
}

/* Makes the name of the snapshot of output `number`. */
static int snapshot_path(const run *job, int64_t number, char path[RUN_PATH], message *why)
{
    char ending[32];
    snprintf(ending, sizeof ending, ".%04lld.%s", (long long)number,
             snapshot_form_ending((snapshot_form)job->plan.form));
    return run_path(job, path, ending, why);
}

static int write_or_begin(run *job, const char *path, const bodies *set, message *why)
{
    const snapshot_form form = (snapshot_form)job->plan.form;
    return job->writes_behind && form == SNAPSHOT_HDF5 ? snapshot_writer_begin(&job->writer, path, set, form, why)
                                                       : snapshot_write(path, set, form, why);
}

/* Writes a snapshot with the remarks of the run, which the integrator's own set may lack after a restart. */
static int write_snapshot(run *job, const char *path, const bodies *set, message *why)
{
    bodies whole = *set;
    memcpy(whole.units, job->plan.units, sizeof whole.units);
    memcpy(whole.parts, job->plan.parts, sizeof whole.parts);
    if (job->plan.G == 1) return write_or_begin(job, path, &whole, why);
    whole.G = job->plan.G;
    whole.mass = malloc((size_t)set->n * sizeof *whole.mass);
    if (!whole.mass) return complain(why, "out of memory for %d masses", set->n);
    gravity_give(whole.G, set, whole.mass);
    const int status = write_or_begin(job, path, &whole, why);
    free(whole.mass);
    return status;
}

/* Writes the snapshot of output `number`, or begins to, after the one before.  -1 after a message. */
static int write_output(run *job, int64_t number, const bodies *set)
{
    char path[RUN_PATH];
    message why = {""};
    if (!job->plan.files) return 0;
    if (run_wait(job)) return -1;
    if (!snapshot_path(job, number, path, &why) && !write_snapshot(job, path, set, &why)) return 0;
    run_warn(job, "%s", why.text);
    return -1;
}

int run_lacks_snapshot(const run *job, double since)
{
    const run_plan *plan = &job->plan;
    char path[RUN_PATH];
    message why;
    if (!job->writes_behind || !plan->files || plan->form != SNAPSHOT_HDF5 || plan->done < 1) return 0;
    if (fabs(since - (double)(plan->done - 1) * plan->interval) > plan->dt_max / (1 << 24)) return 0;
    return !snapshot_path(job, plan->done - 1, path, &why) && access(path, F_OK) != 0;
}

int run_rewrite(run *job, const bodies *set) { return write_output(job, job->plan.done - 1, set); }

int run_output(run *job, const bodies *set, const double *pot)
{
    run_plan *plan = &job->plan;
    job->now = plan->last = gravity_report(plan->G, report_make(set, pot));
    if (plan->done == 0) plan->first = job->now;
    print_line(job, (double)plan->done * plan->interval);
    job->blocks_told = plan->blocks;
    job->next_told = BLOCKS_UNTOLD;
    job->since_told = (double)plan->done * plan->interval;
    if (write_output(job, plan->done, set)) return -1;
    plan->done++;
    return 0;
}

int run_draw(run *job, const bodies *set, const image_view *view)
{
    char path[RUN_PATH], ending[32];
    message why = {""};
    if (view->pixels == 0 || !job->plan.files) return 0;
    snprintf(ending, sizeof ending, ".%04lld.pgm", (long long)job->plan.done);
    if (!run_path(job, path, ending, &why) && !image_write(path, set, view, &why)) return 0;
    run_warn(job, "no image: %s", why.text);
    return -1;
}

int run_save(run *job, const restart_piece *pieces, int n, int always)
{
    restart_piece all[16] = {{"run", &job->plan, sizeof job->plan}};
    char path[RUN_PATH];
    message why = {""};
    if (!job->plan.files && !always) return 0;
    if (n > 15) n = 15;
    memcpy(all + 1, pieces, (size_t)n * sizeof *pieces);
    if (!run_path(job, path, ".restart", &why) && !restart_write(path, job->layout, all, n + 1, &why)) return 0;
    run_warn(job, "%s", why.text);
    return -1;
}

static int stop_after_reached(const run *job)
{
    return job->stop_after > 0 && job->plan.blocks - job->blocks_before >= job->stop_after;
}

int run_must_stop(const run *job) { return interrupt_signal() || stop_after_reached(job); }

int run_stopped(run *job, double since)
{
    char path[RUN_PATH], shown[RUN_PATH], at[RUN_TIME_TEXT];
    message why = {""};
    if (run_path(job, path, ".restart", &why)) return RUN_FAILED;
    shell_word(shown, sizeof shown, path);
    run_warn(job, "stopped at time %s.  To go on: %s --restart %s", run_time_text(job, since, 10, at), job->command,
             shown);
    return interrupt_signal() ? RUN_SIGNAL + interrupt_signal() : RUN_OK;
}

/* Prints the lines of advice, with the command in the place of each @. */
static void advise(run *job)
{
    run_say(job, "#\n# That was %s of %d particles; energy is what should not change.  Try next:",
            job->demo_run ? job->demo_run->model : "a Plummer model", job->model.n);
    for (const char *line = job->advice; line && *line;) {
        const size_t before = strcspn(line, "@"), all = strcspn(line, "\n");
        if (before < all)
            run_say(job, "#   %.*s%s%.*s", (int)before, line, job->command, (int)(all - before - 1), line + before + 1);
        line += all + (line[all] == '\n');
    }
}

/* Prints how long this process took; a run that had ended before took no step. */
static void say_speed(run *job)
{
    char span[32];
    const double blocks = (double)(job->plan.blocks - job->blocks_before);
    const double steps = (double)(job->plan.steps - job->steps_before);
    const double elapsed = progress_elapsed(&job->bar), seconds = elapsed > 0 ? elapsed : 1;
    if (blocks > 0)
        run_say(job, "# this took %s: %.3g block steps and %.3g particle steps a second", progress_span(elapsed, span),
                blocks / seconds, steps / seconds);
}

int run_finish(run *job)
{
    const run_plan *plan = &job->plan;
    const double error = report_energy_error(&job->now, &plan->first);
    run_say(job, "# done: relative energy error %.2e, %lld block steps, mean block %.1f", error,
            (long long)plan->blocks, plan->blocks ? (double)plan->steps / (double)plan->blocks : 0.0);
    say_speed(job);
    if (fabs(error) <= RUN_ENERGY_ERROR) {
        if (job->demo) advise(job);
        return RUN_OK;
    }
    run_warn(job, "do not use this result: the relative energy error is %.2e, more than %g; %s", error,
             RUN_ENERGY_ERROR, job->remedy);
    return RUN_INACCURATE;
}

int run_end(run *job, int status)
{
    progress_wipe(&job->bar);
    snapshot_writer_free(&job->writer);
    return standard_output_end(job->program, status, RUN_FAILED);
}
