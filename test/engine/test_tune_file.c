/* test_tune_file.c - the tuning file: its content, where it is read from, messages about invalid files. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/environment.h"
#include "base/log.h"
#include "engine/options.h"
#include "engine/tune.h"
#include "tuning.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- reading */

/* Reads `a` and `b` of device "X 1" from a file of this text, as a context of ds of that order would. */
static int read_text_of(int order, const char *text, double *a, double *b)
{
    struct sap_settings s;
    struct sap_notes notes = {0};
    const struct sap_tune_number numbers[] = {{"a", a, 0.5, 100}, {"b", b, 0, 10}};
    *a = 7;
    *b = 8;
    if (text) tuning_write(tuning_path, text);
    assert_int_equal(sap_settings_read(&s, NULL, &notes), SAPPORO_OK);
    s.order = order;
    return sap_tune_read(&s, "X 1", numbers, 2);
}

static int read_text(const char *text, double *a, double *b) { return read_text_of(4, text, a, b); }

static void expect_values(const char *text, int found, double right_a, double right_b)
{
    double a, b;
    if (read_text(text, &a, &b) != found || a != right_a || b != right_b)
        fail_msg("'%s' gives a = %g, b = %g", text, a, b);
}

static void good_files(void **state)
{
    (void)state;
    expect_values("sapporo tune 1\n[X 1]\nds.a 2.5\n", 1, 2.5, 8);
    expect_values("  sapporo tune 1 \r\n# c\n\n \t[X 1]\t\n  ds.b\t 0.125  \r\nds.a 1e1", 1, 10, 0.125);
    expect_values("sapporo tune 1\n[X 1]\nsp.a 3\ndp.b 3\n", 1, 7, 8);
    expect_values("sapporo tune 1\n[X 2]\nds.a 3\nkey any text\n[X 1]\nds.b 3\n[Y]\nds.b 4\n", 1, 7, 3);
    expect_values("sapporo tune 1\n[X]\nds.a 3\n", 0, 7, 8);
    expect_values("sapporo tune 1\n", 0, 7, 8);
    assert_int_equal(tuning_warnings, 0);
}

static void orders(void **state)
{
    static const char text[] = "sapporo tune 1\n[X 1]\nds.a 2\nds2.a 3\nds6.a 4\ndp6.a 5\nds6.b 6\n";
    static const struct {
        int order;
        double a, b;
    } right[] = {{4, 2, 8}, {2, 3, 8}, {6, 4, 6}, {8, 7, 8}};
    double a, b;
    (void)state;
    for (size_t k = 0; k < sizeof right / sizeof right[0]; k++) {
        assert_int_equal(read_text_of(right[k].order, text, &a, &b), 1);
        if (a != right[k].a || b != right[k].b) fail_msg("order %d: a = %g, b = %g", right[k].order, a, b);
    }
    assert_int_equal(tuning_warnings, 0);
    expect_values("sapporo tune 1\n[X 1]\nds3.a 2\nds.b 4\n", 1, 7, 4);
    assert_int_equal(tuning_warnings, 1);
}

static void numbers_in_any_locale(void **state)
{
    static const char *const good[] = {"0", "12", ".5", "3.", "1.25", "1e3", "2.5E+1", "25e-1", "0.0625", "1000000"};
    static const double right[] = {0, 12, 0.5, 3, 1.25, 1e3, 25, 2.5, 0.0625, 1e6};
    static const char *const bad[] = {"", ".", "-1", "+1", "1,5", "nan", "inf", "0x10", "1e", "1e999", "1 2", "e5"};
    double value;
    (void)state;
    for (size_t k = 0; k < sizeof good / sizeof good[0]; k++) {
        assert_int_equal(sap_parse_real(good[k], strlen(good[k]), &value), 1);
        assert_true(value == right[k]);
    }
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++)
        assert_int_equal(sap_parse_real(bad[k], strlen(bad[k]), &value), 0);
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8")) assert_int_equal(sap_parse_real("1.5", 3, &value), 1);
    setlocale(LC_NUMERIC, "C");
}

/* A warning, once, that has these words; nothing of the file is taken. */
static void expect_refusal(const char *text, const char *words)
{
    tuning_warnings = 0;
    sap_messages.complained = 0;
    expect_values(text, 0, 7, 8);
    expect_values(text, 0, 7, 8);
    assert_int_equal(tuning_warnings, 1);
    if (!strstr(tuning_said, words) || !strstr(tuning_said, tuning_path))
        fail_msg("'%s' does not say '%s' and the file", tuning_said, words);
}

