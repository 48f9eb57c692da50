/* test_variables.c - environment variables: words in any case, blanks, invalid numbers and lists. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/environment.h"
#include "base/variable_check.h"
#include "engine/options.h"
#include "variables.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sap_settings got;
static char said[512];
static int messages;

static void hear(void *user, int level, const char *text)
{
    (void)user, (void)level;
    snprintf(said, sizeof said, "%s", text);
    messages++;
}

static int clean(void **state)
{
    (void)state;
    for (int k = 0; k < SAP_VARIABLES; k++)
        if (k != SAP_VAR_HOME) unsetenv(sap_variables[k].name);
    unsetenv("SAPPORO_BACKENDS");
    sap_variable_check_again();
    sapporo_set_log(hear, NULL);
    return 0;
}

/* Reads, and expects success without a message. */
static void read_settings(void)
{
    struct sap_notes notes = {0};
    messages = 0;
    assert_int_equal(sap_settings_read(&got, NULL, &notes), SAPPORO_OK);
    assert_int_equal(messages, 0);
}

/* Reads, and expects an error with one message that has these words. */
static void expect_refusal(const char *first, const char *second)
{
    struct sap_notes notes = {0};
    messages = 0;
    assert_int_equal(sap_settings_read(&got, NULL, &notes), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(messages, 1);
    if (!strstr(said, first) || !strstr(said, second)) fail_msg("'%s' does not say '%s' and '%s'", said, first, second);
}

/* More threads than the library uses: one warning per process, and no error. */
static void many_threads(void **state)
{
    struct sap_notes notes = {0};
    (void)state;
    assert_int_equal(setenv("OMP_NUM_THREADS", "100000", 1), 0);
    messages = 0;
    for (int k = 0; k < 3; k++) assert_int_equal(sap_settings_read(&got, NULL, &notes), SAPPORO_OK);
    assert_int_equal(messages, 1);
    if (!strstr(said, "OMP_NUM_THREADS is 100000; the library uses at most 1023 threads")) fail_msg("'%s'", said);
}

/* Blanks around a value do not count, nor does the case of words; what is blank is not set. */
static void blanks_and_cases(void **state)
{
    (void)state;
    int list[4], n = 0;
    double accuracy = 0;
    char wrong[SAP_WRONG_ROOM];
    struct sap_tree_variables tree;
    setenv("SAPPORO_PRECISION", " Sp\t", 1);
    setenv("SAPPORO_BACKEND", "\nCPU ", 1);
    setenv("SAPPORO_CPU_ISA", " AVX2 ", 1);
    setenv("SAPPORO_ROOT", " FAST", 1);
    setenv("SAPPORO_DEVICES", " All ", 1);
    setenv("SAPPORO_TUNE", " Off ", 1);
    setenv("SAPPORO_METHOD", " TREE ", 1);
    setenv("SLURM_LOCALID", " 3 ", 1);
    setenv("SAPPORO_TREE_KIND", " Octree ", 1);
    setenv("SAPPORO_TREE_MAC", "OPENING ", 1);
    setenv("SAPPORO_TREE_ACCURACY", " 0.65 ", 1);
    read_settings();
    assert_int_equal(got.precision, SAPPORO_SP);
    assert_int_equal(got.backend, SAPPORO_BACKEND_CPU);
    assert_string_equal(got.isa, "avx2");
    assert_int_equal(got.root, SAPPORO_ROOT_FAST);
    assert_int_equal(got.ndevices, -1);
    assert_string_equal(got.tune, "");
    assert_int_equal(got.preferred_device, 3);
    assert_int_equal(sap_settings_method(wrong), 1);
    assert_int_equal(sap_settings_tree(&tree, wrong), SAPPORO_OK);
    assert_true(tree.kind == SAPPORO_TREE_OCTREE && tree.mac == SAPPORO_MAC_OPENING && tree.accuracy == 0.65);
    setenv("SAPPORO_DEVICES", " GPU-1 , NVIDIA H200 ", 1);
    read_settings();
    assert_string_equal(got.device_names, "GPU-1 , NVIDIA H200");
    setenv("GPU_LIST", " 0 2, 2\t1 ", 1);
    assert_int_equal(sap_env_list(&sap_variables[SAP_VAR_GPU_LIST], list, 4, &n, wrong), SAP_READ_GOOD);
    assert_int_equal(n, 4);
    assert_true(list[0] == 0 && list[1] == 2 && list[2] == 2 && list[3] == 1);
    for (int k = 0; k < SAP_VARIABLES; k++)
        if (k != SAP_VAR_HOME) setenv(sap_variables[k].name, " \t", 1);
    read_settings();
    assert_int_equal(got.precision, SAPPORO_DS);
    assert_int_equal(got.backend, SAPPORO_BACKEND_AUTO);
    assert_string_equal(got.isa, "");
    assert_int_equal(got.root, SAPPORO_ROOT_FULL);
    assert_int_equal(got.devices_given, 0);
    assert_int_equal(got.preferred_device, 0);
    assert_int_equal(sap_settings_method(wrong), 0);
    assert_int_equal(sap_settings_tree(&tree, wrong), SAPPORO_OK);
    assert_true(tree.kind == 0 && tree.mac == 0 && tree.accuracy == 0);
    assert_int_equal(sap_env_list(&sap_variables[SAP_VAR_GPU_LIST], list, 4, &n, wrong), SAP_READ_UNSET);
    assert_int_equal(sap_env_real(&sap_variables[SAP_VAR_TREE_ACCURACY], &accuracy, wrong), SAP_READ_UNSET);
}

/* What a message must say of a value that variable may not have. */
static void expect_range(int variable, char *text, size_t room)
{
    const struct sap_variable_row *const row = &sap_variables[variable];
    switch (row->type) {
    case SAP_TYPE_WORD:
        snprintf(text, room, "it may be %s", row->words[0].text);
        break;
    case SAP_TYPE_REAL:
        snprintf(text, room, "a number > 0");
        break;
    case SAP_TYPE_DEVICES:
        snprintf(text, room, "device numbers");
        break;
    default:
        if (row->most == INT_MAX)
            snprintf(text, room, "a whole number of at least %d", row->least);
        else
            snprintf(text, room, "%d to %d", row->least, row->most);
    }
}

/* One value: opening a context fails, or ignores the value with a warning that is given once. */
static void try_bad(int variable, const char *value)
{
    const struct sap_variable_row *const row = &sap_variables[variable];
    struct sap_notes notes = {0};
    char range[80];
    setenv(row->name, value, 1);
    expect_range(variable, range, sizeof range);
    sap_variable_check_again();
    if (row->bad == SAP_BAD_WARNED) {
        messages = 0;
        for (int open = 0; open < 3; open++) assert_int_equal(sap_settings_read(&got, NULL, &notes), SAPPORO_OK);
        if (messages != 1) fail_msg("%d messages of %s='%s'", messages, row->name, value);
        if (!strstr(said, row->name) || !strstr(said, range) || !strstr(said, "the value is ignored"))
            fail_msg("'%s' does not say '%s' and '%s'", said, row->name, range);
    } else {
        expect_refusal(row->name, range);
    }
    if (!strstr(said, value)) fail_msg("'%s' does not repeat '%s'", said, value);
    unsetenv(row->name);
}

/* A value without a meaning, of any variable of the table, makes opening fail or gives one warning. */
static void values_that_cannot_be(void **state)
{
    (void)state;
    static const char *const bad[] = {"+",   "1;2", "-1", "0x1", "1 2 x", "2000000000000", "99999999999999999999",
                                      "quad"};
    int tried = 0;
    for (int variable = 0; variable < SAP_VARIABLES; variable++) {
        const struct sap_variable_row *const row = &sap_variables[variable];
        if (row->bad == SAP_BAD_NONE || variable == SAP_VAR_GPU_LIST) continue; /* the list: below, and test_nbody6 */
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
            const int is_name = variable == SAP_VAR_DEVICES && strpbrk(bad[k], "xq"); /* of a device */
            const int is_real = row->type == SAP_TYPE_REAL && strchr("29", bad[k][0]);
            if (is_name || is_real) continue;
            try_bad(variable, bad[k]);
            tried++;
        }
    }
    assert_true(tried > 100);
    clean(state);
    read_settings();
}

