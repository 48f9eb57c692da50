/*
 * progress.h - shows the progress of a run, and its expected remaining time.
 *
 * On a terminal the program draws a bar on stderr, a few times per second at most.  Elsewhere it draws no bar; the
 * lines that the program prints at each output show the progress.
 */
#ifndef COMMON_PROGRESS_H
#define COMMON_PROGRESS_H

/* A progress and its time. */
typedef struct progress_mark {
    double when, at;
} progress_mark;

typedef struct progress {
    double from, to; /* the range of the counted quantity */
    double origin; /* what the bar shows is larger by this, with so many digits: 0 and 6 unless the caller sets them */
    int digits;
    double began; /* seconds of a clock that never jumps */
    double last_shown;
    progress_mark older,
        newer; /* marks of the recent past; the speed is counted from the older one, because runs begin slowly */
    int bar;   /* 1: stderr is a terminal */
} progress;

void progress_begin(progress *bar, double from, double to, int quiet);
/* Draws the bar if it is time to, and updates the speed; the caller calls it often. */
void progress_show(progress *bar, double at);
/* Wipes the bar, so that a line can be printed; the next progress_show draws it again. */
void progress_wipe(progress *bar);

/* Return the seconds since progress_begin, and the expected remaining seconds; negative if these are not known yet. */
double progress_elapsed(const progress *bar);
double progress_left(const progress *bar, double at);
/* Formats a time: "7 s", "12 min 5 s", "3 h 20 min", "2 d 4 h"; "?" for a negative number. */
const char *progress_span(double seconds, char text[32]);

#endif
