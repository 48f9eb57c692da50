#!/usr/bin/env python3
"""python_peers.py - accelerations by one call of Python beside pytreegrav and a sum in JAX, on the same particles.

    python3 test/perf/python_peers.py [--n 10000] [--repeat 5] [--targets 1000] [--threads N] [--packages ...] >rows.csv
    python3 test/perf/python_peers.py --record docs/data/epyc-zen4.csv
    python3 test/perf/python_peers.py --backend cuda --n 262144 --record docs/data/h100.csv

Prints rows of docs/data/MACHINE.csv: milliseconds of a call after one that is not timed, median and least of calls in
turns, and the error that 99 % of `targets` particles do not exceed, against sums in extended precision.  --record puts
them into that file in place of rows of the same cases; then docs/figures/measurements.py --write renews the pages.  A
peer that is not installed has no rows; stderr says so.  With --backend cuda this library and JAX compute on the GPU,
and pytreegrav on the cores.  Plummer spheres without softening, because the softening of pytreegrav is a spline.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PACKAGES = ("libsapporo", "pytreegrav", "jax")
COLUMNS = ["case", "command", "commit", "date", "median", "least", "error99", "unit"]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="accelerations of Python packages: times and errors")
    parser.add_argument("--n", type=int, default=10000, help="particles")
    parser.add_argument("--repeat", type=int, default=5, help="timed calls")
    parser.add_argument("--targets", type=int, default=1000, help="particles whose errors are measured")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of every package")
    parser.add_argument("--packages", nargs="+", default=PACKAGES, choices=PACKAGES, help="default: all")
    parser.add_argument("--backend", default="cpu", choices=("cpu", "cuda"), help="of this library and of JAX")
    parser.add_argument("--record", type=Path, help="a file of docs/data that takes the rows")
    parser.add_argument("--busy", action="store_true", help="other programs run: no medians, least times alone")
    return parser.parse_args()


def plummer(n: int, np: Any) -> tuple[Any, Any]:
    """Positions and masses of a Plummer sphere."""
    rng = np.random.default_rng(1)
    radius = 1 / np.sqrt(rng.uniform(0.001, 0.999, n) ** (-2 / 3) - 1)
    direction = rng.normal(size=(n, 3))
    return radius[:, None] * direction / np.linalg.norm(direction, axis=1)[:, None], np.full(n, 1 / n)


def exact(x: Any, mass: Any, rows: Any, np: Any) -> Any:
    """Accelerations of some particles in extended precision."""
    right, wide = np.empty((len(rows), 3)), x.astype(np.longdouble)
    for k, row in enumerate(rows):
        r = wide - wide[row]
        r2 = (r * r).sum(axis=1)
        r2[row] = np.inf
        right[k] = (mass / (r2 * np.sqrt(r2)) @ r).astype(float)
    return right


def by_jax(x: Any, mass: Any) -> Callable[[], Any]:
    """A sum in JAX, in double, over blocks of targets."""
    import jax

    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy
    x, mass = jnp.asarray(x), jnp.asarray(mass)

    def of_one(target: Any) -> Any:
        r = x - target
        r2 = (r * r).sum(axis=1)
        near = r2 == 0
        r2 = jnp.where(near, 1.0, r2)
        return jnp.where(near, 0.0, mass / (r2 * jnp.sqrt(r2))) @ r

    compiled = jax.jit(lambda: jax.lax.map(of_one, x, batch_size=256))
    return lambda: compiled().block_until_ready()


def of_library(x: Any, mass: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Names of cases of this library, and what they compute."""
    import sapporo

    for theta in 0.7, 0.5, 0.3:
        yield f"libsapporo, theta {theta}", lambda theta=theta: sapporo.accelerations(x, mass, theta=theta)  # type: ignore[misc]
    for precision in "sp", "ds", "dp":
        yield (
            f"libsapporo, direct sum in {precision}",
            lambda precision=precision: sapporo.accelerations(x, mass, theta=0, precision=precision),  # type: ignore[misc]
        )


