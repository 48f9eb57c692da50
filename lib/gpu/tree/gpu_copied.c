/* gpu_copied.c - see gpu_copied.h. */
#include "gpu/tree/gpu_copied.h"

#include "gpu/gpu_launch.h"

enum { COPIES = 24, ALWAYS = SAP_COPY_CUT | SAP_COPY_MOVED };

/* A buffer of the tree, its copy, the bytes that matter, and what makes it stale; 0: each walk has another. */
struct copy {
    const struct sap_gpu_buffer *from;
    struct sap_gpu_buffer *to;
    size_t bytes;
    unsigned stale;
};

/* The copies that a walk needs. */
struct copies {
    struct copy copy[COPIES];
    int n;
};

static void add(struct copies *all, const struct sap_gpu_buffer *from, struct sap_gpu_buffer *to, size_t bytes,
                unsigned stale)
{
    if (bytes > 0) all->copy[all->n++] = (struct copy){from, to, bytes, stale};
}

/* Adds targets: cut and moved are what makes their groups and their particles stale. */
static void add_targets(struct copies *all, const struct sap_gpu_targets *from, struct sap_gpu_targets *to,
                        unsigned lengths, unsigned cut, unsigned moved)
{
    const size_t n = (size_t)from->n, groups = (size_t)from->groups;
    add(all, &from->address, &to->address, n * sizeof(int), cut);
    add(all, &from->group_of, &to->group_of, n * sizeof(int), cut);
    add(all, &from->group_first, &to->group_first, (groups + 1) * sizeof(int), cut);
    add(all, &from->sorted, &to->sorted, n * 4 * sizeof(double), moved);
    add(all, &from->bound, &to->bound, groups * SAP_GROUP_WORDS * sizeof(double), moved);
    add(all, &from->heavy, &to->heavy, groups * sizeof(int), moved);
    add(all, &from->length, &to->length, lengths * n * sizeof(double), moved);
    add(all, &from->longest, &to->longest, lengths * groups * sizeof(float), moved);
}

static void add_nodes(struct copies *all, const struct sap_gpu_nodes *from, struct sap_gpu_nodes *to, int order)
{
    const size_t n = (size_t)from->n;
    add(all, &from->word, &to->word, n * 8 * sizeof(float), SAP_COPY_MOVED);
    add(all, &from->source, &to->source, n * 4 * sizeof(double), SAP_COPY_MOVED);
    add(all, &from->cell, &to->cell, n * SAP_GPU_CELL, SAP_COPY_MOVED);
    if (order > 1) add(all, &from->moments, &to->moments, n * 8 * sizeof(float), SAP_COPY_MOVED);
}

/* Lists what a walk reads. */
static void list_copies(struct copies *all, struct sap_gpu_helper *h, const struct sap_gpu_walking *walk,
                        const struct sap_gpu_subset *to)
{
    const struct sap_gpu_built *const tree = &walk->tree;
    const struct sap_gpu_law *const law = tree->lengths->law;
    const int own = to->of == tree->own;
    const size_t slots = (size_t)to->w.slots, groups = (size_t)to->of->groups;
    all->n = 0;
    add_nodes(all, walk->nodes, &h->nodes, tree->frame->order);
    add(all, &tree->lengths->of_node, &h->lengths.of_node,
        (size_t)law->of_node * (size_t)walk->nodes->n * sizeof(double), SAP_COPY_MOVED);
    add_targets(all, tree->own, &h->own, (unsigned)law->lengths, SAP_COPY_CUT, SAP_COPY_MOVED);
    if (!own) add_targets(all, to->of, &h->positions, (unsigned)law->lengths, 0, 0);
    if (to->w.strict && to->w.all_slots)
        add(all, to->strict, own ? &h->own.strict : &h->positions.strict, groups * sizeof(float), 0);
    if (to->w.all_slots) return;
    add(all, to->row, &h->row, slots * sizeof(int), 0);
    add(all, to->slot, &h->slot, slots * sizeof(int), 0);
    if (to->w.strict) add(all, to->strict, &h->strict, slots * sizeof(float), 0);
}

static int is_lacking(const struct sap_gpu_helper *h, const struct copy *c)
{
    return c->stale == 0 || (c->stale & h->stale);
}

size_t sap_gpu_copied_lacks(struct sap_gpu_helper *h, const struct sap_gpu_walking *walk,
                            const struct sap_gpu_subset *to)
{
    struct copies all;
    size_t bytes = 0;
    list_copies(&all, h, walk, to);
    for (int k = 0; k < all.n; k++) bytes += is_lacking(h, &all.copy[k]) ? all.copy[k].bytes : 0;
    return bytes;
}

/* Makes memory of a helper that the first device can write. */
static int reserve(const struct sap_gpu_session *first, struct sap_gpu_helper *h, struct sap_gpu_buffer *b,
                   size_t bytes)
{
    struct sap_dev *writer[] = {first->device->dev};
    const size_t more = bytes + bytes / 8;
    if (b->bytes >= bytes) return SAP_DRIVER_OK;
    sap_gpu_free(first->driver, b);
    TRY(first->driver->allocate_shared(h->session.device->dev, writer, 1, more, &b->mem));
    b->bytes = more;
    return SAP_DRIVER_OK;
}

static int reserve_all(const struct sap_gpu_session *first, struct sap_gpu_helper *h, const struct copies *all,
                       int writes)
{
    for (int k = 0; k < all->n; k++) {
        struct sap_gpu_buffer *const b = all->copy[k].to;
        TRY(writes ? reserve(first, h, b, all->copy[k].bytes)
                   : sap_session_reserve(&h->session, b, all->copy[k].bytes));
    }
    return SAP_DRIVER_OK;
}

/* Sends the copies that the helper lacks. */
static int send(const struct sap_driver *d, struct sap_stream *stream, struct sap_gpu_helper *h,
                const struct copies *all, int writes)
{
    h->sent_bytes = 0;
    TRY(d->event_record(h->sends, stream));
    for (int k = 0; k < all->n; k++) {
        const struct copy *const c = &all->copy[k];
        if (!is_lacking(h, c)) continue;
        TRY((writes ? d->copy : d->copy_peer)(stream, c->to->mem, 0, c->from->mem, 0, c->bytes));
        h->sent_bytes += c->bytes;
    }
    h->stale = 0;
    return SAP_DRIVER_OK;
}

int sap_gpu_copied_send(const struct sap_gpu_session *first, struct sap_gpu_helper *h,
                        const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to, int writes)
{
    struct copies all;
    list_copies(&all, h, walk, to);
    TRY(reserve_all(first, h, &all, writes));
    h->lengths.law = walk->tree.lengths->law;
    h->lengths.soft = walk->tree.lengths->soft;
    TRY(h->lengths.law->open(&h->session, &h->lengths));
    h->own.n = walk->tree.own->n;
    h->own.groups = walk->tree.own->groups;
    return send(first->driver, h->send ? h->send : first->stream, h, &all, writes);
}

void sap_gpu_copied_free(const struct sap_driver *driver, struct sap_gpu_helper *h)
{
    struct sap_gpu_buffer *const all[] = {&h->row, &h->slot, &h->strict, &h->lengths.of_node};
    for (int k = 0; k < COUNT(all); k++) sap_gpu_free(driver, all[k]);
    sap_gpu_nodes_free(driver, &h->nodes);
    sap_gpu_targets_free(driver, &h->own);
    sap_gpu_targets_free(driver, &h->positions);
    h->stale = SAP_COPY_CUT | SAP_COPY_MOVED;
}
