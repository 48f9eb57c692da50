/*
 * test_tree_halo.c - what an accelerator selects of a tree for other parts of a whole, against lib/mpi/tree_halo.c on
 * the same tree: regions, nodes and particles, entry by entry.  Then walks whose results stay on the device, and calls
 * of the driver that fail.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "context/tree_part.h"
#include "engine/pull.h"
#include "engine/softening.h"
#include "faulty_driver.h"
#include "mpi/tree_halo.h"
#include "tree_faults.h"
#include "tree_particles.h"

#include <stdlib.h>
#include <string.h>

enum { PARTS = 4, EMPTY = 1 }; /* part EMPTY has no regions */

/* A tree and a copy of its nodes, from which tree_halo.c selects. */
struct planted {
    sapporo_tree *tree;
    sapporo_tree_options how;
    struct sap_tree_settings settings;
    struct sap_halo_nodes nodes;
    double *h; /* softening lengths; NULL: none */
    int words; /* that nodes have of them */
};

static void *memory(size_t n, size_t each)
{
    void *const at = calloc(n + 1, each);
    assert_non_null(at);
    return at;
}

/* What is selected of a tree, with this room for positions and masses. */
static struct sap_halo_source source_of(const struct planted *p, const struct tree_particles *m, double *body,
                                        int level_most)
{
    for (int i = 0; i < m->n; i++) memcpy(body + 4 * (size_t)i, m->x[i], sizeof m->x[i]), body[4 * i + 3] = m->mass[i];
    return (struct sap_halo_source){
        .nodes = &p->nodes, .x = body, .h = p->h, .stride = 4, .order = p->settings.order, .level_most = level_most};
}

/* The unit of the tolerance of MULTIPOLE that the tree finds. */
static double pull_of(const struct tree_particles *m)
{
    static double sample[3][SAP_CUBE_SAMPLE];
    double sum = 0;
    for (int k = 0; k < sap_cube_sample(m->n); k++)
        for (int c = 0; c < 3; c++) sample[c][k] = m->x[sap_cube_member(m->n, k)][c];
    for (int i = 0; i < m->n; i++) sum += fabs(m->mass[i]);
    return sap_pull_of((const double(*)[SAP_CUBE_SAMPLE])sample, sap_cube_sample(m->n), sum);
}

static void copy_nodes(struct planted *p, const struct tree_particles *m, int room)
{
    struct sap_halo_nodes *const t = &p->nodes;
    struct sap_tree_structure s = {.nodes = 0};
    assert_int_equal(sap_part_structure(p->tree, &s), SAPPORO_OK);
    *t = (struct sap_halo_nodes){.nodes = s.nodes, .n = s.n, .groups = s.groups};
    t->node = s.node = memory((size_t)s.nodes, sizeof *t->node);
    t->cell = s.cell = memory((size_t)s.nodes, sizeof *t->cell);
    t->address = s.address = memory((size_t)s.n, sizeof *t->address);
    t->group = s.group = memory((size_t)s.n, sizeof *t->group);
    t->bound = s.bound = memory((size_t)s.groups, sizeof *t->bound);
    t->reach = memory((size_t)s.nodes, sizeof *t->reach);
    t->region = memory((size_t)room, sizeof *t->region);
    assert_int_equal(sap_part_structure(p->tree, &s), SAPPORO_OK);
    const struct sap_tree_settings *const o = &p->settings;
    const struct sap_criterion how = sap_criterion_of((int)o->mac, o->order, o->accuracy, pull_of(m));
    double *const body = memory(4 * (size_t)m->n, sizeof *body);
    const struct sap_halo_source source = source_of(p, m, body, 22);
    t->words = p->words;
    t->lengths = memory((size_t)s.nodes * (size_t)p->words, sizeof *t->lengths);
    sap_halo_find_lengths(t, &source);
    for (int k = 0; k < t->nodes; k++) t->reach[k] = sap_halo_reach(t, k, &how);
    sap_halo_choose_regions(t, room);
    free(body);
}

