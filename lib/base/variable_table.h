/*
 * variable_table.h - the environment variables that the library reads: one row per variable.
 *
 * Readers (environment.h), `sapporo info`, the table of the README and the tests
 * take names, words, ranges and defaults from this table.  The NBODY6 libraries
 * contain this file too, so it depends on no other file of the library.
 */
#ifndef SAP_VARIABLE_TABLE_H
#define SAP_VARIABLE_TABLE_H

#include <stddef.h>

#include "sapporo.h"

/* A word and its value; a table of words ends with {NULL, 0}. */
struct sap_word {
    const char *text;
    int value;
};

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

/* Rows of the table, in the order in which `sapporo info` and the README show them. */
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

enum sap_variable_type {
    SAP_TYPE_WORD,
    SAP_TYPE_COUNT,   /* an integer from `least` to `most` */
    SAP_TYPE_FIRST,   /* an integer from `least` to `most`, or a list separated by commas whose first number counts */
    SAP_TYPE_REAL,    /* a number above 0, at most 1e30 */
    SAP_TYPE_DEVICES, /* device numbers */
    SAP_TYPE_PATH,
    SAP_TYPE_TEXT, /* only whether the variable is set matters */
    SAP_TYPES
};

/* The effect of an invalid value. */
enum sap_variable_bad {
    SAP_BAD_NONE,  /* every value is valid */
    SAP_BAD_OPEN,  /* opening a context fails */
    SAP_BAD_USE,   /* the call that needs the variable fails, because no option of the caller can replace it */
    SAP_BAD_WARNED /* the value is ignored, with one warning per process */
};

/*
 * A row of the table.  A variable for tests counts as not set in a process with raised privileges.  Its texts put
 * everything that a user can type into back quotes.
 */
struct sap_variable_row {
    const char *name;
    enum sap_variable_type type;
    enum sap_variable_bad bad;
    enum sapporo_audience audience;
    const struct sap_word *words; /* allowed words; for devices and paths the words with a special meaning, or NULL */
    int least, most;              /* range of integers */
    const char *values;           /* text of the allowed values; NULL: it follows from words, range and type */
    const char *usual;            /* the default */
    const char *about;            /* one line of documentation */
};

extern const struct sap_variable_row sap_variables[SAP_VARIABLES];

/* "word", "whole number", "number", "device numbers", "path" or "text". */
const char *sap_variable_type(enum sap_variable variable);

/* Writes the allowed values, such as "`sp`, `ds` or `dp`" or "0 to 9". */
void sap_variable_values(enum sap_variable variable, char *text, size_t room);

#endif
