/* film.c - see film.h. */
#define _POSIX_C_SOURCE 200809L
#include "film.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

enum { NAME_ROOM = 1200 };

/* Writes prefix and ending, each % of the prefix twice: ffmpeg takes the name for a pattern.  -1: too long. */
static int write_pattern(char name[NAME_ROOM], const char *prefix, const char *ending)
{
    size_t n = 0;
    for (const char *p = prefix; *p && n + 2 < NAME_ROOM; p++) {
        name[n++] = *p;
        if (*p == '%') name[n++] = '%';
    }
    if (n + strlen(ending) + 1 > NAME_ROOM) return -1;
    strcpy(name + n, ending); // NOLINT(clang-analyzer-security.insecureAPI.strcpy): there is room
    return 0;
}

int film_make(const char *prefix, message *why)
{
    static char pad[] = "pad=ceil(iw/2)*2:ceil(ih/2)*2"; /* players want even sizes */
    char images[NAME_ROOM], film[NAME_ROOM];
    char *const arguments[] = {"ffmpeg", "-nostdin", "-y", "-loglevel", "error",   "-framerate", "24", "-i",
                               images,   "-vf",      pad,  "-pix_fmt",  "yuv420p", film,         NULL};
    const int length = snprintf(film, sizeof film, "file:%s.mp4", prefix);
    int status = 0;
    pid_t child;
    if (length < 0 || length >= NAME_ROOM || write_pattern(images, prefix, ".%04d.pgm"))
        return complain(why, "no film: the name of the output is too long");
    const int error = posix_spawnp(&child, "ffmpeg", NULL, NULL, arguments, environ);
    if (error) return complain(why, "no film, the images stay: ffmpeg: %s", strerror(error));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return complain(why, "no film, the images stay: ffmpeg was lost");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    return complain(why, "no film, the images stay: ffmpeg failed");
}
