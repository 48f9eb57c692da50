#!/usr/bin/env python3
"""Draws all figures from the recorded data: `make figures`, or draw.py [NAME...] for some of them.

Data that are not recorded are left out, and named.  test/perf/record.sh records.
"""
import sys

from matplotlib.ticker import NullLocator

import data
import gothic
import kinds
import style
import tree


def first(*names):
    """The Table of the first file that exists, or None."""
    return next((data.read(name) for name in names if data.exists(name)), None)


def needs(*names):
    """Why a figure cannot be drawn: the first of these files that is not there."""
    missing = [name for name in names if not data.exists(name)]
    return f"{missing[0]} is not recorded (test/perf/record.sh)" if missing else None


# ---- rates ----------------------------------------------------------------------------------------------------------


def engine_rates(table):
    """(precision, n, low, high) of the rows of either form; of a machine that other programs used by the smallest times."""
    time = "min" if "processor times" in getattr(table, "header", {}).get("machine", "") else "median"
    for row in table:
        if "nj" in row:
            rate = row["ni"] * row["nj"] * 1e6 / row[time]
            yield row["precision"], row["nj"], rate, rate
        elif row.get("kind") == "engine":
            yield row["precision"], row["n"], row["low"], row["high"]


def roofs(table):
    """{precision: rate} of the bare loops of either form."""
    found = {row["precision"]: row["best"] for row in table if row.get("case") == "bare loop"}
    return found or {row["precision"]: row["high"] for row in table if row.get("kind") == "bare loop"}


def draw_rate_panel(look, axis, tables, machine, title):
    """Engines and bare loops of the tables, and peers that were measured on this machine."""
    peers = [r for r in data.read("peers-rates.csv") if r["machine"] == machine]
    for precision, (colour, mark) in style.PRECISION.items():
        rows = sorted(r[1:] for table in tables for r in engine_rates(table) if r[0] == precision)
        if rows:
            n, low, high = zip(*rows)
            middle = [(a * b) ** 0.5 for a, b in zip(low, high)]
            errors = [[m - a for m, a in zip(middle, low)], [b - m for m, b in zip(middle, high)]]
            axis.errorbar(n, middle, errors, color=look.colour(colour), marker=mark, label=f"libsapporo, {precision}")
        for roof in {r for table in tables for p, r in roofs(table).items() if p == precision}:
            axis.axhline(roof, color=look.colour(colour), linestyle=":", label=f"bare loop, {precision}")
    for name in dict.fromkeys(r["name"] for r in peers):
        for precision, (colour, _) in style.PRECISION.items():
            rows = sorted((r["n"], r["rate"]) for r in peers if (r["name"], r["precision"]) == (name, precision))
            if rows:
                axis.plot(*zip(*rows), color=look.colour(colour if name.startswith("Sapporo2") else "purple"), marker="D",
                          linestyle="--", markerfacecolor="none", label=f"{name}, {precision}")
    axis.set(title=title, xscale="log", yscale="log", xlabel="particles N")


def draw_rates(look):
    """A panel for each machine: of a page with its peers, and what record.sh recorded."""
    panels = [("core", [data.read("rates-core.csv")], "one core, Zen 4"),
              ("", [data.read("rates-core.jsonl")] if data.exists("rates-core.jsonl") else [], "one core, Zen 5"),
              ("h200", [first("rates-h200.jsonl", "rates-h200.csv")], "one H200")]
    if data.exists("rates-h200.jsonl"):
        panels[2][1].append([r for r in data.read("rates-h200.csv") if r["kind"] == "bare loop"])
    panels = [panel for panel in panels if panel[1]]
    figure, axes = look.figure(len(panels), width=2.5 + 2.3 * len(panels))
    for axis, (machine, tables, title) in zip(axes, panels):
        draw_rate_panel(look, axis, tables, machine, title)
    axes[0].set(ylabel="interactions per second")
    sources = [table for panel in panels for table in panel[1] if isinstance(table, data.Table)]
    look.save(figure, "rates", sources + [data.read("peers-rates.csv")])


# ---- block steps ------------------------------------------------------------------------------------------------------


def crossing(slow, fast):
    """ni from which the second of two curves {ni: time} is the faster, between two measured points, or None."""
    both = sorted(set(slow) & set(fast))
    for a, b in zip(both, both[1:]):
        before, after = slow[a] / fast[a], slow[b] / fast[b]
        if before < 1 <= after:
            return a * (b / a) ** ((1 - before) / (after - before))
    return None


