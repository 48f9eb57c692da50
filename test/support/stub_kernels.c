/* stub_kernels.c - see stub_kernels.h. */
#include "stub_kernels.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "device/gpu_layout.h"
#include "engine/accum.h"
#include "stub_driver.h"

static const unsigned char nothing[16] = {1};

#define IMAGE(name)                                                                                                    \
    {                                                                                                                  \
        name, nothing, sizeof nothing                                                                                  \
    }
static const struct sap_image images[] = {
    IMAGE("force_sp"),  IMAGE("force_ds"),  IMAGE("force_dp"),  IMAGE("force2_sp"), IMAGE("force2_ds"),
    IMAGE("force2_dp"), IMAGE("force6_ds"), IMAGE("force6_dp"), IMAGE("force8_ds"), IMAGE("force8_dp"),
    IMAGE("store"),     IMAGE("finish"),    IMAGE("lists")};

const struct sap_embedded stub_kernels = {images, sizeof images / sizeof images[0], "sm_90", ""};

static atomic_long serial;

double stub_serial(void) { return (double)atomic_load(&serial); }

static void *memory(const struct sap_launch *l, int argument) { return stub_memory(l->argument[argument].value); }

/* Writes one value as all sums of all rows of `f`. */
static void write_value(double *out, const struct sap_gpu_force *f, double sum)
{
    struct sap_accum a;
    const size_t n = (size_t)f->out_rows, first = (size_t)f->first_i;
    sap_accum_clear(&a);
    sap_accum_add(&a, sum);
    for (size_t q = 0; q < (size_t)f->sums; q++)
        for (size_t i = first; i < first + (size_t)f->ni; i++) {
            if (!f->accumulate) {
                out[q * n + i] = sum;
                continue;
            }
            double *const at = out + q * 6 * n + i;
            at[0] = a.unit;
            for (size_t k = 0; k < SAP_LIMBS; k++) at[(k + 1) * n] = a.limb[k];
            at[5 * n] = a.special;
        }
}

/* Tells the host that a force has ended, as lib/device/tell.h does. */
static void tell_end(const struct sap_launch *l)
{
    if (l->arguments != 6 || !l->argument[5].value) return;
    struct sap_gpu_counters *const counters = memory(l, 4), *const told = memory(l, 5);
    told->coincident = counters->coincident;
    counters->coincident = SAP_GPU_NOBODY;
    told->ended = 1;
}

/*
 * finish_sums(record, out, force, parts, counters, told), finish_sums_outside(the first four, ...).  A sum of no
 * superpackets becomes NaN, so that it shows, since sessions need none.
 */
static void write_sums(const struct sap_launch *l)
{
    struct sap_gpu_force f;
    const double value = (double)(atomic_fetch_add(&serial, 1) + 1);
    memcpy(&f, l->argument[2].value, sizeof f);
    const double sum = f.superpackets > 0 || f.accumulate ? value : NAN; /* some of several devices may have none */
    write_value(memory(l, 1), &f, sum);
    tell_end(l);
}

/* manyN, fewN(store, predicted, i, record, near, hit, hit_count, counters, force, rows): writes results if they must */
static void write_lone(const struct sap_launch *l)
{
    struct sap_gpu_force f;
    memcpy(&f, l->argument[8].value, sizeof f);
    if (f.lone) write_value(memory(l, 3), &f, (double)(atomic_fetch_add(&serial, 1) + 1));
}

/* finish_merge(gathered, out, force, devices): adds the first sum of each device's first row */
static void merge_sums(const struct sap_launch *l)
{
    struct sap_gpu_force f;
    int devices;
    const double *const gathered = memory(l, 0);
    struct sap_accum all;
    memcpy(&f, l->argument[2].value, sizeof f);
    memcpy(&devices, l->argument[3].value, sizeof devices);
    sap_accum_clear(&all);
    for (int d = 0; d < devices; d++) {
        const double *const from = gathered + (size_t)d * (size_t)f.sums * 6 * (size_t)f.ni;
        struct sap_accum one = {.unit = from[0], .special = from[5 * (size_t)f.ni]};
        for (size_t k = 0; k < SAP_LIMBS; k++) one.limb[k] = from[(k + 1) * (size_t)f.ni];
        sap_accum_merge(&all, &one);
    }
    write_value(memory(l, 1), &f, sap_accum_round(&all));
}

