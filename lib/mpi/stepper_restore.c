/*
 * stepper_restore.c - sapporo_mpi_stepper_restore: rank 0 reads a file of stepper_save.c and sends each rank its part.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/saving.h"
#include "context/internals.h"
#include "mpi/stepper_saved.h"
#include "mpi/tree.h"

/* Memory of a call, which MPI reads and writes. */
struct load {
    struct sap_stepper_saved part; /* of this stepper, then of the file */
    struct sap_saved_head head;
    struct sap_saved_rank mine;
    struct sap_saved_rank *wrote, *all; /* of rank 0: of the ranks that wrote the file; of these ranks */
    int file;                           /* of rank 0; -1: it is not open */
    char *chunk;                        /* a message that rank 0 sends */
    struct sap_saved_columns c;
};

/* ---- the file, on rank 0 ----------------------------------------------------------------------- */

/* Reads n bytes at an offset; 0, or -1. */
static int read_at(int file, void *to, size_t n, uint64_t offset)
{
    char *next = to;
    while (n > 0) {
        const ssize_t got = pread(file, next, n, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return -1;
        next += got;
        offset += (uint64_t)got;
        n -= (size_t)got;
    }
    return 0;
}

/* Whether the checksum at the end is that of all that is before. */
static int is_sound(struct load *l, uint64_t bytes)
{
    uint64_t sum = SAP_CHECK_START, told;
    const uint64_t end = bytes - sizeof told;
    for (uint64_t at = 0; at < end; at += SAP_SAVED_CHUNK) {
        const size_t n = end - at < SAP_SAVED_CHUNK ? (size_t)(end - at) : (size_t)SAP_SAVED_CHUNK;
        if (read_at(l->file, l->chunk, n, at)) return 0;
        sum = sap_check_add(sum, l->chunk, n);
    }
    return read_at(l->file, &told, sizeof told, end) == 0 && told == sum;
}

/* Whether the columns of the file are those of this stepper, and of a tree or none; labels may have lengths. */
static int has_columns(const struct load *l)
{
    const int32_t *const width = l->head.width;
    const int of_tree = width[SAP_SAVED_WALKER] != 0, label = width[SAP_STEP_COLUMNS];
    return memcmp(width, l->part.width, SAP_STEP_COLUMNS * sizeof *width) == 0 &&
           (label == SAP_LABEL_ALONE || label == SAP_LABEL_LENGTH) &&
           width[SAP_SAVED_WALKER] == of_tree * (int)sizeof(int) &&
           width[SAP_SAVED_WORK] == of_tree * (int)sizeof(int64_t);
}

/* Bytes of a file with this head; 0: its numbers are wrong. */
static uint64_t bytes_of(const struct sap_saved_head *head)
{
    uint64_t each = 0;
    if (head->n < 0 || head->n > INT64_C(1) << 40 || head->ranks < 1 || head->ranks > 1 << 24) return 0;
    for (int k = 0; k < SAP_SAVED_COLUMNS; k++) each += (uint64_t)head->width[k];
    return sizeof *head + (uint64_t)head->ranks * sizeof(struct sap_saved_rank) + (uint64_t)head->n * each +
           sizeof(uint64_t);
}

static const char no_memory[] = "there is no memory for its head";

/* Reads the records of the ranks that wrote the file; NULL: they fit it, else what is wrong. */
static const char *read_ranks(struct load *l)
{
    static const char wrong[] = "its numbers of particles are wrong";
    const size_t ranks = (size_t)l->head.ranks;
    int64_t n = 0;
    l->wrote = calloc(ranks, sizeof *l->wrote);
    if (!l->wrote) return no_memory;
    if (read_at(l->file, l->wrote, ranks * sizeof *l->wrote, sizeof l->head)) return wrong;
    for (size_t r = 0; r < ranks; r++) {
        if (l->wrote[r].n < 0 || l->wrote[r].n > l->head.n - n) return wrong;
        n += l->wrote[r].n;
    }
    return n == l->head.n ? NULL : wrong;
}

/* Checks a file; NULL: it is good, else what is wrong. */
static const char *look_at(struct load *l, uint64_t bytes)
{
    struct sap_saved_head *const head = &l->head;
    if (bytes < sizeof *head + sizeof(uint64_t)) return "it is too short";
    if (read_at(l->file, head, sizeof *head, 0)) return "it cannot be read";
    if (memcmp(head->magic, SAP_SAVED_MAGIC, sizeof head->magic) != 0) return "it is no file of steppers over ranks";
    if (head->order != SAP_SAVED_ORDER) return "it was written on a machine of other byte order";
    if (head->version != SAP_SAVED_VERSION) return "it is of another version";
    if (head->bytes != bytes) return "it is incomplete";
    if (memcmp(&head->signature, &l->part.signature, sizeof head->signature) != 0 || !has_columns(l))
        return "a stepper of other options wrote it, or it is damaged";
    if (bytes_of(head) != bytes) return "its size is wrong";
    if (!is_sound(l, bytes)) return "its checksum is wrong";
    if (head->clock.tick < 0 || head->clock.tick >= SAP_STEP_TICKS) return "its time is wrong";
    return read_ranks(l);
}

static int open_file(sapporo_mpi_stepper *h, struct load *l, const char *path)
{
    struct stat about;
    const char *why = NULL;
    l->chunk = malloc(SAP_SAVED_CHUNK);
    l->all = calloc((size_t)h->link.size, sizeof *l->all);
    if (!l->chunk || !l->all)
        return sap_link_fail(&h->link, SAPPORO_ERR_MEMORY, "%s: out of memory for %d ranks", h->call, h->link.size);
    l->file = path ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    if (l->file < 0)
        why = "there is no such file, or it cannot be read";
    else if (fstat(l->file, &about) != 0 || !S_ISREG(about.st_mode))
        why = "it is no regular file";
    else
        why = look_at(l, (uint64_t)about.st_size);
    if (!why) return SAPPORO_OK;
    return sap_link_fail(&h->link, why == no_memory ? SAPPORO_ERR_MEMORY : SAPPORO_ERR_ARGUMENT, "%s: %s: %s", h->call,
                         path ? path : "", why);
}

/* ---- which rank gets which particles, on rank 0 -------------------------------------------------- */

static double room_of(const sapporo_mpi_stepper *h, int r) { return sap_link_field(&h->link, r, 0); }

/* The sum over all ranks of the particles that they get, with at most `most` per rank. */
static double sum_of_rooms(const sapporo_mpi_stepper *h, double most)
{
    double sum = 0;
    for (int r = 0; r < h->link.size; r++) sum += room_of(h, r) < most ? room_of(h, r) : most;
    return sum;
}

/* Gives ranks about as many particles each as their rooms allow, in the order of the file. */
static void divide(const sapporo_mpi_stepper *h, struct load *l)
{
    double low = 0, high = (double)l->head.n; /* the least number per rank that is enough is in (low, high] */
    while (high - low > 1) {
        const double middle = low + (double)(int64_t)((high - low) / 2);
        if (sum_of_rooms(h, middle) >= (double)l->head.n)
            high = middle;
        else
            low = middle;
    }
    double spare = sum_of_rooms(h, high) - (double)l->head.n; /* ranks that get one fewer: the last ones */
    for (int r = h->link.size - 1; r >= 0; r--) {
        const int full = room_of(h, r) >= high && high > 0;
        l->all[r].n = (int64_t)(full ? high : room_of(h, r)) - (full && spare > 0);
        spare -= full;
    }
}

/* A count of all ranks, up to particle `first`: in proportion. */
static int64_t share_of(int64_t count, int64_t first, int64_t n)
{
    const uint64_t c = (uint64_t)count, f = (uint64_t)first, all = (uint64_t)n;
    return n > 0 ? (int64_t)(c / all * f + c % all * f / all) : 0;
}

/* Divides the counts of the ranks that wrote the file, in proportion to the particles. */
static void divide_counts(const sapporo_mpi_stepper *h, struct load *l)
{
    struct sap_saved_rank sum = {.n = l->head.n};
    int64_t first = 0;
    for (int r = 0; r < l->head.ranks; r++) {
        sum.active += l->wrote[r].active;
        sum.massive += l->wrote[r].massive;
        sum.particle_steps += l->wrote[r].particle_steps;
    }
    for (int r = 0; r < h->link.size; r++) {
        struct sap_saved_rank *const to = &l->all[r];
        const int64_t next = first + to->n;
        to->active = share_of(sum.active, next, sum.n) - share_of(sum.active, first, sum.n);
        to->massive = share_of(sum.massive, next, sum.n) - share_of(sum.massive, first, sum.n);
        to->particle_steps = share_of(sum.particle_steps, next, sum.n) - share_of(sum.particle_steps, first, sum.n);
        first = next;
    }
}

/* Chooses the particles of each rank: those that it had, if there are as many ranks. */
static int choose_shares(sapporo_mpi_stepper *h, struct load *l)
{
    if (l->head.ranks == h->link.size) {
        memcpy(l->all, l->wrote, (size_t)h->link.size * sizeof *l->all);
    } else if (sum_of_rooms(h, (double)l->head.n) >= (double)l->head.n) {
        divide(h, l);
        divide_counts(h, l);
    } else {
        return sap_link_fail(&h->link, SAPPORO_ERR_ARGUMENT,
                             "%s: the file has %lld particles; the ranks have room for %.0f", h->call,
                             (long long)l->head.n, sum_of_rooms(h, (double)l->head.n));
    }
    for (int r = 0; r < h->link.size; r++)
        if ((double)l->all[r].n > room_of(h, r))
            return sap_link_fail(&h->link, SAPPORO_ERR_ARGUMENT,
                                 "%s: the file has %lld particles of rank %d, which has room for %.0f", h->call,
                                 (long long)l->all[r].n, r, room_of(h, r));
    return SAPPORO_OK;
}

/* ---- columns ------------------------------------------------------------------------------------ */

int sap_saved_reserve(sapporo_mpi_stepper *h, struct sap_saved_columns *c, int n)
{
    const size_t room = (size_t)n + 1;
    size_t bytes = 0, each[SAP_SAVED_COLUMNS];
    for (int k = 0; k < SAP_SAVED_COLUMNS; k++) {
        each[k] = ((size_t)n * (size_t)c->width[k] + sizeof(double)) / sizeof(double) * sizeof(double);
        bytes += each[k];
    }
    c->n = n;
    c->memory = malloc(bytes + room * (sizeof *c->work + sizeof *c->walker));
    if (!c->memory)
        return sap_link_fail(&h->link, SAPPORO_ERR_MEMORY, "%s: out of memory for %d particles", h->call, n);
    char *next = c->memory;
    for (int k = 0; k < SAP_SAVED_COLUMNS; k++) {
        c->at[k] = c->column[k] = next;
        next += each[k];
    }
    c->work = (void *)next;
    c->walker = (void *)(next + room * sizeof *c->work);
    return SAPPORO_OK;
}

/* Makes memory for the columns of this rank. */
static int reserve(sapporo_mpi_stepper *h, struct load *l)
{
    memcpy(l->c.width, l->head.width, sizeof l->c.width);
    return sap_saved_reserve(h, &l->c, (int)l->mine.n);
}

/* Reads a piece of the file for a rank, and sends it; zeros after a failure, which *failed tells. */
static int send_piece(sapporo_mpi_stepper *h, struct load *l, int to, uint64_t offset, size_t n, int *failed)
{
    struct sap_link *const link = &h->link;
    if (read_at(l->file, l->chunk, n, offset)) {
        memset(l->chunk, 0, n);
        *failed = sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "%s: the file cannot be read (error %d)", h->call, errno);
    }
    return sap_link_finish(
        link, MPI_Isend(l->chunk, (int)n, MPI_BYTE, to, SAP_SAVED_TAG, link->communicator, &link->request));
}

