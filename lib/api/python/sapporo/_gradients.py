"""Derivatives of direct sums, by direct sums.

T(r) = I/R^3 - 3 r r/R^5 is the tidal tensor of a softened pair.  Velocities v change accelerations by the jerk
sum_j m_j T_ij (v_j - v_i).  Its transpose, for vectors u of the targets, is two more jerks: on targets of velocity u
from sources at rest, and on sources at rest from targets of mass 1 and velocity u.  Changes of masses change a sum by
the sum with the changes as masses.  Every sum leaves out the pairs that the first one leaves out.
"""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from ._arrays import Floats
from ._sums import How, direct
from ._tree import Sum

Parts = tuple[Optional[Floats], Optional[Floats], Optional[Floats]]


def _unit(vectors: Any) -> tuple[Any, float]:
    """Numbers of the size of 1 at most, and the power of two that they were divided by.

    Gradients may be of any size; precisions below "dp" have the range of float.
    """
    largest = float(np.max(np.abs(vectors), initial=0.0))
    if not 0 < largest < np.inf:
        return vectors, 1.0
    unit = 2.0 ** min(int(np.frexp(largest)[1]), 1023)
    return vectors / unit, unit


def change(how: How, name: Sum, x: Floats, mass: Floats, at: Floats | None, changes: Parts) -> Floats:
    """The change of a sum by changes of x, mass and at (None: no change)."""
    dx, dm, dt = changes
    rows = x if at is None else at
    if at is None:
        dt = dx
    total: Any = np.zeros(rows.shape if name == "acc" else rows.shape[:1])
    if dm is not None:
        dm, unit = _unit(dm)
        total += unit * getattr(direct(how, x, dm, at), name)
    if name == "acc":
        if dx is not None or dt is not None:
            _, unit = _unit(np.concatenate([part for part in (dx, dt) if part is not None]))
            parts = (None if part is None else part / unit for part in (dx, dt))
            total += unit * direct(how, x, mass, at, *parts).jerk
    else:
        if dx is not None:
            for k in range(3):
                moment, unit = _unit(mass * dx[:, k])
                total += unit * direct(how, x, moment, at).acc[:, k]
        if dt is not None:
            total -= np.einsum("ij,ij->i", direct(how, x, mass, at).acc, dt)
    return total  # type: ignore[no-any-return]


def gradients(
    how: How, name: Sum, x: Floats, mass: Floats, at: Floats | None, u: Floats, wanted: tuple[bool, bool, bool]
) -> Parts:
    """Gradients of the sum of u times the result by x, mass and at; None: not wanted."""
    rows, back = (x, None) if at is None else (at, x)  # targets as sources, which act on x
    u, unit = _unit(u)
    wants_at = wanted[0] if at is None else wanted[2]
    by_x = by_mass = by_at = None
    if name == "acc":
        if wants_at:
            by_at = unit * direct(how, x, mass, at, None, u).jerk
        if wanted[0]:
            by_x = unit * mass[:, None] * direct(how, rows, np.ones(len(rows)), back, u, None).jerk
        if wanted[1]:
            by_mass = -unit * np.sum([direct(how, rows, u[:, k], back).acc[:, k] for k in range(3)], axis=0)
    else:
        if wants_at:
            by_at = -unit * u[:, None] * direct(how, x, mass, at).acc
        if wanted[0] or wanted[1]:
            force = direct(how, rows, u, back)
            by_x = -unit * mass[:, None] * force.acc if wanted[0] else None
            by_mass = unit * force.pot if wanted[1] else None
    if at is None:
        by_x, by_at = (by_x + by_at if by_x is not None and by_at is not None else None), None
    return by_x, by_mass, by_at
