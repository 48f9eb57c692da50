/* regular.c - NBODY6's regular force: from all particles except the neighbours, which form the neighbour list. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "api/nbody6/nbody6.h"
#include "base/finite.h"
#include "base/fpenv.h"
#include "base/lock.h"

/* Guarded by `lock`, which every call holds while it runs. */
static struct {
    sapporo *context;                 /* NULL: not open */
    int nj;                           /* number of particles of the last send */
    int asked;                        /* 1: stars were to be sent since it was opened */
    int failed;                       /* 1: the last send failed: forces are NaN until a send succeeds */
    int device_failed;                /* 1: a force failed because its device failed */
    double sending, computing, pairs; /* seconds and pairs since the last profile */
    long calls, targets, members, overflows;
    int *length, room; /* lengths of neighbour lists; the memory is kept for the next force */
} regular;

static struct sap_lock lock = SAP_LOCK_INIT;

/* Targets whose lists are counted by both kinds of radii. */
enum { SAMPLE = 256 };

/* Stars of the last send, evenly chosen, while the kind of the radii is open; guarded by `lock`. */
static struct {
    int n;
    double x[SAMPLE][3], v[SAMPLE][3];
} sample;

void sap_regular_open(int nbmax, int rank, enum sap_radii usual)
{
    sap_lock(&lock);
    if (regular.context) {
        sap_nbody6_tell("gpunb_open: it is open already; particles are kept");
    } else {
        regular.context = sap_nbody6_context(SAPPORO_BACKEND_AUTO, 4, SAPPORO_DS, rank);
        regular.nj = regular.asked = 0;
        sap_radii_open(usual);
    }
    (void)nbmax; /* memory grows on demand */
    sap_unlock(&lock);
}

void sap_regular_close(void)
{
    sap_lock(&lock);
    if (!regular.context) sap_nbody6_tell("gpunb_close: it is not open");
    sapporo_close(regular.context);
    free(regular.length);
    regular.context = NULL;
    regular.length = NULL;
    regular.nj = regular.room = 0;
    if (regular.device_failed) sap_potential_release(); /* a lost device recovers when no context has it open */
    regular.device_failed = 0;
    sap_unlock(&lock);
}

/* Chooses the stars of the sample, without those that are not finite. */
static void take_sample(int nj, const double (*x)[3], const double (*v)[3])
{
    const int n = nj < SAMPLE ? nj : SAMPLE;
    sample.n = 0;
    for (int k = 0; k < n; k++) {
        const size_t j = (size_t)k * (size_t)nj / (size_t)n;
        if (!finite_place(x[j]) || !finite_place(v[j])) continue;
        memcpy(sample.x[sample.n], x[j], sizeof *sample.x);
        memcpy(sample.v[sample.n++], v[j], sizeof *sample.v);
    }
}

/* Stores all nj particles in the context; returns 1, or 0 after a message. */
static int send(int nj, const double *mass, const double (*x)[3], const double (*v)[3])
{
    const sapporo_particles all = {.size = sizeof all, .derivative = {{x, 0}, {v, 0}}, .mass = {mass, 0}};
    if (!regular.context) {
        sap_nbody6_tell("gpunb_send: call gpunb_open first");
        return 0;
    }
    if (nj < 0 || (nj > 0 && (!mass || !x || !v))) {
        sap_nbody6_tell("gpunb_send: nj is %d%s", nj, nj < 0 ? "" : ", and an array is NULL");
        return 0;
    }
    if (nj > 0 && sap_radii_undecided()) take_sample(nj, x, v);
    const int status = nj > 0 ? sapporo_set_particles(regular.context, 0, nj, &all) : SAPPORO_OK;
    return status == SAPPORO_OK || status == SAPPORO_ERR_NOT_FINITE;
}

void sap_regular_send(int nj, const double *mass, const double (*x)[3], const double (*v)[3])
{
    sap_lock(&lock);
    const sap_fpenv caller = sap_fp_enter();
    const double start = sap_nbody6_clock();
    regular.asked = 1;
    regular.failed = !send(nj, mass, x, v);
    regular.nj = regular.failed ? 0 : nj;
    regular.sending += sap_nbody6_clock() - start;
    sap_fp_leave(caller);
    sap_unlock(&lock);
}

/* Writes NaN and empty lists into all rows.  A list row has room for its length only if lmax > 0. */
static void write_failed(const struct sap_regular_force *f)
{
    for (int i = 0; i < f->ni; i++) {
        for (int axis = 0; axis < 3 && f->acc; axis++) f->acc[i][axis] = NAN;
        for (int axis = 0; axis < 3 && f->jerk; axis++) f->jerk[i][axis] = NAN;
        if (f->pot) f->pot[i] = NAN;
        if (f->list && f->lmax > 0) f->list[(ptrdiff_t)i * f->lmax] = 0;
    }
}

