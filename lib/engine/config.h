/*
 * config.h - the text of sapporo2.config and sapporo.config: which devices to use.
 *
 * A line is a whole number and a comment.  The first line is a number n of
 * devices; n lines with device numbers follow.  n = 0 means all devices, n < 0
 * any -n devices.  In sapporo.config a line with a particle capacity, which is
 * not used, stands before all others.
 */
#ifndef SAP_CONFIG_H
#define SAP_CONFIG_H

#include <stddef.h>

#include "engine/options.h"

struct sap_config {
    int n; /* > 0: devices in device[]; 0: all; < 0: any -n, at least -SAP_DEVICES_MAX */
    int device[SAP_DEVICES_MAX];
    int line;          /* where parsing ended, from 1 */
    const char *wrong; /* what is wrong there; NULL: nothing */
};

/* Parses `size` bytes, which need not end with a 0.  Returns 0 and sets found->wrong if the text is malformed. */
int sap_config_parse(const char *text, size_t size, int has_capacity, struct sap_config *found);

#endif
