/*
 * nbody6.c - a session of NBODY6++GPU, or with SAPPORO_NBODY6_AARSETH of NBODY6: regular forces with lists, potentials,
 * irregular forces.  These interfaces have no status: a number is right or NaN.
 */
#include "client.h"
#include "sapporo_nbody6.h"

#include <math.h>
#include <string.h>

enum { N = CLIENT_N, NI = 60, LMAX = 400, OF_LIST = 40, NUMBERS = 150 };

static double h2[NI], dtr[NI], acc[NI][3], jrk[NI][3], pot[N];
static int list[NI][LMAX];

/* What the library should deliver; a list begins with its length. */
static struct {
    double acc[NI][3], jrk[NI][3], pot[N];
    int list[NI][LMAX];
} right;

static void clear(void)
{
    memset(acc, 0x41, sizeof acc), memset(jrk, 0x41, sizeof jrk), memset(pot, 0x41, sizeof pot);
    memset(list, 0x41, sizeof list);
}

/* What target i gets from j, added to row i. */
static void add(int row, int i, int j, int with_potential)
{
    double r[3], w[3], r2 = 0, rw = 0;
    for (int c = 0; c < 3; c++) r[c] = client_x[j][c] - client_x[i][c], w[c] = client_v[j][c] - client_v[i][c];
    for (int c = 0; c < 3; c++) r2 += r[c] * r[c], rw += r[c] * w[c];
    if (r2 == 0) return;
    const double of_r = 1 / sqrt(r2), m3 = client_m[j] * of_r * of_r * of_r, alpha = 3 * rw * of_r * of_r;
    for (int c = 0; c < 3; c++) right.acc[row][c] += m3 * r[c], right.jrk[row][c] += m3 * (w[c] - alpha * r[c]);
    if (with_potential) right.pot[row] += client_m[j] * of_r;
}

static int is_near(int i, int j)
{
    double now = 0, then = 0;
    for (int c = 0; c < 3; c++) {
        const double r = client_x[j][c] - client_x[i][c], ahead = r + dtr[i] * (client_v[j][c] - client_v[i][c]);
        now += r * r, then += ahead * ahead;
    }
    return now < h2[i] || then < h2[i];
}

/* ---- regular forces ---- */

static void compute_regular(void)
{
    const int ni = NI, lmax = LMAX, most = LMAX - 1;
#if defined(SAPPORO_NBODY6_AARSETH)
    gpunb_regf_(&ni, h2, dtr, CLIENT_READ(client_x), CLIENT_READ(client_v), acc, jrk, pot, &lmax, &most, list[0]);
#else
    const int by_mass = 0;
    gpunb_regf_(&ni, h2, dtr, CLIENT_READ(client_x), CLIENT_READ(client_v), acc, jrk, pot, &lmax, &most, list[0],
                &by_mass);
#endif
}

static void check_lists(void)
{
    for (int i = 0; i < NI; i++) {
        const int *const want = right.list[i], none = list[i][0] == 0 && isnan(pot[i]);
        if (none && !client_is_sure()) continue;
        client_require(list[i][0] == want[0] && memcmp(list[i], want, ((size_t)want[0] + 1) * sizeof want[0]) == 0,
                       "WRONG LIST of a regular force");
    }
}

static void sum_regular(void)
{
    memset(&right, 0, sizeof right);
    for (int i = 0; i < NI; i++)
        for (int j = 0; j < N; j++) {
            int *const want = right.list[i];
            if (!is_near(i, j))
                add(i, i, j, 1);
            else if (want[0] < LMAX - 1)
                want[++want[0]] = j;
            else
                client_require(0, "the client wants too long a list");
        }
}

static void regular(void)
{
    unsigned long long key = client_key(2, client_x, sizeof client_x);
    key = client_key(client_key(key, client_v, sizeof client_v), client_m, sizeof client_m);
    for (int i = 0; i < NI; i++) h2[i] = 0.05, dtr[i] = 0.01;
    if (!client_recall(key, &right, sizeof right)) {
        sum_regular();
        client_keep(key, &right, sizeof right);
    }
    gpunb_send_(&(int){N}, client_m, CLIENT_READ(client_x), CLIENT_READ(client_v));
    clear();
    compute_regular();
    client_check("regular acc", CLIENT_SILENT, acc[0], right.acc[0], 3 * NI, 1e-5);
    client_check("regular jrk", CLIENT_SILENT, jrk[0], right.jrk[0], 3 * NI, 1e-4);
    client_check("regular pot", CLIENT_SILENT, pot, right.pot, NI, 1e-6);
    check_lists();
}

