#!/bin/sh
# Whether the proof of near pairs catches a change of the library that makes forces wrong.
#
#   mutant.sh FILE SCRIPT [VARIABLE=VALUE...]    applies the script of sed to a copy of the sources, builds it, and runs
#                                                `make fuzz-trees` with the variables; SYSTEMS is 2000 by default
#
# Ends with 0 if the change is caught, with 1 if it survives, with 2 if nothing was changed or the copy does not build.
# For example, a guard for near pairs that ends too early:
#
#   mutant.sh lib/physics/tree_accept.h 's/0x1p-7, 0x3F8/0x1p-20, 0x3EB/' BACKENDS=cpu PRECISION=sp

file=$1 script=$2
shift 2
copy=$(mktemp -d) || exit 2
trap 'rm -rf "$copy"' EXIT
git ls-files -z | xargs -0 cp --parents -t "$copy" && sed -i "$script" "$copy/$file" || exit 2
cmp -s "$file" "$copy/$file" && { echo "$file stays as it is"; exit 2; }
diff "$file" "$copy/$file"
make -C "$copy" -s CUDA=0 MPI=0 fuzz-trees-build >"$copy/log" 2>&1 || { tail "$copy/log"; exit 2; }
make -C "$copy" -s CUDA=0 MPI=0 fuzz-trees SYSTEMS=2000 "$@" >"$copy/log" 2>&1
status=$?
grep -E '^[0-9]+ passed, [0-9]+ failed' "$copy/log" | tail -n 1
if [ $status -eq 0 ]; then echo "it survives" && exit 1; fi
echo "it is caught"
