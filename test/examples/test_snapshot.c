/*
 * test_snapshot.c - files of the examples: every form of snapshot, every fault and its line, every bit; restart files.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "restart.h"
#include "rng.h"
#include "snapshot.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Parses a copy of the text under the name "file". */
static int parse(const char *text, bodies *set, snapshot_form *form, message *about)
{
    size_t length = strlen(text);
    char *copy = malloc(length + 1);
    assert_non_null(copy);
    memcpy(copy, text, length + 1);
    int status = snapshot_parse("file", copy, length, set, form, about);
    free(copy);
    return status;
}

static void parse_well(const char *text, snapshot_form wanted, bodies *set)
{
    message about;
    snapshot_form form;
    if (parse(text, set, &form, &about)) fail_msg("refused: %s\n%s", about.text, text);
    assert_int_equal(form, wanted);
    assert_string_equal(about.text, "");
}

/* The two particles that all good texts below hold. */
static void check_pair(const bodies *set, double time, long long id0, long long id1)
{
    static const double x[2][3] = {{1, 2, 3}, {-4, 5e-3, 6}}, v[2][3] = {{0.1, 0.2, 0.3}, {0, -0.5, 1e10}};
    assert_int_equal(set->n, 2);
    assert_true(set->time == time);
    assert_true(set->id[0] == id0 && set->id[1] == id1);
    assert_true(set->mass[0] == 0.25 && set->mass[1] == 0.75);
    for (int k = 0; k < 2; k++)
        for (int c = 0; c < 3; c++) {
            assert_true(set->x[k][c] == x[k][c]);
            assert_true(set->v[k][c] == v[k][c]);
        }
}

typedef struct good {
    snapshot_form form;
    double time;
    long long id0, id1;
    const char *text;
} good;

#define ROW0 "0.25 1 2 3 0.1 0.2 0.3\n"
#define ROW1 "0.75 -4 5e-3 6 0 -0.5 1e10\n"

/* The same particles with the mass last. */
#define LAST0 "1 2 3 0.1 0.2 0.3 0.25\n"
#define LAST1 "-4 5e-3 6 0 -0.5 1e10 0.75\n"