def draw_steps(look):
    cpu, card = data.read("steps-cpu.jsonl"), data.read("steps-h200.jsonl")
    figure, (axis,) = look.figure()
    for nj, colour in zip(sorted({r["nj"] for r in cpu}), ("green", "blue", "red")):
        curves = [{r["ni"]: r["median"] for r in rows if r["nj"] == nj} for rows in (cpu, card)]
        for curve, kind, mark in zip(curves, ("CPU", "H200"), "so"):
            axis.plot(*zip(*sorted(curve.items())), color=look.colour(colour), marker=mark,
                      linestyle="--" if kind == "CPU" else "-", label=f"{kind}, Nj = {nj:,}")
        if crossing(*curves):
            axis.axvline(crossing(*curves), color=look.colour(colour), linestyle=":", label=f"crossover, Nj = {nj:,}")
    axis.set(xscale="log", yscale="log", xlabel="active particles Ni", ylabel="time of a block step [µs]")
    look.save(figure, "steps", [cpu, card])


# ---- accuracy -------------------------------------------------------------------------------------------------------


def draw_errors(look):
    table = data.read("errors.csv")
    figure, axes = look.figure(2, width=8.2, sharey=True)
    for axis, quantity in zip(axes, ("acceleration", "jerk")):
        for precision, (colour, _) in style.PRECISION.items():
            rows = [(r["error"], r["share"]) for r in table if r["quantity"] == quantity and f" {precision} " in r["kind"] + " "]
            error, share = zip(*rows)
            kind = {"sp": ":", "ds": "-", "dp": "--"}[precision]
            axis.plot(error, [100 * s for s in share], color=look.colour(colour), linestyle=kind, label=precision)
        axis.set(title=quantity, xscale="log", xlabel=f"relative error of the {quantity}", xlim=(3e-18, 1e-4), ylim=(0, 100))
    axes[0].set_ylabel("particles with a smaller error [%]")
    look.save(figure, "errors", [table])


PROGRAMS = {"hermite4": ("blue", "o", 0.01), "hermite6": ("green", "^", 0.4), "hermite8": ("red", "s", 0.6),
            "leapfrog_tree": ("purple", "D", "1/256")}


def draw_energy(look):
    table = data.read("energy.csv")
    figure, (by_time, by_eta) = look.figure(2, width=8.6, sharey=True)
    for program, (colour, mark, usual) in PROGRAMS.items():
        for precision, kind in (("sp", ":"), ("ds", "--"), ("dp", "-")):
            rows = [r for r in table if (r["program"], r["precision"]) == (program, precision)]
            look_of = {"color": look.colour(colour), "marker": mark, "linestyle": kind, "label": f"{program}, {precision}",
                       "markerfacecolor": look.colour(colour if precision == "dp" else "page")}
            over_time = [(r["time"], abs(r["error"])) for r in rows if r["value"] == usual and r["time"] > 0]
            over_eta = [(r["value"], abs(r["error"])) for r in rows if r["option"] == "eta" and r["time"] == 1]
            for axis, points in ((by_time, over_time), (by_eta, over_eta)):
                if points:
                    axis.plot(*zip(*sorted(points)), **look_of)
    by_time.set(yscale="log", xlabel="time [N-body units]", ylabel="|relative energy error|",
                title="eta 0.01, 0.4, 0.6; steps of 1/256", xlim=(0, 1.05))
    by_eta.set(xscale="log", xlabel="eta", title="at time 1")
    look.save(figure, "energy", [table])


# ---- scaling --------------------------------------------------------------------------------------------------------


def speedups(table, count_of):
    """{n: [(count, speedup)]} of recorded times"""
    curves = {}
    for n in sorted({r["nj"] for r in table}):
        times = {count_of(r): r["median"] for r in table if r["nj"] == n}
        if 1 in times:
            curves[n] = sorted((count, times[1] / t) for count, t in times.items())
    return curves


def page_speedups(table):
    curves = {n: [(1, 1.0)] for n in sorted({r["n"] for r in table})}
    for row in table:
        curves[row["n"]].append((row["count"], (row["low"] * row["high"]) ** 0.5))
    return curves


