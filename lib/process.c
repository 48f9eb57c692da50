/* process.c - the state of process.h as it is when the library is loaded. */
#include "process.h"

struct sap_process sap_process = {
    .closed_lock = ATOMIC_FLAG_INIT,
    .segments_lock = ATOMIC_FLAG_INIT,
    .gpu_lock = ATOMIC_FLAG_INIT,
    .machine = {.lock = ATOMIC_FLAG_INIT},
    .log_lock = ATOMIC_FLAG_INIT,
    .notes_lock = ATOMIC_FLAG_INIT,
    .verbosity = -1,
    .g6 = {.lock = ATOMIC_FLAG_INIT, .sort_mode = 1},
    .cuda = {.once = PTHREAD_ONCE_INIT},
    .opencl = {.once = PTHREAD_ONCE_INIT, .lock = ATOMIC_FLAG_INIT},
};

struct sap_g5_table sap_g5;

_Thread_local char sap_open_error[256];
_Thread_local char sap_cuda_error[256];
_Thread_local char sap_opencl_error[256];
