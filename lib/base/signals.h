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

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

/* The signals of a thread while it writes. */
struct sap_signals {
    sigset_t before;  /* the mask of the thread */
    sigset_t pending; /* signals that were pending */
};

/* Blocks SIGXFSZ and SIGPIPE in the calling thread. */
static inline void sap_signals_hold(struct sap_signals *s)
{
    sigset_t both;
    (void)sigemptyset(&both);
    (void)sigaddset(&both, SIGXFSZ);
    (void)sigaddset(&both, SIGPIPE);
    (void)sigemptyset(&s->pending);
    (void)sigpending(&s->pending);
    (void)pthread_sigmask(SIG_BLOCK, &both, &s->before);
}

/* Consumes a pending signal of the thread, if there is one. */
static inline void sap_signals_consume(int number)
{
    sigset_t one;
    (void)sigemptyset(&one);
    (void)sigaddset(&one, number);
#if defined(__APPLE__)
    sigset_t pending;
    int taken;
    if (sigpending(&pending) == 0 && sigismember(&pending, number) == 1) (void)sigwait(&one, &taken);
#else
    const struct timespec at_once = {0, 0};
    while (sigtimedwait(&one, NULL, &at_once) < 0 && errno == EINTR) continue;
#endif
}

/*
 * Gives the thread its mask again.  error: errno of a write that failed since sap_signals_hold, or 0.  If it tells that
 * the write has raised a signal, and none was pending before, the signal is consumed first.
 */
static inline void sap_signals_release(const struct sap_signals *s, int error)
{
    const int number = error == EFBIG ? SIGXFSZ : error == EPIPE ? SIGPIPE : 0;
    const int kept = errno;
    if (number && sigismember(&s->pending, number) == 0) sap_signals_consume(number);
    (void)pthread_sigmask(SIG_SETMASK, &s->before, NULL);
    errno = kept;
}

#endif
