#!/usr/bin/env python3
"""Draws the pictures of a disc galaxy: docs/figures/galaxy.png, and the four frames and the film of docs/galaxy.md.

    docs/figures/galaxy.py all 4M FOLDER [--end 32] [--every 1/2] [--eps 0.02] [--jobs N]

runs examples/galaxy with so many particles, on a GPU where there is one, and writes galaxy.png (at half of the time),
galaxy_frames.png (at 0, a quarter, half and the end) and galaxy_film.webp (all frames, at most 3 MB) to FOLDER.
Snapshots are drawn while the run goes on, and removed; 4M particles write 65 of 0.6 GB.  Needs numpy, matplotlib and
pillow; with h5py, and programs that write HDF5, snapshots are half as long.  From snapshots that are there:

    docs/figures/galaxy.py front disc.0008.txt docs/figures/galaxy.png
    docs/figures/galaxy.py strip docs/figures/galaxy_frames.png disc.0000.txt disc.0004.txt disc.0008.txt disc.0016.txt
    docs/figures/galaxy.py film docs/figures/galaxy_film.webp film.*.txt

The disc alone is drawn, from above, without axes.  The smoothing is wider where particles are few: each pixel has the
narrowest of six Gaussians that holds some 30 particles.
"""
import argparse
import fractions
import glob
import importlib.machinery
import importlib.util
import io
import multiprocessing
import os
import subprocess
import sys
import time

import numpy as np
from matplotlib import colormaps
from PIL import Image

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GALAXY = os.path.join(TOP, "examples", "galaxy")
ENOUGH = 30  # particles in a Gaussian
WIDTHS = (2, 3, 5, 8, 13, 21)  # standard deviations, in pixels of a view of 512
DECADES = 2.8
SPEED = 80  # milliseconds per frame of the film
LONGEST = 3 << 20  # bytes of the film
FRONT, STRIP, FILM = (8, 1000), (6, 300), (6, 400)  # half the width of a view, and its pixels


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


def save_front(name, view):
    """The front picture: the middle of a view, which is wider than high."""
    rows = view.shape[0] * 5 // 8
    first = (view.shape[0] - rows) // 2
    save(name, picture(view[first:first + rows], 0.8 * view.max()))


def save_strip(name, views):
    """Views side by side."""
    save(name, picture(np.hstack(views), 0.6 * views[0].max()))


def save_film(name, views):
    """A film of the views; its quality is lower if it is too long otherwise."""
    shown = [Image.fromarray(picture(view, 0.6 * views[0].max())) for view in views]
    for quality in (60, 45, 30, 20, 10):
        film = io.BytesIO()
        shown[0].save(film, "webp", save_all=True, append_images=shown[1:], duration=SPEED, loop=0, quality=quality, method=6)
        if film.tell() <= LONGEST:
            break
    with open(name, "wb") as file:
        file.write(film.getvalue())


def views_of(name, wanted):
    """Views of a snapshot, which is then removed."""
    views = [density(frames.Snapshot(name), *view) for view in wanted]
    os.remove(name)
    return views


def form():
    """The shortest form of snapshots that examples/galaxy writes and this program reads."""
    told = subprocess.run([GALAXY, "--help"], capture_output=True, check=True).stdout
    return "hdf5" if importlib.util.find_spec("h5py") and b"csv or hdf5" in told else "lines"


def draw_run(options):
    """Runs a galaxy, and draws its snapshots when the next one has begun."""
    count = int(fractions.Fraction(options.end) / fractions.Fraction(options.every)) + 1
    prefix = os.path.join(options.folder, "galaxy_run")
    wanted = [[FILM] for _ in range(count)]
    for part in range(5):
        if part != 3:
            wanted[(count - 1) * part // 4].append(STRIP)
    wanted[(count - 1) // 2].append(FRONT)
    os.makedirs(options.folder, exist_ok=True)
    command = [GALAXY, "--model", "disc", "-n", options.n, "--toomre", "1.0", "--height", "0.05", "--eps", options.eps,
               "-t", options.end, "-d", options.every, "--format", form(), "-o", prefix]
    with multiprocessing.Pool(options.jobs) as pool, subprocess.Popen(command) as run:
        drawn = []
        while len(drawn) < count:
            ended = run.poll() is not None
            there = sorted(glob.glob(glob.escape(prefix) + ".[0-9]*[0-9].*"))
            known = {name for name, _ in drawn}
            new = [name for name in there if name not in known and name.endswith((".txt", ".hdf5"))]
            for name in new if ended else new[:-1]:
                drawn.append((name, pool.apply_async(views_of, (name, wanted[len(drawn)]))))
            if ended and (run.returncode or len(drawn) < count):
                sys.exit(f"{' '.join(command)} ended with status {run.returncode} and {len(drawn)} of {count} snapshots")
            time.sleep(0.2)
        views = [result.get() for _, result in drawn]
    for name in glob.glob(glob.escape(prefix) + ".*"):
        os.remove(name)
    save_front(os.path.join(options.folder, "galaxy.png"), views[(count - 1) // 2][-1])
    save_strip(os.path.join(options.folder, "galaxy_frames.png"), [views[(count - 1) * part // 4][1] for part in (0, 1, 2, 4)])
    save_film(os.path.join(options.folder, "galaxy_film.webp"), [view[0] for view in views])


def main():
    if sys.argv[1:2] == ["all"]:
        parser = argparse.ArgumentParser(prog="galaxy.py all")
        parser.add_argument("n", help="particles, such as 4M")
        parser.add_argument("folder", help="for pictures, and for snapshots until they are drawn")
        parser.add_argument("--end", default="32", help="time of the end (32)")
        parser.add_argument("--every", default="1/2", help="time between frames (1/2)")
        parser.add_argument("--eps", default="0.02", help="softening length (0.02)")
        parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="snapshots that are drawn at a time (cores)")
        draw_run(parser.parse_args(sys.argv[2:]))
    elif sys.argv[1:2] == ["front"] and len(sys.argv) == 4:
        save_front(sys.argv[3], density(frames.Snapshot(sys.argv[2]), *FRONT))
    elif sys.argv[1:2] == ["strip"] and len(sys.argv) > 3:
        save_strip(sys.argv[2], [density(frames.Snapshot(name), *STRIP) for name in sys.argv[3:]])
    elif sys.argv[1:2] == ["film"] and len(sys.argv) > 3:
        save_film(sys.argv[2], [density(frames.Snapshot(name), *FILM) for name in sys.argv[3:]])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
