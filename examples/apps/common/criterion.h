/*
 * criterion.h - time steps from the acceleration and its derivatives, in any units.
 *
 * Squares and products of derivatives overflow, or vanish, in units whose numbers are far from 1: the seventh
 * derivative of an acceleration with a period of 1e-9 is larger by 1e69.  All functions therefore compute with numbers
 * whose exponents are kept apart.  Units that differ by powers of two give the same bits.
 */
#ifndef COMMON_CRITERION_H
#define COMMON_CRITERION_H

/* The most derivatives of the acceleration that a scheme uses, the acceleration itself among them. */
enum { CRITERION_MOST = 8 };

/* Returns the size of a vector. */
double criterion_size(const double a[3]);

/*
 * Returns Aarseth's step (Makino and Aarseth 1992, eq. 7) from acceleration, jerk, and the two derivatives after them,
 * eta under the root.  Without derivatives there is nothing to resolve: the step is infinite.
 */
double criterion_aarseth(const double a[3], const double jerk[3], const double snap[3], const double crackle[3],
                         double eta);

/*
 * Returns the step of the generalised criterion (Nitadori and Makino 2008), eta (A_1 / A_last)^(1 / (last - 1)), where
 * A_k^2 = |a_(k-1)| |a_(k+1)| + |a_k|^2 and f[k] is the k-th derivative of the acceleration.  It is eta times the
 * geometric mean of the times A_k / A_(k+1).  `highest` is the highest derivative that counts, at least 2: last is
 * highest - 1, or 2 without the term of the third derivative.
 */
double criterion_generalised(const double (*f)[3], int highest, double eta);

/* Returns eta times the arithmetic mean of the same times: a derivative of pure noise cannot make it small. */
double criterion_averaged(const double (*f)[3], int last, double eta);

/*
 * Returns the first step, when only acceleration and jerk are known: eta |a| / |jerk|.  A star whose acceleration
 * vanishes, such as one between two others, has no such time.  Its step, and the least step of any star, is made of the
 * jerk and of the speed w that the potential gives, w^2 = |pot|: eta sqrt(w / |jerk|) / 1024.  Without a jerk the step
 * is eta times the smaller one of w / |a| and `longest`.
 */
double criterion_first(const double a[3], const double jerk[3], double pot, double eta, double longest);

#endif
