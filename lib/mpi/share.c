/* share.c - forces whose j-particles are sent to all ranks, part by part (share.h). */
#include "mpi/share.h"

#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "context/internals.h"
#include "mpi/answer.h"
#include "mpi/blocks.h"
#include "mpi/room.h"
#include "mpi/slab.h"
#include "mpi/transport.h"

/* The particles of a part: as they arrive, in rows or superpackets, and the context that holds them. */
struct half {
    sapporo *context;
    struct sap_cargo cargo;
    struct sap_room numbers; /* of the superpackets in order of arrival */
};

struct sap_share {
    struct half half[2]; /* of part p: element p % 2 */
    int here;            /* half[0] holds all particles below this address, as of version `version` */
    int nj;              /* addresses of the blocks that are sent, cut at the last address of the force */
    int *block, *before; /* [blocks] of find_blocks; NULL: no block is empty */
    struct sap_room blocks;
    uint64_t version;
    /* of the force under way */
    const struct sap_transport_table *by; /* how particles travel */
    int parts;
    int failed, partial;
    sapporo_job *job[2]; /* of steps with even and with odd numbers */
    double scale[13];    /* factors of the sums */
    struct sap_room sums, totals;
};

/* ------------------------------------------------------------------ memory */

static struct sap_share *create(int ranks)
{
    struct sap_share *const s = calloc(1, sizeof *s);
    int short_of = !s;
    for (int k = 0; k < 2 && s; k++) short_of |= sap_cargo_open(&s->half[k].cargo, ranks) != 0;
    if (!short_of) return s;
    for (int k = 0; k < 2 && s; k++) sap_cargo_close(&s->half[k].cargo);
    free(s);
    return NULL;
}

/* Opens the contexts of this rank, which are of the kind of its own context. */
static int open_contexts(sapporo_mpi *h)
{
    if (!h->share && !(h->share = create(h->link.size)))
        return sap_link_fail(&h->link, SAPPORO_ERR_MEMORY, "sapporo_mpi_force_begin: out of memory for %d ranks",
                             h->link.size);
    for (int k = 0; k < 2; k++) {
        sapporo **const c = &h->share->half[k].context;
        const int status = sapporo_open(&h->context_options, c);
        if (status) return sap_link_note(&h->link, status, sapporo_last_error(NULL));
        (void)sapporo_internals()->partial_keep_engine(*c);
        h->share->half[k].cargo.gate.context = *c;
    }
    return SAPPORO_OK;
}

int sap_share_open(sapporo_mpi *h)
{
    if (h->share) return SAPPORO_OK; /* on all ranks or on none */
    const int status = sap_link_agree(&h->link, open_contexts(h));
    if (status && !h->link.broken) sap_share_free(h);
    return status;
}

sapporo *sap_share_scratch(sapporo_mpi *h, int which)
{
    sap_share_forget(h);
    return h->share->half[which].context;
}

void sap_share_free(sapporo_mpi *h)
{
    struct sap_share *const s = h->share;
    if (!s) return;
    for (int k = 0; k < 2; k++) {
        sapporo_close(s->half[k].context);
        sap_cargo_close(&s->half[k].cargo);
        sap_room_free(&s->half[k].numbers);
    }
    sap_room_free(&s->blocks);
    sap_room_free(&s->sums);
    sap_room_free(&s->totals);
    free(s);
    h->share = NULL;
}

/* ------------------------------------------------------------------- parts */

/* Whether some block below the last one is empty on all ranks. */
static int is_sparse(const sapporo_mpi *h)
{
    return h->link.size > 1 && h->job->blocks < sap_block_number(h->job->nj_all);
}

int sap_share_length(const sapporo_mpi *h) { return is_sparse(h) ? h->job->blocks * SAP_BLOCK : h->job->nj_all; }

int sap_share_parts(const sapporo_mpi *h)
{
    const int n = sap_share_length(h);
    return h->link.size == 1 || n <= h->whole ? 1 : (n - 1) / h->part + 1;
}

