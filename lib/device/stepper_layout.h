/* stepper_layout.h - numbers on which the kernels of the stepper and their host flow agree. */
#ifndef SAP_DEVICE_STEPPER_LAYOUT_H
#define SAP_DEVICE_STEPPER_LAYOUT_H

enum { SAP_STEPPER_THREADS = 256 };

#endif
