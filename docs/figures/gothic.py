#!/usr/bin/env python3
"""Figures 3 to 9 and table 3 of Miki & Umemura 2017, from tree_gothic_*.jsonl; gothic.sh measures them, draw.py calls this.

    gothic.py         prints table 3 of docs/gothic.md; needs nothing but Python
    gothic.py check   prints one line per row of the table that the page has not
"""
import glob
import os
import re
import sys

import data

PAGE = "docs/gothic.md"
MACS = {"acceleration": ("red", "o"), "multipole": ("blue", "s"), "opening": ("grey", "D")}
MACHINES = (("blue", "o"), ("red", "s"), ("green", "^"), ("orange", "D"))  # colours and marks, by number
MODELS = {"nfw": "NFW sphere", "andromeda": "Andromeda"}
# Table 3 of the paper: GOTHIC's interactions per second, average, largest and smallest, by GPU and model.
PAPER = {
    "GOTHIC, K20X": {"nfw": ("1.45e10", "3.40e10", "3.77e9"), "andromeda": ("1.34e10", "3.30e10", "3.81e9")},
    "GOTHIC, GTX TITAN X": {"nfw": ("6.77e10", "1.59e11", "2.49e10"), "andromeda": ("7.80e10", "1.50e11", "2.46e10")},
}


def machines(figure):
    """{machine: rows} of the recorded data of a figure: "CPU" first, then GPUs by name."""
    found = {}
    for path in sorted(glob.glob(os.path.join(data.HERE, f"tree_gothic_{figure}*.jsonl"))):
        name = os.path.basename(path)
        machine = re.fullmatch(rf"tree_gothic_{figure}_?(.*)\.jsonl", name).group(1)
        found[machine.upper() or "CPU"] = data.read(name)
    return found


def size_of(rows):
    return f"{int(rows[0]['n']):,} particles"


def choose(rows, **members):
    return [r for r in rows if all(r.get(key) == value for key, value in members.items())]


# ---- figures 3 to 5 -----------------------------------------------------------------------------------------------


def joined(rows, mac, scheme, error):
    """(error of the force, seconds per step) of the accuracies of a criterion."""
    times = {r["accuracy"]: r["mean"] for r in choose(rows, case="steps", mac=mac, steps=scheme)}
    return sorted((r[error], times[r["accuracy"]]) for r in choose(rows, case="tree", mac=mac) if r["accuracy"] in times)


def draw_against_error(look, figure, name):
    """Figures 3 and 4: a row for each machine, with a panel for the 99 % error and one for the median error."""
    found = machines(figure)
    if not found:
        return
    drawn, axes = look.figure(2 * len(found), width=8.6, height=3.1 * len(found) + 0.6, rows=len(found), sharey="row")
    for pair, (machine, rows) in enumerate(found.items()):
        for axis, (error, words) in zip(axes[2 * pair:], (("error99", "99 %"), ("error50", "half"))):
            for mac, (colour, mark) in MACS.items():
                for scheme, line in (("block", "-"), ("shared", ":")):
                    points = joined(rows, mac, scheme, error)
                    axis.plot(*zip(*points), color=look.colour(colour), marker=mark, linestyle=line,
                              markerfacecolor=look.colour(colour if scheme == "block" else "page"), label=f"{mac}, {scheme}")
            axis.set(title=f"{machine}: {MODELS[rows[0]['model']]}, {size_of(rows)}", xscale="log", yscale="log",
                     xlabel=f"error that {words} of the particles stay below")
        axes[2 * pair].set_ylabel("time per step [s]")
    look.save(drawn, name, list(found.values()))


def speed_up(rows, mac):
    """(accuracy, time of a shared step over that of a block step)"""
    block, shared = ({r["accuracy"]: r["mean"] for r in choose(rows, case="steps", mac=mac, steps=scheme)}
                     for scheme in ("block", "shared"))
    return sorted((accuracy, shared[accuracy] / block[accuracy]) for accuracy in block if accuracy in shared)


def draw_speed_up(look):
    found = machines("fig4")
    if not found:
        return
    drawn, axes = look.figure(3, width=9, sharey=True)
    for axis, mac in zip(axes, MACS):
        for (machine, rows), (colour, mark) in zip(found.items(), MACHINES):
            axis.plot(*zip(*speed_up(rows, mac)), color=look.colour(colour), marker=mark, label=f"{machine}, {size_of(rows)}")
        axis.set(title=mac, xscale="log", xlabel="accuracy")
    axes[0].set_ylim(bottom=0)  # of all axes, which share it
    axes[0].set_ylabel("shared over block: time per step")
    look.save(drawn, "gothic_fig5", list(found.values()))


# ---- figures 6 to 9 -----------------------------------------------------------------------------------------------


def draw_parts(look):
    """Figure 6: times of the parts of each step."""
    found = machines("fig6")
    if not found:
        return
    drawn, axes = look.figure(len(found), width=8.6, height=2.9 * len(found) + 0.6, rows=len(found))
    for axis, (machine, table) in zip(axes, found.items()):
        rows = choose(table, case="step")
        parts = {"forces": ("red", "o", [(r["step"], r["force"]) for r in rows]),
                 "build of the tree": ("purple", "s", [(r["step"], r["tree"]) for r in rows if r["built"]]),
                 "refresh of the tree": ("grey", "x", [(r["step"], r["tree"]) for r in rows if not r["built"]]),
                 "prediction": ("green", "+", [(r["step"], r["predict"]) for r in rows]),
                 "correction": ("blue", "^", [(r["step"], r["correct"]) for r in rows])}
        for words, (colour, mark, points) in parts.items():
            if points:
                axis.plot(*zip(*points), color=look.colour(colour), marker=mark, linestyle="-" if words == "forces" else "",
                          linewidth=0.7, markersize=3.5, label=words)
        axis.set(title=f"{machine}: Andromeda, {size_of(rows)}", yscale="log", xlabel="block step", ylabel="time [s]")
    look.save(drawn, "gothic_fig6", list(found.values()))