/* Passes a column of a rank: rank 0 reads it at an offset of the file, and sends it. */
static int pass(sapporo_mpi_stepper *h, struct load *l, int k, int to, uint64_t offset, size_t bytes, int *failed)
{
    struct sap_link *const link = &h->link;
    int status = SAPPORO_OK;
    for (size_t at = 0; at < bytes && !status; at += SAP_SAVED_CHUNK) {
        const size_t n = bytes - at < SAP_SAVED_CHUNK ? bytes - at : (size_t)SAP_SAVED_CHUNK;
        char *const here = l->c.column[k] + at;
        if (link->rank > 0)
            status = sap_link_finish(
                link, MPI_Irecv(here, (int)n, MPI_BYTE, 0, SAP_SAVED_TAG, link->communicator, &link->request));
        else if (to > 0)
            status = send_piece(h, l, to, offset + at, n, failed);
        else if (read_at(l->file, here, n, offset + at))
            *failed =
                sap_link_fail(link, SAPPORO_ERR_ARGUMENT, "%s: the file cannot be read (error %d)", h->call, errno);
    }
    return status;
}

/* Collective.  Gives each rank its columns. */
static int pass_columns(sapporo_mpi_stepper *h, struct load *l)
{
    uint64_t offset = sizeof l->head + (uint64_t)l->head.ranks * sizeof *l->wrote;
    int status = SAPPORO_OK, failed = SAPPORO_OK;
    for (int k = 0; k < SAP_SAVED_COLUMNS && !status; k++) {
        const size_t width = (size_t)l->head.width[k];
        if (h->link.rank > 0) status = pass(h, l, k, 0, 0, (size_t)l->mine.n * width, &failed);
        for (int r = 0; r < h->link.size && h->link.rank == 0 && !status; r++) {
            const size_t bytes = (size_t)l->all[r].n * width;
            status = pass(h, l, k, r, offset, bytes, &failed);
            offset += bytes;
        }
    }
    return status ? status : failed;
}

