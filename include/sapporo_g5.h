/*
 * sapporo_g5.h - the GRAPE-5 interface, as libsapporo and libpg5 offer it.
 *
 * Clients need not include this header, because the library offers symbols.  Every function exists by value
 * (`g5_set_n(10)`, C) and by reference (`g5_set_n_(&n)`, Fortran; also with a second underscore for
 * -fsecond-underscore, and the MC names in small letters).
 *
 * Formulas, with r = x_j - x_i, R2 = |r|^2 + eps^2 and G = 1, in any consistent units:
 *
 *     a = sum m_j r / R2^(3/2)
 *     p = + sum m_j / R2^(1/2)
 *
 * The potential p is positive, and a particle acts on itself: p contains its own m/eps, which clients subtract.
 * Without softening, pairs at the same position are skipped.
 *
 * Conventions, which are those of GRAPE-5:
 *   - Softening is one value for the whole process, 0 at first.  g5_set_eps gives each i-particle its own.
 *   - j-particles are stored at addresses from 0 in the memory of a device.  Addresses never loaded contribute nothing.
 *   - Arrays of j-particles begin at address 0: g5_set_xmj(adr, nj, ...) reads elements adr to adr + nj - 1.
 *   - A name with MC acts on device `devid`, the same name without MC on device 0.  A device is a particle memory, not
 *     a GPU: any id from 0 to 65535, created when a call first names it.  Threads that use different devices share only
 *     the softening.
 *   - A name that ends in 0 acts on the other memory of a device.  Each of its particles has a squared softening epsj2,
 *     and R2 = |r|^2 + eps2_i + eps2_j.  Both memories have the same number of particles.
 *
 * With SAPPORO_G5_SYMMETRIC defined, the header is that of libpg5_symmetric, for codes of Phantom-GRAPE built with
 * SYMMETRIC.  There g5_set_xmj has one argument more, and all forces come from the other memory.  The loads without a
 * softening are missing.
 *
 * Functions return 0, or -1 with a message if they failed.  Functions that deliver forces return 1 if some i-particles
 * were not finite: the rows of these are NaN, the others right.  After a failure all rows are NaN.  Forces that include
 * j-particles which could not be loaded fail until these are loaded again.  Older libraries return nothing, so clients
 * may ignore the value.  Arrays are contiguous.  Inputs are copied and never written to.
 */
#ifndef SAPPORO_G5_H
#define SAPPORO_G5_H

#include "sapporo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- opening and closing ---- */

/*
 * Opens a device.  No call needs an open device, but this call reports a missing GPU.  An open device stays as it is; a
 * device that was lost is opened anew, without its particles.  Returns 0, or -1 with a message.
 */
SAPPORO_API int g5_open(void);
SAPPORO_API int g5_openMC(int devid);

/*
 * Opens device 0 on given GPUs.  ndev > 0: the GPUs list[0..ndev-1]; 0: all; < 0: any |ndev| GPUs.  An open device
 * stays where it is.  Returns 0, or -1 with a message.
 */
SAPPORO_API int g5_open_special(int ndev, int *list);

/*
 * Drops the i-particles and the force of a device.  The device stays open and keeps its j-particles, so closing and
 * opening around every force is cheap.  Returns 0; -1 if devid is out of range.
 */
SAPPORO_API int g5_close(void);
SAPPORO_API int g5_closeMC(int devid);

/* ---- sizes ---- */

/* Returns 256: how many i-particles GRAPE codes send at a time.  Calls accept more. */
SAPPORO_API int g5_get_number_of_pipelines(void);
SAPPORO_API int g5_get_number_of_pipelinesMC(int devid);

/* Returns 256, as g5_get_number_of_pipelines. */
SAPPORO_API int g5_get_number_of_real_pipelines(void);
SAPPORO_API int g5_get_number_of_real_pipelinesMC(int devid);

/* Returns 256, as g5_get_number_of_pipelines: there is one board. */
SAPPORO_API int g5_get_number_of_pipelines_per_board(void);

/* Returns 1.  Clients that loop over boards then use the one device g5_get_firstcluster() + 0. */
SAPPORO_API int g5_get_number_of_boards(void);

/* Returns 0, the device of the names without MC. */
SAPPORO_API int g5_get_firstcluster(void);

/* Returns 65536: how many j-particles GRAPE codes load into a device.  Devices accept more. */
SAPPORO_API int g5_get_jmemsize(void);
SAPPORO_API int g5_get_jmemsizeMC(int devid);

/* ---- settings ---- */

/*
 * Stores the range of coordinates and the smallest mass, which hardware in fixed point needed.  The library does not
 * use them.  Returns 0, with one warning if xmin is not below xmax; -1 if a number is not finite, and the range stays.
 */
