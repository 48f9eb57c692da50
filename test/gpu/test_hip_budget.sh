#!/bin/sh
# No kernel for AMD GPUs takes more registers than kernels_hip/budget.txt allows, or keeps more in memory.
#
#   test_hip_budget.sh                  prints TAP
#   test_hip_budget.sh --write FOLDER   records what the kernels in FOLDER take (`make hip-budget`)
#
# clang reports them while it compiles.  Lines of the budget are `kernel vector-registers bytes spilled waves`: the most
# of all chips of registers, of bytes of a lane in memory and of registers kept there, and the fewest waves of a SIMD.
# They are compared for the compiler and the chips that the budget names (HIP_ARCHS=gfx90a).

budget=kernels_hip/budget.txt

used() {
    cat "$1"/*.resources | awk '
        function of(text) { sub(/ \[-Rpass.*/, "", text); sub(/.*: */, "", text); return text }
        /remark: Function Name:/ { kernel = of($0) }
        /remark: +VGPRs: / { v = of($0) + 0 }
        /remark: +AGPRs: / { v += of($0); if (v > most[kernel]) most[kernel] = v }
        /remark: +ScratchSize / { if (of($0) + 0 > bytes[kernel]) bytes[kernel] = of($0) + 0 }
        /remark: +Occupancy / { if (!(kernel in waves) || of($0) + 0 < waves[kernel]) waves[kernel] = of($0) + 0 }
        /remark: +VGPRs Spill: / { if (of($0) + 0 > spilled[kernel]) spilled[kernel] = of($0) + 0 }
        END { for (kernel in most) print kernel, most[kernel], bytes[kernel] + 0, spilled[kernel] + 0, waves[kernel] + 0 }
    ' | LC_ALL=C sort
}

if [ "${1:-}" = --write ]; then
    {
        echo "# What kernels may take on AMD GPUs: kernel, vector registers, bytes in memory, registers spilled, waves of"
        echo "# a SIMD.  Made by make hip-budget."
        echo "# $(cat "$2/release")"
        echo "# $(cat "$2/architectures")"
        used "$2"
    } >"$budget.new" && mv -f "$budget.new" "$budget"
    exit
fi

folder=$(cat "${BUILD:-build}/hip" 2>/dev/null)
if [ -z "$folder" ] || [ ! -f "$folder/release" ]; then
    echo "built without kernels for AMD GPUs"
    exit 77
elif ! grep -qxF "# $(cat "$folder/architectures")" "$budget" || ! grep -qxF "# $(cat "$folder/release")" "$budget"; then
    echo "the budget is of other chips, or of another compiler"
    exit 77
fi

. test/support/budget.sh
within 2 "vector registers" "no kernel takes more registers than it may"
within 3 bytes "no kernel keeps more in memory than it may"
within 4 registers "no kernel spills more registers than it may"
exit $((failures > 0))
