#!/usr/bin/env python3
"""Draws the figures of docs/tree.md from docs/figures/tree.jsonl and tree_h200.jsonl: python3 docs/figures/tree.py

Needs nothing but Python.  tree.sh measures the data.
"""
import json
import math
import os

HERE = os.path.dirname(os.path.abspath(__file__))
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 560, 400, 70, 20, 34, 50
COLOURS = {"opening": "#c0392b", "multipole": "#2471a3", "acceleration": "#1e8449"}


class Plot:
    """A figure with two logarithmic axes."""

    def __init__(self, title, xlabel, ylabel, xrange, yrange):
        self.parts, self.x, self.y, self.keys = [], xrange, yrange, 0
        self.text(WIDTH / 2, 20, title, "middle", 14)
        self.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, xlabel, "middle")
        self.parts.append(f'<text x="16" y="{(TOP + HEIGHT - BOTTOM) / 2}" font-size="12" text-anchor="middle" '
                          f'transform="rotate(-90 16 {(TOP + HEIGHT - BOTTOM) / 2})">{ylabel}</text>')
        self.frame()

    def text(self, x, y, words, anchor="start", size=12):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{words}</text>')

    def place(self, x, y):
        part = [math.log(v / r[0]) / math.log(r[1] / r[0]) for v, r in ((x, self.x), (y, self.y))]
        return LEFT + part[0] * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - part[1] * (HEIGHT - TOP - BOTTOM)

    def frame(self):
        self.parts.append(f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" '
                          f'height="{HEIGHT - TOP - BOTTOM}" fill="none" stroke="black"/>')
        for axis, limits in ((0, self.x), (1, self.y)):
            for power in range(math.ceil(math.log10(limits[0]) - 1e-9), math.floor(math.log10(limits[1]) + 1e-9) + 1):
                value = 10.0 ** power
                x, y = self.place(value, self.y[0]) if axis == 0 else self.place(self.x[0], value)
                label = f'10<tspan dy="-5" font-size="9">{power}</tspan>'
                if axis == 0:
                    self.parts.append(f'<path d="M{x:.1f} {y:.1f}v-6" stroke="black"/>')
                    self.text(x, y + 18, label, "middle")
                else:
                    self.parts.append(f'<path d="M{x:.1f} {y:.1f}h6" stroke="black"/>')
                    self.text(x - 6, y + 4, label, "end")

    def line(self, points, colour, dashed=False, name=None, marks=True):
        places = [self.place(x, y) for x, y in points
                  if self.x[0] <= x <= self.x[1] and self.y[0] <= y <= self.y[1]]
        style = f'fill="none" stroke="{colour}" stroke-width="1.6"' + (' stroke-dasharray="5 3"' if dashed else "")
        if len(places) > 1:
            self.parts.append(f'<path d="M{" L".join(f"{x:.1f} {y:.1f}" for x, y in places)}" {style}/>')
        for x, y in places if marks else []:
            self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{colour}"/>')
        if name:
            y = TOP + 18 + 16 * self.keys
            self.parts.append(f'<path d="M{WIDTH - 200} {y - 4}h26" {style}/>')
            self.text(WIDTH - 168, y, name)
            self.keys += 1

    def write(self, name):
        with open(os.path.join(HERE, name), "w", encoding="utf-8") as file:
            file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
                       f'font-family="sans-serif"><rect width="100%" height="100%" fill="white"/>\n')
            file.write("\n".join(self.parts) + "\n</svg>\n")


def read(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def on_device(row):
    """Seconds of a step without the way of particles and forces."""
    return row["sort"] + row["link"] + row["moments"] + row["walk"]


def of(rows, **what):
    return [r for r in rows if all(r.get(k) == v for k, v in what.items())]


def draw_errors(rows):
    plot = Plot("Plummer, 65,536 particles, second moments", "relative error of the acceleration",
                "fraction of particles above it", (1e-7, 1e-1), (1e-3, 1.5))
    for mac, accuracy in (("opening", 0.7), ("multipole", 0.1), ("acceleration", 0.01)):
        row = of(rows, model="plummer", mac=mac, accuracy=accuracy, multipoles=2, case="tree")[0]
        plot.line([(max(e, 1e-7), 2.0 ** -k) for k, e in enumerate(row["above"])], COLOURS[mac],
                  name=f"{mac} {accuracy:g}")
    plot.write("tree_errors.svg")


def draw_cost(rows, where, model, value, label, limits, name):
    plot = Plot(f"{model}, {where}", "relative error that 99 % of the particles stay below", label,
                (1e-5, 3e-2), limits)
    for mac, colour in COLOURS.items():
        for p in (1, 2):
            n = 65536 if "core" in where else 262144
            some = [r for r in of(rows, model=model, mac=mac, multipoles=p, case="tree", n=n)
                    if r["accuracy"] > 0 and r["ball"] == 0 and r["curve"] == 0]
            plot.line(sorted({(r["error99"], value(r)) for r in some}), colour, p == 1,
                      f"{mac}, {'masses' if p == 1 else 'second moments'}")
    plot.write(name)


def draw_direct(rows, where, time, limits, name):
    plot = Plot(f"Plummer, {where}: tree (0.3 % for 99 %) and direct sum", "particles", "seconds", *limits)
    some = of(rows, case="tree", model="plummer", mac="acceleration", accuracy=0.01, multipoles=1)
    trees = sorted({r["n"]: r for r in some}.values(), key=lambda r: r["n"])
    plot.line([(r["nj"], 1e-6 * r["min"]) for r in of(rows, case="force")], "black", name="direct sum, sp")
    plot.line([(r["n"], time(r)) for r in trees], "#c0392b", name="tree, all")
    for phase, colour in (("walk", "#1e8449"), ("sort", "#2471a3"), ("moments", "#b7950b"), ("link", "#7d3c98")):
        plot.line([(r["n"], r[phase]) for r in trees], colour, True, phase, False)
    plot.write(name)


def draw_all(rows, where, time, end):
    """end: of the names of figures; costs of all models that were measured."""
    for model in sorted({r["model"] for r in of(rows, case="tree")}):
        limits = (0.5, 30) if not end else (1e-3, 0.1)
        draw_cost(rows, where, model, lambda r: 1e6 * time(r) / r["n"], "microseconds a particle", limits,
                  f"tree_cost_{model}{end}.svg")
        if not end:
            draw_cost(rows, where, model, lambda r: r["particle_particle"] + r["particle_cell"],
                      "interactions a particle", (5e2, 2e4), f"tree_interactions_{model}.svg")


def main():
    rows = read("tree.jsonl")
    draw_errors(rows)
    draw_all(rows, "65,536 particles, one core", lambda r: r["min"], "")
    draw_direct(rows, "one core", lambda r: r["min"], ((2e2, 4e5), (1e-5, 1e1)), "tree_direct.svg")
    if os.path.exists(os.path.join(HERE, "tree_h200.jsonl")):
        rows = read("tree_h200.jsonl")
        draw_all(rows, "262,144 particles, an H200", on_device, "_h200")
        if of(rows, case="force"):
            draw_direct(rows, "an H200", on_device, ((2e2, 4e6), (1e-5, 1e0)), "tree_direct_h200.svg")


if __name__ == "__main__":
    main()
