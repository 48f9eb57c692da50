/* test_variables.c - environment variables: words in any case, blanks, numbers and lists with no meaning. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/environment.h"
#include "engine/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const variables[] = {"SAPPORO_BACKEND",
                                        "SAPPORO_DEVICES",
                                        "SAPPORO_PRECISION",
                                        "SAPPORO_CPU_ISA",
                                        "SAPPORO_METHOD",
                                        "SAPPORO_VERBOSE",
                                        "SAPPORO_ROOT",
                                        "SAPPORO_TUNE",
                                        "SAPPORO_OPENCL_VECTORS",
                                        "SAPPORO_OPENCL_FP64",
                                        "SAPPORO_OPENCL_SPLIT",
                                        "SAPPORO_TREE_KIND",
                                        "SAPPORO_TREE_MAC",
                                        "SAPPORO_TREE_ACCURACY",
                                        "GRAPE_NPIPES",
                                        "GPU_LIST",
                                        "OMPI_COMM_WORLD_LOCAL_RANK",
                                        "MV2_COMM_WORLD_LOCAL_RANK",
                                        "MPI_LOCALRANKID",
                                        "SLURM_LOCALID",
                                        "PMI_LOCAL_RANK",
                                        "PALS_LOCAL_RANKID"};

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
    for (size_t k = 0; k < sizeof variables / sizeof variables[0]; k++) unsetenv(variables[k]);
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
    assert_int_equal(sap_settings_method(), 1);
    assert_int_equal(sap_settings_tree(&tree, wrong), SAPPORO_OK);
    assert_true(tree.kind == SAPPORO_TREE_OCTREE && tree.mac == SAPPORO_MAC_OPENING && tree.accuracy == 0.65);
    setenv("SAPPORO_DEVICES", " GPU-1 , NVIDIA H200 ", 1);
    read_settings();
    assert_string_equal(got.device_names, "GPU-1 , NVIDIA H200");
    setenv("GPU_LIST", " 0 2, 2\t1 ", 1);
    assert_int_equal(sap_env_list("GPU_LIST", list, 4, &n, wrong), SAP_READ_GOOD);
    assert_int_equal(n, 4);
    assert_true(list[0] == 0 && list[1] == 2 && list[2] == 2 && list[3] == 1);
    for (size_t k = 0; k < sizeof variables / sizeof variables[0]; k++) setenv(variables[k], " \t", 1);
    read_settings();
    assert_int_equal(got.precision, SAPPORO_DS);
    assert_int_equal(got.backend, SAPPORO_BACKEND_AUTO);
    assert_string_equal(got.isa, "");
    assert_int_equal(got.root, SAPPORO_ROOT_FULL);
    assert_int_equal(got.devices_given, 0);
    assert_int_equal(got.preferred_device, 0);
    assert_int_equal(sap_settings_method(), 0);
    assert_int_equal(sap_settings_tree(&tree, wrong), SAPPORO_OK);
    assert_true(tree.kind == 0 && tree.mac == 0 && tree.accuracy == 0);
    assert_int_equal(sap_env_list("GPU_LIST", list, 4, &n, wrong), SAP_READ_UNSET);
    assert_int_equal(sap_env_real("SAPPORO_TREE_ACCURACY", &accuracy, wrong), SAP_READ_UNSET);
}

/* A number with no meaning makes opening fail, whichever file of the library uses it. */
static void numbers_that_cannot_be(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "x", "1x", "1 2", "-1", "+", "0x1", "1.5", "2000000000000", "99999999999999999999"};
    static const char *const names[][2] = {{"SAPPORO_VERBOSE", "0 to 9"},
                                           {"GRAPE_NPIPES", "1 to 1000000"},
                                           {"SAPPORO_OPENCL_VECTORS", "0 to 1"},
                                           {"SAPPORO_OPENCL_FP64", "0 to 1"},
                                           {"SAPPORO_OPENCL_SPLIT", "1 to 1024"}};
    for (size_t name = 0; name < sizeof names / sizeof *names; name++) {
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
            setenv(names[name][0], bad[k], 1);
            expect_refusal(names[name][0], names[name][1]);
            if (!strstr(said, bad[k])) fail_msg("'%s' does not repeat '%s'", said, bad[k]);
        }
        setenv(names[name][0], " 1 ", 1);
        read_settings();
    }
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
        assert_int_equal(sap_env_list("GPU_LIST", list, 4, &n, wrong), SAP_READ_BAD);
        assert_non_null(strstr(wrong, "device numbers"));
    }
    for (size_t k = 0; k < sizeof accuracies / sizeof *accuracies; k++) {
        setenv("SAPPORO_TREE_ACCURACY", accuracies[k], 1);
        assert_int_equal(sap_env_real("SAPPORO_TREE_ACCURACY", &value, wrong), SAP_READ_BAD);
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
        cmocka_unit_test_setup(numbers_that_cannot_be, clean),
        cmocka_unit_test_setup(lists_and_accuracies_that_cannot_be, clean),
        cmocka_unit_test_setup(lines_in_values, clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