static int reserve(int ni)
{
    if (ni <= regular.room) return 1;
    int *const more = realloc(regular.length, (size_t)ni * sizeof *more);
    if (!more) return 0;
    regular.length = more;
    regular.room = ni;
    return 1;
}

/* The length of the longest list that does not overflow. */
static int longest(const struct sap_regular_force *f)
{
    const int most = f->nnbmax < f->lmax ? f->nnbmax : f->lmax - 1;
    return most > 0 ? most : 0;
}

/* Writes the neighbour lists, each preceded by its length.  The length of a list that overflows is negative. */
static int write_lists(const struct sap_regular_force *f, sapporo_job *job)
{
    const int most = longest(f);
    const int *const n = regular.length;
    const int status = sapporo_force_neighbour_lists(job, f->ni, most, f->lmax, f->list + 1, regular.length);
    for (int i = 0; i < f->ni && status >= 0; i++) {
        f->list[(ptrdiff_t)i * f->lmax] = n[i] <= most ? n[i] : -n[i];
        regular.members += n[i];
        regular.overflows += n[i] > most;
    }
    return status;
}

/* Begins the force on the first ni targets. */
static int begin(const struct sap_regular_force *f, int ni, int by_mass, sapporo_job **job)
{
    const sapporo_regular sphere = {.size = sizeof sphere, .h2_by_mass = by_mass, .dtr = {f->dtr, 0}};
    const sapporo_request request = {.size = sizeof request,
                                     .nj = regular.nj,
                                     .ni = ni,
                                     .x = {f->x, 0},
                                     .v = {f->v, 0},
                                     .h2 = {f->h2, 0},
                                     .want = SAPPORO_WANT_LISTS | SAPPORO_ALLOW_EMPTY,
                                     .pairs = SAPPORO_PAIRS_OUTSIDE,
                                     .regular = &sphere};
    return sapporo_force_begin(regular.context, &request, job);
}

/* Computes the force and its lists with radii of one kind. */
static int force(const struct sap_regular_force *f, int by_mass)
{
    const sapporo_result result = {.size = sizeof result, .acc = f->acc, .jerk = f->jerk, .pot = f->pot};
    sapporo_job *job;
    int status = begin(f, f->ni, by_mass, &job);
    if (status < 0) return status;
    status = sapporo_force_end(job, f->ni, &result);
    if (status >= 0) status = write_lists(f, job);
    for (int i = 0; i < f->ni && f->pot && status >= 0; i++) f->pot[i] = -f->pot[i];
    sapporo_force_free(job);
    return status;
}

/* Computes the lengths of the first ni lists with radii of one kind, and writes no list. */
static int measure(const struct sap_regular_force *f, int ni, int by_mass, int *length)
{
    const sapporo_result nothing = {.size = sizeof nothing};
    sapporo_job *job;
    int none, status = begin(f, ni, by_mass, &job);
    if (status < 0) return status;
    status = sapporo_force_end(job, ni, &nothing);
    if (status >= 0) status = sapporo_force_neighbour_lists(job, ni, 0, 0, &none, length);
    sapporo_force_free(job);
    return status;
}

/* Decides on the kind of radii by the lists of the call's first targets, and of other stars with the radii of these, so
 * that the decision of a call with one target does not depend on where its star is. */
static int decide(const struct sap_regular_force *f)
{
    double h2[SAMPLE], dtr[SAMPLE], x[SAMPLE][3], v[SAMPLE][3];
    int by_h2[SAMPLE], by_mass[SAMPLE], ni = 0;
    for (; ni < SAMPLE && (ni < f->ni || ni - f->ni < sample.n); ni++) {
        const int i = ni % f->ni, of_call = ni < f->ni;
        h2[ni] = f->h2 ? f->h2[i] : 0;
        dtr[ni] = f->dtr ? f->dtr[i] : 0;
        memcpy(x[ni], of_call ? f->x[i] : sample.x[ni - f->ni], sizeof *x);
        memcpy(v[ni], of_call ? f->v[i] : sample.v[ni - f->ni], sizeof *v);
    }
    const struct sap_regular_force some = {
        .h2 = h2, .dtr = dtr, .x = (const double(*)[3])x, .v = (const double(*)[3])v};
    const int most = longest(f);
    int status = measure(&some, ni, 0, by_h2);
    if (status >= 0) status = measure(&some, ni, 1, by_mass);
    if (status < 0) return status;
    const struct sap_radii_lists plain = sap_radii_count(ni, by_h2, most, regular.nj);
    const struct sap_radii_lists mass = sap_radii_count(ni, by_mass, most, regular.nj);
    const int differ = memcmp(by_h2, by_mass, (size_t)ni * sizeof *by_h2) != 0;
    sap_radii_decide(&plain, &mass, differ, most, regular.nj);
    return SAPPORO_OK;
}

