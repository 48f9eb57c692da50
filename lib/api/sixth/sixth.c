/*
 * sixth.c - stores the particles of a sixth-order code and computes their forces.
 *
 * After no_predict_all, forces use each particle as stored, without prediction.  For such forces a second context has
 * all particles at the same time.  The second context exists only if a client calls no_predict_all.
 */
#include "api/sixth/sixth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/lock.h"
#include "base/ranges.h"
#include "base/structs.h"

/* Number of addresses per block, and number of blocks for all addresses of a context. */
enum { BLOCK = 4096, BLOCKS = (1 << 30) / BLOCK, DEVICES_MOST = 64 };

/* State of an address: SENT: a particle was sent to a context, which stored it or recorded its loss; SENT_NOWHERE: a
 * particle was sent while no context was open. */
enum { NEVER_SENT, SENT, SENT_NOWHERE };

/* Properties of particles that a context does not store. */
struct block {
    double eps2[BLOCK];
    unsigned char sent[BLOCK];
};

/* Guarded by `lock`, which every call holds while it runs. */
static struct {
    sapporo *moving, *still;            /* still: NULL until it is needed; all its particles have the time 0 */
    int at_rest;                        /* 1: forces use `still`, 0: `moving` */
    double time;                        /* forces of `moving` predict to this time */
    int tried;                          /* 1: opening was tried; then storing a particle does not try again */
    int device_failed;                  /* 1: a force failed because its device failed; `initialize` opens again */
    int ndevices, device[DEVICES_MOST]; /* devices to open, as in sapporo_options */
    struct block **block; /* [blocks] by address / BLOCK; NULL: no particle was sent there, or there was no memory */
    int blocks, missing;  /* missing 1: a block could not be allocated */
    int upper;            /* one above the highest address to which a particle was sent */
    int unkept;           /* number of SENT_NOWHERE addresses: forces are NaN until these particles are sent again */
    struct sap_ranges elsewhere; /* SENT_NOWHERE addresses without a block; entries with a block have no meaning */
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
    (void)sapporo_open(&options, &context); /* context is NULL after a failure, which sapporo_open reports */
    return context;
}

/* Whether `moving` is open.  It opens it at the first call, and after a failure if `again` is 1.  Lock held. */
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

/* Moves addresses of the new block number `at` from `elsewhere` to the block. */
static void settle(int at)
{
    for (int k = 0; k < BLOCK && sixth.elsewhere.n > 0; k++) {
        if (!sap_ranges_have(&sixth.elsewhere, at * BLOCK + k)) continue;
        sixth.block[at]->sent[k] = SENT_NOWHERE;
        sixth.unkept++;
    }
}

/* The block of an address in 0 .. 2^30 - 1; allocated if it is missing and `make` is 1; NULL: there is none. */
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

/* Records eps2 and the state of an address to which a particle was sent; open 1: a context was open. */
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

/* Closes both contexts after a device failed, because a lost device recovers only when no context has it open.  The
 * particles are lost and must be sent again. */
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
    if (!derivative[0]) p.mass = NAN; /* a particle without a position */
    sap_lock(&lock);
    const int open = is_open(0);
    if (open)
        (void)sapporo_set_particle(sixth.moving, address, &p); /* after a failure, forces with the particle are NaN */
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
 * Copies the particle at an address, if there is one, to the second context.  Returns 0 if it fails: then a particle
 * that was sent is missing in one of the contexts or in both.
 */
static int copy_particle(int address)
{
    sapporo_particle p;
    const int got = sapporo_get_particle(sixth.moving, address, 0, &p);
    if (got == SAPPORO_ERR_ARGUMENT) return 1; /* the address holds no particle */
    if (got != SAPPORO_OK) return 0;
    p.time = 0;
    const int put = sapporo_set_particle(sixth.still, address, &p);
    return put == SAPPORO_OK || put == SAPPORO_ERR_NOT_FINITE;
}

/* Like copy_particle, for the addresses of a block.  If blocks are missing, it asks the context for each address. */
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

/* Opens the second context and copies all particles to it.  After a failure it is closed; the next call tries again. */
static void open_still(void)
{
    const int told = sapporo_last_error(sixth.moving)[0] != '\0';
    int good = 1;
    sixth.still = open_context();
    for (int at = 0; at * BLOCK < sixth.upper && good && sixth.still; at++) good = copy_block(at);
    if (!told) sapporo_clear_error(sixth.moving); /* errors about addresses without a particle are expected */
    if (good) return;
    sapporo_close(sixth.still);
    sixth.still = NULL;
}

/* Whether some particle was sent while no context was open and has not been sent again. */
static int lacks_particles(void)
{
    for (int k = 0; k < sixth.elsewhere.n; k++)
        for (int at = sixth.elsewhere.range[k].first / BLOCK; at <= sixth.elsewhere.range[k].last / BLOCK; at++)
            if (!block_of(at * BLOCK, 0)) return 1;
    return sixth.unkept > 0;
}

/* The context for forces; NULL: it could not be opened or filled, or lacks particles. */
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
                                     .want = SAPPORO_WANT_NEAREST | SAPPORO_ALLOW_EMPTY};
    const int begun = sapporo_force_begin(context, &request, &job);
    if (begun < 0) return begun;
    const int status = sapporo_force_end(job, f->ni, &f->result);
    sapporo_force_free(job);
    return status;
}

/* Converts results to this interface: positive potentials and softened distances of the nearest neighbours. */
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
