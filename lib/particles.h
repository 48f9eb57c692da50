/* particles.h - storing j-particles, for particles.c and particles_bulk.c.  Contexts are locked. */
#ifndef SAP_PARTICLES_H
#define SAP_PARTICLES_H

#include "context_private.h"

/*
 * Full derivatives (NULL: absent) in the form in which they are kept: to[] is memory for them, *p gets pointers.  What
 * the context's order does not use becomes zero.
 */
void sap_particle_scale(const sapporo *c, double (*to)[3], const double *const *from, struct sap_jparticle *p);

/* Stores or stages a particle. */
int sap_particle_put(sapporo *c, int address, const struct sap_jparticle *p);

/* Messages about a particle that is already staged or stored. */
int sap_particle_judge(sapporo *c, int address, const struct sap_jparticle *p);

#endif
