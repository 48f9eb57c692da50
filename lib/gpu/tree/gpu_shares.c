/* gpu_shares.c - see gpu_shares.h. The copies are made by gpu_copied.c, shares are chosen by gpu_division.c. */
#include "gpu/tree/gpu_shares.h"

#include <stdlib.h>

#include "base/log.h"
#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_copied.h"
#include "gpu/tree/gpu_division.h"
#include "gpu/tree/gpu_kernels.h"

/* ---- life ------------------------------------------------------------------------------- */

static int open_sharer(const struct sap_gpu_session *s, struct sap_gpu_sharer *sharer)
{
    TRY(s->driver->event_create_timed(s->device->dev, &sharer->began));
    return s->driver->event_create_timed(s->device->dev, &sharer->ended);
}

static int open_helper(const struct sap_gpu_session *first, struct sap_gpu_helper *h)
{
    const struct sap_driver *const d = first->driver;
    TRY(sap_session_open(&h->session, 0));
    TRY(sap_gpu_tree_load(&h->session, &h->f));
    TRY(open_sharer(&h->session, &h->walks));
    TRY(d->event_create(h->session.device->dev, &h->done));
    TRY(d->event_create(first->device->dev, &h->cells));
    TRY(d->event_create_timed(first->device->dev, &h->sends));
    TRY(d->event_create_timed(first->device->dev, &h->sent));
    return d->allocate_shared ? d->stream_create(first->device->dev, &h->send) : (int)SAP_DRIVER_OK;
}

int sap_gpu_shares_open(struct sap_gpu_session *s, struct sap_gpu_shares *shares)
{
    const int n = s->set->n - 1;
    if (n < 1 || !s->driver->copy_peer) return SAP_DRIVER_OK;
    shares->helper = sap_session_host_memory(s, (size_t)n, sizeof *shares->helper);
    if (!shares->helper) return SAP_DRIVER_MEMORY;
    shares->mode = !sap_gpu_together(s->set)    ? SAP_SHARES_WAIT
                   : s->driver->allocate_shared ? SAP_SHARES_WRITE
                                                : SAP_SHARES_COPY;
    for (int k = 0; k < n; k++) {
        struct sap_gpu_helper *const h = &shares->helper[shares->helpers++];
        sap_session_init(&h->session, s->set, s->owner);
        h->session.device = &s->set->device[k + 1];
        h->copy.stale = SAP_COPY_ALL;
        TRY(open_helper(s, h));
    }
    TRY(open_sharer(s, &shares->first));
    return s->driver->event_create(s->device->dev, &shares->ready);
}

static void free_helper(const struct sap_driver *d, struct sap_gpu_helper *h)
{
    struct sap_event *const events[] = {h->walks.began, h->walks.ended, h->done, h->sends, h->sent, h->cells};
    sap_session_stop(&h->session);
    sap_gpu_copied_free(d, h);
    sap_gpu_walk_free(d, &h->lists);
    sap_gpu_results_free(d, &h->results);
    sap_gpu_free(d, &h->more_acc);
    sap_gpu_free(d, &h->more_pot);
    for (int k = 0; k < COUNT(events); k++)
        if (events[k]) d->event_destroy(events[k]);
    if (h->send) d->stream_destroy(h->send);
    sap_session_close(&h->session);
}

void sap_gpu_shares_free(const struct sap_driver *driver, struct sap_gpu_shares *shares)
{
    struct sap_event *const events[] = {shares->first.began, shares->first.ended, shares->ready};
    sap_gpu_shares_halt(shares);
    for (int k = 0; k < shares->helpers; k++) free_helper(driver, &shares->helper[k]);
    for (int k = 0; k < COUNT(events); k++)
        if (events[k]) driver->event_destroy(events[k]);
    free(shares->helper);
    *shares = (struct sap_gpu_shares){0};
}

void sap_gpu_shares_changed(struct sap_gpu_shares *shares, unsigned what)
{
    for (int k = 0; k < shares->helpers; k++) {
        shares->helper[k].copy.stale |= what;
        if (what & SAP_COPY_CUT) shares->helper[k].full = 0;
    }
}

