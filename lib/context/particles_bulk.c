/*
 * particles_bulk.c - stores j-particles that the caller has in columns.
 *
 * Tree codes store hundreds of particles per small force, and NBODY6 stores all its particles per regular force.
 * Particles without individual softening therefore take a fast path: runs of up to 16 addresses are copied directly
 * into the store, by several threads if they are many.
 */
#include <stdlib.h>
#include <string.h>

#include "base/finite.h"
#include "base/structs.h"
#include "base/team.h"
#include "base/threads.h"
#include "context/call.h"
#include "context/caller.h"
#include "context/context_units.h"
#include "context/particles.h"
#include "context/particles_words.h"

/* ------------------------------------------------------------- any particle */

/* Address of particle k in a column; NULL if the column is absent. */
static const void *at(const sapporo_column *column, int k, size_t size)
{
    return column->base ? sap_column_at(column, k, size) : NULL;
}

/* Particles that are stored at addresses first, first + 1, ... */
struct columns {
    const sapporo_particles *all;
    int first;
    int known; /* 1: they are in the form of the store, and were judged in another context */
};

static int put_row(sapporo *c, const struct columns *to, int k)
{
    double scaled[SAP_DERIVATIVES_MOST][3], copy[SAP_DERIVATIVES_MOST][3];
    const sapporo_particles *const all = to->all;
    const double *from[SAP_DERIVATIVES_MOST];
    struct sap_jparticle p = {.index = to->first + k};
    const void *q;
    for (int d = 0; d < SAP_DERIVATIVES_MOST; d++) { /* copied, as strides may leave values unaligned */
        q = at(&all->derivative[d], k, sizeof copy[d]);
        p.derivative[d] = from[d] = q ? memcpy(copy[d], q, sizeof copy[d]) : NULL;
    }
    if ((q = at(&all->mass, k, sizeof p.mass))) memcpy(&p.mass, q, sizeof p.mass);
    if ((q = at(&all->time, k, sizeof p.time))) memcpy(&p.time, q, sizeof p.time);
    if ((q = at(&all->eps2, k, sizeof p.eps2))) memcpy(&p.eps2, q, sizeof p.eps2);
    if ((q = at(&all->index, k, sizeof p.index))) memcpy(&p.index, q, sizeof p.index);
    if (to->known) return sap_particle_put_known(c, to->first + k, &p);
    sap_particle_scale(c, scaled, from, &p);
    return sap_particle_put(c, to->first + k, &p);
}

/*
 * Stores particles from .. from + n - 1 one by one.  If one of them cannot be stored, it and all later ones are marked
 * as lost; else forces would mix old and new particles.
 */
static int put_rows(sapporo *c, const struct columns *to, int from, int n)
{
    int status = SAPPORO_OK;
    for (int k = from; k < from + n; k++) {
        const int one = put_row(c, to, k);
        if (one) status = one;
        if (!one || one == SAPPORO_ERR_NOT_FINITE) continue;
        sap_context_lose(c, to->first + k, from + n - k);
        break;
    }
    return status;
}

/* ----------------------------------------------------------------- columns */

enum {
    LANES = SAP_CPU_LANES,
    MANY = 4096 /* from this number on an engine uploads particles faster from the store than as staged particles */
};

/* Number of derivatives that the context's order uses. */
static int used_of(const sapporo *c) { return c->settings.order == 2 ? 1 : sap_particle_derivatives(c); }

/* Whether particles have only position, velocity, mass and index. */
static int is_simple(const sapporo *c, const sapporo_particles *all)
{
    int higher = all->time.base != NULL;
    for (int d = 2; d < used_of(c); d++) higher |= all->derivative[d].base != NULL;
    return !higher;
}

/*
 * Whether runs may be stored directly: no job needs the present store, neither side has individual softening, and
 * no units are left by a particle that is fast for them (sap_context_in_units looks at each one).
 */
static int takes_runs(const sapporo *c, int n, const sapporo_particles *all)
{
    if (c->open_needs > 0 || all->eps2.base || c->host.soft > 0) return 0;
    if (c->settings.order == 2) return 1;
    return (!c->sends || n >= MANY) && (sap_units_are_plain(&c->units) || is_simple(c, all));
}

