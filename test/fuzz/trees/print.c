/* print.c - see print.h. */
#include "print.h"

#include <stdio.h>

#include "worker.h"

static void print_numbers(FILE *to, const char *name, const double *number, int rows, int width)
{
    if (!number) return;
    fprintf(to, "static double %s[%d]%s = {", name, rows, width == 3 ? "[3]" : "");
    for (int k = 0; k < rows * width; k++) {
        const char *const before = width == 3 && k % 3 == 0 ? "{" : "", *const after =
                                                                            width == 3 && k % 3 == 2 ? "}" : "";
        fprintf(to, "%s%s%a%s", k ? ", " : "", before, number[k], after);
    }
    fprintf(to, "};\n");
}

static void print_columns(FILE *to, const struct multiscale *s)
{
    const double *const position = s->position ? s->position[0] : NULL;
    print_numbers(to, "x", s->x[0], s->n, 3);
    print_numbers(to, "moved", s->moved ? s->moved[0] : NULL, s->n, 3);
    print_numbers(to, "mass", s->mass, s->n, 1);
    print_numbers(to, "h", s->h, s->n, 1);
    print_numbers(to, "a", s->a, s->n, 1);
    print_numbers(to, "position", position, s->ni, 3);
    print_numbers(to, "position_h", s->position_h, s->ni, 1);
    if (!s->active) return;
    fprintf(to, "static int active[%d] = {", s->ni);
    for (int i = 0; i < s->ni; i++) fprintf(to, "%s%d", i ? ", " : "", s->active[i]);
    fprintf(to, "};\n");
}

static void print_exact(FILE *to, const struct multiscale *s)
{
    fprintf(to, "static const double exact[%d][4] = {", s->ni);
    for (int i = 0; i < s->ni; i++) {
        struct proof_row row;
        proof_exact(s, i, &row);
        fprintf(to, "%s{%a, %a, %a, %a}", i ? ", " : "", (double)row.acc[0], (double)row.acc[1], (double)row.acc[2],
                (double)row.pot);
    }
    fprintf(to, "};\n");
}

static void print_options(FILE *to, const struct multiscale *s, const struct proof_engine *e)
{
    const sapporo_tree_options *const o = &s->options;
    fprintf(
        to,
        "    const sapporo_tree_options o = {.size = sizeof o, .kind = %d, .mac = %d, .accuracy = %a, .order = %d,\n"
        "        .eps2 = %a, .leaf_size = %d, .group_size = %d, .precision = %d, .backend = %d, .threads = %d,\n"
        "        .experiments = 0x%x, .group_extent = %a, .softening = %d, .cpu_isa = %s%s%s};\n",
        (int)o->kind, (int)o->mac, o->accuracy, o->order, o->eps2, o->leaf_size, o->group_size, (int)e->precision,
        (int)e->backend, e->threads, o->experiments, o->group_extent, (int)o->softening, e->isa ? "\"" : "",
        e->isa ? e->isa : "0", e->isa ? "\"" : "");
}

static void print_tree(FILE *to, const struct multiscale *s)
{
    fprintf(to,
            "    sapporo_tree *t;\n"
            "    sapporo_tree_particles p = {.size = sizeof p, .n = %d, .x = {x, 0}, .mass = {mass, 0}%s%s};\n"
            "    const sapporo_tree_request r = {.size = sizeof r, .ni = %d%s%s%s};\n"
            "    if (sapporo_tree_create(&o, %d, &t)) return puts(sapporo_last_error(NULL)), 2;\n"
            "    if (sapporo_tree_set(t, &p) || sapporo_tree_build(t)) return puts(sapporo_tree_last_error(t)), 2;\n",
            s->n, s->h ? ", .h = {h, 0}" : "", s->a ? ", .a = {a, 0}" : "", s->ni,
            s->active ? ", .active = active" : "", s->position ? ", .x = {position, 0}" : "",
            s->position_h ? ", .h = {position_h, 0}" : "", s->n);
    if (s->moved)
        fprintf(to, "    p.x.base = moved;\n"
                    "    if (sapporo_tree_set(t, &p) || sapporo_tree_refresh(t)) return 2;\n");
    fprintf(to, "    if (sapporo_tree_force(t, &r, acc, pot) < 0) return puts(sapporo_tree_last_error(t)), 2;\n"
                "    sapporo_tree_destroy(t);\n");
}

static void print_stepper(FILE *to, const struct multiscale *s)
{
    const int n = s->n + (s->position ? s->ni : 0), first = s->position ? s->n : 0;
    fprintf(
        to,
        "    static double all[%d][3], v[%d][3], m[%d], b[%d][3], q[%d];\n"
        "    memcpy(all, x, sizeof x), memcpy(m, mass, sizeof mass);\n%s"
        "    const sapporo_stepper_options w = {.size = sizeof w, .method = SAPPORO_STEP_TREE, .tree = &o, .dt = 1};\n"
        "    const sapporo_stepper_particles p = {.size = sizeof p, .n = %d, .x = {all, 0}, .v = {v, 0},\n"
        "        .mass = {m, 0}};\n"
        "    const sapporo_stepper_output r = {.size = sizeof r, .n = %d, .when = SAPPORO_STEP_OWN, .acc = b,\n"
        "        .pot = q};\n"
        "    sapporo_stepper *t;\n"
        "    if (sapporo_stepper_create(&w, %d, &t)) return puts(sapporo_last_error(NULL)), 2;\n"
        "    if (sapporo_stepper_set(t, &p) || sapporo_stepper_get(t, &r)) return 2;\n"
        "    memcpy(acc, b + %d, sizeof acc), memcpy(pot, q + %d, sizeof pot);\n",
        n, n, n, n, n, s->position ? "    memcpy(all + sizeof x / sizeof *x, position, sizeof position);\n" : "", n, n,
        n, first, first);
}

int print_system(const char *path, const struct multiscale *s, const struct proof_engine *e,
                 const struct proof_verdict *v)
{
    FILE *const to = fopen(path, "w");
    if (!to) return 0;
    fprintf(to, "/* %s\n   %s\n   Prints each row beside the exact one. */\n", s->words, v->text);
    fprintf(to, "#include <sapporo_tree.h>\n#include <stdio.h>\n#include <string.h>\n\n");
    print_columns(to, s);
    print_exact(to, s);
    fprintf(to, "static double acc[%d][3], pot[%d];\n\nint main(void)\n{\n", s->ni, s->ni);
    print_options(to, s, e);
    (s->form >= MULTISCALE_MASSLESS ? print_stepper : print_tree)(to, s);
    fprintf(to,
            "    for (int i = 0; i < %d; i++)\n"
            "        for (int c = 0; c < 4; c++)\n"
            "            printf(\"%%d %%s %%.9e %%.9e\\n\", i, c < 3 ? \"acc\" : \"pot\", c < 3 ? acc[i][c] : pot[i],\n"
            "                   exact[i][c]);\n"
            "    return 0;\n}\n",
            s->ni);
    return fclose(to) == 0;
}
