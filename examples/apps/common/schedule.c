/*
 * schedule.c - see schedule.h.
 */
#include "schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int schedule_create(schedule *plan, int n)
{
    memset(plan, 0, sizeof *plan);
    size_t room = n > 0 ? (size_t)n : 1;
    plan->level = calloc(room, sizeof(int));
    plan->order = calloc(room, sizeof(int));
    plan->scratch = calloc(room, sizeof(int));
    if (!plan->level || !plan->order || !plan->scratch) {
        schedule_free(plan);
        return -1;
    }
    plan->n = n;
    schedule_rebuild(plan);
    return 0;
}

void schedule_free(schedule *plan)
{
    free(plan->level);
    free(plan->order);
    free(plan->scratch);
    memset(plan, 0, sizeof *plan);
}

int64_t schedule_ticks(int level) { return INT64_C(1) << (SCHEDULE_DEPTH - level); }

/* Sorts the first `n` of the order by counting; these are all particles of the levels >= shallowest. */
static void sort_front(schedule *plan, int n, int shallowest)
{
    int place[SCHEDULE_DEPTH + 1], *count = plan->count;
    memset(count + shallowest, 0, (size_t)(SCHEDULE_DEPTH + 1 - shallowest) * sizeof *count);
    for (int k = 0; k < n; k++) count[plan->level[plan->order[k]]]++;
    for (int level = SCHEDULE_DEPTH, sum = 0; level >= shallowest; level--) {
        place[level] = sum;
        sum += count[level];
    }
    for (int k = 0; k < n; k++) plan->scratch[place[plan->level[plan->order[k]]]++] = plan->order[k];
    memcpy(plan->order, plan->scratch, (size_t)n * sizeof *plan->order);
}

void schedule_rebuild(schedule *plan)
{
    for (int k = 0; k < plan->n; k++) plan->order[k] = k;
    sort_front(plan, plan->n, 0);
}

/* Returns the shallowest level whose step ends now. */
static int shallowest_level(const schedule *plan)
{
    int level = SCHEDULE_DEPTH;
    while (level > 0 && plan->tick % schedule_ticks(level - 1) == 0) level--;
    return level;
}

int schedule_advance(schedule *plan)
{
    int deepest = SCHEDULE_DEPTH, active = 0;
    while (deepest > 0 && plan->count[deepest] == 0) deepest--;
    plan->tick += schedule_ticks(deepest);
    for (int level = deepest, first = shallowest_level(plan); level >= first; level--) active += plan->count[level];
    return active;
}

void schedule_settle(schedule *plan, int active) { sort_front(plan, active, shallowest_level(plan)); }

int schedule_choose(const schedule *plan, int level, double step)
{
    int chosen = level;
    while (chosen < SCHEDULE_DEPTH && ldexp(1, -chosen) > step) chosen++;
    if (chosen > level || level == 0) return chosen;
    int doubled_fits = ldexp(1, 1 - level) <= step && plan->tick % schedule_ticks(level - 1) == 0;
    return doubled_fits ? level - 1 : level;
}

int schedule_first(double step)
{
    int level = 0;
    while (level < SCHEDULE_DEPTH && ldexp(1, -level) > step) level++;
    return level;
}
