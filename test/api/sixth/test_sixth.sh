#!/bin/sh
# libsapporo6th and libyebisug6, as their clients link them: shared, static, and with names that clients define.

case ${SANITIZE:-} in ?*) echo "libraries of a sanitizer build are not for clients"; exit 77 ;; esac
[ -f lib/libsapporo6th.so ] || { echo "lib/libsapporo6th.so is missing"; exit 77; }

cc=${CC:-cc}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failures=0

# client TITLE ARGUMENT...: compiles test/api/sixth/client.c and runs it
client() {
    title=$1
    shift
    rm -f "$work/program"
    # shellcheck disable=SC2086 # CC may be a command with arguments
    if $cc -std=c11 -Wall -Wextra -Werror -Iinclude test/api/sixth/client.c "$@" -o "$work/program" >"$work/log" 2>&1 &&
        LD_LIBRARY_PATH=lib timeout 60 "$work/program" >"$work/log" 2>&1 &&
        SAPPORO_PRECISION=guess LD_LIBRARY_PATH=lib timeout 60 "$work/program" closed >"$work/log" 2>&1; then
        echo "ok - $title"
    else
        echo "not ok - $title"
        head -n 12 "$work/log" | sed 's/^/#   /'
        failures=$((failures + 1))
    fi
}

client "client of libsapporo6th.so" -Llib -lsapporo6th -lsapporo -lm
client "client of libyebisug6.so" -DSAPPORO_YEBISU=1 -Llib -lyebisug6 -lsapporo -lm
# shellcheck disable=SC2086 # lists of words
client "client of libsapporo6th.a" lib/libsapporo6th.a lib/libsapporo.a -lm -lpthread -ldl -lrt
# shellcheck disable=SC2086
client "client of libyebisug6.a" -DSAPPORO_YEBISU=1 lib/libyebisug6.a lib/libsapporo.a -lm \
    -lpthread -ldl -lrt

# Codes link libyebisug6 for GRAPE-6 calls, without libsapporo; some take the static library apart, as here.
g6="test/api/sixth/g6.c -Iinclude"
mkdir "$work/members" && (cd "$work/members" && ar x "$OLDPWD/lib/libyebisug6.a")
for way in "-Llib -lyebisug6" "lib/libyebisug6.a -lm -lpthread -ldl -lrt" "$work/members/*.o -lm -lpthread -ldl -lrt"; do
    rm -f "$work/program"
    # shellcheck disable=SC2086 # lists of words, and a pattern
    if $cc -std=c11 -Wall -Wextra -Werror $g6 $way -o "$work/program" >"$work/log" 2>&1 &&
        LD_LIBRARY_PATH=lib SAPPORO_BACKEND=cpu timeout 60 "$work/program" >"$work/log" 2>&1; then
        echo "ok - GRAPE-6 client of ${way%% -lm*}" | sed "s|$work/||"
    else
        echo "not ok - GRAPE-6 client of ${way%% -lm*}" | sed "s|$work/||"
        head -n 12 "$work/log" | sed 's/^/#   /'
        failures=$((failures + 1))
    fi
done

# Yebisu's own programs are in C++ and declare these calls as such.
cxx=${CXX:-$(command -v g++ || command -v clang++)}
if [ -n "$cxx" ] && echo 'int main() { return 0; }' | $cxx -x c++ - -o "$work/program" 2>/dev/null; then
    rm -f "$work/program"
    if $cxx -Wall -Wextra -Werror test/api/sixth/yebisu.cc -Llib -lyebisug6 -lsapporo -o "$work/program" >"$work/log" 2>&1 &&
        LD_LIBRARY_PATH=lib timeout 60 "$work/program" >"$work/log" 2>&1; then
        echo "ok - client of libyebisug6.so in C++"
    else
        echo "not ok - client of libyebisug6.so in C++"
        head -n 12 "$work/log" | sed 's/^/#   /'
        failures=$((failures + 1))
    fi
else
    echo "ok - client of libyebisug6.so in C++ # SKIP there is no C++ compiler"
fi

for name in sapporo g6; do # general names never come with the library itself
    nm -D --defined-only lib/lib$name.so | grep -E ' (initialize|set_j_particle|predict_all|set_jp)$' >"$work/log"
    if [ -s "$work/log" ]; then
        echo "not ok - lib$name.so has none of these names"
        failures=$((failures + 1))
    else
        echo "ok - lib$name.so has none of these names"
    fi
done

exit $((failures > 0))
