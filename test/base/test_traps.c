/*
 * test_traps.c - numbers of all kinds in every argument of every call, while floating-point exceptions raise SIGFPE: a
 * client sets traps for its own arithmetic, so no call of the library may raise one.
 */
#define _GNU_SOURCE
#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "compat/sapporo_g6_fortran.h"
#include "g5_forms.h"
#include "runs.h"
#include "sapporo.h"

#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__SSE2__))

enum { N = 40, NI = 5, ODD = 17 };

static double odd[ODD] = {0,      -0.0,   1,      INFINITY, -INFINITY, NAN, 1e308, -1e308, 1e200,
                          1e-200, 1e-308, 1e-310, 4.9e-324, 0x1p60,    -1,  1e39,  1e-46};

static vec3 x[N], v[N], a2[N], j6[N], k18[N];
static double mass[N], eps2[N], h2[N];
static vec3 acc[N], jerk[N], snap[N], crackle[N];
static double pot[N], r2[N];
static float rnnb[N];
static int nearest[N], list[N * N], number[N];

/* ------------------------------------------------------------------- traps */

static const char *place = "";

static void sprung(int number_of_signal)
{
    static const char what[] = "# a trap was sprung: ";
    (void)number_of_signal;
    if (write(STDOUT_FILENO, what, sizeof what - 1) < 0 || write(STDOUT_FILENO, place, strlen(place)) < 0 ||
        write(STDOUT_FILENO, "\n", 1) < 0)
        _exit(2);
    _exit(1);
}

/* cmocka has a handler of its own, which does not know the place. */
static void set_traps(void)
{
    const struct sigaction action = {.sa_handler = sprung};
    (void)sigaction(SIGFPE, &action, NULL);
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW | FE_UNDERFLOW);
}

static void unset_traps(void)
{
    fedisableexcept(FE_ALL_EXCEPT);
    feclearexcept(FE_ALL_EXCEPT);
}

static int start(void **state)
{
    const uint64_t signalling = UINT64_C(0x7FF4000000000001);
    (void)state;
    memcpy(&odd[0], &signalling, sizeof signalling);
    setenv("SAPPORO_BACKEND", "cpu", 1);
    return 0;
}

/* The number that a place gets: copied, since a move of a signalling NaN by way of the x87 would change it. */
static void put(void *to, int k) { memcpy(to, &odd[k], sizeof odd[k]); }

static void make_stars(void)
{
    for (int k = 0; k < N; k++) {
        number[k] = k;
        mass[k] = 1;
        eps2[k] = h2[k] = 0.25;
        for (int c = 0; c < 3; c++) {
            x[k][c] = (k * (c + 3) % 17) * 0.25;
            v[k][c] = a2[k][c] = j6[k][c] = k18[k][c] = 0.125 * c;
        }
    }
}

/* ---------------------------------------------------------------- GRAPE-6 */

static void force_g6(double eps)
{
    int n;
    place = "g6calc_firsthalf, g6calc_lasthalf2p";
    g6calc_firsthalf(0, N, NI, number, x, v, acc, jerk, pot, eps, h2);
    (void)g6calc_lasthalf2p(0, N, NI, number, x, v, eps, h2, acc, jerk, pot, nearest, rnnb);
    place = "g6_read_neighbour_list, g6_get_neighbour_list";
    (void)g6_read_neighbour_list(0);
    (void)g6_get_neighbour_list(0, 1, N, &n, list);
    place = "get_j_part_data";
    get_j_part_data(3, N, snap[0], snap[1], snap[2], snap[3], snap[4], snap[5], &pot[0], &pot[1], &n);
}

static void g6_calls(void **state)
{
    (void)state;
    set_traps();
    (void)g6_open(0);
    for (int k = 0; k < ODD; k++)
        for (int where = 0; where < 12; where++) {
            double tj = 0, dtj = 0, ti = 0, eps = 0.25;
            make_stars();
            double *const places[] = {x[1],   v[1],     a2[3], j6[3], k18[3], &mass[3],
                                      &h2[1], &x[3][1], &tj,   &dtj,  &ti,    &eps};
            put(places[where], k);
            place = "g6_set_ti";
            (void)g6_set_ti(0, ti);
            place = "g6_set_j_particle";
            for (int n = 0; n < N; n++)
                (void)g6_set_j_particle(0, n * 7 % N, n, tj, dtj, mass[n], k18[n], j6[n], a2[n], v[n], x[n]);
            place = "g6_set_j_particle_mxonly";
            (void)g6_set_j_particle_mxonly(0, 5, 5, mass[3], x[3]);
            force_g6(eps);
        }
    (void)g6_close(0);
    unset_traps();
}

