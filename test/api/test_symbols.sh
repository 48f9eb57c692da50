#!/bin/sh
# What leaves the libraries, and how clients link: sections 10 and 11 of the
# specification.  Prints TAP.

case ${SANITIZE:-} in ?*) echo "libraries of a sanitizer build are not for clients"; exit 77 ;; esac
for tool in nm readelf; do
    command -v $tool >/dev/null 2>&1 || { echo "$tool is missing"; exit 77; }
done
[ -f lib/libsapporo.so ] || { echo "lib/libsapporo.so is missing"; exit 77; }

cc=${CC:-cc}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh

try() { "$@" >"$work/log" 2>&1; }

dialect='(g6_|g6calc_|g5_)[A-Za-z0-9_]+|(get_device_count|get_j_part_data|force_j_particle_send)_?_?'
allowed="^($dialect|sapporo_[a-z0-9_]+)\$"

# g5_names 0: the names of GRAPE-5 in libsapporo; g5_names 1: those in libpg5_symmetric
g5_names() {
    awk -v symmetric="$1" '
        /^#if defined\(SAPPORO_G5_SYMMETRIC\)/ { inside = 1; skip = !symmetric; next }
        inside && /^#else/ { skip = !skip; next }
        inside && /^#endif/ { inside = skip = 0; next }
        !skip && /^SAPPORO_API int g5_/ { sub(/\(.*/, ""); print $3 }' include/sapporo_g5.h
}

# spellings: all names in the libraries of the C names that it reads; Fortran compilers write MC in small letters (1.4)
spellings() {
    while read -r f; do
        small=$(echo "$f" | tr '[:upper:]' '[:lower:]')
        printf '%s\n' "$f" "${f}_" "${small}_" "${small}__"
    done | sort -u
}

# ---- shared libraries

# The functions of public headers; beside them one function for libsapporo_mpi (lib/context/internals.h).
{
    sed -n 's/^SAPPORO_API .*[ *]\(sapporo_[a-z0-9_]*\)(.*/\1/p' include/*.h
    echo sapporo_internals
} | sort -u >"$work/declared"

for name in sapporo g6; do
    so=lib/lib$name.so
    nm -D --defined-only $so | awk '{ sub(/@.*/, "", $NF); print $NF }' | sort >"$work/$name"
    grep -Ev "$allowed" "$work/$name" >"$work/log"
    none "lib$name.so exports only its interfaces"

    grep '^sapporo_' "$work/$name" | sort - "$work/declared" "$work/declared" | uniq -u >"$work/log"
    none "lib$name.so: public headers declare what begins with sapporo_"

    missing=
    for f in g6_open g6_npipes g6_set_j_particle g6calc_firsthalf g6calc_lasthalf2 g6_get_neighbour_list get_device_count; do
        for form in $f ${f}_ ${f}__; do grep -qx "$form" "$work/$name" || missing="$missing $form"; done
    done
    g5_names 0 >"$work/g5"
    [ "$(wc -l <"$work/g5")" -gt 40 ] || missing="$missing most of include/sapporo_g5.h"
    for form in $(spellings <"$work/g5"); do grep -qx "$form" "$work/$name" || missing="$missing $form"; done
    echo "missing:$missing" >"$work/log"
    [ -z "$missing" ]
    verdict $? "lib$name.so has C names and both kinds of Fortran names"

    readelf -rW $so | awk '{ print $5 }' | sed 's/@.*//' | grep -E "^($dialect)\$" >"$work/log"
    none "lib$name.so binds its own names to itself"

    readelf -dW $so | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
        grep -Ev '^(libc|libm|libpthread|libdl|librt|ld-linux.*|libgcc_s)\.so' >"$work/log"
    none "lib$name.so needs nothing but the C library"

    version=$(sed -n 's/^#define SAPPORO_VERSION "\(.*\)"/\1/p' include/sapporo.h)
    soname=$(readelf -dW $so | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
    echo "soname $soname, links to $(readlink -f $so)" >"$work/log"
    [ "$soname" = "lib$name.so.${version%%.*}" ] && [ -f "lib/$soname" ] &&
        [ "$(basename "$(readlink -f $so)")" = "lib$name.so.$version" ]
    verdict $? "lib$name.so: soname and file follow SAPPORO_VERSION"

    {
        readelf -dW $so | grep -E 'TEXTREL|RPATH|RUNPATH'
        readelf -lW $so | grep GNU_STACK | grep E
    } >"$work/log"
    none "lib$name.so has no text relocations, run paths or executable stack"
done

# Front doors of their own: what their header declares, on libsapporo beside them; libyebisug6 contains libsapporo.
sed -n 's/^SAPPORO_API void \([a-z0-9_]*\)(.*/\1/p' include/sapporo_hermite6.h | sort -u >"$work/sixth"
sed -n 's/.*CXX("\(_Z[0-9A-Za-z_]*\)").*/\1/p' lib/api/sixth/api_yebisu_cxx.c >>"$work/sixth" # Yebisu's own, in C++
sed -n 's/^SAPPORO_API void \([a-z0-9_]*\)(.*/\1/p' include/sapporo_nbody6.h | sort -u >"$work/nbody6"
for name in sphgrav cunbody1 harp3 g5c; do
    sed -n 's/^SAPPORO_API [a-z]* \([a-zA-Z0-9_]*\)(.*/\1/p' include/sapporo_$name.h | sort -u >"$work/$name.h"
done
for name in pg5_symmetric sapporo6th yebisug6 nbody6pp_gpu nbody6_gpu nbody7_gpu nbody6_2010_gpu sphgrav_sapporo cunbody1 harp3 g5c; do
    so=lib/lib$name.so
    least=7
    case $name in
        nbody*) declared=$work/nbody6 ;;
        sphgrav*) declared=$work/sphgrav.h least=3 ;;
        cunbody1 | harp3 | g5c) declared=$work/$name.h least=3 ;;
        pg5_symmetric)
            declared=$work/symmetric_and_sapporo least=100
            { grep -v '^g5_' "$work/sapporo"; g5_names 1 | spellings; } >"$declared"
            ;;
        yebisug6)
            declared=$work/sixth_and_sapporo least=100
            nm -D --defined-only lib/libsapporo.so | awk '{ sub(/@.*/, "", $NF); print $NF }' |
                cat - "$work/sixth" >"$declared"
            ;;
        *) declared=$work/sixth ;;
    esac
    nm -D --defined-only $so | awk '{ sub(/@.*/, "", $NF); print $NF }' | sort >"$work/$name"
    sort "$work/$name" "$declared" "$declared" | uniq -u >"$work/log"
    [ "$(wc -l <"$work/$name")" -ge $least ] || echo "few names" >>"$work/log"
    none "lib$name.so exports only its interface"
    readelf -dW $so | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -Ev '^(libsapporo|libc|libm|libpthread|ld-linux.*)\.so' >"$work/log"
    none "lib$name.so needs nothing but libsapporo and the C library"
