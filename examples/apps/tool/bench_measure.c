/*
 * bench_measure.c - measures one case: prepare, warm up, time single calls, check the numbers.
 */
#include "bench.h"
#include "util.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SAMPLES = 100000, CHECKED = 8, IN_CACHE = 64, FEWEST_SAMPLES = 3 };

static const double LONG_ENOUGH = 10.0; /* seconds of samples after which a few are enough */

const double BENCH_EPS2 = 1.0 / 65536.0;

/* The data of a case. */
typedef struct session {
    const bench_case *what;
    bench_result *result;
    client *self;
    model cluster;
    targets stars;
    forces out;
    int *order; /* order of addresses, for BENCH_SETJ */
    long calls;
    int first, computed; /* the i-particles of the last call */
    double time;         /* time of the last call */
    double untimed;      /* seconds of the last call that are not counted */
    batch_case *many;    /* BENCH_BATCH */
} session;

static int give_up(session *on)
{
    snprintf(on->result->failure, sizeof on->result->failure, "%s", on->what->type->error(on->self));
    return -1;
}

/* ---- what is timed ------------------------------------------------------------------- */

/* Sets a time that differs from call to call and for which the predictor is accurate. */
static int advance(session *on)
{
    on->time = (double)(on->calls % 1024 + 1) * 0x1p-20;
    return on->what->type->set_time(on->self, on->time);
}

/* Computes one force, on the next ni stars each time. */
static int call_force(session *on)
{
    const bench_case *what = on->what;
    const int places = on->stars.n - what->ni + 1;
    on->first = (int)(on->calls * what->ni % places);
    const batch part = {&on->stars, on->first, what->ni, 0};
    if (what->advance && what->type->order != 2 && advance(on) != 0) return give_up(on);
    on->calls++;
    on->computed = what->ni;
    return what->type->force(on->self, what->nj, &part, BENCH_EPS2, what->want, &on->out) == 0 ? 0 : give_up(on);
}

/*
 * Stores one star at every address.  The data are those of few stars, which stay in the cache, as they are after a
 * corrector step: so the library's memory is timed, not the client's.
 */
static int call_setj(session *on)
{
    int (*const set)(client *, const model *, int, int) = on->what->type->set;
    const int n = on->cluster.n, few = n < IN_CACHE ? n : IN_CACHE;
    for (int k = 0, star = 0; k < n; k++, star = star + 1 < few ? star + 1 : 0)
        if (set(on->self, &on->cluster, star, on->order[k]) != 0) return give_up(on);
    return 0;
}

/* Reads the stars of a block into the caches, where a client has them that has just corrected them. */
static void read_block(const session *on)
{
    volatile double seen = 0;
    for (int k = 0; k < on->what->ni && k < on->cluster.n; k++) {
        const sapporo_particle *star = &on->cluster.particle[on->order[(on->calls * on->what->ni + k) % on->cluster.n]];
        for (int d = 0; d < SAPPORO_DERIVATIVES; d++) seen = seen + star->derivative[d][0] + star->derivative[d][2];
        seen = seen + star->mass + star->time;
    }
}

/*
 * Does a block step: stores as many stars as it has i-particles, at addresses in no order, and computes their forces.
 */
static int call_step(session *on)
{
    const bench_case *what = on->what;
    const int n = on->cluster.n;
    const double before = now();
    read_block(on);
    on->untimed = now() - before;
    for (int k = 0; k < what->ni && k < n; k++) {
        const int star = on->order[(on->calls * what->ni + k) % n];
        if (what->type->set(on->self, &on->cluster, star, star) != 0) return give_up(on);
    }
    return call_force(on);
}

