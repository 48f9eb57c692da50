#!/bin/sh
# Checks of the sources that need no build.  Prints TAP.
#
#   lint.sh             all checks
#   lint.sh --format    rewrites the sources with clang-format
#
# clang-format is pinned to one version, because versions format differently.

version=14
make=${MAKE:-make}
. test/support/tap.sh
cores=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# Sources of ours that exist, by folder.
sources() {
    for folder in "$@"; do
        [ ! -d "$folder" ] || find "$folder" -name '*.[ch]' -o -path 'examples/*.cc' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cl'
    done | sort
}
library=$(sources include lib cpu_sse kernels_cuda kernels_hip kernels_ocl)
all="$library $(sources examples test)"
scripts=$(find test .ci docs/packaging -type f \( -name '*.sh' -o -path .ci/run -o -path '*/debian/tests/client' \) | sort)

# tool NAME: the command of the pinned version, or nothing
tool() {
    for command in "$1-$version" "$1"; do
        command -v "$command" >/dev/null 2>&1 && "$command" --version | grep -q "version $version\." && echo "$command" && return
    done
}

format=$(tool clang-format)
if [ "${1:-}" = --format ]; then
    [ -n "$format" ] || { echo "clang-format $version is missing" >&2; exit 1; }
    # shellcheck disable=SC2086 # a list of files
    exec "$format" -i $all
fi

# ---- tools

if [ -n "$format" ]; then
    # shellcheck disable=SC2086 # a list of files
    "$format" --dry-run --Werror $all >"$work/log" 2>&1
    verdict $? "clang-format"
else
    skipped clang-format "clang-format $version is missing"
fi

# One process looks at all scripts, since they read each other: beside clang-tidy.
checker=
if command -v shellcheck >/dev/null 2>&1; then
    # shellcheck disable=SC2086 # a list of files
    shellcheck $scripts >"$work/scripts" 2>&1 &
    checker=$!
fi

tidy=$(tool clang-tidy)
if [ -n "$tidy" ]; then
    # The flags of each source, as make has them; gcc's own flags are unknown to clang.  The analyzer may look at a
    # quarter of the states that it would: of some sources it walked loops of loops for half a minute.  Of tests it looks
    # at a hundredth, unless SAPPORO_TEST_SPARING=0: sanitizers look at them when they run.  Of kernels one precision of
    # each order tells of the others, which are instances of the same texts.
    shallow='-Xclang -analyzer-config -Xclang max-nodes=50000' of_tests=2000
    [ "${SAPPORO_TEST_SPARING:-1}" != 0 ] || of_tests=50000
    "$make" --no-print-directory compile_commands.json >"$work/log" 2>&1 &&
        sed "s/ -fno-tree-slp-vectorize//; s/ -DSAP_NPIPES/ $shallow&/; /\"file\": \"test\//s/max-nodes=50000/max-nodes=$of_tests/" \
            build/compile_commands.json >"$work/compile_commands.json" &&
        sed -n 's/.*"file": "\([^"]*\)".*/\1/p' "$work/compile_commands.json" | awk '!seen[$0]++' |
        xargs -P "$cores" -n 1 "$tidy" --quiet -p "$work" >"$work/log" 2>&1
    status=$?
    if grep -E '(error|warning): ' "$work/log" >"$work/shown"; then sort -u "$work/shown" >"$work/log"; fi
    verdict $status "clang-tidy"
else
    skipped clang-tidy "clang-tidy $version is missing"
fi

if command -v cppcheck >/dev/null 2>&1; then
    # Kernels keep values of their working type, float or double, in rooms that are declared as double.  Two folders
    # and an example are left out, which are C++ with namespaces.
    # shellcheck disable=SC2046 # a list of folders
    cppcheck --quiet --std=c11 --language=c --error-exitcode=1 --inline-suppr --enable=warning,performance,portability \
        --suppress=missingInclude --suppress=unmatchedSuppression \
        --suppress='invalidPointerCast:cpu_sse/*' --library=posix --max-configs=4 \
        -Iinclude -Ilib -Icpu_sse -Iexamples/apps/common -Itest/support -DSAP_NPIPES=16384 -DSAP_HAVE_SSE2=1 \
        -DSAP_HAVE_AVX2=1 -DSAP_HAVE_AVX512=1 -j "$cores" -itest/api/fdps -itest/clients -iexamples/first_force.cc \
        $(for folder in lib cpu_sse examples test; do sources $folder | grep -q '\.c$' && echo $folder; done) >"$work/log" 2>&1
    verdict $? "cppcheck"
else
    skipped cppcheck "cppcheck is missing"
fi

if [ -n "$checker" ]; then
    wait "$checker"
    status=$?
    mv -f "$work/scripts" "$work/log"
    verdict $status "shellcheck"
else
    skipped shellcheck "shellcheck is missing"
fi

# Of one version too: that of test/api/python/requirements.txt.
ruff=
wanted=$(sed -n 's/^ruff==/ruff /p' test/api/python/requirements.txt)
for command in build/venv/bin/ruff ruff; do
    [ -n "$ruff" ] || [ "$("$command" --version 2>/dev/null)" != "$wanted" ] || ruff=$command
done
if [ -n "$ruff" ]; then
    # examples/force_ctypes.py and the maps of the tool are as short as their readers need them.
    python="lib/api/python test/api/python examples/first_force.py examples/leapfrog.py docs/notebooks"
    # shellcheck disable=SC2086 # a list of files
    "$ruff" check --no-cache --quiet $python >"$work/log" 2>&1
    verdict $? "ruff check"
    # shellcheck disable=SC2086 # a list of files
    "$ruff" format --no-cache --check $python >"$work/log" 2>&1
    verdict $? "ruff format"
