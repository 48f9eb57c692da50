#!/bin/sh
# test_docs.sh - what README.md and docs/*.md say about this repository is true.  Prints TAP.
#
#   nine places   the tables in docs/design.md and docs/internals.md: functions are where they say, and call what they say
#   variables     the tables of docs/settings.md are those of the library
#   placeholders  no line of a page is one word in capitals, which waits for a table
#   models        docs/scaling.md and docs/measurements.md have the tables that docs/figures/scaling_model.py prints
#   measurements  docs/data is whole, and the pages have the tables that docs/figures/measurements.py makes of it
#   tree errors   docs/tree.md, tree-errors.md and choose-tree.md have the tables that docs/figures/tree_errors.py makes of the data
#   sentences     no sentence, and not the pages together, is longer than test/project/sentences allows
#   names         paths, relative links, identifiers, variables of the environment
#   messages      those of docs/troubles.md are in the sources
#   programs      blocks that begin with ```c complete (or cpp, fortran) compile and run; if a block
#                 ```text prints follows, they print that
#   parts         blocks that begin with ```LANGUAGE part of FILE are in that file, line for line
#
# Lines between <!-- planned --> and <!-- end planned --> speak of what is not there yet: names there are free.

cd "$(dirname "$0")/../.." || exit 2
. test/support/tap.sh
forget_settings
work=$(mktemp -d "${TMPDIR:-/tmp}/test_docs.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT

pages=
for page in README.md CHANGELOG.md docs/*.md; do [ ! -f "$page" ] || pages="$pages $page"; done
sources=$(find include lib cpu_sse -name '*.[ch]' | sort)

# The pages without what is planned, each line behind its page: PAGE<tab>LINE
# shellcheck disable=SC2086 # a list of files
awk '
FNR == 1 { planned = 0 }
/<!-- planned -->/ { planned = 1 }
!planned { print FILENAME "\t" $0 }
/<!-- end planned -->/ { planned = 0 }' $pages >"$work/text"

# ---- nine places

# Rows are | N | place | `file` | `defined there`, ... | `called there`, ... |; printed as N file D|C name.
awk -F '|' '
FNR == 1 { inside = rows = 0 }
/<!-- nine places -->/ { inside = 1; next }
inside && /^\|/ { rows++ }
inside && rows && !/^\|/ { inside = rows = 0 }
inside && /^\| *[0-9]+ *\|/ {
    gsub(/[ `]/, "", $2)
    gsub(/[ `]/, "", $4)
    for (column = 5; column <= 6; column++) {
        n = split($column, name, ",")
        for (k = 1; k <= n; k++) {
            gsub(/[ `]/, "", name[k])
            if (name[k] != "") print $2, $4, column == 5 ? "D" : "C", name[k]
        }
    }
}' docs/design.md docs/internals.md >"$work/places"

# defines FILE NAME: a line that begins in the first column and is no prototype of a .c file
defines() {
    grep -E "^([A-Za-z_#].*[^A-Za-z0-9_])?$2([^A-Za-z0-9_]|\$)" "$1" | case $1 in *.c) grep -Ev '^[^=]*;$' ;; *) cat ;; esac | grep -q .
}

awk '$3 == "D" { print $4 }' "$work/places" >"$work/defined"
while read -r _ file kind name; do
    if [ ! -f "$file" ]; then
        echo "$file is not there"
    elif [ "$kind" = D ]; then
        defines "$file" "$name" || echo "$name is not defined in $file"
    else
        grep -Eq "(^|[^A-Za-z0-9_])$name([^A-Za-z0-9_]|\$)" "$file" || echo "$file does not call $name"
        grep -qxF "$name" "$work/defined" || echo "$name, called in $file, is defined in none of the nine places"
    fi
done <"$work/places" | sort -u >"$work/log"
for place in 1 2 3 4 5 6 7 8 9; do
    grep -q "^$place [^ ]* D " "$work/places" || echo "place $place names no function" >>"$work/log"
done
none "the nine places of docs/design.md and docs/internals.md are as they say"

# ---- paths and links

awk -F '\t' '{
    line = " " substr($0, length($1) + 2)
    while (match(line, /[^A-Za-z0-9_.\/$-](include|lib|cpu_sse|examples|docs|test|\.ci)\/[A-Za-z0-9_.\/*-]*/)) {
        path = substr(line, RSTART + 1, RLENGTH - 1)
        line = substr(line, RSTART + RLENGTH)
        sub(/[.\/]*$/, "", path)
        print $1, path
    }
}' "$work/text" | sort -u >"$work/paths"

