/*
 * calls.h - what the calls of a sequence read and write: targets, handles, outputs.
 *
 * The fuzzer and the programs that it prints share this header, so that both make the same calls.  Exactly one file of
 * a program defines CALLS_DEFINE before it includes the header.
 */
#ifndef FUZZ_CALLS_H
#define FUZZ_CALLS_H

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sapporo.h"
#include "sapporo_experiments.h"
#include "sapporo_g5.h"
#include "sapporo_g6.h"

typedef double vec3[3];

enum {
    CALL_ROWS = 2304,    /* targets of a force, at most */
    CALL_LIST = 1 << 16, /* entries of all lists of a force, at most */
    CALL_BATCHES = 4,    /* arrays of targets, which GRAPE-6 tells apart by their addresses */
    CALL_GUARD = 8,      /* elements behind each output, which no call may write to */
    CALL_HANDLES = 4,    /* contexts, trees */
    CALL_JOBS = 6        /* forces of the native interface under way */
};

/* Targets as the caller keeps them. */
struct batch {
    int index[CALL_ROWS];
    vec3 x[CALL_ROWS], v[CALL_ROWS], a[CALL_ROWS], jerk[CALL_ROWS];
    double h2[CALL_ROWS], eps2[CALL_ROWS], dtr[CALL_ROWS];
};

/* What calls write.  Every element holds a poison before each call. */
struct outputs {
    vec3 acc[CALL_ROWS], jerk[CALL_ROWS], snap[CALL_ROWS], crackle[CALL_ROWS];
    double pot[CALL_ROWS], r2[CALL_ROWS];
    float distance[CALL_ROWS];
    int nearest[CALL_ROWS], n[CALL_ROWS], code[CALL_ROWS], total[CALL_ROWS], list[CALL_LIST + CALL_GUARD];
    long long first[CALL_ROWS];
    int rows, entries; /* so many are poisoned */
};

extern struct batch batch[CALL_BATCHES];
extern struct outputs out;
extern int rc;

#define CALL_POISON     (-0x1.7b3d5f9a4c2e8p-200)
#define CALL_POISON_F   (-0x1.7b3d5ep-60F)
#define CALL_POISON_INT 0x5A17C0DE

/* Fills the first `rows` rows of the outputs, `entries` entries of lists, and the guards behind them. */
static inline void poison(int rows, int entries)
{
    out.rows = rows + CALL_GUARD < CALL_ROWS ? rows + CALL_GUARD : CALL_ROWS;
    out.entries = entries + CALL_GUARD < CALL_LIST + CALL_GUARD ? entries + CALL_GUARD : CALL_LIST + CALL_GUARD;
    for (int i = 0; i < out.rows; i++) {
        for (int c = 0; c < 3; c++) out.acc[i][c] = out.jerk[i][c] = out.snap[i][c] = out.crackle[i][c] = CALL_POISON;
        out.pot[i] = out.r2[i] = CALL_POISON;
        out.distance[i] = CALL_POISON_F;
        out.nearest[i] = out.n[i] = out.code[i] = out.total[i] = CALL_POISON_INT;
        out.first[i] = CALL_POISON_INT;
    }
    for (int k = 0; k < out.entries; k++) out.list[k] = CALL_POISON_INT;
    rc = CALL_POISON_INT;
}

static inline void copy_column(void *to, const void *from, int n, size_t size)
{
    if (from && n > 0) memcpy(to, from, (size_t)n * size);
}

/* Writes n targets to a batch; NULL leaves what is there. */
static inline int fill(int b, int n, const int *index, double (*x)[3], double (*v)[3], const double *h2)
{
    copy_column(batch[b].index, index, n, sizeof *index);
    copy_column(batch[b].x, x, n, sizeof *x);
    copy_column(batch[b].v, v, n, sizeof *v);
    copy_column(batch[b].h2, h2, n, sizeof *h2);
    return 0;
}

/* What only some interfaces have. */
static inline int fill_more(int b, int n, double (*a)[3], double (*jerk)[3], const double *eps2, const double *dtr)
{
    copy_column(batch[b].a, a, n, sizeof *a);
    copy_column(batch[b].jerk, jerk, n, sizeof *jerk);
    copy_column(batch[b].eps2, eps2, n, sizeof *eps2);
    copy_column(batch[b].dtr, dtr, n, sizeof *dtr);
    return 0;
}

