/*
 * client.c - a client of libsapporo6th, or with SAPPORO_YEBISU of libyebisug6, for test_sixth.sh: the same forces and
 * predictions as a context of order 6 gives, with this interface's signs and factors, whatever each particle's time is.
 */
#include "sapporo_hermite6.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NJ = 300, NI = 300 };

static int wrong;

static void check(int good, const char *what)
{
    if (good) return;
    printf("# wrong: %s\n", what);
    wrong++;
}

static double uniform(void)
{
    static unsigned long long s = 88172645463325252ULL;
    s ^= s << 13, s ^= s >> 7, s ^= s << 17;
    return (double)(s >> 11) * 0x1p-53;
}

static sapporo_particle star[NJ];

static void make_stars(void)
{
    for (int k = 0; k < NJ; k++) {
        for (int d = 0; d < 6; d++)
            for (int c = 0; c < 3; c++) star[k].derivative[d][c] = 2 * uniform() - 1;
        star[k].mass = 1 + uniform();
        star[k].time = uniform();
        star[k].index = 1000 - k;
    }
}

static void send(int k)
{
    sapporo_particle p = star[k];
    double(*d)[3] = p.derivative;
#if defined(SAPPORO_YEBISU)
    if (k % 2)
        set_jp(k, p.mass, d[0], d[1], d[2], d[3], d[4], d[5], p.time, p.index, 0.25 * k);
    else
        set_jp_2(k, d[0], d[1], d[2], d[3], d[4], d[5], p.mass, p.time, p.index, 0.25 * k);
#else
    set_j_particle(k, d[0], d[1], d[2], d[3], d[4], d[5], p.mass, p.time, p.index, 0.25 * k);
#endif
}

static void send_without_position(int k)
{
    sapporo_particle p = star[k];
    double(*d)[3] = p.derivative;
#if defined(SAPPORO_YEBISU)
    set_jp(k, p.mass, NULL, d[1], d[2], d[3], d[4], d[5], p.time, p.index, 0.25 * k);
#else
    set_j_particle(k, NULL, d[1], d[2], d[3], d[4], d[5], p.mass, p.time, p.index, 0.25 * k);
#endif
}

/* The same through sapporo.h: at `time`, or each particle at its own (still). */
static sapporo *open_reference(double time, int still)
{
    const sapporo_options options = {.size = sizeof options, .order = 6};
    sapporo *c;
    if (sapporo_open(&options, &c) != SAPPORO_OK) return NULL;
    for (int k = 0; k < NJ; k++) {
        sapporo_particle p = star[k];
        if (still) p.time = time;
        sapporo_set_particle(c, k, &p);
    }
    sapporo_set_time(c, time);
    return c;
}

static double x[NI][3], v[NI][3], a[NI][3], eps2[NI], acc[NI][3], jerk[NI][3], snap[NI][3], phi[NI], r2[NI];
static int ids[NI], nnb[NI];

static void make_targets(void)
{
    for (int i = 0; i < NI; i++) {
        for (int c = 0; c < 3; c++) x[i][c] = uniform(), v[i][c] = uniform(), a[i][c] = uniform();
        eps2[i] = 0.01 * (1 + i % 5);
        ids[i] = i % 3 ? 1000 - i : -1;
    }
}

static void ask(int ni, int nj)
{
#if defined(SAPPORO_YEBISU)
    static struct sapporo_yebisu_predictor pred[NI];
    static struct sapporo_yebisu_force force[NI];
    for (int i = 0; i < NI; i++) {
        memcpy(pred[i].pos, x[i], sizeof x[i]);
        memcpy(pred[i].vel, v[i], sizeof v[i]);
        memcpy(pred[i].acc, a[i], sizeof a[i]);
        pred[i].mass = 1, pred[i].id = ids[i], pred[i].eps2 = eps2[i];
    }
    calc_force_on_predictors(ni, pred, force, nj);
    for (int i = 0; i < ni; i++) {
        memcpy(acc[i], force[i].acc, sizeof acc[i]);
        memcpy(jerk[i], force[i].jrk, sizeof jerk[i]);
        memcpy(snap[i], force[i].snp, sizeof snap[i]);
        phi[i] = force[i].phi, nnb[i] = force[i].nnb_id, r2[i] = (double)force[i].nnb_r2;
    }
#else
    static double mass[NI], crackle[NI][3];
    for (int i = 0; i < NI; i++) crackle[i][2] = 7;
    calc_force_on_predictors(ni, nj, ids, x, v, a, mass, eps2, acc, jerk, snap, crackle, phi, nnb, r2);
    for (int i = 0; i < ni; i++)
        check(crackle[i][2] == 0 || (isnan(crackle[i][2]) && isnan(acc[i][0])),
              "crackle is zero, or NaN without a force");
#endif
}

