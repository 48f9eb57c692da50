"""How the figures look: one set of colours, marks and axes for light and for dark pages.

Colours are those of Okabe & Ito 2008 (Color Universal Design), which people with colour blindness tell apart; each
series also has its own mark and kind of line, so that prints without colours do.  Legends stand outside the axes.
"""
import os

import matplotlib
from matplotlib import pyplot
from matplotlib.ticker import AutoMinorLocator, FixedLocator, LogLocator, NullFormatter

import data

matplotlib.use("svg")

COLOURS = {
    "light": {"blue": "#0072b2", "red": "#d55e00", "green": "#009e73", "purple": "#a3478a", "orange": "#c98500",
              "grey": "#666666", "text": "#111111", "page": "#ffffff", "grid": "#dddddd"},
    "dark": {"blue": "#56b4e9", "red": "#ff8a4c", "green": "#2fd3a3", "purple": "#e59bc8", "orange": "#f0c24b",
             "grey": "#a8a8a8", "text": "#e8e8e8", "page": "#1e2129", "grid": "#3a3e48"},
}
PRECISION = {"sp": ("green", "^"), "ds": ("blue", "o"), "dp": ("red", "s")}


class Look:
    """The look of one background; `colour` by name."""

    def __init__(self, background):
        self.background, self.colours = background, COLOURS[background]
        c = self.colours
        matplotlib.rcParams.update({
            "svg.fonttype": "none", "svg.hashsalt": "sapporo", "font.family": "sans-serif", "font.size": 9,
            "font.sans-serif": ["DejaVu Sans"], "axes.titlesize": 10, "legend.fontsize": 8, "legend.frameon": False,
            "figure.facecolor": c["page"], "savefig.facecolor": c["page"], "axes.facecolor": c["page"],
            "text.color": c["text"], "axes.labelcolor": c["text"], "axes.edgecolor": c["text"],
            "xtick.color": c["text"], "ytick.color": c["text"], "grid.color": c["grid"], "grid.linewidth": 0.6,
            "xtick.direction": "in", "ytick.direction": "in", "xtick.top": True, "ytick.right": True,
            "xtick.minor.visible": True, "ytick.minor.visible": True, "lines.linewidth": 1.5, "lines.markersize": 4.5,
        })

    def colour(self, name):
        return self.colours[name]

    def figure(self, panels=1, width=7.4, height=3.9, rows=1, **options):
        """(figure, list of axes): panels side by side, in rows; wider than 9 inches, pages show letters too small."""
        figure, axes = pyplot.subplots(rows, panels // rows, figsize=(width, height), layout="constrained", squeeze=False,
                                       **options)
        for axis in axes.flat:
            axis.grid(True, which="major")
            axis.set_axisbelow(True)
        return figure, list(axes.flat)

    def save(self, figure, name, tables, legend=True):
        """Writes NAME.svg with its sources below it, and a legend beside the axes."""
        for axis in figure.axes:
            for line, scale in ((axis.xaxis, axis.get_xscale()), (axis.yaxis, axis.get_yscale())):
                add_minor_ticks(line, scale)
        if legend:
            handles = {}
            for axis in figure.axes:
                for handle, label in zip(*axis.get_legend_handles_labels()):
                    handles.setdefault(label, handle)
            figure.legend(handles.values(), handles.keys(), loc="outside right upper")
        sources = list(dict.fromkeys(t.source() for t in tables))
        figure.supxlabel("\n".join(sources), fontsize=6.5, color=self.colour("grey"), x=0.01, ha="left")
        folder = data.HERE if self.background == "light" else os.path.join(data.HERE, "dark")
        os.makedirs(folder, exist_ok=True)
        told = ", ".join(f"{t.name} {data.digest(t.name)}" for t in tables)
        figure.savefig(os.path.join(folder, name + ".svg"), metadata={"Date": None, "Description": "drawn from " + told})
        pyplot.close(figure)


def short(value):
    """A number as the pages write it: 5000, 0.02, 2e9, 2.5e9, 5e-4."""
    if 0.01 <= value < 1e5:
        return f"{value:g}"
    digits, power = f"{value:.1e}".split("e")
    return f"{float(digits):g}e{int(power)}"


def add_minor_ticks(axis, scale):
    """Minor ticks; on a logarithmic axis over a short range also 2 and 5 of each decade have numbers."""
    if scale == "linear":
        if not isinstance(axis.get_major_locator(), FixedLocator):
            axis.set_minor_locator(AutoMinorLocator())
        return
    low, high = axis.get_view_interval()
    if high / low < 50:
        axis.set_major_locator(LogLocator(base=10, subs=[1, 2, 5], numticks=12))
        axis.set_major_formatter(lambda value, _: short(value))
    else:
        axis.set_major_locator(LogLocator(base=10, numticks=7 if high / low > 1e7 else 12))
    axis.set_minor_locator(LogLocator(base=10, subs=range(2, 10) if high / low < 1e9 else [1], numticks=100))
    axis.set_minor_formatter(NullFormatter())
