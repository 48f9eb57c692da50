/*
 * interrupt.c - see interrupt.h.
 */
#define _POSIX_C_SOURCE 200809L
#include "interrupt.h"

#include <signal.h>
#include <string.h>

static volatile sig_atomic_t received;

static void remember(int signal_number) { received = signal_number; }

static void catch_one(int signal_number)
{
    struct sigaction before, action;
    memset(&action, 0, sizeof action);
    action.sa_handler = remember;
    action.sa_flags = SA_RESTART; /* a write in progress must be finished, not fail */
    sigemptyset(&action.sa_mask);
    /* Ignored signals stay ignored: nohup ignores SIGHUP, and shells ignore SIGINT for background jobs. */
    if (!sigaction(signal_number, NULL, &before) && before.sa_handler == SIG_IGN) return;
    sigaction(signal_number, &action, NULL);
}

void interrupt_catch(void)
{
    catch_one(SIGINT);
    catch_one(SIGTERM);
    catch_one(SIGHUP);
}

int interrupt_signal(void) { return received; }
