/*
 * stepper_device.c - steppers over ranks, of trees, direct sums and Hermite schemes, whose particles stay on the
 * devices of their ranks have the bits of those that cross to the host for each step: orbits, levels, energies,
 * neighbours, changes of particles, and restarts.  Linked with hosted.c, whose device memory has addresses or not.
 */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hosted.h"
#include "mpi/handle.h"
#include "mpi/stepper.h"
#include "tree_problem.h"

enum { N = 700, ADDED = 40 };
#define MIDDLE 0.05
#define END    0.11

/* What is integrated, and how. */
struct run {
    const char *name;
    sapporo_tree_kind kind;
    sapporo_tree_mac mac;
    sapporo_step_scheme scheme;
    int rebuild, light, lengths, fields; /* every `light`-th particle is massless; lengths 2: but for rank 0 */
    enum split how;
    int direct;              /* 1: direct sums */
    int iterations, nearest; /* of Hermite schemes */
    sapporo_precision precision;
    double size; /* of the system; 0: 1 */
};

/* Particles of this rank at the end, and the energies of all. */
struct end {
    int n, level[N + ADDED];
    double x[N + ADDED][3], v[N + ADDED][3], acc[N + ADDED][3], pot[N + ADDED], energy[2];
    int nearest[N + ADDED];
    double nearest_r2[N + ADDED];
};

/* Whether a run is of a Hermite scheme. */
static int is_hermite(const struct run *r) { return r->scheme >= SAPPORO_STEPS_HERMITE4; }

/* The rank that gives particle k. */
static int giver_of(enum split how, int k)
{
    if (ranks == 1 || how == ALL_ON_FIRST) return 0;
    if (how == PIECES) return 1 + k * (ranks - 1) / N; /* rank 0 has none */
    return k * ranks / N;
}

/* The particles of this rank. */
struct part {
    int n;
    double x[N][3], v[N][3], mass[N], h[N];
};

static void make_part(const struct run *r, const struct model *all, struct part *p)
{
    const double size = r->size > 0 ? r->size : 1;
    p->n = 0;
    for (int k = 0; k < N; k++) {
        if (giver_of(r->how, k) != rank) continue;
        const int i = p->n++;
        for (int c = 0; c < 3; c++) {
            p->x[i][c] = all->x[k][c] * size;
            p->v[i][c] = 0.4 * sin(k * (c + 1.7) + c) * size;
        }
        p->mass[i] = r->light > 0 && k % r->light == 0 ? 0 : all->mass[k] * size * size * size;
        p->h[i] = (k % 3 ? 0.03 : 0.2) * size;
    }
}

static sapporo_mpi_stepper *open_stepper(const struct run *r)
{
    static const sapporo_field field[] = {{.kind = SAPPORO_FIELD_PLUMMER, .strength = 2, .a = 1}};
    const sapporo_precision precision = r->precision ? r->precision : SAPPORO_SP;
    const sapporo_tree_options tree = options_of(r->kind, r->mac, precision);
    const sapporo_stepper_options how = {.size = sizeof how,
                                         .tree = &tree,
                                         .method = r->direct ? SAPPORO_STEP_DIRECT : SAPPORO_STEP_METHOD_DEFAULT,
                                         .scheme = r->scheme,
                                         .dt = 1.0 / 32,
                                         .eta = 0.02,
                                         .levels = 5,
                                         .iterations = r->iterations,
                                         .nearest = r->nearest,
                                         .rebuild = r->rebuild,
                                         .nfields = r->fields,
                                         .fields = field};
    const sapporo_mpi_stepper_options o = {.size = sizeof o, .stepper = &how, .timeout = 60};
    sapporo_mpi_stepper *s = NULL;
    const int status = sapporo_mpi_stepper_create(MPI_COMM_WORLD, &o, N + ADDED, &s);
    if (status) report(0, "%s: create: %s", r->name, sapporo_mpi_stepper_last_error(NULL));
    return s;
}

static sapporo_stepper_particles columns(const struct run *r, const struct part *p, int n)
{
    const int has_lengths = r->lengths == 1 || (r->lengths == 2 && rank > 0);
    return (sapporo_stepper_particles){.size = sizeof(sapporo_stepper_particles),
                                       .n = n,
                                       .x = {p->x, 0},
                                       .v = {p->v, 0},
                                       .mass = {p->mass, 0},
                                       .h = {has_lengths ? p->h : NULL, 0}};
}

