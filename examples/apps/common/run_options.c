/*
 * run_options.c - the command line that all sample integrators share.
 */
#include "galaxy.h"
#include "number.h"
#include "run.h"
#include "snapshot_hdf5.h"

#include <sapporo.h>
#include <stdlib.h>
#include <string.h>

static const char *const MODELS[] = {"plummer", "king",      "hernquist", "uniform",      "nfw",         "clumps",
                                     "disc",    "andromeda", "cold-disc", "two-clusters", "mass-ratios", NULL};
static const char *const MASSES[] = {"equal", "salpeter", NULL};
static const char *const FORMS[] = {"lines", "csv", "hdf5", NULL};

enum { RULES_MAX = 48 };

typedef struct rule_list {
    option_rule rule[RULES_MAX];
    int n;
} rule_list;

static void append(rule_list *list, const option_rule *rules, int n)
{
    for (int k = 0; k < n && list->n < RULES_MAX; k++) list->rule[list->n++] = rules[k];
}

static void list_rules(run *job, rule_list *list)
{
    cluster_request *model = &job->model;
    const option_rule source[] = {
        {OPTION_TITLE, 0, "Particles (from FILE, or a model; clusters in N-body units, G = M = 1, E = -1/4):", 0, 0, 0,
         0, 0, 0},
        {OPTION_REAL, 0, "G", &job->G, "G", "gravitational constant in the units of FILE (1, or what FILE says)", 0, 0,
         0},
        {OPTION_TEXT, 0, "units", &job->units, "LIST",
         "units of FILE, such as msun,pc,km/s or msun,au,yr; cgs; si; nbody", 0, 0, 0},
        {OPTION_CHOICE, 'm', "model", &job->model_kind, "NAME",
         "plummer, king, hernquist, uniform, nfw, clumps, mass-ratios; in units of their own: cold-disc, two-clusters, "
         "and galaxies: disc, andromeda",
         MODELS, 0, 0},
        {OPTION_COUNT, 'n', "particles", &model->n, "N", "number of stars of the model (1024)", 0, 0, 0},
        {OPTION_REAL, 0, "w0", &model->w0, "W", "King: depth of the central potential (6)", 0, 0, 0},
        {OPTION_REAL, 0, "cut", &model->cut, "R", "Hernquist: no star beyond R scale radii (50)", 0, 0, 0},
        {OPTION_REAL, 0, "toomre", &model->toomre, "Q", "disc, andromeda: least Q of the disc (1.8)", 0, 0, 0},
        {OPTION_REAL, 0, "height", &model->height, "H", "disc: its height in scale lengths (0.1)", 0, 0, 0},
        {OPTION_CHOICE, 0, "imf", &job->masses, "NAME", "masses: equal or salpeter (equal)", MASSES, 0, 0},
        {OPTION_RANGE, 0, "mass-range", job->mass_range, "LOW:HIGH", "Salpeter: range of masses (0.1:20)", 0, 0, 0},
        {OPTION_INTEGER, 0, "seed", &model->seed, "S", "another seed, another cluster (1)", 0, 0, 0},
    };
    const option_rule accuracy[] = {
        {OPTION_TITLE, 0, "Integration:", 0, 0, 0, 0, 0, 0},
        {OPTION_REAL, 's', "eps", &job->eps, "L", job->eps_help ? job->eps_help : "softening length (1/256)", 0, 0, 0},
        {OPTION_REAL, 0, "dt-max", &job->dt_max, "DT",
         job->dt_help ? job->dt_help : "no step is longer than this, nor than the interval (1/8)", 0, 0, 0},
        {OPTION_REAL, 't', "end", &job->end, "T", "time at which to end (1 after the start)", 0, 1, 0},
    };
    const option_rule output[] = {
        {OPTION_TITLE, 0, "Output:", 0, 0, 0, 0, 0, 0},
        {OPTION_REAL, 'd', "interval", &job->interval, "DT", "time between outputs (1/4)", 0, 0, 0},
        {OPTION_TEXT, 'o', "output", &job->prefix, "PREFIX", "files are PREFIX.0000.txt ... and PREFIX.restart", 0, 1,
         0},
        {OPTION_CHOICE, 0, "format", &job->form, "NAME",
         snapshot_hdf5_built() ? "form of snapshots: lines, csv or hdf5 (lines); so says PREFIX.hdf5, too"
                               : "form of snapshots: lines or csv (lines); this program was built without hdf5",
         FORMS, 0, 0},
        {OPTION_FLAG, 0, "overwrite", &job->overwrite, 0, "begin anew although PREFIX.restart is there", 0, 0, 0},
        {OPTION_TEXT, 'r', "restart", &job->restart, "FILE", "go on from a restart file", 0, 1, 0},
        {OPTION_COUNT, 0, "stop-after", &job->stop_after, "B", "stop after B block steps, as Ctrl-C would", 0, 1, 0},
        {OPTION_FLAG, 'q', "quiet", &job->quiet, 0, "print nothing but warnings and errors", 0, 1, 0},
        {OPTION_FLAG, 0, "demo", &job->demo, 0,
         job->demo_run ? job->demo_run->help : "a cluster of 1,024 stars for three time units; no files", 0, 0, 0},
        {OPTION_FLAG, 'h', "help", &job->help, 0, "this text", 0, 1, 0},
        {OPTION_FLAG, 0, "version", &job->version, 0, "the version of libsapporo", 0, 1, 0},
    };
    append(list, source, (int)(sizeof source / sizeof *source));
    append(list, accuracy, (int)(sizeof accuracy / sizeof *accuracy));
    append(list, job->own, job->own_n);
    append(list, output, (int)(sizeof output / sizeof *output));
}

