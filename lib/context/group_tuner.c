/* group_tuner.c - searches for the limit of the extent of groups (group_tuner.h). */
#include "context/group_tuner.h"

#include <math.h>

enum {
    STEPS = 8, /* of a measurement at least: of shared steps each is a long step */
    KEEP = 64  /* measurements that the result of a search is kept for */
};
static const double LEAST_GAIN = 0.02; /* times of equal forces on a quiet machine differ by about a hundredth */
static const double TOLERANCE = 0.2;   /* of the logarithm of the limit: costs are flat around their minimum */

static void begin(struct sap_group_tuner *g, enum sap_group_phase phase, double extent)
{
    g->phase = phase;
    g->extent = extent;
    g->tick = -1;
    g->steps = g->periods = 0;
    g->seconds = g->whole = 0;
}

void sap_group_tuner_start(struct sap_group_tuner *g, int is_on)
{
    *g = (struct sap_group_tuner){.share = 1};
    begin(g, is_on ? SAP_GROUPS_FREE : SAP_GROUPS_OFF, 0);
}

/* A measurement begins at the end of the step that builds, and has a whole long step whenever that tick comes again. */
void sap_group_tuner_note(struct sap_group_tuner *g, int built, double seconds, int tick)
{
    if (g->phase == SAP_GROUPS_OFF) return;
    if (g->tick < 0) {
        if (built) g->tick = tick;
        return;
    }
    g->seconds += seconds;
    g->steps++;
    if (tick != g->tick) return;
    g->whole = g->seconds;
    g->periods++;
}

int sap_group_tuner_is_ready(const struct sap_group_tuner *g)
{
    const int times = g->phase == SAP_GROUPS_KEEP ? KEEP : 1;
    return g->phase != SAP_GROUPS_OFF && g->periods >= times && g->steps >= STEPS * times;
}

int sap_group_tuner_needs_extents(const struct sap_group_tuner *g) { return g->phase == SAP_GROUPS_FREE; }

static int begin_search(struct sap_group_tuner *g, double median, double largest)
{
    double low = log(median) - log(2), high = log(largest);
    if (g->found > 0) {
        low = log(g->found) - log(2);
        high = log(g->found) + log(2);
    }
    if (!(median > 0) || !(high > low + 2 * TOLERANCE)) { /* all groups have about the same extent */
        g->found = 0;
        g->share = 1;
        begin(g, SAP_GROUPS_KEEP, 0);
        return 1;
    }
    sap_brent_start(&g->search, low, high, TOLERANCE);
    g->trials = 0;
    begin(g, SAP_GROUPS_SEARCH, exp(g->search.at));
    return 0;
}

static int go_on(struct sap_group_tuner *g, double time)
{
    g->trials++;
    if (!sap_brent_tell(&g->search, time)) {
        begin(g, SAP_GROUPS_SEARCH, exp(g->search.at));
        return 0;
    }
    g->share = g->free > 0 ? g->search.value / g->free : 1;
    g->found = g->share <= 1 - LEAST_GAIN ? exp(g->search.x) : 0;
    begin(g, SAP_GROUPS_KEEP, g->found);
    return 1;
}

int sap_group_tuner_next(struct sap_group_tuner *g, double median, double largest)
{
    const double time = g->whole / g->periods;
    int has_ended = 0;
    if (g->phase == SAP_GROUPS_KEEP) {
        begin(g, SAP_GROUPS_FREE, 0);
    } else if (g->phase == SAP_GROUPS_FREE) {
        g->free = time;
        has_ended = begin_search(g, median, largest);
    } else if (g->phase == SAP_GROUPS_SEARCH) {
        has_ended = go_on(g, time);
    }
    g->searches += has_ended;
    return has_ended;
}
