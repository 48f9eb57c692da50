/* gpu_octree.c - see gpu_octree.h; the kernels are lib/device/tree_build.h. */
#include "gpu/tree/gpu_octree.h"

#include <string.h>

#include "gpu/gpu_launch.h"
#include "gpu/gpu_primitives.h"
#include "gpu/tree/gpu_kernels.h"

enum { LEVELS = SAP_LINK_LEVELS };

int sap_gpu_octree_reserve(struct sap_gpu_session *s, struct sap_gpu_builder *builder, const struct sap_gpu_tree *frame)
{
    const size_t n = (size_t)frame->n, counts = (size_t)LEVELS * (size_t)frame->tiles;
    const size_t scan = sap_primitives_scratch((int)counts), sort = sap_primitives_scratch(frame->n);
    TRY(sap_session_reserve(s, &builder->span, n * sizeof(int)));
    TRY(sap_session_reserve(s, &builder->count, counts * sizeof(int)));
    TRY(sap_session_reserve(s, &builder->new_first, (LEVELS + 1) * sizeof(int)));
    return sap_session_reserve(s, &s->scratch, scan > sort ? scan : sort);
}

int sap_gpu_octree_count(const struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                         const struct sap_gpu_builder *builder, const struct sap_gpu_buffer *key,
                         const struct sap_gpu_tree *frame, int *level_first)
{
    struct sap_gpu_readback *const read = sap_gpu_builder_read(builder);
    struct sap_mem *const count = builder->count.mem, *const first = builder->new_first.mem;
    size_t total_at;
    TRY(sap_launch_tree_levels(s, f, frame->tiles, key->mem, builder->span.mem, count, *frame));
    TRY(sap_primitives_scan(s->primitives, s->stream, count, count, LEVELS * frame->tiles, s->scratch.mem, &total_at));
    const int total = (int)(total_at / sizeof(int));
    TRY(sap_launch_tree_level_firsts(s, f, 1, count, s->scratch.mem, first, total, frame->tiles));
    TRY(sap_session_copy_out(s, read->level_first, first, 0, sizeof read->level_first));
    TRY(sap_session_wait(s));
    memcpy(level_first, read->level_first, sizeof read->level_first);
    return SAP_DRIVER_OK;
}

int sap_gpu_octree_link(const struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                        const struct sap_gpu_builder *builder, const struct sap_gpu_buffer *key,
                        const struct sap_gpu_tree *frame, const struct sap_gpu_nodes *nodes)
{
    return sap_launch_tree_link(s, f, frame->tiles, key->mem, builder->span.mem, builder->count.mem, nodes->link.mem,
                                nodes->level.mem, *frame);
}