int sap_share_is_here(const sapporo_mpi *h, int nj)
{
    const struct sap_share *const s = h->share;
    if (h->link.size == 1) return 1;
    return s && s->version == h->version && (s->here == nj || (s->here > nj && !s->block));
}

static struct half *half_of(const sapporo_mpi *h, int part) { return &h->share->half[part % 2]; }

/* The context in which a part is computed: of one rank, its own. */
static sapporo *context_of(const sapporo_mpi *h, int part)
{
    return h->link.size == 1 ? h->context : half_of(h, part)->context;
}

static size_t row_doubles(const sapporo_mpi *h)
{
    return 3 * (size_t)h->terms + sizeof(struct sap_partial_tail) / sizeof(double);
}

/* The first address of a part, and of the part behind the last one: their number.  Empty blocks do not count. */
static int part_first(const sapporo_mpi *h, int part)
{
    return part == 0 ? 0 : part < h->share->parts ? part * h->part : h->share->nj;
}

static int part_length(const sapporo_mpi *h, int part) { return part_first(h, part + 1) - part_first(h, part); }

/* The first block of a part, and of the part behind the last one: the number of blocks. */
static int part_block(const sapporo_mpi *h, int part) { return sap_block_number(part_first(h, part)); }

/* The block over all ranks, empty ones among them, of block k of those that are sent. */
static int outer_block(const sapporo_mpi *h, int k) { return h->share->block ? h->share->block[k] : k; }

/* The rank that keeps block k, and its first address in the context there. */
static int block_keeper(const sapporo_mpi *h, int k) { return outer_block(h, k) % h->link.size; }
static int block_inner(const sapporo_mpi *h, int k) { return outer_block(h, k) / h->link.size * SAP_BLOCK; }

/* Number of addresses of block k. */
static int block_length(const sapporo_mpi *h, int k)
{
    const int left = h->share->nj - k * SAP_BLOCK;
    return left < SAP_BLOCK ? left : SAP_BLOCK;
}

/* Number of units in which so many particles travel. */
static int units_of(const sapporo_mpi *h, int n)
{
    return h->share->by->on_device ? (n + h->carrier.unit_addresses - 1) / h->carrier.unit_addresses : n;
}

/* Places the units of each rank; those of a rank are in order of their addresses. */
static void place_units(const sapporo_mpi *h, int part, struct sap_cargo *c)
{
    const int end = part_block(h, part + 1);
    int unit = 0;
    memset(c->count, 0, (size_t)h->link.size * sizeof *c->count);
    for (int k = part_block(h, part); k < end; k++) c->count[block_keeper(h, k)] += units_of(h, block_length(h, k));
    for (int r = 0; r < h->link.size; r++) {
        c->first[r] = unit;
        unit += c->count[r];
    }
    c->unit = h->share->by->on_device ? h->carrier.unit_bytes : row_doubles(h) * sizeof(double);
    c->own = c->at + (size_t)c->first[h->link.rank] * c->unit;
}

/* The first unit of block k of a part. */
static int block_unit(const sapporo_mpi *h, int part, const struct sap_cargo *c, int k)
{
    const struct sap_share *const s = h->share;
    const int before = s->block ? s->before[k] : (k - part_block(h, part)) / h->link.size;
    return c->first[block_keeper(h, k)] + before * units_of(h, SAP_BLOCK);
}

/* The row of the first particle of that block, in host memory. */
static double *block_row(const sapporo_mpi *h, int part, const struct sap_cargo *c, int k)
{
    return (double *)(void *)(c->at + (size_t)block_unit(h, part, c, k) * c->unit);
}

/* --------------------------------------------------- blocks that are not empty */

/* Makes room for the list of blocks that are not empty, and for the own ones; -1: out of memory. */
static int reserve_blocks(sapporo_mpi *h)
{
    struct sap_share *const s = h->share;
    const size_t blocks = (size_t)h->job->blocks, ranks = (size_t)h->link.size;
    return sap_room_reserve(&s->blocks, (3 * blocks + ranks) * sizeof(int)) ? 0 : -1;
}

