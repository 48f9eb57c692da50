#!/bin/sh
# Prints the architectures for which the kernels are compiled, by the version of nvcc.
#
#   archs.sh 13.0             sm_75 sm_80 ... compute_120: code for each, then PTX of the newest for later GPUs
#   archs.sh --here 13.0      the GPUs of this machine; without one: PTX of the oldest architecture, which drivers compile
#                             for any GPU, and code for the chips of data centres, which chips of that version run
#   archs.sh --ends 13.0      the oldest, the newest, and PTX of the oldest
#   archs.sh --flags 13.0     the same as -gencode flags; also with --here and --ends, which come first
#   archs.sh --flags 13.0 sm_90 compute_90      flags for the named ones
#   archs.sh --flags --shared 13.0              flags for sources that do not choose by __CUDA_ARCH__: one pass of the
#                   front end serves 7.5 to 9.0, one 10.0 and later and the PTX.  nvcc 13.0 makes the same code, to the
#                   byte, as by a pass for each.  Without a GPU (--here) and for --ends one pass serves all from 7.5 on: it
#                   takes two thirds of the time, and gives 10.0 and later other code
#   archs.sh --flags --split 13.0               the same for sources that choose at 9.0 alone: 7.5 to 8.9 have one pass,
#                   and what follows has another
#
# The list holds architectures that the toolkit has and does not call deprecated.  It leaves out 12.1, which runs the
# code of sm_120, and boards of the Tegra family (8.7, 11.0 and others), which run no other chip's code; CUDA_ARCHS can
# name them.
choice=all
flags=
shared=
split=
one_pass=
while :; do
    case ${1:-} in
    --ends) choice=ends ;;
    --here) choice=here ;;
    --flags) flags=1 ;;
    --shared) shared=1 ;;
    --split) shared=1 split=1 ;;
    *) break ;;
    esac
    shift
done

usage() {
    echo "archs.sh: $1" >&2
    exit 2
}
version=${1:-}
[ -n "$version" ] || usage "which version of nvcc?"
shift
major=${version%%.*}
minor=${version#"$major"}
minor=${minor#.}
minor=${minor%%.*}
case $major${minor:=0} in *[!0-9]*) usage "'$version' is no version" ;; esac

# Prints the compute capabilities for the toolkit.  A toolkit later than the known ones counts as the last known one.
chips() {
    if [ "$major" -lt 11 ]; then
        usage "nvcc $version is older than 11.0"
    elif [ "$major" -eq 11 ]; then # calls sm_50 and older deprecated
        echo 52 60 61 70 75 80
        [ "$minor" -lt 1 ] || echo 86
        [ "$minor" -lt 8 ] || echo 89 90
    elif [ "$major" -eq 12 ] && [ "$minor" -lt 8 ]; then
        echo 52 60 61 70 75 80 86 89 90
    elif [ "$major" -eq 12 ] && [ "$minor" -eq 8 ]; then # calls all older than sm_75 deprecated
        echo 75 80 86 89 90 100 120
    else
        echo 75 80 86 89 90 100 103 120
    fi
}

# Capabilities of the GPUs of this machine, such as 90.
present() { nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d '. ' | grep -x '[0-9]*' | sort -un; }

# matching GPU CHIP...: the newest chip whose code the GPU runs; fails if there is none
matching() {
    gpu=$1
    shift
    best=
    for chip; do [ "${chip%?}" = "${gpu%?}" ] && [ "$chip" -le "$gpu" ] && best=$chip; done
    [ -n "$best" ] && echo "$best"
}

# The chips of this machine's GPUs, one per line; fails without a GPU, or with one that the toolkit has no code for.
chips_here() {
    gpus=$(present)
    [ -n "$gpus" ] || return
    for gpu in $gpus; do
        # shellcheck disable=SC2086 # a list of words
        matching "$gpu" $list || return
    done
}

# V100, A100, H100 and B200: a machine that builds without a GPU is most often the front end of a cluster.
of_clusters() {
    for chip in $list; do case $chip in 70 | 80 | 90 | 100) echo "$chip" ;; esac; done
}

prefixed() { tr -s '[:space:]' '\n' | sed '/^$/d; s/^/sm_/' | sort -ut_ -k2n | tr '\n' ' ' | sed 's/ $//'; }

if [ $# -gt 0 ]; then
    archs=$*
else
    list=$(chips) || exit
    list=$(printf '%s' "$list" | tr '\n' ' ')
    ptx=" compute_${list##* }"
    case $choice in
    all) archs=$(echo "$list" | prefixed) ;;
    ends)
        archs="compute_${list%% *} sm_${list%% *} sm_${list##* }"
        ptx=
        one_pass=1
        ;;
    here)
        if found=$(chips_here); then
            archs=$(echo "$found" | prefixed)
            ptx=
        else
            archs="compute_${list%% *} $(of_clusters | prefixed)"
            ptx=
            one_pass=1
        fi
        ;;
    esac
    archs=$archs$ptx
fi

if [ -z "$flags" ]; then
    echo "$archs"
    exit
fi

# add FLAG: to the line
add() { line="$line${line:+ }$1"; }

# pass_of NUMBER: the architecture whose pass of the front end serves it, if that is in the list
pass_of() {
    if [ "$1" -lt 75 ]; then
        echo "$1"
    elif [ "$1" -ge 100 ] && [ -z "$one_pass" ]; then
        echo 100
    elif [ "$1" -ge 90 ] && [ -n "$split" ]; then
        echo 90
    else
        echo 75
    fi
}

# add_pass: the members of a pass, the oldest of which it is for
add_pass() { [ -z "$members" ] || add "-gencode arch=compute_$oldest,code=[$members]"; }

line=
pass=
members=
for arch in $archs; do
    number=${arch#*_}
    case $arch in
    sm_[0-9]* | compute_[0-9]*) ;;
    *) usage "'$arch' is no architecture: sm_90 is one, compute_90 is its PTX" ;;
    esac
    if [ -z "$shared" ]; then
        add "-gencode arch=compute_$number,code=$arch"
        continue
    fi
    if [ "$(pass_of "$number")" != "$pass" ]; then
        add_pass
        pass=$(pass_of "$number")
        oldest=$number
        members=
    fi
    case $arch in compute_*) arch=compute_$oldest ;; esac
    members=$members${members:+,}$arch
done
add_pass
echo "$line"
