/*
 * native.c - a session of sapporo.h: forces of each order, lists, forces outside of spheres, neighbour forces, batches
 * of small forces, particles read back.
 */
#include "client.h"
#include "sapporo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = CLIENT_N, MANY = 400, FEW = 20, ROWS = 64, LISTS = 40, OF_LIST = 50, FAR = 20000 };

static double acc[N][3], jerk[N][3], pot[N], acc2[ROWS][3], jerk2[ROWS][3], pot2[ROWS], h2[N];
static int nearest[N], nearest2[ROWS], index_of[N];

static void clear(void)
{
    memset(acc, 0x41, sizeof acc), memset(jerk, 0x41, sizeof jerk), memset(pot, 0x41, sizeof pot);
    for (int i = 0; i < N; i++) nearest[i] = 12345;
}

static sapporo *open_context(int order, sapporo_precision precision)
{
    const sapporo_options options = {.size = sizeof options, .order = order, .precision = precision};
    sapporo *c = (sapporo *)(void *)&options;
    const int status = client_told("sapporo_open", sapporo_open(&options, &c));
    client_require(status < 0 ? c == NULL : c != NULL, "sapporo_open: status and handle differ");
    return c;
}

/*
 * A store that fails changes nothing, so a client stores again before it computes.  These return 0 if the second
 * attempt fails, too: then the session is over.
 */
static int store_all(sapporo *c)
{
    const sapporo_particles all = {.size = sizeof all,
                                   .derivative = {{client_x, 0}, {client_v, 0}},
                                   .mass = {client_m, 0},
                                   .index = {index_of, 0}};
    for (int attempt = 0; attempt < 2; attempt++)
        if (client_told("sapporo_set_particles", sapporo_set_particles(c, 0, N, &all)) >= 0) return 1;
    return 0;
}

static int store_one(sapporo *c, int address, const sapporo_particle *p)
{
    for (int attempt = 0; attempt < 2; attempt++)
        if (client_told("sapporo_set_particle", sapporo_set_particle(c, address, p)) >= 0) return 1;
    return 0;
}

static int store_each(sapporo *c)
{
    for (int k = 0; k < N; k++) {
        sapporo_particle p = {.mass = client_m[k], .index = k};
        memcpy(p.derivative[0], client_x[k], sizeof client_x[k]);
        memcpy(p.derivative[1], client_v[k], sizeof client_v[k]);
        if (!store_one(c, k, &p)) return 0;
    }
    return 1;
}

/* ---- forces on i-particles ---- */

/* Lists of some rows against distances, and all at once. */
static void lists(sapporo_job *job, int ni, int with_itself)
{
    static int list[N], all[ROWS][N / 4], length[ROWS];
    const int status = client_told("sapporo_force_neighbour_lists",
                                   sapporo_force_neighbour_lists(job, ni, N / 4, N / 4, all[0], length));
    for (int i = 0; i < ni; i += 5) {
        int want[N], members = 0, n = 12345, total = 12345;
        for (int j = 0; j < N; j++) {
            double r2 = 0;
            for (int c = 0; c < 3; c++) r2 += (client_x[j][c] - client_x[i][c]) * (client_x[j][c] - client_x[i][c]);
            if (r2 < h2[i] && (with_itself || j != i)) want[members++] = j;
        }
        const int one = client_told("sapporo_force_neighbours", sapporo_force_neighbours(job, i, N, &n, list, &total));
        if (one < 0) client_require(n == 0 && total == 0, "FINITE NUMBER AFTER AN ERROR: a list's length");
        if (one >= 0)
            client_require(n == members && total == members && memcmp(list, want, (size_t)n * sizeof *want) == 0,
                           "WRONG LIST");
        if (status < 0) client_require(length[i] == 0, "FINITE NUMBER AFTER AN ERROR: lengths of lists");
        if (status >= 0)
            client_require(length[i] == members && memcmp(all[i], want, (size_t)members * sizeof *want) == 0,
                           "WRONG LISTS");
    }
}

static void finish(sapporo_job *job, int ni, int order, int near)
{
    const int rows = ni < ROWS ? ni : ROWS;
    sapporo_result result = {.size = sizeof result, .acc = acc, .jerk = order > 2 ? jerk : NULL, .pot = pot};
    clear();
    if (near) result.nearest = nearest;
    const int status = client_told("sapporo_force_end", sapporo_force_end(job, ni, &result));
    client_check("acc", status, acc[0], acc2[0], 3 * rows, 1e-5);
    if (order > 2) client_check("jerk", status, jerk[0], jerk2[0], 3 * rows, 1e-4);
    client_check("pot", status, pot, pot2, rows, 1e-6);
    if (near) client_check_int("nearest", status, nearest, nearest2, rows, -1);
    for (int i = rows; i < ni; i++) client_require(status < 0 ? isnan(pot[i]) : pot[i] < 0, "rows beyond the first");
}

