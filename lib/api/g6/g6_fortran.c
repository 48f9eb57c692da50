/*
 * g6_fortran.c - the GRAPE-6 interface for Fortran: all arguments by reference.
 *
 * The names are weak, like the C names, because headers of Sapporo2 define some of them.
 */
#include "compat/sapporo_g6_fortran.h"

#include <math.h>

#include "api/g6/g6.h"
#include "api/g6/g6_special.h"
#include "api/g6/npipes.h"

/* A NULL scalar counts as -1, which is refused; a NULL cluster id counts as 0. */
static inline int at(const int *scalar) { return scalar != NULL ? *scalar : -1; }

static inline int id_at(const int *scalar) { return scalar != NULL ? *scalar : 0; }

static inline double real_at(const double *scalar) { return scalar != NULL ? *scalar : NAN; }

/* ---- life cycle ---------------------------------------------------------------- */

SAP_WEAK int g6_open_(int *clusterid) { return sap_g6_open(id_at(clusterid)); }

SAP_WEAK int g6_close_(int *clusterid) { return sap_g6_close(id_at(clusterid)); }

SAP_WEAK int g6_open_special_(int *ndev, int *list) { return sap_g6_open_special(at(ndev), list); }

SAP_WEAK int g6_open_special2_(int *ndev, int *list, int *nmax)
{
    (void)nmax;
    return sap_g6_open_special(at(ndev), list);
}

SAP_WEAK int g6_reinitialize_(int *clusterid) { return sap_g6_reset(id_at(clusterid), "g6_reinitialize"); }

SAP_WEAK int g6_reset_(int *clusterid) { return sap_g6_reset(id_at(clusterid), "g6_reset"); }

SAP_WEAK int g6_reset_fofpga_(int *clusterid) { return sap_g6_reset(id_at(clusterid), "g6_reset_fofpga"); }

SAP_WEAK int g6_npipes_(void) { return sap_npipes(); }

SAP_WEAK int g6_get_number_of_pipelines_(void) { return sap_npipes(); }

SAP_WEAK int g6_set_tunit_(void *unit)
{
    (void)unit;
    return 0;
}

SAP_WEAK int g6_set_xunit_(void *unit)
{
    (void)unit;
    return 0;
}

/* ---- time and particles ------------------------------------------------------------ */

SAP_WEAK int g6_set_ti_(int *clusterid, double *ti) { return sap_g6_set_ti(id_at(clusterid), real_at(ti)); }

SAP_WEAK int g6_set_j_particle_(int *clusterid, int *address, int *index, double *tj, double *dtj, double *mass,
                                double k18[3], double j6[3], double a2[3], double v[3], double x[3])
{
    (void)dtj;
    return sap_g6_set_j(id_at(clusterid), at(address), at(index), real_at(tj), real_at(mass), k18, j6, a2, v, x);
}

SAP_WEAK int g6_set_j_particle_mxonly_(int *clusterid, int *address, int *index, double *mass, double x[3])
{
    return sap_g6_set_mass_position(id_at(clusterid), at(address), at(index), real_at(mass), x);
}

SAP_WEAK int g6_set_j_particle_multisend_mxfast_(int *clusterid, int *nclusters, int *address, int *index, double *mass,
                                                 double x[3])
{
    return sap_g6_set_mass_position_of_many(id_at(clusterid), at(nclusters), at(address), at(index), real_at(mass), x);
}

/* ---- forces -------------------------------------------------------------------------- */

/* The common parameters of all calls that collect a force, and the structs made of them. */
#define COMMON                                                                                                         \
    int *clusterid, int *nj, int *ni, int index[], double xi[][3], double vi[][3], double *eps2, double h2[],          \
        double acc[][3], double jerk[][3], double pot[]
#define FORCE (&(struct sap_g6_force){at(nj), at(ni), index, xi, vi, real_at(eps2), h2})
#define COLLECT(form, nearest, distance)                                                                               \
    sap_g6_lasthalf(id_at(clusterid), FORCE, &(struct sap_g6_output){form, acc, jerk, pot, nearest, distance})

SAP_WEAK void g6calc_firsthalf_(int *clusterid, int *nj, int *ni, int index[], double xi[][3], double vi[][3],
                                double fold[][3], double jold[][3], double phiold[], double *eps2, double h2[])
{
    (void)fold, (void)jold, (void)phiold;
    sap_g6_firsthalf(id_at(clusterid), FORCE);
}

SAP_WEAK int g6calc_lasthalf_(COMMON) { return COLLECT(SAP_G6_LASTHALF, NULL, NULL); }

SAP_WEAK int g6calc_lasthalfn_(COMMON) { return COLLECT(SAP_G6_LASTHALF, NULL, NULL); }

