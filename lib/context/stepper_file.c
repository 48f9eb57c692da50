/*
 * stepper_file.c - saves the particles of a stepper to a file, and restores them.
 *
 * The file: struct head, the columns x, v, acceleration, potential, mass, positions of the last build of the tree (if
 * trees are refreshed), levels, labels, and a checksum of all of these (FNV-1a, 64 bits).  Numbers have the byte order
 * of the machine that wrote them, which the head tells.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "context/stepper_private.h"

enum { VERSION = 2, ORDER = 0x01020304 };
static const char MAGIC[8] = "SAPSTEP";
static const uint64_t CHECK_START = UINT64_C(0xcbf29ce484222325), CHECK_PRIME = UINT64_C(0x100000001b3);

struct head {
    char magic[8];
    uint32_t order, version;
    uint64_t bytes; /* of the file */
    int64_t n;
    struct sap_stepper_signature signature;
    struct sap_stepper_clock clock;
};

static const enum sap_step_column columns[] = {SAP_STEP_X,    SAP_STEP_V,     SAP_STEP_A,    SAP_STEP_POT,
                                               SAP_STEP_MASS, SAP_STEP_BUILT, SAP_STEP_LEVEL};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

/* Bytes per particle of a column; 0: it is not saved. */
static size_t width(const sapporo_stepper *s, enum sap_step_column column)
{
    if (column == SAP_STEP_LEVEL) return sizeof(int);
    if (column == SAP_STEP_POT || column == SAP_STEP_MASS) return sizeof(double);
    return column == SAP_STEP_BUILT && !s->settings.keeps_built ? 0 : 3 * sizeof(double);
}

static uint64_t bytes_of(const sapporo_stepper *s, size_t n)
{
    size_t each = sizeof *s->label;
    for (int k = 0; k < COLUMNS; k++) each += width(s, columns[k]);
    return sizeof(struct head) + n * each + sizeof(uint64_t);
}

static uint64_t check(uint64_t sum, const void *from, size_t n)
{
    const unsigned char *const at = from;
    for (size_t k = 0; k < n; k++) sum = (sum ^ at[k]) * CHECK_PRIME;
    return sum;
}

/* ---- save --------------------------------------------------------------------------------- */

/* A file that is written. */
struct output {
    int file;
    uint64_t sum;
    int error; /* errno of the first failure */
};

static void put(struct output *o, const void *from, size_t n)
{
    const char *at = from;
    o->sum = check(o->sum, from, n);
    while (n > 0 && !o->error) {
        const ssize_t done = write(o->file, at, n);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) o->error = errno;
        if (done <= 0) break;
        at += done;
        n -= (size_t)done;
    }
    if (n > 0 && !o->error) o->error = ENOSPC;
}

/* Writes all columns; a sapporo_status of the engine. */
static int put_columns(sapporo_stepper *s, struct output *o)
{
    void *const room = malloc((size_t)s->n * 3 * sizeof(double));
    int status = room ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
    for (int k = 0; k < COLUMNS && !status && !o->error; k++) {
        const size_t each = width(s, columns[k]);
        if (each == 0) continue;
        status = s->ops->read(s->particles, columns[k], room);
        if (!status) put(o, room, (size_t)s->n * each);
    }
    free(room);
    put(o, s->label, (size_t)s->n * sizeof *s->label);
    return status;
}

static int write_all(sapporo_stepper *s, struct output *o)
{
    struct head head = {.order = ORDER,
                        .version = VERSION,
                        .bytes = bytes_of(s, (size_t)s->n),
                        .n = s->n,
                        .signature = s->signature,
                        .clock = s->clock};
    memcpy(head.magic, MAGIC, sizeof head.magic);
    put(o, &head, sizeof head);
    const int status = put_columns(s, o);
    const uint64_t sum = o->sum;
    put(o, &sum, sizeof sum);
    if (!o->error && fsync(o->file) != 0) o->error = errno;
    return status;
}

/* Writes the particles to a new file `part`, and renames it. */
static int save_to(sapporo_stepper *s, const char *part, const char *path)
{
    struct output o = {.sum = CHECK_START, .file = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)};
    if (o.file < 0) return fail(s, SAPPORO_ERR_ARGUMENT, "%s cannot be written (error %d)", part, errno);
    const int status = write_all(s, &o);
    if (close(o.file) != 0 && !o.error) o.error = errno;
    if (!status && !o.error && rename(part, path) != 0) o.error = errno;
    if (!status && !o.error) return SAPPORO_OK;
    (void)unlink(part);
    if (status) return sap_stepper_failed(s, status, "saving particles");
    return fail(s, SAPPORO_ERR_ARGUMENT, "%s cannot be written (error %d)", path, o.error);
}

int sapporo_stepper_save(sapporo_stepper *stepper, const char *path)
{
    sapporo_stepper *const s = sap_stepper_hold(stepper);
    char part[4096];
    int status;
    if (!s) return SAPPORO_ERR_CLOSED;
    const sap_fpenv callers = sap_fp_enter();
    const int length = path ? snprintf(part, sizeof part, "%s.%ld.part", path, (long)getpid()) : -1;
    if (!path || path[0] == '\0' || length < 0 || length >= (int)sizeof part)
        status = fail(s, SAPPORO_ERR_ARGUMENT, "no path, or one of more than %d bytes", (int)sizeof part - 32);
    else
        status = s->n == 0 ? sap_stepper_empty(s) : save_to(s, part, path);
    return sap_stepper_leave(s, callers, status);
}

