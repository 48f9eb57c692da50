#!/usr/bin/env python3
"""Tables of measurements: docs/measurements.md, and the tables of docs/performance.md, scaling.md and gothic.md.

    measurements.py            prints all tables
    measurements.py --write    writes them into the pages, between <!-- measurements NAME --> and <!-- end measurements -->
    measurements.py --check    prints where the pages have others, and faults of the data

docs/data/MACHINE.csv has the measurements of a machine.  It begins with `# title: ...`, `# machine: ...` and
`# note: SUBJECT: ...` for what must be known of a subject.  Its columns are

    case      "SUBJECT: what was measured"; one row per case, the newest measurement
    command   that measured, or empty if it was not noted
    commit    of the library, or "up to X": it was not noted, and the figure came with commit X
    date      of the measurement, YYYY-MM-DD, or empty
    median    or another usual value; "A to B" is a range of several runs or machines
    least     the least time, or the rate of the least time
    error99   the relative error of the acceleration that 99 % of the particles stay below
    unit      of median and least
"""
import csv
import decimal
import difflib
import glob
import itertools
import os
import re
import subprocess
import sys

import data
import gothic

COLUMNS = ["case", "command", "commit", "date", "median", "least", "error99", "unit"]
FOLDER = os.path.join(data.TOP, "docs", "data")
MACHINES = ["h200", "h200s", "h100", "epyc-zen4", "epyc-zen5", "epyc", "xeon", "mpi"]  # in the order of the page
OTHERS = {"clients"}  # files of docs/data that are no machine: runs of other codes
PAGES = ["measurements.md", "performance.md", "scaling.md", "gothic.md"]
NUMBER = r"\d+(\.\d+)?(e-?\d+)?"

