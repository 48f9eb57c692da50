/* particles_part.c - stores j-particles whose positions and masses come in separate calls. */
#include "context/particles_part.h"

#include <string.h>

#include "base/finite.h"
#include "base/fpenv.h"
#include "context/call.h"
#include "context/context_units.h"
#include "context/particles.h"

enum { LANES = SAP_CPU_LANES };

static uint64_t carry(double value, uint64_t add)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (bits & finite_exponent) + add;
}

/* Reports a given position or mass that is not finite or too large.  The stored part was checked when it was given. */
static int judge(sapporo *c, int address, const double *x, const double *mass)
{
    const struct sap_jparticle given = {.derivative = {x}, .mass = mass ? *mass : 0};
    uint64_t unusual = carry(given.mass, if_not_finite);
    for (int axis = 0; axis < 3 && x; axis++) unusual |= carry(x[axis], if_wide);
    return unusual >> 63 ? sap_particle_judge(c, address, &given) : SAPPORO_OK;
}

/* Combines the given parts of a particle with its stored parts into *p; returns which parts are known then. */
static unsigned complete(const struct sap_jstore *host, struct sap_staged *p, const double *x, const double *mass)
{
    unsigned parts = SAP_JSTORE_BOTH;
    if (sap_jstore_has(host, p->address)) {
        sap_jstore_get(host, p->address, p->derivative, &p->mass, &p->time, &p->index);
        p->eps2 = sap_jstore_eps2(host, p->address);
    } else {
        parts = sap_jstore_get_part(host, p->address, p->derivative[0], &p->mass);
    }
    if (x) memcpy(p->derivative[0], x, sizeof p->derivative[0]);
    if (mass) p->mass = *mass;
    return parts | (x ? SAP_JSTORE_POSITION : 0U) | (mass ? SAP_JSTORE_MASS : 0U);
}

static int put_part(sapporo *c, int address, const double *x, const double *mass)
{
    struct sap_staged p = {.address = address, .index = address};
    if (sap_jstore_reserve(&c->host, address, 1))
        return sap_fail(c, SAPPORO_ERR_MEMORY, "out of memory for the j-particle at address %d", address);
    const unsigned parts = complete(&c->host, &p, x, mass);
    if (parts == SAP_JSTORE_BOTH)
        sap_jstore_put(&c->host, &p);
    else
        sap_jstore_put_part(&c->host, address, (enum sap_jstore_part)parts, p.derivative[0], p.mass);
    return judge(c, address, x, mass);
}

/* The number of addresses from `address` on, at most n and all in one word of 16, if all hold particles; else 0. */
static int whole_run(const struct sap_jstore *host, int address, int n)
{
    const struct sap_segment *s = sap_jstore_segment(host, address);
    const int left = LANES - address % LANES, run = n < left ? n : left;
    const unsigned bits = ((1U << run) - 1U) << address % LANES;
    return s && (s->occupied[address % SAP_SEGMENT / LANES] & bits) == bits ? run : 0;
}

/*
 * Replaces the given parts of n particles that whole_run has counted.  Tree codes call g5_set_mj and g5_set_xj for each
 * list of sources: for 632 sources both calls take 1 us on an AMD EPYC, and 36 us particle by particle.
 */
static int replace_run(sapporo *c, int address, int n, const double (*x)[3], const double *mass)
{
    const unsigned in = (unsigned)address % SAP_SEGMENT;
    struct sap_segment *s = c->host.segment[address / SAP_SEGMENT];
    double *const to = s->derivative[0] + sap_jstore_offset(in);
    uint64_t unusual = 0;
    int status = SAPPORO_OK;
    for (int l = 0; l < n && x; l++) {
        for (int axis = 0; axis < 3; axis++) {
            to[(ptrdiff_t)axis * LANES + l] = x[l][axis];
            unusual |= carry(x[l][axis], if_wide);
        }
    }
    for (int l = 0; l < n && mass; l++) {
        s->mass[in + (unsigned)l] = mass[l];
        unusual |= carry(mass[l], if_not_finite);
    }
    sap_jstore_mark_run(&c->host, s, address, n);
    for (int l = 0; l < n && unusual >> 63; l++) {
        const int one = judge(c, address + l, x ? x[l] : NULL, mass ? &mass[l] : NULL);
        if (one) status = one;
    }
    return status;
}

/* Parts of up to 16 particles in the units of a context. */
struct part_run {
    double x[LANES][3], mass[LANES];
};