static int ascending(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Counts for each block those before it that its rank keeps in the same part. */
static void count_before(const sapporo_mpi *h, int *block, int *before, int *count)
{
    const int ranks = h->link.size, in_part = h->share->parts > 1 ? h->part / SAP_BLOCK : h->job->blocks;
    for (int k = 0; k < h->job->blocks; k++) {
        if (k % in_part == 0) memset(count, 0, (size_t)ranks * sizeof *count);
        before[k] = count[block[k] % ranks]++;
    }
}

/* Collective.  Finds the blocks of all ranks that are not empty, if some are. */
static int find_blocks(sapporo_mpi *h)
{
    struct sap_share *const s = h->share;
    struct sap_link *const l = &h->link;
    const sapporo_mpi_job *const j = h->job;
    s->block = s->before = NULL;
    s->nj = sap_share_length(h);
    if (!is_sparse(h)) return SAPPORO_OK;
    int *const block = s->blocks.at, *const before = block + j->blocks, *const own = before + j->blocks,
               *const first = own + j->blocks;
    (void)sap_link_places(j->kept, first, l->size);
    sap_kept_list(&h->kept, sap_block_number(sap_block_count(j->nj_all, l->rank, l->size)), own);
    for (int k = 0; k < j->kept[l->rank]; k++) own[k] = own[k] * l->size + l->rank;
    const int status = sap_link_finish(l, MPI_Iallgatherv(own, j->kept[l->rank], MPI_INT, block, j->kept, first,
                                                          MPI_INT, l->communicator, &l->request));
    if (status) return status;
    qsort(block, (size_t)j->blocks, sizeof *block, ascending);
    count_before(h, block, before, first);
    s->block = block;
    s->before = before;
    const int last = j->blocks - 1;
    if (last >= 0)
        s->nj = last * SAP_BLOCK +
                (j->nj_all - block[last] * SAP_BLOCK < SAP_BLOCK ? j->nj_all - block[last] * SAP_BLOCK : SAP_BLOCK);
    return SAPPORO_OK;
}

/* --------------------------------------------------------------------- sending */

/* Records the first error of this rank. */
static void fail(sapporo_mpi *h, int status, const sapporo *context)
{
    if (h->share->failed || status >= 0) return;
    h->share->failed = sap_link_note(&h->link, status, sapporo_last_error(context));
}

/* The status of a transport: a broken link ends the force; any other error is recorded, and its text is known. */
static int judge(sapporo_mpi *h, int status)
{
    if (h->link.broken) return h->link.broken;
    if (status < 0 && !h->share->failed) h->share->failed = status;
    return SAPPORO_OK;
}

/* Reads this rank's particles of a part into host memory. */
static void read_own(sapporo_mpi *h, int part, const struct sap_cargo *c)
{
    const int end = part_block(h, part + 1);
    for (int k = part_block(h, part); k < end; k++)
        if (block_keeper(h, k) == h->link.rank)
            fail(h,
                 sapporo_internals()->partial_read(h->context, block_inner(h, k), block_length(h, k),
                                                   block_row(h, part, c, k)),
                 h->context);
}

/*
 * Packs this rank's particles of a part on its device; they are side by side in its context.  No block is left out
 * where particles travel from device memory.
 */
static void pack_own(sapporo_mpi *h, int part, const struct sap_cargo *c)
{
    const int first = part_block(h, part), end = part_block(h, part + 1), ranks = h->link.size;
    struct sap_travel_part p = {
        .block = SAP_BLOCK, .processes = ranks, .process = h->link.rank, .before = part_first(h, part)};
    for (int k = first; k < end; k++) {
        if (block_keeper(h, k) != h->link.rank) continue;
        if (p.n == 0) p.first = block_inner(h, k);
        p.n += block_length(h, k);
    }
    fail(h, sapporo_internals()->travel_pack(h->context, c->gate.context, c->first[h->link.rank], &p), h->context);
}

/* Collective.  Starts to send a part.  After an error, too: other ranks wait for this rank's particles. */
static int send_part(sapporo_mpi *h, int part)
{
    struct sap_cargo *const c = &half_of(h, part)->cargo;
    place_units(h, part, c);
    (h->share->by->on_device ? pack_own : read_own)(h, part, c);
    sap_link_count_all(&h->link, c->count[h->link.rank], c->unit, h->share->by->on_device);
    return judge(h, h->share->by->post(&h->carrier, c));
}

/* 1 if some address of a part holds no particle. */
static int has_holes(const sapporo_mpi *h, int part)
{
    const double *row = (const double *)(const void *)half_of(h, part)->cargo.at;
    struct sap_partial_tail tail;
    for (int k = 0; k < part_length(h, part); k++, row += row_doubles(h)) {
        memcpy(&tail, row + row_doubles(h) - sizeof tail / sizeof *row, sizeof tail);
        if (!tail.occupied) return 1;
    }
    return 0;
}

/* Stores a part that has arrived in rows. */
static int store_rows(sapporo_mpi *h, int part)
{
    const struct half *const f = half_of(h, part);
    const int first = part_block(h, part), end = part_block(h, part + 1);
    int status = has_holes(h, part) ? sapporo_clear_particles(f->context) : SAPPORO_OK;
    for (int k = first; k < end && !status; k++)
        status = sapporo_internals()->partial_store(f->context, (k - first) * SAP_BLOCK, block_length(h, k),
                                                    block_row(h, part, &f->cargo, k));
    return status;
}

/* Gives the context of a part the superpackets that have arrived in its hold. */
static int take_superpackets(sapporo_mpi *h, int part)
{
    const struct half *const f = half_of(h, part);
    const int first = part_block(h, part), end = part_block(h, part + 1),
              in_block = SAP_BLOCK / h->carrier.unit_addresses;
    int *const number = f->numbers.at;
    int units = 0;
    for (int k = first; k < end; k++) {
        const int n = units_of(h, block_length(h, k)), at = block_unit(h, part, &f->cargo, k);
        for (int u = 0; u < n; u++) number[at + u] = (k - first) * in_block + u;
        units += n;
    }
    return sapporo_internals()->travel_take(f->context, number, units, part_length(h, part), &h->facts);
}

/* Stores a part that has arrived. */
static int store_part(sapporo_mpi *h, int part)
{
    const int status = h->share->by->on_device ? take_superpackets(h, part) : store_rows(h, part);
    return status ? status : sapporo_set_time(half_of(h, part)->context, h->time);
}

/* Collective.  Waits for a part and stores it. */
static int receive_part(sapporo_mpi *h, int part)
{
    struct half *const f = half_of(h, part);
    const int status = judge(h, h->share->by->wait(&h->carrier, &f->cargo));
    if (status || h->share->failed) return status;
    sap_share_forget(h);
    fail(h, store_part(h, part), f->context);
    if (h->share->parts > 1 || h->share->failed) return SAPPORO_OK;
    h->share->here = h->job->nj_all;
    h->share->version = h->version;
    return SAPPORO_OK;
}

/* ------------------------------------------------------------------- steps */

/* Step k of a force computes slab k % slabs of part k / slabs. */
static int part_of(const sapporo_mpi *h, int step) { return step / h->job->slabs; }
static int slab_of(const sapporo_mpi *h, int step) { return step % h->job->slabs; }

static int slab_rows(const sapporo_mpi *h, int slab)
{
    return sap_slab_first(h->job, h->job->ni, slab + 1) - sap_slab_first(h->job, h->job->ni, slab);
}

/* Starts the force of a step, whose part is in its context. */
static void start_step(sapporo_mpi *h, int step)
{
    const int part = part_of(h, step), slab = slab_of(h, step);
    sapporo *const c = context_of(h, part);
    const double *const target = h->job->target + (size_t)sap_slab_first(h->job, h->job->ni, slab) * (size_t)h->width;
    const sapporo_request r = sap_slab_request(h, target, slab_rows(h, slab), part_length(h, part));
    if (h->share->failed) return;
    sapporo_job **const job = &h->share->job[step % 2];
    const int asked = h->job->asked, one = h->share->parts == 1;
    fail(h,
         one ? sapporo_internals()->whole_begin(c, &r, asked, job)
             : sapporo_internals()->partial_begin(c, &r, asked, job),
         c);
}

/* The rows of a result from row `first` on. */
static sapporo_result rows_from(const sapporo_result *r, int first)
{
    sapporo_result s = *r;
    if (s.acc) s.acc += first;
    if (s.jerk) s.jerk += first;
    if (s.snap) s.snap += first;
    if (s.crackle) s.crackle += first;
    if (s.count) s.count += first;
    if (s.pot) s.pot += first;
    if (s.nearest) s.nearest += first;
    if (s.nearest_r2) s.nearest_r2 += first;
    return s;
}

/* Waits for the force of a step whose part has all particles, and writes its rows below ni. */
static int finish_whole(sapporo_mpi *h, int step, int ni, const sapporo_result *result)
{
    const int slab = slab_of(h, step), first = sap_slab_first(h->job, h->job->ni, slab), rows = slab_rows(h, slab);
    const int wanted = ni - first < 0 ? 0 : ni - first < rows ? ni - first : rows;
    const sapporo_result r = rows_from(result, first);
    return sapporo_force_end(h->share->job[step % 2], wanted, &r);
}

/* Merges row i of a step into its total; the first part sets it. */
static void merge_row(const sapporo_mpi *h, int part, double *row, double *total)
{
    if (h->job->nearest) {
        struct sap_partial_near *const near = sap_answer_near(h, row);
        if (near->address >= 0) near->address += part_first(h, part);
    }
    if (part == 0)
        memcpy(total, row, sap_answer_bytes(h));
    else
        sap_answer_merge(h, total, row);
}

/* Rows of a step that threads merge, and write after the last part. */
struct merge {
    const sapporo_mpi *h;
    int part, first, ni; /* first: row of the result of the step's first row */
    const sapporo_result *result;
};

static void merge_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct merge *const m = argument;
    const sapporo_mpi *const h = m->h;
    const struct sap_share *const s = h->share;
    const size_t doubles = sap_answer_bytes(h) / sizeof(double);
    for (int i = (int)from; i < to; i++) {
        const int row = m->first + i;
        double *const total = (double *)s->totals.at + (size_t)row * doubles;
        merge_row(h, m->part, (double *)s->sums.at + (size_t)i * doubles, total);
        if (m->part == s->parts - 1 && row < m->ni) sap_answer_write(h, total, s->scale, row, m->result);
    }
}

