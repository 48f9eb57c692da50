/*
 * runs.h - tests that are one call, and programs that skip their tests.
 *
 * Included behind cmocka.h.
 */
#ifndef RUNS_H
#define RUNS_H

/* Defines a test of CMocka that makes a call, in most cases of a function that runs a check on all engines. */
#define RUNS(test, call)                                                                                               \
    static void test(void **state)                                                                                     \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        call;                                                                                                          \
    }

/* Defines `main` of a program whose tests need what is missing here. */
#define SKIPPED_MAIN(group, why)                                                                                       \
    RUNS(skipped, (print_message("skip: %s\n", why), skip()))                                                          \
    int main(void)                                                                                                     \
    {                                                                                                                  \
        const struct CMUnitTest tests[] = {cmocka_unit_test(skipped)};                                                 \
        return cmocka_run_group_tests_name(group, tests, NULL, NULL);                                                  \
    }

#endif