static const good GOOD[] = {
    {SNAPSHOT_INIT, 0.5, 7, 9, "0.5\n2\n7\n0.25\n1 2 3\n0.1 0.2 0.3\n9\n0.75\n-4 5e-3 6\n0 -0.5 1e10\n"},
    {SNAPSHOT_INIT, 0.5, 7, 9,
     "5.D-1\r\n2\r\n\r\n7\r\n.25\r\n1 2 3\r\n.1 .2 .3\r\n9\r\n.75\r\n-4 5d-3 6\r\n0 -.5 1D10"},
    {SNAPSHOT_PL, 0.5, 1, 2, "2\n3\n 0.5\n 0.25\n 0.75\n1 2 3\n-4 5e-3 6\n0.1 0.2 0.3\n0 -0.5 1e10\n"},
    {SNAPSHOT_LINES, 0, 1, 2, ROW0 ROW1},
    {SNAPSHOT_LINES, 0, 7, 9, "7 " ROW0 "9 " ROW1},
    {SNAPSHOT_LINES, 0, 1, 2, "2\n" ROW0 ROW1},
    {SNAPSHOT_LINES, 0.5, 1, 2, "0.5\n" ROW0 ROW1},
    {SNAPSHOT_LINES, 0, 1, 2, "0\n" ROW0 ROW1},
    {SNAPSHOT_LINES, 0.5, 7, -9, "2 0.5\n7 " ROW0 "-9 " ROW1},
    {SNAPSHOT_LINES, 0.5, 1, 2, "0.5 2\n" ROW0 ROW1},
    {SNAPSHOT_LINES, 0.5, 1, 2, "0.5\n2\n" ROW0 ROW1},
    {SNAPSHOT_LINES, 0.5, 1, 2, "2 3 0.5\n" ROW0 ROW1},
    {SNAPSHOT_LINES, 0.5, 1, 2, "2\n3\n0.5\n" ROW0 ROW1},
    {SNAPSHOT_LINES, 0.5, 1, 2, "# a cluster\n\n#time = 0.5\n" ROW0 "\n# another\n" ROW1 "# time 3\n\n"},
    {SNAPSHOT_LINES, 0.5, 7, 9, "# time 0.5\n7,0.25,1,2,3,0.1,0.2,0.3\n9,0.75,-4,5e-3,6,0,-0.5,1e10\n"},
    {SNAPSHOT_LINES, 0, 1, 2, "# time passes\n\t0.25\t1 2 3  0.1 0.2 0.3 # the first\n" ROW1},
    {SNAPSHOT_CSV, 0, 7, 9, "id,m,x,y,z,vx,vy,vz\n7,0.25,1,2,3,0.1,0.2,0.3\n9,0.75,-4,5e-3,6,0,-0.5,1e10\n"},
    {SNAPSHOT_CSV, 0.5, 1, 2,
     "# time: 0.5\n\"VX\";\"VY\";\"VZ\";\"radius\";\"Mass\";\"z\";\"y\";\"x\"\n"
     "0.1;0.2;0.3;;0.25;3;2;1\n0;-0.5;1e10;big;0.75; 6; 5e-3;-4\n"},
    {SNAPSHOT_CSV, 0, 7, 9,
     "\xef\xbb\xbfindex mass x y z vx vy vz\n 7 0.25 1 2 3 0.1 0.2 0.3 \n9  0.75 -4 5e-3 6 0 -0.5 1e10"},
    /* names in a comment */
    {SNAPSHOT_CSV, 0, 1, 2, "# x y z vx vy vz m\n" LAST0 LAST1},
    {SNAPSHOT_CSV, 0, 1, 2, "#X,Y,Z,VX,VY,VZ,Mass\n1,2,3,0.1,0.2,0.3,0.25\n-4,5e-3,6,0,-0.5,1e10,0.75\n"},
    {SNAPSHOT_CSV, 0.5, 1, 2,
     "# of stars\n# time 0.5\n# x[pc] y[pc] z[pc] vx [km/s] vy [km/s] vz (km/s) m\n" LAST0 LAST1},
    {SNAPSHOT_CSV, 0.5, 1, 2, "2 0.5\n# columns: x y z vx vy vz m\n" LAST0 LAST1},
    {SNAPSHOT_CSV, 0, 7, 9,
     "# x y z vx vy vz m id pot\n1 2 3 .1 .2 .3 .25 7.0e+00 1\n-4 5e-3 6 0 -0.5 1e10 0.75 9.0e+00 x\n"},
    {SNAPSHOT_LINES, 0, 1, 2, "# m x y z vx vy vz\n" ROW0 ROW1},
    {SNAPSHOT_LINES, 0.5, 7, 9, "# columns: id, mass, x, y, z, vx, vy, vz (G = 1)\n0.5\n7 " ROW0 "9 " ROW1},
    {SNAPSHOT_INIT, 0.5, 7, 9,
     "# id m x y z vx vy vz\n0.5\n2\n7\n0.25\n1 2 3\n.1 .2 .3\n9\n0.75\n-4 5e-3 6\n0 -0.5 1e10\n"},
    /* commas */
    {SNAPSHOT_LINES, 0, 1, 2, "0.25, 1 2 3, 0.1 0.2 0.3\n0.75, -4 5e-3 6, 0 -0.5 1e10\n"},
    {SNAPSHOT_LINES, 0.5, 1, 2, "2,0.5\n0.25,1,2,3,0.1,0.2,0.3\n0.75,-4,5e-3,6,0,-0.5,1e10\n"},
    /* ids of 64 bits */
    {SNAPSHOT_LINES, 0, 3000000000, -9223372036854775807, "3000000000 " ROW0 "-9223372036854775807 " ROW1},
    {SNAPSHOT_CSV, 0, 9007199254740993, 9223372036854775807,
     "id,m,x,y,z,vx,vy,vz\n9007199254740993,0.25,1,2,3,0.1,0.2,0.3\n"
     "9223372036854775807,0.75,-4,5e-3,6,0,-0.5,1e10\n"},
    {SNAPSHOT_INIT, 0.5, 3000000000, 9, "0.5\n2\n3000000000\n.25\n1 2 3\n.1 .2 .3\n9\n.75\n-4 5e-3 6\n0 -.5 1e10\n"},
    /* Fortran's exponents of three digits */
    {SNAPSHOT_LINES, 0, 1, 2, "2500.0-004 1.0+000 2 3 0.1 0.2 0.3\n0.75 -4 0.5-002 6 0 -0.5 1.0+010\n"},
};

static void test_forms(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof GOOD / sizeof *GOOD; k++) {
        bodies set;
        parse_well(GOOD[k].text, GOOD[k].form, &set);
        check_pair(&set, GOOD[k].time, GOOD[k].id0, GOOD[k].id1);
        bodies_free(&set);
    }
}

static void test_one_particle(void **state)
{
    (void)state;
    bodies set;
    parse_well("0.5\n1\n7\n0.25\n1 2 3\n4 5 6\n", SNAPSHOT_INIT, &set);
    assert_int_equal(set.id[0], 7);
    assert_true(set.time == 0.5);
    bodies_free(&set);
    parse_well("1\n3\n0.5\n0.25\n1 2 3\n4 5 6\n", SNAPSHOT_PL, &set);
    assert_true(set.time == 0.5 && set.mass[0] == 0.25 && set.v[0][2] == 6);
    bodies_free(&set);
    parse_well("0.25 1 2 3 4 5 6", SNAPSHOT_LINES, &set);
    assert_true(set.n == 1 && set.v[0][2] == 6);
    bodies_free(&set);
}

/* time 1, three particles: begins like a pl file of one particle. */
static void test_init_that_looks_like_pl(void **state)
{
    (void)state;
    bodies set;
    parse_well("1\n3\n4\n1\n1 0 0\n0 0 0\n5\n1\n2 0 0\n0 0 0\n6\n1\n3 0 0\n0 0 0\n", SNAPSHOT_INIT, &set);
    assert_int_equal(set.n, 3);
    assert_true(set.time == 1 && set.x[2][0] == 3);
    bodies_free(&set);
}

