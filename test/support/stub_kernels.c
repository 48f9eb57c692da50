/* stub_kernels.c - see stub_kernels.h. */
#include "stub_kernels.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "accum.h"
#include "physics/gpu_layout.h"
#include "stub_driver.h"

enum { SUMS = SAP_GPU_OUT_SUMS };

static const unsigned char nothing[16] = {1};

static const struct sap_image images[] = {{"force_sp", nothing, sizeof nothing}, {"force_ds", nothing, sizeof nothing},
                                          {"force_dp", nothing, sizeof nothing}, {"store", nothing, sizeof nothing},
                                          {"finish", nothing, sizeof nothing},   {"lists", nothing, sizeof nothing}};

const struct sap_embedded stub_kernels = {images, sizeof images / sizeof images[0], "sm_90", ""};

static atomic_long serial;

double stub_serial(void) { return (double)atomic_load(&serial); }

static void *memory(const struct sap_launch *l, int argument) { return stub_memory(l->argument[argument].value); }

/* finish_sums(record, out, force, parts): a sum of no superpackets shows as NaN, since sessions ask for none */
static void write_sums(const struct sap_launch *l)
{
    struct sap_gpu_force f;
    struct sap_accum a;
    double *out = memory(l, 1);
    const double value = (double)(atomic_fetch_add(&serial, 1) + 1);
    memcpy(&f, l->argument[2].value, sizeof f);
    const double sum = f.superpackets > 0 || f.accumulate ? value : NAN; /* of several devices some may have none */
    const size_t n = (size_t)f.out_rows;
    sap_accum_clear(&a);
    sap_accum_add(&a, sum);
    for (size_t q = 0; q < SUMS; q++)
        for (size_t i = 0; i < n; i++) {
            if (!f.accumulate) {
                out[q * n + i] = sum;
                continue;
            }
            double *const at = out + q * 6 * n + i;
            at[0] = a.unit;
            for (size_t k = 0; k < SAP_LIMBS; k++) at[(k + 1) * n] = a.limb[k];
            at[5 * n] = a.special;
        }
}

void stub_kernel(const char *name, const struct sap_launch *l)
{
    if (strcmp(name, "finish_sums") == 0) write_sums(l);
    if (strcmp(name, "finish_nearest") == 0) memset(memory(l, 3), 0, stub_memory_bytes(l->argument[3].value));
    if (strcmp(name, "list_offsets") == 0) memset(memory(l, 1), 0, stub_memory_bytes(l->argument[1].value));
}
