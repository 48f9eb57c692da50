/* target_snapshot.c - snapshots: particles that are accepted are finite, have distinct ids, and survive a round trip.
 */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "targets.h"

#include "snapshot.h"
#include "unit_words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse(const void *bytes, size_t size, bodies *set, snapshot_form *form, message *about)
{
    char *const copy = malloc(size + 1);
    parser_require(copy != NULL, "memory for a copy");
    if (size > 0) memcpy(copy, bytes, size);
    copy[size] = 'x'; /* the parser may write there, whatever it holds */
    const int status = snapshot_parse("file", copy, size, set, form, about);
    free(copy);
    return status;
}

static int compare(const void *a, const void *b)
{
    const long long left = *(const long long *)a, right = *(const long long *)b;
    return (left > right) - (left < right);
}

static void check_ids(const bodies *set)
{
    long long *const sorted = malloc((size_t)set->n * sizeof *sorted);
    parser_require(sorted != NULL, "memory for ids");
    memcpy(sorted, set->id, (size_t)set->n * sizeof *sorted);
    qsort(sorted, (size_t)set->n, sizeof *sorted, compare);
    for (int k = 1; k < set->n; k++) parser_require(sorted[k] != sorted[k - 1], "ids are distinct");
    free(sorted);
}

static void check_values(const bodies *set)
{
    parser_require(set->n > 0, "an accepted snapshot has particles");
    parser_require(isfinite(set->time), "the time is finite");
    for (int k = 0; k < set->n; k++) {
        parser_require(isfinite(set->mass[k]) && set->mass[k] >= 0, "masses are finite and not negative");
        for (int c = 0; c < 3; c++)
            parser_require(isfinite(set->x[k][c]) && isfinite(set->v[k][c]), "positions and velocities are finite");
    }
}

/* Units that are known have a G, and the remark that says them means the same. */
static void check_units(const bodies *set)
{
    unit_system first, again;
    message why;
    if (unit_words_read(set->units, &first, &why)) return;
    parser_require(isnormal(first.G) && first.G > 0, "units have a positive G");
    parser_require(unit_words_read(first.remark, &again, &why) == 0, "the remark of units can be read");
    parser_require(unit_words_agree(first.G, again.G), "the remark of units has the same G");
}

static int same(const void *a, const void *b, int n, size_t each) { return memcmp(a, b, (size_t)n * each) == 0; }

static void check_round_trip(const bodies *set, snapshot_form form)
{
    char *text = NULL;
    size_t size = 0;
    bodies back;
    snapshot_form found;
    message about;
    FILE *const stream = open_memstream(&text, &size);
    parser_require(stream != NULL, "memory for a stream");
    parser_require(snapshot_print(stream, set, form) == 0 && fclose(stream) == 0, "a snapshot can be written");
    parser_require(parse(text, size, &back, &found, &about) == 0, "what is written can be read");
    parser_require(found == form && back.n == set->n && !about.text[0], "the form stays");
    parser_require(same(&back.time, &set->time, 1, sizeof set->time) && back.G == set->G &&
                       same(back.id, set->id, set->n, sizeof *set->id) &&
                       same(back.mass, set->mass, set->n, sizeof *set->mass) &&
                       same(back.x, set->x, set->n, sizeof *set->x) && same(back.v, set->v, set->n, sizeof *set->v),
                   "every bit survives");
    bodies_free(&back);
    free(text);
}

void parse_snapshot(const unsigned char *bytes, size_t size)
{
    bodies set;
    snapshot_form form;
    message about;
    if (parse(bytes, size, &set, &form, &about)) {
        parser_require(set.n == 0 && !set.id && !set.x, "a refused snapshot leaves no particles");
        parser_require(strncmp(about.text, "file:", 5) == 0, "a refusal names the file");
        for (const char *c = about.text; *c; c++)
            parser_require((unsigned char)*c >= ' ' && *c != 0x7F, "a message is one line");
        return;
    }
    check_values(&set);
    check_ids(&set);
    check_units(&set);
    check_round_trip(&set, SNAPSHOT_LINES);
    check_round_trip(&set, SNAPSHOT_CSV);
    bodies_free(&set);
}
