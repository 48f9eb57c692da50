/*
 * test_files.c - files that another user may have put in place of configuration files, the tuning file and cached
 * programs: FIFOs, endless and huge files, folders, other owners.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/log.h"
#include "driver/opencl/opencl_driver.h"
#include "engine/options.h"
#include "engine/tune.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIMIT = 60, OTHER_USER = 65534 };

static char folder[] = "/tmp/sapporo_files.XXXXXX", start[PATH_MAX];
static char said[1024];
static int warnings;

static void hear(void *user, int level, const char *text)
{
    (void)user;
    if (level > SAPPORO_LOG_WARNING) return;
    warnings++;
    snprintf(said, sizeof said, "%s", text);
}

static void forget(void)
{
    sap_messages.complained = 0;
    warnings = 0;
    said[0] = 0;
}

/* Removes what a test left at a path, whatever it is. */
static void clear(const char *path)
{
    if (unlink(path) != 0) rmdir(path);
}

static void clear_folder(const char *path)
{
    glob_t found;
    char pattern[64];
    snprintf(pattern, sizeof pattern, "%s/*", path);
    if (glob(pattern, 0, NULL, &found) != 0) return;
    for (size_t k = 0; k < found.gl_pathc; k++) clear(found.gl_pathv[k]);
    globfree(&found);
}

/* Each test ends the process if it waits for a file. */
static int begin(void **state)
{
    static const char *const variables[] = {"SAPPORO_DEVICES", "SAPPORO_TUNE", "SAPPORO_CACHE", "XDG_CACHE_HOME",
                                            "XDG_CONFIG_HOME"};
    (void)state;
    for (size_t k = 0; k < sizeof variables / sizeof *variables; k++) unsetenv(variables[k]);
    sapporo_set_log(hear, NULL);
    clear_folder("cache");
    clear_folder(".");
    forget();
    alarm(LIMIT);
    return 0;
}

static int enter_folder(void **state)
{
    (void)state;
    if (!getcwd(start, sizeof start) || !mkdtemp(folder) || chdir(folder) != 0) return -1;
    return setenv("HOME", folder, 1);
}

static int leave_folder(void **state)
{
    begin(state);
    return chdir(start) != 0 || rmdir(folder) != 0;
}

/* ---------------------------------------------------------------- things that are no files of ours */

static void make_fifo(const char *path) { assert_int_equal(mkfifo(path, 0600), 0); }
static void make_endless(const char *path) { assert_int_equal(symlink("/dev/zero", path), 0); }
static void make_input(const char *path) { assert_int_equal(symlink("/dev/stdin", path), 0); }
static void make_empty_folder(const char *path) { assert_int_equal(mkdir(path, 0700), 0); }
static void make_loop(const char *path) { assert_int_equal(symlink(path, path), 0); }

static void make_huge(const char *path)
{
    const int file = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, (off_t)1 << 40), 0);
    close(file);
}

static const struct thing {
    const char *name;
    void (*make)(const char *path);
} things[] = {{"FIFO", make_fifo},           {"/dev/zero", make_endless}, {"/dev/stdin", make_input},
              {"folder", make_empty_folder}, {"loop", make_loop},         {"huge", make_huge}};

enum { THINGS = sizeof things / sizeof *things };

/* /dev/stdin is a FIFO that never has data. */
static void occupy_input(void)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_true(dup2(ends[0], 0) == 0);
    close(ends[0]);
}

static void expect_warning(const char *thing, const char *path)
{
    if (warnings != 1 || !strstr(said, path)) fail_msg("%s: %d warnings, '%s'", thing, warnings, said);
}

static void configuration(void **state)
{
    static const char *const names[] = {"sapporo2.config", "sapporo.config"};
    struct sap_notes notes = {0};
    struct sap_settings s;
    (void)state;
    for (int name = 0; name < 2; name++)
        for (int k = 0; k < THINGS; k++) {
            forget();
            things[k].make(names[name]);
            for (int round = 0; round < 3; round++) assert_int_equal(sap_settings_read(&s, NULL, &notes), SAPPORO_OK);
            expect_warning(things[k].name, names[name]);
            assert_int_equal(s.devices_given, 0);
            clear(names[name]);
        }
}

static void tuning(void **state)
{
    struct sap_notes notes = {0};
    struct sap_settings s;
    double value = 7;
    const struct sap_tune_number number = {.key = "a", .value = &value, .least = 0, .most = 10};
    (void)state;
    setenv("SAPPORO_TUNE", "tune", 1);
    for (int k = 0; k < THINGS; k++) {
        forget();
        things[k].make("tune");
        assert_int_equal(sap_settings_read(&s, NULL, &notes), SAPPORO_OK);
        for (int round = 0; round < 3; round++) assert_int_equal(sap_tune_read(&s, "X", &number, 1), 0);
        expect_warning(things[k].name, "tune");
        assert_true(value == 7);
        clear("tune");
    }
}

