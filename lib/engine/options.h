/*
 * options.h - what a context shall be like, from everything that can say so.
 *
 * Precedence: native options (g6_open_special passes its list as such), the
 * environment, for devices also sapporo2.config and then sapporo.config in the
 * working directory, defaults.  All of it is read when a context is opened and
 * never later.  A process with raised privileges (environment.h) reads neither
 * these files nor paths of the environment.
 */
#ifndef SAP_OPTIONS_H
#define SAP_OPTIONS_H

#include "base/log.h"
#include "base/option_parts.h"
#include "sapporo.h"

enum { SAP_PATH_MAX = 1024 };

/* "sp", "ds", "dp" by sapporo_precision. */
extern const char *const sap_precision_names[];

struct sap_settings {
    int order;                   /* 2, 4, 6 or 8; 4 if not given */
    sapporo_precision precision; /* never DEFAULT: sp, ds or dp */
    sapporo_backend backend;     /* AUTO: the first that has a device */
    int backend_given;           /* the user named the backend: no other may take its place */
    char isa[16];                /* "scalar", "sse2", "avx2", "avx512"; "": the best */
    int threads;                 /* of the CPU engine; 0: OMP_NUM_THREADS or all cores */
    sapporo_root root;           /* never DEFAULT */

    /*
     * Devices of the backend.  ndevices > 0: devices[]; -1: all; 0: device_names if it is not empty,
     * else the one device preferred_device % (number of devices).
     */
    int ndevices;
    int devices[SAP_DEVICES_MAX]; /* each once */
    int devices_given;            /* the user named devices (ndevices != 0, or device_names): say which are missing */
    int devices_any;              /* devices[] stands for any ndevices devices: say nothing if there are fewer */
    char device_names[256];       /* SAPPORO_DEVICES with uuids or names in it, separated by commas */
    int preferred_device;         /* >= 0: local rank of an MPI launcher, or preferred_device of the options */

    char tune[SAP_PATH_MAX]; /* the tuning file; "": none */
    int tune_given;          /* the user named it: say if it is not there */
};

/*
 * Fills *out.  `options` may be NULL, or of an older and smaller version of the struct.  Returns SAPPORO_OK, or an
 * error with a message that names the option or variable and what it may be; *out is then of no use.
 */
int sap_settings_read(struct sap_settings *out, const sapporo_options *options, struct sap_notes *notes);

/*
 * Reads the variables of trees behind the GRAPE-5 interface.  Returns SAPPORO_OK, or SAPPORO_ERR_ARGUMENT with a
 * message of at most SAP_WRONG_ROOM bytes (environment.h) in `wrong`.
 */
int sap_settings_tree(struct sap_tree_variables *out, char *wrong);

/*
 * SAPPORO_METHOD: 0 direct, which is the default; 1 tree; SAPPORO_ERR_ARGUMENT for anything else, with a message as
 * above.
 */
int sap_settings_method(char *wrong);

/* 1: SAPPORO_PRECISION is set, be it to something without a meaning. */
int sap_settings_precision_is_set(void);

#endif
