/*
 * progress.c - see progress.h.
 */
#define _POSIX_C_SOURCE 200809L
#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WIDTH = 40 };

static double clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_begin(progress *bar, double from, double to, int quiet)
{
    double now = clock_now();
    *bar = (progress){.from = from, .to = to, .digits = 6, .began = now, .bar = !quiet && isatty(STDERR_FILENO)};
    bar->older = bar->newer = (progress_mark){now, from};
}

double progress_elapsed(const progress *bar) { return clock_now() - bar->began; }

double progress_left(const progress *bar, double at)
{
    double done = at - bar->older.at, todo = bar->to - at, now = clock_now(), whole = bar->to - bar->from;
    if (todo <= 0) return 0;
    if (done <= 0 || (now - bar->began < 1 && at - bar->from < 0.1 * whole)) return -1; /* too early to say */
    return (now - bar->older.when) * todo / done;
}

static void keep_count(progress *bar, double now, double at)
{
    if (now - bar->newer.when < 5) return;
    bar->older = bar->newer;
    bar->newer = (progress_mark){now, at};
}

const char *progress_span(double seconds, char text[32])
{
    static const struct {
        double unit, next;
        const char *name, *smaller;
    } scale[] = {{86400, 3600, "d", "h"}, {3600, 60, "h", "min"}, {60, 1, "min", "s"}};
    if (!(seconds >= 0) || seconds > 1e9) return strcpy(text, "?");
    for (int k = 0; k < 3; k++)
        if (seconds >= scale[k].unit) {
            int whole = (int)(seconds / scale[k].unit);
            int rest = (int)((seconds - whole * scale[k].unit) / scale[k].next);
            snprintf(text, 32, "%d %s %d %s", whole, scale[k].name, rest, scale[k].smaller);
            return text;
        }
    snprintf(text, 32, seconds < 10 ? "%.1f s" : "%.0f s", seconds);
    return text;
}

void progress_show(progress *bar, double at)
{
    double now = clock_now();
    keep_count(bar, now, at);
    if (!bar->bar || now - bar->last_shown < 0.2) return;
    bar->last_shown = now;
    char drawn[WIDTH + 1], span[32];
    double part = bar->to > bar->from ? (at - bar->from) / (bar->to - bar->from) : 1;
    int full = (int)(part * WIDTH);
    memset(drawn, '.', WIDTH);
    memset(drawn, '#', (size_t)(full < 0 ? 0 : full > WIDTH ? WIDTH : full));
    drawn[WIDTH] = 0;
    fprintf(stderr, "\r[%s] %3.0f %%  t = %-8.*g %s left\033[K", drawn, 100 * part, bar->digits, bar->origin + at,
            progress_span(progress_left(bar, at), span));
    fflush(stderr);
}

void progress_wipe(progress *bar)
{
    if (!bar->bar || bar->last_shown <= 0) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    bar->last_shown = 0;
}
