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
 *     libraries with these names differ: see docs/other-calls.md;
 *   - eps2 is that of each i-particle; that of a j-particle is stored, and not used in forces;
 *   - j-particles with the index of the i-particle are skipped; -1 stands for no particle;
 *   - nnb is the index of the nearest neighbour, -1 if there is none, and nnb_r2 its SOFTENED squared distance, with
 *     the eps2 of the i-particle, infinite if there is none.
 *
 * No function has a return value.  Errors are reported on stderr (SAPPORO_VERBOSE), and the rows of a force that failed
 * are NaN.  Forces with a j-particle that could not be stored fail until it is stored again.
 *
 * A process has one set of particles; calls of several threads are serialised.  Arrays are contiguous and copied;
 * results are overwritten.  Any call opens a library that is not open.  After a device was lost, initialize opens anew;
 * forces are NaN until the particles have been sent again.
 */
#ifndef SAPPORO_HERMITE6_H
#define SAPPORO_HERMITE6_H

#include "sapporo.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(SAPPORO_YEBISU)

/* An i-particle, or a predicted j-particle; twelve doubles, id too. */
struct sapporo_yebisu_predictor {
    double pos[3], vel[3], acc[3], mass, id, eps2;
};

/* The force on an i-particle: 88 bytes. */
struct sapporo_yebisu_force {
    double acc[3], jrk[3], snp[3], phi;
    int nnb_id;
    float nnb_r2;
};

/* Opens the library; later calls do nothing.  n is ignored: memory grows with the particles. */
SAPPORO_API void initialize(int n);

/*
 * Stores a j-particle at an address from 0 to 2^30 - 1, with gaps at will.  The derivatives pos to crk are full values
 * at `time`; NULL is 0, except for pos.  id is its index.  eps2 is stored, and not used in forces.
 */
SAPPORO_API void set_jp(int add, double mass, double pos[3], double vel[3], double acc[3], double jrk[3], double snp[3],
                        double crk[3], double time, int id, double eps2);

/* The same as set_jp, with the mass behind the derivatives. */
SAPPORO_API void set_jp_2(int add, double pos[3], double vel[3], double acc[3], double jrk[3], double snp[3],
                          double crk[3], double mass, double time, int id, double eps2);

/*
 * Writes a j-particle as forces use it: predicted if predict_all was called, else as stored.  NaN and id -1 if the
 * address holds none.  (By reference in C++ is a pointer in C.)
 */
SAPPORO_API void pick_up_predictor(int addr, struct sapporo_yebisu_predictor *predictor);

/* The same as pick_up_predictor. */
SAPPORO_API void pick_up_predictor_2(int addr, struct sapporo_yebisu_predictor *predictor);

/*
 * Computes the force of the j-particles at addresses 0 to nj-1 on ni i-particles, any number, and writes ni rows.  A
 * row whose id is not in the range of int is NaN.  After an error all rows are NaN, with nearest neighbour -1.
 */
SAPPORO_API void calc_force_on_predictors(int ni, struct sapporo_yebisu_predictor pred[],
                                          struct sapporo_yebisu_force force[], int nj);

#else

/* Opens the library with the settings of the environment; later calls do nothing. */
SAPPORO_API void initialize(void);

/* Opens on given GPUs.  ndev > 0: list[0..ndev-1]; 0: all; < 0: the first |ndev|.  Later calls do nothing. */
SAPPORO_API void initialize_special(int ndev, int *list);

/*
 * Stores a j-particle at an address from 0 to 2^30 - 1, with gaps at will.  The derivatives pos to crk are full values
 * at `time`; NULL is 0, except for pos.  id is its index.  eps2 is stored, and not used in forces.
 */
SAPPORO_API void set_j_particle(int add, double pos[3], double vel[3], double acc[3], double jrk[3], double snp[3],
                                double crk[3], double mass, double time, int id, double eps2);

/*
 * Reads a j-particle as forces use it: predicted if predict_all was called, else as stored.  NaN and id -1 if the
 * address holds none.
 */
SAPPORO_API void pick_up_predictor_2(int addr, int *id, double *mass, double *eps2, double pos[3], double vel[3],
                                     double acc[3]);

/*
 * Computes the force of the j-particles at addresses 0 to nj-1 on ni i-particles, any number; note that ni comes first.
 * Rows of accNew, jrkNew, snpNew, phi, nnb and nnb_r2 are written.  mass is ignored.  crkNew, which may be NULL,
 * becomes zero.  After an error all rows are NaN, crkNew too, with nearest neighbour -1.
 */
SAPPORO_API void calc_force_on_predictors(int ni, int nj, int ids[], double pos[][3], double vel[][3], double acc[][3],
                                          double mass[], double eps2[], double accNew[][3], double jrkNew[][3],
                                          double snpNew[][3], double crkNew[][3], double phi[], int nnb[],
                                          double nnb_r2[]);

#endif

/* Later forces predict j-particles to `time`, with all derivatives.  nj is ignored: all particles are predicted. */
SAPPORO_API void predict_all(double time, int nj);

/* Later forces use j-particles as they were stored, each at its own time.  time and nj are ignored. */
SAPPORO_API void no_predict_all(double time, int nj);

#ifdef __cplusplus
}
#endif

#endif