static void print_help(const run *job, const rule_list *list)
{
    const char *name = job->program;
    printf("%s - %s\n\n", name, job->about);
    printf("  %s [options] FILE              the particles of a snapshot (-: standard input)\n", name);
    printf("  %s [options] --model plummer   a star cluster\n", name);
    printf("  %s --restart FILE [--end T]    go on with a run that was stopped, or has ended\n", name);
    printf("  %s --demo                      something to look at\n", name);
    printf(
        "\nFILE has a particle per line: [id] mass x y z vx vy vz, separated by blanks or commas.  Other columns, or\n"
        "another order: name them in the first line, or in a comment such as # x y z vx vy vz mass.  A comment\n"
        "# time 0.25 tells the time.  Two older forms are read, too (docs/programs.md).\n"
        "%s"
        "G is 1 unless --G or --units, or a comment # G 0.0043 or # units Msun pc km/s, says otherwise.\n",
        snapshot_hdf5_built() ? "HDF5 in the layout of GADGET-4 and SWIFT is read, too.\n"
                              : "This program was built without HDF5.\n");
    options_help(list->rule, list->n, stdout);
    printf("\nA number may be a fraction, --eps 1/256, and may be written as 64k, 1M or 1e6.  Ctrl-C stops cleanly and "
           "says\n"
           "how to go on.  Exit status: 0 the end was reached, 1 failed (also: output could not be written), 2 wrong\n"
           "use or unreadable input, 3 the end was reached, and the relative energy error is above 0.01, 128 + n\n"
           "signal n.\n"
           "The force comes from libsapporo; SAPPORO_PRECISION, SAPPORO_BACKEND, OMP_NUM_THREADS choose how.\n");
}

static int check_source(const run *job, rule_list *list, message *why)
{
    int sources = (job->input != NULL) + job->model_given + (job->restart != NULL) + job->demo;
    if (sources == 0)
        return complain(why, "particles from where?  Give FILE, --model, --restart or --demo; see --help");
    if (sources > 1) return complain(why, "FILE, --model, --restart and --demo exclude each other");
    for (int k = 0; k < list->n; k++) {
        const option_rule *rule = &list->rule[k];
        if (job->restart && rule->given && !rule->continued)
            return complain(why, "--%s belongs to the run from its start and cannot be changed by --restart",
                            rule->name);
    }
    static const char *const of_models[] = {"particles", "w0", "cut", "toomre", "height", "imf", "mass-range", "seed"};
    for (int k = 0; job->input && k < (int)(sizeof of_models / sizeof *of_models); k++)
        if (options_find(list->rule, list->n, of_models[k])->given)
            return complain(why, "--%s is for models; the particles come from %s", of_models[k], job->input);
    return 0;
}

static int is_given(rule_list *list, const char *name) { return options_find(list->rule, list->n, name)->given; }

