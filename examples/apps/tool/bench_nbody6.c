/*
 * bench_nbody6.c - see bench_nbody6.h: does the calls of libnbody6pp_gpu, through sapporo.h.
 *
 * A call of the regular force computes forces without the neighbours, and reads every list; the first call on a block
 * of stars follows the upload of all stars.  A call of the irregular force moves the time and sums over the lists.
 */
#include "bench_nbody6.h"
#include "util.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SAMPLES = 10000, WARM = 2, FEWEST = 3, CHECKED = 8 };

static const double LONG_ENOUGH = 5;    /* seconds of samples after which a few are enough */
static const double GOOD_ENOUGH = 1e-5; /* error of the sum of both forces, against a plain sum over all stars */

typedef struct session {
    const nbody6_request *asked;
    int nj, ni;
    sapporo *context, *request; /* contexts of regular and of irregular forces */
    model cluster;
    targets stars;
    double (*x)[3], (*v)[3], *mass; /* [nj] */
    double *dtr;
    int *address, *entry, **list, *length, room; /* room: entries of each list */
    forces regular, irregular;
    long calls, members;
    double sent, regular_time, irregular_time, error; /* seconds: with the upload before, of the forces alone */
    char failure[256];
} session;

static int give_up(session *on, sapporo *context, const char *call)
{
    snprintf(on->failure, sizeof on->failure, "%s: %s", call, sapporo_last_error(context));
    return -1;
}

/* Stores stars as the regular force needs them. */
static int send(session *on)
{
    const sapporo_particles columns = {
        .size = sizeof columns, .mass = {on->mass, 0}, .derivative = {{on->x, 0}, {on->v, 0}}};
    return sapporo_set_particles(on->context, 0, on->nj, &columns) ? give_up(on, on->context, "sapporo_set_particles")
                                                                   : 0;
}

/* Stores stars with derivatives, as the irregular force needs them. */
static int send_all(session *on)
{
    const sapporo_particle *p = on->cluster.particle;
    const ptrdiff_t stride = sizeof *p;
    sapporo_particles columns = {.size = sizeof columns, .mass = {&p->mass, stride}};
    for (int d = 0; d < 4; d++) columns.derivative[d] = (sapporo_column){p->derivative[d], stride};
    return sapporo_set_particles(on->request, 0, on->nj, &columns) ? give_up(on, on->request, "sapporo_set_particles")
                                                                   : 0;
}

static int read_lists(session *on, sapporo_job *job)
{
    on->members = 0;
    if (sapporo_force_neighbour_lists(job, on->ni, on->room, on->room, on->entry, on->length))
        return give_up(on, on->context, "sapporo_force_neighbour_lists");
    for (int i = 0; i < on->ni; i++) on->members += on->length[i];
    return 0;
}

static int call_regular(session *on)
{
    if (sapporo_set_time(on->context, 0)) return give_up(on, on->context, "sapporo_set_time");
    const sapporo_regular sphere = {.size = sizeof sphere, .dtr = {on->dtr, 0}};
    const sapporo_request request = {.size = sizeof request,
                                     .nj = on->nj,
                                     .ni = on->ni,
                                     .x = {on->stars.x, 0},
                                     .v = {on->stars.v, 0},
                                     .h2 = {on->stars.h2, 0},
                                     .want = SAPPORO_WANT_LISTS,
                                     .pairs = SAPPORO_PAIRS_OUTSIDE,
                                     .regular = &sphere};
    const sapporo_result result = {
        .size = sizeof result, .acc = on->regular.acc, .jerk = on->regular.jerk, .pot = on->regular.pot};
    sapporo_job *job;
    if (sapporo_force_begin(on->context, &request, &job)) return give_up(on, on->context, "sapporo_force_begin");
    const int status =
        sapporo_force_end(job, on->ni, &result) ? give_up(on, on->context, "sapporo_force_end") : read_lists(on, job);
    sapporo_force_free(job);
    return status;
}

