/*
 * group_tuner.h - searches for the limit of the extent of groups with which the forces of a stepper take least time, as
 * Miki & Umemura 2017, New Astronomy 52, 65, section 2.4 do: by Brent's method (brent.h), over successive builds.
 *
 * The time of a limit is that of the forces in whole long steps, so each limit is measured with the same particles.  A
 * limit holds from one build to another, so the stepper builds a tree when a measurement is complete.  The search
 * measures groups without a limit first, then limits between half of the median extent of these groups and the largest,
 * by logarithm.  The best limit is kept if it saves at least a fiftieth.  As particles move, the search begins again
 * after a while, within a factor of two of the limit that was found.
 */
#ifndef SAP_GROUP_TUNER_H
#define SAP_GROUP_TUNER_H

#include "context/brent.h"

enum sap_group_phase {
    SAP_GROUPS_OFF,    /* nothing is measured */
    SAP_GROUPS_FREE,   /* groups have no limit, for comparison */
    SAP_GROUPS_SEARCH, /* limits are tried */
    SAP_GROUPS_KEEP    /* the limit that was found is used */
};

struct sap_group_tuner {
    enum sap_group_phase phase;
    double extent;           /* the limit of the present groups; 0: none */
    int tick;                /* within a long step, at which the measurement began; -1: none has */
    int steps, periods;      /* steps, and whole long steps, of the measurement */
    double seconds, whole;   /* of the forces in these steps, and in these long steps */
    double free;             /* seconds per long step of groups without a limit */
    double found;            /* the limit of the last search; 0: none, or none was made */
    double share;            /* time of forces with it, in units of that without a limit */
    int trials, searches;    /* limits of the present search; complete searches */
    struct sap_brent search; /* over logarithms of limits */
};

/* Begins, at a build without a limit; is_on 0: nothing is measured. */
void sap_group_tuner_start(struct sap_group_tuner *g, int is_on);

/* Notes a step that ended at a tick of its long step: whether it built the tree, and the seconds of its forces. */
void sap_group_tuner_note(struct sap_group_tuner *g, int built, double seconds, int tick);

/* Whether the present limit has been measured, so that the next build may have another one. */
int sap_group_tuner_is_ready(const struct sap_group_tuner *g);

/* Whether the next limit begins a search, which needs the extents of the present groups. */
int sap_group_tuner_needs_extents(const struct sap_group_tuner *g);

/*
 * Chooses the limit of the next build, g->extent, after a measurement.  median and largest: extents of the present
 * groups, if they are needed.  Returns 1 if a search has ended: g->found is its result.
 */
int sap_group_tuner_next(struct sap_group_tuner *g, double median, double largest);

#endif
