/* collapse.c - see collapse.h. */
#include "collapse.h"

#include <stdio.h>

void collapse_warn(run *job, double since, const bodies *now, int star, double step, const char *why,
                   const char *remedy)
{
    char at[RUN_TIME_TEXT], neighbour[96] = "it is alone";
    double distance;
    const int other = bodies_nearest(now, star, &distance);
    if (other >= 0)
        snprintf(neighbour, sizeof neighbour, "its nearest neighbour is particle %lld, %.3g away (--eps %g)",
                 now->id[other], distance, job->plan.eps);
    run_warn(job, "time %s: %s.  The shortest step, %.3g, is that of particle %lld; %s.  %s",
             run_time_text(job, since, 6, at), why, step, now->id[star], neighbour, remedy);
}