/* The bounds of each whole number have a meaning; the numbers beyond do not. */
static void bounds_of_numbers(void **state)
{
    (void)state;
    for (int variable = 0; variable < SAP_VARIABLES; variable++) {
        const struct sap_variable_row *const row = &sap_variables[variable];
        char text[24], wrong[SAP_WRONG_ROOM];
        int value = -1;
        if (row->type != SAP_TYPE_COUNT && row->type != SAP_TYPE_FIRST) continue;
        for (int k = 0; k < 4; k++) {
            const long long number = k == 0   ? row->least - 1LL
                                     : k == 1 ? row->least
                                     : k == 2 ? row->most
                                              : row->most + 1LL;
            snprintf(text, sizeof text, " %lld%s", number, row->type == SAP_TYPE_FIRST ? " ,2" : "");
            setenv(row->name, text, 1);
            const int good = sap_env_number(&sap_variables[variable], &value, wrong) == SAP_READ_GOOD;
            if (good != (k == 1 || k == 2) || (good && value != number)) fail_msg("%s='%s'", row->name, text);
        }
        unsetenv(row->name);
    }
}

/* ---- the table ---- */

/* 1: the text names the word in back quotes. */
static int names_word(const char *text, const char *word)
{
    char quoted[40];
    snprintf(quoted, sizeof quoted, "`%s`", word);
    return strstr(text, quoted) != NULL;
}