static void drop_nodes(struct sap_halo_nodes *t)
{
    void *const all[] = {t->node, t->cell, t->address, t->group, t->bound, t->reach, t->region, t->lengths};
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

static void same_nodes(const struct sap_halo *a, const struct sap_halo_room *b)
{
    const struct sap_halo_node *const node = b->node;
    for (int k = 0; k < a->nodes; k++) {
        const struct sap_halo_node *const n = &a->node[k];
        if (n->first != node[k].first || n->count != node[k].count || n->child != node[k].child ||
            n->children != node[k].children)
            fail_msg("node %d: %d + %d, %d + %d, and %d + %d, %d + %d", k, n->first, n->count, n->child, n->children,
                     node[k].first, node[k].count, node[k].child, node[k].children);
        assert_memory_equal(&n->cell, &node[k].cell, sizeof n->cell);
    }
    assert_memory_equal(a->x, b->x, (size_t)a->n * sizeof *b->x);
    if (!a->words) return;
    assert_memory_equal(a->of_node, b->of_node, (size_t)a->nodes * (size_t)a->words * sizeof *b->of_node);
    assert_memory_equal(a->h, b->h, (size_t)a->n * sizeof *b->h);
}

/* What acts on the regions of the same tree elsewhere, and on none. */
static void same_selection(const struct planted *p, const struct tree_particles *m, const struct sap_halo_region *own,
                           int room, int level_most)
{
    static const double shift[PARTS] = {0.3, 0, 2.5, 40};
    struct sap_halo_region *const regions = memory(PARTS * (size_t)room, sizeof *regions);
    double *const body = memory(4 * (size_t)m->n, sizeof *body);
    const struct sap_halo_source source = source_of(p, m, body, level_most);
    struct sap_halo_memory kept = {.who = {NULL, 0}};
    struct sap_halo halo = {.words = p->words};
    int count[PARTS][2], wanted[PARTS][2] = {{0, 0}};
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
    assert_int_equal(sap_part_select(p->tree, &wish, count), SAPPORO_OK);
    assert_memory_equal(count, wanted, sizeof count);
    struct sap_halo_room to = {.node = memory((size_t)halo.nodes, sizeof *to.node),
                               .x = memory((size_t)halo.n, sizeof *to.x)};
    if (p->h) to.of_node = memory((size_t)halo.nodes * (size_t)p->words, sizeof *to.of_node);
    if (p->h) to.h = memory((size_t)halo.n, sizeof *to.h);
    assert_int_equal(sap_part_selected(p->tree, &to), SAPPORO_OK);
    same_nodes(&halo, &to);
    void *const all[] = {regions, body,         to.node, to.x,        to.of_node,     to.h,        halo.node,
                         halo.x,  halo.of_node, halo.h,  kept.who.at, kept.opened.at, kept.from.at};
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
                                                 .h = p->words == SAP_SPLINE_WORDS ? p->h : NULL,
                                                 .a = p->settings.mac == SAPPORO_MAC_ACCELERATION ? a : NULL};
        for (int i = 0; i < m->n; i++) active[i] = step == 1 && m->x[i][0] > 0.1 && i % 3 == 0;
        sap_halo_tell_regions(&p->nodes, sap_group_accuracy((int)p->settings.ball, p->settings.accuracy), &targets,
                              wanted, room);
        assert_int_equal(sap_part_regions(p->tree, room, &targets, own, &regions), SAPPORO_OK);
        assert_int_equal(regions, p->nodes.regions);
        same_regions(wanted, own, room);
        same_selection(p, m, wanted, room, step ? 4 : 22);
    }
    free(a);
    free(active);
    free(own);
    free(wanted);
}

/* Nothing is selected for parts of which none has targets; it is the first selection of the tree. */
static void select_for_none(sapporo_tree *t, int room)
{
    struct sap_halo_region *const regions = memory(PARTS * (size_t)room, sizeof *regions);
    const struct sap_halo_wish wish = {.parts = PARTS, .room = room, .level_most = 22, .region = regions};
    int count[PARTS][2];
    for (int r = 0; r < PARTS * room; r++) regions[r].strictness = -1;
    assert_int_equal(sap_part_select(t, &wish, count), SAPPORO_OK);
    for (int part = 0; part < PARTS; part++) assert_true(count[part][0] == 0 && count[part][1] == 0);
    free(regions);
}

static void check(const struct tree_particles *m, sapporo_tree_options how, int has_lengths, int room)
{
    struct planted p = {.tree = NULL};
    how.size = sizeof how;
    how.backend = tree_fault_place->backend;
    if (has_lengths) p.h = memory((size_t)m->n, sizeof *p.h);
    for (int i = 0; i < m->n && p.h; i++) p.h[i] = i % 5 ? 0.01 * (i % 5) : i % 75 ? 0 : 0.7;
    const sapporo_tree_particles set = {
        .size = sizeof set, .n = m->n, .x = {m->x, 0}, .mass = {m->mass, 0}, .h = {p.h, 0}};
    assert_int_equal(sapporo_tree_create(&how, m->n, &p.tree), SAPPORO_OK);
    assert_int_equal(sap_part_settings(p.tree, &p.settings), SAPPORO_OK);
    assert_true(sap_part_selects(p.tree));
    p.words = p.h ? sap_softening_words(&p.settings) : 0;
    assert_int_equal(sapporo_tree_set(p.tree, &set), SAPPORO_OK);
    assert_int_equal(sapporo_tree_build(p.tree), SAPPORO_OK);
    select_for_none(p.tree, room);
    for (int refreshed = 0; refreshed < 2; refreshed++) {
        copy_nodes(&p, m, room);
        same_halo(&p, m, room);
        drop_nodes(&p.nodes);
        for (int i = 0; i < m->n; i++) m->x[i][1] *= 1.25;
        assert_int_equal(sapporo_tree_set(p.tree, &set), SAPPORO_OK);
        assert_int_equal(sapporo_tree_refresh(p.tree), SAPPORO_OK);
    }
    sapporo_tree_destroy(p.tree);
    free(p.h);
}