# exists PATH: it is there, or a build or an installation makes it.  Capitals stand for any name (test/test_X.c).
exists() {
    case $1 in
    lib/lib*.so* | lib/lib*.a | include/sapporo/compat*) return 0 ;;
    examples/sapporo) [ -d examples/apps/tool ] && return ;;
    examples/*_f90)
        name=${1#examples/}
        [ -f "examples/${name%_f90}.f90" ] || [ -f "examples/apps/${name%_f90}.f90" ] && return
        ;;
    examples/*) [ -f "$1.c" ] || [ -f "examples/apps/${1#examples/}.c" ] && return ;;
    esac
    for file in $(echo "$1" | sed -E ':a; s/(^|[_/])[A-Z]+([._/]|$)/\1*\2/; ta'); do [ ! -e "$file" ] || return 0; done
    return 1
}

while read -r page path; do exists "$path" || echo "$page: $path is not there"; done <"$work/paths" >"$work/log"
none "paths that the pages name are there"

# slugs FILE: the anchors that headings of a page get
slugs() { sed -n 's/^##* *//p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'; }

# shellcheck disable=SC2086 # a list of files
grep -oHE '\]\([^)]*\)' $pages | sed 's/:\](\(.*\))$/ \1/' | sort -u | while read -r page link; do
    case $link in http://* | https://* | mailto:*) continue ;; esac
    file=${link%%#*}
    target=$page
    [ -z "$file" ] || target=$(dirname "$page")/$file
    if [ ! -e "$target" ]; then
        echo "$page: $link leads nowhere"
    elif [ "$link" != "$file" ]; then
        slugs "$target" | grep -qxF -- "${link#*#}" || echo "$page: $link: no such heading"
    fi
done >"$work/log"
none "relative links lead somewhere"

# ---- identifiers

# shellcheck disable=SC2086 # a list of files
{
    cat $sources include/*.hpp include/compat/*.h include/*.f90 examples/*.[cf]* examples/apps/*.[cf]* lib/build/pkgconfig/* lib/build/cmake/* lib/build/sapporo.map
    find lib -name '*.in'
} | grep -oE '[A-Za-z_][A-Za-z0-9_]*' | sort -u >"$work/words"
awk -F '\t' '{
    n = split(substr($0, length($1) + 2), span, "`")
    for (k = 2; k <= n; k += 2) # what is between back quotes
        while (match(span[k], /[A-Za-z_][A-Za-z0-9_]*/)) {
            word = substr(span[k], RSTART, RLENGTH)
            if (word ~ /^(sapporo|sap|g6|g6calc|g5)_[a-z0-9]/ || word ~ /^SAP_[A-Z]/) print word, $1
            span[k] = substr(span[k], RSTART + RLENGTH)
        }
}' "$work/text" | sort -u | while read -r word page; do
    case $word in *_) continue ;; esac # the beginning of names
    grep -qxF "$word" "$work/words" || echo "$page: $word is not in the sources"
done >"$work/log"
none "identifiers that the pages name are in the sources"

# ---- messages

# Items of docs/troubles.md begin with a message between back quotes, where ... stands for what varies.  Neighbouring
# strings of C are one; %s and the like end a piece.
find lib examples/apps -name '*.[ch]' -exec cat {} + | tr '\n' ' ' | sed -E 's/"[ \\]*"//g; s/  +/ /g' >"$work/strings"
# shellcheck disable=SC2016 # no expansion wanted
sed -n 's/^- `\([^`]*\)`.*/\1/p' docs/troubles.md >"$work/messages"
{
    sed 's/\.\.\./\n/g' "$work/messages" | sed "s/^[ ':,]*//; s/[ ':,]*\$//" | grep . | while IFS= read -r piece; do
        grep -qF -- "$piece" "$work/strings" || echo "docs/troubles.md: no message has '$piece'"
    done
    [ "$(wc -l <"$work/messages")" -ge 15 ] || echo "docs/troubles.md has $(wc -l <"$work/messages") messages"
} >"$work/log"
none "messages of docs/troubles.md are in the sources"

