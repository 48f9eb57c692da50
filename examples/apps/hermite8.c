/* hermite8.c - a star cluster integrated by the eighth-order Hermite scheme: all of it is in common/hermite.c. */
#include "hermite.h"

int main(int argc, char **argv)
{
    run job = {.program = "hermite8",
               .layout = "hermite8 1",
               .about = "a star cluster by the eighth-order Hermite scheme with block steps, on libsapporo"};
    return hermite_main(&job, 8, argc, argv);
}
