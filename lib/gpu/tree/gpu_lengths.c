/* gpu_lengths.c - the lengths of spline softening of a tree on an accelerator: kernels, uploads, lengths of nodes. */
#include "gpu/tree/gpu_lengths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "engine/tree_limits.h"
#include "gpu/gpu_kernels.h"
#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_kernels.h"
#include "gpu/tree/gpu_tree.h"

enum { THREADS = SAP_TREE_THREADS };

/* ---- kernels ------------------------------------------------------------------------------ */

static void drop(const struct sap_driver *driver, void *kept)
{
    struct sap_gpu_spline_kernels *const f = kept;
    for (int k = 0; k < COUNT(f->module); k++)
        if (f->module[k]) driver->module_unload(f->module[k]);
    free(f);
}

static int get_functions(const struct sap_driver *driver, struct sap_gpu_spline_kernels *f)
{
    const struct {
        int module;
        const char *name;
        struct sap_function **function;
    } wanted[] = {{0, "tree_length_gather", &f->gather},
                  {0, "tree_length_nodes", &f->nodes},
                  {0, "tree_length_groups", &f->groups},
                  {0, "tree_walk_spline_sp", &f->walk_sp[0]},
                  {0, "tree_walk_whole_spline_sp", &f->walk_sp[1]},
                  {0, "tree_few_spline_sp", &f->few[0]},
                  {1, "tree_walk_spline_dp", &f->walk_dp},
                  {1, "tree_few_spline_dp", &f->few[1]},
                  {1, "tree_alone_spline", &f->alone}};
    for (int k = 0; k < COUNT(wanted); k++)
        TRY(driver->function(f->module[wanted[k].module], wanted[k].name, wanted[k].function));
    return SAP_DRIVER_OK;
}

static int make(const struct sap_driver *driver, struct sap_dev *dev, int number, void **kept)
{
    struct sap_gpu_spline_kernels *const f = calloc(1, sizeof *f);
    (void)number;
    *kept = NULL;
    if (!f) return SAP_DRIVER_MEMORY;
    int status = sap_gpu_tree_load_module(driver, dev, "tree_spline_sp", &f->module[0]);
    if (!status) status = sap_gpu_tree_load_module(driver, dev, "tree_spline_dp", &f->module[1]);
    if (!status) status = get_functions(driver, f);
    if (status)
        drop(driver, f);
    else
        *kept = f;
    return status;
}

/* ---- memory --------------------------------------------------------------------------------- */

int sap_gpu_lengths_new(struct sap_gpu_host_tree *t)
{
    t->lengths.eps2 = t->settings.eps2;
    t->lengths.mean = t->settings.softening == SAPPORO_SOFTENING_SPLINE_MEAN;
    t->lengths.h = calloc((size_t)t->given.room + 1, sizeof *t->lengths.h);
    t->lengths.least = INFINITY;
    return t->lengths.h ? SAP_DRIVER_OK : SAP_DRIVER_MEMORY;
}

int sap_gpu_lengths_open(struct sap_gpu_host_tree *t)
{
    void *kept;
    TRY(sap_gpu_keep(t->session.set, t->session.device, make, drop, &kept));
    t->lengths.f = kept;
    return sap_session_reserve(&t->session, &t->lengths.given, ((size_t)t->given.room + 1) * sizeof(double));
}

void sap_gpu_lengths_free(struct sap_gpu_host_tree *t)
{
    sap_gpu_free(t->session.driver, &t->lengths.given);
    sap_gpu_free(t->session.driver, &t->lengths.of_node);
    sap_gpu_free(t->session.driver, &t->lengths.of_place);
    free(t->lengths.h);
}

size_t sap_gpu_lengths_bytes(int n, size_t *device_bytes)
{
    const size_t size = (size_t)n;
    if (device_bytes) *device_bytes += (2 * size + size / 2) * sizeof(double) + size / 8 * sizeof(float);
    return size * sizeof(double);
}

/* ---- lengths of particles and of positions ---------------------------------------------------- */

int sap_gpu_lengths_fetch(struct sap_gpu_session *s, const sapporo_column *of, int n, double **h, int *bad)
{
    const size_t bytes = (size_t)n * sizeof **h;
    struct sap_mem *theirs = NULL;
    *bad = -1;
    *h = sap_session_host_memory(s, (size_t)n + 1, sizeof **h);
    if (!*h) return SAP_DRIVER_MEMORY;
    TRY(s->driver->adopt(s->device->dev, of->base, bytes, &theirs));
    int status = sap_session_copy_out(s, *h, theirs, 0, bytes);
    if (!status) status = sap_session_wait(s);
    s->driver->release(theirs);
    for (int i = 0; i < n && !status && *bad < 0; i++)
        if (!((*h)[i] >= 0 && (*h)[i] <= SAP_TREE_LIMIT)) *bad = i;
    return status;
}