/* ---- GRAPE-6 ---- */

/* Stores n particles one by one; out.code[k] is what the call of particle k returned. */
static inline int g6_load(int id, int n, const int *address, const int *index, const double *tj, const double *mass,
                          double (*k18)[3], double (*j6)[3], double (*a2)[3], double (*v)[3], double (*x)[3])
{
    for (int k = 0; k < n; k++)
        out.code[k] = g6_set_j_particle(id, address[k], index[k], tj[k], 0.125, mass[k], k18 ? k18[k] : NULL,
                                        j6 ? j6[k] : NULL, a2 ? a2[k] : NULL, v ? v[k] : NULL, x[k]);
    return 0;
}

/* All lists of the force delivered last: out.code[i], out.n[i], entries from out.list[i * pitch] on. */
static inline int g6_lists(int id, int ni, int room, int pitch)
{
    const int read = g6_read_neighbour_list(id);
    for (int i = 0; i < ni; i++)
        out.code[i] = g6_get_neighbour_list(id, i, room, &out.n[i], out.list + (ptrdiff_t)i * pitch);
    return read;
}

/* ---- GRAPE-5 ---- */

/* The i-particles of a batch. */
static inline int g5_pipes(int id, int n, int b) { return g5_set_xiMC(id, n, batch[b].x); }

/* ---- the native interface ---- */

extern sapporo *context[CALL_HANDLES];
extern sapporo_job *job[CALL_JOBS];

static inline int native_open(int h, int order, int precision, int threads)
{
    const sapporo_options options = {
        .size = sizeof options, .order = order, .precision = (sapporo_precision)precision, .threads = threads};
    return sapporo_open(&options, &context[h]);
}

/* Closes a context; the handle is forgotten, or kept so that later calls get a closed one. */
static inline int native_close(int h, int keep)
{
    sapporo_close(context[h]);
    if (!keep) context[h] = NULL;
    return 0;
}

/* derivative: x, v, ... to the seventh derivative of x, three numbers each. */
static inline int native_set(int h, int address, int index, double mass, double time, double eps2,
                             const double *derivative)
{
    sapporo_particle p = {.mass = mass, .time = time, .index = index, .eps2 = eps2};
    memcpy(p.derivative, derivative, sizeof p.derivative);
    return sapporo_set_particle(context[h], address, &p);
}

static inline int native_load(int h, int first, int n, double (*x)[3], double (*v)[3], double (*a)[3],
                              double (*jerk)[3], double (*snap)[3], const double *mass, const double *time,
                              const int *index, const double *eps2)
{
    const sapporo_particles all = {.size = sizeof all,
                                   .derivative = {{x, 0}, {v, 0}, {a, 0}, {jerk, 0}, {snap, 0}},
                                   .mass = {mass, 0},
                                   .time = {time, 0},
                                   .index = {index, 0},
                                   .eps2 = {eps2, 0}};
    return sapporo_set_particles(context[h], first, n, &all);
}

/* Derivative k goes to out.acc[k]; mass, time and eps2 to out.pot; the index to out.nearest[0]. */
static inline int native_get(int h, int address, int predicted)
{
    sapporo_particle p;
    memset(&p, 0, sizeof p);
    const int status = sapporo_get_particle(context[h], address, predicted, &p);
    memcpy(out.acc, p.derivative, sizeof p.derivative);
    out.pot[0] = p.mass, out.pot[1] = p.time, out.pot[2] = p.eps2;
    out.nearest[0] = p.index;
    return status;
}

/* Bits of `given`: which columns of the batch the request has. */
enum {
    GIVEN_X = 1,
    GIVEN_V = 2,
    GIVEN_A = 4,
    GIVEN_JERK = 8,
    GIVEN_INDEX = 16,
    GIVEN_H2 = 32,
    GIVEN_EPS2 = 64,
    GIVEN_DTR = 128
};

