#!/bin/sh
# The rows of lib/gpu/gpu_kernel_list.h are the kernels of lib/device, parameter by parameter, in OpenCL C and in CUDA;
# a launch with other arguments than its row does not compile; and a buffer has elements of one type.  Prints TAP.

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh
cc=${CC:-cc}
mkdir -p "$work/cub/block"
: >"$work/cub/block/block_scan.cuh" # of CUDA's headers; kernels alone matter here

# ---- rows and kernels: NAME: TYPE NAME, ...; the type of memory is `memory`

# expand FILE FOLDER: the text behind the preprocessor as one line, with single blanks
expand() {
    # shellcheck disable=SC2086 # CC may have arguments
    $cc -E -P -x c -Ilib -I"$2" -I"$work" "$1" | tr -s ' \t\n' '   '
}

# written: rows as `kernels` writes kernels
written() {
    tr ';' '\n' |
        sed 's/M(\([a-z_0-9]*\))/memory \1/g; s/V(\([^,]*\), \([a-z_0-9]*\))/\1 \2/g; s/^ *//; s/ *: */: /; /^$/d' | sort
}

# rows MODULE
rows() {
    printf '#include "gpu/gpu_kernel_list.h"\n#define ROW(f, kernel, threads) kernel: SAP_K_##kernel(M, V);\n%s(ROW, ROW, )\n' \
        "SAP_KERNELS_$(echo "$1" | tr '[:lower:]' '[:upper:]')" >"$work/rows.c"
    expand "$work/rows.c" lib | written
}

# kernels FILE FOLDER [WORD]: those that a program defines; memory that a group shares, an argument in OpenCL C, is left
# out.  Memory is called WORD and its type, or `memory`.
kernels() {
    expand "$1" "$2" |
        grep -oE '(__kernel|__global__)[^;{}]*\) ?\{' |
        sed 's/__launch_bounds__(.*) *\([a-z_][a-z_0-9]* *([^()]*) *{\)$/\1/; s/, *__local [a-z0-9_]* *\* *sap_shared *)/)/; s/ *) *{$/) {/' |
        sed 's/^[^{]*void \([a-z_0-9]*\) *(/\1: /; s/) *{$//' |
        awk -F ': ' -v word="${3:-}" '{
            n = split($2, parameter, ", *")
            line = $1 ":"
            for (k = 1; k <= n; k++) {
                p = parameter[k]
                name = type = p
                sub(/.*[ *]/, "", name)
                sub(/[ *]*[a-z_0-9]*$/, "", type)
                gsub(/const |__global |^ */, "", type)
                if (type == "D") type = "double"
                if (type == "U64") type = "uint64_t"
                if (p ~ /\*/) type = word == "" ? "memory" : word " " type
                line = line (k > 1 ? ", " : " ") type " " name
            }
            print line
        }' | sort
}

for module in primitives tree tree_walk_sp tree_walk_dp tree_lengths tree_spline_sp \
    tree_spline_dp tree_soft_sp tree_soft_dp kdtree stepper hermite; do
    rows "$module" >"$work/rows"
    for language in ocl:cl cuda:cu; do
        folder=kernels_${language%:*}
        kernels "$folder/$module.${language#*:}" "$folder" >"$work/kernels"
        [ -s "$work/kernels" ] && diff "$work/rows" "$work/kernels" >"$work/log" 2>&1
        verdict $? "rows and kernels of $folder/$module are the same"
    done
done

# ---- direct sums: a row is that of many kernels

printf '#include "gpu/gpu_kernel_list.h"\n#define ROW(kernel) kernel: SAP_K_##kernel(M, V);\nSAP_KERNELS_DIRECT(ROW)\n' \
    >"$work/rows.c"
expand "$work/rows.c" lib | written >"$work/rows"

# of_row: the kernels of standard input by the names of their rows
of_row() {
    sed -E 's/^(many|few)[0-9]+_[a-z0-9_]*:/force:/; s/^(predict|pack|soften|neighbour_put|neighbour|blocks)_[a-z0-9_]*:/\1:/
        s/^batch_(plain|zero|soft)_[a-z0-9_]*:/batch:/; s/^list_float_[a-z0-9_]*:/list_more:/; s/^(store_stage)_order[468](_soft)?:/\1:/' | sort -u
}

for language in ocl:cl cuda:cu; do
    folder=kernels_${language%:*}
    for program in "$folder"/force*."${language#*:}" "$folder"/blocks*."${language#*:}" "$folder"/store.* "$folder"/finish.* "$folder"/lists.*; do
        kernels "$program" "$folder" >"$work/kernels"
        [ -s "$work/kernels" ] || echo "$program has no kernels"
        of_row <"$work/kernels" >>"$work/all"
    done
    sort -u "$work/all" | diff "$work/rows" - >"$work/log" 2>&1
    verdict $? "rows and kernels of direct sums in $folder are the same"
    rm "$work/all"
done

# ---- a buffer has elements of one type