/* Reads --G and --units, which exclude each other. */
static int read_units(run *job, rule_list *list, message *why)
{
    message wrong = {""};
    if (is_given(list, "G") && !(job->G > 0)) return complain(why, "--G must be positive");
    if (is_given(list, "G") && job->units)
        return complain(why, "--G and --units exclude each other: units tell their G");
    if (!job->units || !unit_words_read(job->units, &job->system, &wrong)) return 0;
    return complain(why, "--units: %s", wrong.text);
}

/* Refuses options of models other than the one that is made, and others without an effect. */
static int check_models(const run *job, rule_list *list, message *why)
{
    static const struct {
        const char *option, *models;
        unsigned kinds;
    } of[] = {{"w0", "king", 1U << CLUSTER_KING},
              {"cut", "hernquist", 1U << CLUSTER_HERNQUIST},
              {"toomre", "disc and andromeda", 1U << CLUSTER_DISC | 1U << CLUSTER_ANDROMEDA},
              {"height", "disc", 1U << CLUSTER_DISC}};
    static const char *const of_files[] = {"G", "units"};
    if (!job->model_given && !job->demo) return 0;
    for (int k = 0; k < 2; k++)
        if (is_given(list, of_files[k]))
            return complain(why, "--%s has no effect on models, whose units have G = 1; it is for FILE", of_files[k]);
    for (size_t k = 0; k < sizeof of / sizeof *of; k++)
        if (is_given(list, of[k].option) && !(of[k].kinds >> job->model.kind & 1))
            return complain(why, "--%s has no effect: it is for --model %s, and the model is %s", of[k].option,
                            of[k].models, MODELS[job->model.kind]);
    if (is_given(list, "mass-range") && job->model.masses != CLUSTER_SALPETER)
        return complain(why, "--mass-range has no effect without --imf salpeter: all masses are equal");
    return 0;
}

static int check_files(const run *job, rule_list *list, message *why)
{
    static const char *const of_files[] = {"format", "overwrite"};
    for (int k = 0; !job->plan.files && k < 2; k++)
        if (is_given(list, of_files[k]))
            return complain(why, "--%s has no effect: --demo writes no files without -o", of_files[k]);
    if (job->form == SNAPSHOT_HDF5 - SNAPSHOT_LINES && !snapshot_hdf5_built())
        return complain(why, "--format hdf5: this program was built without HDF5");
    return 0;
}

static int check_numbers(const run *job, message *why)
{
    if (!(job->eps >= 0)) return complain(why, "--eps must not be negative");
    if (!(job->dt_max > 0)) return complain(why, "--dt-max must be positive");
    if (!(job->interval > 0)) return complain(why, "--interval must be positive");
    return 0;
}

void shell_word(char *text, size_t room, const char *word)
{
    const int plain = word[0] && !strpbrk(word, " \t\n'\"\\$`&;|<>()*?[]#~!{}");
    snprintf(text, room, plain || strchr(word, '\'') ? "%s" : "'%s'", word);
}

static void set_defaults(run *job, const char *command)
{
    shell_word(job->command, sizeof job->command, command);
    job->model = cluster_default();
    job->mass_range[0] = job->model.mass_low;
    job->mass_range[1] = job->model.mass_high;
    job->eps = job->eps_default > 0 ? job->eps_default : 1.0 / 256;
    job->dt_max = 1.0 / 8;
    job->interval = 1.0 / 4;
    job->end = -1e300; /* not given */
}

int run_given(const run *job, const char *option)
{
    const option_rule *const rule = options_find(job->own, job->own_n, option);
    return rule && rule->given;
}

int run_refuse_useless(run *job, const run_useless *useless, int n)
{
    for (int k = 0; k < n; k++) {
        if (!useless[k].is_useless || !run_given(job, useless[k].option)) continue;
        run_warn(job, "--%s has no effect %s", useless[k].option, useless[k].why);
        return RUN_USAGE;
    }
    return RUN_OK;
}

int run_read_rebuild(run *job, const char *text, int64_t *rebuild)
{
    long long steps = RUN_AUTOMATIC;
    const number_verdict verdict = strcmp(text, "auto") == 0 ? NUMBER_OK : number_whole(text, 1, 1000000000, &steps);
    *rebuild = steps;
    if (verdict == NUMBER_OK) return RUN_OK;
    if (verdict == NUMBER_LARGE)
        run_warn(job, "--rebuild %.60s is too large: at most 1000000000 is possible", text);
    else
        run_warn(job, "--rebuild '%.60s': a whole number of steps from 1, or auto", text);
    return RUN_USAGE;
}