/* ---- restore -------------------------------------------------------------------------------- */

/* Checks a file that was read; NULL: it is good, else what is wrong. */
static const char *look_at(const sapporo_stepper *s, const struct sap_file *file, struct head *head)
{
    uint64_t sum;
    if (file->size < sizeof *head + sizeof sum) return "it is too short";
    memcpy(head, file->bytes, sizeof *head);
    if (memcmp(head->magic, MAGIC, sizeof head->magic) != 0) return "it is no file of a stepper";
    if (head->order != ORDER) return "it was written on a machine of other byte order";
    if (head->version != VERSION) return "it is of another version";
    if (head->bytes != file->size) return "it is incomplete";
    memcpy(&sum, file->bytes + file->size - sizeof sum, sizeof sum);
    if (sum != check(CHECK_START, file->bytes, file->size - sizeof sum)) return "its checksum is wrong";
    if (memcmp(&head->signature, &s->signature, sizeof s->signature) != 0) return "a stepper of other options wrote it";
    if (head->n < 1 || head->n > s->room) return "it has more particles than the stepper was created for";
    if (head->bytes != bytes_of(s, (size_t)head->n)) return "its size is wrong";
    if (head->clock.tick < 0 || head->clock.tick >= SAP_STEP_TICKS) return "its time is wrong";
    return NULL;
}

/* Finds the columns in a file. */
static void find_columns(const sapporo_stepper *s, const struct sap_file *file, int n, const void **at)
{
    const char *next = file->bytes + sizeof(struct head);
    for (int k = 0; k < COLUMNS; k++) {
        at[columns[k]] = next;
        next += (size_t)n * width(s, columns[k]);
    }
    at[SAP_STEP_COLUMNS] = next; /* labels */
}

static int levels_are_valid(const sapporo_stepper *s, const void *from, int n)
{
    for (int i = 0; i < n; i++) {
        int level;
        memcpy(&level, (const char *)from + (size_t)i * sizeof level, sizeof level);
        if (level < 0 || level >= s->settings.rule.levels) return 0;
    }
    return 1;
}

/* Gives the engine the particles, and the tree of the last build. */
static int take_columns(sapporo_stepper *s, int n, const void *const *at)
{
    const int built = s->settings.keeps_built;
    const sapporo_column x = {at[built ? SAP_STEP_BUILT : SAP_STEP_X], 0}, v = {at[SAP_STEP_V], 0},
                         mass = {at[SAP_STEP_MASS], 0};
    int bad, status = s->ops->take(s->particles, n, SAPPORO_MEMORY_HOST, &x, &v, &mass, &bad);
    if (!status) s->massive = s->ops->massive(s->particles);
    if (!status && built && s->massive > 0) status = s->trees->build(s->tree);
    if (!status) status = s->ops->note_build(s->particles);
    static const enum sap_step_column rest[] = {SAP_STEP_X, SAP_STEP_A, SAP_STEP_POT, SAP_STEP_LEVEL};
    for (size_t k = 0; k < sizeof rest / sizeof rest[0] && !status; k++)
        status = s->ops->write(s->particles, rest[k], at[rest[k]]);
    return status;
}

static int take_file(sapporo_stepper *s, const struct sap_file *file, const struct head *head)
{
    const void *at[SAP_STEP_COLUMNS + 1];
    const int n = (int)head->n;
    find_columns(s, file, n, at);
    if (!levels_are_valid(s, at[SAP_STEP_LEVEL], n))
        return fail(s, SAPPORO_ERR_ARGUMENT, "levels of the file are wrong");
    s->n = s->ready = 0;
    sap_stepper_forget_times(s);
    const int status = take_columns(s, n, at);
    if (status) return sap_stepper_failed(s, status, "restoring particles");
    s->n = n;
    s->ready = 1;
    s->clock = head->clock;
    memcpy(s->label, at[SAP_STEP_COLUMNS], (size_t)n * sizeof *s->label);
    sap_stepper_count_levels(s, at[SAP_STEP_LEVEL], at[SAP_STEP_MASS]);
    return SAPPORO_OK;
}

int sapporo_stepper_restore(sapporo_stepper *stepper, const char *path)
{
    sapporo_stepper *const s = sap_stepper_hold(stepper);
    struct sap_file file = {.bytes = NULL};
    struct head head;
    int status;
    if (!s) return SAPPORO_ERR_CLOSED;
    const sap_fpenv callers = sap_fp_enter();
    const enum sap_file_status opened = path ? sap_file_read(path, SIZE_MAX / 2, &file) : SAP_FILE_MISSING;
    const char *const wrong = opened == SAP_FILE_READ      ? look_at(s, &file, &head)
                              : opened == SAP_FILE_MISSING ? "there is no such file"
                                                           : file.why;
    if (wrong)
        status = fail(s, SAPPORO_ERR_ARGUMENT, "%s: %s", path ? path : "", wrong);
    else
        status = take_file(s, &file, &head);
    free(file.bytes);
    return sap_stepper_leave(s, callers, status);
}