/* Collective.  Particles come and go in the middle of a run. */
static int change(const struct run *r, sapporo_mpi_stepper *s, const struct part *p, int *n)
{
    static struct part more;
    const int some = p->n > 3 && rank % 2 == 0 ? 3 : 0, gone[3] = {0, p->n / 2, p->n > 1 ? p->n - 1 : 0};
    memset(&more, 0, sizeof more);
    for (int i = 0; i < ADDED; i++) {
        for (int c = 0; c < 3; c++) more.x[i][c] = 2 * sin(i * (c + 1.1) + rank), more.v[i][c] = 0.1 * cos(i + c);
        more.mass[i] = 1e-4, more.h[i] = 0.1;
    }
    sapporo_stepper_particles columns_of_more = columns(r, &more, rank % 2 ? ADDED : 0);
    columns_of_more.time = sapporo_mpi_stepper_get_time(s);
    *n += columns_of_more.n - some;
    int status = sapporo_mpi_stepper_remove(s, some, gone);
    if (!status) status = sapporo_mpi_stepper_add(s, &columns_of_more);
    return status;
}

/* Collective.  Copies out what a run has come to. */
static int finish(const struct run *r, sapporo_mpi_stepper *s, int n, struct end *e)
{
    sapporo_stepper_totals all = {.size = sizeof all};
    const sapporo_stepper_output o = {.size = sizeof o,
                                      .n = n,
                                      .x = e->x,
                                      .v = e->v,
                                      .acc = e->acc,
                                      .pot = is_hermite(r) ? NULL : e->pot,
                                      .level = e->level,
                                      .nearest = r->nearest ? e->nearest : NULL,
                                      .nearest_r2 = r->nearest ? e->nearest_r2 : NULL};
    memset(e, 0, sizeof *e);
    int status = sapporo_mpi_stepper_energy(s, &all);
    if (!status && n > 0) status = sapporo_mpi_stepper_get(s, &o);
    if (!status && is_hermite(r)) status = sapporo_mpi_stepper_get_potentials(s, n, e->pot);
    e->n = n;
    e->energy[0] = all.kinetic, e->energy[1] = all.potential;
    return status;
}

/* Collective.  A run; saves: it is saved in the middle, and another stepper goes on. */
static int integrate(const struct run *r, const struct part *p, int on_device, int saves, struct end *e)
{
    static const char file[] = "stepper_device.restart";
    hosted_addresses(on_device);
    sapporo_mpi_stepper *s = open_stepper(r);
    const sapporo_stepper_particles given = columns(r, p, p->n);
    int n = p->n, status = sapporo_mpi_stepper_set(s, &given);
    if (!status) status = sapporo_mpi_stepper_advance(s, MIDDLE, 0);
    if (!status && !saves) status = change(r, s, p, &n);
    if (!status && saves) status = sapporo_mpi_stepper_save(s, file);
    if (!status && saves) {
        sapporo_mpi_stepper_destroy(s);
        s = open_stepper(r);
        status = sapporo_mpi_stepper_restore(s, file);
        if (rank == 0) (void)unlink(file);
    }
    if (!status) status = sapporo_mpi_stepper_advance(s, END, 0);
    if (!status) status = finish(r, s, n, e);
    if (status) fprintf(stderr, "# %s: %s\n", r->name, sapporo_mpi_stepper_last_error(s));
    sapporo_mpi_stepper_destroy(s);
    hosted_addresses(1);
    return status;
}

static void test(const struct run *r)
{
    static struct end here, there;
    static struct part p;
    struct model all = clusters(N);
    make_part(r, &all, &p);
    for (int saves = 0; saves < 2; saves++) {
        const int bad = integrate(r, &p, 0, saves, &here) || integrate(r, &p, 1, saves, &there);
        report(!bad && here.n == there.n && memcmp(&here, &there, sizeof here) == 0, "%s%s: the same bits", r->name,
               saves ? ", restarted" : ", with changes");
        report(bad || here.n == 0 || (isfinite(here.x[0][0]) && here.x[0][0] != p.x[0][0]), "%s: particles move",
               r->name);
    }
    model_free(&all);
}

/* A force that fails on one rank, and calls on particles that are not finite: errors on all, and a stepper that goes
 * on.
 */
static void test_errors(void)
{
    static struct part p;
    const struct run r = {"errors", .lengths = 1, .mac = SAPPORO_MAC_ACCELERATION, .how = IN_TURN};
    struct model all = clusters(N);
    make_part(&r, &all, &p);
    sapporo_mpi_stepper *const s = open_stepper(&r);
    sapporo_stepper_particles given = columns(&r, &p, p.n);
    const double x = p.x[0][0];
    if (rank == ranks - 1) p.x[0][0] = NAN;
    const int bad = sapporo_mpi_stepper_set(s, &given);
    p.x[0][0] = x;
    const int right = sapporo_mpi_stepper_set(s, &given);
    report(bad == SAPPORO_ERR_NOT_FINITE && !right && !sapporo_mpi_stepper_advance(s, MIDDLE, 0),
           "a position that is not finite: %d, then %s", bad, sapporo_mpi_stepper_last_error(s));
    sapporo_mpi_stepper_destroy(s);
    model_free(&all);
}

