#!/bin/sh
# The scripts of test/clients that build clients: each prints its usage without arguments, and skips, naming what is
# missing, with an empty folder.  No client is built.  Prints TAP.

cd "$(dirname "$0")/../.." || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh
shown="log printed"
mkdir "$work/empty"

# status COMMAND...: the exit status of a command, whose output goes to $work/printed
status() { "$@" >"$work/printed" 2>&1; echo $?; }

for script in test/clients/*.sh; do
    name=$(basename "$script")
    [ "$name" != common.sh ] || continue
    {
        [ -x "$script" ] || echo "$script is not executable"
        [ "$(status "$script")" = 2 ] || echo "$script without arguments does not exit with 2"
        grep -q "^  test/clients/$name [a-zA-Z]" "$work/printed" || echo "the usage has no line to type"
        grep -q "Status 77" "$work/printed" || echo "the usage does not explain the status 77"
        [ "$(status "$script" "$work/empty")" = 77 ] || echo "$script with an empty folder does not exit with 77"
        grep -q "^$name: skipped: $work/empty/.* is missing$" "$work/printed" || echo "$script does not name the missing file"
        [ "$(status "$script" "$work/nowhere")" = 77 ] || echo "$script with no folder does not exit with 77"
        grep -q "[\`/]$name\`" docs/measured-clients.md || echo "docs/measured-clients.md does not name $name"
    } >"$work/log"
    none "$name: usage, and a client that is not there"
done

# What all scripts share: the least of several runs, by the time; a row with ten cells; a failing run ends the script.
# shellcheck disable=SC2016 # the script expands them
printf '#!/bin/sh\n. %s/test/clients/common.sh\nbegin "$1"\n%s\n' "$PWD" '
quick() { echo "1.5e-6"; }
count() { echo x >>"$work/calls"; echo "run $(wc -l <"$work/calls")"; }
failing() { return 3; }
measure quick count
printf "9.50 late\n0.25 first\n10.00 last\n" >"$work/three.runs"
ON="a \"machine\""
row "code: run, words; what; error" "-lpg5" "$(least quick)" "$(least three)"
CLOCK=elapsed row "code: run" "-lpg5" "own" "ours"
wc -l <"$work/calls"
measure failing
echo "not reached"' >"$work/shared.sh"
{
    [ "$(status env TRIES=2 sh "$work/shared.sh" "$work/empty")" = 1 ] || echo "a run that fails does not end the script with 1"
    grep -q '^"code","run, words; what","error","empty","-lpg5","1.5e-6, [0-9.]* s","first, 0.25 s","a ""machine""","processor","20[0-9-]*"$' \
        "$work/printed" || echo "the row is wrong"
    grep -q '^"code","run","","empty","-lpg5","own","ours","a ""machine""","elapsed","20[0-9-]*"$' "$work/printed" ||
        echo "the row of elapsed times is wrong"
    grep -qx ' *2' "$work/printed" || echo "TRIES=2 does not run twice"
    grep -q '^shared.sh: failing failed' "$work/printed" || echo "the failing run is not named"
    ! grep -q "not reached" "$work/printed" || echo "the script goes on after a failure"
} >"$work/log"
none "common.sh: the least of several runs, and the row"

python_checks "docs/measured-clients.md has the rows of docs/data/clients.csv (clients.py --write)" \
    docs/figures/clients.py --check

# The model for codes that have none: total mass, virial ratio.
printf '#!/bin/sh\n. %s/test/clients/common.sh\nplummer 500\n' "$PWD" >"$work/model.sh"
sh "$work/model.sh" >"$work/stars"
awk '{
        if (NF != 7) print "line " NR " has " NF " numbers"
        m[NR] = $1; x[NR] = $2; y[NR] = $3; z[NR] = $4
        mass += $1
        kinetic += $1 * ($5 * $5 + $6 * $6 + $7 * $7) / 2
    }
    END {
        for (i = 1; i <= NR; i++)
            for (j = 1; j < i; j++) potential -= m[i] * m[j] / sqrt((x[i] - x[j])^2 + (y[i] - y[j])^2 + (z[i] - z[j])^2)
        if (NR != 500 || mass < 0.9999 || mass > 1.0001) print NR " stars of mass " mass
        if (kinetic < 0.22 || kinetic > 0.28 || potential > -0.44 || potential < -0.56) print "energies " kinetic ", " potential
    }' "$work/stars" >"$work/log"
: >"$work/printed"
none "common.sh: a Plummer model"

exit $((failures > 0))
