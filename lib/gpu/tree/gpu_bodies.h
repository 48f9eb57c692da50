/*
 * gpu_bodies.h - the particles of a rank's caller on an accelerator: their order along the curve, what travels of them,
 * and what comes back (engine/tree_bodies.h).
 */
#ifndef SAP_GPU_BODIES_H
#define SAP_GPU_BODIES_H

#include "device/tree_bodies_layout.h"
#include "engine/tree_bodies.h"
#include "gpu/gpu_memory.h"
#include "gpu/tree/gpu_given.h"

struct sap_gpu_host_tree;

struct sap_gpu_bodies {
    struct sap_gpu_given given;       /* as the caller set them, by number */
    int known;                        /* particles of which size and work tell */
    struct sap_gpu_buffer size, work; /* of their accelerations, < 0: unknown; interactions, top bit: unknown */
    int at, in_order;                 /* the sorted half of key and order; records go in this order */
    struct sap_gpu_buffer key[2], order[2];
    struct sap_gpu_buffer sums;          /* weights before each block; the unsorted half of key has the weights */
    struct sap_gpu_buffer list, places;  /* numbers of some particles, and what is asked of them */
    struct sap_gpu_buffer sought, below; /* keys, and the weights below them */
    struct sap_gpu_buffer out, in;       /* records that travel */
    struct sap_gpu_buffer acc, pot;      /* rows by number */
    int work_at, has_list;               /* of the walk whose results stay (struct sap_gpu_told) */
};

extern const struct sap_tree_bodies_ops sap_gpu_bodies_ops;

void sap_gpu_bodies_free(const struct sap_driver *driver, struct sap_gpu_bodies *b);

/* The answers of the table (gpu_answers.c). */
int sap_gpu_bodies_learn(struct sap_tree *tree);
int sap_gpu_bodies_answer(struct sap_tree *tree, const struct sap_bodies_wish *wish, double (*out)[SAP_ANSWER]);
int sap_gpu_bodies_deliver(struct sap_tree *tree, const struct sap_bodies_wish *wish, const double (*in)[SAP_ANSWER]);

static inline struct sap_gpu_staying sap_gpu_staying_of(const struct sap_bodies_way *w)
{
    return (struct sap_gpu_staying){.n = w->n, .first = w->first, .stays = w->stays, .at = w->at, .keeps = w->keeps};
}

#endif
