/* unit_words.c - see unit_words.h. */
#include "unit_words.h"
#include "number.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum quantity { MASS, LENGTH, VELOCITY, TIME, QUANTITIES } quantity;

static const char *const QUANTITY[QUANTITIES] = {"mass", "length", "velocity", "time"};

typedef struct unit_word {
    const char *name; /* as remarks have it */
    quantity of;
    double size; /* in m, m/s, s; of a mass G times it, in m^3 s^-2 */
} unit_word;

/*
 * Constants: the astronomical unit (IAU 2012, resolution B2); the parsec and the nominal G Msun (IAU 2015, resolutions
 * B2 and B3); the Julian year; G of CODATA 2018, 6.67430e-11 m^3 kg^-1 s^-2, which only masses in kg and g need.
 */
#define AU   149597870700.0
#define PC   (648000 / 3.14159265358979323846 * AU)
#define YEAR 31557600.0

static const unit_word WORD[] = {{"Msun", MASS, 1.3271244e20},
                                 {"kg", MASS, 6.67430e-11},
                                 {"g", MASS, 6.67430e-14},
                                 {"pc", LENGTH, PC},
                                 {"kpc", LENGTH, 1e3 * PC},
                                 {"au", LENGTH, AU},
                                 {"m", LENGTH, 1},
                                 {"cm", LENGTH, 1e-2},
                                 {"km/s", VELOCITY, 1e3},
                                 {"m/s", VELOCITY, 1},
                                 {"cm/s", VELOCITY, 1e-2},
                                 {"yr", TIME, YEAR},
                                 {"Myr", TIME, 1e6 * YEAR},
                                 {"Gyr", TIME, 1e9 * YEAR},
                                 {"s", TIME, 1}};

enum { WORDS = sizeof WORD / sizeof *WORD };

const char UNIT_WORDS[] = "Msun kg g; pc kpc au m cm; km/s m/s cm/s, or yr Myr Gyr s";

/* What a text names; word NULL: nothing of this quantity. */
typedef struct named {
    const unit_word *word[QUANTITIES];
    double factor[QUANTITIES];
} named;

/* 0: nothing of this quantity is named. */
static double size_of(const named *n, quantity q) { return n->word[q] ? n->factor[q] * n->word[q]->size : 0; }

static int same(const char *word, const char *name)
{
    for (; *word && *name; word++, name++)
        if (tolower((unsigned char)*word) != tolower((unsigned char)*name)) return 0;
    return !*word && !*name;
}

static const unit_word *find(const char *word)
{
    if (same(word, "parsec")) word = "pc"; /* as AMUSE has them */
    if (same(word, "kms")) word = "km/s";
    for (int k = 0; k < WORDS; k++)
        if (same(word, WORD[k].name)) return &WORD[k];
    return NULL;
}

/* Finds a length and a time in a word such as au/yr; returns 0 if it is none. */
static int find_both(const char *word, const unit_word **length, const unit_word **time)
{
    char first[16];
    const char *const slash = strchr(word, '/');
    if (!slash || slash - word >= (int)sizeof first) return 0;
    snprintf(first, sizeof first, "%.*s", (int)(slash - word), word);
    *length = find(first);
    *time = find(slash + 1);
    return *length && *time && (*length)->of == LENGTH && (*time)->of == TIME;
}

int unit_words_know(const char *word)
{
    const unit_word *length, *time;
    return find(word) || find_both(word, &length, &time);
}

/* Whether a text says G = 1, also as G = M = 1. */
static int says_one(const char *text)
{
    for (const char *g = strchr(text, 'G'); g; g = strchr(g + 1, 'G')) {
        const char *const before = g > text ? g - 1 : " ";
        const char *at = g + 1 + strspn(g + 1, " "), *last = NULL;
        if (isalnum((unsigned char)*before) || *at != '=') continue;
        for (const char *c = at; *c && !strchr(",;)", *c); c++)
            if (*c == '=') last = c + 1;
        char *end;
        if (last && strtod(last, &end) == 1 && strspn(end, " ") == strcspn(end, ",;)")) return 1;
    }
    return 0;
}

/* Adds a unit to those that are named. */
static int add_unit(named *n, const unit_word *unit, double factor, message *why)
{
    if (n->word[unit->of] && (n->word[unit->of] != unit || n->factor[unit->of] != factor))
        return complain(why, "there are two units of %s", QUANTITY[unit->of]);
    n->word[unit->of] = unit;
    n->factor[unit->of] = factor;
    return 0;
}

