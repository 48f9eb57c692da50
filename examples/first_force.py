"""first_force.py - the forces of four particles on each other, in Python.

    pip install .          # once, in the clone of libsapporo
    python3 first_force.py

Prints the engine that computed, and one line for each particle: mass, position, acceleration, potential.  G = 1.
"""

import numpy as np
import sapporo

eps = 0.1  # softening length
mass = np.array([1.0, 2.0, 3.0, 4.0])
x = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, -3.0]])

with sapporo.Context() as context:
    context.set_particles(x, mass=mass)
    force = context.force(x, index=np.arange(len(x)), eps=eps)  # pairs of equal index are skipped
    print(f"# {context.kind}, softening length {eps:.3f}")

for m, position, acc, pot in zip(mass, x, force.acc, force.pot):
    print(f"{m:g} ", *(f"{value:.8f}" for value in (*position, *acc, pot)))
