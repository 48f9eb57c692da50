#!/bin/sh
# The folders of lib/ depend on each other in one direction only.  Prints TAP.
#
#   test_rooms.sh          checks the sources, and the objects of BUILD
#   test_rooms.sh --map    prints every arrow between folders: FROM TO COUNT, of includes and of calls
#
# `rooms` lists, for each folder, the folders that it may use.  An arrow is an include, or a call to a function or a
# variable of another folder, as the symbols of the object files tell.  cpu_sse/ counts as a folder of lib/.  Headers
# must compile alone, except kernel sources.

rooms='
base
physics
driver   base variables
device   physics
engine   base physics variables
cpu_sse  base physics engine
cpu      base physics engine cpu_sse
gpu      base physics engine driver device
context  base physics engine variables
api      base context variables
mpi      base physics engine context variables
engines  engine cpu gpu
variables base physics
'
# lib/engines.c is the list of engines: it names all of them, and the context reads it by a name of engine/engine.h.
# lib/variables.c is the table of settings: base reads it by a name of base/variable_table.h.
given='sap_engines|sap_fallback_engine|sap_variable_table'

# Inside lib/gpu: a module, NAME.c and NAME.h, and the modules of lib/gpu that it may include.
modules='
gpu_session          gpu_devices gpu_kernels gpu_launch gpu_memory gpu_status
gpu_copies           gpu_launch gpu_session
gpu_modes            gpu_devices
gpu_shape            gpu_devices gpu_kernels gpu_modes gpu_sums
gpu_sums             gpu_devices gpu_direct_launch gpu_kernels gpu_launch gpu_lists gpu_memory gpu_shape
tree/gpu_given       gpu_launch gpu_memory gpu_session tree/gpu_kernels tree/gpu_lengths
tree/gpu_kernels     gpu_kernel_list gpu_kernels gpu_launch gpu_primitives gpu_session
tree/gpu_lengths     gpu_kernel_list gpu_kernels gpu_launch gpu_memory gpu_session tree/gpu_kernels tree/gpu_nodes tree/gpu_targets
tree/gpu_nodes       gpu_launch gpu_memory gpu_session tree/gpu_kernels
tree/gpu_targets     gpu_launch gpu_memory gpu_primitives gpu_session tree/gpu_kernels tree/gpu_lengths
tree/gpu_builder     gpu_launch gpu_memory gpu_session tree/gpu_kdtree
tree/gpu_kdtree      gpu_kernel_list gpu_kernels gpu_launch gpu_session tree/gpu_builder tree/gpu_kernels tree/gpu_nodes tree/gpu_targets
tree/gpu_octree      gpu_launch gpu_primitives tree/gpu_builder tree/gpu_kernels tree/gpu_nodes
tree/gpu_frame       gpu_launch tree/gpu_builder tree/gpu_given tree/gpu_kernels tree/gpu_lengths
tree/gpu_ahead       gpu_launch tree/gpu_given tree/gpu_kernels
tree/gpu_stops       gpu_launch gpu_primitives tree/gpu_built tree/gpu_kernels
tree/gpu_structure   gpu_launch tree/gpu_built
tree/gpu_halo        gpu_launch tree/gpu_built tree/gpu_kernels
tree/gpu_regions     gpu_launch gpu_memory gpu_primitives tree/gpu_built tree/gpu_kernels tree/gpu_structure
tree/gpu_selection   gpu_launch gpu_memory gpu_primitives tree/gpu_built tree/gpu_kernels
tree/gpu_active      gpu_launch gpu_primitives tree/gpu_built tree/gpu_kernels
tree/gpu_positions   gpu_launch tree/gpu_targets
tree/gpu_results     gpu_launch gpu_memory gpu_session tree/gpu_given tree/gpu_kernels
tree/gpu_images      gpu_launch tree/gpu_kernels tree/gpu_halo tree/gpu_selection tree/gpu_walk
tree/gpu_periodic    gpu_launch tree/gpu_kernels tree/gpu_images tree/gpu_walk
tree/gpu_walk        gpu_launch gpu_primitives tree/gpu_built tree/gpu_kernels tree/gpu_results tree/gpu_stops
stepper/gpu_direct   gpu_devices gpu_direct_launch gpu_kernels gpu_launch gpu_session gpu_shape gpu_status gpu_sums stepper/gpu_shared stepper/gpu_stepper tree/gpu_tree
stepper/gpu_hermite  gpu_devices gpu_kernels gpu_launch gpu_memory gpu_modes gpu_shape gpu_status gpu_told stepper/gpu_direct stepper/gpu_hermite_private stepper/gpu_shared stepper/gpu_stepper
'

# Folders whose files do not call each other in circles.
straight='context cpu/tree mpi gpu/tree gpu/stepper engine api/g5 api/g6 api/nbody6 api/sixth driver driver/cuda driver/opencl'

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh

