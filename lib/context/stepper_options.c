/* stepper_options.c - reads the options of a stepper, and opens its engine, its tree or its context for direct sums. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "base/threads.h"
#include "context/context_private.h"
#include "context/hermite_host.h"
#include "context/partial.h"
#include "context/stepper_private.h"
#include "engine/tree_limits.h"
#include "engine/tree_macs.h"
#include "engine/tree_options.h"

_Static_assert(SAPPORO_FIELDS_MOST == (int)SAP_FIELDS && SAPPORO_STEP_LEVELS_MOST == (int)SAP_STEP_LEVELS,
               "limits of the header are those of the arithmetic");
_Static_assert(SAPPORO_FIELD_LOGARITHMIC == (int)SAP_FIELD_LOGARITHMIC &&
                   SAPPORO_STEP_BY_CHANGE == (int)SAP_STEP_BY_CHANGE,
               "numbers of the header are those of the arithmetic");

enum { USUAL_LEVELS = 16, MOST_ITERATIONS = 16 };
static const double USUAL_ETA = 0.025;

/* ---- fields ---------------------------------------------------------------------------------- */

static int is_length(double x) { return x >= 0 && x <= SAP_TREE_LIMIT; }

static int check_field(sapporo_stepper *s, const sapporo_field *f, int k)
{
    const int scaled = f->kind == SAPPORO_FIELD_HERNQUIST || f->kind == SAPPORO_FIELD_NFW;
    if (f->kind < SAPPORO_FIELD_POINT || f->kind > SAPPORO_FIELD_LOGARITHMIC)
        return fail(s, SAPPORO_ERR_ARGUMENT, "kind of field %d is %d; it may be 1 to 6", k, (int)f->kind);
    if (!(f->strength >= 0 && isfinite(f->strength)))
        return fail(s, SAPPORO_ERR_ARGUMENT, "strength of field %d is %g; it may be 0 or more", k, f->strength);
    if (!is_length(f->a) || !is_length(f->b) || (scaled && f->a == 0) ||
        (f->kind == SAPPORO_FIELD_LOGARITHMIC && f->b == 0))
        return fail(s, SAPPORO_ERR_ARGUMENT, "lengths of field %d are %g and %g; see sapporo_field", k, f->a, f->b);
    for (int c = 0; c < 3; c++)
        if (!(fabs(f->centre[c]) <= SAP_TREE_LIMIT))
            return fail(s, SAPPORO_ERR_ARGUMENT, "centre of field %d is not finite, or beyond 1e100", k);
    return SAPPORO_OK;
}

static int take_fields(sapporo_stepper *s, const sapporo_stepper_options *o)
{
    struct sap_field_list *const list = &s->settings.fields;
    if (o->nfields < 0 || o->nfields > SAPPORO_FIELDS_MOST || (o->nfields > 0 && !o->fields))
        return fail(s, SAPPORO_ERR_ARGUMENT, "nfields is %d; it may be 0 to %d, with fields", o->nfields,
                    (int)SAPPORO_FIELDS_MOST);
    list->n = o->nfields;
    for (int k = 0; k < list->n; k++) {
        const sapporo_field *const f = &o->fields[k];
        const int status = check_field(s, f, k);
        if (status) return status;
        list->field[k] = (struct sap_field){.strength = f->strength, .a = f->a, .b = f->b, .kind = (int)f->kind};
        memcpy(list->field[k].centre, f->centre, sizeof f->centre);
    }
    return SAPPORO_OK;
}

/* ---- options ---------------------------------------------------------------------------------- */