# Tables of docs/performance.md: what a row says, the machine, and its case.
SUMMARY = {
    "one-gpu": [
        ("direct sum, `sp`, N = 262,144", "h200", "Direct sums: order 4, `sp`, all pairs, N = 262,144"),
        ("direct sum, `ds`, N = 262,144", "h200", "Direct sums: order 4, `ds`, all pairs, N = 262,144"),
        ("direct sum, `dp`, N = 262,144", "h200", "Direct sums: order 4, `dp`, all pairs, N = 262,144"),
        ("sixth order, `dp`, N = 262,144", "h200", "Orders 6 and 8: order 6, `dp`, N = 262,144"),
        ("GRAPE-5 calls, `sp`, N = 262,144", "h200", "GRAPE-5: `sp`, N = 262,144"),
        ("force on 1 of 131,072 particles, `ds`", "h200", "Calls with few targets: Nj = 131,072, Ni = 1"),
        ("force on 1,024 of 131,072 particles, `ds`", "h200", "Calls with few targets: Nj = 131,072, Ni = 1,024"),
        ("10,000 small forces, each of 1,000 sources on 64 targets, `sp`", "h200",
         "Batches of small forces: 10,000 lists, `sp`, by address"),
        ("regular force of NBODY6, 1,024 of 262,144 stars, `sp`", "h200",
         "NBODY6, regular force: regular force, `sp`, Nj = 262,144, Ni = 1,024"),
        ("octree of 8,388,608 particles: build and moments", "h200",
         "Trees with distant cells: 8,388,608, opening angle 0.5, build and moments"),
        ("the same: walk, opening angle 0.5", "h200",
         "Trees with distant cells: 8,388,608, opening angle 0.5, walk (PP 1830, PC 3536)"),
        ("the same: walk, acceleration criterion, 0.003", "h200",
         "Trees with distant cells: 8,388,608, acceleration 0.003, walk (PP 657, PC 1696)"),
        ("block step of a galaxy, 8,388,608 particles", "h200",
         "Block steps of Andromeda, 2^23 particles: 2^23, block, mean of a step"),
        ("shared step by direct sums, `sp`, 65,536 particles", "h200", "Direct steps: a step, `sp`, N = 65,536"),
        ("H100: star cluster, order 4, `ds`, N = 65,536, particle steps", "h100",
         "Star clusters: order 4, `ds`, N = 65,536, on the device"),
        ("H100: the same by calls", "h100", "Star clusters: order 4, `ds`, N = 65,536, by calls"),
    ],
    "several-gpus": [
        ("two GPUs over one, N = 262,144", "h200s", "Direct sums over several GPUs: two GPUs, N = 262,144"),
        ("four GPUs over one, N = 65,536", "h200s", "Direct sums over several GPUs: four GPUs, N = 65,536"),
        ("four GPUs over one, N = 262,144", "h200s", "Direct sums over several GPUs: four GPUs, N = 262,144"),
        ("four GPUs over one, N = 1,048,576", "h200s", "Direct sums over several GPUs: four GPUs, N = 1,048,576"),
        ("four GPUs, rate, N = 1,048,576", "h200s", "Direct sums over several GPUs: four GPUs, rate, N = 1,048,576"),
    ],
    "cpu": [
        ("direct sum, `ds`, N = 16,384, one core", "epyc-zen4", "Direct sums, one core: order 4, `ds`, all pairs, N = 16,384"),
        ("direct sum, `dp`, N = 16,384, one core", "epyc-zen4", "Direct sums, one core: order 4, `dp`, all pairs, N = 16,384"),
        ("the same with AVX2, `ds`, one core", "epyc-zen4", "Direct sums, one core, AVX2: order 4, `ds`, N = 16,384"),
        ("two cores over one, `ds`, N = 16,384", "epyc-zen4", "Two cores: order 4, `ds`, N = 16,384, two cores over one"),
        ("sixth order, `dp`, N = 4,096, one core", "epyc-zen4", "Orders 6 and 8, one core: order 6, `dp`, N = 4,096"),
        ("eighth order, `dp`, N = 4,096, one core", "epyc-zen4", "Orders 6 and 8, one core: order 8, `dp`, N = 4,096"),
        ("GRAPE-5 calls, `sp`, N = 16,384, one core", "epyc-zen4", "GRAPE-5, cores: `sp`, all pairs, N = 16,384"),
        ("GRAPE-5 call of 300 sources on 32 targets, `sp`, one core", "epyc-zen4", "Small calls, AVX-512: GRAPE-5, `sp`, 32 by 300"),
        ("regular force of NBODY6, `ds`, one core", "epyc-zen4", "NBODY6, regular force, one core: regular force, `ds`, AVX-512"),
        ("tree walk, 262,144 particles, opening angle 0.5, one core", "xeon",
         "Tree walks, one core: Plummer, 262,144, opening angle 0.5 (PP 2613, PC 2546)"),
        ("tree walk, 262,144 particles, acceleration criterion, 0.004, one core", "xeon",
         "Tree walks, one core: Plummer, 262,144, acceleration 0.004 (PP 1049, PC 1480)"),
        ("block step of a galaxy, 262,144 particles, 16 cores", "xeon", "Block steps of a galaxy, 16 cores: block step"),
    ],
    "python": [
        *((words, "epyc-zen4", f"Python, 10,000 particles, 2 threads: {words}") for words in (
            "libsapporo, theta 0.7", "pytreegrav, theta 0.3", "libsapporo, direct sum in ds", "libsapporo, direct sum in dp",
            "pytreegrav, direct sum", "a sum in JAX, in double")),
    ],
    "opencl": [
        ("H200: CUDA, `ds`, N = 262,144", "h200", "NVIDIA's OpenCL beside CUDA: CUDA, `ds`, N = 262,144"),
        ("H200: OpenCL, `ds`, N = 262,144", "h200", "NVIDIA's OpenCL beside CUDA: OpenCL, `ds`, N = 262,144"),
        ("H200: CUDA, force on 1 of 131,072, `ds`", "h200", "NVIDIA's OpenCL beside CUDA: CUDA, `ds`, Nj = 131,072, Ni = 1"),
        ("H200: OpenCL, force on 1 of 131,072, `ds`", "h200",
         "NVIDIA's OpenCL beside CUDA: OpenCL, `ds`, Nj = 131,072, Ni = 1"),
        ("four CPU cores: CPU engine, `ds`, N = 16,384", "epyc-zen4", "PoCL 3.1, four cores: CPU engine, `ds`, N = 16,384"),
        ("four CPU cores: PoCL, `ds`, N = 16,384", "epyc-zen4", "PoCL 3.1, four cores: OpenCL, `ds`, N = 16,384"),
    ],
}