# ---- environment

# shellcheck disable=SC2016 # no expansion wanted
grep -oE '`[A-Z][A-Z0-9]*_[A-Z0-9_]+`' docs/settings.md | tr -d '`' | sort -u >"$work/told"
# shellcheck disable=SC2086 # a list of files
grep -hoE '"[A-Z][A-Z0-9]*_[A-Z0-9_]+"' $sources | tr -d '"' | sort -u >"$work/read"
{
    while read -r name; do
        # shellcheck disable=SC2086 # a list of files
        grep -qw "$name" $sources || echo "docs/settings.md: $name is not in the sources"
    done <"$work/told"
    comm -13 "$work/told" "$work/read" | sed 's|$| is read by the library but not in docs/settings.md|'
    [ -s "$work/read" ] || echo "no variable found in the sources"
} >"$work/log"
none "docs/settings.md names the variables that the library reads"

version=$(sed -n 's/^.define SAPPORO_VERSION "\([0-9.]*\)".*/\1/p' include/sapporo.h)
{
    grep -qxF "version: $version" CITATION.cff || echo "CITATION.cff is not of version $version"
    grep -qE "^## $version(,|$)" CHANGELOG.md || echo "CHANGELOG.md has nothing about version $version"
    bits=$(sed -n 's/^ *SAP_ARITH_VERSION = \([0-9]*\),.*/\1/p' lib/physics/arithmetic.h)
    grep -q "version of the arithmetic is $bits\." CHANGELOG.md || echo "CHANGELOG.md does not tell of arithmetic $bits"
} >"$work/log"
none "CITATION.cff and CHANGELOG.md are of this version"

title="docs/settings.md has the tables of variables that the library describes (make settings)"
if [ -x examples/sapporo ]; then
    test/settings.sh >"$work/settings" 2>"$work/log" && diff docs/settings.md "$work/settings" >"$work/log"
    verdict $? "$title"
else
    echo "ok - $title # SKIP examples/sapporo is not built"
fi

for words in 'make demo' 'make check'; do
    grep -q "$words" README.md || echo "README.md does not say '$words'"
done >"$work/log"
none "README.md names the two commands"

# ---- tables that a script prints

grep -E "$(printf '\t')[A-Z][A-Z0-9]*(_[A-Z0-9]+)+\$" "$work/text" | sed 's/\t/: a placeholder: /' >"$work/log"
none "no page has a placeholder for a table"

# tables FILE: each table in one line, its rows joined
tables() { awk '/^\|/ { printf "%s", $0; open = 1; next } open { print ""; open = 0 } END { if (open) print "" }' "$1"; }

title="docs/scaling.md and docs/measurements.md have what docs/figures/scaling_model.py prints"
if command -v python3 >/dev/null 2>&1; then
    for what in '' project trees; do
        # shellcheck disable=SC2086 # no argument, or one
        python3 docs/figures/scaling_model.py $what 2>&1 || echo "scaling_model.py $what fails"
        echo
    done >"$work/printed"
    tables "$work/printed" >"$work/printed_tables"
    cat docs/scaling.md docs/measurements.md >"$work/models"
    tables "$work/models" >"$work/page_tables"
    {
        grep -v '^|' "$work/printed" | grep . | grep -vxF -f "$work/models" | sed 's/^/not in the page: /'
        grep -vxF -f "$work/page_tables" "$work/printed_tables" | sed 's/^\(.\{100\}\).*/not in the page: \1.../'
        # a table of the page with the columns of a printed one, which the script prints no more
        sed 's/| --- .*//' "$work/printed_tables" | sort -u >"$work/columns"
        grep -F -f "$work/columns" "$work/page_tables" | grep -vxF -f "$work/printed_tables" | sed 's/^\(.\{100\}\).*/not printed: \1.../'
        [ "$(wc -l <"$work/printed_tables")" -ge 5 ] || echo "the script prints $(wc -l <"$work/printed_tables") tables"
    } >"$work/log"
    none "$title"
else
    skipped "$title" "python3 is missing"
