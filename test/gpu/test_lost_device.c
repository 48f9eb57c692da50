/* test_lost_device.c - a device that is lost while no context uses it is opened again with all its properties. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/options.h"
#include "faulty_driver.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_kernels.h"
#include "stub_driver.h"
#include "stub_kernels.h"

/* Over the stub: after a loss that no call has met, opening makes another attempt, and finds the same device. */
static void lost_unnoticed(void **state)
{
    const struct sap_settings settings = {.precision = SAPPORO_DS, .order = 4};
    struct sap_gpu_set *set = NULL;
    char why[256];
    (void)state;
    stub_reset(1);
    const struct sap_driver *const driver = faulty_wrap(&stub_driver);
    for (long n = 0; n < 40; n++) { /* the first time without a fault */
        faulty_plan(n, SAP_DRIVER_LOST);
        assert_int_equal(sap_gpu_open(driver, &stub_kernels, &settings, 0, &set, why, sizeof why), SAPPORO_OK);
        assert_int_equal(set->n, 1);
        if (!set->has_fp64) fail_msg("%s failed: the device seems to have no double precision", faulty.failed_call);
        sap_gpu_close(set);
    }
    sap_gpu_unload_idle(driver);
    assert_true(stub_idle());
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lost_unnoticed)};
    return cmocka_run_group_tests_name("lost device", tests, NULL, NULL);
}
