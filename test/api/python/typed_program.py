"""typed_program.py - what a user writes: test_python.sh lets mypy --strict look at it, and runs it."""

from __future__ import annotations

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
with sapporo.Stepper(2, 0.125, backend="cpu") as stepper:
    stepper.set(np.eye(3)[:2], 0.5, np.zeros((2, 3)))
    print(stepper.advance(0.5), stepper.get().x.sum(), stepper.energy().kinetic, stepper.backend.upper())
