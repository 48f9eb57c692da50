/*
 * cancel.h - makes sure that no call of the library is a cancellation point.
 *
 * A thread that is cancelled inside a call would leave locks held.  Computing has no cancellation points.  Printing
 * messages, opening contexts and calling drivers have some; so these are done between sap_cancel_forbid and
 * sap_cancel_allow.
 */
#ifndef SAP_CANCEL_H
#define SAP_CANCEL_H

#include <pthread.h>

/* Disables cancellation of the thread; returns the old state, for sap_cancel_allow. */
static inline int sap_cancel_forbid(void)
{
    int old = PTHREAD_CANCEL_ENABLE;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    return old;
}

static inline void sap_cancel_allow(int old) { (void)pthread_setcancelstate(old, NULL); }

#endif