/* Whether some of n vectors of a column, from number k on, is not zero. */
static int is_used(const sapporo_column *x, int k, int n)
{
    uint64_t bits = 0;
    for (int l = k; l < k + n && !(bits << 1); l++) {
        uint64_t w[3];
        memcpy(w, sap_column_at(x, l, sizeof w), sizeof w);
        bits = w[0] | w[1] | w[2];
    }
    return bits << 1 != 0;
}

/* The highest derivative that is not zero for one of n particles from number k on, at least 1. */
static int terms_of(const sapporo *c, const sapporo_particles *all, int k, int n)
{
    int d = used_of(c) - 1;
    while (d > 1 && !(all->derivative[d].base && is_used(&all->derivative[d], k, n))) d--;
    return d > 1 ? d : 1;
}

/* -------------------------------------------------------------------- runs */

static uint64_t carry_of(double x, uint64_t add)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & finite_exponent) + add;
}

/*
 * Copies a derivative of n particles, from particle k on, divided by `factor`, into a column of the store.  Returns
 * nonzero if a value carries with `add` (base/finite.h): then the particles must be judged.
 */
__attribute__((always_inline)) static inline int copy_divided(double *to, const sapporo_column *x, int k, int n,
                                                              double factor, uint64_t add)
{
    uint64_t carries = 0;
    const char *from = sap_column_at(x, k, 3 * sizeof(double));
    const ptrdiff_t stride = x->stride ? x->stride : (ptrdiff_t)(3 * sizeof(double));
    for (int l = 0; l < n; l++, from += stride) {
        double row[3];
        memcpy(row, from, sizeof row);
        for (int axis = 0; axis < 3; axis++) {
            const double value = row[axis] / factor;
            carries |= carry_of(value, add);
            to[axis * LANES + l] = value;
        }
    }
    return carries >> 63 != 0;
}

/* The same; most factors are 1, and divisions take long. */
static int copy_vectors(double *to, const sapporo_column *x, int k, int n, double factor, uint64_t add)
{
    return factor == 1 ? copy_divided(to, x, k, n, 1, add) : copy_divided(to, x, k, n, factor, add);
}

/* Copies masses or times of n particles, from particle k on; returns nonzero if one of them is not finite. */
static int copy_numbers(double *to, const sapporo_column *x, int k, int n)
{
    uint64_t carries = 0;
    if (!x->base) memset(to, 0, (size_t)n * sizeof *to);
    for (int l = 0; l < n && x->base; l++) {
        memcpy(&to[l], sap_column_at(x, k + l, sizeof *to), sizeof *to);
        carries |= carry_of(to[l], if_not_finite);
    }
    return carries >> 63 != 0;
}

/* What derivative d >= 1 of the caller is divided by. */
static double factor_of(const sapporo *c, const struct columns *of, int d)
{
    return of->known || d >= SAP_DERIVATIVES ? 1 : sap_particle_factor(c, d);
}

/* Copies derivative d >= 1 of a run, or zeros if its column is absent; returns nonzero if a particle must be judged. */
static int copy_derivative(const sapporo *c, double *to, int d, int k, int n, const struct columns *of)
{
    const sapporo_column *const from = &of->all->derivative[d];
    if (from->base) return copy_vectors(to, from, k, n, factor_of(c, of, d), if_not_finite);
    for (int axis = 0; axis < 3; axis++) memset(to + (ptrdiff_t)axis * LANES, 0, (size_t)n * sizeof *to);
    return 0;
}

/* Copies the derivatives and times of a run of order 4 and higher. */
static int copy_motion(const sapporo *c, struct sap_segment *s, unsigned in, int k, int n, const struct columns *of)
{
    int strange = copy_numbers(s->time + in, &of->all->time, k, n);
    for (int d = 1; d <= s->terms; d++)
        strange |= copy_derivative(c, s->derivative[d] + sap_jstore_offset(in), d, k, n, of);
    return strange;
}