/* Rows from, from + 1, ... of a batch. */
static inline sapporo_request native_request(int nj, int ni, int b, int from, int given, int want, int pairs,
                                             double eps2)
{
#define COLUMN(bit, array)                                                                                             \
    {                                                                                                                  \
        given &(bit) ? (array) + from : NULL, 0                                                                        \
    }
    static sapporo_regular regular;
    regular =
        (sapporo_regular){.size = sizeof regular, .h2_by_mass = pairs >> 1 & 1, .dtr = COLUMN(GIVEN_DTR, batch[b].dtr)};
    return (sapporo_request){.size = sizeof(sapporo_request),
                             .nj = nj,
                             .ni = ni,
                             .x = COLUMN(GIVEN_X, batch[b].x),
                             .v = COLUMN(GIVEN_V, batch[b].v),
                             .a = COLUMN(GIVEN_A, batch[b].a),
                             .jerk = COLUMN(GIVEN_JERK, batch[b].jerk),
                             .index = COLUMN(GIVEN_INDEX, batch[b].index),
                             .h2 = COLUMN(GIVEN_H2, batch[b].h2),
                             .eps2 = eps2,
                             .want = (unsigned)want | SAPPORO_ALLOW_EMPTY,
                             .eps2_i = COLUMN(GIVEN_EPS2, batch[b].eps2),
                             .pairs = (sapporo_pairs)(pairs & 1),
                             .softening = (sapporo_softening)(pairs >> 2),
                             .regular = pairs & 3 || given & GIVEN_DTR ? &regular : NULL};
#undef COLUMN
}

static inline int native_begin(int at, int h, int nj, int ni, int b, int given, int want, int pairs, double eps2)
{
    const sapporo_request request = native_request(nj, ni, b, 0, given, want, pairs, eps2);
    return sapporo_force_begin(context[h], &request, &job[at]);
}

/* Bits of `wanted`: which outputs the result has, as in check.h. */
enum { OUT_ACC = 1, OUT_JERK = 2, OUT_POT = 4, OUT_SNAP = 8, OUT_CRACKLE = 16, OUT_NEAREST = 32, OUT_R2 = 64 };

static inline sapporo_result native_result(int wanted)
{
    return (sapporo_result){.size = sizeof(sapporo_result),
                            .acc = wanted & OUT_ACC ? out.acc : NULL,
                            .jerk = wanted & OUT_JERK ? out.jerk : NULL,
                            .pot = wanted & OUT_POT ? out.pot : NULL,
                            .nearest = wanted & OUT_NEAREST ? out.nearest : NULL,
                            .nearest_r2 = wanted & OUT_R2 ? out.r2 : NULL,
                            .snap = wanted & OUT_SNAP ? out.snap : NULL,
                            .crackle = wanted & OUT_CRACKLE ? out.crackle : NULL};
}

static inline int native_end(int at, int ni, int wanted)
{
    const sapporo_result result = native_result(wanted);
    return sapporo_force_end(job[at], ni, &result);
}

/* The outputs from row `from` on. */
static inline sapporo_result native_result_from(int wanted, int from)
{
    return (sapporo_result){.size = sizeof(sapporo_result),
                            .acc = wanted & OUT_ACC ? out.acc + from : NULL,
                            .jerk = wanted & OUT_JERK ? out.jerk + from : NULL,
                            .pot = wanted & OUT_POT ? out.pot + from : NULL,
                            .nearest = wanted & OUT_NEAREST ? out.nearest + from : NULL,
                            .nearest_r2 = wanted & OUT_R2 ? out.r2 + from : NULL,
                            .snap = wanted & OUT_SNAP ? out.snap + from : NULL,
                            .crackle = wanted & OUT_CRACKLE ? out.crackle + from : NULL};
}

/* A force in parts of `part` rows; the first status that is an error, else the largest. */
static inline int native_parts(int h, int nj, int ni, int b, int given, int want, int pairs, double eps2, int wanted,
                               int part)
{
    int status = SAPPORO_OK;
    for (int from = 0; from < ni && status >= 0; from += part) {
        const int n = ni - from < part ? ni - from : part;
        const sapporo_request request = native_request(nj, n, b, from, given, want, pairs, eps2);
        const sapporo_result result = native_result_from(wanted, from);
        sapporo_job *own = NULL;
        int one = sapporo_force_begin(context[h], &request, &own);
        if (one == SAPPORO_OK) one = sapporo_force_end(own, n, &result);
        sapporo_force_free(own);
        if (one < 0 || one > status) status = one;
    }
    return status;
}

