/* model.c - see model.h. */
#define _POSIX_C_SOURCE 200809L
#include "model.h"

#if defined(__linux__)
#include <malloc.h>
#endif
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const double pi = 3.14159265358979323846;

/* CMOCKA_TEST_FILTER runs only inner tests whose names match, such as 'list*'. */
__attribute__((constructor)) static void take_filter(void) { cmocka_set_test_filter(getenv("CMOCKA_TEST_FILTER")); }

/* ------------------------------------------------------------------ helpers */

void *zeroed(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);
    if (!p) abort();
    return p;
}

int same_doubles(const double *a, const double *b, int n)
{
    for (int k = 0; k < n; k++) {
        uint64_t x, y;
        memcpy(&x, &a[k], sizeof x);
        memcpy(&y, &b[k], sizeof y);
        if (x != y) return 0;
    }
    return 1;
}

static int observed(void) { return getenv("SAPPORO_TEST_OBSERVED") != NULL; }

long resident_kilobytes(void)
{
    char text[200] = "";
    if (observed()) return 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f) return 0;
    const char *second = fgets(text, sizeof text, f) ? strchr(text, ' ') : NULL;
    fclose(f);
    return second ? strtol(second, NULL, 10) * (sysconf(_SC_PAGESIZE) / 1024) : 0;
}

size_t allocated_bytes(void)
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    const struct mallinfo2 m = mallinfo2();
    return observed() ? 0 : m.uordblks + m.hblkhd;
#else
    return 0;
#endif
}

/* ----------------------------------------------------------------- problems */

void problem_free(struct problem *p)
{
    free(p->body);
    free(p->target);
    memset(p, 0, sizeof *p);
}

void problem_new(struct problem *p, int nbodies, int ntargets)
{
    memset(p, 0, sizeof *p);
    p->nbodies = nbodies;
    p->ntargets = ntargets;
    p->body = zeroed((size_t)nbodies, sizeof *p->body);
    p->target = zeroed((size_t)ntargets, sizeof *p->target);
}

/* Draws a speed in units of the escape speed (Aarseth, Henon & Wielen 1974, A&A 37, 183). */
static double draw_speed(rng *random)
{
    for (;;) {
        const double q = rng_uniform(random), g = 0.1 * rng_uniform(random);
        if (g < q * q * pow(1 - q * q, 3.5)) return q;
    }
}

void model_plummer(struct body *body, int n, uint64_t seed)
{
    const double length = 3 * pi / 16;
    rng random;
    rng_seed(&random, seed, 0);
    for (int k = 0; k < n; k++) {
        struct body *b = &body[k];
        memset(b, 0, sizeof *b);
        const double r = 1 / sqrt(pow(0.999 * rng_uniform(&random), -2.0 / 3) - 1);
        const double escape = sqrt(2.0) * pow(1 + r * r, -0.25);
        rng_direction(&random, r * length, b->derivative[0]);
        rng_direction(&random, draw_speed(&random) * escape / sqrt(length), b->derivative[1]);
        b->mass = 1.0 / n;
        b->address = k;
        b->index = (int)((7919LL * k + 13) % 1000003);
    }
}

static void derivatives_of(struct body *b, int highest)
{
    const double length = 3 * pi / 16;
    double r2 = length * length, rv = 0;
    for (int c = 0; c < 3; c++) {
        r2 += b->derivative[0][c] * b->derivative[0][c];
        rv += b->derivative[0][c] * b->derivative[1][c];
    }
    const double field = 1 / (r2 * sqrt(r2));
    for (int c = 0; c < 3; c++) {
        const double x = b->derivative[0][c], v = b->derivative[1][c];
        if (highest >= 2) b->derivative[2][c] = -field * x;
        if (highest >= 3) b->derivative[3][c] = -field * (v - 3 * rv / r2 * x);
        if (highest >= 4)
            b->derivative[4][c] = field * field * x; /* the leading term alone, as for all higher derivatives */
        for (int k = 5; k <= highest; k++) b->derivative[k][c] = -field * b->derivative[k - 2][c];
    }
}

void model_derivatives(struct body *body, int n, int highest)
{
    for (int k = 0; k < n; k++) derivatives_of(&body[k], highest);
}

