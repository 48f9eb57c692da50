#!/bin/sh
# test_commands.sh - the command lines in README.md and docs/ run, or commands.txt says why they do not.  Prints TAP.
#
#   test_commands.sh --list    prints PAGE<tab>COMMAND for each command line of the pages
#
# A command line is a line of an indented block, or of a ``` block without a language or with `sh`.  Lines of indented
# blocks with ` = ` are formulas.  ```text marks what programs print.  Commands run in the order of the pages, in a
# folder with links to the folders of the clone and, as on a user's machine, the tool in the path.

case ${SANITIZE:-} in ?*) echo "libraries of a sanitizer build are not for clients"; exit 77 ;; esac
cd "$(dirname "$0")/../.." || exit 2
top=$PWD
work=$(mktemp -d "${TMPDIR:-/tmp}/test_commands.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh

# ---- what the pages say

# commands PAGE...: PAGE<tab>COMMAND, continued lines joined, without comments
commands() {
    awk '
    function take(text) {
        sub(/^ +/, "", text)
        line = line text
        if (sub(/ *\\$/, " ", line)) return
        sub(/[ \t]+#.*$/, "", line)
        gsub(/[ \t]+/, " ", line)
        if (line != "") print FILENAME "\t" line
        line = ""
    }
    FNR == 1 { fenced = indented = 0; blank = 1; line = "" }
    /^ *```/ { fenced = !fenced; info = $0; sub(/^ *```/, "", info); next }
    fenced { if (info == "" || info == "sh") take($0); next }
    /^[ \t]*$/ { blank = 1; next }
    /^    / && (blank || indented) { indented = 1; blank = 0; if ($0 !~ / [-+]?= /) take($0); next }
    { indented = 0; blank = /^#/ }' "$@"
}

pages=$(find README.md docs -name '*.md' | sort)
# shellcheck disable=SC2086 # a list of files
commands $pages >"$work/pages"
if [ "${1:-}" = --list ]; then
    cat "$work/pages"
    exit 0
fi

# ---- commands.txt: KIND<tab>COMMAND<tab>WHAT RUNS

awk '
/^#|^$/ { next }
/^[a-z]/ { kind = $1; sub(/:$/, "", kind); next }
/^    -> / { print kind "\t" command "\t" substr($0, 8); command = ""; next }
{
    if (command != "") print "bad\t" command "\t"
    command = substr($0, 5)
    if (kind == "small") next
    print kind "\t" command "\t" (kind == "run" ? command : "")
    command = ""
}
END { if (command != "") print "bad\t" command "\t" }' test/project/commands.txt >"$work/table"

grep '^bad' "$work/table" >"$work/log"
none "each command of commands.txt that runs smaller says how"
cut -f 2 "$work/table" | sort >"$work/listed"
cut -f 2 "$work/pages" | sort -u >"$work/told"
# With commands between back quotes, whose options are checked too.
# shellcheck disable=SC2016,SC2086 # no expansion wanted; a list of files
{
    cat "$work/told"
    grep -hoE '`(make|sapporo|examples/[a-z0-9_]+) [^`]*`' $pages | tr -d '`'
} | sort -u >"$work/all"
comm -13 "$work/listed" "$work/told" | while IFS= read -r command; do
    echo "$(awk -F '\t' -v c="$command" '$2 == c { print $1; exit }' "$work/pages"): $command"
done >"$work/log"
none "each command line of the pages is in commands.txt"
comm -23 "$work/listed" "$work/all" >"$work/log"
none "each command line in commands.txt is on a page"
uniq -d "$work/listed" >"$work/log"
none "no command line is in commands.txt twice"

# ---- options and targets exist, also of commands that do not run

# target NAME: make has a rule for it
target() { grep -hqE "^(\.PHONY:.* |([a-z-]+ )*)$1( .*|:.*)?\$" Makefile lib/build/*.mk lib/api/python/*.mk docs/site/*.mk test/*.mk test/fuzz/*.mk test/fuzz/*/*.mk kernels_*/*.mk; }

# lacks_python PROGRAM: whether it is a Python program, on a machine without Python
lacks_python() {
    ! command -v python3 >/dev/null 2>&1 || return
    [ "$1" = python3 ] || head -n 1 "$1" 2>/dev/null | grep -q '^#!.*python3'
}

# help PROGRAM [SUBCOMMAND]: its help, once; Fortran programs have none
help() {
    file=$work/help.$(basename "$1").${2:-}
    [ -f "$file" ] || "examples/$(basename "$1")" ${2:+"$2"} --help >"$file" 2>/dev/null
    cat "$file"
}

grep '^theirs' "$work/table" | cut -f 2 >"$work/theirs"
grep -vxFf "$work/theirs" "$work/all" | sed "s/^\([A-Z_]*=[^ ]* \)*//; s/\"[^\"]*\"//g" >"$work/ours"
while read -r program rest; do
    case $program in
    make)
        for word in $rest; do
            case $word in
            \&\&) break ;;
            -C | *[!a-z-]* | -*) [ "$word" != -C ] || break ;;
            *) target "$word" || echo "make has no target $word: make $rest" ;;
            esac
        done
        ;;
    examples/*_f90 | examples/apps/*) ;;
    sapporo | examples/*)
        file=examples/$(basename "$program")
        if [ ! -x "$file" ] || lacks_python "$file"; then continue; fi
        subcommand=
        case $program:$rest in *sapporo:[a-z]*) subcommand=${rest%% *} ;; esac
        for option in $(echo "${rest%%&&*}" | grep -oE '(^| )--[a-z0-9-]+'); do
            case $option in --help | --version | --man | --completion) continue ;; esac
            help "$program" "$subcommand" | grep -qE "(^|[ ,])$option( |\$)" || echo "$program has no option $option: $program $rest"
        done
        ;;
    esac
done <"$work/ours" >"$work/log"
none "options and targets that the pages name exist"

# ---- running

if [ ! -x examples/sapporo ] || [ ! -e lib/libsapporo.so ]; then
    echo "ok - commands of the pages # SKIP the library is not built"
    exit $((failures > 0))
fi

# The folder in which commands run: the clone's folders, and a snapshot called cluster.txt.
mkdir "$work/clone" "$work/bin" "$work/home"
for folder in docs examples include lib test; do ln -s "$top/$folder" "$work/clone/$folder"; done
ln -s "$top/examples/sapporo" "$work/bin/sapporo"
export HOME="$work/home" XDG_CONFIG_HOME="$work/home" XDG_CACHE_HOME="$work/home" PATH="$work/bin:$PATH"
cd "$work/clone" || exit 2
examples/hermite4 --model plummer -n 32 -t 1/8 -o cluster -q && mv cluster.0000.txt cluster.txt
# README's cc is the compiler of the build, by its path: it may be called cc itself.
compiler=${CC:-gcc}
cat >"$work/bin/cc" <<TEXT
#!/bin/sh
exec $(command -v "${compiler%% *}")${compiler#"${compiler%% *}"} "\$@"
TEXT
chmod +x "$work/bin/cc"
# Films need ffmpeg; where it is missing, a program in its place writes an empty one.
if ! command -v ffmpeg >/dev/null 2>&1; then
    # shellcheck disable=SC2016 # words of the program
    printf '#!/bin/sh\nfor last; do :; done\n: >"${last#file:}"\n' >"$work/bin/ffmpeg"
    chmod +x "$work/bin/ffmpeg"
fi

awk -F '\t' 'FILENAME == ARGV[1] { runs[$2] = $3; next } runs[$2] != "" && !seen[$2]++ { print $2 "\t" runs[$2] }' \
    "$work/table" "$work/pages" >"$work/runs"
while IFS='	' read -r title command; do
    program=$(echo "$command" | sed 's/^\([A-Z_]*=[^ ]* \)*//; s/ .*//')
    if lacks_python "$program"; then
        skipped "$title" "python3 is missing"
        continue
    fi
    SAPPORO_BACKEND=${SAPPORO_BACKEND:-cpu} timeout 60 sh -c "$command" >"$work/log" 2>&1 </dev/null
    verdict $? "$title"
done <"$work/runs"

exit $((failures > 0))
