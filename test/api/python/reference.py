"""reference.py - forces in extended precision, from power series in time instead of the library's formulas.

Positions of a pair are polynomials in time; the acceleration is their product with the power series of R2^(-3/2).  Its
coefficients times factorials are acceleration, jerk, snap and crackle.
"""

from __future__ import annotations

from math import factorial

import numpy as np

Wide = np.longdouble


def plummer(n: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions, velocities of a like size, and unequal masses of n particles in a Plummer sphere."""
    rng = np.random.default_rng(seed)
    radius = 1 / np.sqrt(rng.uniform(0.01, 0.99, n) ** (-2 / 3) - 1)
    direction = rng.normal(size=(n, 3))
    x = radius[:, None] * direction / np.linalg.norm(direction, axis=1)[:, None]
    mass = rng.uniform(0.5, 1.5, n)
    return x, rng.normal(size=(n, 3)) * 0.5, mass / mass.sum()


def series_power(c: list[np.ndarray], exponent: Wide) -> list[np.ndarray]:
    """The power series of c(t)^exponent (Miller's recurrence: Knuth, Seminumerical Algorithms, 4.7)."""
    p = [c[0] ** exponent]
    for n in range(1, len(c)):
        p.append(sum((exponent * k - (n - k)) * c[k] * p[n - k] for k in range(1, n + 1)) / (n * c[0]))
    return p


def forces(sources, mass, targets, eps2=0.0, same=None, terms=1):
    """Acceleration and its derivatives, (terms, ni, 3), and potential, (ni,).

    sources, targets: lists of arrays (n, 3): position, velocity, acceleration, jerk, as many as there are
    eps2: a number, or an array that broadcasts to (ni, nj)
    same: (ni, nj) of bool: pairs to leave out
    """
    shape = (len(targets[0]), len(sources[0]), 3)
    r = [np.zeros(shape, Wide) for _ in range(terms)]
    for k in range(terms):
        for rows, sign, axis in ((sources, 1, 0), (targets, -1, 1)):
            if k < len(rows):
                r[k] += sign * np.expand_dims(rows[k].astype(Wide), axis) / factorial(k)
    r2 = [sum((r[k] * r[n - k]).sum(axis=2) for k in range(n + 1)) for n in range(terms)]
    r2[0] = r2[0] + Wide(1) * eps2
    out = np.zeros(shape[:2], bool) if same is None else same
    out = out | (r2[0] == 0)
    r2[0][out] = 1
    weight = np.where(out, Wide(0), mass.astype(Wide)[None, :])
    cube = series_power(r2, Wide(-1.5))
    acc = [
        sum((weight * cube[k])[..., None] * r[n - k] for k in range(n + 1)).sum(axis=1) * factorial(n)
        for n in range(terms)
    ]
    return np.array(acc), -(weight / np.sqrt(r2[0])).sum(axis=1)


def relative(rows: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Relative error of each row; of scalars, of each number."""
    error = rows.astype(Wide) - right
    if rows.ndim == 1:
        return np.abs(error / right)
    return np.linalg.norm(error.astype(float), axis=1) / np.linalg.norm(right.astype(float), axis=1)