static sapporo_job *begin(sapporo *c, int ni, unsigned wants)
{
    const sapporo_request r = {.size = sizeof r,
                               .nj = N,
                               .ni = ni,
                               .x = {client_x, 0},
                               .v = {client_v, 0},
                               .index = {index_of, 0},
                               .h2 = {h2, 0},
                               .eps2 = 0.01,
                               .want = wants};
    sapporo_job *job = NULL;
    client_direct(N, ni < ROWS ? ni : ROWS, CLIENT_READ(client_x), CLIENT_READ(client_v), index_of, 0.01, acc2, jerk2,
                  pot2, nearest2);
    const int status = client_told("sapporo_force_begin", sapporo_force_begin(c, &r, &job));
    client_require(status < 0 ? job == NULL : job != NULL, "sapporo_force_begin: status and job differ");
    return job;
}

static void force(sapporo *c, int ni, int order, unsigned wants)
{
    sapporo_job *const job = begin(c, ni, wants);
    if (!job) return;
    finish(job, ni, order, order == 4 && wants);
    if (wants & SAPPORO_WANT_LISTS) lists(job, ni < ROWS ? ni : ROWS, 0);
    sapporo_force_free(job);
}

/* ---- regular forces: neighbours are left out of the sums ---- */

static void direct_outside(int ni)
{
    memset(acc2, 0, sizeof acc2), memset(pot2, 0, sizeof pot2);
    for (int i = 0; i < ni; i++)
        for (int j = 0; j < N; j++) {
            double r[3], r2 = 0;
            for (int c = 0; c < 3; c++) r[c] = client_x[j][c] - client_x[i][c], r2 += r[c] * r[c];
            if (r2 < h2[i] || r2 == 0) continue;
            const double of_r = 1 / sqrt(r2 + 0.01), m3 = client_m[j] * of_r * of_r * of_r;
            for (int c = 0; c < 3; c++) acc2[i][c] += m3 * r[c];
            pot2[i] -= client_m[j] * of_r;
        }
}

static void force_outside(sapporo *c)
{
    const sapporo_request r = {.size = sizeof r,
                               .nj = N,
                               .ni = FEW,
                               .x = {client_x, 0},
                               .v = {client_v, 0},
                               .h2 = {h2, 0},
                               .eps2 = 0.01,
                               .pairs = SAPPORO_PAIRS_OUTSIDE};
    const sapporo_result result = {.size = sizeof result, .acc = acc, .pot = pot};
    sapporo_job *job = NULL;
    direct_outside(FEW);
    if (client_told("sapporo_force_begin", sapporo_force_begin(c, &r, &job)) < 0) return;
    clear();
    const int status = client_told("sapporo_force_end", sapporo_force_end(job, FEW, &result));
    client_check("acc outside", status, acc[0], acc2[0], 3 * FEW, 1e-5);
    client_check("pot outside", status, pot, pot2, FEW, 1e-6);
    lists(job, FEW, 1);
    sapporo_force_free(job);
}

/* ---- neighbour forces, batches of small forces ---- */

static void direct_neighbour(int i, int target, const int *list, int n)
{
    double *const a = acc2[i];
    a[0] = a[1] = a[2] = pot2[i] = 0;
    for (int k = 0; k < n; k++) {
        double r[3], r2 = 0.01;
        if (list[k] == target) continue;
        for (int c = 0; c < 3; c++) r[c] = client_x[list[k]][c] - client_x[target][c], r2 += r[c] * r[c];
        const double of_r = 1 / sqrt(r2), m3 = client_m[list[k]] * of_r * of_r * of_r;
        for (int c = 0; c < 3; c++) a[c] += m3 * r[c];
        pot2[i] -= client_m[list[k]] * of_r;
    }
}

static int address[LISTS], length[LISTS], entries[LISTS][OF_LIST];

static void make_lists(void)
{
    for (int i = 0; i < LISTS; i++) {
        address[i] = i * 31 % N, length[i] = OF_LIST;
        for (int k = 0; k < OF_LIST; k++) entries[i][k] = (i * 17 + k * 43) % N;
        direct_neighbour(i, address[i], entries[i], OF_LIST);
    }
}