/* Remarks before the particles are read, also with a colon, and written again; others are not. */
static void test_remarks(void **state)
{
    (void)state;
    static const char text[] =
        "# units: 1 kpc, 1 Msun \r\n# G = 4.5e-6\n# G = M = 1\n# parts halo 1, disc 1\n# unitsystem cgs\n" ROW0 ROW1
        "# units no\n";
    char again[1024] = "", longer[1024];
    bodies set;
    parse_well(text, SNAPSHOT_LINES, &set);
    assert_string_equal(set.units, "1 kpc, 1 Msun");
    assert_string_equal(set.parts, "halo 1, disc 1");
    assert_true(set.G == 4.5e-6);
    FILE *stream = tmpfile();
    assert_non_null(stream);
    assert_int_equal(snapshot_print(stream, &set, SNAPSHOT_CSV), 0);
    bodies_free(&set);
    rewind(stream);
    assert_true(fread(again, 1, sizeof again - 1, stream) > 0);
    (void)fclose(stream);
    parse_well(again, SNAPSHOT_CSV, &set);
    assert_string_equal(set.units, "1 kpc, 1 Msun");
    assert_string_equal(set.parts, "halo 1, disc 1");
    assert_true(set.G == 4.5e-6);
    check_pair(&set, 0, 1, 2);
    bodies_free(&set);
    snprintf(longer, sizeof longer, "# units %0500d\n%s", 7, ROW0 ROW1); /* too long a remark is cut off */
    parse_well(longer, SNAPSHOT_LINES, &set);
    assert_int_equal(strlen(set.units), BODIES_REMARK - 1);
    assert_string_equal(set.parts, "");
    bodies_free(&set);
}

/* Units in a comment that names quantities, or by a text; their line is known. */
static void test_named_units(void **state)
{
    (void)state;
    static const struct {
        const char *comment, *units;
        int line;
    } of[] = {{"# m[Msun] x[pc] v[km/s]\n", "Msun, pc, km/s", 1},
              {"\n# mass [Msun] x [pc] y [pc] z [pc] vx [km/s] vy [km/s] vz [km/s]\n", "Msun, pc, km/s", 2},
              {"# mass(Msun) x(pc) y(pc) z(kpc) vx vy vz\n", "Msun, pc, kpc", 1},
              {"# x[m] y[m] z[m] vx[m/s] vy[m/s] vz[m/s] mass[kg]\n", "m, m/s, kg", 1},
              {"# columns: mass, x, y, z, vx, vy, vz (all of one origin)\n", "", 0},
              {"# mass and x [pc] of a cluster\n", "", 0},
              {"# mass x y z vx vy vz\n", "", 0},
              {"# Units: Msun pc km/s\n", "Msun pc km/s", 1},
              {"# units: Msun pc km/s\n# m[Msun] x[kpc]\n", "Msun pc km/s, Msun, kpc", 2}};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        char text[512];
        bodies set;
        snprintf(text, sizeof text, "%s%s%s", of[k].comment, ROW0, ROW1);
        parse_well(text, k == 3 ? SNAPSHOT_CSV : SNAPSHOT_LINES, &set);
        assert_string_equal(set.units, of[k].units);
        assert_int_equal(set.units_line, of[k].line);
        bodies_free(&set);
    }
}

/* Tables as mcluster, AMUSE (csv, txt) and PeTar write them. */
#define AMUSE_DEFAULT                                                                                                  \
    "1000.0 * m * s**-1,1000.0 * m * s**-1,1000.0 * m * s**-1,"                                                        \
    "3.08567758128e+16 * m,3.08567758128e+16 * m,3.08567758128e+16 * m\n"
#define AMUSE0 "0.25,0,0.1,0.2,0.3,1,2,3\n"
#define AMUSE1 "0.75,0,0,-0.5,1e10,-4,5e-3,6\n"

