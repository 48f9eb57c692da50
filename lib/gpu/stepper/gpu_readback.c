/* gpu_readback.c - what the kernels of a stepper report: reset before a launch, and copied to pinned memory after it.
 */
#include <string.h>

#include "gpu/gpu_launch.h"
#include "gpu/stepper/gpu_stepper.h"

enum { TOLD = SAP_STEPPER_TOLD, NONE_BAD = 0x7F7F7F7F };

int sap_stepper_reset(struct sap_gpu_stepper *s)
{
    TRY(sap_session_fill(s->session, s->bad.mem, 0, 0x7F, sizeof(int)));
    return sap_session_fill(s->session, s->bad.mem, sizeof(int), 0, (TOLD - 1) * sizeof(int));
}

int sap_stepper_ask(struct sap_gpu_stepper *s, int *bad)
{
    const int *const told = s->told.host;
    TRY(sap_session_copy_out(s->session, s->told.host, s->bad.mem, 0, TOLD * sizeof(int)));
    TRY(sap_session_wait(s->session));
    *bad = told[0] == NONE_BAD ? -1 : told[0];
    return SAP_DRIVER_OK;
}

void sap_stepper_copy_levels(const struct sap_gpu_stepper *s, struct sap_step_told *told)
{
    memcpy(told->levels, (const int *)s->told.host + 1, sizeof told->levels);
    memcpy(told->massless, (const int *)s->told.host + 1 + SAP_STEP_LEVELS, sizeof told->massless);
}