/* Does everything from the first star to the first force, in a new context; the time of opening is not counted. */
static int call_load(session *on)
{
    const client_type *type = on->what->type;
    const double before = now();
    type->close(on->self);
    on->self = type->open(&on->what->what);
    if (type->error(on->self)[0] != '\0' || type->set(on->self, &on->cluster, 0, 0) != 0) return give_up(on);
    on->untimed = now() - before;
    for (int k = 0; k < on->cluster.n; k++)
        if (type->set(on->self, &on->cluster, k, k) != 0) return give_up(on);
    return call_force(on);
}

static int call_open(session *on)
{
    client *opened = on->what->type->open(&on->what->what);
    const int failed = on->what->type->error(opened)[0] != '\0';
    if (failed) snprintf(on->result->failure, sizeof on->result->failure, "%s", on->what->type->error(opened));
    on->what->type->close(opened);
    return failed ? -1 : 0;
}

/* ---- samples ---------------------------------------------------------------------------- */

/* Times calls one by one until there are enough of them; `scale` turns seconds into the unit of the case. */
static int take_samples(session *on, int (*call)(session *), double scale)
{
    double *sample = allocate(MOST_SAMPLES, sizeof *sample);
    int n = 0, status = call(on);       /* touches memory, starts threads */
    if (status == 0) status = call(on); /* warms the caches */
    const double start = now();
    for (double last = start; status == 0 && n < MOST_SAMPLES;) {
        if (n >= on->what->repeat && last - start >= on->what->min_time) break;
        if (n >= FEWEST_SAMPLES && last - start >= LONG_ENOUGH) break;
        on->untimed = 0.0;
        const double before = now();
        status = call(on);
        last = now();
        sample[n++] = (last - before - on->untimed) * scale;
    }
    if (status == 0) {
        sort_values(sample, (size_t)n);
        on->result->samples = n;
        on->result->median = quantile(sample, (size_t)n, 0.5);
        on->result->min = sample[0];
        on->result->max = sample[n - 1];
    }
    free(sample);
    return status;
}

/* ---- check of the numbers ---------------------------------------------------------------- */

/* The force on one i-particle as a plain sum in double; `self`: with its force on itself. */
typedef struct plain {
    double acc[3], jerk[3], pot, nearest_r2;
    int nearest, length;
} plain;

static plain plain_force(const targets *predicted, const model *cluster, const targets *stars, int i, int self)
{
    plain sum = {{0}, {0}, 0, INFINITY, -1, 0};
    for (int j = 0; j < predicted->n; j++) {
        if (!self && predicted->index[j] == stars->index[i]) continue;
        double r[3], v[3], r2 = 0.0, rv = 0.0;
        for (int c = 0; c < 3; c++) {
            r[c] = predicted->x[j][c] - stars->x[i][c];
            v[c] = predicted->v[j][c] - stars->v[i][c];
            r2 += r[c] * r[c];
            rv += r[c] * v[c];
        }
        if (r2 < sum.nearest_r2) {
            sum.nearest_r2 = r2;
            sum.nearest = predicted->index[j];
        }
        sum.length += r2 < stars->h2[i];
        const double R2 = r2 + BENCH_EPS2, R = sqrt(R2), m3 = cluster->particle[j].mass / (R2 * R);
        for (int c = 0; c < 3; c++) {
            sum.acc[c] += m3 * r[c];
            sum.jerk[c] += m3 * (v[c] - 3.0 * rv / R2 * r[c]);
        }
        sum.pot -= cluster->particle[j].mass / R;
    }
    return sum;
}

static double relative(const double a[3], const double b[3])
{
    double difference = 0.0, length = 0.0;
    for (int c = 0; c < 3; c++) {
        difference += (a[c] - b[c]) * (a[c] - b[c]);
        length += b[c] * b[c];
    }
    return sqrt(difference / length);
}

/* Returns the error above which a force is wrong, not rounded. */
static double error_limit(sapporo_precision precision)
{
    return precision == SAPPORO_SP ? 1e-3 : precision == SAPPORO_DP ? 1e-11 : 1e-5;
}

