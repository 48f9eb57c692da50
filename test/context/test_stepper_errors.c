/*
 * test_stepper_errors.c - what steppers hold after a call that failed, on every engine: no particles after a set whose
 * forces failed, NaN in every output of a get, the first of several bad particles in the message; files whose checksum
 * is right, but not their numbers.
 */
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

#include "base/saving.h"
#include "context/stepper_part.h"
#include "runs.h"
#include "stepper_places.h"
#include "tree_cases.h"

enum { N = 40 };

/* N particles at rest, one of them massless. */
static double x[N][3], v[N][3], mass[N];

static void make_particles(void)
{
    for (int i = 0; i < N; i++) {
        for (int c = 0; c < 3; c++) x[i][c] = sin(1 + 2.7 * i + c * (1.3 + i)), v[i][c] = 0;
        mass[i] = i == 7 ? 0 : 1 + 0.25 * i;
    }
}

static sapporo_stepper_options options_at(const struct place *p, const sapporo_tree_options *tree, double dt)
{
    return (sapporo_stepper_options){
        .size = sizeof(sapporo_stepper_options), .method = p->method, .tree = tree, .dt = dt, .rebuild = 2};
}

static sapporo_stepper *stepper_with(const sapporo_stepper_options *o)
{
    sapporo_stepper *s = stepper_make(o, N);
    make_particles();
    stepper_put(s, N, x, v, mass, 0.5);
    return s;
}

static char path[64];

static const char *own_path(void)
{
    (void)snprintf(path, sizeof path, "/tmp/sapporo-step-errors-%ld", (long)getpid());
    return path;
}

/* ---- outputs ------------------------------------------------------------------------------------ */

static void set_outputs(struct stepper_state *to) { memset(to, 0x11, sizeof *to); }

/* All n rows of all outputs are NaN, or -1. */
static void check_erased(const char *name, const struct stepper_state *s, int n)
{
    for (int i = 0; i < n; i++) {
        int good =
            isnan(s->pot[i]) && isnan(s->mass[i]) && isnan(s->own_time[i]) && s->label[i] == -1 && s->level[i] == -1;
        for (int c = 0; c < 3; c++) good = good && isnan(s->x[i][c]) && isnan(s->v[i][c]) && isnan(s->acc[i][c]);
        if (!good) fail_msg("%s: row %d is not erased", name, i);
    }
}

/* A get that fails erases every output, whatever is wrong; a right one writes every output. */
static void failed_get_at(const struct place *p)
{
    static struct stepper_state s, good;
    const sapporo_tree_options tree = stepper_tree_at(p, 0.05);
    const sapporo_stepper_options o = options_at(p, &tree, 1.0 / 8);
    sapporo_stepper *stepper = stepper_with(&o);
    stepper_advance(stepper, INFINITY, 3);
    const double now = sapporo_stepper_get_time(stepper);
    const double wrong[] = {now - o.dt / 2, nextafter(now, 0), now + 1.01 * o.dt, NAN, INFINITY, -INFINITY};
    sapporo_stepper_output out = {.size = sizeof out,
                                  .n = N,
                                  .when = SAPPORO_STEP_AT_TIME,
                                  .x = s.x,
                                  .v = s.v,
                                  .acc = s.acc,
                                  .pot = s.pot,
                                  .mass = s.mass,
                                  .own_time = s.own_time,
                                  .level = s.level,
                                  .label = s.label};
    for (int k = 0; k < 9; k++) {
        const sapporo_stepper_output right = out;
        if (k < 6) out.time = wrong[k];
        if (k == 6) out.n = N - 1;
        if (k == 7) out.when = (sapporo_step_when)(SAPPORO_STEP_AT_TIME + 1);
        if (k == 8) out.memory = (sapporo_memory)7, out.when = SAPPORO_STEP_NOW;
        set_outputs(&s);
        assert_int_equal(sapporo_stepper_get(stepper, &out), SAPPORO_ERR_ARGUMENT);
        check_erased(p->name, &s, out.n);
        out = right;
    }
    stepper_get(stepper, SAPPORO_STEP_NOW, N, &good);
    out.time = now;
    set_outputs(&s);
    assert_int_equal(sapporo_stepper_get(stepper, &out), SAPPORO_OK);
    for (int i = 0; i < N; i++)
        assert_true(memcmp(s.x[i], good.x[i], sizeof s.x[i]) == 0 && s.own_time[i] == now && s.label[i] == i &&
                    s.level[i] == 0 && s.mass[i] == mass[i] && s.pot[i] == good.pot[i] && s.pot[i] < 0);
    sapporo_stepper_destroy(stepper);
    set_outputs(&s);
    assert_int_equal(sapporo_stepper_get(stepper, &out), SAPPORO_ERR_CLOSED);
    check_erased(p->name, &s, N);
}