static void test_tables_of_others(void **state)
{
    (void)state;
    static const struct {
        double time;
        snapshot_form form;
        const char *units;
        int line;
        const char *text;
    } of[] = {
        {0, SNAPSHOT_LINES, "Msun, pc, km/s", 1,
         "#Mass_[Msun]\tx_[pc]\t\t\ty_[pc]\t\t\tz_[pc]\t\t\tvx_[km/s]\t\tvy_[km/s]\t\tvz_[km/s]\n" ROW0 ROW1},
        /* with stellar evolution: another mass, the metallicity Z, magnitudes, several tabs between numbers */
        {0, SNAPSHOT_CSV, "Msun, pc, km/s", 1,
         "#Mass_[Msun]\tx_[pc]\t\ty_[pc]\tz_[pc]\tvx_[km/s]\tvy_[km/s]\tvz_[km/s]\tMass(t=0)_[Msun]\tkw\tR_[Rsun]\tZ\t"
         "V_[mag]\tB-V_[mag]\td(B-V)\n"
         "0.25\t1\t2\t3\t.1\t.2\t.3\t0.2\t\t1\t0.1\t0.02\t9\t1\t0\n"
         "0.75\t-4\t5e-3\t6\t0\t-.5\t1e10\t0.8\t\t1\t0.1\t0.02\t9\t1\t0\n"},
        {0, SNAPSHOT_LINES, "MSun, parsec, kms", 3,
         "#mass,x,y,z,vx,vy,vz\n#(1.98892e+30 * system.get('S.I.').base('mass')),"
         "b('length'),b('length'),b('length'),b('length'),b('length'),b('length')\n"
         "#MSun,parsec,parsec,parsec,kms,kms,kms\n0.25,1,2,3,0.1,0.2,0.3\n0.75,-4,5e-3,6,0,-0.5,1e10\n"},
        {0, SNAPSHOT_CSV, "1.98892e+30 kg, 1000.0 m/s, 3.08567758128e+16 m", 2,
         "#mass,radius,vx,vy,vz,x,y,z\n#1.98892e+30 * kg,695500000.0 * m," AMUSE_DEFAULT AMUSE0 AMUSE1},
        {0, SNAPSHOT_CSV, "MSun, parsec/Myr, parsec", 2,
         "#mass radius vx vy vz x y z\n#MSun RSun parsec / Myr parsec / Myr parsec / Myr parsec parsec parsec\n"
         "0.25 0 0.1 0.2 0.3 1 2 3\n0.75 0 0 -0.5 1e10 -4 5e-3 6\n"},
        {0, SNAPSHOT_LINES, "N-body: G = 1", 2,
         "#mass,x,y,z,vx,vy,vz\n#mass,length,length,length,length * time**-1,length * time**-1,length * time**-1\n"
         "0.25,1,2,3,0.1,0.2,0.3\n0.75,-4,5e-3,6,0,-0.5,1e10\n"},
        {0, SNAPSHOT_LINES, "MJupiter, au, au/day", 2, /* runs refuse what they do not know */
         "#mass,x,y,z,vx,vy,vz\n#MJupiter,au,au,au,au / day,au / day,au / day\n" ROW0 ROW1},
        {0, SNAPSHOT_LINES, "MSun, length, length/time", 2,
         "#mass,x,y,z,vx,vy,vz\n#MSun,length,length,length,length / time,length / time,length / time\n" ROW0 ROW1},
        {0, SNAPSHOT_LINES, "MSun, m**2, kms", 2, "#mass x y z vx vy vz\n#MSun m**2 m**2 m**2 kms kms kms\n" ROW0 ROW1},
        {0, SNAPSHOT_LINES, "", 0, "# mass x y z vx vy vz\n# stars of the cluster in its centre\n" ROW0 ROW1},
        {0, SNAPSHOT_LINES, "", 0, "# mass x y z vx vy vz\n# kg and pc\n" ROW0 ROW1},
        {0.5, SNAPSHOT_LINES, "", 0, "4 2 0.5\n.25 1 2 3 .1 .2 .3 0 0.5 17\n.75 -4 5e-3 6 0 -.5 1e10 0 0.5 4\n"},
        {0.5, SNAPSHOT_LINES, "", 0,
         "0 2 0.5 1 2 3 4 5 6\n.25 1 2 3 .1 .2 .3 0 0.5 17\n.75 -4 5e-3 6 0 -.5 1e10 0 0.5 4\n"},
    };
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        bodies set;
        parse_well(of[k].text, of[k].form, &set);
        check_pair(&set, of[k].time, 1, 2);
        assert_string_equal(set.units, of[k].units);
        assert_int_equal(set.units_line, of[k].line);
        bodies_free(&set);
    }
}

static void test_repeated_ids(void **state)
{
    (void)state;
    bodies set;
    message about;
    snapshot_form form;
    assert_int_equal(parse("7 " ROW0 "7 " ROW1, &set, &form, &about), 0);
    check_pair(&set, 0, 1, 2);
    assert_non_null(strstr(about.text, "the id 7"));
    bodies_free(&set);
}

typedef struct fault {
    const char *text, *where, *what;
} fault;

