#!/bin/sh
# sapporo_fdps.hpp: a client that plays FDPS's part, on every backend, by each C++ compiler there is.  Prints TAP.

case ${SANITIZE:-} in ?*) echo "libraries of a sanitizer build are not for clients"; exit 77 ;; esac
[ -f lib/libsapporo.so ] || { echo "lib/libsapporo.so is missing"; exit 77; }
compilers=$(for cxx in ${CXX:-g++ clang++}; do command -v "$cxx"; done)
[ -n "$compilers" ] || { echo "there is no C++ compiler"; exit 77; }

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh
forget_settings

# built NAME COMPILER ARGUMENT...: compiles the client
built() {
    name=$1
    cxx=$2
    shift 2
    "$cxx" -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -Iinclude test/api/fdps/client.cc "$@" -Llib \
        -lsapporo -lpthread -o "$work/$name" >"$work/log" 2>&1
    verdict $? "the client compiles and links, $name"
}

# runs PROGRAM BACKEND
runs() {
    LD_LIBRARY_PATH=lib timeout 200 "$work/$1" "$2" >"$work/out" 2>"$work/said"
    status=$?
    if [ $status -eq 1 ] && [ "$2" != cpu ]; then
        skipped "$1, $2" "there is no device"
        return
    fi
    { grep '^not ok' "$work/out"; [ $status -eq 0 ] || { echo "status $status"; tail -n 9 "$work/said"; }; } >"$work/log"
    none "$1, $2: $(grep -c '^ok' "$work/out") cases"
}

# Names of the header outside of `detail`: classes, members of settings, functions, constants.
sed -e '/^namespace detail$/,/^} \/\/ namespace detail$/d' -e '/^  private:/,/^};/d' include/sapporo_fdps.hpp |
    sed -n -e 's/^\(template <.*> \)\{0,1\}\(struct\|class\) \([a-z0-9_]*\).*/\3/p' \
        -e 's/^typedef .* \([a-z0-9_]*\);$/\1/p' \
        -e 's/^    [a-z_]* \([a-z0-9_]*\); .*/\1/p' -e 's/^    static const bool \([a-z0-9_]*\) .*/\1/p' \
        -e 's/^    [^ (][^(]*[ ~]\([a-z0-9_]*\)(.*/\1/p' | sort -u >"$work/names"
while read -r name; do
    grep -q "\`[^\`]*\<$name\>[^\`]*\`" docs/fdps.md || echo "$name is not in docs/fdps.md"
done <"$work/names" >"$work/log"
[ "$(wc -l <"$work/names")" -ge 20 ] || echo "only $(wc -l <"$work/names") names were found" >>"$work/log"
none "docs/fdps.md has every name of the header"

for cxx in $compilers; do
    built "$(basename "$cxx")" "$cxx" -std=c++11
    runs "$(basename "$cxx")" cpu
done
for backend in cuda opencl; do runs "$(basename "$cxx")" $backend; done

exit $((failures > 0))