/* Waits for the force of a step, merges its sums, and writes the rows below ni once all parts are merged. */
static int finish_part(sapporo_mpi *h, int step, int ni, const sapporo_result *result)
{
    struct sap_share *const s = h->share;
    const int part = part_of(h, step), slab = slab_of(h, step), first = sap_slab_first(h->job, h->job->ni, slab);
    struct sap_partial partial;
    const int status =
        sapporo_internals()->partial_end(s->job[step % 2], h->job->nearest, s->sums.at, sap_answer_bytes(h), &partial);
    if (status < 0) return status;
    memcpy(s->scale, partial.scale, sizeof s->scale);
    struct merge m = {h, part, first, ni, result};
    const sap_fpenv caller = sap_fp_enter();
    sapporo_internals()->partial_loop(sap_mpi_threads(h->context), slab_rows(h, slab), merge_some, &m);
    sap_fp_leave(caller);
    return status;
}

static void finish_step(sapporo_mpi *h, int step, int ni, const sapporo_result *result)
{
    struct sap_share *const s = h->share;
    if (!s->failed) {
        const int status = s->parts > 1 ? finish_part(h, step, ni, result) : finish_whole(h, step, ni, result);
        s->partial |= status == SAPPORO_PARTIAL;
        fail(h, status, context_of(h, part_of(h, step)));
    }
    sapporo_force_free(s->job[step % 2]);
    s->job[step % 2] = NULL;
}

