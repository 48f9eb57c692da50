"""Trees: forces and tidal tensors in O(n log n), and neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ._arrays import (
    ArrayLike,
    ScalarOrArray,
    pointer,
    result_array,
    scalars,
    set_column,
    squares,
    takes_old_words,
    vectors,
)
from ._context import SOFTENINGS, Memory, Softening
from ._device import DeviceArray, all_in_device, complete, require
from ._errors import ArgumentError
from ._job import SUMS, Force, Out, warn_if_empty, warn_if_partial
from ._library import (
    Backend,
    Calls,
    Devices,
    Isa,
    Precision,
    choose,
    ffi,
    lib,
    new,
    set_device_options,
    words_of,
)
from ._tree_search import TreeSearches

Kind = Literal["octree", "kdtree"]
Mac = Literal["opening", "multipole", "acceleration"]
Multipoles = Literal[1, 2]
Sum = Literal["acc", "pot"]

KINDS = {"octree": 1, "kdtree": 2}
COLUMNS = {"acc_size": "a", "eps": "h"}  # names of sapporo_tree_particles
CRITERIA = words_of("sapporo_tree_mac", "SAPPORO_MAC_")


class Seconds(NamedTuple):
    """Seconds of the phases: of the last build or refresh, and, for `walk`, of the last force.

    Attributes:
        sort: sorting of the particles.
        link: making of the cells.
        moments: moments of the cells.
        walk: the force.

    Example:
        >>> with sapporo.Tree(2) as tree:
        ...     tree.set([[0.0, 0, 0], [1, 0, 0]], 1.0)
        ...     tree.build()
        ...     tree.statistics().seconds.sort >= 0
        True
    """

    sort: float
    link: float
    moments: float
    walk: float


def tree_options(
    keep: list[Any],
    *,
    kind: Kind | None,
    mac: Mac | None,
    accuracy: float | None,
    error: float | None,
    multipoles: Multipoles,
    eps: float,
    device: dict[str, Any],
    **sizes: Any,
) -> Any:
    """The options of a tree, for trees and steppers.

    device: precision, backend and the other options of set_device_options; sizes: the other members by name; keep: what
    must live as long as the options are used
    """
    options = new("sapporo_tree_options", order=multipoles, eps2=float(squares(eps, "eps")), **sizes)
    options.kind, options.mac = choose("kind", kind, KINDS), choose("mac", mac, CRITERIA)
    if accuracy is not None:
        if not accuracy > 0:
            raise ValueError(f"accuracy is {accuracy}; it must be above 0")
        options.accuracy = accuracy
    if error is not None:
        if not error > 0:
            raise ValueError(f"error is {error}; it must be above 0")
        options.error = error
    set_device_options(options, keep, **device)
    return options


@dataclass(frozen=True)
class TreeStatistics:
    """What a tree is and did.

    Attributes:
        n, cells, leaves, groups: particles of the tree as built, and its parts.
        largest_leaf: particles of the largest leaf.
        depth: level of the deepest cell.
        wide_groups: groups that take double precision whatever was asked for.
        rows, particle_particle, particle_cell: rows and interactions of the last force.
        seconds: times of the phases.
        host_bytes, device_bytes: memory.
        first_interactions: per row, of the first force on at least half of the particles after the last build; 0: none
            yet.
        group_extent: the limit of the present groups; 0: none.
        accuracy: of the criterion, as it was given, or as it was found for an error.

    Example:
        >>> with sapporo.Tree(2) as tree:
        ...     tree.set([[0.0, 0, 0], [1, 0, 0]], 1.0)
        ...     tree.build()
        ...     tree.statistics().n
        2
    """

    n: int
    cells: int
    leaves: int
    groups: int
    largest_leaf: int
    depth: int
    wide_groups: int
    rows: int
    particle_particle: int
    particle_cell: int
    seconds: Seconds
    host_bytes: int
    device_bytes: int
    first_interactions: float
    group_extent: float
    accuracy: float


class Tree(TreeSearches):
    """A tree of at most n particles, which are named by address, 0 to n - 1.

    The order of calls is set, build, then any number of force, neighbours and statistics; after the particles have
    moved, set and refresh, or set and build.

    Arrays are numpy arrays or others in host memory, or arrays in device memory (CuPy, PyTorch, JAX) for a tree on a
    CUDA device: contiguous, of the right type, and all of one call.

    Args:
        n: room for particles.
        kind: "octree", "kdtree"; None: octree.
        mac: multipole acceptance criterion: "opening", "multipole" or "acceleration"; None: acceleration, with an
            accuracy opening.
        accuracy: number of that criterion, smaller is more accurate; None: 0.7, 0.1 or 0.01, by criterion.
        error: instead of accuracy, what 99 % of the relative errors of accelerations and potentials stay below, 1e-9 to
            0.1; the first force finds the accuracy. Below 1e-5 the default precision is "dp".
        multipoles: 1 (masses) or 2 (default; second moments, too).
        eps: softening length; with a spline, of particles and targets that have no length of their own.
        softening: "plummer", or "spline": cubic spline of the larger of both lengths, or "spline-mean": mean of the
            forces with each.
        leaf_size, group_size: most particles of a leaf, of a group; 0: the default.
        group_extent: groups whose box has a longer diagonal at the build are halved; 0: no limit.
        period: edge of a periodic cube with a uniform background (Ewald's sum); 0: space is open.
        precision: "sp" (pair terms in float, sums in double) or "dp"; None: sp.
        backend, devices, preferred_device, cpu_isa, threads, G: as of Context.

    Raises:
        SapporoError: as Context does.

    Example:
        >>> with sapporo.Tree(2, precision="dp") as tree:
        ...     tree.set([[0.0, 0, 0], [2, 0, 0]], mass=[1.0, 4.0])
        ...     tree.build()
        ...     acc = tree.force().acc
        >>> acc[:, 0].round(6)
        array([ 1.  , -0.25])
    """

    _calls = Calls(
        "sapporo_tree",
        lib.sapporo_tree_create,
        lib.sapporo_tree_destroy,
        lib.sapporo_tree_last_error,
        lib.sapporo_tree_kind_text,
        lib.sapporo_tree_get_backend,
    )

    @takes_old_words(eps2="eps", order="multipoles")
    def __init__(
        self,
        n: int,
        *,
        kind: Kind | None = None,
        mac: Mac | None = None,
        accuracy: float | None = None,
        multipoles: Multipoles = 2,
        eps: float = 0.0,
        softening: Softening = "plummer",
        leaf_size: int = 0,
        group_size: int = 0,
        group_extent: float = 0.0,
        precision: Precision | None = None,
        backend: Backend | None = None,
        devices: Devices | None = None,
        preferred_device: int = 0,
        cpu_isa: Isa | None = None,
        threads: int = 0,
        G: float = 1.0,
        error: float | None = None,
        period: float = 0.0,
    ) -> None:
        """Makes room for n particles."""
        keep: list[Any] = []
        options = tree_options(
            keep,
            kind=kind,
            mac=mac,
            accuracy=accuracy,
            error=error,
            multipoles=multipoles,
            eps=eps,
            leaf_size=leaf_size,
            group_size=group_size,
            group_extent=group_extent,
            period=period,
            softening=choose("softening", softening, SOFTENINGS),
            device={
                "precision": precision,
                "backend": backend,
                "devices": devices,
                "preferred_device": preferred_device,
                "cpu_isa": cpu_isa,
                "threads": threads,
                "G": G,
            },
        )
        device = ffi.new("size_t *")
        host = lib.sapporo_tree_memory_needed(options, n, device)
        self._memory = Memory(int(host), int(device[0]))
        super().__init__(options, n)
        self._given = 0
        self._built = 0
        self._has_masses = False

    def _contents(self) -> str:
        return f"{self.kind}, n {self._built}"

    @property
    def memory_needed(self) -> Memory:
        """Bytes that a tree of n particles takes at most, but for what its threads need while they walk."""
        return self._memory

    # ---- particles

    @takes_old_words(a="acc_size", h="eps")
    def set(self, x: Any, mass: Any = None, *, acc_size: Any = None, eps: Any = None) -> None:
        """Takes all particles, by copy.  The tree stays as it is until the next build or refresh.

        Args:
            x: (n, 3): positions.
            mass: (n,), in host memory also one number; absent: as before.  Forces need masses, neighbours do not.
            acc_size: (n,): size of the acceleration, for mac="acceleration"; absent: of the last force.
            eps: (n,), in host memory also one number: softening lengths; absent: as before, at first of a spline that
                of the tree, else none beside it.

        Raises:
            NotFiniteError: names the first particle that is NaN or infinite; then nothing was taken.
            ArgumentError: there are more particles than the tree has room for, or an argument is out of range.
        """
        given = {"x": x, "mass": mass, "acc_size": acc_size, "eps": eps}
        given = {name: value for name, value in given.items() if value is not None}
        columns = all_in_device(given)
        particles = new("sapporo_tree_particles")
        keep: list[Any] = [columns]
        if columns is None:
            positions = vectors(x, "x")
            particles.n = len(positions)
            keep.append(positions)
            set_column(particles.x, positions)
            for name in given.keys() - {"x"}:
                keep.append(scalars(given[name], name, particles.n))
                set_column(getattr(particles, COLUMNS.get(name, name)), keep[-1])
        else:
            particles.n = columns["x"].shape[0] if columns["x"].shape else 0
            particles.memory = lib.SAPPORO_MEMORY_DEVICE
            for name, array in columns.items():
                require(array, name, (None, 3) if name == "x" else (particles.n,), np.float64)
                getattr(particles, COLUMNS.get(name, name)).base = ffi.cast("void *", array.address)
            complete(columns, self.backend)
        self._check(lib.sapporo_tree_set(self._handle, particles))
        self._given = int(particles.n)
        self._has_masses = self._has_masses or mass is not None

    def build(self) -> None:
        """Makes a new tree of the particles set last.

        Raises:
            SapporoError: there are no particles, the tree is closed, or memory is short.
        """
        self._check(lib.sapporo_tree_build(self._handle))
        self._built = self._given

    def refresh(self) -> None:
        """Keeps the cells and their particles, and makes moments anew from the particles set last.

        Cheaper than build, and good while particles have moved little.

        Raises:
            ArgumentError: there is no tree of so many particles.
        """
        self._check(lib.sapporo_tree_refresh(self._handle))
        self._built = self._given

    def refresh_or_build(self, factor: float = 1.15) -> bool:
        """Refreshes the tree while its forces are cheap, else builds a new one.

        Call it once per step.  A build follows if the interactions per target particle of the last force exceed
        `factor` times those of the cheapest force since the last build, or if the number of particles has changed.
        Only forces on at least half of the particles count.

        A build is for a later time, extrapolated from the positions of the last three calls, so the energy of a run
        does not drift.  The first call takes 48 bytes per particle more.

        Args:
            factor: at least 1.

        Returns:
            Whether the tree was built.

        Raises:
            ArgumentError: the factor is below 1, or there are no particles.
        """
        built = ffi.new("int *")
        self._check(lib.sapporo_tree_refresh_or_build(self._handle, factor, built))
        self._built = self._given
        return bool(built[0])

    # ---- forces and neighbours

    @takes_old_words(x="targets", h="eps")
    def force(
        self,
        active: Any = None,
        *,
        targets: ArrayLike | None = None,
        eps: ScalarOrArray | None = None,
        want: Sequence[Sum] = ("acc", "pot"),
        out: Out = None,
    ) -> Force:
        """Acceleration and potential of the tree as it was built or refreshed last.

        Args:
            active: (ni,) of whole numbers: addresses of particles, in any order; absent: all.  A particle does not act
                on itself.
            targets: (ni, 3): instead, any positions; every particle acts on them that is not at zero softened distance.
            eps: (ni,) or one number: lengths of these positions, if particles have lengths; absent: with a spline that
                of the tree, else none beside it.
            want: "acc", "pot" or both.
            out: arrays for the results by name, as of Context.force.  If `active` or `out` is in device memory, all
                arrays must be, and `out` must hold every result that is wanted.

        Returns:
            The results, one row per target.

        Raises:
            ArgumentError: the particles were set without masses, or an argument is out of range.
            SapporoError: as Context.force does.

        Warns:
            PartialWarning: targets are not finite or too far away; their rows are NaN.
            EmptyWarning: the tree has no particles.
        """
        self._check_sources(active, targets, eps)
        names = [name for name in SUMS[2] if name in want]
        if set(want) - set(names) or isinstance(want, str):
            raise ValueError(f"want is {want!r}; it may hold {', '.join(map(repr, SUMS[2]))}")
        for name in out or {}:
            if name not in names:
                raise ValueError(f"out has {name!r}; this force has {', '.join(names)}")
        given = dict(out or {}, **({} if active is None else {"active": active}))
        arrays = all_in_device(given)
        request = new("sapporo_tree_request")
        if arrays is None:
            return self._force_on_host(request, active, targets, eps, names, out or {})
        if targets is not None:
            raise TypeError("targets must be in host memory, and out, too")
        missing = [name for name in names if name not in arrays]
        if missing:
            raise TypeError(f"active is in device memory, so out must hold arrays for {' and '.join(missing)}")
        return self._force_on_device(request, arrays, names, given)

    def _force_on_host(self, request: Any, active: Any, targets: Any, eps: Any, names: list[str], out: Any) -> Force:
        keep: list[Any] = []
        ni = self._rows_on_host(request, active, targets, eps, keep)
        rows = {k: result_array(out.get(k), k, (ni, 3) if k == "acc" else (ni,), np.float64) for k in names}
        return self._walk(request, rows, {name: pointer(array) for name, array in rows.items()})

    def _force_on_device(self, request: Any, arrays: dict[str, DeviceArray], names: list[str], given: Any) -> Force:
        ni = self._rows_on_device(request, arrays)
        for name in names:
            require(arrays[name], f"out of {name}", (ni, 3) if name == "acc" else (ni,), np.float64, writable=True)
        complete(arrays, self.backend)
        return self._walk(request, {k: given[k] for k in names}, {k: arrays[k].address for k in names})

    def _walk(self, request: Any, rows: dict[str, Any], to: dict[str, Any]) -> Force:
        acc = ffi.cast("double (*)[3]", to["acc"]) if "acc" in to else ffi.NULL
        pot = ffi.cast("double *", to["pot"]) if "pot" in to else ffi.NULL
        status = self._check(lib.sapporo_tree_force(self._handle, request, acc, pot))
        warn_if_partial(status == lib.SAPPORO_PARTIAL)
        return Force(rows, status == lib.SAPPORO_PARTIAL)

    def tidal(
        self,
        active: Any = None,
        *,
        targets: ArrayLike | None = None,
        eps: ScalarOrArray | None = None,
        out: Any = None,
    ) -> Any:
        """Tidal tensors: derivatives of the acceleration by position, d a_i / d x_j, from the whole tree.

        Args:
            active: (ni,) of whole numbers: addresses of particles, in any order; absent: all.  A particle does not act
                on itself.
            targets: (ni, 3): instead, any positions.
            eps: (ni,) or one number: lengths of these positions, as of force.
            out: (ni, 6) of float64 for the results.  If `active` or `out` is in device memory, both are.

        Returns:
            (ni, 6): xx, xy, xz, yy, yz, zz of each target; `out`, if it was given.

        Raises:
            ArgumentError: the particles were set without masses, or an argument is out of range.
            SapporoError: as Context.force does.

        Warns:
            PartialWarning: targets are not finite or too far away; their rows are NaN.
            EmptyWarning: the tree has no particles.

        Example:
            >>> with sapporo.Tree(2) as tree:
            ...     tree.set([[0.0, 0, 0], [1, 0, 0]], 1.0)
            ...     tree.build()
            ...     tree.tidal()[0].tolist()
            [2.0, 0.0, 0.0, -1.0, 0.0, -1.0]
        """
        self._check_sources(active, targets, eps)
        given = {name: array for name, array in (("out", out), ("active", active)) if array is not None}
        arrays = all_in_device(given)
        request = new("sapporo_tree_request")
        keep: list[Any] = []
        if arrays is None:
            ni = self._rows_on_host(request, active, targets, eps, keep)
            tensors = result_array(out, "tensors", (ni, 6), np.float64)
            to = pointer(tensors)
        else:
            if targets is not None:
                raise TypeError("targets must be in host memory, and out, too")
            if "out" not in arrays:
                raise TypeError("active is in device memory, so out must be an array there")
            ni = self._rows_on_device(request, arrays)
            require(arrays["out"], "out", (ni, 6), np.float64, writable=True)
            complete(arrays, self.backend)
            tensors, to = out, arrays["out"].address
        status = self._check(lib.sapporo_tree_tidal(self._handle, request, ffi.cast("double (*)[6]", to)))
        warn_if_partial(status == lib.SAPPORO_PARTIAL)
        return tensors

    def _check_sources(self, active: Any, targets: Any, eps: Any) -> None:
        """Raises if targets are named twice, or if particles have no masses; warns if there are no particles."""
        if targets is not None and active is not None:
            raise ValueError("either active or targets may be given")
        if eps is not None and targets is None:
            raise ValueError("eps without targets: particles of the tree have their own lengths")
        if self._built > 0 and not self._has_masses:
            raise ArgumentError("the particles were set without mass; mass=0 is for particles that exert no force")
        warn_if_empty(self._built == 0 and targets is not None and not self.closed, "the tree")

    def statistics(self) -> TreeStatistics:
        """What the tree is, and what its last build and force did.

        Returns:
            The numbers.

        Raises:
            ClosedError: the tree is closed.
        """
        s = new("sapporo_tree_statistics")
        self._check(lib.sapporo_tree_get_statistics(self._handle, s))
        numbers = {name: getattr(s, name) for name in TreeStatistics.__dataclass_fields__ if name != "seconds"}
        return TreeStatistics(**numbers, seconds=Seconds(*(s.seconds[k] for k in range(len(Seconds._fields)))))
