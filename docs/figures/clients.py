#!/usr/bin/env python3
"""The tables of docs/measured-clients.md, from docs/data/clients.csv; needs nothing but Python.

    clients.py            prints the tables
    clients.py --write    puts them into the page, between <!-- runs --> and <!-- end runs -->
    clients.py --check    prints what the page has in place of them, and what is wrong in the data; fails if there is anything

The scripts of test/clients print rows of the data (test/clients/common.sh).
"""
import csv
import difflib
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA, PAGE = "docs/data/clients.csv", "docs/measured-clients.md"
COLUMNS = ["client", "run", "compared", "commit", "link", "own", "library", "machine", "clock", "date"]
CLOCKS = {"processor": "processor time", "elapsed": "elapsed time", "not noted": "the clock was not noted"}


def read():
    """The rows of the data, as dicts of texts; a wrong row ends the program."""
    with open(os.path.join(TOP, DATA), encoding="utf-8", newline="") as file:
        lines = [line for line in file if not line.startswith("#")]
    table = list(csv.reader(lines))
    if table[0] != COLUMNS:
        sys.exit(f"{DATA}: the columns are not {','.join(COLUMNS)}")
    rows = []
    for cells in table[1:]:
        row = dict(zip(COLUMNS, cells))
        whole = len(cells) == len(COLUMNS) and all(row[c].strip() for c in COLUMNS if c != "compared")
        if not whole or row["clock"] not in CLOCKS or not re.fullmatch(r"\d{4}-\d\d-\d\d", row["date"]) or "|" in "".join(cells):
            sys.exit(f"{DATA}: a wrong row: {cells}")
        rows.append(row)
    return rows


def tables(rows):
    """A table for each machine and clock, in the order of the data."""
    lines = []
    for machine, clock in dict.fromkeys((row["machine"], row["clock"]) for row in rows):
        lines += ["", f"### {machine[0].upper()}{machine[1:]}, {CLOCKS[clock]}", "",
                  "| client and commit | run; what is compared | its own library or sum | this library | date |",
                  "| --- | --- | --- | --- | --- |"]
        for row in rows:
            if (row["machine"], row["clock"]) == (machine, clock):
                compared = f"; {row['compared']}" if row["compared"] else ""
                lines.append(f"| {row['client']}, {row['commit']} | {row['run']}{compared} | {row['own']} | {row['library']} | {row['date']} |")
    return lines + [""]


def main(arguments):
    lines = tables(read())
    if not arguments:
        print("\n".join(lines))
        return 0
    if arguments not in (["--write"], ["--check"]):
        sys.exit(__doc__)
    path = os.path.join(TOP, PAGE)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    new, count = re.subn(r"<!-- runs -->\n.*<!-- end runs -->", lambda _: "\n".join(["<!-- runs -->", *lines, "<!-- end runs -->"]),
                         text, flags=re.S)
    if count != 1:
        sys.exit(f"{PAGE} has no place for the tables")
    if arguments == ["--write"]:
        with open(path, "w", encoding="utf-8") as file:
            file.write(new)
        return 0
    differences = list(difflib.unified_diff(text.split("\n"), new.split("\n"), PAGE, "the data", lineterm="", n=0))
    print("\n".join(differences), end="\n" if differences else "")
    return bool(differences)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
