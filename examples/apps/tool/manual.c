/*
 * manual.c - see manual.h.  `make install` writes the pages with `sapporo --man 1` and `sapporo --man 7`.
 *
 * Options come from the tables that parse the command line, variables from sapporo_variable_describe.  The pages bear
 * no date: the same sources give the same bytes.
 */
#include "manual.h"

#include <sapporo.h>
#include <stdio.h>

/* ---- text for man ------------------------------------------------------------------ */

/* Prints one character; at the beginning of a line a dot or a quote would be a request. */
static void print_character(char c, int begins)
{
    if (begins && (c == '.' || c == '\'')) printf("\\&");
    switch (c) {
    case '\\':
        printf("\\e");
        break;
    case '-':
        printf("\\-");
        break;
    case '~':
        printf("\\(ti");
        break;
    case '^':
        printf("\\(ha");
        break;
    default:
        putchar(c);
    }
}

void manual_text(const char *text)
{
    int bold = 0;
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '`') {
            bold = !bold;
            printf("\\f%c", bold ? 'B' : 'R');
        } else
            print_character(*c, c == text || c[-1] == '\n');
    }
}

static void section(const char *title) { printf(".SH %s\n", title); }

/* A paragraph of the text; the text of an item if it follows item(). */
static void paragraph(const char *text)
{
    manual_text(text);
    putchar('\n');
}

/* An item of a list: its name in bold, the name of its value in italics unless it is NULL. */
static void item(const char *name, const char *value)
{
    printf(".TP\n\\fB");
    manual_text(name);
    printf("\\fR");
    if (value != NULL) {
        printf(" \\fI");
        manual_text(value);
        printf("\\fR");
    }
    putchar('\n');
}

static void example(const char *line)
{
    printf(".nf\n.RS\n");
    paragraph(line);
    printf(".RE\n.fi\n");
}

static void title(const char *number, const char *kind)
{
    printf(".TH SAPPORO %s \"\" \"libsapporo %s\" \"%s\"\n", number, sapporo_version(), kind);
}

/* ---- sapporo(1) ---------------------------------------------------------------------- */

void manual_command(const char *command, const char *summary, const option_spec *table)
{
    printf(".SS sapporo %s\n", command);
    paragraph(summary);
    for (const option_spec *option = table; option->name != NULL; option++) {
        if (option->help == NULL) continue;
        item(option->name, option->type == OPTION_ON || option->type == OPTION_OFF ? NULL : option->argument);
        paragraph(option->help);
    }
    item("--help", NULL);
    paragraph("prints these options");
    item("--version", NULL);
    paragraph("prints the version of libsapporo");
}

void manual_tool_begin(void)
{
    title("1", "User Commands");
    section("NAME");
    paragraph("sapporo - shows, checks, measures and tunes libsapporo on this machine");
    section("SYNOPSIS");
    printf(".B sapporo\n.I COMMAND\n.RI [ options ]\n.br\n.B sapporo\n.RB [ \\-\\-help | \\-\\-version ]\n");
    section("DESCRIPTION");
    paragraph("libsapporo computes gravitational forces for N-body codes, on GPUs and CPUs.\n"
              "This tool shows what the library uses on this machine, tests whether its forces are right, and measures "
              "their speed.\n"
              "Numbers may be written as 65536, 1e6, 64k or 1M.");
    section("COMMANDS");
}

void manual_tool_end(void)
{
    section("EXIT STATUS");
    item("0", NULL);
    paragraph("success");
    item("1", NULL);
    paragraph("a test failed, something that was asked for is absent, or the output could not be written");
    item("2", NULL);
    paragraph("the command line is wrong");
    section("ENVIRONMENT");
    printf("The variables of the library are in\n.BR sapporo (7).\n");
    section("EXAMPLES");
    example("sapporo info\nsapporo check --backend cpu --precision ds\nsapporo bench --n 4096 --precision ds,dp");
    section("SEE ALSO");
    printf(".BR sapporo (7)\n");
}

/* ---- sapporo(7) ---------------------------------------------------------------------- */

