/*
 * check_bits.c - tests the promise of reproducibility: the same bits in all ways of asking for a force.
 *
 * A first force is kept.  Then the same force is computed in every way that must not matter, and each result is
 * compared bit by bit.
 */
#include "check.h"
#include "util.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 256 }; /* i-particles of tests in which each has a call of its own, or nearly so */

/* The force to be repeated, and its first result. */
typedef struct original {
    report *to;
    const settings *what;
    const scene *on;
    int n; /* i-particles */
    forces kept;
} original;

/* One way of asking for the force: zero in all members is the way of the original. */
typedef struct variation {
    const client_type *type; /* NULL: native */
    int threads;             /* 0: as the settings say */
    int size;                /* i-particles per call; 0: all in one call */
    int n;                   /* i-particles; 0: all */
    int shuffled;            /* stars are stored one by one in random order, each after a wrong version of itself */
    int repeats;             /* further calls before the compared one */
    unsigned want;           /* wanted results beside the force */
} variation;

/* Returns 1 if the bits of n numbers differ: -0 differs from 0, and a NaN equals itself. */
static int bits_differ(const double *a, const double *b, int n)
{
    for (int k = 0; k < n; k++) {
        uint64_t p, q;
        memcpy(&p, &a[k], sizeof p);
        memcpy(&q, &b[k], sizeof q);
        if (p != q) return 1;
    }
    return 0;
}

/* Returns the number of rows that differ in two forces. */
static int differing(const forces *a, const forces *b, int n, unsigned want)
{
    int rows = 0;
    for (int i = 0; i < n; i++) {
        int differs = bits_differ(a->acc[i], b->acc[i], 3) || bits_differ(a->jerk[i], b->jerk[i], 3) ||
                      bits_differ(&a->pot[i], &b->pot[i], 1);
        if ((want & SAPPORO_WANT_NEAREST) != 0) differs = differs || a->nearest[i] != b->nearest[i];
        rows += differs;
    }
    return rows;
}

/* Stores the stars in random order, each first with a wrong mass and position, which a second call replaces. */
static int load_shuffled(const client_type *type, client *self, const model *cluster)
{
    const int n = cluster->n;
    unsigned long long state = 1;
    model wrong = {n, allocate((size_t)n, sizeof *wrong.particle)};
    int *order = allocate((size_t)n, sizeof *order), status = 0;
    for (int k = 0; k < n; k++) {
        const int other = (int)(model_random(&state) * (k + 1));
        order[k] = order[other];
        order[other] = k;
        wrong.particle[k] = cluster->particle[n - 1 - k];
        wrong.particle[k].mass = 1e3;
    }
    for (int k = 0; k < n && status == 0; k++) status = type->set(self, &wrong, order[k], order[k]);
    for (int k = n - 1; k >= 0 && status == 0; k--) status = type->set(self, cluster, order[k], order[k]);
    free(order);
    model_free(&wrong);
    return status;
}

static int ask(const client_type *type, client *self, const original *first, const variation *way, forces *out)
{
    const scene *on = first->on;
    const batch part = {&on->stars, 0, way->n > 0 ? way->n : first->n, way->size};
    if (type->error(self)[0] != '\0') return -1;
    int status = way->shuffled ? load_shuffled(type, self, &on->cluster) : type->load(self, &on->cluster);
    if (status == 0) status = type->set_time(self, on->time);
    for (int k = 0; k <= way->repeats && status == 0; k++)
        status = type->force(self, on->cluster.n, &part, on->eps2, way->want, out);
    return status;
}

static void try_way(const original *first, const char *test, variation way)
{
    const client_type *type = way.type != NULL ? way.type : &CLIENT_NATIVE;
    settings what = *first->what;
    if (way.threads > 0) what.threads = way.threads;
    if (way.n == 0 || way.n > first->n) way.n = first->n;
    client *self = type->open(&what);
    forces out = forces_new(first->n, first->on->cluster.n);
    if (ask(type, self, first, &way, &out) != 0)
        report_failure(first->to, test, type->error(self));
    else
        report_wrong(first->to, test, differing(&first->kept, &out, way.n, way.want), way.n);
    forces_free(&out);
    type->close(self);
}

static void try_batches(const original *first)
{
    static const int sizes[] = {1, 3, 16, 48, 100};
    for (int k = 0; k < 5; k++) {
        char test[64];
        snprintf(test, sizeof test, "same bits: %d i-particles a call", sizes[k]);
        try_way(first, test, (variation){.size = sizes[k], .n = sizes[k] < 16 ? FEW : 0});
    }
}

