#!/usr/bin/env python3
"""Tables of tree errors in docs/tree.md, tree-errors.md and choose-tree.md.

They are made from data/tree-errors-*.csv and data/tree-drift.csv.

    tree_errors.py            prints the tables
    tree_errors.py --write    puts them into the pages, between <!-- tree errors: NAME --> and <!-- end tree errors -->
    tree_errors.py --check    prints what the pages have in place of them, and fails if there is anything
    tree_errors.py --bounds   prints the largest values with 2,000 particles as rows of BOUNDS in test/context/test_tree.c

`test/perf/record.sh tree-errors` records the data.  Each number is the largest of all models, seeds, kinds of trees and
machines that the table does not name.
"""
import glob
import os
import sys

import data

PAGES = ("tree.md", "tree-errors.md", "choose-tree.md")
CRITERIA = (("opening", "opening angle"), ("multipole", "multipole error"), ("acceleration", "acceleration"))
MULTIPOLES = {1: "masses alone", 2: "second moments"}
MEASURED = ("error50", "error99", "error999", "error100")
# What a user wants, and the criterion, accuracy and multipoles for it.
CHOICES = (("quick", "acceleration", 0.01, 1), ("usual", "acceleration", 0.01, 2), ("more exact", "acceleration", 0.001, 2),
           ("as in another code with an opening angle of 0.7", "opening", 0.7, 2))


def short(value):
    """An error with two digits."""
    return f"{value:.1e}".replace("e-0", "e-").replace("e+00", "")


def accuracy_text(value):
    return f"{value:.0e}".replace("e-0", "e-") if value < 0.01 else f"{value:g}"


def errors(rows, columns=MEASURED):
    """The largest value of each column, separated by commas."""
    if not rows:
        raise ValueError("there are no rows for a cell of a table")
    return ", ".join(short(max(r[c] for r in rows)) for c in columns)


def of(rows, **wanted):
    return [r for r in rows if all(r[k] == v for k, v in wanted.items())]


def cases(rows):
    """Criterion, accuracy and multipoles, in the order of the pages."""
    found = {(r["mac"], r["accuracy"], int(r["multipoles"])) for r in rows if r["mac"]}
    return sorted(found, key=lambda c: ([m for m, _ in CRITERIA].index(c[0]), -c[1], c[2]))


def numbers(rows):
    return sorted({int(r["n"]) for r in rows})


def table(head, lines):
    """Rows of a table; a first column that repeats is blank."""
    out, before = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)], None
    for first, *rest in lines:
        out.append("| " + " | ".join(["" if first == before else first, *rest]).replace("|  |", "| |") + " |")
        before = first
    return [line.replace("|  |", "| |") for line in out]


def read_errors():
    """All that is recorded, a Table for each machine."""
    return [data.read(os.path.basename(path)) for path in sorted(glob.glob(data.path_of("tree-errors-*.csv")))]


def rows_of(recorded):
    """The rows of all machines."""
    return [row for one in recorded for row in one]


def seeds_text(rows):
    """How many models of each kind there are, by number of particles."""
    by_n = {n: int(min(r["seeds"] for r in rows if r["n"] == n)) for n in numbers(rows)}
    texts = []
    for seeds in sorted(set(by_n.values()), reverse=True):
        *first, last = (f"{n:,}" for n in by_n if by_n[n] == seeds)
        texts.append(f"{seeds} seeds for N = " + (", ".join(first) + " and " if first else "") + last)
    return "; ".join(texts)


def table_errors(rows, recorded):
    head = ("criterion", "accuracy", "multipoles", "octree: median, 99 %, 99.9 %, largest", "kd-tree: the same")
    lines = [(dict(CRITERIA)[mac], accuracy_text(acc), MULTIPOLES[order],
              *(errors(of(rows, mac=mac, accuracy=acc, multipoles=order, tree=kind)) for kind in ("octree", "kdtree")))
             for mac, acc, order in cases(rows)]
    sources = [f"- {seeds_text(one)}: {one.header['machine']}; {one.header['date']}; commit {one.header['commit']}."
               for one in recorded]
    return [f"{len({r['model'] for r in rows})} models, all particles:", "", *sources, "", *table(head, lines)]


