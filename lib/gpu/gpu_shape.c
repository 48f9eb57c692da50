/*
 * gpu_shape.c - launch parameters: how a force is cut into blocks. They cannot change a bit of a result.
 *
 * In a many-target kernel, a thread holds some i-particles and loops over all j-particles of a superpacket. In a
 * few-target kernel, a warp holds some i-particles and its lanes share the superpacket. On CPUs (OpenCL) a thread holds
 * a vector of either. The time of each shape is estimated as the work of one unit (multiprocessor), in pair
 * interactions, and the shape with the shortest time is taken.
 */
#include "gpu/gpu_shape.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "device/gpu_layout.h"
#include "engine/engine.h"
#include "engine/tune.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_modes.h"
#include "gpu/gpu_sums.h"
#include "physics/arithmetic.h"

enum {
    ROWS = 256,         /* the rows of a slab are a multiple of this */
    RECORDS = 64 << 20, /* bytes of records of a slab; more and shorter slabs leave units idle more often */
    /* the same for order 2: a force on 262,144 particles is 4 % faster, and none takes more memory */
    RECORDS_OF_2 = 80 << 20
};

enum { NEIGHBOUR = 8000 }; /* members of lists that one thread computes while a call goes to the device and back */

/* Measured on an H200 (docs/performance.md); used if no tuning file has other numbers. */
static const struct sap_gpu_tuning measured[] = {[SAPPORO_SP] = {1.25, 1.6, 24, 1.04, 0.97, 16, 0, NEIGHBOUR},
                                                 [SAPPORO_DS] = {1.25, 1.6, 24, 1.04, 0.97, 16, 0, NEIGHBOUR},
                                                 [SAPPORO_DP] = {1.45, 1.7, 16, 0.96, 1, 16, 0, NEIGHBOUR}};

/* For orders 6 and 8: the arithmetic of a pair dominates, so the overheads count less. */
static const struct sap_gpu_tuning high[] = {
    [SAPPORO_DS] = {1.15, 1.3, 16, 1, 1, 16, 0, 0}, [SAPPORO_DP] = {0.88, 1.02, 8, 1, 1, 10, 0, 0}};

/* For a CPU thread that computes with vectors. */
static const struct sap_gpu_tuning cpu = {1, 1.15, 0, 1, 1, 1, 0, 1e12};

void sap_gpu_tune(struct sap_gpu_set *set, const struct sap_settings *settings)
{
    struct sap_gpu_tuning *const t = &set->tuning;
    const struct sap_device_properties *const p = &set->device[0].properties;
    const struct sap_tune_number numbers[] = {{"few_cost", &t->few_cost, 1e-3, 1e6},
                                              {"few1_cost", &t->few1_cost, 1e-3, 1e6},
                                              {"fill_cost", &t->fill_cost, 0, 1e6},
                                              {"many1_cost", &t->many1_cost, 1e-3, 1e6},
                                              {"many4_cost", &t->many4_cost, 1e-3, 1e6},
                                              {"full_warps", &t->full_warps, 1, 1024},
                                              {"cpu_below_nj", &t->cpu_below_nj, 0, SAP_ADDRESSES},
                                              {"cpu_below_neighbour", &t->cpu_below_neighbour, 0, 1e12}};
    const int n = (int)(sizeof numbers / sizeof numbers[0]);
    char device[200], text[200] = "";
    (void)snprintf(device, sizeof device, "%s %s %s", set->driver->name, p->name, p->architecture);
    *t = p->vectors ? cpu : set->order > 4 ? high[set->precision] : measured[set->precision];
    const int found = sap_tune_read(settings, device, numbers, n);
    for (int k = 0; k < n; k++) {
        const size_t length = strlen(text);
        (void)snprintf(text + length, sizeof text - length, " %s %g", numbers[k].key, *numbers[k].value);
    }
    /* `sapporo tune` reads this line */
    sap_log(SAPPORO_LOG_INFO, "tuning of [%s]:%s; %s %.150s", device, text, found ? "from" : "not in",
            settings->tune[0] ? settings->tune : "any file");
}

