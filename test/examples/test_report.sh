#!/bin/sh
# test_report.sh - examples/report: numbers of a short run, pages of each form, messages.  Prints TAP.
#
# Drawing is skipped where no Python has matplotlib: make docs-tools installs one.

cd "$(dirname "$0")/../.." || exit 1
[ -x examples/hermite4 ] || { echo "skipped: examples/hermite4 is not built"; exit 77; }
command -v python3 >/dev/null 2>&1 || { echo "skipped: python3 is missing"; exit 77; }
. test/support/tap.sh
forget_settings
top=$PWD
work=$(mktemp -d "${TMPDIR:-/tmp}/test_report.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
shown="out err"

report() { python3 examples/report "$@" >"$work/out" 2>"$work/err"; }

# says STATUS TEXT ARGUMENTS...: the exit status, and a text among the messages
says() {
    wanted=$1
    text=$2
    shift 2
    report "$@"
    got=$?
    [ $got -eq "$wanted" ] && grep -qF -- "$text" "$work/err" && ! grep -q Traceback "$work/err"
    verdict $? "report: $text"
}

(cd "$work" && "$top/examples/hermite4" --model plummer -n 256 -t 1/2 -d 1/8 -o cluster >run.txt 2>err)
report "$work/run.txt" --table && [ "$(wc -l <"$work/out")" -eq 6 ] && [ ! -s "$work/err" ]
verdict $? "the table has a line per output, with the radii of the snapshots beside the run"

# Stars of equal mass: the half-mass radius is the distance of the 128th of 256 from the mean of all places.
awk '!/^#/ { for (k = 0; k < 3; k++) { x[NR, k] = $(3 + k); c[k] += $(3 + k) / 256 } rows[n++] = NR }
    END { for (i = 0; i < n; i++) { r = 0; for (k = 0; k < 3; k++) r += (x[rows[i], k] - c[k]) ^ 2; print sqrt(r) } }' \
    "$work/cluster.0004.txt" | sort -g | sed -n 128p >"$work/half"
tail -n 1 "$work/out" | cut -d , -f 10 | paste - "$work/half" | awk '{ exit !($1 > 0 && ($1 / $2 - 1) ^ 2 < 1e-10) }'
verdict $? "the half-mass radius is that of the last snapshot"

energy=$(grep -v '^#' "$work/run.txt" | tail -n 1 | awk '{ print $2 "," $3 "," $6 }')
[ -n "$energy" ] && [ "$(tail -n 1 "$work/out" | awk -F , '{ print $2 "," $3 "," $5 }')" = "$energy" ]
verdict $? "energies and block steps are those of the run"

says 2 "cannot be read" "$work/nothing.txt" --table
echo "no run" >"$work/other.txt"
says 1 "no line of a run" "$work/other.txt" --table
says 2 "must end with .pdf, .png or .svg" "$work/run.txt" -o "$work/run.jpg"
grep -v snapshots "$work/run.txt" >"$work/bare.txt"
says 0 "names no snapshots" "$work/bare.txt" --table
says 0 "there is no $work/elsewhere.0000.txt" "$work/run.txt" --table --snapshots "$work/elsewhere"
if [ -w /dev/full ]; then
    python3 examples/report "$work/run.txt" --table >/dev/full 2>"$work/err"
    [ $? -eq 1 ] && grep -q "cannot be written" "$work/err"
    verdict $? "a table that cannot be written is an error"
fi

python=
for candidate in python3 build/docs-venv/bin/python; do
    [ -n "$python" ] || ! "$candidate" -c 'import matplotlib' >/dev/null 2>&1 || python=$candidate
done
if [ -z "$python" ]; then
    echo "ok - pages # SKIP no Python has matplotlib"
    exit $((failures > 0))
fi
for form in pdf png svg; do
    "$python" examples/report "$work/run.txt" -o "$work/page.$form" >"$work/out" 2>"$work/err" && [ ! -s "$work/err" ] &&
        head -c 1000 "$work/page.$form" | LC_ALL=C grep -aqE '^%PDF|PNG|<svg'
    verdict $? "a page as $form"
done
grep -qF 'time [N-body units]' "$work/page.svg" && grep -qF 'Lagrangian radius [N-body units]' "$work/page.svg"
verdict $? "axes have the units of the run"
sed 's/^# units: .*/# units: 1e10 Msun, 1 kpc, 207.386 km\/s, 4.71483 Myr (G = 1)/' "$work/run.txt" >"$work/galaxy.txt"
"$python" examples/report "$work/galaxy.txt" -o "$work/page.svg" >"$work/out" 2>"$work/err" &&
    grep -qF 'time [4.71483 Myr]' "$work/page.svg" && grep -qF 'Lagrangian radius [kpc]' "$work/page.svg"
verdict $? "axes have the units of a galaxy"
mkdir "$work/folder.pdf"
"$python" examples/report "$work/run.txt" -o "$work/folder.pdf" >"$work/out" 2>"$work/err"
[ $? -eq 1 ] && grep -q "cannot be written" "$work/err"
verdict $? "a page that cannot be written is an error"
exit $((failures > 0))
