/* gpu_given.c - copies particles, lists and results of a tree between the caller's memory and an accelerator. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_kernels.h"
#include "gpu/tree/gpu_tree.h"

enum { THREADS = SAP_TREE_THREADS, CHUNK = SAP_SESSION_CHUNK, LOOKS = 3, KINDS = LOOKS + 1, NONE_BAD = 0x7F7F7F7F };
enum { DIRECT = 1 << 20 }; /* bytes that are copied without waiting for them */

/* ---- host memory ------------------------------------------------------------------------ */

/* Copies masses in device memory to the host, if the next particles come without masses. */
static int fetch_masses(struct sap_gpu_host_tree *t)
{
    double(*const chunk)[4] = t->session.chunk.host;
    for (int first = 0; first < t->given; first += CHUNK) {
        const int n = t->given - first < CHUNK ? t->given - first : CHUNK;
        TRY(t->session.driver->copy_out(t->session.stream, chunk, t->particle.mem, (size_t)first * sizeof *chunk,
                                        (size_t)n * sizeof *chunk));
        TRY(t->session.driver->stream_finish(t->session.stream));
        for (int k = 0; k < n; k++) t->mass[first + k] = chunk[k][3];
    }
    t->mass_elsewhere = 0;
    return SAP_DRIVER_OK;
}

/* Particles on their way to the device. */
struct sending {
    const sapporo_tree_particles *p;
    double *mass; /* by address */
};

static void fill_particles(void *argument, void *to, int first, int n)
{
    const struct sending *const s = argument;
    double(*const chunk)[4] = to;
    for (int k = 0; k < n; k++) {
        memcpy(chunk[k], sap_column_at(&s->p->x, first + k, 3 * sizeof(double)), 3 * sizeof(double));
        if (s->p->mass.base) s->mass[first + k] = sap_column_double(&s->p->mass, first + k);
        chunk[k][3] = s->mass[first + k];
    }
}

static void fill_numbers(void *argument, void *to, int first, int n)
{
    const sapporo_column *const from = argument;
    double *const chunk = to;
    for (int k = 0; k < n; k++) chunk[k] = sap_column_double(from, first + k);
}

int sap_tree_send_accelerations(struct sap_gpu_host_tree *t, const sapporo_column *a, int n)
{
    sapporo_column from = *a;
    return sap_session_upload(&t->session, &t->a, sizeof(double), n, fill_numbers, &from);
}

/* Marks the particles of the last set as overwritten. */
static void tear(struct sap_gpu_host_tree *t, const sapporo_tree_particles *p)
{
    if (t->torn != SAP_TORN_MASSES) t->torn = p->mass.base || p->n != t->given ? (int)SAP_TORN_MASSES : 1;
    if (p->a.base || p->n != t->given) t->has_a = 0;
}

static int take_from_host(struct sap_gpu_host_tree *t, const sapporo_tree_particles *p)
{
    if (p->n == t->given && !p->mass.base && t->mass_elsewhere) TRY(fetch_masses(t));
    tear(t, p);
    if (p->n != t->given && !p->mass.base) memset(t->mass, 0, (size_t)p->n * sizeof *t->mass);
    struct sending sending = {p, t->mass};
    TRY(sap_session_upload(&t->session, &t->particle, 4 * sizeof(double), p->n, fill_particles, &sending));
    if (p->a.base) TRY(sap_tree_send_accelerations(t, &p->a, p->n));
    if (t->lengths.f) TRY(sap_gpu_lengths_take(t, p->h.base ? &p->h : NULL, p->n));
    t->mass_elsewhere = 0;
    return SAP_DRIVER_OK;
}

/* ---- memory of the device ---------------------------------------------------------------- */

/* Kernel arguments for columns; an absent column is replaced by the first. */
struct device_columns {
    struct sap_mem *x, *mass, *a;
};

static int adopt(const struct sap_gpu_host_tree *t, const void *at, size_t bytes, struct sap_mem **mem)
{
    *mem = NULL;
    return at ? t->session.driver->adopt(t->session.device->dev, at, bytes, mem) : (int)SAP_DRIVER_OK;
}

static void drop(const struct sap_gpu_host_tree *t, struct device_columns *c)
{
    t->session.driver->release(c->x);
    t->session.driver->release(c->mass);
    t->session.driver->release(c->a);
}

static int adopt_all(const struct sap_gpu_host_tree *t, const sapporo_tree_particles *p, struct device_columns *c)
{
    const size_t column = (size_t)p->n * sizeof(double);
    TRY(adopt(t, p->x.base, 3 * column, &c->x));
    TRY(adopt(t, p->mass.base, column, &c->mass));
    return adopt(t, p->a.base, column, &c->a);
}

static int ask_for_bad(struct sap_gpu_host_tree *t, int *bad)
{
    int *const told = ((struct sap_gpu_tree_told *)t->told.host)->level_first;
    TRY(t->session.driver->copy_out(t->session.stream, told, t->bounds.mem, 0, LOOKS * sizeof(int)));
    TRY(t->session.driver->stream_finish(t->session.stream));
    memcpy(bad, told, LOOKS * sizeof(int));
    return SAP_DRIVER_OK;
}