/* ------------------------------------------------------------------- force */

/* Makes room for the particles of the parts that are under way at a time. */
static int reserve_parts(sapporo_mpi *h)
{
    struct sap_share *const s = h->share;
    const int nj = sap_share_length(h), units = units_of(h, s->parts == 1 ? nj : h->part);
    int status = SAPPORO_OK;
    if (sap_share_is_here(h, h->job->nj_all)) return SAPPORO_OK;
    if (is_sparse(h) && reserve_blocks(h)) return SAPPORO_ERR_MEMORY;
    for (int k = 0; k < 2 && k < s->parts && !status; k++) {
        s->half[k].cargo.unit = s->by->on_device ? h->carrier.unit_bytes : row_doubles(h) * sizeof(double);
        status = s->by->allocate(&h->carrier, &s->half[k].cargo, (size_t)units);
        if (!status && s->by->on_device && !sap_room_reserve(&s->half[k].numbers, (size_t)units * sizeof(int)))
            status = SAPPORO_ERR_MEMORY;
    }
    return status;
}

int sap_share_prepare(sapporo_mpi *h)
{
    const sapporo_mpi_job *const j = h->job;
    struct sap_share *const s = h->share ? h->share : (h->share = create(h->link.size));
    if (!s) return -1;
    s->by = sap_transport_of(h, is_sparse(h) ? 0 : j->asked);
    s->parts = sap_share_parts(h);
    if (h->link.size == 1 || (!s->block && sap_share_is_here(h, j->nj_all))) s->nj = j->nj_all;
    s->failed = s->partial = 0;
    if (reserve_parts(h)) return -1;
    if (s->parts == 1) return 0;
    const size_t own = (size_t)(j->ni / j->slabs) + 1;
    return sap_room_reserve(&s->sums, own * sap_answer_bytes(h)) &&
                   sap_room_reserve(&s->totals, (size_t)j->ni * sap_answer_bytes(h))
               ? 0
               : -1;
}

