/* tree_options.h - reads the options of a tree. */
#ifndef SAP_TREE_OPTIONS_H
#define SAP_TREE_OPTIONS_H

#include "engine/engine.h"
#include "engine/options.h"

/* Reads sapporo_tree_options, which may be NULL or another version of the struct; an error names the bad option. */
int sap_tree_options_read(const sapporo_tree_options *options, struct sap_settings *settings,
                          struct sap_tree_settings *tree, struct sap_notes *notes);

/* Returns the largest number of particles of a group: groups of kd-trees are whole nodes of up to 1.5 group_size. */
int sap_tree_group_most(const struct sap_tree_settings *tree);

/* Returns a number that the groups of n particles never exceed, halved or not. */
size_t sap_tree_groups_most(const struct sap_tree_settings *tree, int n);

/* Returns the word for a kind in the text of sapporo_tree_kind_text. */
const char *sap_tree_kind_word(sapporo_tree_kind kind);

#endif
