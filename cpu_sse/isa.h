/* isa.h - the instruction paths of this machine and build. */
#ifndef SAP_ISA_H
#define SAP_ISA_H

#include <stdatomic.h>

#include "base/lock.h"
#include "kernel.h"
#include "tree_kernels.h"

/* Of each architecture from the plainest to the fastest path; from AVX2 on products and sums are fused. */
enum sap_isa { SAP_ISA_SCALAR, SAP_ISA_SSE2, SAP_ISA_AVX2, SAP_ISA_AVX512, SAP_ISA_NEON, SAP_ISAS };

/* Whether a path has the fused operations of other engines. */
static inline int sap_isa_fuses(enum sap_isa isa) { return isa >= SAP_ISA_AVX2; }

/* Properties of the processor: determined once and then constant. */
struct sap_machine {
    struct sap_lock lock;
    atomic_int known;
    unsigned paths; /* bit sap_isa: the path is usable */
    char vendor[16];
};
extern struct sap_machine sap_machine;

/* Returns "scalar", "sse2", "avx2", "avx512" or "neon". */
const char *sap_isa_name(enum sap_isa isa);

/* Returns the path of a name, or -1. */
int sap_isa_find(const char *name);

/* Returns 1 if compiler, processor and operating system all support the path. */
int sap_isa_usable(enum sap_isa isa);

/* Returns the fastest usable path. */
enum sap_isa sap_isa_best(void);

/*
 * Returns the kernel of a path. NULL if the path is not usable, or if there is no such kernel: orders 6 and 8 have no
 * sp. order is 2, 4, 6 or 8, precision a sapporo_precision (not DEFAULT); fast roots exist for order 2 in sp only.
 */
const struct sap_kernel *sap_isa_kernel(enum sap_isa isa, int order, int precision, int fast);

/* Returns the kernel of trees, of sp or dp; NULL if the path is not usable. */
const struct sap_tree_kernel *sap_isa_tree_kernel(enum sap_isa isa, int precision);

/*
 * Returns the vendor on whom the bits of a path depend, if its roots start from estimates of the processor: on x86
 * these differ ("AuthenticAMD", "GenuineIntel", ...).  "any": the architecture defines the estimates.  Static storage.
 */
const char *sap_isa_vendor(enum sap_isa isa);

/* Writes the processor's name as the processor reports it, or "CPU". */
void sap_isa_brand(char *text, size_t room);

#endif
