/*
 * cuda_api.c - resolves libcuda and its calls once per process, and translates results of CUDA and HIP to driver
 * statuses.
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

/* Groups CUresult and hipError_t numbers, which agree, by the action that a caller can take. */
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

int sap_cuda_check(const struct sap_cuda *cuda, int result, const char *call)
{
    const int status = status_of(result);
    const char *name = NULL, *words = NULL;
    if (status == SAP_DRIVER_OK || status == SAP_DRIVER_PENDING) return status;
    if (cuda->api.error_name(result, &name) != 0 || !name) name = "an error without a name";
    if (cuda->api.error_string(result, &words) != 0 || !words) words = "no words for it";
    const char *const version = strstr(call, "_v2"); /* of the binary interface, which users do not know */
    return sap_cuda_refuse(status, "%.*s: %s (%s, %d)", version ? (int)(version - call) : (int)strlen(call), call,
                           words, name, result);
}

/* ---------------------------------------------------------------- loading */

int sap_cuda_find(void *library, void *room, const char *symbol, const char *older)
{
    void *address = dlsym(library, symbol);
    if (!address && older) address = dlsym(library, older);
    memcpy(room, &address, sizeof address); /* ISO C has no conversion between the two kinds of pointers */
    return address != NULL;
}

const char *sap_cuda_find_calls(void *library, struct sap_cuda_api *api, const struct sap_cuda_symbol *symbols, int n)
{
    const char *missing = NULL;
    for (const struct sap_cuda_symbol *one = symbols; one < symbols + n; one++)
        if (!sap_cuda_find(library, (char *)api + one->member, one->symbol, one->older) && one->needed && !missing)
            missing = one->symbol;
    return missing;
}

/* Writes "driver 580.82.07, ", the version of the kernel's driver, which libcuda does not report; "" if unknown. */
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

static void write_version(const struct sap_cuda *cuda, char *text, size_t room)
{
    (void)snprintf(text, room, "CUDA %d.%d", cuda->version / 1000, cuda->version % 1000 / 10);
}

static const struct sap_cuda_symbol symbols[] = {
#define SYMBOL(name, symbol, older, needed, arguments) {symbol, older, needed, offsetof(struct sap_cuda_api, name)},
    SAP_CUDA_CALLS(SYMBOL)
#undef SYMBOL
};

static const char *find_cuda(struct sap_cuda *cuda)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        (void)sap_cuda_refuse(0, "no NVIDIA driver: %s", why ? why : "libcuda.so.1 does not load");
        return sap_cuda_error;
    }
    const char *missing = sap_cuda_find_calls(library, &cuda->api, symbols, (int)(sizeof symbols / sizeof *symbols));
    if (missing) {
        (void)sap_cuda_refuse(0, "the NVIDIA driver is too old: its libcuda.so.1 has no %s", missing);
        return sap_cuda_error;
    }
    return NULL;
}

/* Initialises CUDA or HIP; returns a message for the user if that fails. */
static const char *begin(struct sap_cuda *cuda)
{
    const char *const name = cuda->kind->name;
    if (sap_env_raised()) {
        (void)sap_cuda_refuse(0, "no %s with raised privileges: its driver loads what the environment names", name);
        return sap_cuda_error;
    }
    if (sap_program_is_static()) {
        (void)sap_cuda_refuse(0, "no %s in a program that is linked statically: its driver is a shared library", name);
        return sap_cuda_error;
    }
    const char *const why = cuda->kind->find(cuda);
    if (why) return why;
    if (SAP_CUDA_CALL(cuda, init, 0) != SAP_DRIVER_OK ||
        SAP_CUDA_CALL(cuda, driver_version, &cuda->version) != SAP_DRIVER_OK ||
        SAP_CUDA_CALL(cuda, device_count, &cuda->devices) != SAP_DRIVER_OK)
        return sap_cuda_error;
    char version[64], driver[32] = "";
    if (cuda->kind->kernel_driver) cuda->kind->kernel_driver(driver, sizeof driver);
    cuda->kind->version(cuda, version, sizeof version);
    (void)snprintf(cuda->reason, sizeof cuda->reason, "%s%s%s", driver, version,
                   cuda->devices > 0 ? "" : " has no device");
    return NULL;
}

/* Neither CUDA nor HIP survives a fork. */
static void in_child(void) { sap_forked = 1; }

void sap_cuda_load(struct sap_cuda *cuda)
{
    (void)pthread_atfork(NULL, NULL, in_child);
    const char *why = begin(cuda);
    if (why) {
        memcpy(cuda->reason, why, sizeof cuda->reason);
        cuda->devices = 0;
    }
    cuda->usable = !why;
}

int sap_cuda_ready(struct sap_cuda *cuda)
{
    if (sap_forked)
        return sap_cuda_refuse(SAP_DRIVER_UNSUPPORTED, "%s cannot be used in a child after fork", cuda->kind->name);
    (void)pthread_once(&cuda->once, cuda->kind->load);
    return cuda->usable ? SAP_DRIVER_OK : sap_cuda_refuse(SAP_DRIVER_UNSUPPORTED, "%s", cuda->reason);
}

/* ---------------------------------------------------------------- CUDA */

static void write_architecture(const struct sap_cuda *cuda, sap_cu_device device, char *text, size_t room)
{
    enum { COMPUTE_CAPABILITY_MAJOR = 75, COMPUTE_CAPABILITY_MINOR = 76 };
    int major = 0, minor = 0;
    if (cuda->api.device_attribute(&major, COMPUTE_CAPABILITY_MAJOR, device) != 0) major = 0;
    if (cuda->api.device_attribute(&minor, COMPUTE_CAPABILITY_MINOR, device) != 0) minor = 0;
    (void)snprintf(text, room, "sm_%d%d", major, minor);
}

static int type_of_device(const struct sap_cuda *cuda)
{
    (void)cuda;
    return 2; /* CU_MEMORYTYPE_DEVICE */
}

static void load_cuda(void) { sap_cuda_load(&sap_cuda); }

#define NAME(name, symbol, older, needed, arguments) .name = symbol,
static const struct sap_cuda_names names = {SAP_CUDA_CALLS(NAME)};
#undef NAME

/* The numbers are those of CUdevice_attribute. */
static const struct sap_cuda_kind kind = {.name = "CUDA",
                                          .library = "libcuda",
                                          .names = &names,
                                          .kernels = &sap_embedded_cuda,
                                          .find = find_cuda,
                                          .load = load_cuda,
                                          .version = write_version,
                                          .kernel_driver = kernel_driver,
                                          .architecture = write_architecture,
                                          .type_of_device = type_of_device,
                                          .threads_per_block = 1,
                                          .shared_per_block = 8,
                                          .warp = 10,
                                          .units = 16,
                                          .l2 = 38,
                                          .threads_per_unit = 39,
                                          .shared_per_unit = 81,
                                          .shared_optin = 97};

struct sap_cuda sap_cuda = {.once = PTHREAD_ONCE_INIT, .kind = &kind};
