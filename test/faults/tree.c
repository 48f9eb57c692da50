/* tree.c - a session of sapporo_tree.h: build, refresh, forces of all, of some, and at places, neighbours, tidal
 * tensors.
 */
#include "client.h"
#include "sapporo.h"

#include <math.h>
#include <string.h>

/* With fewer particles a tree asks for memory at fewer places. */
enum { N = 1500, ROWS = 100, PLACES = 30, ROOM = 20000 };

static double eps2;       /* of the session: Plummer's */
static double lengths[N]; /* of the session with a spline, all short: its forces are those of points */
static sapporo_softening softening;
static int soft; /* half of eps2 is in Plummer lengths of the particles */
static double acc[N][3], pot[N], acc2[ROWS][3], jerk2[ROWS][3], pot2[ROWS];
static int active[ROWS];

/* What a tree's force may differ by from the sum over all pairs, in units of the largest. */
static const double of_acc = 2e-2, of_pot = 2e-3, of_tidal = 5e-2;

static void clear(void) { memset(acc, 0x41, sizeof acc), memset(pot, 0x41, sizeof pot); }

static int set(sapporo_tree *t)
{
    sapporo_tree_particles all = {.size = sizeof all, .n = N, .x = {client_x, 0}, .mass = {client_m, 0}};
    for (int k = 0; k < N; k++) lengths[k] = soft ? sqrt(eps2 / 4) : 1e-5 * (k % 3);
    if (softening || soft) all.h.base = lengths;
    return client_told("sapporo_tree_set", sapporo_tree_set(t, &all));
}

/* Rows 0 to ROWS-1 of all particles, or of ROWS active ones. */
static void force(sapporo_tree *t, int of_active)
{
    double target_x[ROWS][3], target_v[ROWS][3] = {{0}};
    const int ni = of_active ? ROWS : N;
    const sapporo_tree_request r = {.size = sizeof r, .ni = ni, .active = of_active ? active : NULL};
    for (int i = 0; i < ROWS; i++) active[i] = of_active ? i * 23 % N : i;
    for (int i = 0; i < ROWS; i++) memcpy(target_x[i], client_x[active[i]], sizeof target_x[i]);
    client_direct(N, ROWS, CLIENT_READ(target_x), CLIENT_READ(target_v), active, eps2, acc2, jerk2, pot2, NULL);
    clear();
    const int status = client_told("sapporo_tree_force", sapporo_tree_force(t, &r, acc, pot));
    client_check("tree acc", status, acc[0], acc2[0], 3 * ROWS, of_acc);
    client_check("tree pot", status, pot, pot2, ROWS, of_pot);
    for (int i = ROWS; i < ni; i++) client_require(status < 0 ? isnan(pot[i]) : pot[i] < 0, "rows beyond the first");
}

static void force_at_places(sapporo_tree *t)
{
    double at[PLACES][3];
    const sapporo_tree_request r = {.size = sizeof r, .ni = PLACES, .x = {at, 0}, .h = {soft ? lengths : NULL, 0}};
    for (int i = 0; i < PLACES; i++)
        for (int c = 0; c < 3; c++) at[i][c] = client_x[i][c] + 0.125;
    client_direct(N, PLACES, CLIENT_READ(at), CLIENT_READ(client_v), NULL, eps2, acc2, jerk2, pot2, NULL);
    clear();
    const int status = client_told("sapporo_tree_force", sapporo_tree_force(t, &r, acc, pot));
    client_check("acc at places", status, acc[0], acc2[0], 3 * PLACES, of_acc);
    client_check("pot at places", status, pot, pot2, PLACES, of_pot);
}

/* Neighbours of the first particles, or of their places, of which each is its own. */
static void neighbours(sapporo_tree *t, int places)
{
    static int list[ROOM];
    long long first[PLACES + 1];
    double h[PLACES];
    for (int i = 0; i < PLACES; i++) h[i] = 0.3;
    for (int i = 0; i <= PLACES; i++) first[i] = 12345;
    const sapporo_column x = {client_x, 0}, radius = {h, 0};
    const sapporo_tree_request r = {.size = sizeof r, .ni = PLACES};
    const int status =
        places
            ? client_told("sapporo_tree_neighbours", sapporo_tree_neighbours(t, PLACES, x, radius, first, ROOM, list))
            : client_told("sapporo_tree_within", sapporo_tree_within(t, &r, radius, first, ROOM, list));
    for (int i = 0; i < PLACES; i++) {
        long long n = 0;
        int good = first[0] == 0;
        for (int j = 0; j < N && status >= 0; j++) {
            double r2 = 0;
            for (int c = 0; c < 3; c++) r2 += (client_x[j][c] - client_x[i][c]) * (client_x[j][c] - client_x[i][c]);
            if (r2 < h[i] * h[i] && (places || j != i)) good &= first[i] + n < ROOM && list[first[i] + n] == j, n++;
        }
        client_require(good && first[i + 1] - first[i] == n, status < 0 ? "LISTS AFTER AN ERROR" : "WRONG LISTS");
    }
}

