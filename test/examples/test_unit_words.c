/* test_unit_words.c - systems of units by their words, against constants that were computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit_words.h"

#include <math.h>
#include <string.h>

static unit_system read_well(const char *text)
{
    unit_system system;
    message why = {""};
    const int status = unit_words_read(text, &system, &why);
    if (status) print_message("%s: %s\n", text, why.text);
    assert_int_equal(status, 0);
    return system;
}

/* G, and the text that snapshots get. */
static void test_known(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double G;
        const char *remark;
    } known[] = {{"msun,pc,km/s", 4.300917270e-3, "1 Msun, 1 pc, 1 km/s, 0.977792 Myr"},
                 {"Msun kpc km/s", 4.300917270e-6, "1 Msun, 1 kpc, 1 km/s, 977.792 Myr"},
                 {"msun,au,yr", 39.476926409, "1 Msun, 1 au, 4.74047 km/s, 1 yr"},
                 {"msun,pc,myr", 4.498502152e-3, "1 Msun, 1 pc, 0.977792 km/s, 1 Myr"},
                 {"msun,kpc,gyr", 4.498502152e-6, "1 Msun, 1 kpc, 0.977792 km/s, 1 Gyr"},
                 {"msun,au,km/s", 887.1278674, "1 Msun, 1 au, 1 km/s, 4.74047 yr"},
                 {"cgs", 6.67430e-8, "1 g, 1 cm, 1 cm/s, 1 s"},
                 {"SI", 6.67430e-11, "1 kg, 1 m, 1 m/s, 1 s"},
                 {"g,cm,s", 6.67430e-8, "1 g, 1 cm, 1 cm/s, 1 s"},
                 {"kg,m,m/s", 6.67430e-11, "1 kg, 1 m, 1 m/s, 1 s"},
                 {"msun,cm,cm/s", 1.3271244e26, "1 Msun, 1 cm, 1 cm/s, 1 s"},
                 {"nbody", 1, "N-body: G = 1"},
                 {"yr; au; Msun", 39.476926409, "1 Msun, 1 au, 4.74047 km/s, 1 yr"},
                 {"1 Msun, 1 pc, 1 km/s, 0.977792 Myr", 4.300917270e-3, "1 Msun, 1 pc, 1 km/s, 0.977792 Myr"},
                 {"1 Msun, 1 au, 4.74047 km/s, 1 yr", 39.476926409, "1 Msun, 1 au, 4.74047 km/s, 1 yr"},
                 {"Msun, pc, pc/Myr", 4.498502152e-3, "1 Msun, 1 pc, 0.977792 km/s, 1 Myr"},
                 {"1e10 Msun, 1 kpc, 207.386 km/s", 1.0, "1e+10 Msun, 1 kpc, 207.386 km/s, 4.71484 Myr"},
                 {"Msun pc km/s (of the catalogue)", 4.300917270e-3, "1 Msun, 1 pc, 1 km/s, 0.977792 Myr"},
                 {"1e10 Msun, 1 kpc, 207.386 km/s, 4.71483 Myr (G = 1)", 1,
                  "1e10 Msun, 1 kpc, 207.386 km/s, 4.71483 Myr (G = 1)"},
                 {"N-body: G = 1, M = 1, E = -1/4", 1, "N-body: G = 1, M = 1, E = -1/4"},
                 {"MSun, parsec, kms", 4.300917270e-3, "1 Msun, 1 pc, 1 km/s, 0.977792 Myr"},
                 {"1.98892e+30 kg, 1000.0 m/s, 3.08567758128e+16 m", 4.302020677e-3,
                  "1.98892e+30 kg, 3.08568e+16 m, 1000 m/s, 0.977792 Myr"},
                 {"G=M=1", 1, "G=M=1"}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        const unit_system found = read_well(known[k].text);
        if (fabs(found.G / known[k].G - 1) > (k == 16 ? 1e-5 : 2e-9))
            print_message("%s: %.12g\n", known[k].text, found.G);
        assert_true(fabs(found.G / known[k].G - 1) <= (k == 16 ? 1e-5 : 2e-9));
        assert_string_equal(found.remark, known[k].remark);
    }
}

/* What a snapshot says gives the same units again. */
static void test_remarks_read_back(void **state)
{
    (void)state;
    static const char *const text[] = {"msun,pc,km/s", "msun,au,yr", "msun,pc,myr", "msun,kpc,gyr", "msun,au,km/s",
                                       "cgs",          "si",         "nbody",       "msun,m,s"};
    for (size_t k = 0; k < sizeof text / sizeof *text; k++) {
        const unit_system first = read_well(text[k]), again = read_well(first.remark);
        assert_true(first.G == again.G);
        assert_string_equal(first.remark, again.remark);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *what;
    } wrong[] = {{"", "no unit of length"},
                 {"msun,pc", "no unit of velocity or time"},
                 {"pc,km/s", "no unit of mass"},
                 {"msun,km/s", "no unit of length"},
                 {"foo,pc,km/s", "'foo' is no unit known here (Msun kg g; pc kpc au"},
                 {"msun,pc,kpc,km/s", "two units of length"},
                 {"msun,pc,2 pc,km/s", "two units of length"},
                 {"msun,pc,au/yr", "two units of length"},
                 {"msun,pc,km/s,myr,gyr", "two units of time"},
                 {"msun,pc,km/s,gyr", "not length / velocity"},
                 {"msun,pc,km/h", "'km/h' is no unit"},
                 {"-1 msun,pc,km/s", "'-1' is no unit"},
                 {"0 msun,pc,km/s", "'0' is no unit"},
                 {"G = 0.0043", "is no unit"},
                 {"G = 1.5, M = 1", "is no unit"},
                 {"cgs,pc", "'cgs' is no unit"},
                 {"1e300 msun,m,m/s", "does not fit into a double"},
                 {"msun,1e280 pc,1e-150 km/s", "does not fit into a double"},
                 {"1e-300 g,pc,km/s", "does not fit into a double"}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        unit_system system;
        message why = {""};
        assert_int_equal(unit_words_read(wrong[k].text, &system, &why), -1);
        if (!strstr(why.text, wrong[k].what)) print_message("%s: %s\n", wrong[k].text, why.text);
        assert_non_null(strstr(why.text, wrong[k].what));
    }
}

static void test_know(void **state)
{
    (void)state;
    assert_true(unit_words_know("MSun") && unit_words_know("parsec") && unit_words_know("au/yr"));
    assert_false(unit_words_know("mass") || unit_words_know("yr/au") || unit_words_know("a_long_name_of_a_unit/yr"));
    assert_false(unit_words_know("") || unit_words_know("/") || unit_words_know("pc/"));
}

static void test_agree(void **state)
{
    (void)state;
    assert_true(unit_words_agree(4.3e-3, 4.30091e-3) && unit_words_agree(39.4784, 39.4769));
    assert_false(unit_words_agree(4.3e-3, 4.5e-3) || unit_words_agree(1, 4.3e-3) || unit_words_agree(4.3e-3, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known), cmocka_unit_test(test_remarks_read_back),
                                       cmocka_unit_test(test_refused), cmocka_unit_test(test_know),
                                       cmocka_unit_test(test_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