void model_targets(struct problem *p, double h2)
{
    for (int i = 0; i < p->ntargets; i++) {
        memcpy(p->target[i].x, p->body[i].derivative[0], sizeof p->target[i].x);
        p->target[i].index = p->body[i].index;
        p->target[i].h2 = h2;
    }
}

void model_times(struct body *body, int n, double middle, double spread, uint64_t seed)
{
    rng random;
    rng_seed(&random, seed, 1);
    for (int k = 0; k < n; k++) body[k].time = middle + spread * (2 * rng_uniform(&random) - 1);
}

static void swap(char *a, char *b, size_t size)
{
    for (size_t k = 0; k < size; k++) {
        const char t = a[k];
        a[k] = b[k];
        b[k] = t;
    }
}

void model_shuffle(void *base, int n, size_t size, uint64_t seed)
{
    char *const first = base;
    rng random;
    rng_seed(&random, seed, 2);
    for (int k = n - 1; k > 0; k--) {
        const size_t other = (size_t)(rng_next(&random) % (uint64_t)(k + 1));
        swap(first + (size_t)k * size, first + other * size, size);
    }
}

/* ------------------------------------------------------------------- forces */

int highest_of(int order) { return order == 6 ? 5 : order == 8 ? TERMS - 1 : 4; }

sapporo_particle particle_of(const struct body *b)
{
    sapporo_particle p = {.mass = b->mass, .time = b->time, .index = b->index};
    memcpy(p.derivative, b->derivative, sizeof p.derivative);
    return p;
}

void problem_load(sapporo *c, const struct problem *p)
{
    for (int k = 0; k < p->nbodies; k++) {
        const struct body *b = &p->body[k];
        sapporo_particle particle = particle_of(b);
        if (p->soft & SOFT_BODIES) particle.eps2 = b->eps2;
        const int status = sapporo_set_particle(c, b->address, &particle);
        if (status) fail_msg("address %d is refused: %s", b->address, sapporo_last_error(c));
    }
    assert_int_equal(sapporo_set_time(c, p->time), SAPPORO_OK);
}

sapporo_request problem_request(const struct problem *p, int from, int n)
{
    static _Thread_local sapporo_regular regular;
    const struct target *t = p->target + from;
    const ptrdiff_t stride = sizeof *t;
    regular = (sapporo_regular){.size = sizeof regular, .h2_by_mass = p->by_mass, .dtr = {&t->dtr, stride}};
    return (sapporo_request){.size = sizeof(sapporo_request),
                             .nj = p->nj,
                             .ni = n,
                             .want = SAPPORO_ALLOW_EMPTY,
                             .x = {t->x, stride},
                             .v = {t->v, stride},
                             .a = {t->a, stride},
                             .jerk = {t->jerk, stride},
                             .index = {p->no_index ? NULL : &t->index, stride},
                             .h2 = {&t->h2, stride},
                             .eps2 = p->eps2,
                             .eps2_i = {p->soft & SOFT_TARGETS ? &t->eps2 : NULL, stride},
                             .pairs = p->outside ? SAPPORO_PAIRS_OUTSIDE : SAPPORO_PAIRS_ALL,
                             .regular = p->outside ? &regular : NULL};
}

void answer_take_list(struct answer *a, sapporo_job *job, int i)
{
    int n = -1, total = -1;
    const int status = sapporo_force_neighbours(job, i, 0, &n, NULL, &total);
    if (status != SAPPORO_OK && status != SAPPORO_TRUNCATED) fail_msg("no list: %s", sapporo_status_text(status));
    assert_int_equal(n, 0);
    a->list = zeroed((size_t)total, sizeof *a->list);
    assert_int_equal(sapporo_force_neighbours(job, i, total, &a->nlist, a->list, NULL), SAPPORO_OK);
    assert_int_equal(a->nlist, total);
}

