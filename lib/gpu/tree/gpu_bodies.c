/* gpu_bodies.c - see gpu_bodies.h: the division of the particles of a rank's caller, and their way to the trees. */
#include "gpu/tree/gpu_bodies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu_launch.h"
#include "gpu/gpu_status.h"
#include "gpu/tree/gpu_frame.h"
#include "gpu/tree/gpu_kernels.h"
#include "gpu/tree/gpu_records.h"
#include "gpu/tree/gpu_targets.h"
#include "gpu/tree/gpu_tree.h"
#include "physics/tree_key.h"

_Static_assert(SAP_BODY == (int)SAP_BODY_WORDS && SAP_ANSWER == (int)SAP_TOLD_WORDS, "records are those of kernels");

static struct sap_gpu_host_tree *of(struct sap_tree *tree) { return (void *)tree; }

void sap_gpu_bodies_free(const struct sap_driver *driver, struct sap_gpu_bodies *b)
{
    struct sap_gpu_buffer *const all[] = {&b->size,  &b->work, &b->key[0], &b->key[1], &b->order[0],
                                          &b->sums,  &b->list, &b->places, &b->sought, &b->order[1],
                                          &b->below, &b->out,  &b->in,     &b->acc,    &b->pot};
    sap_gpu_given_free(driver, &b->given);
    for (int k = 0; k < COUNT(all); k++) sap_gpu_free(driver, all[k]);
}

/* ---- memory ----------------------------------------------------------------------------- */

/* Makes room for n particles as they are set, of which none are left then. */
static int grow_given(struct sap_gpu_host_tree *t, struct sap_gpu_given *g, int n, double gravity)
{
    struct sap_gpu_lengths *const lengths = g->lengths;
    const int room = n < (1 << 30) ? n + n / 8 : n;
    if (n <= g->room && g->a.mem) return SAP_DRIVER_OK; /* what is opened last */
    sap_gpu_given_free(t->session.driver, g);
    *g = (struct sap_gpu_given){
        .lengths = lengths, .gravity = gravity, .room = room, .column = {&t->results.acc, &t->results.pot}};
    if (lengths) lengths->room = room;
    return sap_gpu_given_open(&t->session, g);
}

static int grow(struct sap_tree *tree, int n)
{
    struct sap_gpu_host_tree *const t = of(tree);
    const int status = sap_session_begin(&t->session);
    return status ? status : sap_session_end(&t->session, grow_given(t, &t->given, n, t->settings.gravity));
}

/* ---- particles -------------------------------------------------------------------------- */

/* Makes room for what is known of n particles: nothing, if their number is another one. */
static int reserve_known(struct sap_gpu_session *s, struct sap_gpu_bodies *b, int n)
{
    const size_t bytes = ((size_t)n + 1) * sizeof(double);
    if (n == b->known && b->size.mem) return SAP_DRIVER_OK;
    b->known = -1;
    TRY(sap_session_reserve(s, &b->size, bytes));
    TRY(sap_session_reserve(s, &b->work, bytes));
    TRY(sap_session_fill(s, b->size.mem, 0, 0xBF, bytes)); /* below 0 */
    TRY(sap_session_fill(s, b->work.mem, 0, 0xFF, bytes));
    b->known = n;
    return SAP_DRIVER_OK;
}

static int take(struct sap_tree *tree, const sapporo_tree_particles *p, double gravity)
{
    struct sap_gpu_host_tree *const t = of(tree);
    struct sap_gpu_session *const s = &t->session;
    struct sap_gpu_bodies *const b = &t->part.bodies;
    int status = sap_session_begin(s);
    if (status) return status;
    status = grow_given(t, &b->given, p->n, gravity);
    b->given.gravity = gravity;
    status = sap_session_end(s, status ? status : reserve_known(s, b, p->n));
    if (!status) status = sap_gpu_given_set(s, &b->given, p);
    if (!p->a.base) b->given.has_a = 0; /* those of the last force are in b->size */
    return status;
}

/* Numbers of eight bytes on their way to a device. */
static void fill_words(void *argument, void *to, int first, int n)
{
    memcpy(to, (const double *)argument + first, (size_t)n * sizeof(double));
}

