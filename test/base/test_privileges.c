/*
 * test_privileges.c - a program with more rights than its caller reads no file that the caller names or puts into the
 * working directory.
 */
#define _GNU_SOURCE /* setresuid, setresgid, setgroups */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/environment.h"
#include "driver/opencl/opencl_driver.h"
#include "engine/options.h"
#include "variables.h"

#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/auxv.h>
#endif

enum { OTHER_USER = 65534 };

static char folder[] = "/tmp/sapporo_raised.XXXXXX", start[PATH_MAX];

static int enter_folder(void **state)
{
    static const char *const variables[] = {"SAPPORO_DEVICES", "SAPPORO_TUNE", "SAPPORO_CACHE", "XDG_CACHE_HOME",
                                            "XDG_CONFIG_HOME"};
    (void)state;
    for (size_t k = 0; k < sizeof variables / sizeof *variables; k++) unsetenv(variables[k]);
    return !getcwd(start, sizeof start) || !mkdtemp(folder) || chdir(folder) != 0;
}

static int leave_folder(void **state)
{
    (void)state;
    unlink("copy");
    unlink("sapporo2.config");
    return chdir(start) != 0 || rmdir(folder) != 0;
}

/* What a process sees of files that its caller names; bits of an exit status. */
enum {
    SEEN_TUNE = 1,
    SEEN_CONFIG = 2,
    SEEN_CACHE = 4,
    SEEN_TEST = 8,
    SEEN_PRECISION = 16,
    RAISED = 32,
    PATHS = SEEN_TUNE | SEEN_CONFIG | SEEN_CACHE | SEEN_TEST
};

static void ignore(void *user, int level, const char *text) { (void)user, (void)level, (void)text; }

/* As the kernel says, so that the library's own answer is tested too. */
static int is_raised(void)
{
#if defined(__linux__)
    return getauxval(AT_SECURE) != 0;
#else
    return geteuid() != getuid() || getegid() != getgid();
#endif
}

static int look(void)
{
    struct sap_notes notes = {0};
    struct sap_settings s;
    char wrong[SAP_WRONG_ROOM];
    int value;
    if (sap_settings_read(&s, NULL, &notes) != SAPPORO_OK) return 127;
    return (s.tune[0] ? SEEN_TUNE : 0) | (s.devices_given ? SEEN_CONFIG : 0) |
           (sap_opencl_cache_wanted() ? SEEN_CACHE : 0) |
           (sap_env_number(&sap_variables[SAP_VAR_OPENCL_SPLIT], &value, wrong) == SAP_READ_GOOD ? SEEN_TEST : 0) |
           (s.precision == SAPPORO_DP ? SEEN_PRECISION : 0) | (is_raised() ? RAISED : 0);
}

/* Devices whose drivers were loaded. */
static int count_devices(void)
{
    sapporo_set_log(ignore, NULL);
    return sapporo_device_count(SAPPORO_BACKEND_CUDA) + sapporo_device_count(SAPPORO_BACKEND_OPENCL);
}

static void copy_program(const char *to)
{
    char block[65536];
    FILE *from = fopen("/proc/self/exe", "r"), *copy = fopen(to, "w");
    assert_true(from && copy);
    for (size_t n = fread(block, 1, sizeof block, from); n > 0; n = fread(block, 1, sizeof block, from))
        assert_int_equal(fwrite(block, 1, n, copy), n);
    fclose(from);
    fclose(copy);
}

/* Runs the copy, as another user if `user` is not 0; returns its exit status. */
static int run_copy(const char *what, const char *variable, const char *value, uid_t user)
{
    int status = 0;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("SAPPORO_PRECISION", "dp", 1);
        setenv("SAPPORO_OPENCL_SPLIT", "2", 1);
        unsetenv("HOME");
        setenv(variable, value, 1);
        if (user && (setgroups(0, NULL) != 0 || setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0))
            _exit(126);
        execl("./copy", "copy", what, (char *)NULL);
        _exit(126);
    }
    assert_true(waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Makes the copy a program with more privileges than its caller; 0: this user cannot. */
static int raise_copy(uid_t *user)
{
    gid_t groups[64];
    *user = 0;
    if (geteuid() == 0) {
        *user = OTHER_USER;
        return chmod(folder, 0755) == 0 && chmod("copy", 04755) == 0;
    }
    const int n = getgroups(64, groups);
    for (int k = 0; k < n; k++)
        if (groups[k] != getgid()) return chown("copy", (uid_t)-1, groups[k]) == 0 && chmod("copy", 02755) == 0;
    return 0;
}

static void raised(void **state)
{
    static const char *const cases[][2] = {{"SAPPORO_TUNE", "tune"},    {"SAPPORO_TUNE", "frozen"},
                                           {"SAPPORO_CACHE", "cache"},  {"HOME", "/tmp"},
                                           {"XDG_CONFIG_HOME", "/tmp"}, {"XDG_CACHE_HOME", "/tmp"}};
    static const int seen[] = {SEEN_TUNE, 0, SEEN_CACHE, SEEN_TUNE | SEEN_CACHE, SEEN_TUNE, SEEN_CACHE};
    uid_t user;
    (void)state;
    copy_program("copy");
    FILE *f = fopen("sapporo2.config", "w");
    assert_non_null(f);
    fputs("1\n5\n", f);
    fclose(f);
    assert_int_equal(chmod("copy", 0755), 0);
    for (int k = 0; k < 6; k++)
        assert_int_equal(run_copy("--look", cases[k][0], cases[k][1], 0),
                         seen[k] | SEEN_CONFIG | SEEN_TEST | SEEN_PRECISION);
    const int can = raise_copy(&user);
    const int status = can ? run_copy("--look", "HOME", "/tmp", user) : 0;
    if (!can || !(status & RAISED)) {
        print_message("skip: no program with raised privileges can be made here\n");
        skip();
    }
    for (int k = 0; k < 6; k++)
        assert_int_equal(run_copy("--look", cases[k][0], cases[k][1], user) & ~SEEN_PRECISION, RAISED);
    assert_true(status & SEEN_PRECISION); /* words are read all the same */
    if (run_copy("--count", "HOME", "/tmp", 0) == 0) print_message("# there is no driver that could be loaded\n");
    assert_int_equal(run_copy("--count", "HOME", "/tmp", user), 0); /* drivers load what the environment names */
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(raised)};
    if (argc == 2 && strcmp(argv[1], "--look") == 0) _exit(look()); /* no sanitizer may look into it at its end */
    if (argc == 2 && strcmp(argv[1], "--count") == 0) _exit(count_devices());
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
