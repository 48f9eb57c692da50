/* test_options.c - the settings of a context: native options, environment, configuration files, defaults. */
#define _POSIX_C_SOURCE 200809L
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/g6/npipes.h"
#include "base/environment.h"
#include "base/log.h"
#include "base/variable_check.h"
#include "engine/options.h"
#include "variables.h"

static char folder[] = "/tmp/sapporo_options.XXXXXX", start[PATH_MAX];
static struct sap_settings got;
static struct sap_notes notes;
static char said[512];
static int messages;

static void hear(void *user, int level, const char *text)
{
    (void)user, (void)level;
    snprintf(said, sizeof said, "%s", text);
    messages++;
}

/* A clean environment, and an empty working directory. */
static int clean(void **state)
{
    (void)state;
    for (int k = 0; k < SAP_VARIABLES; k++)
        if (k != SAP_VAR_HOME) unsetenv(sap_variables[k].name);
    sap_variable_check_again();
    unlink("sapporo.config");
    unlink("sapporo2.config");
    rmdir("sapporo2.config");
    sapporo_set_log(hear, NULL);
    sap_messages.complained = 0;
    sap_npipes_known = 0;
    memset(&notes, 0, sizeof notes);
    messages = 0;
    said[0] = 0;
    return 0;
}

static int enter_folder(void **state)
{
    (void)state;
    return getcwd(start, sizeof start) == NULL || mkdtemp(folder) == NULL || chdir(folder) != 0;
}

static int leave_folder(void **state)
{
    clean(state);
    return chdir(start) != 0 || rmdir(folder) != 0;
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    fclose(f);
}

/* Reads, and expects success without a message. */
static void read_settings(const sapporo_options *options)
{
    assert_int_equal(sap_settings_read(&got, options, &notes), SAPPORO_OK);
    assert_int_equal(messages, 0);
}

/* Reads, and expects an error with one message that has these words. */
static void expect_refusal(const sapporo_options *options, int status, const char *first, const char *second)
{
    messages = 0;
    assert_int_equal(sap_settings_read(&got, options, &notes), status);
    assert_int_equal(messages, 1);
    if (strstr(said, first) == NULL || strstr(said, second) == NULL)
        fail_msg("'%s' names neither '%s' nor '%s'", said, first, second);
    messages = 0;
}

static void expect_devices(int n, const int *devices)
{
    assert_int_equal(got.ndevices, n);
    assert_int_equal(got.devices_given, 1);
    for (int k = 0; k < n; k++) assert_int_equal(got.devices[k], devices[k]);
}

#define DEVICES(...) expect_devices((int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (int[]){__VA_ARGS__})

/* ---- defaults, native options --------------------------------------------------------- */

static void defaults(void **state)
{
    (void)state;
    sapporo_options options = {.size = sizeof options};
    for (int native = 0; native < 2; native++) {
        read_settings(native ? &options : NULL);
        assert_int_equal(got.order, 4);
        assert_int_equal(got.precision, SAPPORO_DS);
        assert_int_equal(got.backend, SAPPORO_BACKEND_AUTO);
        assert_int_equal(got.backend_given, 0);
        assert_string_equal(got.isa, "");
        assert_int_equal(got.threads, 0);
        assert_int_equal(got.ndevices, 0);
        assert_int_equal(got.devices_given, 0);
        assert_int_equal(got.devices_any, 0);
        assert_string_equal(got.device_names, "");
        assert_int_equal(got.preferred_device, 0);
    }
}

static void native_options(void **state)
{
    (void)state;
    static const int list[] = {3, 0, 3};
    sapporo_options options = {.size = sizeof options,
                               .order = 6,
                               .precision = SAPPORO_SP,
                               .backend = SAPPORO_BACKEND_OPENCL,
                               .devices = list,
                               .ndevices = 3,
                               .preferred_device = 5,
                               .cpu_isa = "AVX2",
                               .threads = 7};
    read_settings(&options);
    assert_int_equal(got.order, 6);
    assert_int_equal(got.precision, SAPPORO_SP);
    assert_int_equal(got.backend, SAPPORO_BACKEND_OPENCL);
    assert_int_equal(got.backend_given, 1);
    DEVICES(3, 0); /* each once */
    assert_int_equal(got.preferred_device, 5);
    assert_string_equal(got.isa, "avx2");
    assert_int_equal(got.threads, 7);
    options.ndevices = -1;
    read_settings(&options);
    assert_int_equal(got.ndevices, -1);
    assert_int_equal(got.devices_given, 1);
    options.ndevices = SAP_ANY_DEVICES + 3;
    read_settings(&options);
    DEVICES(0, 1, 2);
    assert_int_equal(got.devices_any, 1);
    options.precision = SAPPORO_PRECISION_DEFAULT;
    read_settings(&options);
    assert_int_equal(got.precision, SAPPORO_DP); /* of order 6 */
    options.preferred_device = -4;
    read_settings(&options);
    assert_int_equal(got.preferred_device, 0);
}

