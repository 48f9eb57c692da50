#!/bin/sh
# No CUDA kernel takes more registers than kernels_cuda/budget.txt allows, and none keeps variables in memory.
#
#   test_cuda_budget.sh                  prints TAP
#   test_cuda_budget.sh --write FOLDER   records what the kernels in FOLDER take (`make cuda-budget`)
#
# ptxas has told both while it compiled; the build keeps its words beside the
# fat binaries.  Lines of the budget are `kernel registers stack`: the most of
# all architectures, bytes.  Both depend on the architectures, so they are
# compared only if those are the ones that the budget names (CUDA_ARCHS=ends);
# registers depend on the toolkit, too: they are compared for its release.

budget=kernels_cuda/budget.txt

# used FOLDER: kernel, registers, bytes of stack or spilled, of the worst architecture; a line each
used() {
    for source in kernels_cuda/*.cu; do cat "$1/$(basename "$source" .cu).resources"; done | awk '
        /Compiling entry function/ { split($0, part, "\047"); kernel = part[2] }
        /bytes stack frame/ {
            for (k = 2; k <= NF; k++) if ($k ~ /^bytes/ && $(k - 1) + 0 > stack[kernel]) stack[kernel] = $(k - 1) + 0
        }
        /Used [0-9]+ registers/ {
            for (k = 2; k <= NF; k++) if ($k ~ /^registers/ && $(k - 1) + 0 > most[kernel]) most[kernel] = $(k - 1) + 0
        }
        END { for (kernel in most) print kernel, most[kernel], stack[kernel] + 0 }' | LC_ALL=C sort
}

# release FOLDER: of the nvcc that compiled them
release() { cat "$1/release" 2>/dev/null; }

architectures() { cat "$1/architectures" 2>/dev/null; }

if [ "${1:-}" = --write ]; then
    {
        echo "# What CUDA kernels may take: kernel, registers, bytes of stack.  Made by make cuda-budget."
        echo "# nvcc $(release "$2")"
        echo "# $(architectures "$2")"
        used "$2"
    } >"$budget.new" && mv -f "$budget.new" "$budget"
    exit
fi

folder=$(cat "${BUILD:-build}/cuda" 2>/dev/null)
if [ -z "$folder" ] || [ ! -f "$folder/release" ]; then
    echo "built without CUDA kernels"
    exit 77
elif [ ! -f "$budget" ]; then
    echo "$budget is missing: make cuda-budget"
    exit 77
elif ! grep -qxF "# $(architectures "$folder")" "$budget"; then
    echo "the budget is of other architectures than $(architectures "$folder")"
    exit 77
fi

. test/support/budget.sh
within 3 "bytes of stack" "no kernel keeps more in memory than it may"

recorded=$(sed -n 's/^# nvcc //p' "$budget")
if [ "$recorded" = "$(release "$folder")" ]; then
    within 2 registers "no kernel takes more registers than it may"
else
    echo "ok - registers # SKIP recorded for nvcc $recorded, this is $(release "$folder")"
fi
exit $((failures > 0))
