#!/bin/sh
# test_before_run.sh - what the sample programs say before a run: files that cannot be read, options that do not exist or
# have no effect, times that do not move; letters and helps of all programs; columns that a file names.  Prints TAP.

cd "$(dirname "$0")/../.." || exit 1
programs="hermite4 hermite6 hermite8 leapfrog_tree leapfrog_direct galaxy"
for program in $programs sapporo; do
    [ -x "examples/$program" ] || { echo "skipped: examples/$program is not built"; exit 77; }
done
. test/support/tap.sh
forget_settings
SAPPORO_BACKEND=cpu
OMP_NUM_THREADS=1
export SAPPORO_BACKEND OMP_NUM_THREADS
root=$PWD
work=$(mktemp -d "${TMPDIR:-/tmp}/test_before_run.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
shown="out err"
cd "$work" || exit 1

# says STATUS TEXT PROGRAM ARGUMENT...: a run, its exit status, a text among its messages, and no step
says() {
    wanted=$1 text=$2 program=$3
    shift 3
    timeout 60 env PATH="$path" "$root/examples/$program" "$@" >out 2>err </dev/null
    got=$?
    [ $got -eq "$wanted" ] && grep -q -e "$text" err && ! grep -q 'dE/|E|' out
    verdict $? "$program $*: $text"
}
path=$PATH

# ---- files

for program in $programs; do
    : >"$program.restart"
    echo garbage >bad.txt
    says 2 'bad.txt:1:' "$program" bad.txt
    rm -f "$program.restart"
done
: >hermite4.restart
printf '1 0 0 0 0 0 0\n1 1 0 0 0 0 0\n' >two.txt
says 2 'begin anew with --overwrite' hermite4 two.txt
rm -f hermite4.restart
says 2 'not a text file' hermite4 /dev/zero
mkfifo pipe
says 2 'no regular file' hermite4 --restart pipe
truncate -s 1T vast
says 2 'not a restart file' hermite4 --restart vast

# numpy.savetxt(..., header='x y z vx vy vz m')
printf '# x y z vx vy vz m\n1 0 0 0 0 0 1\n2 0 0 0 0.5 0 1e-3\n' >named.txt
"$root/examples/hermite4" named.txt -t 1/8 -d 1/8 -o named >out 2>err && grep -q '^1 1 1 0 0 0 0 0$' named.0000.txt &&
    grep -q '^2 0.001[0-9]* 2 0 0 0 0.5 0$' named.0000.txt
verdict $? "columns that a comment names"
printf '3000000000 0.5 1 0 0 0 0.5 0\n9223372036854775807 0.5 -1 0 0 0 -0.5 0\n' >ids.txt
for program in $programs; do
    "$root/examples/$program" ids.txt -s 0.1 -t 1/8 -d 1/8 -o ids --stop-after 1 --overwrite >out 2>err &&
        "$root/examples/$program" --restart ids.restart >out 2>err &&
        [ "$(cut -d ' ' -f 1 ids.0001.txt | tail -n 2 | tr '\n' ' ')" = '3000000000 9223372036854775807 ' ]
    verdict $? "$program: ids of 64 bits, also after a restart"
done

# ---- times that do not move

printf '# time 1e100\n1 0 0 0 0 0 0\n1 1 0 0 0 0 0\n' >late.txt
for program in $programs; do says 2 'does not change the time 1.*e+100' "$program" late.txt -o late; done

# ---- units with another G: orbits of masses times G, masses and energies of the user

# energy: what the last line of output told
energy() { awk '/^ *[0-9]/ { e = $2 } END { print e }' out; }

printf '0.7 1 0 0 0 0.05 0\n0.3 -1 0 0 0 -0.05 0\n1e-3 0 2 0 0.04 0 0\n' >three.txt
awk '{ $1 = sprintf("%.17g", $1 * 0.0043); print }' three.txt >product.txt
for program in $programs; do
    run() { "$root/examples/$program" "$@" -s 0.1 -t 8 -d 4 >out 2>err; }
    run product.txt -o product --overwrite && product=$(energy) && run three.txt --G 0.0043 -o G --overwrite &&
        awk -v a="$(energy)" -v b="$product" 'BEGIN { e = a * 0.0043 / b - 1; exit !(e * e < 1e-14) }' &&
        [ "$(grep -v '^#' G.0002.txt | cut -d ' ' -f 1,3-)" = "$(grep -v '^#' product.0002.txt | cut -d ' ' -f 1,3-)" ] &&
        [ "$(awk '!/^#/ { print $2 + 0 }' G.0002.txt | tr '\n' ' ')" = '0.7 0.3 0.001 ' ] && grep -q '^# G 0.0043' G.0002.txt
    verdict $? "$program --G: the orbits of masses times G"
    cp G.0002.txt again.txt
    run again.txt -o again --overwrite -t 16 && cmp again.txt again.0000.txt
    verdict $? "$program: a snapshot tells its G"
done
says 2 'not the G of G.0002.txt' hermite4 G.0002.txt --G 2 -o none
says 2 'G must be positive' hermite4 three.txt --G 0
says 2 'G has no effect on models' galaxy --model plummer --G 2

# ---- options without an effect

says 2 'w0 has no effect.*model is plummer' hermite4 --model plummer --w0 9
says 2 'w0 has no effect' hermite4 --demo --w0 9
says 2 'cut has no effect' galaxy --model disc --cut 9
says 2 'toomre has no effect' galaxy --model king --toomre 2
says 2 'height has no effect' galaxy --model andromeda --height 0.2
says 2 'mass-range has no effect' leapfrog_tree --model plummer --mass-range 1:2
says 2 'eta has no effect' hermite4 --model plummer --shared --eta 0.1
says 2 'eta-start has no effect' hermite6 --model plummer --shared --eta-start 0.1
says 2 'criterion has no effect' hermite8 --model plummer --shared --criterion averaged
says 2 'criterion has no effect' galaxy --model plummer --steps shared --criterion change
says 2 'eta has no effect' galaxy --model plummer --steps shared --dt-max 1/64 --eta 0.1
says 2 'eps-halo must be positive' galaxy --model disc -n 64 --eps-halo 0
says 1 'needs a model with a halo' galaxy --model plummer -n 64 --eps-halo 0.2 -o none
for program in galaxy leapfrog_direct leapfrog_tree; do
    says 2 'half-width has no effect' "$program" --model plummer --half-width 2
    says 2 'image has no effect' "$program" --demo --image 16
done
says 2 'part has no effect' galaxy --model disc --part disc
says 2 'no such component; the particles have none' galaxy --model plummer -n 64 --image 16 --part disc -o none
says 2 'no such component; the particles have halo .*, disc' galaxy --model disc -n 64 --image 16 --part bulge -o none
says 2 'no such component' galaxy --model disc -n 64 --image 16 --part dis -o none
says 2 'it has no particle' galaxy --model andromeda -n 8 --image 16 --part bulge -o none
says 2 'cannot be changed by --restart' galaxy --restart none.restart --part disc
for program in $programs; do
    says 2 'format has no effect' "$program" --demo --format csv
    says 2 'overwrite has no effect' "$program" --demo --overwrite
done

# ---- what can be known before a run

path=/nonexistent
for program in galaxy leapfrog_direct; do
    says 2 'needs ffmpeg' "$program" --model plummer -n 64 --image 16 --film -o film
done
path=$PATH

# ---- options that do not exist

for program in $programs; do says 2 'did you mean --model?' "$program" --modle plummer; done
says 2 'did you mean --interval?' hermite4 --intervall=1/4
says 2 "no option '--frobnicate' (--help lists them)" hermite4 --frobnicate
says 2 'did you mean --precision?' sapporo check --precison ds
says 2 'did you mean bench?' sapporo bnech
says 2 "unknown command 'frobnicate'; see" sapporo frobnicate

# ---- helps and letters

for program in $programs; do
    "$root/examples/$program" --help >out 2>err && grep -q '\[id\] mass x y z vx vy vz' out
    verdict $? "$program --help names the columns"
    sed -n 's/^ *\(-[a-zA-Z]\), \(--[a-z-]*\).*/\1 \2/p' out >>letters
done
sort -u letters | cut -d ' ' -f 1 | uniq -d >log
[ ! -s log ] && [ "$(sort -u letters | wc -l)" -ge 9 ]
verdict $? "a letter means one option in all programs"
if [ -x "$root/examples/hermite4_f90" ]; then
    "$root/examples/hermite4_f90" --help >out 2>err && grep -q 'FILE .*index, mass, x y z' out
    verdict $? "hermite4_f90 --help"
    says 2 "no option '--hepl'" hermite4_f90 --hepl
    says 2 "no option '-x'" hermite4_f90 -x
    printf '1e17\n2\n1\n1\n0 0 0\n0 0 0\n2\n1\n1 0 0\n0 0 0\n' >late.init
    says 2 'does not change the time' hermite4_f90 late.init
fi

exit $((failures > 0))
