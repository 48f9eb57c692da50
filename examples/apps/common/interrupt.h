/*
 * interrupt.h - Ctrl-C and kill as a request: the program goes on to a place where it can stop without loss.
 */
#ifndef COMMON_INTERRUPT_H
#define COMMON_INTERRUPT_H

/* From now on SIGINT, SIGTERM and SIGHUP only set a flag; those that were ignored stay so. */
void interrupt_catch(void);
/* The signal that came, or 0. */
int interrupt_signal(void);

#endif
