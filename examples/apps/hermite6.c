/* hermite6.c - a star cluster integrated by the sixth-order Hermite scheme: all of it is in common/hermite.c. */
#include "hermite.h"

int main(int argc, char **argv)
{
    run job = {.program = "hermite6",
               .layout = "hermite6 5",
               .about = "a star cluster by the sixth-order Hermite scheme with block steps, on libsapporo",
               .advice = "@ --model king --w0 9 -n 4096 --imf salpeter -t 1/4 -o king   (writes king.0000.txt, ...)\n"
                         "@ king.0000.txt -o again                (reads a snapshot; --help tells the rest)\n"
                         "@ --demo --eta 0.6                      (faster, less exact)\n"
                         "SAPPORO_PRECISION=ds @ --demo           (pair forces in two words of single precision)\n"};
    return hermite_main(&job, 6, argc, argv);
}