room='function room(path,    part) {
    if (path ~ /^cpu_sse\//) return "cpu_sse"
    if (path ~ /^lib\/engines\./) return "engines"
    if (path ~ /^lib\/variables\./) return "variables"
    split(path, part, "/")
    return part[2]
}'

# ---- includes: FILE FILE, and between folders FROM TO FILE FILE

find lib cpu_sse -name '*.[ch]' | sort >"$work/files"
# shellcheck disable=SC2046 # a list of files
awk '
    FILENAME == ARGV[1] { there[$1]; next }
    /^[ \t]*#[ \t]*include "/ {
        split($0, part, "\"")
        folder = FILENAME
        sub(/[^\/]*$/, "", folder)
        if ("lib/" part[2] in there) print FILENAME, "lib/" part[2]
        else if (folder part[2] in there) print FILENAME, folder part[2]
        else if ("cpu_sse/" part[2] in there) print FILENAME, "cpu_sse/" part[2]
    }' "$work/files" $(cat "$work/files") >"$work/edges"
awk "$room"'{ from = room($1); to = room($2); if (from != to) print from, to, $1, $2 }' "$work/edges" >"$work/includes"

# ---- calls: FROM TO FILE SYMBOL

build=${BUILD:-$(cat build/current 2>/dev/null)}
: >"$work/calls"
# lib/mpi/variables.c is lib/variables.c once more, for libsapporo_mpi
objects=
command -v nm >/dev/null 2>&1 && [ -d "$build/lib" ] &&
    objects=$(sed -n '/^lib\/mpi\/variables\.c$/d; s/\.c$/.o/p' "$work/files" | while read -r f; do [ -f "$build/$f" ] && echo "$build/$f"; done)
if [ -n "$objects" ]; then
    # shellcheck disable=SC2086 # a list of files
    nm -A -g -P $objects 2>/dev/null | awk -v build="$build/" -v given="^($given)\$" -v within="$work/within" "$room"'
        {
            file = $1
            sub(/:$/, "", file)
            sub(build, "", file)
            if ($3 == "U" || $3 == "w") { needs[file, $2]; next }
            if ($3 != "v" && !($2 in home)) home[$2] = file
        }
        END {
            for (key in needs) {
                split(key, part, SUBSEP)
                if (!(part[2] in home) || part[2] ~ given) continue
                from = room(part[1])
                to = room(home[part[2]])
                if (from != to) print from, to, part[1], part[2]
                else if (part[1] != home[part[2]]) print part[1], home[part[2]] >within
            }
        }' | sort >"$work/calls"
fi

if [ "${1:-}" = --map ]; then
    for kind in includes calls; do
        awk '{ print $1, $2 }' "$work/$kind" | sort | uniq -c | awk -v kind=$kind '{ print kind ": " $2 " -> " $3 ", " $1 }'
    done
    exit
fi

# wrong KIND: arrows that the table does not allow
wrong() {
    printf '%s\n' "$rooms" | awk '
        FILENAME == "-" { known[$1]; for (k = 2; k <= NF; k++) may[$1, $k]; next }
        !($1 in known) || !($2 in known) { print $3 ": folder " (($1 in known) ? $2 : $1) " is not in the table"; next }
        !(($1, $2) in may) { print $3 " (" $1 ") uses " $4 " (" $2 ")" }' - "$work/$1" >"$work/log"
}

wrong includes
none "no include leads upward"

if [ -n "$objects" ]; then
    wrong calls
    none "no call leads upward"
else
    echo "ok - no call leads upward # SKIP nm or the objects of a build are missing"
fi

# ---- inside lib/gpu

