/* gpu_devices.c - devices of accelerators: choosing and opening. */
#include "gpu/gpu_devices.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/ranges.h"
#include "device/gpu_layout.h"
#include "driver/driver.h"
#include "engine/options.h"
#include "engine/travel_ops.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_shape.h"
#include "gpu/gpu_status.h"
#include "physics/interaction.h"

int sap_gpu_count(const struct sap_driver *driver, const struct sap_embedded *kernels)
{
    return kernels->count > 0 ? driver->count() : 0;
}

/* Returns whether a word of SAPPORO_DEVICES names this device: number, uuid or its beginning, or part of the name. */
static int is_named(const char *word, size_t length, int number, const struct sap_device_properties *p)
{
    char *end;
    char text[256];
    (void)snprintf(text, sizeof text, "%.*s", (int)(length < 255 ? length : 255), word);
    const long n = strtol(text, &end, 10);
    if (end != text && !*end) return n == number;
    if (strncasecmp(text, p->uuid, strlen(text)) == 0) return 1;
    for (const char *at = p->name; *at; at++)
        if (strncasecmp(at, text, strlen(text)) == 0) return 1;
    return 0;
}

static int add_device(int *list, int n, int number)
{
    for (int k = 0; k < n; k++)
        if (list[k] == number) return n;
    if (n < SAP_GPU_DEVICES) list[n++] = number;
    return n;
}

static int choose_by_names(const struct sap_driver *driver, const char *names, int count, int *list)
{
    int n = 0;
    size_t length;
    for (const char *word = names; (word = sap_device_word(word, &length)) != NULL; word += length)
        for (int number = 0; number < count; number++) {
            struct sap_device_properties p;
            if (driver->properties(number, &p) == SAP_DRIVER_OK && is_named(word, length, number, &p))
                n = add_device(list, n, number);
        }
    return n;
}

int sap_gpu_is_name(const struct sap_driver *driver, const char *word, size_t length)
{
    struct sap_device_properties p;
    for (int number = 0; number < driver->count(); number++)
        if (driver->properties(number, &p) == SAP_DRIVER_OK && is_named(word, length, -1, &p)) return 1;
    return 0;
}

/* Lists the devices that the settings ask for, without those that do not exist. */
static int choose(const struct sap_driver *driver, const struct sap_settings *s, int count, int *list)
{
    int n = 0;
    if (s->ndevices < 0)
        for (int number = 0; number < count; number++) n = add_device(list, n, number);
    else if (s->ndevices > 0)
        for (int k = 0; k < s->ndevices; k++) {
            if (s->devices[k] >= 0 && s->devices[k] < count) n = add_device(list, n, s->devices[k]);
        }
    else if (s->device_names[0])
        n = choose_by_names(driver, s->device_names, count, list);
    else
        n = add_device(list, n, s->preferred_device % count);
    return n;
}

/* Sets what depends on whether particles have softening lengths. */
static void set_layout(struct sap_gpu_set *set, int soft)
{
    set->soft = soft;
    set->columns = SAP_GPU_COLUMNS_OF(set->order) + soft;
    set->units = SAP_GPU_UNITS(set->order, soft);
    set->update = (size_t)SAP_GPU_UPDATE_WORDS(set->columns) * sizeof(double);
    set->working = set->word * (size_t)SAP_GPU_WORDS(set->order, set->precision == SAPPORO_DS, set->word, soft);
}

/* Sets the error bounds of squared distances in the working type: roundings of r2 and of coordinates, enlarged. */
static void set_kind(struct sap_gpu_set *set, int precision, int order)
{
    static const struct {
        double r2_error, x_error;
    } of[] = {[SAPPORO_SP] = {8 * (double)FLT_EPSILON, 2 * (double)FLT_EPSILON},
              [SAPPORO_DS] = {8 * (double)FLT_EPSILON, 0x1p-45},
              [SAPPORO_DP] = {16 * DBL_EPSILON, 4 * DBL_EPSILON}};
    set->precision = precision;
    set->order = order;
    set->sums = order == 2 ? SAP_SUMS2 : 1 + 3 * order / 2;
    set->word = precision == SAPPORO_DP ? sizeof(double) : sizeof(float);
    set_layout(set, 0);
    set->r2_error = of[precision].r2_error;
    set->x_error = of[precision].x_error;
}

/* Opens a device and takes its kernels. On failure `why` has the message. */
static int open_device(struct sap_gpu_set *set, const struct sap_embedded *e, int number, char *why, size_t room)
{
    const struct sap_driver *driver = set->driver;
    struct sap_gpu_device *d = &set->device[set->n];
    memset(d, 0, sizeof *d);
    d->number = number;
    why[0] = '\0';
    int status = sap_gpu_renew(driver, number);
    if (status) {
        (void)snprintf(why, room, "it was lost, and other contexts have it open still: close them");
        return status;
    }
    status = driver->properties(number, &d->properties);
    if (!status && !d->properties.has_fp64 && set->precision == SAPPORO_DP) {
        (void)snprintf(why, room, "%s has no double precision, which dp needs: sp and ds do without",
                       d->properties.name);
        return SAP_DRIVER_UNSUPPORTED;
    }
    if (!status) status = driver->open(number, &d->dev);
    if (status)
        (void)snprintf(why, room, "%s", driver->error_text());
    else
        status = sap_gpu_take_kernels(set, e, d, why, room);
    if (status == SAP_DRIVER_LOST) sap_gpu_lose(set, d);
    if (!status) {
        set->has_fp64 &= d->properties.has_fp64; /* not of a device whose opening may be tried again */
        set->n++;
        return status;
    }
    if (d->dev) driver->close(d->dev);
    (void)sap_gpu_renew(driver, number);
    return status;
}

