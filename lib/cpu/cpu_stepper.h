/* cpu_stepper.h - the stepper of the CPU engine. */
#ifndef SAP_CPU_STEPPER_H
#define SAP_CPU_STEPPER_H

#include "engine/stepper_ops.h"

extern const struct sap_stepper_ops sap_stepper_cpu;

#endif
