/* particles_part.c - j-particles whose positions and masses come apart. */
#include "particles_part.h"

#include <math.h>
#include <string.h>

#include "finite.h"
#include "particles.h"

static uint64_t carry(double value, uint64_t add)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (bits & exponent) + add;
}

/* Messages about what is given: what was there, or is still missing, has been judged or needs no words. */
static int judge(sapporo *c, int address, const double *x, const double *mass)
{
    const struct sap_jparticle given = {.derivative = {x}, .mass = mass ? *mass : 0};
    uint64_t unusual = carry(given.mass, if_not_finite);
    for (int axis = 0; axis < 3 && x; axis++) unusual |= carry(x[axis], if_wide);
    return unusual >> 63 ? sap_particle_judge(c, address, &given) : SAPPORO_OK;
}

static int put_part(sapporo *c, int address, const double *x, const double *mass)
{
    struct sap_staged p = {.derivative = {{NAN, NAN, NAN}}, .address = address, .index = address};
    if (sap_jstore_reserve(&c->host, address, 1))
        return sap_fail(c, SAPPORO_ERR_MEMORY, "out of memory for the j-particle at address %d", address);
    if (sap_jstore_has(&c->host, address)) {
        sap_jstore_get(&c->host, address, p.derivative, &p.mass, &p.time, &p.index);
        p.eps2 = sap_jstore_eps2(&c->host, address);
    }
    if (x) memcpy(p.derivative[0], x, sizeof p.derivative[0]);
    if (mass) p.mass = *mass;
    sap_jstore_put(&c->host, &p);
    return judge(c, address, x, mass);
}

static int put_parts(sapporo *c, int first, int n, const double (*x)[3], const double *mass)
{
    int status = SAPPORO_OK;
    if (first < 0 || n < 0 || first > SAP_ADDRESSES - n)
        return sap_fail(c, SAPPORO_ERR_ARGUMENT, "addresses %d and %d more are not between 0 and %d", first, n,
                        SAP_ADDRESSES - 1);
    sap_context_settle(c);
    for (int k = 0; k < n; k++) {
        const int one = put_part(c, first + k, x ? x[k] : NULL, mass ? &mass[k] : NULL);
        if (one) status = one;
        if (one && one != SAPPORO_ERR_NOT_FINITE) break;
    }
    return status;
}

int sap_context_set_part(sapporo *c, int first, int n, const double (*x)[3], const double *mass)
{
    sap_lock(&c->busy);
    const int status = c->open ? put_parts(c, first, n, x, mass) : SAPPORO_ERR_CLOSED;
    sap_unlock(&c->busy);
    return status;
}

void sap_context_silence(sapporo *c, enum sap_warning which)
{
    sap_lock(&c->busy);
    c->notes.warned |= 1U << which;
    sap_unlock(&c->busy);
}

void sap_job_leave_neighbours(sapporo_job *j)
{
    sap_lock(&j->context->busy);
    if (j->needs_store) j->context->open_needs--;
    j->needs_store = 0;
    sap_unlock(&j->context->busy);
}

unsigned long long sap_context_version(sapporo *c)
{
    sap_lock(&c->busy);
    if (c->nstaged) sap_context_settle(c);
    const unsigned long long version = c->host.version;
    sap_unlock(&c->busy);
    return version;
}

int sap_context_copy(sapporo *c, int nj, double (*x)[3], double *mass)
{
    double derivative[SAP_DERIVATIVES_MOST][3], time;
    int32_t index;
    int n = 0;
    sap_lock(&c->busy);
    if (c->nstaged) sap_context_settle(c);
    for (int a = 0; a < nj && a < c->host.upper; a++) {
        if (!sap_jstore_has(&c->host, a)) continue;
        if (x != NULL) {
            sap_jstore_get(&c->host, a, derivative, &mass[n], &time, &index);
            memcpy(x[n], derivative[0], sizeof x[n]);
        }
        n++;
    }
    sap_unlock(&c->busy);
    return n;
}
