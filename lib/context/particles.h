/* particles.h - storing and reading j-particles, for particles*.c.  Contexts are locked. */
#ifndef SAP_PARTICLES_H
#define SAP_PARTICLES_H

#include "context/context_private.h"

/* Derivatives that are stored. */
static inline int sap_particle_derivatives(const sapporo *c) { return c->host.full ? c->host.full : SAP_DERIVATIVES; }

/* What is stored of derivative k times this is the full derivative: GRAPE-6 factors, but in orders 6 and 8. */
static inline double sap_particle_factor(const sapporo *c, int k)
{
    static const double full[SAP_DERIVATIVES] = {1, 1, 2, 6, 18};
    return c->host.full ? 1 : full[k];
}

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
