#!/bin/sh
# test_hdf5.sh - snapshots in HDF5 of and for other programs, by h5py: layouts of GADGET-4 and SWIFT, bad files.  TAP.
#
# Exit status 0: passed; 77: skipped, the programs were built without HDF5, or h5py is missing; anything else: failed.

cd "$(dirname "$0")/../.." || exit 1
hermite4=examples/hermite4
if [ ! -x $hermite4 ]; then
    echo "skipped: $hermite4 is not built"
    exit 77
fi
if $hermite4 --help | grep -q 'built without HDF5'; then
    echo "skipped: the programs were built without HDF5"
    exit 77
fi
python=
for candidate in ${PYTHON:-build/venv/bin/python python3 build/docs-venv/bin/python}; do
    if "$candidate" -c 'import h5py' 2>/dev/null; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "skipped: Python's h5py is missing"
    exit 77
fi
. test/support/tap.sh
forget_settings
work=$(mktemp -d "${TMPDIR:-/tmp}/test_hdf5.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
shown="out err"

# h4 ARGUMENTS...: runs it, output in $work/out, messages in $work/err
h4() { "$hermite4" "$@" >"$work/out" 2>"$work/err"; }

# refused FILE TEXT: exit status 2, one line of message with the name of the file and the text
refused() {
    h4 "$work/$1.hdf5" -t 10 -o "$work/none"
    [ $? -eq 2 ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -q "$1.hdf5: .*$2" "$work/err" && [ ! -e "$work/none.restart" ]
    verdict $? "refused: $1 ($2)"
}

"$python" - "$work" >"$work/log" 2>&1 <<'END'
import shutil, sys
import h5py
import numpy as np

folder = sys.argv[1]
random = np.random.default_rng(1)
COUNT = [8, 16, 24, 0, 32, 1]
text = {"float": [], "double": []}


def particles(file, kind, typ, first, **options):
    n = COUNT[typ]
    group = file.create_group(f"PartType{typ}")
    x, v = (random.normal(size=(n, 3)).astype(kind) for _ in range(2))
    ids = np.arange(first, first + n, dtype="u8") + (2**62 if typ == 4 else 0)
    group.create_dataset("Coordinates", data=x, **options)
    group.create_dataset("Velocities", data=v, **options)
    mass = np.full(n, 0.25)
    if typ != 1:
        mass = random.uniform(0.1, 1, n).astype(kind)
        group.create_dataset("DynamicalMasses" if typ == 5 else "Masses", data=mass, **options)
    group.create_dataset("ParticleIDs", data=ids, **options)
    return [(int(i), float(m), *map(float, a), *map(float, b)) for i, m, a, b in zip(ids, mass, x, v)]


def all_particles(file, kind, **options):
    first, rows = 1, []
    for typ, n in enumerate(COUNT):
        if n:
            rows += particles(file, kind, typ, first, **options)
            first += n
    return rows


def header(file, counts, **more):
    attrs = file.create_group("Header").attrs
    attrs["NumPart_ThisFile"] = counts
    attrs["NumPart_Total"] = counts
    attrs["MassTable"] = np.array([0, 0.25, 0, 0, 0, 0])
    attrs["NumFilesPerSnapshot"] = 1
    for name, value in more.items():
        attrs[name] = value


def write_rows(name, rows):
    np.savetxt(f"{folder}/{name}.rows", [r[1:] for r in rows], fmt="%.17g")
    with open(f"{folder}/{name}.ids", "w") as file:
        file.writelines(f"{r[0]}\n" for r in rows)


# GADGET-4: counts of 64 bits, doubles, units among the parameters
with h5py.File(f"{folder}/gadget.hdf5", "w") as file:
    header(file, np.array(COUNT, "u8"), Time=0.5, Redshift=0.0, BoxSize=0.0)
    attrs = file.create_group("Parameters").attrs
    attrs["UnitLength_in_cm"], attrs["UnitMass_in_g"] = 3.085678e21, 1.989e43
    attrs["UnitVelocity_in_cm_per_s"], attrs["GravityConstantInternal"] = 1e5, 0.0
    attrs["ComovingIntegrationOn"] = 0
    write_rows("gadget", all_particles(file, "f8"))
# The same with ids from 1 in the order of types, and a G that is not that of the units
shutil.copy(f"{folder}/gadget.hdf5", f"{folder}/parts.hdf5")
with h5py.File(f"{folder}/parts.hdf5", "r+") as file:
    file["PartType4/ParticleIDs"][:] -= np.uint64(2**62)
    file["Parameters"].attrs["GravityConstantInternal"] = 1.0
# SWIFT: seven types, arrays of one number, floats, compressed in chunks
with h5py.File(f"{folder}/swift.hdf5", "w") as file:
    header(file, np.array(COUNT + [0], "i8"), Time=np.array([0.5]), Redshift=np.array([0.0]), Code=np.bytes_("SWIFT"))
    file["Header"].attrs["MassTable"] = np.array([0, 0.25, 0, 0, 0, 0, 0])
    attrs = file.create_group("Units").attrs
    attrs["Unit length in cgs (U_L)"], attrs["Unit mass in cgs (U_M)"] = np.array([3.08567758e18]), np.array([1.98841e33])
    attrs["Unit time in cgs (U_t)"] = np.array([3.08567758e13])
    file.create_group("Cosmology").attrs["Cosmological run"] = np.array([0])
    file.create_group("PhysicalConstants/CGS").attrs["newton_G"] = np.array([6.6743e-8])
    write_rows("swift", all_particles(file, "f4", chunks=True, compression="gzip", shuffle=True, fletcher32=True))


def bad(name, change):
    shutil.copy(f"{folder}/gadget.hdf5", f"{folder}/{name}.hdf5")
    with h5py.File(f"{folder}/{name}.hdf5", "r+") as file:
        change(file)


def replace(path, data, **options):
    def change(file):
        del file[path]
        file.create_dataset(path, data=data, **options)

    return change


def attribute(group, name, value):
    return lambda file: file.require_group(group).attrs.__setitem__(name, value)


def remove(path):
    return lambda file: file.__delitem__(path)


def number(path, at, value):
    return lambda file: file[path].__setitem__(at, value)


bad("no_positions", remove("PartType2/Coordinates"))
bad("no_velocities", remove("PartType4/Velocities"))
bad("no_masses", remove("PartType2/Masses"))
bad("no_type", remove("PartType4"))
bad("no_header", remove("Header"))
bad("several", attribute("Header", "NumFilesPerSnapshot", 4))
bad("comoving", attribute("Parameters", "ComovingIntegrationOn", 1))
bad("cosmic", attribute("Header", "Redshift", 1.0))
bad("huge", attribute("Header", "NumPart_ThisFile", np.array([0, 2**62, 0, 0, 0, 0])))
bad("large", attribute("Header", "NumPart_ThisFile", np.array([8, 2**30, 24, 0, 32, 1])))
bad("negative", attribute("Header", "NumPart_ThisFile", np.array([8, -16, 24, 0, 32, 1])))
bad("nothing", attribute("Header", "NumPart_ThisFile", np.zeros(6, "u8")))
bad("words", attribute("Header", "NumPart_ThisFile", "many"))
bad("long", attribute("Header", "NumPart_ThisFile", np.zeros(1000, "u8")))
bad("neutrinos", attribute("Header", "NumPart_ThisFile", np.array(COUNT + [5])))
bad("nan", number("PartType2/Coordinates", (5, 1), np.nan))
bad("infinite", number("PartType4/Velocities", (0, 0), np.inf))
bad("mass", number("PartType2/Masses", 3, -1))
bad("table", attribute("Header", "MassTable", np.array([0, np.nan, 0, 0, 0, 0])))
bad("time", attribute("Header", "Time", np.nan))
bad("integers", replace("PartType2/Coordinates", np.zeros((24, 3), "i4")))
bad("ids", replace("PartType2/ParticleIDs", np.zeros(24)))
bad("large_ids", replace("PartType2/ParticleIDs", np.arange(24, dtype="u8") + 2**63))
bad("columns", replace("PartType2/Coordinates", np.zeros((24, 2))))
bad("rows", replace("PartType2/Velocities", np.zeros((23, 3))))
bad("group", lambda file: (file.__delitem__("PartType2/Masses"), file.create_group("PartType2/Masses")))


def empty(file):
    file["Header"].attrs["NumPart_ThisFile"] = np.array([0, 2**30, 0, 0, 0, 0])
    del file["PartType1"]
    for name in ("Coordinates", "Velocities"):
        file.create_dataset(f"PartType1/{name}", shape=(2**30, 3), dtype="f8", chunks=(1024, 3))


def virtual(file):
    layout = h5py.VirtualLayout((24, 3), "f8")
    layout[:] = h5py.VirtualSource("gadget.hdf5", "PartType2/Coordinates", (24, 3))
    del file["PartType2/Coordinates"]
    file.create_virtual_dataset("PartType2/Coordinates", layout)


def external(file):
    del file["PartType2/Coordinates"]
    file.create_dataset("PartType2/Coordinates", (24, 3), "f8", external=[("/etc/passwd", 0, 576)])


bad("empty", empty)
bad("virtual", virtual)
bad("external", external)
whole = open(f"{folder}/gadget.hdf5", "rb").read()
open(f"{folder}/cut.hdf5", "wb").write(whole[:-100])
open(f"{folder}/signature.hdf5", "wb").write(whole[:8])
END
verdict $? "h5py writes the files"
shown="out err log"

# values NAME UNITS G: the snapshot of the file NAME, written as text, has its ids, numbers, time, units and G; the run
# multiplies masses by G and divides them again, so these may differ in the last bit
values() {
    h4 "$work/$1.hdf5" -t 1/2 -o "$work/$1"
    grep -v '^#' "$work/$1.0000.txt" | cut -d ' ' -f 1 | cmp - "$work/$1.ids" &&
        grep -v '^#' "$work/$1.0000.txt" | cut -d ' ' -f 2- >"$work/got" &&
        "$python" -c 'import sys, numpy as np; a, b = map(np.loadtxt, sys.argv[1:])
sys.exit(not ((a[:, 1:] == b[:, 1:]).all() and (abs(a[:, 0] - b[:, 0]) <= 2.3e-16 * b[:, 0]).all()))' \
            "$work/got" "$work/$1.rows" && grep -q '^# time 0.5$' "$work/$1.0000.txt" &&
        grep -q "^# units $2\$" "$work/$1.0000.txt" && grep -q "^# G $3" "$work/$1.0000.txt" &&
        grep -q 'the 8 particles of gas are read as stars' "$work/err"
    verdict $? "$1: all numbers, time, units, G"
}
values gadget '1.0003e+10 Msun, 1 kpc, 1 km/s, 977.792 Myr' 43021
values swift '1 Msun, 1 pc, 1 km/s, 0.977792 Myr' 0.004300

h4 "$work/parts.hdf5" -t 1/2 -o "$work/parts" && grep -q '^# parts gas 8, halo 16, disc 24, stars 32, holes 1$' "$work/parts.0000.txt" &&
    ! grep -q '^# parts' "$work/gadget.0000.txt"
verdict $? "types become components where the ids count them"
! grep -q '^# G\|^# units' "$work/parts.0000.txt"
verdict $? "a G of 1 with the default units of GADGET-4: no units"

refused no_positions 'no PartType2/Coordinates'
refused no_velocities 'no PartType4/Velocities'
refused no_masses 'no PartType2/Masses'
refused no_type 'no PartType4/Coordinates'
refused no_header 'no Header/NumPart_ThisFile'
refused several 'one of 4 files'
refused comoving 'cosmological'
refused cosmic 'cosmological'
refused huge 'too many'
refused large 'PartType1/Coordinates: its number of particles'
refused negative 'negative'
refused nothing 'no particles'
refused words 'no list of numbers'
refused long 'no list of numbers'
refused neutrinos 'PartType6'
refused nan 'PartType2/Coordinates: particle 6 has nan'
refused infinite 'PartType4/Velocities: particle 1 has inf'
refused mass 'PartType2/Masses: particle 4 has -1'
refused table 'MassTable'
refused time 'Header/Time'
refused integers 'not float or double'
refused ids 'not whole'
refused large_ids 'too large'
refused columns 'three numbers'
refused rows 'number of particles'
refused group 'no data set'
refused empty 'not all of its numbers'
refused virtual 'virtual'
refused external 'in other files'
refused cut 'damaged or not complete'
refused signature 'damaged or not complete'

# ---- files of ours

h4 --model plummer -n 100 -t 1/4 -o "$work/text" && h4 --model plummer -n 100 -t 1/4 -o "$work/ours" --format hdf5
verdict $? "a run writes HDF5"
h4 --model plummer -n 100 -t 1/4 -o "$work/named.hdf5" && cmp "$work/ours.0001.hdf5" "$work/named.0001.hdf5" &&
    grep -q 'named.0000.hdf5 and so on' "$work/out"
verdict $? "a prefix that ends in .hdf5 says the same; the bytes are the same"
h4 "$work/ours.0001.hdf5" -t 1/4 -o "$work/back" && cmp "$work/text.0001.txt" "$work/back.0000.txt"
verdict $? "all bits come back"
sed 's/^# units .*/# units 1 Msun, 1 pc, 1 km\/s, 0.977792 Myr/; s/^# time .*/&\n# G 0.00430091/' "$work/text.0000.txt" >"$work/pc.txt"
h4 "$work/pc.txt" -t 0 -o "$work/pc.hdf5"
"$python" - "$work" >"$work/log" 2>&1 <<'END'
import sys
import h5py
import numpy as np

folder = sys.argv[1]
rows = np.loadtxt(f"{folder}/text.0001.txt")
file = h5py.File(f"{folder}/ours.0001.hdf5", "r")
head, part = file["Header"].attrs, file["PartType1"]
assert list(file) == ["Header", "Parameters", "PartType1"]
assert list(head["NumPart_ThisFile"]) == list(head["NumPart_Total"]) == [0, 100, 0, 0, 0, 0]
assert list(head["NumPart_Total_HighWord"]) == [0] * 6 and list(head["MassTable"]) == [0] * 6
assert head["Time"] == 0.25 and head["Redshift"] == 0 and head["NumFilesPerSnapshot"] == 1 and head["BoxSize"] == 0
assert head["Dimension"] == 3 and head["Flag_Entropy_ICs"] == 0
assert part["ParticleIDs"].dtype == np.uint64 and (part["ParticleIDs"][:] == rows[:, 0]).all()
assert part["Masses"].dtype == np.float64 and (part["Masses"][:] == rows[:, 1]).all()
assert (part["Coordinates"][:] == rows[:, 2:5]).all() and (part["Velocities"][:] == rows[:, 5:8]).all()
file = h5py.File(f"{folder}/pc.0000.hdf5", "r")
units, parameters = file["Units"].attrs, file["Parameters"].attrs
assert parameters["GravityConstantInternal"] == 0.00430091 and parameters["ComovingIntegrationOn"] == 0
for names in (units, parameters):
    assert abs(names["UnitLength_in_cm"] / 3.0856776e18 - 1) < 1e-7 and names["UnitVelocity_in_cm_per_s"] == 1e5
    assert abs(names["UnitMass_in_g"] / 1.98841e33 - 1) < 1e-5
assert units["Unit length in cgs (U_L)"] == [units["UnitLength_in_cm"]]
assert units["Unit mass in cgs (U_M)"] == [units["UnitMass_in_g"]]
assert np.allclose(units["Unit time in cgs (U_t)"], 3.0856776e13, rtol=1e-7)
assert file["PartType1/Masses"].attrs["to_cgs"] == units["UnitMass_in_g"]
END
verdict $? "h5py finds what GADGET-4 and SWIFT look for"
h4 --restart "$work/ours.restart" -t 1/2 && [ -s "$work/ours.0002.hdf5" ]
verdict $? "a restart goes on in the same form"
h4 --model plummer -n 64 -t 0 -o "$work/closed" --format hdf5 <&- >&- 2>&- && h4 "$work/closed.0000.hdf5" -t 0 -o "$work/opened"
verdict $? "closed standard streams"
"$hermite4" "$work/ours.0000.hdf5" -t 0 -o "$work/unseen" >"$work/out" 2>"$work/err" <&-
verdict $? "closed standard input"
"$hermite4" - -t 0 -o "$work/piped" <"$work/ours.0000.hdf5" >"$work/out" 2>"$work/err"
[ $? -eq 2 ] && grep -q 'HDF5' "$work/err"
verdict $? "standard input: a message"

# ---- galaxy writes them by a thread of its own

# disc ARGUMENT...: runs galaxy, output in $work/out, messages in $work/err
disc() { examples/galaxy "$@" >"$work/out" 2>"$work/err"; }
model='--model disc -n 500 --dt-max 1/16 -d 1/8'
# shellcheck disable=SC2086 # words
disc $model -t 1/2 -o "$work/disc" && disc $model -t 1/2 -o "$work/behind.hdf5" && [ "$(echo "$work"/behind.*.hdf5 | wc -w)" -eq 5 ]
same=$?
for k in 0 1 2 3 4; do
    h4 "$work/disc.000$k.txt" -t "$k/8" -o "$work/again.hdf5" --overwrite && cmp "$work/again.0000.hdf5" "$work/behind.000$k.hdf5" >>"$work/out" || same=1
done
verdict $same "galaxy: snapshots have the bits of its text, each one those of its time"
cp "$work/behind.0004.hdf5" "$work/kept.hdf5"
rm "$work/behind.0004.hdf5" # as if the run had been killed
disc --restart "$work/behind.restart" && cmp "$work/kept.hdf5" "$work/behind.0004.hdf5"
verdict $? "galaxy: a restart writes the snapshot that a run could not end"
rm "$work"/behind.000*
disc --restart "$work/behind.restart" -t 5/8 && [ "$(cd "$work" && echo behind.000*)" = "behind.0004.hdf5 behind.0005.hdf5" ]
verdict $? "galaxy: it writes no other one"
mkdir "$work/full.0002.hdf5" "$work/last.0002.hdf5" # a write fails here
# shellcheck disable=SC2086 # words
disc $model -t 1/2 -o "$work/full.hdf5"
[ $? -eq 1 ] && [ "$(grep -c 'cannot write .*full.0002.hdf5: Is a directory' "$work/err")" -eq 1 ] && [ ! -e "$work/full.0003.hdf5" ]
verdict $? "galaxy: a write that failed is told at the next output, and ends the run"
# shellcheck disable=SC2086 # words
disc $model -t 1/4 -o "$work/last.hdf5"
[ $? -eq 1 ] && grep -q 'cannot write .*last.0002.hdf5' "$work/err" && ! grep -q '# done' "$work/out"
verdict $? "galaxy: or at the end"
rmdir "$work/full.0002.hdf5"
disc --restart "$work/full.restart" && disc --restart "$work/behind.restart" -t 5/8 && cmp "$work/kept.hdf5" "$work/full.0004.hdf5" &&
    [ "$(cd "$work" && echo full.*hdf5*)" = "full.0000.hdf5 full.0001.hdf5 full.0002.hdf5 full.0003.hdf5 full.0004.hdf5" ]
verdict $? "galaxy: a run goes on from there, and lacks no snapshot"

rm -f "$work"/ours.0002.hdf5
"$hermite4" --model plummer -n 100 -t 1/4 -o "$work/text" --overwrite >"$work/text.log" 2>"$work/err"
"$hermite4" --model plummer -n 100 -t 1/4 -o "$work/ours" --format hdf5 --overwrite >"$work/ours.log" 2>"$work/err"
for run in text ours; do "$python" examples/report "$work/$run.log" --table >"$work/$run.table" 2>"$work/err"; done
[ "$(wc -l <"$work/ours.table")" -eq 3 ] && cmp "$work/text.table" "$work/ours.table"
verdict $? "report: the table of a run with HDF5 is that with text"
for run in text ours; do "$python" examples/frames "$work/$run" --form pgm >"$work/out" 2>"$work/err"; done
[ -s "$work/ours.0001.pgm" ] && cmp "$work/text.0001.pgm" "$work/ours.0001.pgm"
verdict $? "frames: pictures of HDF5 are those of text"

exit $((failures > 0))