static int check_numbers(sapporo_stepper *s, const sapporo_stepper_options *o)
{
    const struct {
        const char *name;
        int value, least, most;
    } field[] = {{"method", (int)o->method, 0, SAPPORO_STEP_DIRECT},
                 {"scheme", (int)o->scheme, 0, SAPPORO_STEPS_HERMITE8},
                 {"criterion", (int)o->criterion, 0, SAPPORO_STEP_BY_MEAN},
                 {"levels", o->levels, 0, SAPPORO_STEP_LEVELS_MOST},
                 {"rebuild", o->rebuild, SAPPORO_REBUILD_TIMED, 1000000000},
                 {"landing", o->landing, 0, 1},
                 {"nearest", o->nearest, 0, 1},
                 {"iterations", o->iterations, 0, MOST_ITERATIONS}};
    for (size_t k = 0; k < sizeof field / sizeof field[0]; k++)
        if (field[k].value < field[k].least || field[k].value > field[k].most)
            return fail(s, SAPPORO_ERR_ARGUMENT, "%s of a stepper is %d; it may be %d to %d", field[k].name,
                        field[k].value, field[k].least, field[k].most);
    if (!(o->dt > 0 && o->dt <= SAP_TREE_LIMIT))
        return fail(s, SAPPORO_ERR_ARGUMENT, "dt of a stepper is %g; it is a number > 0", o->dt);
    if (!(o->eta >= 0 && o->eta <= SAP_TREE_LIMIT))
        return fail(s, SAPPORO_ERR_ARGUMENT, "eta of a stepper is %g; it is a number > 0", o->eta);
    if (!(o->eta_start >= 0 && o->eta_start <= SAP_TREE_LIMIT))
        return fail(s, SAPPORO_ERR_ARGUMENT, "eta_start of a stepper is %g; it is a number > 0", o->eta_start);
    if (!(o->close >= 0 && o->close <= SAP_TREE_LIMIT))
        return fail(s, SAPPORO_ERR_ARGUMENT, "close of a stepper is %g; it is a number > 0", o->close);
    return SAPPORO_OK;
}

/* Checks what Hermite schemes have no use for, and what is theirs alone. */
static int check_scheme(sapporo_stepper *s, sapporo_stepper_options *o)
{
    const int order = sap_step_order_of(o->scheme), theirs = o->criterion >= SAPPORO_STEP_BY_AARSETH;
    if (o->criterion && theirs != (order > 0))
        return fail(s, SAPPORO_ERR_ARGUMENT, "criterion %d is one of %s", (int)o->criterion,
                    theirs ? "Hermite schemes" : "leap-frogs");
    if (order == 0 && (o->nearest || o->close > 0 || o->iterations > 1))
        return fail(s, SAPPORO_ERR_UNSUPPORTED,
                    "leap-frogs keep no neighbours, do not stop at close pairs, and have no iterations");
    if (order == 0) return SAPPORO_OK;
    s->settings.nearest = o->nearest || o->close > 0;
    s->settings.close2 = o->close * o->close;
    s->settings.iterations = o->iterations > 0 ? o->iterations : 1;
    if (o->method == SAPPORO_STEP_TREE)
        return fail(s, SAPPORO_ERR_UNSUPPORTED, "Hermite schemes need direct sums: a tree gives no derivatives");
    if (order == 4 && o->criterion == SAPPORO_STEP_BY_MEAN)
        return fail(s, SAPPORO_ERR_ARGUMENT, "criterion %d is for orders 6 and 8", (int)o->criterion);
    o->method = SAPPORO_STEP_DIRECT;
    s->settings.order = order;
    return SAPPORO_OK;
}

/* Chooses the rule of a Hermite scheme; its criterion may depend on the precision, which is not known yet. */
static int take_hermite(sapporo_stepper *s, const sapporo_stepper_options *o)
{
    static const double eta[] = {0.01, 0.4, 0.6};
    const int order = s->settings.order;
    struct sap_hermite_rule *const rule = &s->settings.hermite;
    if (s->tree_settings.softening)
        return fail(s, SAPPORO_ERR_UNSUPPORTED, "Hermite schemes have Plummer's softening alone (0)");
    s->settings.rule.criterion = (int)o->criterion;
    s->settings.rule.levels = rule->levels = o->levels ? o->levels : (int)SAPPORO_STEP_LEVELS_MOST;
    s->settings.rule.eta = rule->eta = o->eta > 0 ? o->eta : eta[order / 2 - 2];
    rule->eta_start = o->eta_start > 0 ? o->eta_start : order == 4 ? 0.0025 : 0.01;
    rule->unit = scalbn(1, ilogb(o->dt));
    return SAPPORO_OK;
}

/* Decides what depends on the precision of the forces. */
static void end_hermite(sapporo_stepper *s)
{
    enum { ROUNDINGS = 64 }; /* of a force, in units of the last digit of its largest part: a cluster has some ten */
    const int is_double = s->signature.precision == (int)SAPPORO_DP;
    struct sap_step_rule *const rule = &s->settings.rule;
    if (rule->criterion == SAPPORO_STEP_CRITERION_DEFAULT)
        rule->criterion =
            s->settings.order == 4 || is_double ? (int)SAPPORO_STEP_BY_AARSETH : (int)SAPPORO_STEP_BY_MEAN;
    s->settings.hermite.averaged = rule->criterion == (int)SAPPORO_STEP_BY_MEAN;
    s->settings.hermite.rounding = ROUNDINGS * (is_double ? 0x1p-53 : 0x1p-24);
    s->signature.criterion = rule->criterion;
}

