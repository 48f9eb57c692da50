/*
 * snapshot_write.c - particles as text that reads back to the same bits.
 *
 * Decimal digits of a number take longer than a step of a particle on a GPU, so threads make the text of runs of rows,
 * which are written in order.
 */
#include "atomic_file.h"
#include "parallel.h"
#include "snapshot.h"
#include "snapshot_hdf5.h"

#include <stdlib.h>

enum {
    ROW_MOST = 208,     /* characters of a row: 20 of the id, 24 of each of seven numbers, 8 between and behind them */
    ROWS_AT_ONCE = 8192 /* rows of a part */
};

/* Writes the text of particle k; returns its length. */
static int row_text(char *text, const bodies *set, int k, char separator)
{
    const double *const x = set->x[k], *const v = set->v[k];
    const char c = separator;
    return snprintf(text, ROW_MOST, "%lld%c%.17g%c%.17g%c%.17g%c%.17g%c%.17g%c%.17g%c%.17g\n", set->id[k], c,
                    set->mass[k], c, x[0], c, x[1], c, x[2], c, v[0], c, v[1], c, v[2]);
}

/* Consecutive rows, and their text; text: NULL if memory is short. */
typedef struct part {
    int from, to;
    char *text;
    size_t length;
} part;

typedef struct table {
    const bodies *set;
    char separator;
    part part[PARALLEL_MOST];
} table;

static void make_text(void *argument, int share)
{
    table *const t = argument;
    part *const p = &t->part[share];
    p->text = malloc((size_t)(p->to - p->from) * ROW_MOST + 1);
    p->length = 0;
    for (int k = p->from; k < p->to && p->text; k++)
        p->length += (size_t)row_text(p->text + p->length, t->set, k, t->separator);
}

static void print_part(FILE *stream, const table *t, const part *p)
{
    char row[ROW_MOST] = "";
    if (p->text) (void)fwrite(p->text, 1, p->length, stream);
    for (int k = p->from; k < p->to && !p->text; k++) {
        const int length = row_text(row, t->set, k, t->separator);
        (void)fwrite(row, 1, (size_t)length, stream);
    }
}

static void print_rows(FILE *stream, const bodies *set, char separator)
{
    table t = {.set = set, .separator = separator};
    const int threads = parallel_threads();
    for (int from = 0; from < set->n;) {
        int parts = 0;
        for (; parts < threads && from < set->n; parts++) {
            const int to = set->n - from < ROWS_AT_ONCE ? set->n : from + ROWS_AT_ONCE;
            t.part[parts] = (part){.from = from, .to = to};
            from = to;
        }
        parallel_run(parts, make_text, &t);
        for (int k = 0; k < parts; k++) {
            print_part(stream, &t, &t.part[k]);
            free(t.part[k].text);
        }
    }
}

int snapshot_print(FILE *stream, const bodies *set, snapshot_form form)
{
    if (form != SNAPSHOT_LINES && form != SNAPSHOT_CSV) return -1;
    int csv = form == SNAPSHOT_CSV;
    fprintf(stream, "# time %.17g\n", set->time);
    if (set->G > 0) fprintf(stream, "# G %.17g\n", set->G);
    if (set->units[0]) fprintf(stream, "# units %s\n", set->units);
    if (set->parts[0]) fprintf(stream, "# parts %s\n", set->parts);
    fputs(csv ? "id,mass,x,y,z,vx,vy,vz\n" : "# id mass x y z vx vy vz\n", stream);
    print_rows(stream, set, csv ? ',' : ' ');
    return 0;
}

int snapshot_write(const char *path, const bodies *set, snapshot_form form, message *about)
{
    atomic_file file;
    if (form == SNAPSHOT_HDF5) return snapshot_hdf5_write(path, set, about);
    if (form != SNAPSHOT_LINES && form != SNAPSHOT_CSV)
        return complain(about, "%s: the form %s can only be read", path, snapshot_form_name(form));
    if (atomic_open(&file, path, about)) return -1;
    snapshot_print(file.stream, set, form);
    return atomic_commit(&file, about);
}
