/*
 * test_tree_halo.c - what an accelerator selects of a tree for other parts of a whole, against lib/mpi/tree_halo.c on
 * the same tree: regions, nodes and particles, entry by entry.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "context/tree_part.h"
#include "gpu/gpu_engine.h"
#include "mpi/tree_halo.h"
#include "tree_particles.h"

#include <stdlib.h>
#include <string.h>

enum { PARTS = 4, EMPTY = 1 }; /* part EMPTY has no regions */

static sapporo_backend backend; /* of the tests that run */

static int on_opencl(void **state)
{
    (void)state;
    backend = SAPPORO_BACKEND_OPENCL;
    return 0;
}

static int on_cuda(void **state)
{
    (void)state;
    backend = SAPPORO_BACKEND_CUDA;
    return 0;
}

static void need_device(void)
{
    const struct sap_engine *const e = backend == SAPPORO_BACKEND_CUDA ? &sap_engine_cuda : &sap_engine_opencl;
    const char *wanted = getenv("SAPPORO_TEST_ENGINES");
    if (e->count() == 0 || (wanted && !strstr(wanted, e->name))) skip();
}

/* A tree and a copy of its nodes, from which tree_halo.c selects. */
struct planted {
    sapporo_tree *tree;
    sapporo_tree_options how;
    struct sap_tree_settings settings;
    struct sap_halo_nodes nodes;
};

static void *memory(size_t n, size_t each)
{
    void *const at = calloc(n + 1, each);
    assert_non_null(at);
    return at;
}

static void copy_nodes(struct planted *p, int room)
{
    struct sap_halo_nodes *const t = &p->nodes;
    struct sap_tree_structure s = {.nodes = 0};
    assert_int_equal(sapporo_tree_part_structure(p->tree, &s), SAPPORO_OK);
    *t = (struct sap_halo_nodes){.nodes = s.nodes, .n = s.n, .groups = s.groups};
    t->node = s.node = memory((size_t)s.nodes, sizeof *t->node);
    t->cell = s.cell = memory((size_t)s.nodes, sizeof *t->cell);
    t->address = s.address = memory((size_t)s.n, sizeof *t->address);
    t->group = s.group = memory((size_t)s.n, sizeof *t->group);
    t->ball = s.ball = memory((size_t)s.groups, sizeof *t->ball);
    t->reach = memory((size_t)s.nodes, sizeof *t->reach);
    t->region = memory((size_t)room, sizeof *t->region);
    assert_int_equal(sapporo_tree_part_structure(p->tree, &s), SAPPORO_OK);
    const struct sap_tree_settings *const o = &p->settings;
    const struct sap_criterion how = sap_criterion_of((int)o->mac, o->order, o->accuracy, 0, &t->cell[0]);
    for (int k = 0; k < t->nodes; k++) t->reach[k] = sap_accept_reach(&t->cell[k], &how);
    sap_halo_choose_regions(t, room);
}

static void drop_nodes(struct sap_halo_nodes *t)
{
    void *const all[] = {t->node, t->cell, t->address, t->group, t->ball, t->reach, t->region};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
}

/* Regions alike but for the sign of zeros. */
static void same_regions(const struct sap_halo_region *a, const struct sap_halo_region *b, int room)
{
    for (int r = 0; r < room; r++) {
        int same = a[r].strictness == b[r].strictness;
        for (int c = 0; c < 3; c++) same &= a[r].low[c] == b[r].low[c] && a[r].high[c] == b[r].high[c];
        if (!same) fail_msg("region %d of %d differs", r, room);
    }
}

static void same_nodes(const struct sap_halo *a, const struct sap_halo_node *node, const double (*x)[4])
{
    for (int k = 0; k < a->nodes; k++) {
        const struct sap_halo_node *const n = &a->node[k];
        if (n->first != node[k].first || n->count != node[k].count || n->child != node[k].child ||
            n->children != node[k].children)
            fail_msg("node %d: %d + %d, %d + %d, and %d + %d, %d + %d", k, n->first, n->count, n->child, n->children,
                     node[k].first, node[k].count, node[k].child, node[k].children);
        assert_memory_equal(&n->cell, &node[k].cell, sizeof n->cell);
    }
    assert_memory_equal(a->x, x, (size_t)a->n * sizeof *x);
}

/* What acts on the regions of the same tree elsewhere, and on none. */
static void same_selection(const struct planted *p, const struct tree_particles *m, const struct sap_halo_region *own,
                           int room, int level_most)
{
    static const double shift[PARTS] = {0.3, 0, 2.5, 40};
    struct sap_halo_region *const regions = memory((size_t)(PARTS * room), sizeof *regions);
    double(*const body)[4] = memory((size_t)m->n, sizeof *body);
    const struct sap_halo_source source = {
        .nodes = &p->nodes, .x = body[0], .stride = 4, .order = p->settings.order, .level_most = level_most};
    struct sap_halo_memory kept = {.who = {NULL, 0}};
    struct sap_halo halo = {.nodes = 0};
    int count[PARTS][2], wanted[PARTS][2] = {{0, 0}};
    for (int i = 0; i < m->n; i++) memcpy(body[i], m->x[i], sizeof m->x[i]), body[i][3] = m->mass[i];
    for (int part = 0; part < PARTS; part++)
        for (int r = 0; r < room; r++) {
            struct sap_halo_region *const to = &regions[part * room + r];
            *to = own[r];
            if (part == EMPTY) to->strictness = -1;
            to->low[0] += shift[part], to->high[0] += shift[part];
        }
    for (int part = 0; part < PARTS; part++) {
        const int nodes = halo.nodes, n = halo.n;
        if (!sap_halo_has_targets(regions + part * room, room)) continue;
        assert_int_equal(sap_halo_add(&halo, &source, regions + part * room, room, &kept), SAPPORO_OK);
        wanted[part][0] = halo.nodes - nodes, wanted[part][1] = halo.n - n;
    }
    const struct sap_halo_wish wish = {.parts = PARTS, .room = room, .level_most = level_most, .region = regions};
    assert_int_equal(sapporo_tree_part_select(p->tree, &wish, count), SAPPORO_OK);
    assert_memory_equal(count, wanted, sizeof count);
    struct sap_halo_node *const node = memory((size_t)halo.nodes, sizeof *node);
    double(*const x)[4] = memory((size_t)halo.n, sizeof *x);
    assert_int_equal(sapporo_tree_part_selected(p->tree, node, x), SAPPORO_OK);
    same_nodes(&halo, node, (const double(*)[4])x);
    void *const all[] = {regions, body, node, x, halo.node, halo.x, kept.who.at, kept.opened.at, kept.from.at};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
}

