"""Forces under way, and their results."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional

import numpy as np
import numpy.typing as npt

from ._arrays import Floats, Ints, pointer, result_array
from ._device import DeviceArray, all_in_device, complete, require
from ._errors import EmptyWarning, PartialWarning
from ._library import Handle, ffi, lib, new

if TYPE_CHECKING:
    from ._context import Context

_FOLDER = os.path.dirname(__file__)

Out = Optional[Mapping[str, Any]]

# Sums that each order has.
SUMS = {
    2: ("acc", "pot"),
    4: ("acc", "jerk", "pot"),
    6: ("acc", "jerk", "snap", "pot"),
    8: ("acc", "jerk", "snap", "crackle", "pot"),
}
NEAREST = ("nearest", "nearest_r2")
_TYPES = {"nearest": np.int32}
_VECTORS = ("acc", "jerk", "snap", "crackle")


def warn_if_partial(partial: bool) -> None:
    """Warns of rows that are NaN because their i-particles are not finite."""
    if partial:
        _warn_caller("some i-particles are not finite; their rows are NaN", PartialWarning)


def warn_if_empty(empty: bool, what: str) -> None:
    """Warns of forces that are 0 because a context or a tree has no particles."""
    if empty:
        _warn_caller(f"{what} has no particles; its forces are 0", EmptyWarning)


def _warn_caller(text: str, kind: type[Warning]) -> None:
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_FOLDER):  # the caller's own line
        level, frame = level + 1, frame.f_back
    warnings.warn(text, kind, stacklevel=level)


def result_struct(ni: int, names: Sequence[str], out: Out, backend: str | None = None) -> tuple[dict[str, Any], Any]:
    """Arrays for results, and the sapporo_result that points to them; in device memory only if there is a backend."""
    out = out or {}
    for name in out:
        if name not in names:
            raise ValueError(f"out has {name!r}; this force has {', '.join(map(repr, names))}")
    rows: dict[str, Any] = {}
    result = new("sapporo_result")
    there = all_in_device(dict(out)) if backend is not None else None
    if there is not None:
        _fits_device(there, ni, names)
        complete(there, backend or "")
        result.memory = lib.SAPPORO_MEMORY_DEVICE
    for name in names:
        kind = "double (*)[3]" if name in _VECTORS else "int *" if name == "nearest" else "double *"
        if there is not None:
            rows[name] = out[name]
            setattr(result, name, ffi.cast(kind, there[name].address))
        else:
            rows[name] = result_array(out.get(name), name, _shape(name, ni), _TYPES.get(name, np.float64))
            setattr(result, name, pointer(rows[name], kind))
    return rows, result


def _shape(name: str, ni: int) -> tuple[int, ...]:
    return (ni, 3) if name in _VECTORS else (ni,)


def _fits_device(there: dict[str, DeviceArray], ni: int, names: Sequence[str]) -> None:
    """Raises an error unless there is an array in device memory for each result."""
    missing = [name for name in names if name not in there]
    if missing:
        raise TypeError(f"out is in device memory, so it must hold arrays for {' and '.join(missing)}")
    for name in names:
        require(there[name], f"out of {name}", _shape(name, ni), _TYPES.get(name, np.float64), writable=True)


class NeighbourLists(Sequence[Ints]):
    """Neighbour lists of i-particles: lists[i] is an array of int32.

    Args:
        first: where each list begins, and where the last one ends (int64, one more than there are lists).
        entries: all lists, one behind the other (int32).

    Attributes:
        first: where each list begins, and where the last one ends.
        entries: all lists, one behind the other.

    Example:
        >>> lists = sapporo.NeighbourLists.of([[1, 2], [], [0]])
        >>> lists.lengths.tolist(), lists[0].tolist()
        ([2, 0, 1], [1, 2])
    """

    def __init__(self, first: npt.NDArray[np.int64], entries: Ints) -> None:
        """Makes lists of where they begin and of their entries."""
        self.first = first
        self.entries = entries

    def __repr__(self) -> str:
        """How many lists and entries there are."""
        return f"<sapporo.NeighbourLists: n {len(self)}, {len(self.entries)} entries>"

    @classmethod
    def of(cls, lists: Sequence[Any]) -> NeighbourLists:
        """Lists of arrays or sequences.

        Args:
            lists: of int32 arrays or sequences of whole numbers.

        Returns:
            The lists.
        """
        from ._arrays import indices

        parts = [indices(part, f"lists[{k}]") for k, part in enumerate(lists)]
        first = np.zeros(len(parts) + 1, dtype=np.int64)
        np.cumsum([len(part) for part in parts], out=first[1:])
        return cls(first, np.concatenate(parts) if parts else np.empty(0, dtype=np.int32))

    def __len__(self) -> int:
        """Number of lists."""
        return len(self.first) - 1

    def __getitem__(self, i: Any) -> Any:
        """The list of i-particle i; of a slice, a list of them."""
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        k = int(i) + len(self) if i < 0 else int(i)
        if not 0 <= k < len(self):
            raise IndexError(f"list {i} of {len(self)}")
        return self.entries[self.first[k] : self.first[k + 1]]

    def __iter__(self) -> Iterator[Ints]:
        """The lists in their order."""
        return (self[k] for k in range(len(self)))

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of entries of each list."""
        return np.diff(self.first)


