/*
 * sixth.c - the particles of a sixth-order code.
 *
 * no_predict_all asks for forces from particles where they were stored, each at its own time.  A second context keeps
 * all of them at one time for that; it exists only where a client asks so.
 */
#include "sixth.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lock.h"
#include "structs.h"

/* Guarded by `lock`, which every call holds for its length. */
static struct {
    sapporo *moving, *still; /* still: NULL until it is needed; then its particles all have the time 0 */
    sapporo *current;        /* one of both */
    int tried;               /* opening was */
    double *eps2;            /* [room] by address */
    int room, upper;         /* upper: one above the highest address stored */
} sixth;

static atomic_flag lock = ATOMIC_FLAG_INIT;

/* ----------------------------------------------------------------- opening */

static sapporo *open_on(const int *devices, int ndevices)
{
    const sapporo_options options = {.size = sizeof options, .order = 6, .devices = devices, .ndevices = ndevices};
    sapporo *context;
    (void)sapporo_open(&options, &context); /* NULL after a failure, which it tells */
    return context;
}

/* Opens where nobody has; lock held. */
static int is_open(void)
{
    if (!sixth.tried) {
        sixth.tried = 1;
        sixth.current = sixth.moving = open_on(NULL, 0);
    }
    return sixth.moving != NULL;
}

void sap_sixth_open(void)
{
    sap_lock(&lock);
    (void)is_open();
    sap_unlock(&lock);
}

void sap_sixth_open_on(int ndev, const int *list)
{
    enum { MOST = 64 };
    int first[MOST];
    sap_lock(&lock);
    if (!sixth.tried) {
        const int n = ndev < -MOST ? MOST : -ndev;
        for (int k = 0; k < n; k++) first[k] = k;
        sixth.tried = 1;
        sixth.current = sixth.moving = ndev > 0   ? open_on(list, ndev)
                                       : ndev < 0 ? open_on(first, n)
                                                  : open_on(NULL, -1);
    }
    sap_unlock(&lock);
}

/* --------------------------------------------------------------- particles */

static int reserve(int address)
{
    if (address < sixth.room) return 1;
    const int room = address < INT_MAX / 2 ? 2 * address + 1024 : INT_MAX;
    double *more = realloc(sixth.eps2, (size_t)room * sizeof *more);
    if (!more) return 0;
    memset(more + sixth.room, 0, (size_t)(room - sixth.room) * sizeof *more);
    sixth.eps2 = more;
    sixth.room = room;
    return 1;
}

void sap_sixth_set(int address, const double *const *derivative, double mass, double time, int id, double eps2)
{
    sapporo_particle p = {.mass = mass, .time = time, .index = id};
    for (int k = 0; k < 6; k++) memcpy(p.derivative[k], derivative[k], sizeof p.derivative[k]);
    sap_lock(&lock);
    if (is_open()) {
        const int status = sapporo_set_particle(sixth.moving, address, &p);
        if (status == SAPPORO_OK || status == SAPPORO_ERR_NOT_FINITE) {
            p.time = 0;
            if (sixth.still) (void)sapporo_set_particle(sixth.still, address, &p);
            if (address >= sixth.upper) sixth.upper = address + 1;
            if (reserve(address)) sixth.eps2[address] = eps2;
        }
    }
    sap_unlock(&lock);
}

void sap_sixth_predict(double time)
{
    sap_lock(&lock);
    if (is_open()) {
        sixth.current = sixth.moving;
        (void)sapporo_set_time(sixth.moving, time);
    }
    sap_unlock(&lock);
}

/* Gives the second context all particles there are. */
static void fill_still(void)
{
    sapporo_particle p;
    const int told = sapporo_last_error(sixth.moving)[0] != '\0';
    for (int address = 0; address < sixth.upper; address++) {
        if (sapporo_get_particle(sixth.moving, address, 0, &p) != SAPPORO_OK) continue;
        p.time = 0;
        (void)sapporo_set_particle(sixth.still, address, &p);
    }
    if (!told) sapporo_clear_error(sixth.moving); /* gaps are none */
}

void sap_sixth_no_predict(void)
{
    sap_lock(&lock);
    if (is_open() && !sixth.still) {
        sixth.still = open_on(NULL, 0);
        if (sixth.still) fill_still();
    }
    if (sixth.moving) sixth.current = sixth.still;
    sap_unlock(&lock);
}

void sap_sixth_get(int address, sapporo_particle *particle, double *eps2)
{
    sap_lock(&lock);
    *eps2 = address >= 0 && address < sixth.room ? sixth.eps2[address] : 0;
    if (!is_open() || !sixth.current || sapporo_get_particle(sixth.current, address, 1, particle) != SAPPORO_OK) {
        for (int k = 0; k < 3; k++)
            for (int axis = 0; axis < 3; axis++) particle->derivative[k][axis] = NAN;
        particle->mass = *eps2 = NAN;
        particle->index = -1;
    }
    sap_unlock(&lock);
}

/* ------------------------------------------------------------------ forces */

static void write_nothing(const struct sap_sixth_force *f)
{
    for (int i = 0; i < f->ni; i++) {
        for (int axis = 0; axis < 3; axis++)
            f->result.acc[i][axis] = f->result.jerk[i][axis] = f->result.snap[i][axis] = NAN;
        f->result.pot[i] = f->result.nearest_r2[i] = NAN;
        f->result.nearest[i] = -1;
    }
}

static int compute(const struct sap_sixth_force *f)
{
    sapporo_job *job;
    const sapporo_request request = {.size = sizeof request,
                                     .nj = f->nj,
                                     .ni = f->ni,
                                     .x = f->x,
                                     .v = f->v,
                                     .a = f->a,
                                     .index = f->index,
                                     .eps2_i = f->eps2,
                                     .want = SAPPORO_WANT_NEAREST};
    const int begun = sapporo_force_begin(sixth.current, &request, &job);
    if (begun < 0) return begun;
    const int status = sapporo_force_end(job, f->ni, &f->result);
    sapporo_force_free(job);
    return status;
}

/* This interface has a positive potential, and softened distances to nearest neighbours. */
static void convert(const struct sap_sixth_force *f)
{
    for (int i = 0; i < f->ni; i++) {
        double eps2 = 0;
        if (f->eps2.base) memcpy(&eps2, sap_column_at(&f->eps2, i, sizeof eps2), sizeof eps2);
        f->result.pot[i] = -f->result.pot[i];
        f->result.nearest_r2[i] += eps2;
    }
}

void sap_sixth_compute(const struct sap_sixth_force *f)
{
    if (f->ni <= 0) return;
    sap_lock(&lock);
    if (is_open() && sixth.current && compute(f) >= 0)
        convert(f);
    else
        write_nothing(f);
    sap_unlock(&lock);
}
