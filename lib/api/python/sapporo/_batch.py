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
    squares,
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

    Counts of neighbours are those of distances in double, in every precision.

    Args:
        targets: (ni, 3): positions of the targets.
        address: (nj,) of whole numbers: addresses of the sources in the context; or own sources instead:
        x: (nj, 3): positions of own sources.
        mass: (nj,) or one number: masses of own sources, which must be given, unless there are quad_j or h2_j.
        eps: softening length, common.
        eps_i: (ni,) or one number: softening length of each target; its square is added to that of `eps`.
        eps_j: (nj,) or one number: softening length of each own source.
        quad_j: (nj, 6): second moments of each source: sums of m x x, m y y, m z z, m x y, m x z, m y z, trace not
            removed; with addresses a row per address.
        h2_i, h2_j: (ni,), (nj,) or one number: squared radii of targets and sources, for counts of neighbours; with
            addresses h2_j has an element per address.
        floor2: squared floor of the softened distance.
        floor2_i, floor2_j: (ni,), (nj,) or one number: squared floors of targets and sources; the largest of the three
            counts; with addresses floor2_j has an element per address.

    Example:
        >>> small = sapporo.SmallForce([[0.0, 0, 0]], x=[[2.0, 0, 0]], mass=4.0)
        >>> with sapporo.Context(order=2) as context:
        ...     context.force_batch([small, small]).acc[:, 0]
        array([1., 1.])
    """

    targets: ArrayLike
    address: ArrayLike | None = None
    x: ArrayLike | None = None
    mass: ScalarOrArray | None = None
    eps: float = 0.0
    eps_i: ScalarOrArray | None = None
    eps_j: ScalarOrArray | None = None
    quad_j: ArrayLike | None = None
    h2_i: ScalarOrArray | None = None
    h2_j: ScalarOrArray | None = None
    floor2: float = 0.0
    floor2_i: ScalarOrArray | None = None
    floor2_j: ScalarOrArray | None = None

    __repr__ = shown


@dataclass(frozen=True, repr=False)
class BatchForce:
    """Results of a batch: rows of all forces, one force behind the other.

    Attributes:
        acc: (rows, 3): accelerations.
        pot: (rows,): potentials.
        first: row at which each force begins, and one behind the last row.
        count: (rows,) of int32: sources within the larger of both radii; None where no force has radii.

    Example:
        >>> small = [sapporo.SmallForce(np.zeros((n, 3)), x=[[2.0, 0, 0]], mass=4.0) for n in (1, 2)]
        >>> with sapporo.Context(order=2) as context:
        ...     forces = context.force_batch(small)
        >>> acc, pot = forces[1]
        >>> forces.first.tolist(), pot
        ([0, 1, 3], array([-2., -2.]))
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
    sources = force.x if force.address is None else force.address
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
    small.eps2 = float(squares(force.eps, "eps"))

    def put(column: Any, array: Any) -> None:
        keep.append(array)
        set_column(column, array)

    targets = vectors(force.targets, "targets")
    ni = small.ni = len(targets)
    put(small.x, targets)
    if force.eps_i is not None:
        put(small.eps2_i, scalars(squares(force.eps_i, "eps_i"), "eps_i", ni))
    _fill_more(small, force, ni, put)
    if force.address is not None:
        if any(own is not None for own in (force.x, force.mass, force.eps_j)):
            raise ValueError("a small force has either address or sources of its own")
        at = indices(force.address, "address")
        keep.append(at)
        small.address, small.nj = pointer(at, "int *"), len(at)
    elif force.x is None:
        raise ValueError("a small force needs address or x")
    else:
        x = vectors(force.x, "x")
        small.nj = len(x)
        put(small.x_j, x)
        if force.mass is None and len(x) > 0 and force.quad_j is None and force.h2_j is None:
            raise ArgumentError("a small force has x and no mass; mass=0 is for sources that exert no force")
        if force.mass is not None:
            put(small.mass_j, scalars(force.mass, "mass", len(x)))
        if force.eps_j is not None:
            put(small.eps2_j, scalars(squares(force.eps_j, "eps_j"), "eps_j", len(x)))
    return ni


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
    """A batch of small forces under way (Context.begin_batch).

    Closing it frees it; closing its context does, too.

    Example:
        >>> small = sapporo.SmallForce([[0.0, 0, 0]], x=[[2.0, 0, 0]], mass=4.0)
        >>> with sapporo.Context(order=2) as context, context.begin_batch([small]) as batch:
        ...     batch.result().pot
        array([-2.])
    """

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
        """Waits for the batch.  May be repeated.

        Returns:
            The forces.

        Raises:
            SapporoError: the batch or its context is closed, or a device failed.
        """
        results, forces = _results(self._first, self._counts)
        ni = np.diff(self._first).astype(np.int32)
        status = lib.sapporo_force_batch_end(self._handle, len(ni), pointer(ni, "int *"), results)
        status = self._context._check(status)
        warn_if_partial(status == lib.SAPPORO_PARTIAL)
        return forces
