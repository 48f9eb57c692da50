#!/bin/sh
# The headers under the names that clients include: alone, twice, in C and C++,
# and beside headers of clients that have the same guard and other prototypes.
# Prints TAP.

cc=${CC:-cc}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failures=0

# compiles TITLE LANGUAGE FLAGS: does $work/source compile without a warning?
compiles() {
    # shellcheck disable=SC2086 # a list of flags
    if $cc -x $2 $3 -Wall -Wextra -Wpedantic -Werror -Iinclude -Iinclude/compat -c -o "$work/out.o" "$work/source" \
        >"$work/log" 2>&1; then
        echo "ok - $1"
    else
        echo "not ok - $1"
        head -n 12 "$work/log" | sed 's/^/#   /'
        failures=$((failures + 1))
    fi
}

cxx=
echo 'int main() { return 0; }' >"$work/source"
$cc -x c++ -c -o "$work/out.o" "$work/source" >/dev/null 2>&1 && cxx=1

for header in include/sapporo_g6.h include/compat/*.h; do
    name=$(basename "$header")
    printf '#include "%s"\n#include "%s"\n#include "sapporo_g6.h"\nint (*f)(int) = g6_open;\n' "$name" "$name" \
        >"$work/source"
    case $name in
    sapporohostclass.h) ;; # a class
    *) compiles "$name in C99" c -std=c99 ;;
    esac
    [ -z "$cxx" ] || compiles "$name in C++" c++ -std=c++11
done

# Scalars of both types, as sapporo_light and AMUSE's g6lib have them.
printf '#include "g6lib.h"\nint f(int *n, double *x) { return g6_set_tunit_(n) + g6_set_xunit_(x); }\n' >"$work/source"
compiles "units are int or double, by reference" c -std=c99
[ -z "$cxx" ] || compiles "units are int or double, by reference, in C++" c++ -std=c++11

for guard in _G6LIB_:g6lib.h GRAPE6_H:grape6.h; do
    header=${guard#*:}
    guard=${guard%:*}
    theirs="#ifndef $guard
#define $guard
void g6_open(int); int g6_set_tunit(double); void g6_reset(int);
#endif"
    printf '%s\n#include "%s"\n' "$theirs" "$header" >"$work/source"
    compiles "$header behind a client's header of that name" c -std=c99
    printf '#include "%s"\n%s\n' "$header" "$theirs" >"$work/source"
    compiles "$header before a client's header of that name" c -std=c99
done

if [ -n "$cxx" ]; then
    cat >"$work/source" <<'END'
#include "sapporoG6lib.h"
int f(double *a)
{
    double mass, eps2;
    int id;
    get_j_part_data(0, 1, a, a, a, a, a, a, mass, eps2, id);
    get_j_part_data(0, 1, a, a, a, a, a, a, &mass, &eps2, &id);
    return id;
}
END
    compiles "get_j_part_data with references, as Sapporo2 has it" c++ -std=c++11
fi
exit $((failures > 0))
