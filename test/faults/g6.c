/* g6.c - a session of GRAPE-6: by C names, or with FORTRAN_NAMES by those that Fortran's compilers make. */
#include "client.h"
#include "sapporo_g6.h"

#include <math.h>
#include <string.h>

enum { ID = 3, FAR = 20000, FEW = 40, MANY = 300, N = CLIENT_N };

#if defined(FORTRAN_NAMES)
#include "compat/sapporo_g6_fortran.h"
#endif

static double acc[MANY][3], jerk[MANY][3], pot[MANY], acc2[MANY][3], jerk2[MANY][3], pot2[MANY], h2[MANY];
static int nearest[MANY], nearest2[MANY], index_of[MANY];
static double zero[3];

static int open_cluster(void)
{
#if defined(FORTRAN_NAMES)
    int id = ID;
    return g6_open_(&id);
#else
    return g6_open(ID);
#endif
}

static void close_cluster(void)
{
#if defined(FORTRAN_NAMES)
    int id = ID;
    (void)g6_close_(&id);
#else
    (void)g6_close(ID);
#endif
}

static void set_time(double time)
{
#if defined(FORTRAN_NAMES)
    int id = ID;
    client_told("g6_set_ti", g6_set_ti_(&id, &time));
#else
    client_told("g6_set_ti", g6_set_ti(ID, time));
#endif
}

static void store(int address, int k)
{
    double tj = 0, dtj = 0.125;
#if defined(FORTRAN_NAMES)
    int id = ID;
    client_told("g6_set_j_particle", g6_set_j_particle_(&id, &address, &k, &tj, &dtj, &client_m[k], zero, zero, zero,
                                                        client_v[k], client_x[k]));
#else
    client_told("g6_set_j_particle",
                g6_set_j_particle(ID, address, k, tj, dtj, client_m[k], zero, zero, zero, client_v[k], client_x[k]));
#endif
}

static void begin(int nj, int ni, double eps2)
{
#if defined(FORTRAN_NAMES)
    int id = ID;
    g6calc_firsthalf_(&id, &nj, &ni, index_of, client_x, client_v, acc, jerk, pot, &eps2, h2);
#else
    g6calc_firsthalf(ID, nj, ni, index_of, client_x, client_v, acc, jerk, pot, eps2, h2);
#endif
}

static int end(int nj, int ni, double eps2, int near)
{
#if defined(FORTRAN_NAMES)
    int id = ID;
    if (near) return g6calc_lasthalf2_(&id, &nj, &ni, index_of, client_x, client_v, &eps2, h2, acc, jerk, pot, nearest);
    return g6calc_lasthalf_(&id, &nj, &ni, index_of, client_x, client_v, &eps2, h2, acc, jerk, pot);
#else
    if (near) return g6calc_lasthalf2(ID, nj, ni, index_of, client_x, client_v, eps2, h2, acc, jerk, pot, nearest);
    return g6calc_lasthalf(ID, nj, ni, index_of, client_x, client_v, eps2, h2, acc, jerk, pot);
#endif
}

static int read_lists(void)
{
#if defined(FORTRAN_NAMES)
    int id = ID;
    return g6_read_neighbour_list_(&id);
#else
    return g6_read_neighbour_list(ID);
#endif
}

static int get_list(int i, int room, int *n, int *list)
{
#if defined(FORTRAN_NAMES)
    int id = ID;
    return g6_get_neighbour_list_(&id, &i, &room, n, list);
#else
    return g6_get_neighbour_list(ID, i, room, n, list);
#endif
}

/* The particles that a list has, by the caller's own distances. */
static void check_list(int status, int nj, int i, const int *got, int n)
{
    int want[N], members = 0;
    for (int j = 0; j < nj; j++) {
        double r2 = 0;
        for (int c = 0; c < 3; c++) r2 += (client_x[j][c] - client_x[i][c]) * (client_x[j][c] - client_x[i][c]);
        if (r2 < h2[i] && j != i) want[members++] = j;
    }
    if (status >= 0) client_require(n == members && memcmp(got, want, (size_t)n * sizeof *want) == 0, "WRONG LIST");
    if (status < 0) client_require(n == 0, "FINITE NUMBER AFTER AN ERROR: a list's length");
}

static void check_lists(int nj)
{
    static int list[N];
    int n = 12345;
    const int read = client_told("g6_read_neighbour_list", read_lists() == 0 ? 0 : -1);
    for (int i = 0; i < FEW && read == 0; i += 13) {
        const int status = client_told("g6_get_neighbour_list", get_list(i, N, &n, list));
        check_list(status, nj, i, list, n);
    }
}

static void finish(int nj, int ni, double eps2, int near)
{
    memset(acc, 0x41, sizeof acc), memset(jerk, 0x41, sizeof jerk), memset(pot, 0x41, sizeof pot);
    for (int i = 0; i < ni; i++) nearest[i] = 12345;
    const int status = client_told("g6calc_lasthalf", end(nj, ni, eps2, near));
    client_check("acc", status, acc[0], acc2[0], 3 * ni, 1e-5);
    client_check("jerk", status, jerk[0], jerk2[0], 3 * ni, 1e-4);
    client_check("pot", status, pot, pot2, ni, 1e-6);
    if (near) client_check_int("nearest", status, nearest, nearest2, ni, -1);
}

static void force(int nj, int ni, int near)
{
    const double eps2 = 0.01;
    client_direct(nj, ni, CLIENT_READ(client_x), CLIENT_READ(client_v), index_of, eps2, acc2, jerk2, pot2, nearest2);
    begin(nj, ni, eps2);
    finish(nj, ni, eps2, near);
}

static void session(void)
{
    for (int i = 0; i < MANY; i++) index_of[i] = i, h2[i] = 0.04;
    client_told("g6_open", open_cluster());
    client_move(0);
    for (int k = 0; k < N; k++) store(k, k);
    set_time(0);
    force(N, FEW, 0);
    client_move(1);
    for (int k = 0; k < N; k++) store(k, k);
    force(N, MANY, 1);
    check_lists(N);
    /* particles arrive while a force is under way */
    client_direct(N, FEW, CLIENT_READ(client_x), CLIENT_READ(client_v), index_of, 0.01, acc2, jerk2, pot2, nearest2);
    begin(N, FEW, 0.01);
    for (int c = 0; c < 3; c++) client_x[N / 2][c] += 0.5, client_x[7][c] -= 0.25;
    store(N / 2, N / 2);
    store(7, 7);
    client_x[7][0] += 0.25, client_x[7][1] += 0.25, client_x[7][2] += 0.25; /* the force is of the place before */
    finish(N, FEW, 0.01, 0);
    for (int c = 0; c < 3; c++) client_x[7][c] -= 0.25;
    force(N, FEW, 1);
    /* an address far beyond the others makes new memory */
    store(FAR, 0);
    force(N, FEW, 0);
    close_cluster();
}

int main(int argc, char **argv)
{
#if defined(FORTRAN_NAMES)
    const struct client client = {"g6, Fortran names", session};
#else
    const struct client client = {"g6", session};
#endif
    return client_main(argc, argv, &client);
}