def draw_active(look):
    """Figure 7: time of forces on some of the particles."""
    found = machines("fig7")
    if not found:
        return
    drawn, (axis,) = look.figure()
    for (machine, rows), (colour, mark) in zip(found.items(), MACHINES):
        points = sorted((r["rows"], r["walk"]) for r in rows)
        axis.plot(*zip(*points), color=look.colour(colour), marker=mark, label=f"{machine},\n{size_of(rows)}")
        most, time = points[-1]
        least = points[0][1] / 10  # as far down as the line in proportion tells something
        axis.plot((most * least / time, most), (least, time), color=look.colour(colour), linestyle=":", label="in proportion")
    axis.set(title="Andromeda", xscale="log", yscale="log", xlabel="particles that get a force", ylabel="time of the force [s]")
    look.save(drawn, "gothic_fig7", list(found.values()))


def draw_sizes(look):
    """Figure 8: mean times of the parts of a block step against the number of particles."""
    found = machines("fig8")
    if not found:
        return
    drawn, axes = look.figure(len(found), width=7.4 if len(found) == 1 else 8.8, sharey=True)
    for axis, (machine, table) in zip(axes, found.items()):
        rows = sorted(table, key=lambda r: r["n"])
        steps = {"sum": ("text", "", "-", lambda r: r["mean"]), "forces": ("red", "o", "--", lambda r: r["force"]),
                 "refresh of the tree": ("blue", "s", ":", lambda r: r["refresh"] * r["refreshes"] / r["samples"]),
                 "builds of the tree": ("purple", "D", "-.", lambda r: r["build"] * r["builds"] / r["samples"]),
                 "orbits": ("green", "^", "--", lambda r: r["predict"] + r["correct"])}
        for words, (colour, mark, line, time) in steps.items():
            axis.plot(*zip(*((r["n"], time(r)) for r in rows if time(r) > 0)), color=look.colour(colour), marker=mark,
                      linestyle=line, label=words)
        axis.set(title=f"{machine}: Andromeda", xscale="log", yscale="log", xlabel="particles")
    axes[0].set_ylabel("mean time of a block step [s]")
    look.save(drawn, "gothic_fig8", list(found.values()))


def draw_rates(look):
    """Figure 9: interactions of each step, and per second."""
    found = machines("fig9")
    if not found:
        return
    drawn, axes = look.figure(4, width=8.6, height=6.2, rows=2)
    for (machine, table), (colour, mark) in zip(found.items(), MACHINES):
        for column, (model, words) in enumerate(MODELS.items()):
            rows = choose(table, case="step", model=model)
            for axis, per_second in ((axes[column], False), (axes[2 + column], True)):
                points = [(r["step"], r["interactions"] / (r["force"] if per_second else 1)) for r in rows]
                axis.plot(*zip(*points), color=look.colour(colour), marker=mark, linestyle="", markersize=3,
                          label=f"{machine}, {size_of(rows)}")
                axis.set(title=words, yscale="log", xlabel="block step",
                         ylabel="interactions per second" if per_second else "interactions")
    look.save(drawn, "gothic_fig9", list(found.values()))


def draw(look):
    draw_against_error(look, "fig3", "gothic_fig3")
    draw_against_error(look, "fig4", "gothic_fig4")
    draw_speed_up(look)
    draw_parts(look)
    draw_active(look)
    draw_sizes(look)
    draw_rates(look)


# ---- table 3 ------------------------------------------------------------------------------------------------------


def line(cells):
    return "| " + " | ".join(cells) + " |"


def table3():
    """Lines of table 3: interactions per second of the forces of block steps."""
    lines = [line(["machine", "model", "particles", "average", "largest", "smallest"]), line(["---"] * 6)]
    for machine, table in machines("fig9").items():
        for model, words in MODELS.items():
            rows = choose(table, case="step", model=model)
            rates = [r["interactions"] / r["force"] for r in rows]
            average = sum(r["interactions"] for r in rows) / sum(r["force"] for r in rows)
            lines.append(line([machine, words, f"{int(rows[0]['n']):,}"] +
                              [f"{rate:.2e}".replace("e+0", "e").replace("e+", "e") for rate in (average, max(rates), min(rates))]))
    for gpu, models in PAPER.items():
        lines += [line([gpu, MODELS[model], f"{2**23:,}", *rates]) for model, rates in models.items()]
    return lines


def missing():
    with open(os.path.join(data.TOP, PAGE), encoding="utf-8") as page:
        there = set(page.read().split("\n"))
    return [row for row in table3() if row not in there]


if __name__ == "__main__":
    if sys.argv[1:] == ["check"]:
        for row in missing():
            print(f"{PAGE} has not: {row}")
        sys.exit(bool(missing()))
    print("\n".join(table3()))