static int know(struct sap_tree *tree, int n, const double *size, const int64_t *work)
{
    struct sap_gpu_host_tree *const t = of(tree);
    struct sap_gpu_session *const s = &t->session;
    const int begun = sap_session_begin(s);
    if (begun) return begun;
    t->part.bodies.in_order = 0;
    int status = reserve_known(s, &t->part.bodies, n);
    if (!status)
        status = sap_session_upload(s, &t->part.bodies.size, sizeof *size, n, fill_words, (void *)(uintptr_t)size);
    if (!status)
        status = sap_session_upload(s, &t->part.bodies.work, sizeof *work, n, fill_words, (void *)(uintptr_t)work);
    return sap_session_end(s, status);
}

static int tell(struct sap_tree *tree, double *size, int64_t *work)
{
    struct sap_gpu_host_tree *const t = of(tree);
    struct sap_gpu_session *const s = &t->session;
    const size_t bytes = (size_t)t->part.bodies.known * sizeof *size;
    const int begun = sap_session_begin(s);
    if (begun) return begun;
    int status = sap_session_download(s, size, &t->part.bodies.size, 0, bytes);
    if (!status) status = sap_session_download(s, work, &t->part.bodies.work, 0, bytes);
    return sap_session_end(s, status);
}

static int copy_memory(struct sap_gpu_session *s, void *theirs, size_t bytes, void *host, int to_host)
{
    struct sap_gpu_buffer there = {.bytes = bytes};
    TRY(sap_gpu_adopt(s, theirs, bytes, &there.mem));
    int status =
        to_host ? sap_session_download(s, host, &there, 0, bytes) : sap_session_copy_in(s, there.mem, 0, host, bytes);
    if (!status) status = sap_session_wait(s);
    s->driver->release(there.mem);
    return status;
}

static int copy(struct sap_tree *tree, void *theirs, size_t bytes, void *host, int to_host)
{
    struct sap_gpu_session *const s = &of(tree)->session;
    const int status = sap_session_begin(s);
    if (status) return status;
    if (!s->driver->adopt) return sap_session_refuse(s, SAPPORO_ERR_UNSUPPORTED, SAP_GPU_NO_ADDRESSES);
    return sap_session_end(s, bytes > 0 ? copy_memory(s, theirs, bytes, host, to_host) : (int)SAP_DRIVER_OK);
}

/* Returns the sizes that travel: those that the caller gave, or those of the last force. */
static const struct sap_gpu_buffer *sizes_of(const struct sap_gpu_bodies *b)
{
    return b->given.has_a ? &b->given.a : &b->size;
}

/* ---- a look ----------------------------------------------------------------------------- */

/* Adds up the counts of all groups of threads. */
static int count(struct sap_gpu_session *s, struct sap_gpu_bodies *b, struct sap_bodies_look *look)
{
    uint64_t sums[SAP_TREE_PARTS][SAP_BODY_COUNTS], all[SAP_BODY_COUNTS] = {0};
    TRY(sap_session_reserve(s, &b->sums, sizeof sums));
    TRY(sap_launch_tree_body_counts(s, b->given.f, SAP_TREE_PARTS, b->work.mem, sizes_of(b)->mem, b->sums.mem,
                                    b->given.n));
    TRY(sap_session_copy_out(s, sums, b->sums.mem, 0, sizeof sums));
    TRY(sap_session_wait(s));
    for (int k = 0; k < SAP_TREE_PARTS; k++)
        for (int w = 0; w < SAP_BODY_COUNTS; w++) all[w] += sums[k][w];
    look->known = (double)all[0], look->work = (double)all[1], look->unknown = (double)all[2];
    return SAP_DRIVER_OK;
}

static int look_at(struct sap_gpu_host_tree *t, struct sap_bodies_look *look)
{
    struct sap_gpu_bounds bounds;
    const int status = sap_gpu_frame_look(&t->session, &t->builder, &t->part.bodies.given, 1, &bounds);
    if (status && !t->builder.out_of_range) return status;
    t->builder.out_of_range = 0; /* all ranks find it */
    memcpy(look->low, bounds.low, sizeof look->low);
    memcpy(look->high, bounds.high, sizeof look->high);
    look->weight = bounds.weight;
    return count(&t->session, &t->part.bodies, look);
}

static int look(struct sap_tree *tree, struct sap_bodies_look *found)
{
    struct sap_gpu_host_tree *const t = of(tree);
    const int status = sap_session_begin(&t->session);
    *found = (struct sap_bodies_look){
        .low = {INFINITY, INFINITY, INFINITY}, .high = {-INFINITY, -INFINITY, -INFINITY}, .known = 0};
    if (status) return status;
    return sap_session_end(&t->session, t->part.bodies.given.n > 0 ? look_at(t, found) : (int)SAP_DRIVER_OK);
}

