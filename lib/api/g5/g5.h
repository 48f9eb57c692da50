/*
 * g5.h - the GRAPE-5 calls, before they get their names.
 *
 * The by-value names (g5_byvalue.c) and the Fortran names (g5_fortran.c) are thin; no exported function calls
 * another one (spec 11.1).  Plain calls are those on device 0.  Results are 0, or -1 after a message; where it says so,
 * also others.  `caller` is the name of the call for messages.
 */
#ifndef SAP_API_G5_H
#define SAP_API_G5_H

#include "api/g5/g5_table.h"
#include "base/weak.h"

/*
 * What clients are told: the numbers by which they cut their loops and dimension their arrays (spec 6.3).  Clients that
 * loop over boards name the first cluster and those after it in MC calls; the first cluster is the device of the plain
 * calls.
 */
enum { SAP_G5_PIPES = 256, SAP_G5_JMEMSIZE = 65536, SAP_G5_BOARDS = 1, SAP_G5_FIRST_CLUSTER = 0 };

/* Where the force on a device goes. */
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
int sap_g5_set_cutoff(const char *caller); /* -1: forces are NaN from now on */

/* ---- j-particles (g5.c) ---- */

int sap_g5_set_n(int id, int n, const char *caller);

/* What is given of j-particles adr .. adr + nj - 1; the arrays begin at address 0.  NULL: stays as it is. */
struct sap_g5_load {
    int adr, nj;
    double (*x)[3], *m, *eps2;
};

/* Which arrays a call must have. */
enum { SAP_G5_NEEDS_X = 1, SAP_G5_NEEDS_M = 2, SAP_G5_NEEDS_EPS2 = 4 };

int sap_g5_load(int id, enum sap_g5_memory memory, const struct sap_g5_load *load, unsigned needs, const char *caller);

/* ---- forces (g5_force.c) ---- */

enum sap_g5_softening { SAP_G5_COMMON, SAP_G5_EPS, SAP_G5_EPS2 };

/* i-particles with the softening of all, or one each: eps[], as lengths or as their squares. */
int sap_g5_set_xi(int id, int ni, double (*x)[3], enum sap_g5_softening form, const double *eps, const char *caller);

/* Softening of the first ni of the i-particles set. */
int sap_g5_set_eps(int id, int ni, enum sap_g5_softening form, const double *eps, const char *caller);

int sap_g5_run(int id, enum sap_g5_memory memory, const char *caller);
int sap_g5_get_force(int id, int ni, const struct sap_g5_output *out, const char *caller); /* also 1 */

/* All in one; eps2 is looked at by the symmetric memory alone. */
int sap_g5_calculate(int id, enum sap_g5_memory memory, int ni, double (*x)[3], const double *eps2,
                     const struct sap_g5_output *out, const char *caller); /* also 1 */

#endif