static void request(sapporo *c)
{
    const int *list[LISTS];
    for (int i = 0; i < LISTS; i++) list[i] = entries[i];
    make_lists();
    const sapporo_neighbour_request l = {
        .size = sizeof l, .ni = LISTS, .address = address, .list = list, .length = length, .eps2 = 0.01};
    const sapporo_result result = {.size = sizeof result, .acc = acc, .jerk = jerk, .pot = pot};
    clear();
    const int status = client_told("sapporo_neighbour_force", sapporo_neighbour_force(c, &l, &result));
    client_check("request acc", status, acc[0], acc2[0], 3 * LISTS, 1e-5);
    client_check("request pot", status, pot, pot2, LISTS, 1e-6);
}

static void batch(sapporo *c)
{
    sapporo_small_force list[LISTS];
    sapporo_result result[LISTS];
    double own_x[OF_LIST][3], own_m[OF_LIST];
    make_lists();
    for (int k = 0; k < OF_LIST; k++) {
        memcpy(own_x[k], client_x[entries[1][k]], sizeof own_x[k]);
        own_m[k] = client_m[entries[1][k]];
    }
    for (int i = 0; i < LISTS; i++) {
        list[i] = (sapporo_small_force){
            .size = sizeof list[i], .ni = 1, .nj = OF_LIST, .x = {client_x[address[i]], 0}, .eps2 = 0.01};
        list[i].address = i == 1 ? NULL : entries[i];
        if (i == 1) list[i].x_j.base = own_x, list[i].mass_j.base = own_m;
        result[i] = (sapporo_result){.size = sizeof result[i], .acc = acc + i, .pot = pot + i};
        for (int k = 0; k < OF_LIST; k++) /* a batch does not skip the target itself */
            if (entries[i][k] == address[i]) pot2[i] -= client_m[address[i]] / sqrt(0.01);
    }
    clear();
    const int status = client_told("sapporo_force_batch", sapporo_force_batch(c, LISTS, list, result));
    client_check("batch acc", status, acc[0], acc2[0], 3 * LISTS, 1e-5);
    client_check("batch pot", status, pot, pot2, LISTS, 1e-6);
}

/* ---- sessions ---- */

static void read_back(sapporo *c)
{
    for (int k = 0; k < N; k += 99) {
        sapporo_particle p = {.mass = 12345};
        const int status = client_told("sapporo_get_particle", sapporo_get_particle(c, k, 0, &p));
        client_check("x read back", status, p.derivative[0], client_x[k], 3, 0);
        client_check("mass read back", status, &p.mass, &client_m[k], 1, 0);
    }
}

/* Particles arrive while a force is under way, and change nothing in it. */
static int force_between(sapporo *c)
{
    sapporo_job *const early = begin(c, MANY, 0);
    client_move(2);
    const int stored = store_each(c);
    if (early) finish(early, MANY, 4, 0);
    if (stored) force(c, MANY, 4, SAPPORO_WANT_NEAREST | SAPPORO_WANT_LISTS);
    sapporo_force_free(early);
    return stored;
}

static void forces_of_4(sapporo *c)
{
    const sapporo_particle last = {.mass = 0, .index = -1};
    client_move(0);
    if (!store_all(c)) return;
    force(c, FEW, 4, 0);
    request(c);
    client_move(1);
    if (!store_each(c) || !force_between(c)) return;
    read_back(c);
    force_outside(c);
    request(c);
    if (store_one(c, FAR, &last)) force(c, N, 4, 0);
}

static void forces_of_2(sapporo *c)
{
    client_move(3);
    if (!store_all(c)) return;
    batch(c);
    client_move(4);
    if (!store_all(c)) return;
    force(c, FEW, 2, 0);
    batch(c);
}

static void session_of(int order, sapporo_precision precision)
{
    sapporo *const c = open_context(order, precision);
    client_move(order);
    if (c && order == 4) forces_of_4(c);
    if (c && order == 2) forces_of_2(c);
    if (c && order > 4 && store_all(c)) force(c, MANY, order, 0);
    sapporo_close(c);
}

static void session(void)
{
    for (int k = 0; k < N; k++) index_of[k] = k, h2[k] = 0.04;
    session_of(4, SAPPORO_DS);
    session_of(2, SAPPORO_SP);
    session_of(6, SAPPORO_DP);
    session_of(8, SAPPORO_DP);
}

int main(int argc, char **argv)
{
    const struct client client = {"native", session};
    return client_main(argc, argv, &client);
}
