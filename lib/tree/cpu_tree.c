/* cpu_tree.c - the CPU engine's table for trees: memory, particles, build and refresh. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fpenv.h"
#include "structs.h"
#include "threads.h"
#include "tree/cpu_tree.h"
#include "tree/tree.h"

/* Of a leaf and of a group where nobody says: the best of Hernquist's and Plummer's models on AVX-512 and AVX2. */
enum { LEAF = 16, GROUP = 64, SPARE_NODES = 64 };

double sap_tree_clock(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- memory ------------------------------------------------------------------------- */

/* Nodes that a tree of n particles has room for from the start; it seldom has more. */
static int usual_nodes(int n) { return n / 2 + SPARE_NODES; }

static size_t bytes_of_particles(size_t n)
{
    struct sap_tree *t = NULL;
    const size_t given = sizeof *t->given_x + sizeof *t->given_mass + sizeof *t->a;
    const size_t sorted = sizeof *t->x + 3 * sizeof *t->place + 2 * sizeof *t->order.key;
    return n * (given + sorted);
}

static size_t bytes_of_nodes(size_t nodes)
{
    struct sap_tree *t = NULL;
    return nodes * (sizeof *t->node + sizeof *t->cell + sizeof *t->source + 5 * sizeof(float));
}

static size_t bytes_of_groups(const struct sap_tree *t, size_t n)
{
    return (n / (size_t)t->settings.group_size + 1) * sizeof *t->group;
}

static size_t memory(const struct sap_device_set *devices, const struct sap_tree_settings *settings, int n,
                     size_t *device_bytes)
{
    const struct sap_tree t = {.settings = {.group_size = settings->group_size ? settings->group_size : GROUP}};
    (void)devices;
    if (device_bytes) *device_bytes = 0;
    return sizeof t + bytes_of_particles((size_t)n) + bytes_of_nodes((size_t)usual_nodes(n)) +
           bytes_of_groups(&t, (size_t)n);
}

static void destroy(struct sap_tree *t)
{
    free(t->given_x);
    free(t->given_mass);
    free(t->a);
    sap_tree_free_order(&t->order);
    free(t->place);
    free(t->x);
    free(t->node);
    free(t->cell);
    free(t->source);
    free(t->word);
    free(t->group);
    free(t);
}

/* Arrays that follow the room for nodes. */
static int reserve_nodes(struct sap_tree *t)
{
    if (t->node_room <= t->cell_room) return SAPPORO_OK;
    const size_t room = (size_t)t->node_room, column = (room + 31) / 16 * 16;
    free(t->cell);
    free(t->source);
    free(t->word);
    t->cell = malloc(room * sizeof *t->cell);
    t->source = malloc(room * sizeof *t->source);
    t->word = aligned_alloc(64, 5 * column * sizeof *t->word);
    t->cell_room = t->cell && t->source && t->word ? t->node_room : 0;
    if (!t->cell_room) return SAPPORO_ERR_MEMORY;
    t->words_of = (struct sap_tree_words){t->word, t->word + column, t->word + 2 * column, t->word + 3 * column,
                                          t->word + 4 * column};
    return SAPPORO_OK;
}

static int reserve_particles(struct sap_tree *t)
{
    const size_t room = (size_t)t->room + 1;
    t->given_x = malloc(room * sizeof *t->given_x);
    t->given_mass = malloc(room * sizeof *t->given_mass);
    t->a = malloc(room * sizeof *t->a);
    t->place = malloc(room * sizeof *t->place);
    t->x = malloc(room * sizeof *t->x);
    t->group = malloc(bytes_of_groups(t, room));
    t->node_room = usual_nodes(t->room);
    t->node = malloc((size_t)t->node_room * sizeof *t->node);
    if (!t->given_x || !t->given_mass || !t->a || !t->place || !t->x || !t->group || !t->node)
        return SAPPORO_ERR_MEMORY;
    return sap_tree_new_order(t->room, &t->order) || reserve_nodes(t) ? SAPPORO_ERR_MEMORY : SAPPORO_OK;
}

static int create(struct sap_device_set *devices, const struct sap_tree_settings *settings, int n,
                  struct sap_tree **tree)
{
    struct sap_tree *t = calloc(1, sizeof *t);
    *tree = NULL;
    if (!t) return SAPPORO_ERR_MEMORY;
    t->settings = *settings;
    if (!t->settings.leaf_size) t->settings.leaf_size = LEAF;
    if (!t->settings.group_size) t->settings.group_size = GROUP;
    if (!t->settings.ball) t->settings.ball = SAPPORO_BALL_SMALLER;
    t->narrow = sap_isa_tree_kernel(devices->isa, SAPPORO_SP);
    t->wide = sap_isa_tree_kernel(devices->isa, SAPPORO_DP);
    t->threads = devices->threads;
    t->room = n;
    if (reserve_particles(t)) {
        destroy(t);
        return SAPPORO_ERR_MEMORY;
    }
    *tree = t;
    return SAPPORO_OK;
}

static void kind(const struct sap_device_set *devices, const struct sap_tree_settings *settings, char *text,
                 size_t room)
{
    const int dp = settings->precision == SAPPORO_DP;
    (void)snprintf(text, room, "cpu %s %s octree %s", sap_isa_name(devices->isa), dp ? "dp" : "sp",
                   dp || devices->isa == SAP_ISA_SCALAR ? "any" : sap_isa_vendor());
}

static const char *words(const struct sap_tree *t) { return t->words; }

int sap_tree_failed_cpu(struct sap_tree *t, int status, const char *why)
{
    (void)snprintf(t->words, sizeof t->words, "%s", why);
    return status;
}

/* ---- particles ------------------------------------------------------------------------ */

static int set(struct sap_tree *t, const sapporo_tree_particles *p)
{
    t->words[0] = '\0';
    if (p->memory != SAPPORO_MEMORY_HOST)
        return sap_tree_failed_cpu(t, SAPPORO_ERR_UNSUPPORTED, "the CPU engine works on host memory only");
    const int known = p->n == t->given;
    for (int i = 0; i < p->n; i++) {
        memcpy(t->given_x[i], sap_column_at(&p->x, i, sizeof *t->given_x), sizeof *t->given_x);
        if (p->mass.base) memcpy(&t->given_mass[i], sap_column_at(&p->mass, i, sizeof(double)), sizeof(double));
        if (p->a.base)
            memcpy(&t->a[i], sap_column_at(&p->a, i, sizeof(double)), sizeof(double));
        else if (!known)
            t->a[i] = -1;
    }
    for (int i = 0; i < p->n && !p->mass.base && !known; i++) t->given_mass[i] = 0;
    t->given = p->n;
    return SAPPORO_OK;
}

static double mass_unit_of(const struct sap_tree *t)
{
    double sum = 0;
    for (int i = 0; i < t->n; i++) sum += fabs(t->given_mass[i]);
    return sap_tree_mass_unit(sum);
}

/* Sorted particles from those that were given. */
static void gather(struct sap_tree *t, int threads)
{
    (void)threads;
    t->mass_unit = mass_unit_of(t);
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int k = 0; k < t->n; k++) {
        const int i = t->order.address[k];
        for (int c = 0; c < 3; c++) t->x[k][c] = t->given_x[i][c];
        t->x[k][3] = t->given_mass[i] * t->mass_unit;
        t->place[i] = k;
    }
}