static const fault FAULTS[] = {
    /* nothing there */
    {"", "file:1:", "no data"},
    {"# time 3\n\n  \n", "file:3:", "no data"},
    /* init */
    {"0.0\n2\n1\n1\n0 0 0\n0 0 0\n2\n1\n1 0 0\n", "file:2:", "8 lines below"},
    {"0.0\n2\n1\n1\n", "file:2:", "2 particles need 8 lines"},
    {"0.0\n1\n1\n1\n0 0 0\n0 0 0\n5\n", "file:7:", "one too many"},
    {"0.0\n1000000000\n1\n1\n0 0 0\n0 0 0\n", "file:2:", "4000000000 lines"},
    {"0.0\n0\n", "file:2:", "number of particles is 0"},
    {"0.0\n-4\n1\n1\n0 0 0\n0 0 0\n", "file:2:", "number of particles is -4"},
    {"0.0\n1.5\n1\n1\n0 0 0\n0 0 0\n", "file:2:", "'1.5' is not a whole number"},
    {"0.0\n1\n1.5\n1\n0 0 0\n0 0 0\n", "file:3:", "index of particle 1"},
    {"0.0\n1\n\n1\nheavy\n0 0 0\n0 0 0\n", "file:5:", "mass of particle 1"},
    {"0.0\n1\n1\n-1\n0 0 0\n0 0 0\n", "file:4:", "negative"},
    {"0.0\n1\n1\n1\n0 0\n0 0 0\n", "file:5:", "3 numbers expected (position of particle 1), 2 found"},
    {"0.0\n1\n1\n1\n0 0 0\n0 0 0 0\n", "file:6:", "3 numbers expected (velocity of particle 1), 4 found"},
    {"0.0\n1\n1\n1\n0 0 0\n0 nan 0\n", "file:6:", "'nan'"},
    {"0.0\n1\n1\n1\n0 1e999 0\n0 0 0\n", "file:5:", "'1e999'"},
    {"nan\n1\n1\n1\n0 0 0\n0 0 0\n", "file:1:", "no column"},
    /* pl */
    {"2\n2\n0\n1\n1\n0 0\n1 0\n0 0\n0 1\n", "file:2:", "dimension is 2"},
    {"2\n3\n0\n1\n1\n0 0 0\n1 0 0\n0 0 0\n", "file:1:", "6 lines below"},
    {"2\n3\n0\n1\n1\n0 0 0\n1 0 0\n0 0 0\n0 1 0\n9 9 9\n", "file:10:", "one too many"},
    {"2\n3\n0\n1\n0x1\n0 0 0\n1 0 0\n0 0 0\n0 1 0\n", "file:5:", "'0x1'"},
    {"2\n3\n0\n1\n-1\n0 0 0\n1 0 0\n0 0 0\n0 1 0\n", "file:5:", "particle 2 is negative"},
    {"2\n3\n0\n1\n1\n0 0 0\n1 0\n0 0 0\n0 1 0\n", "file:7:", "position of particle 2"},
    {"2\n3\n0\n1\n1\n0 0 0\n1 0 0\n0 0 0\n0 1 inf\n", "file:9:", "velocity of particle 2"},
    {"2\n3\nnow\n1\n1\n0 0 0\n1 0 0\n0 0 0\n0 1 0\n", "file:3:", "'now'"},
    /* lines */
    {"1 0 0 0 0 0 0\n1 1 0 0 0 0\n", "file:2:", "7 numbers expected (mass x y z vx vy vz), 6 found"},
    {"1 1 0 0 0 0 0 0\n1 1 0 0 0 0 0\n", "file:2:", "8 numbers expected (id mass"},
    {"1 1 0 0 0 0 0 0\n2.5 1 0 0 0 0 0 0\n", "file:2:", "'2.5'"},
    {"1 1 0 0 0 0 0 0\n9223372036854775808 1 0 0 0 0 0 0\n", "file:2:", "9223372036854775808 is too large"},
    {"1.0 1 0 0 0 0 0 0\n", "file:1:", "'1.0' is not a whole number (id)"},
    {"1,5 1 0 0 0 0.5 0\n2,5 -1 0 0 0 -0.5 0\n", "file:1:", "write 1.5 for 1,5"},
    {"1 1 0 0 0 0 0\n1,000 -1 0 0 0 0 0\n", "file:2:", "write 1.5 for 1,5"},
    {"1,5;1;0;0;0;0,5;0\n", "file:1:", "write 1.5 for 1,5"},
    {"1,5\t1\t0\t0\t0\t0\t0\n", "file:1:", "write 1.5 for 1,5"},
    {"2,5\n1 0 0 0 0 0 0\n1 1 0 0 0 0 0\n", "file:1:", "write 1.5 for 1,5"},
    {"# time 0,25\n1 0 0 0 0 0 0\n", "file:1:", "time '0,25' has a comma"},
    {"1.0-1000 0 0 0 0 0 0\n", "file:1:", "no column"},
    {"1 1-100 0 0 0 0 0\n", "file:1:", "'1-100'"},
    {"1 1.0-1-100 0 0 0 0 0\n", "file:1:", "'1.0-1-100'"},
    /* names in a comment */
    {"# x y z vx vy vz m\n1 0 0 0 0 0 0 1\n", "file:1:", "names 7 columns, but the lines below have 8"},
    {"# id m x y z vx vy vz\n1 0 0 0 0 0 0\n", "file:1:", "names 8 columns, but the lines below have 7"},
    {"\n# x y z vx vy vz\n1 0 0 0 0 0 0\n", "file:2:", "names 6 columns"},
    {"# x y z vx vy vz vx\n1 0 0 0 0 0 0\n", "file:1:", "two columns for vx"},
    {"# x y z vx vy vz id\n1 0 0 0 0 0 0\n", "file:1:", "no column is named mass"},
    {"# x y z vx vy vz m\n0.0\n1\n1\n1\n0 0 0\n0 0 0\n", "file:1:", "another order"},
    {"# x y z vx vy vz m\n1 0 0 0 0 0 -1\n", "file:2:", "negative"},
    {"# x y z vx vy vz m\n1 0 0 0 0 0 1\n1,5 0 0 0 0 0 1\n", "file:3:", "'1,5'"},
    {"# x y z vx vy vz m id\n1 0 0 0 0 0 1 0.5\n", "file:2:", "'0.5' is not a whole number (id)"},
    {"3\n# x y z vx vy vz m\n1 0 0 0 0 0 1\n", "file:1:", "says 3 particles, but 1 follow"},
    {"1 0 0 0 0 0 0\n\n# two\n1 1 0 x 0 0 0\n", "file:4:", "'x'"},
    {"1 0 0 0 0 0 0\n-1 1 0 0 0 0 0\n", "file:2:", "mass of particle 2 is negative"},
    {"3\n1 0 0 0 0 0 0\n1 1 0 0 0 0 0\n", "file:1:", "says 3 particles, but 2 follow"},
    {"\n3 0.5\n1 0 0 0 0 0 0\n1 1 0 0 0 0 0\n", "file:2:", "2 particles follow"},
    {"3 3 0.5\n1 0 0 0 0 0 0\n1 1 0 0 0 0 0\n", "file:1:", "says 3 particles"},
    {"2\n4\n0.5\n1 0 0 0 0 0 0\n1 1 0 0 0 0 0\n", "file:2:", "dimension is 4"},
    {"2\n1 2 3\n1 0 0 0 0 0 0\n", "file:2:", "more than three numbers"},
    {"2\nlate\n1 0 0 0 0 0 0\n1 1 0 0 0 0 0\n", "file:2:", "'late'"},
    {"1 0 0 0 0 0 0 0 0\n", "file:1:", "9 words"},
    {"1 0 0 0 0 0\n", "file:1:", "6 words"},
    {"2 0.5\n\n1 0 0 0 0 0\n", "file:3:", "6 words"},
    /* tables of others */
    {"#AMUSE CSV: 1.0\n#KEY IN COLUMN: -1\n1 0 0 0 0 0 0\n", "file:1:", "amuse-txt is not read"},
    {"0 2 late\n1 0 0 0 0 0 0 0 0\n1 1 0 0 0 0 0 0 0\n", "file:1:", "'late' is not a finite number (time)"},
    {"0 2 0\n1 0 0 0 0 0 0 0 0\n1 1 0 0 0 0 0 0\n", "file:3:", "9 columns expected, 8 found"},
    {"0 3 0\n1 0 0 0 0 0 0 0 0\n1 1 0 0 0 0 0 0 0\n", "file:2:", "9 words"},
    /* csv */
    {"id,mass,x,y,z,vx,vy\n1,1,0,0,0,0,0\n", "file:1:", "no column is named vz"},
    {"m,mass,x,y,z,vx,vy,vz\n1,1,0,0,0,0,0,0\n", "file:1:", "two columns for mass"},
    {"# x\nm,x,y,z,vx,vy,vz\n", "file:2:", "before the first particle"},
    {"m,x,y,z,vx,vy,vz\n1,0,0,0,0,0,0\n\n1,0,0,0,0,0\n", "file:4:", "7 columns expected, 6 found"},
    {"m,x,y,z,vx,vy,vz\n1,0,0,0,0,0,0,5\n", "file:2:", "7 columns expected, 8 found"},
    {"m,x,y,z,vx,vy,vz\n1,0,,0,0,0,0\n", "file:2:", "'' is not a finite number (y)"},
    {"m,x,y,z,vx,vy,vz\n-1,0,0,0,0,0,0\n", "file:2:", "negative"},
    {"id,m,x,y,z,vx,vy,vz\na,1,0,0,0,0,0,0\n", "file:2:", "(id)"},
    {"once upon a time\n", "file:1:", "no column"},
};

