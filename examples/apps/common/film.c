/* film.c - see film.h. */
#define _POSIX_C_SOURCE 200809L
#include "film.h"

#include "atomic_file.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* Runs ffmpeg; -1, with a message: it failed. */
static int run_ffmpeg(char *const *arguments, message *why)
{
    int status = 0;
    pid_t child;
    const int error = posix_spawnp(&child, "ffmpeg", NULL, NULL, arguments, environ);
    if (error) return complain(why, "ffmpeg: %s", strerror(error));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return complain(why, "ffmpeg was lost");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    return complain(why, "ffmpeg failed");
}

int film_check(message *why)
{
    const char *const path = getenv("PATH");
    char program[NAME_ROOM];
    for (const char *folder = path ? path : "/bin:/usr/bin";; folder++) {
        const size_t length = strcspn(folder, ":");
        const int n = snprintf(program, sizeof program, "%.*s/ffmpeg", length ? (int)length : 1, length ? folder : ".");
        if (n > 0 && n < NAME_ROOM && access(program, X_OK) == 0) return 0;
        folder += length;
        if (!*folder) return complain(why, "--film needs ffmpeg, which is in no folder of PATH");
    }
}

/* Has ffmpeg write a film to the part of a file. */
static int write_film(const char *prefix, const char *part, message *why)
{
    static char pad[] = "pad=ceil(iw/2)*2:ceil(ih/2)*2"; /* players want even sizes */
    char images[NAME_ROOM], film[NAME_ROOM + 128];
    char *const arguments[] = {"ffmpeg", "-nostdin", "-y",       "-loglevel", "error", "-framerate", "24", "-i", images,
                               "-vf",    pad,        "-pix_fmt", "yuv420p",   "-f",    "mp4",        film, NULL};
    const int length = snprintf(film, sizeof film, "file:%s", part);
    if (length < 0 || length >= (int)sizeof film || write_pattern(images, prefix, ".%04d.pgm"))
        return complain(why, "the name of the output is too long");
    return run_ffmpeg(arguments, why);
}

int film_make(const char *prefix, message *why)
{
    char name[NAME_ROOM];
    atomic_file file;
    message reason = {""};
    const int length = snprintf(name, sizeof name, "%s.mp4", prefix);
    if (length < 0 || length >= NAME_ROOM) return complain(why, "no film: the name of the output is too long");
    if (atomic_open(&file, name, &reason)) return complain(why, "no film, the images stay: %s", reason.text);
    int bad = write_film(prefix, atomic_part_path(&file), &reason);
    if (bad)
        atomic_abandon(&file);
    else
        bad = atomic_commit(&file, &reason);
    return bad ? complain(why, "no film, the images stay: %s", reason.text) : 0;
}
