/* gpu_builder.c - see gpu_builder.h. */
#include "gpu/tree/gpu_builder.h"

#include "gpu/gpu_launch.h"
#include "gpu/gpu_session.h"
#include "gpu/tree/gpu_kdtree.h"

int sap_gpu_builder_open(const struct sap_gpu_session *s, struct sap_gpu_builder *b)
{
    if (b->kd) TRY(sap_gpu_kd_open(s, b->kd));
    TRY(sap_gpu_reserve_pinned(s->driver, s->device->dev, &b->read, sizeof(struct sap_gpu_readback)));
    return sap_session_reserve(s, &b->bounds, sizeof(struct sap_gpu_readback));
}

void sap_gpu_builder_free(const struct sap_driver *driver, struct sap_gpu_builder *b)
{
    struct sap_gpu_buffer *const all[] = {&b->read, &b->bounds, &b->span, &b->count, &b->first, &b->new_first};
    for (int k = 0; k < COUNT(all); k++) sap_gpu_free(driver, all[k]);
    sap_gpu_kd_free(driver, b->kd);
    b->kd = NULL;
}
