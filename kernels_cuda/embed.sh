#!/bin/sh
# Writes the C file that puts fat binaries into the library, as sap_embedded_VENDOR of lib/driver/driver.h.
#
#   embed.sh VENDOR ARCHS WHY IMAGE...
#
# The assembler reads the images, by paths relative to the folder where the compiler runs.  Images are aligned to
# pages for loaders of code.
vendor=$1
archs=$2
why=$3
shift 3

name() { basename "$1" .fatbin; }

printf '/* Made by kernels_cuda/embed.sh. */\n#include "driver/driver.h"\n\n'
for image in "$@"; do
    label=sap_${vendor}_image_$(name "$image")
    printf '__asm__(".pushsection .rodata\\n.balign 4096\\n.globl %s\\n.hidden %s\\n%s:\\n"\n' "$label" "$label" "$label"
    printf '        ".incbin \\"%s\\"\\n.popsection\\n");\n' "$image"
    printf 'extern const unsigned char %s[] __attribute__((visibility("hidden")));\n\n' "$label"
done
if [ $# -gt 0 ]; then
    echo 'static const struct sap_image images[] = {'
    for image in "$@"; do
        printf '    {"%s", sap_%s_image_%s, %d},\n' "$(name "$image")" "$vendor" "$(name "$image")" "$(wc -c <"$image")"
    done
    printf '};\n\n'
fi
printf 'const struct sap_embedded sap_embedded_%s = {\n    .images = %s,\n    .count = %d,\n' \
    "$vendor" "$([ $# -gt 0 ] && echo images || echo 0)" $#
printf '    .archs = "%s",\n    .why = "%s",\n};\n' "$archs" "$why"
