/* tree_options.h - what a tree shall be like, and on which engine. */
#ifndef SAP_TREE_OPTIONS_H
#define SAP_TREE_OPTIONS_H

#include "engine/engine.h"
#include "engine/options.h"

/* Reads sapporo_tree_options, which may be NULL or of another version; an error names what is wrong. */
int sap_tree_options_read(const sapporo_tree_options *options, struct sap_settings *settings,
                          struct sap_tree_settings *tree, struct sap_notes *notes);

struct sap_tree_engine {
    const struct sap_engine *engine;
    struct sap_device_set *devices;
};

/* Opens the first engine that has a device and trees; where the user named one, that one or none. */
int sap_tree_engine_open(const struct sap_settings *settings, struct sap_tree_engine *on, struct sap_notes *notes);
void sap_tree_engine_close(struct sap_tree_engine *on);

#endif