static void test_faults(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof FAULTS / sizeof *FAULTS; k++) {
        const fault *f = &FAULTS[k];
        bodies set;
        message about;
        snapshot_form form;
        if (!parse(f->text, &set, &form, &about)) fail_msg("accepted:\n%s", f->text);
        if (strncmp(about.text, f->where, strlen(f->where)) != 0 || !strstr(about.text, f->what))
            fail_msg("wanted '%s ... %s', got '%s' for\n%s", f->where, f->what, about.text, f->text);
        assert_int_equal(set.n, 0);
        assert_null(set.x);
    }
}

/* Numbers of any length are read, and rounded once. */
static void test_long_numbers(void **state)
{
    (void)state;
    char text[2048];
    bodies set;
    const int length = snprintf(text, sizeof text, "0.1%0300d -0.%0400d 1%0200d 2 3 4 1.0-320\n", 0, 7, 0);
    assert_true(length > 900 && length < (int)sizeof text);
    parse_well(text, SNAPSHOT_LINES, &set);
    assert_true(set.mass[0] == 0.1 && set.x[0][0] == -0.0 && set.x[0][1] == 1e200 && set.v[0][2] == 1e-320);
    bodies_free(&set);
}

static void test_not_a_text(void **state)
{
    (void)state;
    char binary[] = "1 0 0 0 0 0 0\n1 0 0\0 0 0 0 0\n";
    bodies set;
    message about;
    snapshot_form form;
    assert_int_equal(snapshot_parse("file", binary, sizeof binary - 1, &set, &form, &about), -1);
    assert_string_equal(about.text, "file:2: this is not a text file");
    assert_int_equal(snapshot_read("/dev/zero", &set, &form, &about), -1); /* has no end */
    assert_string_equal(about.text, "/dev/zero:1: this is not a text file");
}

