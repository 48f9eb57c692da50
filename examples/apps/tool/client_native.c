/* client_native.c - forces through sapporo.h, and functions that all clients share. */
#define _POSIX_C_SOURCE 200809L

#include "client.h"
#include "util.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `more`, for orders 6 and 8: a and jerk of i-particles, which are zeros for the copy alone, snap and crackle. */
struct client {
    sapporo *context;
    char error[256];
    int order, room; /* rows of each array */
    double (*more[4])[3];
};

static sapporo_options options_of(const settings *what)
{
    sapporo_options options = {.size = sizeof options, .order = what->order};
    options.precision = what->precision;
    options.backend = what->backend;
    options.cpu_isa = what->isa;
    options.threads = what->threads;
    options.devices = what->device;
    options.ndevices = what->ndevices;
    return options;
}

static int fail(client *self, const char *call, int status)
{
    const char *last = sapporo_last_error(self->context);
    snprintf(self->error, sizeof self->error, "%s: %s%s%s", call, sapporo_status_text(status),
             last[0] != '\0' ? ": " : "", last);
    return -1;
}

sapporo *open_order2(const settings *what)
{
    sapporo_options options = options_of(what);
    sapporo *context = NULL;
    options.order = 2;
    return sapporo_open(&options, &context) < 0 ? NULL : context;
}

static client *native_open(const settings *what)
{
    client *self = allocate(1, sizeof *self);
    const sapporo_options options = options_of(what);
    self->order = what->order;
    const int status = sapporo_open(&options, &self->context);
    if (status < 0) fail(self, "sapporo_open", status);
    return self;
}

static void native_close(client *self)
{
    sapporo_close(self->context);
    for (int k = 0; k < 4; k++) free(self->more[k]);
    free(self);
}

static const char *native_error(const client *self) { return self->error; }

static int native_load(client *self, const model *cluster)
{
    const sapporo_particle *p = cluster->particle;
    const ptrdiff_t stride = sizeof *p;
    sapporo_particles columns = {.size = sizeof columns};
    for (int d = 0; d <= 4; d++) columns.derivative[d] = (sapporo_column){p->derivative[d], stride};
    columns.mass = (sapporo_column){&p->mass, stride};
    columns.time = (sapporo_column){&p->time, stride};
    columns.index = (sapporo_column){&p->index, stride};
    const int status = sapporo_set_particles(self->context, 0, cluster->n, &columns);
    return status == SAPPORO_OK ? 0 : fail(self, "sapporo_set_particles", status);
}

static int native_set(client *self, const model *cluster, int star, int address)
{
    const int status = sapporo_set_particle(self->context, address, &cluster->particle[star]);
    return status == SAPPORO_OK ? 0 : fail(self, "sapporo_set_particle", status);
}

static int native_set_time(client *self, double time)
{
    const int status = sapporo_set_time(self->context, time);
    return status == SAPPORO_OK ? 0 : fail(self, "sapporo_set_time", status);
}

static int read_lists(client *self, sapporo_job *job, int n, int first, forces *out)
{
    for (int i = 0; i < n; i++) {
        const int status = sapporo_force_neighbours(job, i, out->list_room, &out->length[first + i], out->list, NULL);
        if (status != SAPPORO_OK) return fail(self, "sapporo_force_neighbours", status);
    }
    return 0;
}

static int collect(client *self, sapporo_job *job, int n, int first, unsigned want, forces *out)
{
    sapporo_result result = {.size = sizeof result};
    result.acc = out->acc + first;
    if (self->order != 2) result.jerk = out->jerk + first;
    result.pot = out->pot + first;
    if ((want & SAPPORO_WANT_NEAREST) != 0) {
        result.nearest = out->nearest + first;
        result.nearest_r2 = out->nearest_r2 + first;
    }
    if (self->order >= 6) result.snap = self->more[2];
    if (self->order == 8) result.crackle = self->more[3];
    const int status = sapporo_force_end(job, n, &result);
    if (status != SAPPORO_OK) return fail(self, "sapporo_force_end", status);
    return (want & SAPPORO_WANT_LISTS) != 0 ? read_lists(self, job, n, first, out) : 0;
}

static void reserve_more(client *self, int n)
{
    if (self->order < 6 || n <= self->room) return;
    for (int k = 0; k < 4; k++) {
        free(self->more[k]);
        self->more[k] = allocate((size_t)n, sizeof *self->more[k]);
    }
    self->room = n;
}

