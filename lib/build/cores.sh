#!/bin/sh
# Prints how many jobs make starts by itself: the cores that this process may use, less where a control group limits it.
cores=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 1)
if read -r quota period 2>/dev/null </sys/fs/cgroup/cpu.max && [ "$quota" != max ] && [ "${period:-0}" -gt 0 ]; then
    allowed=$(((quota + period - 1) / period))
    [ "$allowed" -ge "$cores" ] || cores=$allowed
fi
echo "$cores"
