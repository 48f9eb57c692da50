/*
 * rebuild.h - when a new tree pays, from measured times of forces: the models of Miki & Umemura 2017, New Astronomy 52,
 * 65, section 2.6 and appendix C.
 *
 * A build costs T.  The i-th force after it takes t_i, which grows as particles leave the cells that were made for
 * them.  The mean time of n steps, (T + t_1 + ... + t_n) / n, is least at the n that the conditions below give.  Three
 * models of the growth are fitted; the one with the least reduced chi square decides.
 *
 * Forces of block steps have different numbers of active particles.  So all times are in units of the time that such a
 * force took directly after a build (`fresh`).
 *
 * A tree that is built for a later time, the middle of its life, is best at that time.  Its life has two halves of the
 * same cost, so the forces after the middle count, with half of the cost of the build.
 */
#ifndef SAP_REBUILD_H
#define SAP_REBUILD_H

enum { SAP_REBUILD_POINTS = 256, SAP_REBUILD_CLASSES = 32 };

/* Models of the growth: t_i = t + b (i - 1), t r^(i - 1), t + b (i - 1) + a (i - 1)^2. */
enum sap_rebuild_model { SAP_GROWTH_NONE, SAP_GROWTH_LINEAR, SAP_GROWTH_POWER, SAP_GROWTH_PARABOLA };

/* Zeros are a state before any force. */
struct sap_rebuild {
    double build, refresh;             /* seconds of the last build and the last refresh; 0: not known */
    double fresh[SAP_REBUILD_CLASSES]; /* seconds of forces directly after a build, by class; 0: not known */
    double seconds;                    /* sum of `fresh` over the forces since the build */
    double growth[SAP_REBUILD_POINTS]; /* t_1, t_2, ... in units of fresh */
    int n;     /* forces since the build, or the middle; later ones than SAP_REBUILD_POINTS are not kept */
    int early; /* 1: the tree was built for a later time */
};

/* A fitted model; chi2: the reduced chi square, with the same weight for all points. */
struct sap_growth {
    enum sap_rebuild_model model;
    double t, b, a, r, chi2;
};

/*
 * Notes a step: whether it built the tree, whether it is before the middle of the life of the tree, the seconds of the
 * build or refresh and of the force, and the class of the force, 0 to SAP_REBUILD_CLASSES - 1: forces of one class have
 * about the same active particles.
 */
void sap_rebuild_note(struct sap_rebuild *times, int built, int early, double tree_seconds, double force_seconds,
                      int class);

/* Fits the model with the least reduced chi square to n >= 2 points; with two points the linear one. */
struct sap_growth sap_rebuild_fit(const double *growth, int n);

/* Whether the mean time of n steps has passed its least value, for a build that costs `build` in the units of growth.
 */
int sap_rebuild_passed(const struct sap_growth *growth, int n, double build);

/* Whether the next step should build the tree; *model, unless NULL, says by which model. */
int sap_rebuild_pays(const struct sap_rebuild *times, enum sap_rebuild_model *model);

/* The name of a model for messages. */
const char *sap_rebuild_name(enum sap_rebuild_model model);

#endif