/* ---------------------------------------------------------------- GRAPE-5 */

static void force_g5(int id)
{
    place = "g5_set_xi, g5_set_eps, g5_set_eps2, g5_run, g5_get_force";
    (void)g5->set_xi(id, NI, x);
    (void)g5->run(id);
    (void)g5->get_force(id, NI, acc, pot);
    (void)g5->set_eps(id, NI, eps2);
    (void)g5->run(id);
    (void)g5->get_force(id, NI, acc, pot);
    (void)g5->set_eps2(id, NI, eps2);
    (void)g5->set_xepsi(id, NI, x, eps2);
    (void)g5->set_ip(id, NI, x, eps2, h2);
    (void)g5->run(id);
    (void)g5->get_force(id, NI, acc, pot);
    place = "g5_set_xi0, g5_run0";
    (void)g5->set_xi0(id, NI, x, eps2);
    (void)g5->run0(id);
    (void)g5->get_force(id, NI, acc, pot);
    place = "g5_calculate_force_on_x";
    (void)g5->calculate(id, x, acc, pot, NI);
    (void)g5->calculate0(id, x, acc, pot, NI, eps2);
}

static void g5_numbers(int id)
{
    for (int k = 0; k < ODD; k++)
        for (int where = 0; where < 9; where++) {
            double eps = 0.25, square = 0.25, low = 0, high = 1, least = 0.5;
            make_stars();
            double *const places[] = {x[1], &mass[3], &eps2[1], &eps, &square, &low, &high, &least, &x[3][2]};
            put(places[where], k);
            place = "g5_set_range, g5_get_range";
            (void)g5->set_range(id, low, high, least);
            (void)g5->get_range(id, &low, &high, &least);
            place = "g5_set_eps2_to_all";
            (void)g5->eps2_to_all(square);
            place = "g5_set_eps_to_all";
            if (where != 4) (void)g5->eps_to_all(eps);
            place = "g5_set_xmj, g5_set_jp, g5_set_xj, g5_set_mj, g5_set_xmj0";
            (void)g5->set_n(id, N);
            (void)g5->set_xmj(id, 0, N, x, mass);
            (void)g5->set_jp(id, 0, N, mass, x);
            (void)g5->set_mj(id, 0, N, mass);
            (void)g5->set_xj(id, 0, N, x);
            (void)g5->set_xmj0(id, 0, N, x, mass, eps2);
            force_g5(id);
        }
}

static void g5_calls(void **state)
{
    (void)state;
    set_traps();
    g5_numbers(g5_new_device());
    unset_traps();
    g6_errors(), g6_warnings();
}

static void g5_calls_by_a_tree(void **state)
{
    (void)state;
    const int id = g5_new_device();
    setenv("SAPPORO_METHOD", "tree", 1);
    setenv("SAPPORO_TREE_ACCURACY", "0.1", 1);
    set_traps();
    (void)g5->open(id);
    g5_numbers(id);
    unset_traps();
    unsetenv("SAPPORO_METHOD");
    unsetenv("SAPPORO_TREE_ACCURACY");
    g6_errors(), g6_warnings();
}

/* ----------------------------------------------------------------- native */

static void store_native(sapporo *c, double time)
{
    const sapporo_particles all = {.size = sizeof all, .derivative = {{x, 0}, {v, 0}, {a2, 0}}, .mass = {mass, 0}};
    sapporo_particle p = {.mass = mass[3], .index = 3}, got;
    place = "sapporo_set_particles";
    (void)sapporo_set_particles(c, 0, N, &all);
    place = "sapporo_set_particle";
    memcpy(p.derivative[0], x[3], sizeof x[3]);
    memcpy(p.derivative[2], a2[3], sizeof a2[3]);
    memcpy(p.derivative[3], j6[3], sizeof j6[3]);
    memcpy(&p.time, &time, sizeof time);
    (void)sapporo_set_particle(c, 3, &p);
    place = "sapporo_get_particle";
    (void)sapporo_get_particle(c, 3, 1, &got);
}

