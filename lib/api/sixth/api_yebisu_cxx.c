/*
 * api_yebisu_cxx.c - the C++ names of the Yebisu calls, for Yebisu's own programs, which do not use `extern "C"`.
 *
 * The names follow the ABI of all C++ compilers of Linux and macOS, in which a reference is a pointer.  The structs are
 * called `predictor` and `Force` in these names.
 */
#define SAPPORO_YEBISU 1
#include "sapporo_hermite6.h"

#define TEXT_OF(name) #name
#define TEXT(name)    TEXT_OF(name)
#define CXX(name)     __asm__(TEXT(__USER_LABEL_PREFIX__) name)

SAPPORO_API void sap_cxx_initialize(int n) CXX("_Z10initializei");
SAPPORO_API void sap_cxx_set_jp(int add, double mass, double pos[3], double vel[3], double acc[3], double jrk[3],
                                double snp[3], double crk[3], double time, int id, double eps2)
    CXX("_Z6set_jpidPdS_S_S_S_S_did");
SAPPORO_API void sap_cxx_predict_all(double time, int nj) CXX("_Z11predict_alldi");
SAPPORO_API void sap_cxx_no_predict_all(double time, int nj) CXX("_Z14no_predict_alldi");
SAPPORO_API void sap_cxx_pick_up(int addr, struct sapporo_yebisu_predictor *to)
    CXX("_Z17pick_up_predictoriR9predictor");
SAPPORO_API void sap_cxx_force(int ni, struct sapporo_yebisu_predictor pred[], struct sapporo_yebisu_force force[],
                               int nj) CXX("_Z24calc_force_on_predictorsiP9predictorP5Forcei");

void sap_cxx_initialize(int n) { initialize(n); }

void sap_cxx_set_jp(int add, double mass, double pos[3], double vel[3], double acc[3], double jrk[3], double snp[3],
                    double crk[3], double time, int id, double eps2)
{
    set_jp(add, mass, pos, vel, acc, jrk, snp, crk, time, id, eps2);
}

void sap_cxx_predict_all(double time, int nj) { predict_all(time, nj); }
void sap_cxx_no_predict_all(double time, int nj) { no_predict_all(time, nj); }
void sap_cxx_pick_up(int addr, struct sapporo_yebisu_predictor *to) { pick_up_predictor(addr, to); }

void sap_cxx_force(int ni, struct sapporo_yebisu_predictor pred[], struct sapporo_yebisu_force force[], int nj)
{
    calc_force_on_predictors(ni, pred, force, nj);
}