class Machine:
    """The measurements of docs/data/NAME.csv."""

    def __init__(self, name):
        self.name, self.notes = name, {}
        with open(os.path.join(FOLDER, name + ".csv"), encoding="utf-8") as file:
            lines = file.read().split("\n")
        header = [line[2:].split(": ", 1) for line in lines if line.startswith("# ")]
        self.header = {key: value for key, value in header if key != "note"}
        self.notes = dict(value.split(": ", 1) for key, value in header if key == "note")
        reader = csv.DictReader(line for line in lines if line and not line.startswith("# "))
        self.rows, self.columns = list(reader), reader.fieldnames

    def subject(self, row):
        return row["case"].split(": ", 1)[0]

    def faults(self):
        """What is wrong with the file, a line each."""
        where = f"docs/data/{self.name}.csv"
        if self.columns != COLUMNS:
            yield f"{where}: its columns are not {', '.join(COLUMNS)}"
            return
        for key in ("title", "machine"):
            if not self.header.get(key):
                yield f"{where}: its header does not say: {key}"
        for subject in set(self.notes) - {self.subject(row) for row in self.rows}:
            yield f"{where}: a note on '{subject}', which has no rows"
        seen = set()
        for row in self.rows:
            case = row["case"]
            if case in seen:
                yield f"{where}: '{case}' is there twice"
            seen.add(case)
            if ": " not in case or None in row or None in row.values() or not row["unit"]:
                yield f"{where}: '{case}' has no subject, no unit, or another number of columns"
                continue
            for column in ("median", "least", "error99"):
                if not re.fullmatch(f"({NUMBER}( to {NUMBER})?)?", row[column]):
                    yield f"{where}: '{case}': {column} is no number and no range: {row[column]}"
            if not row["median"] and not row["least"]:
                yield f"{where}: '{case}' has no value"
            if not re.fullmatch(r"(\d{4}-\d\d-\d\d)?", row["date"]) or not re.fullmatch("((up to )?[0-9a-f]{7,12})?", row["commit"]):
                yield f"{where}: '{case}': date or commit: {row['date']}, {row['commit']}"

    def find(self, case):
        return next(row for row in self.rows if row["case"] == case)


def line(cells):
    return re.sub("  +", " ", "| " + " | ".join(cells) + " |")


def grouped(text):
    """A number as pages have it: 6974 as 6,974."""
    return re.sub(r"(?<![.\d])\d{5,}(?![.\d]*e)|(?<![.\d])\d{4}(?![.\d]*e)", lambda m: f"{int(m.group()):,}", text)


def table_of(subject, rows):
    """Lines of the table of rows that one command measured."""
    shown = [c for c in ("median", "least", "error99") if any(row[c] for row in rows)]
    units = {row["unit"] for row in rows}
    words = {"median": "median", "least": "least", "error99": "99 % error"}
    head = [words[c] + (f", {units.copy().pop()}" if len(units) == 1 and c != "error99" else "") for c in shown]
    yield line(["case", *head] + ["unit"] * (len(units) > 1))
    yield line(["---"] * (1 + len(head) + (len(units) > 1)))
    for row in rows:
        yield line([row["case"][len(subject) + 2:], *(grouped(row[c]) for c in shown)] + [row["unit"]] * (len(units) > 1))


def source_of(command, commit, date):
    """A line on where figures come from."""
    quoted = command if command.startswith("test/perf/") else f"`{command}`"  # instruments are named, commands quoted
    known = [quoted] * bool(command) + [date] * bool(date) + [f"commit {commit}"] * bool(commit)
    return "; ".join(known) + "." if known else "Command, date and commit were not noted."


def page_of(machine):
    """Lines of the section of a machine."""
    lines = [f"## {machine.header['title']}", "", f"{machine.header['machine']}."]
    for subject, rows in itertools.groupby(machine.rows, machine.subject):
        lines += ["", f"### {subject}", ""]
        lines += [machine.notes[subject], ""] if subject in machine.notes else []
        for source, some in itertools.groupby(rows, lambda row: (row["command"], row["commit"], row["date"])):
            lines += [source_of(*source), "", *table_of(subject, list(some)), ""]
        lines.pop()
    return lines


def rounded(number):
    """Two digits of a number."""
    value = decimal.Decimal(number)
    value = value.quantize(decimal.Decimal((0, (1,), value.adjusted() - 1)), decimal.ROUND_HALF_UP)
    if abs(value) >= 10000:
        return f"{value:.1e}".replace("e+", "e")
    return f"{int(value):,}" if value == int(value) and abs(value) >= 10 else f"{value:f}"