/* ------------------------------------------------------------------- modes */

int sap_gpu_self_mode(struct sap_gpu_slab *s, int ni, int all)
{
    s->mode = SAP_GPU_MODE_OWN;
    if (!all) return SAP_GPU_MODE_OWN;
    if (s->f.eps2 == 0) return SAP_GPU_MODE_ZERO; /* each particle is at zero distance from itself */
    return s->f.eps2 >= SAP_TINY_R2 && sap_gpu_shape_of(s, ni).many ? SAP_GPU_MODE_SELF : SAP_GPU_MODE_OWN;
}

/* ------------------------------------------------------------------ shapes */

static int blocks(int n, int of) { return (n + of - 1) / of; }

/*
 * Returns the time of a unit for its share of blocks. It runs `most` blocks at a time; a block computes `pairs` with
 * `warps` warps.
 */
static double unit_time(const struct sap_gpu_tuning *t, double all_blocks, int units, int most, double pairs, int warps)
{
    const double mine = (double)(long long)((all_blocks + units - 1) / units);
    const double busy = (mine < most ? mine : most) * warps / t->full_warps;
    return mine * pairs / (busy < 1 ? (busy > 0.3 ? busy : 0.3) : 1);
}

struct candidate {
    struct sap_gpu_shape shape;
    double time;
};

static void keep_better(struct candidate *best, const struct candidate *c)
{
    if (c->time < best->time) *best = *c;
}

static struct candidate try_many(const struct sap_gpu_tuning *t, const struct sap_gpu_geometry *g, int units, int which,
                                 int ni, int superpackets)
{
    const int ipt = sap_gpu_many_ipt[which], rows = g->many_threads * g->lanes * ipt;
    const double cost = ipt == 1 ? t->many1_cost : ipt == 4 ? t->many4_cost : 1;
    const double pairs = (double)rows * SAP_GPU_SUPERPACKET * cost;
    struct candidate c = {.shape = {.many = 1, .which = which, .rows_per_group = rows}};
    c.time = unit_time(t, (double)blocks(ni, rows) * superpackets, units, INT_MAX, pairs, (g->many_threads + 31) / 32);
    return c;
}

/*
 * turns: how often a block loads as many rows as it can hold. The numbers of orders up to 4 were measured under the
 * assumption that a unit has room for all its blocks.
 */
static struct candidate try_few(const struct sap_gpu_set *set, const struct sap_gpu_kernels *k, int units, int which,
                                int ni, int superpackets, int turns)
{
    const struct sap_gpu_tuning *t = &set->tuning;
    const struct sap_gpu_geometry *g = &k->geometry;
    const int turn = g->few_warps * sap_gpu_few_ipt(set->order, which);
    const int most = set->order > 4 ? k->few_groups[which] : INT_MAX;
    const double cost = which == 0 ? t->few1_cost : t->few_cost;
    const double pairs = (turns * turn * cost + t->fill_cost) * SAP_GPU_SUPERPACKET;
    struct candidate c = {.shape = {.which = which, .rows_per_group = turns * turn}};
    c.time = unit_time(t, (double)blocks(ni, turns * turn) * superpackets, units, most, pairs, g->few_warps);
    return c;
}

/* Tries few blocks of many turns, and many blocks of few turns. */
static void try_all_few(struct candidate *best, const struct sap_gpu_set *set, const struct sap_gpu_kernels *kernels,
                        int units, int which, int ni, int superpackets)
{
    enum { MOST = 32 };
    const int turns = blocks(ni, kernels->geometry.few_warps * sap_gpu_few_ipt(set->order, which));
    for (int k = 1; k <= MOST && k <= turns; k++) {
        const struct candidate many = try_few(set, kernels, units, which, ni, superpackets, k);
        const struct candidate few = try_few(set, kernels, units, which, ni, superpackets, blocks(turns, k));
        keep_better(best, &few);
        keep_better(best, &many);
    }
}

