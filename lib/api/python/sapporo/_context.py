"""Contexts: particles, and forces from direct sums."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ._arrays import (
    ArrayLike,
    Floats,
    Ints,
    ScalarOrArray,
    host_array,
    indices,
    pointer,
    scalars,
    set_column,
    shown,
    squares,
    takes_old_words,
    vectors,
)
from ._batch import Batch, BatchForce, SmallForce, begin_batch, compute_batch
from ._device import all_in_device, complete, device_array, require
from ._errors import ArgumentError, NotFiniteError, OutOfMemoryError
from ._job import NEAREST, SUMS, Force, Job, NeighbourLists, Out, result_struct, warn_if_empty, warn_if_partial
from ._library import (
    PRECISIONS,
    ROOTS,
    Backend,
    Calls,
    Devices,
    Isa,
    Owner,
    Precision,
    Root,
    choose,
    ffi,
    lib,
    new,
    set_device_options,
    word_of,
)

Order = Literal[2, 4, 6, 8]
Pairs = Literal["all", "outside"]
Softening = Literal["plummer", "spline", "spline-mean"]

DERIVATIVES = ("x", "v", "acc", "jerk", "snap", "crackle", "pop", "dpop")
PAIRS = {"all": 0, "outside": 1}
SOFTENINGS = {"plummer": 0, "spline": 1, "spline-mean": 2}

# sapporo_particle, which never grows.
_PARTICLE = np.dtype(
    [("derivative", "f8", (8, 3)), ("mass", "f8"), ("time", "f8"), ("eps2", "f8"), ("index", "i4")], align=True
)


class Memory(NamedTuple):
    """Bytes of memory.

    Attributes:
        host: bytes of host memory.
        device: bytes of device memory.

    Example:
        >>> with sapporo.Context(backend="cpu") as context:
        ...     context.memory_needed(0)
        Memory(host=0, device=0)
    """

    host: int
    device: int


@dataclass(frozen=True, repr=False)
class Particles:
    """j-particles that were read back by Context.get_particles, one row each.

    Attributes:
        derivative: (n, 8, 3): position, velocity, acceleration, jerk, snap, and further ones, 0 where the order has
            none.
        mass: (n,): masses.
        time: (n,): times of the derivatives.
        eps: (n,): softening lengths as sources.
        index: (n,) of int32: labels.

    Example:
        >>> with sapporo.Context() as context:
        ...     context.set_particles([[1.0, 2, 3]], 1.0, eps=0.5)
        ...     row = context.get_particles()
        >>> row.x.tolist(), row.eps.tolist()
        ([[1.0, 2.0, 3.0]], [0.5])
    """

    derivative: Floats
    mass: Floats
    time: Floats
    eps: Floats
    index: Ints

    __repr__ = shown

    @property
    def x(self) -> Floats:
        """Positions, (n, 3)."""
        return self.derivative[:, 0]

    @property
    def v(self) -> Floats:
        """Velocities, (n, 3)."""
        return self.derivative[:, 1]


class Context(Owner):
    """A context: j-particles by address, their time, and forces from direct sums.

    A context is used in `with`, or closed by close().

    Args:
        order: 2 (acceleration, potential), 4 (default: also jerk), 6 (snap), 8 (crackle).
        precision: "sp", "ds", "dp"; None: SAPPORO_PRECISION, or "ds", or "dp" for fewer than 1,024 j-particles and in
            orders 6 and 8.
        backend: "auto", "cuda", "hip", "opencl", "cpu"; None: SAPPORO_BACKEND, or the first that has a device.
        devices: device numbers of the backend, or "all"; None: SAPPORO_DEVICES, or one device.
        preferred_device: where one device is used, this number modulo the number of devices.
        cpu_isa: "scalar", "sse2", "avx2", "avx512", "neon"; None: the widest of this machine.
        threads: threads of the CPU engine; 0: OMP_NUM_THREADS, or all cores granted.
        root: "full", "fast" (order 2 in sp on CPUs); None: SAPPORO_ROOT, or "full".
        G: gravitational constant in the units of the particles, from 1e-100 to 1e100: 4.30091e-3 for solar masses, pc
            and km/s.  It multiplies potentials, accelerations and their derivatives.

    Raises:
        ArgumentError: an option is out of range.
        UnsupportedError: this build or engine has no such feature.
        DeviceError: there is no such device.
        OutOfMemoryError: there is too little memory.

    Example:
        >>> x, mass = [[0.0, 0, 0], [2, 0, 0]], [1.0, 4.0]
        >>> with sapporo.Context(order=2) as context:
        ...     context.set_particles(x, mass)
        ...     force = context.force(x, index=[0, 1])
        >>> force.acc[:, 0], force.pot
        (array([ 1.  , -0.25]), array([-2. , -0.5]))
    """

    _calls = Calls(
        "sapporo",
        lib.sapporo_open,
        lib.sapporo_close,
        lib.sapporo_last_error,
        lib.sapporo_kind,
        lib.sapporo_get_backend,
    )

    def __init__(
        self,
        *,
        order: Order = 4,
        precision: Precision | None = None,
        backend: Backend | None = None,
        devices: Devices | None = None,
        preferred_device: int = 0,
        cpu_isa: Isa | None = None,
        threads: int = 0,
        root: Root | None = None,
        G: float = 1.0,
    ) -> None:
        """Opens a context."""
        keep: list[Any] = []
        options = new("sapporo_options", order=order)
        options.root = choose("root", root, ROOTS)
        set_device_options(
            options,
            keep,
            precision=precision,
            backend=backend,
            devices=devices,
            preferred_device=preferred_device,
            cpu_isa=cpu_isa,
            threads=threads,
            G=G,
        )
        super().__init__(options)
        self._order: Order = order or 4
        self._time = 0.0
        self._nj = 0
        self._counting = threading.Lock()
        self._kept: Ints | None = None

    def _contents(self) -> str:
        return f"{self.kind}, n {self.nj}, order {self.order}"

    # ---- what was chosen

    @property
    def order(self) -> Order:
        """Order of the integrator that the context serves: 2, 4, 6 or 8."""
        return self._order

    @property
    def precision(self) -> str:
        """The precision: "sp", "ds" or "dp"; "" of a closed context."""
        return word_of(lib.sapporo_get_precision(self._handle), PRECISIONS)

    @property
    def threads(self) -> int:
        """CPU threads that a large force may use."""
        return int(lib.sapporo_get_threads(self._handle))

    def memory_needed(self, nj: int) -> Memory:
        """Bytes that some number of j-particles need.

        Args:
            nj: the number of j-particles.

        Returns:
            Bytes of host memory and of device memory.
        """
        device = ffi.new("size_t *")
        host = lib.sapporo_memory_needed(self._handle, nj, device)
        return Memory(int(host), int(device[0]))

    # ---- j-particles

    @property
    def nj(self) -> int:
        """One more than the highest address in use: the number of sources of a force by default."""
        return self._nj

    @property
    def time(self) -> float:
        """The time to which j-particles are predicted in forces that begin from now on; 0 after opening."""
        return self._time

    @time.setter
    def time(self, time: float) -> None:
        self._check(lib.sapporo_set_time(self._handle, time))
        self._time = float(time)

    @takes_old_words(eps2="eps")
    def set_particles(
        self,
        x: ArrayLike,
        mass: ScalarOrArray | None = None,
        v: ArrayLike | None = None,
        *,
        first: int = 0,
        address: ArrayLike | None = None,
        acc: ArrayLike | None = None,
        jerk: ArrayLike | None = None,
        snap: ArrayLike | None = None,
        crackle: ArrayLike | None = None,
        pop: ArrayLike | None = None,
        dpop: ArrayLike | None = None,
        time: ScalarOrArray | None = None,
        eps: ScalarOrArray | None = None,
        index: ArrayLike | None = None,
    ) -> None:
        """Stores n j-particles at the addresses first, first + 1, ... or at those of `address`.

        The library copies all data before the call returns.  Arrays may be in device memory, without eps and address.

        Args:
            x: (n, 3): positions.
            mass: (n,) or one number; must be given: particles without mass exert no force, which mass=0 says.
            v, acc, jerk, snap, crackle, pop, dpop: (n, 3): velocity and further derivatives, without factors; absent:
                0.
            first: the first address.
            address: (n,) of whole numbers, in place of `first`; runs of consecutive addresses are stored at once.
            time: (n,) or one number: time of the derivatives; absent: 0.
            eps: (n,) or one number: softening length as a source; its square is added to that of the target; absent: 0.
            index: (n,) of whole numbers: labels; absent: the addresses.

        Raises:
            ArgumentError: an argument is out of range, or the mass is missing.
            NotFiniteError: data are NaN or infinite; the particles are stored all the same, so that forces show it.
            OutOfMemoryError: particles are lost.
        """
        if device_array(x, "x") is not None:
            if eps is not None or address is not None:
                raise TypeError("x is in device memory; eps and address are for arrays in host memory")
            moving = dict(zip(DERIVATIVES, (x, v, acc, jerk, snap, crackle, pop, dpop)))
            self._set_on_device(dict(moving, mass=mass, time=time, index=index), first)
            return
        derivatives: dict[str, Floats] = {"x": vectors(x, "x")}
        n = len(derivatives["x"])
        if mass is None and n > 0:
            raise ArgumentError("set_particles: mass is missing; mass=0 is for particles that exert no force")
        for name, value in zip(DERIVATIVES[1:], (v, acc, jerk, snap, crackle, pop, dpop)):
            if value is not None:
                derivatives[name] = vectors(value, name, n)
        columns: dict[str, Any] = {}
        eps2 = None if eps is None else squares(eps, "eps")
        for name, value in (("mass", mass), ("time", time), ("eps2", eps2)):
            if value is not None:
                columns[name] = scalars(value, name, n)
        if index is not None:
            columns["index"] = scalars(index, "index", n, np.int32)
        if address is None:
            runs = [(0, n, first)] if n > 0 else []
        elif first != 0:
            raise ValueError("either first or address may be given")
        else:
            runs = _runs(indices(address, "address", n))
        self._store(runs, derivatives, columns)

    def _set_on_device(self, given: dict[str, Any], first: int) -> None:
        """Stores particles whose arrays are all in device memory."""
        if given["mass"] is None:
            raise ArgumentError("set_particles: mass is missing; particles that exert no force have masses of 0")
        particles = new("sapporo_particles", memory=lib.SAPPORO_MEMORY_DEVICE)
        columns = {name: particles.derivative[k] for k, name in enumerate(DERIVATIVES)}
        columns.update({name: getattr(particles, name) for name in ("mass", "time", "index")})
        n = _take_from_device(given, columns, "x", self.backend)
        try:
            self._check(lib.sapporo_set_particles(self._handle, first, n, particles))
        except (NotFiniteError, OutOfMemoryError):
            self._count(first + n)
            raise
        self._count(first + n)

    def _store(self, runs: list[tuple[int, int, int]], derivatives: dict[str, Floats], columns: dict[str, Any]) -> None:
        """Stores runs of rows of the columns.  Data that are not finite are stored, and told when all are stored."""
        particles = new("sapporo_particles")
        filled = [(particles.derivative[DERIVATIVES.index(name)], array) for name, array in derivatives.items()]
        filled += [(getattr(particles, name), array) for name, array in columns.items()]
        for column, array in filled:
            set_column(column, array)
        bases = [(column, ffi.cast("char *", column.base), array.strides[0]) for column, array in filled]
        not_finite: NotFiniteError | None = None
        for start, end, to in runs:
            for column, base, step in bases:
                column.base = base + start * step
            try:
                self._check(lib.sapporo_set_particles(self._handle, to, end - start, particles))
            except NotFiniteError as error:
                not_finite = not_finite or error
            except OutOfMemoryError:
                self._count(to + end - start)  # forces fail for lost particles
                raise
            self._count(to + end - start)
        if not_finite is not None:
            raise not_finite

    def _count(self, nj: int) -> None:
        """Raises nj, also if other threads store particles at the same time."""
        with self._counting:
            self._nj = max(self._nj, nj)

    def get_particles(self, address: ArrayLike | None = None, *, predicted: bool = False) -> Particles:
        """Reads back the j-particles at some addresses.

        Args:
            address: addresses; absent: 0 to nj - 1.
            predicted: position and velocity (in order 6 the acceleration, too; in order 8 the jerk, too) at `time`.

        Returns:
            The particles, one row each.

        Raises:
            ArgumentError: an address is empty.
            OutOfMemoryError: the particle was lost.
        """
        at = np.arange(self._nj, dtype=np.int32) if address is None else indices(np.atleast_1d(address), "address")
        rows = np.empty(len(at), dtype=_PARTICLE)
        for k, number in enumerate(at.tolist()):
            to = ffi.cast("sapporo_particle *", rows.__array_interface__["data"][0] + k * rows.itemsize)
            self._check(lib.sapporo_get_particle(self._handle, number, int(predicted), to))
        return Particles(rows["derivative"], rows["mass"], rows["time"], np.sqrt(rows["eps2"]), rows["index"])

    def clear(self) -> None:
        """Empties all addresses.

        Raises:
            ClosedError: the context is closed.
        """
        self._check(lib.sapporo_clear_particles(self._handle))
        self._nj = 0

    # ---- forces

    @takes_old_words(x="targets", eps2="eps", eps2_i="eps_i")
    def begin(
        self,
        targets: ArrayLike,
        *,
        v: ArrayLike | None = None,
        acc: ArrayLike | None = None,
        jerk: ArrayLike | None = None,
        index: ArrayLike | None = None,
        nj: int | None = None,
        eps: float = 0.0,
        eps_i: ScalarOrArray | None = None,
        pairs: Pairs = "all",
        nearest: bool = False,
        lists: bool = False,
        h2: ScalarOrArray | None = None,
        h2_by_mass: bool = False,
        dtr: ScalarOrArray | None = None,
        softening: Softening = "plummer",
    ) -> Job:
        """Starts a force on ni i-particles; Job.result waits for it.

        Args:
            targets, v, acc, jerk, index, nj, eps, eps_i, pairs, h2, h2_by_mass, dtr, softening: as of force().
            nearest, lists: hints that these results will be asked for.

        Returns:
            The force under way.

        Raises:
            SapporoError: as force() does.
        """
        request = new("sapporo_request", nj=self._nj if nj is None else nj, eps2=float(squares(eps, "eps")))
        keep: list[Any] = []
        if device_array(targets, "targets") is not None:
            if not (eps_i is None and h2 is None and dtr is None):
                raise TypeError("targets are in device memory; eps_i, h2 and dtr are for arrays in host memory")
            columns = {"targets": request.x, "v": request.v, "acc": request.a, "jerk": request.jerk}
            columns["index"] = request.index
            given = {"targets": targets, "v": v, "acc": acc, "jerk": jerk, "index": index}
            request.ni = _take_from_device(given, columns, "targets", self.backend)
            request.memory = lib.SAPPORO_MEMORY_DEVICE
            v = acc = jerk = index = None
        else:
            keep.append(vectors(targets, "targets"))
            request.ni = len(keep[0])
            set_column(request.x, keep[0])
        ni = int(request.ni)
        for column, name, value in ((request.v, "v", v), (request.a, "acc", acc), (request.jerk, "jerk", jerk)):
            if value is not None:
                keep.append(vectors(value, name, ni))
                set_column(column, keep[-1])
        eps2_i = None if eps_i is None else squares(eps_i, "eps_i")
        regular = new("sapporo_regular", h2_by_mass=int(h2_by_mass))
        for struct, name, value in ((request, "eps2_i", eps2_i), (request, "h2", h2), (regular, "dtr", dtr)):
            if value is not None:
                keep.append(scalars(value, name, ni))
                set_column(getattr(struct, name), keep[-1])
        if index is not None:
            keep.append(scalars(index, "index", ni, np.int32))
            set_column(request.index, keep[-1])
        request.pairs = choose("pairs", pairs, PAIRS)
        request.want = (lib.SAPPORO_WANT_NEAREST if nearest else 0) | (lib.SAPPORO_WANT_LISTS if lists else 0)
        request.want |= lib.SAPPORO_ALLOW_EMPTY  # nj = 0 was asked for, or warned of
        if h2_by_mass or dtr is not None:
            request.regular = regular
        request.softening = choose("softening", softening, SOFTENINGS)
        job = ffi.new("sapporo_job **")
        self._check(lib.sapporo_force_begin(self._handle, request, job))
        begun = Job(self, job[0], ni)
        warn_if_empty(nj is None and self._nj == 0 and ni > 0, "the context")
        return begun

    @takes_old_words(x="targets", eps2="eps", eps2_i="eps_i")
    def force(
        self,
        targets: ArrayLike,
        *,
        v: ArrayLike | None = None,
        acc: ArrayLike | None = None,
        jerk: ArrayLike | None = None,
        index: ArrayLike | None = None,
        nj: int | None = None,
        eps: float = 0.0,
        eps_i: ScalarOrArray | None = None,
        pairs: Pairs = "all",
        nearest: bool = False,
        lists: bool = False,
        h2: ScalarOrArray | None = None,
        h2_by_mass: bool = False,
        dtr: ScalarOrArray | None = None,
        softening: Softening = "plummer",
        out: Out = None,
    ) -> Force:
        """The force of the j-particles at addresses 0 to nj - 1, predicted to `time`, on ni i-particles.

        Other Python threads run meanwhile.

        Args:
            targets: (ni, 3): positions, taken as given; in device memory, so are v, acc, jerk and index, and eps_i, h2
                and dtr are absent.
            v, acc, jerk: (ni, 3): velocities; accelerations, for orders 6 and 8; jerks, for order 8; absent: 0.
            index: (ni,) of whole numbers: pairs of equal index are skipped.  Without indices a particle that is target
                and source acts on itself, which adds -m/R to its potential.
            nj: number of addresses that take part; absent: all.
            eps: softening length.
            eps_i: (ni,) or one number: softening length of each i-particle; its square is added to that of `eps`;
                absent: 0.
            pairs: "all", or "outside": j-particles in the neighbour sphere make the list and leave the sums (order 4).
            nearest, lists: also the nearest neighbours, also the neighbour lists.
            h2: (ni,) or one number: squared radius of the neighbour sphere.
            h2_by_mass: with pairs="outside": h2 is multiplied by the mass of j.
            dtr: (ni,) or one number: with pairs="outside": time ahead at which distances are looked at, too.
            softening: "plummer", or in order 2 "spline": cubic spline of the larger of both lengths, or "spline-mean":
                mean of the forces with both lengths; beyond the length, the root of the sum of squares, forces are
                Newton's.
            out: arrays by the names of results, which the library writes in place of new ones: C-contiguous, of
                float64; in host memory, or for all results in device memory.

        Returns:
            The results, one row per target.

        Raises:
            ArgumentError: an argument is out of range.
            UnsupportedError: this order or engine has no such feature.
            NotFiniteError: a j-particle is NaN or infinite.
            OutOfMemoryError: there is too little memory, or a particle was lost.
            DeviceError: a device failed.

        Warns:
            PartialWarning: i-particles are not finite; their rows are NaN.
            EmptyWarning: the context has no particles, and nj is absent.
        """
        with self.begin(
            targets,
            v=v,
            acc=acc,
            jerk=jerk,
            index=index,
            nj=nj,
            eps=eps,
            eps_i=eps_i,
            pairs=pairs,
            nearest=nearest,
            lists=lists,
            h2=h2,
            h2_by_mass=h2_by_mass,
            dtr=dtr,
            softening=softening,
        ) as job:
            return job.result(nearest=nearest, lists=lists, out=out)

    @takes_old_words(eps2="eps")
    def neighbour_force(
        self,
        active: ArrayLike,
        neighbours: NeighbourLists | Sequence[ArrayLike],
        *,
        eps: float = 0.0,
        nearest: bool = False,
        out: Out = None,
    ) -> Force:
        """Forces on particles of the context, each from its own list of neighbours (order 4).

        Positions and velocities of targets and sources are predicted to `time`.

        Args:
            active: (ni,) of whole numbers: addresses of the targets.
            neighbours: addresses of the sources of each target, in any order; a source of the target's index is
                skipped.
            eps: softening length.
            nearest: also the nearest neighbours.
            out: arrays for the results by name, as of force().

        Returns:
            The results, one row per target.

        Raises:
            ValueError: the number of lists is not that of targets.
            SapporoError: as force() does.

        Warns:
            PartialWarning: targets are not finite or empty; their rows are NaN.
        """
        at = indices(active, "active")
        named = neighbours if isinstance(neighbours, NeighbourLists) else NeighbourLists.of(neighbours)
        if len(named) != len(at):
            raise ValueError(f"{len(named)} lists for {len(at)} targets")
        entries = np.ascontiguousarray(named.entries, dtype=np.int32)
        starts = (entries.__array_interface__["data"][0] + 4 * named.first[:-1]).astype(np.uintp)
        lengths = np.ascontiguousarray(named.lengths, dtype=np.int32)
        request = new("sapporo_neighbour_request", ni=len(at), eps2=float(squares(eps, "eps")))
        request.address = pointer(at, "int *")
        request.list = pointer(starts, "int **")
        request.length = pointer(lengths, "int *")
        rows, result = result_struct(len(at), SUMS[4] + (NEAREST if nearest else ()), out)
        status = self._check(lib.sapporo_neighbour_force(self._handle, request, result))
        warn_if_partial(status == lib.SAPPORO_PARTIAL)
        return Force(rows, status == lib.SAPPORO_PARTIAL)

    def force_batch(self, forces: Sequence[SmallForce]) -> BatchForce:
        """Many small independent forces in one call (order 2): acceleration and potential of each.

        Args:
            forces: the targets and sources of each.

        Returns:
            The results, one force behind the other.

        Raises:
            ArgumentError: an argument is out of range; nothing was computed.
            SapporoError: as force() does.

        Warns:
            PartialWarning: i-particles are not finite; their rows are NaN.
        """
        found, status = compute_batch(self._handle, forces)
        self._check(status)
        warn_if_partial(status == lib.SAPPORO_PARTIAL)
        return found

    def begin_batch(self, forces: Sequence[SmallForce]) -> Batch:
        """Begins a batch of small forces; Batch.result() waits for it.

        All arrays are copied before this returns, and several batches may be under way.  The CPU engine computes here.

        Args:
            forces: as of force_batch().

        Returns:
            The batch under way.
        """
        return begin_batch(self, self._handle, forces)

    def keep_addresses(self, address: npt.NDArray[np.int32] | None) -> None:
        """Announces addresses that several calls of force_batch will name by views of this array.

        A GPU gets these numbers once.

        Args:
            address: contiguous array of int32, which must not be changed until others are announced; None: none any
                more.

        Raises:
            ValueError: the array has another form.
            SapporoError: the context is closed, or memory is short.
        """
        if address is None:
            self._check(lib.sapporo_keep_addresses(self._handle, ffi.NULL, 0))
            self._kept = None
            return
        kept = host_array(address, "address")
        if kept.dtype != np.int32 or kept.ndim != 1 or not kept.flags.c_contiguous:
            raise ValueError("address must be a contiguous array of int32")
        self._check(lib.sapporo_keep_addresses(self._handle, pointer(kept, "int *"), len(kept)))
        self._kept = kept


def _take_from_device(given: dict[str, Any], columns: dict[str, Any], first: str, backend: str) -> int:
    """Points columns to arrays in device memory, those that are not None; returns the rows of the first one."""
    arrays = all_in_device({name: value for name, value in given.items() if value is not None}) or {}
    n = arrays[first].shape[0] if arrays[first].shape else 0
    for name, array in arrays.items():
        kind = np.int32 if name == "index" else np.float64
        require(array, name, (n,) if name in ("mass", "time", "index") else (n, 3), kind)
        columns[name].base = ffi.cast("void *", array.address)
    complete(arrays, backend)
    return n


def _runs(address: Ints) -> list[tuple[int, int, int]]:
    """Runs of consecutive addresses: first row, row behind the last, first address."""
    if len(address) == 0:
        return []
    cuts = np.flatnonzero(np.diff(address.astype(np.int64)) != 1) + 1
    starts = [0, *cuts.tolist()]
    return [(s, e, int(address[s])) for s, e in zip(starts, [*starts[1:], len(address)])]