/* The engine of the CPU opens, and computes. */
static void opening(void **state)
{
    const sapporo_options options = {.size = sizeof options, .backend = SAPPORO_BACKEND_CPU};
    (void)state;
    make_fifo("sapporo2.config");
    make_fifo("tune");
    setenv("SAPPORO_TUNE", "tune", 1);
    for (int round = 0; round < 2; round++) {
        sapporo *c = NULL;
        assert_int_equal(sapporo_open(&options, &c), SAPPORO_OK);
        sapporo_close(c);
    }
    expect_warning("opening", "sapporo2.config");
}

static void reasons(void **state)
{
    struct sap_file file;
    (void)state;
    assert_int_equal(sap_file_read("none", 10, &file), SAP_FILE_MISSING);
    FILE *f = fopen("some", "w");
    assert_non_null(f);
    fputs("0123456789", f);
    fclose(f);
    assert_int_equal(sap_file_read("some/below", 10, &file), SAP_FILE_MISSING);
    assert_int_equal(sap_file_read("some", 9, &file), SAP_FILE_REFUSED);
    assert_non_null(strstr(file.why, "10 bytes long; at most 9"));
    assert_null(file.bytes);
    assert_int_equal(sap_file_read("some", 10, &file), SAP_FILE_READ);
    assert_int_equal(file.size, 10);
    assert_string_equal(file.bytes, "0123456789");
    free(file.bytes);
    assert_int_equal(sap_file_read("/dev/null", 10, &file), SAP_FILE_REFUSED);
    assert_string_equal(file.why, "not a regular file");
}

/* ---------------------------------------------------------------- the cache of programs */

static const char key[] = "device\ndriver\nsource", other_key[] = "device\ndriver\nother";
static const unsigned char binary[] = "a compiled program";
static char cache_file[PATH_MAX];

/* The only file of the cache, behind its folder; "" if there is none. */
static const char *find_cache_file(void)
{
    glob_t found;
    cache_file[0] = 0;
    if (glob("cache/*", 0, NULL, &found) != 0) return cache_file;
    snprintf(cache_file, sizeof cache_file, "%s", found.gl_pathv[0]);
    globfree(&found);
    return cache_file;
}

static void put(void) { sap_opencl_cache_put(key, sizeof key, binary, sizeof binary); }

/* 1: the cache has the binary, and nothing else for it. */
static int has_binary(const char *of, size_t n)
{
    size_t size = 0;
    unsigned char *const found = sap_opencl_cache_get(of, n, &size);
    if (!found) return 0;
    assert_int_equal(size, sizeof binary);
    assert_memory_equal(found, binary, size);
    free(found);
    return 1;
}

static int begin_cache(void **state)
{
    begin(state);
    clear("cache");
    setenv("SAPPORO_CACHE", "cache", 1);
    return 0;
}

static mode_t mode_of(const char *path)
{
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    return about.st_mode & 07777;
}

static void modes(void **state)
{
    static const mode_t masks[] = {0, 022, 077, 0277};
    for (size_t k = 0; k < sizeof masks / sizeof *masks; k++) {
        begin_cache(state);
        setenv("SAPPORO_CACHE", "deep/cache", 1);
        const mode_t before = umask(k < 3 ? masks[k] : 0);
        put();
        umask(before);
        assert_true(has_binary(key, sizeof key));
        assert_int_equal(mode_of("deep"), 0700);
        assert_int_equal(mode_of("deep/cache"), 0700);
        assert_int_equal(rename("deep/cache", "cache"), 0);
        assert_int_equal(mode_of(find_cache_file()), 0600);
        setenv("SAPPORO_CACHE", "cache", 1);
        clear(cache_file);
        umask(masks[k]);
        put();
        umask(before);
        assert_int_equal(mode_of(find_cache_file()), 0600);
        clear("deep");
    }
    assert_int_equal(warnings, 0);
}

static void things_in_the_cache(void **state)
{
    for (int k = 0; k <= THINGS; k++) {
        begin_cache(state);
        put();
        assert_true(has_binary(key, sizeof key));
        find_cache_file();
        assert_int_equal(rename(cache_file, "valid"), 0);
        if (k < THINGS)
            things[k].make(cache_file);
        else
            assert_int_equal(symlink("../valid", cache_file), 0); /* right content, but behind a link */
        for (int round = 0; round < 3; round++) assert_false(has_binary(key, sizeof key));
        expect_warning(k < THINGS ? things[k].name : "link", cache_file);
        put(); /* nothing waits; what is no folder is replaced */
        assert_int_equal(has_binary(key, sizeof key), k == THINGS || things[k].make != make_empty_folder);
    }
}

