/*
 * cuda_api.c - resolves libcuda and its calls once per process, and translates its results to driver statuses.
 */
#define _POSIX_C_SOURCE 200809L
#include "driver/cuda/cuda_api.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/environment.h"
#include "base/process.h"
#include "base/static_program.h"
#include "driver/driver.h"

struct sap_cuda sap_cuda = {.once = PTHREAD_ONCE_INIT};
_Thread_local char sap_cuda_error[256];

/* ---------------------------------------------------------------- errors */

int sap_cuda_refuse(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sap_cuda_error, sizeof sap_cuda_error, format, arguments);
    va_end(arguments);
    return status;
}

/* Groups CUresult numbers by the action that a caller can take. */
static int status_of(int result)
{
    switch (result) {
    case 0:
        return SAP_DRIVER_OK;
    case 600:
        return SAP_DRIVER_PENDING; /* NOT_READY */
    case 2:
        return SAP_DRIVER_MEMORY; /* OUT_OF_MEMORY */
    case 701:                     /* LAUNCH_OUT_OF_RESOURCES */
    case 703:                     /* LAUNCH_INCOMPATIBLE_TEXTURING */
    case 720:                     /* COOPERATIVE_LAUNCH_TOO_LARGE */
    case 912:
        return SAP_DRIVER_LAUNCH; /* INVALID_CLUSTER_SIZE */
    case 4:                       /* DEINITIALIZED */
    case 201:                     /* INVALID_CONTEXT: the device was reset */
    case 214:                     /* ECC_UNCORRECTABLE */
    case 220:                     /* NVLINK_UNCORRECTABLE */
    case 226:                     /* CONTAINED */
    case 700:                     /* ILLEGAL_ADDRESS */
    case 702:                     /* LAUNCH_TIMEOUT */
    case 709:                     /* CONTEXT_IS_DESTROYED */
    case 710:                     /* ASSERT */
    case 714:                     /* HARDWARE_STACK_ERROR */
    case 715:                     /* ILLEGAL_INSTRUCTION */
    case 716:                     /* MISALIGNED_ADDRESS */
    case 717:                     /* INVALID_ADDRESS_SPACE */
    case 718:                     /* INVALID_PC */
    case 719:                     /* LAUNCH_FAILED */
    case 721:                     /* TENSOR_MEMORY_LEAK */
    case 806:                     /* MPS_RPC_FAILURE */
    case 810:                     /* MPS_CLIENT_TERMINATED */
    case 999:
        return SAP_DRIVER_LOST; /* UNKNOWN: seen when a device falls off its bus */
    case 3:                     /* NOT_INITIALIZED: also in a child after fork */
    case 34:                    /* STUB_LIBRARY */
    case 46:                    /* DEVICE_UNAVAILABLE: another process has exclusive use */
    case 100:                   /* NO_DEVICE */
    case 101:                   /* INVALID_DEVICE */
    case 200:                   /* INVALID_IMAGE */
    case 209:                   /* NO_BINARY_FOR_GPU */
    case 218:                   /* INVALID_PTX */
    case 221:                   /* JIT_COMPILER_NOT_FOUND */
    case 222:                   /* UNSUPPORTED_PTX_VERSION */
    case 223:                   /* JIT_COMPILATION_DISABLED */
    case 300:                   /* INVALID_SOURCE */
    case 801:                   /* NOT_SUPPORTED */
    case 802:                   /* SYSTEM_NOT_READY */
    case 803:                   /* SYSTEM_DRIVER_MISMATCH */
    case 804:
        return SAP_DRIVER_UNSUPPORTED; /* COMPAT_NOT_SUPPORTED_ON_DEVICE */
    default:
        return SAP_DRIVER_ERROR;
    }
}

int sap_cuda_check(int result, const char *call)
{
    const struct sap_cuda_api *cu = &sap_cuda.api;
    const int status = status_of(result);
    const char *name = NULL, *words = NULL;
    if (status == SAP_DRIVER_OK || status == SAP_DRIVER_PENDING) return status;
    if (cu->error_name(result, &name) != 0 || !name) name = "an error without a name";
    if (cu->error_string(result, &words) != 0 || !words) words = "no words for it";
    return sap_cuda_refuse(status, "%s: %s (%s, %d)", call, words, name, result);
}

