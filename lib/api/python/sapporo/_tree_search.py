"""Searches of trees: neighbours within a radius, and nearest particles."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ._arrays import ArrayLike, ScalarOrArray, indices, pointer, result_array, scalars, set_column, vectors
from ._device import DeviceArray, all_in_device, complete, require
from ._job import NeighbourLists
from ._library import Owner, ffi, lib, new


class Nearest(NamedTuple):
    """The nearest particles of each target, the nearest first, at the same distance by address.

    Attributes:
        address: (ni, k): their addresses; -1 where there are fewer particles.
        distance2: (ni, k): the squares of their distances; infinite there.

    Example:
        >>> with sapporo.Tree(3) as tree:
        ...     tree.set([[0.0, 0, 0], [1, 0, 0], [3, 0, 0]], 1.0)
        ...     tree.build()
        ...     tree.nearest(1).address[:, 0].tolist()
        [1, 0, 1]
    """

    address: Any
    distance2: Any


class TreeSearches(Owner):
    """What trees find, and which rows their calls have."""

    _built: int  # particles of the tree

    def _rows_on_host(self, request: Any, active: Any, targets: Any, eps: Any, keep: list[Any]) -> int:
        """Says which rows a request in host memory has; returns their number.

        keep: what must live as long as the request
        """
        if targets is not None:
            keep.append(vectors(targets, "targets"))
            set_column(request.x, keep[0])
            if eps is not None:
                keep.append(scalars(eps, "eps", len(keep[0])))
                set_column(request.h, keep[1])
        elif active is not None:
            keep.append(indices(active, "active"))
            request.active = pointer(keep[0], "int *")
        request.ni = len(keep[0]) if keep else self._built
        return int(request.ni)

    def _rows_on_device(self, request: Any, arrays: dict[str, DeviceArray]) -> int:
        """Says that a request is in device memory, and which rows it has; returns their number."""
        request.memory = lib.SAPPORO_MEMORY_DEVICE
        request.ni = self._built
        if "active" in arrays:
            require(arrays["active"], "active", (None,), np.int32)
            request.ni = arrays["active"].shape[0]
            request.active = ffi.cast("int *", arrays["active"].address)
        return int(request.ni)

    # ---- within a radius

    def neighbours(self, targets: ArrayLike, radius: ScalarOrArray) -> NeighbourLists:
        """Particles within a radius of any positions: those with |r| < radius.

        Args:
            targets: (ni, 3): positions, in host memory.
            radius: (ni,) or one number: at least 0, also infinite.

        Returns:
            Addresses of the particles near each target, ascending.

        Raises:
            ArgumentError: there is no tree, or a radius is negative.
        """
        return self.within(radius, targets=targets)

    def within(
        self,
        radius: Any,
        active: Any = None,
        *,
        targets: ArrayLike | None = None,
        out: dict[str, Any] | None = None,
    ) -> NeighbourLists:
        """Particles within a radius of particles of the tree, or of any positions: those with |r| < radius.

        Args:
            radius: (ni,) or one number: at least 0, also infinite.
            active: (ni,) of whole numbers: addresses of particles, in any order; absent: all.  A particle is no
                neighbour of itself.
            targets: (ni, 3): instead, any positions, in host memory.
            out: arrays in device memory for the lists: "first", (ni + 1,) of int64, and "entries", (room,) of int32;
                `radius`, an array, and `active` are there, too.  If there are more entries than room, the first ones
                are written, and first[ni] tells how many there are.

        Returns:
            Addresses of the particles near each target, ascending.

        Raises:
            ArgumentError: there is no tree, or a radius or an address is out of range.

        Example:
            >>> with sapporo.Tree(3) as tree:
            ...     tree.set([[0.0, 0, 0], [1, 0, 0], [3, 0, 0]], 1.0)
            ...     tree.build()
            ...     [near.tolist() for near in tree.within(2.5)]
            [[1], [0, 2], [1]]
        """
        if targets is not None and active is not None:
            raise ValueError("either active or targets may be given")
        given = dict(out or {}, radius=radius, **({} if active is None else {"active": active}))
        arrays = all_in_device(given)
        request = new("sapporo_tree_request")
        if arrays is not None:
            return self._within_on_device(request, arrays, targets, out or {})
        if out:
            raise TypeError("lists are written to arrays in device memory alone")
        keep: list[Any] = []
        ni = self._rows_on_host(request, active, targets, None, keep)
        radii = scalars(radius, "radius", ni)
        first, entries = np.zeros(ni + 1, dtype=np.int64), np.empty(64 * ni, dtype=np.int32)
        if self._list(request, new_column(radii), pointer(first, "long long *"), entries):
            entries = np.empty(int(first[-1]), dtype=np.int32)
            self._list(request, new_column(radii), pointer(first, "long long *"), entries)
        return NeighbourLists(first, entries[: int(first[-1])].copy())

    def _list(self, request: Any, radius: Any, first: Any, entries: Any) -> bool:
        """Writes lists; returns whether there are more entries than room."""
        to = pointer(entries, "int *")
        status = lib.sapporo_tree_within(self._handle, request, radius[0], first, len(entries), to)
        return bool(self._check(status) == lib.SAPPORO_TRUNCATED)

    def _within_on_device(self, request: Any, arrays: Any, targets: Any, out: dict[str, Any]) -> NeighbourLists:
        if targets is not None:
            raise TypeError("targets must be in host memory, and radius, too")
        if set(out) != {"first", "entries"}:
            raise TypeError("radius is in device memory, so out must hold arrays for first and entries")
        ni = self._rows_on_device(request, arrays)
        require(arrays["radius"], "radius", (ni,), np.float64)
        require(arrays["first"], "out of first", (ni + 1,), np.int64, writable=True)
        require(arrays["entries"], "out of entries", (None,), np.int32, writable=True)
        complete(arrays, self.backend)
        radius = ffi.new("sapporo_column *")
        radius.base = ffi.cast("void *", arrays["radius"].address)
        first, entries = ffi.cast("long long *", arrays["first"].address), ffi.cast("int *", arrays["entries"].address)
        room = arrays["entries"].shape[0]
        self._check(lib.sapporo_tree_within(self._handle, request, radius[0], first, room, entries))
        return NeighbourLists(out["first"], out["entries"])

    # ---- nearest

    def nearest(
        self, k: int, active: Any = None, *, targets: ArrayLike | None = None, out: dict[str, Any] | None = None
    ) -> Nearest:
        """The k particles nearest to particles of the tree, or to any positions.

        Args:
            k: how many, 1 to 256.
            active: (ni,) of whole numbers: addresses of particles, in any order; absent: all.  A particle is no
                neighbour of itself.
            targets: (ni, 3): instead, any positions, in host memory.
            out: arrays (ni, k) for the results: "address" of int32, "distance2" of float64.  If `active` or `out` is in
                device memory, both are; then only what `out` has is computed, "address" at least.

        Returns:
            The results, one row per target.

        Raises:
            ArgumentError: there is no tree, or k or an address is out of range.
        """
        if targets is not None and active is not None:
            raise ValueError("either active or targets may be given")
        for name in out or {}:
            if name not in Nearest._fields:
                raise ValueError(f"out has {name!r}; nearest particles have {', '.join(Nearest._fields)}")
        arrays = all_in_device(dict(out or {}, **({} if active is None else {"active": active})))
        request = new("sapporo_tree_request")
        keep: list[Any] = []
        if arrays is not None:
            return self._nearest_on_device(request, k, arrays, targets, out or {})
        ni = self._rows_on_host(request, active, targets, None, keep)
        shape, given = (ni, min(max(int(k), 0), lib.SAPPORO_NEAREST_MOST)), out or {}
        found = Nearest(
            result_array(given.get("address"), "address", shape, np.int32),
            result_array(given.get("distance2"), "distance2", shape, np.float64),
        )
        self._find(request, k, pointer(found.address, "int *"), pointer(found.distance2, "double *"))
        return found

    def _nearest_on_device(self, request: Any, k: int, arrays: Any, targets: Any, out: dict[str, Any]) -> Nearest:
        if targets is not None:
            raise TypeError("targets must be in host memory, and out, too")
        if "address" not in arrays:
            raise TypeError("active is in device memory, so out must hold an array for address")
        ni = self._rows_on_device(request, arrays)
        to = {"address": ffi.NULL, "distance2": ffi.NULL}
        for name, kind, of in (("address", np.int32, "int *"), ("distance2", np.float64, "double *")):
            if name in arrays:
                require(arrays[name], f"out of {name}", (ni, k), kind, writable=True)
                to[name] = ffi.cast(of, arrays[name].address)
        complete(arrays, self.backend)
        self._find(request, k, to["address"], to["distance2"])
        return Nearest(out["address"], out.get("distance2"))

    def _find(self, request: Any, k: int, address: Any, distance2: Any) -> None:
        self._check(lib.sapporo_tree_nearest(self._handle, request, k, address, distance2))


def new_column(array: Any) -> Any:
    """A column of an array, which must live as long as the column is used."""
    column = ffi.new("sapporo_column *")
    set_column(column, array)
    return column
