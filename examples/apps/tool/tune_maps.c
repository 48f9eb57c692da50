/*
 * tune_maps.c - the maps of Sapporo2's paper (Bedorf, Gaburov & Portegies Zwart 2015), as data: time by launch shape,
 * time against active particles, and where the CPU is faster.
 */
#define _POSIX_C_SOURCE 200809L

#include "atomic_file.h"
#include "tune.h"
#include "util.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const double CPU_PATIENCE = 0.15; /* seconds of a CPU's force above which larger forces are left out */

/* Copies what a file has so far. */
static void copy_file(const char *path, FILE *to)
{
    char line[1024];
    FILE *from = fopen(path, "r");
    while (from != NULL && fgets(line, sizeof line, from) != NULL) fputs(line, to);
    if (from != NULL) fclose(from);
}

/*
 * Begins a new file of the folder: for the first precision with its header, else with what it has.  NULL: failed;
 * close_data ends it.
 */
static FILE *open_data(tuner *self, atomic_file *file, const char *folder, const char *name, const char *header,
                       int first)
{
    char path[TUNE_PATH + 32];
    message why = {""};
    snprintf(path, sizeof path, "%s/%s.csv", folder, name);
    if (atomic_open(file, path, &why) != 0) {
        snprintf(self->error, sizeof self->error, "%.150s", why.text);
        return NULL;
    }
    if (first)
        fprintf(file->stream, "%s\n", header);
    else
        copy_file(path, file->stream);
    return file->stream;
}

/* Ends a file; after a failure the one that was there stays. */
static int close_data(tuner *self, atomic_file *file, int status)
{
    message why = {""};
    if (status != 0)
        atomic_abandon(file);
    else if (atomic_commit(file, &why) != 0) {
        snprintf(self->error, sizeof self->error, "%.150s", why.text);
        return -1;
    }
    return status;
}

/* ---- launch shapes -------------------------------------------------------------------- */

/* Extreme costs that leave one kind of kernel in use; 0: unchanged. */
typedef struct forced_shape {
    const char *name;
    double few, few1, many1;
} forced_shape;

static const forced_shape SHAPES[] = {{"as tuned", 0, 0, 0},
                                      {"2 i a thread", 1e3, 1e3, 1e3},
                                      {"1 i a thread", 1e3, 1e3, 1e-2},
                                      {"4 i a warp", 1e-3, 0, 0},
                                      {"1 i a warp", 0, 1e-3, 0}};

/* Returns 0 if the launch parameters have no such shapes. */
static int force_shape(tuning *numbers, const forced_shape *shape)
{
    const int few = tune_find(numbers, "few_cost"), few1 = tune_find(numbers, "few1_cost");
    const int many1 = tune_find(numbers, "many1_cost"), fill = tune_find(numbers, "fill_cost");
    if (few < 0 || few1 < 0 || many1 < 0 || fill < 0) return 0;
    double *v = numbers->value;
    if (shape->many1 > 0.0) v[many1] = shape->many1;
    if (shape->few1 > 0.0 && shape->few1 < 1.0) v[fill] *= shape->few1 / v[few1]; /* in proportion to its pairs */
    if (shape->few > 0.0 && shape->few < 1.0) v[fill] *= shape->few / v[few];
    if (shape->few1 > 0.0) v[few1] = shape->few1;
    if (shape->few > 0.0) v[few] = shape->few;
    return 1;
}

static int map_shapes(tuner *self, const tuning *numbers, const char *folder, int first)
{
    atomic_file data;
    FILE *file = open_data(self, &data, folder, "shapes", "precision,shape,ni,nj,seconds", first);
    if (file == NULL) return -1;
    int status = 0;
    for (size_t s = 0; s < sizeof SHAPES / sizeof SHAPES[0] && status == 0; s++) {
        tuning forced = *numbers;
        grid sizes;
        if (!force_shape(&forced, &SHAPES[s])) break;
        tune_sizes(self, &sizes);
        status = tune_time_grid(self, &forced, &sizes, 0);
        for (int k = 0; k < sizes.n && status == 0; k++)
            fprintf(file, "%s,%s,%d,%d,%.4e\n", self->kind, SHAPES[s].name, sizes.ni[k], sizes.nj[k], sizes.seconds[k]);
    }
    return close_data(self, &data, status);
}