struct sap_gpu_shape sap_gpu_choose_shape(const struct sap_gpu_set *set, const struct sap_gpu_device *device, int mode,
                                          int ni, int superpackets, int predicted)
{
    const struct sap_gpu_geometry *g = &device->kernels->geometry;
    const struct sap_gpu_tuning *t = &set->tuning;
    const int units = device->properties.units > 0 ? device->properties.units : 1;
    struct candidate best = try_many(t, g, units, 0, ni, superpackets), c;
    for (int which = 1; which < g->shapes; which++) {
        if (!device->kernels->many[which][mode].handle) continue;
        c = try_many(t, g, units, which, ni, superpackets);
        keep_better(&best, &c);
    }
    for (int which = 0; which < g->shapes; which++) {
        if (!device->kernels->few[which][mode].handle || device->kernels->few_groups[which] == 0) continue;
        try_all_few(&best, set, device->kernels, units, which, ni, superpackets);
    }
    best.shape.fused = !best.shape.many && g->staged && !predicted && blocks(ni, best.shape.rows_per_group) <= 2;
    return best.shape;
}

/* ------------------------------------------------------------------- slabs */

struct sap_gpu_shape sap_gpu_shape_of(const struct sap_gpu_slab *s, int ni)
{
    struct sap_gpu_sums *h = s->sums;
    const int predicted = h->valid && h->time == s->f.time && h->nj == s->f.nj;
    for (int k = 0; k < SAP_GPU_CHOSEN; k++) {
        const struct sap_gpu_chosen *c = &h->chosen[k];
        if (c->ni == ni && c->superpackets == s->f.superpackets && c->predicted == predicted && c->mode == s->mode)
            return c->shape;
    }
    struct sap_gpu_chosen *c = &h->chosen[h->next_chosen++ % SAP_GPU_CHOSEN];
    c->ni = ni;
    c->superpackets = s->f.superpackets;
    c->predicted = predicted;
    c->mode = s->mode;
    c->shape = sap_gpu_choose_shape(s->set, s->device, s->mode, ni, s->f.superpackets, predicted);
    return c->shape;
}

/* Returns how many times the blocks of a slab fill all units. */
static int waves_of(const struct sap_gpu_slab *s, int rows)
{
    const struct sap_gpu_device *d = s->device;
    const struct sap_gpu_shape shape = sap_gpu_shape_of(s, rows);
    const int groups = shape.many ? d->kernels->many_groups[shape.which] : d->kernels->few_groups[shape.which];
    const long long slots = (long long)(groups > 0 ? groups : 1) * d->properties.units;
    const long long blocks = (long long)((rows + shape.rows_per_group - 1) / shape.rows_per_group) * s->f.superpackets;
    return (int)((blocks + slots - 1) / slots);
}

int sap_gpu_slab_rows(const struct sap_gpu_slab *s, int ni)
{
    struct sap_gpu_sums *h = s->sums;
    const size_t sums = (size_t)s->set->sums, records = (size_t)s->f.superpackets * sums * sizeof(double);
    const size_t gathered = s->gathers ? 2 * 6 * sums * sizeof(double) * (size_t)s->set->n : 0;
    const size_t row = records > gathered ? records : gathered;
    const size_t room = s->set->order == 2 ? RECORDS_OF_2 : RECORDS;
    const size_t fit = row > 0 ? room / row / ROWS : (size_t)ni;
    const int most = fit < 1 ? 1 : fit > (size_t)ni / ROWS + 1 ? ni / ROWS + 1 : (int)fit;
    int best = most * ROWS, least = INT_MAX;
    if (ni <= most * ROWS) return ni;
    if (ni == h->slab_ni && s->f.superpackets == h->slab_superpackets) return h->slab_rows;
    for (int m = most; 2 * m > most; m--) {
        const int rest = ni % (m * ROWS);
        const int waves = ni / (m * ROWS) * waves_of(s, m * ROWS) + (rest > 0 ? waves_of(s, rest) : 0);
        if (waves >= least) continue;
        least = waves;
        best = m * ROWS;
    }
    h->slab_ni = ni;
    h->slab_superpackets = s->f.superpackets;
    h->slab_rows = best;
    return best;
}