/* Checks that the call for all lists gives the lists that were read one by one, except truncated ones. */
static void check_all_lists(sapporo_job *job, const struct answer *a, int n)
{
    enum { PITCH = 40, ROOM = 33, MARK = -77 };
    int *const list = zeroed((size_t)n * PITCH, sizeof *list), *const length = zeroed((size_t)n, sizeof *length);
    int longer = 0;
    for (int k = 0; k < n * PITCH; k++) list[k] = MARK;
    const int status = sapporo_force_neighbour_lists(job, n, ROOM, PITCH, list, length);
    for (int i = 0; i < n; i++) {
        const int written = a[i].nlist <= ROOM ? a[i].nlist : 0;
        longer += a[i].nlist > ROOM;
        assert_int_equal(length[i], a[i].nlist);
        if (written) assert_memory_equal(list + i * PITCH, a[i].list, (size_t)written * sizeof *list);
        for (int k = written; k < PITCH; k++) assert_int_equal(list[i * PITCH + k], MARK);
    }
    assert_int_equal(status, longer ? SAPPORO_TRUNCATED : SAPPORO_OK);
    free(list);
    free(length);
}

/* Moves the library's columns of results into rows. */
static void take_batch(sapporo_job *job, const struct problem *p, struct answer *a, int n, unsigned outputs)
{
    double(*acc)[3] = zeroed((size_t)n, sizeof *acc), (*jerk)[3] = zeroed((size_t)n, sizeof *jerk);
    double(*snap)[3] = zeroed((size_t)n, sizeof *snap), (*crackle)[3] = zeroed((size_t)n, sizeof *crackle);
    double *pot = zeroed((size_t)n, sizeof *pot), *r2 = zeroed((size_t)n, sizeof *r2);
    int *nearest = zeroed((size_t)n, sizeof *nearest);
    sapporo_result result = {.size = sizeof result, .acc = acc, .jerk = p->order == 2 ? NULL : jerk, .pot = pot};
    if (p->order >= 6) result.snap = snap;
    if (p->order == 8) result.crackle = crackle;
    if (outputs & OUT_NEAREST) result.nearest = nearest, result.nearest_r2 = r2;
    assert_int_equal(sapporo_force_end(job, n, &result), SAPPORO_OK);
    for (int i = 0; i < n; i++) {
        memcpy(a[i].acc, acc[i], sizeof acc[i]);
        memcpy(a[i].jerk, jerk[i], sizeof jerk[i]);
        memcpy(a[i].snap, snap[i], sizeof snap[i]);
        memcpy(a[i].crackle, crackle[i], sizeof crackle[i]);
        a[i].pot = pot[i];
        a[i].nearest = nearest[i];
        a[i].nearest_r2 = r2[i];
        if (outputs & OUT_LISTS) answer_take_list(&a[i], job, i);
    }
    if (outputs & OUT_LISTS) check_all_lists(job, a, n);
    free(acc);
    free(jerk);
    free(snap);
    free(crackle);
    free(pot);
    free(r2);
    free(nearest);
}

struct answer *problem_solve(sapporo *c, const struct problem *p, const struct ask *how)
{
    const int batch = how->batch > 0 ? how->batch : p->ntargets;
    struct answer *a = zeroed((size_t)p->ntargets, sizeof *a);
    for (int from = 0; from < p->ntargets; from += batch) {
        const int n = p->ntargets - from < batch ? p->ntargets - from : batch;
        sapporo_request request = problem_request(p, from, n);
        sapporo_job *job;
        request.want = how->want;
        const int status = sapporo_force_begin(c, &request, &job);
        if (status) fail_msg("no force: %s", sapporo_last_error(c));
        take_batch(job, p, a + from, n, how->outputs);
        sapporo_force_free(job);
    }
    return a;
}

void answers_free(struct answer *a, int n)
{
    for (int i = 0; i < n; i++) free(a[i].list);
    free(a);
}

static int same_bits(const struct answer *a, const struct answer *b, unsigned outputs)
{
    int same = same_doubles(a->acc, b->acc, 3) && same_doubles(a->jerk, b->jerk, 3) &&
               same_doubles(a->snap, b->snap, 3) && same_doubles(a->crackle, b->crackle, 3) &&
               same_doubles(&a->pot, &b->pot, 1);
    if (outputs & OUT_NEAREST)
        same = same && a->nearest == b->nearest && same_doubles(&a->nearest_r2, &b->nearest_r2, 1);
    if (outputs & OUT_LISTS)
        same = same && a->nlist == b->nlist && !memcmp(a->list, b->list, (size_t)a->nlist * sizeof *a->list);
    return same;
}