static int read_places(struct sap_gpu_session *s, struct sap_gpu_bodies *b, int n, const int *list, double (*x)[3])
{
    const size_t ints = (size_t)n * sizeof *list, bytes = (size_t)n * sizeof *x;
    TRY(sap_session_reserve(s, &b->list, ints));
    TRY(sap_session_reserve(s, &b->places, bytes));
    TRY(sap_session_copy_in(s, b->list.mem, 0, list, ints));
    TRY(sap_launch_tree_body_places(s, b->given.f, n, b->given.particle.mem, b->list.mem, b->places.mem, n));
    return sap_session_download(s, x, &b->places, 0, bytes);
}

static int places(struct sap_tree *tree, int n, const int *list, double (*x)[3])
{
    struct sap_gpu_host_tree *const t = of(tree);
    const int status = sap_session_begin(&t->session);
    if (status) return status;
    return sap_session_end(&t->session,
                           n > 0 ? read_places(&t->session, &t->part.bodies, n, list, x) : (int)SAP_DRIVER_OK);
}

/* ---- weights along the curve ------------------------------------------------------------ */

static int blocks_of(int n) { return n / SAP_BODY_BLOCK + 1; }

/* Writes the weights before each block to b->sums, by way of the host. */
static int add_blocks(struct sap_gpu_session *s, struct sap_gpu_bodies *b, int n)
{
    const int blocks = blocks_of(n);
    const size_t bytes = (size_t)blocks * sizeof(uint64_t);
    uint64_t *const sums = sap_session_host_memory(s, (size_t)blocks, sizeof *sums), before = 0;
    if (!sums) return SAP_DRIVER_MEMORY;
    int status = sap_session_reserve(s, &b->sums, bytes);
    if (!status)
        status = sap_launch_tree_body_blocks(s, b->given.f, blocks, b->key[!b->at].mem, b->sums.mem, blocks, n);
    if (!status) status = sap_session_download(s, sums, &b->sums, 0, bytes);
    for (int k = 0; k < blocks && !status; k++) {
        const uint64_t mine = sums[k];
        sums[k] = before;
        before += mine;
    }
    if (!status) status = sap_session_upload(s, &b->sums, sizeof *sums, blocks, fill_words, sums);
    free(sums);
    return status;
}

static int sort_all(struct sap_gpu_host_tree *t, const struct sap_cube *cube, uint64_t mean)
{
    struct sap_gpu_session *const s = &t->session;
    struct sap_gpu_bodies *const b = &t->part.bodies;
    const int n = b->given.n;
    struct sap_gpu_tree frame = {.cells = cube->cells, .gaps = cube->gaps};
    const struct sap_gpu_weights how = {(unsigned)mean, (unsigned)(mean >> 32), t->settings.kind == SAPPORO_TREE_KDTREE,
                                        n};
    for (int c = 0; c < 3; c++) frame.low[c] = cube->low[c];
    TRY(sap_gpu_targets_reserve_sort(s, b->key, b->order, n));
    const struct sap_sort sort = {.key = {b->key[0].mem, b->key[1].mem},
                                  .value = {b->order[0].mem, b->order[1].mem},
                                  .n = n,
                                  .to = SAP_KEY_BITS,
                                  .places = 1};
    TRY(sap_launch_tree_keys(s, b->given.f, n, b->given.particle.mem, b->key[0].mem, frame, n));
    TRY(sap_primitives_sort(s->primitives, s->stream, &sort, s->scratch.mem, &b->at));
    TRY(sap_launch_tree_body_weights(s, b->given.f, n, b->work.mem, b->order[b->at].mem, b->key[!b->at].mem, how));
    return add_blocks(s, b, n);
}

static int sort(struct sap_tree *tree, const struct sap_cube *cube, uint64_t mean)
{
    struct sap_gpu_host_tree *const t = of(tree);
    const int status = sap_session_begin(&t->session);
    if (status) return status;
    return sap_session_end(&t->session, t->part.bodies.given.n > 0 ? sort_all(t, cube, mean) : (int)SAP_DRIVER_OK);
}

static int weigh_below(struct sap_gpu_session *s, struct sap_gpu_bodies *b, int weighs, int n, const uint64_t *key,
                       uint64_t *below)
{
    const size_t bytes = (size_t)n * sizeof *key;
    TRY(sap_session_reserve(s, &b->sought, bytes));
    TRY(sap_session_reserve(s, &b->below, bytes));
    TRY(sap_session_copy_in(s, b->sought.mem, 0, key, bytes));
    TRY(sap_launch_tree_body_below(s, b->given.f, n, b->key[b->at].mem, b->key[!b->at].mem, b->sums.mem, b->sought.mem,
                                   b->below.mem, weighs, b->given.n, n));
    return sap_session_download(s, below, &b->below, 0, bytes);
}