static void variable_item(const sapporo_variable *v)
{
    item(v->name, NULL);
    manual_text(v->about);
    printf("%s.\n", v->audience == SAPPORO_FOR_TESTS ? "; for tests" : "");
    printf("Values: ");
    manual_text(v->values);
    printf(".\n");
    if (v->usual[0] != '\0') {
        printf("Default: ");
        manual_text(v->usual);
        printf(".\n");
    }
}

/* The variables of other software, or all others. */
static void variables(int others)
{
    sapporo_variable v = {.size = sizeof v};
    for (int k = 0; sapporo_variable_describe(k, &v) == SAPPORO_OK; k++)
        if ((v.audience == SAPPORO_FOR_OTHERS) == others) variable_item(&v);
}

static void interfaces(void)
{
    static const char *const rows[][2] = {
        {"sapporo.h, sapporo_tree.h, sapporo_stepper.h",
         "the library's own interface, trees, integration: `-lsapporo`; Fortran: the module in sapporo.f90"},
        {"sapporo_mpi.h", "forces over MPI ranks: `-lsapporo_mpi`; Fortran: the module in sapporo_mpi.f90"},
        {"sapporo_g6.h", "GRAPE-6: `-lsapporo`, or `-lg6` with 48 pipes"},
        {"sapporo_g5.h", "GRAPE-5: `-lsapporo` or `-lpg5`; Phantom-GRAPE with SYMMETRIC: `-lpg5_symmetric`"},
        {"sapporo_nbody6.h",
         "NBODY6, NBODY7 and NBODY6++GPU: `-lnbody6_gpu`, `-lnbody6_2010_gpu`, `-lnbody7_gpu`, `-lnbody6pp_gpu`"},
        {"sapporo_g5c.h", "cells of Phantom-GRAPE with quadrupole moments: `-lg5c -lpg5`"},
        {"sapporo_cunbody1.h", "CUNBODY-1: `-lcunbody1`"},
        {"sapporo_harp3.h", "HARP-3: `-lharp3`"},
        {"sapporo_hermite6.h", "sixth-order codes: `-lsapporo6th`, `-lyebisug6`"},
        {"sapporo_sphgrav.h", "StarSmasher: `-lsphgrav_sapporo`"},
        {"sapporo_fdps.hpp", "FDPS, in C++: `-lsapporo`"},
        {"sapporo/compat/", "headers under the names that older codes include, such as g6lib.h"},
    };
    section("INTERFACES");
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        item(rows[k][0], NULL);
        paragraph(rows[k][1]);
    }
}

static void files(void)
{
    section("FILES");
    item("~/.config/sapporo/tune", NULL);
    printf("the tuning file, which\n.B sapporo tune\nwrites\n");
    item("~/.cache/sapporo/", NULL);
    paragraph("programs that OpenCL drivers compiled");
    item("sapporo2.config, sapporo.config", NULL);
    paragraph("in the working directory: the devices that are used, as for older versions of Sapporo");
}

void manual_library(void)
{
    title("7", "Miscellaneous Information");
    section("NAME");
    paragraph("sapporo - gravitational forces for N-body codes");
    section("SYNOPSIS");
    printf(".B #include <sapporo.h>\n.PP\n");
    example("cc two.c $(pkg-config --cflags --libs sapporo)");
    section("DESCRIPTION");
    paragraph(
        "libsapporo computes accelerations, jerks, potentials, nearest neighbours and neighbour lists, by direct\n"
        "sums and by trees (octrees and kd-trees), and integrates orbits.\n"
        "It uses NVIDIA or AMD GPUs, OpenCL devices or the CPU, and chooses among them when the program runs.\n"
        "Results are the same to the last bit for any number of threads or devices.");
    interfaces();
    section("ENVIRONMENT");
    paragraph("The library works without any setting.\n"
              "It reads these variables when a cluster or context is opened.\n"
              "A variable that begins with `SAPPORO_` and is not listed gives one warning.");
    variables(0);
    printf(".SS Variables of other software, which the library reads too\n");
    variables(1);
    files();
    section("SEE ALSO");
    printf(".BR sapporo (1)\n");
}
