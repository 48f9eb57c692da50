/* tree_engine.h - the engine that a tree is built on. */
#ifndef SAP_TREE_ENGINE_H
#define SAP_TREE_ENGINE_H

#include "engine/engine.h"

struct sap_tree_engine {
    const struct sap_engine *engine;
    struct sap_device_set *devices;
};

/* Opens the first engine that has a device and supports trees.  If the user named a backend, it tries no other. */
int sap_context_tree_engine_open(const struct sap_settings *settings, struct sap_tree_engine *on,
                                 struct sap_notes *notes);
void sap_context_tree_engine_close(struct sap_tree_engine *on);

#endif
