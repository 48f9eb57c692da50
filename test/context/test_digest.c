/*
 * test_digest.c - the bits of results are those of the commit before.
 *
 *   test_digest            compares with test/digests.txt
 *   test_digest --write    writes there what this machine computes, on every engine that it has (make digest)
 *
 * A commit that changes bits on purpose changes the file, and says why.  Particles are made by operations that round
 * correctly, so that no mathematical library decides.  Numbers of several ways to ask are one where all of them take
 * the same formulas; a number that differs is printed with its case.
 *
 * Under an emulator (test/aarch64.sh sets SAPPORO_TEST_EMULATED) trees and steppers have the fastest path alone, and
 * trees two cases.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "digest.h"
#include "isa.h"
#include "model.h"
#include "stepper_places.h"
#include "tree_cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether to leave out a path of the CPU, as emulators take long. */
static int is_left_out(const char *isa)
{
    return getenv("SAPPORO_TEST_EMULATED") && isa && strcmp(isa, sap_isa_name(sap_isa_best())) != 0;
}

static const char path[] = "test/digests.txt";
static struct digest_book *book;
static int differing;

/* ---- particles ----------------------------------------------------------------------------------- */

/* Sets a place in a ball that is dense at its centre: a direction by rejection, and the fourth power of a number. */
static void draw_place(rng *random, double x[3])
{
    double square = 0, u = rng_uniform(random);
    do {
        for (int c = 0; c < 3; c++) x[c] = 2 * rng_uniform(random) - 1;
        square = x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
    } while (!(square > 0.01 && square <= 1));
    const double scale = 4 * (u * u) * (u * u) / sqrt(square);
    for (int c = 0; c < 3; c++) x[c] *= scale;
}

static double draw_mass(rng *random, int n)
{
    const double u = rng_uniform(random);
    return (0.1 + u * u * u) / n;
}

/* Bodies at times of their own; every second target is one of them. */
static void draw_problem(struct problem *p, int order)
{
    enum { BODIES = 4700, TARGETS = 200 };
    rng random;
    rng_seed(&random, 1, (uint64_t)order);
    problem_new(p, BODIES, TARGETS);
    p->order = order;
    p->nj = BODIES;
    p->time = order == 2 ? 0 : 0.5;
    for (int k = 0; k < BODIES; k++) {
        struct body *const b = &p->body[k];
        draw_place(&random, b->derivative[0]);
        for (int d = 1; d <= highest_of(order); d++)
            for (int c = 0; c < 3; c++) b->derivative[d][c] = 0.3 * (rng_uniform(&random) - 0.5);
        b->mass = draw_mass(&random, BODIES);
        b->time = order == 2 ? 0 : p->time - 0.125 * rng_uniform(&random);
        b->index = k;
        b->address = k;
        b->eps2 = k % 3 ? 0x1p-14 * (k % 7) : 0;
    }
    for (int i = 0; i < TARGETS; i++) {
        struct target *const t = &p->target[i];
        draw_place(&random, t->x);
        if (i % 2) memcpy(t->x, p->body[23 * i].derivative[0], sizeof t->x);
        for (int c = 0; c < 3; c++) {
            t->v[c] = 0.3 * (rng_uniform(&random) - 0.5);
            t->a[c] = 0.1 * (rng_uniform(&random) - 0.5);
            t->jerk[c] = 0.1 * (rng_uniform(&random) - 0.5);
        }
        t->index = i % 2 ? 23 * i : -1;
        t->h2 = 0x1p-8 * rng_uniform(&random);
        t->eps2 = i % 3 ? 0x1p-14 * (i % 7) : 0;
        t->dtr = 0x1p-6 * rng_uniform(&random);
    }
}

/* The same as columns, with a length of each. */
struct stars {
    int n;
    double x[2000][3], v[2000][3], mass[2000], h[2000];
};

static void draw_stars(struct stars *s, int n, uint64_t seed)
{
    rng random;
    rng_seed(&random, 2, seed);
    memset(s, 0, sizeof *s);
    s->n = n;
    for (int k = 0; k < n; k++) {
        draw_place(&random, s->x[k]);
        for (int c = 0; c < 3; c++) s->v[k][c] = 0.6 * (rng_uniform(&random) - 0.5);
        s->mass[k] = k % 11 == 3 ? 0 : draw_mass(&random, n);
        s->h[k] = 0x1p-6 * (1 + rng_uniform(&random));
    }
}

static void record(const char *name, const char *kind, uint64_t digest)
{
    differing += digest_note(book, name, kind, digest);
}

/* ---- direct sums --------------------------------------------------------------------------------- */