else
    skipped ruff "$wanted is missing"
fi

# ---- measures of tests

# A row that is NaN would count as exact.
grep -rnE '(^|[^_[:alnum:]])fmax[fl]?[[:space:]]*\(' test --include='*.[ch]' --include='*.cu' --include='*.cc' \
    >"$work/log"
grep -rnE 'if \([^!=<]*> (worst|most|largest)\) (worst|most|largest) = ' test --include='*.[ch]' --include='*.cu' \
    --include='*.cc' | grep -v '^test/support/worst\.h:' >>"$work/log"
none "errors of tests are compared by support/worst.h, since fmax drops NaN"

# A test that names engines or places of steppers runs on a GPU, too: test/gpu.sh knows whether a sanitizer looks at it.
known=" $(sed -n '/^SANITIZED="/,/"$/p; /^SPARED="/,/"$/p; /^ELSEWHERE="/,/"$/p' test/gpu.sh |
    tr -d '"' | sed 's/^[A-Z]*=//' | tr ' ' '\n' | sed 's/:.*//' | tr '\n' ' ') "
# shellcheck disable=SC2046 # a list of files
grep -lE 'engine_usable|engine_any\(|on_all_engines|on_each|stepper_everywhere|stepper_places|TREE_FAULTS|SAPPORO_BACKEND_CUDA' \
    $(find test -name 'test_*.c') | sort | while read -r file; do
    name=$(basename "$file" .c)
    case "$known" in *" ${name#test_} "*) ;; *) echo "$file" ;; esac
done >"$work/log"
none "tests that use devices are in a list of test/gpu.sh: SANITIZED, SPARED or ELSEWHERE"

# ---- rules of the house

# The sources without strings and comments, each line behind its place.
# shellcheck disable=SC2086 # a list of files
awk '
FNR == 1 { inside = 0 }
{
    line = $0
    gsub(/\\./, "", line)
    gsub(/"[^"]*"/, "\"\"", line)
    text = ""
    while (line != "") {
        if (inside) {
            end = index(line, "*/")
            if (end == 0) break
            line = substr(line, end + 2)
            inside = 0
        } else {
            start = match(line, /\/\*|\/\//)
            if (start == 0) { text = text line; break }
            text = text substr(line, 1, start - 1)
            if (substr(line, start, 2) == "//") break
            line = substr(line, start + 2)
            inside = 1
        }
    }
    print FILENAME ":" FNR ": " text
}' $library >"$work/code"

grep -E '[^_[:alnum:]](exit|_exit|_Exit|quick_exit|abort|assert|raise)[[:space:]]*\(' "$work/code" >"$work/log"
none "the library never ends the process of its caller"

grep -Ev '^lib/base/log\.c:' "$work/code" |
    grep -E '[^_[:alnum:]](v?f?printf|v?dprintf|puts|fputs|putchar|fputc|putc|fwrite|perror|v?sprintf)[[:space:]]*\(' >"$work/log"
none "the library speaks through lib/base/log.c alone"

# Settings have one reader.  fegetenv, getauxval and the like are other functions; examples and tests are clients.
grep -Ev '^lib/base/environment\.c:' "$work/code" |
    grep -E '(^|[^_[:alnum:]])(secure_)?getenv[[:space:]]*\(' >"$work/log"
none "environment variables are read by lib/base/environment.c alone"

# Their names stand in the table alone: callers name rows.
# shellcheck disable=SC2086 # a list of files
grep -nE '"((SAPPORO|OMP|GOMP|KMP|GRAPE|GPU|XDG)_[A-Z0-9_]+|HOME)"' $library |
    grep -v '^lib/variables\.c:' >"$work/log"
none "names of environment variables stand in lib/variables.c alone"

# Ranks exchange records by routes and wires.
grep -Ev '^lib/mpi/exchange\.c:' "$work/code" | grep -E 'MPI_I?alltoall[vw]?[[:space:]]*\(' -i >"$work/log"
none "MPI_Ialltoall and MPI_Ialltoallv are called by lib/mpi/exchange.c alone"

# environ lists names; it is for the search for misspelt variables.
grep -Ev '^lib/base/variable_check\.c:' "$work/code" | grep -E '(^|[^_[:alnum:]])environ([^_[:alnum:]]|$)' >"$work/log"
none "environ is read by lib/base/variable_check.c alone"

# shellcheck disable=SC2086 # a list of files
grep -nEi '\b(todo|fixme|xxx)\b' $library >"$work/log"
none "nothing is left to do in the library's sources"

# shellcheck disable=SC2086 # a list of files
for file in $all $scripts; do
    lines=$(wc -l <"$file")
    [ "$lines" -le 1000 ] || echo "$file: $lines lines"
done >"$work/log"
none "no source is longer than 1,000 lines, which hold more than one idea"

# shellcheck disable=SC2046 # a list of files
grep -InE '(^|[^[:alnum:]_])/(home|root|Users)/' $(find Makefile README.md docs include lib cpu_sse kernels_cuda \
    kernels_hip kernels_ocl examples test .ci -type f 2>/dev/null) >"$work/log"
none "no path of one machine"

# ---- measures

test/project/measures.sh || failures=$((failures + 1))

exit $((failures > 0))
