#!/bin/sh
# The conformance suite, where it lies in shared/ or beside the project, on lib/: the checks of what has landed here.
#
#   conformance.sh            those
#   conformance.sh FILTER     numbers or words of your own; the suite's README tells how they select
#
# CONFORMANCE_BACKENDS and the suite's other variables pass through.  Without a suite the exit status is 77.

cd "$(dirname "$0")/.." || exit 2

#   1-57         GRAPE-6 and GRAPE-5 calls with their b, c, d forms; clients that link in odd ways, exported names
#   acc-, rep-   accuracy and reproducibility
#   6th-         Sapporo2's sixth-order calls (the range selects them too)
#   58-61        NBODY6's regular and irregular forces
landed="1-61,6th-,acc-,rep-"

for suite in shared/conformance ../shared/conformance; do
    [ -f "$suite/run.sh" ] && exec sh "$suite/run.sh" lib "${1:-$landed}"
done
echo "there is no conformance suite in shared/ or ../shared/"
exit 77
