/* gpu_records.c - see gpu_records.h. */
#include "gpu/tree/gpu_records.h"

#include <string.h>

#include "gpu/gpu_launch.h"

int sap_gpu_records_fetch(struct sap_gpu_session *s, const struct sap_gpu_buffer *from, int n, int first, int stays,
                          int each, double *to)
{
    const size_t record = (size_t)each * sizeof *to, before = (size_t)first * record;
    const size_t behind = (size_t)(n - first - stays) * record;
    if (before > 0) TRY(sap_session_download(s, to, from, 0, before));
    return behind > 0 ? sap_session_download(s, to + (size_t)each * (size_t)(first + stays), from, before, behind)
                      : (int)SAP_DRIVER_OK;
}

/* Records on their way to a device. */
struct records_sending {
    const double *from;
    int first, stays, each;
};

static void fill_records(void *argument, void *to, int first, int n)
{
    const struct records_sending *const r = argument;
    double *at = to;
    for (int k = first; k < first + n; k++, at += r->each)
        memcpy(at, r->from + (size_t)r->each * (size_t)(k < r->first ? k : k + r->stays), (size_t)r->each * sizeof *at);
}

int sap_gpu_records_send(struct sap_gpu_session *s, struct sap_gpu_buffer *to, int n, int first, int stays, int each,
                         const double *from)
{
    struct records_sending r = {from, first, stays, each};
    const size_t record = (size_t)each * sizeof *from;
    TRY(sap_session_reserve(s, to, ((size_t)(n - stays) + 1) * record));
    return n > stays ? sap_session_upload(s, to, record, n - stays, fill_records, &r) : (int)SAP_DRIVER_OK;
}