/* Uploads n lengths, in pinned memory piece by piece. */
static int upload(struct sap_gpu_session *s, const struct sap_gpu_buffer *to, const sapporo_column *of, int n)
{
    const int most = (int)(s->chunk.bytes / sizeof(double));
    double *const chunk = s->chunk.host;
    for (int first = 0; first < n; first += most) {
        const int some = n - first < most ? n - first : most;
        const size_t bytes = (size_t)some * sizeof *chunk;
        for (int k = 0; k < some; k++) chunk[k] = sap_column_double(of, first + k);
        TRY(sap_session_copy_in(s, to->mem, (size_t)first * sizeof *chunk, chunk, bytes));
        TRY(sap_session_wait(s));
    }
    return SAP_DRIVER_OK;
}

int sap_gpu_lengths_take(struct sap_gpu_session *s, struct sap_gpu_lengths *l, const sapporo_column *of, int n,
                         int keeps)
{
    const sapporo_column all = {l->h, 0};
    if (of || !keeps) {
        l->uploaded = 0;
        l->most = 0;
        l->least = INFINITY;
        for (int i = 0; i < n; i++) {
            l->h[i] = of ? sap_column_double(of, i) : sqrt(l->eps2);
            l->most = fmax(l->most, l->h[i]);
            if (l->h[i] > 0) l->least = fmin(l->least, l->h[i]);
        }
    }
    if (!l->uploaded) TRY(upload(s, &l->given, &all, n));
    l->uploaded = 1;
    return SAP_DRIVER_OK;
}

/* Sets the lengths of positions that are no lengths to 0; their rows are erased. */
static void mend(const struct sap_gpu_host_tree *t, const sapporo_column *of, int n, double *h)
{
    const double usual = sqrt(t->settings.eps2);
    for (int i = 0; i < n; i++) {
        h[i] = of ? sap_column_double(of, i) : usual;
        if (!sap_tree_is_length(h[i], t->t.unit)) h[i] = 0;
    }
}

int sap_gpu_lengths_of_places(struct sap_gpu_host_tree *t, const sapporo_column *of, int n)
{
    struct sap_gpu_lengths *const l = &t->lengths;
    double *const h = sap_session_host_memory(&t->session, (size_t)n, sizeof *h);
    const sapporo_column all = {h, 0};
    if (!h) return SAP_DRIVER_MEMORY;
    mend(t, of, n, h);
    int status = sap_session_reserve(&t->session, &l->of_place, (size_t)n * sizeof *h);
    if (!status) status = upload(&t->session, &l->of_place, &all, n);
    free(h);
    if (status) return status;
    TRY(sap_session_reserve(&t->session, &t->places.length, (size_t)n * sizeof *h));
    TRY(sap_session_reserve(&t->session, &t->places.longest, (size_t)t->places.groups * sizeof(float)));
    return sap_gpu_lengths_gather(t, &t->places, &l->of_place);
}

double sap_gpu_most_softening(const struct sap_gpu_host_tree *t)
{
    return t->lengths.f ? t->lengths.most * t->lengths.most : t->settings.eps2;
}

int sap_gpu_lengths_short(const struct sap_gpu_host_tree *t, double unit)
{
    int is_short = 0;
    if (!t->lengths.f || !(t->lengths.least * unit < SAP_TREE_SHORT)) return 0;
    for (int i = 0; i < t->given.n && !is_short; i++) {
        const double h = sap_tree_scaled_length(t->lengths.h[i], unit);
        is_short = h > 0 && h < SAP_TREE_SHORT;
    }
    return is_short;
}

/* ---- lengths of nodes and groups ---------------------------------------------------------------- */

int sap_gpu_lengths_gather(struct sap_gpu_host_tree *t, struct sap_gpu_walkers *w, const struct sap_gpu_buffer *given)
{
    const double unit = t->t.unit;
    const int n = w->n;
    const struct sap_argument a[] = {SAP_ARRAY(*given), SAP_ARRAY(w->address), SAP_ARRAY(w->length), VALUE(unit),
                                     VALUE(n)};
    return sap_session_for_each(&t->session, t->lengths.f->gather, n, THREADS, a, COUNT(a));
}

int sap_gpu_lengths_nodes(struct sap_gpu_host_tree *t)
{
    TRY(sap_gpu_lengths_gather(t, &t->own, &t->lengths.given));
    for (int level = t->levels - 1; level >= 0; level--) {
        const int from = t->level_first[level], to = t->level_first[level + 1];
        const struct sap_argument a[] = {SAP_ARRAY(t->node),
                                         SAP_ARRAY(t->cell),
                                         SAP_ARRAY(t->own.length),
                                         SAP_ARRAY(t->lengths.of_node),
                                         SAP_ARRAY(t->word),
                                         VALUE(from),
                                         VALUE(to),
                                         VALUE(t->t)};
        TRY(sap_session_for_each(&t->session, t->lengths.f->nodes, to - from, THREADS, a, COUNT(a)));
    }
    return SAP_DRIVER_OK;
}

int sap_gpu_lengths_groups(struct sap_gpu_host_tree *t, const struct sap_gpu_walkers *w)
{
    const int groups = w->groups;
    const struct sap_argument a[] = {SAP_ARRAY(w->length), SAP_ARRAY(w->group_first), SAP_ARRAY(w->longest),
                                     SAP_ARRAY(w->heavy), VALUE(groups)};
    return sap_session_for_each(&t->session, t->lengths.f->groups, groups, THREADS, a, COUNT(a));
}
