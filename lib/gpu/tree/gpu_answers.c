/* gpu_answers.c - forces of a part of a whole that go back to the particles of callers (gpu_bodies.h). */
#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_bodies.h"
#include "gpu/tree/gpu_kernels.h"
#include "gpu/tree/gpu_records.h"
#include "gpu/tree/gpu_tree.h"

static struct sap_gpu_host_tree *of(struct sap_tree *tree) { return (void *)tree; }

/* Memory of the last walk, and memory in its place where there was none. */
struct row_memory {
    struct sap_mem *acc, *pot, *left, *active;
};

static struct sap_mem *either(const struct sap_gpu_buffer *b, const struct sap_gpu_buffer *other)
{
    return b->mem ? b->mem : other->mem;
}

static struct row_memory rows_of(const struct sap_gpu_host_tree *t)
{
    const struct sap_gpu_buffer *const other = &t->part.bodies.size;
    return (struct row_memory){either(sap_gpu_results_acc(&t->results), other),
                               either(sap_gpu_results_pot(&t->results), other), either(&t->walks.lists.left, other),
                               either(&t->active.list, other)};
}

/* What kernels need of the last walk; rows: their number. */
static struct sap_gpu_told told_of(const struct sap_gpu_host_tree *t, const struct sap_bodies_wish *wish)
{
    const struct sap_gpu_bodies *const b = &t->part.bodies;
    return (struct sap_gpu_told){.rows = wish->way.arrived,
                                 .has_list = b->has_list,
                                 .picked = b->has_list && t->results.picked,
                                 .sized = wish->sized,
                                 .work_at = b->work_at};
}

int sap_gpu_bodies_learn(struct sap_tree *tree)
{
    struct sap_gpu_host_tree *const t = of(tree);
    int status = sap_session_begin(&t->session);
    if (status) return status;
    if (t->given.n > 0)
        status =
            sap_launch_tree_body_learn(&t->session, t->f, t->given.n, t->results.acc.mem, t->given.a.mem, t->given.n);
    return sap_session_end(&t->session, status);
}

/* ---- answers for other ranks ------------------------------------------------------------ */

static int answer(struct sap_gpu_host_tree *t, const struct sap_bodies_wish *wish, double (*out)[SAP_ANSWER])
{
    struct sap_gpu_session *const s = &t->session;
    struct sap_gpu_bodies *const b = &t->part.bodies;
    const struct row_memory r = rows_of(t);
    const struct sap_bodies_way *const way = &wish->way;
    const int rows = way->arrived, answers = rows - way->stays;
    if (rows == 0 || (answers == 0 && !wish->sized)) return SAP_DRIVER_OK;
    TRY(sap_session_reserve(s, &b->out, ((size_t)answers + 1) * sizeof *out));
    TRY(sap_launch_tree_body_answer(s, t->f, rows, r.acc, r.pot, r.left, r.active, t->given.a.mem, b->out.mem,
                                    told_of(t, wish), sap_gpu_staying_of(way)));
    if (answers == 0) return SAP_DRIVER_OK;
    return out ? sap_gpu_records_fetch(s, &b->out, rows, way->at, way->stays, SAP_ANSWER, &out[0][0])
               : sap_session_wait(s); /* transfers are in another stream */
}

int sap_gpu_bodies_answer(struct sap_tree *tree, const struct sap_bodies_wish *wish, double (*out)[SAP_ANSWER])
{
    struct sap_gpu_host_tree *const t = of(tree);
    const int status = sap_session_begin(&t->session);
    return status ? status : sap_session_end(&t->session, answer(t, wish, out));
}

/* ---- answers of other ranks ------------------------------------------------------------- */

/* Whether the rows of the walk are those that the caller wants: all particles stayed in their order, and no others
 * came. */
static int is_in_place(const struct sap_gpu_bodies *b, const struct sap_bodies_wish *wish)
{
    const struct sap_bodies_way *const way = &wish->way;
    return wish->all && !b->in_order && way->stays == way->n && way->arrived == way->n;
}

