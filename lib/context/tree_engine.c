/* tree_engine.c - chooses and opens the engine of a tree. */
#include "context/tree_engine.h"

#include "context/context.h"

/* An engine cannot build trees: an error if the user named this engine, else a warning, and the caller tries others. */
static int refuse(const struct sap_engine *engine, const struct sap_settings *settings, struct sap_notes *notes,
                  const char *why)
{
    if (settings->backend_given)
        return sap_error(notes, SAPPORO_ERR_UNSUPPORTED, "no tree on %s: %s; the cpu engine has trees", engine->name,
                         why);
    sap_context_warn_once(NULL, SAP_WARN_TREE_ENGINE, "%s is not used for trees: %s", engine->name, why);
    return 0;
}

/* Tries to open an engine for trees.  Returns 1: the engine is open; 0: the caller may try another; else a status. */
static int try_engine(const struct sap_engine *engine, const struct sap_settings *settings, struct sap_tree_engine *on,
                      struct sap_notes *notes)
{
    char why[200] = "";
    if (!sap_engine_has_device(engine, settings)) {
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
    if (settings->backend_given || engine == sap_fallback_engine())
        return sap_error(notes, status, "cannot open %s for a tree: %s", engine->name, why);
    sap_log(SAPPORO_LOG_WARNING, "%s is not used for a tree: %s", engine->name, why);
    return 0;
}

int sap_context_tree_engine_open(const struct sap_settings *settings, struct sap_tree_engine *on,
                                 struct sap_notes *notes)
{
    for (int k = 0; sap_engines[k]; k++) {
        if (settings->backend != SAPPORO_BACKEND_AUTO && settings->backend != sap_engines[k]->backend) continue;
        const int opened = try_engine(sap_engines[k], settings, on, notes);
        if (opened) return opened > 0 ? SAPPORO_OK : opened;
    }
    return sap_error(notes, SAPPORO_ERR_UNSUPPORTED, "no engine of this build has trees");
}

void sap_context_tree_engine_close(struct sap_tree_engine *on)
{
    if (on->devices) on->engine->close(on->devices);
    on->devices = NULL;
}