/* 1 if n doubles have the same bits; all NaN are alike. */
static inline int same_bits(const double *a, const double *b, int n)
{
    for (int k = 0; k < n; k++)
        if (memcmp(&a[k], &b[k], sizeof *a) != 0 && !(isnan(a[k]) && isnan(b[k]))) return 0;
    return 1;
}

/* A force at once and then in parts: the first row whose bits differ, -1 if none does, -2 - status after an error. */
static inline int native_twice(int h, int nj, int ni, int b, int given, int want, int pairs, double eps2, int wanted,
                               int part)
{
    static struct outputs whole;
    int status = native_parts(h, nj, ni, b, given, want, pairs, eps2, wanted, ni > 0 ? ni : 1);
    whole = out;
    if (status >= 0) status = native_parts(h, nj, ni, b, given, 0, pairs, eps2, wanted, part > 0 ? part : 1);
    for (int i = 0; i < ni && status >= 0; i++)
        if (!same_bits(out.acc[i], whole.acc[i], 3) || !same_bits(out.jerk[i], whole.jerk[i], 3) ||
            !same_bits(out.snap[i], whole.snap[i], 3) || !same_bits(out.crackle[i], whole.crackle[i], 3) ||
            !same_bits(&out.pot[i], &whole.pot[i], 1) || !same_bits(&out.r2[i], &whole.r2[i], 1) ||
            out.nearest[i] != whole.nearest[i])
            return i;
    return status >= 0 ? -1 : -2 + status;
}

static inline int native_free(int at)
{
    sapporo_force_free(job[at]);
    job[at] = NULL;
    return 0;
}

enum { CALL_MEMBERS = 24 }; /* entries of a row of lists */

/* Forces from the caller's lists, CALL_MEMBERS places each. */
static inline int native_neighbour_force(int h, int ni, int wanted, double eps2, const int *address, const int *length,
                                         int (*members)[CALL_MEMBERS])
{
    static const int *list[CALL_ROWS];
    for (int i = 0; i < ni && i < CALL_ROWS && members; i++) list[i] = members[i];
    const sapporo_neighbour_request request = {.size = sizeof request,
                                               .ni = ni,
                                               .address = address,
                                               .list = members ? list : NULL,
                                               .length = length,
                                               .eps2 = eps2};
    const sapporo_result result = native_result(wanted);
    return sapporo_neighbour_force(context[h], &request, &result);
}

enum { BATCH_BEGUN = 1 << 16 }; /* in `wanted`: begun and ended apart */

/*
 * Many small forces: list k has ni[k] targets of batch `b`, one list after the other, and nj[k] sources: of batch `bj`
 * (positions, h2 as masses, eps2), or, where by_address[k], the addresses members[k].
 */
static inline int native_batch_force(int h, int nlists, int b, int bj, int wanted, double eps2, const int *ni,
                                     const int *nj, const int *by_address, int (*members)[CALL_MEMBERS])
{
    static sapporo_small_force list[64];
    static sapporo_result result[64];
    int i = 0, j = 0;
    for (int k = 0; k < nlists && k < 64; k++) {
        list[k] = (sapporo_small_force){
            .size = sizeof list[k], .ni = ni[k], .nj = nj[k], .x = {batch[b].x + i, 0}, .eps2 = eps2};
        list[k].eps2_i = (sapporo_column){batch[b].eps2 + i, 0};
        if (by_address[k]) {
            list[k].address = members[k];
        } else {
            list[k].x_j = (sapporo_column){batch[bj].x + j, 0};
            list[k].mass_j = (sapporo_column){batch[bj].h2 + j, 0};
            list[k].eps2_j = (sapporo_column){batch[bj].eps2 + j, 0};
            j += nj[k] > 0 ? nj[k] : 0;
        }
        result[k] = (sapporo_result){.size = sizeof result[k],
                                     .acc = wanted & OUT_ACC ? out.acc + i : NULL,
                                     .jerk = wanted & OUT_JERK ? out.jerk + i : NULL,
                                     .pot = wanted & OUT_POT ? out.pot + i : NULL,
                                     .nearest = wanted & OUT_NEAREST ? out.nearest + i : NULL,
                                     .nearest_r2 = wanted & OUT_R2 ? out.r2 + i : NULL,
                                     .snap = wanted & OUT_SNAP ? out.snap + i : NULL,
                                     .crackle = wanted & OUT_CRACKLE ? out.crackle + i : NULL};
        i += ni[k] > 0 ? ni[k] : 0;
    }
    if (!(wanted & BATCH_BEGUN)) return sapporo_force_batch(context[h], nlists, list, result);
    sapporo_batch *begun;
    const int status = sapporo_force_batch_begin(context[h], nlists, list, &begun);
    const int ended = sapporo_force_batch_end(begun, nlists, ni, result);
    sapporo_force_batch_free(begun);
    return status < 0 ? status : ended;
}

