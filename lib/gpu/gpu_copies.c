/*
 * gpu_copies.c - copies large arrays between pageable memory of the host and an accelerator: threads fill or empty one
 * half of a session's pinned memory while the other half is on its way.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/structs.h"
#include "base/team.h"
#include "base/threads.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_session.h"

enum { SIDES = 2, A_THREAD = 65536, PAGE = 4096 /* in bytes; what is worth a thread */ };
enum { PARTS = 64 /* of a half, at most */, SHORT_PIECE = 1 << 20, PIECES = 4 /* of a download that is not long */ };

/* Threads for so many bytes. */
static int threads_for(size_t bytes) { return sap_threads_few(1 + (int)(bytes / A_THREAD)); }

static size_t side_bytes(const struct sap_gpu_session *s) { return s->chunk.bytes / SIDES / 64 * 64; }

static char *side_of(const struct sap_gpu_session *s, int side)
{
    return (char *)s->chunk.host + (size_t)side * side_bytes(s);
}

/* ---- to the device ------------------------------------------------------------------------ */

/* Elements that threads write to a half, in parts of `items.chunk`; the caller's thread sends parts that are filled. */
struct half_filling {
    const struct sap_gpu_session *s;
    const struct sap_gpu_buffer *to;
    sap_session_source *fill;
    void *argument;
    char *half;
    size_t each;
    int first, parts, sent, status; /* sent: parts, which leave in order */
    struct sap_items items;
    atomic_uchar filled[PARTS];
};

/* Sends the parts that are filled, up to one that is not. */
static void send_filled(struct half_filling *h)
{
    const ptrdiff_t from = h->sent * h->items.chunk;
    while (h->sent < h->parts && atomic_load_explicit(&h->filled[h->sent], memory_order_acquire)) h->sent++;
    const ptrdiff_t to = h->sent < h->parts ? h->sent * h->items.chunk : h->items.n;
    if (h->status || from >= to) return;
    h->status = sap_session_copy_in(h->s, h->to->mem, ((size_t)h->first + (size_t)from) * h->each,
                                    h->half + (size_t)from * h->each, (size_t)(to - from) * h->each);
}

static void fill_parts(void *argument, int thread)
{
    struct half_filling *const h = argument;
    for (ptrdiff_t from, to; sap_items_take(&h->items, &from, &to);) {
        h->fill(h->argument, h->half + (size_t)from * h->each, h->first + (int)from, (int)(to - from));
        atomic_store_explicit(&h->filled[from / h->items.chunk], 1, memory_order_release);
        if (thread == 0) send_filled(h);
    }
}

/* Fills a half with n elements, and sends it. */
static int send_half(struct half_filling *h, int n)
{
    const int threads = threads_for((size_t)n * h->each);
    const ptrdiff_t least = PAGE / (ptrdiff_t)h->each + 1, each = (n + PARTS - 1) / PARTS;
    const ptrdiff_t chunk = threads == 1 ? n : each > least ? each : least;
    h->parts = (int)((n + chunk - 1) / chunk);
    h->sent = h->status = 0;
    for (int k = 0; k < h->parts; k++) atomic_init(&h->filled[k], 0);
    sap_items_start(&h->items, n, chunk);
    sap_team_run(threads, fill_parts, h);
    send_filled(h);
    return h->status;
}

static int send_pieces(struct sap_gpu_session *s, const struct sap_gpu_buffer *to, size_t each, int n,
                       sap_session_source *fill, void *argument)
{
    const int most = (int)(side_bytes(s) / each);
    struct half_filling h = {.s = s, .to = to, .fill = fill, .argument = argument, .each = each};
    int side = 0;
    for (int piece = 0; h.first < n; h.first += most, piece++, side = !side) {
        h.half = side_of(s, side);
        if (piece >= SIDES || s->sending) TRY(s->driver->event_wait(s->copied[side]));
        TRY(send_half(&h, n - h.first < most ? n - h.first : most));
        TRY(s->driver->event_record(s->copied[side], s->stream));
    }
    s->sending = 1;
    return SAP_DRIVER_OK;
}