int sap_share_begin(sapporo_mpi *h)
{
    if (sap_share_is_here(h, h->job->nj_all)) {
        fail(h, sapporo_set_time(context_of(h, 0), h->time), context_of(h, 0));
    } else {
        int status = find_blocks(h);
        if (!status) status = send_part(h, 0);
        if (!status) status = receive_part(h, 0);
        if (status) return status;
    }
    start_step(h, 0);
    return SAPPORO_OK;
}

/* Collective.  Goes on to the next part: receives it, and starts to send the part behind it. */
static int next_part(sapporo_mpi *h, int part)
{
    const int status = receive_part(h, part);
    return status || part + 1 >= h->share->parts ? status : send_part(h, part + 1);
}

int sap_share_end(sapporo_mpi *h, int ni, const sapporo_result *result)
{
    const int steps = h->share->parts * h->job->slabs;
    int status = h->share->parts > 1 ? send_part(h, 1) : SAPPORO_OK;
    for (int k = 0; k < steps && !status; k++) {
        const int next = k + 1;
        if (next < steps && slab_of(h, next) == 0) status = next_part(h, part_of(h, next));
        if (next < steps && !status) start_step(h, next);
        if (!status) finish_step(h, k, ni, result);
        for (int f = 0; f < 2 && !status; f++) status = h->share->by->poke(&h->carrier, &h->share->half[f].cargo);
    }
    return status;
}

int sap_share_status(const sapporo_mpi *h)
{
    const struct sap_share *const s = h->share;
    return s->failed ? s->failed : s->partial ? SAPPORO_PARTIAL : SAPPORO_OK;
}

void sap_share_forget(sapporo_mpi *h)
{
    if (h->share) h->share->here = 0;
}

void sap_share_drop(sapporo_mpi *h)
{
    for (int k = 0; k < 2 && h->share; k++) {
        sapporo_force_free(h->share->job[k]);
        h->share->job[k] = NULL;
    }
}