static void try_threads(const original *first)
{
    static const int threads[] = {1, 2, 3, 8};
    for (int k = 0; k < 4; k++) {
        char test[64];
        snprintf(test, sizeof test, "same bits: %d threads, all i-particles", threads[k]);
        try_way(first, test, (variation){.threads = threads[k]});
        snprintf(test, sizeof test, "same bits: %d threads, 2 i-particles a call", threads[k]);
        try_way(first, test, (variation){.threads = threads[k], .size = 2, .n = FEW});
    }
}

/* ---- two forces at the same time ------------------------------------------------------- */

static int begin(sapporo *context, const original *first, sapporo_job **job)
{
    const targets *stars = &first->on->stars;
    sapporo_request request = {.size = sizeof request, .nj = first->on->cluster.n, .ni = first->n};
    request.x.base = stars->x;
    request.v.base = stars->v;
    request.index.base = stars->index;
    request.eps2 = first->on->eps2;
    return sapporo_force_begin(context, &request, job);
}

/*
 * Returns the number of rows that differ in two forces begun one after the other, with a star changed and restored in
 * between.
 */
static int overlap(sapporo *context, const original *first, forces out[2])
{
    const sapporo_particle *star = first->on->cluster.particle;
    sapporo_particle moved = star[0];
    sapporo_job *job[2] = {NULL, NULL};
    moved.mass = 1e3;
    int status = begin(context, first, &job[0]);
    if (status == SAPPORO_OK) status = sapporo_set_particle(context, 0, &moved);
    if (status == SAPPORO_OK) status = sapporo_set_particle(context, 0, &star[0]);
    if (status == SAPPORO_OK) status = begin(context, first, &job[1]);
    if (status == SAPPORO_OK) status = sapporo_set_particle(context, 0, &moved);
    int rows = status == SAPPORO_OK ? 0 : -1;
    for (int k = 1; k >= 0 && rows >= 0; k--) {
        const sapporo_result result = {
            .size = sizeof result, .acc = out[k].acc, .jerk = out[k].jerk, .pot = out[k].pot};
        status = sapporo_force_end(job[k], first->n, &result);
        rows = status == SAPPORO_OK ? rows + differing(&first->kept, &out[k], first->n, 0) : -1;
    }
    sapporo_force_free(job[0]);
    sapporo_force_free(job[1]);
    return rows;
}

static void try_overlap(const original *first)
{
    const char *test = "same bits: stars change during two forces";
    forces out[2] = {forces_new(first->n, 0), forces_new(first->n, 0)};
    client *self = CLIENT_NATIVE.open(first->what);
    int rows = -1;
    if (CLIENT_NATIVE.error(self)[0] == '\0' && CLIENT_NATIVE.load(self, &first->on->cluster) == 0 &&
        CLIENT_NATIVE.set_time(self, first->on->time) == 0)
        rows = overlap(client_native_context(self), first, out);
    if (rows < 0)
        report_failure(first->to, test, sapporo_last_error(client_native_context(self)));
    else
        report_wrong(first->to, test, rows, 2 * first->n);
    CLIENT_NATIVE.close(self);
    for (int k = 0; k < 2; k++) forces_free(&out[k]);
}

/* ---- all ---------------------------------------------------------------------------------- */

static void try_all(const original *first, int on_cpu)
{
    const unsigned nearest = SAPPORO_WANT_NEAREST, lists = SAPPORO_WANT_LISTS;
    try_way(first, "same bits: asked again", (variation){.repeats = 2, .want = nearest});
    try_way(first, "same bits: without nearest neighbours", (variation){0});
    try_way(first, "same bits: with neighbour lists", (variation){.want = nearest | lists});
    try_way(first, "same bits: stars sent twice, in random order", (variation){.shuffled = 1});
    try_batches(first);
    if (on_cpu) try_threads(first);
    try_overlap(first);
    if (first->what->order == 4)
        try_way(first, "same bits: GRAPE-6 interface", (variation){.type = &CLIENT_G6, .want = nearest});
}

void check_bits(report *to, const settings *what, const scene *spread)
{
    original first = {to, what, spread, spread->stars.n, forces_new(spread->stars.n, 0)};
    client *self = CLIENT_NATIVE.open(what);
    const variation way = {.want = SAPPORO_WANT_NEAREST};
    if (ask(&CLIENT_NATIVE, self, &first, &way, &first.kept) != 0)
        report_failure(to, "same bits: first force", CLIENT_NATIVE.error(self));
    else
        try_all(&first, sapporo_get_backend(client_native_context(self)) == SAPPORO_BACKEND_CPU);
    CLIENT_NATIVE.close(self);
    forces_free(&first.kept);
}
