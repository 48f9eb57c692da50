/* hermite_host.h - the stepper of Hermite schemes over the forces of a context, with its particles in host memory. */
#ifndef SAP_HERMITE_HOST_H
#define SAP_HERMITE_HOST_H

#include "engine/stepper_ops.h"

/* Its `create` takes a source whose `of` is the context, and which has no function. */
extern const struct sap_stepper_ops sap_hermite_host;

#endif
