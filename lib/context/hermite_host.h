/* hermite_host.h - the stepper of Hermite schemes over the forces of a context, with its particles in host memory. */
#ifndef SAP_HERMITE_HOST_H
#define SAP_HERMITE_HOST_H

#include "engine/stepper_ops.h"

/* Its `create` takes a source with sums. */
extern const struct sap_stepper_ops sap_hermite_host;

/* The sums of a context, which is their first argument (hermite_context.c). */
extern const struct sap_hermite_sums sap_hermite_context;

#endif