static uint64_t of_answers(const struct answer *a, int n)
{
    uint64_t digest = DIGEST_START;
    for (int i = 0; i < n; i++) {
        digest_doubles(&digest, a[i].acc, 3);
        digest_doubles(&digest, a[i].jerk, 3);
        digest_doubles(&digest, a[i].snap, 3);
        digest_doubles(&digest, a[i].crackle, 3);
        digest_doubles(&digest, &a[i].pot, 1);
        digest_doubles(&digest, &a[i].nearest_r2, 1);
        digest_bytes(&digest, &a[i].nearest, sizeof a[i].nearest);
        digest_bytes(&digest, &a[i].nlist, sizeof a[i].nlist);
        digest_bytes(&digest, a[i].list, (size_t)a[i].nlist * sizeof *a[i].list);
    }
    return digest;
}

/* Ways to soften, and to choose pairs. */
static const struct way {
    const char *name;
    double eps2;
    int soft, outside, orders; /* orders: bits 1 << order */
} ways[] = {{"no softening", 0, 0, 0, 1 << 2 | 1 << 4 | 1 << 6 | 1 << 8},
            {"softening", 0x1p-12, 0, 0, 1 << 2 | 1 << 4 | 1 << 6 | 1 << 8},
            {"softening of particles", 0, SOFT_TARGETS | SOFT_BODIES, 0, 1 << 2},
            {"outside of neighbour spheres", 0, 0, 1, 1 << 4}};

static void sum_on(const struct engine *e, int order)
{
    static const struct ask all = {OUT_NEAREST | OUT_LISTS, OUT_NEAREST | OUT_LISTS, 0}, sums = {0, 0, 0};
    if (!engine_usable(e)) return;
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        const struct way *const way = &ways[w];
        char name[100];
        struct problem p;
        if (!(way->orders & 1 << order) || (way->outside && e->precision == SAPPORO_DP)) continue;
        draw_problem(&p, order);
        p.eps2 = way->eps2;
        p.soft = way->soft;
        p.outside = p.no_index = way->outside;
        sapporo *const c = engine_open(e, 0);
        problem_load(c, &p);
        struct answer *const a = problem_solve(c, &p, way->outside ? &sums : &all);
        snprintf(name, sizeof name, "forces of order %d, %s%s", order, way->name,
                 e->root == SAPPORO_ROOT_FAST ? ", fast roots" : "");
        record(name, sapporo_kind(c), of_answers(a, p.ntargets));
        answers_free(a, p.ntargets);
        sapporo_close(c);
        problem_free(&p);
    }
}

static void forces(void **state)
{
    (void)state;
    for (int k = 0; k < ENGINES; k++) sum_on(&engines[k], 4);
    for (int k = 0; k < ENGINES2; k++) sum_on(&engines2[k], 2);
    for (int k = 0; k < ENGINES68; k++) sum_on(&engines6[k], 6);
    for (int k = 0; k < ENGINES68; k++) sum_on(&engines8[k], 8);
}

/* ---- neighbour forces ---------------------------------------------------------------------------- */

/* Returns the number of 100 lists; their roots are made of correctly rounded operations. */
static uint64_t of_lists(sapporo *c)
{
    enum { LISTS = 100, LENGTH = 90 };
    static int entries[LISTS][LENGTH], address[LISTS], length[LISTS], nearest[LISTS];
    static double acc[LISTS][3], jerk[LISTS][3], pot[LISTS];
    const int *list[LISTS];
    uint64_t digest = DIGEST_START;
    for (int i = 0; i < LISTS; i++) {
        address[i] = 41 * i;
        length[i] = LENGTH - i % 7;
        list[i] = entries[i];
        for (int k = 0; k < LENGTH; k++) entries[i][k] = (i * i + 53 * k) % 4700;
    }
    const sapporo_neighbour_request request = {
        .size = sizeof request, .ni = LISTS, .address = address, .list = list, .length = length};
    const sapporo_result result = {.size = sizeof result, .acc = acc, .jerk = jerk, .pot = pot, .nearest = nearest};
    assert_int_equal(sapporo_neighbour_force(c, &request, &result), SAPPORO_OK);
    digest_doubles(&digest, acc[0], 3 * (size_t)LISTS);
    digest_doubles(&digest, jerk[0], 3 * (size_t)LISTS);
    digest_doubles(&digest, pot, LISTS);
    digest_bytes(&digest, nearest, sizeof nearest);
    return digest;
}

