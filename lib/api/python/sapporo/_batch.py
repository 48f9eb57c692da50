"""Batches of small forces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._arrays import (
    ArrayLike,
    Floats,
    Ints,
    ScalarOrArray,
    address,
    indices,
    pointer,
    scalars,
    set_column,
    shown,
    vectors,
)
from ._errors import ArgumentError
from ._job import warn_if_partial
from ._library import Handle, ffi, lib

if TYPE_CHECKING:
    from ._context import Context


@dataclass(frozen=True, repr=False)
class SmallForce:
    """One force of Context.force_batch: ni targets on which nj sources act.

    x: (ni, 3): positions of the targets
    address: (nj,) of whole numbers: addresses of the sources in the context; or own sources instead:
    x_j, mass_j, eps2_j: (nj, 3); (nj,) or one number: position, mass, squared softening of each own source. mass_j must
        be given, unless there are quad_j or h2_j: sources without mass exert no force
    eps2: squared softening length, common
    eps2_i: (ni,) or one number: squared softening of each target, added to eps2
    quad_j: (nj, 6): second moments of each source: sums of m x x, m y y, m z z, m x y, m x z, m y z, trace not removed
    h2_i, h2_j: (ni,), (nj,) or one number: squared radii of targets and sources, for counts of neighbours
    floor2: squared floor of the softened distance
    floor2_i, floor2_j: (ni,), (nj,) or one number: squared floors of targets and sources; the largest counts

    With addresses, quad_j, h2_j and floor2_j have a row per address.  Accelerators compute a batch that has one of the
    last six in double.
    """

    x: ArrayLike
    address: ArrayLike | None = None
    x_j: ArrayLike | None = None
    mass_j: ScalarOrArray | None = None
    eps2_j: ScalarOrArray | None = None
    eps2: float = 0.0
    eps2_i: ScalarOrArray | None = None
    quad_j: ArrayLike | None = None
    h2_i: ScalarOrArray | None = None
    h2_j: ScalarOrArray | None = None
    floor2: float = 0.0
    floor2_i: ScalarOrArray | None = None
    floor2_j: ScalarOrArray | None = None

    __repr__ = shown


@dataclass(frozen=True, repr=False)
class BatchForce:
    """Results of a batch: rows of all lists, one list behind the other.

    acc: (rows, 3); pot: (rows,); first: row at which each list begins, and one behind the last row
    count: (rows,) of int32: sources within the larger of both radii; None where no list has radii
    """

    acc: Floats
    pot: Floats
    first: npt.NDArray[np.int64]
    count: Ints | None = None

    __repr__ = shown

    def __len__(self) -> int:
        """Number of lists."""
        return len(self.first) - 1

    def __getitem__(self, k: int) -> tuple[Floats, Floats]:
        """Acceleration and potential of list k, as views."""
        if not -len(self) <= k < len(self):
            raise IndexError(f"list {k} of {len(self)}")
        rows = slice(int(self.first[k % len(self)]), int(self.first[k % len(self) + 1]))
        return self.acc[rows], self.pot[rows]


def _fill_more(small: Any, force: SmallForce, ni: int, put: Callable[[Any, Any], None]) -> None:
    """Fills what makes a list more than monopoles."""
    sources = force.x_j if force.address is None else force.address
    least = 0 if sources is None else len(np.atleast_1d(np.asarray(sources)))
    if force.address is not None:
        least = int(np.max(np.asarray(force.address), initial=-1)) + 1
    small.floor2 = force.floor2
    if force.quad_j is not None:
        quad = np.ascontiguousarray(force.quad_j, dtype=np.float64)
        if quad.ndim != 2 or quad.shape[1] != 6 or len(quad) < least:
            raise ValueError(f"quad_j has the shape {quad.shape}; it needs six numbers of {least} sources")
        put(small.quad_j, quad)
    for name in ("h2", "floor2"):
        of_i, of_j = getattr(force, f"{name}_i"), getattr(force, f"{name}_j")
        if of_i is not None:
            put(getattr(small, f"{name}_i"), scalars(of_i, f"{name}_i", ni))
        if of_j is not None:
            column = np.asarray(of_j, dtype=np.float64)
            by_address = column.ndim == 1 and force.address is not None
            if by_address and len(column) < least:
                raise ValueError(f"{name}_j has {len(column)} elements; addresses go up to {least - 1}")
            put(getattr(small, f"{name}_j"), scalars(column, f"{name}_j", len(column) if by_address else least))


def _fill(small: Any, force: SmallForce, keep: list[Any]) -> int:
    """Fills one struct; returns its number of targets."""
    small.size = ffi.sizeof("sapporo_small_force")
    small.eps2 = force.eps2

    def put(column: Any, array: Any) -> None:
        keep.append(array)
        set_column(column, array)

    x = vectors(force.x, "x")
    small.ni = len(x)
    put(small.x, x)
    if force.eps2_i is not None:
        put(small.eps2_i, scalars(force.eps2_i, "eps2_i", len(x)))
    _fill_more(small, force, len(x), put)
    if force.address is not None:
        if any(own is not None for own in (force.x_j, force.mass_j, force.eps2_j)):
            raise ValueError("a small force has either address or sources of its own")
        at = indices(force.address, "address")
        keep.append(at)
        small.address, small.nj = pointer(at, "int *"), len(at)
    elif force.x_j is None:
        raise ValueError("a small force needs address or x_j")
    else:
        x_j = vectors(force.x_j, "x_j")
        small.nj = len(x_j)
        put(small.x_j, x_j)
        if force.mass_j is None and len(x_j) > 0 and force.quad_j is None and force.h2_j is None:
            raise ArgumentError("a small force has x_j and no mass_j; mass_j=0 is for sources that exert no force")
        if force.mass_j is not None:
            put(small.mass_j, scalars(force.mass_j, "mass_j", len(x_j)))
        if force.eps2_j is not None:
            put(small.eps2_j, scalars(force.eps2_j, "eps2_j", len(x_j)))
    return len(x)


def _fill_all(lists: Sequence[SmallForce]) -> tuple[Any, npt.NDArray[np.int64], list[Any]]:
    """The structs of all lists, the row at which each begins, and what must stay until they are used."""
    n = len(lists)
    small = ffi.new("sapporo_small_force[]", max(n, 1))
    keep: list[Any] = []
    first = np.zeros(n + 1, dtype=np.int64)
    np.cumsum([_fill(small[k], force, keep) for k, force in enumerate(lists)], out=first[1:])
    return small, first, keep


def _counts(lists: Sequence[SmallForce]) -> bool:
    return any(force.h2_i is not None or force.h2_j is not None for force in lists)


def _results(first: npt.NDArray[np.int64], counts: bool) -> tuple[Any, BatchForce]:
    """New arrays of results, and their structs."""
    results = ffi.new("sapporo_result[]", max(len(first) - 1, 1))
    acc, pot = np.empty((int(first[-1]), 3)), np.empty(int(first[-1]))
    count = np.empty(int(first[-1]), dtype=np.int32) if counts else None
    for k, row in enumerate(first[:-1].tolist()):
        if count is not None:
            results[k].count = ffi.cast("int *", address(count) + 4 * row)
        results[k].size = ffi.sizeof("sapporo_result")
        results[k].acc = ffi.cast("double (*)[3]", address(acc) + 24 * row)
        results[k].pot = ffi.cast("double *", address(pot) + 8 * row)
    return results, BatchForce(acc, pot, first, count)


def compute_batch(handle: Any, lists: Sequence[SmallForce]) -> tuple[BatchForce, int]:
    """Computes all lists; returns the results and the status."""
    small, first, _keep = _fill_all(lists)
    results, forces = _results(first, _counts(lists))
    status = int(lib.sapporo_force_batch(handle, len(lists), small, results))
    return forces, status


def begin_batch(context: Context, handle: Any, lists: Sequence[SmallForce]) -> Batch:
    """Begins all lists."""
    small, first, _keep = _fill_all(lists)
    batch = ffi.new("sapporo_batch **")
    status = int(lib.sapporo_force_batch_begin(handle, len(lists), small, batch))
    context._check(status)
    return Batch(context, batch[0], first, _counts(lists))


class Batch(Handle):
    """A batch of small forces under way (Context.begin_batch).  Closing it frees it; closing its context does, too."""

    def __init__(self, context: Context, handle: Any, first: npt.NDArray[np.int64], counts: bool) -> None:
        """Takes over a batch that has begun; made by Context.begin_batch."""
        super().__init__(handle, lib.sapporo_force_batch_free)
        self._context = context
        self._first = first
        self._counts = counts

    def _contents(self) -> str:
        return f"{self._context.kind}, {len(self._first) - 1} lists, n {self._first[-1]}"

    @property
    def done(self) -> bool:
        """Whether result() would not wait."""
        return bool(lib.sapporo_force_batch_done(self._handle))

    def result(self) -> BatchForce:
        """Waits for the batch and returns its forces.  May be repeated."""
        results, forces = _results(self._first, self._counts)
        ni = np.diff(self._first).astype(np.int32)
        status = lib.sapporo_force_batch_end(self._handle, len(ni), pointer(ni, "int *"), results)
        status = self._context._check(status)
        warn_if_partial(status == lib.SAPPORO_PARTIAL)
        return forces
