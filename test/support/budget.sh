# shellcheck shell=sh
# budget.sh - what the tests of kernels' registers share: a budget and what the kernels take, a line for each kernel.
#
# A script sources this file once it knows that it can compare.  It sets $budget, a file, and $folder, the build's folder
# of kernels, and defines used FOLDER, which prints the lines of its kernels.

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh

# shellcheck disable=SC2154 # the script that sources this file sets both
grep -v '^#' "$budget" >"$work/allowed"
# shellcheck disable=SC2154
used "$folder" >"$work/used"

awk 'NR == FNR { known[$1]; next } !($1 in known)' "$work/allowed" "$work/used" >"$work/log"
none "every kernel has a budget"

awk 'NR == FNR { there[$1]; next } !($1 in there) { print $1 }' "$work/used" "$work/allowed" >"$work/log"
none "every budget has a kernel"

# within COLUMN UNIT TITLE: no kernel takes more than it may
within() {
    awk -v column="$1" -v unit="$2" '
        NR == FNR { may[$1] = $column; next }
        $1 in may && $column > may[$1] { print $1 ": " $column " " unit ", at most " may[$1] }
    ' "$work/allowed" "$work/used" >"$work/log"
    none "$3"
}
