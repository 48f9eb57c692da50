/*
 * noise.c - see noise.h.
 */
#include "noise.h"

#include <math.h>

int noise_disagree(const double before[3], const double after[3], double change)
{
    double old = 0, new = 0, between = 0;
    if (!(change < 0.01)) return 0;
    for (int c = 0; c < 3; c++) {
        double d = after[c] - before[c];
        old += before[c] * before[c];
        new += after[c] * after[c];
        between += d * d;
    }
    return old > 0 && sqrt(between) > 0.5 * (sqrt(old) + sqrt(new));
}

int noise_block(noise_watch *watch, int active, int disagreeing)
{
    /* A single block counts up to 2.  Blocks of one particle disagree every second time, so they count 1 on average. */
    if (active > 0) watch->noisy += 2.0 * disagreeing / active;
    if (++watch->blocks < NOISE_WINDOW) return 0;
    int collapsed = watch->noisy > 0.5 * NOISE_WINDOW, news = collapsed && !watch->found;
    if (news) watch->found = 1;
    watch->total += watch->noisy < NOISE_WINDOW ? watch->noisy : NOISE_WINDOW;
    watch->blocks = 0;
    watch->noisy = 0;
    return news;
}
