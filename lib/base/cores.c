/* cores.c - counts the cores that this process may use: affinity, places of OpenMP, quota of control groups. */
#define _GNU_SOURCE
#include "base/cores.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/environment.h"

int sap_cores_of_quota(const char *text)
{
    char *end;
    const long long quota = strtoll(text, &end, 10);
    const long long period = end > text ? strtoll(end, NULL, 10) : 0;
    const long long most = 1 << 20;
    if (quota <= 0 || period <= 0 || quota / period >= most) return 0;
    return (int)((quota + period - 1) / period);
}

#if defined(__linux__)

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

/* Functions of an OpenMP run time, if the program has one. */
__attribute__((weak)) int omp_get_num_places(void);
__attribute__((weak)) int omp_get_place_num_procs(int place);
__attribute__((weak)) void omp_get_place_proc_ids(int place, int *ids);

enum { CPUS = 16384, PATH = 512, TEXT = 4096 };

/* A set of processors, large enough for any machine. */
struct processors {
    unsigned long bit[CPUS / (8 * sizeof(unsigned long))];
};

static int count_of(struct processors *set) { return CPU_COUNT_S(sizeof *set, (cpu_set_t *)(void *)set); }

/* Whether the user has set places or affinity for the OpenMP run time. */
static int places_are_set(void)
{
    const char *text;
    for (int k = 0; k < sap_variable_table.nplaces; k++)
        if (sap_env_text(&sap_variable_table.places[k], &text) > 0) return 1;
    return 0;
}

/*
 * Sets *set to the processors of all OpenMP places and returns their number; 0: there are none.  It asks the run time
 * only if the user has set places, because the first call starts the run time, and LLVM's run time ends the process if
 * it has no memory to start.
 */
static int find_places(struct processors *set)
{
    enum { OF_PLACE = 1024 };
    memset(set, 0, sizeof *set);
    if (!omp_get_num_places || !omp_get_place_num_procs || !omp_get_place_proc_ids) return 0;
    if (!places_are_set()) return 0;
    const int places = omp_get_num_places();
    for (int p = 0; p < places; p++) {
        int id[OF_PLACE];
        const int n = omp_get_place_num_procs(p);
        if (n < 1 || n > OF_PLACE) continue;
        omp_get_place_proc_ids(p, id);
        for (int k = 0; k < n; k++)
            if (id[k] >= 0 && id[k] < CPUS) CPU_SET_S((size_t)id[k], sizeof *set, (cpu_set_t *)(void *)set);
    }
    return count_of(set);
}

static int allowed(void)
{
    struct processors set;
    memset(&set, 0, sizeof set);
    if (sched_getaffinity(0, sizeof set, (cpu_set_t *)(void *)&set)) return (int)sysconf(_SC_NPROCESSORS_ONLN);
    const int own = count_of(&set), all = find_places(&set);
    return all > own ? all : own;
}

void sap_cores_of_places(pthread_attr_t *attributes)
{
    struct processors set;
    if (find_places(&set) > 0) (void)pthread_attr_setaffinity_np(attributes, sizeof set, (cpu_set_t *)(void *)&set);
}

/* Reads the beginning of a small regular file; returns 0 if it cannot be read. */
static int read_text(const char *path, char text[TEXT])
{
    struct stat about;
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return 0;
    const ssize_t n = fstat(file, &about) == 0 && S_ISREG(about.st_mode) ? read(file, text, TEXT - 1) : -1;
    (void)close(file);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

static int fewer(int a, int b) { return a == 0 || (b > 0 && b < a) ? b : a; }

/* The limit of one control group in cores, from the files of version 2 or 1; 0: none. */
static int limit_of_group(const char *root, const char *group)
{
    char path[2 * PATH], text[TEXT], period[TEXT];
    (void)snprintf(path, sizeof path, "%s%s/cpu.max", root, group);
    if (read_text(path, text)) return sap_cores_of_quota(text);
    (void)snprintf(path, sizeof path, "%s%s/cpu.cfs_quota_us", root, group);
    if (!read_text(path, text)) return 0;
    (void)snprintf(path, sizeof path, "%s%s/cpu.cfs_period_us", root, group);
    if (!read_text(path, period)) return 0;
    (void)snprintf(path, sizeof path, "%.100s %.100s", text, period);
    return sap_cores_of_quota(path);
}

/* The smallest limit of a control group and all groups above it; 0: none. */
static int limit_of_groups(const char *root, const char *name)
{
    char group[PATH];
    int least = 0;
    (void)snprintf(group, sizeof group, "%s", strcmp(name, "/") == 0 ? "" : name);
    for (;;) {
        least = fewer(least, limit_of_group(root, group));
        char *const slash = strrchr(group, '/');
        if (!slash) return least;
        *slash = '\0';
    }
}

/* Whether a list of controllers ("cpu,cpuacct") names cpu. */
static int names_cpu(const char *list)
{
    for (; *list; list += strcspn(list, ","), list += *list == ',')
        if (strncmp(list, "cpu", 3) == 0 && (list[3] == ',' || list[3] == '\0')) return 1;
    return 0;
}

/* The smallest limit of all control groups of this process; 0: none.  Lines of the file have the form "0::/name" or
 * "4:cpu,cpuacct:/name". */
static int quota(void)
{
    char text[TEXT], *rest = text;
    int least = 0;
    if (!read_text("/proc/self/cgroup", text)) return 0;
    for (char *line; (line = strtok_r(rest, "\n", &rest)) != NULL;) {
        char *const list = strchr(line, ':'), *const name = list ? strchr(list + 1, ':') : NULL;
        if (!name) continue;
        *name = '\0';
        if (list[1] == '\0') {
            least = fewer(least, limit_of_groups("/sys/fs/cgroup", name + 1));
        } else if (names_cpu(list + 1)) {
            least = fewer(least, limit_of_groups("/sys/fs/cgroup/cpu", name + 1));
        }
    }
    return least;
}

#else

static int allowed(void) { return (int)sysconf(_SC_NPROCESSORS_ONLN); }
static int quota(void) { return 0; }
void sap_cores_of_places(pthread_attr_t *attributes) { (void)attributes; }

#endif

int sap_cores(void)
{
    static atomic_int known; /* quota + 1, read once, because reading takes about 10 us; 0: not read yet */
    int limit = atomic_load_explicit(&known, memory_order_relaxed) - 1;
    const int cores = allowed();
    if (limit < 0) {
        limit = quota();
        atomic_store_explicit(&known, limit + 1, memory_order_relaxed);
    }
    const int granted = limit > 0 && limit < cores ? limit : cores;
    return granted > 0 ? granted : 1;
}
