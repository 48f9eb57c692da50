/*
 * g6.h - the functions behind the exported GRAPE-6 calls.
 *
 * The exported names by value (g6_byvalue.c) and for Fortran (g6_fortran.c) are
 * thin.  A client may define some of the exported names itself and forward them
 * to others (ph4 does), so no exported function calls another one (spec 11.1).
 */
#ifndef SAP_API_G6_H
#define SAP_API_G6_H

#include "api/g6/g6_jobs.h"
#include "api/g6/g6_table.h"
#include "base/weak.h"
#include "context/context.h"
#include "sapporo.h"

/* The call that collects a force, which determines the outputs. */
enum sap_g6_form {
    SAP_G6_LASTHALF,  /* acc, jerk, pot */
    SAP_G6_LASTHALF2, /* acc, jerk, pot, nearest */
    SAP_G6_LASTHALF2P /* acc, jerk, pot, nearest, distance */
};

struct sap_g6_output {
    enum sap_g6_form form;
    double (*acc)[3], (*jerk)[3], *pot;
    int *nearest;
    float *distance; /* softened distance of the nearest neighbour */
};

/* Functions return 0, or -1 after a message; a comment names other results. */
int sap_g6_open(int id);
int sap_g6_open_special(int ndev, const int *list);
int sap_g6_close(int id);
int sap_g6_reset(int id, const char *caller);
int sap_g6_set_ti(int id, double ti);
int sap_g6_set_mass_position(int id, int address, int index, double mass, const double *x);
int sap_g6_set_mass_position_of_many(int id, int clusters, int address, int index, double mass, const double *x);
int sap_g6_firsthalf(int id, const struct sap_g6_force *force);
int sap_g6_lasthalf(int id, const struct sap_g6_force *force, const struct sap_g6_output *output); /* also 1 */
int sap_g6_read_lists(int id);                                                                     /* also 1 */
int sap_g6_get_list(int id, int pipe, int room, int *n, int *list);                                /* also 1 */
int sap_g6_set_sort_mode(int mode);
int sap_g6_get_sort_mode(void); /* the mode */

/* The slow path of sap_g6_set_j, for ids that sap_g6_direct does not find and for wrong arguments. */
int sap_g6_set_j_slowly(int id, int address, int index, double tj, double mass, const double *k18, const double *j6,
                        const double *a2, const double *v, const double *x);

/* Stores a j-particle.  Clients call it for each particle of each block, so it adds only a few loads to the context. */
static inline int sap_g6_set_j(int id, int address, int index, double tj, double mass, const double *k18,
                               const double *j6, const double *a2, const double *v, const double *x)
{
    const struct sap_context_name *context = sap_g6_direct(id);
    if (context == NULL || x == NULL) return sap_g6_set_j_slowly(id, address, index, tj, mass, k18, j6, a2, v, x);
    return sap_context_set_scaled(context, address, index, tj, mass, k18, j6, a2, v, x);
}

#endif