/* No text may do harm: pieces of good files, cut and changed anywhere, are read or refused with a line. */
static void test_damaged_anywhere(void **state)
{
    (void)state;
    static const char damage[] = "#,;\n x-9e\r\"";
    rng source;
    rng_seed(&source, 5, 0);
    for (int k = 0; k < 20000; k++) {
        const char *text = GOOD[(size_t)k % (sizeof GOOD / sizeof *GOOD)].text;
        char copy[512];
        size_t length = strlen(text);
        memcpy(copy, text, length + 1);
        copy[rng_next(&source) % length] = damage[rng_next(&source) % (sizeof damage - 1)];
        if (k % 3 == 0) copy[rng_next(&source) % length] = 0;
        bodies set;
        message about;
        snapshot_form form;
        if (parse(copy, &set, &form, &about)) assert_memory_equal(about.text, "file:", 5);
        bodies_free(&set);
    }
}

/* ---- writing ---- */

static const char *temporary(void)
{
    static char path[256];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/test_snapshot.%ld", folder ? folder : "/tmp", (long)getpid());
    return path;
}

/* Values of all sizes, also subnormal ones, ends of the range and -0. */
static double any_value(rng *source)
{
    static const double special[] = {-0.0, DBL_MIN, 4.9406564584124654e-324, -DBL_MAX, 0.1, 1 + DBL_EPSILON, 1e23};
    uint64_t word = rng_next(source);
    double value;
    if (word % 8 == 0) return special[word / 8 % (sizeof special / sizeof *special)];
    memcpy(&value, &word, sizeof value);
    return value - value == 0 ? value : 0.5; /* not finite ones have no place in a snapshot */
}

static void fill(bodies *set, rng *source)
{
    set->time = 1.0 / 3;
    for (int k = 0; k < set->n; k++) {
        set->id[k] = k % 2 ? -k : 1000 + k * 0x123456789LL;
        double mass = any_value(source);
        set->mass[k] = mass < 0 ? -mass : mass;
        for (int c = 0; c < 3; c++) {
            set->x[k][c] = any_value(source);
            set->v[k][c] = any_value(source);
        }
    }
}

static void check_round_trip(snapshot_form form)
{
    bodies set, back;
    rng source;
    message about = {""};
    snapshot_form found;
    const char *path = temporary();
    rng_seed(&source, 1, form);
    assert_int_equal(bodies_allocate(&set, 500), 0);
    fill(&set, &source);
    assert_int_equal(snapshot_write(path, &set, form, &about), 0);
    if (snapshot_read(path, &back, &found, &about)) fail_msg("%s", about.text);
    remove(path);
    assert_int_equal(found, form);
    assert_int_equal(back.n, set.n);
    assert_memory_equal(&back.time, &set.time, sizeof set.time);
    assert_memory_equal(back.id, set.id, 500 * sizeof *set.id);
    assert_memory_equal(back.mass, set.mass, 500 * sizeof *set.mass);
    assert_memory_equal(back.x, set.x, 500 * sizeof *set.x);
    assert_memory_equal(back.v, set.v, 500 * sizeof *set.v);
    bodies_free(&set);
    bodies_free(&back);
}

static void test_round_trip(void **state)
{
    (void)state;
    check_round_trip(SNAPSHOT_LINES);
    check_round_trip(SNAPSHOT_CSV);
}

/* Writes the rows of a set one by one. */
static void print_plainly(FILE *stream, const bodies *set)
{
    for (int k = 0; k < set->n; k++) {
        fprintf(stream, "%lld,%.17g", set->id[k], set->mass[k]);
        for (int c = 0; c < 3; c++) fprintf(stream, ",%.17g", set->x[k][c]);
        for (int c = 0; c < 3; c++) fprintf(stream, ",%.17g", set->v[k][c]);
        fprintf(stream, "\n");
    }
}

