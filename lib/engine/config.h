/*
 * config.h - parses sapporo2.config and sapporo.config, which name the devices to use.
 *
 * A line is an integer and a comment.  The first line is a number n of devices;
 * n lines with device numbers follow.  n = 0 means all devices, n < 0 any -n
 * devices.  The first line of sapporo.config is a particle capacity, which is
 * ignored.
 */
#ifndef SAP_CONFIG_H
#define SAP_CONFIG_H

#include <stddef.h>

#include "engine/options.h"

struct sap_config {
    int n; /* > 0: number of devices in device[]; 0: all devices; < 0: any -n devices, n >= -SAP_DEVICES_MAX */
    int device[SAP_DEVICES_MAX];
    int line;          /* number of the line where parsing ended, from 1 */
    const char *wrong; /* error in this line; NULL: none */
};

/* Parses `size` bytes, which need not end with a 0.  Returns 0 and sets found->wrong if the text is malformed. */
int sap_config_parse(const char *text, size_t size, int has_capacity, struct sap_config *found);

#endif