def of_pytreegrav(x: Any, mass: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Names of cases of pytreegrav, and what they compute."""
    import pytreegrav

    for theta in 0.7, 0.5, 0.3:
        yield (
            f"pytreegrav, theta {theta}",
            lambda theta=theta: pytreegrav.Accel(x, mass, G=1.0, theta=theta, parallel=True, method="tree"),  # type: ignore[misc]
        )
    yield "pytreegrav, direct sum", lambda: pytreegrav.Accel(x, mass, G=1.0, parallel=True, method="bruteforce")


def cases(packages: list[str], x: Any, mass: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Names of cases of the packages that are there, and what they compute."""
    for package in packages:
        if package == "libsapporo":
            yield from of_library(x, mass)
        elif not importlib.util.find_spec(package):
            print(f"{package} is not installed", file=sys.stderr)
        elif package == "pytreegrav":
            yield from of_pytreegrav(x, mass)
        else:
            yield "a sum in JAX, in double", by_jax(x, mass)


def record(path: Path, rows: list[list[str]]) -> None:
    """Puts rows into a file of docs/data, in place of those of the same cases, else at its end."""
    lines = path.read_text(encoding="utf-8").splitlines()
    head = [line for line in lines if line.startswith("# ")]
    columns, *there = csv.reader(line for line in lines if not line.startswith("# "))
    if columns != COLUMNS:
        sys.exit(f"{path}: its columns are not {', '.join(COLUMNS)}")
    new = {row[0]: row for row in rows}
    there = [new.pop(row[0], row) for row in there]
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write("\n".join([*head, ""]))
        csv.writer(file, lineterminator="\n").writerows([columns, *there, *new.values()])


def text_of(number: float) -> str:
    """Three digits, as docs/data has them."""
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"


def times_of(calls: list[Callable[[], Any]], repeat: int) -> list[list[float]]:
    """Milliseconds of each call, in turns: what else runs on the machine delays all of them."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(repeat):
        for call, own in zip(calls, times):
            start = time.perf_counter()
            call()
            own.append(1e3 * (time.perf_counter() - start))
    return times


def main() -> None:
    given = arguments()
    os.environ.update(OMP_NUM_THREADS=str(given.threads), NUMBA_NUM_THREADS=str(given.threads))
    os.environ.update(SAPPORO_BACKEND=given.backend, JAX_PLATFORMS=given.backend)
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # JAX shares the memory of a GPU
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: given.threads])
    import numpy as np

    x, mass = plummer(given.n, np)
    rows = np.random.default_rng(2).choice(given.n, min(given.targets, given.n), replace=False)
    right = exact(x, mass, rows, np)
    commit = subprocess.run(["git", "log", "-1", "--format=%h"], capture_output=True, text=True, check=False).stdout
    where = "" if given.backend == "cpu" else f" --backend {given.backend}"
    command = f"python3 test/perf/python_peers.py --n {given.n} --threads {given.threads}{where}"
    subject = f"Python, {given.n:,} particles, " + (f"{given.threads} threads" if not where else "GPU")
    found = dict(cases(given.packages, x, mass))
    errors = []
    for call in found.values():
        acc = np.asarray(call())[rows]
        error = np.linalg.norm(acc - right, axis=1) / np.linalg.norm(right, axis=1)
        errors.append(f"{np.quantile(error, 0.99):.3g}")
    times = times_of(list(found.values()), given.repeat)
    start = [command, commit.strip(), time.strftime("%Y-%m-%d")]
    done = []
    for name, own, error in zip(found, times, errors):
        median = "" if given.busy else text_of(float(np.median(own)))
        done.append([f"{subject}: {name}", *start, median, text_of(min(own)), error, "ms"])
    csv.writer(sys.stdout, lineterminator="\n").writerows([COLUMNS, *done])
    if given.record:
        record(given.record, done)


if __name__ == "__main__":
    main()