def measured(row):
    """The value of a row with two digits, and its unit."""
    ends, unit = (row["median"] or row["least"]).split(" to "), row["unit"]
    if unit == "us" and float(ends[0]) >= 1000:
        ends, unit = [str(float(end) / 1000) for end in ends], "ms"
    ends = dict.fromkeys(rounded(end) for end in ends)
    return f"{' to '.join(ends)} {'interactions/s' if unit == '1/s' else unit}"


def anchor(title):
    return re.sub("[^a-z0-9 _-]", "", title.lower()).replace(" ", "-")


def summary(rows, machines):
    """Lines of a table of docs/performance.md."""
    lines = [line(["work", "measured", "more"]), line(["---"] * 3)]
    for words, name, case in rows:
        row = machines[name].find(case)
        subject = machines[name].subject(row)
        lines.append(line([words, measured(row), f"[{subject}](measurements.md#{anchor(subject)})"]))
    return lines


def printed(*arguments):
    """Lines that scaling_model.py prints."""
    script = os.path.join(data.HERE, "scaling_model.py")
    return subprocess.run([sys.executable, script, *arguments], check=True, capture_output=True, text=True).stdout.strip().split("\n")


def spaced(lines):
    """Lines with one blank line before and behind each table, and none twice."""
    out = []
    for text in lines:
        if out and text and out[-1] and text.startswith("|") != out[-1].startswith("|"):
            out.append("")
        if text or (out and out[-1]):
            out.append(text)
    return out


def tables(machines):
    """{name: lines} of everything that is generated."""
    found = {name: page_of(machine) for name, machine in machines.items()}
    found.update((name, summary(rows, machines)) for name, rows in SUMMARY.items())
    project = printed("project")
    start = next(n for n, text in enumerate(project) if text.startswith("**"))
    found["model-ranks"] = spaced(printed())
    found["model-gpu"] = spaced(project[:start])
    found["projections"] = spaced(project[start:])
    found["model-trees"] = spaced(printed("trees"))
    found["table3"] = gothic.table3()
    return {name: [text.rstrip() for text in lines] for name, lines in found.items()}


def renewed(text, found, used):
    """The text of a page with all tables that it names."""
    def replace(match):
        name = match.group(1)
        used.append(name)
        body = found.get(name, [f"(no table is named {name})"])
        return f"<!-- measurements {name} -->\n\n" + "\n".join(body).strip("\n") + "\n\n<!-- end measurements -->"
    return re.sub(r"<!-- measurements (\S+) -->\n.*?<!-- end measurements -->", replace, text, flags=re.S)


def faults(machines, found, used):
    """What is wrong with the data, and with what the pages name."""
    there = {os.path.basename(path)[:-len(".csv")] for path in glob.glob(os.path.join(FOLDER, "*.csv"))}
    yield from (f"docs/data/{name}.csv is not in MACHINES" for name in sorted(there - set(MACHINES) - OTHERS))
    for machine in machines.values():
        yield from machine.faults()
    titles = [text for name in machines for text in found[name] if text.startswith("#")]
    yield from (f"the heading '{title}' is there twice" for title in sorted(set(titles)) if titles.count(title) > 1)
    yield from (f"no page has the table {name}" for name in found if name not in used)
    yield from (f"there is no table {name}" for name in used if name not in found)
    yield from (f"the table {name} is there twice" for name in found if used.count(name) > 1)


def main(arguments):
    if arguments not in ([], ["--write"], ["--check"]):
        sys.exit(__doc__)
    machines = {name: Machine(name) for name in MACHINES}
    found, used, differences = tables(machines), [], []
    if not arguments:
        for name, lines in found.items():
            print(f"{name}\n\n" + "\n".join(lines) + "\n")
        return 0
    for page in PAGES:
        path = os.path.join(data.TOP, "docs", page)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        new = renewed(text, found, used)
        if arguments == ["--write"]:
            with open(path, "w", encoding="utf-8") as file:
                file.write(new)
        else:
            differences += difflib.unified_diff(text.split("\n"), new.split("\n"), f"docs/{page}", "the data", lineterm="", n=0)
    differences += faults(machines, found, used)
    print("\n".join(differences), end="\n" if differences else "")
    return bool(differences)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
