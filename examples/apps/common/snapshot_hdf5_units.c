/* snapshot_hdf5_units.c - units in cgs, as HDF5 files state them, and as the remark of a set (snapshot_hdf5.h). */
#include "snapshot_hdf5.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum quantity { MASS, LENGTH, VELOCITY, TIME, QUANTITIES } quantity;

typedef struct unit {
    const char *name;
    quantity of;
    double size, least; /* in cgs; a remark uses the first unit of a quantity of which it has at least so much */
} unit;

/*
 * The astronomical unit (IAU 2012, resolution B2), the parsec and the nominal G Msun (IAU 2015, resolutions B2 and B3),
 * the Julian year.
 */
#define AU   1.49597870700e13
#define PC   (648000 / 3.14159265358979323846 * AU)
#define YEAR 31557600.0

static const unit UNIT[] = {{"Msun", MASS, 1.3271244e26 / CGS_G, 1e-6},
                            {"kg", MASS, 1e3, INFINITY},
                            {"g", MASS, 1, 0},
                            {"kpc", LENGTH, 1e3 * PC, 0.1},
                            {"pc", LENGTH, PC, 1e-3},
                            {"au", LENGTH, AU, 1e-3},
                            {"m", LENGTH, 1e2, INFINITY},
                            {"cm", LENGTH, 1, 0},
                            {"km/s", VELOCITY, 1e5, 1e-3},
                            {"m/s", VELOCITY, 1e2, INFINITY},
                            {"cm/s", VELOCITY, 1, 0},
                            {"Gyr", TIME, 1e9 * YEAR, 0.1},
                            {"Myr", TIME, 1e6 * YEAR, 0.1},
                            {"yr", TIME, YEAR, 1e-3},
                            {"s", TIME, 1, 0}};

enum { UNITS = sizeof UNIT / sizeof *UNIT };

/* Returns the unit of this name, without regard to the case of the letters a and u of au; NULL: none. */
static const unit *find(const char *word, size_t length)
{
    if (length == 2 && !strncmp(word, "AU", 2)) word = "au";
    for (int k = 0; k < UNITS; k++)
        if (strlen(UNIT[k].name) == length && !strncmp(UNIT[k].name, word, length)) return &UNIT[k];
    return NULL;
}

/* Notes the first unit of each quantity that the words of a remark name; a number may stand before a unit. */
static void read_words(const char *at, double size[QUANTITIES])
{
    static const char BETWEEN[] = " \t,;";
    double factor = 1;
    for (at += strspn(at, BETWEEN); *at; at += strspn(at, BETWEEN)) {
        const size_t length = strcspn(at, BETWEEN);
        const unit *const u = find(at, length);
        char *end;
        const double number = strtod(at, &end);
        const int is_number = end == at + length && number > 0 && isfinite(number);
        if (u && size[u->of] == 0) size[u->of] = factor * u->size;
        factor = is_number ? number : 1;
        at += length;
    }
}

int cgs_units_read(const char *remark, double G, cgs_units *units)
{
    double size[QUANTITIES] = {0};
    read_words(remark, size);
    const double length = size[LENGTH], velocity = size[VELOCITY] > 0 ? size[VELOCITY]
                                                   : size[TIME] > 0   ? length / size[TIME]
                                                                      : 0;
    const double mass = size[MASS] > 0 ? size[MASS] : G / CGS_G * length * velocity * velocity;
    *units = (cgs_units){mass, length, velocity};
    return mass > 0 && length > 0 && velocity > 0 && isfinite(mass) ? 0 : -1;
}

/* Appends an amount of a quantity to a remark. */
static void print_one(char remark[BODIES_REMARK], quantity q, double size)
{
    const size_t used = strlen(remark);
    int k = 0;
    while (UNIT[k].of != q || !(size >= UNIT[k].least * UNIT[k].size)) k++;
    snprintf(remark + used, BODIES_REMARK - used, "%s%.6g %s", used ? ", " : "", size / UNIT[k].size, UNIT[k].name);
}

void cgs_units_print(const cgs_units *units, char remark[BODIES_REMARK])
{
    remark[0] = 0;
    print_one(remark, MASS, units->mass);
    print_one(remark, LENGTH, units->length);
    print_one(remark, VELOCITY, units->velocity);
    print_one(remark, TIME, units->length / units->velocity);
}

double cgs_units_constant(const cgs_units *units, double G)
{
    return G * (units->mass / units->length / units->velocity / units->velocity);
}
