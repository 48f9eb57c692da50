#!/bin/sh
# The conformance suite, where it lies in shared/ or beside the project, on lib/: the checks of what has landed here.
#
#   conformance.sh            those
#   conformance.sh FILTER     numbers or words of your own; the suite's README tells how they select
#
# CONFORMANCE_BACKENDS and the suite's other variables pass through.  Without a suite the exit status is 77.

cd "$(dirname "$0")/.." || exit 2

#   1-25, 27-39, 53-57   GRAPE-6 calls with their b, c, d forms; 26 by its title,
#   26b, 26c             since the number would also select 26d
#   49-50                clients that define names themselves; 52, 52b: exported names; 52c, 52d: configure tests
#   acc-, rep-           accuracy and reproducibility
# The range 1-25 also selects 6th-1 to 6th-3, which are skipped by name as long as there is no libsapporo6th.
# Not yet, because they call g5_*: 26d, 40-48, 51, 51b and 52e.  Not yet, because their libraries come later: 58-61.
landed="1-25,close and reopen,26b,26c,27-39,49-50,names exported by lib,52c,52d,53-57,acc-,rep-"

for suite in shared/conformance ../shared/conformance; do
    [ -f "$suite/run.sh" ] && exec sh "$suite/run.sh" lib "${1:-$landed}"
done
echo "there is no conformance suite in shared/ or ../shared/"
exit 77