/* Chooses the rule for steps. */
static int take_rule(sapporo_stepper *s, const sapporo_stepper_options *o)
{
    if (s->settings.order) return take_hermite(s, o);
    const int block = o->scheme == SAPPORO_STEPS_BLOCK;
    struct sap_step_rule *const rule = &s->settings.rule;
    rule->criterion = o->criterion ? (int)o->criterion : (int)SAP_STEP_BY_ACCELERATION;
    rule->levels = !block ? 1 : o->levels ? o->levels : (int)USUAL_LEVELS;
    rule->eta = o->eta > 0 ? o->eta : USUAL_ETA;
    rule->reach = 2 * rule->eta * sqrt(s->tree_settings.eps2);
    return SAPPORO_OK;
}

/* Only trees of one process have a period. */
static int check_period(sapporo_stepper *s, const sapporo_stepper_options *o)
{
    const double period = s->tree_settings.period;
    if (!(period > 0)) return SAPPORO_OK;
    if (s->is_part)
        return fail(s, SAPPORO_ERR_UNSUPPORTED, "period is %g; it must be 0 for steppers over ranks", period);
    if (o->method == SAPPORO_STEP_DIRECT)
        return fail(s, SAPPORO_ERR_UNSUPPORTED, "period is %g; it must be 0 for direct sums", period);
    return SAPPORO_OK;
}

static void sign(sapporo_stepper *s, const sapporo_stepper_options *o)
{
    const struct sap_tree_settings *const t = &s->tree_settings;
    const int tree = o->method != SAPPORO_STEP_DIRECT;
    s->signature =
        (struct sap_stepper_signature){.method = tree ? (int)SAPPORO_STEP_TREE : (int)SAPPORO_STEP_DIRECT,
                                       .scheme = o->scheme ? (int)o->scheme : (int)SAPPORO_STEPS_SHARED,
                                       .criterion = s->settings.rule.criterion,
                                       .levels = s->settings.rule.levels,
                                       .rebuild = tree ? o->rebuild : 0,
                                       .kind = (tree ? (int)t->kind : 0) + (int)SAP_SIGNATURE_LAW * (int)t->softening,
                                       .mac = tree ? (int)t->mac : 0,
                                       .order = tree ? t->order : 0,
                                       .leaf_size = tree ? t->leaf_size : 0,
                                       .group_size = tree                ? t->group_size
                                                     : s->settings.order ? s->settings.iterations - 1
                                                                         : 0,
                                       .landing = o->landing,
                                       .dt = o->dt,
                                       .eta = s->settings.rule.eta,
                                       .eps2 = t->eps2,
                                       .gravity = t->gravity,
                                       .accuracy = tree ? t->accuracy : s->settings.hermite.eta_start,
                                       .group_extent = tree ? t->group_extent : 0,
                                       .period = t->period,
                                       .fields = s->settings.fields};
    s->settings.by_acceleration = tree && sap_mac_row(t->mac).by_a;
    s->settings.keeps_built = tree && o->rebuild != 1;
    s->settings.eps2 = t->eps2;
}

/* ---- direct sums --------------------------------------------------------------------------------- */

/* Gives sources and targets their squared lengths; Plummer's softening adds the common one. */
static void soften(struct sap_stepper_direct *d, const struct sap_step_rows *r, sapporo_particles *all,
                   sapporo_request *request)
{
    double *const of_targets = d->eps2_of + d->room;
    request->softening = (sapporo_softening)d->law;
    if (d->law) request->eps2 = 0;
    sap_step_square_lengths(r, r->n, d->eps2_of, of_targets);
    all->eps2.base = d->eps2_of;
    request->eps2_i.base = of_targets;
}

/* Computes forces from direct sums of particles in host memory, for the stepper of the CPU engine. */
static int sum_directly(void *of, const struct sap_step_rows *r)
{
    struct sap_stepper_direct *const d = of;
    sapporo_particles all = {.size = sizeof all};
    sapporo_request request = {
        .size = sizeof request, .nj = r->n, .ni = r->ni, .eps2 = d->eps2, .want = SAPPORO_ALLOW_EMPTY};
    const sapporo_result result = {.size = sizeof result, .acc = r->acc, .pot = r->pot};
    sapporo_job *job = NULL;
    all.derivative[0].base = r->x;
    all.mass.base = r->mass;
    for (int k = 0; k < r->ni && r->active; k++) memcpy(d->x[k], r->x[r->active[k]], sizeof *d->x);
    request.x.base = r->active ? (const double(*)[3])d->x : r->x;
    request.index.base = r->active ? r->active : d->index;
    if (r->h && !d->eps2_of) d->eps2_of = malloc(2 * (size_t)d->room * sizeof *d->eps2_of);
    if (r->h && !d->eps2_of) return SAPPORO_ERR_MEMORY;
    if (r->h) soften(d, r, &all, &request);
    int status = sapporo_set_particles(d->context, 0, r->n, &all);
    if (!status) status = sapporo_force_begin(d->context, &request, &job);
    if (!status) status = sapporo_force_end(job, r->ni, &result);
    sapporo_force_free(job);
    return status;
}