/* ---- several threads on one context ---- */

/* What one of several threads computes: rows `from` to `to` - 1 of a force on a batch. */
struct share {
    pthread_t thread;
    int handle, nj, b, given, want, wanted, from, to, status, by_g6;
    double eps2;
};

static inline void share_native(struct share *s)
{
    const int given = s->given, b = s->b, from = s->from;
    const sapporo_request request = {.size = sizeof request,
                                     .nj = s->nj,
                                     .ni = s->to - from,
                                     .x = {batch[b].x + from, 0},
                                     .v = {batch[b].v + from, 0},
                                     .index = {given & GIVEN_INDEX ? batch[b].index + from : NULL, 0},
                                     .h2 = {given & GIVEN_H2 ? batch[b].h2 + from : NULL, 0},
                                     .eps2 = s->eps2,
                                     .want = (unsigned)s->want | SAPPORO_ALLOW_EMPTY};
    const sapporo_result result = {.size = sizeof result,
                                   .acc = s->wanted & OUT_ACC ? out.acc + from : NULL,
                                   .jerk = s->wanted & OUT_JERK ? out.jerk + from : NULL,
                                   .pot = s->wanted & OUT_POT ? out.pot + from : NULL,
                                   .nearest = s->wanted & OUT_NEAREST ? out.nearest + from : NULL,
                                   .nearest_r2 = s->wanted & OUT_R2 ? out.r2 + from : NULL};
    sapporo_job *own = NULL;
    s->status = sapporo_force_begin(context[s->handle], &request, &own);
    if (s->status == SAPPORO_OK) s->status = sapporo_force_end(own, s->to - from, &result);
    sapporo_force_free(own);
}

static inline void share_g6(struct share *s)
{
    struct batch *const b = &batch[s->b];
    const int from = s->from, ni = s->to - from;
    g6calc_firsthalf(s->handle, s->nj, ni, b->index + from, b->x + from, b->v + from, NULL, NULL, NULL, s->eps2,
                     b->h2 + from);
    s->status = g6calc_lasthalf2(s->handle, s->nj, ni, b->index + from, b->x + from, b->v + from, s->eps2, b->h2 + from,
                                 out.acc + from, out.jerk + from, out.pot + from, out.nearest + from);
}

static inline void *share_start(void *share)
{
    struct share *const s = (struct share *)share;
    if (s->by_g6)
        share_g6(s);
    else
        share_native(s);
    return NULL;
}

/* Four threads, each with a quarter of ni rows; out.code[k] is what the calls of thread k returned. */
static inline int share_force(int by_g6, int h, int nj, int ni, int b, int given, int want, int wanted, double eps2)
{
    enum { THREADS = 4 };
    struct share share[THREADS];
    int started[THREADS];
    for (int k = 0; k < THREADS; k++) {
        share[k] = (struct share){.handle = h, .nj = nj, .b = b, .given = given, .want = want, .wanted = wanted};
        share[k].eps2 = eps2;
        share[k].by_g6 = by_g6;
        share[k].from = ni * k / THREADS;
        share[k].to = ni * (k + 1) / THREADS;
        started[k] = pthread_create(&share[k].thread, NULL, share_start, &share[k]) == 0;
        if (!started[k]) (void)share_start(&share[k]);
    }
    for (int k = 0; k < THREADS; k++) {
        if (started[k]) (void)pthread_join(share[k].thread, NULL);
        out.code[k] = share[k].status;
    }
    return 0;
}

/* ---- trees ---- */

extern sapporo_tree *tree[CALL_HANDLES];

