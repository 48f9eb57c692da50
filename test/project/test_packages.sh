#!/bin/sh
# test_packages.sh - the packages in docs/packaging fit the library: version, soname, installed files.  Prints TAP.
#
# It builds no package: docs/packaging/README.md says how to.

case ${SANITIZE:-} in ?*) echo "libraries of a sanitizer build are not for packages"; exit 77 ;; esac
cd "$(dirname "$0")/../.." || exit 2
debian=docs/packaging/debian
make=${MAKE:-make}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh

version=$(sed -n 's/^#define SAPPORO_VERSION "\(.*\)"/\1/p' include/sapporo.h)
major=${version%%.*}

{
    head -n 1 $debian/changelog | grep -q "^sapporo ($version-[0-9]*) " || echo "$debian/changelog does not begin with $version"
    for script in examples/report examples/frames; do
        grep -q "^VERSION = \"$version\" " $script || echo "$script is not of version $version"
    done
    grep -qx "  version: \"$version\"" docs/packaging/conda-forge/recipe.yaml || echo "recipe.yaml is not of version $version"
} >"$work/log"
none "packages are of version $version"

# Names of packages of shared libraries end with the number of the soname.
{
    for package in libsapporo libg6- libsapporo-interfaces libsapporo-mpi; do
        grep -qx "Package: $package$major" $debian/control || echo "$debian/control has no package $package$major"
        [ -f "$debian/$package$major.install" ] || echo "there is no $package$major.install"
    done
    for file in "$debian"/*.install "$debian"/*.lintian-overrides; do
        package=$(basename "$file" | sed 's/\.[a-z-]*$//')
        grep -qx "Package: $package" $debian/control || echo "$file belongs to no package"
    done
} >"$work/log"
none "names of Debian packages have the number of the soname, $major"

# What `make install` installs in the folders that debian/rules names, against the patterns of the packages.
stage=$work/stage
settings=$(sed -n '/^SETTINGS = /,/[^\\]$/p' $debian/rules | tr -d '\\\n' | grep -oE '(PREFIX|LIBDIR|DOCDIR|ZSHDIR|MPI)=[^ ]*' | sed 's/.(DEB_HOST_MULTIARCH)/machine/')
variables=$(printf '%s\n' "${MAKEFLAGS:-}" | sed 's/ -j[0-9]*//; s/ --jobserver-[a-z]*=[^ ]*//g')
# shellcheck disable=SC2086 # a list of words
env -u MAKELEVEL -u MFLAGS MAKEFLAGS="$variables" "$make" install DESTDIR="$stage" $settings >"$work/made" 2>&1 ||
    cp "$work/made" "$work/log"
none "make install with the folders of debian/rules"
package=$stage/$(sed -n 's/^PACKAGE *= //p' $debian/rules)
for python in build/venv/bin/python python3; do
    "$python" -c 'import cffi' 2>/dev/null && "$make" python-package PYTHON="$python" PYTHON_PACKAGE="$package" >"$work/made" 2>&1 && break
done
(cd "$stage" && find . ! -type d | sed 's|^\./||' | sort) >"$work/installed"
for list in "$debian"/*.install; do
    while read -r pattern to; do
        # programs of the sources; what MPI or cffi would make
        case $pattern in
        examples/*) [ -n "$to" ] && [ -x "$pattern" ] || echo "$list: there is no $pattern"; continue ;;
        *sapporo_mpi*) [ -e lib/libsapporo_mpi.so ] || continue ;;
        *python3*) [ -e "$package/_native.py" ] || continue ;;
        esac
        # shellcheck disable=SC2086 # a pattern
        found=$(cd "$stage" && find $pattern ! -type d 2>/dev/null)
        [ -n "$found" ] || echo "$list: $pattern matches nothing"
        echo "$found" >>"$work/packed"
    done <"$list"
done >"$work/log"
sort "$work/packed" >"$work/sorted"
comm -23 "$work/installed" "$work/sorted" | sed 's/$/ is in no package/' >>"$work/log"
uniq -d "$work/sorted" | sed 's/$/ is in two packages/' >>"$work/log"
[ -s "$work/installed" ] || echo "nothing was installed" >>"$work/log"
none "each installed file is in one Debian package"

title="the recipes are valid"
if python3 -c '' 2>/dev/null; then
    {
        python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' docs/packaging/spack/package.py
        if python3 -c 'import yaml' 2>/dev/null; then
            python3 -c 'import sys, yaml; yaml.safe_load(open(sys.argv[1]))' docs/packaging/conda-forge/recipe.yaml
        fi
    } >"$work/log" 2>&1
    none "$title"
else
    echo "ok - $title # SKIP python3 is missing"
fi

# The recipe as conda-forge would build it: its names, versions and files to look at; the build needs conda's compilers.
title="rattler-build renders the recipe of conda-forge"
python=
for candidate in build/venv/bin/python python3; do
    [ -n "$python" ] || ! "$candidate" -c 'import rattler_build' >/dev/null 2>&1 || python=$candidate
done
if [ -n "$python" ]; then
    "$python" -c 'import sys
from rattler_build import Stage0Recipe, VariantConfig
variants = VariantConfig({"c_stdlib": ["sysroot"], "c_compiler": ["gcc"]})
for variant in Stage0Recipe.from_file("docs/packaging/conda-forge/recipe.yaml").render(variants):
    print(variant.recipe.package.name, variant.recipe.package.version)' >"$work/said" 2>&1
    [ "$(cat "$work/said")" = "libsapporo $version" ] || cp "$work/said" "$work/log"
    none "$title"
else
    echo "ok - $title # SKIP py-rattler-build is missing"
fi

title="CITATION.cff is valid"
if command -v cffconvert >/dev/null 2>&1; then
    cffconvert --validate -i CITATION.cff >"$work/said" 2>&1 || cp "$work/said" "$work/log"
    none "$title"
else
    echo "ok - $title # SKIP cffconvert is missing"
fi

exit $((failures > 0))
