#!/bin/sh
# mutants.sh - plants defects in a copy of the tree, one at a time, and runs tests: does a test fail?
#
#   mutants.sh        the defects of test/mutants/list, and others that a seed draws
#
# A line of the list is: name, file, tests, sed script.  Drawn defects change one operator, constant or statement of one
# line.  For these, and for a test `*`, test/mutants/tests names the tests that touch a folder.  A defect is found if a
# test program fails or takes longer than LIMIT.  The script ends with 1 if less than GOAL per cent of the defects of a
# folder are found.  Changes after which all results stay right are no defects: test/mutants/equal lists those that were
# drawn once, each with its reason (file, new line or `without LINE`, reason, with tabs between), and the script does not
# plant them.
# Memory of malloc is filled with a pattern, so that a defect that reads what nothing has written is found.
#
#   MUTANTS   names of the list that are planted, or `none`; default: all
#   FOLDERS   folders of test/mutants/tests; default: all
#   COUNT     drawn defects, default 100: the same number in each folder
#   SEED      default 1: one seed draws the same defects from the same sources
#   KEEP      1: goes on with the copy of the last run, brought up to date
#   GOAL      default 90
#   LIMIT     seconds for a test program, default 200
#   CC        the compiler; ccache serves it where it is installed
#
# Reports are in build/mutants: `found`, `survived`, and the log of each defect.

set -u
cd "$(dirname "$0")/.." || exit 2
top=$PWD
out=$top/build/mutants
tree=$out/tree
limit=${LIMIT:-200}
CC=${CC:-cc}
mkdir -p "$out/log" && : >"$out/found" && : >"$out/survived" && : >"$out/unbuilt" || exit 2
[ ! -d /usr/lib/ccache ] || PATH=/usr/lib/ccache:$PATH
export MALLOC_PERTURB_=165
export PATH CC CCACHE_BASEDIR="$tree" SAPPORO_CACHE=off OMP_WAIT_POLICY=passive OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Ranks leave the cores to each other, as in test_mpi.sh.
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none
export POCL_CACHE_DIR="${POCL_CACHE_DIR:-$top/build/pocl-cache}"

# ---- the copy ---------------------------------------------------------------------------------

# Kernels of CUDA and HIP play no part, and defects may leave what a warning tells.
build() { "${MAKE:-make}" --no-print-directory -C "$tree" CUDA=0 WERROR=0 CC="$CC" "$@"; }

# The sources as they are, with objects of the last build of the tree, which are the same without kernels.
copy() {
    if [ "${KEEP:-0}" = 1 ] && [ -f "$tree/build/current" ]; then
        git ls-files --cached --others --exclude-standard | while read -r file; do
            [ ! -e "$file" ] || cmp -s "$file" "$tree/$file" || cp "$file" "$tree/$file"
        done
        return
    fi
    rm -rf "$tree" && mkdir -p "$tree/build" || return
    git ls-files --cached --others --exclude-standard | while read -r file; do [ ! -e "$file" ] || echo "$file"; done |
        tar -T - -cf - | tar -xf - -C "$tree" || return
    build build/current >/dev/null || return
    made=$tree/$(cat "$tree/build/current") last=$(cat build/current 2>/dev/null)
    [ -n "$last" ] && [ -d "$last/lib" ] || return 0
    rm -rf "$made" && cp -a "$last" "$made" && rm -rf "$made/test/logs" "$made"/lib/embedded_cuda.* "$made"/lib/embedded_hip.* &&
        find "$made" -name '*.d' -exec sed -i "s|$last/|${made#"$tree"/}/|g" {} +
}

# ---- tests ------------------------------------------------------------------------------------

# programs FOLDER: the tests that touch it; engine FOLDER: where they run
programs() { awk -v folder="$1" '$1 == folder { for (k = 3; k <= NF; k++) print $k }' test/mutants/tests; }
engine() { awk -v folder="$1" '$1 == folder { print $2; exit }' test/mutants/tests; }

# folder_of FILE: its folder, as the table of tests names it: the longest that fits
folder_of() {
    awk -v file="$1" 'index(file, $1) == 1 && length($1) > length(best) && $1 !~ /^#/ { best = $1 } END { print best }' test/mutants/tests
}