/* ---- rows ------------------------------------------------------------------------------- */

/* Makes memory of rows that all devices can write. UNSUPPORTED: there is none. */
static int reserve_for_all(const struct sap_gpu_session *s, struct sap_gpu_buffer *b, struct sap_mem **shared,
                           size_t bytes)
{
    if (b->mem && b->mem == *shared && b->bytes >= bytes) return SAP_DRIVER_OK;
    *shared = NULL;
    TRY(sap_session_wait(s)); /* a kernel may still read what is freed */
    sap_gpu_free(s->driver, b);
    TRY(sap_gpu_reserve_for_all(s->set, b, bytes));
    *shared = b->mem;
    return SAP_DRIVER_OK;
}

static int reserve_rows(struct sap_gpu_shares *shares, const struct sap_gpu_walking *walk, int rows)
{
    const struct sap_gpu_session *const s = walk->tree.session;
    struct sap_gpu_results *const r = walk->results;
    if (shares->mode == SAP_SHARES_WRITE) {
        int status = reserve_for_all(s, &r->acc, &shares->acc, (size_t)rows * 3 * sizeof(double));
        if (!status) status = reserve_for_all(s, &r->pot, &shares->pot, (size_t)rows * sizeof(double));
        if (status != SAP_DRIVER_UNSUPPORTED) return status;
        shares->mode = SAP_SHARES_COPY; /* devices that cannot reach each other */
    }
    return sap_gpu_results_reserve(s, r, rows);
}

/* Makes all bits of rows 0, so that those of another device can be united with them. */
static int clear_rows(const struct sap_gpu_session *s, const struct sap_gpu_results *r, int rows)
{
    TRY(sap_session_fill(s, r->acc.mem, 0, 0, (size_t)rows * 3 * sizeof(double)));
    return sap_session_fill(s, r->pot.mem, 0, 0, (size_t)rows * sizeof(double));
}

/* Sends the rows of a helper to the first device, behind its walk. */
static int send_rows(const struct sap_gpu_session *first, struct sap_gpu_helper *h, int rows)
{
    const struct sap_driver *const d = first->driver;
    const size_t bytes = (size_t)rows * sizeof(double);
    TRY(sap_session_reserve(first, &h->more_acc, 3 * bytes));
    TRY(sap_session_reserve(first, &h->more_pot, bytes));
    TRY(d->copy_peer(h->session.stream, h->more_acc.mem, 0, h->results.acc.mem, 0, 3 * bytes));
    return d->copy_peer(h->session.stream, h->more_pot.mem, 0, h->results.pot.mem, 0, bytes);
}

/* ---- copies ----------------------------------------------------------------------------- */

/* Lets later work of one stream wait for all that is in another one. */
static int wait_for(const struct sap_gpu_shares *shares, const struct sap_driver *d, struct sap_stream *waits,
                    struct sap_stream *on, struct sap_event *event)
{
    if (shares->mode == SAP_SHARES_WAIT) return d->stream_finish(on);
    TRY(d->event_record(event, on));
    return d->stream_wait(waits, event);
}

/* Whether the cells are sent only if the walk of a helper needs them. */
static int cells_come_later(const struct sap_gpu_helper *h, const struct sap_gpu_subset *to)
{
    return h->send && !to->w.every;
}

/* Sends what a helper lacks, which waits for it. */
static int send_copies(const struct sap_gpu_shares *shares, struct sap_gpu_helper *h,
                       const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to)
{
    const struct sap_gpu_session *const first = walk->tree.session;
    struct sap_stream *const stream = h->send ? h->send : first->stream;
    const unsigned what = cells_come_later(h, to) ? SAP_COPY_ALL & ~SAP_COPY_CELLS : SAP_COPY_ALL;
    const struct sap_gpu_copying c = {
        .tree = &walk->tree, .to = to, .what = what, .writes = shares->mode == SAP_SHARES_WRITE};
    TRY(sap_gpu_copied_reserve(h, &c));
    if (h->send) TRY(wait_for(shares, first->driver, h->send, first->stream, shares->ready));
    h->sent_bytes = sap_gpu_copied_lacks(h, &c);
    TRY(first->driver->event_record(h->sends, stream));
    TRY(sap_gpu_copied_send(h, &c));
    return wait_for(shares, first->driver, h->session.stream, stream, h->sent);
}

