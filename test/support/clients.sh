# shellcheck shell=sh
# clients.sh - what tests of libraries that clients link share: clients that print TAP, on each path and device.
#
# A script sources this file from the top folder, after it has asked whether it can run.

. test/support/tap.sh
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
forget_settings
export SAPPORO_VERBOSE=0 LD_LIBRARY_PATH=lib

# client TITLE COMMAND...: runs a client that prints TAP
client() {
    title=$1
    shift
    timeout 60 "$@" >"$work/log" 2>&1
    verdict $? "$title"
}

# on_paths TITLE PROGRAM: on the CPU, on each instruction path that is usable here
on_paths() {
    for isa in $(usable_paths); do client "$1, $isa" env SAPPORO_BACKEND=cpu SAPPORO_CPU_ISA="$isa" "$2"; done
}

# on_devices TITLE PROGRAM: on each kind of accelerator
on_devices() {
    for backend in opencl cuda; do
        if SAPPORO_BACKEND=$backend examples/sapporo info >/dev/null 2>&1; then
            client "$1, $backend" env SAPPORO_BACKEND=$backend "$2"
        else
            skipped "$1, $backend" "there is no device"
        fi
    done
}