# mixed FILE ...: buffers, by the names of their members, that launches pass as memory of several types.  A kernel that
# copies what it does not read takes `wide`, which tells nothing.  A buffer that stands for one that is absent is behind
# a colon.
mixed() {
    awk '
    function named(x) {
        if (x ~ /\?/) { sub(/^[^?]*\?/, "", x); sub(/:.*/, "", x) }
        gsub(/\[[^]]*\]|\([^()]*\)| /, "", x)
        sub(/(\.|->)mem$/, "", x)
        sub(/.*[^A-Za-z0-9_]/, "", x)
        return x
    }
    function pass(kernel, given,    x, k, n, p) {
        n = split(parameters[kernel], p, /, */)
        for (k = 1; k <= n; k++) {
            if (p[k] !~ /^of / || p[k] ~ /^of wide /) continue
            x = family " " named(argument[given - n + k])
            sub(/ [^ ]*$/, "", p[k])
            if (!(x in type)) type[x] = p[k]
            else if (type[x] != p[k]) print kernel ": " x " is memory " p[k] ", elsewhere " type[x]
            passed++
        }
    }
    function take(text,    kernel, c, k, depth, given) {
        while (match(text, /sap_(launch|direct)_[a-z0-9_]+\(/)) {
            family = substr(text, RSTART + 4, 6)
            kernel = substr(text, RSTART + 11, RLENGTH - 12)
            text = substr(text, RSTART + RLENGTH)
            given = depth = 1
            argument[1] = ""
            for (k = 1; depth > 0; k++) {
                c = substr(text, k, 1)
                if (c == "(") depth++
                if (c == ")" && --depth == 0) break
                if (c == "," && depth == 1) argument[++given] = ""
                else argument[given] = argument[given] c
            }
            if (kernel in parameters) pass(kernel, given)
        }
    }
    FILENAME == ARGV[1] { kernel = $1; sub(/:$/, "", kernel); sub(/^[^:]*: */, ""); parameters[kernel] = $0; next }
    FNR == 1 { take(all); all = "" }
    { all = all " " $0 }
    END { take(all); print passed + 0 >"/dev/stderr" }' "$work/typed" "$@" 2>"$work/passed"
}

for program in kernels_ocl/*.cl; do kernels "$program" kernels_ocl of; done | of_row >"$work/typed"
mixed lib/gpu/*.c lib/gpu/*/*.c >"$work/log"
[ ! -s "$work/log" ] && [ "$(cat "$work/passed")" -gt 300 ]
verdict $? "no launch passes a buffer as memory of another type than other launches do"
sed 's/sap_launch_tree_leaves(\(.*\)nodes->link.mem, nodes->level.mem/sap_launch_tree_leaves(\1nodes->level.mem, nodes->link.mem/' \
    lib/gpu/tree/gpu_nodes.c >"$work/swapped.c"
mixed lib/gpu/tree/gpu_kdtree.c "$work/swapped.c" >"$work/log"
grep -q '^tree_leaves: launch link is memory of int, elsewhere of struct sap_tree_link' "$work/log"
verdict $? "two buffers in each other's place are found"

# ---- a launch that differs from its row

# compiles_call HEADER PARAMETERS CALL: whether a function with these parameters that makes the call does
compiles_call() {
    printf '#include "%s"\nint f(%s);\nint f(%s) { return %s; }\n' "$1" "$2" "$2" "$3" >"$work/launch.c"
    # shellcheck disable=SC2086 # CC may have arguments
    $cc -std=c11 -Wall -Werror -Iinclude -Ilib -fsyntax-only "$work/launch.c" >"$work/log" 2>&1
}

# compiles ARGUMENTS: whether a launch of tree_keys with these arguments does
compiles() {
    compiles_call gpu/tree/gpu_kernels.h "const struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *k,
        struct sap_primitives *p, struct sap_mem *m, struct sap_gpu_tree t, struct sap_gpu_walk w" \
        "(void)k, (void)p, (void)m, (void)t, (void)w, sap_launch_tree_keys($1)"
}

compiles 's, k, 1, m, m, t, 2'
verdict $? "a launch as in its row compiles"
while IFS=: read -r title launch; do
    ! compiles "$launch"
    verdict $? "a launch with $title does not compile"
done <<'END'
an argument too few:s, k, 1, m, m, t
an argument too many:s, k, 1, m, m, t, 2, 3
a value in place of memory:s, k, 1, m, 5, t, 2
memory in place of a value:s, k, 1, m, m, t, m
another struct:s, k, 1, m, m, w, 2
values in another order:s, k, 1, m, m, 2, t
kernels of another struct:s, p, 1, m, m, t, 2
END

# compiles_sums ARGUMENTS: whether a launch of the kernel that predicts does
compiles_sums() {
    compiles_call gpu/gpu_direct_launch.h "const struct sap_gpu_grid *g, const struct sap_gpu_kernels *k, struct sap_mem *m,
        struct sap_gpu_force f, struct sap_gpu_batch b" \
        "(void)g, (void)k, (void)m, (void)f, (void)b, sap_direct_predict($1)"
}

compiles_sums 'g, k->predict, m, m, f'
verdict $? "a launch of direct sums as in its row compiles"
while IFS=: read -r title launch; do
    ! compiles_sums "$launch"
    verdict $? "a launch of direct sums with $title does not compile"
done <<'END'
an argument too few:g, k->predict, m, m
another struct:g, k->predict, m, m, b
a kernel of other parameters:g, k->clear, m, m, f
END

exit $((failures > 0))
