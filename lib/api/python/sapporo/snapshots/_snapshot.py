"""Particles of a snapshot, and their units."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from .._arrays import ArrayLike, Floats, ScalarOrArray, scalars, vectors
from ._units import Units, agree

Longs = npt.NDArray[np.int64]
# Types of particles as GADGET numbers them.
TYPES = {"gas": 0, "halo": 1, "disc": 2, "bulge": 3, "stars": 4, "holes": 5}


class Snapshot:
    """Particles at one time, as arrays with names and units.

    Args:
        x: (n, 3): positions.
        mass: (n,) or one number: masses.
        v: (n, 3): velocities; absent: 0.
        id: (n,) of whole numbers; absent: 1 to n.
        time: the time.
        units: Units, or their words, such as "msun,pc,km/s"; absent: unknown, or N-body units.
        G: gravitational constant in the units; absent: that of `units`, or 1.
        type: (n,) or one whole number: 0 gas, 1 halo, 2 disc, 3 bulge, 4 stars, 5 black holes; absent: 1.
        eps: (n,) or one number: softening lengths; absent: not known.
        pot: (n,): potentials; absent: not known.

    Attributes:
        x: positions, (n, 3) of float64.
        v: velocities, (n, 3) of float64.
        mass: masses, (n,) of float64.
        id: ids, (n,) of int64.
        time: the time.
        units: Units, or None if they are not known.
        G: gravitational constant in the units.
        type: types, (n,) of int64.
        eps: softening lengths, (n,) of float64, or None.
        pot: potentials, (n,) of float64, or None.

    Raises:
        ValueError: shapes do not fit, a number is not finite, or G differs from that of the units by more than 0.1 %.
        TypeError: an array has a wrong type.

    Example:
        >>> import sapporo
        >>> sapporo.snapshots.Snapshot([[0.0, 0, 0], [1, 0, 0]], [1.0, 2.0], units="msun,pc,km/s")
        <sapporo.snapshots.Snapshot: n 2, time 0, units 1 Msun, 1 pc, 1 km/s, 0.9777922217 Myr>
    """

    def __init__(
        self,
        x: ArrayLike,
        mass: ScalarOrArray,
        v: ArrayLike | None = None,
        *,
        id: ArrayLike | None = None,
        time: float = 0.0,
        units: Units | str | None = None,
        G: float | None = None,
        type: ScalarOrArray = 1,
        eps: ScalarOrArray | None = None,
        pot: ScalarOrArray | None = None,
    ) -> None:
        """Takes arrays."""
        self.x: Floats = vectors(x, "x")
        n = len(self.x)
        self.v: Floats = np.zeros((n, 3)) if v is None else vectors(v, "v", n)
        self.mass: Floats = scalars(mass, "mass", n)
        self.id: Longs = np.arange(1, n + 1) if id is None else scalars(id, "id", n, np.int64)
        self.type: Longs = scalars(type, "type", n, np.int64)
        self.eps: Floats | None = None if eps is None else scalars(eps, "eps", n)
        self.pot: Floats | None = None if pot is None else scalars(pot, "pot", n)
        self.time = float(time)
        self.units = Units.of(units) if isinstance(units, str) else units
        self.G = float(G if G is not None else self.units.G if self.units else 1.0)
        self._check()

    def _check(self) -> None:
        for name in ("x", "v", "mass", "eps", "pot"):
            array = getattr(self, name)
            if array is not None and not np.isfinite(array).all():
                row = int(np.argwhere(~np.isfinite(array))[0][0])
                raise ValueError(f"{name} of row {row} is {array[row]}; all numbers must be finite")
        if not math.isfinite(self.time):
            raise ValueError(f"time is {self.time}; it must be finite")
        if len(self.type) and not 0 <= self.type.min() <= self.type.max() <= max(TYPES.values()):
            raise ValueError(f"types are {self.type.min()} to {self.type.max()}; they may be 0 to 5")
        if not 0 < self.G < math.inf or (self.units and not agree(self.G, self.units.G)):
            own = f"; that of the units ({self.units}) is {self.units.G:g}" if self.units else "; it must be above 0"
            raise ValueError(f"G is {self.G:g}{own}")

    def __len__(self) -> int:
        """Number of particles."""
        return len(self.x)

    def __repr__(self) -> str:
        """The number of particles, the time and the units."""
        units = str(self.units) if self.units else f"not known, G {self.G:g}"
        return f"<sapporo.snapshots.Snapshot: n {len(self)}, time {self.time:g}, units {units}>"

    def _scaled(self, mass: float, length: float, velocity: float, units: Units | None, G: float) -> Snapshot:
        """All numbers multiplied by the factors of their dimensions."""
        return Snapshot(
            self.x * length,
            self.mass * mass,
            self.v * velocity,
            id=self.id,
            time=self.time * length / velocity,
            units=units,
            G=G,
            type=self.type,
            eps=None if self.eps is None else self.eps * length,
            pot=None if self.pot is None else self.pot * velocity**2,
        )

    def to(self, units: Units | str) -> Snapshot:
        """The same particles in other units.

        Args:
            units: Units, or their words.

        Returns:
            A new snapshot.

        Raises:
            ValueError: the units of this snapshot are not known.

        Example:
            >>> import sapporo
            >>> one = sapporo.snapshots.Snapshot([[1.0, 0, 0]], 1.0, units="msun,kpc,km/s")
            >>> float(one.to("msun,pc,km/s").x[0, 0].round(9))
            1000.0
        """
        to = Units.of(units) if isinstance(units, str) else units
        if self.units is None:
            raise ValueError("the units of this snapshot are not known; give them to read or to Snapshot")
        own = self.units
        return self._scaled(
            own.mass / to.mass, own.length / to.length, own.velocity / to.velocity, to, self.G * to.G / own.G
        )

    def with_G_1(self) -> Snapshot:
        """The same particles where the gravitational constant is 1: by another unit of velocity.

        Returns:
            This snapshot if its G is 1; else a new one, whose masses and positions are the same.

        Example:
            >>> import sapporo
            >>> one = sapporo.snapshots.Snapshot([[1.0, 0, 0]], 1.0, [[2.0, 0, 0]], G=4.0)
            >>> one.with_G_1().v.tolist()
            [[1.0, 0.0, 0.0]]
        """
        if self.G == 1:
            return self
        root = math.sqrt(self.G)
        units = self.units
        if units:
            units = Units(units.mass, units.length, units.velocity * root)
        return self._scaled(1.0, 1.0, 1 / root, units, 1.0)
