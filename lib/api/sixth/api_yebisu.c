/* api_yebisu.c - the exported calls of libyebisug6, the Yebisu interface of Sapporo2. */
#define SAPPORO_YEBISU 1
#include "sapporo_hermite6.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "api/sixth/sixth.h"
#include "base/fpenv.h"

_Static_assert(sizeof(struct sapporo_yebisu_predictor) == 96, "twelve doubles");
_Static_assert(sizeof(struct sapporo_yebisu_force) == 88, "ten doubles, an int, a float");

void initialize(int n)
{
    (void)n; /* memory grows on demand */
    sap_sixth_open();
}

void set_jp_2(int add, double pos[3], double vel[3], double acc[3], double jrk[3], double snp[3], double crk[3],
              double mass, double time, int id, double eps2)
{
    const double *const derivative[] = {pos, vel, acc, jrk, snp, crk};
    sap_sixth_set(add, derivative, mass, time, id, eps2);
}

void set_jp(int add, double mass, double pos[3], double vel[3], double acc[3], double jrk[3], double snp[3],
            double crk[3], double time, int id, double eps2)
{
    const double *const derivative[] = {pos, vel, acc, jrk, snp, crk};
    sap_sixth_set(add, derivative, mass, time, id, eps2);
}

void predict_all(double time, int nj)
{
    (void)nj;
    sap_sixth_predict(time);
}

void no_predict_all(double time, int nj)
{
    (void)time;
    (void)nj;
    sap_sixth_no_predict();
}

static void pick_up(int addr, struct sapporo_yebisu_predictor *to)
{
    sapporo_particle p;
    sap_sixth_get(addr, &p, &to->eps2);
    memcpy(to->pos, p.derivative[0], sizeof to->pos);
    memcpy(to->vel, p.derivative[1], sizeof to->vel);
    memcpy(to->acc, p.derivative[2], sizeof to->acc);
    to->mass = p.mass;
    to->id = p.index;
}

void pick_up_predictor(int addr, struct sapporo_yebisu_predictor *to) { pick_up(addr, to); }
void pick_up_predictor_2(int addr, struct sapporo_yebisu_predictor *to) { pick_up(addr, to); }

enum { PIECE = 256 }; /* number of i-particles per force; their results are on the stack until they are converted */

/* Whether the id of a predictor, which is a double, is in the range of int. */
static int is_index(double id) { return id >= INT_MIN && id <= INT_MAX; }

/* Writes NaN for an i-particle whose id is no int.  Its own j-particle could not be recognised and excluded. */
static void write_unknown(double *acc, double *jerk, double *snap, double *pot, int *nearest, double *r2)
{
    for (int axis = 0; axis < 3; axis++) acc[axis] = jerk[axis] = snap[axis] = NAN;
    *pot = *r2 = NAN;
    *nearest = -1;
}

static void compute_piece(int n, const struct sapporo_yebisu_predictor *pred, struct sapporo_yebisu_force *force,
                          int nj)
{
    double acc[PIECE][3], jerk[PIECE][3], snap[PIECE][3], pot[PIECE], r2[PIECE] = {0};
    int index[PIECE], nearest[PIECE];
    const ptrdiff_t stride = sizeof *pred;
    const sap_fpenv caller = sap_fp_enter();
    for (int i = 0; i < n; i++) index[i] = is_index(pred[i].id) ? (int)pred[i].id : -1;
    const struct sap_sixth_force all = {.ni = n,
                                        .nj = nj,
                                        .index = {index, 0},
                                        .x = {pred->pos, stride},
                                        .v = {pred->vel, stride},
                                        .a = {pred->acc, stride},
                                        .eps2 = {&pred->eps2, stride},
                                        .result = {.size = sizeof all.result,
                                                   .acc = acc,
                                                   .jerk = jerk,
                                                   .snap = snap,
                                                   .pot = pot,
                                                   .nearest = nearest,
                                                   .nearest_r2 = r2}};
    (void)sap_sixth_compute(&all);
    for (int i = 0; i < n; i++) {
        if (!is_index(pred[i].id)) write_unknown(acc[i], jerk[i], snap[i], &pot[i], &nearest[i], &r2[i]);
        memcpy(force[i].acc, acc[i], sizeof acc[i]);
        memcpy(force[i].jrk, jerk[i], sizeof jerk[i]);
        memcpy(force[i].snp, snap[i], sizeof snap[i]);
        force[i].phi = pot[i];
        force[i].nnb_id = nearest[i];
        force[i].nnb_r2 = (float)r2[i];
    }
    sap_fp_leave(caller);
}

void calc_force_on_predictors(int ni, struct sapporo_yebisu_predictor pred[], struct sapporo_yebisu_force force[],
                              int nj)
{
    for (int i = 0, n; i < ni; i += n) {
        n = ni - i < PIECE ? ni - i : PIECE;
        compute_piece(n, pred + i, force + i, nj);
    }
}