class Force:
    """Results of a force on ni i-particles, one row each.

    A result that was not computed raises AttributeError.

    Attributes:
        partial: some i-particles were not finite, and their rows are NaN.

    Example:
        >>> with sapporo.Context(order=2) as context:
        ...     context.set_particles([[2.0, 0, 0]], 4.0)
        ...     force = context.force([[0.0, 0, 0]], nearest=True)
        >>> force, force.nearest.tolist()
        (<sapporo.Force: n 1, acc, pot, nearest, nearest_r2>, [0])
    """

    def __init__(self, rows: Mapping[str, Any], partial: bool, lists: NeighbourLists | None = None) -> None:
        """Takes the arrays of results."""
        self._rows = rows
        self.partial = partial
        self._lists = lists

    def __repr__(self) -> str:
        """How many rows there are, and which results."""
        parts = [f"n {len(row)}" for row in self._rows.values()][:1] + list(self._rows)
        parts += [name for name, has in (("lists", self._lists is not None), ("partial", self.partial)) if has]
        return f"<sapporo.Force: {', '.join(parts)}>"

    def _row(self, name: str) -> Any:
        if name not in self._rows:
            raise AttributeError(f"this force has no {name}; it has {', '.join(self._rows)}")
        return self._rows[name]

    @property
    def acc(self) -> Floats:
        """Acceleration."""
        return self._row("acc")  # type: ignore[no-any-return]

    @property
    def jerk(self) -> Floats:
        """First derivative of the acceleration."""
        return self._row("jerk")  # type: ignore[no-any-return]

    @property
    def snap(self) -> Floats:
        """Second derivative of the acceleration (orders 6 and 8)."""
        return self._row("snap")  # type: ignore[no-any-return]

    @property
    def crackle(self) -> Floats:
        """Third derivative of the acceleration (order 8)."""
        return self._row("crackle")  # type: ignore[no-any-return]

    @property
    def pot(self) -> Floats:
        """Potential."""
        return self._row("pot")  # type: ignore[no-any-return]

    @property
    def nearest(self) -> Ints:
        """Index of the nearest j-particle; -1: none."""
        return self._row("nearest")  # type: ignore[no-any-return]

    @property
    def nearest_r2(self) -> Floats:
        """Squared distance of the nearest j-particle; infinite: none."""
        return self._row("nearest_r2")  # type: ignore[no-any-return]

    @property
    def lists(self) -> NeighbourLists:
        """Neighbour lists."""
        if self._lists is None:
            raise AttributeError("this force has no neighbour lists; ask for them by lists=True")
        return self._lists


