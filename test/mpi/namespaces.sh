#!/bin/sh
# Runs a program over ranks of Open MPI, each in a network namespace of its own, on a link with limited bandwidth and
# added delay (wire.c).  Needs root, ip of iproute2, unshare of util-linux and /dev/net/tun; no netem.
#
#   test/mpi/namespaces.sh RANKS MBIT MS PROGRAM [ARGUMENT...]
#
# Each rank sends and receives at most MBIT Mbit/s, and each packet takes MS milliseconds more.  Each namespace has a
# name of its own, so MPI takes it for a machine, and ranks share no memory.  TCP's control of congestion
# is reno, which every namespace may choose.

cd "$(dirname "$0")/../.." || exit 2
[ $# -ge 4 ] || { echo "usage: test/mpi/namespaces.sh RANKS MBIT MS PROGRAM [ARGUMENT...]" >&2; exit 2; }
ranks=$1 mbit=$2 ms=$3
shift 3
work=$(mktemp -d "${TMPDIR:-/tmp}/namespaces.XXXXXX") || exit 2
spaces=sapporo$$ # the beginning of the names of namespaces
wire='' job=''
# shellcheck disable=SC2317 # called by the trap
remove() {
    for process in $job $wire; do kill "$process" 2>/dev/null; done
    for k in $(seq "$ranks"); do ip netns del "$spaces.$k" 2>/dev/null; done
    rm -rf "$work"
}
trap remove EXIT
trap 'exit 1' INT TERM

cc -std=c11 -O2 -o "$work/wire" test/mpi/wire.c -lm || exit 2
hosts=''
for k in $(seq "$ranks"); do
    ip netns add "$spaces.$k" && ip -n "$spaces.$k" link set lo up && ip -n "$spaces.$k" tuntap add dev wire mode tun &&
        ip -n "$spaces.$k" addr add "10.77.0.$k/24" dev wire && ip -n "$spaces.$k" link set wire up || exit 2
    # A card's queue holds back each connection; a tun device does not, so the size of send buffers must.
    ip -n "$spaces.$k" link set wire txqueuelen 4000 &&
        ip netns exec "$spaces.$k" sysctl -qw net.ipv4.tcp_congestion_control=reno "net.ipv4.tcp_wmem=4096 65536 131072" || exit 2
    hosts="$hosts${hosts:+,}10.77.0.$k"
done
# It tells the time, so it does not wait for a core.
nice -n -10 "$work/wire" "$spaces" "$ranks" "$mbit" "$ms" &
wire=$!

# in_space HOST COMMAND...: what Open MPI calls to start its daemon on a machine
cat >"$work/in_space" <<END
#!/bin/sh
k=\${1##*.}
shift
exec ip netns exec $spaces.\$k unshare --uts sh -c "hostname rank\$k; \$*"
END
chmod +x "$work/in_space"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"
"$work/in_space" 10.77.0.1 exec mpirun.openmpi -n "$ranks" --host "$hosts" --bind-to none --mca plm_rsh_agent "$work/in_space" \
    --mca plm_rsh_no_tree_spawn 1 --mca oob_tcp_if_include wire --mca btl_tcp_if_include wire --mca btl tcp,self \
    --mca pml ob1 --mca coll ^hcoll "$@" &
job=$!
wait $job
status=$?
job=''
exit $status
