/* log.c - the only way out for messages. */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock.h"
#include "process.h"

enum { TEXT = 512 };

int sap_verbosity(void)
{
    int level = atomic_load_explicit(&sap_process.verbosity, memory_order_relaxed);
    if (level >= 0) return level;
    const char *text = getenv("SAPPORO_VERBOSE");
    level = 1;
    if (text && text[0] >= '0' && text[0] <= '9') level = text[0] - '0';
    atomic_store_explicit(&sap_process.verbosity, level, memory_order_relaxed);
    return level;
}

/* Hands one line to the log function, or to stderr in one piece. */
static void put(int level, const char *text)
{
    sap_lock(&sap_process.log_lock);
    const sapporo_log_function log = sap_process.log;
    void *const user = sap_process.log_user;
    sap_unlock(&sap_process.log_lock);
    if (log) {
        log(user, level, text);
        return;
    }
    char line[TEXT + 16];
    const int n = snprintf(line, sizeof line, "sapporo: %s\n", text);
    if (n > 0) (void)fwrite(line, 1, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1, stderr);
}

/* Whether a level is wanted: errors and warnings at 1, choices at 2, calls at 3. */
static int wanted(int level) { return sap_verbosity() >= (level > SAPPORO_LOG_WARNING ? level : 1); }

void sap_log(int level, const char *format, ...)
{
    char text[TEXT];
    va_list args;
    if (!wanted(level)) return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    put(level, text);
}

/* One line of a context, of which there are SAP_LINES_MAX unless more are asked for. */
static void put_counted(struct sap_notes *notes, int level, const char *text)
{
    if (!wanted(level)) return;
    notes->lines++;
    if (notes->lines < SAP_LINES_MAX || sap_verbosity() >= 2)
        put(level, text);
    else if (notes->lines == SAP_LINES_MAX)
        put(level, "further messages are left out (SAPPORO_VERBOSE=2 shows them)");
}

void sap_warn_once(struct sap_notes *notes, enum sap_warning which, const char *format, ...)
{
    char text[TEXT];
    va_list args;
    if (notes->warned >> which & 1) return;
    notes->warned |= 1U << which;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    put_counted(notes, SAPPORO_LOG_WARNING, text);
}

int sap_error(struct sap_notes *notes, int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(notes->error, sizeof notes->error, format, args);
    va_end(args);
    notes->status = status;
    put_counted(notes, SAPPORO_LOG_ERROR, notes->error);
    return status;
}

void sapporo_set_log(sapporo_log_function log, void *user)
{
    sap_lock(&sap_process.log_lock);
    sap_process.log = log;
    sap_process.log_user = user;
    sap_unlock(&sap_process.log_lock);
}

void sapporo_log(int level, const char *text)
{
    if (text && wanted(level)) put(level, text);
}
