#!/bin/sh
# The architectures that each toolkit's kernels are compiled for (kernels_cuda/archs.sh).  Prints TAP.

failures=0

# same TITLE WANTED ARGUMENT...: what archs.sh prints
same() {
    title=$1
    wanted=$2
    shift 2
    got=$(sh kernels_cuda/archs.sh "$@" 2>&1)
    if [ "$got" = "$wanted" ]; then
        echo "ok - $title"
    else
        printf 'not ok - %s\n#   %s\n#   wanted: %s\n' "$title" "$got" "$wanted"
        failures=$((failures + 1))
    fi
}

# refused TITLE WORDS ARGUMENT...: ends with 2 and says why
refused() {
    title=$1
    words=$2
    shift 2
    got=$(sh kernels_cuda/archs.sh "$@" 2>&1 >/dev/null)
    status=$?
    case $status:$got in
    2:*"$words"*) echo "ok - $title" ;;
    *)
        printf 'not ok - %s\n#   status %d: %s\n' "$title" $status "$got"
        failures=$((failures + 1))
        ;;
    esac
}

pascal="sm_52 sm_60 sm_61 sm_70 sm_75 sm_80"
same "11.0: Maxwell to A100" "$pascal compute_80" 11.0
for v in 11.1 11.4 11.7; do same "$v: also 8.6" "$pascal sm_86 compute_86" $v; done
for v in 11.8 12.0 12.4 12.7; do same "$v: to Hopper" "$pascal sm_86 sm_89 sm_90 compute_90" $v; done
turing="sm_75 sm_80 sm_86 sm_89 sm_90 sm_100"
same "12.8: Turing to Blackwell" "$turing sm_120 compute_120" 12.8
for v in 12.9 13.0 13.1 13 14.2; do same "$v: also 10.3" "$turing sm_103 sm_120 compute_120" $v; done
same "a patch level changes nothing" "$turing sm_103 sm_120 compute_120" 13.0.88

# with_gpus CAPABILITIES TITLE WANTED ARGUMENT...: on a machine with these GPUs, as nvidia-smi tells; none: no driver
with_gpus() {
    mkdir -p "$work/bin"
    # shellcheck disable=SC2016 # for the script that is written
    printf '#!/bin/sh\nfor gpu in %s; do echo $gpu; done\n' "$1" >"$work/bin/nvidia-smi"
    [ -n "$1" ] || printf '#!/bin/sh\necho no driver >&2\nexit 9\n' >"$work/bin/nvidia-smi"
    chmod +x "$work/bin/nvidia-smi"
    shift
    PATH=$work/bin:$PATH same "$@"
}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
clusters="compute_75 sm_80 sm_90 sm_100"
with_gpus "" "no GPU: chips of data centres, PTX for all others" "$clusters" --here 13.0
with_gpus "" "no GPU, 11.4" "compute_52 sm_70 sm_80" --here 11.4
with_gpus "" "no GPU, 12.4" "compute_52 sm_70 sm_80 sm_90" --here 12.4
with_gpus "" "no GPU: flags" "-gencode arch=compute_75,code=compute_75 -gencode arch=compute_80,code=sm_80 \
-gencode arch=compute_90,code=sm_90 -gencode arch=compute_100,code=sm_100" --here --flags 13.0
with_gpus "" "no GPU: one pass of the front end" "-gencode arch=compute_75,code=[compute_75,sm_80,sm_90,sm_100]" \
    --here --flags --shared 13.0
with_gpus "" "no GPU: flags of 11.4" "-gencode arch=compute_52,code=[compute_52] -gencode arch=compute_70,code=[sm_70] \
-gencode arch=compute_80,code=[sm_80]" --here --flags --shared 11.4
with_gpus 9.0 "an H100" sm_90 --here 13.0
with_gpus "9.0 9.0 8.6" "three GPUs of two kinds" "sm_86 sm_90" --here 13.0
with_gpus 8.7 "a GPU that runs the code of an older one" sm_86 --here 13.0
with_gpus "9.0 7.0" "a GPU that the toolkit has no code for" "$clusters" --here 13.0

same "only the ends" "compute_52 sm_52 sm_90" --ends 12.4
same "flags" "-gencode arch=compute_75,code=compute_75 -gencode arch=compute_75,code=sm_75 \
-gencode arch=compute_120,code=sm_120" --flags --ends 13.0
same "what the caller wants" "sm_90 compute_90" 13.0 sm_90 compute_90
same "flags of what the caller wants" "-gencode arch=compute_90a,code=sm_90a" --flags 13.0 sm_90a