/* Multiplies n numbers of the store by 2^exponent; nonzero if they do not fit, or if one carries with `add`. */
static int scale_numbers(double *x, int n, int exponent, uint64_t add)
{
    uint64_t carries = 0;
    if (!sap_scales(x, n, exponent)) return 1;
    sap_scale(x, (size_t)n, exponent);
    for (int l = 0; l < n; l++) carries |= carry_of(x[l], add);
    return carries >> 63 != 0;
}

/* Multiplies a run that was copied to the units of the context; nonzero: a particle must be judged. */
static int scale_run(const sapporo *c, struct sap_segment *s, unsigned in, int n)
{
    const struct sap_units *const u = &c->units;
    const size_t at = sap_jstore_offset(in);
    int strange = scale_numbers(s->mass + in, n, u->mass, if_not_finite);
    for (int axis = 0; axis < 3 && !strange; axis++) {
        strange = scale_numbers(s->derivative[0] + at + (size_t)axis * LANES, n, u->length, if_wide);
        double *const v = s->derivative[1] + at + (size_t)axis * LANES;
        if (!strange && c->settings.order > 2)
            strange = sap_context_is_fast(c, v, n, 1) || scale_numbers(v, n, sap_units_derivative(u, 1), if_not_finite);
    }
    return strange;
}

/*
 * Copies n particles whose addresses are in one word of 16 addresses; room must have been made.  Returns nonzero if one
 * of them must be judged.
 */
static int copy_run(const sapporo *c, const struct columns *of, int k, int n)
{
    const sapporo_particles *const all = of->all;
    const int address = of->first + k;
    const unsigned in = (unsigned)address % SAP_SEGMENT;
    struct sap_segment *s = c->host.segment[address / SAP_SEGMENT];
    int strange = copy_vectors(s->derivative[0] + sap_jstore_offset(in), &all->derivative[0], k, n, 1, if_wide);
    strange |= copy_numbers(s->mass + in, &all->mass, k, n);
    for (int l = 0; l < n; l++) {
        s->index[in + (unsigned)l] = address + l;
        if (all->index.base) memcpy(&s->index[in + (unsigned)l], sap_column_at(&all->index, k + l, 4), 4);
    }
    if (c->settings.order > 2) strange |= copy_motion(c, s, in, k, n, of);
    if (!sap_units_are_plain(&c->units)) strange = scale_run(c, s, in, n);
    return strange;
}

/* ------------------------------------------------------------- whole words */

static int has_gaps(const sapporo_column *column, size_t size)
{
    return column->stride != 0 && column->stride != (ptrdiff_t)size;
}

/* Whether whole words of 16 addresses are copied at once (particles_words.h): no column has gaps. */
static int without_gaps(const sapporo_particles *all)
{
    int gaps = has_gaps(&all->mass, sizeof(double)) || has_gaps(&all->time, sizeof(double));
    for (int d = 0; d < SAP_DERIVATIVES_MOST; d++) gaps |= has_gaps(&all->derivative[d], 3 * sizeof(double));
    return !gaps && all->mass.base && !all->index.base;
}

/* The fastest way of this processor to copy words. */
static const struct sap_words *fastest(void)
{
    const struct sap_words *const four = sap_words_of(4);
    return four ? four : sap_words_of(2);
}

/* Copies the derivatives and times of words of order 4 and higher; `in` and k: of the first particle. */
static void copy_motions(const sapporo *c, struct sap_segment *s, unsigned in, int k, int words,
                         const struct columns *of, unsigned char *strange)
{
    const sapporo_column *const time = &of->all->time;
    const size_t n = (size_t)words * LANES;
    if (time->base)
        fastest()->numbers(s->time + in, sap_column_at(time, k, sizeof(double)), words, if_not_finite, strange);
    else
        memset(s->time + in, 0, n * sizeof *s->time);
    for (int d = 1; d <= s->terms; d++) {
        const sapporo_column *const from = &of->all->derivative[d];
        double *const to = s->derivative[d] + sap_jstore_offset(in);
        if (from->base)
            fastest()->vectors(to, sap_column_at(from, k, 3 * sizeof *to), words, factor_of(c, of, d), if_not_finite,
                               strange);
        else
            memset(to, 0, 3 * n * sizeof *to);
    }
}

