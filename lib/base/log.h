/*
 * log.h - prints all messages of the library.
 *
 * A message is one line with the prefix "sapporo: ".  It goes to stderr or to
 * the caller's log function.  SAPPORO_VERBOSE (read once, at the first message
 * or open) selects which messages are printed; see sapporo_set_log in sapporo.h.
 */
#ifndef SAP_LOG_H
#define SAP_LOG_H

#include <stdatomic.h>

#include "base/lock.h"
#include "sapporo_types.h"

/* Warnings that a context gives once. */
enum sap_warning {
    SAP_WARN_EMPTY_SLOT,  /* empty addresses below nj */
    SAP_WARN_COINCIDENT,  /* r = 0 without softening */
    SAP_WARN_BAD_H2,      /* squared neighbour radius that is negative or NaN */
    SAP_WARN_OTHER_ID,    /* a cluster id that is not open */
    SAP_WARN_MANY_I,      /* ni > npipes */
    SAP_WARN_RANGE,       /* coordinates outside the range of the precision */
    SAP_WARN_BAD_I,       /* i-particles that are not finite */
    SAP_WARN_OVERFLOW,    /* a force that is not finite */
    SAP_WARN_LISTS_GONE,  /* neighbours asked for after the next force began */
    SAP_WARN_QUEUE,       /* forces that were begun and never collected */
    SAP_WARN_METHOD,      /* SAPPORO_METHOD that does not apply */
    SAP_WARN_G5_RANGE,    /* g5_set_range with xmin >= xmax */
    SAP_WARN_G5_N,        /* a force before g5_set_n */
    SAP_WARN_TREE_ENGINE, /* an engine that has no trees */
    SAP_WARN_TREE_BATCH,  /* small batches of i-particles with a tree */
    SAP_WARN_NEIGHBOUR,   /* a device that failed in a neighbour force */
    SAP_WARN_MASSES,      /* masses whose ratios single precision cannot hold */
    SAP_WARN_SPAN,        /* coordinates whose ratios single precision cannot hold */
    SAP_WARN_SOFTENING,   /* a softening beside which single precision loses all positions */
    SAP_WARN_FAINT,       /* a force that is below the range of single precision */
    SAP_WARN_NO_SOURCES,  /* a force from no particle at all */
    SAP_WARN_NO_MASS,     /* particles that were given without masses */
    SAP_WARN_THREADS,     /* more threads than the library uses */
    SAP_WARN_COUNT
};

/* The largest number of lines that a context prints at the default verbosity. */
enum { SAP_LINES_MAX = 20 };

/* The record of a context's messages; guarded by the context's lock. */
struct sap_notes {
    unsigned warned; /* bit sap_warning: the warning has been given */
    int lines;       /* number of printed lines */
    int status;      /* status of the last error */
    char error[256]; /* text of the last error; guarded by sap_messages.lock, so that any thread can read it any time */
};

/* Complaints about files and folders of the process; each is made once. */
enum sap_complaint {
    SAP_COMPLAINT_SAPPORO2_CONFIG, /* a malformed sapporo2.config */
    SAP_COMPLAINT_SAPPORO_CONFIG,  /* a malformed sapporo.config */
    SAP_COMPLAINT_TUNE_FILE,       /* a tuning file that is missing or malformed */
    SAP_COMPLAINT_TUNE_KEY,        /* an unknown key in the tuning file */
    SAP_COMPLAINT_CACHE,           /* a cache folder that is not trusted */
    SAP_COMPLAINT_CACHE_FILE       /* a file in the cache folder that is not trusted or not a regular file */
};

/* The messages of the process. */
struct sap_messages {
    struct sap_lock lock;          /* guards function, user, and the error texts of all notes */
    sapporo_log_function function; /* NULL: stderr */
    void *user;
    atomic_int verbosity;       /* SAPPORO_VERBOSE; -1: not read yet */
    atomic_int keeps_errors;    /* 1: errors that a call returns are not printed to stderr; see sapporo_print_errors */
    atomic_uint complained;     /* bit sap_complaint: the complaint has been made */
    struct sap_lock notes_lock; /* guards notes */
    struct sap_notes notes;     /* of messages that belong to no context */
};
extern struct sap_messages sap_messages;

/* Returns 1 the first time that it is called with this complaint in the process, then 0. */
int sap_complain_first(enum sap_complaint complaint);

/* The level of SAPPORO_VERBOSE; 1 if it is not set. */
int sap_verbosity(void);

/* Prints a message if the verbosity includes its level, a sapporo_log_level. */
void sap_log(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints a warning the first time that this context gives it. */
void sap_warn_once(struct sap_notes *notes, enum sap_warning which, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Records and prints an error; returns status. */
int sap_error(struct sap_notes *notes, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Like sap_error, but prints the error only the first time that this context gives the warning `which`. */
int sap_error_once(struct sap_notes *notes, enum sap_warning which, int status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A copy of the last error's text; valid until the calling thread has called this function eight more times. */
const char *sap_error_text(const struct sap_notes *notes);

/* Clears the last error. */
void sap_error_clear(struct sap_notes *notes);

#endif