/* Parts whose text threads make follow each other as rows do, for any number of threads. */
static void test_rows_by_threads(void **state)
{
    (void)state;
    static const char *const threads[] = {"1", "2", "5", "64", "1000"};
    enum { ROWS = 6 * 8192 + 17, HEAD = 2 };
    bodies set;
    rng source;
    char *line = NULL, *expected = NULL;
    size_t room = 0, expected_room = 0;
    FILE *const plain = tmpfile();
    assert_non_null(plain);
    rng_seed(&source, 3, 1);
    assert_int_equal(bodies_allocate(&set, ROWS), 0);
    fill(&set, &source);
    print_plainly(plain, &set);
    for (size_t k = 0; k < sizeof threads / sizeof *threads; k++) {
        FILE *const stream = tmpfile();
        assert_non_null(stream);
        assert_int_equal(setenv("OMP_NUM_THREADS", threads[k], 1), 0);
        assert_int_equal(snapshot_print(stream, &set, SNAPSHOT_CSV), 0);
        rewind(stream);
        rewind(plain);
        for (int row = 0; row < HEAD; row++) assert_true(getline(&line, &room, stream) > 0);
        for (int row = 0; row < ROWS; row++) {
            assert_true(getline(&line, &room, stream) > 0 && getline(&expected, &expected_room, plain) > 0);
            assert_string_equal(line, expected);
        }
        assert_int_equal(getline(&line, &room, stream), -1);
        (void)fclose(stream);
    }
    unsetenv("OMP_NUM_THREADS");
    (void)fclose(plain);
    free(line);
    free(expected);
    bodies_free(&set);
}

static void test_files_that_do_not_work(void **state)
{
    (void)state;
    bodies set;
    message about = {""};
    snapshot_form form;
    assert_int_equal(snapshot_read("no/such/file", &set, &form, &about), -1);
    assert_non_null(strstr(about.text, "no/such/file: "));
    assert_int_equal(snapshot_read(".", &set, &form, &about), -1); /* a folder */
    assert_int_equal(bodies_allocate(&set, 1), 0);
    assert_int_equal(snapshot_write("no/such/folder/file", &set, SNAPSHOT_LINES, &about), -1);
    assert_non_null(strstr(about.text, "cannot write no/such/folder/file"));
    assert_int_equal(snapshot_write(temporary(), &set, SNAPSHOT_INIT, &about), -1);
    bodies_free(&set);
}

/* ---- restart files ---- */

static const double PAYLOAD[] = {1, -0.0, 3e-320, 0.1, 5};

static void write_restart(const char *path)
{
    message why = {""};
    const restart_piece pieces[] = {{"first", PAYLOAD, sizeof PAYLOAD}, {"none", PAYLOAD, 0}, {"byte", "x", 1}};
    assert_int_equal(restart_write(path, "test 1", pieces, 3, &why), 0);
}

static void test_restart(void **state)
{
    (void)state;
    const char *path = temporary();
    restart_file file;
    message why = {""};
    double back[5];
    char byte;
    write_restart(path);
    assert_int_equal(restart_read(path, "test 1", &file, &why), 0);
    assert_int_equal(restart_get(&file, "byte", &byte, 1, &why), 0);
    assert_int_equal(byte, 'x');
    assert_int_equal(restart_get(&file, "none", &byte, 0, &why), 0);
    assert_int_equal(restart_get(&file, "first", back, sizeof back, &why), 0);
    assert_memory_equal(back, PAYLOAD, sizeof back);
    assert_int_equal(restart_get(&file, "first", back, 8, &why), -1);
    assert_non_null(strstr(why.text, "'first' has 40 bytes, not 8"));
    assert_int_equal(restart_get(&file, "second", back, 8, &why), -1);
    assert_non_null(strstr(why.text, "no piece 'second'"));
    restart_free(&file);
    assert_int_equal(restart_read(path, "other 1", &file, &why), -1);
    assert_non_null(strstr(why.text, "written by 'test 1', but this is 'other 1'"));
    remove(path);
    assert_int_equal(restart_read(path, "test 1", &file, &why), -1);
}

static void refuse_content(const char *path, const unsigned char *content, size_t size)
{
    restart_file file;
    message why = {""};
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(content, 1, size, stream), size);
    fclose(stream);
    assert_int_equal(restart_read(path, "test 1", &file, &why), -1);
    assert_null(file.content);
    assert_non_null(strstr(why.text, path));
}

/* Every cut and every changed byte is found. */
static void test_damaged_restart(void **state)
{
    (void)state;
    const char *path = temporary();
    unsigned char content[1024];
    write_restart(path);
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    size_t size = fread(content, 1, sizeof content, stream);
    fclose(stream);
    assert_in_range(size, 100, sizeof content - 1);
    for (size_t k = 0; k < size; k++) refuse_content(path, content, k);
    for (size_t k = 0; k < size; k++) {
        content[k] ^= 0x10;
        refuse_content(path, content, size);
        content[k] ^= 0x10;
    }
    refuse_content(path, content, size + 1);
    remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_one_particle),
        cmocka_unit_test(test_init_that_looks_like_pl),
        cmocka_unit_test(test_remarks),
        cmocka_unit_test(test_named_units),
        cmocka_unit_test(test_tables_of_others),
        cmocka_unit_test(test_repeated_ids),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_long_numbers),
        cmocka_unit_test(test_not_a_text),
        cmocka_unit_test(test_damaged_anywhere),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_rows_by_threads),
        cmocka_unit_test(test_files_that_do_not_work),
        cmocka_unit_test(test_restart),
        cmocka_unit_test(test_damaged_restart),
    };
    return cmocka_run_group_tests_name("snapshot", tests, NULL, NULL);
}
