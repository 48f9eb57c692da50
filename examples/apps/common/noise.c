/*
 * noise.c - see noise.h.
 */
#include "noise.h"
#include "criterion.h"

int noise_disagree(const double before[3], const double after[3], double change)
{
    double between[3];
    if (!(change < 0.01)) return 0;
    for (int c = 0; c < 3; c++) between[c] = after[c] - before[c];
    const double old = criterion_size(before);
    return old > 0 && criterion_size(between) > 0.5 * (old + criterion_size(after));
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