/* Sets the prefix: a run from PREFIX.restart continues under PREFIX. */
static void prefix_of_restart(run *job)
{
    static const char ending[] = ".restart";
    size_t length = strlen(job->restart), tail = sizeof ending - 1;
    job->prefix = job->restart;
    if (length <= tail || strcmp(job->restart + length - tail, ending) != 0) return;
    if (length - tail >= sizeof job->prefix_room) return;
    memcpy(job->prefix_room, job->restart, length - tail);
    job->prefix = job->prefix_room;
}

/* A prefix that ends in .hdf5 chooses the form; snapshots of PREFIX.hdf5 are PREFIX.0000.hdf5 and so on. */
static void form_of_prefix(run *job, rule_list *list)
{
    static const char ending[] = ".hdf5";
    const size_t length = job->prefix ? strlen(job->prefix) : 0, tail = sizeof ending - 1;
    if (job->restart || is_given(list, "format") || length <= tail) return;
    if (strcmp(job->prefix + length - tail, ending) != 0 || length - tail >= sizeof job->prefix_room) return;
    job->form = SNAPSHOT_HDF5 - SNAPSHOT_LINES;
    memcpy(job->prefix_room, job->prefix, length - tail);
    job->prefix_room[length - tail] = 0;
    job->prefix = job->prefix_room;
}

/* Sets what the options leave open, in the units of the Andromeda model. */
static void take_times_of_galaxy(run *job, rule_list *list)
{
    if (!is_given(list, "eps")) job->eps = GALAXY_EPS;
    if (!is_given(list, "interval")) job->interval = GALAXY_INTERVAL;
    if (!job->dt_given) job->dt_max = GALAXY_INTERVAL;
    if (!is_given(list, "end")) job->end = 8 * GALAXY_INTERVAL;
}

/* Sets what the options leave open, as the program's own --demo wants it. */
static void take_demo(run *job, rule_list *list)
{
    const run_demo *demo = job->demo_run;
    job->model.kind = demo->kind;
    if (!is_given(list, "particles")) job->model.n = demo->n;
    if (!is_given(list, "eps")) job->eps = demo->eps;
    if (!is_given(list, "interval")) job->interval = demo->interval;
    if (!job->dt_given) job->dt_max = demo->dt_max;
    if (!is_given(list, "end")) job->end = demo->end;
}

int run_parse(run *job, int argc, char **argv, int *status)
{
    rule_list list = {.n = 0};
    message why = {""};
    set_defaults(job, argv[0]);
    list_rules(job, &list);
    int bad = options_parse(list.rule, list.n, argc, argv, &job->input, &why);
    if (!bad && (job->help || job->version)) {
        if (job->help) print_help(job, &list);
        if (job->version) printf("%s, libsapporo %s\n", job->program, sapporo_version());
        *status = RUN_OK;
        return 1;
    }
    if (!bad) {
        job->model_given = is_given(&list, "model");
        job->dt_given = is_given(&list, "dt-max");
        if (job->model_given && job->model_kind == CLUSTER_ANDROMEDA) take_times_of_galaxy(job, &list);
        job->plan.files = !job->demo || job->prefix;
        job->model.kind = (cluster_kind)job->model_kind;
        if (job->demo && job->demo_run) take_demo(job, &list);
        job->model.masses = (cluster_masses)job->masses;
        job->model.mass_low = job->mass_range[0];
        job->model.mass_high = job->mass_range[1];
        form_of_prefix(job, &list);
        bad = check_source(job, &list, &why) || read_units(job, &list, &why) || check_models(job, &list, &why) ||
              check_files(job, &list, &why) || check_numbers(job, &why);
        for (int k = 0; k < job->own_n; k++) job->own[k].given = is_given(&list, job->own[k].name);
    }
    if (bad) {
        run_warn(job, "%s", why.text);
        *status = RUN_USAGE;
        return 1;
    }
    if (!job->prefix && job->restart) prefix_of_restart(job);
    if (!job->prefix) job->prefix = job->demo ? "demo" : job->program;
    return 0;
}