printf '%s\n' "$modules" | awk '
    function module(path) { sub(/^lib\/gpu\//, "", path); sub(/\.[ch]$/, "", path); return path }
    FILENAME == "-" { if (NF > 0) known[$1]; for (k = 2; k <= NF; k++) may[$1, $k]; next }
    $2 ~ /^lib\/gpu\// && (module($1) in known) && module($1) != module($2) && !((module($1), module($2)) in may) {
        print $1 " includes " $2
    }' - "$work/edges" >"$work/log"
printf '%s\n' "$modules" | while read -r module rest; do
    [ -z "$module" ] || [ -f "lib/gpu/$module.c" ] || echo "lib/gpu/$module.c is not there"
done >>"$work/log"
none "modules of lib/gpu include those that they may"

# A call on a tree or a stepper of an accelerator begins and ends in gpu_session.c alone; other entries are GUARDED.
grep -En 'driver->(enter|leave)\(' lib/gpu/tree/*.[ch] lib/gpu/stepper/*.[ch] >"$work/log"
grep -En 'sap_fp_(guard|release|enter|leave)\(' lib/gpu/*.[ch] lib/gpu/*/*.[ch] |
    grep -Ev '^lib/gpu/(gpu_session\.c|gpu_launch\.h):' >>"$work/log"
none "calls of accelerators have one bracket"

# ---- circles: files that include each other, directly or through others

for header in include/*.h include/compat/*.h; do
    sed -n 's/^[ \t]*#[ \t]*include "\([^"]*\)".*/\1/p' "$header" | while read -r other; do
        for path in include include/compat; do [ ! -f "$path/$other" ] || echo "$header $path/$other"; done
    done
done >"$work/public"
sort "$work/edges" "$work/public" | tsort >/dev/null 2>"$work/log"
none "no circle of includes, of public headers neither"

# lib/base serves everything above it, and knows nothing of trees, steppers and interfaces.
grep -nE '#include "sapporo|[^_a-z](sapporo_(tree|stepper|mpi)|SAPPORO_(TREE|MAC|STEP|MPI|NBODY6))_' lib/base/*.[ch] |
    grep -Ev '#include "sapporo(_types)?\.h"' >"$work/log"
none "lib/base uses nothing of trees, steppers and interfaces"

# ---- calls: what locks the object of a handle

# Calls are brackets of lib/context/call.h.  Objects are locked by hand where they are made and retired, and where a
# particle is set that comes in order.
grep -nE 'sap_(try_lock|lock|unlock)\(|sap_handle_is\(' lib/context/*.[ch] |
    grep -Ev '^lib/context/(call\.h|object\.c|particles\.c):|sap_messages|^lib/context/context\.c:[0-9]+: *sap_(un)?lock\(&c->busy\);$' >"$work/log"
[ "$(grep -c 'lock(&c->busy)' lib/context/context.c)" -le 2 ] || grep -n 'lock(&c->busy)' lib/context/context.c >>"$work/log"
none "calls lock objects by lib/context/call.h"

# lib/cpu and lib/gpu have circles of calls.
if [ -n "$objects" ]; then
    for folder in $straight; do
        grep -E "^lib/$folder/[^/]+ lib/$folder/[^/]+\$" "$work/within" | tsort 2>&1 >/dev/null | sed 's/^tsort: -: *//'
    done >"$work/log"
    none "no circle of calls in some folders"
else
    echo "ok - no circle of calls in some folders # SKIP nm or the objects of a build are missing"
fi

# ---- headers need nothing before them, except kernel sources, which follow the vocabulary of a compiler

if printf 'int a;\n' | ${CC:-cc} -x c -fsyntax-only - 2>/dev/null; then
    grep '\.h$' "$work/files" | while read -r header; do
        case $header in lib/device/*layout.h) ;; lib/device/* | cpu_sse/*) continue ;; esac
        ${CC:-cc} -std=gnu11 -x c -fsyntax-only -Iinclude -Ilib -Icpu_sse -Itest/api/mpi -DSAP_NPIPES=16384 "$header" 2>&1 |
            grep -m 1 -E 'error|fatal'
    done >"$work/log"
    none "each header compiles alone"
else
    echo "ok - each header compiles alone # SKIP the compiler is missing"
fi

# ---- one tag, one struct

# A tag is defined once, also if it is private to a .c file or to a function: a reader, a debugger and link-time
# optimisation see all files at once.  The handles of driver.h are never completed.
# shellcheck disable=SC2046 # a list of files
awk '
    /^[ \t]*((typedef|static|extern|const|_Thread_local)[ \t]+)*(struct|union|enum)[ \t]+[A-Za-z0-9_]+[ \t]*(\{.*)?$/ {
        for (k = 1; $k !~ /^(struct|union|enum)$/;) k++
        tag = $(k + 1)
        if (tag in at) print tag ": " at[tag] " and " FILENAME
        at[tag] = FILENAME
    }
    FILENAME == "lib/driver/driver.h" && /^struct [a-z_]+;/ { sub(/;.*/, "", $2); handle[$2] }
    END { for (tag in handle) if (tag in at) print tag ": a handle of lib/driver/driver.h, completed in " at[tag] }' \
    $(cat "$work/files") >"$work/log"
none "no tag has two definitions"

# ---- each folder tells what it is

for folder in lib/*/ lib/*/*/; do
    case $folder in lib/build/*/) continue ;; esac
    [ -n "$(find "$folder" -maxdepth 1 -name '*.[ch]' -o -maxdepth 1 -name '*.mk')" ] || [ "$(dirname "$folder")" = lib ] || continue
    [ -f "$folder/README.md" ] || { echo "$folder has no README.md"; continue; }
    [ "$(wc -l <"$folder/README.md")" -le 20 ] || echo "$folder/README.md has more than 20 lines"
    case $folder in lib/*/*/ | lib/build/) continue ;; esac
    name=$(basename "$folder")
    printf '%s\n' "$rooms" | grep -Eq "^$name( |\$)" || echo "$folder is not in the table of this test"
done >"$work/log"
none "each folder has a README that says what lives there"

[ "$(wc -l <lib/engine/engine.h)" -lt 250 ] && : >"$work/log" || echo "lib/engine/engine.h has $(wc -l <lib/engine/engine.h) lines" >"$work/log"
none "engine.h has less than 250 lines"
exit $((failures > 0))