/* ---- build and refresh -------------------------------------------------------------------- */

/* Moments and what follows from them; the tree is whole then. */
static void finish(struct sap_tree *t, int threads)
{
    const double start = sap_tree_clock();
    gather(t, threads);
    if (t->nodes > 0) sap_tree_moments(t, threads);
    t->self = (struct sap_tree_walkers){t->n, (t->n + t->settings.group_size - 1) / t->settings.group_size,
                                        (const double(*)[4])t->x, t->group, 1};
    t->built = 1;
    t->done.seconds[SAPPORO_PHASE_MOMENTS] = sap_tree_clock() - start;
}

/* Threads that are worth waking for so many particles. */
static int threads_for(const struct sap_tree *t, int n)
{
    enum { A_THREAD = 16384 };
    const int most = 1 + n / A_THREAD;
    return sap_threads_now(most < t->threads ? most : t->threads);
}

static int build(struct sap_tree *t)
{
    const int threads = threads_for(t, t->given);
    const double start = sap_tree_clock();
    t->words[0] = '\0';
    t->built = 0;
    t->n = t->given;
    t->cube = sap_tree_cube_of((const double(*)[3])t->given_x, t->n, threads);
    t->unit = sap_tree_unit(&t->cube, t->settings.eps2);
    for (int c = 0; c < 3; c++) t->middle[c] = t->cube.low[c] + 0.5 * t->cube.edge;
    sap_tree_sort(&t->cube, (int)t->settings.curve, (const double(*)[3])t->given_x, t->n, &t->order, threads);
    const double sorted = sap_tree_clock();
    t->done = (sapporo_tree_statistics){.seconds = {[SAPPORO_PHASE_SORT] = sorted - start}};
    const int status = sap_tree_link(t, threads);
    if (status || reserve_nodes(t))
        return sap_tree_failed_cpu(t, SAPPORO_ERR_MEMORY, "for cells: there is no tree now");
    t->done.seconds[SAPPORO_PHASE_LINK] = sap_tree_clock() - sorted;
    finish(t, threads);
    return SAPPORO_OK;
}

