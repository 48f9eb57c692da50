/* gpu_copied.c - see gpu_copied.h. */
#include "gpu/tree/gpu_copied.h"

#include "gpu/gpu_launch.h"

enum { COPIES = 24 };

/* A buffer of the tree, its copy, the bytes that matter, and what makes it stale; 0: each walk has its own. */
struct tree_copy {
    const struct sap_gpu_buffer *from;
    struct sap_gpu_buffer *to;
    size_t bytes;
    unsigned stale;
};

/* The copies that a walk needs. */
struct tree_copies {
    struct tree_copy copy[COPIES];
    int n;
};

static void add(struct tree_copies *all, const struct sap_gpu_buffer *from, struct sap_gpu_buffer *to, size_t bytes,
                unsigned stale)
{
    if (bytes > 0) all->copy[all->n++] = (struct tree_copy){from, to, bytes, stale};
}

/* What makes the members of targets stale. */
struct targets_stale {
    unsigned cut, particles, nodes;
};

static void add_targets(struct tree_copies *all, const struct sap_gpu_targets *from, struct sap_gpu_targets *to,
                        unsigned lengths, struct targets_stale stale)
{
    const size_t n = (size_t)from->n, groups = (size_t)from->groups;
    add(all, &from->address, &to->address, n * sizeof(int), stale.cut);
    add(all, &from->group_of, &to->group_of, n * sizeof(int), stale.cut);
    add(all, &from->group_first, &to->group_first, (groups + 1) * sizeof(int), stale.cut);
    add(all, &from->sorted, &to->sorted, n * 4 * sizeof(double), stale.particles);
    add(all, &from->bound, &to->bound, groups * SAP_GROUP_WORDS * sizeof(double), stale.nodes);
    add(all, &from->heavy, &to->heavy, groups * sizeof(int), stale.nodes);
    add(all, &from->length, &to->length, lengths * n * sizeof(double), stale.nodes);
    add(all, &from->longest, &to->longest, lengths * groups * sizeof(float), stale.nodes);
}

static void add_tree(struct tree_copies *all, const struct sap_gpu_built *tree, struct sap_gpu_helper *h)
{
    static const struct targets_stale stale = {SAP_COPY_CUT, SAP_COPY_PARTICLES, SAP_COPY_NODES};
    const struct sap_gpu_law *const law = tree->lengths->law;
    const struct sap_gpu_nodes *const from = tree->nodes;
    struct sap_gpu_nodes *const to = &h->copy.nodes;
    const size_t n = (size_t)from->n, moments = tree->frame->order > 1;
    add_targets(all, tree->own, &h->copy.own, (unsigned)law->lengths, stale);
    add(all, &from->word, &to->word, n * 8 * sizeof(float), SAP_COPY_NODES);
    add(all, &from->source, &to->source, n * 4 * sizeof(double), SAP_COPY_NODES);
    add(all, &from->moments, &to->moments, moments * n * 8 * sizeof(float), SAP_COPY_NODES);
    add(all, &tree->lengths->of_node, &h->copy.lengths.of_node, (size_t)law->of_node * n * sizeof(double),
        SAP_COPY_NODES);
    add(all, &from->cell, &to->cell, n * SAP_GPU_CELL, SAP_COPY_CELLS);
}

/* Adds what a walk has of its own. */
static void add_subset(struct tree_copies *all, const struct sap_gpu_copying *c, struct sap_gpu_helper *h)
{
    static const struct targets_stale always = {0, 0, 0};
    const struct sap_gpu_subset *const to = c->to;
    const int own = to->of == c->tree->own;
    const size_t slots = (size_t)to->w.slots, groups = (size_t)to->of->groups, strict = to->w.strict ? 1 : 0;
    if (!own) add_targets(all, to->of, &h->copy.positions, (unsigned)c->tree->lengths->law->lengths, always);
    if (to->w.all_slots) {
        add(all, to->strict, own ? &h->copy.own.strict : &h->copy.positions.strict, strict * groups * sizeof(float), 0);
        return;
    }
    add(all, to->row, &h->copy.row, slots * sizeof(int), 0);
    add(all, to->slot, &h->copy.slot, slots * sizeof(int), 0);
    add(all, to->strict, &h->copy.strict, strict * slots * sizeof(float), 0);
}

