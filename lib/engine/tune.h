/*
 * tune.h - reads the tuning file: launch parameters per kind of device, measured by `sapporo tune`.
 *
 *     sapporo tune 1                   the format, then one section per kind of device
 *     # a comment
 *     [cuda NVIDIA H200 sm_90]
 *     ds.few_cost 1.25                 PRECISION.KEY NUMBER
 *
 * No number in the file changes the bits of an engine's results.  A malformed
 * file is ignored, and unknown keys are skipped; either gives one warning per
 * process.  Engines read the file when a context is opened.
 */
#ifndef SAP_TUNE_H
#define SAP_TUNE_H

#include <stddef.h>

#include "engine/options.h"

/* A number that the file may set: its key, its variable and its range. */
struct sap_tune_number {
    const char *key;
    double *value;
    double least, most;
};

/*
 * Replaces the numbers of a kind of device by the numbers in the tuning file of the settings.  Returns 1 if the file
 * has a section for the device, else 0; then it changes no number.
 */
int sap_tune_read(const struct sap_settings *settings, const char *device, const struct sap_tune_number *number, int n);

/*
 * Like sap_tune_read, from `size` bytes of text, which need not end with a 0.  A number outside its range makes the
 * text malformed.  A malformed text sets no number and gives one warning per process.
 */
int sap_tune_parse(const struct sap_settings *settings, const char *device, const struct sap_tune_number *number, int n,
                   const char *text, size_t size);

#endif