def table_growth(rows):
    ns = numbers(rows)
    head = ("criterion", "accuracy", "multipoles", *(f"N = {n:,}" for n in ns))
    lines = [(dict(CRITERIA)[mac], accuracy_text(acc), MULTIPOLES[order],
              *(errors(of(rows, mac=mac, accuracy=acc, multipoles=order, n=n)) for n in ns)) for mac, acc, order in cases(rows)]
    return table(head, lines)


def table_models(rows):
    chosen = [("opening", 0.7, 2), ("multipole", 0.1, 2), ("acceleration", 0.01, 2), ("acceleration", 0.001, 2)]
    head = ("model", *(f"{dict(CRITERIA)[mac]}, {accuracy_text(acc)}" for mac, acc, _ in chosen))
    models = list(dict.fromkeys(r["model"] for r in rows))
    lines = [(f"`{model}`", *(errors(of(rows, model=model, mac=mac, accuracy=acc, multipoles=order)) for mac, acc, order in chosen))
             for model in models]
    return table(head, lines)


def table_momentum(rows, drifts):
    head = ("criterion", "accuracy", "multipoles", "net force: octree, kd-tree", "octree: distance, speed",
            "kd-tree: distance, speed")
    kinds = ("octree", "kdtree")
    lines = [("direct sum", "", "", "", errors(of(drifts, tree="direct"), ("distance", "speed")), "")]
    for mac, acc, order in cases(rows):
        case = {"mac": mac, "accuracy": acc, "multipoles": order}
        moved = [of(drifts, tree=kind, **case) for kind in kinds]
        lines.append((dict(CRITERIA)[mac], accuracy_text(acc), MULTIPOLES[order],
                      ", ".join(errors(of(rows, tree=kind, **case), ("net_force",)) for kind in kinds),
                      *(errors(some, ("distance", "speed")) if some else "" for some in moved)))
    return table(head, lines)


def table_choose(rows):
    head = ("wanted", "criterion", "accuracy", "multipoles", "median", "99 % stay below", "99.9 %", "largest")
    lines = []
    for wanted, mac, acc, order in CHOICES:
        found = of(rows, mac=mac, accuracy=acc, multipoles=order)
        lines.append((wanted, f"`{mac}`", accuracy_text(acc), f"{order} ({MULTIPOLES[order]})",
                      *(errors(found, (c,)) for c in MEASURED)))
    return table(head, lines)


def tables():
    recorded, drifts = read_errors(), data.read("tree-drift.csv")
    rows = rows_of(recorded)
    return {"errors": table_errors(rows, recorded), "growth": table_growth(rows), "models": table_models(rows),
            "momentum": table_momentum(rows, drifts), "choose": table_choose(rows)}


def bounds(rows):
    """Rows of the C test: median, 99 %, 99.9 %, largest and net force of octrees, and of kd-trees."""
    lines = []
    for mac, acc, order in cases(rows):
        cells = [errors(of(rows, mac=mac, accuracy=acc, multipoles=order, tree=kind, n=2000), (*MEASURED, "net_force"))
                 for kind in ("octree", "kdtree")]
        lines.append(f"    {{SAPPORO_MAC_{mac.upper()}, {acc:g}, {order}, {{{cells[0]}}}, {{{cells[1]}}}}}")
    return ",\n".join(lines) + "};"


def main(arguments):
    if arguments == ["--bounds"]:
        print(bounds(rows_of(read_errors())))
        return 0
    found = tables()
    if not arguments:
        for name, lines in found.items():
            print(f"{name}\n\n" + "\n".join(lines) + "\n")
        return 0
    if arguments not in (["--write"], ["--check"]):
        sys.exit(__doc__)
    differences = data.put_tables(PAGES, "tree errors", found, arguments == ["--write"])
    print("\n".join(differences), end="\n" if differences else "")
    return bool(differences)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