/* ---------------------------------------------------------------- loading */

/* Stores the address of a call, or NULL, in `room`, a pointer to a function. */
static int find(void *library, void *room, const char *symbol, const char *older)
{
    void *address = dlsym(library, symbol);
    if (!address && older) address = dlsym(library, older);
    memcpy(room, &address, sizeof address); /* ISO C has no conversion between the two kinds of pointers */
    return address != NULL;
}

/* Resolves all calls; returns the name of a missing call that is needed, or NULL. */
static const char *find_calls(void *library, struct sap_cuda_api *api)
{
    const char *missing = NULL;
#define FIND(name, symbol, older, needed, arguments)                                                                   \
    if (!find(library, &api->name, symbol, older) && (needed) && !missing) missing = symbol
    SAP_CUDA_CALLS(FIND);
#undef FIND
    return missing;
}

/* Reads the version of the kernel's driver, such as 580.82.07, which libcuda does not report; "" if unknown. */
static void kernel_driver(char *version, size_t room)
{
    char line[256] = "";
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    version[0] = '\0';
    if (!file) return;
    if (fgets(line, sizeof line, file)) {
        char *rest = NULL;
        for (char *word = strtok_r(line, " \t\n", &rest); word; word = strtok_r(NULL, " \t\n", &rest))
            if (strspn(word, "0123456789.") == strlen(word) && strchr(word, '.')) {
                (void)snprintf(version, room, "driver %.20s, ", word);
                break;
            }
    }
    (void)fclose(file);
}

/* Initialises CUDA; returns a message for the user if that fails. */
static const char *begin(struct sap_cuda *cuda)
{
    char driver[32];
    if (sap_env_raised()) {
        (void)sap_cuda_refuse(0, "no CUDA with raised privileges: its driver loads what the environment names");
        return sap_cuda_error;
    }
    if (sap_program_is_static()) {
        (void)sap_cuda_refuse(0, "no CUDA in a program that is linked statically: its driver is a shared library");
        return sap_cuda_error;
    }
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        (void)sap_cuda_refuse(0, "no NVIDIA driver: %s", why ? why : "libcuda.so.1 does not load");
        return sap_cuda_error;
    }
    const char *missing = find_calls(library, &cuda->api);
    if (missing) {
        (void)sap_cuda_refuse(0, "the NVIDIA driver is too old: its libcuda.so.1 has no %s", missing);
        return sap_cuda_error;
    }
    if (sap_cuda_check(cuda->api.init(0), "cuInit") != SAP_DRIVER_OK) return sap_cuda_error;
    if (sap_cuda_check(cuda->api.driver_version(&cuda->version), "cuDriverGetVersion") != SAP_DRIVER_OK ||
        sap_cuda_check(cuda->api.device_count(&cuda->devices), "cuDeviceGetCount") != SAP_DRIVER_OK)
        return sap_cuda_error;
    kernel_driver(driver, sizeof driver);
    (void)snprintf(cuda->reason, sizeof cuda->reason, "%sCUDA %d.%d%s", driver, cuda->version / 1000,
                   cuda->version % 1000 / 10, cuda->devices > 0 ? "" : " has no device");
    return NULL;
}

/* CUDA does not survive a fork. */
static void in_child(void) { sap_forked = 1; }

static void load(void)
{
    struct sap_cuda *cuda = &sap_cuda;
    (void)pthread_atfork(NULL, NULL, in_child);
    const char *why = begin(cuda);
    if (why) {
        memcpy(cuda->reason, why, sizeof cuda->reason);
        cuda->devices = 0;
    }
    cuda->usable = !why;
}

int sap_cuda_ready(void)
{
    struct sap_cuda *cuda = &sap_cuda;
    if (sap_forked) return sap_cuda_refuse(SAP_DRIVER_UNSUPPORTED, "CUDA cannot be used in a child after fork");
    (void)pthread_once(&cuda->once, load);
    return cuda->usable ? SAP_DRIVER_OK : sap_cuda_refuse(SAP_DRIVER_UNSUPPORTED, "%s", cuda->reason);
}
