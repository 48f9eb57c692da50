/*
 * signals.h - keeps signals that a write raises from ending the process.
 *
 * A write beyond the largest size of a file (RLIMIT_FSIZE) raises SIGXFSZ, and one to a closed pipe SIGPIPE; both end a
 * process that does not expect them.  The library must not change the handlers of the process, which belong to the
 * caller.  So the calling thread blocks both signals while it writes, and consumes the signal that its write has
 * raised.  Other threads notice nothing.  Include this after _POSIX_C_SOURCE is defined.
 */
#ifndef SAP_SIGNALS_H
#define SAP_SIGNALS_H

#include <signal.h>

/* The signals of a thread while it writes. */
struct sap_signals {
    sigset_t before;  /* the mask of the thread */
    sigset_t pending; /* signals that were pending */
};

/* Blocks SIGXFSZ and SIGPIPE in the calling thread. */
void sap_signals_hold(struct sap_signals *signals);

/*
 * Gives the thread its mask again.  error: errno of a write that failed since sap_signals_hold, or 0.  If it tells that
 * the write has raised a signal, and none was pending before, the signal is consumed first.
 */
void sap_signals_release(const struct sap_signals *signals, int error);

#endif
