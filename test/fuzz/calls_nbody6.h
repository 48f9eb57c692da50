/*
 * calls_nbody6.h - the calls of libraries beside libsapporo: those of NBODY6, of the sixth order, those that pass all
 * particles at once, and those for cells.
 *
 * Each library is loaded apart from the others, and its calls are taken by name.
 */
#ifndef FUZZ_CALLS_NBODY6_H
#define FUZZ_CALLS_NBODY6_H

#include <dlfcn.h>

#include "calls.h"

/* A function of a library; the process ends where there is none, since then nothing can be tested. */
static inline void *library_call(const char *library, const char *name)
{
    char path[80];
    (void)snprintf(path, sizeof path, "lib%s.so.0", library);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        (void)snprintf(path, sizeof path, "lib/lib%s.so.0", library);
        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    void *const call = handle ? dlsym(handle, name) : NULL;
    if (!call) {
        fprintf(stderr, "fuzz: no %s in %s: %s\n", name, path, dlerror());
        exit(3);
    }
    return call; /* cppcheck-suppress resourceLeak ; the library stays loaded */
}

/* As POSIX has it, a function from an object's address. */
#define LIBRARY_CALL(library, name, type)                                                                              \
    static __typeof__(type) call;                                                                                      \
    if (!call) *(void **)&call = library_call(library, name)

/* ---- NBODY6 ---- */

/* The same for a function of the libraries of NBODY6 and NBODY7, of all years. */
#define AARSETH_CALL(which, name, type)                                                                                \
    static const char *const libraries[] = {                                                                           \
        [NB_NBODY6] = "nbody6_gpu", [NB_NBODY7] = "nbody7_gpu", [NB_2010] = "nbody6_2010_gpu"};                        \
    static __typeof__(type) calls[NB_LIBRARIES];                                                                       \
    if (!calls[which]) *(void **)&calls[which] = library_call(libraries[which], name);                                 \
    __typeof__(type) const call = calls[which]

static inline int nb_open(int which, int nbmax, int radii)
{
    static const char *const words[] = {"plain", "mass", ""};
    const int rank = 0;
    setenv("SAPPORO_NBODY6_RADII", words[radii], 1);
    if (which == NB_PP) {
        LIBRARY_CALL("nbody6pp_gpu", "gpunb_open_", void (*)(const int *, const int *));
        call(&nbmax, &rank);
    } else {
        AARSETH_CALL(which, "gpunb_open_", void (*)(const int *));
        call(&nbmax);
    }
    return 0;
}

static inline int nb_close(int which)
{
    if (which == NB_PP) {
        LIBRARY_CALL("nbody6pp_gpu", "gpunb_close_", void (*)(void));
        call();
    } else {
        AARSETH_CALL(which, "gpunb_close_", void (*)(void));
        call();
    }
    return 0;
}

static inline int nb_send(int which, int nj, const double *m, double (*x)[3], double (*v)[3])
{
    typedef void send(const int *, const double *, double(*)[3], double(*)[3]);
    if (which == NB_PP) {
        LIBRARY_CALL("nbody6pp_gpu", "gpunb_send_", send *);
        call(&nj, m, x, v);
    } else {
        AARSETH_CALL(which, "gpunb_send_", send *);
        call(&nj, m, x, v);
    }
    return 0;
}

/* Targets of batch `b`; lists go to out.list in rows of lmax. */
static inline int nb_regf(int which, int ni, int b, int lmax, int nnbmax, int by_mass)
{
    typedef void pp_regf(const int *, const double *, const double *, double(*)[3], double(*)[3], double(*)[3],
                         double(*)[3], double *, const int *, const int *, int *, const int *);
    typedef void regf(const int *, const double *, const double *, double(*)[3], double(*)[3], double(*)[3],
                      double(*)[3], double *, const int *, const int *, int *);
    struct batch *const t = &batch[b];
    if (which == NB_PP) {
        LIBRARY_CALL("nbody6pp_gpu", "gpunb_regf_", pp_regf *);
        call(&ni, t->h2, t->dtr, t->x, t->v, out.acc, out.jerk, out.pot, &lmax, &nnbmax, out.list, &by_mass);
    } else if (which == NB_2010) {
        LIBRARY_CALL("nbody6_2010_gpu", "gpunb_regf_",
                     void (*)(const int *, const double *, double(*)[3], double(*)[3], double(*)[3], double(*)[3],
                              double *, const int *, const int *, int *));
        call(&ni, t->h2, t->x, t->v, out.acc, out.jerk, out.pot, &lmax, &nnbmax, out.list);
    } else {
        AARSETH_CALL(which, "gpunb_regf_", regf *);
        call(&ni, t->h2, t->dtr, t->x, t->v, out.acc, out.jerk, out.pot, &lmax, &nnbmax, out.list);
    }
    return 0;
}

