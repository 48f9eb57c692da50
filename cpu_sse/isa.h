/* isa.h - the instruction paths of this machine and build. */
#ifndef SAP_ISA_H
#define SAP_ISA_H

#include <stdatomic.h>

#include "base/lock.h"
#include "kernel.h"
#include "tree_kernels.h"

/* From the plainest to the fastest. */
enum sap_isa { SAP_ISA_SCALAR, SAP_ISA_SSE2, SAP_ISA_AVX2, SAP_ISA_AVX512, SAP_ISAS };

/* What the processor is; found out once and never changed. */
struct sap_machine {
    struct sap_lock lock;
    atomic_int known;
    unsigned paths; /* bit sap_isa: can be used */
    char vendor[16];
};
extern struct sap_machine sap_machine;

/* "scalar", "sse2", "avx2", "avx512". */
const char *sap_isa_name(enum sap_isa isa);

/* The path of a name, or -1. */
int sap_isa_find(const char *name);

/* 1 if compiler, processor and operating system all have the path. */
int sap_isa_usable(enum sap_isa isa);

/* The fastest usable path. */
enum sap_isa sap_isa_best(void);

/*
 * The kernel of a path; NULL if it is not usable, or if there is none: orders 6 and 8 have no sp.  order is 2, 4, 6 or
 * 8, precision a sapporo_precision (not DEFAULT); fast roots are for order 2 in sp alone.
 */
const struct sap_kernel *sap_isa_kernel(enum sap_isa isa, int order, int precision, int fast);

/* The kernel of trees, of sp or dp; NULL if the path is not usable. */
const struct sap_tree_kernel *sap_isa_tree_kernel(enum sap_isa isa, int precision);

/* The processor's vendor ("AuthenticAMD", "GenuineIntel", ...), or "unknown"; static storage. */
const char *sap_isa_vendor(void);

/* The processor's name as it gives it, or "CPU". */
void sap_isa_brand(char *text, size_t room);

#endif