static void malformed_files(void **state)
{
    char text[1200] = "sapporo tune 1\n[X 1]\nds.a 2\n# ";
    (void)state;
    expect_refusal("", "empty");
    expect_refusal("sapporo tune 2\n[X 1]\nds.a 2\n", "line 1");
    expect_refusal("[X 1]\nds.a 2\n", "line 1");
    expect_refusal("sapporo tune 1\nds.a 2\n[X 1]\n", "line 2");
    expect_refusal("sapporo tune 1\n[X 1]\nds.a 2\nds.b\n", "line 4: this is not a key and a number");
    expect_refusal("sapporo tune 1\n[X 1]\nds.a 2\nds.b many\n", "line 4: there is no number");
    expect_refusal("sapporo tune 1\n[X 1]\nds.a 2\nds.b nan\n", "line 4: there is no number");
    expect_refusal("sapporo tune 1\n[X 1]\nds.b 2\nds.a 0.1\n", "line 4: the number is out of range");
    expect_refusal("sapporo tune 1\n[X 1]\nds.b 2\nsp.a 1e9\n", "line 4: the number is out of range");
    expect_refusal("sapporo tune 1\n[X 1\nds.a 2\n", "line 2: no ]");
    expect_refusal("sapporo tune 1\n[X 1]\nds.a 2\n[X 1]\n", "line 4: a second section");
    memset(text + strlen(text), 'x', 1000);
    expect_refusal(text, "line 4: the line is too long");
}

static void unknown_keys(void **state)
{
    (void)state;
    expect_values("sapporo tune 1\n[X 1]\nds.a 2\nds.new 3\nolder 5\ndq.a 1\nds.b 4\n", 1, 2, 4);
    assert_int_equal(tuning_warnings, 1);
    assert_non_null(strstr(tuning_said, "line 4: 'ds.new'"));
}

static void missing_file(void **state)
{
    (void)state;
    expect_values(NULL, 0, 7, 8);
    assert_int_equal(tuning_warnings, 1); /* it was named */
    assert_non_null(strstr(tuning_said, tuning_path));
    unsetenv("SAPPORO_TUNE");
    sap_messages.complained = 0;
    expect_values(NULL, 0, 7, 8);
    assert_int_equal(tuning_warnings, 1); /* it was not */
    setenv("SAPPORO_TUNE", tuning_folder, 1);
    expect_values(NULL, 0, 7, 8);
    assert_int_equal(tuning_warnings, 2);
}

/* ---------------------------------------------------------------- where it is */

static void expect_place(const char *place, int given)
{
    struct sap_settings s;
    struct sap_notes notes = {0};
    assert_int_equal(sap_settings_read(&s, NULL, &notes), SAPPORO_OK);
    assert_string_equal(s.tune, place);
    assert_int_equal(s.tune_given, given);
}

static void places(void **state)
{
    static char text[3000];
    char by_home[128];
    struct sap_settings s;
    struct sap_notes notes = {0};
    (void)state;
    expect_place(tuning_path, 1);
    setenv("SAPPORO_TUNE", "OFF", 1);
    expect_place("", 0);
    snprintf(by_home, sizeof by_home, "%s/.config/sapporo/tune", tuning_home);
    for (int frozen = 0; frozen < 2; frozen++) {
        if (frozen)
            setenv("SAPPORO_TUNE", "frozen", 1);
        else
            unsetenv("SAPPORO_TUNE");
        setenv("HOME", tuning_home, 1);
        setenv("XDG_CONFIG_HOME", "/x/y", 1);
        expect_place("/x/y/sapporo/tune", 0);
        setenv("XDG_CONFIG_HOME", "relative", 1);
        expect_place(by_home, 0);
        unsetenv("XDG_CONFIG_HOME");
        expect_place(by_home, 0);
        unsetenv("HOME");
        expect_place("", 0);
    }
    setenv("SAPPORO_TUNE", "", 1);
    setenv("XDG_CONFIG_HOME", "/x", 1);
    expect_place("/x/sapporo/tune", 0);
    memset(text, '/', sizeof text - 1); /* too long */
    setenv("XDG_CONFIG_HOME", text, 1);
    expect_place("", 0);
    setenv("SAPPORO_TUNE", text, 1);
    assert_int_equal(sap_settings_read(&s, NULL, &notes), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(tuning_warnings, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(good_files, tuning_clean),
                                       cmocka_unit_test_setup(orders, tuning_clean),
                                       cmocka_unit_test_setup(numbers_in_any_locale, tuning_clean),
                                       cmocka_unit_test_setup(malformed_files, tuning_clean),
                                       cmocka_unit_test_setup(unknown_keys, tuning_clean),
                                       cmocka_unit_test_setup(missing_file, tuning_clean),
                                       cmocka_unit_test_setup(places, tuning_clean)};
    return cmocka_run_group_tests(tests, tuning_make_folder, tuning_remove_folder);
}
