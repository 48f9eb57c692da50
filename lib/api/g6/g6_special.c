/* g6_special.c - Sapporo's own calls, which GRAPE-6 does not have (spec 7). */
#include "api/g6/g6_special.h"

#include <math.h>
#include <string.h>

#include "api/g6/g6.h"
#include "sapporo_g6.h"

SAP_WEAK int g6_open_special(int ndev, int *list) { return sap_g6_open_special(ndev, list); }

/* Ignores nmax, the expected number of particles, because memory grows on demand. */
SAP_WEAK int g6_open_special2(int ndev, int *list, int nmax) { return (void)nmax, sap_g6_open_special(ndev, list); }

SAP_WEAK void force_j_particle_send(void) {}

/* Counts devices of CUDA and HIP, or OpenCL devices if there are none, because one GPU may be a device of both. */
int sap_g6_device_count(void)
{
    const int n = sapporo_device_count(SAPPORO_BACKEND_CUDA) + sapporo_device_count(SAPPORO_BACKEND_HIP);
    return n > 0 ? n : sapporo_device_count(SAPPORO_BACKEND_OPENCL);
}

SAP_WEAK int get_device_count(void) { return sap_g6_device_count(); }

static void give(double *to, const double from[3])
{
    if (to != NULL) memcpy(to, from, 3 * sizeof *to);
}

static int read_part(int address, sapporo_particle *stored, sapporo_particle *predicted)
{
    int status = SAPPORO_ERR_CLOSED;
    struct sap_g6_cluster *cluster = sap_g6_hold(0, "get_j_part_data");
    if (cluster == NULL) return status;
    sapporo *context = sap_g6_held(cluster);
    status = sapporo_get_particle(context, address, 0, stored);
    if (status >= 0) status = sapporo_get_particle(context, address, 1, predicted);
    sap_g6_release(cluster);
    return status;
}

int sap_g6_get_part(int address, const struct sap_g6_part *part)
{
    static const double nan3[3] = {NAN, NAN, NAN};
    sapporo_particle stored, predicted;
    int bad = read_part(address, &stored, &predicted) < 0;
    give(part->pos, bad ? nan3 : stored.derivative[0]);
    give(part->vel, bad ? nan3 : stored.derivative[1]);
    give(part->acc, bad ? nan3 : stored.derivative[2]);
    give(part->jrk, bad ? nan3 : stored.derivative[3]);
    give(part->ppos, bad ? nan3 : predicted.derivative[0]);
    give(part->pvel, bad ? nan3 : predicted.derivative[1]);
    if (part->mass != NULL) *part->mass = bad ? NAN : stored.mass;
    if (part->eps2 != NULL) *part->eps2 = bad ? NAN : 0; /* softening is not a property of particles */
    if (part->id != NULL) *part->id = bad ? -1 : stored.index;
    return bad ? -1 : 0;
}

SAP_WEAK void get_j_part_data(int addr, int nj, double *pos, double *vel, double *acc, double *jrk, double *ppos,
                              double *pvel, double *mass, double *eps2, int *id)
{
    (void)nj;
    sap_g6_get_part(addr, &(struct sap_g6_part){pos, vel, acc, jrk, ppos, pvel, mass, eps2, id});
}