static void modes_of_others(void **state)
{
    static const mode_t bad[] = {0620, 0602, 0666};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        begin_cache(state);
        put();
        assert_int_equal(chmod(find_cache_file(), bad[k]), 0);
        for (int round = 0; round < 3; round++) assert_false(has_binary(key, sizeof key));
        expect_warning("mode", "can write");
        put();
        assert_true(has_binary(key, sizeof key));
        assert_int_equal(mode_of(cache_file), 0600);
    }
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        begin_cache(state);
        put();
        assert_int_equal(chmod("cache", bad[k] | 0100), 0);
        for (int round = 0; round < 3; round++) assert_false(has_binary(key, sizeof key));
        expect_warning("folder", "cache folder cache: its group or others can write");
        find_cache_file();
        clear(cache_file);
        put();
        assert_string_equal(find_cache_file(), ""); /* nor is anything kept there */
        assert_int_equal(warnings, 1);
        assert_int_equal(chmod("cache", 0755), 0); /* others may look */
        put();
        assert_true(has_binary(key, sizeof key));
    }
}

static void other_owners(void **state)
{
    begin_cache(state);
    if (geteuid() != 0) {
        print_message("skip: only root can give files away\n");
        skip();
    }
    put();
    assert_int_equal(chown(find_cache_file(), OTHER_USER, (gid_t)-1), 0);
    for (int round = 0; round < 3; round++) assert_false(has_binary(key, sizeof key));
    expect_warning("file", "another user");
    put();
    assert_true(has_binary(key, sizeof key));
    assert_int_equal(chown("cache", OTHER_USER, (gid_t)-1), 0);
    forget();
    for (int round = 0; round < 3; round++) assert_false(has_binary(key, sizeof key));
    expect_warning("folder", "another user");
}

/* A byte that changed, a file that was cut, lengthened, or taken from another key. */
static void damage(void **state)
{
    unsigned char content[512];
    char own[PATH_MAX];
    size_t size = 0;
    begin_cache(state);
    put();
    FILE *f = fopen(find_cache_file(), "r+");
    assert_non_null(f);
    const size_t n = fread(content, 1, sizeof content, f);
    fclose(f);
    assert_true(n > sizeof key + sizeof binary && n < sizeof content);
    assert_non_null(sap_opencl_cache_unpack(content, n, key, sizeof key, &size));
    for (size_t k = 0; k < n; k++) {
        content[k] ^= 0x10;
        assert_null(sap_opencl_cache_unpack(content, n, key, sizeof key, &size));
        content[k] ^= 0x10;
        assert_null(sap_opencl_cache_unpack(content, k, key, sizeof key, &size));
    }
    assert_null(sap_opencl_cache_unpack(content, n + 1, key, sizeof key, &size));
    assert_null(sap_opencl_cache_unpack(content, n, key, sizeof key - 1, &size));
    assert_null(sap_opencl_cache_unpack(content, n, other_key, sizeof other_key, &size));
    snprintf(own, sizeof own, "%s", cache_file);
    assert_int_equal(rename(own, "valid"), 0);
    sap_opencl_cache_put(other_key, sizeof other_key, binary, sizeof binary);
    assert_int_equal(rename("valid", find_cache_file()), 0);
    assert_false(has_binary(other_key, sizeof other_key));
    assert_int_equal(warnings, 0);
}

static void words(void **state)
{
    static const char *const none[] = {"off", "OFF", " Off ", "", "  "};
    begin_cache(state);
    for (size_t k = 0; k < sizeof none / sizeof *none; k++) {
        setenv("SAPPORO_CACHE", none[k], 1);
        assert_int_equal(sap_opencl_cache_wanted(), 0);
        put();
    }
    unsetenv("SAPPORO_CACHE");
    assert_int_equal(sap_opencl_cache_wanted(), 1);
    setenv("XDG_CACHE_HOME", folder, 1);
    put();
    assert_true(has_binary(key, sizeof key));
    assert_int_equal(rename("sapporo", "cache"), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(configuration, begin),   cmocka_unit_test_setup(tuning, begin),
        cmocka_unit_test_setup(opening, begin),         cmocka_unit_test_setup(reasons, begin),
        cmocka_unit_test_setup(modes, begin),           cmocka_unit_test_setup(things_in_the_cache, begin),
        cmocka_unit_test_setup(modes_of_others, begin), cmocka_unit_test_setup(other_owners, begin),
        cmocka_unit_test_setup(damage, begin),          cmocka_unit_test_setup(words, begin),
    };
    occupy_input();
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
