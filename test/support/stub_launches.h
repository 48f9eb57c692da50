/* stub_launches.h - counts the launches of the stub driver by the name of the kernel (stub_launches of stub_driver.h).
 */
#ifndef STUB_LAUNCHES_H
#define STUB_LAUNCHES_H

/* Counts a launch, and makes it stub.last_launch.  Several threads may call it at once. */
void stub_note_launch(const char *name);

void stub_forget_launches(void);

#endif
