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
#include "base/stream.h"
#include "base/structs.h"
#include "device/gpu_layout.h"
#include "engine/addresses.h"
#include "engine/jstore.h"
#include "engine/small_forces.h"
#include "gpu/gpu_batch.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_store.h"
#include "physics/arithmetic.h"

enum { SUPER = SAP_GPU_SUPERPACKET, SUMS = SAP_GPU_LONG_SUMS, BLOCK = 64 };

/* ------------------------------------------------------------------- words */

typedef float half __attribute__((vector_size(8)));

static inline sap_stream_unit both(half a, half b)
{
    sap_stream_unit r;
    memcpy(&r, &a, sizeof a);
    memcpy((char *)&r + sizeof a, &b, sizeof b);
    return r;
}

/* What a row consists of; members are constants where rows are written. */
struct row_form {
    size_t word;
    int low;
    int whole; /* 1: nothing follows the row's words, so that whole lines are written */
};

static inline void put_unit(struct row_form form, char *to, sap_stream_unit x)
{
    if (form.whole)
        sap_stream(to, x);
    else
        memcpy(to, &x, sizeof x);
}

/* Writes a position, a fourth word, and the low words of the position, as pack() of lib/device/working.h does. */
static inline void put_words(struct row_form form, char *to, two xy, two zw)
{
    if (form.word == sizeof(double)) {
        put_unit(form, to, (sap_stream_unit)xy);
        put_unit(form, to + sizeof xy, (sap_stream_unit)zw);
        return;
    }
    const half a = __builtin_convertvector(xy, half), b = __builtin_convertvector(zw, half);
    put_unit(form, to, both(a, b));
    if (!form.low) return;
    const half rest_a = __builtin_convertvector(xy - __builtin_convertvector(a, two), half);
    const half rest_b = {(float)(zw[0] - (double)b[0]), 0};
    put_unit(form, to + 2 * sizeof a, both(rest_a, rest_b));
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

/* Writes n rows, `pitch` bytes apart; returns whether some position is not finite. */
static inline int put_rows_as(struct row_form form, const struct column_source *r, int n, char *to, size_t pitch)
{
    const char *x = r->x, *fourth = r->fourth;
    pair bad = {0, 0};
    for (int k = 0; k < n; k++, x += r->step, to += pitch) {
        double c[3], f = 0;
        memcpy(c, x, sizeof c);
        if (fourth) memcpy(&f, fourth, sizeof f), fourth += r->fourth_step;
        const two xy = {c[0], c[1]}, zw = {c[2], f + r->add};
        bad |= carries((pair)xy, if_not_finite) | carries(pair_of(c[2], 0), if_not_finite);
        put_words(form, to, xy, zw);
    }
    return carried(bad);
}

/* whole: as of struct row_form */
static int put_rows(const struct sap_batch_work *w, int whole, const struct column_source *r, int n, char *to,
                    size_t pitch)
{
    static const struct row_form doubles = {sizeof(double), 0, 1}, doubles_apart = {sizeof(double), 0, 0},
                                 two_words = {sizeof(float), 1, 1}, two_words_apart = {sizeof(float), 1, 0},
                                 floats = {sizeof(float), 0, 1}, floats_apart = {sizeof(float), 0, 0};
    if (w->store->set->word == sizeof(double))
        return whole ? put_rows_as(doubles, r, n, to, pitch) : put_rows_as(doubles_apart, r, n, to, pitch);
    if (w->low) return whole ? put_rows_as(two_words, r, n, to, pitch) : put_rows_as(two_words_apart, r, n, to, pitch);
    return whole ? put_rows_as(floats, r, n, to, pitch) : put_rows_as(floats_apart, r, n, to, pitch);
}

/* Writes one row. */
static void put_row(const struct sap_batch_work *w, const double *x, double fourth, char *to)
{
    const struct row_form form = {w->store->set->word, w->low, 0};
    put_words(form, to, (two){x[0], x[1]}, (two){x[2], fourth});
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
        if (!put_rows(w, 1, &r, n, to, w->target_bytes)) continue;
        sap_stream_end(); /* rows are written again */
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
        const int bad = put_rows(w, !w->soft, &r, n, to, w->source_bytes);
        if (bad) sap_stream_end();
        for (int k = 0; k < n && bad; k++) {
            double x[3];
            memcpy(x, sap_column_at(&l->x_j, from + k, sizeof x), sizeof x);
            put_source(w, x, sap_column_double(&l->mass_j, from + k), to + (size_t)k * w->source_bytes);
        }
        for (int k = 0; k < n && w->soft; k++)
            put_softening(w, sap_column_double(&l->eps2_j, from + k), to + (size_t)k * w->source_bytes);
    }
}

