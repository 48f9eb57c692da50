#!/usr/bin/env python3
"""Octrees beside kd-trees, from tree_kinds_*.jsonl; kinds.sh measures them, draw.py calls this module.

    kinds.py           prints the tables of docs/tree-errors.md; needs nothing but Python
    kinds.py --write   puts them into the page, between <!-- tree kinds: NAME --> and <!-- end tree kinds -->
    kinds.py --check   prints what the page has in place of them, and fails if there is anything
"""
import math
import sys

import data

PAGES = ("tree-errors.md",)
KINDS = {"octree": ("blue", "o", "-"), "kdtree": ("red", "s", "--")}
NAMES = {"octree": "octree", "kdtree": "kd-tree"}
MACS = {"opening": "D", "multipole": "s", "acceleration": "o"}
ORDERS = {1: "masses alone", 2: "second moments"}
PARTS = ("distribution", "interactions", "budget", "energy", "tables")


def file_of(part):
    return f"tree_kinds_{part}.jsonl"


def count(row):
    return row["particle_particle"] + row["particle_cell"]


def by_groups(row):
    return row["walk_kind"] != 2


def error_curve(row):
    """(error, percent of the particles with a larger one)"""
    return [(error, 100 * 2.0 ** -k) for k, error in enumerate(row["above"]) if k > 0]


# ---- figures ----------------------------------------------------------------------------------------------------


def label_errors(axis, title):
    axis.set(title=title, xscale="log", yscale="log", xlabel="relative error of the acceleration")


def draw_distribution(look, table):
    """Figure 1 of Kofler et al. 2014, for both kinds."""
    figure, axes = look.figure(2, width=8.4, sharey=True, sharex=True)
    colours = ("purple", "blue", "green", "orange", "red")
    for axis, kind in zip(axes, KINDS):
        rows = sorted((r for r in table if r["tree"] == kind), key=lambda r: r["accuracy"])
        for row, colour, mark in zip(rows, colours, "o^sDv"):
            axis.plot(*zip(*error_curve(row)), color=look.colour(colour), marker=mark, label=f"accuracy {row['accuracy']:g}")
        axis.axhline(1, color=look.colour("grey"), linestyle=":", label="1 %")
        label_errors(axis, f"{NAMES[kind]}, {table[0]['n']:,} particles")
    axes[0].set_ylabel("particles with a larger error [%]")
    look.save(figure, "tree_kinds_errors", [table])


def draw_interactions(look, table, alone, model):
    """Figure 2: by all criteria, both orders; of Hernquist's model also walks of single particles."""
    rows = [r for r in table if r["model"] == model]
    tables = [table]
    figure, axes = look.figure(2, width=8.6, sharey=True)
    for axis, (order, words) in zip(axes, ORDERS.items()):
        for kind, (colour, _, line) in KINDS.items():
            for mac, mark in MACS.items():
                points = sorted((r["error99"], count(r)) for r in rows
                                if (r["multipoles"], r["tree"], r["mac"]) == (order, kind, mac))
                axis.plot(*zip(*points), color=look.colour(colour), marker=mark, linestyle=line,
                          markerfacecolor=look.colour(colour if kind == "kdtree" else "page"), label=f"{NAMES[kind]}, {mac}")
            points = sorted((r["error99"], count(r)) for r in alone if r["tree"] == kind)
            if order == 1 and model == "hernquist" and points:
                axis.plot(*zip(*points), color=look.colour("green" if kind == "octree" else "orange"), marker="^",
                          linestyle=line, label=f"{NAMES[kind]}, acceleration,\nparticles alone")
                tables = [table, alone]
        axis.set(title=f"{model}, {int(rows[0]['n']):,}, {words}", xscale="log", yscale="log",
                 xlabel="error that 99 % of the particles stay below")
    axes[0].set_ylabel("interactions per particle")
    look.save(figure, f"tree_kinds_interactions_{model}", tables)


def draw_budget(look, table):
    """Figure 3: errors at equal interactions."""
    figure, axes = look.figure(2, width=8.6, sharey=True, sharex=True)
    for axis, groups in zip(axes, (False, True)):
        rows = [r for r in table if by_groups(r) == groups]
        for row in rows:
            colour, mark, _ = KINDS[row["tree"]]
            opening = row["mac"] == "opening"
            axis.plot(*zip(*error_curve(row)), color=look.colour(colour), marker="D" if opening else mark,
                      linestyle="--" if opening else "-", markerfacecolor=look.colour("page" if opening else colour),
                      label=f"{NAMES[row['tree']]}, {row['mac']},\n{ORDERS[row['multipoles']]}")
        axis.axhline(1, color=look.colour("grey"), linestyle=":", label="1 %")
        mean = round(sum(map(count, rows)) / len(rows), -2)
        label_errors(axis, f"{'by groups' if groups else 'particles alone'}: {mean:,.0f} interactions")
    axes[0].set_ylabel("particles with a larger error [%]")
    look.save(figure, "tree_kinds_budget", [table])


def draw_energy(look, table):
    """Figure 4: energy of a Hernquist sphere."""
    figure, (axis,) = look.figure()
    for kind, rebuild, order, colour, mark, line in (("octree", "1", 1, "blue", "o", "-"),
                                                     ("kdtree", "1", 1, "red", "s", "--"),
                                                     ("kdtree", "auto", 1, "green", "^", ":"),
                                                     ("kdtree", "auto", 2, "orange", "v", "-.")):
        points = [(r["time"], abs(r["error"])) for r in table
                  if (r["tree"], r["rebuild"], r["multipoles"]) == (kind, rebuild, order) and r["time"] > 0]
        words = "built when it pays" if rebuild == "auto" else "built each step"
        words += ", second moments" if order == 2 else ""
        axis.plot(*zip(*points), color=look.colour(colour), marker=mark, linestyle=line, label=f"{NAMES[kind]}, {words}")
    axis.set(title=f"Hernquist, {table[0]['n']:,} particles", yscale="log", xlabel="time [N-body units]",
             ylabel="|relative energy error|")
    look.save(figure, "tree_kinds_energy", [table])


