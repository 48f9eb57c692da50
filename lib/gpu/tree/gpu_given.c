/* gpu_given.c - takes particles from the caller's memory, on the host or on the device. */
#include <stdio.h>
#include <stdlib.h>

#include "base/structs.h"
#include "device/tree_layout.h"
#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_given.h"
#include "gpu/tree/gpu_kernels.h"
#include "gpu/tree/gpu_lengths.h"

enum { LOOKS = SAP_GIVEN_KINDS, KINDS = LOOKS + 1 };

/* ---- memory ----------------------------------------------------------------------------- */

int sap_gpu_given_open(struct sap_gpu_session *s, struct sap_gpu_given *g)
{
    TRY(sap_gpu_tree_load(s, &g->f));
    TRY(sap_session_reserve(s, &g->particle, ((size_t)g->room + 1) * 4 * sizeof(double)));
    return sap_session_reserve(s, &g->a, ((size_t)g->room + 1) * sizeof(double));
}

void sap_gpu_given_free(const struct sap_driver *driver, struct sap_gpu_given *g)
{
    sap_gpu_free(driver, &g->particle);
    sap_gpu_free(driver, &g->a);
}

/* ---- columns ---------------------------------------------------------------------------- */

int sap_gpu_given_send_a(struct sap_gpu_session *s, struct sap_gpu_given *g, const sapporo_column *a, int n)
{
    return sap_session_upload_column(s, &g->a, a, sizeof(double), n);
}

/* Kernel arguments for columns; an absent column is replaced by the first. */
struct device_columns {
    struct sap_mem *x, *mass, *a;
};

int sap_gpu_adopt(const struct sap_gpu_session *s, const void *at, size_t bytes, struct sap_mem **mem)
{
    *mem = NULL;
    return at ? s->driver->adopt(s->device->dev, at, bytes, mem) : (int)SAP_DRIVER_OK;
}

static void drop(const struct sap_gpu_session *s, struct device_columns *c)
{
    s->driver->release(c->x);
    s->driver->release(c->mass);
    s->driver->release(c->a);
}

static int adopt_all(const struct sap_gpu_session *s, const sapporo_tree_particles *p, struct device_columns *c)
{
    const size_t column = (size_t)p->n * sizeof(double);
    TRY(sap_gpu_adopt(s, p->x.base, 3 * column, &c->x));
    TRY(sap_gpu_adopt(s, p->mass.base, column, &c->mass));
    return sap_gpu_adopt(s, p->a.base, column, &c->a);
}

int sap_gpu_given_look(struct sap_gpu_session *s, struct sap_mem **found)
{
    TRY(sap_session_reserve(s, &s->scratch, LOOKS * sizeof(int)));
    *found = s->scratch.mem;
    return sap_session_fill(s, *found, 0, 0x7F, LOOKS * sizeof(int));
}

int sap_gpu_given_ask(struct sap_gpu_session *s, int *bad)
{
    return sap_session_download(s, bad, &s->scratch, 0, LOOKS * sizeof(int));
}

static int look(struct sap_gpu_session *s, const struct sap_gpu_given *g, const struct device_columns *c, int n,
                int *bad)
{
    const int has_mass = c->mass != NULL, has_a = c->a != NULL;
    struct sap_mem *found;
    TRY(sap_gpu_given_look(s, &found));
    TRY(sap_launch_tree_look(s, g->f, n, c->x, has_mass ? c->mass : c->x, has_a ? c->a : c->x, g->gravity, has_mass,
                             has_a, found, n));
    return sap_gpu_given_ask(s, bad);
}

static int take_columns(struct sap_gpu_session *s, struct sap_gpu_given *g, const struct device_columns *c, int n)
{
    const int has_mass = c->mass != NULL, has_a = c->a != NULL, keeps = n == g->n;
    return sap_launch_tree_take(s, g->f, n, c->x, has_mass ? c->mass : c->x, has_a ? c->a : c->x, g->gravity, has_mass,
                                keeps, has_a, g->particle.mem, g->a.mem, n);
}

/* Whether some particle has a value that is not finite. */
static int is_any_bad(const int *bad)
{
    int any = 0;
    for (int k = 0; k < KINDS; k++) any |= bad[k] != SAP_NONE_BAD;
    return any;
}

/* Marks the particles of the last set as overwritten. */
static void tear(struct sap_gpu_given *g, const sapporo_tree_particles *p)
{
    if (g->torn != SAP_TORN_MASSES) g->torn = p->mass.base || p->n != g->n ? (int)SAP_TORN_MASSES : 1;
    if (p->a.base || p->n != g->n) g->has_a = 0;
}

/* Takes columns that have been looked at, and lengths in host memory, if there are some. */
static int take_looked_at(struct sap_gpu_session *s, struct sap_gpu_given *g, const sapporo_tree_particles *p,
                          const struct device_columns *c, const sapporo_column *h)
{
    tear(g, p);
    TRY(take_columns(s, g, c, p->n));
    return g->lengths ? sap_gpu_lengths_take(s, g->lengths, h->base ? h : NULL, p->n, p->n == g->n)
                      : (int)SAP_DRIVER_OK;
}

