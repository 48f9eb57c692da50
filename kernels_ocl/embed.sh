#!/bin/sh
# Writes the kernel sources of OpenCL programs, with all includes expanded, and the C file that puts them into the
# library, as sap_embedded_opencl of lib/driver/driver.h.
#
#   embed.sh FOLDER FILE.cl...      FOLDER/NAME.cl, FOLDER/embedded.c
#
# OpenCL compilers have no include path, so each header is copied to where it is first included.
folder=$1
shift

expand() {
    awk -v top="$1" '
    function place(name, from) {
        if ((getline line < ((from = "kernels_ocl/") name)) >= 0 || (getline line < ((from = "lib/") name)) >= 0) {
            close(from name)
            return from name
        }
        print "embed.sh: no file " name > "/dev/stderr"
        exit 1
    }
    function copy(path,    line, name) {
        while ((getline line < path) > 0) {
            if (line ~ /^#include "/) {
                name = line
                sub(/^#include "/, "", name)
                sub(/".*/, "", name)
                name = place(name)
                if (!(name in seen)) { seen[name] = 1; copy(name) }
            } else print line
        }
        close(path)
    }
    BEGIN { copy(top) }'
}

name() { basename "$1" .cl; }

for text in "$@"; do
    expand "$text" >"$folder/$(name "$text").cl" || exit 1
done
{
    printf '/* Made by kernels_ocl/embed.sh. */\n#include "driver/driver.h"\n\n'
    for text in "$@"; do
        label=sap_opencl_text_$(name "$text")
        printf '__asm__(".pushsection .rodata\\n.globl %s\\n.hidden %s\\n%s:\\n"\n' "$label" "$label" "$label"
        printf '        ".incbin \\"%s\\"\\n.popsection\\n");\n' "$folder/$(name "$text").cl"
        printf 'extern const unsigned char %s[] __attribute__((visibility("hidden")));\n\n' "$label"
    done
    echo 'static const struct sap_image images[] = {'
    for text in "$@"; do
        printf '    {"%s", sap_opencl_text_%s, %d},\n' "$(name "$text")" "$(name "$text")" \
            "$(wc -c <"$folder/$(name "$text").cl")"
    done
    printf '};\n\n'
    printf 'const struct sap_embedded sap_embedded_opencl = {\n    .images = images,\n    .count = %d,\n' $#
    printf '    .archs = "text",\n    .why = "",\n};\n'
} >"$folder/embedded.c.$$" && mv -f "$folder/embedded.c.$$" "$folder/embedded.c"