/* Like copy_run, for words of 16 particles in one segment and without gaps; strange[w] becomes its answer on word w. */
static void copy_words(const sapporo *c, const struct columns *of, int k, int words, unsigned char *strange)
{
    const sapporo_particles *const all = of->all;
    const int address = of->first + k;
    const unsigned in = (unsigned)address % SAP_SEGMENT;
    struct sap_segment *const s = c->host.segment[address / SAP_SEGMENT];
    const char *const x = sap_column_at(&all->derivative[0], k, 3 * sizeof(double));
    memset(strange, 0, (size_t)words);
    fastest()->vectors(s->derivative[0] + sap_jstore_offset(in), x, words, 1, if_wide, strange);
    fastest()->numbers(s->mass + in, sap_column_at(&all->mass, k, sizeof(double)), words, if_not_finite, strange);
    sap_words_indices(s->index + in, address, words);
    if (c->settings.order > 2) copy_motions(c, s, in, k, words, of, strange);
    for (int w = 0; w < words && !sap_units_are_plain(&c->units); w++)
        if (scale_run(c, s, in + (unsigned)(w * LANES), LANES)) strange[w] = 1;
}

/* ------------------------------------------------------------ runs of a call */

/* The most words of 16 addresses that threads copy before the store is told of them. */
enum { WORDS_AT_ONCE = 8192 };

/* Particles that threads copy: from .. to - 1 of a call, in words from number `word` on. */
struct runs {
    const sapporo *c;
    const struct columns *of;
    int from, to, word;
    unsigned char strange[WORDS_AT_ONCE]; /* 1: a particle of the word must be judged */
};

/* The particles *k .. *k + n - 1 of a word; returns n. */
static int run_of(const struct runs *r, int word, int *k)
{
    const int begin = (r->word + word) * LANES - r->of->first, end = begin + LANES;
    *k = begin > r->from ? begin : r->from;
    return (end < r->to ? end : r->to) - *k;
}

/* How many of `words` words from that of particle k on are whole and in one segment. */
static int whole_words(const struct runs *r, int k, int words)
{
    const int whole = (r->to - k) / LANES, left = (SAP_SEGMENT - (r->of->first + k) % SAP_SEGMENT) / LANES;
    const int most = whole < left ? whole : left;
    return words < most ? words : most;
}

static void copy_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    struct runs *const r = argument;
    const int gaps = !without_gaps(r->of->all);
    for (int w = (int)from, words = 1; w < to; w += words) {
        int k;
        const int n = run_of(r, w, &k);
        words = n < LANES || gaps ? 1 : whole_words(r, k, (int)to - w);
        if (n < LANES || gaps)
            r->strange[w] = copy_run(r->c, r->of, k, n) != 0;
        else
            copy_words(r->c, r->of, k, words, r->strange + w);
    }
}

static int threads_for(const sapporo *c, int n)
{
    enum { PER_THREAD = 4096 };
    const int few = sap_threads_few(n / PER_THREAD), most = sap_context_threads(c);
    return most < few ? most : few;
}

/*
 * Stores the particles of some words.  If one of a word must be judged, put_rows stores the word again, particle by
 * particle, with messages.
 */
static int put_words(sapporo *c, struct runs *r, int words)
{
    int status = SAPPORO_OK;
    sap_team_for(threads_for(c, r->to - r->from), words, SAP_CPU_SUPERPACKET / LANES, copy_some, r);
    for (int w = 0, done = 1; w < words; w += done) {
        int k;
        const int n = run_of(r, w, &k), address = r->of->first + k;
        struct sap_segment *const s = c->host.segment[address / SAP_SEGMENT];
        done = n < LANES ? 1 : whole_words(r, k, words - w);
        if (n < LANES)
            sap_jstore_mark_run(&c->host, s, address, n);
        else
            sap_jstore_mark_words(&c->host, s, address, done);
    }
    for (int w = 0; w < words; w++) {
        int k;
        if (!r->strange[w]) continue;
        const int n = run_of(r, w, &k), one = put_rows(c, r->of, k, n);
        if (one) status = one;
    }
    return status;
}