static int below(struct sap_tree *tree, int weighs, int n, const uint64_t *key, uint64_t *found)
{
    struct sap_gpu_host_tree *const t = of(tree);
    const int status = sap_session_begin(&t->session);
    if (status) return status;
    memset(found, 0, (size_t)n * sizeof *found);
    return sap_session_end(&t->session, t->part.bodies.given.n > 0
                                            ? weigh_below(&t->session, &t->part.bodies, weighs, n, key, found)
                                            : (int)SAP_DRIVER_OK);
}

static int order(struct sap_tree *tree, int n, int *to)
{
    struct sap_gpu_host_tree *const t = of(tree);
    const struct sap_gpu_bodies *const b = &t->part.bodies;
    const int status = sap_session_begin(&t->session);
    if (status) return status;
    return sap_session_end(&t->session,
                           sap_session_download(&t->session, to, &b->order[b->at], 0, (size_t)n * sizeof *to));
}

/* ---- what travels ----------------------------------------------------------------------- */

static int pack(struct sap_gpu_host_tree *t, const struct sap_bodies_way *way, double (*out)[SAP_BODY])
{
    struct sap_gpu_session *const s = &t->session;
    struct sap_gpu_bodies *const b = &t->part.bodies;
    const int travels = way->n - way->stays;
    const struct sap_gpu_buffer *const by = b->in_order ? &b->order[b->at] : &b->given.particle;
    if (way->n == 0) return SAP_DRIVER_OK;
    TRY(sap_session_reserve(s, &b->out, ((size_t)travels + 1) * sizeof *out));
    TRY(sap_launch_tree_body_pack(s, t->f, way->n, b->given.particle.mem, sizes_of(b)->mem, by->mem, b->in_order,
                                  t->given.particle.mem, t->given.a.mem, b->out.mem, sap_gpu_staying_of(way)));
    return travels > 0 && out ? sap_gpu_records_fetch(s, &b->out, way->n, way->first, way->stays, SAP_BODY, &out[0][0])
                              : sap_session_wait(s);
}

static int send(struct sap_tree *tree, const struct sap_bodies_way *way, int in_order, double (*out)[SAP_BODY])
{
    struct sap_gpu_host_tree *const t = of(tree);
    const int status = sap_session_begin(&t->session);
    if (status) return status;
    t->part.bodies.in_order = in_order;
    t->given.torn = SAP_TORN_MASSES; /* until all have arrived */
    return sap_session_end(&t->session, pack(t, way, out));
}

static int unpack(struct sap_gpu_host_tree *t, const struct sap_bodies_way *way, const double (*in)[SAP_BODY])
{
    struct sap_gpu_session *const s = &t->session;
    struct sap_gpu_bodies *const b = &t->part.bodies;
    const int travelled = way->arrived - way->stays;
    if (travelled == 0) return SAP_DRIVER_OK;
    if (in) TRY(sap_gpu_records_send(s, &b->in, way->arrived, way->at, way->stays, SAP_BODY, &in[0][0]));
    TRY(sap_launch_tree_body_unpack(s, t->f, travelled, b->in.mem, t->given.particle.mem, t->given.a.mem,
                                    sap_gpu_staying_of(way), travelled));
    return sap_session_wait(s);
}

static int arrive(struct sap_tree *tree, const struct sap_bodies_way *way, const double (*in)[SAP_BODY])
{
    struct sap_gpu_host_tree *const t = of(tree);
    int status = sap_session_begin(&t->session);
    if (!status) status = sap_session_end(&t->session, unpack(t, way, in));
    if (status) return status;
    t->given.n = way->arrived;
    t->given.torn = t->given.has_a = 0;
    return SAPPORO_OK;
}

const struct sap_tree_bodies_ops sap_gpu_bodies_ops = {.grow = grow,
                                                       .take = take,
                                                       .know = know,
                                                       .tell = tell,
                                                       .copy = copy,
                                                       .look = look,
                                                       .places = places,
                                                       .sort = sort,
                                                       .below = below,
                                                       .order = order,
                                                       .send = send,
                                                       .arrive = arrive,
                                                       .learn = sap_gpu_bodies_learn,
                                                       .answer = sap_gpu_bodies_answer,
                                                       .deliver = sap_gpu_bodies_deliver};