static void compare_force(sapporo *c, const char *what)
{
    static double acc2[NI][3], jerk2[NI][3], snap2[NI][3], pot[NI], near2[NI];
    static int nearest[NI];
    const sapporo_request request = {.size = sizeof request,
                                     .nj = NJ,
                                     .ni = NI,
                                     .x = {x, 0},
                                     .v = {v, 0},
                                     .a = {a, 0},
                                     .index = {ids, 0},
                                     .eps2_i = {eps2, 0}};
    const sapporo_result result = {.size = sizeof result,
                                   .acc = acc2,
                                   .jerk = jerk2,
                                   .snap = snap2,
                                   .pot = pot,
                                   .nearest = nearest,
                                   .nearest_r2 = near2};
    sapporo_job *job;
    int same =
        sapporo_force_begin(c, &request, &job) == SAPPORO_OK && sapporo_force_end(job, NI, &result) == SAPPORO_OK;
    sapporo_force_free(job);
    ask(NI, NJ);
    same &= !memcmp(acc, acc2, sizeof acc) && !memcmp(jerk, jerk2, sizeof jerk) && !memcmp(snap, snap2, sizeof snap);
    for (int i = 0; i < NI; i++) {
        same &= phi[i] == -pot[i] && phi[i] > 0 && nnb[i] == nearest[i];
        same &= fabs(r2[i] - near2[i] - eps2[i]) <= 1e-6 * r2[i];
    }
    check(same, what);
}

static void compare_prediction(sapporo *c, const char *what)
{
    int same = 1;
    for (int k = 0; k < NJ; k++) {
        sapporo_particle p;
#if defined(SAPPORO_YEBISU)
        struct sapporo_yebisu_predictor q;
        if (k % 2)
            pick_up_predictor(k, &q);
        else
            pick_up_predictor_2(k, &q);
        const double mass = q.mass, eps2_j = q.eps2;
        const int id = (int)q.id;
#else
        struct {
            double pos[3], vel[3], acc[3];
        } q;
        double mass, eps2_j;
        int id;
        pick_up_predictor_2(k, &id, &mass, &eps2_j, q.pos, q.vel, q.acc);
#endif
        sapporo_get_particle(c, k, 1, &p);
        same &= !memcmp(q.pos, p.derivative[0], 24) && !memcmp(q.vel, p.derivative[1], 24);
        same &= !memcmp(q.acc, p.derivative[2], 24) && mass == p.mass && id == p.index && eps2_j == 0.25 * k;
    }
    check(same, what);
}

/* Where no particle is, a prediction is NaN, and its number -1. */
static void pick_nothing(int address)
{
#if defined(SAPPORO_YEBISU)
    struct sapporo_yebisu_predictor q;
    memset(&q, 0, sizeof q);
    pick_up_predictor_2(address, &q);
    const double mass = q.mass, eps2_j = q.eps2;
    const int id = (int)q.id;
#else
    struct {
        double pos[3], vel[3], acc[3];
    } q = {{0}, {0}, {0}};
    double mass = 0, eps2_j = 0;
    int id = 0;
    pick_up_predictor_2(address, &id, &mass, &eps2_j, q.pos, q.vel, q.acc);
#endif
    for (int c = 0; c < 3; c++) check(isnan(q.pos[c]) && isnan(q.vel[c]) && isnan(q.acc[c]), "no orbit of no particle");
    check(isnan(mass) && isnan(eps2_j) && id == -1, "nor a number");
}

static void compare(double time, int still, const char *what)
{
    sapporo *c = open_reference(time, still);
    if (!c) {
        check(0, "a context of order 6 opens");
        return;
    }
    if (still)
        no_predict_all(time, NJ);
    else
        predict_all(time, NJ);
    compare_force(c, what);
    compare_prediction(c, what);
    sapporo_close(c);
}

/* Where no context can be opened, there are no particles and no forces. */
static void nothing_opens(void)
{
    send(0);
    pick_nothing(0);
    acc[0][0] = acc[1][2] = phi[0] = 7;
    ask(2, 1);
    check(isnan(acc[0][0]) && isnan(acc[1][2]) && isnan(phi[0]) && nnb[1] == -1, "forces are NaN");
}

int main(int argc, char **argv)
{
    (void)argv;
    make_stars();
    make_targets();
    if (argc > 1) {
        nothing_opens();
        puts(wrong ? "failed" : "all as it should be");
        return wrong != 0;
    }
#if defined(SAPPORO_YEBISU)
    initialize(NJ);
    initialize(5);
#else
    initialize();
    initialize_special(1, (int[]){0});
#endif
    for (int k = NJ - 1; k >= 0; k--) send(k);
    compare(0.5, 0, "predicted");
    pick_nothing(NJ);
    pick_nothing(-1);
    compare(0.5, 1, "not predicted");
    pick_nothing(NJ);
    pick_nothing(NJ + 5000);
    pick_nothing(-1);
    star[7].mass = 40; /* after the second context is there */
    send(7);
    compare(0.75, 1, "not predicted, one sent again");
    compare(1.25, 0, "predicted again");
    for (int still = 0; still < 2; still++) {
        send_without_position(5);
        if (still)
            no_predict_all(1.25, NJ);
        else
            predict_all(1.25, NJ);
        ask(3, NJ);
        check(isnan(acc[0][0]) && isnan(phi[2]), "a particle without a position spoils forces with it");
        ask(3, 5);
        check(!isnan(acc[0][0]) && !isnan(phi[2]), "and no others");
        send(5);
        compare(1.25, still, still ? "not predicted, after it was sent" : "predicted, after it was sent");
    }
    x[3][1] = NAN;
    ask(5, NJ);
    check(isnan(acc[3][0]) && isnan(phi[3]) && nnb[3] == -1 && !isnan(acc[4][0]), "NaN stays in its row");
    ask(2, 0);
    check(acc[0][0] == 0 && phi[0] == 0 && nnb[0] == -1, "no particles, no force");
    acc[0][0] = 5;
    ask(0, NJ);
    check(acc[0][0] == 5, "no rows");
    puts(wrong ? "failed" : "all as it should be");
    return wrong != 0;
}