/* ---- active particles, CPU or device ----------------------------------------------------- */

/* Measures one engine's times for all ni that are powers of two; `name` is its column. */
static int map_row(tuner *self, client *on, const char *name, int nj, double patience, FILE *file)
{
    for (int ni = 1; ni <= nj; ni *= 2) {
        const double seconds = tune_time(self, on, ni, nj, 0);
        if (seconds < 0.0) return -1;
        fprintf(file, "%s,%s,%d,%d,%.4e\n", self->kind, name, ni, nj, seconds);
        if (seconds > patience) break;
    }
    return 0;
}

static int map_active(tuner *self, client *device, client *cpu, const char *folder, int first)
{
    const char *name = backend_name(self->what.backend);
    atomic_file data;
    FILE *file = open_data(self, &data, folder, "active", "precision,engine,ni,nj,seconds", first);
    int status = file != NULL ? 0 : -1;
    for (int nj = self->cluster.n; nj >= 1024 && status == 0; nj /= 8) {
        status = map_row(self, device, name, nj, 1e9, file);
        if (status == 0) status = map_row(self, cpu, "cpu", nj, CPU_PATIENCE, file);
    }
    return file != NULL ? close_data(self, &data, status) : -1;
}

static int map_engines(tuner *self, client *device, client *cpu, const char *folder, int first)
{
    const char *name = backend_name(self->what.backend);
    const int most = self->quick ? 2048 : 32768;
    atomic_file data;
    FILE *file = open_data(self, &data, folder, "cpu_or_device", "precision,engine,ni,nj,seconds", first);
    int status = file != NULL ? 0 : -1;
    for (int nj = 64; nj <= most && nj <= self->cluster.n && status == 0; nj *= 2) {
        status = map_row(self, device, name, nj, 1e9, file);
        if (status == 0) status = map_row(self, cpu, "cpu", nj, CPU_PATIENCE, file);
    }
    return file != NULL ? close_data(self, &data, status) : -1;
}

int tune_maps(tuner *self, const tuning *numbers, const char *folder, int first)
{
    if (tune_make_folder(folder, self->error, sizeof self->error) != 0) return -1;
    if (map_shapes(self, numbers, folder, first) != 0) return -1;
    client *device = tune_open(self, numbers), *cpu = device != NULL ? tune_open_cpu(self) : NULL;
    int status = cpu != NULL ? 0 : -1;
    if (status == 0) status = map_active(self, device, cpu, folder, first);
    if (status == 0) status = map_engines(self, device, cpu, folder, first);
    if (cpu != NULL) CLIENT_NATIVE.close(cpu);
    if (device != NULL) CLIENT_NATIVE.close(device);
    return status;
}

/* ---- pictures ------------------------------------------------------------------------------ */

/* Finds the script in apps/tool/ beside the program; returns 0 if its path is not known. */
static int find_script(char *path, size_t room)
{
    const ssize_t length = readlink("/proc/self/exe", path, room - 1);
    if (length <= 0) return 0;
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL) return 0;
    snprintf(slash, room - (size_t)(slash - path), "/apps/tool/maps.py");
    return access(path, R_OK) == 0;
}

void tune_draw_maps(const char *folder)
{
    char script[TUNE_PATH];
    int status = -1;
    fflush(stdout);
    const pid_t child = find_script(script, sizeof script) ? fork() : -1;
    if (child == 0) {
        execlp("python3", "python3", script, folder, (char *)NULL);
        _exit(127);
    }
    if (child > 0) (void)waitpid(child, &status, 0);
    if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    printf("no pictures were drawn; where python3 and matplotlib are: python3 examples/apps/tool/maps.py %s\n", folder);
}
