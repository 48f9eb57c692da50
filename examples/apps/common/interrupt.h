/* interrupt.h - treats Ctrl-C and kill as a request: the program goes on to a point where it can stop without loss. */
#ifndef COMMON_INTERRUPT_H
#define COMMON_INTERRUPT_H

/* Makes SIGINT, SIGTERM and SIGHUP only set a flag from now on; ignored signals stay ignored. */
void interrupt_catch(void);
/* Returns the signal that has arrived, or 0. */
int interrupt_signal(void);

#endif