/* Brings a column to the device; *mem: where it is then, or NULL. */
static int bring(struct sap_gpu_session *s, struct sap_gpu_buffer *to, const sapporo_column *from, size_t each, int n,
                 struct sap_mem **mem)
{
    if (!from->base) return SAP_DRIVER_OK;
    TRY(sap_session_reserve(s, to, (size_t)n * each));
    *mem = to->mem;
    return sap_session_send(s, to, from, each, n);
}

/* *bad: by kind of value, the first particle with a value that is not finite; those of a and h are finite. */
static int take_from_host(struct sap_gpu_session *s, struct sap_gpu_given *g, const sapporo_tree_particles *p, int *bad)
{
    struct device_columns c = {NULL, NULL, NULL};
    TRY(bring(s, g->column[0], &p->x, 3 * sizeof(double), p->n, &c.x));
    TRY(bring(s, g->column[1], &p->mass, sizeof(double), p->n, &c.mass));
    TRY(look(s, g, &c, p->n, bad));
    if (is_any_bad(bad)) return SAP_DRIVER_OK;
    TRY(take_looked_at(s, g, p, &c, &p->h));
    return p->a.base ? sap_gpu_given_send_a(s, g, &p->a, p->n) : (int)SAP_DRIVER_OK;
}

/* *bad: by kind of value, the first particle with a value that is not finite. */
static int take_from_device(struct sap_gpu_session *s, struct sap_gpu_given *g, const sapporo_tree_particles *p,
                            int *bad)
{
    struct device_columns c = {NULL, NULL, NULL};
    double *h = NULL;
    int worst = -1, status = adopt_all(s, p, &c);
    if (!status) status = look(s, g, &c, p->n, bad);
    if (!status && p->h.base) status = sap_gpu_lengths_fetch(s, &p->h, p->n, g->lengths->settings->period, &h, &worst);
    if (worst >= 0) bad[LOOKS] = worst;
    if (!status && !is_any_bad(bad)) status = take_looked_at(s, g, p, &c, &(sapporo_column){h, 0});
    if (!status) status = sap_session_wait(s); /* the caller's columns have been read */
    drop(s, &c);
    free(h);
    return status;
}

static int packed(const sapporo_column *c, size_t each) { return c->stride == 0 || c->stride == (ptrdiff_t)each; }

/* Why the library does not take particles, with a sapporo_status; NULL: it takes them. */
static const char *why_refused(const struct sap_gpu_session *s, const struct sap_gpu_given *g,
                               const sapporo_tree_particles *p, int *status)
{
    const int elsewhere = p->memory == SAPPORO_MEMORY_DEVICE;
    *status = elsewhere && !s->driver->adopt ? SAPPORO_ERR_UNSUPPORTED : SAPPORO_ERR_ARGUMENT;
    if (elsewhere && !s->driver->adopt) return SAP_GPU_NO_ADDRESSES;
    if (elsewhere && (!packed(&p->x, 3 * sizeof(double)) || !packed(&p->mass, sizeof(double)) ||
                      !packed(&p->a, sizeof(double)) || !packed(&p->h, sizeof(double))))
        return "columns in memory of the device have no gaps";
    if (g->torn == SAP_TORN_MASSES && !p->mass.base && p->n > 0) return "the last set failed half way: set masses, too";
    return NULL;
}

static int bad_particle(struct sap_gpu_session *s, const int *bad, int periodic)
{
    static const char *const what[KINDS] = {"position", "mass", "acceleration", "h"};
    const char *const more[KINDS] = {", or beyond 1e100", "", "",
                                     periodic ? ", negative, or half the period or more"
                                              : ", negative, or beyond 1e100"};
    int first = 0;
    for (int k = 1; k < KINDS; k++)
        if (bad[k] < bad[first]) first = k;
    if (bad[first] == SAP_NONE_BAD) return SAPPORO_OK;
    (void)snprintf(s->message, sizeof s->message, "%s of particle %d is not finite%s", what[first], bad[first],
                   more[first]);
    return SAPPORO_ERR_NOT_FINITE;
}

int sap_gpu_given_set(struct sap_gpu_session *s, struct sap_gpu_given *g, const sapporo_tree_particles *p)
{
    int bad[KINDS] = {SAP_NONE_BAD, SAP_NONE_BAD, SAP_NONE_BAD, SAP_NONE_BAD}, refused, status = sap_session_begin(s);
    if (status) return status;
    const char *const why = why_refused(s, g, p, &refused);
    if (why) return sap_session_refuse(s, refused, why);
    if (p->n > 0)
        status = p->memory == SAPPORO_MEMORY_DEVICE ? take_from_device(s, g, p, bad) : take_from_host(s, g, p, bad);
    status = sap_session_end(s, status);
    if (!status) status = bad_particle(s, bad, g->lengths && g->lengths->settings->period > 0);
    if (status) return status;
    if (p->a.base)
        g->has_a = p->n;
    else if (p->n != g->n)
        g->has_a = 0;
    g->n = p->n;
    g->torn = 0;
    return SAPPORO_OK;
}
