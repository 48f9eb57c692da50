/*
 * stepper_file.c - saves the particles of a stepper to a file, and restores them (stepper_saved.c).
 *
 * The file: struct head, the columns x, v, acceleration, potential, mass, positions of the last build of the tree (if
 * trees are refreshed), levels, jerks and higher derivatives (of Hermite schemes), labels, and a checksum of all of
 * these (FNV-1a, 64 bits).  Numbers have the byte order of the machine that wrote them, which the head tells.  If
 * particles have softening lengths, the version is 7, and each label is followed by a length.
 */
#define _POSIX_C_SOURCE 200809L /* strerror_r */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/saving.h"
#include "context/call.h"
#include "context/stepper_private.h"

enum { VERSION = 6, VERSION_LENGTHS = 7, ORDER = 0x01020304 };
static const char MAGIC[8] = "SAPSTEP";

struct head {
    char magic[8];
    uint32_t order, version;
    uint64_t bytes; /* of the file */
    int64_t n;
    struct sap_stepper_signature signature;
    struct sap_stepper_clock clock;
};

/* Bytes of a file; label: of each label. */
static uint64_t bytes_of(const sapporo_stepper *s, size_t n, size_t label)
{
    size_t each = label;
    for (int k = 0; k < (int)SAP_STEP_COLUMNS; k++) each += sap_stepper_saved_width(s, (enum sap_step_column)k);
    return sizeof(struct head) + n * each + sizeof(uint64_t);
}

/* ---- save --------------------------------------------------------------------------------- */

/* Writes all columns; a sapporo_status of the engine. */
static int put_columns(sapporo_stepper *s, struct sap_saving *o)
{
    const size_t vectors = s->settings.order ? (size_t)sap_step_higher(&s->settings) : 1; /* of the widest column */
    void *const room = malloc((size_t)s->n * vectors * 3 * sizeof(double));
    int status = room ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
    for (int k = 0; k < (int)SAP_STEP_COLUMNS && !status && !o->error; k++) {
        const size_t each = sap_stepper_saved_width(s, (enum sap_step_column)k);
        if (each == 0) continue;
        status = s->ops->read(s->particles, (enum sap_step_column)k, room);
        if (!status) sap_saving_put(o, room, (size_t)s->n * each);
    }
    if (!status) {
        sap_stepper_read_labels(s, room);
        sap_saving_put(o, room, (size_t)s->n * sap_stepper_saved_width(s, SAP_STEP_COLUMNS));
    }
    free(room);
    return status;
}

static int write_all(sapporo_stepper *s, struct sap_saving *o)
{
    struct head head = {.order = ORDER,
                        .version = s->has_lengths ? VERSION_LENGTHS : VERSION,
                        .bytes = bytes_of(s, (size_t)s->n, sap_stepper_saved_width(s, SAP_STEP_COLUMNS)),
                        .n = s->n,
                        .signature = s->signature,
                        .clock = s->clock};
    memcpy(head.magic, MAGIC, sizeof head.magic);
    sap_saving_put(o, &head, sizeof head);
    const int status = put_columns(s, o);
    sap_saving_seal(o);
    return status;
}

/* Sets the error of a file that cannot be written. */
static int unwritten(sapporo_stepper *s, const char *path, int error)
{
    char why[96] = "";
    (void)strerror_r(error, why, sizeof why);
    return fail(s, SAPPORO_ERR_ARGUMENT, "%s cannot be written: %s (error %d); what was there before is unchanged",
                path, why, error);
}

/* Writes the particles to a new file, and renames it. */
static int save_to(sapporo_stepper *s, const char *path)
{
    struct sap_saving o;
    const int bad = sap_saving_open(&o, path);
    if (bad < 0)
        return fail(s, SAPPORO_ERR_ARGUMENT, "no path, or one of more than %d bytes",
                    (int)sizeof o.part - SAP_SAVING_ENDING);
    if (bad) return unwritten(s, o.part, bad);
    const int status = write_all(s, &o), error = sap_saving_close(&o, path, !status);
    if (status) return sap_stepper_failed(s, status, "saving particles");
    return error ? unwritten(s, path, error) : SAPPORO_OK;
}

int sapporo_stepper_save(sapporo_stepper *stepper, const char *path)
{
    struct sap_public_call call;
    sapporo_stepper *const s = sap_call_begin(&call, SAP_HANDLE_STEPPER, stepper);
    if (!s) return SAPPORO_ERR_CLOSED;
    const int status = s->n == 0 ? sap_stepper_empty(s) : save_to(s, path);
    return sap_call_end(&call, status);
}

/* ---- restore -------------------------------------------------------------------------------- */