static void native_options_that_cannot_be(void **state)
{
    (void)state;
    static const int list[] = {0, -2};
    const sapporo_options good = {.size = sizeof good};
    sapporo_options options = {.order = 4};
    expect_refusal(&options, SAPPORO_ERR_ARGUMENT, "size", "sapporo_options");
    options = good, options.order = 5;
    expect_refusal(&options, SAPPORO_ERR_ARGUMENT, "order", "2, 4, 6 or 8");
    options = good, options.precision = (sapporo_precision)4;
    expect_refusal(&options, SAPPORO_ERR_ARGUMENT, "precision", "4");
    options = good, options.backend = (sapporo_backend)-1;
    expect_refusal(&options, SAPPORO_ERR_ARGUMENT, "backend", "-1");
    options = good, options.cpu_isa = "mmx";
    expect_refusal(&options, SAPPORO_ERR_ARGUMENT, "cpu_isa", "scalar, sse2, avx2, avx512 or neon");
    options = good, options.threads = -1;
    expect_refusal(&options, SAPPORO_ERR_ARGUMENT, "threads", "-1");
    options = good, options.ndevices = -2;
    expect_refusal(&options, SAPPORO_ERR_ARGUMENT, "ndevices", "-2");
    options = good, options.ndevices = 65;
    expect_refusal(&options, SAPPORO_ERR_ARGUMENT, "ndevices", "64");
    options = good, options.ndevices = 2;
    expect_refusal(&options, SAPPORO_ERR_ARGUMENT, "devices", "NULL");
    options = good, options.ndevices = 2, options.devices = list;
    expect_refusal(&options, SAPPORO_ERR_ARGUMENT, "devices[1]", "-2");
    assert_int_equal(notes.status, SAPPORO_ERR_ARGUMENT);
    assert_string_equal(notes.error, said);
}

/* A caller compiled with an earlier or a later header. */
static void other_versions(void **state)
{
    (void)state;
    struct {
        sapporo_options known;
        int news[4];
    } later;
    memset(&later, 0, sizeof later);
    later.known.size = sizeof later;
    later.known.order = 6;
    later.known.threads = 3;
    read_settings(&later.known);
    assert_int_equal(got.threads, 3);
    later.news[1] = 1;
    expect_refusal(&later.known, SAPPORO_ERR_UNSUPPORTED, "newer", "options");
    later.known.size = offsetof(sapporo_options, precision);
    later.known.precision = (sapporo_precision)77; /* lies behind the struct of that caller */
    read_settings(&later.known);
    assert_int_equal(got.order, 6);
    assert_int_equal(got.threads, 0);
}

/* ---- environment ------------------------------------------------------------------------ */

static void words(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int value;
    } precision[] = {{"sp", SAPPORO_SP}, {"DS", SAPPORO_DS}, {"dp", SAPPORO_DP}, {"", SAPPORO_DS}},
      backend[] = {{"auto", SAPPORO_BACKEND_AUTO},
                   {"cuda", SAPPORO_BACKEND_CUDA},
                   {"OpenCL", SAPPORO_BACKEND_OPENCL},
                   {"cpu", SAPPORO_BACKEND_CPU}};
    static const char *const isa[] = {"scalar", "sse2", "avx2", "avx512", "neon", ""};
    for (int k = 0; k < 4; k++) {
        setenv("SAPPORO_PRECISION", precision[k].text, 1);
        setenv("SAPPORO_BACKEND", backend[k].text, 1);
        read_settings(NULL);
        assert_int_equal(got.precision, precision[k].value);
        assert_int_equal(got.backend, backend[k].value);
        assert_int_equal(got.backend_given, k > 0);
    }
    for (int k = 0; k < 6; k++) {
        setenv("SAPPORO_CPU_ISA", isa[k], 1);
        read_settings(NULL);
        assert_string_equal(got.isa, isa[k]);
    }
}

static void native_before_environment(void **state)
{
    (void)state;
    static const int list[] = {1};
    sapporo_options options = {.size = sizeof options,
                               .precision = SAPPORO_DP,
                               .backend = SAPPORO_BACKEND_CPU,
                               .cpu_isa = "sse2",
                               .devices = list,
                               .ndevices = 1};
    setenv("SAPPORO_PRECISION", "nonsense", 1);
    setenv("SAPPORO_BACKEND", "nonsense", 1);
    setenv("SAPPORO_CPU_ISA", "nonsense", 1);
    setenv("SAPPORO_DEVICES", ",,", 1);
    write_file("sapporo2.config", "nonsense");
    read_settings(&options);
    assert_int_equal(got.precision, SAPPORO_DP);
    assert_int_equal(got.backend, SAPPORO_BACKEND_CPU);
    assert_string_equal(got.isa, "sse2");
    DEVICES(1);
}

