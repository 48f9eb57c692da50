/* print.c - see print.h. */
#include "print.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>

static void print_int(FILE *to, int n)
{
    if (n == INT_MIN)
        fputs("INT_MIN", to);
    else
        fprintf(to, "%d", n);
}

static void print_real(FILE *to, double x)
{
    if (isnan(x))
        fputs("NAN", to);
    else if (isinf(x))
        fputs(x > 0 ? "INFINITY" : "-INFINITY", to);
    else if (fabs(x) < 1e9 && x == floor(x * 1024) / 1024 && (x != 0 || !signbit(x)))
        fprintf(to, "%.10g", x);
    else
        fprintf(to, "%a", x);
}

static void print_row(FILE *to, const struct column *c, int row)
{
    if (c->width > 1) fputc('{', to);
    for (int k = 0; k < c->width; k++) {
        const int at = row * c->width + k;
        if (k) fputs(", ", to);
        if (c->is_int)
            print_int(to, ((const int *)c->data)[at]);
        else
            print_real(to, ((const double *)c->data)[at]);
    }
    if (c->width > 1) fputc('}', to);
}

/* Columns of three values are vectors only where the call takes an array of them. */
static void print_column(FILE *to, const struct op *op, int number, int column)
{
    const struct column *const c = &op->column[column];
    char vector[16], list[16], width[20] = "";
    (void)snprintf(vector, sizeof vector, "V(%d)", column);
    (void)snprintf(list, sizeof list, "M(%d)", column);
    const int is_list = strstr(kind_text(op->kind), list) != NULL;
    const int is_vector = is_list || strstr(kind_text(op->kind), vector) != NULL;
    const int rows = op->rows > 0 ? op->rows : 1;
    if (is_vector) (void)snprintf(width, sizeof width, "[%d]", c->width);
    fprintf(to, "static %s %c%d_%d[%d]%s = {", c->is_int ? "int" : "double",
            is_list     ? 'm'
            : c->is_int ? 'n'
            : is_vector ? 'v'
                        : 'r',
            number, column, is_vector ? rows : rows * c->width, width);
    for (int row = 0; row < rows; row++) {
        struct column flat = *c;
        if (row) fputs(row % 4 ? ", " : ",\n    ", to);
        if (is_vector) {
            print_row(to, c, row);
        } else {
            flat.width = 1;
            for (int k = 0; k < c->width; k++) {
                if (k) fputs(", ", to);
                print_row(to, &flat, row * c->width + k);
            }
        }
    }
    fputs("};\n", to);
}

/* Replaces I(k), D(k), N(k), M(k), V(k) and R(k) in the text of the call. */
static void print_call(FILE *to, const struct op *op, int number)
{
    char before = ' ';
    for (const char *t = kind_text(op->kind); *t; before = *t++) {
        const int is_name = isalnum((unsigned char)before) || before == '_';
        if (is_name || !strchr("IDNVRM", *t) || t[1] != '(' || !isdigit((unsigned char)t[2]) || t[3] != ')') {
            fputc(*t, to);
            continue;
        }
        const int k = t[2] - '0';
        if (*t == 'I')
            print_int(to, op->i[k]);
        else if (*t == 'D')
            print_real(to, op->d[k]);
        else if (!op->column[k].data)
            fputs("NULL", to);
        else
            fprintf(to, "%c%d_%d", tolower((unsigned char)*t), number, k);
        t += 3;
    }
}

static const char *what_of(const struct result *r)
{
    static char text[400];
    if (r->outcome == OUTCOME_DIFFERS) return r->failure.text;
    if (r->outcome == OUTCOME_HANGS) return "the call does not return";
    if (WIFSIGNALED(r->status))
        (void)snprintf(text, sizeof text, "the process is ended by signal %d", WTERMSIG(r->status));
    else if (WEXITSTATUS(r->status) > 128)
        (void)snprintf(text, sizeof text, "the process gets signal %d", WEXITSTATUS(r->status) - 128);
    else
        (void)snprintf(text, sizeof text, "the process is ended with status %d", WEXITSTATUS(r->status));
    return text;
}

static void print_head(FILE *to, const struct job *job, const struct result *r)
{
    const struct setting *const s = &job->setting;
    fprintf(to, "/*\n * Found by test/fuzz: interface %s, seed %" PRIu64 ".\n * Operation %d: %s.\n *\n",
            job->interface->name, r->seed, r->failure.op, what_of(r));
    fprintf(to, " * cc -Iinclude -Itest/fuzz THIS.c -Llib -Wl,-rpath,lib -lsapporo -lm -ldl -lpthread\n */\n");
    fputs("#define _POSIX_C_SOURCE 200809L\n#define CALLS_DEFINE 1\n#include \"calls.h\"\n#include "
          "\"calls_nbody6.h\"\n\n#include <unistd.h>\n\n",
          to);
    fprintf(to, "static void set_environment(void)\n{\n    setenv(\"SAPPORO_BACKEND\", \"%s\", 0);\n", s->backend);
    if (*s->isa) fprintf(to, "    setenv(\"SAPPORO_CPU_ISA\", \"%s\", 0);\n", s->isa);
    if (*s->precision) fprintf(to, "    setenv(\"SAPPORO_PRECISION\", \"%s\", 0);\n", s->precision);
    fprintf(to, "    setenv(\"OMP_NUM_THREADS\", \"%d\", 0);\n}\n\n", s->threads);
}

void print_program(FILE *to, const struct job *job, const struct sequence *s, const struct result *r)
{
    print_head(to, job, r);
    for (int k = 0; k < s->n; k++)
        for (int c = 0; c < OP_COLUMNS && (k >= OPS_NOTED || r->made[k]); c++)
            if (s->op[k].column[c].data) print_column(to, &s->op[k], k, c);
    fputs("\nint main(void)\n{\n    set_environment();\n    alarm(60);\n", to);
    for (int k = 0; k < s->n; k++) {
        if (k < OPS_NOTED && !r->made[k]) continue;
        fprintf(to, "    poison(CALL_ROWS, CALL_LIST);\n    ");
        print_call(to, &s->op[k], k);
        fprintf(to, ";\n    printf(\"%d %s: %%d\\n\", rc);\n", k, kind_name(s->op[k].kind));
        if (r->outcome == OUTCOME_DIFFERS && k == r->failure.op) {
            fprintf(to, "    const int is_right = %s;\n", r->failure.condition);
            fprintf(to, "    printf(\"%%s\\n\", is_right ? \"right\" : \"wrong\");\n    return !is_right;\n");
            break;
        }
    }
    if (r->outcome != OUTCOME_DIFFERS) fputs("    return 0;\n", to);
    fputs("}\n", to);
}
