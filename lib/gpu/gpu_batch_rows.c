/*
 * gpu_batch_rows.c - converts targets and sources of batches of small forces into pinned memory, and results out of it.
 *
 * The device waits for the host if a particle takes more than some nanoseconds. So numbers are converted two at a time,
 * and checked for finiteness 64 particles at a time. Only a block with a particle that is not finite is converted
 * again, particle by particle.
 */
#include <math.h>
#include <string.h>

#include "base/finite.h"
#include "base/structs.h"
#include "device/gpu_layout.h"
#include "engine/jstore.h"
#include "engine/small_forces.h"
#include "gpu/gpu_batch.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_store.h"
#include "physics/arithmetic.h"

enum { SUPER = SAP_GPU_SUPERPACKET, SUMS = SAP_GPU_LONG_SUMS, BLOCK = 64 };

/* ------------------------------------------------------------------- words */

typedef float half __attribute__((vector_size(8)));

/* Writes a position, a fourth word, and the low words of the position, as pack() of lib/device/working.h does. */
static inline void put_words(size_t word, int low, char *to, two xy, two zw)
{
    if (word == sizeof(double)) {
        memcpy(to, &xy, sizeof xy);
        memcpy(to + sizeof xy, &zw, sizeof zw);
        return;
    }
    const half a = __builtin_convertvector(xy, half), b = __builtin_convertvector(zw, half);
    memcpy(to, &a, sizeof a);
    memcpy(to + sizeof a, &b, sizeof b);
    if (!low) return;
    const half rest_a = __builtin_convertvector(xy - __builtin_convertvector(a, two), half);
    const half rest_b = {(float)(zw[0] - (double)b[0]), 0};
    memcpy(to + 2 * sizeof a, &rest_a, sizeof rest_a);
    memcpy(to + 3 * sizeof a, &rest_b, sizeof rest_b);
}

/* Source of the words: the caller's columns, double[3], and double or absent. `add` is added to the latter. */
struct column_source {
    const char *x, *fourth;
    ptrdiff_t step, fourth_step;
    double add;
};

static struct column_source rows_of(const sapporo_column *x, const sapporo_column *fourth, int first, double add)
{
    struct column_source r = {.step = x->stride ? x->stride : (ptrdiff_t)(3 * sizeof(double)),
                              .fourth_step = fourth->stride ? fourth->stride : (ptrdiff_t)sizeof(double),
                              .add = add};
    r.x = (const char *)x->base + first * r.step;
    if (fourth->base) r.fourth = (const char *)fourth->base + first * r.fourth_step;
    return r;
}

/* Writes n rows, `pitch` bytes apart; returns whether some position is not finite. word and low must be constants. */
static inline int put_rows_as(size_t word, int low, const struct column_source *r, int n, char *to, size_t pitch)
{
    const char *x = r->x, *fourth = r->fourth;
    pair bad = {0, 0};
    for (int k = 0; k < n; k++, x += r->step, to += pitch) {
        double c[3], f = 0;
        memcpy(c, x, sizeof c);
        if (fourth) memcpy(&f, fourth, sizeof f), fourth += r->fourth_step;
        const two xy = {c[0], c[1]}, zw = {c[2], f + r->add};
        bad |= carries((pair)xy, if_not_finite) | carries(pair_of(c[2], 0), if_not_finite);
        put_words(word, low, to, xy, zw);
    }
    return carried(bad);
}

static int put_rows(const struct sap_batch_work *w, const struct column_source *r, int n, char *to, size_t pitch)
{
    if (w->store->set->word == sizeof(double)) return put_rows_as(sizeof(double), 0, r, n, to, pitch);
    return w->low ? put_rows_as(sizeof(float), 1, r, n, to, pitch) : put_rows_as(sizeof(float), 0, r, n, to, pitch);
}

/* Writes one row. */
static void put_row(const struct sap_batch_work *w, const double *x, double fourth, char *to)
{
    put_words(w->store->set->word, w->low, to, (two){x[0], x[1]}, (two){x[2], fourth});
}

/* ----------------------------------------------------------------- targets */

/* Replaces targets that are not finite by harmless positions, and marks them. */
static void put_aside(const struct sap_batch_work *w, const sapporo_small_force *l, int from, int n, char *to,
                      unsigned char *bad)
{
    static const double nowhere[3] = {SAP_EMPTY_X / 2, SAP_EMPTY_X / 2, SAP_EMPTY_X / 2};
    for (int k = 0; k < n; k++, to += w->target_bytes) {
        double x[3];
        memcpy(x, sap_column_at(&l->x, from + k, sizeof x), sizeof x);
        bad[k] = !finite_place(x);
        if (bad[k]) put_row(w, nowhere, l->eps2 + sap_column_double(&l->eps2_i, from + k), to);
    }
}