static void translate_addresses(const struct sap_batch_work *w, const sapporo_small_force *l, int *to)
{
    const int *const slot_of = w->store->share[0].slot_of;
    for (int k = 0; k < l->nj; k++) {
        const unsigned a = (unsigned)l->address[k];
        to[k] = slot_of[a / SUPER] * SUPER + (int)(a % SUPER);
    }
}

/* Where the addresses of a list go: from unit `at` on; narrow: in 16 bits each, from `base` on. */
struct address_place {
    int at, narrow, base;
};

/*
 * Writes the addresses of a list to the slab's section of addresses.  With the store in order, as after a first load,
 * each superpacket lies in the slot of its own number.
 */
static void fill_addresses(const struct sap_batch_work *w, const struct sap_gpu_place *p, const sapporo_small_force *l,
                           const struct address_place *at)
{
    char *const to = (char *)p->host.host + (size_t)p->layout.index * 16 + (size_t)at->at * 64;
    if (at->narrow)
        sap_addresses_narrow(l->address, l->nj, at->base, (uint16_t *)(void *)to);
    else if (w->in_order)
        memcpy(to, l->address, (size_t)l->nj * sizeof *l->address);
    else
        translate_addresses(w, l, (int *)(void *)to);
}

/* Whether the slab has room for the addresses of this list. */
static int sends_addresses(const struct sap_batch_work *w, const sapporo_small_force *l)
{
    return sap_batch_by_address(w, l) && !sap_batch_kept(w, l);
}

/* Looks at the addresses of a list; returns 0 if some address holds no particle. */
static int look_at(const struct sap_batch_work *w, const sapporo_small_force *l, struct address_place *at)
{
    if (!l->address || l->nj == 0 || sap_batch_kept(w, l)) return 1;
    const struct sap_address_range range = sap_addresses_range(l->address, l->nj);
    if (w->m->below > 0 && !sap_addresses_within(range, w->m->below - 1)) return 0;
    at->narrow = w->in_order && !w->m->more && sap_addresses_are_narrow(range);
    at->base = range.low;
    return 1;
}

/* Takes places for the addresses of the lists of some spots; returns 0 if some address holds no particle. */
static int place_addresses(const struct sap_batch_work *w, const struct sap_batch_spot *s, int n, atomic_int *units,
                           struct address_place *at)
{
    int taken = 0, good = 1;
    for (int k = 0; k < n; k++) {
        const sapporo_small_force *const l = sap_batch_force(w->m, s[k].list);
        at[k] = (struct address_place){.at = taken};
        good &= look_at(w, l, &at[k]);
        if (sends_addresses(w, l))
            taken += sap_batch_units(l->nj, at[k].narrow ? sizeof(uint16_t) : sizeof *l->address);
    }
    const int first = taken > 0 ? atomic_fetch_add_explicit(units, taken, memory_order_relaxed) : 0;
    for (int k = 0; k < n; k++) at[k].at += first;
    return good;
}

/* ------------------------------------------------------------------- spots */

