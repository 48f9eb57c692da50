/*
 * cpu_outside.c - pairs that a kernel excluded as candidates of a list, but that are no members.
 *
 * Each pair is computed in double from canonical positions, by the one source of the interaction, and added to the
 * force's accumulators on its own. The kernel's arithmetic determines these pairs. many_i and few_i agree in it, so the
 * bits of a force depend on its kind alone.
 */
#include "cpu/cpu_engine.h"
#include "engine/canonical.h"

#include "physics/ops_scalar.h"

#include "working_double.h"

#include "physics/interaction.h"

/* Returns the squared distance up to which the kernels of a precision treat a pair as at zero distance. */
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