static int complain(session *on, const char *what, int i, double got, double right)
{
    snprintf(on->result->failure, sizeof on->result->failure, "wrong %s of i-particle %d: %.9g, not %.9g", what, i, got,
             right);
    return -1;
}

static int check_row(session *on, const targets *predicted, int row)
{
    const int i = on->first + row;
    const int second = on->what->type->order == 2;
    const plain right = plain_force(predicted, &on->cluster, &on->stars, i, second);
    const double limit = error_limit(on->what->what.precision), error = relative(on->out.acc[row], right.acc);
    if (!(error <= limit)) return complain(on, "acceleration", i, on->out.acc[row][0], right.acc[0]);
    if (!second && !(relative(on->out.jerk[row], right.jerk) <= 20.0 * limit))
        return complain(on, "jerk", i, on->out.jerk[row][0], right.jerk[0]);
    if (!(fabs((second ? -1.0 : 1.0) * on->out.pot[row] / right.pot - 1.0) <= limit))
        return complain(on, "potential", i, on->out.pot[row], right.pot);
    if ((on->what->want & SAPPORO_WANT_NEAREST) != 0 && on->out.nearest[row] != right.nearest)
        return complain(on, "nearest neighbour", i, on->out.nearest[row], right.nearest);
    if ((on->what->want & SAPPORO_WANT_LISTS) != 0 && on->out.length[row] != right.length)
        return complain(on, "length of the list", i, on->out.length[row], right.length);
    on->result->acc_error = fmax(on->result->acc_error, error);
    return 0;
}

/* Checks a few forces of the last call, and that all forces are finite. */
static int check_numbers(session *on)
{
    targets predicted = model_targets(&on->cluster, 1, on->time);
    const int n = on->computed < CHECKED ? on->computed : CHECKED;
    int status = 0;
    for (int k = 0; k < n && status == 0; k++)
        status = check_row(on, &predicted, n > 1 ? (int)((long)k * (on->computed - 1) / (n - 1)) : 0);
    double lists = 0.0;
    for (int i = 0; i < on->computed && status == 0; i++) {
        lists += on->out.length[i];
        if (!isfinite(on->out.pot[i] + on->out.acc[i][0] + on->out.jerk[i][0]))
            status = complain(on, "force", i, NAN, 0.0);
    }
    on->result->list_mean = lists / on->computed;
    targets_free(&predicted);
    return status;
}

/* ---- cases ---------------------------------------------------------------------------------- */

static int measure_force(session *on)
{
    if (on->what->type->load(on->self, &on->cluster) != 0) return give_up(on);
    if (take_samples(on, call_force, 1e6) != 0) return -1;
    on->result->rate = (double)on->what->ni * on->what->nj / (1e-6 * on->result->median);
    return check_numbers(on);
}

static void make_order(session *on, int shuffled)
{
    unsigned long long state = 3;
    const int n = on->cluster.n;
    on->order = allocate((size_t)n, sizeof *on->order);
    for (int k = 0; k < n; k++) {
        const int other = shuffled ? (int)(model_random(&state) * (k + 1)) : k;
        on->order[k] = on->order[other];
        on->order[other] = k;
    }
}

static int measure_step(session *on)
{
    make_order(on, 1);
    if (on->what->type->load(on->self, &on->cluster) != 0) return give_up(on);
    if (take_samples(on, call_step, 1e6) != 0) return -1;
    on->result->rate = (double)on->what->ni * on->what->nj / (1e-6 * on->result->median);
    return check_numbers(on);
}

static int measure_load(session *on)
{
    return take_samples(on, call_load, 1e9 / on->cluster.n) == 0 ? check_numbers(on) : -1;
}

static int measure_setj(session *on)
{
    const int n = on->cluster.n;
    make_order(on, on->what->shuffled);
    if (take_samples(on, call_setj, 1e9 / n) != 0) return -1;
    for (int k = 0; k < n; k++) /* each star at the address of its last copy, for the check */
        if (on->what->type->set(on->self, &on->cluster, k, on->order[k]) != 0) return give_up(on);
    return call_force(on) == 0 ? check_numbers(on) : -1;
}

