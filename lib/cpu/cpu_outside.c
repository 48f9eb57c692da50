/*
 * cpu_outside.c - pairs that a kernel left out of a force as candidates for a list, and that are no members.
 *
 * Each is computed in double from canonical positions, by the one text of the interaction, and enters the force's
 * accumulators on its own.  Which pairs these are follows from the kernel's arithmetic, in which many_i and few_i
 * agree, so the bits of a force depend on its kind alone.
 */
#include "cpu/cpu_engine.h"
#include "engine/canonical.h"

#include "physics/ops_scalar.h"

#include "working_double.h"

#include "physics/interaction.h"

/* Where the kernels of a precision take a pair to be at zero distance. */
static double coincident(const struct sap_judge *j)
{
    return j->store->devices->precision == SAPPORO_DP ? DBL_MIN : SAP_TINY_R2;
}

int sap_outside_pair(const struct sap_judge *j, int i, int address, double *term)
{
    const struct sap_force_request *r = &j->force->request;
    double x[3], v[3], d[3], dv[3];
    sap_canonical_predict(j->store->host, address, r->time, x, v);
    for (int axis = 0; axis < 3; axis++) {
        d[axis] = x[axis] - r->x[i][axis];
        dv[axis] = v[axis] - r->v[i][axis];
        term[SAP_POT] = term[SAP_ACC + axis] = term[SAP_JERK + axis] = 0;
    }
    const double r2 = sap_distance2(d[0], d[1], d[2]) + r->eps2;
    if (r2 < coincident(j)) return 0;
    sap_pair4(term, d[0], d[1], d[2], dv[0], dv[1], dv[2], sap_jstore_mass(j->store->host, address), v_root_wide(r2));
    term[SAP_POT] = -term[SAP_POT];
    return 1;
}