static int back_quotes(const char *text)
{
    int n = 0;
    for (; *text; text++) n += *text == '`';
    return n;
}

/* Rows are complete, and the public description has all of their texts uncut. */
static void descriptions(void **state)
{
    (void)state;
    sapporo_variable v;
    int n = 0;
    for (; v.size = sizeof v, sapporo_variable_describe(n, &v) == SAPPORO_OK; n++) {
        assert_true(n < SAP_VARIABLES);
        const struct sap_variable_row *const row = &sap_variables[n];
        assert_string_equal(v.name, row->name);
        assert_string_equal(v.usual, row->usual);
        assert_string_equal(v.about, row->about);
        assert_int_equal(v.audience, row->audience);
        assert_true(v.type[0] && v.about[0]);
        assert_true(strlen(v.values) > 0 && strlen(v.values) < sizeof v.values - 1);
        assert_true(back_quotes(v.values) % 2 == 0 && back_quotes(v.usual) % 2 == 0 && back_quotes(v.about) % 2 == 0);
        if (strpbrk(v.about, "|\n") || strpbrk(v.values, "|\n") || strpbrk(v.usual, "|\n"))
            fail_msg("%s: a text is no cell of a table", v.name);
        for (const struct sap_word *word = row->words; word && word->text; word++)
            if (!names_word(v.values, word->text)) fail_msg("%s: %s does not name '%s'", v.name, v.values, word->text);
        for (int k = 0; k < n; k++) assert_string_not_equal(row->name, sap_variables[k].name);
    }
    assert_int_equal(n, SAP_VARIABLES);
    assert_true(v.audience == -1 && !v.name[0] && !v.about[0]);
    assert_int_equal(sapporo_variable_describe(-1, &v), SAPPORO_ERR_ARGUMENT);
    assert_int_equal(sapporo_variable_describe(0, NULL), SAPPORO_ERR_ARGUMENT);
    v.size = 0;
    assert_int_equal(sapporo_variable_describe(0, &v), SAPPORO_ERR_ARGUMENT);
}

/* ---- variables that no part of the library reads ---- */