SAPPORO_API int g5_set_range(double xmin, double xmax, double mmin);
SAPPORO_API int g5_set_rangeMC(int devid, double xmin, double xmax, double mmin);

/* Returns the numbers of g5_set_range in *xmin, *xmax and *mmin; NULL: not wanted.  Returns 0; -1 with NaN if devid is
 * out of range. */
SAPPORO_API int g5_get_range(double *xmin, double *xmax, double *mmin);
SAPPORO_API int g5_get_rangeMC(int devid, double *xmin, double *xmax, double *mmin);

/*
 * Sets the softening length of all devices for all later forces.  Returns 0; -1 if eps^2 is not finite: forces are NaN
 * until another softening is set.
 */
SAPPORO_API int g5_set_eps_to_all(double eps);

/*
 * Sets the square of the softening length, as g5_set_eps_to_all sets the length.  Returns 0; -1 if it is negative or
 * not finite: forces are NaN until another softening is set.
 */
SAPPORO_API int g5_set_eps2_to_all(double eps2);

/* Returns the square of the softening length of all devices, for libraries beside this one. */
SAPPORO_API double sapporo_g5_eps2(void);

/* Returns the sapporo_precision that new contexts of this interface ask for, for the same libraries. */
SAPPORO_API int sapporo_g5_precision(void);

/*
 * Asks for a force with a cut-off, which this library does not have.  Returns -1 with a message.  All forces of this
 * interface are NaN from then on, because Newton's force instead would be wrong.
 */
SAPPORO_API int g5_set_eta(double eta);

/* Asks for a force with a cut-off by a table.  The answer is that of g5_set_eta. */
SAPPORO_API int g5_set_cutoff_table(double (*force)(double), double force_range, double force_scale,
                                    double (*pot)(double), double pot_range, double pot_scale);

/* ---- j-particles ---- */

/*
 * Sets how many sources take part: addresses 0 to n-1.  Call it before or after loading.  Before the first call no
 * source takes part.  Returns 0; -1 if n is negative: forces are NaN until another n is set.
 */
SAPPORO_API int g5_set_n(int n);
SAPPORO_API int g5_set_nMC(int devid, int n);

#if defined(SAPPORO_G5_SYMMETRIC)
/* What Phantom-GRAPE built with SYMMETRIC has under this name: the same as g5_set_xmj0. */
SAPPORO_API int g5_set_xmj(int adr, int nj, double xj[][3], double mj[], double epsj2[]);
SAPPORO_API int g5_set_xmjMC(int devid, int adr, int nj, double xj[][3], double mj[], double epsj2[]);
#else
/*
 * Loads sources adr to adr+nj-1 from the same elements of xj and mj (array index = address).  Other sources stay.
 * Returns 0; -1: a bad argument, no memory, or a value that is not finite (stored all the same).
 */
SAPPORO_API int g5_set_xmj(int adr, int nj, double xj[][3], double mj[]);
SAPPORO_API int g5_set_xmjMC(int devid, int adr, int nj, double xj[][3], double mj[]);

/* The same as g5_set_xmj, with masses before positions. */
SAPPORO_API int g5_set_jp(int adr, int nj, double mj[], double xj[][3]);
SAPPORO_API int g5_set_jpMC(int devid, int adr, int nj, double mj[], double xj[][3]);

/*
 * Loads positions alone; masses stay.  A new source takes part once it has both, in either order.  Until then its
 * address counts as never loaded.  Returns as g5_set_xmj.
 */
SAPPORO_API int g5_set_xj(int adr, int nj, double xj[][3]);
SAPPORO_API int g5_set_xjMC(int devid, int adr, int nj, double xj[][3]);

/* Loads masses alone; positions stay.  The rules are those of g5_set_xj. */
SAPPORO_API int g5_set_mj(int adr, int nj, double mj[]);
SAPPORO_API int g5_set_mjMC(int devid, int adr, int nj, double mj[]);
#endif

/*
 * Loads sources of the other memory, each with the square epsj2 of its softening length.  Returns as g5_set_xmj; -1
 * also if an epsj2 is negative or not finite.
 */
SAPPORO_API int g5_set_xmj0(int adr, int nj, double xj[][3], double mj[], double epsj2[]);
SAPPORO_API int g5_set_xmjMC0(int devid, int adr, int nj, double xj[][3], double mj[], double epsj2[]);

/* ASURA's name of g5_set_xmj0. */
SAPPORO_API int g5_set_xmeps2j(int adr, int nj, double xj[][3], double mj[], double epsj2[]);

/* ---- forces in steps: i-particles, run, get ---- */

/*
 * Copies the positions of ni i-particles, with the softening of all devices as it is now.  Returns 0; -1: ni is
 * negative, xi is NULL, or there is no memory.  The force then fails.
 */
