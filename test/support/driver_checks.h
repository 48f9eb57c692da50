/*
 * driver_checks.h - checks that every driver table must pass: CUDA's own and those for tests.  Assertions are CMocka's.
 */
#ifndef DRIVER_CHECKS_H
#define DRIVER_CHECKS_H

#include "driver/driver.h"

/* Opens device `number`. */
struct sap_dev *driver_opened(const struct sap_driver *d, int number);

/*
 * Checks that bytes are copied into device 0, moved, filled, and copied out; three calls name bytes outside of a
 * memory.
 */
void driver_check_copies(const struct sap_driver *d);

/* Checks that events complete, have times if they were made with timing, and that enter and leave go in pairs. */
void driver_check_events(const struct sap_driver *d);

/* Checks that an absurd allocation is refused, and an empty one is not. */
void driver_check_too_much(const struct sap_driver *d);

#endif