static void open_regular(void)
{
    const int n = N;
#if defined(SAPPORO_NBODY6_AARSETH)
    gpunb_open_(&n);
#else
    const int rank = 0;
    gpunb_devinit_(&rank);
    gpunb_open_(&n, &rank);
#endif
}

/* ---- potentials ---- */

static void potential(void)
{
    const int n = NUMBERS;
    memset(right.pot, 0, sizeof right.pot);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double r2 = 0;
            for (int c = 0; c < 3; c++) r2 += (client_x[j][c] - client_x[i][c]) * (client_x[j][c] - client_x[i][c]);
            if (r2 > 0) right.pot[i] += client_m[j] / sqrt(r2);
        }
    clear();
#if defined(SAPPORO_NBODY6_AARSETH)
    gpupot_(&n, client_m, CLIENT_READ(client_x), pot);
#else
    const int rank = 0, first = 1;
    gpupot_(&rank, &first, &n, &n, client_m, CLIENT_READ(client_x), pot);
#endif
    client_check("gpupot", CLIENT_SILENT, pot, right.pot, n, 1e-10);
}

/* ---- irregular forces ---- */

#if defined(SAPPORO_NBODY6_AARSETH)
#define irr_set_jp   gpuirr_set_jp_
#define irr_set_list gpuirr_set_list_
#else
#define irr_set_jp   irr_simd_set_jp_
#define irr_set_list irr_simd_set_list_
#endif

static void send_irregular(void)
{
    const double zero[3] = {0}, time = 0;
    for (int k = 0; k < NUMBERS; k++) {
        const int number = k + 1;
        int neighbours[OF_LIST + 1] = {OF_LIST};
        for (int j = 0; j < OF_LIST; j++) neighbours[j + 1] = (k + 7 * (j + 1)) % NUMBERS + 1;
        irr_set_jp(&number, client_x[k], client_v[k], zero, zero, &client_m[k], &time);
        irr_set_list(&number, neighbours);
    }
}

static void compute_irregular(const int *numbers)
{
    const double time = 0;
    const int ni = NI;
#if defined(SAPPORO_NBODY6_AARSETH)
    gpuirr_pred_all_(&(int){1}, &(int){NUMBERS}, &time);
    gpuirr_firr_vec_(&ni, numbers, acc, jrk);
    gpuirr_firr_(&numbers[1], acc[1], jrk[1]);
#else
    int nearest[NI];
    irr_simd_firr_vec_(&time, &ni, numbers, acc, jrk, nearest);
#endif
}

static void irregular(void)
{
    int numbers[NI];
    memset(right.acc, 0, sizeof right.acc), memset(right.jrk, 0, sizeof right.jrk);
    for (int i = 0; i < NI; i++) {
        const int k = i * 3 % NUMBERS;
        numbers[i] = k + 1;
        for (int j = 0; j < OF_LIST; j++) add(i, k, (k + 7 * (j + 1)) % NUMBERS, 0);
    }
    send_irregular();
    clear();
    compute_irregular(numbers);
    client_check("irregular acc", CLIENT_SILENT, acc[0], right.acc[0], 3 * NI, 1e-5);
    client_check("irregular jrk", CLIENT_SILENT, jrk[0], right.jrk[0], 3 * NI, 1e-4);
}

static void open_irregular(void)
{
    const int most = NUMBERS, lmax = LMAX;
#if defined(SAPPORO_NBODY6_AARSETH)
    gpuirr_open_(&most, &lmax);
#else
    const int rank = 0;
    irr_simd_open_(&most, &lmax, &rank);
#endif
}

static void close_irregular(void)
{
#if defined(SAPPORO_NBODY6_AARSETH)
    gpuirr_close_();
#else
    const int rank = 0;
    irr_simd_close_(&rank);
#endif
}

static void session(void)
{
    open_regular();
    open_irregular();
    for (int step = 0; step < 3; step++) {
        client_move(step);
        regular();
        irregular();
        potential();
    }
    close_irregular();
    gpunb_close_();
}

int main(int argc, char **argv)
{
#if defined(SAPPORO_NBODY6_AARSETH)
    const struct client client = {"nbody6", session};
#else
    const struct client client = {"nbody6pp", session};
#endif
    return client_main(argc, argv, &client);
}