/* ---- faults of the transport -------------------------------------------------------------------- */

/* Steps, and groups of transfers before them and in the first step, which stores all sources anew. */
enum { STEPS = 4, OF_TRIAL = 1, OF_SET = 2, OF_FIRST = 2 };

/* Takes steps until one fails; x[k]: where the particles are after k of them.  Returns the last status. */
static int take_steps(sapporo_mpi_stepper *s, int n, double (*x)[N][3], int *steps)
{
    int status = SAPPORO_OK;
    for (*steps = 0; !status; ++*steps) {
        const sapporo_stepper_output o = {.size = sizeof o, .n = n, .x = x[*steps]};
        const int bad = n > 0 ? sapporo_mpi_stepper_get(s, &o) : SAPPORO_OK;
        if (bad || *steps == STEPS) return bad;
        status = sapporo_mpi_stepper_advance(s, 1e6, 1);
    }
    --*steps;
    const sapporo_stepper_output o = {.size = sizeof o, .n = n, .x = x[*steps]};
    return n > 0 && sapporo_mpi_stepper_get(s, &o) ? (int)SAPPORO_ERR_ARGUMENT : status;
}

/* A fault of the last rank at a group of transfers: all ranks have the same error, and the particles stay. */
static void test_fault(const struct run *r, const struct part *p, double (*right)[N][3], const char *kind, int group)
{
    static double x[STEPS + 1][N][3];
    const sapporo_stepper_particles given = columns(r, p, p->n);
    char fault[40];
    int steps = 0;
    (void)snprintf(fault, sizeof fault, "%s %d %d", kind, ranks - 1, OF_TRIAL + group);
    (void)setenv("FAKE_NCCL", fault, 1);
    sapporo_mpi_stepper *const s = open_stepper(r);
    int status = sapporo_mpi_stepper_set(s, &given);
    if (!status) status = take_steps(s, p->n, x, &steps);
    (void)unsetenv("FAKE_NCCL");
    const int done = group > OF_SET + OF_FIRST ? group - OF_SET - OF_FIRST : 0;
    report(status == SAPPORO_MPI_ERR_NCCL && steps == done && strstr(sapporo_mpi_stepper_last_error(s), "NCCL failed"),
           "%s, %s at group %d: %d after %d steps, %s", r->name, kind, group, status, steps,
           sapporo_mpi_stepper_last_error(s));
    report(memcmp(x, right, (size_t)(done + (group > OF_SET)) * sizeof *x) == 0,
           "%s, %s at group %d: particles are where they were", r->name, kind, group);
    sapporo_mpi_stepper_destroy(s);
}

static void test_faults(const struct run *r)
{
    static double right[STEPS + 1][N][3];
    static struct part p;
    struct model all = clusters(N);
    int steps = 0;
    make_part(r, &all, &p);
    sapporo_mpi_stepper *const s = open_stepper(r);
    const sapporo_stepper_particles given = columns(r, &p, p.n);
    const int bad = sapporo_mpi_stepper_set(s, &given) || take_steps(s, p.n, right, &steps);
    report(!bad && steps == STEPS, "%s: %d steps without a fault", r->name, steps);
    sapporo_mpi_stepper_destroy(s);
    for (int group = 1; group <= OF_SET + OF_FIRST + STEPS - 1; group++) {
        test_fault(r, &p, right, "end", group);
        test_fault(r, &p, right, "async", group);
    }
    model_free(&all);
}

/* A step of a Hermite scheme: four collective waits of the stepper, one of its transport, and records from the device
 * to the device alone. */