static int call_sent(session *on) { return send(on) ? -1 : call_regular(on); }

static int call_irregular(session *on)
{
    const sapporo_neighbour_request request = {.size = sizeof request,
                                               .ni = on->ni,
                                               .address = on->address,
                                               .list = (const int *const *)on->list,
                                               .length = on->length};
    const sapporo_result result = {
        .size = sizeof result, .acc = on->irregular.acc, .jerk = on->irregular.jerk, .nearest = on->irregular.nearest};
    if (sapporo_set_time(on->request, (double)(on->calls++ % 64) * 0x1p-30))
        return give_up(on, on->request, "sapporo_set_time");
    return sapporo_neighbour_force(on->request, &request, &result) ? give_up(on, on->request, "sapporo_neighbour_force")
                                                                   : 0;
}

static int measure(session *on, int (*call)(session *), double *median)
{
    double *sample = allocate(MOST_SAMPLES, sizeof *sample);
    int status = 0, n = 0;
    for (int k = 0; k < WARM && !status; k++) status = call(on);
    for (const double start = now(); !status && n < MOST_SAMPLES; n++) {
        if (n >= on->asked->repeat && now() - start >= on->asked->min_time) break;
        if (n >= FEWEST && now() - start >= LONG_ENOUGH) break;
        const double before = now();
        status = call(on);
        sample[n] = now() - before;
    }
    if (!status) {
        sort_values(sample, (size_t)n);
        *median = quantile(sample, (size_t)n, 0.5);
    }
    free(sample);
    return status;
}

static int measure_both(session *on)
{
    if (measure(on, call_sent, &on->sent) || measure(on, call_regular, &on->regular_time)) return -1;
    if (send_all(on) || measure(on, call_irregular, &on->irregular_time)) return -1;
    on->calls = 0; /* time 0 again */
    return call_irregular(on);
}

/* Checks the sum of both forces against a plain sum over all stars, for a few of the stars. */
static void check(session *on)
{
    const int step = on->ni / CHECKED > 0 ? on->ni / CHECKED : 1;
    for (int i = 0; i < on->ni; i += step) {
        double sum[3] = {0}, size = 0, error = 0;
        for (int j = 0; j < on->nj; j++) {
            const double *x = on->cluster.particle[j].derivative[0];
            const double d[3] = {x[0] - on->stars.x[i][0], x[1] - on->stars.x[i][1], x[2] - on->stars.x[i][2]};
            const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            for (int c = 0; c < 3 && r2 > 0; c++) sum[c] += on->cluster.particle[j].mass * d[c] / (r2 * sqrt(r2));
        }
        for (int c = 0; c < 3; c++) {
            const double both = on->regular.acc[i][c] + on->irregular.acc[i][c];
            error += (both - sum[c]) * (both - sum[c]);
            size += sum[c] * sum[c];
        }
        const double off = sqrt(error / size);
        if (!(off <= on->error)) on->error = isnan(off) ? INFINITY : off;
    }
    if (!(on->error <= GOOD_ENOUGH)) snprintf(on->failure, sizeof on->failure, "forces are off by %.1e", on->error);
}