/* istart counts from 1; Aarseth's has all particles. */
static inline int nb_pot(int which, int istart, int ni, int n, const double *m, double (*x)[3])
{
    const int rank = 0;
    if (which == NB_PP) {
        LIBRARY_CALL(
            "nbody6pp_gpu", "gpupot_",
            void (*)(const int *, const int *, const int *, const int *, const double *, double(*)[3], double *));
        call(&rank, &istart, &ni, &n, m, x, out.pot);
    } else {
        AARSETH_CALL(which, "gpupot_", void (*)(const int *, const double *, double(*)[3], double *));
        call(&n, m, x, out.pot);
    }
    return 0;
}

static inline int irr_open(int which, int nmax, int lmax)
{
    const int rank = 0;
    if (which == NB_PP) {
        LIBRARY_CALL("nbody6pp_gpu", "irr_simd_open_", void (*)(const int *, const int *, const int *));
        call(&nmax, &lmax, &rank);
    } else {
        AARSETH_CALL(which, "gpuirr_open_", void (*)(const int *, const int *));
        call(&nmax, &lmax);
    }
    return 0;
}

static inline int irr_close(int which)
{
    const int rank = 0;
    if (which == NB_PP) {
        LIBRARY_CALL("nbody6pp_gpu", "irr_simd_close_", void (*)(const int *));
        call(&rank);
    } else {
        AARSETH_CALL(which, "gpuirr_close_", void (*)(void));
        call();
    }
    return 0;
}

static inline int irr_set(int which, int n, const int *number, double (*x)[3], double (*v)[3], double (*a2)[3],
                          double (*j6)[3], const double *m, const double *t)
{
    typedef void set(const int *, double *, double *, double *, double *, const double *, const double *);
    if (which == NB_PP) {
        LIBRARY_CALL("nbody6pp_gpu", "irr_simd_set_jp_", set *);
        for (int k = 0; k < n; k++) call(&number[k], x[k], v[k], a2[k], j6[k], &m[k], &t[k]);
    } else {
        AARSETH_CALL(which, "gpuirr_set_jp_", set *);
        for (int k = 0; k < n; k++) call(&number[k], x[k], v[k], a2[k], j6[k], &m[k], &t[k]);
    }
    return 0;
}

/* list[k][0] is the length of the list of particle number[k]. */
static inline int irr_set_list(int which, int n, const int *number, int (*list)[CALL_MEMBERS])
{
    typedef void set(const int *, const int *);
    if (which == NB_PP) {
        LIBRARY_CALL("nbody6pp_gpu", "irr_simd_set_list_", set *);
        for (int k = 0; k < n; k++) call(&number[k], list[k]);
    } else {
        AARSETH_CALL(which, "gpuirr_set_list_", set *);
        for (int k = 0; k < n; k++) call(&number[k], list[k]);
    }
    return 0;
}

static inline int irr_force(int which, double ti, int ni, const int *number)
{
    if (which == NB_PP) {
        LIBRARY_CALL("nbody6pp_gpu", "irr_simd_firr_vec_",
                     void (*)(const double *, const int *, const int *, double(*)[3], double(*)[3], int *));
        call(&ti, &ni, number, out.acc, out.jerk, out.nearest);
    } else {
        const int one = 1;
        {
            AARSETH_CALL(which, "gpuirr_pred_all_", void (*)(const int *, const int *, const double *));
            call(&one, &ni, &ti);
        }
        AARSETH_CALL(which, "gpuirr_firr_vec_", void (*)(const int *, const int *, double(*)[3], double(*)[3]));
        call(&ni, number, out.acc, out.jerk);
    }
    return 0;
}

