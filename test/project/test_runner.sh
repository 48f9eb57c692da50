#!/bin/sh
# run.sh itself, over tests that end in every way: what it reports, in which order, and that it can be stopped.
# Prints TAP.

runner=$PWD/test/run.sh
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh
mkdir -p "$work/top/test" "$work/build"
cd "$work/top" || exit 2
unset NOT_BUILT NO_CMOCKA LOGS SANITIZE

# script NAME: a test, its text from stdin
script() { cat >"test/test_$1.sh"; }

script slow <<'END'
sleep 1
echo "ok - after a while"
END
echo 'echo "ok - one"; echo "ok - two # SKIP no reason"; echo "ok - three"' | script three
printf 'echo "not ok - sum"; echo "#   1 + 1 = 3"\nexit 1\n' | script wrong
printf 'echo "1..3"; echo "ok - one"\nkill -SEGV $$\n' | script killed
echo 'echo "ok - before"; sleep 60' | script hung
echo 'echo "nothing to do"; exit 77' | script without
touch test/test_program.c # not built
all="slow three wrong killed hung without program nobody"

# What run.sh prints of a line, without seconds: word, name, counts.
told() { sed -n 's/^  \([a-zA-Z]* *[^ ]*\) *[0-9.]* s  /\1: /p' "$work/log" | tr -s ' '; }

cat >"$work/wanted" <<'END'
ok test_slow.sh: 1 passed
ok test_three.sh: 2 passed, 1 skipped
FAIL test_wrong.sh: 0 passed, 1 failed
FAIL test_killed.sh: 1 passed, 1 failed
FAIL test_hung.sh: 1 passed, 1 failed
skip test_without.sh: 0 passed, 1 skipped
FAIL test_program: 0 passed, 1 failed
FAIL nobody: 0 passed, 1 failed
END
has_timeout=1
command -v timeout >/dev/null 2>&1 || has_timeout=
for jobs in 1 2 5; do
    if [ -z "$has_timeout" ]; then
        echo "ok - $jobs at a time # SKIP there is no timeout"
        continue
    fi
    # shellcheck disable=SC2086 # a list of names
    JOBS=$jobs TIMEOUT=2 sh "$runner" "$work/build" $all >"$work/log" 2>&1
    status=$?
    [ $status = 1 ] && told | cmp -s - "$work/wanted" && [ "$(tail -n 1 "$work/log")" = "5 passed, 5 failed, 2 skipped" ] &&
        grep -q '1 + 1 = 3' "$work/log" && grep -q 'signal 11, 2 tests did not run' "$work/log" &&
        grep -q 'no end after 2 s' "$work/log" && grep -q 'nothing to do' "$work/log"
    verdict $? "$jobs at a time: counts, reasons, order"
done

JOBS=2 sh "$runner" "$work/build" three >"$work/log" 2>&1 && [ "$(tail -n 1 "$work/log")" = "2 passed, 0 failed, 1 skipped" ]
verdict $? "what passes ends with status 0"

# Two that meet: each waits for the other's sign.
for one in here there; do
    echo "touch $work/$one; for s in 1 2 3 4 5 6 7 8 9; do [ -e $work/here ] && [ -e $work/there ] && exit; sleep 1; done; exit 1" |
        script $one
done
JOBS=2 sh "$runner" "$work/build" here there >"$work/log" 2>&1
verdict $? "two run at the same time"

# Stopped while two tests wait: both go, and it with them.
for one in first second; do echo "echo \$\$ >$work/$one.new; mv $work/$one.new $work/$one; exec sleep 60" | script $one; done
JOBS=2 sh "$runner" "$work/build" first second >"$work/log" 2>&1 &
run=$!
while [ ! -e "$work/first" ] || [ ! -e "$work/second" ]; do kill -0 $run 2>/dev/null || break; sleep 1; done
kill -TERM $run
wait $run
status=$?
echo "status $status" >>"$work/log"
[ $status = 130 ] && ! kill -0 "$(cat "$work/first")" 2>/dev/null && ! kill -0 "$(cat "$work/second")" 2>/dev/null
verdict $? "stopped, it leaves nothing behind"

# Long tests begin in the order of their list, then the others in the order of their names.
for name in install one opencl_loader site; do echo "echo $name >>'$work/begun'" | script $name; done
JOBS=1 sh "$runner" "$work/build" install one opencl_loader site >"$work/log" 2>&1 &&
    printf 'site\nopencl_loader\none\ninstall\n' | diff "$work/begun" - >>"$work/log"
verdict $? "long tests first, the longest of them before the others"

JOBS=many sh "$runner" "$work/build" three >"$work/log" 2>&1
[ $? = 2 ] && grep -q 'JOBS=many' "$work/log"
verdict $? "JOBS is a number"

# What the scripts share: a failure is counted, and shown by the beginning and the end of the log.
seq 40 >"$work/log"
(
    verdict 0 good
    verdict 1 bad
    none empty
    skipped rare "no reason"
    echo "$failures"
) >"$work/said"
{
    echo 'ok - good'
    for title in bad empty; do
        echo "not ok - $title"
        { seq 12 && echo ... && seq 28 40; } | sed 's/^/#   /'
    done
    echo 'ok - rare # SKIP no reason'
    echo 2
} | diff - "$work/said" >"$work/log"
verdict $? "lines of TAP"

exit $((failures > 0))
