/* test_saving.c - files that are written: their names, descriptors and failures; signals that writes raise. */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/log.h"
#include "base/saving.h"
#include "child.h"
#include "sapporo.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { LARGE = 1 << 16 };

static char folder[] = "/tmp/sapporo_saving.XXXXXX", start[PATH_MAX];
static char large[LARGE];

static int enter_folder(void **state)
{
    (void)state;
    return !getcwd(start, sizeof start) || !mkdtemp(folder) || chdir(folder);
}

static int leave_folder(void **state)
{
    (void)state;
    return chdir(start) || rmdir(folder);
}

/* Returns the number of files in the present folder; removes them if `clears`. */
static int look_around(int clears)
{
    glob_t found;
    if (glob("*", 0, NULL, &found) != 0) return 0;
    const int n = (int)found.gl_pathc;
    for (int k = 0; k < n && clears; k++) (void)remove(found.gl_pathv[k]);
    globfree(&found);
    return n;
}

static int count_files(void) { return look_around(0); }

static int clear(void **state)
{
    (void)state;
    (void)look_around(1);
    return 0;
}

static void put_text(const char *path, const char *text)
{
    struct sap_saving o;
    assert_int_equal(sap_saving_open(&o, path), 0);
    sap_saving_put(&o, text, strlen(text));
    assert_int_equal(sap_saving_close(&o, path, 1), 0);
}

static int holds(const char *path, const char *text)
{
    struct sap_file file;
    const int good = sap_file_read(path, 4096, &file) == SAP_FILE_READ && strcmp(file.bytes, text) == 0;
    free(file.bytes);
    return good;
}

/* ---- names -------------------------------------------------------------------------------- */

/* Two writes to one path at a time are two files; the path has the one that ended last. */
static void two_at_once(void **state)
{
    (void)state;
    struct sap_saving a, b;
    assert_int_equal(sap_saving_open(&a, "file"), 0);
    assert_int_equal(sap_saving_open(&b, "file"), 0);
    assert_string_not_equal(a.part, b.part);
    sap_saving_put(&a, "first", 5);
    sap_saving_put(&b, "second", 6);
    assert_int_equal(sap_saving_close(&a, "file", 1), 0);
    assert_true(holds("file", "first"));
    assert_int_equal(sap_saving_close(&b, "file", 1), 0);
    assert_true(holds("file", "second") && count_files() == 1);
}

/* A link at the path is replaced; the file to which it leads stays. */
static void link_at_path(void **state)
{
    (void)state;
    struct stat about;
    put_text("victim", "mine");
    assert_int_equal(symlink("victim", "file"), 0);
    put_text("file", "new");
    assert_true(holds("victim", "mine") && holds("file", "new"));
    assert_true(lstat("file", &about) == 0 && S_ISREG(about.st_mode));
}

/* What is no file is refused, and stays. */
static void no_file(void **state)
{
    (void)state;
    struct sap_saving o;
    struct stat about;
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(mkdir("folder", 0700), 0);
    assert_int_equal(sap_saving_open(&o, "fifo"), ENOTSUP);
    assert_int_equal(sap_saving_open(&o, "folder"), EISDIR);
    assert_int_equal(sap_saving_open(&o, "nowhere/file"), ENOENT);
    assert_int_equal(sap_saving_open(&o, ""), -1);
    assert_int_equal(sap_saving_open(&o, NULL), -1);
    assert_true(lstat("fifo", &about) == 0 && S_ISFIFO(about.st_mode) && count_files() == 2);
}

/* The longest name that a file may have. */
static void long_name(void **state)
{
    (void)state;
    char name[256] = "";
    memset(name, 'n', 255);
    put_text(name, "text");
    assert_true(holds(name, "text") && count_files() == 1);
}

/* Without `keep` the old file stays. */
static void dropped(void **state)
{
    (void)state;
    struct sap_saving o;
    put_text("file", "old");
    assert_int_equal(sap_saving_open(&o, "file"), 0);
    sap_saving_put(&o, "new", 3);
    assert_int_equal(sap_saving_close(&o, "file", 0), 0);
    assert_true(holds("file", "old") && count_files() == 1);
}

/* ---- descriptors -------------------------------------------------------------------------- */

/* Whatever standard streams are closed, the file has none of their descriptors, and they are closed after it. */
static int streams_closed(void)
{
    for (int closed = 1; closed < 8; closed++) {
        struct sap_saving o;
        for (int k = 0; k < 3; k++)
            if (closed >> k & 1) (void)close(k);
        if (sap_saving_open(&o, "file") != 0 || o.file < 3) return 1;
        for (int k = 0; k < 3; k++)
            if (closed >> k & 1 && fcntl(k, F_GETFD) != -1) return 2;
        sap_saving_put(&o, "text", 4);
        if (sap_saving_close(&o, "file", 1) != 0 || !holds("file", "text") || count_files() != 1) return 3;
    }
    return 0;
}

CHILD_TEST(streams_closed, "")

/* ---- signals ------------------------------------------------------------------------------ */

/* Whether the thread is as it was: no signal is blocked or pending, and handlers are the usual ones. */
static int is_as_before(int number)
{
    sigset_t mask, pending;
    struct sigaction action;
    return pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0 && !sigismember(&mask, number) && sigpending(&pending) == 0 &&
           !sigismember(&pending, number) && sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_DFL;
}