static inline int tree_create(int h, int n, int kind, int mac, int order, int leaf, int group, int precision, int walk,
                              int softening, double accuracy, double eps2, double error, double period)
{
    const sapporo_tree_options options = {.size = sizeof options,
                                          .kind = (sapporo_tree_kind)kind,
                                          .mac = (sapporo_tree_mac)mac,
                                          .accuracy = accuracy,
                                          .order = order,
                                          .eps2 = eps2,
                                          .leaf_size = leaf,
                                          .group_size = group,
                                          .precision = (sapporo_precision)precision,
                                          .experiments = SAPPORO_EXPERIMENTS(0, walk, 0),
                                          .softening = (sapporo_softening)softening,
                                          .error = error,
                                          .period = period};
    return sapporo_tree_create(&options, n, &tree[h]);
}

static inline int tree_destroy(int h)
{
    sapporo_tree_destroy(tree[h]);
    tree[h] = NULL;
    return 0;
}

static inline int tree_set(int h, int n, double (*x)[3], const double *mass, const double *a, const double *length)
{
    const sapporo_tree_particles p = {
        .size = sizeof p, .n = n, .x = {x, 0}, .mass = {mass, 0}, .a = {a, 0}, .h = {length, 0}};
    return sapporo_tree_set(tree[h], &p);
}

/* out.code[0]: whether the tree was built. */
static inline int tree_renew(int h, double factor) { return sapporo_tree_refresh_or_build(tree[h], factor, out.code); }

/* Targets are particles active[], or, with `places`, those of batch `b`. */
static inline int tree_force(int h, int ni, int places, int b, int wanted, const int *active)
{
    const sapporo_tree_request request = {
        .size = sizeof request, .ni = ni, .active = active, .x = {places ? batch[b].x : NULL, 0}};
    return sapporo_tree_force(tree[h], &request, wanted & OUT_ACC ? out.acc : NULL, wanted & OUT_POT ? out.pot : NULL);
}

/* Radii are the batch's h2. */
static inline int tree_neighbours(int h, int ni, int b, int room)
{
    const sapporo_column x = {batch[b].x, 0}, radius = {batch[b].h2, 0};
    return sapporo_tree_neighbours(tree[h], ni, x, radius, out.first, room, out.list);
}

/* Targets as of tree_force; radii are h2 of batch `b`. */
static inline int tree_within(int h, int ni, int places, int b, int room, const int *active)
{
    const sapporo_tree_request request = {
        .size = sizeof request, .ni = ni, .active = active, .x = {places ? batch[b].x : NULL, 0}};
    return sapporo_tree_within(tree[h], &request, (sapporo_column){batch[b].h2, 0}, out.first, room, out.list);
}

/* Targets as of tree_force; the tensor of row i is out.acc[2 i] and the row behind it. */
static inline int tree_tidal(int h, int ni, int places, int b, const int *active)
{
    const sapporo_tree_request request = {
        .size = sizeof request, .ni = ni, .active = active, .x = {places ? batch[b].x : NULL, 0}};
    return sapporo_tree_tidal(tree[h], &request, (double(*)[6])(void *)out.acc);
}

/* Targets as of tree_force; squared distances go to out.r2, which has room for no more than CALL_ROWS. */
static inline int tree_nearest(int h, int ni, int places, int b, int k, const int *active)
{
    const sapporo_tree_request request = {
        .size = sizeof request, .ni = ni, .active = active, .x = {places ? batch[b].x : NULL, 0}};
    return sapporo_tree_nearest(tree[h], &request, k, out.list, out.r2);
}

/* A pointer, or NULL where a bit of `missing` is set. */
#define UNLESS(bit, missing, pointer) ((missing) >> (bit)&1 ? NULL : (pointer))

/* ---- NBODY6 (calls_nbody6.h) ---- */

/* The libraries: that of Aarseth's NBODY6, that of NBODY6++GPU, and that of NBODY7, which has the calls of the first,
 * and that of NBODY6 until 2010, whose forces have no dtr. */
enum { NB_NBODY6, NB_PP, NB_NBODY7, NB_2010, NB_LIBRARIES };

/* Kinds of neighbour radii, as SAPPORO_NBODY6_RADII names them; NB_USUAL: the variable is not set. */
enum { NB_PLAIN, NB_MASS, NB_USUAL };

#ifdef CALLS_DEFINE
struct batch batch[CALL_BATCHES];
struct outputs out;
int rc;
sapporo *context[CALL_HANDLES];
sapporo_job *job[CALL_JOBS];
sapporo_tree *tree[CALL_HANDLES];
#endif

#endif
