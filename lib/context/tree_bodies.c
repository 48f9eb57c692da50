/* tree_bodies.c - the particles of a rank's caller with a tree whose engine divides them (tree_bodies.h). */
#include "context/tree_bodies.h"

#include "context/call.h"
#include "context/context.h"
#include "context/tree_private.h"

/* A call on the particles of a tree's engine. */
struct body_call {
    struct sap_public_call call;
    sapporo_tree *t; /* NULL: the tree is closed */
    struct sap_tree *tree;
    const struct sap_tree_bodies_ops *ops; /* NULL: there is no tree, or its engine has no such particles */
};

static struct body_call begin(sapporo_tree *tree)
{
    struct body_call c = {.t = NULL};
    c.t = sap_call_begin(&c.call, SAP_HANDLE_TREE, tree);
    if (c.t) c.tree = c.t->tree;
    if (c.t) c.ops = c.tree->ops->part->bodies;
    return c;
}

/* Ends a call with the status of the engine. */
static int end(struct body_call *c, int status)
{
    if (!c->t) return sap_call_end(&c->call, SAPPORO_ERR_CLOSED);
    if (!c->ops) status = sap_error(&c->t->object.notes, SAPPORO_ERR_UNSUPPORTED, "the engine divides no particles");
    if (c->ops && status) (void)sap_context_tree_failed(c->t, status, "particles over ranks", "");
    return sap_call_end(&c->call, status);
}

int sap_bodies_able(sapporo_tree *tree)
{
    struct sap_public_call call;
    const sapporo_tree *const t = sap_call_look(&call, SAP_HANDLE_TREE, tree);
    const int able = t && t->tree->ops->part->bodies != NULL;
    sap_call_leave(&call);
    return able;
}

int sap_bodies_grow(sapporo_tree *tree, int n)
{
    struct body_call c = begin(tree);
    const int status = c.ops ? c.ops->grow(c.tree, n) : 0;
    if (c.ops && !status && n > c.t->room) c.t->room = n;
    return end(&c, status);
}

int sap_bodies_take(sapporo_tree *tree, const sapporo_tree_particles *particles, double gravity)
{
    struct body_call c = begin(tree);
    return end(&c, c.ops ? c.ops->take(c.tree, particles, gravity) : 0);
}

int sap_bodies_know(sapporo_tree *tree, int n, const double *size, const int64_t *work)
{
    struct body_call c = begin(tree);
    return end(&c, c.ops ? c.ops->know(c.tree, n, size, work) : 0);
}

int sap_bodies_tell(sapporo_tree *tree, double *size, int64_t *work)
{
    struct body_call c = begin(tree);
    return end(&c, c.ops ? c.ops->tell(c.tree, size, work) : 0);
}

int sap_bodies_copy(sapporo_tree *tree, void *theirs, size_t bytes, void *host, int to_host)
{
    struct body_call c = begin(tree);
    return end(&c, c.ops ? c.ops->copy(c.tree, theirs, bytes, host, to_host) : 0);
}

int sap_bodies_look(sapporo_tree *tree, struct sap_bodies_look *look)
{
    struct body_call c = begin(tree);
    return end(&c, c.ops ? c.ops->look(c.tree, look) : 0);
}

int sap_bodies_places(sapporo_tree *tree, int n, const int *list, double (*x)[3])
{
    struct body_call c = begin(tree);
    return end(&c, c.ops ? c.ops->places(c.tree, n, list, x) : 0);
}

int sap_bodies_sort(sapporo_tree *tree, const struct sap_cube *cube, uint64_t mean)
{
    struct body_call c = begin(tree);
    return end(&c, c.ops ? c.ops->sort(c.tree, cube, mean) : 0);
}

int sap_bodies_below(sapporo_tree *tree, int weighs, int n, const uint64_t *key, uint64_t *below)
{
    struct body_call c = begin(tree);
    return end(&c, c.ops ? c.ops->below(c.tree, weighs, n, key, below) : 0);
}

int sap_bodies_order(sapporo_tree *tree, int n, int *order)
{
    struct body_call c = begin(tree);
    return end(&c, c.ops ? c.ops->order(c.tree, n, order) : 0);
}

int sap_bodies_send(sapporo_tree *tree, const struct sap_bodies_way *way, int in_order, double (*out)[SAP_BODY])
{
    struct body_call c = begin(tree);
    return end(&c, c.ops ? c.ops->send(c.tree, way, in_order, out) : 0);
}

int sap_bodies_arrive(sapporo_tree *tree, const struct sap_bodies_way *way, const double (*in)[SAP_BODY])
{
    struct body_call c = begin(tree);
    const int status = c.ops ? c.ops->arrive(c.tree, way, in) : 0;
    if (c.ops && !status) {
        c.t->given = way->arrived;
        c.t->has_masses = 1;
        c.t->has_lengths = 0;
    }
    return end(&c, status);
}

int sap_bodies_learn(sapporo_tree *tree)
{
    struct body_call c = begin(tree);
    return end(&c, c.ops ? c.ops->learn(c.tree) : 0);
}

int sap_bodies_answer(sapporo_tree *tree, const struct sap_bodies_wish *wish, double (*out)[SAP_ANSWER])
{
    struct body_call c = begin(tree);
    return end(&c, c.ops ? c.ops->answer(c.tree, wish, out) : 0);
}

int sap_bodies_deliver(sapporo_tree *tree, const struct sap_bodies_wish *wish, const double (*in)[SAP_ANSWER])
{
    struct body_call c = begin(tree);
    return end(&c, c.ops ? c.ops->deliver(c.tree, wish, in) : 0);
}

int sap_bodies_erase(sapporo_tree *tree, int ni, double (*acc)[3], double *pot)
{
    struct body_call c = begin(tree);
    const size_t rows = ni > 0 ? (size_t)ni : 0;
    if (c.ops) c.tree->ops->ask->erase(c.tree, acc, rows * sizeof *acc);
    if (c.ops) c.tree->ops->ask->erase(c.tree, pot, rows * sizeof *pot);
    return end(&c, 0);
}
