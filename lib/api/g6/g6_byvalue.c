/*
 * g6_byvalue.c - the GRAPE-6 interface for C: scalars by value.
 *
 * The names are weak and in a file of their own, because ph4 defines these names itself (spec 11.1, 11.2).
 */
#include "sapporo_g6.h"

#include "api/g6/g6.h"
#include "api/g6/npipes.h"

SAP_WEAK int g6_open(int clusterid) { return sap_g6_open(clusterid); }
SAP_WEAK int g6_close(int clusterid) { return sap_g6_close(clusterid); }
SAP_WEAK int g6_reinitialize(int clusterid) { return sap_g6_reset(clusterid, "g6_reinitialize"); }
SAP_WEAK int g6_reset(int clusterid) { return sap_g6_reset(clusterid, "g6_reset"); }
SAP_WEAK int g6_reset_fofpga(int clusterid) { return sap_g6_reset(clusterid, "g6_reset_fofpga"); }

SAP_WEAK int g6_npipes(void) { return sap_npipes(); }
SAP_WEAK int g6_get_number_of_pipelines(void) { return sap_npipes(); }
SAP_WEAK int g6_set_tunit(int unit) { return (void)unit, 0; }
SAP_WEAK int g6_set_xunit(int unit) { return (void)unit, 0; }

SAP_WEAK int g6_set_ti(int clusterid, double ti) { return sap_g6_set_ti(clusterid, ti); }

SAP_WEAK int g6_set_j_particle(int clusterid, int address, int index, double tj, double dtj, double mass, double k18[3],
                               double j6[3], double a2[3], double v[3], double x[3])
{
    (void)dtj;
    return sap_g6_set_j(clusterid, address, index, tj, mass, k18, j6, a2, v, x);
}

SAP_WEAK int g6_set_j_particle_mxonly(int clusterid, int address, int index, double mass, double x[3])
{
    return sap_g6_set_mass_position(clusterid, address, index, mass, x);
}

SAP_WEAK void g6calc_firsthalf(int clusterid, int nj, int ni, int index[], double xi[][3], double vi[][3],
                               double fold[][3], double jold[][3], double phiold[], double eps2, double h2[])
{
    (void)fold, (void)jold, (void)phiold;
    sap_g6_firsthalf(clusterid, &(struct sap_g6_force){nj, ni, index, xi, vi, eps2, h2});
}

/* The common parameters of all calls that collect a force, and the structs made of them. */
#define COMMON                                                                                                         \
    int clusterid, int nj, int ni, int index[], double xi[][3], double vi[][3], double eps2, double h2[],              \
        double acc[][3], double jerk[][3], double pot[]
#define COLLECT(form, nearest, distance)                                                                               \
    sap_g6_lasthalf(clusterid, &(struct sap_g6_force){nj, ni, index, xi, vi, eps2, h2},                                \
                    &(struct sap_g6_output){form, acc, jerk, pot, nearest, distance})

SAP_WEAK int g6calc_lasthalf(COMMON) { return COLLECT(SAP_G6_LASTHALF, NULL, NULL); }
SAP_WEAK int g6calc_lasthalfn(COMMON) { return COLLECT(SAP_G6_LASTHALF, NULL, NULL); }
SAP_WEAK int g6calc_lasthalf2(COMMON, int nnbindex[]) { return COLLECT(SAP_G6_LASTHALF2, nnbindex, NULL); }
SAP_WEAK int g6calc_lasthalf2n(COMMON, int nnbindex[]) { return COLLECT(SAP_G6_LASTHALF2, nnbindex, NULL); }
SAP_WEAK int g6calc_lasthalf2p(COMMON, int nnbindex[], float rnnb[])
{
    return COLLECT(SAP_G6_LASTHALF2P, nnbindex, rnnb);
}
SAP_WEAK int g6calc_lasthalf2np(COMMON, int nnbindex[], float rnnb[])
{
    return COLLECT(SAP_G6_LASTHALF2P, nnbindex, rnnb);
}

SAP_WEAK int g6_read_neighbour_list(int clusterid) { return sap_g6_read_lists(clusterid); }
SAP_WEAK int g6_read_neighbour_list_old(int clusterid) { return sap_g6_read_lists(clusterid); }
SAP_WEAK int g6_get_neighbour_list(int clusterid, int ipipe, int maxlength, int *nblen, int nbl[])
{
    return sap_g6_get_list(clusterid, ipipe, maxlength, nblen, nbl);
}
SAP_WEAK void g6_set_neighbour_list_sort_mode(int mode) { sap_g6_set_sort_mode(mode); }
SAP_WEAK int g6_get_neighbour_list_sort_mode(void) { return sap_g6_get_sort_mode(); }

SAP_WEAK int g6_set_overflow_flag_test_mode(int aflag, int jflag, int pflag)
{
    return (void)aflag, (void)jflag, (void)pflag, 0;
}
SAP_WEAK int g6_initialize_jp_buffer(int clusterid, int size) { return (void)clusterid, (void)size, 0; }
SAP_WEAK int g6_flush_jp_buffer(int clusterid) { return (void)clusterid, 0; }
SAP_WEAK void g6_setup_njdata(int clusterid, int nj) { (void)clusterid, (void)nj; }