static void prepare(session *on)
{
    on->cluster = model_plummer(on->nj);
    on->stars = model_targets(&on->cluster, 1, 0);
    if (on->ni > on->nj) on->ni = on->nj;
    model_list_radii(&on->stars, on->nj, on->asked->list_length);
    on->room = 8 * on->asked->list_length + 64;
    on->regular = forces_new(on->ni, 1);
    on->irregular = forces_new(on->ni, 1);
    on->x = allocate((size_t)on->nj, sizeof *on->x);
    on->v = allocate((size_t)on->nj, sizeof *on->v);
    on->mass = allocate((size_t)on->nj, sizeof *on->mass);
    for (int j = 0; j < on->nj; j++) {
        const sapporo_particle *p = &on->cluster.particle[j];
        memcpy(on->x[j], p->derivative[0], sizeof on->x[j]);
        memcpy(on->v[j], p->derivative[1], sizeof on->v[j]);
        on->mass[j] = p->mass;
    }
    on->dtr = allocate((size_t)on->ni, sizeof *on->dtr);
    on->address = allocate((size_t)on->ni, sizeof *on->address);
    on->length = allocate((size_t)on->ni, sizeof *on->length);
    on->list = allocate((size_t)on->ni, sizeof *on->list);
    on->entry = allocate((size_t)on->ni * (size_t)on->room, sizeof *on->entry);
    for (int i = 0; i < on->ni; i++) {
        on->dtr[i] = 0x1p-10;
        on->address[i] = i;
        on->list[i] = on->entry + (size_t)i * (size_t)on->room;
    }
}

static void release(session *on)
{
    sapporo_close(on->context);
    sapporo_close(on->request);
    model_free(&on->cluster);
    targets_free(&on->stars);
    forces_free(&on->regular);
    forces_free(&on->irregular);
    free(on->x);
    free(on->v);
    free(on->mass);
    free(on->dtr);
    free(on->address);
    free(on->length);
    free(on->list);
    free(on->entry);
}

static void print(const session *on, const char *kind)
{
    const double pairs = (double)on->ni * on->nj, entries = (double)on->members;
    if (!on->asked->json && on->failure[0] != '\0') {
        printf("nj %7d  ni %6d  no result: %s\n", on->nj, on->ni, on->failure);
    } else if (!on->asked->json) {
        printf("nj %7d  ni %6d  lists of %5.1f  regular %10.3e s %9.3e inter./s  with sending %10.3e s  "
               "irregular %10.3e s %9.3e inter./s  %s\n",
               on->nj, on->ni, entries / on->ni, on->regular_time, pairs / on->regular_time, on->sent,
               on->irregular_time, entries / on->irregular_time, kind);
    } else {
        json_begin(NULL, '{');
        json_text("case", "nbody6");
        json_text("engine", kind);
        json_integer("nj", on->nj);
        json_integer("ni", on->ni);
        if (on->failure[0] != '\0') json_text("failure", on->failure);
        json_real("list_length", entries / on->ni);
        json_real("regular", on->regular_time);
        json_real("regular_per_second", pairs / on->regular_time);
        json_real("regular_with_sending", on->sent);
        json_real("irregular", on->irregular_time);
        json_real("irregular_per_second", entries / on->irregular_time);
        json_real("acc_error", on->error);
        json_end('}');
    }
    fflush(stdout);
}

static int run_case(const nbody6_request *asked, int nj, int ni)
{
    const settings *const s = &asked->what;
    const sapporo_options options = {.size = sizeof options,
                                     .precision = s->precision,
                                     .backend = s->backend,
                                     .cpu_isa = s->isa,
                                     .threads = s->threads,
                                     .devices = s->device,
                                     .ndevices = s->ndevices};
    session on = {.asked = asked, .nj = nj, .ni = ni};
    char kind[128] = "";
    if (sapporo_open(&options, &on.context) < 0 || sapporo_open(&options, &on.request) < 0) {
        snprintf(on.failure, sizeof on.failure, "%s", sapporo_last_error(NULL));
    } else {
        prepare(&on);
        if (measure_both(&on) == 0) check(&on);
        snprintf(kind, sizeof kind, "%s", sapporo_kind(on.context));
    }
    print(&on, kind);
    release(&on);
    return on.failure[0] != '\0';
}

int bench_nbody6(const nbody6_request *asked)
{
    int failed = 0;
    for (int j = 0; j < asked->nj.n; j++)
        for (int i = 0; i < asked->ni.n; i++) failed += run_case(asked, asked->nj.value[j], asked->ni.value[i]);
    return failed;
}