# make_ranks: the programs of test/mpi, over the copy's libraries
make_ranks() {
    build "$B/lib/libsapporo_mpi.a" "$B/lib/libsapporo.a" || return
    [ -f "$ranks/ranks.o" ] || for source in mpi/ranks mpi/problem mpi/tree_problem; do
        mpicc -std=c11 -O1 -I"$tree/include" -I"$tree/lib" -I"$tree/test/mpi" -c -o "$ranks/${source#*/}.o" "$tree/test/$source.c" || return
    done
    for program in $(programs lib/mpi | sed 's/:.*//' | sort -u); do
        wrapped=
        case $program in bounds | *memory) wrapped=-Wl,--wrap=malloc,--wrap=calloc,--wrap=free ;; esac
        [ "$program" != "${program%memory}" ] && wrapped=-Wl,--wrap=malloc,--wrap=calloc
        [ -f "$ranks/$program.o" ] || mpicc -std=c11 -O1 -I"$tree/include" -I"$tree/lib" -I"$tree/test/mpi" -I"$tree/test/support" \
            -c -o "$ranks/$program.o" "$tree/test/mpi/$program.c" || return
        # shellcheck disable=SC2086 # a list of flags
        mpicc $wrapped -o "$ranks/$program" "$ranks/$program.o" "$ranks"/ranks.o "$ranks"/problem.o "$ranks"/tree_problem.o \
            "$tree/$B/lib/libsapporo_mpi.a" "$tree/$B/lib/libsapporo.a" -ldl -lpthread -lm || return
    done
}

# build_tests FOLDER TEST...: builds the programs
build_tests() {
    folder=$1
    shift
    if [ "$folder" = lib/mpi ]; then make_ranks; return; fi
    build tests TESTS="$*" || return
    for test in "$@"; do [ -z "$(script_of "$test")" ] || { build all; return; }; done
}

# script_of TEST: its script, if it is one
script_of() { (cd "$tree" && find test -name "test_$1.sh"); }

# run_one FOLDER TEST: one test program; TEST is NAME, or PROGRAM:RANKS of test/mpi
run_one() {
    if [ "$1" = lib/mpi ]; then
        timeout -k 5 "$limit" mpirun --oversubscribe -n "${2#*:}" "$ranks/${2%:*}" </dev/null
        return
    fi
    script=$(script_of "$2")
    (cd "$tree" && SAPPORO_TEST_ENGINES=$(engine "$1") BUILD=$B timeout -k 5 "$limit" ${script:+sh} "${script:-$B/test/test_$2}" </dev/null)
}

# ---- one defect -------------------------------------------------------------------------------

# is_equal FILE LINE: whether the list of changes that are no defects has this one
is_equal() { FILE=$1 LINE=$2 awk -F '\t' '$1 == ENVIRON["FILE"] && $2 == ENVIRON["LINE"] { found = 1 } END { exit !found }' test/mutants/equal; }

# plant NAME FILE TESTS SED: prints what came out, and notes it
plant() {
    name=$1 file=$2 tests=$3 script=$4
    folder=$(folder_of "$file") log=$out/log/$1
    case $tests in '*') tests=$(programs "$folder") ;; *) tests=$(echo "$tests" | tr , ' ') ;; esac
    sed "$script" "$file" >"$tree/$file"
    if cmp -s "$file" "$tree/$file"; then
        echo "$name $folder $file: the script changes nothing" | tee -a "$out/unbuilt"
        return
    fi
    what=$(diff "$file" "$tree/$file" | sed -n 's/^> *//p' | head -n 1)
    case $what in '' | ';') what="without $(diff "$file" "$tree/$file" | sed -n 's/^< *//p' | head -n 1)" ;; esac
    if is_equal "$file" "$what"; then
        echo "$name $folder no defect: $file: $what"
        cp "$file" "$tree/$file"
        return
    fi
    # shellcheck disable=SC2086 # a list of tests
    if build_tests "$folder" $tests >"$log" 2>&1; then
        by=
        for test in $tests; do
            run_one "$folder" "$test" >>"$log" 2>&1 || { by=$test; break; }
            if [ "$folder" = lib/mpi ] && grep -q '^not ok' "$log"; then by=$test; break; fi
        done
        if [ -n "$by" ]; then
            echo "$name $folder found by $by: $file: $what" | tee -a "$out/found"
        else
            echo "$name $folder SURVIVES: $file: $what" | tee -a "$out/survived"
        fi
    else
        echo "$name $folder does not compile: $file: $what" | tee -a "$out/unbuilt"
    fi
    cp "$file" "$tree/$file"
}

# ---- defects that are drawn ----------------------------------------------------------------------

# sources FOLDER: where defects are drawn; lib/device and lib/physics are headers, the readers are a part of a folder
sources() {
    case $1 in
    lib/device) find "$1" -maxdepth 1 -name '*.h' ! -name '*layout.h' ;;
    lib/physics) find "$1" -name '*.h' ;;
    lib/api) find "$1" -name '*.c' ! -path '*/python/*' ;;
    examples/apps/common) find "$1" -name 'snapshot*.c' -o -name restart.c -o -name number.c ;;
    *) find "$1" -maxdepth 1 -name '*.c' ;;
    esac | sort
}