int stub_list_length;

/*
 * list_offsets(count, offset, cursor, counters, n, told, last): as if every list of the slab had the given length, and
 * one candidate per entry
 */
static void count_lists(const struct sap_launch *l)
{
    struct sap_gpu_counters *c = memory(l, 3);
    int n, last;
    memcpy(&n, l->argument[4].value, sizeof n);
    memcpy(&last, l->argument[6].value, sizeof last);
    const int units = n * ((stub_list_length + SAP_GPU_LIST_UNIT - 1) / SAP_GPU_LIST_UNIT);
    c->first = c->total;
    c->total += units;
    if (units > c->most) c->most = units;
    if ((unsigned)n * (unsigned)stub_list_length > c->most_hits)
        c->most_hits = (unsigned)n * (unsigned)stub_list_length;
    if (!last) return;
    memcpy(memory(l, 5), c, sizeof *c);
    c->total = c->most = 0;
    c->most_hits = 0;
}

/*
 * Writes 0, 1, ... to each list of a slab; arguments from `at` on: counters, list, out, and from `room` on: entry_room,
 * out_room
 */
static void write_lists(const struct sap_launch *l, int at, int room_at, int first_row, int rows)
{
    const struct sap_gpu_counters *c = memory(l, at);
    struct sap_gpu_list_row *list = memory(l, at + 1);
    int32_t *out = memory(l, at + 2);
    int room[2];
    const int units = (stub_list_length + SAP_GPU_LIST_UNIT - 1) / SAP_GPU_LIST_UNIT;
    for (int k = 0; k < 2; k++) memcpy(&room[k], l->argument[room_at + k].value, sizeof room[k]);
    for (int row = 0; row < rows; row++) {
        const int first = c->first + row * units;
        const int fits = (row + 1) * units <= room[0] && first + units <= room[1];
        list[first_row + row].first = first;
        list[first_row + row].count = fits ? stub_list_length : 0;
        for (int k = 0; k < stub_list_length && fits; k++) out[(size_t)first * SAP_GPU_LIST_UNIT + (size_t)k] = k;
    }
}

/* list_sort(offset, cursor, entry, counters, list, out, first_row, entry_room, out_room, rows) */
static void sort_lists(const struct sap_launch *l)
{
    int first_row, rows;
    memcpy(&first_row, l->argument[6].value, sizeof first_row);
    memcpy(&rows, l->argument[9].value, sizeof rows);
    write_lists(l, 3, 7, first_row, rows);
}

/*
 * finish_sums_outside(arguments of finish_sums, store, i, outside, offset, cursor, entry, counters, list, out,
 * entry_room, list_room)
 */
static void sort_beside_sums(const struct sap_launch *l)
{
    struct sap_gpu_force f;
    struct sap_gpu_outside outside;
    memcpy(&f, l->argument[2].value, sizeof f);
    memcpy(&outside, l->argument[6].value, sizeof outside);
    write_lists(l, 10, 13, outside.first_i, f.ni);
}

void stub_kernel(const char *name, const struct sap_launch *l)
{
    if (strncmp(name, "finish_sums", 11) == 0) write_sums(l);
    if (strncmp(name, "many", 4) == 0 || strncmp(name, "few", 3) == 0) write_lone(l);
    if (strcmp(name, "finish_merge") == 0) merge_sums(l);
    if (strcmp(name, "finish_nearest") == 0) memset(memory(l, 3), 0, stub_memory_bytes(l->argument[3].value));
    if (strcmp(name, "list_offsets") == 0) count_lists(l);
    if (strcmp(name, "list_sort") == 0) sort_lists(l);
    if (strcmp(name, "finish_sums_outside") == 0) sort_beside_sums(l);
}