static void models(void **state)
{
    (void)state;
    tree_faults_need_device();
    for (int model = 0; model < TREE_MODELS; model++)
        for (int k = 0; k < 4; k++) {
            struct tree_particles m = tree_particles_make((enum tree_model)model, k == 2 ? 7 : 3000);
            const int law = (model + 2 * k) % 3;
            check(&m,
                  (sapporo_tree_options){.kind = (k < 3 ? k : model % 2) ? SAPPORO_TREE_KDTREE : SAPPORO_TREE_OCTREE,
                                         .mac = (sapporo_tree_mac)(1 + (model + k) % 3),
                                         .order = 1 + model % 2,
                                         .softening = (sapporo_softening)(k < 3 ? law : SAPPORO_SOFTENING_PLUMMER),
                                         .leaf_size = model % 2 ? 1 : 0},
                  law || k == 3, model == TREE_CLUSTER ? 700 : 64);
            tree_particles_free(&m);
        }
}

static void large(void **state)
{
    (void)state;
    tree_faults_need_device();
    struct tree_particles m = tree_particles_plummer(40000);
    check(&m, (sapporo_tree_options){.mac = SAPPORO_MAC_ACCELERATION, .accuracy = 1.0 / 128}, 0, 2000);
    tree_particles_free(&m);
}

/* ---- walks ---------------------------------------------------------------------------------- */

enum { N = 500, SOME = 90, ROOM = 64 };

/* Forces of a part and of a halo: of all particles, and of active ones. */
struct forces {
    double acc[2][N][3], pot[2][N];
    int work[2][N];
    long long counts[2][2];
};

/* A halo that was selected of a tree for regions beside it. */
struct selected {
    int nodes, n;
    struct sap_tree_node *node;
    struct sap_cell *cell;
    double (*x)[4];
};

static void drop_selected(struct selected *s)
{
    free(s->node);
    free(s->cell);
    free(s->x);
    *s = (struct selected){.nodes = 0};
}

static int select_beside(sapporo_tree *t, struct selected *s)
{
    struct sap_halo_region region[ROOM];
    const struct sap_halo_targets all = {.x = NULL};
    const struct sap_halo_wish wish = {.parts = 1, .room = ROOM, .level_most = 22, .region = region};
    int regions, count[1][2], status = sap_part_regions(t, ROOM, &all, region, &regions);
    for (int r = 0; r < ROOM && !status; r++) region[r].low[0] += 0.5, region[r].high[0] += 0.5;
    if (!status) status = sap_part_select(t, &wish, count);
    if (status) return status;
    struct sap_halo_node *const made = memory((size_t)count[0][0], sizeof *made);
    s->nodes = count[0][0], s->n = count[0][1];
    s->node = memory((size_t)s->nodes, sizeof *s->node);
    s->cell = memory((size_t)s->nodes, sizeof *s->cell);
    s->x = memory((size_t)s->n, sizeof *s->x);
    const struct sap_halo_room to = {.node = made, .x = s->x};
    status = sap_part_selected(t, &to);
    for (int k = 0; k < s->nodes; k++) {
        s->cell[k] = made[k].cell;
        s->node[k] = (struct sap_tree_node){
            .first = made[k].first, .count = made[k].count, .child = made[k].child, .children = made[k].children};
    }
    free(made);
    return status;
}