static struct tree_copies copies_of(struct sap_gpu_helper *h, const struct sap_gpu_copying *c)
{
    struct tree_copies all = {.n = 0};
    add_tree(&all, c->tree, h);
    if (c->to) add_subset(&all, c, h);
    return all;
}

/* Whether a helper lacks a copy that is made now. */
static int is_lacking(const struct sap_gpu_helper *h, const struct sap_gpu_copying *c, const struct tree_copy *copy)
{
    if (copy->stale == 0) return c->to && (c->what & SAP_COPY_NODES);
    return (copy->stale & c->what & h->copy.stale) != 0;
}

size_t sap_gpu_copied_lacks(struct sap_gpu_helper *h, const struct sap_gpu_copying *c)
{
    const struct tree_copies all = copies_of(h, c);
    size_t bytes = 0;
    for (int k = 0; k < all.n; k++) bytes += is_lacking(h, c, &all.copy[k]) ? all.copy[k].bytes : 0;
    return bytes;
}

/* Makes memory of a helper that the first device can write. */
static int reserve(const struct sap_gpu_session *first, struct sap_gpu_helper *h, struct sap_gpu_buffer *b,
                   size_t bytes)
{
    struct sap_dev *writer[] = {first->device->dev};
    if (b->bytes < bytes) TRY(sap_session_wait(&h->session)); /* an earlier walk may still read what is freed */
    return sap_gpu_reserve_shared(first->driver, h->session.device->dev, writer, 1, b, bytes);
}

int sap_gpu_copied_reserve(struct sap_gpu_helper *h, const struct sap_gpu_copying *c)
{
    const struct tree_copies all = copies_of(h, c);
    for (int k = 0; k < all.n; k++) {
        struct sap_gpu_buffer *const b = all.copy[k].to;
        TRY(c->writes ? reserve(c->tree->session, h, b, all.copy[k].bytes)
                      : sap_session_reserve(&h->session, b, all.copy[k].bytes));
    }
    h->copy.lengths.law = c->tree->lengths->law;
    h->copy.lengths.soft = c->tree->lengths->soft;
    h->copy.own.n = c->tree->own->n;
    h->copy.own.groups = c->tree->own->groups;
    return h->copy.lengths.law->open(&h->session, &h->copy.lengths);
}

int sap_gpu_copied_send(struct sap_gpu_helper *h, const struct sap_gpu_copying *c)
{
    const struct sap_driver *const d = h->session.driver;
    struct sap_stream *const stream = h->send ? h->send : c->tree->session->stream;
    const struct tree_copies all = copies_of(h, c);
    for (int k = 0; k < all.n; k++) {
        const struct tree_copy *const copy = &all.copy[k];
        if (!is_lacking(h, c, copy)) continue;
        TRY((c->writes ? d->copy : d->copy_peer)(stream, copy->to->mem, 0, copy->from->mem, 0, copy->bytes));
    }
    h->copy.stale &= ~c->what;
    return SAP_DRIVER_OK;
}

void sap_gpu_copied_free(const struct sap_driver *driver, struct sap_gpu_helper *h)
{
    struct sap_gpu_buffer *const all[] = {&h->copy.row, &h->copy.slot, &h->copy.strict, &h->copy.lengths.of_node};
    for (int k = 0; k < COUNT(all); k++) sap_gpu_free(driver, all[k]);
    sap_gpu_nodes_free(driver, &h->copy.nodes);
    sap_gpu_targets_free(driver, &h->copy.own);
    sap_gpu_targets_free(driver, &h->copy.positions);
    h->copy.stale = SAP_COPY_ALL;
}
