/*
 * child.h - runs a test body in a process of its own: for tests that need one without worker threads, or that may end
 * it.
 */
#ifndef CHILD_H
#define CHILD_H

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILD_SKIPPED = 77, CHILD_SECONDS = 120 };

/* Counts a wrong condition in a child, and prints its place. */
#define WRONG(condition) ((condition) ? (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), 1) : 0)

/* Runs a body in a child; a body that hangs is ended by a signal.  Returns the body's value, or -signal. */
static inline int run_in_child(int (*body)(void))
{
    int status = 0;
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child < 0) return CHILD_SKIPPED;
    if (child == 0) {
        (void)alarm(CHILD_SECONDS);
        _exit(body());
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/*
 * Defines a CMocka test test_NAME of a body, which returns its number of errors, or CHILD_SKIPPED for the reason `why`.
 */
#define CHILD_TEST(name, why)                                                                                          \
    static void test_##name(void **state)                                                                              \
    {                                                                                                                  \
        const int result = run_in_child(name);                                                                         \
        (void)state;                                                                                                   \
        if (result == CHILD_SKIPPED) {                                                                                 \
            print_message("skip: %s\n", why);                                                                          \
            skip();                                                                                                    \
        }                                                                                                              \
        assert_int_equal(result, 0);                                                                                   \
    }

#endif
