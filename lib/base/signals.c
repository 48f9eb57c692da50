/* signals.c - keeps signals that a write raises from ending the process (signals.h). */
#define _POSIX_C_SOURCE 200809L
#include "base/signals.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

void sap_signals_hold(struct sap_signals *s)
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
static void consume(int number)
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

void sap_signals_release(const struct sap_signals *s, int error)
{
    const int number = error == EFBIG ? SIGXFSZ : error == EPIPE ? SIGPIPE : 0;
    const int kept = errno;
    if (number && sigismember(&s->pending, number) == 0) consume(number);
    (void)pthread_sigmask(SIG_SETMASK, &s->before, NULL);
    errno = kept;
}