/* ---- the call ------------------------------------------------------------------------------------ */

/* Gives the tree what is known of its last build. */
static int prepare_tree(sapporo_mpi_stepper *h, struct sap_saved_columns *c, int walks, sapporo_mpi_tree *tree)
{
    const void *const mass = c->at[SAP_STEP_MASS];
    if (!tree || c->width[SAP_SAVED_WORK] == 0) return SAPPORO_OK;
    sap_saved_reorder(mass, c->n, sizeof *c->work, 1, c->at[SAP_SAVED_WORK], c->work);
    sap_saved_reorder(mass, c->n, sizeof *c->walker, 1, c->at[SAP_SAVED_WALKER], c->walker);
    if (sap_mpi_tree_take_work(tree, c->n, c->work))
        return sap_link_fail(&h->link, SAPPORO_ERR_MEMORY, "%s: out of memory for %d particles", h->call, c->n);
    for (int i = 0; i < c->n && walks; i++)
        if (c->walker[i] < 0 || c->walker[i] >= h->link.size)
            return sap_link_fail(&h->link, SAPPORO_ERR_ARGUMENT, "%s: ranks of the file are wrong", h->call);
    return SAPPORO_OK;
}

int sap_saved_take(sapporo_mpi_stepper *h, struct sap_stepper_saved *part, struct sap_saved_columns *c, int walks,
                   int worked)
{
    sapporo_mpi_tree *const tree = h->tree ? sap_mpi_tree_find(h->tree) : NULL;
    const int divided = tree && c->width[SAP_SAVED_WALKER] > 0;
    part->n = c->n;
    part->width[SAP_STEP_COLUMNS] = c->width[SAP_STEP_COLUMNS];
    int status = sap_link_agree(&h->link, prepare_tree(h, c, walks, tree));
    if (status) h->built = 0; /* the tree may know numbers of other particles */
    if (status) return status;
    if (divided && walks) tree->walker = c->walker;
    status = sapporo_internals()->stepper_part_restore(h->stepper, part, c->at);
    if (tree) tree->walker = NULL;
    if (divided && !status) tree->worked = worked;
    return sap_mpi_stepper_end(h, status);
}