/* Points *x and *mass to copies in the units of the context. */
static void to_units(sapporo *c, struct part_run *own, int n, const double (**x)[3], const double **mass)
{
    if (sap_units_are_plain(&c->units)) return;
    if ((*x && !sap_scales((*x)[0], 3 * n, c->units.length)) || (*mass && !sap_scales(*mass, n, c->units.mass))) {
        sap_context_leave_units(c);
        return;
    }
    const sap_fpenv callers = sap_fp_enter(); /* to multiply a signalling NaN would trap */
    if (*x) {
        memcpy(own->x, *x, (size_t)n * sizeof own->x[0]);
        sap_scale(own->x[0], 3 * (size_t)n, c->units.length);
        *x = (const double(*)[3])own->x;
    }
    if (*mass) {
        memcpy(own->mass, *mass, (size_t)n * sizeof own->mass[0]);
        sap_scale(own->mass, (size_t)n, c->units.mass);
        *mass = own->mass;
    }
    sap_fp_leave(callers);
}

static int put_parts(sapporo *c, int first, int n, const double (*x)[3], const double *mass)
{
    int status = SAPPORO_OK;
    if (first < 0 || n < 0 || first > SAP_ADDRESSES - n)
        return sap_fail(c, SAPPORO_ERR_ARGUMENT, "addresses %d and %d more are not between 0 and %d", first, n,
                        SAP_ADDRESSES - 1);
    sap_context_settle(c);
    status = sap_context_fetch(c);
    if (status) return status;
    sap_jstore_finish(&c->host);
    for (int k = 0, run; k < n; k += run) {
        const double(*from)[3] = x ? x + k : NULL;
        const double *m = mass ? mass + k : NULL;
        struct part_run own;
        run = whole_run(&c->host, first + k, n - k);
        to_units(c, &own, run ? run : 1, &from, &m);
        const int one = run ? replace_run(c, first + k, run, from, m) : put_part(c, first + k, from ? *from : NULL, m);
        if (!run) run = 1;
        if (one) status = one;
        if (!one || one == SAPPORO_ERR_NOT_FINITE) continue;
        sap_context_lose(c, first + k, n - k);
        break;
    }
    return status;
}

int sap_context_set_part(sapporo *context, int first, int n, const double (*x)[3], const double *mass)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_look(&call, SAP_HANDLE_CONTEXT, context);
    return sap_call_end(&call, c ? put_parts(c, first, n, x, mass) : SAPPORO_ERR_CLOSED);
}

void sap_context_silence(sapporo *context, enum sap_warning which)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_look(&call, SAP_HANDLE_CONTEXT, context);
    if (!c) return;
    c->notes.warned |= 1U << which;
    sap_call_leave(&call);
}

void sap_job_leave_neighbours(sapporo_job *job)
{
    struct sap_public_call call;
    sapporo_job *const j = sap_call_look(&call, SAP_HANDLE_JOB, job);
    if (!j) return;
    sapporo *const c = j->context;
    if (j->needs_store) c->open_needs--;
    j->needs_store = 0;
    sap_call_leave(&call);
}

unsigned long long sap_context_version(sapporo *context)
{
    struct sap_public_call call;
    sapporo *const c = sap_call_look(&call, SAP_HANDLE_CONTEXT, context);
    if (!c) return 0;
    if (c->nstaged) sap_context_settle(c);
    const unsigned long long version = c->host.version;
    sap_call_leave(&call);
    return version;
}

int sap_context_copy(sapporo *context, int nj, double (*x)[3], double *mass)
{
    double derivative[SAP_DERIVATIVES_MOST][3], time;
    int32_t index;
    int n = 0;
    struct sap_public_call call;
    sapporo *const c = sap_call_begin(&call, SAP_HANDLE_CONTEXT, context);
    if (!c) return 0;
    if (c->nstaged) sap_context_settle(c);
    (void)sap_context_fetch(c); /* those that cannot be had are none */
    const int end = nj < c->host.upper ? nj : c->host.upper;
    for (int a = sap_jstore_next(&c->host, 0); a < end; a = sap_jstore_next(&c->host, a + 1)) {
        if (x != NULL) {
            sap_jstore_get(&c->host, a, derivative, &mass[n], &time, &index);
            memcpy(x[n], derivative[0], sizeof x[n]);
            sap_scale(x[n], 3, -c->units.length);
            sap_scale(&mass[n], 1, -c->units.mass);
        }
        n++;
    }
    sap_call_leave(&call);
    return n;
}