static int native_force(client *self, int nj, const batch *what, double eps2, unsigned want, forces *out)
{
    const targets *stars = what->stars;
    const int size = what->size > 0 ? what->size : what->n;
    reserve_more(self, size);
    for (int done = 0; done < what->n; done += size) {
        const int i = what->first + done, n = what->n - done < size ? what->n - done : size;
        sapporo_request request = {.size = sizeof request, .nj = nj, .ni = n, .eps2 = eps2, .want = want};
        request.x.base = stars->x + i;
        request.v.base = stars->v + i;
        request.index.base = stars->index + i;
        request.a.base = self->more[0];
        request.jerk.base = self->more[1];
        if ((want & SAPPORO_WANT_LISTS) != 0) request.h2.base = stars->h2 + i;
        sapporo_job *job;
        int status = sapporo_force_begin(self->context, &request, &job);
        if (status != SAPPORO_OK) return fail(self, "sapporo_force_begin", status);
        status = collect(self, job, n, done, want, out);
        sapporo_force_free(job);
        if (status != 0) return -1;
    }
    return 0;
}

const client_type CLIENT_NATIVE = {
    "native", native_open, native_close, native_load, native_set, native_set_time, native_force, native_error, 4};

const client_type *client_type_from_name(const char *name)
{
    if (strcmp(name, CLIENT_G5.name) == 0) return &CLIENT_G5;
    return strcmp(name, CLIENT_NATIVE.name) == 0 ? &CLIENT_NATIVE : &CLIENT_G6;
}

sapporo *client_native_context(const client *self) { return self->context; }

forces forces_new(int n, int list_room)
{
    const size_t room = (size_t)n;
    forces out = {.list_room = list_room};
    out.acc = allocate(room, sizeof *out.acc);
    out.jerk = allocate(room, sizeof *out.jerk);
    out.pot = allocate(room, sizeof *out.pot);
    out.nearest = allocate(room, sizeof *out.nearest);
    out.nearest_r2 = allocate(room, sizeof *out.nearest_r2);
    out.length = allocate(room, sizeof *out.length);
    out.list = allocate((size_t)list_room, sizeof *out.list);
    return out;
}

void forces_free(forces *out)
{
    free(out->acc);
    free(out->jerk);
    free(out->pot);
    free(out->nearest);
    free(out->nearest_r2);
    free(out->length);
    free(out->list);
    *out = (forces){0};
}

void settings_devices(const settings *what, char *text, size_t room)
{
    size_t length = 0;
    text[0] = '\0';
    for (int k = 0; k < what->ndevices && length < room; k++)
        length += (size_t)snprintf(text + length, room - length, "%s%d", k > 0 ? "," : "", what->device[k]);
}

void settings_kind(const settings *what, char *kind, size_t kind_room, char *why, size_t why_room)
{
    client *probe = native_open(what);
    snprintf(why, why_room, "%s", probe->error);
    snprintf(kind, kind_room, "%s", probe->context != NULL ? sapporo_kind(probe->context) : "");
    native_close(probe);
}

sapporo_backend backend_in_use(sapporo_backend asked)
{
    const settings what = {.backend = asked};
    if (asked != SAPPORO_BACKEND_AUTO) return asked;
    client *probe = native_open(&what);
    const sapporo_backend found = sapporo_get_backend(probe->context);
    native_close(probe);
    return found;
}

void set_environment(const char *name, const char *value)
{
    if (value != NULL && value[0] != '\0')
        setenv(name, value, 1);
    else
        unsetenv(name);
}

int open_in_environment(const settings *what, int (*open)(int id), int id)
{
    enum { NAMES = 4 };
    static const char *const names[NAMES] = {"SAPPORO_BACKEND", "SAPPORO_PRECISION", "SAPPORO_CPU_ISA",
                                             "SAPPORO_DEVICES"};
    char devices[8 * DEVICES_ROOM];
    settings_devices(what, devices, sizeof devices);
    const char *values[NAMES] = {what->backend != SAPPORO_BACKEND_AUTO ? backend_name(what->backend) : NULL,
                                 what->precision != SAPPORO_PRECISION_DEFAULT ? precision_name(what->precision) : NULL,
                                 what->isa, what->ndevices > 0 ? devices : NULL};
    char *saved[NAMES];
    for (int k = 0; k < NAMES; k++) {
        const char *old = getenv(names[k]);
        saved[k] = old != NULL ? strdup(old) : NULL;
        if (values[k] != NULL) set_environment(names[k], values[k]);
    }
    const int status = open(id);
    for (int k = 0; k < NAMES; k++) {
        set_environment(names[k], saved[k]);
        free(saved[k]);
    }
    return status;
}