static void words_that_cannot_be(void **state)
{
    (void)state;
    static const char *const bad[][3] = {{"SAPPORO_PRECISION", "quad", "sp, ds or dp"},
                                         {"SAPPORO_BACKEND", "gpu", "auto, cuda, hip, opencl or cpu"},
                                         {"SAPPORO_CPU_ISA", "avx", "scalar, sse2, avx2, avx512 or neon"}};
    for (int k = 0; k < 3; k++) {
        setenv(bad[k][0], bad[k][1], 1);
        expect_refusal(NULL, SAPPORO_ERR_ARGUMENT, bad[k][0], bad[k][2]);
        unsetenv(bad[k][0]);
    }
    read_settings(NULL);
}

static void device_variable(void **state)
{
    (void)state;
    static const char *const bad[] = {"-1", "0,,2", "0,", ",1", "0;1", "99999999999", "+", "1 -2"};
    setenv("SAPPORO_DEVICES", "0,2", 1);
    read_settings(NULL);
    DEVICES(0, 2);
    setenv("SAPPORO_DEVICES", " 3, 1 2 ,1", 1);
    read_settings(NULL);
    DEVICES(3, 1, 2);
    setenv("SAPPORO_DEVICES", "ALL", 1);
    read_settings(NULL);
    assert_int_equal(got.ndevices, -1);
    assert_int_equal(got.devices_given, 1);
    setenv("SAPPORO_DEVICES", "GPU-5d3a,NVIDIA H200", 1);
    read_settings(NULL);
    assert_int_equal(got.ndevices, 0);
    assert_int_equal(got.devices_given, 1);
    assert_string_equal(got.device_names, "GPU-5d3a,NVIDIA H200");
    static const struct {
        const char *names, *word;
        size_t from;
    } words[] = {
        {"a,b", "a", 0}, {" NVIDIA H200 ,x", "NVIDIA H200", 1}, {",, \t,b\n", "b", 5}, {"", NULL, 0}, {" , ", NULL, 0}};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        size_t length = 99;
        const char *const word = sap_device_word(words[k].names, &length);
        if (!words[k].word) {
            assert_null(word);
            continue;
        }
        assert_ptr_equal(word, words[k].names + words[k].from);
        assert_int_equal(length, strlen(words[k].word));
        assert_memory_equal(word, words[k].word, length);
    }
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        setenv("SAPPORO_DEVICES", bad[k], 1);
        expect_refusal(NULL, SAPPORO_ERR_ARGUMENT, "SAPPORO_DEVICES", "all");
    }
    char name[300];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    setenv("SAPPORO_DEVICES", name, 1);
    expect_refusal(NULL, SAPPORO_ERR_ARGUMENT, "SAPPORO_DEVICES", "255");
}

static void local_ranks(void **state)
{
    (void)state;
    const int first = SAP_VAR_RANK_OPENMPI, n = SAP_VAR_RANK_PALS - SAP_VAR_RANK_OPENMPI + 1;
    sapporo_options options = {.size = sizeof options, .preferred_device = 9};
    for (int k = n - 1; k >= 0; k--) { /* each goes before those that are set already */
        char text[16];
        snprintf(text, sizeof text, "%d", k);
        setenv(sap_variables[first + k].name, text, 1);
        read_settings(&options);
        assert_int_equal(got.preferred_device, k);
        assert_int_equal(got.devices_given, 0);
    }
    for (int k = 0; k < n; k++) setenv(sap_variables[first + k].name, k % 2 ? "-1" : "rank", 1);
    sap_variable_check_again();
    assert_int_equal(sap_settings_read(&got, &options, &notes), SAPPORO_OK);
    assert_int_equal(got.preferred_device, 9);
    assert_int_equal(messages, n); /* each value is ignored with a warning, once */
    assert_int_equal(sap_settings_read(&got, &options, &notes), SAPPORO_OK);
    assert_int_equal(messages, n);
}

static void methods(void **state)
{
    (void)state;
    char wrong[SAP_WRONG_ROOM];
    assert_int_equal(sap_settings_method(wrong), 0);
    setenv("SAPPORO_METHOD", "tree", 1);
    assert_int_equal(sap_settings_method(wrong), 1);
    setenv("SAPPORO_METHOD", "Direct", 1);
    assert_int_equal(sap_settings_method(wrong), 0);
    setenv("SAPPORO_METHOD", "fast", 1);
    assert_int_equal(sap_settings_method(wrong), SAPPORO_ERR_ARGUMENT);
    assert_string_equal(wrong, "SAPPORO_METHOD is 'fast'; it may be direct or tree");
    assert_int_equal(messages, 0);
}