static void fill_items(const struct sap_batch_work *w, const struct sap_batch_spot *s, const sapporo_small_force *l,
                       const struct address_place *at, struct sap_gpu_item *item, struct sap_gpu_long *longs)
{
    const int superpackets = sap_batch_superpackets(w, l), kept = sap_batch_kept(w, l);
    const int most = w->m->more ? l->nj : (int)SUPER; /* sources of an item */
    const int pitch = w->m->more ? sap_batch_more_asks(l) : s->n;
    const int source = kept                          ? (int)(l->address - w->m->kept.address)
                       : !sap_batch_by_address(w, l) ? s->source
                                                     : at->at * (at->narrow ? 32 : 16);
    for (int from = 0; from < s->n; from += w->rows) {
        const int n = s->n - from < w->rows ? s->n - from : w->rows, record = s->record + from;
        for (int sp = 0; sp < superpackets; sp++)
            *item++ = (struct sap_gpu_item){.i = s->row + from,
                                            .n = n,
                                            .j = source + sp * SUPER,
                                            .nj = l->nj - sp * SUPER < most ? l->nj - sp * SUPER : most,
                                            .indexed = kept         ? SAP_GPU_KEPT_LISTS
                                                       : at->narrow ? SAP_GPU_NARROW_LISTS
                                                                    : sap_batch_by_address(w, l),
                                            .base = at->base,
                                            .lone = superpackets == 1,
                                            .row = superpackets == 1 ? s->row + from : record + sp * SUMS * s->n,
                                            .pitch = pitch};
        if (superpackets > 1)
            *longs++ = (struct sap_gpu_long){
                .record = record, .pitch = s->n, .superpackets = superpackets, .row = s->row + from, .n = n};
    }
}

static void fill_sources(const struct sap_batch_work *w, const struct sap_gpu_place *p, const struct sap_batch_spot *s,
                         const sapporo_small_force *l, const struct address_place *at)
{
    char *const own = (char *)p->host.host + (size_t)p->layout.j * 16 + (size_t)s->source * w->source_bytes;
    if (sap_batch_kept(w, l)) return;
    if (sap_batch_by_address(w, l))
        fill_addresses(w, p, l, at);
    else if (w->m->more)
        sap_batch_more_sources(w, l, (double *)(void *)own);
    else if (l->address)
        fill_stored(w, l, own);
    else
        fill_own(w, l, own);
}

static int fill_spot(const struct sap_batch_work *w, const struct sap_gpu_place *p, struct sap_batch_spot *s,
                     const struct address_place *at)
{
    const sapporo_small_force *const l = sap_batch_force(w->m, s->list);
    char *const to = p->host.host, *const targets = to + (size_t)p->layout.i * 16 + (size_t)s->row * w->target_bytes;
    struct sap_gpu_item *const items = p->host.host;
    struct sap_gpu_long *const longs = (struct sap_gpu_long *)(void *)(to + (size_t)p->layout.longs * 16);
    fill_items(w, s, l, at, items + s->item, longs + s->longs);
    fill_sources(w, p, s, l, at);
    const int found = w->m->more ? sap_batch_more_targets(s, l, (double *)(void *)targets, p->bad + s->row)
                                 : fill_targets(w, s, l, targets, p->bad + s->row);
    if (found & SAP_BATCH_BAD) s->bad = 1;
    return found;
}

void sap_batch_fill(const struct sap_batch_work *w, struct sap_gpu_place *p, struct sap_batch_filling *f, int from,
                    int to)
{
    struct address_place at[SAP_BATCH_RUN] = {{0}};
    int found = 0;
    if (!place_addresses(w, p->spot + from, to - from, &f->units, at))
        found = SAP_BATCH_FAULTY;
    else
        for (int k = from; k < to; k++) found |= fill_spot(w, p, &p->spot[k], &at[k - from]);
    sap_stream_end();
    if (found & ~atomic_load_explicit(&f->found, memory_order_relaxed)) atomic_fetch_or(&f->found, found);
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

/* Writes n vectors from their components, two vectors at a time. */
static void write_vectors(double *to, const double *x, const double *y, const double *z, int n)
{
    int k = 0;
    for (; k + 2 <= n; k += 2, to += 6) {
        const two a = two_at(x + k), b = two_at(y + k), c = two_at(z + k);
        put_two(to, sap_two_of(a, 0, b, 0));
        put_two(to + 2, sap_two_of(c, 0, a, 1));
        put_two(to + 4, sap_two_of(b, 1, c, 1));
    }
    if (k < n) to[0] = x[k], to[1] = y[k], to[2] = z[k];
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
    if (r->acc) write_vectors(r->acc[s->from], x, y, z, s->n);
    if (s->bad) write_bad(r, s->from, s->n, p->bad + s->row);
}