void answers_same(const char *what, const struct answer *a, const struct answer *b, int n, unsigned outputs)
{
    for (int i = 0; i < n; i++)
        if (!same_bits(&a[i], &b[i], outputs))
            fail_msg("%s: target %d: acc %a %a %a, jerk %a, pot %a, nearest %d at %a, %d in the list; should be "
                     "%a %a %a, %a, %a, %d at %a, %d",
                     what, i, a[i].acc[0], a[i].acc[1], a[i].acc[2], a[i].jerk[0], a[i].pot, a[i].nearest,
                     a[i].nearest_r2, a[i].nlist, b[i].acc[0], b[i].acc[1], b[i].acc[2], b[i].jerk[0], b[i].pot,
                     b[i].nearest, b[i].nearest_r2, b[i].nlist);
}

/* ------------------------------------------------------------ the same bits */

void standard_problem(struct problem *p, double eps2)
{
    enum { N = STANDARD_N, NI = STANDARD_NI };
    problem_new(p, N, NI);
    p->time = 0.25;
    p->eps2 = eps2;
    model_plummer(p->body, N, 42);
    model_derivatives(p->body, N, 4);
    model_times(p->body, N, 0.25, 0.03, 42);
    for (int k = 0; k < N; k++) p->body[k].address += p->body[k].address / 1000; /* one empty address per thousand */
    p->nj = N;
    for (int i = 0; i < NI; i++) {
        struct target *t = &p->target[i];
        const struct body *b = &p->body[(i * 23) % N];
        memcpy(t->x, b->derivative[0], sizeof t->x);
        memcpy(t->v, b->derivative[1], sizeof t->v);
        memcpy(t->a, b->derivative[2], sizeof t->a);
        memcpy(t->jerk, b->derivative[3], sizeof t->jerk);
        t->index = b->index;
        t->h2 = i % 3 ? 0.01 * (i % 7) : 0;
    }
}

struct answer *solve_with(const struct engine *e, int threads, const struct problem *p, const struct ask *how)
{
    return solve_and_close(engine_open(e, threads), p, how);
}

struct answer *solve_and_close(sapporo *c, const struct problem *p, const struct ask *how)
{
    problem_load(c, p);
    struct answer *a = problem_solve(c, p, how);
    sapporo_close(c);
    return a;
}

void expect(const char *what, const struct engine *e, const struct problem *p, struct answer *a,
            const struct answer *standard, unsigned outputs)
{
    char name[80];
    snprintf(name, sizeof name, "%s, %s", e->name, what);
    answers_same(name, a, standard, p->ntargets, outputs);
    answers_free(a, p->ntargets);
}

/* Sets a softening per particle: 0 for some. */
static void soften(struct problem *p, int soft)
{
    p->soft = soft;
    for (int k = 0; k < p->nbodies; k++) p->body[k].eps2 = k % 3 ? 0x1p-14 * (k % 7) : 0;
    for (int i = 0; i < p->ntargets; i++) p->target[i].eps2 = i % 3 ? 0x1p-14 * (i % 7) : 0;
}

static void on_engines(const struct engine *all, int n, engine_test *test)
{
    const struct ask everything = {OUT_NEAREST | OUT_LISTS, OUT_NEAREST | OUT_LISTS, 0};
    int ran = 0;
    for (int k = 0; k < 3 * n; k++) {
        const struct engine *e = &all[k / 3];
        /* softening: 0: none, 1: common, 2: of each particle; order 2 has that of each particle as 0, and no 2 */
        const int variant = k % 3;
        struct problem p;
        if (!engine_usable(e) || (e->order == 2 && variant == 2)) continue;
        standard_problem(&p, variant == 1 ? 1.0 / 4096 : 0);
        p.order = e->order;
        if (e->order > 4) model_derivatives(p.body, p.nbodies, highest_of(e->order));
        if (variant == (e->order == 2 ? 0 : 2)) soften(&p, SOFT_TARGETS | SOFT_BODIES);
        struct answer *standard = solve_with(e, 1, &p, &everything);
        test(e, &p, standard);
        answers_free(standard, p.ntargets);
        problem_free(&p);
        ran++;
    }
    if (!ran) skip();
}

void on_all_engines(engine_test *test) { on_engines(engines, ENGINES, test); }

void on_all_engines_of(int order, engine_test *test)
{
    if (order == 2)
        on_engines(engines2, ENGINES2, test);
    else
        on_engines(order == 6 ? engines6 : engines8, ENGINES68, test);
}