/* Sends the cells, for the walk in double. */
static int send_cells(const struct sap_gpu_shares *shares, struct sap_gpu_helper *h, const struct sap_gpu_walking *walk)
{
    const struct sap_gpu_copying c = {
        .tree = &walk->tree, .what = SAP_COPY_CELLS, .writes = shares->mode == SAP_SHARES_WRITE};
    TRY(sap_gpu_copied_send(h, &c));
    return wait_for(shares, h->session.driver, h->session.stream, h->send, h->cells);
}

int sap_gpu_shares_early(struct sap_gpu_shares *shares, const struct sap_gpu_built *tree)
{
    const struct sap_gpu_session *const first = tree->session;
    const struct sap_gpu_copying c = {.tree = tree, .what = SAP_COPY_CUT | SAP_COPY_PARTICLES, .writes = 1};
    for (int k = 0; k < shares->helpers; k++) {
        struct sap_gpu_helper *const h = &shares->helper[k];
        if (shares->mode != SAP_SHARES_WRITE || shares->early == 0 || h->full) continue;
        const int status = sap_gpu_copied_reserve(h, &c);
        if (status == SAP_DRIVER_MEMORY) continue; /* the next walk does without the helper */
        TRY(status);
        TRY(wait_for(shares, first->driver, h->send, first->stream, shares->ready));
        h->sends_early = 1;
        TRY(sap_gpu_copied_send(h, &c));
    }
    return SAP_DRIVER_OK;
}

int sap_gpu_shares_settle(struct sap_gpu_shares *shares)
{
    for (int k = 0; k < shares->helpers; k++) {
        struct sap_gpu_helper *const h = &shares->helper[k];
        if (h->sends_early) TRY(h->session.driver->stream_finish(h->send));
        h->sends_early = 0;
    }
    return SAP_DRIVER_OK;
}

/* ---- walks ------------------------------------------------------------------------------ */

/* The share of a helper: its walk over the copies, and the targets there. */
struct share {
    struct sap_gpu_results theirs; /* rows in memory of the first device */
    struct sap_gpu_walking walk;
    struct sap_gpu_subset to;
};

static void make_share(const struct sap_gpu_shares *shares, struct sap_gpu_helper *h,
                       const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to, struct share *s)
{
    s->theirs = (struct sap_gpu_results){.acc = walk->results->acc, .pot = walk->results->pot};
    s->walk = *walk;
    s->walk.tree.session = &h->session;
    s->walk.tree.f = h->f;
    s->walk.tree.nodes = &h->copy.nodes;
    s->walk.tree.own = &h->copy.own;
    s->walk.tree.lengths = &h->copy.lengths;
    s->walk.nodes = &h->copy.nodes;
    s->walk.sorted = &h->copy.own.sorted;
    s->walk.length = &h->copy.own.length;
    s->walk.soft = &h->copy.lengths.of_node;
    s->walk.lists = &h->lists;
    s->walk.results = shares->mode == SAP_SHARES_WRITE ? &s->theirs : &h->results;
    s->walk.without_wide = cells_come_later(h, to);
    s->to = *to;
    s->to.of = to->of == walk->tree.own ? &h->copy.own : &h->copy.positions;
    s->to.row = to->w.all_slots ? &s->to.of->address : &h->copy.row;
    s->to.slot = to->w.all_slots ? &s->to.of->address : &h->copy.slot;
    s->to.strict = to->w.all_slots ? &s->to.of->strict : &h->copy.strict;
    s->to.w.share = h->walks.share;
    s->to.w.shares = h->walks.shares;
}