static void pipes(void **state)
{
    (void)state;
    static const char *const bad[] = {"0", "-3", "48x", "1000001", "99999999999999999999"};
    assert_int_equal(sap_npipes(), 16384);
    setenv("GRAPE_NPIPES", "96", 1);
    assert_int_equal(sap_npipes(), 16384); /* constant for the life of the process */
    sap_npipes_known = 0;
    assert_int_equal(sap_npipes(), 96);
    unsetenv("GRAPE_NPIPES");
    assert_int_equal(sap_npipes(), 96);
    assert_int_equal(messages, 0);
    for (int k = 0; k < 5; k++) {
        sap_npipes_known = 0;
        setenv("GRAPE_NPIPES", bad[k], 1);
        assert_int_equal(sap_npipes(), 16384);
        assert_int_equal(messages, k + 1);
        assert_non_null(strstr(said, "GRAPE_NPIPES"));
    }
}

/* ---- configuration files --------------------------------------------------------------------- */

static void sapporo2_config(void **state)
{
    (void)state;
    write_file("sapporo2.config", "2 devices\n3  # the third\n1\n7\n");
    read_settings(NULL);
    DEVICES(3, 1);
    write_file("sapporo2.config", "0");
    read_settings(NULL);
    assert_int_equal(got.ndevices, -1);
    assert_int_equal(got.devices_given, 1);
    write_file("sapporo2.config", "-3\r\n");
    read_settings(NULL);
    DEVICES(0, 1, 2);
    assert_int_equal(got.devices_any, 1);
    write_file("sapporo2.config", "-1000000000000\n");
    read_settings(NULL);
    assert_int_equal(got.ndevices, SAP_DEVICES_MAX);
    char text[600];
    snprintf(text, sizeof text, "1 %500s\n5 %50s\n", "long", "comments");
    write_file("sapporo2.config", text);
    read_settings(NULL);
    DEVICES(5);
}

static void sapporo_config(void **state)
{
    (void)state;
    write_file("sapporo.config", "65536  capacity\n2 devices\n0\n1\n2\n3\n");
    read_settings(NULL);
    DEVICES(0, 1);
    write_file("sapporo2.config", "1\n4\n"); /* goes before it */
    read_settings(NULL);
    DEVICES(4);
    setenv("SAPPORO_DEVICES", "6", 1); /* and this before both */
    read_settings(NULL);
    DEVICES(6);
}

static void malformed_files(void **state)
{
    (void)state;
    static const char *const bad[] = {"",        "\n",   "two\n",  "2\n0\n",
                                      "1\n-1\n", "65\n", "1\nx\n", "99999999999999999999\n"};
    write_file("sapporo.config", "65536\n1\n8\n");
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        sap_messages.complained = 0;
        messages = 0;
        write_file("sapporo2.config", bad[k]);
        for (int round = 0; round < 3; round++) assert_int_equal(sap_settings_read(&got, NULL, &notes), SAPPORO_OK);
        assert_int_equal(messages, 1); /* once a process */
        assert_non_null(strstr(said, "sapporo2.config, line"));
        assert_int_equal(got.ndevices, 0); /* defaults, not the older file */
        assert_int_equal(got.devices_given, 0);
    }
    unlink("sapporo2.config");
    messages = 0;
    read_settings(NULL);
    DEVICES(8);
    write_file("sapporo.config", "65536\n");
    assert_int_equal(sap_settings_read(&got, NULL, &notes), SAPPORO_OK);
    assert_int_equal(messages, 1);
    assert_non_null(strstr(said, "sapporo.config, line 2"));
    assert_int_equal(got.devices_given, 0);
    assert_int_equal(mkdir("sapporo2.config", 0700), 0); /* not even a file */
    sap_messages.complained = 0;
    assert_int_equal(sap_settings_read(&got, NULL, &notes), SAPPORO_OK);
    assert_int_equal(messages, 2);
    assert_int_equal(got.devices_given, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(defaults, clean),
        cmocka_unit_test_setup(native_options, clean),
        cmocka_unit_test_setup(native_options_that_cannot_be, clean),
        cmocka_unit_test_setup(other_versions, clean),
        cmocka_unit_test_setup(words, clean),
        cmocka_unit_test_setup(native_before_environment, clean),
        cmocka_unit_test_setup(words_that_cannot_be, clean),
        cmocka_unit_test_setup(device_variable, clean),
        cmocka_unit_test_setup(local_ranks, clean),
        cmocka_unit_test_setup(methods, clean),
        cmocka_unit_test_setup(pipes, clean),
        cmocka_unit_test_setup(sapporo2_config, clean),
        cmocka_unit_test_setup(sapporo_config, clean),
        cmocka_unit_test_setup(malformed_files, clean),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
