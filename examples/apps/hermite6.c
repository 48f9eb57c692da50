/* hermite6.c - a star cluster integrated by the sixth-order Hermite scheme: all of it is in common/hermite.c. */
#include "hermite.h"

int main(int argc, char **argv)
{
    run job = {.program = "hermite6",
               .layout = "hermite6 1",
               .about = "a star cluster by the sixth-order Hermite scheme with block steps, on libsapporo"};
    return hermite_main(&job, 6, argc, argv);
}
