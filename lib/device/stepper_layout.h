/* stepper_layout.h - numbers on which the kernels of the stepper and their host flow agree. */
#ifndef SAP_DEVICE_STEPPER_LAYOUT_H
#define SAP_DEVICE_STEPPER_LAYOUT_H

#include "device/gpu_layout.h" /* SAP_GPU_REAL */

enum {
    SAP_STEPPER_THREADS = 256,
    SAP_STEPPER_TOLD = 64 /* ints that kernels tell: what is wrong, active particles per level, massless ones of them */
};

/* Slots of particles (engine/step_order.h), as arguments of kernels. */
struct sap_stepper_order {
    int has_order; /* 0: slots are addresses, and the arrays of slots and of addresses are not read */
    int massive;   /* slots of particles with mass */
};

/* Where a tree can give forces: a position x is too far away if (x - low) unit is beyond `most` (engine/cube.h). */
struct sap_stepper_range {
    SAP_GPU_REAL low[3], unit, most;
    SAP_GPU_REAL wrong; /* NaN: the force on a position that is too far away */
};

#endif