def draw(look):
    have = {part: data.read(file_of(part)) for part in PARTS if data.exists(file_of(part))}
    if "distribution" in have:
        draw_distribution(look, have["distribution"])
    for model in dict.fromkeys(r["model"] for r in have.get("interactions", [])):
        draw_interactions(look, have["interactions"], have.get("distribution", []), model)
    if "budget" in have:
        draw_budget(look, have["budget"])
    if "energy" in have:
        draw_energy(look, have["energy"])


# ---- tables -----------------------------------------------------------------------------------------------------


def times():
    """{heading: rows} of the machines whose times are recorded, without those that other programs used too."""
    found = {}
    for heading, name in (("one core", file_of("tables")), ("H200", "tree_kinds_tables_h200.jsonl")):
        table = data.read(name) if data.exists(name) else None
        if table and "other programs" not in table.header["machine"]:
            found[heading] = table
    return found


def line(cells):
    return "| " + " | ".join(cells) + " |"


def milliseconds(seconds):
    return f"{1e3 * seconds:.0f}" if seconds >= 0.01 else f"{1e3 * seconds:.1f}"


def build(row):
    return row["sort"] + row["link"] + row["moments"]


def walk(row):
    return row["walk"]


def table_of(title, time):
    """Lines of Table I or II: milliseconds by model and N, a column for each engine and kind; none without times."""
    if not times():
        return []
    columns = [(heading, kind, rows) for heading, rows in times().items() for kind in KINDS]
    lines = [line([title, "N"] + [f"{heading}, {NAMES[kind]}" for heading, kind, _ in columns]),
             line(["---"] * (2 + len(columns)))]
    cases = dict.fromkeys((r["model"], r["n"]) for _, _, rows in columns for r in rows)
    for model, n in sorted(cases, key=lambda c: (c[0] != "hernquist", c)):
        found = [next((r for r in rows if (r["model"], r["n"], r["tree"]) == (model, n, kind)), None)
                 for _, kind, rows in columns]
        lines.append(line([model, f"{n:,}"] + [milliseconds(time(r)) if r else "" for r in found]))
    return lines


def count_at(rows, error):
    """Interactions at a 99 % error, between two rows of one criterion, or None."""
    points = sorted((r["error99"], count(r)) for r in rows)
    for (low, more), (high, fewer) in zip(points, points[1:]):
        if low <= error <= high:
            return more * (fewer / more) ** (math.log(error / low) / math.log(high / low))
    return None


RATIOS = ((1, 4e-3), (1, 2e-3), (2, 1e-3), (2, 5e-4))  # orders and errors


def ratio_table():
    """Lines: interactions of kd-trees over those of octrees at the same error and criterion."""
    rows = data.read(file_of("interactions"))
    heads = [f"{ORDERS[order]}, {error:.0e}".replace("e-0", "e-") for order, error in RATIOS]
    lines = [line(["model, N", "criterion"] + heads), line(["---"] * (2 + len(RATIOS)))]
    for model, n in dict.fromkeys((r["model"], r["n"]) for r in rows):
        for mac in MACS:
            cells = []
            for order, error in RATIOS:
                octree, kdtree = (count_at([r for r in rows if (r["model"], r["multipoles"], r["mac"], r["tree"]) ==
                                            (model, order, mac, kind)], error) for kind in KINDS)
                cells.append(f"{kdtree / octree:.2f}" if octree and kdtree else "")
            lines.append(line([f"{model}, {int(n):,}", mac] + cells))
    return lines


def source(*some):
    """Lines that tell machine, date and commit of recorded data."""
    return [f"- {table.source()}." for table in some] + [""]


def count_table():
    """Lines: interactions and errors by number of particles."""
    rows = data.read(file_of("tables"))
    lines = [line(["interactions, 99 % error", "N", "octree", "kd-tree"]), line(["---"] * 4)]
    cases = dict.fromkeys((r["model"], r["n"]) for r in rows)
    for model, n in sorted(cases, key=lambda c: (c[0] != "hernquist", c)):
        cells = [f"{count(r):,.0f}, {r['error99']:.1e}".replace("e-0", "e-") for kind in KINDS for r in rows
                 if (r["model"], r["n"], r["tree"]) == (model, n, kind)]
        lines.append(line([model, f"{n:,}"] + cells))
    return lines


def tables():
    """{name: lines}: ratios of interactions; interactions and errors of the walks that are timed; times."""
    ratios, counts = data.read(file_of("interactions")), data.read(file_of("tables"))
    return {"ratios": source(ratios) + ratio_table(), "interactions": source(counts) + count_table(),
            "times": source(*times().values()) + table_of("build [ms]", build) + [""] + table_of("walk [ms]", walk)}


def main(arguments):
    found = tables()
    if not arguments:
        print("\n\n".join("\n".join(lines) for lines in found.values()))
        return 0
    if arguments not in (["--write"], ["--check"]):
        sys.exit(__doc__)
    differences = data.put_tables(PAGES, "tree kinds", found, arguments == ["--write"])
    print("\n".join(differences), end="\n" if differences else "")
    return bool(differences)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
