/*
 * sapporo_hermite6.h - the interfaces of sixth-order Hermite codes: Sapporo2's, as libsapporo6th offers it, and, with
 * SAPPORO_YEBISU defined, that of Yebisu, as libyebisug6 does.
 *
 * Link -lsapporo6th -lsapporo, or -lyebisug6 -lsapporo.  The names are general, some of both have one name and other
 * arguments, and clients define some of them: so each interface is a small library of its own on libsapporo, and a
 * program has one of them.
 *
 * With R2 = |x_j - x_i|^2 + eps2_i, G = 1:
 *   - acceleration, jerk and snap are those of Nitadori & Makino 2008, New Astronomy 13, 498, in double precision
 *     (SAPPORO_PRECISION=ds: pair terms in single);
 *   - derivatives are FULL ones (no a/2, j/6), from the lowest on;
 *   - the potential phi is POSITIVE: sum m_j / R.  That is what the clients of this interface expect, and other
 *     libraries with these names differ: see docs/api.md;
 *   - eps2 is that of each i-particle; that of a j-particle is only stored, and acts on nobody;
 *   - j-particles with the index of the i-particle are skipped; -1 stands for no particle;
 *   - nnb is the index of the nearest neighbour, -1 if there is none, and nnb_r2 its SOFTENED squared distance, with
 *     the eps2 of the i-particle, infinite if there is none.
 * Nothing has a return value: errors are told on stderr (SAPPORO_VERBOSE), and rows of a force that failed are NaN.
 * Forces with a j-particle that could not be stored fail until it is stored again.
 * There is one set of particles a process; calls of several threads take turns.  Arrays are contiguous and copied;
 * results are overwritten.  What is not initialised when it is used first opens itself.  After a lost device initialize
 * opens anew; forces are NaN until the particles have been sent again.
 */
#ifndef SAPPORO_HERMITE6_H
#define SAPPORO_HERMITE6_H

#include "sapporo.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(SAPPORO_YEBISU)

/* An i-particle, or a predicted j-particle. */
struct sapporo_yebisu_predictor {
    double pos[3], vel[3], acc[3], mass, id, eps2;
};

struct sapporo_yebisu_force {
    double acc[3], jrk[3], snp[3], phi;
    int nnb_id;
    float nnb_r2;
};

/* Opens; later calls do nothing.  n is not looked at: memory grows on demand. */
SAPPORO_API void initialize(int n);

/* Stores a j-particle at an address >= 0: in the order of Yebisu's arguments, and in that of Sapporo2's. */
SAPPORO_API void set_jp(int add, double mass, double pos[3], double vel[3], double acc[3], double jrk[3], double snp[3],
                        double crk[3], double time, int id, double eps2);
SAPPORO_API void set_jp_2(int add, double pos[3], double vel[3], double acc[3], double jrk[3], double snp[3],
                          double crk[3], double mass, double time, int id, double eps2);

/* A predicted j-particle; NaN and id -1 where there is none.  (By reference in C++ is a pointer in C.) */
SAPPORO_API void pick_up_predictor(int addr, struct sapporo_yebisu_predictor *predictor);
SAPPORO_API void pick_up_predictor_2(int addr, struct sapporo_yebisu_predictor *predictor);

/* Forces of j-particles 0 .. nj-1 on ni i-particles. */
SAPPORO_API void calc_force_on_predictors(int ni, struct sapporo_yebisu_predictor pred[],
                                          struct sapporo_yebisu_force force[], int nj);

#else

/* Opens; later calls do nothing.  ndev > 0: on GPUs list[0..ndev-1]; 0: on all; < 0: on the first |ndev|. */
SAPPORO_API void initialize(void);
SAPPORO_API void initialize_special(int ndev, int *list);

/* Stores a j-particle at an address >= 0. */
SAPPORO_API void set_j_particle(int add, double pos[3], double vel[3], double acc[3], double jrk[3], double snp[3],
                                double crk[3], double mass, double time, int id, double eps2);

/* A predicted j-particle; NaN and id -1 where there is none. */
SAPPORO_API void pick_up_predictor_2(int addr, int *id, double *mass, double *eps2, double pos[3], double vel[3],
                                     double acc[3]);

/*
 * Forces of j-particles 0 .. nj-1 on ni i-particles (ni comes first).  mass is not looked at; crkNew becomes zero, NaN
 * after a failure, or is NULL.
 */
SAPPORO_API void calc_force_on_predictors(int ni, int nj, int ids[], double pos[][3], double vel[][3], double acc[][3],
                                          double mass[], double eps2[], double accNew[][3], double jrkNew[][3],
                                          double snpNew[][3], double crkNew[][3], double phi[], int nnb[],
                                          double nnb_r2[]);

#endif

/* Particles are predicted to `time` in forces from now on, with all derivatives; all of them, whatever nj. */
SAPPORO_API void predict_all(double time, int nj);

/* Particles are where they were stored, each at its own time. */
SAPPORO_API void no_predict_all(double time, int nj);

#ifdef __cplusplus
}
#endif

#endif
