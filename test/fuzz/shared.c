/* shared.c - what the models of several interfaces need. */
#define _DEFAULT_SOURCE 1
#include <dlfcn.h>
#include <limits.h>
#include <stddef.h>
#include <unistd.h>

#include "calls.h"
#include "interface.h"

struct setting setting;

static void (*execute)(const struct op *op);
static int (*open_once)(void);

const char *load_calls(void)
{
    char path[1000];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 40);
    char *const slash = n > 0 ? (path[n] = '\0', strrchr(path, '/')) : NULL;
    if (!slash) return "the program's own folder is not known";
    memcpy(slash, "/fuzz_calls.so", sizeof "/fuzz_calls.so");
    void *const calls = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!calls) return dlerror();
    *(void **)&execute = dlsym(calls, "fuzz_execute");
    *(void **)&open_once = dlsym(calls, "fuzz_can_open");
    /* cppcheck-suppress resourceLeak ; the calls stay loaded */
    return execute && open_once ? NULL : dlerror();
}

int can_open(void) { return open_once(); }

void make_call(const struct op *op, int rows, int entries)
{
    poison(rows, entries);
    note_call();
    execute(op);
}

sapporo_precision precision_of(int order)
{
    const char *const p = setting.precision;
    if (strcmp(p, "sp") == 0) return order > 4 ? SAPPORO_PRECISION_DEFAULT : SAPPORO_SP;
    if (strcmp(p, "dp") == 0) return SAPPORO_DP;
    if (strcmp(p, "ds") == 0) return SAPPORO_DS;
    return order > 4 ? SAPPORO_DP : SAPPORO_DS;
}

/* The last operation before the end that loads positions: its number of the column, or -1. */
static const struct op *last_load(const struct sequence *s, int *x, int *index)
{
    for (int k = s->n - 1; k >= 0; k--) {
        const struct op *const op = &s->op[k];
        if (op->kind == OP_G6_LOAD)
            *x = 8, *index = 1;
        else if (op->kind == OP_LOAD)
            *x = 0, *index = 7;
        else
            continue;
        if (op->rows > 0) return op;
    }
    return NULL;
}

struct op *g5_add(struct sequence *s, rng *r, enum kind kind, int id, int a)
{
    static const int odd[] = {-1, INT_MIN, 65536, INT_MAX};
    struct op *const op = sequence_add(s, kind);
    op->i[0] = one_in(r, 200) ? odd[draw(r, 4)] : id;
    op->i[1] = a;
    return op;
}

void add_fill(struct sequence *s, const struct scene *scene, int to_batch, int n, int group)
{
    rng *const r = scene->random;
    int at_x = 0, at_index = 0;
    struct op *const op = sequence_add(s, OP_FILL);
    const struct op *const load = last_load(s, &at_x, &at_index);
    const int on_particles = one_in(r, 2);
    op->i[0] = to_batch;
    op->i[1] = op->rows = n;
    op->rows_at = 1;
    op->group = group;
    int *const index = op_whole(op, 0, 1);
    double *const x = op_reals(op, 1, 3), *const v = op_reals(op, 2, 3), *const h2 = op_reals(op, 3, 1);
    for (int i = 0; i < n; i++) {
        double *const to = x + 3 * (ptrdiff_t)i;
        const int from = load ? draw(r, load->rows) : 0;
        index[i] = draw_index(r, i);
        scene_position(scene, to);
        scene_derivative(scene, 1, v + 3 * (ptrdiff_t)i);
        h2[i] = scene_h2(scene);
        if (!load || !on_particles) continue;
        memcpy(to, (const double *)load->column[at_x].data + 3 * (ptrdiff_t)from, 3 * sizeof *to);
        const int *const given = load->column[at_index].data;
        if (!one_in(r, 3)) index[i] = given ? given[from] : load->i[1] + from;
    }
}
