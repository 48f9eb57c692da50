#!/bin/sh
# The public structs and enumerators are laid out as test/api/layout.txt records: clients that were compiled with an
# earlier version keep working.  Prints TAP.
#
#   test_layout.sh          compares
#   test_layout.sh --write  records the layout of this version
#
# A line of the record is `struct member offset bytes`, or `struct - 0 bytes` for the whole struct, or
# `enumerator = value`.  Members may be added at the end of a struct that begins with its size, and enumerators may be
# added.  Any other change needs a new major version (docs/versions.md).

record=test/api/layout.txt
cc=${CC:-cc}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

headers=$(cd include && for h in sapporo*.h; do [ "$h" = sapporo_experiments.h ] || echo "$h"; done)

# The headers without comments and preprocessor lines.
for h in $headers; do cat "include/$h"; done | sed 's|//.*||' | tr '\n' '\001' |
    sed 's|/\*[^*]*\*\**\([^/*][^*]*\*\**\)*/||g' | tr '\001' '\n' | grep -v '^ *#' >"$work/plain"

{
    echo '#include <stddef.h>'
    echo '#include <stdio.h>'
    for h in $headers; do echo "#include \"$h\""; done
    echo 'int main(void) {'
    awk '
        /^typedef struct [a-z0-9_]+ \{/ { name = $3; next }
        name != "" && /^}/ { printf "printf(\"%s - 0 %%zu\\n\", sizeof(%s));\n", name, name; name = ""; next }
        name != "" && /;/ {
            sub(/;.*/, "")
            n = split($0, part, ",")
            for (k = 1; k <= n; k++) {
                member = part[k]
                gsub(/\[[^]]*\]/, "", member)
                gsub(/[()*]/, " ", member)
                words = split(member, word, " ")
                printf "printf(\"%s %s %%zu %%zu\\n\", offsetof(%s, %s), sizeof(((%s *)0)->%s));\n", name, word[words], \
                    name, word[words], name, word[words]
            }
        }
        /enum [a-z_]*.*\{/ || /^enum \{/ { inside = 1 }
        inside {
            line = $0
            sub(/^.*\{/, "", line)
            sub(/\}.*/, "", line)
            n = split(line, part, ",")
            for (k = 1; k <= n; k++) {
                sub(/=.*/, "", part[k])
                gsub(/[ \t]/, "", part[k])
                if (part[k] ~ /^SAPPORO_[A-Z0-9_]+$/)
                    printf "printf(\"%s = %%lld\\n\", (long long)%s);\n", part[k], part[k]
            }
            if ($0 ~ /\}/) inside = 0
        }' "$work/plain"
    echo 'return 0; }'
} >"$work/layout.c"

if ! $cc -std=c11 -Iinclude -Itest/api/mpi "$work/layout.c" -o "$work/layout" >"$work/log" 2>&1; then
    echo "not ok - the public structs are found"
    head -n 12 "$work/log" | sed 's/^/#   /'
    exit 1
fi
"$work/layout" >"$work/now"
if [ "${1:-}" = --write ]; then
    sed -n 's/^#define SAPPORO_VERSION "\(.*\)"/# version \1, 64 bits/p' include/sapporo.h >"$record"
    cat "$work/now" >>"$record"
    exit
fi
[ "$(grep -c ' - 0 ' "$work/now")" -gt 10 ] || { echo "not ok - the public structs are found"; exit 1; }
echo 'int main(void) { return sizeof(void *) == 8 && sizeof(long) == 8 ? 0 : 1; }' >"$work/size.c"
if ! $cc "$work/size.c" -o "$work/size" || ! "$work/size"; then
    echo "the record is of machines with 64 bits"
    exit 77
fi

# What the record has and this version has not; the whole size of a struct that begins with its size may grow.
grep -v '^#' "$record" | awk '
    NR == FNR { now[$1 " " $2] = $3 " " $4; if ($2 == "size" && $3 == 0) grows[$1]; next }
    {
        key = $1 " " $2
        if (!(key in now)) print $0 ": gone"
        else if ($2 == "-" && $1 in grows) { split(now[key], part, " "); if (part[2] < $4) print $0 ": now " now[key] }
        else if (now[key] != $3 " " $4) print $0 ": now " now[key]
    }' "$work/now" - >"$work/log"
if [ -s "$work/log" ]; then
    echo "not ok - nothing public has moved since the record"
    head -n 25 "$work/log" | sed 's/^/#   /'
    exit 1
fi
echo "ok - nothing public has moved since the record"
grep -v '^#' "$record" | cmp -s - "$work/now" && echo "ok - the record is complete" && exit
echo "not ok - the record is complete"
echo "#   record what was added: test/api/test_layout.sh --write"
exit 1
