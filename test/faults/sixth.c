/*
 * sixth.c - a session of a sixth-order code: Sapporo2's interface, or with SAPPORO_YEBISU that of Yebisu.  They have no
 * status: a number is right or NaN.
 */
#include "client.h"
#include "sapporo_hermite6.h"

#include <math.h>
#include <string.h>

enum { N = CLIENT_N, NI = 50, FAR = 1000000 };

static const double eps2 = 0.01;
static double acc[NI][3], jrk[NI][3], snp[NI][3], phi[NI], zero[NI][3];
static double acc2[NI][3], jrk2[NI][3], phi2[NI], rates[CLIENT_N][3];
static int nnb[NI], nnb2[NI], ids[NI];

static void store(int address, int k, double time)
{
#if defined(SAPPORO_YEBISU)
    set_jp(address, client_m[k], client_x[k], client_v[k], rates[k], zero[0], zero[0], zero[0], time, k, eps2);
#else
    set_j_particle(address, client_x[k], client_v[k], rates[k], zero[0], zero[0], zero[0], client_m[k], time, k, eps2);
#endif
}

static void compute(int nj)
{
#if defined(SAPPORO_YEBISU)
    static struct sapporo_yebisu_predictor target[NI];
    static struct sapporo_yebisu_force force[NI];
    memset(force, 0x41, sizeof force);
    for (int i = 0; i < NI; i++) {
        memcpy(target[i].pos, client_x[i], sizeof target[i].pos);
        memcpy(target[i].vel, client_v[i], sizeof target[i].vel);
        target[i].id = ids[i], target[i].eps2 = eps2;
    }
    calc_force_on_predictors(NI, target, force, nj);
    for (int i = 0; i < NI; i++) {
        memcpy(acc[i], force[i].acc, sizeof acc[i]);
        memcpy(jrk[i], force[i].jrk, sizeof jrk[i]);
        memcpy(snp[i], force[i].snp, sizeof snp[i]);
        phi[i] = force[i].phi, nnb[i] = force[i].nnb_id;
    }
#else
    double softening2[NI], mass[NI], r2[NI], crackle[NI][3];
    for (int i = 0; i < NI; i++) softening2[i] = eps2, mass[i] = 1;
    calc_force_on_predictors(NI, nj, ids, client_x, client_v, zero, mass, softening2, acc, jrk, snp, crackle, phi, nnb,
                             r2);
#endif
}

static void want(void)
{
    for (int i = 0; i < NI; i++) ids[i] = i;
    client_direct(N, NI, CLIENT_READ(client_x), CLIENT_READ(client_v), ids, eps2, acc2, jrk2, phi2, nnb2);
    for (int i = 0; i < NI; i++) phi2[i] = -phi2[i];
}

static void force(int nj)
{
    for (int i = 0; i < NI; i++) nnb[i] = 12345;
    memset(acc, 0x41, sizeof acc), memset(jrk, 0x41, sizeof jrk), memset(phi, 0x41, sizeof phi);
    compute(nj);
    client_check("acc", CLIENT_SILENT, acc[0], acc2[0], 3 * NI, 1e-9);
    client_check("jrk", CLIENT_SILENT, jrk[0], jrk2[0], 3 * NI, 1e-8);
    client_check("phi", CLIENT_SILENT, phi, phi2, NI, 1e-10);
    client_check_int("nnb", CLIENT_SILENT, nnb, nnb2, NI, -1);
    for (int i = 0; i < NI; i++) client_require(isnan(phi[i]) || isfinite(snp[i][0]), "snap without a force");
}

static void pick_up(int address, int k)
{
    double x[3], mass, e;
    int id = 12345;
#if defined(SAPPORO_YEBISU)
    struct sapporo_yebisu_predictor p;
    pick_up_predictor(address, &p);
    memcpy(x, p.pos, sizeof x);
    mass = p.mass, e = p.eps2, id = p.id < 0 ? -1 : (int)p.id;
#else
    double v[3], a[3];
    pick_up_predictor_2(address, &id, &mass, &e, x, v, a);
#endif
    client_check("picked up x", CLIENT_SILENT, x, client_x[k], 3, 0);
    client_check("picked up mass", CLIENT_SILENT, &mass, &client_m[k], 1, 0);
    client_check("picked up eps2", CLIENT_SILENT, &e, &eps2, 1, 0);
    client_check_int("picked up id", CLIENT_SILENT, &id, &k, 1, -1);
}

static void use(int step)
{
    client_move(step);
    for (int k = 0; k < N; k++) store(k, k, 0);
    store(FAR, 9, 0); /* a client that has seen NaN sends all again */
    want();
    predict_all(0, N);
    force(N);
    for (int k = 0; k < N; k += 99) pick_up(k, k);
    no_predict_all(0.5, N);
    force(N);
    /* into both sets of particles */
    client_x[3][0] += 0.5;
    store(3, 3, 0);
    store(FAR, 9, 0);
    want();
    force(N);
    pick_up(FAR, 9);
    predict_all(0, N);
    force(N);
}

static void session(void)
{
#if defined(SAPPORO_YEBISU)
    initialize(N);
#else
    initialize();
#endif
    use(0);
    use(1);
}

int main(int argc, char **argv)
{
#if defined(SAPPORO_YEBISU)
    const struct client client = {"yebisu", session};
#else
    const struct client client = {"sixth", session};
#endif
    return client_main(argc, argv, &client);
}