static int fill_targets(const struct sap_batch_work *w, const struct sap_batch_spot *s, const sapporo_small_force *l,
                        char *to, unsigned char *bad)
{
    int found = !l->eps2_i.base && l->eps2 < SAP_TINY_R2 ? SAP_BATCH_ZERO : 0;
    for (int k = 0; k < s->n && l->eps2_i.base; k++)
        if (l->eps2 + sap_column_double(&l->eps2_i, s->from + k) < SAP_TINY_R2) found |= SAP_BATCH_ZERO;
    for (int k = 0; k < s->n; k += BLOCK, to += BLOCK * w->target_bytes) {
        const int n = s->n - k < BLOCK ? s->n - k : BLOCK;
        const struct column_source r = rows_of(&l->x, &l->eps2_i, s->from + k, l->eps2);
        if (!put_rows(w, &r, n, to, w->target_bytes)) continue;
        if (!(found & SAP_BATCH_BAD)) memset(bad, 0, (size_t)s->n);
        found |= SAP_BATCH_BAD;
        put_aside(w, l, s->from + k, n, to, bad + k);
    }
    return found;
}

/* ----------------------------------------------------------------- sources */

/* Writes a source. A position that is not finite becomes NaN, as in predict_one() of lib/device/working.h. */
static void put_source(const struct sap_batch_work *w, const double *x, double mass, char *to)
{
    put_row(w, x, ((mass + (x[0] - x[0])) + (x[1] - x[1])) + (x[2] - x[2]), to);
}

/*
 * Writes the words that follow a source with softening: its index, which batches do not use, and the softening squared.
 */
static void put_softening(const struct sap_batch_work *w, double eps2, char *to)
{
    const size_t word = w->store->set->word, at = (size_t)SAP_GPU_AT_EPS2(w->low) * word;
    const float narrow = (float)eps2;
    if (!w->soft) return;
    memset(to + at - word, 0, w->source_bytes - at + word);
    if (word == sizeof(double))
        memcpy(to + at, &eps2, sizeof eps2);
    else
        memcpy(to + at, &narrow, sizeof narrow);
}

/* Fills sources by address from the host's copy. */
static void fill_stored(const struct sap_batch_work *w, const sapporo_small_force *l, char *to)
{
    for (int k = 0; k < l->nj; k++, to += w->source_bytes) {
        const struct sap_segment *s = sap_jstore_segment(w->host, l->address[k]);
        const unsigned at = (unsigned)l->address[k] % SAP_SEGMENT;
        const double *const from = s->derivative[0] + sap_jstore_offset(at);
        const double x[3] = {from[0], from[SAP_CPU_LANES], from[2 * SAP_CPU_LANES]};
        put_source(w, x, s->mass[at], to);
        put_softening(w, s->eps2 ? s->eps2[at] : 0, to);
    }
}

static void fill_own(const struct sap_batch_work *w, const sapporo_small_force *l, char *to)
{
    for (int from = 0; from < l->nj; from += BLOCK, to += BLOCK * w->source_bytes) {
        const int n = l->nj - from < BLOCK ? l->nj - from : BLOCK;
        const struct column_source r = rows_of(&l->x_j, &l->mass_j, from, 0);
        const int bad = put_rows(w, &r, n, to, w->source_bytes);
        for (int k = 0; k < n && bad; k++) {
            double x[3];
            memcpy(x, sap_column_at(&l->x_j, from + k, sizeof x), sizeof x);
            put_source(w, x, sap_column_double(&l->mass_j, from + k), to + (size_t)k * w->source_bytes);
        }
        for (int k = 0; k < n && w->soft; k++)
            put_softening(w, sap_column_double(&l->eps2_j, from + k), to + (size_t)k * w->source_bytes);
    }
}

static void fill_addresses(const struct sap_batch_work *w, const sapporo_small_force *l, int *to)
{
    const int *const slot_of = w->store->share[0].slot_of;
    if (w->in_order) { /* as after a first load: each superpacket lies in the slot of its own number */
        memcpy(to, l->address, (size_t)l->nj * sizeof *to);
        return;
    }
    for (int k = 0; k < l->nj; k++) {
        const unsigned a = (unsigned)l->address[k];
        to[k] = slot_of[a / SUPER] * SUPER + (int)(a % SUPER);
    }
}

