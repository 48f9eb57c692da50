# shellcheck shell=sh
# energy.sh - what tests of programs that integrate orbits share.  A script sources it behind tap.sh.

# energy_below BOUND: the run whose output is $work/out ended, and its relative energy error is below the bound
energy_below() {
    # shellcheck disable=SC2154 # the script that sources this file sets `work`
    sed -n 's/^# done: relative energy error \([^,]*\),.*/\1/p' "$work/out" |
        awk -v bound="$1" '{ e = $1 < 0 ? -$1 : $1 } END { exit !(NR == 1 && e < bound) }'
}