# One pass of the front end serves 7.5 to 9.0, one 10.0 and later.
blackwell="-gencode arch=compute_100,code=[sm_100,sm_103,sm_120,compute_100]"
same "shared flags" "-gencode arch=compute_75,code=[sm_75,sm_80,sm_86,sm_89,sm_90] $blackwell" --flags --shared 13.0
same "shared flags of the ends" "-gencode arch=compute_75,code=[compute_75,sm_75,sm_120]" --flags --shared --ends 13.0
same "shared flags, 11.4" "-gencode arch=compute_52,code=[sm_52] -gencode arch=compute_60,code=[sm_60] \
-gencode arch=compute_61,code=[sm_61] -gencode arch=compute_70,code=[sm_70] \
-gencode arch=compute_75,code=[sm_75,sm_80,sm_86,compute_75]" --flags --shared 11.4
with_gpus 9.0 "shared flags of an H100" "-gencode arch=compute_90,code=[sm_90]" --here --flags --shared 13.0
# Of sources that choose at 9.0 alone, one pass more.
same "split flags" "-gencode arch=compute_75,code=[sm_75,sm_80,sm_86,sm_89] -gencode arch=compute_90,code=[sm_90] \
$blackwell" --flags --split 13.0
same "split flags of the ends" "-gencode arch=compute_75,code=[compute_75,sm_75] \
-gencode arch=compute_120,code=[sm_120]" --flags --split --ends 13.0
with_gpus "" "no GPU: split flags" "-gencode arch=compute_75,code=[compute_75,sm_80] \
-gencode arch=compute_90,code=[sm_90,sm_100]" --here --flags --split 13.0
# none TITLE LINES: there are no such lines
none() {
    if [ -z "$2" ]; then
        echo "ok - $1"
    else
        printf 'not ok - %s\n%s\n' "$1" "$2" | sed '2,$s/^/#   /'
        failures=$((failures + 1))
    fi
}

# Sources that choose by architecture are told by their own text (cuda.mk): a header asks for device code alone.
none "no header chooses by architecture" \
    "$(grep -rn '__CUDA_ARCH__' lib kernels_cuda --include='*.h' --include='*.cuh' | grep -v '#if defined(__CUDA_ARCH__)$')"
# Code that waits for launches is told by one kernel: each source that says so chooses at 9.0 alone.
none "sources whose kernels begin early choose at 9.0" \
    "$(grep -l SAP_EARLY kernels_cuda/*.cu | xargs grep -n '__CUDA_ARCH__' | grep -v '__CUDA_ARCH__ >= 900$')"

refused "10.2 is too old" "older than 11.0" 10.2
refused "no version" "which version"
refused "a word is no version" "'new' is no version" new
refused "a word is no architecture" "'hopper' is no architecture" --flags 13.0 hopper

# The toolkit that is here compiles all of the list without a word.
nvcc=${NVCC:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)}
if [ -n "$nvcc" ]; then
    release=$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')
    missing=
    for arch in $(sh kernels_cuda/archs.sh "$release"); do
        case $arch in sm_*) "$nvcc" --list-gpu-code | grep -qx "$arch" || missing="$missing $arch" ;; esac
    done
    if [ -z "$missing" ]; then
        echo "ok - nvcc $release knows them all"
    else
        printf 'not ok - nvcc %s knows them all\n#   not%s\n' "$release" "$missing"
        failures=$((failures + 1))
    fi
else
    echo "ok - nvcc knows them all # SKIP nvcc is missing"
fi

# Kernels whose launches begin early wait, in the code for 9.0: else they would read what is not yet there.
early=$(grep -o 'EARLY(F, [a-z0-9_]*' lib/gpu/gpu_kernel_list.h | sed 's/.* //' | tr '\n' '|')
early="^(${early}store_stage.*|finish_sums|predict_.*|few[0-9].*|many[0-9].*)\$"
if [ -n "$nvcc" ]; then
    work=$(mktemp -d)
    lacking=
    seen=0
    for source in store finish hermite force_sp; do
        "$nvcc" -ptx -arch=compute_90 -std=c++17 -fmad=false -Ilib -Ikernels_cuda -o "$work/$source" "kernels_cuda/$source.cu"
        tell=$(awk -v early="$early" '
            function judge() { if (name ~ early) print name, waits }
            /\.entry / { judge(); name = $0; sub(/.*\.entry /, "", name); sub(/[^A-Za-z0-9_].*/, "", name); waits = 0 }
            /griddepcontrol\.wait/ { waits = 1 }
            END { judge() }' "$work/$source")
        lacking="$lacking$(echo "$tell" | sed -n 's/ 0$//p')"
        seen=$((seen + $(echo "$tell" | grep -c ' 1$')))
    done
    rm -rf "$work"
    if [ -z "$lacking" ] && [ "$seen" -gt 40 ]; then
        echo "ok - $seen kernels that begin early wait"
    else
        printf 'not ok - kernels that begin early wait: %s do\n#   not: %s\n' "$seen" "$lacking"
        failures=$((failures + 1))
    fi
else
    echo "ok - kernels that begin early wait # SKIP nvcc is missing"
fi
exit $((failures > 0))