def scaling_panels():
    """[(title, table, curves)] of what is recorded"""
    panels = []
    if data.exists("scaling-cpu.jsonl"):
        table = data.read("scaling-cpu.jsonl")
        panels.append(("threads", table, speedups(table, lambda r: r["threads"])))
    if data.exists("scaling-h200.jsonl"):
        table = data.read("scaling-h200.jsonl")
        panels.append(("GPUs (H200)", table, speedups(table, lambda r: r["devices"].count(",") + 1)))
    else:
        table = data.read("scaling-h200.csv")
        panels.append(("GPUs (H200)", table, page_speedups(table)))
    return panels


def draw_scaling(look):
    panels = scaling_panels()
    if len(panels) == 1 and look.background == "light":
        print("draw.py: scaling: no threads: " + needs("scaling-cpu.jsonl"))
    figure, axes = look.figure(len(panels), width=3.2 + 2.7 * len(panels))
    marks = iter((("green", "^"), ("blue", "o"), ("red", "s"), ("purple", "D"), ("orange", "v"), ("grey", "P")))
    for axis, (title, _, curves) in zip(axes, panels):
        most = max(count for curve in curves.values() for count, _ in curve)
        axis.plot((1, most), (1, most), color=look.colour("grey"), linestyle=":", label="ideal")
        for n, curve in curves.items():
            colour, mark = next(marks)
            axis.plot(*zip(*curve), color=look.colour(colour), marker=mark, label=f"N = {int(n):,}")
        axis.set(title=title, xlabel=title.split(" ", maxsplit=1)[0], ylabel="speed over one",
                 xticks=sorted({count for curve in curves.values() for count, _ in curve}))
        axis.xaxis.set_minor_locator(NullLocator())
    look.save(figure, "scaling", [table for _, table, _ in panels])


# ---- trees beside other codes -------------------------------------------------------------------------------------


def draw_tree_peers(look):
    ours, peers = data.read("tree-cost-h200.csv"), data.read("peers-tree.csv")
    figure, axes = look.figure(2, width=8.4)
    for axis, n in zip(axes, (1048576, 8388608)):
        for mac, colour, mark in (("opening", "blue", "o"), ("acceleration", "green", "^")):
            rows = sorted((r["error99"], r["time"]) for r in ours if (r["mac"], r["n"]) == (mac, n))
            axis.plot(*zip(*rows), color=look.colour(colour), marker=mark, label=f"libsapporo, {mac}")
        for name, colour, mark in (("Bonsai", "red", "s"), ("Ryoanji", "purple", "D")):
            rows = sorted((r["error99"], r["time"]) for r in peers if (r["name"], r["n"]) == (name, n))
            axis.plot(*zip(*rows), color=look.colour(colour), marker=mark, linestyle="--", markerfacecolor="none", label=name)
        axis.set(title=f"Plummer, {n:,} particles, one H200", xscale="log", yscale="log",
                 xlabel="error that 99 % of the particles stay below")
    axes[0].set_ylabel("time of a step [ms]")
    look.save(figure, "tree_peers", [ours, peers])


# name: (what draws it, files without which it is left out)
FIGURES = {
    "rates": (draw_rates, ["peers-rates.csv", "rates-core.csv", "rates-h200.csv"]),
    "steps": (draw_steps, ["steps-cpu.jsonl", "steps-h200.jsonl"]),
    "errors": (draw_errors, ["errors.csv"]),
    "energy": (draw_energy, ["energy.csv"]),
    "scaling": (draw_scaling, []),
    "tree_peers": (draw_tree_peers, ["tree-cost-h200.csv", "peers-tree.csv"]),
    "trees": (tree.draw, []),
    "kinds": (kinds.draw, []),
    "gothic": (gothic.draw, []),
}


def main(names):
    unknown = set(names) - set(FIGURES)
    if unknown:
        sys.exit(f"draw.py: no figure is named {', '.join(sorted(unknown))}; there are {', '.join(FIGURES)}")
    for name, (draw, files) in FIGURES.items():
        if names and name not in names:
            continue
        if needs(*files):
            print(f"draw.py: {name} is left out: {needs(*files)}")
            continue
        for background in style.COLOURS:
            draw(style.Look(background))


if __name__ == "__main__":
    main(sys.argv[1:])
