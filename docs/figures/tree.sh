#!/bin/sh
# tree.sh - measures what the figures of docs/tree.md and tree-errors.md show; then `make figures` draws them.
#
#   test/perf/record.sh trees                    runs it for each engine, and writes the files with their headers
#   CLOCK=processor test/perf/record.sh trees    the same on one core beside other programs
#   docs/figures/tree.sh cpu                     minutes on one core
#   docs/figures/tree.sh cuda                    two minutes, most of them for exact forces

tool=${TOOL:-examples/sapporo}
backend=${1:-cpu}
models=plummer,hernquist,nfw,clumps
n=65536
trees=256,512,1024,2048,4096,8192,16384,32768,65536,131072,262144
direct=256,512,1024,2048,4096,8192,16384,32768
if [ "$backend" = cpu ]; then
    export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"
else
    models=plummer,hernquist
    n=262144
    trees=$trees,524288,1048576,2097152
    direct=$direct,65536,131072,262144
fi
n=${N:-$n}

tree() { "$tool" bench --api tree --backend "$backend" --json --min-time 0 "$@"; }

# errors and costs of each criterion
tree --model "$models" --n "$n" --mac opening --accuracy 0.3,0.5,0.7,0.9,1.1 --multipoles 1,2
tree --model "$models" --n "$n" --mac multipole --accuracy 0.001,0.01,0.1,0.5,2 --multipoles 1,2
tree --model "$models" --n "$n" --mac acceleration --accuracy 0.0003,0.001,0.003,0.01,0.03 --multipoles 1,2
# bounds of groups, orders of particles
tree --model plummer --n "$n" --ball 1,2,3,4
tree --model "$models" --n "$n" --curve 1,2
# tree and direct sum by n
tree --n "$trees" --mac acceleration --accuracy 0.01 --multipoles 1
"$tool" bench --api g5 --backend "$backend" --precision sp --json --min-time 0 --n "$direct"