/* ---- the sixth order ---- */

/* One particle: six derivatives of three numbers each. */
static inline int sixth_set(int n, const int *address, const int *id, const double *m, const double *t, double (*x)[3],
                            double (*v)[3], double (*a)[3], double (*jerk)[3], double (*snap)[3], double (*crackle)[3])
{
    LIBRARY_CALL(
        "sapporo6th", "set_j_particle",
        void (*)(int, double *, double *, double *, double *, double *, double *, double, double, int, double));
    for (int k = 0; k < n; k++)
        call(address[k], x[k], v[k], a[k], jerk[k], snap[k], crackle[k], m[k], t[k], id[k], 0.5);
    return 0;
}

static inline int sixth_predict(double time, int nj, int moves)
{
    if (moves) {
        LIBRARY_CALL("sapporo6th", "predict_all", void (*)(double, int));
        call(time, nj);
    } else {
        LIBRARY_CALL("sapporo6th", "no_predict_all", void (*)(double, int));
        call(time, nj);
    }
    return 0;
}

/* Position, velocity and acceleration go to out.acc[0 .. 2]; mass and eps2 to out.pot; the id to out.nearest[0]. */
static inline int sixth_get(int address)
{
    LIBRARY_CALL("sapporo6th", "pick_up_predictor_2",
                 void (*)(int, int *, double *, double *, double *, double *, double *));
    call(address, out.nearest, &out.pot[0], &out.pot[1], out.acc[0], out.acc[1], out.acc[2]);
    return 0;
}

static inline int sixth_force(int ni, int nj, int b)
{
    LIBRARY_CALL("sapporo6th", "calc_force_on_predictors",
                 void (*)(int, int, int *, double(*)[3], double(*)[3], double(*)[3], double *, double *, double(*)[3],
                          double(*)[3], double(*)[3], double(*)[3], double *, int *, double *));
    struct batch *const t = &batch[b];
    call(ni, nj, t->index, t->x, t->v, t->a, t->h2, t->eps2, out.acc, out.jerk, out.snap, out.crackle, out.pot,
         out.nearest, out.r2);
    return 0;
}

/* ---- all particles at once ---- */

/* A function of libcunbody1 by its name: all have the same arguments. */
static inline int cunbody(const char *name, int nj, int ni, int b, double eps2, double (*x)[3], double *m)
{
    void (*call)(double(*)[3], double *, double(*)[3], double, double(*)[3], int, int);
    *(void **)&call = library_call("cunbody1", name);
    call(x, m, batch[b].x, eps2, out.acc, ni, nj);
    return 0;
}

static inline int harp(int nj, int ni, int b, double eps2, double (*x)[3], double *m)
{
    LIBRARY_CALL("harp3", "accel_by_harp3_separate_noopen_",
                 void (*)(const int *, double(*)[3], const int *, double(*)[3], double *, double(*)[3], double *,
                          const double *));
    call(&ni, batch[b].x, &nj, x, m, out.acc, out.pot, &eps2);
    return 0;
}

/* ---- cells with quadrupole moments ---- */

static inline int g5c_count(int id, int n)
{
    LIBRARY_CALL("g5c", "g5c_set_nMC", int (*)(int, int));
    return call(id, n);
}

static inline int g5c_load(int id, int adr, int nj, double (*x)[3], double *m, double *q)
{
    LIBRARY_CALL("g5c", "g5c_set_xmjMC", int (*)(int, int, int, double(*)[3], double *, double(*)[6]));
    return call(id, adr, nj, x, m, (double(*)[6])q);
}

static inline int g5c_force(int id, int ni, int b, int missing)
{
    LIBRARY_CALL("g5c", "g5c_calculate_force_on_xMC", int (*)(int, double(*)[3], double(*)[3], double *, int));
    return call(id, batch[b].x, UNLESS(4, missing, out.acc), UNLESS(6, missing, out.pot), ni);
}

#endif
