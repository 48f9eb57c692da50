#!/bin/sh
# settings.sh - prints docs/settings.md with the tables of environment variables as the library describes them.
#
# `make settings` writes what this prints; test_docs.sh compares.

examples/sapporo info --markdown |
    awk '
        FILENAME == "-" { table = table $0 "\n"; next }
        /^<!-- end settings -->$/ { inside = 0 }
        !inside { print }
        /^<!-- settings -->$/ { inside = 1; found = 1; printf "%s", table }
        END { exit !(found && !inside && table != "") }' - docs/settings.md