static void force_native(sapporo *c, int order, double eps, double own)
{
    const sapporo_request request = {.size = sizeof request,
                                     .nj = N,
                                     .ni = NI,
                                     .x = {x, 0},
                                     .v = {v, 0},
                                     .index = {number, 0},
                                     .h2 = {h2, 0},
                                     .eps2 = eps,
                                     .eps2_i = {order == 2 ? &own : NULL, sizeof own}};
    const sapporo_result result = {.size = sizeof result,
                                   .acc = acc,
                                   .jerk = order > 2 ? jerk : NULL,
                                   .pot = pot,
                                   .nearest = nearest,
                                   .nearest_r2 = r2,
                                   .snap = order > 4 ? snap : NULL,
                                   .crackle = order > 6 ? crackle : NULL};
    sapporo_request one = request;
    sapporo_job *job;
    int n;
    if (order == 2) one.ni = 1; /* as there is one softening */
    place = "sapporo_force_begin";
    if (sapporo_force_begin(c, &one, &job) < 0) return;
    place = "sapporo_force_end";
    (void)sapporo_force_done(job);
    (void)sapporo_force_end(job, one.ni, &result);
    place = "sapporo_force_neighbours, sapporo_force_neighbour_lists";
    (void)sapporo_force_neighbours(job, 0, N, &n, list, NULL);
    (void)sapporo_force_neighbour_lists(job, one.ni, N, N, list, nearest);
    sapporo_force_free(job);
}

static void other_forces(sapporo *c, int order, double eps, double dtr)
{
    const int length[NI] = {N, N, N, N, N}, *const members[NI] = {number, number, number, number, number};
    const sapporo_neighbour_request request = {
        .size = sizeof request, .ni = NI, .address = number, .list = members, .length = length, .eps2 = eps};
    const sapporo_small_force one = {
        .size = sizeof one, .ni = NI, .nj = N, .x = {x, 0}, .address = number, .eps2 = eps};
    const sapporo_small_force own = {
        .size = sizeof own, .ni = NI, .nj = N, .x = {x, 0}, .x_j = {x, 0}, .mass_j = {mass, 0}, .eps2_j = {eps2, 0}};
    const sapporo_result all = {.size = sizeof all, .acc = acc, .jerk = jerk, .pot = pot, .nearest = nearest};
    const sapporo_result some = {.size = sizeof some, .acc = acc, .pot = pot};
    const sapporo_regular sphere = {.size = sizeof sphere, .dtr = {&dtr, sizeof dtr}};
    const sapporo_request outside = {.size = sizeof outside,
                                     .nj = N,
                                     .ni = 1,
                                     .x = {x, 0},
                                     .v = {v, 0},
                                     .h2 = {h2, 0},
                                     .pairs = SAPPORO_PAIRS_OUTSIDE,
                                     .regular = &sphere};
    const sapporo_result plain = {.size = sizeof plain, .acc = acc, .jerk = jerk, .pot = pot};
    sapporo_job *job;
    place = "sapporo_neighbour_force";
    (void)sapporo_neighbour_force(c, &request, &all);
    place = "sapporo_force_batch";
    (void)sapporo_force_batch(c, 1, &one, &some);
    (void)sapporo_force_batch(c, 1, &own, &some);
    place = "a force with SAPPORO_PAIRS_OUTSIDE";
    if (order != 4 || sapporo_force_begin(c, &outside, &job) < 0) return;
    (void)sapporo_force_end(job, 1, &plain);
    sapporo_force_free(job);
}

static void native_calls(void **state)
{
    const int order = *(const int *)*state;
    for (int precision = SAPPORO_SP; precision <= SAPPORO_DP; precision++) {
        const sapporo_options options = {
            .size = sizeof options, .order = order, .precision = (sapporo_precision)precision, .threads = 1};
        sapporo *c;
        set_traps();
        place = "sapporo_open";
        const int status = sapporo_open(&options, &c);
        unset_traps();
        if (status < 0) continue;
        set_traps();
        for (int k = 0; k < ODD; k++)
            for (int where = 0; where < 11; where++) {
                double time = 0, ti = 0, eps = 0.25, own = 0.25, dtr = 0;
                make_stars();
                double *const places[] = {x[1], v[1], a2[3], j6[3], &mass[3], &h2[0], &time, &ti, &eps, &own, &dtr};
                put(places[where], k);
                place = "sapporo_set_time";
                (void)sapporo_set_time(c, ti);
                store_native(c, time);
                force_native(c, order, eps, own);
                other_forces(c, order, eps, dtr);
            }
        place = "sapporo_close";
        sapporo_close(c);
        unset_traps();
    }
}

int main(void)
{
    static int orders[] = {2, 4, 6, 8};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(g6_calls),
        G5_BOTH(g5_calls),
        G5_BOTH(g5_calls_by_a_tree),
        {"native, order 2", native_calls, NULL, NULL, &orders[0]},
        {"native, order 4", native_calls, NULL, NULL, &orders[1]},
        {"native, order 6", native_calls, NULL, NULL, &orders[2]},
        {"native, order 8", native_calls, NULL, NULL, &orders[3]},
    };
    return cmocka_run_group_tests_name("traps", tests, start, NULL);
}

#else

SKIPPED_MAIN("traps", "traps are set by way of glibc, on x86")

#endif
