#!/bin/sh
# Measures of the sources that must not grow: lengths of functions, members of structs, launches without types, files that
# share a prefix, questions that tables answer.  Prints TAP; test/lint.sh runs it.
#
#   measures.sh          checks
#   measures.sh --list   prints `LINES FILE:NAME` of each function and `MEMBERS FILE:NAME` of each struct of trees
#
# test_rooms.sh looks for circles of includes, and lint.sh for calls of MPI_Ialltoall(v).

longest=60 # lines of a function, its braces with it
# Most members of a struct of lib/gpu/tree and of lib/cpu/tree.
gpu_members=24
cpu_members=24
untyped=0    # lists of arguments of kernels that gpu_kernel_list.h does not have
tree_files=3 # files that define sap_tree_*
asks=5       # lines of trees that ask whether their softening is a spline, or which

. test/support/tap.sh
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

sources() { find "$@" -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cl' \) | sort; }

# lengths FILE ...: LINES FILE:NAME of each function.  A function is between a line `{` and a line `}`, and its name is
# before the first parenthesis of the line that begins its declaration.
lengths() {
    awk '
    FNR == 1 { start = 0 }
    start == 0 && /^[A-Za-z_].*\(/ { name = $0; sub(/^static __attribute__\(\([^)]*\)\)/, "", name)
        sub(/\(.*/, "", name); sub(/[ \t]*$/, "", name); sub(/.*[ *]/, "", name) }
    start == 0 && /^\{[ \t]*\\?$/ { start = FNR }
    start > 0 && /^\}/ { print FNR - start + 1, FILENAME ":" name; start = 0 }' "$@"
}

# members FILE ...: MEMBERS FILE:NAME of each struct that is not a table of functions or kernels.
members() {
    awk '
    # Adds a line of a struct; depth is that of braces and parentheses, 0 behind the struct.
    function add(line, k, c) {
        for (k = 1; k <= length(line) && depth > 0; k++) {
            c = substr(line, k, 1)
            if (c ~ /[({[]/) depth++
            else if (c ~ /[)}\]]/) depth--
            else if (depth == 1 && c == ",") found++
            else if (depth == 1 && c == ";") { found += some; some = 0 }
            if (c ~ /[A-Za-z]/) some = 1
        }
    }
    FNR == 1 { depth = comment = 0 }
    {
        line = $0
        gsub(/\/\*([^*]|\*[^\/])*\*\//, "", line)
        if (comment) { if (!sub(/^.*\*\//, "", line)) next; comment = 0 }
        if (sub(/\/\*.*$/, "", line)) comment = 1
    }
    depth == 0 && line ~ /^(typedef )?(struct|union) [A-Za-z0-9_]+ \{/ {
        name = line
        sub(/^(typedef )?(struct|union) /, "", name)
        sub(/ .*/, "", name)
        sub(/^[^{]*\{/, "", line)
        depth = 1
        found = some = 0
    }
    depth > 0 {
        add(line)
        if (depth == 0 && name !~ /_(ops|kernels|calls)$/) print found, FILENAME ":" name
    }' "$@"
}

# The functions of a list that are too long, and the structs of a list that have too many members.
long() {
    awk -v most="$longest" '$1 > most + 0 { print $2 " has " $1 " lines; at most " most }' "$1"
}
large() { awk -v most="$2" '$1 > most + 0 { print $2 " has " $1 " members; at most " most }' "$1"; }

# shellcheck disable=SC2046 # a list of files
{
    lengths $(sources lib cpu_sse kernels_cuda kernels_hip kernels_ocl) >"$work/lengths"
    members $(sources lib/gpu/tree) >"$work/gpu"
    members $(sources lib/cpu/tree) >"$work/cpu"
}
if [ "${1:-}" = --list ]; then
    cat "$work/lengths" "$work/gpu" "$work/cpu"
    exit
fi

# ---- the counters themselves: each of these is one too many

{
    printf 'static int\nf(void)\n{\n'
    yes '    g();' | head -n $((longest - 1))
    printf '}\n\nint twice(int (*a)[3])\n{\n'
    yes '    g();' | head -n 198
    printf '}\n\nint short_one(void)\n{\n}\n'
} >"$work/planted.c"
cat >"$work/planted.h" <<'END'
struct four { /* one; two */
    int a, b[2]; /* a; comment
                    of two lines; */
    int (*c)(int, int), *d;
};
typedef struct one { struct { int x, y; } z; } one;
struct some_ops {
    int a, b, c, d, e;
};
END
lengths "$work/planted.c" >"$work/found"
members "$work/planted.h" | sed 's/ .*:/ /' >"$work/counted"
{
    long "$work/found" | sed 's/.*:\([a-z_]*\) has \([0-9]*\).*/\1 \2/'
    cat "$work/counted"
    large "$work/counted" 3
} >"$work/log"
printf 'f %d\ntwice 200\n4 four\n1 one\nfour has 4 members; at most 3\n' $((longest + 1)) | cmp -s - "$work/log"
verdict $? "planted functions and structs are counted"

# ---- the sources

long "$work/lengths" >"$work/log"
none "no function is longer than $longest lines"
large "$work/gpu" "$gpu_members" >"$work/log"
none "no struct of lib/gpu/tree has more than $gpu_members members"
large "$work/cpu" "$cpu_members" >"$work/log"
none "no struct of lib/cpu/tree has more than $cpu_members members"
# shellcheck disable=SC2046 # a list of files
grep -HnE 'sap_argument [a-z_]+\[[0-9]*\]' $(sources lib) | grep -v 'SAP_ARGUMENT_M' >"$work/lists"
awk -v most="$untyped" '{ line[NR] = $0 } END { for (k = 1; NR > most + 0 && k <= NR; k++) print line[k] }' \
    "$work/lists" >"$work/log"
none "no more than $untyped launches have lists of arguments without types"

# ---- names

# definitions FILE ...: the files that define functions with the prefix of the trees of engines, once per function.
definitions() {
    awk '
    FNR == 1 { open = 0 }
    /^[a-z].*[ *]sap_tree_[a-z0-9_]+\(/ { open = 1 }
    open && /[;{]/ { if (match($0, /[;{]/) && substr($0, RSTART, 1) == "{") print FILENAME; open = 0 }' "$@"
}
printf 'int sap_tree_a(int a,\n               int b);\nint sap_tree_b(int a);\n' >"$work/declares.h"
printf 'int sap_tree_a(int a,\n               int b)\n{\n}\nint sap_tree_b(int a) { return a; }\n' >"$work/defines.c"
[ "$(definitions "$work/declares.h" "$work/defines.c" | sed 's/.*\///' | uniq -c | tr -d ' ')" = 2defines.c ]
verdict $? "planted definitions are counted, declarations are not"
# shellcheck disable=SC2046 # a list of files
definitions $(sources lib | grep '\.[ch]$') | sort -u >"$work/log"
[ "$(wc -l <"$work/log")" -le "$tree_files" ] && ! grep -qv '^lib/engine/' "$work/log" && : >"$work/log"
none "sap_tree_* is defined in at most $tree_files files, of lib/engine"

# ---- softening

# asking FILE ...: lines that ask which softening a tree has; others take a table of functions or a number of lengths.
asking() {
    grep -HnE 'softening [=!]=|settings(\.|->)softening( \?|\))|[^a-z]lengths(\.|->)f( \?|\))|sap_softening_lengths\([^)]*\)( \?|\))|from->lengths\)' "$@"
}
# shellcheck disable=SC2046 # a list of files
asking $(sources lib/cpu/tree lib/gpu/tree lib/gpu/stepper lib/engine/softening.h) >"$work/log"
[ "$(wc -l <"$work/log")" -le "$asks" ] && : >"$work/log"
none "no more than $asks lines of trees ask which softening they have"

exit $((failures > 0))
