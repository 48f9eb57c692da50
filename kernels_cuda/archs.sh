#!/bin/sh
# Prints the architectures for which the kernels are compiled, by the version of nvcc.
#
#   archs.sh 13.0             sm_75 sm_80 ... compute_120: code for each, then PTX of the newest for later GPUs
#   archs.sh --ends 13.0      the oldest, the newest and the PTX
#   archs.sh --flags 13.0     the same as -gencode flags; also with --ends
#   archs.sh --flags 13.0 sm_90 compute_90      flags for the named ones
#
# The list holds architectures that the toolkit has and does not call deprecated.  It leaves out 12.1, which runs the
# code of sm_120, and boards of the Tegra family (8.7, 11.0 and others), which run no other chip's code; CUDA_ARCHS can
# name them.
ends=
flags=
while :; do
    case ${1:-} in
    --ends) ends=1 ;;
    --flags) flags=1 ;;
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

if [ $# -gt 0 ]; then
    archs=$*
else
    list=$(chips) || exit
    archs=
    for chip in $list; do archs="$archs${archs:+ }sm_$chip"; done
    newest=${archs##* sm_}
    [ -z "$ends" ] || archs="${archs%% *} sm_$newest"
    archs="$archs compute_$newest"
fi

if [ -z "$flags" ]; then
    echo "$archs"
    exit
fi
line=
for arch in $archs; do
    case $arch in
    sm_[0-9]* | compute_[0-9]*) line="$line${line:+ }-gencode arch=compute_${arch#*_},code=$arch" ;;
    *) usage "'$arch' is no architecture: sm_90 is one, compute_90 is its PTX" ;;
    esac
done
echo "$line"