/* Launches a walk between the events of its device. */
static int run(const struct sap_gpu_session *s, struct sap_gpu_sharer *sharer, const struct sap_gpu_walking *walk,
               const struct sap_gpu_subset *to)
{
    TRY(s->driver->event_record(sharer->began, s->stream));
    TRY(sap_gpu_walk_run(walk, to));
    return s->driver->event_record(sharer->ended, s->stream);
}

/* Copies what the walk of a helper tells, and its rows. */
static int fetch(const struct sap_gpu_shares *shares, struct sap_gpu_helper *h, const struct sap_gpu_session *first,
                 int rows)
{
    const struct sap_gpu_session *const s = &h->session;
    TRY(sap_session_copy_out(s, s->chunk.host, h->lists.left.mem, 0, SAP_LEFT_FIRST * sizeof(int)));
    return shares->mode == SAP_SHARES_WRITE ? (int)SAP_DRIVER_OK : send_rows(first, h, rows);
}

/* Launches what a helper has left to double. */
static int run_wide(const struct sap_gpu_shares *shares, struct sap_gpu_helper *h, const struct sap_gpu_walking *walk,
                    const struct share *share)
{
    TRY(send_cells(shares, h, walk));
    return sap_gpu_walk_wide(&share->walk, &share->to);
}

/* Lets a helper walk: copies what it lacks, launches its share, and sends its rows. */
static int start_helper(const struct sap_gpu_shares *shares, struct sap_gpu_helper *h,
                        const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to)
{
    const struct sap_gpu_session *const first = walk->tree.session, *const s = &h->session;
    const int writes = shares->mode == SAP_SHARES_WRITE, rows = to->w.slots;
    struct share share;
    TRY(send_copies(shares, h, walk, to));
    if (!writes) TRY(sap_gpu_results_reserve(s, &h->results, rows));
    if (!writes) TRY(clear_rows(s, &h->results, rows));
    make_share(shares, h, walk, to, &share);
    TRY(run(s, &h->walks, &share.walk, &share.to));
    if (share.walk.without_wide && h->wide) TRY(run_wide(shares, h, walk, &share));
    return fetch(shares, h, first, rows);
}

/* Returns whether the last walk of a helper left something to double. */
static int leaves(const struct sap_gpu_shares *shares, const struct sap_gpu_helper *h)
{
    const unsigned *const told = h->session.chunk.host;
    return told[SAP_LEFT_COUNT + SAP_LEFT_WIDE] > 0 || (shares->parts && told[SAP_LEFT_COUNT + SAP_LEFT_PARTS] > 0);
}

/* Launches what a helper has left to double, if it has; waits for its walk unless that is done. */
static int end_helper(const struct sap_gpu_shares *shares, struct sap_gpu_helper *h, const struct sap_gpu_walking *walk,
                      const struct sap_gpu_subset *to)
{
    struct share share;
    if (h->wide || !cells_come_later(h, to)) return SAP_DRIVER_OK;
    TRY(sap_session_wait(&h->session));
    h->wide = leaves(shares, h);
    if (!h->wide) return SAP_DRIVER_OK;
    make_share(shares, h, walk, to, &share);
    TRY(run_wide(shares, h, walk, &share));
    return fetch(shares, h, walk->tree.session, to->w.slots);
}

/* Starts all helpers that have a share; *full: the one that lacks memory, or NULL. */
static int start_helpers(struct sap_gpu_shares *shares, const struct sap_gpu_walking *walk,
                         const struct sap_gpu_subset *to, struct sap_gpu_helper **full)
{
    struct sap_gpu_session *const first = walk->tree.session;
    *full = NULL;
    TRY(reserve_rows(shares, walk, to->w.slots));
    for (int k = 0; k < shares->helpers; k++) {
        struct sap_gpu_helper *const h = &shares->helper[k];
        if (h->walks.shares == 0) continue;
        const int status = start_helper(shares, h, walk, to);
        if (status) h->copy.stale = SAP_COPY_ALL;
        if (status == SAP_DRIVER_MEMORY) *full = h;
        if (status) first->failed = h->session.device;
        TRY(status);
    }
    return SAP_DRIVER_OK;
}

