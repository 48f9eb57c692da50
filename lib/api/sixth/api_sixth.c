/* api_sixth.c - the exported calls of libsapporo6th, Sapporo2's sixth-order interface. */
#include "sapporo_hermite6.h"

#include <math.h>
#include <string.h>

#include "api/sixth/sixth.h"

void initialize(void) { sap_sixth_open(); }

void initialize_special(int ndev, int *list) { sap_sixth_open_on(ndev, list); }

void set_j_particle(int add, double pos[3], double vel[3], double acc[3], double jrk[3], double snp[3], double crk[3],
                    double mass, double time, int id, double eps2)
{
    const double *const derivative[] = {pos, vel, acc, jrk, snp, crk};
    sap_sixth_set(add, derivative, mass, time, id, eps2);
}

void predict_all(double time, int nj)
{
    (void)nj; /* a force predicts all of its j-particles */
    sap_sixth_predict(time);
}

void no_predict_all(double time, int nj)
{
    (void)time;
    (void)nj;
    sap_sixth_no_predict();
}

void pick_up_predictor_2(int addr, int *id, double *mass, double *eps2, double pos[3], double vel[3], double acc[3])
{
    sapporo_particle p;
    sap_sixth_get(addr, &p, eps2);
    *id = p.index;
    *mass = p.mass;
    memcpy(pos, p.derivative[0], 3 * sizeof *pos);
    memcpy(vel, p.derivative[1], 3 * sizeof *vel);
    memcpy(acc, p.derivative[2], 3 * sizeof *acc);
}

void calc_force_on_predictors(int ni, int nj, int ids[], double pos[][3], double vel[][3], double acc[][3],
                              double mass[], double eps2[], double accNew[][3], double jrkNew[][3], double snpNew[][3],
                              double crkNew[][3], double phi[], int nnb[], double nnb_r2[])
{
    const struct sap_sixth_force force = {.ni = ni,
                                          .nj = nj,
                                          .index = {ids, 0},
                                          .x = {pos, 0},
                                          .v = {vel, 0},
                                          .a = {acc, 0},
                                          .eps2 = {eps2, 0},
                                          .result = {.size = sizeof force.result,
                                                     .acc = accNew,
                                                     .jerk = jrkNew,
                                                     .snap = snpNew,
                                                     .pot = phi,
                                                     .nearest = nnb,
                                                     .nearest_r2 = nnb_r2}};
    (void)mass; /* no force depends on the masses of the i-particles */
    const double crackle = sap_sixth_compute(&force) ? 0 : NAN;
    for (int i = 0; i < ni && crkNew; i++)
        for (int axis = 0; axis < 3; axis++) crkNew[i][axis] = crackle;
}
