/* stepper.c - a session of sapporo_stepper.h: steps over a tree and over direct sums, outputs, a file. */
#define _POSIX_C_SOURCE 200809L
#include "client.h"
#include "sapporo.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { N = CLIENT_N, ROWS = 100, STEPS = 2, TRIES = 3 };

static const double eps2 = 0.01, dt = 0.015625;
static double h[N]; /* softening lengths, with which eps2 is that of all pairs */
static double x[N][3], v[N][3], acc[N][3], jerk[N][3], pot[N], got_x[N][3], got_v[N][3];

/* Every tenth particle is massless: steppers keep such particles out of their trees. */
static void make_massless(void)
{
    for (int i = 3; i < N; i += 10) client_m[i] = 0;
}

/* What positions may differ by from a leap-frog with sums over all pairs, in units of the largest. */
static const double of_orbits = 5e-3;

/* Computes the orbits by direct sums. */
static void compute(void)
{
    static int skip[N];
    const unsigned long long key = client_key(client_key(7, client_x, sizeof client_x), client_v, sizeof client_v);
    for (int i = 0; i < N; i++) skip[i] = i;
    if (client_recall(key, x, sizeof x) && client_recall(key + 1, v, sizeof v)) return;
    memcpy(x, client_x, sizeof x);
    memcpy(v, client_v, sizeof v);
    for (int step = 0; step <= STEPS; step++) {
        double before[N][3];
        memcpy(before, client_x, sizeof before);
        memcpy(client_x, x, sizeof x);
        for (int i = 0; i < N; i += ROWS)
            client_direct(N, ROWS, CLIENT_READ(x + i), CLIENT_READ(v + i), skip + i, eps2, acc + i, jerk + i, pot + i,
                          NULL);
        memcpy(client_x, before, sizeof before);
        for (int i = 0; i < N; i++)
            for (int c = 0; c < 3; c++) {
                v[i][c] += acc[i][c] * dt * (step == 0 || step == STEPS ? 0.5 : 1);
                if (step < STEPS) x[i][c] += v[i][c] * dt;
            }
    }
    client_keep(key, x, sizeof x);
    client_keep(key + 1, v, sizeof v);
}

static int set(sapporo_stepper *s, int has_lengths)
{
    const sapporo_stepper_particles p = {.size = sizeof p,
                                         .n = N,
                                         .x = {client_x, 0},
                                         .v = {client_v, 0},
                                         .mass = {client_m, 0},
                                         .h = {has_lengths ? h : NULL, 0}};
    for (int i = 0; i < N; i++) h[i] = sqrt(eps2 / 4);
    int status = -1;
    for (int k = 0; k < TRIES && status < 0; k++)
        status = client_told("sapporo_stepper_set", sapporo_stepper_set(s, &p));
    return status >= 0;
}

/* Takes a step; a step that fails leaves the time as it was. */
static int advance(sapporo_stepper *s)
{
    int status = -1;
    for (int k = 0; k < TRIES && status < 0; k++) {
        const double before = sapporo_stepper_get_time(s);
        status = client_told("sapporo_stepper_advance", sapporo_stepper_advance(s, INFINITY, 1));
        const double after = sapporo_stepper_get_time(s);
        client_require(status < 0 ? after == before : after == before + dt, "WRONG TIME of a stepper");
    }
    return status >= 0;
}

static void check(sapporo_stepper *s)
{
    const sapporo_stepper_output o = {.size = sizeof o, .n = N, .x = got_x, .v = got_v};
    sapporo_stepper_totals t = {.size = sizeof t};
    memset(got_x, 0x41, sizeof got_x);
    memset(got_v, 0x41, sizeof got_v);
    int status = client_told("sapporo_stepper_get", sapporo_stepper_get(s, &o));
    client_check("x of a stepper", status, got_x[0], x[0], 3 * N, of_orbits);
    client_check("v of a stepper", status, got_v[0], v[0], 3 * N, of_orbits);
    status = client_told("sapporo_stepper_energy", sapporo_stepper_energy(s, &t));
    client_require(status < 0 ? isnan(t.potential) : t.potential < 0 && t.kinetic > 0, "energy of a stepper");
}

/* Writes a file, and goes on from the file if that succeeds. */
static void restore(sapporo_stepper *s)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/tmp/sapporo-fault-%ld", (long)getpid());
    if (client_told("sapporo_stepper_save", sapporo_stepper_save(s, path)) < 0) return;
    int status = -1;
    for (int k = 0; k < TRIES && status < 0; k++)
        status = client_told("sapporo_stepper_restore", sapporo_stepper_restore(s, path));
    (void)unlink(path);
    if (status >= 0) check(s);
}

/* Removes the last particle, and adds it where it was; a call that fails leaves all as it was, or nothing. */
static void change(sapporo_stepper *s, int has_lengths)
{
    const int last = N - 1;
    const sapporo_stepper_output o = {.size = sizeof o, .n = N, .x = got_x, .v = got_v};
    if (client_told("sapporo_stepper_get", sapporo_stepper_get(s, &o)) < 0) return;
    const sapporo_stepper_particles p = {.size = sizeof p,
                                         .n = 1,
                                         .x = {got_x + last, 0},
                                         .v = {got_v + last, 0},
                                         .mass = {client_m + last, 0},
                                         .h = {has_lengths ? h : NULL, 0},
                                         .time = sapporo_stepper_get_time(s)};
    int status = -1;
    for (int k = 0; k < TRIES && status < 0 && !isnan(sapporo_stepper_get_time(s)); k++)
        status = client_told("sapporo_stepper_remove", sapporo_stepper_remove(s, 1, &last));
    if (status < 0) return;
    status = -1;
    for (int k = 0; k < TRIES && status < 0 && !isnan(sapporo_stepper_get_time(s)); k++)
        status = client_told("sapporo_stepper_add", sapporo_stepper_add(s, &p));
    if (status >= 0) check(s);
}

static void session_of(sapporo_step_method method, int rebuild)
{
    const int has_lengths = method == SAPPORO_STEP_DIRECT || rebuild > 1;
    const sapporo_tree_options tree = {.size = sizeof tree, .eps2 = has_lengths ? eps2 / 2 : eps2, .accuracy = 0.3};
    const sapporo_stepper_options o = {.size = sizeof o, .method = method, .tree = &tree, .dt = dt, .rebuild = rebuild};
    sapporo_stepper *s = NULL;
    const int status = client_told("sapporo_stepper_create", sapporo_stepper_create(&o, N, &s));
    client_require(status < 0 ? s == NULL : s != NULL, "sapporo_stepper_create: status and handle differ");
    int good = s && set(s, has_lengths);
    for (int k = 0; k < STEPS && good; k++) good = advance(s);
    if (good) check(s);
    if (good) restore(s);
    if (good) change(s, has_lengths);
    sapporo_stepper_destroy(s);
}

static void session(void)
{
    client_move(0);
    make_massless();
    compute();
    session_of(SAPPORO_STEP_TREE, 2);
    session_of(SAPPORO_STEP_DIRECT, 1);
}

int main(int argc, char **argv)
{
    const struct client client = {"stepper", session};
    return client_main(argc, argv, &client);
}
