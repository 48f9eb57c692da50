/*
 * sixth.c - the particles of a sixth-order code.
 *
 * no_predict_all asks for forces from particles where they were stored, each at its own time.  A second context keeps
 * all of them at one time for that; it exists only where a client asks so.
 */
#include "api/sixth/sixth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/lock.h"
#include "base/ranges.h"
#include "base/structs.h"

/* Addresses of a block, and blocks of all addresses that a context has. */
enum { BLOCK = 4096, BLOCKS = (1 << 30) / BLOCK, DEVICES_MOST = 64 };

/* Whether a particle was sent to an address, and whether there was a context to store it, or to remember a failure. */
enum { NEVER_SENT, SENT, SENT_NOWHERE };

/* What particles have beyond those of a context. */
struct block {
    double eps2[BLOCK];
    unsigned char sent[BLOCK];
};

/* Guarded by `lock`, which every call holds for its length. */
static struct {
    sapporo *moving, *still;            /* still: NULL until it is needed; then its particles all have the time 0 */
    int at_rest;                        /* forces are of `still` */
    double time;                        /* to which particles are predicted otherwise */
    int tried;                          /* opening was: the first particle opens, after that only what asks for it */
    int device_failed;                  /* 1: a force failed for its device: the next `initialize` opens anew */
    int ndevices, device[DEVICES_MOST]; /* on which, as in sapporo_options */
    struct block **block; /* [blocks] by address / BLOCK; NULL: no particle was sent there, or there was no memory */
    int blocks, missing;  /* missing: 1: for some block there was no memory */
    int upper;            /* one above the highest address to which a particle was sent */
    int unkept;           /* particles that no device took: until they are sent again, forces are NaN */
    struct sap_ranges elsewhere; /* addresses of those for which there is no block; void for those with one */
} sixth;

static struct sap_lock lock = SAP_LOCK_INIT;

/* ----------------------------------------------------------------- opening */

static sapporo *open_context(void)
{
    const sapporo_options options = {.size = sizeof options,
                                     .order = 6,
                                     .devices = sixth.ndevices > 0 ? sixth.device : NULL,
                                     .ndevices = sixth.ndevices};
    sapporo *context;
    (void)sapporo_open(&options, &context); /* NULL after a failure, which it tells */
    return context;
}

/* Opens if that was not done, or, where a failure is to be tried again, if that failed; lock held. */
static int is_open(int again)
{
    if (!sixth.moving && (again || !sixth.tried)) {
        sixth.tried = 1;
        sixth.moving = open_context();
        if (sixth.moving) (void)sapporo_set_time(sixth.moving, sixth.time);
    }
    return sixth.moving != NULL;
}

/* --------------------------------------------------------------- particles */

/* For block number `at`, which is new: what is known of its addresses goes to it. */
static void settle(int at)
{
    for (int k = 0; k < BLOCK && sixth.elsewhere.n > 0; k++) {
        if (!sap_ranges_have(&sixth.elsewhere, at * BLOCK + k)) continue;
        sixth.block[at]->sent[k] = SENT_NOWHERE;
        sixth.unkept++;
    }
}

/* The block of an address from 0 to 2^30 - 1, made if `make` says so; NULL: there is none. */
static struct block *block_of(int address, int make)
{
    const int at = address / BLOCK;
    if (at >= sixth.blocks && make) {
        const int room = 2 * at + 16 < BLOCKS ? 2 * at + 16 : BLOCKS;
        struct block **more = realloc(sixth.block, (size_t)room * sizeof *more);
        if (!more) return NULL;
        for (int k = sixth.blocks; k < room; k++) more[k] = NULL;
        sixth.block = more;
        sixth.blocks = room;
    }
    if (at >= sixth.blocks) return NULL;
    if (!sixth.block[at] && make && (sixth.block[at] = calloc(1, sizeof *sixth.block[at]))) settle(at);
    return sixth.block[at];
}

/* Notes what a context has no room for. */
static void note(int address, double eps2, int open)
{
    struct block *const block = block_of(address, 1);
    if (address >= sixth.upper) sixth.upper = address + 1;
    sixth.missing |= !block;
    if (!block && !open) sap_ranges_add(&sixth.elsewhere, (struct sap_range){address, address});
    if (!block) return;
    unsigned char *const sent = &block->sent[address % BLOCK];
    sixth.unkept += !open - (*sent == SENT_NOWHERE);
    *sent = open ? SENT : SENT_NOWHERE;
    block->eps2[address % BLOCK] = eps2;
}

/* A lost device comes back when no context has it open.  The particles go with the contexts, and must be sent again. */
static void close_failed(void)
{
    if (!sixth.device_failed) return;
    sapporo_close(sixth.moving);
    sapporo_close(sixth.still);
    sixth.moving = sixth.still = NULL;
    sixth.device_failed = 0;
    for (int address = 0; address < sixth.upper; address++) {
        const struct block *const block = block_of(address, 0);
        if (!block)
            address |= BLOCK - 1; /* no particle was sent to any address of the block */
        else if (block->sent[address % BLOCK] == SENT)
            note(address, block->eps2[address % BLOCK], 0);
    }
    if (sixth.missing) sap_ranges_add(&sixth.elsewhere, (struct sap_range){0, sixth.upper - 1});
}

void sap_sixth_open(void)
{
    sap_lock(&lock);
    close_failed();
    (void)is_open(1);
    sap_unlock(&lock);
}

void sap_sixth_open_on(int ndev, const int *list)
{
    sap_lock(&lock);
    close_failed();
    if (!sixth.moving) {
        const int wanted = ndev < -DEVICES_MOST || ndev > DEVICES_MOST ? DEVICES_MOST : ndev < 0 ? -ndev : ndev;
        sixth.ndevices = ndev == 0 ? -1 : wanted;
        for (int k = 0; k < wanted; k++) sixth.device[k] = ndev > 0 && list ? list[k] : k;
        (void)is_open(1);
    }
    sap_unlock(&lock);
}

