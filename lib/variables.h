/*
 * variables.h - the environment variables that the library reads: one row per variable.
 *
 * Readers (base/environment.h), `sapporo info`, the tables of docs/settings.md and the tests take names, words, ranges
 * and defaults from this table.  Files of lib/ name rows as &sap_variables[SAP_VAR_...]; libraries beside libsapporo,
 * which hides the table, contain a copy of it.
 */
#ifndef SAP_VARIABLES_H
#define SAP_VARIABLES_H

#include "base/variable_table.h"

/*
 * Kinds of squared neighbour radii that NBODY6's codes pass, and values of SAPPORO_NBODY6_RADII.  Aarseth's older codes
 * pass h2 = RS^2: j is a neighbour of i if min(r^2, |r + dtr v|^2) < h2.  The newer codes, NBODY7 among them, pass
 * h2 = RS^2 / <m>: j is a neighbour if that minimum is below m_j h2.
 */
enum sap_radii {
    SAP_RADII_PLAIN,
    SAP_RADII_MASS,
    SAP_RADII_AUTO,   /* the lists of the first force tell */
    SAP_RADII_OF_CALL /* each call tells; no value of the variable */
};

/* Rows of the table, in the order in which `sapporo info` and docs/settings.md show them. */
enum sap_variable {
    /* settings */
    SAP_VAR_BACKEND,
    SAP_VAR_DEVICES,
    SAP_VAR_PRECISION,
    SAP_VAR_ROOT,
    SAP_VAR_CPU_ISA,
    SAP_VAR_NUM_THREADS, /* OMP_NUM_THREADS */
    SAP_VAR_METHOD,
    SAP_VAR_TREE_KIND,
    SAP_VAR_TREE_MAC,
    SAP_VAR_TREE_ACCURACY,
    SAP_VAR_TREE_ERROR,
    SAP_VAR_MPI_TRANSPORT,
    SAP_VAR_TUNE,
    SAP_VAR_CACHE,
    SAP_VAR_VERBOSE,
    SAP_VAR_NPIPES,   /* GRAPE_NPIPES */
    SAP_VAR_GPU_LIST, /* GPU_LIST */
    SAP_VAR_NBODY6_RADII,

    /* for tests */
    SAP_VAR_OPENCL_VECTORS,
    SAP_VAR_OPENCL_FP64,
    SAP_VAR_OPENCL_SPLIT,

    /* of other software */
    SAP_VAR_THREAD_LIMIT, /* OMP_THREAD_LIMIT */
    SAP_VAR_PLACES,       /* OMP_PLACES; the four variables of places follow each other */
    SAP_VAR_PROC_BIND,
    SAP_VAR_GOMP_AFFINITY,
    SAP_VAR_KMP_AFFINITY,
    SAP_VAR_ICD_VENDORS, /* OCL_ICD_VENDORS; the variables of OpenCL's loader and of PoCL follow each other */
    SAP_VAR_ICD_FILENAMES,
    SAP_VAR_VENDOR_PATH,
    SAP_VAR_POCL_DEVICES,
    SAP_VAR_RANK_OPENMPI, /* the variables of local ranks follow each other; the first that is set counts */
    SAP_VAR_RANK_MVAPICH,
    SAP_VAR_RANK_INTEL,
    SAP_VAR_RANK_SLURM,
    SAP_VAR_RANK_PMI,
    SAP_VAR_RANK_PALS,
    SAP_VAR_CONFIG_HOME, /* XDG_CONFIG_HOME */
    SAP_VAR_CACHE_HOME,  /* XDG_CACHE_HOME */
    SAP_VAR_HOME,        /* HOME */
    SAP_VARIABLES
};

extern const struct sap_variable_row sap_variables[SAP_VARIABLES];

#endif