/* Keeps the particles of direct sums in host memory. */
static int open_source(sapporo_stepper *s, int n)
{
    struct sap_stepper_direct *const d = &s->direct;
    if (s->settings.order) {
        d->source = (struct sap_step_source){
            .sums = &sap_hermite_context, .of = d->context, .threads = sapporo_get_threads(d->context)};
        s->ops = &sap_hermite_host;
        return SAPPORO_OK;
    }
    d->x = malloc((size_t)n * sizeof *d->x);
    d->index = malloc((size_t)n * sizeof *d->index); /* slots; those of massless particles are no source's */
    if (!d->x || !d->index) return fail(s, SAPPORO_ERR_MEMORY, "no memory for a stepper of %d particles", n);
    for (int k = 0; k < n; k++) d->index[k] = k;
    d->eps2 = s->tree_settings.eps2;
    d->law = (int)s->tree_settings.softening;
    d->room = n;
    const int on_cpu = sapporo_get_backend(d->context) == SAPPORO_BACKEND_CPU;
    d->source = (struct sap_step_source){
        .force = sum_directly, .of = d, .threads = on_cpu ? sapporo_get_threads(d->context) : 0};
    s->ops = sap_fallback_engine()->stepper;
    return SAPPORO_OK;
}

/* Opens a context for direct sums.  If it would mix precisions, the number of particles of the stepper chooses one. */
static int open_sums(sapporo **context, sapporo_options *options, int n)
{
    const int status = sapporo_open(options, context);
    if (status || !sap_context_is_mixed(*context)) return status;
    sapporo_close(*context);
    options->precision = n < SAP_FEW_J ? SAPPORO_DP : SAPPORO_DS;
    return sapporo_open(options, context);
}

/* Has the particles of direct sums on the devices of a context, if that can be; returns whether. */
static int open_on_devices(sapporo_stepper *s, sapporo *context, int n)
{
    struct sap_device_set *devices;
    const struct sap_engine *const engine = sap_context_engine(context, n, &devices);
    if (!engine->stepper || !engine->stepper->direct || !engine->stepper->direct(devices)) return 0;
    s->direct.devices = devices;
    s->on.engine = engine;
    s->ops = engine->stepper;
    return 1;
}

static int open_direct(sapporo_stepper *s, const sapporo_tree_options *o, int n)
{
    struct sap_stepper_direct *const d = &s->direct;
    sapporo_options options = {.size = sizeof options,
                               .order = s->settings.order ? s->settings.order : 2,
                               .precision = o->precision,
                               .backend = o->backend,
                               .devices = o->devices,
                               .ndevices = o->ndevices,
                               .preferred_device = o->preferred_device,
                               .cpu_isa = o->cpu_isa,
                               .threads = o->threads};
    const int status = open_sums(&d->context, &options, n);
    if (status) return fail(s, status, "%s", sapporo_last_error(NULL));
    s->signature.precision = (int)sapporo_get_precision(d->context);
    if (s->settings.order) end_hermite(s);
    (void)snprintf(s->kind, sizeof s->kind, "%s direct", sapporo_kind(d->context));
    return !o->softening && open_on_devices(s, d->context, n) ? (int)SAPPORO_OK : open_source(s, n);
}

/* ---- a tree --------------------------------------------------------------------------------------- */

static int open_tree(sapporo_stepper *s, const struct sap_settings *settings, int n)
{
    int status = sap_context_tree_engine_open(settings, &s->on, &s->object.notes);
    if (status) return status;
    const struct sap_tree_maker *const maker = s->on.engine->tree;
    s->ops = s->on.engine->stepper;
    if (!s->ops) return fail(s, SAPPORO_ERR_UNSUPPORTED, "the %s engine has no steppers", s->on.engine->name);
    maker->kind(s->on.devices, &s->tree_settings, s->kind, sizeof s->kind);
    s->signature.precision = (int)s->tree_settings.precision;
    status = maker->create(s->on.devices, &s->tree_settings, n, &s->tree);
    return status ? fail(s, status, "no tree for a stepper of %d particles: %s", n, sapporo_status_text(status)) : 0;
}

