#!/usr/bin/env python3
"""Draws what `sapporo tune --maps DIR` measured: python3 maps.py DIR

shapes_PRECISION.png         time a pair of each launch shape, ni by nj, against the best shape of that size
active_PRECISION.png         time of a force against active particles, for some nj
cpu_or_device_PRECISION.png  ni by nj: how many times the GPU is faster than the CPU
"""
import csv
import math
import os
import sys


def read(folder, name):
    path = os.path.join(folder, name + ".csv")
    if not os.path.exists(path):
        return []
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["ni"], row["nj"], row["seconds"] = int(row["ni"]), int(row["nj"]), float(row["seconds"])
    return rows


def names(rows, column):
    """The values of a column in order of appearance."""
    return list(dict.fromkeys(row[column] for row in rows))


def colour_map(axes, values, ni, nj, title, limits, colours):
    """values[(ni, nj)] as coloured squares with numbers in them."""
    image = [[values.get((i, j), math.nan) for i in ni] for j in nj]
    shown = axes.imshow(image, origin="lower", aspect="auto", vmin=limits[0], vmax=limits[1], cmap=colours)
    axes.set_xticks(range(len(ni)), [str(i) for i in ni], rotation=90)
    axes.set_yticks(range(len(nj)), [str(j) for j in nj])
    axes.set_xlabel("ni")
    axes.set_ylabel("nj")
    axes.set_title(title)
    return shown


def draw_shapes(plot, rows, precision, folder):
    shapes = names(rows, "shape")
    ni, nj = sorted(set(names(rows, "ni"))), sorted(set(names(rows, "nj")))
    seconds = {(row["shape"], row["ni"], row["nj"]): row["seconds"] for row in rows}
    best = {(i, j): min(seconds.get((s, i, j), math.inf) for s in shapes) for i in ni for j in nj}
    figure, all_axes = plot.subplots(1, len(shapes), figsize=(4 * len(shapes), 4), sharey=True, squeeze=False)
    for axes, shape in zip(all_axes[0], shapes):
        ratio = {(i, j): seconds[shape, i, j] / best[i, j] for i in ni for j in nj if (shape, i, j) in seconds}
        shown = colour_map(axes, ratio, ni, nj, shape, (1, 2), "viridis_r")
    figure.colorbar(shown, ax=list(all_axes[0]), label="time / time of the best shape")
    figure.suptitle("launch shapes, " + precision)
    figure.savefig(os.path.join(folder, "shapes_" + precision + ".png"), dpi=120, bbox_inches="tight")


def draw_active(plot, rows, precision, folder):
    figure, axes = plot.subplots(figsize=(7, 5))
    for engine in names(rows, "engine"):
        for nj in names(rows, "nj"):
            line = sorted((row["ni"], row["seconds"]) for row in rows if row["engine"] == engine and row["nj"] == nj)
            if line:
                style = "--" if engine == "cpu" else "-"
                axes.loglog(*zip(*line), style, marker=".", label=f"{engine}, nj = {nj}")
    axes.set_xlabel("active particles")
    axes.set_ylabel("time of a force [s]")
    axes.set_title("time against active particles, " + precision)
    axes.legend(fontsize="small")
    figure.savefig(os.path.join(folder, "active_" + precision + ".png"), dpi=120, bbox_inches="tight")


def draw_engines(plot, rows, precision, folder):
    seconds = {(row["engine"] == "cpu", row["ni"], row["nj"]): row["seconds"] for row in rows}
    ni, nj = sorted(set(names(rows, "ni"))), sorted(set(names(rows, "nj")))
    ratio = {
        (i, j): math.log10(seconds[True, i, j] / seconds[False, i, j])
        for i in ni
        for j in nj
        if (True, i, j) in seconds and (False, i, j) in seconds
    }
    figure, axes = plot.subplots(figsize=(8, 5))
    shown = colour_map(axes, ratio, ni, nj, "CPU (red) or GPU (blue), " + precision, (-1, 1), "RdBu")
    figure.colorbar(shown, ax=axes, label="log10 (time of the CPU / time of the GPU)")
    figure.savefig(os.path.join(folder, "cpu_or_device_" + precision + ".png"), dpi=120, bbox_inches="tight")


def main():
    if len(sys.argv) != 2:
        print("usage: maps.py DIR", file=sys.stderr)
        return 2
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        print("maps.py: there is no matplotlib", file=sys.stderr)
        return 3
    for name, draw in (("shapes", draw_shapes), ("active", draw_active), ("cpu_or_device", draw_engines)):
        rows = read(sys.argv[1], name)
        for precision in names(rows, "precision"):
            draw(pyplot, [row for row in rows if row["precision"] == precision], precision, sys.argv[1])
            pyplot.close("all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