/* A file that must not grow: an error, and the old file stays alone. */
static int too_large(void)
{
    const struct rlimit little = {4096, RLIM_INFINITY};
    struct sap_saving o;
    put_text("file", "old");
    if (setrlimit(RLIMIT_FSIZE, &little)) return CHILD_SKIPPED;
    (void)signal(SIGXFSZ, SIG_DFL);
    int wrong = WRONG(sap_saving_open(&o, "file") != 0);
    sap_saving_put(&o, large, sizeof large);
    sap_saving_put(&o, large, sizeof large);
    wrong += WRONG(o.error != EFBIG);
    wrong += WRONG(sap_saving_close(&o, "file", 1) != EFBIG);
    wrong += WRONG(!holds("file", "old") || count_files() != 1);
    return wrong + WRONG(!is_as_before(SIGXFSZ));
}

CHILD_TEST(too_large, "no limits of files")

/* A signal that the caller has blocked, and that is pending before the write, stays pending. */
static int pending_before(void)
{
    const struct rlimit little = {4096, RLIM_INFINITY};
    struct sap_saving o;
    sigset_t one, pending;
    (void)sigemptyset(&one);
    (void)sigaddset(&one, SIGXFSZ);
    if (setrlimit(RLIMIT_FSIZE, &little)) return CHILD_SKIPPED;
    (void)pthread_sigmask(SIG_BLOCK, &one, NULL);
    (void)raise(SIGXFSZ);
    int wrong = WRONG(sap_saving_open(&o, "file") != 0);
    sap_saving_put(&o, large, sizeof large);
    wrong += WRONG(sap_saving_close(&o, "file", 1) != EFBIG);
    return wrong + WRONG(sigpending(&pending) != 0 || !sigismember(&pending, SIGXFSZ));
}

CHILD_TEST(pending_before, "no limits of files")

/* A message to a closed pipe is lost, and nothing else happens; errno is the caller's. */
static int closed_pipe(void)
{
    int ends[2];
    if (pipe(ends) || dup2(ends[1], 2) != 2) return CHILD_SKIPPED;
    (void)close(ends[0]);
    (void)signal(SIGPIPE, SIG_DFL);
    errno = ERANGE;
    for (int k = 0; k < 3; k++) sapporo_log(SAPPORO_LOG_ERROR, "a message that nothing reads");
    return errno != ERANGE || !is_as_before(SIGPIPE);
}

CHILD_TEST(closed_pipe, "no pipes")

/* A message to a file that must not grow is lost. */
static int full_log(void)
{
    const struct rlimit little = {64, RLIM_INFINITY};
    const int file = open("log", O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (file < 0 || setrlimit(RLIMIT_FSIZE, &little) || dup2(file, 2) != 2) return CHILD_SKIPPED;
    (void)signal(SIGXFSZ, SIG_DFL);
    for (int k = 0; k < 8; k++) sapporo_log(SAPPORO_LOG_ERROR, "a message that does not fit into the file");
    return !is_as_before(SIGXFSZ);
}

CHILD_TEST(full_log, "no limits of files")

/* ---- heads -------------------------------------------------------------------------------- */

static const char *refuse(void *user, const void *head, size_t length)
{
    *(size_t *)user = length;
    return memcmp(head, "HEAD", 4) == 0 ? NULL : "no head";
}

/* A file with another head is refused, however long it is. */
static void head_first(void **state)
{
    (void)state;
    const off_t length = (off_t)1 << 40;
    size_t told = 0;
    struct sap_file file;
    const struct sap_file_head head = {4, refuse, &told};
    put_text("file", "HEAD and more");
    assert_int_equal(sap_file_read_headed("file", &head, &file), SAP_FILE_READ);
    assert_true(file.size == 13 && told == 13 && strcmp(file.bytes, "HEAD and more") == 0);
    free(file.bytes);
    put_text("short", "HEA");
    assert_int_equal(sap_file_read_headed("short", &head, &file), SAP_FILE_REFUSED);
    assert_string_equal(file.why, "it is too short");
    put_text("vast", "body");
    if (truncate("vast", length) != 0) skip(); /* a file system without holes */
    assert_int_equal(sap_file_read_headed("vast", &head, &file), SAP_FILE_REFUSED);
    assert_string_equal(file.why, "no head");
    assert_true(told == (size_t)length && !file.bytes);
    assert_int_equal(sap_file_read_headed("none", &head, &file), SAP_FILE_MISSING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(two_at_once, clear),
                                       cmocka_unit_test_setup(link_at_path, clear),
                                       cmocka_unit_test_setup(no_file, clear),
                                       cmocka_unit_test_setup(long_name, clear),
                                       cmocka_unit_test_setup(dropped, clear),
                                       cmocka_unit_test_setup(test_streams_closed, clear),
                                       cmocka_unit_test_setup(test_too_large, clear),
                                       cmocka_unit_test_setup(test_pending_before, clear),
                                       cmocka_unit_test_setup(test_closed_pipe, clear),
                                       cmocka_unit_test_setup(test_full_log, clear),
                                       cmocka_unit_test_setup_teardown(head_first, clear, clear)};
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
