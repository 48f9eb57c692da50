/* faulty_walk.c - see faulty_walk.h. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "faulty_walk.h"

#include "driver/driver.h"
#include "faulty_driver.h"
#include "gpu/gpu_kernels.h"
#include "model.h"
#include "sanitized.h"
#include "stub_driver.h"
#include "stub_kernels.h"

#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

void faulty_walk(faulty_session *session, int devices, int every)
{
    sap_driver_replaced.cuda = faulty_wrap(&stub_driver), sap_driver_replaced.cuda_kernels = &stub_kernels;
    for (const struct faulty_kind *kind = faulty_kinds; kind->name; kind++) {
        for (long n = 1 + (kind - faulty_kinds) % every, left = 1; left; n += every) {
            faulty_plan(n, kind->status);
            const int noticed = session(devices, kind->status);
            left = faulty.failed > 0;
            if (left && !noticed && !faulty_is_harmless(faulty.failed_call))
                fail_msg("call %ld, %s, fails and nobody tells", n, faulty.failed_call);
            faulty_plan(0, SAP_DRIVER_OK);
            assert_int_equal(session(devices, SAP_DRIVER_OK), 0); /* a new session must succeed */
            sap_gpu_unload_idle(sap_driver_replaced.cuda);
            assert_true(stub_idle());
            if (!left) print_message("%s: %ld calls\n", kind->name, n - 1), assert_true(n > 40);
        }
    }
    assert_int_equal(stub.outside, 0);
    sap_driver_replaced.cuda = NULL, sap_driver_replaced.cuda_kernels = NULL;
}

int faulty_every(int every) { return SANITIZED && test_sparing() ? 3 * every : every; }

void faulty_alone(char **argv)
{
    /* more threads would only wait for each other */
    if (!getenv("OMP_THREAD_LIMIT") && setenv("OMP_THREAD_LIMIT", "1", 1) == 0) (void)execv("/proc/self/exe", argv);
#ifdef M_MMAP_THRESHOLD
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 30);
    (void)mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
    setenv("SAPPORO_VERBOSE", "0", 1);
}
