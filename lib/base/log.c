/* log.c - prints all messages of the library; see log.h. */
#define _POSIX_C_SOURCE 200809L
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cancel.h"
#include "base/environment.h"
#include "base/lock.h"
#include "base/process.h"
#include "base/signals.h"
#include "sapporo.h"

enum { TEXT = 512 };

struct sap_messages sap_messages = {.verbosity = -1};

SAP_GUARD_AT_FORK(notes, SAP_LOCK_NOTES, &sap_messages.notes_lock)
SAP_GUARD_AT_FORK(messages, SAP_LOCK_LOG, &sap_messages.lock)

int sap_complain_first(enum sap_complaint complaint)
{
    const unsigned bit = 1u << complaint;
    return (atomic_fetch_or(&sap_messages.complained, bit) & bit) == 0;
}

int sap_verbosity(void)
{
    int level = atomic_load_explicit(&sap_messages.verbosity, memory_order_relaxed);
    if (level >= 0) return level;
    char wrong[SAP_WRONG_ROOM];
    level = 1; /* also for an invalid value, which options.c refuses */
    (void)sap_env_number(sap_variable_table.verbose, &level, wrong);
    atomic_store_explicit(&sap_messages.verbosity, level, memory_order_relaxed);
    return level;
}

/* Writes n bytes to stderr, which may be a closed pipe or a file that must not grow: the message is then lost. */
static void write_to_stderr(const char *line, size_t n)
{
    struct sap_signals signals;
    const int callers = errno;
    sap_signals_hold(&signals);
    const size_t done = fwrite(line, 1, n, stderr);
    sap_signals_release(&signals, done < n ? errno : 0);
    errno = callers;
}

/* Passes one line to the log function, or writes it to stderr in one piece. */
static void put_line(int level, const char *text)
{
    sap_lock(&sap_messages.lock);
    const sapporo_log_function log = sap_messages.function;
    void *const user = sap_messages.user;
    sap_unlock(&sap_messages.lock);
    if (log) {
        log(user, level, text);
        return;
    }
    char line[TEXT + 16];
    const int n = snprintf(line, sizeof line, "sapporo: %s\n", text);
    if (n > 0) write_to_stderr(line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

/* Formats a message as one line: it replaces control characters, which a file or a variable may contain. */
static void format_line(char *text, size_t room, const char *format, va_list args)
{
    (void)vsnprintf(text, room, format, args);
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7F) *text = *text == '\t' ? ' ' : '?';
}

/* Like put_line, without cancellation: the caller may hold locks, and writing is a cancellation point. */
static void put(int level, const char *text)
{
    const int cancel = sap_cancel_forbid();
    put_line(level, text);
    sap_cancel_allow(cancel);
}

/* Whether the verbosity includes a level: errors and warnings from 1 on, information from 2, calls from 3. */
static int wanted(int level) { return sap_verbosity() >= (level > SAPPORO_LOG_WARNING ? level : 1); }

void sap_log(int level, const char *format, ...)
{
    char text[TEXT];
    va_list args;
    if (!wanted(level)) return;
    va_start(args, format);
    format_line(text, sizeof text, format, args);
    va_end(args);
    put(level, text);
}

/* Whether an error is kept for its caller alone: the caller raises it, and prints it if nothing handles it. */
static int is_kept(int level)
{
    if (level != SAPPORO_LOG_ERROR || !atomic_load(&sap_messages.keeps_errors) || sap_verbosity() >= 2) return 0;
    sap_lock(&sap_messages.lock);
    const int to_stderr = sap_messages.function == NULL;
    sap_unlock(&sap_messages.lock);
    return to_stderr;
}

/* Prints one line of a context; at the default verbosity only the first SAP_LINES_MAX lines. */
static void put_counted(struct sap_notes *notes, int level, const char *text)
{
    if (!wanted(level) || is_kept(level)) return;
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
    format_line(text, sizeof text, format, args);
    va_end(args);
    put_counted(notes, SAPPORO_LOG_WARNING, text);
}

/* Records an error of a context, whose text has the length of notes->error. */
static void record(struct sap_notes *notes, int status, const char *text)
{
    sap_lock(&sap_messages.lock);
    memcpy(notes->error, text, sizeof notes->error);
    sap_unlock(&sap_messages.lock);
    notes->status = status;
}

int sap_error(struct sap_notes *notes, int status, const char *format, ...)
{
    char text[sizeof notes->error] = "";
    va_list args;
    va_start(args, format);
    format_line(text, sizeof text, format, args);
    va_end(args);
    record(notes, status, text);
    put_counted(notes, SAPPORO_LOG_ERROR, text);
    return status;
}

int sap_error_once(struct sap_notes *notes, enum sap_warning which, int status, const char *format, ...)
{
    char text[sizeof notes->error] = "";
    va_list args;
    va_start(args, format);
    format_line(text, sizeof text, format, args);
    va_end(args);
    record(notes, status, text);
    if (!(notes->warned >> which & 1)) put_counted(notes, SAPPORO_LOG_WARNING, text);
    notes->warned |= 1U << which;
    return status;
}

const char *sap_error_text(const struct sap_notes *notes)
{
    enum { COPIES = 8 };
    static _Thread_local char copy[COPIES][sizeof notes->error];
    static _Thread_local unsigned calls;
    char *const text = copy[calls++ % COPIES];
    sap_lock(&sap_messages.lock);
    memcpy(text, notes->error, sizeof notes->error);
    sap_unlock(&sap_messages.lock);
    return text;
}

void sap_error_clear(struct sap_notes *notes)
{
    sap_lock(&sap_messages.lock);
    notes->error[0] = '\0';
    sap_unlock(&sap_messages.lock);
    notes->status = SAPPORO_OK;
}

void sapporo_set_log(sapporo_log_function log, void *user)
{
    sap_lock(&sap_messages.lock);
    sap_messages.function = log;
    sap_messages.user = user;
    sap_unlock(&sap_messages.lock);
}

void sapporo_print_errors(int printed) { atomic_store(&sap_messages.keeps_errors, !printed); }

void sapporo_log(sapporo_log_level level, const char *text)
{
    if (text && wanted((int)level)) put((int)level, text);
}
