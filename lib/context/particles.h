/* particles.h - storing and reading j-particles, for particles*.c.  All functions need a locked context. */
#ifndef SAP_PARTICLES_H
#define SAP_PARTICLES_H

#include "context/context_private.h"

/* Number of derivatives that the store has per particle. */
static inline int sap_particle_derivatives(const sapporo *c) { return c->host.full ? c->host.full : SAP_DERIVATIVES; }

/* Factor from stored derivative k to the full derivative: the GRAPE-6 factor, or 1 in orders 6 and 8. */
static inline double sap_particle_factor(const sapporo *c, int k)
{
    static const double full[SAP_DERIVATIVES] = {1, 1, 2, 6, 18};
    return c->host.full ? 1 : full[k];
}

/*
 * Converts full derivatives (NULL: absent) to the form of the store.  It writes them to to[] and sets the pointers of
 * *p.  Derivatives that the context's order does not use become zero.
 */
void sap_particle_scale(const sapporo *c, double (*to)[3], const double *const *from, struct sap_jparticle *p);

/* Checks a particle, then stores or stages it. */
int sap_particle_put(sapporo *c, int address, const struct sap_jparticle *p);

/* Like sap_particle_put for a particle that was judged in another context: not a word if it is not finite. */
int sap_particle_put_known(sapporo *c, int address, const struct sap_jparticle *p);

/*
 * Stores n particles in columns, in the form of the store, that were judged in another context.  After an error that
 * one of them caused it and all later ones are lost.
 */
int sap_particles_put_known(sapporo *c, int first, int n, const sapporo_particles *all);

/* Reports a particle, already staged or stored, that is not finite or beyond the range of single precision. */
int sap_particle_judge(sapporo *c, int address, const struct sap_jparticle *p);

#endif