/* Collective.  Takes the particles of the file. */
static int take(sapporo_mpi_stepper *h, struct load *l)
{
    l->part.clock = l->head.clock;
    l->part.clock.active = (int)l->mine.active;
    l->part.clock.massive = (int)l->mine.massive;
    l->part.clock.particle_steps = l->mine.particle_steps;
    return sap_saved_take(h, &l->part, &l->c, l->head.ranks == h->link.size, l->head.worked != 0);
}

/* Collective.  Tells all ranks the head of the file and how many particles each gets, and gives them the columns. */
static int spread(sapporo_mpi_stepper *h, struct load *l)
{
    struct sap_link *const link = &h->link;
    int status = sap_link_agree(link, link->rank == 0 ? choose_shares(h, l) : SAPPORO_OK);
    if (!status)
        status = sap_link_finish(link,
                                 MPI_Ibcast(&l->head, sizeof l->head, MPI_BYTE, 0, link->communicator, &link->request));
    if (!status)
        status = sap_link_finish(link, MPI_Iscatter(l->all, SAP_SAVED_NUMBERS, MPI_INT64_T, &l->mine, SAP_SAVED_NUMBERS,
                                                    MPI_INT64_T, 0, link->communicator, &link->request));
    if (!status) status = sap_link_agree(link, reserve(h, l));
    if (!status) status = sap_link_agree(link, pass_columns(h, l));
    return status;
}

static void free_load(const sapporo_mpi_stepper *h, struct load *l)
{
    if (l && l->file >= 0) (void)close(l->file);
    if (!l || h->link.broken) return; /* MPI may use it */
    free(l->wrote);
    free(l->all);
    free(l->chunk);
    free(l->c.memory);
    free(l);
}

/* What a rank does alone before others take part. */
static int prepare(sapporo_mpi_stepper *h, struct load *l, const char *path)
{
    if (!l) return sap_link_fail(&h->link, SAPPORO_ERR_MEMORY, "%s: out of memory", h->call);
    /* A stepper that has not been set knows its options. */
    (void)sapporo_internals()->stepper_part_saved(h->stepper, &l->part);
    return h->link.rank == 0 ? open_file(h, l, path) : SAPPORO_OK;
}

int sapporo_mpi_stepper_restore(sapporo_mpi_stepper *stepper, const char *path)
{
    static const char *const name[] = {NULL};
    sapporo_mpi_stepper *const h = sap_mpi_stepper_find(stepper);
    if (!h) return SAPPORO_ERR_CLOSED;
    if (h->link.broken) return h->link.broken;
    sap_mpi_stepper_start(h, SAP_CALL_STEPPER_RESTORE);
    struct load *const l = calloc(1, sizeof *l);
    if (l) l->file = -1;
    const double room = h->room;
    int status = sap_link_compare(&h->link, prepare(h, l, path), 1, &room, name);
    if (!status && l) status = spread(h, l);
    if (!status && l) status = take(h, l);
    free_load(h, l);
    return status;
}
