/*
 * tune.h - the tuning file: numbers that `sapporo tune` measured, for each kind of device.
 *
 *     sapporo tune 1                   the format, then a section a kind of device
 *     # a comment
 *     [cuda NVIDIA H200 sm_90]
 *     ds.few_cost 1.25                 PRECISION.KEY NUMBER
 *
 * Nothing in it can change a bit of an engine's results.  A file that cannot be
 * understood counts as none, keys that nobody knows are passed over; each is
 * said once a process.  Engines read it when a context is opened.
 */
#ifndef SAP_TUNE_H
#define SAP_TUNE_H

#include <stddef.h>

#include "engine/options.h"

/* A number that the file may set, in a precision. */
struct sap_tune_number {
    const char *key;
    double *value;
    double least, most;
};

/*
 * Overlays the numbers of a kind of device with those of the settings' file.  Returns 1 if the file has a section for
 * it, else 0: then the numbers are as they were.
 */
int sap_tune_read(const struct sap_settings *settings, const char *device, const struct sap_tune_number *number, int n);

/*
 * The same for `size` bytes of text, which need not end with a 0.  Numbers outside their range make the text malformed;
 * a malformed text sets no number and gives one warning a process.
 */
int sap_tune_parse(const struct sap_settings *settings, const char *device, const struct sap_tune_number *number, int n,
                   const char *text, size_t size);

#endif