static int refresh(struct sap_tree *t)
{
    t->words[0] = '\0';
    if (!t->built || t->given != t->n)
        return sap_tree_failed_cpu(t, SAPPORO_ERR_ARGUMENT, "there is no tree of so many particles");
    t->done.seconds[SAPPORO_PHASE_SORT] = t->done.seconds[SAPPORO_PHASE_LINK] = 0;
    finish(t, threads_for(t, t->n));
    return SAPPORO_OK;
}

/* ---- what it is ---------------------------------------------------------------------------- */

static void statistics(const struct sap_tree *t, sapporo_tree_statistics *s)
{
    *s = t->done;
    s->n = t->built ? t->n : 0;
    s->cells = t->built ? t->nodes : 0;
    for (int k = 0; k < s->cells; k++) {
        if (t->node[k].children) continue;
        s->leaves++;
        if (t->node[k].count > s->largest_leaf) s->largest_leaf = t->node[k].count;
    }
    s->groups = t->built ? t->self.groups : 0;
    for (int g = 0; g < s->groups; g++) s->wide_groups += t->group[g].wide != 0;
    s->depth = s->cells > 0 ? t->levels - 1 : 0;
    s->host_bytes = sizeof *t + bytes_of_particles((size_t)t->room) + bytes_of_nodes((size_t)t->node_room) +
                    bytes_of_groups(t, (size_t)t->room);
}

static void copy_node(const struct sap_tree *t, int k, struct sap_tree_structure *s)
{
    const struct sap_tree_node *const node = &t->node[k];
    s->first[k] = node->first;
    s->count[k] = node->count;
    s->child[k] = node->child;
    s->children[k] = node->children;
    s->level[k] = node->level;
    sap_tree_tell_cell(&t->cell[k], k, s);
}

static int structure(const struct sap_tree *t, struct sap_tree_structure *s)
{
    s->nodes = t->built ? t->nodes : 0;
    s->n = t->built ? t->n : 0;
    if (!s->first) return SAPPORO_OK;
    for (int k = 0; k < s->nodes; k++) copy_node(t, k, s);
    for (int k = 0; k < s->n; k++) s->address[k] = t->order.address[k];
    return SAPPORO_OK;
}

static int search(struct sap_tree *t, int ni, sapporo_column x, sapporo_column h, long long *first, long long room,
                  int *list)
{
    t->words[0] = '\0';
    return sap_tree_search(t, ni, x, h, first, room, list, sap_threads_now(t->threads));
}

const struct sap_tree_ops sap_tree_cpu = {
    .memory = memory,
    .create = create,
    .destroy = destroy,
    .set = set,
    .build = build,
    .refresh = refresh,
    .force = sap_tree_force_cpu,
    .search = search,
    .statistics = statistics,
    .structure = structure,
    .kind = kind,
    .words = words,
};