# draw FOLDER N SEED: N lines NAME<tab>FILE<tab>SED; all places are listed, then a generator takes some of them
draw() {
    # shellcheck disable=SC2046 # a list of files
    awk -v n="$2" -v seed="$3" -v tag="$(echo "$1" | tr / -)" '
    function place(what, from, to) { if (what) { where[++places] = FILENAME; script[places] = FNR "s" "\001" from "\001" to "\001" } }
    FNR == 1 { comment = 0 }
    /^ *\/\*/ { comment = 1 }
    comment { if (/\*\//) comment = 0; next }
    /^#/ || /^ *\*/ || /^ *\/\// || /_Static_assert|static const char|fail\(|sap_log|sap_fail|"/ || !/[;{)]/ { next }
    {
        line = $0
        sub(/ *\/\*.*/, "", line)
        place(line ~ / < /, " < ", " <= "); place(line ~ / <= /, " <= ", " < ")
        place(line ~ / > /, " > ", " >= "); place(line ~ / >= /, " >= ", " > ")
        place(line ~ / == /, " == ", " != "); place(line ~ / != /, " != ", " == ")
        place(line ~ / && /, " \\&\\& ", " || "); place(line ~ / \|\| /, " || ", " \\&\\& ")
        place(line ~ / \+ /, " + ", " - "); place(line ~ / - /, " - ", " + "); place(line ~ / \* /, " \\* ", " / ")
        place(line ~ / \+= /, " += ", " -= "); place(line ~ /if \(!/, "if (!", "if ("); place(line ~ / = 0;/, " = 0;", " = 1;")
        place(line ~ /NAN/, "NAN", "0")
        place(line ~ /return SAPPORO_ERR_[A-Z_]*;/, "return SAPPORO_ERR_[A-Z_]*;", "return SAPPORO_OK;")
        place(line ~ /^ +(break|continue);/, "break;\\|continue;", ";")
        place(line ~ /^ +[a-z_*][a-zA-Z0-9_>.\[\]*-]* [-+*|]?= [^;{]*;$/ && line !~ /^ +(const|int|double|size_t|D|float) /, "^.*$", ";")
        place(line ~ /^ +(\(void\))?[a-z_]+\(.*\);$/ && line !~ /^ +(return|if|for|while)/, "^.*$", ";")
    }
    END {
        x = seed * 7919 % 2147483646 + 1
        for (k = 1; k <= 20; k++) x = x * 16807 % 2147483647
        while (drawn < n && drawn < places) {
            x = x * 16807 % 2147483647
            k = 1 + int(x / 2147483647 * places)
            if (used[k]++) continue
            print tag "-" ++drawn "\t" where[k] "\t" script[k]
        }
    }' $(sources "$1")
}

# ---- all of them ------------------------------------------------------------------------------------

echo "copying the tree to build/mutants/tree" >&2
copy || { echo "mutants: the tree cannot be copied" >&2; exit 2; }
B=$(cat "$tree/build/current")
ranks=$tree/build/ranks
mkdir -p "$ranks"
folders=${FOLDERS:-$(awk '!/^#/ && NF { printf "%s ", $1 }' test/mutants/tests)}

# Without a defect all tests must pass.
if [ "${TRY:-1}" = 1 ]; then
    for folder in $folders; do
        [ "$folder" != lib/mpi ] || command -v mpicc >/dev/null 2>&1 || continue
        # shellcheck disable=SC2046 # a list of tests
        build_tests "$folder" $(programs "$folder") >"$out/log/unchanged" 2>&1 ||
            { tail -n 20 "$out/log/unchanged"; echo "mutants: the unchanged tree does not compile" >&2; exit 2; }
        for test in $(programs "$folder"); do
            run_one "$folder" "$test" >"$out/log/unchanged" 2>&1 ||
                { tail -n 20 "$out/log/unchanged"; echo "mutants: $test fails in the unchanged tree" >&2; exit 2; }
        done
    done
fi

if [ "${MUTANTS:-}" != none ]; then
    grep -v '^#' test/mutants/list | while read -r name file tests script; do
        [ -n "$name" ] || continue
        case " ${MUTANTS:-$name} " in *" $name "*) ;; *) continue ;; esac
        case " $folders " in *" $(folder_of "$file") "*) plant "$name" "$file" "$tests" "$script" ;; esac
    done
fi
each=$((${COUNT:-100} / $(echo "$folders" | wc -w)))
if [ -z "${MUTANTS:-}" ] || [ "$MUTANTS" = none ]; then
    for folder in $folders; do
        draw "$folder" $each "${SEED:-1}" >"$out/drawn"
        while read -r name file script; do plant "$name" "$file" '*' "$script" </dev/null; done <"$out/drawn"
    done
fi

echo
printf '%-24s %7s %7s %5s\n' folder defects found share
bad=0
for folder in $folders; do
    found=$(awk -v f="$folder" '$2 == f' "$out/found" | wc -l)
    all=$((found + $(awk -v f="$folder" '$2 == f' "$out/survived" | wc -l)))
    [ $all -gt 0 ] || continue
    share=$((100 * found / all))
    printf '%-24s %7d %7d %4d%%\n' "$folder" $all "$found" $share
    [ $share -ge "${GOAL:-90}" ] || bad=1
done
[ ! -s "$out/unbuilt" ] || echo "$(wc -l <"$out/unbuilt") defects were not planted: see build/mutants/unbuilt"
exit $bad
