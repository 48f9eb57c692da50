/* stepper_save.c - sapporo_mpi_stepper_save: rank 0 writes the particles of all ranks to one file (stepper_saved.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/saving.h"
#include "context/internals.h"
#include "mpi/stepper_saved.h"
#include "mpi/tree.h"

_Static_assert(sizeof(struct sap_saved_head) == 40 + SAP_SAVED_WIDTHS * sizeof(int32_t) +
                                                    sizeof(struct sap_stepper_signature) +
                                                    sizeof(struct sap_stepper_clock),
               "the head has no gaps");

enum { LEAST = 24 }; /* bytes per particle of a column that read_of_tree needs: three doubles */

/* Memory of a call, which MPI reads and writes. */
struct save {
    struct sap_stepper_saved part;
    struct sap_saved_head head;
    struct sap_saved_rank mine, *all; /* all: of all ranks, on rank 0 */
    struct sap_saving file;           /* of rank 0 */
    int is_open;
    char *column, *chunk; /* a column of this rank; a message that rank 0 receives */
};

void sap_saved_reorder(const void *mass, int n, size_t width, int to_slots, const void *from, void *to)
{
    int massive = 0, slot[2];
    double m;
    for (int i = 0; i < n; i++) {
        memcpy(&m, (const char *)mass + (size_t)i * sizeof m, sizeof m);
        massive += m != 0;
    }
    slot[1] = 0, slot[0] = massive;
    for (int i = 0; i < n; i++) {
        memcpy(&m, (const char *)mass + (size_t)i * sizeof m, sizeof m);
        const size_t k = (size_t)slot[m != 0]++, source = to_slots ? (size_t)i : k, target = to_slots ? k : (size_t)i;
        memcpy((char *)to + target * width, (const char *)from + source * width, width);
    }
}

/* ---- a rank's part ---------------------------------------------------------------------------- */

sapporo_mpi_tree *sap_saved_tree(const sapporo_mpi_stepper *h)
{
    return h->tree && h->built ? sap_mpi_tree_find(h->tree) : NULL;
}

static int reserve(sapporo_mpi_stepper *h, struct save *s)
{
    int widest = LEAST;
    for (int k = 0; k <= SAP_STEP_COLUMNS; k++) widest = s->part.width[k] > widest ? s->part.width[k] : widest;
    s->column = malloc(((size_t)s->part.n + 1) * (size_t)widest);
    if (h->link.rank > 0) return s->column ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
    s->all = calloc((size_t)h->link.size, sizeof *s->all);
    s->chunk = malloc(SAP_SAVED_CHUNK);
    return s->column && s->all && s->chunk ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
}

/* What this rank tells of its part in the head; rank 0 adds the rest. */
static void fill_head(const sapporo_mpi_stepper *h, struct save *s)
{
    const sapporo_mpi_tree *const tree = sap_saved_tree(h);
    s->head = (struct sap_saved_head){.order = SAP_SAVED_ORDER,
                                      .version = SAP_SAVED_VERSION,
                                      .ranks = h->link.size,
                                      .worked = tree ? tree->worked : 0,
                                      .signature = s->part.signature,
                                      .clock = s->part.clock};
    memcpy(s->head.magic, SAP_SAVED_MAGIC, sizeof s->head.magic);
    memcpy(s->head.width, s->part.width, sizeof s->part.width);
    if (tree) s->head.width[SAP_SAVED_WALKER] = sizeof(int);
    if (tree) s->head.width[SAP_SAVED_WORK] = sizeof(int64_t);
    const struct sap_stepper_clock *const c = &s->part.clock;
    s->mine = (struct sap_saved_rank){s->part.n, c->active, c->massive, c->particle_steps};
}

static int open_file(sapporo_mpi_stepper *h, struct save *s, const char *path)
{
    const int bad = sap_saving_open(&s->file, path);
    s->is_open = !bad;
    if (bad < 0)
        return sap_link_fail(&h->link, SAPPORO_ERR_ARGUMENT, "%s: no path, or one of more than %d bytes", h->call,
                             (int)sizeof s->file.part - SAP_SAVING_ENDING);
    return bad ? sap_link_fail(&h->link, SAPPORO_ERR_ARGUMENT, "%s: %s cannot be written (error %d)", h->call,
                               s->file.part, bad)
               : SAPPORO_OK;
}

/* What a rank does alone before others take part. */
static int prepare(sapporo_mpi_stepper *h, struct save *s, const char *path)
{
    int status = s ? sapporo_internals()->stepper_part_saved(h->stepper, &s->part) : (int)SAPPORO_ERR_MEMORY;
    if (s && status)
        return sap_link_fail(&h->link, status, "%s: the stepper has no particles: set them first", h->call);
    if (status || reserve(h, s))
        return sap_link_fail(&h->link, SAPPORO_ERR_MEMORY, "%s: out of memory for %d particles", h->call, h->n);
    fill_head(h, s);
    return h->link.rank == 0 ? open_file(h, s, path) : SAPPORO_OK;
}

/* ---- columns ---------------------------------------------------------------------------------- */

int sap_saved_read_tree(sapporo_mpi_stepper *h, int column, int n, void *mass, void *by_slot, void *to)
{
    sapporo_mpi_tree *const tree = sap_saved_tree(h);
    const size_t width = column == SAP_SAVED_WORK ? sizeof *tree->work : sizeof(int);
    int status = sapporo_internals()->stepper_part_read(h->stepper, SAP_STEP_MASS, mass);
    if (!status && tree) status = sap_mpi_tree_copy_known(tree);
    if (!status && tree) status = sap_mpi_tree_bring_order(tree);
    if (status || !tree) return status;
    if (column == SAP_SAVED_WORK)
        memcpy(by_slot, tree->work, (size_t)n * width);
    else
        sap_mpi_tree_tell_walkers(tree, by_slot);
    sap_saved_reorder(mass, n, width, 0, by_slot, to);
    return status;
}

