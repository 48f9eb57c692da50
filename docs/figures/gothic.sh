#!/bin/sh
# gothic.sh - figures 3 to 9 and table 3 of Miki & Umemura 2017 (New Astronomy 52, 65) with this machine as a column.
#
#   docs/figures/gothic.sh fig3           measures, records docs/figures/tree_gothic_fig3*.jsonl and draws; fig3 to fig9,
#                                         table3, or all.  fig5 is drawn from the data of fig4, table3 from those of fig9
#   docs/figures/gothic.sh rows fig3      only prints the rows
#
# BACKEND   engine, default cpu; cuda, opencl: files are named after the GPU
# N         particles, default 2^14 to 2^17 by figure on a CPU, 2^23 on a GPU
# STEPS     block steps per case, default 64 on a CPU, 1024 on a GPU; shared steps are an eighth of them
#
# Times are those of an idle machine only if it is idle.

tool=${TOOL:-examples/sapporo}
backend=${BACKEND:-cpu}
[ "$backend" = cpu ] && steps=${STEPS:-64} || steps=${STEPS:-1024}
accuracies="acceleration,0.125,0.03125,0.0078125,0.001953125 multipole,2,0.5,0.1,0.02 opening,0.9,0.7,0.5,0.35"

# size CPU: particles of a figure
size() { if [ "$backend" = cpu ]; then echo "${N:-$1}"; else echo "${N:-8388608}"; fi; }

# The softening, the longest block step and the shared step of a model, about the shortest block step that is in use:
# of Andromeda's the paper's softening on a GPU, and larger ones for fewer particles.
set_model() {
    model=$1 eps=0.015625 longest=0.5 finest=0.015625
    [ "$model" = andromeda ] || return 0
    eps=0.1 longest=0.5 finest=0.03125
    [ "$backend" = cpu ] || eps=0.016 longest=2 finest=0.0078125
}

# tree OPTION..., steps OPTION...: rows of forces, and of steps
tree() { "$tool" bench --api tree --backend "$backend" --json --model "$model" --eps "$eps" --min-time 0 "$@"; }
steps() { "$tool" bench --api stepper --backend "$backend" --json --model "$model" --eps "$eps" "$@"; }

# against_error MODEL N: errors of forces, and times of block and shared steps, of each criterion and accuracy
against_error() {
    set_model "$1"
    for case in $accuracies; do
        mac=${case%%,*} list=${case#*,}
        tree --n "$2" --once --mac "$mac" --accuracy "$list" &&
            steps --n "$2" --mac "$mac" --accuracy "$list" --steps block --dt $longest --count "$steps" &&
            steps --n "$2" --mac "$mac" --accuracy "$list" --steps shared --dt $finest --count $((steps / 8)) || return
    done
}

# each_step MODEL N COUNT: a row per block step, by the criterion of acceleration with 2^-7
each_step() {
    set_model "$1"
    steps --n "$2" --mac acceleration --accuracy 0.0078125 --steps block --dt $longest --count "$3" --each
}

fig3() { against_error nfw "$(size 16384)"; }
fig4() { against_error andromeda "$(size 16384)"; }
fig6() { each_step andromeda "$(size 131072)" 101; }

fig7() {
    set_model andromeda
    parts=1,0.5,0.25,0.125,0.0625,0.015625,0.00390625,0.0009765625,0.000244140625,0.00006103515625
    tree --n "$(size 65536)" --mac acceleration --accuracy 0.0078125 --refresh --active $parts
}

fig8() {
    set_model andromeda
    sizes=1024,2048,4096,8192,16384,32768,65536,131072
    [ "$backend" = cpu ] || sizes=$sizes,262144,524288,1048576,2097152,4194304,8388608
    steps --n "${SIZES:-$sizes}" --mac acceleration --accuracy 0.0078125 --steps block --dt $longest --count "$steps"
}

fig9() { each_step nfw "$(size 65536)" $((2 * steps)) && each_step andromeda "$(size 65536)" $((2 * steps)); }

# The measurement that a figure is drawn from.
source_of() {
    case $1 in
    fig5) echo fig4 ;;
    table3) echo fig9 ;;
    fig3 | fig4 | fig6 | fig7 | fig8 | fig9) echo "$1" ;;
    all) echo fig3 fig4 fig6 fig7 fig8 fig9 ;;
    *) return 1 ;;
    esac
}

[ "$1" != rows ] || { shift; print=yes; }
what=$(source_of "${1:-}") || { echo "gothic.sh: there is nothing named ${1:-}" >&2; exit 2; }
if [ -n "${print:-}" ]; then
    for one in $what; do "$one" || exit; done
    exit
fi
GOTHIC=$what BACKENDS=$backend test/perf/record.sh gothic && make figures FIGURES=gothic || exit
[ "$1" != table3 ] || python3 docs/figures/gothic.py
