/* clock.h - a clock that never goes back, for intervals. */
#ifndef SAP_CLOCK_H
#define SAP_CLOCK_H

/* Nanoseconds, and the same in seconds, since a moment that stays as long as the machine runs. */
long long sap_clock_nanoseconds(void);
double sap_clock_seconds(void);

#endif