/* ------------------------------------------------------------------- spots */

static void fill_items(const struct sap_batch_work *w, const struct sap_batch_spot *s, const sapporo_small_force *l,
                       struct sap_gpu_item *item, struct sap_gpu_long *longs)
{
    const int superpackets = sap_batch_superpackets(w, l), kept = sap_batch_kept(w, l);
    const int most = w->m->more ? l->nj : (int)SUPER; /* sources of an item */
    const int pitch = w->m->more ? sap_batch_more_moments(l) : s->n;
    const int source = kept ? (int)(l->address - w->m->kept.address) : s->source;
    for (int from = 0; from < s->n; from += w->rows) {
        const int n = s->n - from < w->rows ? s->n - from : w->rows, record = s->record + from;
        for (int sp = 0; sp < superpackets; sp++)
            *item++ = (struct sap_gpu_item){.i = s->row + from,
                                            .n = n,
                                            .j = source + sp * SUPER,
                                            .nj = l->nj - sp * SUPER < most ? l->nj - sp * SUPER : most,
                                            .indexed = kept ? SAP_GPU_KEPT_LISTS : sap_batch_by_address(w, l),
                                            .lone = superpackets == 1,
                                            .row = superpackets == 1 ? s->row + from : record + sp * SUMS * s->n,
                                            .pitch = pitch};
        if (superpackets > 1)
            *longs++ = (struct sap_gpu_long){
                .record = record, .pitch = s->n, .superpackets = superpackets, .row = s->row + from, .n = n};
    }
}

void sap_batch_fill(const struct sap_batch_work *w, const struct sap_gpu_place *p, struct sap_batch_spot *s)
{
    const sapporo_small_force *const l = sap_batch_force(w->m, s->list);
    char *const to = p->host.host;
    struct sap_gpu_item *const items = p->host.host;
    struct sap_gpu_long *const longs = (struct sap_gpu_long *)(void *)(to + (size_t)p->layout.longs * 16);
    int *const index = (int *)(void *)(to + (size_t)p->layout.index * 16);
    char *const own = to + (size_t)p->layout.j * 16 + (size_t)s->source * w->source_bytes, *const targets =
                                                                                               to +
                                                                                               (size_t)p->layout.i *
                                                                                                   16 +
                                                                                               (size_t)s->row *
                                                                                                   w->target_bytes;
    const int more = w->m->more, by_address = sap_batch_by_address(w, l);
    fill_items(w, s, l, items + s->item, longs + s->longs);
    if (by_address && !sap_batch_kept(w, l))
        fill_addresses(w, l, index + s->source);
    else if (more && !by_address)
        sap_batch_more_sources(w, l, (double *)(void *)own);
    else if (l->address && !w->resident)
        fill_stored(w, l, own);
    else if (!l->address)
        fill_own(w, l, own);
    s->found = more ? sap_batch_more_targets(s, l, (double *)(void *)targets, p->bad + s->row)
                    : fill_targets(w, s, l, targets, p->bad + s->row);
}

/* ----------------------------------------------------------------- results */

static void write_bad(const sapporo_result *r, int from, int n, const unsigned char *bad)
{
    for (int i = 0; i < n; i++) {
        if (!bad[i]) continue;
        if (r->pot) r->pot[from + i] = NAN;
        for (int c = 0; c < 3 && r->acc; c++) r->acc[from + i][c] = NAN;
    }
}

void sap_batch_write(const struct sap_batch_work *w, const struct sap_gpu_place *p, const struct sap_batch_spot *s)
{
    const sapporo_result *const r = sap_batch_result(w->m, s->list);
    if (w->m->more) {
        sap_batch_more_write(p, s, r);
        return;
    }
    const double *const pot = (const double *)p->out.host + s->row, *const x = pot + p->rows, *const y = x + p->rows,
                        *const z = y + p->rows;
    if (r->pot) memcpy(r->pot + s->from, pot, (size_t)s->n * sizeof *pot);
    for (int k = 0; k < s->n && r->acc; k++) {
        double *const to = r->acc[s->from + k];
        to[0] = x[k], to[1] = y[k], to[2] = z[k];
    }
    if (s->found & SAP_BATCH_BAD) write_bad(r, s->from, s->n, p->bad + s->row);
}