/* All paths with fused operations have the same bits, of any processor, and so have all others. */
static void neighbours(void **state)
{
    (void)state;
    for (int k = 0; k < CPU_ENGINES; k++) {
        const struct engine *const e = &engines[k];
        char kind[40];
        struct problem p;
        if (!engine_usable(e)) continue;
        draw_problem(&p, 4);
        sapporo *const c = engine_open(e, 1);
        problem_load(c, &p);
        snprintf(kind, sizeof kind, "cpu %s %s any",
                 sap_isa_fuses((enum sap_isa)sap_isa_find(e->isa)) ? "fused" : "not-fused",
                 e->precision == SAPPORO_SP   ? "sp"
                 : e->precision == SAPPORO_DS ? "ds"
                                              : "dp");
        record("neighbour forces", kind, of_lists(c));
        sapporo_close(c);
        problem_free(&p);
    }
}

/* ---- trees --------------------------------------------------------------------------------------- */

static struct stars stars;

static void add_rows(uint64_t *digest, sapporo_tree *t, const sapporo_tree_request *r)
{
    static double acc[2000][3], pot[2000];
    if (sapporo_tree_force(t, r, acc, pot)) fail_msg("%s", sapporo_tree_last_error(t));
    digest_doubles(digest, acc[0], 3 * (size_t)r->ni);
    digest_doubles(digest, pot, (size_t)r->ni);
}

/* Rows of all particles twice, of some of them, and of places; before and after a refresh. */
static void add_forces(uint64_t *digest, sapporo_tree *t, int spline)
{
    enum { SOME = 130, PLACES = 70 };
    int active[SOME];
    for (int k = 0; k < SOME; k++) active[k] = 37 * k % stars.n;
    const sapporo_tree_request all = {.size = sizeof all, .ni = stars.n},
                               some = {.size = sizeof some, .ni = SOME, .active = active},
                               places = {.size = sizeof places,
                                         .ni = PLACES,
                                         .x = {stars.v, 0},
                                         .h = {spline ? stars.h : NULL, 0}};
    sapporo_tree_particles moved = {.size = sizeof moved, .n = stars.n, .x = {stars.x, 0}};
    double x[2000][3];
    add_rows(digest, t, &all);
    add_rows(digest, t, &all);
    add_rows(digest, t, &some);
    add_rows(digest, t, &places);
    for (int k = 0; k < stars.n; k++)
        for (int c = 0; c < 3; c++) x[k][c] = stars.x[k][c] + 0x1p-6 * stars.v[k][c];
    moved.x = (sapporo_column){x, 0};
    assert_int_equal(sapporo_tree_set(t, &moved), SAPPORO_OK);
    assert_int_equal(sapporo_tree_refresh(t), SAPPORO_OK);
    add_rows(digest, t, &all);
}

static const char *const softenings[] = {"no softening", "softening", "larger spline", "mean spline"};
static const char *const criteria[] = {"", "opening", "multipole", "acceleration"};

static void tree_on_engine(const struct engine *e, sapporo_tree_mac mac, int softening)
{
    static const sapporo_softening of[] = {SAPPORO_SOFTENING_PLUMMER, SAPPORO_SOFTENING_PLUMMER,
                                           SAPPORO_SOFTENING_SPLINE_LARGER, SAPPORO_SOFTENING_SPLINE_MEAN};
    const int spline = of[softening] != SAPPORO_SOFTENING_PLUMMER;
    uint64_t digest = DIGEST_START;
    char name[100], kind[200] = "";
    for (int order = 1; order <= 2; order++) {
        sapporo_tree_options o = tree_on(e);
        sapporo_tree *t = NULL;
        o.mac = mac;
        o.order = order;
        o.eps2 = softening ? 0x1p-10 : 0;
        o.softening = of[softening];
        o.leaf_size = o.group_size = order == 1 ? 0 : 16;
        o.threads = 0;
        const sapporo_tree_particles p = {.size = sizeof p,
                                          .n = stars.n,
                                          .x = {stars.x, 0},
                                          .mass = {stars.mass, 0},
                                          .h = {spline ? stars.h : NULL, 0}};
        if (sapporo_tree_create(&o, stars.n, &t)) fail_msg("%s", sapporo_last_error(NULL));
        assert_int_equal(sapporo_tree_set(t, &p), SAPPORO_OK);
        assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
        add_forces(&digest, t, spline);
        snprintf(kind, sizeof kind, "%s", sapporo_tree_kind_text(t));
        sapporo_tree_destroy(t);
    }
    snprintf(name, sizeof name, "trees, %s, %s", criteria[mac], softenings[softening]);
    record(name, kind, digest);
}

static void trees(void **state)
{
    (void)state;
    draw_stars(&stars, 2000, 1);
    for (int k = 0; k < ENGINES; k++) {
        const struct engine *const e = &engines[k];
        if (e->precision == SAPPORO_DS || is_left_out(e->isa) || !engine_usable(e)) continue;
        for (int softening = 0; softening < 4; softening++)
            for (int mac = SAPPORO_MAC_OPENING; mac <= SAPPORO_MAC_ACCELERATION; mac++)
                if (!getenv("SAPPORO_TEST_EMULATED") || softening + mac == SAPPORO_MAC_ACCELERATION + 1)
                    tree_on_engine(e, (sapporo_tree_mac)mac, softening);
    }
}