SAP_WEAK int g6calc_lasthalf2_(COMMON, int nnbindex[]) { return COLLECT(SAP_G6_LASTHALF2, nnbindex, NULL); }

SAP_WEAK int g6calc_lasthalf2n_(COMMON, int nnbindex[]) { return COLLECT(SAP_G6_LASTHALF2, nnbindex, NULL); }

SAP_WEAK int g6calc_lasthalf2p_(COMMON, int nnbindex[], float rnnb[])
{
    return COLLECT(SAP_G6_LASTHALF2P, nnbindex, rnnb);
}

SAP_WEAK int g6calc_lasthalf2np_(COMMON, int nnbindex[], float rnnb[])
{
    return COLLECT(SAP_G6_LASTHALF2P, nnbindex, rnnb);
}

/* ---- neighbour lists ------------------------------------------------------------------ */

SAP_WEAK int g6_read_neighbour_list_(int *clusterid) { return sap_g6_read_lists(id_at(clusterid)); }

SAP_WEAK int g6_read_neighbour_list_old_(int *clusterid) { return sap_g6_read_lists(id_at(clusterid)); }

SAP_WEAK int g6_get_neighbour_list_(int *clusterid, int *ipipe, int *maxlength, int *nblen, int nbl[])
{
    return sap_g6_get_list(id_at(clusterid), at(ipipe), at(maxlength), nblen, nbl);
}

SAP_WEAK int g6_set_neighbour_list_sort_mode_(int *mode) { return sap_g6_set_sort_mode(at(mode)); }

SAP_WEAK int g6_get_neighbour_list_sort_mode_(void) { return sap_g6_get_sort_mode(); }

/* ---- calls of the hardware; calls that Sapporo adds -------------------------------------- */

SAP_WEAK int g6_set_overflow_flag_test_mode_(int *aflag, int *jflag, int *pflag)
{
    (void)aflag, (void)jflag, (void)pflag;
    return 0;
}

SAP_WEAK int g6_initialize_jp_buffer_(int *clusterid, int *size)
{
    (void)clusterid, (void)size;
    return 0;
}

SAP_WEAK int g6_flush_jp_buffer_(int *clusterid)
{
    (void)clusterid;
    return 0;
}

SAP_WEAK int g6_setup_njdata_(int *clusterid, int *nj)
{
    (void)clusterid, (void)nj;
    return 0;
}

SAP_WEAK int get_j_part_data_(int *addr, int *nj, double *pos, double *vel, double *acc, double *jrk, double *ppos,
                              double *pvel, double *mass, double *eps2, int *id)
{
    (void)nj;
    return sap_g6_get_part(at(addr), &(struct sap_g6_part){pos, vel, acc, jrk, ppos, pvel, mass, eps2, id});
}

SAP_WEAK int force_j_particle_send_(void) { return 0; }

SAP_WEAK int get_device_count_(void) { return sap_g6_device_count(); }

/* ---- second underscores --------------------------------------------------------------------- */

/* g77 and -fsecond-underscore append a second underscore to names that contain one.  (Darwin has no aliases.) */
#if defined(__GNUC__) && !defined(__APPLE__)
#define ALSO(name) extern __typeof__(name##_) name##__ __attribute__((weak, alias(#name "_"), visibility("default")))
ALSO(g6_open);
ALSO(g6_close);
ALSO(g6_open_special);
ALSO(g6_open_special2);
ALSO(g6_reinitialize);
ALSO(g6_reset);
ALSO(g6_reset_fofpga);
ALSO(g6_npipes);
ALSO(g6_get_number_of_pipelines);
ALSO(g6_set_tunit);
ALSO(g6_set_xunit);
ALSO(g6_set_ti);
ALSO(g6_set_j_particle);
ALSO(g6_set_j_particle_mxonly);
ALSO(g6_set_j_particle_multisend_mxfast);
ALSO(g6calc_firsthalf);
ALSO(g6calc_lasthalf);
ALSO(g6calc_lasthalfn);
ALSO(g6calc_lasthalf2);
ALSO(g6calc_lasthalf2n);
ALSO(g6calc_lasthalf2p);
ALSO(g6calc_lasthalf2np);
ALSO(g6_read_neighbour_list);
ALSO(g6_read_neighbour_list_old);
ALSO(g6_get_neighbour_list);
ALSO(g6_set_neighbour_list_sort_mode);
ALSO(g6_get_neighbour_list_sort_mode);
ALSO(g6_set_overflow_flag_test_mode);
ALSO(g6_initialize_jp_buffer);
ALSO(g6_flush_jp_buffer);
ALSO(g6_setup_njdata);
ALSO(get_j_part_data);
ALSO(force_j_particle_send);
ALSO(get_device_count);
#endif