/* Waits for the helpers in the stream of the first device, and unites their rows with its own. */
static int join_helpers(const struct sap_gpu_shares *shares, const struct sap_gpu_walking *walk,
                        const struct sap_gpu_subset *to)
{
    const struct sap_gpu_session *const first = walk->tree.session;
    const struct sap_gpu_results *const r = walk->results;
    const int rows = to->w.slots;
    for (int k = 0; k < shares->helpers; k++) {
        struct sap_gpu_helper *const h = &shares->helper[k];
        if (h->walks.shares == 0) continue;
        TRY(end_helper(shares, h, walk, to));
        TRY(wait_for(shares, first->driver, first->stream, h->session.stream, h->done));
        if (shares->mode == SAP_SHARES_WRITE) continue;
        TRY(sap_launch_tree_rows_unite(first, walk->tree.f, rows, r->acc.mem, r->pot.mem, h->more_acc.mem,
                                       h->more_pot.mem, rows));
    }
    return SAP_DRIVER_OK;
}

/* Leaves a helper out that has too little memory. */
static void leave_out(struct sap_gpu_shares *shares, struct sap_gpu_helper *h, struct sap_gpu_session *first)
{
    first->failed = NULL;
    sap_gpu_shares_halt(shares);
    h->full = 1;
    sap_gpu_copied_free(h->session.driver, h);
    sap_log(SAPPORO_LOG_INFO, "device %d has too little memory for a copy of a tree, and takes no part in its forces",
            h->session.device->number);
}

int sap_gpu_shares_walk(struct sap_gpu_shares *shares, const struct sap_gpu_walking *walk,
                        const struct sap_gpu_subset *to)
{
    const struct sap_gpu_session *const s = walk->tree.session;
    struct sap_gpu_helper *full;
    struct sap_gpu_subset own = *to;
    int status;
    do {
        sap_gpu_division_choose(shares, walk, to);
        own.w.share = shares->first.share;
        own.w.shares = shares->first.shares;
        if (own.w.shares == SAP_SHARES) own.w.shares = 0;
        status = own.w.shares ? start_helpers(shares, walk, to, &full) : (int)SAP_DRIVER_OK;
        if (status == SAP_DRIVER_MEMORY && full) leave_out(shares, full, walk->tree.session);
    } while (status == SAP_DRIVER_MEMORY && full);
    TRY(status);
    if (own.w.shares && shares->mode != SAP_SHARES_WRITE) TRY(clear_rows(s, walk->results, own.w.slots));
    TRY(run(s, &shares->first, walk, &own));
    shares->walked = 1;
    return own.w.shares ? join_helpers(shares, walk, to) : (int)SAP_DRIVER_OK;
}

/* Returns a number of two words plus another one, in the same words. */
static void add_number(unsigned *words, const unsigned *more)
{
    const unsigned long long sum =
        words[0] + ((unsigned long long)words[1] << 32) + more[0] + ((unsigned long long)more[1] << 32);
    words[0] = (unsigned)sum;
    words[1] = (unsigned)(sum >> 32);
}

void sap_gpu_shares_tell(const struct sap_gpu_shares *shares, unsigned *told)
{
    for (int k = 0; k < shares->helpers; k++) {
        struct sap_gpu_helper *const h = &shares->helper[k];
        const unsigned *const more = h->session.chunk.host;
        if (h->walks.shares == 0) continue;
        h->wide = leaves(shares, h);
        add_number(told, more);
        add_number(told + 2, more + 2);
        told[SAP_LEFT_BEYOND] |= more[SAP_LEFT_BEYOND];
    }
}

void sap_gpu_shares_halt(const struct sap_gpu_shares *shares)
{
    for (int k = 0; k < shares->helpers; k++) {
        const struct sap_gpu_session *const s = &shares->helper[k].session;
        if (shares->helper[k].send) (void)s->driver->stream_finish(shares->helper[k].send);
        if (s->stream) (void)s->driver->stream_finish(s->stream);
    }
}