/* Uploads numbers of particles. */
static int list(struct sap_gpu_session *s, struct sap_gpu_bodies *b, const int *item, int n)
{
    const size_t bytes = (size_t)n * sizeof *item;
    TRY(sap_session_reserve(s, &b->list, bytes));
    TRY(sap_session_copy_in(s, b->list.mem, 0, item, bytes));
    return sap_session_wait(s); /* the memory of the list is the caller's */
}

/* Writes answers by particle, and keeps what the next build and force need. */
static int spread(struct sap_gpu_host_tree *t, const struct sap_bodies_wish *wish, int writes)
{
    struct sap_gpu_session *const s = &t->session;
    struct sap_gpu_bodies *const b = &t->part.bodies;
    const struct row_memory r = rows_of(t);
    const struct sap_bodies_way *const way = &wish->way;
    const size_t room = (size_t)b->known + 1;
    const struct sap_gpu_buffer *order = b->in_order ? &b->order[b->at] : NULL;
    if (wish->item) {
        TRY(list(s, b, wish->item, way->n));
        order = &b->list;
    }
    TRY(sap_session_reserve(s, &b->acc, writes ? room * sizeof *wish->acc : 1));
    TRY(sap_session_reserve(s, &b->pot, writes ? room * sizeof *wish->pot : 1));
    return sap_launch_tree_body_deliver(s, t->f, way->n, r.acc, r.pot, r.left, r.active, b->in.mem,
                                        order ? order->mem : r.active, order != NULL, b->size.mem, b->work.mem,
                                        b->acc.mem, b->pot.mem, writes, told_of(t, wish), sap_gpu_staying_of(way));
}

/* Copies rows by particle to the memory of the caller. */
static int give(struct sap_gpu_host_tree *t, const struct sap_bodies_wish *wish)
{
    struct sap_gpu_session *const s = &t->session;
    struct sap_gpu_bodies *const b = &t->part.bodies;
    struct sap_gpu_results by = {.acc = b->acc, .pot = b->pot};
    const sapporo_tree_request to = {.size = sizeof to, .ni = wish->ni, .memory = wish->memory};
    int status = SAP_DRIVER_OK;
    if (wish->all || !wish->particle) return sap_gpu_results_give(s, &by, &to, 0, wish->acc, wish->pot);
    by.picked_acc = b->out, by.picked_pot = b->places;
    status = list(s, b, wish->particle, wish->ni);
    if (!status) status = sap_gpu_results_pick(s, t->f, &by, &b->list, wish->ni);
    b->out = by.picked_acc, b->places = by.picked_pot;
    return status ? status : sap_gpu_results_give(s, &by, &to, 1, wish->acc, wish->pot);
}

static int deliver(struct sap_gpu_host_tree *t, const struct sap_bodies_wish *wish, const double (*in)[SAP_ANSWER])
{
    struct sap_gpu_session *const s = &t->session;
    struct sap_gpu_bodies *const b = &t->part.bodies;
    const struct sap_bodies_way *const way = &wish->way;
    const int in_place = is_in_place(b, wish);
    const sapporo_tree_request to = {.size = sizeof to, .ni = wish->ni, .memory = wish->memory};
    if (wish->first_force) TRY(sap_session_fill(s, b->work.mem, 0, 0, ((size_t)b->known + 1) * sizeof(double)));
    if (way->n == 0) return SAP_DRIVER_OK;
    if (in) TRY(sap_gpu_records_send(s, &b->in, way->n, way->first, way->stays, SAP_ANSWER, &in[0][0]));
    TRY(spread(t, wish, !in_place && (wish->acc || wish->pot)));
    if (wish->ni == 0) return sap_session_wait(s);
    TRY(in_place ? sap_gpu_results_give(s, &t->results, &to, 0, wish->acc, wish->pot) : give(t, wish));
    return sap_session_wait(s);
}

int sap_gpu_bodies_deliver(struct sap_tree *tree, const struct sap_bodies_wish *wish, const double (*in)[SAP_ANSWER])
{
    struct sap_gpu_host_tree *const t = of(tree);
    const int status = sap_session_begin(&t->session);
    return status ? status : sap_session_end(&t->session, deliver(t, wish, in));
}