RUNS(failed_get, stepper_everywhere(failed_get_at, 0))

/* ---- set ------------------------------------------------------------------------------------------- */

/* No call gives anything of a stepper without particles. */
static void check_empty(const struct place *p, sapporo_stepper *stepper)
{
    static struct stepper_state s;
    sapporo_stepper_output out = {.size = sizeof out, .n = N, .x = s.x};
    sapporo_stepper_totals t = {.size = sizeof t};
    const sapporo_stepper_statistics f = stepper_figures(stepper);
    assert_true(f.n == 0 && f.massive == 0 && f.active == 0 && f.steps == 0 &&
                isnan(sapporo_stepper_get_time(stepper)));
    assert_int_equal(sapporo_stepper_get(stepper, &out), SAPPORO_ERR_ARGUMENT);
    assert_true(isnan(s.x[0][0]) && isnan(s.x[N - 1][2]));
    assert_int_equal(sapporo_stepper_energy(stepper, &t), SAPPORO_ERR_ARGUMENT);
    assert_true(isnan(t.kinetic) && isnan(t.potential) && isnan(t.field) && isnan(t.time) && isnan(t.moment[2]) &&
                isnan(t.momentum[0]) && isnan(t.angular_momentum[1]));
    assert_int_equal(sapporo_stepper_advance(stepper, 9, 0), SAPPORO_ERR_ARGUMENT);
    if (!strstr(sapporo_stepper_last_error(stepper), "no particles"))
        fail_msg("%s: %s", p->name, sapporo_stepper_last_error(stepper));
    assert_int_equal(sapporo_stepper_save(stepper, own_path()), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(access(path, F_OK), -1);
}

/* Particles whose forces are beyond the range of numbers: none are left, and the next set is as one of a new stepper.
 */
static void failed_set_at(const struct place *p)
{
    static struct stepper_state a, b;
    const sapporo_tree_options tree = stepper_tree_at(p, 0);
    const sapporo_stepper_options o = options_at(p, &tree, 1.0 / 8);
    sapporo_stepper *one = stepper_with(&o), *other = stepper_with(&o);
    stepper_advance(one, INFINITY, 2);
    const sapporo_stepper_particles given = {
        .size = sizeof given, .n = N, .x = {x, 0}, .v = {v, 0}, .mass = {mass, 0}, .time = 3};
    for (int c = 0; c < 3; c++) x[2][c] = x[3][c] * (1 + 0x1p-50); /* 1e300 / 1e-30 */
    mass[2] = mass[3] = 1e300;
    assert_true(sapporo_stepper_set(one, &given) < 0);
    const char *const when = strstr(sapporo_stepper_last_error(one), "those of time ");
    if (when && strcmp(when, "those of time 3") != 0) fail_msg("%s: %s", p->name, sapporo_stepper_last_error(one));
    check_empty(p, one);
    make_particles();
    stepper_put(one, N, x, v, mass, 0.5);
    stepper_advance(one, INFINITY, 3);
    stepper_advance(other, INFINITY, 3);
    stepper_get(one, SAPPORO_STEP_OWN, N, &a);
    stepper_get(other, SAPPORO_STEP_OWN, N, &b);
    assert_memory_equal(&a, &b, sizeof a);
    sapporo_stepper_destroy(one);
    sapporo_stepper_destroy(other);
}

RUNS(failed_set, stepper_everywhere(failed_set_at, 0))

/* ---- bad particles ------------------------------------------------------------------------------------ */

/*
 * Velocities that leave the range of numbers at the end of a step, while positions and forces are finite: particles at
 * the centre of a softened mass, where no force acts, move away, and a force acts on them for 1e12.  Of several, that
 * of the lowest address is told, wherever they are in the order of forces: particles with mass come before massless
 * ones. All particles stay.
 */
static void first_bad_at(const struct place *p)
{
    static const int order[][2] = {{0, 2}, {2, 0}, {0, 3}, {3, 0}, {2, 3}, {3, 2}}; /* star, light particle */
    const sapporo_tree_options tree = stepper_tree_at(p, 1);
    const sapporo_stepper_options o = options_at(p, &tree, 1e12);
    for (int k = 0; k < 6; k++) {
        const int star = order[k][0], light = order[k][1], first = star == 0 ? 1 : 0;
        double at[4][3] = {{0}}, speed[4][3] = {{0}}, m[4] = {0}, found[4][3];
        char told[32];
        (void)snprintf(told, sizeof told, "velocity of particle %d ", first);
        for (int i = 0; i < 4; i++) speed[i][i % 3] = i == star ? 0 : 1e-12;
        m[star] = 5e297; /* accumulators hold 2^993 */
        m[light] = 1;
        sapporo_stepper *s = stepper_make(&o, 4);
        stepper_put(s, 4, at, speed, m, 0);
        assert_int_equal(sapporo_stepper_advance(s, INFINITY, 1), SAPPORO_ERR_NOT_FINITE);
        if (!strstr(sapporo_stepper_last_error(s), told))
            fail_msg("%s, star %d, light %d: %s", p->name, star, light, sapporo_stepper_last_error(s));
        const sapporo_stepper_output out = {.size = sizeof out, .n = 4, .v = found};
        assert_int_equal(sapporo_stepper_get(s, &out), SAPPORO_OK);
        assert_memory_equal(found, speed, sizeof found);
        assert_true(sapporo_stepper_get_time(s) == 0);
        sapporo_stepper_destroy(s);
    }
}

RUNS(first_bad, stepper_everywhere(first_bad_at, 0))

/* ---- files ------------------------------------------------------------------------------------------------ */

/* The head of a file (context/stepper_file.c). */
struct head {
    char magic[8];
    uint32_t order, version;
    uint64_t bytes;
    int64_t n;
    struct sap_stepper_signature signature;
    struct sap_stepper_clock clock;
};

static char file[1 << 20];

static size_t read_file(void)
{
    FILE *from = fopen(own_path(), "rb");
    assert_non_null(from);
    const size_t n = fread(file, 1, sizeof file, from);
    assert_int_equal(fclose(from), 0);
    assert_true(n > sizeof(struct head) && n < sizeof file);
    return n;
}

/* Writes n bytes, of which the last are the checksum of the others. */
static void write_sealed(size_t n)
{
    const uint64_t sum = sap_check_add(SAP_CHECK_START, file, n - sizeof sum);
    FILE *to = fopen(own_path(), "wb");
    memcpy(file + n - sizeof sum, &sum, sizeof sum);
    assert_true(to && fwrite(file, 1, n, to) == n && fclose(to) == 0);
}

/* What is wrong in a head: the word that the error has. */
static const char *spoil_head(struct head *h, int k)
{
    switch (k) {
    case 0:
        return h->clock.tick = -1, "time";
    case 1:
        return h->clock.tick = SAP_STEP_TICKS, "time";
    case 2:
        return h->n = 0, "particles";
    case 3:
        return h->n = N + 1, "particles";
    case 4:
        return h->n = -1, "particles";
    case 5:
        return h->n = INT64_C(1) << 32 | N, "particles";
    case 6:
        return h->n = N - 1, "size";
    case 7:
        return h->bytes += 8, "incomplete";
    case 8:
        return h->version += 2, "version"; /* the next one has lengths */
    case 9:
        return h->order = 0x04030201, "byte order";
    case 10:
        return h->magic[0]++, "no file of a stepper";
    case 11:
        return h->signature.dt *= 2, "options";
    default:
        return h->signature.fields.n++, "options";
    }
}

/* A stepper whose file was refused is what it was. */
static void check_refused(sapporo_stepper *s, const char *word, const struct stepper_state *before)
{
    static struct stepper_state after;
    assert_int_equal(sapporo_stepper_restore(s, path), SAPPORO_ERR_ARGUMENT);
    if (!strstr(sapporo_stepper_last_error(s), word)) fail_msg("%s, not \"%s\"", sapporo_stepper_last_error(s), word);
    stepper_get(s, SAPPORO_STEP_OWN, N, &after);
    assert_memory_equal(before, &after, sizeof after);
}

/* Masses and positions whose tree fails: no particles are left. */
static void beyond_a_tree(sapporo_stepper *s, size_t n)
{
    enum { MASS_AT = sizeof(struct head) + N * 10 * sizeof(double), BUILT_AT = MASS_AT + N * sizeof(double) };
    static char kept[sizeof file];
    const double large_mass = 1e200, far = 1e99;
    memcpy(kept, file, n);
    memcpy(file + MASS_AT, &large_mass, sizeof large_mass);
    memcpy(file + BUILT_AT, &far, sizeof far);
    write_sealed(n);
    assert_true(sapporo_stepper_restore(s, path) < 0);
    if (!strstr(sapporo_stepper_last_error(s), "range")) fail_msg("%s", sapporo_stepper_last_error(s));
    assert_int_equal(unlink(path), 0);
    check_empty(&stepper_places[0], s);
    memcpy(file, kept, n);
}

/* Files whose checksum is right and whose numbers are not are refused, and change nothing. */
static void sealed_files(void **state)
{
    static struct stepper_state before;
    const sapporo_tree_options tree = stepper_tree_at(&stepper_places[0], 0.05);
    const sapporo_stepper_options o = options_at(&stepper_places[0], &tree, 1.0 / 8);
    (void)state;
    if (!stepper_place_usable(&stepper_places[0])) skip();
    sapporo_stepper *s = stepper_with(&o);
    assert_int_equal(sapporo_stepper_save(s, own_path()), SAPPORO_OK);
    const size_t n = read_file(), levels = n - sizeof(uint64_t) - N * (sizeof(long long) + sizeof(int));
    stepper_advance(s, INFINITY, 3);
    stepper_get(s, SAPPORO_STEP_OWN, N, &before);
    struct head head;
    memcpy(&head, file, sizeof head);
    for (int k = 0; k < 13; k++) {
        struct head wrong = head;
        const char *const word = spoil_head(&wrong, k);
        memcpy(file, &wrong, sizeof wrong);
        write_sealed(n);
        check_refused(s, word, &before);
    }
    memcpy(file, &head, sizeof head);
    for (int k = 0; k < 4; k++) {
        const int wrong[] = {-1, 1, SAP_STEP_LEVELS, INT32_MAX}, good = 0; /* shared steps have level 0 */
        memcpy(file + levels + (size_t)(k * 13) * sizeof good, &wrong[k], sizeof good);
        write_sealed(n);
        check_refused(s, "levels", &before);
        memcpy(file + levels + (size_t)(k * 13) * sizeof good, &good, sizeof good);
    }
    write_sealed(n - 8);
    check_refused(s, "incomplete", &before);
    beyond_a_tree(s, n);
    memcpy(file, &head, sizeof head);
    write_sealed(n);
    assert_int_equal(sapporo_stepper_restore(s, path), SAPPORO_OK);
    assert_true(sapporo_stepper_get_time(s) == 0.5);
    assert_int_equal(unlink(path), 0);
    sapporo_stepper_destroy(s);
}

/*
 * A tree that is refreshed is built for the middle of its life.  Where a particle would be beyond all numbers by then,
 * it is built for the present, and its best time is the present; the file of the stepper has that time.
 */
static void build_of_the_present(void **state)
{
    enum { FEW = 4 };
    const sapporo_tree_options tree = stepper_tree_at(&stepper_places[0], 0.05);
    const sapporo_stepper_options o = options_at(&stepper_places[0], &tree, 1);
    (void)state;
    if (!stepper_place_usable(&stepper_places[0])) skip();
    for (int far = 0; far < 2; far++) {
        double at[FEW][3] = {{-1e12, 0, 0}, {1e12, 0, 0}, {0, 1e12, 0}, {0, 0, 0}}, speed[FEW][3] = {{0}};
        double m[FEW] = {1, 1, 1, 0};
        struct head head;
        speed[3][0] = far ? 0.45e100 : 0.3e100; /* the build at 2 is for 2.5 */
        sapporo_stepper *s = stepper_make(&o, FEW);
        stepper_put(s, FEW, at, speed, m, 0);
        stepper_advance(s, INFINITY, 2);
        assert_int_equal(stepper_figures(s).builds, 2);
        assert_int_equal(sapporo_stepper_save(s, own_path()), SAPPORO_OK);
        (void)read_file();
        memcpy(&head, file, sizeof head);
        assert_true(head.clock.life.lead == (far ? 0 : SAP_STEP_TICKS / 2));
        sapporo_stepper_destroy(s);
    }
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(failed_get), cmocka_unit_test(failed_set),
                                       cmocka_unit_test(first_bad), cmocka_unit_test(sealed_files),
                                       cmocka_unit_test(build_of_the_present)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
