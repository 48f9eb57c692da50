"""typed_program.py - what a user writes: test_python.sh lets mypy --strict look at it, and runs it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import sapporo


def total(x: sapporo.Force) -> float:
    return float(np.sum(x.pot))


def opened(backend: sapporo.Backend, precision: sapporo.Precision | None = None) -> sapporo.Context:
    return sapporo.Context(order=2, backend=backend, precision=precision)


with opened("cpu", "dp") as first, opened(first.backend) as second:  # the words of backends are types
    print(first, second)
try:  # mypy --strict would name a comment that it does not need
    sapporo.Context(backend="gpu")  # type: ignore[arg-type]
except ValueError as error:
    print(error)
x = np.eye(3, dtype=np.float32)
print(sapporo.accelerations(x, 0.5, eps=0.1, backend="cpu").sum(), sapporo.potentials(x, 0.5, theta=0.5, backend="cpu"))
with sapporo.Context(order=2, backend="cpu") as context:
    context.set_particles(np.zeros((1, 3)), mass=1.0)
    with context.begin(np.ones((2, 3))) as job:
        print(total(job.result()), context.kind, context.backend)
with sapporo.Tree(2, backend="cpu") as tree:
    tree.set(np.eye(3)[:2], mass=0.5)
    tree.build()
    lists = tree.neighbours(np.zeros((1, 3)), 2.0)
    print(total(tree.force()), tree.kind.upper(), tree.statistics().depth + 1, [len(k) for k in lists])
eps = np.full(2, 0.1)
with sapporo.Tree(2, kind="kdtree", multipoles=1, softening="spline", backend="cpu") as spline:
    spline.set(np.eye(3)[:2], 0.5, eps=eps)
    spline.build()
    print(spline.force(targets=np.ones((1, 3)), eps=0.2, want=["pot"]).pot)
words: sapporo.snapshots.Format = "csv"
snapshot = sapporo.snapshots.Snapshot(np.eye(3), 1.0, units="msun,pc,km/s", eps=0.1)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "stars")
    sapporo.snapshots.write(path, snapshot, format=words)
    again = sapporo.snapshots.read(path)
    print(again.G + again.x.sum(), None if again.units is None else again.units.time, again.eps is None)
try:  # a word that is not there
    sapporo.Tree(2, eps2=0.01)  # type: ignore[call-arg]
except TypeError as error:
    print(error)
with sapporo.Stepper(2, 0.125, backend="cpu") as stepper:
    stepper.set(np.eye(3)[:2], np.zeros((2, 3)), 0.5)
    print(stepper.advance(0.5), stepper.get().x.sum(), stepper.energy().kinetic, stepper.backend.upper())