static int look(struct sap_gpu_host_tree *t, const struct device_columns *c, int n, int *bad)
{
    const int has_mass = c->mass != NULL, has_a = c->a != NULL;
    const struct sap_argument a[] = {{c->x, 0},
                                     {has_mass ? c->mass : c->x, 0},
                                     {has_a ? c->a : c->x, 0},
                                     VALUE(has_mass),
                                     VALUE(has_a),
                                     SAP_ARRAY(t->bounds),
                                     VALUE(n)};
    TRY(t->session.driver->fill(t->session.stream, t->bounds.mem, 0, 0x7F, LOOKS * sizeof(int)));
    TRY(sap_session_for_each(&t->session, t->f->look, n, THREADS, a, COUNT(a)));
    return ask_for_bad(t, bad);
}

static int take_columns(struct sap_gpu_host_tree *t, const struct device_columns *c, int n)
{
    const int has_mass = c->mass != NULL, has_a = c->a != NULL, keeps = n == t->given;
    const struct sap_argument a[] = {
        {c->x, 0},    {has_mass ? c->mass : c->x, 0}, {has_a ? c->a : c->x, 0}, VALUE(has_mass), VALUE(keeps),
        VALUE(has_a), SAP_ARRAY(t->particle),         SAP_ARRAY(t->a),          VALUE(n)};
    TRY(sap_session_for_each(&t->session, t->f->take, n, THREADS, a, COUNT(a)));
    return t->session.driver->stream_finish(t->session.stream);
}

/* Whether some particle has a value that is not finite. */
static int is_any_bad(const int *bad)
{
    int any = 0;
    for (int k = 0; k < KINDS; k++) any |= bad[k] != NONE_BAD;
    return any;
}

/* Takes columns that have been looked at, and lengths that have been read to host memory. */
static int take_looked_at(struct sap_gpu_host_tree *t, const sapporo_tree_particles *p, const struct device_columns *c,
                          const double *h)
{
    const sapporo_column lengths = {h, 0};
    tear(t, p);
    t->mass_elsewhere = 1;
    TRY(take_columns(t, c, p->n));
    return t->lengths.f ? sap_gpu_lengths_take(t, h ? &lengths : NULL, p->n) : (int)SAP_DRIVER_OK;
}

/* *bad: by kind of value, the first particle with a value that is not finite. */
static int take_from_device(struct sap_gpu_host_tree *t, const sapporo_tree_particles *p, int *bad)
{
    struct device_columns c = {NULL, NULL, NULL};
    double *h = NULL;
    int worst = -1, status = adopt_all(t, p, &c);
    if (!status) status = look(t, &c, p->n, bad);
    if (!status && p->h.base) status = sap_gpu_lengths_fetch(t, &p->h, p->n, &h, &worst);
    if (worst >= 0) bad[LOOKS] = worst;
    if (!status && !is_any_bad(bad)) status = take_looked_at(t, p, &c, h);
    drop(t, &c);
    free(h);
    return status;
}

static int packed(const sapporo_column *c, size_t each) { return c->stride == 0 || c->stride == (ptrdiff_t)each; }

/* Why the library does not take particles, with a sapporo_status; NULL: it takes them. */
static const char *why_refused(const struct sap_gpu_host_tree *t, const sapporo_tree_particles *p, int *status)
{
    const int elsewhere = p->memory == SAPPORO_MEMORY_DEVICE;
    *status = elsewhere && !t->session.driver->adopt ? SAPPORO_ERR_UNSUPPORTED : SAPPORO_ERR_ARGUMENT;
    if (elsewhere && !t->session.driver->adopt)
        return "OpenCL has no addresses of device memory that a caller could name: host memory only";
    if (elsewhere && (!packed(&p->x, 3 * sizeof(double)) || !packed(&p->mass, sizeof(double)) ||
                      !packed(&p->a, sizeof(double)) || !packed(&p->h, sizeof(double))))
        return "columns in memory of the device have no gaps";
    if (t->torn == SAP_TORN_MASSES && !p->mass.base && p->n > 0) return "the last set failed half way: set masses, too";
    return NULL;
}

static int bad_particle(struct sap_gpu_host_tree *t, const int *bad)
{
    static const char *const what[KINDS] = {"position", "mass", "acceleration", "h"};
    for (int k = 0; k < KINDS; k++)
        if (bad[k] != NONE_BAD) {
            (void)snprintf(t->session.message, sizeof t->session.message, "%s of particle %d is not finite%s", what[k],
                           bad[k],
                           k == 0       ? ", or beyond 1e100"
                           : k == LOOKS ? ", negative, or beyond 1e100"
                                        : "");
            return SAPPORO_ERR_NOT_FINITE;
        }
    return SAPPORO_OK;
}