/* Makes room for n particles, tile by tile; returns for how many there is. */
static int reserve_runs(sapporo *c, const struct columns *to, int n)
{
    for (int k = 0, in_tile; k < n; k += in_tile) {
        const int address = to->first + k, left = SAP_CPU_SUPERPACKET - address % SAP_CPU_SUPERPACKET;
        in_tile = n - k < left ? n - k : left;
        if (sap_jstore_reserve(&c->host, address, terms_of(c, to->all, k, in_tile))) return k;
    }
    return n;
}

static int put_runs(sapporo *c, const struct columns *to, int n)
{
    int status = SAPPORO_OK;
    sap_jstore_finish(&c->host);
    const int room = reserve_runs(c, to, n), lost = to->first + room;
    struct runs r; /* never cleared as a whole: most calls need little of `strange` */
    r.c = c;
    r.of = to;
    for (r.from = 0; r.from < room; r.from = r.to) {
        r.word = (to->first + r.from) / LANES;
        const int end = (r.word + WORDS_AT_ONCE) * LANES - to->first;
        r.to = end < room ? end : room;
        const int one = put_words(c, &r, (to->first + r.to - 1) / LANES - r.word + 1);
        if (one) status = one;
    }
    if (room == n) return status;
    sap_context_lose(c, lost, n - room);
    return sap_fail(c, SAPPORO_ERR_MEMORY, "out of memory for the j-particle at address %d", lost);
}

/* --------------------------------------------------------------------- both */

static int put_all(sapporo *c, const struct columns *to, int n)
{
    const int status = sap_context_fetch(c);
    if (status) {
        sap_context_lose(c, to->first, n);
        return status;
    }
    if (!takes_runs(c, n, to->all)) return put_rows(c, to, 0, n);
    if (c->nstaged) sap_context_settle(c);
    return put_runs(c, to, n);
}

int sap_particles_put_known(sapporo *c, int first, int n, const sapporo_particles *all)
{
    const struct columns to = {.all = all, .first = first, .known = 1};
    return put_all(c, &to, n);
}

static int check_particles(sapporo *c, int first, int n, sapporo_particles *all, const sapporo_particles *given)
{
    const int known = given ? sap_struct_copy(all, sizeof *all, given, SAP_PARTICLES_LEAST) : (int)SAPPORO_ERR_ARGUMENT;
    if (known) return sap_struct_error(&c->notes, known, "sapporo_particles", given);
    if (n < 0 || first < 0 || first > SAP_ADDRESSES - n)
        return sap_fail(c, SAPPORO_ERR_ARGUMENT,
                        "sapporo_set_particles: first is %d and n is %d; addresses are 0 to %d", first, n,
                        SAP_ADDRESSES - 1);
    if (!all->derivative[0].base)
        return sap_fail(c, SAPPORO_ERR_ARGUMENT, "sapporo_set_particles: no positions: derivative[0].base is NULL");
    if (!all->mass.base && n > 0)
        sap_warn_once(&c->notes, SAP_WARN_NO_MASS,
                      "sapporo_set_particles: particles without masses (mass.base is NULL) exert no force");
    return SAPPORO_OK;
}

/* Stores particles whose columns are in device memory: there, or by the host. */
static int put_from_device(sapporo *c, int first, int n, sapporo_particles *all)
{
    const struct columns to = {.all = all, .first = first};
    void *block;
    int status = SAPPORO_OK;
    if (sap_caller_put(c, first, n, all, &status)) return status;
    status = sap_caller_read_particles(c, n, all, &block);
    if (!status) status = put_all(c, &to, n);
    free(block);
    return status;
}

int sapporo_set_particles(sapporo *context, int first, int n, const sapporo_particles *particles)
{
    sapporo_particles all = {0};
    struct sap_public_call call;
    sapporo *const c = sap_call_begin(&call, SAP_HANDLE_CONTEXT, context);
    if (!c) return SAPPORO_ERR_CLOSED;
    const struct columns to = {.all = &all, .first = first};
    int device = 0, status = check_particles(c, first, n, &all, particles);
    if (!status) status = sap_caller_check(c, all.memory, "sapporo_set_particles", &device);
    if (!status) status = device ? put_from_device(c, first, n, &all) : put_all(c, &to, n);
    return sap_call_end(&call, status);
}