/* Returns the bytes per label of a file. */
static size_t label_of(const struct head *head)
{
    return head->version == VERSION_LENGTHS ? SAP_LABEL_LENGTH : SAP_LABEL_ALONE;
}

/* A head that is looked at, and the stepper that is to take its particles. */
struct headed {
    const sapporo_stepper *stepper;
    struct head head;
};

/*
 * Checks the head of a file, before more than it is read; NULL: it is good, else what is wrong.  A file with a good
 * head is as long as its particles need, which are no more than the stepper has room for.
 */
static const char *look_at(void *user, const void *bytes, size_t length)
{
    struct headed *const look = user;
    struct head *const head = &look->head;
    const sapporo_stepper *const s = look->stepper;
    memcpy(head, bytes, sizeof *head);
    if (memcmp(head->magic, MAGIC, sizeof head->magic) != 0) return "it is no file of a stepper";
    if (head->order != ORDER) return "it was written on a machine of other byte order";
    if (head->version != VERSION && head->version != VERSION_LENGTHS) return "it is of another version";
    if (head->bytes != length) return "it is incomplete";
    if (memcmp(&head->signature, &s->signature, sizeof s->signature) != 0)
        return "a stepper of other options wrote it, or it is damaged";
    if (head->n < 1 || head->n > s->room) return "it has more particles than the stepper was created for";
    if (head->bytes != bytes_of(s, (size_t)head->n, label_of(head))) return "its size is wrong";
    if (head->clock.tick < 0 || head->clock.tick >= SAP_STEP_TICKS) return "its time is wrong";
    return NULL;
}

/* Whether the checksum at the end of a file is that of all bytes before it. */
static int is_sound(const struct sap_file *file)
{
    uint64_t sum;
    const size_t end = file->size - sizeof sum;
    memcpy(&sum, file->bytes + end, sizeof sum);
    return sum == sap_check_add(SAP_CHECK_START, file->bytes, end);
}

/* Says what is wrong with a file that was read; NULL: it is good. */
static const char *find_wrong(enum sap_file_status opened, const struct headed *look, const struct sap_file *file)
{
    if (opened == SAP_FILE_MISSING) return "there is no such file";
    if (opened != SAP_FILE_READ) return file->why;
    if (file->size != look->head.bytes) return "it changed while it was read";
    return is_sound(file) ? NULL : "its checksum is wrong";
}

/* Reads a file and checks it.  Too little memory for a file says nothing about the file. */
static int read_file(sapporo_stepper *s, const char *path, struct headed *look, struct sap_file *file)
{
    const struct sap_file_head head = {sizeof look->head, look_at, look};
    const enum sap_file_status opened = path ? sap_file_read_headed(path, &head, file) : SAP_FILE_MISSING;
    const char *const wrong = find_wrong(opened, look, file);
    const int status = opened == SAP_FILE_NO_MEMORY ? SAPPORO_ERR_MEMORY : SAPPORO_ERR_ARGUMENT;
    return wrong ? fail(s, status, "%s: %s", path ? path : "", wrong) : SAPPORO_OK;
}

/* Finds the columns in a file. */
static void find_columns(const sapporo_stepper *s, const struct sap_file *file, int n, const void **at)
{
    const char *next = file->bytes + sizeof(struct head);
    for (int k = 0; k < (int)SAP_STEP_COLUMNS; k++) {
        at[k] = next;
        next += (size_t)n * sap_stepper_saved_width(s, (enum sap_step_column)k);
    }
    at[SAP_STEP_COLUMNS] = next; /* labels */
}

static int take_file(sapporo_stepper *s, const struct sap_file *file, const struct head *head)
{
    const void *at[SAP_STEP_COLUMNS + 1];
    const int n = (int)head->n;
    find_columns(s, file, n, at);
    if (!sap_stepper_levels_are_valid(s, at[SAP_STEP_LEVEL], n))
        return fail(s, SAPPORO_ERR_ARGUMENT, "levels of the file are wrong");
    return sap_stepper_take_saved(s, n, &head->clock, at, label_of(head));
}

int sapporo_stepper_restore(sapporo_stepper *stepper, const char *path)
{
    struct sap_public_call call;
    sapporo_stepper *const s = sap_call_begin(&call, SAP_HANDLE_STEPPER, stepper);
    struct sap_file file = {.bytes = NULL};
    if (!s) return SAPPORO_ERR_CLOSED;
    struct headed look = {.stepper = s};
    int status = read_file(s, path, &look, &file);
    if (!status) status = take_file(s, &file, &look.head);
    free(file.bytes);
    return sap_call_end(&call, status);
}