void sap_sixth_set(int address, const double *const *derivative, double mass, double time, int id, double eps2)
{
    sapporo_particle p = {.mass = mass, .time = time, .index = id};
    for (int k = 0; k < 6; k++)
        if (derivative[k]) memcpy(p.derivative[k], derivative[k], sizeof p.derivative[k]);
    if (!derivative[0]) p.mass = NAN; /* a particle that is nowhere */
    sap_lock(&lock);
    const int open = is_open(0);
    if (open) (void)sapporo_set_particle(sixth.moving, address, &p); /* forces with what fails are NaN */
    p.time = 0;
    if (sixth.still) (void)sapporo_set_particle(sixth.still, address, &p);
    if (address >= 0 && address / BLOCK < BLOCKS) note(address, eps2, open);
    sap_unlock(&lock);
}

void sap_sixth_predict(double time)
{
    sap_lock(&lock);
    sixth.at_rest = 0;
    sixth.time = time;
    if (is_open(1)) (void)sapporo_set_time(sixth.moving, time);
    sap_unlock(&lock);
}

/*
 * Gives the second context a particle, if there is one; 0: a particle that was sent is in one of both contexts only, or
 * in none.
 */
static int copy_particle(int address)
{
    sapporo_particle p;
    const int got = sapporo_get_particle(sixth.moving, address, 0, &p);
    if (got == SAPPORO_ERR_ARGUMENT) return 1; /* a gap */
    if (got != SAPPORO_OK) return 0;
    p.time = 0;
    const int put = sapporo_set_particle(sixth.still, address, &p);
    return put == SAPPORO_OK || put == SAPPORO_ERR_NOT_FINITE;
}

/* The same for the addresses of a block.  Where a block may be missing, the context is asked for each address. */
static int copy_block(int at)
{
    const struct block *const block = block_of(at * BLOCK, 0);
    const int missing = sixth.missing;
    int good = 1;
    if (!block && !missing) return 1;
    for (int k = 0; k < BLOCK && good; k++)
        if (missing || block->sent[k] != NEVER_SENT) good = copy_particle(at * BLOCK + k);
    return good;
}

/* Opens the second context with all particles there are; after a failure there is none, and the next call tries anew.
 */
static void open_still(void)
{
    const int told = sapporo_last_error(sixth.moving)[0] != '\0';
    int good = 1;
    sixth.still = open_context();
    for (int at = 0; at * BLOCK < sixth.upper && good && sixth.still; at++) good = copy_block(at);
    if (!told) sapporo_clear_error(sixth.moving); /* gaps are none */
    if (good) return;
    sapporo_close(sixth.still);
    sixth.still = NULL;
}

/* Whether a particle that no device took has not been sent again. */
static int lacks_particles(void)
{
    for (int k = 0; k < sixth.elsewhere.n; k++)
        for (int at = sixth.elsewhere.range[k].first / BLOCK; at <= sixth.elsewhere.range[k].last / BLOCK; at++)
            if (!block_of(at * BLOCK, 0)) return 1;
    return sixth.unkept > 0;
}

/* The context of forces; NULL: it could not be opened or filled, or lacks particles. */
static sapporo *current(void)
{
    if (!is_open(1) || lacks_particles()) return NULL;
    if (sixth.at_rest && !sixth.still) open_still();
    return sixth.at_rest ? sixth.still : sixth.moving;
}

void sap_sixth_no_predict(void)
{
    sap_lock(&lock);
    sixth.at_rest = 1;
    (void)current();
    sap_unlock(&lock);
}

void sap_sixth_get(int address, sapporo_particle *particle, double *eps2)
{
    sap_lock(&lock);
    sapporo *const from = current();
    const struct block *const block = address >= 0 ? block_of(address, 0) : NULL;
    *eps2 = block && block->sent[address % BLOCK] == SENT ? block->eps2[address % BLOCK] : NAN;
    if (!from || sapporo_get_particle(from, address, 1, particle) != SAPPORO_OK) {
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
    const sapporo_result *const r = &f->result;
    double(*const rows[])[3] = {r->acc, r->jerk, r->snap};
    for (int i = 0; i < f->ni; i++) {
        for (int k = 0; k < 9; k++)
            if (rows[k / 3]) rows[k / 3][i][k % 3] = NAN;
        if (r->pot) r->pot[i] = NAN;
        if (r->nearest_r2) r->nearest_r2[i] = NAN;
        if (r->nearest) r->nearest[i] = -1;
    }
}

static int compute(sapporo *context, const struct sap_sixth_force *f)
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
    const int begun = sapporo_force_begin(context, &request, &job);
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
        if (f->result.pot) f->result.pot[i] = -f->result.pot[i];
        if (f->result.nearest_r2) f->result.nearest_r2[i] += eps2;
    }
}

int sap_sixth_compute(const struct sap_sixth_force *f)
{
    if (f->ni <= 0) return 1;
    sap_lock(&lock);
    const sap_fpenv caller = sap_fp_enter();
    sapporo *const context = current();
    const int given = f->index.base && f->x.base && f->v.base && f->a.base;
    const int status = context && given ? compute(context, f) : SAPPORO_ERR_ARGUMENT, good = status >= 0;
    sixth.device_failed |= status == SAPPORO_ERR_DEVICE;
    if (!given) sapporo_log(SAPPORO_LOG_ERROR, "calc_force_on_predictors: an array is NULL: forces are NaN");
    if (good)
        convert(f);
    else
        write_nothing(f);
    sap_fp_leave(caller);
    sap_unlock(&lock);
    return good;
}
