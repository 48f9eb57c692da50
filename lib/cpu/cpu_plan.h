/* cpu_plan.h - the division of a force into items, for cpu_force.c and cpu_rows.c. */
#ifndef SAP_CPU_PLAN_H
#define SAP_CPU_PLAN_H

#include "cpu/cpu_engine.h"

struct sap_plan {
    struct sap_cpu_store *store;
    struct sap_cpu_force *force;
    const struct sap_kernel *kernel;
    struct sap_variant variant;
    struct sap_i i;
    struct sap_judge judge;
    unsigned extra;
    int tiles, threads;
    int few;            /* few_i serves all i-particles at once */
    int groups, ranges; /* items are groups times ranges of tiles */
    int alone;          /* groups have one tile, and only their totals are needed */
    atomic_int failed;  /* 1: memory ran out in some thread */
};

/* Starts group number `group` with the radii of its lists; keeps its memory for candidates. */
void sap_plan_start_group(const struct sap_plan *plan, struct sap_group *g, int group);

/*
 * Sets the squared radii of a lane: candidates are within `reach`, rounded up so that the working type loses none;
 * candidates within `sure` are not doubtful.
 */
void sap_plan_set_reach(struct sap_group *g, int lane, double reach, double sure);

/* Adds a range of tiles to a group; tiles without particles add nothing. */
void sap_plan_run_many(const struct sap_plan *plan, struct sap_group *g, int from, int to, struct sap_variant variant);

/* Compute the results of a group, or of one i-particle of few_i, from its states in all ranges; 0 if memory ran out. */
int sap_rows_finish_many(const struct sap_plan *plan, int group, struct sap_group *const *g);
int sap_rows_finish_few(const struct sap_plan *plan, int i, struct sap_single *const *s);

#endif
