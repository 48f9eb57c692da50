/*
 * options.h - reads the settings of a context from options, environment and files.
 *
 * Precedence: options of the call (g6_open_special passes its list as options);
 * environment variables; for devices sapporo2.config, then sapporo.config in the
 * working directory; defaults.  Settings are read when a context is opened and
 * never later.  A process with raised privileges (environment.h) reads neither
 * these files nor paths in environment variables.
 */
#ifndef SAP_OPTIONS_H
#define SAP_OPTIONS_H

#include "base/log.h"
#include "engine/option_parts.h"
#include "sapporo.h"

enum { SAP_PATH_MAX = 1024 };

/* The names "sp", "ds", "dp", indexed by sapporo_precision. */
extern const char *const sap_precision_names[];

/* Follows the name of the precision in the kind of devices whose forces of few particles are dp (settings.mixed). */
#define SAP_MIXED_WORD "+dp"

struct sap_settings {
    int order;                   /* 2, 4, 6 or 8; 4 if not given */
    sapporo_precision precision; /* never DEFAULT: sp, ds or dp */
    sapporo_backend backend;     /* AUTO: the first that has a device */
    int backend_given;           /* 1: the user named the backend, so no other backend may replace it */
    char isa[16];                /* "scalar", "sse2", "avx2", "avx512", "neon"; "": the best available */
    int threads;                 /* of the CPU engine; 0: OMP_NUM_THREADS or all cores */
    sapporo_root root;           /* never DEFAULT */
    double gravity;              /* the gravitational constant; > 0 */

    /*
     * Devices of the backend.  ndevices > 0: devices[]; -1: all devices; 0: device_names if it is not empty,
     * else the single device preferred_device % (number of devices).
     */
    int ndevices;
    int devices[SAP_DEVICES_MAX]; /* each once */
    int devices_given;      /* 1: the user named devices (ndevices != 0, or device_names): warn about missing ones */
    int devices_any;        /* 1: devices[] stands for any ndevices devices: do not warn if there are fewer */
    char device_names[256]; /* SAPPORO_DEVICES if it has uuids or names, separated by commas */
    int preferred_device;   /* >= 0: local rank from an MPI launcher, or preferred_device of the options */

    char tune[SAP_PATH_MAX]; /* path of the tuning file; "": none */
    int tune_given;          /* 1: the user named the tuning file: warn if it does not exist */
    int tune_frozen;         /* 1: nothing is measured anew, so runs of steppers repeat to the bit */

    int mixed; /* 1: no precision was named, so forces of fewer than SAP_FEW_J addresses are dp */
    int few;   /* 1: devices for these forces alone: they hold no address from SAP_FEW_J on */
};

/*
 * Fills *out.  `options` may be NULL or an older, smaller version of the struct.  Returns SAPPORO_OK, or an error with
 * a message that names the option or variable and its allowed values; *out is then invalid.
 */
int sap_settings_read(struct sap_settings *out, const sapporo_options *options, struct sap_notes *notes);

/*
 * Returns the first word of a list of device names, without the blanks around it, or NULL; names are separated by
 * commas.  *length is that of the word; the rest of the list begins behind it.
 */
const char *sap_device_word(const char *names, size_t *length);

/*
 * Reads the variables SAPPORO_TREE_* of the GRAPE-5 interface.  Returns SAPPORO_OK, or SAPPORO_ERR_ARGUMENT with a
 * message of at most SAP_WRONG_ROOM bytes (environment.h) in `wrong`.
 */
int sap_settings_tree(struct sap_tree_variables *out, char *wrong);

/*
 * Reads SAPPORO_METHOD: 0 direct (the default), 1 tree.  SAPPORO_ERR_ARGUMENT for any other value, with a message in
 * `wrong`.
 */
int sap_settings_method(char *wrong);

/* 1 if SAPPORO_PRECISION is set, even to an invalid value. */
int sap_settings_precision_is_set(void);

#endif
