/* tune_file.c - writes the tuning file, whose keys docs/tool.md describes. */
#define _POSIX_C_SOURCE 200809L

#include "atomic_file.h"
#include "tune.h"
#include "util.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char FIRST_LINE[] = "sapporo tune 1";

static int fail(char *error, size_t room, const char *path, const char *what)
{
    snprintf(error, room, "%s: %s", path, what);
    return -1;
}

void tune_default_place(char *path, size_t room)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int length = 0;
    path[0] = '\0';
    if (config != NULL && config[0] == '/')
        length = snprintf(path, room, "%s/sapporo/tune", config);
    else if (home != NULL && home[0] != '\0')
        length = snprintf(path, room, "%s/.config/sapporo/tune", home);
    if (length < 0 || (size_t)length >= room) path[0] = '\0';
}

int tune_make_folder(const char *path, char *error, size_t room)
{
    char folder[TUNE_PATH];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *c = folder; *c != '\0'; c++) {
        if (c[1] != '/' && c[1] != '\0') continue;
        const char end = c[1];
        c[1] = '\0';
        if (mkdir(folder, 0777) != 0 && errno != EEXIST) return fail(error, room, folder, strerror(errno));
        c[1] = end;
    }
    return 0;
}

static int make_folder_of(const char *path, char *error, size_t room)
{
    char folder[TUNE_PATH];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash == NULL || slash == folder) return 0;
    *slash = '\0';
    return tune_make_folder(folder, error, room);
}

int tune_file_check(const char *path, char *error, size_t room)
{
    char line[64] = "";
    struct stat about;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) return fail(error, room, path, "this is no regular file");
    FILE *file = fopen(path, "r");
    if (file == NULL && errno == ENOENT) return 0;
    if (file == NULL) return fail(error, room, path, strerror(errno));
    const int found = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    line[strcspn(line, "\r\n")] = '\0';
    if (!found || strcmp(line, FIRST_LINE) != 0)
        return fail(error, room, path, "this is no tuning file of this version; remove it, or name another");
    return 0;
}

int tune_folder_writable(const char *folder, char *error, size_t room)
{
    if (tune_make_folder(folder, error, room) != 0) return -1;
    return access(folder, W_OK | X_OK) == 0 ? 0 : fail(error, room, folder, strerror(errno));
}

int tune_file_writable(const char *path, char *error, size_t room)
{
    message why = {""};
    if (tune_file_check(path, error, room) != 0 || make_folder_of(path, error, room) != 0) return -1;
    if (atomic_check(path, &why) == 0) return 0;
    snprintf(error, room, "%s", why.text);
    return -1;
}

/* Returns 1 if a line sets a launch parameter that is being written. */
static int is_replaced(const char *line, const char *kind, const tuning *numbers)
{
    char key[TUNE_KEY + 8];
    line += strspn(line, " \t");
    const size_t length = strcspn(line, " \t\r\n");
    for (int k = 0; k < numbers->n; k++) {
        snprintf(key, sizeof key, "%s.%s", kind, numbers->key[k]);
        if (strlen(key) == length && strncmp(key, line, length) == 0) return 1;
    }
    return 0;
}

/* Returns 1 if a line begins the section of the device, 0 if it begins another section, -1 if none. */
static int begins_section(const char *line, const char *device)
{
    line += strspn(line, " \t");
    if (*line != '[') return -1;
    const size_t length = strlen(device);
    return strncmp(line + 1, device, length) == 0 && line[1 + length] == ']';
}

static void write_numbers(FILE *to, const char *kind, const tuning *numbers)
{
    for (int k = 0; k < numbers->n; k++) fprintf(to, "%s.%s %.6g\n", kind, numbers->key[k], numbers->value[k]);
}

/* Copies the file, with the launch parameters in their section. */
static void rewrite(FILE *from, FILE *to, const char *kind, const tuning *numbers)
{
    char line[1024];
    int inside = 0, written = 0, whole = 1;
    if (from == NULL) fprintf(to, "%s\n# written by: sapporo tune\n", FIRST_LINE);
    while (from != NULL && fgets(line, sizeof line, from) != NULL) {
        const int section = begins_section(line, numbers->device);
        if (section >= 0) inside = section;
        if (!inside || !is_replaced(line, kind, numbers)) fputs(line, to);
        whole = strchr(line, '\n') != NULL;
        if (section != 1) continue;
        if (!whole) fputc('\n', to);
        write_numbers(to, kind, numbers);
        whole = written = 1;
    }
    if (written) return;
    fprintf(to, "%s\n[%s]\n", whole ? "" : "\n", numbers->device);
    write_numbers(to, kind, numbers);
}

int tune_file_write(const char *path, const char *kind, const tuning *numbers, char *error, size_t room)
{
    atomic_file file;
    message why = {""};
    if (tune_file_check(path, error, room) != 0 || make_folder_of(path, error, room) != 0) return -1;
    int bad = atomic_open(&file, path, &why);
    if (bad == 0) {
        FILE *from = fopen(path, "r");
        rewrite(from, file.stream, kind, numbers);
        if (from != NULL) fclose(from);
        bad = atomic_commit(&file, &why);
    }
    if (bad != 0) snprintf(error, room, "%s", why.text);
    return bad;
}
