/* tree_options.c - reads what a tree shall be like, and chooses its engine. */
#include "engine/tree_options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/structs.h"
#include "context/context.h"
#include "engine/tree_limits.h"

static double default_accuracy(sapporo_tree_mac mac)
{
    return mac == SAPPORO_MAC_OPENING ? 0.7 : mac == SAPPORO_MAC_MULTIPOLE ? 0.1 : 0.01;
}

static int bad(struct sap_notes *notes, const char *name, long long value, long long low, long long high)
{
    return sap_error(notes, SAPPORO_ERR_ARGUMENT, "%s of a tree is %lld; it may be %lld to %lld", name, value, low,
                     high);
}

static int check(const sapporo_tree_options *o, struct sap_notes *notes)
{
    const struct {
        const char *name;
        long long value, high;
    } field[] = {{"kind", o->kind, SAPPORO_TREE_KDTREE},
                 {"mac", o->mac, SAPPORO_MAC_ACCELERATION},
                 {"order", o->order, 2},
                 {"leaf_size", o->leaf_size, SAP_LEAF_MOST},
                 {"group_size", o->group_size, SAP_GROUP_MOST},
                 {"precision", o->precision, SAPPORO_DP},
                 {"ball", o->ball, SAPPORO_BALL_RITTER},
                 {"walk", o->walk, SAPPORO_WALK_STACKLESS},
                 {"curve", o->curve, SAPPORO_CURVE_MORTON}};
    for (size_t k = 0; k < sizeof field / sizeof field[0]; k++)
        if (field[k].value < 0 || field[k].value > field[k].high)
            return bad(notes, field[k].name, field[k].value, 0, field[k].high);
    if (!(o->accuracy >= 0 && o->accuracy <= 1e30))
        return sap_error(notes, SAPPORO_ERR_ARGUMENT, "accuracy of a tree is %g; it is a number > 0", o->accuracy);
    if (!(o->eps2 >= 0 && o->eps2 <= SAP_TREE_LIMIT * SAP_TREE_LIMIT))
        return sap_error(notes, SAPPORO_ERR_ARGUMENT, "eps2 of a tree is %g; it may be 0 to 1e200", o->eps2);
    if (o->kind == SAPPORO_TREE_KDTREE)
        return sap_error(notes, SAPPORO_ERR_UNSUPPORTED, "there are no kd-trees in this version, only octrees");
    return SAPPORO_OK;
}

static void fill(const sapporo_tree_options *o, struct sap_tree_settings *t)
{
    t->mac = o->mac ? o->mac : SAPPORO_MAC_OPENING;
    t->accuracy = o->accuracy > 0 ? o->accuracy : default_accuracy(t->mac);
    t->order = o->order ? o->order : 2;
    t->eps2 = o->eps2 < SAP_TREE_LEAST_EPS2 ? 0 : o->eps2;
    t->leaf_size = o->leaf_size;
    t->group_size = o->group_size;
    t->ball = o->ball;
    t->walk = o->walk ? o->walk : SAPPORO_WALK_GROUPS;
    t->curve = o->curve ? o->curve : SAPPORO_CURVE_HILBERT;
}

int sap_tree_options_read(const sapporo_tree_options *options, struct sap_settings *settings,
                          struct sap_tree_settings *tree, struct sap_notes *notes)
{
    sapporo_tree_options o = {.size = sizeof o};
    if (options) {
        const int status = sap_struct_copy(&o, sizeof o, options, sizeof options->size);
        if (status == SAPPORO_ERR_ARGUMENT) return sap_error(notes, status, "size of sapporo_tree_options is not set");
        if (status) return sap_error(notes, status, "sapporo_tree_options of a newer version of the library");
    }
    int status = check(&o, notes);
    if (status) return status;
    fill(&o, tree);
    const sapporo_options base = {.size = sizeof base,
                                  .order = 2,
                                  .precision = o.precision,
                                  .backend = o.backend,
                                  .devices = o.devices,
                                  .ndevices = o.ndevices,
                                  .preferred_device = o.preferred_device,
                                  .cpu_isa = o.cpu_isa,
                                  .threads = o.threads};
    status = sap_settings_read(settings, &base, notes);
    if (settings->precision != SAPPORO_DP) settings->precision = SAPPORO_SP;
    tree->precision = settings->precision;
    return status;
}

/* ---- engines ------------------------------------------------------------------------------ */

static int has_device(const struct sap_engine *engine, const struct sap_settings *settings)
{
    const int named = settings->backend_given || !engine->automatic;
    return (named ? engine->count() : engine->automatic()) > 0;
}

/* An engine that the user has named is refused; without one trees are elsewhere. */
static int refuse(const struct sap_engine *engine, const struct sap_settings *settings, struct sap_notes *notes,
                  const char *why)
{
    if (settings->backend_given)
        return sap_error(notes, SAPPORO_ERR_UNSUPPORTED, "no tree on %s: %s; the cpu engine has trees", engine->name,
                         why);
    sap_context_warn_once(NULL, SAP_WARN_TREE_ENGINE, "%s is not used for trees: %s", engine->name, why);
    return 0;
}

/* 1: the engine is open; 0: another may be tried; else a status. */
static int try_engine(const struct sap_engine *engine, const struct sap_settings *settings, struct sap_tree_engine *on,
                      struct sap_notes *notes)
{
    char why[200] = "";
    if (!has_device(engine, settings)) {
        if (!settings->backend_given) return 0;
        return sap_error(notes, SAPPORO_ERR_DEVICE, "no tree on %s: %s", engine->name,
                         engine->absent ? engine->absent() : "it has no device");
    }
    if (!engine->tree) return refuse(engine, settings, notes, "this engine has none");
    const int status = engine->open(settings, &on->devices, why, sizeof why);
    if (!status && engine->tree->able && !engine->tree->able(on->devices)) {
        engine->close(on->devices);
        on->devices = NULL;
        return refuse(engine, settings, notes, "its device has no double precision");
    }
    if (!status) {
        on->engine = engine;
        return 1;
    }
    if (settings->backend_given || engine == &sap_engine_cpu)
        return sap_error(notes, status, "cannot open %s for a tree: %s", engine->name, why);
    sap_log(SAPPORO_LOG_WARNING, "%s is not used for a tree: %s", engine->name, why);
    return 0;
}

int sap_tree_engine_open(const struct sap_settings *settings, struct sap_tree_engine *on, struct sap_notes *notes)
{
    for (int k = 0; sap_engines[k]; k++) {
        if (settings->backend != SAPPORO_BACKEND_AUTO && settings->backend != sap_engines[k]->backend) continue;
        const int opened = try_engine(sap_engines[k], settings, on, notes);
        if (opened) return opened > 0 ? SAPPORO_OK : opened;
    }
    return sap_error(notes, SAPPORO_ERR_UNSUPPORTED, "no engine of this build has trees");
}

void sap_tree_engine_close(struct sap_tree_engine *on)
{
    if (on->devices) on->engine->close(on->devices);
    on->devices = NULL;
}