static void test_traffic(const struct run *r)
{
    enum { RECORD = (3 * 5 + 5) * sizeof(double) }; /* of order 4 */
    static struct part p;
    struct model all = clusters(N);
    make_part(r, &all, &p);
    sapporo_mpi_stepper *const s = open_stepper(r);
    const sapporo_stepper_particles given = columns(r, &p, p.n);
    const int bad = sapporo_mpi_stepper_set(s, &given) || sapporo_mpi_stepper_advance(s, 1e6, 1) < 0;
    const sapporo_mpi_stepper *const h = sap_mpi_stepper_find(s);
    const sapporo_mpi *const sums = sap_mpi_find(h->sums);
    const sapporo_mpi_traffic mine = h->link.traffic, of_sums = sums->link.traffic;
    sapporo_stepper_statistics active = {.size = sizeof active};
    const int failed = sapporo_mpi_stepper_advance(s, 1e6, 1) < 0 || sapporo_mpi_stepper_get_statistics(s, &active);
    const long long sent = sums->link.traffic.device_bytes - of_sums.device_bytes;
    report(!bad && !failed && sent == (long long)active.active * RECORD * (ranks - 1),
           "%s: %lld bytes from device to device for %d active particles", r->name, sent, (int)active.active);
    report(sums->link.traffic.host_bytes == of_sums.host_bytes && h->link.traffic.host_bytes == mine.host_bytes,
           "%s: none through the host", r->name);
    /* the call compares its arguments first */
    report(h->link.traffic.waits - mine.waits == 5 && sums->link.traffic.waits - of_sums.waits == (ranks > 1),
           "%s: %lld waits of a step, and %lld", r->name, h->link.traffic.waits - mine.waits,
           sums->link.traffic.waits - of_sums.waits);
    sapporo_mpi_stepper_destroy(s);
    model_free(&all);
}

int main(int argc, char **argv)
{
    static const struct run all[] = {
        {"shared steps", .mac = SAPPORO_MAC_ACCELERATION, .rebuild = 1},
        {"block steps", .mac = SAPPORO_MAC_ACCELERATION, .scheme = SAPPORO_STEPS_BLOCK, .light = 7,
         .how = ALL_ON_FIRST},
        {"block steps, a rank without particles", .mac = SAPPORO_MAC_OPENING, .scheme = SAPPORO_STEPS_BLOCK,
         .how = PIECES},
        {"kd-tree, fields", .kind = SAPPORO_TREE_KDTREE, .mac = SAPPORO_MAC_ACCELERATION, .scheme = SAPPORO_STEPS_BLOCK,
         .light = 5, .fields = 1},
        {"lengths", .mac = SAPPORO_MAC_ACCELERATION, .scheme = SAPPORO_STEPS_BLOCK, .light = 9, .lengths = 1},
        {"lengths of some, a rank without particles", .mac = SAPPORO_MAC_OPENING, .lengths = 2, .how = ALL_ON_FIRST},
        {"massless particles alone", .mac = SAPPORO_MAC_ACCELERATION, .light = 1, .fields = 1},
        {"direct sums", .direct = 1},
        {"direct sums, block steps, massless particles", .direct = 1, .scheme = SAPPORO_STEPS_BLOCK, .light = 7,
         .fields = 1, .precision = SAPPORO_DS},
        {"direct sums, lengths of some", .direct = 1, .scheme = SAPPORO_STEPS_BLOCK, .lengths = 2, .light = 9,
         .how = PIECES},
        {"direct sums in other units", .direct = 1, .lengths = 1, .size = 1e30, .how = ALL_ON_FIRST},
        {"direct sums of no source", .direct = 1, .light = 1, .fields = 1},
        {"Hermite scheme, order 4", .direct = 1, .scheme = SAPPORO_STEPS_HERMITE4, .light = 7, .nearest = 1,
         .precision = SAPPORO_DS},
        {"Hermite scheme, order 6, lengths, iterations", .direct = 1, .scheme = SAPPORO_STEPS_HERMITE6, .lengths = 1,
         .iterations = 2, .precision = SAPPORO_DP, .how = PIECES},
        {"Hermite scheme, order 8, fields", .direct = 1, .scheme = SAPPORO_STEPS_HERMITE8, .light = 3, .fields = 1,
         .precision = SAPPORO_DP, .how = ALL_ON_FIRST},
        {"Hermite scheme, order 4, in other units", .direct = 1, .scheme = SAPPORO_STEPS_HERMITE4, .iterations = 3,
         .size = 1e30, .precision = SAPPORO_DS, .nearest = 1},
        {"Hermite scheme of no source", .direct = 1, .scheme = SAPPORO_STEPS_HERMITE4, .light = 1, .fields = 1,
         .precision = SAPPORO_DS}};
    ranks_begin(&argc, &argv);
    if (has_device()) {
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) test(&all[k]);
        test_errors();
        test_traffic(
            &(struct run){"Hermite scheme", .direct = 1, .scheme = SAPPORO_STEPS_HERMITE4, .precision = SAPPORO_DS});
        if (ranks > 1)
            test_faults(&(struct run){"Hermite scheme", .direct = 1, .scheme = SAPPORO_STEPS_HERMITE4,
                                      .precision = SAPPORO_DS, .light = 5});
    }
    return ranks_end();
}