SAPPORO_API int g5_set_xi(int ni, double xi[][3]);
SAPPORO_API int g5_set_xiMC(int devid, int ni, double xi[][3]);

/*
 * Sets the softening lengths of the first ni i-particles; the others keep theirs.  Returns 0; -1: ni is above that of
 * g5_set_xi, or a softening is not finite.  The force then fails.
 */
SAPPORO_API int g5_set_eps(int ni, double eps[]);
SAPPORO_API int g5_set_epsMC(int devid, int ni, double eps[]);

/* Sets squares of softening lengths, as g5_set_eps sets lengths.  -1 also if a square is negative. */
SAPPORO_API int g5_set_eps2(int ni, double eps2[]);
SAPPORO_API int g5_set_eps2MC(int devid, int ni, double eps2[]);

/* Copies ni i-particles, each with its softening length.  Returns as g5_set_xi and g5_set_eps. */
SAPPORO_API int g5_set_xepsi(int ni, double xi[][3], double eps[]);
SAPPORO_API int g5_set_xepsiMC(int devid, int ni, double xi[][3], double eps[]);

/* The same as g5_set_xepsi; h, the radii of neighbour spheres, is ignored. */
SAPPORO_API int g5_set_ip(int ni, double xi[][3], double eps[], double h[]);
SAPPORO_API int g5_set_ipMC(int devid, int ni, double xi[][3], double eps[], double h[]);

/* Copies ni i-particles, each with the square of its softening length.  Returns as g5_set_xi and g5_set_eps2. */
SAPPORO_API int g5_set_xi0(int ni, double xi[][3], double eps2[]);
SAPPORO_API int g5_set_xiMC0(int devid, int ni, double xi[][3], double eps2[]);

#if defined(SAPPORO_G5_SYMMETRIC)
/* What Phantom-GRAPE built with SYMMETRIC has for g5_set_xi0. */
SAPPORO_API int g5_set_xei(int ni, double xi[][3], double eps2[]);
SAPPORO_API int g5_set_xeiMC(int devid, int ni, double xi[][3], double eps2[]);
#endif

/*
 * Starts the force of the sources, as they are stored now, on the i-particles that were set.  Returns 0; -1: the force
 * failed, and g5_get_force writes NaN.
 */
SAPPORO_API int g5_run(void);
SAPPORO_API int g5_runMC(int devid);

/* Starts the force of the sources of the other memory, as g5_run does. */
SAPPORO_API int g5_run0(void);
SAPPORO_API int g5_runMC0(int devid);

/* ASURA's name of g5_run0; the softening is that of g5_set_eps. */
SAPPORO_API int g5_run_symmetrized_softening(void);

/*
 * Waits for the force that was started last and writes its first ni rows to a and p; may be repeated.  Returns 0; 1:
 * some i-particles are not finite, and their rows are NaN; -1: all rows are NaN, because the force failed, there was no
 * run since the i-particles were set, or ni is above theirs.  An output that is NULL also gives -1; the other one is
 * written.
 */
SAPPORO_API int g5_get_force(int ni, double a[][3], double p[]);
SAPPORO_API int g5_get_forceMC(int devid, int ni, double a[][3], double p[]);

/* ---- forces in one call ---- */

/*
 * Computes the force on ni positions x, any number, and writes a and p.  Note that ni comes last.  i-particles and
 * force of g5_set_xi and g5_run stay as they are.  Returns as g5_get_force.
 */
SAPPORO_API int g5_calculate_force_on_x(double x[][3], double a[][3], double p[], int ni);
SAPPORO_API int g5_calculate_force_on_xMC(int devid, double x[][3], double a[][3], double p[], int ni);

/*
 * The same from the sources of the other memory, with the square eps2 of the softening length of each position.
 * Returns as g5_get_force.
 */
SAPPORO_API int g5_calculate_force_on_x0(double x[][3], double a[][3], double p[], int ni, double eps2[]);
SAPPORO_API int g5_calculate_force_on_xMC0(int devid, double x[][3], double a[][3], double p[], int ni, double eps2[]);

/* ASURA's call of g5_calculate_force_on_x0, with softening lengths eps, not squares.  They are the second argument. */
SAPPORO_API int g5_calculate_force_on_xeps(double x[][3], double eps[], double a[][3], double p[], int ni);

#if defined(SAPPORO_G5_SYMMETRIC)
/* What Phantom-GRAPE built with SYMMETRIC has for g5_calculate_force_on_x0; eps2 is the second array. */
SAPPORO_API int g5_calculate_force_on_xe(double x[][3], double eps2[], double a[][3], double p[], int ni);
SAPPORO_API int g5_calculate_force_on_xeMC(int devid, double x[][3], double eps2[], double a[][3], double p[], int ni);
#endif

#ifdef __cplusplus
}
#endif

#endif
