"""Figures of docs/tree.md and tree-errors.md, from tree.jsonl and tree_h200.jsonl.

tree.sh measures them, draw.py calls this module.
"""
import data

MACS = {"opening": ("red", "o"), "multipole": ("blue", "s"), "acceleration": ("green", "^")}


def of(rows, **what):
    return [r for r in rows if all(r.get(k) == v for k, v in what.items())]


def usable(table, told):
    """The rows but for those that were disturbed, which are named once."""
    keep = []
    for row in table:
        why = data.disturbed(row)
        if why is None:
            keep.append(row)
        elif told:
            words = ", ".join(f"{k} {row[k]}" for k in ("model", "n", "nj", "mac", "accuracy", "multipoles") if k in row)
            print(f"draw.py: {table.name}: not drawn, measure it again: {words}: {why}")
    return keep


def on_device(row):
    """Seconds of a step without the copies of particles and forces."""
    return row["sort"] + row["link"] + row["moments"] + row["walk"]


def draw_errors(look, table, rows):
    figure, (axis,) = look.figure()
    for mac, accuracy in (("opening", 0.7), ("multipole", 0.1), ("acceleration", 0.01)):
        row = of(rows, model="plummer", mac=mac, accuracy=accuracy, multipoles=2, case="tree")[0]
        colour, mark = MACS[mac]
        points = [(e, 100 * 2.0 ** -k) for k, e in enumerate(row["above"]) if k > 0]
        axis.plot(*zip(*points), color=look.colour(colour), marker=mark, label=f"{mac} {accuracy:g}")
    axis.set(title="Plummer, 65,536 particles, second moments", xscale="log", yscale="log",
             xlabel="relative error of the acceleration", ylabel="particles with a larger error [%]")
    look.save(figure, "tree_errors", [table])


def draw_cost(look, table, rows, model, n, where, cost, name):
    """cost: (function of a row, label)"""
    figure, (axis,) = look.figure()
    for mac, (colour, mark) in MACS.items():
        for multipoles, words in ((1, "masses"), (2, "second moments")):
            some = [r for r in of(rows, model=model, mac=mac, multipoles=multipoles, case="tree", n=n)
                    if r["accuracy"] > 0 and r["ball"] == 0 and r["curve"] == 0]
            fastest = {r["accuracy"]: r for r in sorted(some, key=cost[0], reverse=True)}  # one of each accuracy
            points = sorted((r["error99"], cost[0](r)) for r in fastest.values())
            if points:
                axis.plot(*zip(*points), color=look.colour(colour), marker=mark, linestyle="--" if multipoles == 1 else "-",
                          markerfacecolor=look.colour("page" if multipoles == 1 else colour), label=f"{mac}, {words}")
    axis.set(title=f"{model}, {n:,} particles, {where}", xscale="log", yscale="log",
             xlabel="relative error that 99 % of the particles stay below", ylabel=cost[1])
    look.save(figure, name, [table])


def draw_direct(look, table, rows, where, time, name):
    figure, (axis,) = look.figure()
    some = of(rows, case="tree", model="plummer", mac="acceleration", accuracy=0.01, multipoles=1)
    trees = sorted({r["n"]: r for r in some}.values(), key=lambda r: r["n"])
    direct = [(r["nj"], 1e-6 * r["min"]) for r in of(rows, case="force")]
    axis.plot(*zip(*direct), color=look.colour("text"), marker="D", label="direct sum, sp")
    axis.plot([r["n"] for r in trees], [time(r) for r in trees], color=look.colour("red"), marker="o", label="tree, all")
    for phase, colour, kind in (("walk", "green", "--"), ("sort", "blue", "-."), ("moments", "orange", ":"),
                                ("link", "purple", (0, (3, 1, 1, 1, 1, 1)))):
        axis.plot([r["n"] for r in trees], [r[phase] for r in trees], color=look.colour(colour), linestyle=kind, label=phase)
    axis.set(title=f"Plummer, {where}: tree (0.3 % for 99 %) and direct sum", xscale="log", yscale="log",
             xlabel="particles", ylabel="time [s]")
    look.save(figure, name, [table])


def draw_machine(look, table, n, where, time, end):
    rows = usable(table, look.background == "light")
    cost = (lambda r: 1e6 * time(r) / r["n"], "time per particle [µs]")
    count = (lambda r: r["particle_particle"] + r["particle_cell"], "interactions per particle")
    for model in sorted({r["model"] for r in of(rows, case="tree")}):
        draw_cost(look, table, rows, model, n, where, cost, f"tree_cost_{model}{end}")
        if not end:
            draw_cost(look, table, rows, model, n, where, count, f"tree_interactions_{model}")
    if of(rows, case="force"):
        draw_direct(look, table, rows, where, time, "tree_direct" + end)
    if not end:
        draw_errors(look, table, rows)


def draw(look):
    draw_machine(look, data.read("tree.jsonl"), 65536, "one core", lambda r: r["min"], "")
    if data.exists("tree_h200.jsonl"):
        draw_machine(look, data.read("tree_h200.jsonl"), 262144, "one H200", on_device, "_h200")