int sap_session_upload(struct sap_gpu_session *s, const struct sap_gpu_buffer *to, size_t each, int n,
                       sap_session_source *fill, void *argument)
{
    TRY(send_pieces(s, to, each, n, fill, argument));
    s->sending = 0;
    return sap_session_wait(s);
}

/* A column on its way to the device. */
struct column_sending {
    const sapporo_column *from;
    size_t each;
};

static void fill_column(void *argument, void *to, int first, int n)
{
    const struct column_sending *const c = argument;
    const size_t each = c->each;
    if (c->from->stride == 0 || c->from->stride == (ptrdiff_t)each) {
        memcpy(to, sap_column_at(c->from, first, each), (size_t)n * each);
        return;
    }
    for (int k = 0; k < n; k++) memcpy((char *)to + (size_t)k * each, sap_column_at(c->from, first + k, each), each);
}

int sap_session_send(struct sap_gpu_session *s, const struct sap_gpu_buffer *to, const sapporo_column *from,
                     size_t each, int n)
{
    struct column_sending column = {from, each};
    return send_pieces(s, to, each, n, fill_column, &column);
}

int sap_session_upload_column(struct sap_gpu_session *s, const struct sap_gpu_buffer *to, const sapporo_column *from,
                              size_t each, int n)
{
    struct column_sending column = {from, each};
    return sap_session_upload(s, to, each, n, fill_column, &column);
}

/* ---- to the host -------------------------------------------------------------------------- */

/* Bytes that threads copy. */
struct bytes_copying {
    char *to;
    const char *from;
};

static void copy_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct bytes_copying *const c = argument;
    memcpy(c->to + from, c->from + from, (size_t)(to - from));
}

/* Waits for a piece, and copies it from pinned memory. */
static int empty(struct sap_gpu_session *s, int side, char *to, size_t bytes)
{
    const int threads = threads_for(bytes);
    struct bytes_copying c = {to, side_of(s, side)};
    TRY(s->driver->event_wait(s->copied[side]));
    sap_team_for(threads, (ptrdiff_t)bytes, sap_team_chunk((ptrdiff_t)bytes, threads, PAGE), copy_some, &c);
    return SAP_DRIVER_OK;
}

/* Bytes of a piece of a download: a half if it is long, else less, since the first piece is waited for. */
static size_t piece_of(const struct sap_gpu_session *s, size_t bytes)
{
    const size_t some = bytes / PIECES / PAGE * PAGE;
    return some > side_bytes(s) ? side_bytes(s) : some > SHORT_PIECE ? some : SHORT_PIECE;
}

int sap_session_download(struct sap_gpu_session *s, void *to, const struct sap_gpu_buffer *from, size_t at,
                         size_t bytes)
{
    const size_t most = piece_of(s, bytes);
    size_t before = 0; /* bytes of the piece that is on its way */
    int side = 0;
    if (bytes <= most) {
        if (bytes > 0) TRY(sap_session_copy_out(s, to, from->mem, at, bytes));
        return sap_session_wait(s);
    }
    for (size_t done = 0; done < bytes || before > 0; side = !side) {
        const size_t some = bytes - done < most ? bytes - done : most;
        if (some > 0) TRY(sap_session_copy_out(s, side_of(s, side), from->mem, at + done, some));
        if (some > 0) TRY(s->driver->event_record(s->copied[side], s->stream));
        if (before > 0) TRY(empty(s, !side, (char *)to + done - before, before));
        done += some;
        before = some;
    }
    return SAP_DRIVER_OK;
}

/* Writes a byte to each page of these. */
static void write_to_pages(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    volatile char *const at = argument;
    for (ptrdiff_t k = from; k < to; k += PAGE) at[k] = 0;
}

void sap_session_expect(void *to, size_t bytes)
{
    if (!to || bytes < SHORT_PIECE) return;
    const int threads = threads_for(bytes);
    const ptrdiff_t chunk = sap_team_chunk((ptrdiff_t)bytes, threads, PAGE);
    sap_team_for(threads, (ptrdiff_t)bytes, (chunk + PAGE - 1) / PAGE * PAGE, write_to_pages, to);
}
