/*
 * progress.h - how far a run has come, and how long it may still take.
 *
 * On a terminal a bar on stderr shows it, drawn a few times a second at most.  Elsewhere nothing is drawn, and
 * the lines that the program prints at each output say it.
 */
#ifndef COMMON_PROGRESS_H
#define COMMON_PROGRESS_H

/* When it had come how far. */
typedef struct progress_mark {
    double when, at;
} progress_mark;

typedef struct progress {
    double from, to; /* what is being counted, from where to where */
    double began;    /* seconds of a clock that never jumps */
    double last_shown;
    progress_mark older, newer; /* of the near past: speed is counted from the older one, for runs begin slowly */
    int bar;                    /* 1: stderr is a terminal */
} progress;

void progress_begin(progress *bar, double from, double to, int quiet);
/* To be called often: draws the bar if it is time to, and keeps count of the speed. */
void progress_show(progress *bar, double at);
/* Wipes the bar, so that a line can be printed; the next progress_show draws it again. */
void progress_wipe(progress *bar);

/* Seconds since progress_begin, and how many more to expect; negative while that cannot be known. */
double progress_elapsed(const progress *bar);
double progress_left(const progress *bar, double at);
/* "7 s", "12 min 5 s", "3 h 20 min", "2 d 4 h"; "?" for a negative number. */
const char *progress_span(double seconds, char text[32]);

#endif
