/*
 * snapshot_write.c - particles as text that reads back to the same bits.
 */
#include "atomic_file.h"
#include "snapshot.h"

static void write_row(FILE *stream, const bodies *set, int k, char separator)
{
    fprintf(stream, "%d%c%.17g", set->id[k], separator, set->mass[k]);
    for (int c = 0; c < 3; c++) fprintf(stream, "%c%.17g", separator, set->x[k][c]);
    for (int c = 0; c < 3; c++) fprintf(stream, "%c%.17g", separator, set->v[k][c]);
    fputc('\n', stream);
}

int snapshot_print(FILE *stream, const bodies *set, snapshot_form form)
{
    if (form != SNAPSHOT_LINES && form != SNAPSHOT_CSV) return -1;
    int csv = form == SNAPSHOT_CSV;
    fprintf(stream, "# time %.17g\n", set->time);
    if (set->units[0]) fprintf(stream, "# units %s\n", set->units);
    if (set->parts[0]) fprintf(stream, "# parts %s\n", set->parts);
    fputs(csv ? "id,mass,x,y,z,vx,vy,vz\n" : "# id mass x y z vx vy vz\n", stream);
    for (int k = 0; k < set->n; k++) write_row(stream, set, k, csv ? ',' : ' ');
    return 0;
}

int snapshot_write(const char *path, const bodies *set, snapshot_form form, message *about)
{
    atomic_file file;
    if (form != SNAPSHOT_LINES && form != SNAPSHOT_CSV)
        return complain(about, "%s: the form %s can only be read", path, snapshot_form_name(form));
    if (atomic_open(&file, path, about)) return -1;
    snapshot_print(file.stream, set, form);
    return atomic_commit(&file, about);
}