/* Regions of all particles, of active ones and of none; selections for them. */
static void same_halo(const struct planted *p, const struct tree_particles *m, int room)
{
    double *const a = memory((size_t)m->n, sizeof *a);
    unsigned char *const active = memory((size_t)m->n, 1);
    struct sap_halo_region *const own = memory((size_t)room, sizeof *own), *const wanted =
                                                                               memory((size_t)room, sizeof *wanted);
    int regions;
    for (int i = 0; i < m->n; i++) a[i] = 0.1 + i % 7;
    for (int step = 0; step < 3; step++) {
        const struct sap_halo_targets targets = {.x = m->x[0],
                                                 .stride = 3,
                                                 .active = step ? active : NULL,
                                                 .a = p->settings.mac == SAPPORO_MAC_ACCELERATION ? a : NULL};
        for (int i = 0; i < m->n; i++) active[i] = step == 1 && m->x[i][0] > 0.1 && i % 3 == 0;
        sap_halo_tell_regions(&p->nodes, p->settings.accuracy, &targets, wanted, room);
        assert_int_equal(sapporo_tree_part_regions(p->tree, room, &targets, own, &regions), SAPPORO_OK);
        assert_int_equal(regions, p->nodes.regions);
        same_regions(wanted, own, room);
        same_selection(p, m, wanted, room, step ? 4 : 22);
    }
    free(a);
    free(active);
    free(own);
    free(wanted);
}

static void check(const struct tree_particles *m, sapporo_tree_options how, int room)
{
    struct planted p = {.tree = NULL};
    how.size = sizeof how;
    how.backend = backend;
    const sapporo_tree_particles set = {.size = sizeof set, .n = m->n, .x = {m->x, 0}, .mass = {m->mass, 0}};
    assert_int_equal(sapporo_tree_create(&how, m->n, &p.tree), SAPPORO_OK);
    assert_int_equal(sapporo_tree_part_settings(p.tree, &p.settings), SAPPORO_OK);
    assert_true(sapporo_tree_part_selects(p.tree));
    assert_int_equal(sapporo_tree_set(p.tree, &set), SAPPORO_OK);
    assert_int_equal(sapporo_tree_build(p.tree), SAPPORO_OK);
    for (int refreshed = 0; refreshed < 2; refreshed++) {
        copy_nodes(&p, room);
        same_halo(&p, m, room);
        drop_nodes(&p.nodes);
        for (int i = 0; i < m->n; i++) m->x[i][1] *= 1.25;
        assert_int_equal(sapporo_tree_set(p.tree, &set), SAPPORO_OK);
        assert_int_equal(sapporo_tree_refresh(p.tree), SAPPORO_OK);
    }
    sapporo_tree_destroy(p.tree);
}

static void models(void **state)
{
    (void)state;
    need_device();
    for (int model = 0; model < TREE_MODELS; model++)
        for (int k = 0; k < 3; k++) {
            struct tree_particles m = tree_particles_make((enum tree_model)model, k == 2 ? 7 : 3000);
            check(&m,
                  (sapporo_tree_options){.kind = k ? SAPPORO_TREE_KDTREE : SAPPORO_TREE_OCTREE,
                                         .mac = (sapporo_tree_mac)(1 + (model + k) % 3),
                                         .order = 1 + model % 2,
                                         .leaf_size = model % 2 ? 1 : 0},
                  model == TREE_CLUSTER ? 700 : 64);
            tree_particles_free(&m);
        }
}

static void large(void **state)
{
    (void)state;
    need_device();
    struct tree_particles m = tree_particles_plummer(40000);
    check(&m, (sapporo_tree_options){.mac = SAPPORO_MAC_ACCELERATION, .accuracy = 1.0 / 128}, 2000);
    tree_particles_free(&m);
}

/* The CPU engine leaves selections to the caller. */
static void refusals(void **state)
{
    (void)state;
    const sapporo_tree_options how = {.size = sizeof how, .backend = SAPPORO_BACKEND_CPU};
    sapporo_tree *t = NULL;
    int count[1][2];
    assert_int_equal(sapporo_tree_create(&how, 4, &t), SAPPORO_OK);
    assert_false(sapporo_tree_part_selects(t));
    assert_int_equal(sapporo_tree_part_select(t, NULL, count), SAPPORO_ERR_UNSUPPORTED);
    sapporo_tree_destroy(t);
    assert_int_equal(sapporo_tree_part_select(t, NULL, count), SAPPORO_ERR_CLOSED);
    assert_false(sapporo_tree_part_selects(t));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"models, opencl", models, on_opencl, NULL, NULL}, {"models, cuda", models, on_cuda, NULL, NULL},
        {"large, opencl", large, on_opencl, NULL, NULL},   {"large, cuda", large, on_cuda, NULL, NULL},
        {"refusals", refusals, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests_name("tree_halo", tests, NULL, NULL);
}