/* Announces devices that will work together, before the first is opened; unloads kept kernels that prevent this. */
static void announce(const struct sap_driver *driver, const int *list, int n)
{
    if (n < 2 || !driver->unite) return;
    for (int k = 0; k < n; k++) (void)sap_gpu_renew(driver, list[k]);
    if (driver->unite(list, n)) return;
    sap_gpu_unload_unused(driver, list, n);
    (void)driver->unite(list, n);
}

int sap_gpu_open(const struct sap_driver *driver, const struct sap_embedded *kernels, const struct sap_settings *s,
                 int most, struct sap_gpu_set **out, char *why, size_t room)
{
    int list[SAP_GPU_DEVICES];
    int count = sap_gpu_count(driver, kernels);
    if (most > 0 && most < count) count = most;
    *out = NULL;
    if (s->order > 4 && s->precision == SAPPORO_SP) {
        (void)snprintf(why, room, "order %d has no precision sp: use dp or ds", s->order);
        return SAPPORO_ERR_UNSUPPORTED;
    }
    const int n = count > 0 ? choose(driver, s, count, list) : 0;
    if (n == 0) {
        (void)snprintf(why, room, "none of the devices asked for exists (there are %d)", count);
        return SAPPORO_ERR_DEVICE;
    }
    struct sap_gpu_set *set = calloc(1, sizeof *set + (size_t)n * sizeof set->device[0]);
    if (!set) {
        (void)snprintf(why, room, "out of memory");
        return SAPPORO_ERR_MEMORY;
    }
    set->driver = driver;
    set->has_fp64 = 1;
    set_kind(set, (int)s->precision, s->order);
    announce(driver, list, n);
    for (int k = 0; k < n; k++) {
        char words[256];
        int status = open_device(set, kernels, list[k], words, sizeof words);
        if (status == SAP_DRIVER_LOST) /* the device may have been lost long ago, held open by kept kernels only */
            status = open_device(set, kernels, list[k], words, sizeof words);
        if (!status) continue;
        (void)snprintf(why, room, "device %d: %s", list[k], words);
        sap_gpu_close(set);
        return sap_gpu_status(status);
    }
    set->mixed = s->mixed && set->has_fp64;
    set->below = SAP_ADDRESSES;
    sap_gpu_tune(set, s);
    *out = set;
    return SAPPORO_OK;
}

int sap_gpu_soften(struct sap_gpu_set *set, int *at)
{
    const struct sap_gpu_kernels *taken[SAP_GPU_DEVICES] = {NULL};
    int status = SAP_DRIVER_OK;
    if (set->soft || set->order == 2) return status;
    set_layout(set, 1);
    for (int k = 0; k < set->n && !status; k++) {
        *at = k;
        status = sap_gpu_take_soft_kernels(set, &set->device[k], &taken[k]);
    }
    for (int k = 0; k < set->n && !status; k++) set->device[k].kernels = taken[k];
    if (!status) return status;
    for (int k = 0; k < set->n; k++)
        if (taken[k]) sap_gpu_give_soft_kernels(set, &set->device[k]);
    set_layout(set, 0);
    return status;
}

void sap_gpu_close(struct sap_gpu_set *set)
{
    if (!set) return;
    for (int k = 0; k < set->n; k++) {
        if (set->soft) sap_gpu_give_soft_kernels(set, &set->device[k]);
        sap_gpu_give_kernels(set, &set->device[k]);
        set->driver->close(set->device[k].dev);
    }
    free(set);
}

int sap_gpu_together(const struct sap_gpu_set *set)
{
    const struct sap_driver *const d = set->driver;
    int together = d->together && d->copy_peer;
    for (int k = 1; k < set->n && together; k++) together = d->together(set->device[0].dev, set->device[k].dev);
    return together;
}

int sap_gpu_reserve_for_all(const struct sap_gpu_set *set, struct sap_gpu_buffer *b, size_t bytes)
{
    struct sap_dev *others[SAP_GPU_DEVICES];
    for (int k = 1; k < set->n; k++) others[k - 1] = set->device[k].dev;
    return sap_gpu_reserve_shared(set->driver, set->device[0].dev, others, set->n - 1, b, bytes);
}

void sap_gpu_describe_travels(const struct sap_gpu_set *set, struct sap_travel_device *device)
{
    const struct sap_gpu_device *const first = &set->device[0];
    (void)snprintf(device->text, sizeof device->text, "%s %d", set->driver->name, first->number);
    (void)snprintf(device->uuid, sizeof device->uuid, "%s", first->properties.uuid);
    device->travels = set->n == 1 && set->driver->address && set->driver->native_stream;
}