/* ---- steppers ------------------------------------------------------------------------------------ */

/* Schemes and criteria of steps. */
static const struct run {
    const char *name;
    sapporo_step_scheme scheme;
    sapporo_step_criterion criterion;
    int rebuild, fields;
} runs[] = {{"shared steps", SAPPORO_STEPS_SHARED, SAPPORO_STEP_CRITERION_DEFAULT, 3, 0},
            {"block steps by acceleration, fields", SAPPORO_STEPS_BLOCK, SAPPORO_STEP_BY_ACCELERATION, 0, 1},
            {"block steps by change", SAPPORO_STEPS_BLOCK, SAPPORO_STEP_BY_CHANGE, 0, 0}};

static void add_state(uint64_t *digest, sapporo_stepper *s, sapporo_step_when when)
{
    static struct stepper_state state;
    stepper_get(s, when, stars.n, &state);
    digest_doubles(digest, state.x[0], 3 * (size_t)stars.n);
    digest_doubles(digest, state.v[0], 3 * (size_t)stars.n);
    digest_doubles(digest, state.acc[0], 3 * (size_t)stars.n);
    digest_doubles(digest, state.pot, (size_t)stars.n);
    digest_doubles(digest, state.own_time, (size_t)stars.n);
    digest_bytes(digest, state.level, (size_t)stars.n * sizeof *state.level);
}

static void step_on(const struct place *place, const char *isa, const struct run *r)
{
    static const sapporo_field field = {SAPPORO_FIELD_MIYAMOTO_NAGAI, 0.5, 1, 0.25, {0.1, 0, 0}};
    sapporo_tree_options tree = stepper_tree_at(place, 1.0 / 64);
    tree.cpu_isa = isa;
    const sapporo_stepper_options o = {.size = sizeof o,
                                       .method = place->method,
                                       .tree = &tree,
                                       .scheme = r->scheme,
                                       .criterion = r->criterion,
                                       .dt = 1.0 / 16,
                                       .eta = 0.01,
                                       .rebuild = r->rebuild,
                                       .nfields = r->fields,
                                       .fields = r->fields ? &field : NULL};
    uint64_t digest = DIGEST_START;
    char name[100];
    sapporo_stepper *const s = stepper_make(&o, stars.n);
    stepper_put(s, stars.n, stars.x, stars.v, stars.mass, 1);
    for (int k = 0; k < 4; k++) {
        stepper_advance(s, INFINITY, 5);
        add_state(&digest, s, k % 2 ? SAPPORO_STEP_NOW : SAPPORO_STEP_OWN);
    }
    const sapporo_stepper_totals totals = stepper_totals(s);
    digest_doubles(&digest, &totals.time, 1);
    snprintf(name, sizeof name, "steppers, %s, %s", place->method == SAPPORO_STEP_DIRECT ? "direct sums" : "trees",
             r->name);
    record(name, sapporo_stepper_kind_text(s), digest);
    sapporo_stepper_destroy(s);
}

static void steppers(void **state)
{
    (void)state;
    draw_stars(&stars, 700, 2);
    for (int k = 0; k < STEPPER_PLACES; k++) {
        const struct place *const place = &stepper_places[k];
        if (!stepper_place_usable(place)) continue;
        for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
            if (place->backend != SAPPORO_BACKEND_CPU) step_on(place, NULL, &runs[r]);
            for (int e = 0; place->backend == SAPPORO_BACKEND_CPU && e < CPU_ENGINES; e += 3)
                if (!is_left_out(engines[e].isa) && engine_usable(&engines[e + 1]))
                    step_on(place, engines[e].isa, &runs[r]);
        }
    }
}

/* ------------------------------------------------------------------------------------------------- */

static void same_as_before(void **state)
{
    int known = 0, unknown = 0;
    (void)state;
    digest_counts(book, &known, &unknown);
    print_message("# %d numbers compared, %d of kinds that the file does not have\n", known, unknown);
    if (differing) fail_msg("%d of %d numbers are not those of %s: if on purpose, make digest", differing, known, path);
    if (!known) skip();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(forces), cmocka_unit_test(neighbours), TREE_TEST(trees),
                                       cmocka_unit_test(steppers), cmocka_unit_test(same_as_before)};
    const int write = argc > 1 && strcmp(argv[1], "--write") == 0;
    book = digest_read(path);
    int status = cmocka_run_group_tests_name("digest", tests, NULL, NULL);
    if (write) status = digest_write(book, path) ? 1 : 0;
    digest_free(book);
    return status;
}