/* Walks of all particles (which 0) or of active ones; keeps: the device adds them up. */
static int walk_both(sapporo_tree *t, int which, int keeps, struct forces *f)
{
    static double acc[N][3], pot[N];
    static int work[N], active[SOME];
    struct sap_tree_pass pass = {.ni = SOME, .active = which ? active : NULL, .keeps = keeps};
    long long *const counts = f->counts[which], more[2] = {0, 0};
    for (int i = 0; i < SOME; i++) active[i] = i * 7 % N;
    int status = sap_part_walk(t, &pass, keeps ? NULL : acc, keeps ? NULL : pot, keeps ? NULL : work);
    if (!status) status = sap_part_walked(t, &more[0], &more[1]);
    pass.imported = 1, pass.keeps = 0, pass.adds = keeps;
    if (!status) status = sap_part_walk(t, &pass, f->acc[which], f->pot[which], f->work[which]);
    if (!status) status = sap_part_walked(t, &counts[0], &counts[1]);
    for (int i = 0; i < (which ? (int)SOME : (int)N) && !keeps && !status; i++) {
        for (int c = 0; c < 3; c++) f->acc[which][i][c] += acc[i][c];
        f->pot[which][i] += pot[i];
        f->work[which][i] += work[i];
    }
    for (int k = 0; k < 2 && !status; k++) counts[k] += more[k];
    return status;
}

/* Selects, imports and walks; the status of the first call that fails. */
static int do_all(sapporo_tree *t, int keeps, struct forces *f)
{
    struct selected s = {.nodes = 0};
    int status = select_beside(t, &s);
    const struct sap_tree_halo halo = {
        .nodes = s.nodes, .n = s.n, .node = s.node, .cell = s.cell, .x = (const double(*)[4])s.x};
    if (!status) assert_true(s.nodes > 4 && s.n > 0);
    if (!status) status = sap_part_import(t, &halo);
    for (int which = 0; which < 2 && !status; which++) status = walk_both(t, which, keeps, f);
    drop_selected(&s);
    return status;
}

static sapporo_tree *plant(const struct tree_particles *m)
{
    const sapporo_tree_options options = tree_fault_options();
    const sapporo_tree_particles set = {.size = sizeof set, .n = N, .x = {m->x, 0}, .mass = {m->mass, 0}};
    sapporo_tree *t = NULL;
    assert_int_equal(sapporo_tree_create(&options, N, &t), SAPPORO_OK);
    assert_int_equal(sapporo_tree_set(t, &set), SAPPORO_OK);
    assert_int_equal(sapporo_tree_build(t), SAPPORO_OK);
    return t;
}

/* The device adds up what the host would; a call of the driver that fails is reported, and the next try is right. */
static void walks(void **state)
{
    static const int kinds[] = {SAP_DRIVER_MEMORY, SAP_DRIVER_ERROR, SAP_DRIVER_LAUNCH};
    static struct forces right, found;
    (void)state;
    tree_faults_need_device();
    struct tree_particles m = tree_particles_make(TREE_CLUSTER, N);
    tree_faults_start();
    sapporo_tree *t = plant(&m);
    faulty_plan(0, SAP_DRIVER_OK);
    assert_int_equal(do_all(t, 0, &right), SAPPORO_OK);
    assert_int_equal(do_all(t, 1, &found), SAPPORO_OK);
    assert_memory_equal(&found, &right, sizeof found);
    long n = 1;
    for (int failed = 1; failed; n += 3) {
        sapporo_tree_destroy(t); /* memory is taken anew */
        faulty_plan(0, SAP_DRIVER_OK);
        t = plant(&m);
        faulty_plan(n, kinds[n / 3 % 3]);
        const int status = do_all(t, 1, &found);
        failed = faulty.failed;
        if (failed && (status >= 0 || !sapporo_tree_last_error(t)[0]))
            fail_msg("call %ld, %s: status %d", n, faulty.failed_call, status);
        faulty_plan(0, SAP_DRIVER_OK);
        assert_int_equal(do_all(t, 1, &found), SAPPORO_OK);
        assert_memory_equal(&found, &right, sizeof found);
    }
    assert_true(n > 100);
    sapporo_tree_destroy(t);
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
    assert_false(sap_part_selects(t));
    assert_int_equal(sap_part_select(t, NULL, count), SAPPORO_ERR_UNSUPPORTED);
    sapporo_tree_destroy(t);
    assert_int_equal(sap_part_select(t, NULL, count), SAPPORO_ERR_CLOSED);
    assert_false(sap_part_selects(t));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"models, opencl", models, tree_faults_on_opencl, NULL, NULL},
        {"models, cuda", models, tree_faults_on_cuda, NULL, NULL},
        {"large, opencl", large, tree_faults_on_opencl, NULL, NULL},
        {"large, cuda", large, tree_faults_on_cuda, NULL, NULL},
        TREE_FAULTS_TEST("walks", walks, opencl),
        TREE_FAULTS_TEST("walks", walks, cuda),
        {"refusals", refusals, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests_name("tree_halo", tests, NULL, NULL);
}
