/*
 * driver_checks.h - what holds for every driver table: CUDA's own and those for tests.  Assertions are CMocka's.
 */
#ifndef DRIVER_CHECKS_H
#define DRIVER_CHECKS_H

#include "driver/driver.h"

/* Device `number`, opened. */
struct sap_dev *driver_opened(const struct sap_driver *d, int number);

/* Bytes go into device 0, are moved, filled, and come out; three calls name bytes outside of a memory. */
void driver_check_copies(const struct sap_driver *d);

/* Events happen, have times where they were made for it; enter and leave go in pairs. */
void driver_check_events(const struct sap_driver *d);

/* An absurd allocation is refused, an empty one is not. */
void driver_check_too_much(const struct sap_driver *d);

#endif
