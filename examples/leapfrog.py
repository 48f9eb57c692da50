"""leapfrog.py - a star cluster, by a leap-frog with one step for all stars and forces from a tree, in Python.

    pip install .          # once, in the clone of libsapporo
    python3 leapfrog.py [stars] [time units]

Prints the relative error of the energy after each time unit.  Units: G = M = -4E = 1.
"""

import sys

import numpy as np
import sapporo

n, end = (int(float(text)) for text in (sys.argv[1:] + ["1024", "2"][len(sys.argv) - 1 :]))
eps, step, rng = 1 / 32, 1 / 128, np.random.default_rng(1)


def spread(length):
    """Vectors of these lengths in random directions."""
    direction = rng.normal(size=(n, 3))
    return direction * (length / np.linalg.norm(direction, axis=1))[:, None]


# A Plummer sphere: Aarseth, Henon & Wielen 1974, A&A 37, 183.  q is the speed over that of escape.
q = np.linspace(0, 1, 1001)
cumulated = np.cumsum(q**2 * (1 - q**2) ** 3.5)
radius = 1 / np.sqrt(rng.uniform(1e-3, 0.999, n) ** (-2 / 3) - 1)
speed = np.interp(rng.random(n), cumulated / cumulated[-1], q) * np.sqrt(2) * (1 + radius**2) ** -0.25
x, v, mass = spread(radius) * 3 * np.pi / 16, spread(speed) * np.sqrt(16 / (3 * np.pi)), np.full(n, 1 / n)


def energy():
    """The total energy; each pair is in two potentials."""
    return (mass * ((v**2).sum(axis=1) + force.pot)).sum() / 2


with sapporo.Tree(n, eps=eps, accuracy=0.5) as tree:
    tree.set(x, mass)
    tree.build()
    force = tree.force()
    start, error = energy(), 0.0
    print(f"# {tree.kind}, {n} stars")
    for k in range(1, round(end / step) + 1):
        v += force.acc * step / 2
        x += v * step
        tree.set(x)
        tree.build()
        force = tree.force()
        v += force.acc * step / 2
        if k * step % 1 == 0:
            error = energy() / start - 1
            print(f"time {k * step:g}  energy error {error:.1e}")

sys.exit(0 if abs(error) < 1e-2 else f"the energy is off by {error:.1e}")
