/*
 * g5.h - the functions behind the exported GRAPE-5 calls.
 *
 * The exported names by value (g5_byvalue.c) and for Fortran (g5_fortran.c) are thin; no exported function calls
 * another one (spec 11.1).  Calls without MC use device 0.  Functions return 0, or -1 after a message; a comment names
 * other results.  `caller` is the name of the exported call, for messages.
 */
#ifndef SAP_API_G5_H
#define SAP_API_G5_H

#include "api/g5/g5_table.h"
#include "base/weak.h"

/*
 * The numbers that clients ask for to block their loops and to dimension their arrays (spec 6.3).  Clients that loop
 * over boards name the first cluster and the following clusters in MC calls; the first cluster is device 0, which calls
 * without MC use.
 */
enum { SAP_G5_PIPES = 256, SAP_G5_JMEMSIZE = 65536, SAP_G5_BOARDS = 1, SAP_G5_FIRST_CLUSTER = 0 };

/* Arrays for the results of a force; NULL: not wanted. */
struct sap_g5_output {
    double (*a)[3], *p;
};

/* ---- life cycle and settings (g5.c) ---- */

int sap_g5_open(int id, const char *caller);
int sap_g5_open_special(int ndev, const int *list);
int sap_g5_close(int id, const char *caller);
int sap_g5_set_eps_to_all(double eps);
int sap_g5_set_eps2_to_all(double eps2);
int sap_g5_set_range(int id, double xmin, double xmax, double mmin, const char *caller);
int sap_g5_get_range(int id, double *xmin, double *xmax, double *mmin, const char *caller);
int sap_g5_set_cutoff(const char *caller); /* returns -1, and all later forces are NaN */

/* ---- j-particles (g5.c) ---- */

int sap_g5_set_n(int id, int n, const char *caller);

/* New values for j-particles adr .. adr + nj - 1; the arrays begin at address 0.  NULL: this property is unchanged. */
struct sap_g5_load {
    int adr, nj;
    double (*x)[3], *m, *eps2;
};

/* Arrays that must not be NULL in a call. */
enum { SAP_G5_NEEDS_X = 1, SAP_G5_NEEDS_M = 2, SAP_G5_NEEDS_EPS2 = 4 };

int sap_g5_load(int id, enum sap_g5_memory memory, const struct sap_g5_load *load, unsigned needs, const char *caller);

/* ---- forces (g5_force.c) ---- */

enum sap_g5_softening { SAP_G5_COMMON, SAP_G5_EPS, SAP_G5_EPS2 };

/* Sets the i-particles with common softening, or with individual softening eps[], as lengths or as squared lengths. */
int sap_g5_set_xi(int id, int ni, double (*x)[3], enum sap_g5_softening form, const double *eps, const char *caller);

/* Sets the softening of the first ni i-particles of sap_g5_set_xi. */
int sap_g5_set_eps(int id, int ni, enum sap_g5_softening form, const double *eps, const char *caller);

int sap_g5_run(int id, enum sap_g5_memory memory, const char *caller);
int sap_g5_get_force(int id, int ni, const struct sap_g5_output *out, const char *caller); /* also 1 */

/* The i-particles of one force, with common softening (eps is NULL) or each with its own. */
struct sap_g5_targets {
    int ni;
    double (*x)[3];
    enum sap_g5_softening form;
    const double *eps;
};

/* Computes the forces on these i-particles and writes them. */
int sap_g5_calculate(int id, enum sap_g5_memory memory, const struct sap_g5_targets *targets,
                     const struct sap_g5_output *out, const char *caller); /* also 1 */

#endif
