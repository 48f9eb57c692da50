#!/usr/bin/env python3
"""Draws the pictures of a disc galaxy: docs/figures/galaxy.png, and the four frames and the film of docs/galaxy.md.

    examples/galaxy --model disc -n 262144 --toomre 1.0 --height 0.05 --eps 0.04 -t 32 -d 2 -o disc
    docs/figures/galaxy.py front disc.0008.txt docs/figures/galaxy.png
    docs/figures/galaxy.py strip docs/figures/galaxy_frames.png disc.0000.txt disc.0004.txt disc.0008.txt disc.0016.txt

    examples/galaxy --model disc -n 262144 --toomre 1.0 --height 0.05 --eps 0.04 -t 16 -d 1/4 -o film
    docs/figures/galaxy.py film docs/figures/galaxy_film.webp film.*.txt

The disc alone is drawn, from above, without axes.  The smoothing is wider where particles are few: each pixel has the
narrowest of six Gaussians that holds some 30 particles.
"""
import importlib.machinery
import importlib.util
import os
import sys

import numpy as np
from matplotlib import colormaps
from PIL import Image

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENOUGH = 30  # particles in a Gaussian
WIDTHS = (2, 3, 5, 8, 13, 21)  # standard deviations, in pixels of a view of 512
DECADES = 2.8
SPEED = 80  # milliseconds per frame of the film


def program(name):
    """A program of examples/ as a module."""
    loader = importlib.machinery.SourceFileLoader(name, os.path.join(TOP, "examples", name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


frames = program("frames")


def density(snapshot, half, pixels):
    """Mass per area of a snapshot's disc, smoothed by as much as each place needs."""
    snapshot.choose("disc")
    snapshot.x -= np.median(snapshot.x, axis=0)
    result = None
    for width in reversed(WIDTHS):
        sigma = width * pixels / 512
        view = frames.project(snapshot, (0, 1), half, pixels, sigma)
        if result is None:
            result = view
            continue
        area = 4 * np.pi * (sigma * 2 * half / pixels) ** 2
        held = view * area / snapshot.mass[0]  # particles in this Gaussian
        share = np.clip(held / ENOUGH - 0.5, 0, 1)
        result = share * view + (1 - share) * result
    return result


def picture(view, most, decades=DECADES):
    """Colours of a view."""
    level = np.clip(1 + np.log10(np.maximum(view, most * 1e-30) / most) / decades, 0, 1)
    return (colormaps["inferno"](level)[:, :, :3] * 255 + 0.5).astype(np.uint8)


def save(name, pixels):
    """Writes a PNG of 256 colours, which is a third as long."""
    Image.fromarray(pixels).quantize(256, dither=Image.Dither.FLOYDSTEINBERG).save(name, optimize=True)


def main():
    if sys.argv[1:2] == ["front"] and len(sys.argv) == 4:
        view = density(frames.Snapshot(sys.argv[2]), 8, 1000)
        rows = view.shape[0] * 5 // 8  # a wide picture
        first = (view.shape[0] - rows) // 2
        save(sys.argv[3], picture(view[first:first + rows], 0.8 * view.max()))
    elif sys.argv[1:2] == ["strip"] and len(sys.argv) > 3:
        views = [density(frames.Snapshot(name), 6, 300) for name in sys.argv[3:]]
        save(sys.argv[2], picture(np.hstack(views), 0.6 * views[0].max()))
    elif sys.argv[1:2] == ["film"] and len(sys.argv) > 3:
        views = [density(frames.Snapshot(name), 6, 400) for name in sys.argv[3:]]
        shown = [Image.fromarray(picture(view, 0.6 * views[0].max())) for view in views]
        shown[0].save(sys.argv[2], save_all=True, append_images=shown[1:], duration=SPEED, loop=0, quality=60, method=6)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
