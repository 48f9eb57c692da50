/*
 * trees.c - defects of sapporo_tree_force that the proof of near pairs must find, preloaded: FUZZ_PLANT is `wrong` (a
 * row is off by 1 %), `unwritten` (a row keeps what it held), `ends` or `hangs` (so does the process).
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sapporo_tree.h"

typedef int force_function(sapporo_tree *tree, const sapporo_tree_request *request, double (*acc)[3], double *pot);

static int is_planted(const char *what)
{
    const char *const plant = getenv("FUZZ_PLANT");
    return plant && strcmp(plant, what) == 0;
}

int sapporo_tree_force(sapporo_tree *tree, const sapporo_tree_request *request, double (*acc)[3], double *pot)
{
    static int calls;
    void *const found = dlsym(RTLD_NEXT, "sapporo_tree_force");
    force_function *force;
    memcpy(&force, &found, sizeof force);
    const int row = request->ni / 2, defect = ++calls % 16 == 0;
    const double before = pot[row];
    const int status = force(tree, request, acc, pot);
    if (defect && is_planted("wrong")) acc[row][1] *= 1.01;
    if (defect && is_planted("unwritten")) pot[row] = before;
    if (defect && is_planted("ends")) abort();
    while (defect && is_planted("hangs")) (void)sleep(1);
    return status;
}
