/*
 * snapshot_forms.c - the three forms without column names: init, pl, lines.
 */
#include "snapshot_text.h"

#include <string.h>

static int set_mass(const text_lines *lines, int k, bodies *set, int who, double mass)
{
    if (mass < 0) return text_fail(lines, k, "the mass of particle %d is negative", who + 1);
    set->mass[who] = mass;
    return 0;
}

/* Allocates N particles, if the file is long enough for them: a wrong N must not allocate all the memory. */
static int make_room(const text_lines *lines, bodies *set, int n)
{
    if (bodies_allocate(set, n)) return complain(lines->about, "%s: out of memory for %d particles", lines->name, n);
    return 0;
}

static int check_count(const text_lines *lines, int k, int n, int first, int lines_each)
{
    if (n < 1) return text_fail(lines, k, "the number of particles is %d", n);
    long long needed = (long long)n * lines_each, there = lines->n - first;
    if (there < needed)
        return text_fail(lines, k, "%d particles need %lld lines below, the file ends at line %d after %lld of them", n,
                         needed, lines->last, there);
    if (there > needed) {
        int extra = first + (int)needed;
        return text_fail(lines, extra, "this line is one too many: line %d says %d particles", lines->line[k].number,
                         n);
    }
    return 0;
}

int snapshot_parse_init(const text_lines *lines, bodies *set)
{
    double time, mass;
    int n;
    if (text_reals(lines, 0, 1, "time", 0, &time) || text_count(lines, 1, "number of particles", 0, &n)) return -1;
    if (check_count(lines, 1, n, 2, 4) || make_room(lines, set, n)) return -1;
    set->time = time;
    for (int who = 0, k = 2; who < n; who++, k += 4) {
        if (text_index(lines, k, who + 1, &set->id[who])) return -1;
        if (text_reals(lines, k + 1, 1, "mass", who + 1, &mass) || set_mass(lines, k + 1, set, who, mass)) return -1;
        if (text_reals(lines, k + 2, 3, "position", who + 1, set->x[who])) return -1;
        if (text_reals(lines, k + 3, 3, "velocity", who + 1, set->v[who])) return -1;
    }
    return 0;
}

int snapshot_parse_pl(const text_lines *lines, bodies *set)
{
    double time, mass;
    int n, dimension;
    if (text_count(lines, 0, "number of particles", 0, &n)) return -1;
    if (text_count(lines, 1, "dimension", 0, &dimension)) return -1;
    if (dimension != 3) return text_fail(lines, 1, "the dimension is %d; only 3 is known here", dimension);
    if (text_reals(lines, 2, 1, "time", 0, &time)) return -1;
    if (check_count(lines, 0, n, 3, 3) || make_room(lines, set, n)) return -1;
    set->time = time;
    for (int who = 0; who < n; who++) {
        set->id[who] = who + 1;
        int k = 3 + who;
        if (text_reals(lines, k, 1, "mass", who + 1, &mass) || set_mass(lines, k, set, who, mass)) return -1;
    }
    for (int who = 0; who < n; who++)
        if (text_reals(lines, 3 + n + who, 3, "position", who + 1, set->x[who])) return -1;
    for (int who = 0; who < n; who++)
        if (text_reals(lines, 3 + 2 * n + who, 3, "velocity", who + 1, set->v[who])) return -1;
    return 0;
}

/*
 * Reads one number before the particles: a nonzero whole number must be the number of particles, any other is the time.
 */
static int single_header(const text_lines *lines, int particles, const char *word, double value, bodies *set)
{
    int whole;
    if (!text_integer(word, &whole) && whole != 0) {
        if (whole == particles) return 0;
        return text_fail(lines, 0, "this says %d particles, but %d follow", whole, particles);
    }
    set->time = value;
    return 0;
}

static int double_header(const text_lines *lines, int particles, char *word[2], const double value[2], bodies *set)
{
    int whole;
    for (int c = 0; c < 2; c++)
        if (!text_integer(word[c], &whole) && whole == particles) {
            set->time = value[1 - c];
            return 0;
        }
    return text_fail(lines, 0, "number of particles and time expected; %d particles follow", particles);
}

/* Fails if a line before the particles has a comma, and they have none: it may belong to a number. */
static int check_commas(const text_lines *lines, int headers)
{
    const int with_commas = strchr(lines->line[headers].text, ',') != NULL;
    for (int k = 0; k < headers && !with_commas; k++)
        if (strchr(lines->line[k].text, ',')) return text_fail_comma(lines, k);
    return 0;
}

int snapshot_read_headers(const text_lines *lines, int headers, int particles, bodies *set)
{
    char *word[3], *found[TOKENS_MAX];
    double value[3];
    int n = 0, whole;
    for (int k = 0; k < headers; k++) {
        int words = text_cut(lines->line[k].text, found);
        for (int c = 0; c < words; c++) {
            if (n == 3) return text_fail(lines, k, "more than three numbers before the particles");
            word[n] = found[c];
            if (text_real(word[n], &value[n]))
                return text_fail(lines, k, "'%.40s' is not a finite number (number of particles or time)", word[n]);
            n++;
        }
    }
    if (n == 0) return 0;
    if (n == 1) return single_header(lines, particles, word[0], value[0], set);
    if (n == 2) return double_header(lines, particles, word, value, set);
    if (text_integer(word[0], &whole) || whole != particles)
        return text_fail(lines, 0, "this says %.40s particles, but %d follow", word[0], particles);
    if (value[1] != 3) return text_fail(lines, headers > 1, "the dimension is %.40s; only 3 is known here", word[1]);
    set->time = value[2];
    return 0;
}

static int read_particle(const text_lines *lines, int k, int width, int who, bodies *set)
{
    char *word[TOKENS_MAX];
    if (text_has_decimal_comma(lines->line[k].text)) return text_fail_comma(lines, k);
    int found = text_cut(lines->line[k].text, word), first = width - 7;
    if (found != width)
        return text_fail(lines, k, "%d numbers expected (%smass x y z vx vy vz), %d found", width, first ? "id " : "",
                         found);
    set->id[who] = who + 1;
    const int verdict = first ? text_id(word[0], &set->id[who]) : 0;
    if (verdict) return text_fail_id(lines, k, word[0], verdict);
    double value[7];
    for (int c = 0; c < 7; c++)
        if (text_real(word[first + c], &value[c]))
            return text_fail(lines, k, "'%.40s' is not a finite number", word[first + c]);
    memcpy(set->x[who], value + 1, sizeof set->x[who]);
    memcpy(set->v[who], value + 4, sizeof set->v[who]);
    return set_mass(lines, k, set, who, value[0]);
}

int snapshot_parse_lines(const text_lines *lines, int headers, bodies *set)
{
    int n = lines->n - headers, width = text_words(lines->line[headers].text);
    if (make_room(lines, set, n)) return -1;
    set->time = lines->time;
    if (check_commas(lines, headers) || snapshot_read_headers(lines, headers, n, set)) return -1;
    for (int who = 0; who < n; who++)
        if (read_particle(lines, headers + who, width, who, set)) return -1;
    return 0;
}