/* The nearest to a few particles, and to all, of which one in SOME is compared: to compare takes longest. */
static void nearest(sapporo_tree *t, int ni)
{
    enum { K = 3, SOME = 25 };
    static int list[N * K];
    static double distance2[N * K];
    const sapporo_tree_request r = {.size = sizeof r, .ni = ni};
    for (int e = 0; e < ni * K; e++) list[e] = 12345, distance2[e] = 12345;
    const int status = client_told("sapporo_tree_nearest", sapporo_tree_nearest(t, &r, K, list, distance2));
    for (int i = 0; i < ni; i++) {
        int good = 1, before = 0;
        for (int j = 0; j < K; j++) good &= status < 0 ? list[i * K + j] == -1 && isnan(distance2[i * K + j]) : 1;
        if (status >= 0 && ni == N && i % SOME) continue;
        for (int j = 0; j < N && status >= 0; j++) {
            double r2 = 0;
            for (int c = 0; c < 3; c++) r2 += (client_x[j][c] - client_x[i][c]) * (client_x[j][c] - client_x[i][c]);
            before += j != i && r2 < distance2[i * K + K - 1];
        }
        client_require(good && (status < 0 || before == K - 1), status < 0 ? "LISTS AFTER AN ERROR" : "WRONG LISTS");
    }
}

/*
 * Tensors of all particles.  The first column of those of a few is the jerk that their velocity along x makes, by a
 * direct sum.
 */
static void tidal(sapporo_tree *t)
{
    static double tensors[N][6], still[ROWS][3];
    double target_x[ROWS][3], target_v[ROWS][3] = {{0}}, column[ROWS][3];
    const sapporo_tree_request r = {.size = sizeof r, .ni = N};
    for (int i = 0; i < ROWS; i++) active[i] = i;
    memcpy(target_x, client_x, sizeof target_x);
    client_direct(N, ROWS, CLIENT_READ(target_x), CLIENT_READ(target_v), active, eps2, acc2, still, pot2, NULL);
    for (int i = 0; i < ROWS; i++) target_v[i][0] = 1;
    client_direct(N, ROWS, CLIENT_READ(target_x), CLIENT_READ(target_v), active, eps2, acc2, jerk2, pot2, NULL);
    memset(tensors, 0x41, sizeof tensors);
    const int status = client_told("sapporo_tree_tidal", sapporo_tree_tidal(t, &r, tensors));
    for (int i = 0; i < ROWS; i++)
        for (int c = 0; c < 3; c++) jerk2[i][c] -= still[i][c], column[i][c] = tensors[i][c];
    client_check("tidal tensors", status, column[0], jerk2[0], 3 * ROWS, of_tidal);
    for (int i = 0; i < N; i++) client_require(status < 0 ? isnan(tensors[i][5]) : isfinite(tensors[i][5]), "tensors");
}

/* A little further, by which a refreshed tree is still good, and old moments are not. */
static void drift(void)
{
    for (int k = 0; k < N; k++) {
        for (int c = 0; c < 3; c++) client_x[k][c] = 1.5 * client_x[k][c] + 0.25;
        client_m[k] *= 2;
    }
}

/* ---- builds and refreshes that fail leave the tree as it was ---- */

static double last_acc[N][3], last_pot[N];
static enum { NO_TREE, UNKNOWN, KNOWN } last; /* whether there is a tree, and whether its forces are kept */

static int force_of_all(sapporo_tree *t)
{
    const sapporo_tree_request r = {.size = sizeof r, .ni = N};
    clear();
    return client_told("sapporo_tree_force", sapporo_tree_force(t, &r, acc, pot));
}

/*
 * Keeps the forces of the present tree.  The criterion of acceleration takes the accelerations of the force before, so
 * forces repeat to the bit only once these have settled.
 */