/* Adds the units of a word, which may be a length / a time. */
static int add_word(named *n, const char *word, double factor, message *why)
{
    const unit_word *const unit = find(word), *length, *time;
    if (unit) return add_unit(n, unit, factor, why);
    if (!find_both(word, &length, &time) || factor != 1)
        return complain(why, "'%.40s' is no unit known here (%s)", word, UNIT_WORDS);
    return add_unit(n, length, 1, why) || add_unit(n, time, 1, why) ? -1 : 0;
}

/* Reads the words of a text. */
static int read_words(const char *text, named *n, message *why)
{
    char room[256], *rest = room;
    double factor = 1;
    snprintf(room, sizeof room, "%s", text);
    room[strcspn(room, "(")] = 0;
    for (;;) {
        rest += strspn(rest, " \t,;");
        char *const word = rest;
        const size_t length = strcspn(rest, " \t,;");
        if (!length) return 0;
        rest += length + (rest[length] != 0);
        word[length] = 0;
        if (!number_real(word, length, &factor) && factor > 0) continue;
        if (add_word(n, word, factor, why)) return -1;
        factor = 1;
    }
}

int unit_words_agree(double a, double b) { return fabs(a - b) <= 1e-3 * fmin(a, b); }

/* Of velocity and time, the one that is exact: in remarks the other one is rounded. */
static quantity exact_one(const named *n)
{
    if (!n->word[VELOCITY] || !n->word[TIME]) return n->word[VELOCITY] ? VELOCITY : TIME;
    return n->factor[VELOCITY] != 1 && n->factor[TIME] == 1 ? TIME : VELOCITY;
}

static int check_words(const named *n, const char *text, message *why)
{
    const char *missing = !n->word[LENGTH] ? "length" : !n->word[MASS] ? "mass" : "velocity or time";
    if (!n->word[LENGTH] || !n->word[MASS] || (!n->word[VELOCITY] && !n->word[TIME]))
        return complain(why, "'%.60s' has no unit of %s (%s)", text, missing, UNIT_WORDS);
    if (n->word[VELOCITY] && n->word[TIME] &&
        !unit_words_agree(size_of(n, VELOCITY) * size_of(n, TIME), size_of(n, LENGTH)))
        return complain(why, "'%.60s': the unit of time is not length / velocity; name one of time and velocity", text);
    return 0;
}

/* Names a derived velocity or time by the word that suits its size. */
static void name_derived(named *n, quantity q, double size)
{
    const unit_word *const length = n->word[LENGTH];
    const char *word = length == find("cm") ? "cm/s" : length == find("m") ? "m/s" : "km/s";
    if (q == TIME) word = size >= 1e9 * YEAR ? "Gyr" : size >= 1e5 * YEAR ? "Myr" : size >= 0.1 * YEAR ? "yr" : "s";
    n->word[q] = find(word);
    n->factor[q] = 1;
    n->factor[q] = size / size_of(n, q);
}

static void set_system(named *n, unit_system *system)
{
    const quantity exact = exact_one(n);
    const double length = size_of(n, LENGTH), size = size_of(n, exact);
    /* G has length^3 / mass / time^2 */
    system->G = exact == TIME ? size_of(n, MASS) / length * (size / length) * (size / length)
                              : size_of(n, MASS) / length / size / size;
    name_derived(n, exact == TIME ? VELOCITY : TIME, length / size);
    for (int q = 0; q < QUANTITIES; q++) {
        const size_t used = strlen(system->remark);
        if (n->word[q])
            snprintf(system->remark + used, sizeof system->remark - used, "%s%.6g %s", used ? ", " : "", n->factor[q],
                     n->word[q]->name);
    }
}

int unit_words_read(const char *text, unit_system *system, message *why)
{
    named n = {.word = {NULL}};
    const int is_nbody = same(text, "nbody") || same(text, "n-body");
    *system = (unit_system){.G = 1};
    if (is_nbody || says_one(text)) {
        snprintf(system->remark, sizeof system->remark, "%s", is_nbody ? "N-body: G = 1" : text);
        return 0;
    }
    const char *const words = same(text, "cgs") ? "g cm cm/s" : same(text, "si") ? "kg m m/s" : text;
    if (read_words(words, &n, why) || check_words(&n, text, why)) return -1;
    set_system(&n, system);
    if (isnormal(system->G) && isnormal(n.factor[VELOCITY]) && isnormal(n.factor[TIME])) return 0;
    return complain(why, "'%.60s': G, or the unit of velocity or time, does not fit into a double", text);
}
