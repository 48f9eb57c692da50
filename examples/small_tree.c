/*
 * small_tree.c - the calls of a tree, on four particles.
 *
 *   cc small_tree.c -lsapporo -o small_tree
 *   ./small_tree
 *
 * Creates a tree, sets the particles, builds the tree and computes the forces.  tree_force.c has many particles, and
 * looks at errors.
 *
 * It prints
 *
 *      2.000  1.000  0.500, -6.000
 *     -1.472  0.716  0.457, -4.729
 *      0.179 -0.787  0.358, -3.183
 *      0.029  0.089 -0.356, -1.629
 */
#include <sapporo.h>
#include <stdio.h>

int main(void)
{
    double x[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 2, 0}, {0, 0, 4}}, mass[4] = {1, 2, 4, 8}, acc[4][3], pot[4];
    sapporo_tree_options options = {.size = sizeof options, .accuracy = 0.5};
    sapporo_tree_particles particles = {.size = sizeof particles, .n = 4, .x = {x, 0}, .mass = {mass, 0}};
    sapporo_tree_request request = {.size = sizeof request, .ni = 4};
    sapporo_tree *tree;
    if (sapporo_tree_create(&options, 4, &tree)) return 1;
    if (sapporo_tree_set(tree, &particles) || sapporo_tree_build(tree) || sapporo_tree_force(tree, &request, acc, pot))
        return puts(sapporo_tree_last_error(tree)), 1;
    for (int i = 0; i < 4; i++) printf("%6.3f %6.3f %6.3f, %.3f\n", acc[i][0], acc[i][1], acc[i][2], pot[i]);
    sapporo_tree_destroy(tree);
    return 0;
}
