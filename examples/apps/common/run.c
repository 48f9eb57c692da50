/*
 * run.c - see run.h: the course of a run that all sample integrators share.
 */
#define _POSIX_C_SOURCE 200809L
#include "run.h"
#include "atomic_file.h"
#include "image.h"
#include "interrupt.h"
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

static int get_particles(run *job, bodies *set)
{
    message about = {""};
    snapshot_form form;
    if (!job->input) {
        if (!cluster_make(&job->model, set, &about)) return 0;
    } else if (!snapshot_read(job->input, set, &form, &about)) {
        if (about.text[0]) run_warn(job, "%s", about.text);
        run_say(job, "# %s: %d particles at time %.10g (form: %s)", job->input, set->n, set->time,
                snapshot_form_name(form));
        return 0;
    }
    run_warn(job, "%s", about.text);
    return -1;
}

/*
 * Chooses the steps as 1/2^k of the interval.  Then all particles have the same time at every output, so an output
 * needs no prediction and changes nothing.
 */
static int plan_steps(run *job)
{
    run_plan *plan = &job->plan;
    double span = plan->end - plan->start, intervals;
    if (span < 0) {
        run_warn(job, "--end %g lies before the start at %g", plan->end, plan->start);
        return -1;
    }
    if (span > 0 && plan->interval > span) plan->interval = span;
    intervals = ceil(span / plan->interval - 1e-9);
    plan->dt_max = plan->interval;
    int halvings = 0;
    for (; plan->dt_max > job->dt_max * (1 + 1e-12); halvings++) plan->dt_max /= 2;
    if (halvings > HALVINGS_MAX || intervals * ldexp(1, halvings) > INTERVALS_MAX) {
        run_warn(job, "too many steps of at most %g from %g to %g: 4,194,304 are possible", plan->dt_max, plan->start,
                 plan->end);
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
    double last = plan->start + (double)plan->outputs * plan->interval;
    if (last > plan->end + 1e-9 * plan->interval)
        run_say(job, "# the end is at %.10g, the first output at or after %.10g", last, plan->end);
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
    if (!run_path(job, path, ".restart", &why) && !atomic_check(path, &why)) return 0;
    run_warn(job, "%s", why.text);
    return -1;
}

static void start_clock(run *job, double now)
{
    const run_plan *plan = &job->plan;
    job->blocks_before = plan->blocks;
    job->steps_before = plan->steps;
    progress_begin(&job->bar, now, plan->start + (double)plan->outputs * plan->interval, job->quiet);
}

/* Tells where snapshots go, so that a saved output names them: examples/report reads this line. */
static void say_files(run *job)
{
    if (job->plan.files)
        run_say(job, "# snapshots of %s: %s.0000.%s and so on", job->program, job->prefix,
                job->plan.form == SNAPSHOT_CSV ? "csv" : "txt");
}

int run_begin(run *job, bodies *set)
{
    run_plan *plan = &job->plan;
    char steps[64] = "";
    if (refuse_overwriting(job)) return RUN_USAGE;
    if (check_writing(job)) return RUN_FAILED;
    if (get_particles(job, set)) return RUN_USAGE;
    plan->start = set->time;
    plan->end = job->end > -1e300 ? job->end : plan->start + (job->demo ? 3 : 1);
    plan->interval = job->interval;
    plan->eps = job->eps;
    plan->form = job->form ? SNAPSHOT_CSV : SNAPSHOT_LINES;
    memcpy(plan->units, set->units, sizeof plan->units);
    memcpy(plan->parts, set->parts, sizeof plan->parts);
    describe_engine(plan->engine);
    if (plan_steps(job)) {
        bodies_free(set);
        return RUN_USAGE;
    }
    interrupt_catch(); /* from now on an interruption would lose results */
    if (!job->one_step) snprintf(steps, sizeof steps, ", steps up to %.6g", plan->dt_max);
    run_say(job, "# %d particles, softening %.6g, time %.10g to %.10g, outputs every %.6g%s", set->n, plan->eps,
            plan->start, plan->end, plan->interval, steps);
    if (set->units[0]) run_say(job, "# units: %s", set->units);
    if (set->parts[0]) run_say(job, "# parts: %s", set->parts);
    say_end(job);
    say_files(job);
    start_clock(job, plan->start);
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
static int move_end(run *job, double now)
{
    run_plan *plan = &job->plan;
    if (!(job->end > -1e300)) return 0;
    if (job->end < now - 1e-9 * plan->interval) {
        run_warn(job, "--end %.10g lies before the present time of %s, %.10g", job->end, job->restart, now);
        return -1;
    }
    double intervals = ceil((job->end - plan->start) / plan->interval - 1e-9);
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

int run_go_on(run *job, double now)
{
    char engine[64];
    if (move_end(job, now)) return RUN_USAGE;
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
        run_say(job, "# this run has ended at time %.10g; --end with a later time goes on with it", now);
    else
        run_say(job, "# going on at time %.10g, after %lld block steps, to %.10g", now, (long long)job->plan.blocks,
                job->plan.end);
    say_files(job);
    start_clock(job, now);
    return RUN_OK;
}

static void print_line(run *job, double time)
{
    const run_plan *plan = &job->plan;
    char elapsed[32], left[32];
    double blocks = (double)plan->blocks, mean = plan->blocks ? (double)plan->steps / blocks : 0;
    if (job->lines++ == 0)
        run_say(job, "#%11s %18s %10s %12s %8s %10s %10s   elapsed, left", "time", "energy", "dE/|E|", "|L|", "-T/W",
                "blocks", "mean block");
    run_say(job, "%12.6g %18.12f %10.2e %12.5e %8.5f %10lld %10.1f   %s, %s", time, job->now.energy,
            report_energy_error(&job->now, &plan->first), job->now.spin, job->now.virial, (long long)plan->blocks, mean,
            progress_span(progress_elapsed(&job->bar), elapsed), progress_span(progress_left(&job->bar, time), left));
}

/* Writes a snapshot with the remarks of the run, which the integrator's own set may lack after a restart. */
static int write_snapshot(const run *job, const char *path, const bodies *set, message *why)
{
    bodies whole = *set;
    memcpy(whole.units, job->plan.units, sizeof whole.units);
    memcpy(whole.parts, job->plan.parts, sizeof whole.parts);
    return snapshot_write(path, &whole, (snapshot_form)job->plan.form, why);
}

int run_output(run *job, const bodies *set, const double *pot)
{
    run_plan *plan = &job->plan;
    message why = {""};
    char path[RUN_PATH], ending[32];
    job->now = plan->last = report_make(set, pot);
    if (plan->done == 0) plan->first = job->now;
    print_line(job, set->time);
    if (plan->files) {
        snprintf(ending, sizeof ending, ".%04lld.%s", (long long)plan->done,
                 plan->form == SNAPSHOT_CSV ? "csv" : "txt");
        if (run_path(job, path, ending, &why) || write_snapshot(job, path, set, &why)) {
            run_warn(job, "%s", why.text);
            return -1;
        }
    }
    plan->done++;
    return 0;
}

int run_draw(run *job, const bodies *set, int pixels, double half)
{
    char path[RUN_PATH], ending[32];
    message why = {""};
    if (pixels == 0 || !job->plan.files) return 0;
    snprintf(ending, sizeof ending, ".%04lld.pgm", (long long)job->plan.done);
    if (!run_path(job, path, ending, &why) && !image_write(path, set, pixels, half, &why)) return 0;
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

int run_stopped(run *job, double now)
{
    char path[RUN_PATH], shown[RUN_PATH];
    message why = {""};
    if (run_path(job, path, ".restart", &why)) return RUN_FAILED;
    shell_word(shown, sizeof shown, path);
    run_warn(job, "stopped at time %.10g.  To go on: %s --restart %s", now, job->command, shown);
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
    return standard_output_end(job->program, status, RUN_FAILED);
}
