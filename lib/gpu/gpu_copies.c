/*
 * gpu_copies.c - copies large arrays between pageable memory of the host and an accelerator: threads fill or empty one
 * half of a session's pinned memory while the other half is on its way.
 */
#include <string.h>

#include "base/team.h"
#include "base/threads.h"
#include "gpu/gpu_launch.h"
#include "gpu/gpu_session.h"

enum { SIDES = 2, A_THREAD = 65536, AT_ONCE = 4096 }; /* in bytes: what is worth a thread */

/* Threads for so many bytes. */
static int threads_for(size_t bytes) { return sap_threads_few(1 + (int)(bytes / A_THREAD)); }

/* Elements that threads fill. */
struct piece_filling {
    sap_session_source *fill;
    void *argument;
    char *to;
    size_t each;
    int first;
};

static void fill_some(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct piece_filling *const f = argument;
    f->fill(f->argument, f->to + (size_t)from * f->each, f->first + (int)from, (int)(to - from));
}

static char *side_of(const struct sap_gpu_session *s, int side)
{
    return (char *)s->chunk.host + (size_t)side * (s->chunk.bytes / SIDES / 64 * 64);
}

int sap_session_upload(struct sap_gpu_session *s, const struct sap_gpu_buffer *to, size_t each, int n,
                       sap_session_source *fill, void *argument)
{
    const int most = (int)(s->chunk.bytes / SIDES / 64 * 64 / each);
    int side = 0;
    for (int first = 0, piece = 0; first < n; first += most, piece++, side = !side) {
        const int some = n - first < most ? n - first : most;
        const size_t bytes = (size_t)some * each;
        const int threads = threads_for(bytes), at_once = (int)(AT_ONCE / each) + 1;
        struct piece_filling f = {fill, argument, side_of(s, side), each, first};
        if (piece >= SIDES) TRY(s->driver->event_wait(s->copied[side]));
        sap_team_for(threads, some, sap_team_chunk(some, threads, at_once), fill_some, &f);
        TRY(sap_session_copy_in(s, to->mem, (size_t)first * each, f.to, bytes));
        TRY(s->driver->event_record(s->copied[side], s->stream));
    }
    return sap_session_wait(s);
}

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
    sap_team_for(threads, (ptrdiff_t)bytes, sap_team_chunk((ptrdiff_t)bytes, threads, AT_ONCE), copy_some, &c);
    return SAP_DRIVER_OK;
}

int sap_session_download(struct sap_gpu_session *s, void *to, const struct sap_gpu_buffer *from, size_t at,
                         size_t bytes)
{
    const size_t most = s->chunk.bytes / SIDES / 64 * 64;
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