static int measure_memory(session *on)
{
    const client_type *type = on->what->type;
    if (type->set(on->self, &on->cluster, 0, 0) != 0) return give_up(on); /* the client's own copy is not counted */
    const size_t before = resident_bytes();
    if (type->load(on->self, &on->cluster) != 0) return give_up(on);
    if (call_force(on) != 0) return -1;
    const size_t after = resident_bytes();
    on->result->samples = 1;
    on->result->median = on->result->min = on->result->max =
        after > before ? (double)(after - before) / on->what->nj : NAN;
    return check_numbers(on);
}

static int call_batch(session *on)
{
    const int status = batch_compute(on->many);
    if (status != SAPPORO_OK)
        snprintf(on->result->failure, sizeof on->result->failure, "sapporo_force_batch: %s",
                 sapporo_status_text(status));
    return status == SAPPORO_OK ? 0 : -1;
}

static int measure_batch(session *on)
{
    const settings *what = &on->what->what;
    sapporo *context = open_order2(what);
    int status = context == NULL ? -1 : 0;
    if (status != 0) snprintf(on->result->failure, sizeof on->result->failure, "%s", sapporo_last_error(NULL));
    on->many = batch_new(on->what, context);
    if (status == 0) status = batch_load(on->many) == SAPPORO_OK ? take_samples(on, call_batch, 1e6) : -1;
    if (status == 0) {
        on->result->rate = (double)on->what->nlists * on->what->ni * on->what->nj / (1e-6 * on->result->median);
        on->result->acc_error = batch_error(on->many);
        if (!(on->result->acc_error <= error_limit(what->precision)))
            status = complain(on, "acceleration", 0, on->result->acc_error, 0.0);
    }
    batch_free(on->many);
    sapporo_close(context);
    return status;
}

static int run_case(session *on)
{
    switch (on->what->kind) {
    case BENCH_FORCE:
        return measure_force(on);
    case BENCH_SETJ:
        return measure_setj(on);
    case BENCH_OPEN:
        return take_samples(on, call_open, 1e6);
    case BENCH_MEMORY:
        return measure_memory(on);
    case BENCH_STEP:
        return measure_step(on);
    case BENCH_LOAD:
        return measure_load(on);
    case BENCH_BATCH:
        return measure_batch(on);
    case BENCH_KINDS:
        break;
    }
    return -1;
}

static void prepare(session *on)
{
    const bench_case *what = on->what;
    const int stars = what->ni > what->nj ? what->ni : what->nj;
    on->cluster = model_plummer(stars);
    model_add_derivatives(&on->cluster, what->derivatives);
    on->stars = model_targets(&on->cluster, 1, 0.0);
    on->cluster.n = what->nj; /* further i-particles are no sources */
    if ((what->want & SAPPORO_WANT_LISTS) != 0)
        model_list_radii(&on->stars, what->nj, what->list_length);
    else
        for (int i = 0; i < stars; i++) on->stars.h2[i] = BENCH_EPS2; /* a dummy, as GRAPE codes pass */
    on->out = forces_new(what->ni, what->nj);
}

void bench_measure(const bench_case *what, bench_result *result)
{
    memset(result, 0, sizeof *result);
    settings_kind(&what->what, result->engine, sizeof result->engine, result->failure, sizeof result->failure);
    if (result->failure[0] != '\0') return;
    session on = {.what = what, .result = result};
    prepare(&on);
    on.self = what->type->open(&what->what);
    if (what->type->error(on.self)[0] != '\0')
        give_up(&on);
    else
        run_case(&on);
    what->type->close(on.self);
    forces_free(&on.out);
    targets_free(&on.stars);
    model_free(&on.cluster);
    free(on.order);
}