/* After a force whose lists look wrong: warns if those by the other kind of radii look right. */
static void look_again(const struct sap_regular_force *f, int by_mass)
{
    const int ni = f->ni < SAMPLE ? f->ni : SAMPLE, most = longest(f);
    const struct sap_radii_lists all = sap_radii_count(f->ni, regular.length, most, regular.nj);
    int length[SAMPLE];
    if (!sap_radii_suspect(&all) || measure(f, ni, !by_mass, length) < 0) return;
    const struct sap_radii_lists used = sap_radii_count(ni, regular.length, most, regular.nj);
    const struct sap_radii_lists other = sap_radii_count(ni, length, most, regular.nj);
    sap_radii_warn(&used, &other, most, regular.nj);
}

static int compute(const struct sap_regular_force *f)
{
    int status = SAPPORO_OK;
    if (!reserve(f->ni)) return SAPPORO_ERR_MEMORY;
    if (sap_radii_undecided()) status = decide(f);
    const int by_mass = sap_radii_by_mass(f->by_mass);
    if (status >= 0) status = force(f, by_mass);
    if (status >= 0) look_again(f, by_mass);
    return status;
}

/* Text that says what is wrong with a call; NULL if nothing is wrong. */
static const char *fault(const struct sap_regular_force *f)
{
    if (!regular.context) return "call gpunb_open first";
    if (regular.failed) return "the last gpunb_send failed";
    if (f->lmax < 1) return "lmax is below 1";
    return f->x && f->v && f->list ? NULL : "an array is NULL";
}

int sap_regular_is_p3t(int ni, const double *dtr)
{
    int negative = 0;
    sap_lock(&lock);
    if (regular.context && !regular.asked && dtr)
        for (int i = 0; i < ni && !negative; i++) negative = !(dtr[i] >= 0); /* or NaN, after the first refusal */
    if (negative)
        sap_nbody6_tell(
            "gpunb_regf: no stars were sent, and dtr is below 0 or NaN, as if the tree of nbody6-p3t had called; "
            "this library does not serve it, and its forces are NaN");
    sap_unlock(&lock);
    return negative;
}

void sap_regular_compute(const struct sap_regular_force *f)
{
    if (f->ni <= 0) return;
    sap_lock(&lock);
    const sap_fpenv caller = sap_fp_enter();
    const double start = sap_nbody6_clock();
    const char *const wrong = fault(f);
    if (wrong) sap_nbody6_tell("gpunb_regf: %s", wrong);
    const int status = wrong ? SAPPORO_ERR_ARGUMENT : compute(f), good = status >= 0;
    regular.device_failed |= status == SAPPORO_ERR_DEVICE;
    if (!good) write_failed(f);
    if (good) { /* failed forces are not in the profile */
        regular.computing += sap_nbody6_clock() - start;
        regular.pairs += (double)f->ni * regular.nj;
        regular.targets += f->ni;
        regular.calls++;
    }
    sap_fp_leave(caller);
    sap_unlock(&lock);
}

void sap_regular_profile(int rank)
{
    sap_lock(&lock);
    const sap_fpenv caller = sap_fp_enter();
    if (regular.calls > 0) {
        const double seconds = regular.computing > 0 ? regular.computing : 1e-9;
        if (regular.context) sap_nbody6_report("[R.%d] regular force on %s", rank, sapporo_kind(regular.context));
        sap_nbody6_report("[R.%d] send: %.3f s, force: %.3f s, %ld calls on %ld particles", rank, regular.sending,
                          regular.computing, regular.calls, regular.targets);
        sap_nbody6_report("[R.%d] %.3e interactions/s, <NB>: %.1f, overflows: %ld", rank, regular.pairs / seconds,
                          (double)regular.members / (double)regular.targets, regular.overflows);
    }
    regular.sending = regular.computing = regular.pairs = 0;
    regular.calls = regular.targets = regular.members = regular.overflows = 0;
    sap_fp_leave(caller);
    sap_unlock(&lock);
}
