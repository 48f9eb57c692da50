/* accum.c - reproducible accumulators of single values; includes the kernel source of their arithmetic. */
#include "engine/accum.h"

#include <stdint.h>
#include <string.h>

/* The named operations that physics/accumulate.h uses, on one double. */
#define SAP_HAVE_OPERATIONS 1
#define SAP_INLINE          static inline
typedef double D;
typedef int DM;
SAP_INLINE D d_set1(double x) { return x; }
SAP_INLINE D d_add(D a, D b) { return a + b; }
SAP_INLINE D d_sub(D a, D b) { return a - b; }
SAP_INLINE D d_mul(D a, D b) { return a * b; }
SAP_INLINE DM d_ge(D a, D b) { return a >= b; }
SAP_INLINE DM d_gt(D a, D b) { return a > b; }
SAP_INLINE DM d_eq(D a, D b) { return a == b; }
SAP_INLINE D d_select(DM m, D a, D b) { return m ? a : b; }
SAP_INLINE int dm_any(DM m) { return m; }
SAP_INLINE D d_grid(D x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= UINT64_C(0x7E00000000000000);
    memcpy(&x, &bits, sizeof x);
    return x;
}

#include "physics/accumulate.h"

void sap_accum_clear(struct sap_accum *a)
{
    memset(a, 0, sizeof *a);
    a->unit = SAP_UNIT_MIN;
}

void sap_accum_add(struct sap_accum *a, double x) { sap_deposit(&a->unit, a->limb, &a->special, x); }

void sap_accum_merge(struct sap_accum *into, const struct sap_accum *from)
{
    if (into->unit == from->unit) { /* the usual case: no unit must be raised */
        for (int k = 0; k < SAP_LIMBS; k++) into->limb[k] += from->limb[k];
        into->special += from->special;
        return;
    }
    struct sap_accum other = *from;
    sap_merge(&into->unit, into->limb, &into->special, &other.unit, other.limb, &other.special);
}

double sap_accum_round(const struct sap_accum *a) { return sap_total(a->unit, a->limb, a->special); }

double sap_accum_round_one(double x) { return sap_total_of_one(x); }