static void keep_forces(sapporo_tree *t)
{
    enum { FORCES = 6 };
    last = UNKNOWN;
    for (int k = 0; k < FORCES && last != KNOWN; k++) {
        if (force_of_all(t) < 0) return;
        if (k > 0 && memcmp(acc, last_acc, sizeof acc) == 0 && memcmp(pot, last_pot, sizeof pot) == 0) last = KNOWN;
        memcpy(last_acc, acc, sizeof acc);
        memcpy(last_pot, pot, sizeof pot);
    }
}

static void check_old_tree(sapporo_tree *t)
{
    const int status = force_of_all(t);
    for (int i = 0; i < N && status < 0; i++)
        client_require(isnan(pot[i]) && isnan(acc[i][0]), "FINITE NUMBER AFTER AN ERROR of a tree");
    if (status < 0) return;
    client_require(last != NO_TREE, "forces of a tree that was never built");
    client_require(last != KNOWN || (memcmp(acc, last_acc, sizeof acc) == 0 && memcmp(pot, last_pot, sizeof pot) == 0),
                   "FINITE WRONG NUMBER: forces of a tree whose build or refresh failed differ from the earlier ones");
}

/* A tree of one leaf has right forces, after all pairs. */
static void check_depth(sapporo_tree *t)
{
    sapporo_tree_statistics s = {.size = sizeof s};
    if (client_told("sapporo_tree_get_statistics", sapporo_tree_get_statistics(t, &s)) >= 0)
        client_require(s.n == N && s.depth > 2 && s.cells > 100, "the tree has hardly any cells");
}

/* Builds or refreshes, twice if the first attempt fails. */
static int make(const char *what, int (*call)(sapporo_tree *), sapporo_tree *t)
{
    int good = 0;
    if (last != NO_TREE) keep_forces(t);
    for (int attempt = 0; attempt < 2 && !good; attempt++) {
        good = client_told(what, call(t)) >= 0;
        if (!good) check_old_tree(t);
    }
    if (good) last = UNKNOWN;
    if (good) check_depth(t);
    return good;
}

/* Takes new particles, builds or refreshes. */
static int renew(const char *what, int (*call)(sapporo_tree *), sapporo_tree *t)
{
    int taken = 0;
    for (int attempt = 0; attempt < 2 && !taken; attempt++) taken = set(t) >= 0;
    return taken && make(what, call, t);
}

static void use(sapporo_tree *t)
{
    last = NO_TREE;
    client_move(0);
    if (!renew("sapporo_tree_build", sapporo_tree_build, t)) return;
    force(t, 0);
    force(t, 1);
    drift();
    if (!renew("sapporo_tree_refresh", sapporo_tree_refresh, t)) return;
    force(t, 0);
    force_at_places(t);
    neighbours(t, 1);
    client_move(1);
    if (!renew("sapporo_tree_build", sapporo_tree_build, t)) return;
    force(t, 1);
    neighbours(t, 0);
    nearest(t, PLACES);
    nearest(t, N);
    tidal(t);
}

/* The trees of a session. */
static const struct {
    sapporo_tree_kind kind;
    sapporo_tree_mac mac;
    sapporo_softening softening;
    int soft;
    double error;
} trees[] = {{SAPPORO_TREE_OCTREE, SAPPORO_MAC_OPENING, SAPPORO_SOFTENING_PLUMMER, 0, 0},
             {SAPPORO_TREE_KDTREE, SAPPORO_MAC_ACCELERATION, SAPPORO_SOFTENING_PLUMMER, 1, 1e-4},
             {SAPPORO_TREE_KDTREE, SAPPORO_MAC_OPENING, SAPPORO_SOFTENING_SPLINE_MEAN, 0, 0}};

static void session_of(sapporo_tree_kind kind, sapporo_tree_mac mac, double error)
{
    eps2 = softening ? 0 : 0.01;
    const sapporo_tree_options options = {.size = sizeof options,
                                          .kind = kind,
                                          .mac = mac,
                                          .eps2 = soft ? eps2 / 2 : eps2,
                                          .error = error,
                                          .softening = softening};
    sapporo_tree *t = NULL;
    const int status = client_told("sapporo_tree_create", sapporo_tree_create(&options, N, &t));
    client_require(status < 0 ? t == NULL : t != NULL, "sapporo_tree_create: status and handle differ");
    if (t) use(t);
    sapporo_tree_destroy(t);
}

static void session(void)
{
    for (size_t k = 0; k < sizeof trees / sizeof trees[0]; k++)
        softening = trees[k].softening, soft = trees[k].soft, session_of(trees[k].kind, trees[k].mac, trees[k].error);
}

int main(int argc, char **argv)
{
    const struct client client = {"tree", session};
    return client_main(argc, argv, &client);
}