int sap_tree_set_gpu(struct sap_gpu_host_tree *t, const sapporo_tree_particles *p)
{
    int bad[KINDS] = {NONE_BAD, NONE_BAD, NONE_BAD, NONE_BAD}, refused, status = sap_session_begin(&t->session);
    if (status) return status;
    const char *const why = why_refused(t, p, &refused);
    if (why) return sap_session_refuse(&t->session, refused, why);
    if (p->n > 0) status = p->memory == SAPPORO_MEMORY_DEVICE ? take_from_device(t, p, bad) : take_from_host(t, p);
    status = sap_session_end(&t->session, status);
    if (!status) status = bad_particle(t, bad);
    if (status) return status;
    if (p->a.base)
        t->has_a = p->n;
    else if (p->n != t->given)
        t->has_a = 0;
    t->given = p->n;
    t->torn = 0;
    return SAPPORO_OK;
}

/* ---- a force ------------------------------------------------------------------------------- */

int sap_tree_take_active(struct sap_gpu_host_tree *t, const sapporo_tree_request *r, int *bad)
{
    const size_t bytes = (size_t)r->ni * sizeof(int);
    const int ni = r->ni, n = t->n, staged = bytes <= t->session.chunk.bytes;
    struct sap_mem *theirs = NULL;
    int looks[LOOKS];
    *bad = -1;
    if (t->listed) return SAP_DRIVER_OK;
    TRY(sap_session_reserve(&t->session, &t->active, bytes));
    if (!r->active) return SAP_DRIVER_OK;
    if (r->memory != SAPPORO_MEMORY_DEVICE) {
        if (staged) memcpy(t->session.chunk.host, r->active, bytes); /* the chunk is free until the force is complete */
        TRY(t->session.driver->copy_in(t->session.stream, t->active.mem, 0, staged ? t->session.chunk.host : r->active,
                                       bytes));
        return staged ? SAP_DRIVER_OK : t->session.driver->stream_finish(t->session.stream);
    }
    TRY(adopt(t, r->active, bytes, &theirs));
    int status = t->session.driver->copy(t->session.stream, t->active.mem, 0, theirs, 0, bytes);
    if (!status) status = t->session.driver->stream_finish(t->session.stream);
    t->session.driver->release(theirs);
    const struct sap_argument a[] = {SAP_ARRAY(t->active), SAP_ARRAY(t->bounds), VALUE(ni), VALUE(n)};
    if (!status) status = t->session.driver->fill(t->session.stream, t->bounds.mem, 0, 0x7F, LOOKS * sizeof(int));
    if (!status) status = sap_session_for_each(&t->session, t->f->look_active, ni, THREADS, a, COUNT(a));
    if (!status) status = ask_for_bad(t, looks);
    if (!status && looks[0] != NONE_BAD) *bad = looks[0];
    return status;
}

static int give(struct sap_gpu_host_tree *t, sapporo_memory memory, void *to, const struct sap_gpu_buffer *from,
                size_t bytes)
{
    struct sap_mem *theirs = NULL;
    if (!to) return SAP_DRIVER_OK;
    if (memory != SAPPORO_MEMORY_DEVICE && bytes < DIRECT)
        return t->session.driver->copy_out(t->session.stream, to, from->mem, 0, bytes);
    if (memory != SAPPORO_MEMORY_DEVICE) return sap_session_download(&t->session, to, from, 0, bytes);
    TRY(adopt(t, to, bytes, &theirs));
    int status = t->session.driver->copy(t->session.stream, theirs, 0, from->mem, 0, bytes);
    if (!status) status = t->session.driver->stream_finish(t->session.stream);
    t->session.driver->release(theirs);
    return status;
}

int sap_tree_give(struct sap_gpu_host_tree *t, const sapporo_tree_request *r, int picked, double (*acc)[3], double *pot)
{
    TRY(give(t, r->memory, acc, picked ? &t->picked_acc : &t->acc, (size_t)r->ni * sizeof *acc));
    return give(t, r->memory, pot, picked ? &t->picked_pot : &t->pot, (size_t)r->ni * sizeof *pot);
}

/* Writes NaN: bytes with all bits set form a NaN. */
static int erase(struct sap_gpu_host_tree *t, void *to, size_t bytes)
{
    struct sap_mem *theirs = NULL;
    if (!to) return SAP_DRIVER_OK;
    TRY(adopt(t, to, bytes, &theirs));
    int status = t->session.driver->fill(t->session.stream, theirs, 0, 0xFF, bytes);
    if (!status) status = t->session.driver->stream_finish(t->session.stream);
    t->session.driver->release(theirs);
    return status;
}

void sap_tree_erase_gpu(struct sap_gpu_host_tree *t, int ni, double (*acc)[3], double *pot)
{
    if (!t->session.driver->adopt || ni <= 0 || sap_session_begin(&t->session)) return;
    (void)erase(t, acc, (size_t)ni * sizeof *acc);
    (void)erase(t, pot, (size_t)ni * sizeof *pot);
    (void)sap_session_end(&t->session, SAP_DRIVER_OK);
}