class Job(Handle):
    """A force under way (Context.begin).  Closing it frees it; closing its context does, too.

    Attributes:
        ni: number of i-particles.

    Example:
        >>> with sapporo.Context(order=2) as context:
        ...     context.set_particles([[2.0, 0, 0]], 4.0)
        ...     with context.begin([[0.0, 0, 0]]) as job:
        ...         pot = job.result().pot
        >>> pot
        array([-2.])
    """

    def __init__(self, context: Context, handle: Any, ni: int) -> None:
        """Takes over a force that has begun; made by Context.begin."""
        super().__init__(handle, lib.sapporo_force_free)
        self._context = context
        self.ni = ni

    def _contents(self) -> str:
        return f"{self._context.kind}, n {self.ni}"

    @property
    def done(self) -> bool:
        """Whether result() would not wait."""
        return bool(lib.sapporo_force_done(self._handle))

    def result(self, *, ni: int | None = None, nearest: bool = False, lists: bool = False, out: Out = None) -> Force:
        """Waits for the force.  May be repeated.

        Args:
            ni: number of rows; absent: all.
            nearest, lists: also the nearest neighbours, also the neighbour lists.
            out: arrays by the names of results, which the library writes in place of new ones.

        Returns:
            The first ni rows.

        Raises:
            SapporoError: as Context.force does.
            GoneError: the particles that the neighbours need have changed since the force began.
        """
        n = self.ni if ni is None else ni
        names = SUMS[self._context.order] + (NEAREST if nearest else ())
        rows, result = result_struct(max(n, 0), names, out, self._context.backend)
        status = self._context._check(lib.sapporo_force_end(self._handle, n, result))
        partial = status == lib.SAPPORO_PARTIAL
        warn_if_partial(partial)
        return Force(rows, partial, self.neighbour_lists(n) if lists else None)

    def neighbours(self, i: int) -> Ints:
        """Neighbour list of one i-particle.

        Args:
            i: row of the i-particle.

        Returns:
            Indices of all j with |r|^2 < h2, ascending.

        Raises:
            ArgumentError: there is no such row.
            GoneError: the particles have changed since the force began.
        """
        n, total = ffi.new("int *"), ffi.new("int *")
        status = lib.sapporo_force_neighbours(self._handle, i, 0, n, ffi.NULL, total)
        self._context._check(status)
        entries = np.empty(total[0], dtype=np.int32)
        room = len(entries)
        self._context._check(
            lib.sapporo_force_neighbours(self._handle, i, room, n, pointer(entries, "int *"), ffi.NULL)
        )
        return entries

    def neighbour_lists(self, ni: int | None = None) -> NeighbourLists:
        """Neighbour lists of the first i-particles.

        Args:
            ni: how many; absent: all.

        Returns:
            The lists.

        Raises:
            GoneError: the particles have changed since the force began.
        """
        count = self.ni if ni is None else ni
        lengths = np.zeros(max(count, 0), dtype=np.int32)
        self._all_lists(count, 0, np.empty(1, dtype=np.int32), lengths)
        first = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=first[1:])
        longest = int(lengths.max(initial=0))
        if longest * len(lengths) > 4 * int(first[-1]) + (1 << 20):  # few long lists: not a table as wide as they are
            return NeighbourLists.of([self.neighbours(i) for i in range(count)])
        table = np.empty((len(lengths), longest), dtype=np.int32)
        self._all_lists(count, longest, table, lengths)
        return NeighbourLists(first, table[np.arange(longest) < lengths[:, None]])

    def _all_lists(self, ni: int, room: int, table: Any, lengths: Any) -> None:
        self._context._check(
            lib.sapporo_force_neighbour_lists(
                self._handle, ni, room, room, pointer(table, "int *"), pointer(lengths, "int *")
            )
        )