/* Reads a column of the tree; the memory of the column has room for the steps. */
static int read_of_tree(sapporo_mpi_stepper *h, struct save *s, int k)
{
    const size_t n = (size_t)s->part.n;
    char *const by_slot = s->column + n * sizeof(double), *const sorted = by_slot + n * sizeof(double);
    const int status = sap_saved_read_tree(h, k, s->part.n, s->column, by_slot, sorted);
    memmove(s->column, sorted, n * (size_t)s->head.width[k]);
    return status;
}

static int read_column(sapporo_mpi_stepper *h, struct save *s, int k)
{
    const int status = k > (int)SAP_STEP_COLUMNS ? read_of_tree(h, s, k)
                                                 : sapporo_internals()->stepper_part_read(h->stepper, k, s->column);
    return status ? sap_link_note(&h->link, status, sapporo_stepper_last_error(h->stepper)) : SAPPORO_OK;
}

/* Sends `bytes` of a column to rank 0, or receives those of a rank and writes them. */
static int pass(sapporo_mpi_stepper *h, struct save *s, int from, size_t bytes)
{
    struct sap_link *const link = &h->link;
    int status = SAPPORO_OK;
    for (size_t at = 0; at < bytes && !status; at += SAP_SAVED_CHUNK) {
        const int n = bytes - at < SAP_SAVED_CHUNK ? (int)(bytes - at) : (int)SAP_SAVED_CHUNK;
        const int code =
            link->rank == 0
                ? MPI_Irecv(s->chunk, n, MPI_BYTE, from, SAP_SAVED_TAG, link->communicator, &link->request)
                : MPI_Isend(s->column + at, n, MPI_BYTE, 0, SAP_SAVED_TAG, link->communicator, &link->request);
        status = sap_link_finish(link, code);
        if (!status && link->rank == 0) sap_saving_put(&s->file, s->chunk, (size_t)n);
    }
    return status;
}

/* Collective.  Passes a column of all ranks to the file.  A rank that fails sends what it has, and tells it later. */
static int put_column(sapporo_mpi_stepper *h, struct save *s, int k, int *failed)
{
    const size_t width = (size_t)s->head.width[k];
    const int bad = read_column(h, s, k);
    if (bad) *failed = bad;
    if (h->link.rank > 0) return pass(h, s, 0, (size_t)s->part.n * width);
    sap_saving_put(&s->file, s->column, (size_t)s->part.n * width);
    int status = SAPPORO_OK;
    for (int r = 1; r < h->link.size && !status; r++) status = pass(h, s, r, (size_t)s->all[r].n * width);
    return status;
}

/* Writes the head and the records of the ranks. */
static void put_head(sapporo_mpi_stepper *h, struct save *s)
{
    size_t each = 0;
    for (int k = 0; k < SAP_SAVED_COLUMNS; k++) each += (size_t)s->head.width[k];
    for (int r = 0; r < h->link.size; r++) s->head.n += s->all[r].n;
    const size_t ranks = (size_t)h->link.size * sizeof *s->all;
    s->head.bytes = sizeof s->head + ranks + (uint64_t)s->head.n * each + sizeof s->file.sum;
    sap_saving_put(&s->file, &s->head, sizeof s->head);
    sap_saving_put(&s->file, s->all, ranks);
}

/* Collective.  Writes all but the name of the file. */
static int write_all(sapporo_mpi_stepper *h, struct save *s)
{
    struct sap_link *const link = &h->link;
    int failed = SAPPORO_OK;
    int status = sap_link_finish(link, MPI_Igather(&s->mine, SAP_SAVED_NUMBERS, MPI_INT64_T, s->all, SAP_SAVED_NUMBERS,
                                                   MPI_INT64_T, 0, link->communicator, &link->request));
    if (!status && link->rank == 0) put_head(h, s);
    for (int k = 0; k < SAP_SAVED_COLUMNS && !status; k++)
        if (s->head.width[k] > 0) status = put_column(h, s, k, &failed);
    if (!status && link->rank == 0) sap_saving_seal(&s->file);
    return status ? status : failed;
}

/* ---- the call ---------------------------------------------------------------------------------- */

/* Ends the file of rank 0: it has its name if all ranks succeeded. */
static int end_file(sapporo_mpi_stepper *h, struct save *s, const char *path, int keep)
{
    if (!s || !s->is_open) return SAPPORO_OK;
    const int error = sap_saving_close(&s->file, path, keep);
    return error ? sap_link_fail(&h->link, SAPPORO_ERR_ARGUMENT, "%s: %s cannot be written (error %d)", h->call, path,
                                 error)
                 : SAPPORO_OK;
}

static void free_save(const sapporo_mpi_stepper *h, struct save *s)
{
    if (!s || h->link.broken) return; /* MPI may use it */
    free(s->all);
    free(s->column);
    free(s->chunk);
    free(s);
}

int sapporo_mpi_stepper_save(sapporo_mpi_stepper *stepper, const char *path)
{
    sapporo_mpi_stepper *const h = sap_mpi_stepper_find(stepper);
    if (!h) return SAPPORO_ERR_CLOSED;
    if (h->link.broken) return h->link.broken;
    sap_mpi_stepper_start(h, SAP_CALL_STEPPER_SAVE);
    struct save *const s = calloc(1, sizeof *s);
    int status = sap_link_agree(&h->link, prepare(h, s, path));
    if (!status && s) status = sap_link_agree(&h->link, write_all(h, s));
    const int named = end_file(h, s, path, !status);
    if (!status) status = sap_link_agree(&h->link, named);
    free_save(h, s);
    return status;
}