fi

python_checks "the data of docs/data are whole, and pages have the tables that they make (measurements.py --write)" \
    docs/figures/measurements.py --check

python_checks "docs/tree.md, tree-errors.md and choose-tree.md have the errors and the drift that were recorded (tree_errors.py --write)" \
    docs/figures/tree_errors.py --check

# ---- lengths

if command -v python3 >/dev/null 2>&1; then
    test/project/sentences || failures=$((failures + 1))
else
    skipped "lengths of sentences and pages" "python3 is missing"
fi

# ---- parts of programs

# shellcheck disable=SC2086 # a list of files
awk -v work="$work" '
/^```[a-z]+ part of / { out = sprintf("%s/part%02d", work, ++n); print FILENAME, FNR, $4, out >work "/parts"; printf "" >out; next }
/^```/ { if (out != "") close(out); out = ""; next }
out != "" { print >out }' $pages
touch "$work/parts"
while read -r page line file part; do
    [ -f "$file" ] || { echo "$page, line $line: $file is not there"; continue; }
    awk 'FILENAME == ARGV[1] { part = part $0 "\n"; n++; next } { text = text $0 "\n" }
        END { exit !(n > 0 && index("\n" text, "\n" part)) }' "$part" "$file" || echo "$page, line $line: this is not in $file"
done <"$work/parts" >"$work/log"
none "parts of programs are in their files"

# ---- programs

# shellcheck disable=SC2086 # a list of files
awk -v work="$work" '
/^```(c|cpp|fortran) complete$/ {
    suffix = $1 == "```c" ? "c" : $1 == "```cpp" ? "cc" : "f90"
    name = sprintf("%s/program%02d", work, ++n)
    print FILENAME, FNR, suffix, name >work "/programs"
    out = name "." suffix
    next
}
/^```text prints$/ && name != "" { out = name ".expected"; printf "" >out; next }
/^```/ { if (out != "") close(out); out = ""; next }
out != "" { print >out; next }
/^#/ { name = "" }' $pages
touch "$work/programs"

cc=${CC:-cc}
cxx=${CXX:-}
for c in c++ g++ clang++; do [ -n "$cxx" ] || ! command -v $c >/dev/null 2>&1 || cxx=$c; done
fc=${FC:-gfortran}

# build SUFFIX NAME: compiles a program; 77: there is no compiler
build() {
    libraries="-Llib -lsapporo -Wl,-rpath,$PWD/lib"
    case $1 in
    c) compiler="$cc -std=c11 -Wall -Wextra -Werror -Iinclude" ;;
    cc) compiler=${cxx:+"$cxx -std=c++17 -Wall -Wextra -Werror -Iinclude"} ;;
    f90) compiler=$(command -v "$fc" >/dev/null 2>&1 && echo "$fc -Wall -J $work") ;;
    esac
    [ -n "$compiler" ] || return 77
    # shellcheck disable=SC2086 # lists of words
    $compiler -O1 "$2.$1" $libraries -lm -o "$2"
}

# run NAME: runs a program where no configuration file is, compares what it prints
run() {
    mkdir -p "$work/empty"
    (cd "$work/empty" && timeout 60 "$1") >"$1.out" 2>"$1.err"
    status=$?
    cat "$1.err"
    [ $status -eq 0 ] || { echo "it ends with status $status"; return 1; }
    [ ! -s "$1.err" ] || return 1
    [ ! -f "$1.expected" ] || diff "$1.expected" "$1.out"
}

while read -r page line suffix name; do
    title="program in $page, line $line"
    if [ -n "${SANITIZE:-}" ]; then
        echo "ok - $title # SKIP libraries of a sanitizer build are not for clients"
        continue
    elif [ ! -e lib/libsapporo.so ]; then
        echo "ok - $title # SKIP lib/libsapporo.so is not built"
        continue
    fi
    build "$suffix" "$name" >"$work/log" 2>&1
    status=$?
    if [ $status -eq 77 ]; then
        echo "ok - $title # SKIP no compiler for it"
        continue
    fi
    [ $status -eq 0 ] && run "$name" >>"$work/log" 2>&1
    verdict $? "$title"
done <"$work/programs"

exit $((failures > 0))