/* ---- a part of a whole ------------------------------------------------------------------------------ */

/* Takes forces and trees from the whole; particles are where its source has them. */
static int open_part(sapporo_stepper *s, const struct sap_settings *settings)
{
    const struct sap_stepper_whole *const w = &s->whole;
    s->tree = w->tree;
    s->direct.source = w->source;
    if (w->source.threads <= 0) s->direct.source.threads = sap_threads_default();
    s->ops = s->settings.order ? &sap_hermite_host : sap_fallback_engine()->stepper;
    if (w->source.place) {
        const int status = sap_context_tree_engine_open(settings, &s->on, &s->object.notes);
        if (status) return status;
        s->ops = s->on.engine->stepper;
    }
    if (w->source.sharing && !open_on_devices(s, w->context, s->room))
        return fail(s, SAPPORO_ERR_UNSUPPORTED, "the device has no steppers over direct sums");
    s->signature.precision = s->settings.order ? w->precision : (int)s->tree_settings.precision;
    if (s->settings.order) end_hermite(s);
    (void)snprintf(s->kind, sizeof s->kind, "%s", w->kind);
    return SAPPORO_OK;
}

static int read_options(sapporo_stepper *s, const sapporo_stepper_options *given, sapporo_stepper_options *o)
{
    const int status = given ? sap_struct_copy(o, sizeof *o, given, sizeof given->size) : (int)SAPPORO_ERR_ARGUMENT;
    return status ? sap_struct_error(&s->object.notes, status, "sapporo_stepper_options", given) : SAPPORO_OK;
}

/* Decides what is measured; extent: of groups, as the options say. */
static void take_tuning(sapporo_stepper *s, const sapporo_stepper_options *o, double extent, int is_frozen)
{
    const int wants = o->method != SAPPORO_STEP_DIRECT && o->rebuild == SAPPORO_REBUILD_TIMED;
    s->wants_times = s->is_timed = wants && !is_frozen;
    s->tunes_groups = s->is_timed && !s->is_part && !(extent > 0);
    if (s->tunes_groups) s->tree_settings.splits = 1;
    if (wants && is_frozen)
        sap_log(SAPPORO_LOG_INFO, "stepper: tuning is frozen, so counts of interactions decide when trees are built");
}

int sap_stepper_open(sapporo_stepper *s, const sapporo_stepper_options *given, int n)
{
    sapporo_stepper_options o = {.nfields = 0};
    sapporo_tree_options tree = {.size = sizeof tree};
    struct sap_settings settings;
    const int least = s->is_part ? 0 : 1;
    if (n < least) return fail(s, SAPPORO_ERR_ARGUMENT, "a stepper of %d particles; it has %d or more", n, least);
    int status = read_options(s, given, &o);
    if (!status) status = check_numbers(s, &o);
    if (!status) status = check_scheme(s, &o);
    if (!status) status = sap_tree_options_read(o.tree, &settings, &s->tree_settings, &s->object.notes);
    if (!status) status = check_period(s, &o);
    if (!status) status = take_fields(s, &o);
    if (!status) status = take_rule(s, &o);
    if (status) return status;
    sign(s, &o);
    if (o.tree) (void)sap_struct_copy(&tree, sizeof tree, o.tree, sizeof o.tree->size);
    take_tuning(s, &o, tree.group_extent, settings.tune_frozen);
    status = s->is_part                        ? open_part(s, &settings)
             : o.method == SAPPORO_STEP_DIRECT ? open_direct(s, &tree, n)
                                               : open_tree(s, &settings, n);
    if (status) return status;
    s->label = malloc(((size_t)n + 1) * sizeof *s->label);
    struct sap_device_set *const devices = s->direct.devices ? s->direct.devices : s->on.devices;
    const struct sap_step_source *const source =
        s->direct.source.force || s->direct.source.of ? &s->direct.source : NULL;
    struct sap_tree *const own_tree = s->is_part ? NULL : s->tree;
    status =
        s->label ? s->ops->create(devices, own_tree, source, &s->settings, n, &s->particles) : (int)SAPPORO_ERR_MEMORY;
    if (!status) return SAPPORO_OK;
    size_t device = 0;
    const size_t host = s->ops->memory(n, 0, sap_stepper_direct_order(s), &device);
    return fail(s, status, "a stepper of %d particles needs %zu bytes of memory and %zu of a device: %s", n, host,
                device, sapporo_status_text(status));
}