static void nearest_names(void **state)
{
    (void)state;
    static const char *const names[][2] = {{"SAPPORO_BACKENDS", "SAPPORO_BACKEND"},
                                           {"SAPPORO_DEVICE", "SAPPORO_DEVICES"},
                                           {"SAPPORO_PRECISOIN", "SAPPORO_PRECISION"},
                                           {"SAPPORO_precision", "SAPPORO_PRECISION"},
                                           {"SAPPORO_TREEMAC", "SAPPORO_TREE_MAC"},
                                           {"SAPPORO_NPIPES", "GRAPE_NPIPES"},
                                           {"SAPPORO_NUM_THREADS", "OMP_NUM_THREADS"},
                                           {"SAPPORO_GPU_DEVICES", "SAPPORO_DEVICES"},
                                           {"SAPPORO_VERBOSITY", "SAPPORO_VERBOSE"},
                                           {"SAPPORO_CPUISA", "SAPPORO_CPU_ISA"},
                                           {"SAPPORO_DIR", NULL},
                                           {"SAPPORO_INSTALLATION", NULL},
                                           {"SAPPORO_", NULL},
                                           {"SAPPORO_A_NAME_OF_MORE_THAN_FORTY_CHARACTERS_IS_NEAR_NONE", NULL}};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const char *const found = sap_variable_nearest(names[k][0], (int)strlen(names[k][0]));
        if (names[k][1] == NULL ? found != NULL : found == NULL || strcmp(found, names[k][1]) != 0)
            fail_msg("%s resembles %s", names[k][0], found ? found : "none");
    }
}

/* A misspelt variable gives one warning per process; names of tests and programs of the project give none. */
static void unknown_variables(void **state)
{
    (void)state;
    struct sap_notes notes = {0};
    setenv("SAPPORO_TEST_ENGINES_OF_ANY_KIND", "1", 1);
    setenv("SAPPORO_FAULT_OF_ANY_KIND", "1", 1);
    setenv("GRAPE_NPIPE", "1", 1); /* does not begin with SAPPORO_ */
    read_settings();
    setenv("SAPPORO_BACKENDS", "cpu", 1);
    read_settings(); /* the process has looked already */
    sap_variable_check_again();
    messages = 0;
    for (int open = 0; open < 3; open++) assert_int_equal(sap_settings_read(&got, NULL, &notes), SAPPORO_OK);
    assert_int_equal(messages, 1);
    assert_string_equal(said, "SAPPORO_BACKENDS is not a variable of this library; did you mean SAPPORO_BACKEND?");
    unsetenv("SAPPORO_TEST_ENGINES_OF_ANY_KIND");
    unsetenv("SAPPORO_FAULT_OF_ANY_KIND");
    unsetenv("GRAPE_NPIPE");
}

static void lists_and_accuracies_that_cannot_be(void **state)
{
    (void)state;
    static const char *const lists[] = {"x", "0 x", "-1", "0 -1", "0,,1", "4294967296", "0;1", "0 1 2 3 4", ","};
    static const char *const accuracies[] = {"0", "-1", "nan", "inf", "1e31", "0.7x", "1e999", "0,7", "."};
    int list[4], n = 0;
    double value = 0;
    char wrong[SAP_WRONG_ROOM];
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        setenv("GPU_LIST", lists[k], 1);
        assert_int_equal(sap_env_list(&sap_variables[SAP_VAR_GPU_LIST], list, 4, &n, wrong), SAP_READ_BAD);
        assert_non_null(strstr(wrong, "device numbers"));
    }
    for (size_t k = 0; k < sizeof accuracies / sizeof *accuracies; k++) {
        setenv("SAPPORO_TREE_ACCURACY", accuracies[k], 1);
        assert_int_equal(sap_env_real(&sap_variables[SAP_VAR_TREE_ACCURACY], &value, wrong), SAP_READ_BAD);
        assert_non_null(strstr(wrong, accuracies[k]));
    }
}

/* The words of a bad value appear in a message of one line. */
static void lines_in_values(void **state)
{
    (void)state;
    setenv("SAPPORO_BACKEND", "g\np\x1b[2Ju", 1);
    expect_refusal("SAPPORO_BACKEND", "'g?p?[2Ju'");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(blanks_and_cases, clean),
        cmocka_unit_test_setup(values_that_cannot_be, clean),
        cmocka_unit_test_setup(bounds_of_numbers, clean),
        cmocka_unit_test_setup(descriptions, clean),
        cmocka_unit_test_setup(nearest_names, clean),
        cmocka_unit_test_setup(unknown_variables, clean),
        cmocka_unit_test_setup(lists_and_accuracies_that_cannot_be, clean),
        cmocka_unit_test_setup(lines_in_values, clean),
        cmocka_unit_test_setup(many_threads, clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
