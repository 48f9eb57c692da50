#!/bin/sh
# test_frames.sh - examples/frames: grey pictures, components, units, messages.  Prints TAP.
#
# Pictures with axes are skipped where no Python has matplotlib: make docs-tools installs one.

cd "$(dirname "$0")/../.." || exit 1
python=
for candidate in python3 build/docs-venv/bin/python build/venv/bin/python; do
    [ -n "$python" ] || ! "$candidate" -c 'import numpy' >/dev/null 2>&1 || python=$candidate
done
[ -n "$python" ] || { echo "skipped: no Python has numpy"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/test_frames.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh
shown="out err"

frames() { "$python" examples/frames "$@" >"$work/out" 2>"$work/err"; }

# says STATUS TEXT ARGUMENTS...: the exit status, and a text among the messages
says() {
    wanted=$1
    text=$2
    shift 2
    frames "$@"
    got=$?
    [ $got -eq "$wanted" ] && grep -qF -- "$text" "$work/err" && ! grep -q Traceback "$work/err"
    verdict $? "frames: $text"
}

# Five particles of two components; the picture of a window of -4 to 4 in 4 x 4 squares is known.
for time in 0 1; do
    printf '# time %d\n# units 1e10 Msun, 1 kpc, 207.386 km/s, 4.71483 Myr (G = 1)\n# parts halo 3, disc 2\n%s\n' $time \
        '# id mass x y z vx vy vz' >"$work/run.000$time.txt"
    printf '%s\n' '1 1 -3 3 -3 0 0 0' '2 1 -3 3 -3 0 0 0' '3 1 100 0 0 0 0 0' '4 1 1 -1 3 0 0 0' '5 0.2 3 3 3 0 0 0' \
        >>"$work/run.000$time.txt"
done
sed 's/^# id/id/; /^[^#]/s/ /,/g' "$work/run.0000.txt" >"$work/csv.0000.csv"

# picture FILE: the grey values, a row per line
picture() { tail -c 32 "$1" | od -An -v -tu1 -w8 | tr -s ' '; }

frames "$work/run" --form pgm -w 4 -p 4 && [ ! -s "$work/err" ] && picture "$work/run.0001.pgm" >"$work/got"
cat >"$work/wanted" <<END
 255 0 0 191 0 0 235 191
 0 0 0 0 0 0 0 0
 0 0 235 0 0 0 0 0
 0 0 0 0 255 0 0 0
END
# 255 (1 + log10(part of the largest) / 4): 2 of 2, 1 of 2 and 0.2 of 2
diff "$work/got" "$work/wanted" >>"$work/err"
verdict $? "grey values from above and from the side"
grep -q 'run.0001.pgm: time 1 = 4.715 Myr' "$work/out"
verdict $? "times in years"

frames "$work/csv" --form pgm -w 4 -p 4 -o "$work/other" && picture "$work/other.0000.pgm" | cmp - "$work/wanted" 2>>"$work/err"
verdict $? "the same from CSV, under another name"
frames "$work/run" --form pgm -w 4 -p 4 --part disc && picture "$work/run.0000.pgm" >"$work/got"
cat >"$work/wanted" <<END
 0 0 0 210 0 0 255 210
 0 0 0 0 0 0 0 0
 0 0 255 0 0 0 0 0
 0 0 0 0 0 0 0 0
END
diff "$work/got" "$work/wanted" >>"$work/err"
verdict $? "one component"

# Smoothed: the grey values of Gaussians about the pixels of the particles, one of which is outside of the window.
printf '# time 0\n# id mass x y z\n1 3 -1.5 2.5 0\n2 2 4.5 -0.5 1.5\n3 1 0.5 -3.5 -4.5\n' >"$work/soft.0000.txt"
"$python" - >"$work/wanted" <<END
import math

def weight(distance):
    bell = [math.exp(-0.5 * (k / 0.75) ** 2) for k in range(-3, 4)]
    return bell[distance + 3] / sum(bell) if abs(distance) <= 3 else 0

mass = [(3, 2, 6, 4), (2, 8, 3, 5), (1, 4, 0, -1)]  # mass, and pixels of x, y, z from the lower left corner
def value(i, j, axis):
    return sum(m[0] * weight(i - m[1]) * weight(j - m[axis]) for m in mass)
rows = [[value(i, j, axis) for axis in (2, 3) for i in range(8)] for j in range(7, -1, -1)]
most = max(map(max, rows))
for row in rows:
    print("", *(max(0, int(255 * (1 + math.log10(max(v, 1e-30) / most) / 4))) for v in row))
END
frames "$work/soft" --form pgm -w 4 -p 8 --smooth 0.75 && [ ! -s "$work/err" ] &&
    tail -c 128 "$work/soft.0000.pgm" | od -An -v -tu1 -w16 | tr -s ' ' >"$work/got"
diff "$work/got" "$work/wanted" >>"$work/err"
verdict $? "a smoothed picture, with the mass beside the window"
says 2 "smooth must be" "$work/run" --smooth -1
says 2 "smooth must be" "$work/run" --smooth nan
says 2 "smooth must be" "$work/run" -p 16 --smooth 17

says 2 "has no component 'bulge'; it has halo, disc" "$work/run" --form pgm --part bulge
says 2 "there is no $work/none.0000.txt" "$work/none"
echo "no snapshot" >"$work/bad.0000.txt"
says 2 "is no snapshot" "$work/bad"
printf '# id mass x y z\n1 2 3\n' >"$work/short.0000.txt"
says 2 "cannot be read" "$work/short"
says 1 "no mass is within 0.5" "$work/run" --form pgm -w 0.5
says 2 "must be positive" "$work/run" -w 0
for number in 1.5 0 -1 x k ''; do says 2 "it takes a whole number" "$work/run" -p "$number"; done
says 2 "3G is too large" "$work/run" -p 3G
frames "$work/run" --form pgm -w 4 -p .004k && picture "$work/run.0001.pgm" >"$work/got" && [ "$(wc -l <"$work/got")" -eq 4 ]
verdict $? "frames: pixels as people write them"
mkdir "$work/folder.0000.pgm"
says 1 "cannot be written" "$work/run" --form pgm -w 4 -o "$work/folder"

if ! "$python" -c 'import matplotlib' >/dev/null 2>&1; then
    skipped "frames with axes" "no Python has matplotlib"
    exit $((failures > 0))
fi
frames "$work/run" -w 4 -p 16 && [ ! -s "$work/err" ] && head -c 8 "$work/run.0001.png" | LC_ALL=C grep -aq PNG
verdict $? "frames with axes"

# The pictures and the film of the pages: a run whose snapshots are drawn, and removed.
if ! "$python" -c 'import PIL' >/dev/null 2>&1; then
    skipped "pictures and film of a run" "no Python has pillow"
    exit $((failures > 0))
fi
SAPPORO_BACKEND=cpu "$python" docs/figures/galaxy.py all 1024 "$work/drawn" --end 1 --every 1/4 --eps 0.2 --jobs 2 \
    >"$work/out" 2>"$work/err" &&
    "$python" -c 'import os, sys
from PIL import Image
told = {}
for name in os.listdir(sys.argv[1]):
    image = Image.open(os.path.join(sys.argv[1], name))
    told[name] = (*image.size, getattr(image, "n_frames", 1))
wanted = {"galaxy.png": (1000, 625, 1), "galaxy_film.webp": (400, 400, 5), "galaxy_frames.png": (1200, 300, 1)}
sys.exit(None if told == wanted else f"{told}")' "$work/drawn" >>"$work/out" 2>>"$work/err"
verdict $? "pictures and film of a run"
! SAPPORO_BACKEND=cpu "$python" docs/figures/galaxy.py all 16 "$work/none" --end 1 --every -1/4 >"$work/out" 2>"$work/err" &&
    [ ! -e "$work/none/galaxy.png" ]
verdict $? "a run that fails is told, and draws nothing"
exit $((failures > 0))
