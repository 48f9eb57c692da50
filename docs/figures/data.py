#!/usr/bin/env python3
"""Reads and checks the recorded data of the figures; needs nothing but Python.

    data.py          checks: each file says what, machine, date, commit and command; figures that a page has, too, are the
                     page's; each figure was drawn from the data that are there.  Prints one line per fault.

A data file begins with lines `# key: value`; the commit is that of the library, or "up to X": it was not noted, and the
data came with commit X.  Rows of CSV or one JSON object per line follow.  Where a page has the same figures in a table,
the header names page and section, and each row has the words of the table: `case`, found in the line of the table, and
`quote`, the figure in it.
"""
import csv
import difflib
import glob
import hashlib
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
HEADER = ("what", "machine", "date", "commit", "command")
MOST = 3  # a median may be so many times the smallest time


class Table(list):
    """Rows of a data file, with its header."""

    def __init__(self, name, header, rows):
        super().__init__(rows)
        self.name, self.header = name, header

    def source(self):
        """Machine, date and commit, as a figure tells them."""
        return f"{self.header['machine']}; {self.header['date']}; {self.header['commit']}"


def path_of(name):
    return os.path.join(HERE, name if name.startswith("tree") and name.endswith(".jsonl") else os.path.join("data", name))


def exists(name):
    return os.path.exists(path_of(name))


def number(text):
    try:
        return float(text)
    except ValueError:
        return text


def read(name):
    """A Table; numbers are floats."""
    with open(path_of(name), encoding="utf-8") as file:
        lines = file.read().split("\n")
    header = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    body = [line for line in lines if line and not line.startswith("# ")]
    if name.endswith(".jsonl"):
        return Table(name, header, [json.loads(line) for line in body])
    return Table(name, header, [{k: number(v) for k, v in row.items()} if "quote" not in row else
                                {k: v if k in ("case", "quote") else number(v) for k, v in row.items()}
                                for row in csv.DictReader(body)])


def digest(name):
    with open(path_of(name), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:12]


def disturbed(row):
    """Why a time of a tree is not drawn, or None: something else ran when it was measured."""
    median = row.get("median", row.get("seconds"))
    phases = sum(row.get(phase, 0) for phase in ("sort", "link", "moments", "walk"))
    if row["case"] == "tree" and phases > MOST * row["min"]:
        return f"phases of {phases:.3g} s, the smallest step {row['min']:.3g} s"
    if median > MOST * row["min"]:
        return f"median {median:.3g}, smallest {row['min']:.3g}"
    return None


# ---- tables of pages ----------------------------------------------------------------------------------------------


def put_tables(pages, mark, found, write):
    """Puts tables, {name: lines}, between <!-- MARK: NAME --> and <!-- end MARK --> of pages; without `write` compares.

    Returns differences, and the tables that no page has."""
    used, differences = set(), []

    def replace(match):
        used.add(match.group(1))
        return f"<!-- {mark}: {match.group(1)} -->\n" + "\n".join(found[match.group(1)]) + f"\n<!-- end {mark} -->"

    for page in pages:
        path = os.path.join(TOP, "docs", page)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        new = re.sub(rf"<!-- {mark}: (\w+) -->\n.*?<!-- end {mark} -->", replace, text, flags=re.S)
        if write:
            with open(path, "w", encoding="utf-8") as file:
                file.write(new)
        else:
            differences += difflib.unified_diff(text.split("\n"), new.split("\n"), f"docs/{page}", "the data", lineterm="", n=0)
    return differences + [f"no page has the table {name}" for name in found if name not in used]


# ---- checks -------------------------------------------------------------------------------------------------------


def section_of(page, title):
    with open(os.path.join(TOP, page), encoding="utf-8") as file:
        text = file.read()
    match = re.search(rf"(?m)^## {re.escape(title)}$(.*?)(?=^## |\Z)", text, re.S)
    return match.group(1) if match else ""


def check_quotes(table):
    """Faults of rows that a page has, too."""
    lines = section_of(table.header["page"], table.header["section"]).split("\n")
    for row in table:
        # A line of a table stands alone; a sentence may go on in the next line.
        found = any(row["case"] in line and row["quote"] in (line if line.startswith("|") else line + lines[n + 1])
                    for n, line in enumerate(lines[:-1]))
        if not found:
            yield f"{table.name}: {table.header['page']} has no {row['quote']} beside {row['case']}"
        told = [float(n) for n in re.findall(r"[\d.]+(?:e\d+)?", row["quote"])]
        drawn = [row[k] for k in ("low", "high", "time") if k in row]
        if not set(drawn) <= set(told):
            yield f"{table.name}: {drawn} are not the figures of '{row['quote']}'"


def pinned_version(module):
    """The version of a module that `make docs-tools` installs."""
    with open(os.path.join(TOP, "docs", "site", "requirements.txt"), encoding="utf-8") as file:
        return re.search(rf"(?m)^{module}==(\S+)$", file.read()).group(1)


def check_drawn(path):
    """Faults of a figure whose data have changed since, or that `make figures` would draw in another way."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    told = re.findall(r"(\S+\.(?:csv|jsonl)) ([0-9a-f]{12})", text)
    drawn_by = re.search(r"Matplotlib v([0-9.]+)", text)
    name = os.path.relpath(path, HERE)
    if drawn_by is None or drawn_by.group(1) != pinned_version("matplotlib"):
        yield f"{name} was not drawn by matplotlib {pinned_version('matplotlib')}: make figures"
    if not told:
        yield f"{name} does not tell its data"
    for data, was in told:
        if not exists(data):
            yield f"{name} was drawn from {data}, which is gone"
        elif digest(data) != was:
            yield f"{name} was drawn from other data than {data}: make figures"


def data_files():
    names = [os.path.basename(p) for p in glob.glob(os.path.join(HERE, "data", "*.*"))]
    return sorted(names + [os.path.basename(p) for p in glob.glob(os.path.join(HERE, "tree*.jsonl"))])


def faults():
    for name in data_files():
        table = read(name)
        missing = [key for key in HEADER if not table.header.get(key)]
        if missing:
            yield f"{name}: its header does not say: {', '.join(missing)}"
        if table.header.get("commit") == "not recorded":
            yield f"{name}: its header does not say of which commit it is"
        if not table:
            yield f"{name}: no rows"
        if "page" in table.header:
            yield from check_quotes(table)
    figures = glob.glob(os.path.join(HERE, "*.svg"))
    for path in figures:
        dark = os.path.join(HERE, "dark", os.path.basename(path))
        if not os.path.exists(dark):
            yield f"{os.path.basename(path)} has no form for dark pages: make figures"
        else:
            yield from check_drawn(dark)
        yield from check_drawn(path)


if __name__ == "__main__":
    found = list(faults())
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))
