/*
 * opencl_vendors.c - tells from files whether an OpenCL driver can have a GPU or an accelerator, before any is loaded.
 *
 * PoCL computes on CPUs, which `auto` leaves to the CPU engine.  Loading it with its compiler takes 25 ms and 66 MB,
 * only to learn this.  So `auto` does not load OpenCL where PoCL is its only driver and the system has no GPU that PoCL
 * could use.  In every other case, and where anything is not as usual, the drivers are loaded and asked.
 */
#define _GNU_SOURCE
#include "driver/opencl/opencl_api.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/file.h"
#include "base/process.h"
#include "base/static_program.h"
#include "driver/driver.h"
#include "variables.h"

static const char folder[] = "/etc/OpenCL/vendors";

/* Whether a text of n characters ends with `end`. */
static int ends_with(const char *text, size_t n, const char *end)
{
    return n >= strlen(end) && strcmp(text + n - strlen(end), end) == 0;
}

/* Whether a file of `folder` names PoCL's library. */
static int names_pocl(const char *name)
{
    enum { MOST = 4096 };
    static const char pocl[] = "libpocl";
    char path[sizeof folder + 256];
    struct sap_file file;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    if (sap_file_read(path, MOST, &file) != SAP_FILE_READ) return 0;
    const char *library = file.bytes;
    for (const char *c = file.bytes; *c && *c != '\n'; c++)
        if (*c == '/') library = c + 1;
    const int is_pocl = strncmp(library, pocl, sizeof pocl - 1) == 0;
    free(file.bytes);
    return is_pocl;
}

/* Whether PoCL is the only driver that is installed. */
static int only_pocl(void)
{
    int found = 0, others = 0;
    DIR *const all = opendir(folder);
    if (!all) return 0;
    /* cppcheck-suppress readdirCalled ; no other thread reads this folder by the same handle */
    for (const struct dirent *entry; (entry = readdir(all)) != NULL;) {
        if (!ends_with(entry->d_name, strlen(entry->d_name), ".icd")) continue;
        found++;
        others += !names_pocl(entry->d_name);
    }
    (void)closedir(all);
    return found > 0 && others == 0;
}

/* Whether the system shows a GPU or an accelerator: PoCL can be built for some. */
static int has_gpu(void)
{
    static const char *const nodes[] = {"/dev/nvidiactl", "/dev/nvidia0", "/dev/kfd", "/dev/dxg", "/dev/accel"};
    int renders = 0;
    for (size_t k = 0; k < sizeof nodes / sizeof *nodes; k++)
        if (access(nodes[k], F_OK) == 0) return 1;
    DIR *const dri = opendir("/dev/dri");
    if (!dri) return access("/dev/dri", F_OK) == 0;
    /* cppcheck-suppress readdirCalled ; as above */
    for (const struct dirent *entry; (entry = readdir(dri)) != NULL;)
        renders |= strncmp(entry->d_name, "renderD", 7) == 0;
    (void)closedir(dri);
    return renders;
}

/* Whether variables of the loader or of PoCL are set, which may name other drivers and devices. */
static int is_told(void)
{
    for (int k = SAP_VAR_ICD_VENDORS; k <= SAP_VAR_POCL_DEVICES; k++)
        if (sap_env_is_set(&sap_variables[k])) return 1;
    return 0;
}

/* Whether libOpenCL.so.1 is that of the system, which reads `folder`; other installations have folders of their own. */
static int loader_is_systems(void)
{
    Dl_info where;
    void *const library = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!library) return 0;
    const void *const call = dlsym(library, "clGetPlatformIDs");
    const int known = call && dladdr(call, &where) && where.dli_fname;
    const int is_systems =
        known && (strncmp(where.dli_fname, "/usr/lib", 8) == 0 || strncmp(where.dli_fname, "/lib", 4) == 0);
    (void)dlclose(library);
    return is_systems;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int left; /* 1: `auto` does not load OpenCL */

static void look(void) { left = only_pocl() && !has_gpu() && loader_is_systems(); }

const char *sap_opencl_left(void)
{
    if (atomic_load(&sap_opencl.tried) || sap_forked || sap_env_raised() || sap_program_is_static() || is_told())
        return NULL;
    (void)pthread_once(&once, look);
    return left ? "OpenCL's only driver is PoCL, which computes on CPUs; it is not loaded" : NULL;
}
