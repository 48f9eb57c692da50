/* tuning.c - see tuning.h. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tuning.h"

#include "base/log.h"
#include "sapporo.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char tuning_folder[] = "/tmp/sapporo_tune.XXXXXX", tuning_path[64], tuning_home[64];
char tuning_said[1024];
int tuning_warnings;

static void hear(void *user, int level, const char *text)
{
    (void)user;
    if (level > SAPPORO_LOG_WARNING) return;
    tuning_warnings++;
    snprintf(tuning_said, sizeof tuning_said, "%s", text);
}

void tuning_write(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    fclose(f);
}

int tuning_clean(void **state)
{
    (void)state;
    unlink(tuning_path);
    setenv("SAPPORO_TUNE", tuning_path, 1);
    setenv("HOME", tuning_home, 1);
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("SAPPORO_BACKEND");
    unsetenv("SAPPORO_PRECISION");
    unsetenv("SAPPORO_CPU_ISA");
    sapporo_set_log(hear, NULL);
    sap_messages.complained = 0;
    tuning_warnings = 0;
    tuning_said[0] = 0;
    return 0;
}

int tuning_make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(tuning_folder)) return -1;
    snprintf(tuning_path, sizeof tuning_path, "%s/tune", tuning_folder);
    snprintf(tuning_home, sizeof tuning_home, "%s/home", tuning_folder);
    return 0;
}

int tuning_remove_folder(void **state) { return tuning_clean(state) || rmdir(tuning_folder); }
