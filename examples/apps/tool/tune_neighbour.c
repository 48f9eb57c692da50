/*
 * tune_neighbour.c - measures the number of list members from which on a device computes neighbour forces faster than
 * the CPU.
 */
#include "tune.h"
#include "util.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char NEIGHBOUR[] = "cpu_below_neighbour";

enum { LENGTH = 100, MOST = 4096, TURNS = 9 };

/* Lists of random stars, and their forces. */
typedef struct lists {
    int n, *address, *length, *entries;
    const int **list;
    double (*acc)[3], (*jerk)[3];
    int *nearest;
} lists;

static lists *lists_new(int stars)
{
    lists *l = allocate(1, sizeof *l);
    l->n = stars < MOST ? stars : MOST;
    l->address = allocate((size_t)l->n, sizeof *l->address);
    l->length = allocate((size_t)l->n, sizeof *l->length);
    l->nearest = allocate((size_t)l->n, sizeof *l->nearest);
    l->list = allocate((size_t)l->n, sizeof *l->list);
    l->acc = allocate((size_t)l->n, sizeof *l->acc);
    l->jerk = allocate((size_t)l->n, sizeof *l->jerk);
    l->entries = allocate((size_t)l->n * LENGTH, sizeof *l->entries);
    for (int i = 0; i < l->n; i++) {
        l->address[i] = i;
        l->length[i] = LENGTH;
        l->list[i] = l->entries + (size_t)i * LENGTH;
        for (int k = 0; k < LENGTH; k++)
            l->entries[(size_t)i * LENGTH + (size_t)k] = (int)((i * 7919LL + k * 104729LL) % stars);
    }
    return l;
}

static void lists_free(lists *l)
{
    free(l->address), free(l->length), free(l->nearest), free(l->list);
    free(l->acc), free(l->jerk), free(l->entries), free(l);
}

/* Does a call on the first n lists, whose stars are uploaded again before it, at a new time. */
static int call(tuner *self, client *on, const lists *l, int n, int turn)
{
    sapporo *c = client_native_context(on);
    const sapporo_neighbour_request asked = {
        .size = sizeof asked, .ni = n, .address = l->address, .list = l->list, .length = l->length};
    const sapporo_result result = {.size = sizeof result, .acc = l->acc, .jerk = l->jerk, .nearest = l->nearest};
    for (int i = 0; i < n; i++)
        if (CLIENT_NATIVE.set(on, &self->cluster, i, i) != 0) return -1;
    return sapporo_set_time(c, (turn + 1) * 0x1p-20) != SAPPORO_OK || sapporo_neighbour_force(c, &asked, &result) < 0;
}

static double seconds_of(tuner *self, client *on, const lists *l, int n)
{
    double sample[TURNS];
    for (int turn = -2; turn < TURNS; turn++) {
        const double before = now();
        if (call(self, on, l, n, turn + 2) != 0) {
            snprintf(self->error, sizeof self->error, "%s", sapporo_last_error(client_native_context(on)));
            return -1.0;
        }
        if (turn >= 0) sample[turn] = now() - before;
    }
    sort_values(sample, TURNS);
    return quantile(sample, TURNS, 0.25);
}

/*
 * Returns the number of members from which on the device stays faster, between the measured powers of two; -1: failed.
 */
static double find_crossing(tuner *self, client *cpu, client *device, const lists *l)
{
    double crossing = 0.0, last = 0.0;
    for (int n = 1; n <= l->n; n *= 2) {
        const double slow = seconds_of(self, cpu, l, n), fast = seconds_of(self, device, l, n);
        if (slow < 0.0 || fast < 0.0) return -1.0;
        const double ratio = log(slow / fast);
        if (ratio <= 0.0)
            crossing = n == l->n || 2 * n > l->n ? 1e12 : n; /* never; or at least */
        else if (last < 0.0)
            crossing = 0.5 * n * exp2(-last / (ratio - last));
        last = ratio;
    }
    return crossing < 1e12 ? floor(crossing * LENGTH) : 1e12;
}

/* Opens a context with one launch parameter changed. */
static client *open_with(tuner *self, const tuning *numbers, int k, double value)
{
    tuning trial = *numbers;
    trial.value[k] = value;
    return tune_open(self, &trial);
}

int tune_neighbour(tuner *self, tuning *numbers)
{
    const int k = tune_find(numbers, NEIGHBOUR);
    if (k < 0 || (self->what.order != 4 && self->what.order != 0)) return 0;
    client *device = open_with(self, numbers, k, 0.0), *cpu = device != NULL ? open_with(self, numbers, k, 1e12) : NULL;
    lists *l = lists_new(self->cluster.n);
    const double crossing = cpu != NULL ? find_crossing(self, cpu, device, l) : -1.0;
    lists_free(l);
    if (cpu != NULL) CLIENT_NATIVE.close(cpu);
    if (device != NULL) CLIENT_NATIVE.close(device);
    if (crossing < 0.0) return -1;
    numbers->value[k] = crossing;
    return 0;
}