done

# ---- static libraries

for a in lib/*.a; do
    ar t "$a" | sort | uniq -d >"$work/log"
    none "$a: no two members have one name, so that ar x loses none"
done

for name in sapporo g6; do
    a=lib/lib$name.a
    # A client may define the by-value names itself (11.2).
    nm -A --defined-only $a 2>/dev/null | awk '$(NF-1) ~ /^[A-UX-Z]$/ { sub(/:[^:]*$/, "", $1); print $1, $NF }' |
        grep -E " ($dialect)\$" | awk '
            { kind = $2 ~ /_$/ ? "Fortran" : "C"; seen[$1, kind] = $2; members[$1] = 1 }
            END { for (m in members) if ((m, "C") in seen && (m, "Fortran") in seen)
                print m " defines " seen[m, "C"] " and " seen[m, "Fortran"] }' >"$work/log"
    none "lib$name.a keeps C names and Fortran names apart"

    # No exported name of a dialect is called from inside: the client's would be called instead (11.1, 11.4).
    readelf -rW $a 2>/dev/null | awk '
        /^File:/ { file = $2 }
        /^Relocation section/ { code = $0 !~ /debug|eh_frame/ }
        code && $3 ~ /^R_/ { print $5, file }' | grep -E "^($dialect) " | sort -u >"$work/log"
    none "lib$name.a calls none of its dialect names"

    nm -A --defined-only $a 2>/dev/null | awk '$(NF-1) ~ /^[A-Z]$/ { print $NF }' | grep -Ev "$allowed" |
        grep -Ev '^sap_' | sort -u >"$work/log"
    none "lib$name.a: all other global names begin with sap_"
done

# ---- clients

cat >"$work/client.c" <<'END'
int g6_open(int), g6_npipes(void), g6_close(int), g6_open_(int *), g6_close_(int *), get_device_count(void);
int main(void)
{
    int id = 1, failed = 0;
    failed |= g6_open(0) != 0 || g6_open_(&id) != 0;
    failed |= g6_npipes() != PIPES || get_device_count() < 0;
    failed |= g6_close(0) != 0 || g6_close_(&id) != 0;
    return failed;
}
END
cat >"$work/owner.c" <<'END'
int g6_open_(int *), g6_close_(int *), g6_npipes_(void);
int g6_open(int id) { return g6_open_(&id); }
int g6_close(int id) { return g6_close_(&id); }
int g6_npipes(void) { return g6_npipes_(); }
END

# client TITLE ARGUMENT...: compiles and runs client.c
client() {
    title=$1
    shift
    rm -f "$work/program"
    # shellcheck disable=SC2086 # CC may be a command with arguments
    try $cc "$@" -o "$work/program" && LD_LIBRARY_PATH=lib try timeout 20 "$work/program"
    verdict $? "$title"
}

for name in sapporo g6; do
    pipes=16384
    [ $name = g6 ] && pipes=48
    c="-DPIPES=$pipes $work/client.c"
    # shellcheck disable=SC2086 # lists of words
    {
        client "client with lib$name.so" $c -Llib -l$name
        client "client with lib$name.a" $c lib/lib$name.a -lm -lpthread -ldl -lrt
        client "client that owns C names with lib$name.so" $c "$work/owner.c" -Llib -l$name
        client "the same, its names exported" $c -rdynamic "$work/owner.c" -Llib -l$name
        client "client that owns C names with lib$name.a" $c "$work/owner.c" lib/lib$name.a \
            -lm -lpthread -ldl -lrt
    }
done

# Two libraries with the same names: the program's own calls answer, without a message, and nm tells (docs/link.md).
cat >"$work/two.c" <<'END'
void g5_open(void), g5_set_n(int);
#ifdef OWN
void g5_open(void) {}
void g5_set_n(int n) { (void)n; }
#endif
int main(void)
{
    g5_open();
    g5_set_n(3);
    return 0;
}
END
# shellcheck disable=SC2086 # CC may be a command with arguments
try $cc "$work/two.c" -Llib -lpg5 -o "$work/program" && try $cc -DOWN "$work/two.c" -Llib -lpg5 -o "$work/two" &&
    SAPPORO_VERBOSE=2 SAPPORO_BACKEND=cpu LD_LIBRARY_PATH=lib "$work/program" 2>&1 | grep -q 'libsapporo.so' &&
    SAPPORO_VERBOSE=2 SAPPORO_BACKEND=cpu LD_LIBRARY_PATH=lib try "$work/two" && [ ! -s "$work/log" ] &&
    nm "$work/program" | grep -q ' U g5_open' && nm "$work/two" | grep -q ' T g5_open'
verdict $? "a program whose own calls answer prints nothing, and nm tells"

# ---- headers

cxx=${CXX:-}
for c in c++ g++ clang++; do [ -n "$cxx" ] || ! command -v $c >/dev/null 2>&1 || cxx=$c; done

# header HEADER STANDARD COMPILER LANGUAGE
header() {
    title="$1 compiles as $2"
    printf '#include "%s"\n#include "%s"\nint sapporo_header_test;\n' "${1#include/}" "${1#include/}" >"$work/header.$4"
    # shellcheck disable=SC2086 # CC may be a command with arguments
    try $3 -std="$2" -Wall -Wextra -Wpedantic -Werror -Iinclude -Iinclude/compat -Itest/api/mpi -fsyntax-only "$work/header.$4"
    verdict $? "$title"
}

for h in include/*.h include/compat/*.h; do
    [ -f "$h" ] || continue
    case $h in
    */sapporohostclass.h) ;; # a class
    *)
        header "$h" c99 "$cc" c
        header "$h" c11 "$cc" c
        ;;
    esac
    if [ -n "$cxx" ]; then header "$h" c++17 "$cxx" cc; else echo "ok - $h compiles as c++17 # SKIP no C++ compiler"; fi
done

exit $((failures > 0))
