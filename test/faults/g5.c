/* g5.c - a session of GRAPE-5: plain names, MC names on a device of their own, names with softenings of j-particles. */
#include "client.h"
#include "sapporo_g5.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICE = 5, NI = 200, N = CLIENT_N };

static double a[NI][3], p[NI], a2[NI][3], p2[NI], softening2[N];

/* Forces of direct sums are right to these; those of trees to what the opening angle gives. */
static double of_acc = 1e-5, of_pot = 1e-6;

static void want(int n, double eps2)
{
    client_direct(n, NI, CLIENT_READ(client_x), NULL, NULL, eps2, a2, NULL, p2, NULL);
    for (int i = 0; i < NI; i++) p2[i] = -p2[i];
}

static void clear(void) { memset(a, 0x41, sizeof a), memset(p, 0x41, sizeof p); }

/* Programs of GRAPE-5 do not look at what functions return, so numbers alone count. */
static void check(const char *what)
{
    client_check(what, CLIENT_SILENT, a[0], a2[0], 3 * NI, of_acc);
    client_check(what, CLIENT_SILENT, p, p2, NI, of_pot);
}

static void plain(double eps)
{
    (void)g5_open();
    (void)g5_set_eps_to_all(eps);
    (void)g5_set_n(N);
    (void)g5_set_xmj(0, N, client_x, client_m);
    (void)g5_set_xi(NI, client_x);
    clear();
    (void)g5_run();
    (void)g5_get_force(NI, a, p);
    want(N, eps * eps);
    check("g5_get_force");
    clear();
    (void)g5_calculate_force_on_x(client_x, a, p, NI);
    check("g5_calculate_force_on_x");
}

static void of_parts(double eps)
{
    (void)g5_set_xj(0, N, client_x);
    (void)g5_set_mj(0, N, client_m);
    clear();
    (void)g5_calculate_force_on_x(client_x, a, p, NI);
    want(N, eps * eps);
    check("g5_set_xj, g5_set_mj");
}

static void by_device(double eps)
{
    double own[NI];
    (void)g5_openMC(DEVICE);
    (void)g5_set_nMC(DEVICE, N / 2);
    (void)g5_set_jpMC(DEVICE, 0, N / 2, client_m, client_x);
    for (int i = 0; i < NI; i++) own[i] = 2 * eps;
    (void)g5_set_xepsiMC(DEVICE, NI, client_x, own);
    clear();
    (void)g5_runMC(DEVICE);
    (void)g5_get_forceMC(DEVICE, NI, a, p);
    want(N / 2, 4 * eps * eps);
    check("g5_get_forceMC");
    (void)g5_closeMC(DEVICE);
}

static void with_softenings(double eps2)
{
    double of_i[NI];
    for (int j = 0; j < N; j++) softening2[j] = eps2 / 4;
    for (int i = 0; i < NI; i++) of_i[i] = eps2 * 3 / 4;
    (void)g5_set_n(N);
    (void)g5_set_xmj0(0, N, client_x, client_m, softening2);
    clear();
    (void)g5_calculate_force_on_x0(client_x, a, p, NI, of_i);
    want(N, eps2);
    check("g5_calculate_force_on_x0");
}

static void session(void)
{
    const double eps = 0.1;
    client_move(0);
    plain(eps);
    client_move(1);
    plain(eps);
    client_move(2);
    of_parts(eps);
    by_device(eps);
    with_softenings(eps * eps);
    (void)g5_close();
}

int main(int argc, char **argv)
{
    const char *const method = getenv("SAPPORO_METHOD");
    const int by_tree = method && strcmp(method, "tree") == 0;
    const struct client client = {by_tree ? "g5 by tree" : "g5", session};
    if (by_tree) of_acc = 0.02, of_pot = 2e-3;
    return client_main(argc, argv, &client);
}
