"""Steppers: orbits of particles, integrated where their forces are computed."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ._arrays import (
    ArrayLike,
    Floats,
    ScalarOrArray,
    indices,
    pointer,
    result_array,
    scalars,
    set_column,
    shown,
    takes_old_words,
    vectors,
)
from ._context import SOFTENINGS, Memory, Softening
from ._device import DeviceArray, all_in_device, complete, require
from ._errors import ArgumentError
from ._job import Out
from ._library import Backend, Calls, Devices, Isa, Owner, Precision, c_text, choose, ffi, lib, new
from ._tree import Kind, Mac, Multipoles, tree_options

Method = Literal["tree", "direct"]
Scheme = Literal["shared", "block", "hermite4", "hermite6", "hermite8"]
StepCriterion = Literal["acceleration", "change", "aarseth", "mean"]
Moment = Literal["now", "own"]
FieldKind = Literal["point", "plummer", "hernquist", "nfw", "miyamoto_nagai", "logarithmic"]

METHODS = {"tree": 1, "direct": 2}
SCHEMES = {"shared": 1, "block": 2, "hermite4": 3, "hermite6": 4, "hermite8": 5}
STEP_CRITERIA = {"acceleration": 1, "change": 2, "aarseth": 3, "mean": 4}
MOMENTS = {"now": 0, "own": 1}
SHAPES = {"x": (3,), "v": (3,), "acc": (3,), "pot": (), "mass": (), "own_time": (), "level": (), "label": (), "eps": ()}
NEIGHBOURS = {"nearest": (), "nearest_r2": ()}  # of steppers that keep them
TYPES = {"level": np.int32, "label": np.int64, "nearest": np.int32}
MOVABLE = ("x", "v", "acc", "pot")  # what may be in device memory
FIELD_KINDS = {"point": 1, "plummer": 2, "hernquist": 3, "nfw": 4, "miyamoto_nagai": 5, "logarithmic": 6}


@dataclass(frozen=True)
class Field:
    """An analytic external field.

    Args:
        kind: "point", "plummer", "hernquist", "nfw", "miyamoto_nagai" or "logarithmic".
        strength: G times the mass; of "nfw" 4 pi G rho a^3; of "logarithmic" the squared velocity.
        a, b: lengths; of "logarithmic" the core radius and the flattening.
        centre: position; the axis of flat fields is parallel to z.

    Example:
        >>> sapporo.Field("plummer", 1.0, a=0.5).kind
        'plummer'
    """

    kind: FieldKind
    strength: float
    a: float = 0.0
    b: float = 0.0
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, repr=False)
class Orbits:
    """Particles of a stepper, in order of address.

    numpy arrays; the arrays of `out` of Stepper.get are the caller's, in host or device memory.

    Attributes:
        x, v: positions and velocities.
        mass: masses.
        acc, pot: acceleration with fields, and potential of the particles, at `own_time`.
        own_time: the end of the particle's step.
        level: the present step is dt / 2^level.
        label: labels.
        eps: softening lengths; 0 of particles without lengths.
        nearest, nearest_r2: addresses of the nearest particles with mass, as of the particle's last step, and squared
            distances; -1 and infinity: none, or not known after a restore.  None of a stepper without neighbours.

    Example:
        >>> with sapporo.Stepper(1, 0.5) as stepper:
        ...     stepper.set([[0.0, 0, 0]], [[1.0, 0, 0]], 1.0)
        ...     _ = stepper.advance(1.0)
        ...     now = stepper.get()
        >>> now.x.tolist()
        [[1.0, 0.0, 0.0]]
    """

    x: Any
    v: Any
    mass: Any
    acc: Any
    pot: Any
    own_time: Any
    level: Any
    label: Any
    eps: Any
    nearest: Any = None
    nearest_r2: Any = None

    __repr__ = shown


@dataclass(frozen=True)
class Totals:
    """Conserved quantities.

    Attributes:
        time: the time.
        kinetic, potential, field: energies: of motion, of pairs of particles, of particles in the external fields.
        momentum, angular_momentum: vectors.
        moment: the sum of mass times position.

    Example:
        >>> with sapporo.Stepper(1, 0.5) as stepper:
        ...     stepper.set([[0.0, 0, 0]], [[1.0, 0, 0]], 2.0)
        ...     stepper.energy().energy
        1.0
    """

    time: float
    kinetic: float
    potential: float
    field: float
    momentum: Floats
    angular_momentum: Floats
    moment: Floats

    @property
    def energy(self) -> float:
        """The total energy."""
        return self.kinetic + self.potential + self.field


class StepSeconds(NamedTuple):
    """Time of the parts of the last step."""

    predict: float
    tree: float
    force: float
    correct: float


@dataclass(frozen=True)
class StepperStatistics:
    """What a stepper is and did since its particles were set.

    Attributes:
        n, massive, active: particles; those whose mass is not 0, which alone are in the tree; those of the last step.
        steps, particle_steps, builds, refreshes, interactions: what was done.
        level: particles per level.
        memory: bytes.
        seconds: seconds of the parts of the last step.
        group_extent, group_searches: the limit of the extent of groups of the tree, 0: none; searches for it that
            ended.
        rebuild_steps: steps between the last two builds of the tree.

    Example:
        >>> with sapporo.Stepper(1, 0.5) as stepper:
        ...     stepper.set([[0.0, 0, 0]], [[1.0, 0, 0]], 2.0)
        ...     _ = stepper.advance(1.0)
        ...     stepper.statistics().steps
        2
    """

    n: int
    massive: int
    active: int
    steps: int
    particle_steps: int
    builds: int
    refreshes: int
    interactions: float
    level: tuple[int, ...]
    memory: Memory
    seconds: StepSeconds
    group_extent: float
    group_searches: int
    rebuild_steps: int


def _fields(given: Sequence[Field]) -> Any:
    fields = ffi.new("sapporo_field[]", max(len(given), 1))
    for to, field in zip(fields, given):
        to.kind = choose("kind", field.kind, FIELD_KINDS)
        to.strength, to.a, to.b = field.strength, field.a, field.b
        to.centre = list(field.centre)
    return fields


def _host_columns(particles: Any, given: dict[str, Any]) -> list[Any]:
    """Makes columns of arrays in host memory; returns what must live as long as they are used."""
    x = vectors(given["x"], "x")
    n = particles.n = len(x)
    columns = {"x": x, "v": vectors(given["v"], "v", n), "mass": scalars(given["mass"], "mass", n)}
    for name, array in columns.items():
        set_column(getattr(particles, name), array)
    return list(columns.values())


def _set_extras(particles: Any, label: ArrayLike | None, eps: ScalarOrArray | None, keep: list[Any]) -> None:
    """Makes columns of labels and softening lengths, if given; `keep` gets what must live as long."""
    if label is not None:
        keep.append(scalars(label, "label", particles.n, np.int64))
        set_column(particles.label, keep[-1])
    if eps is not None:
        keep.append(scalars(eps, "eps", particles.n))
        set_column(particles.h, keep[-1])


def _set_moment(output: Any, when: Moment | float) -> None:
    if not isinstance(when, str):
        output.when, output.time = lib.SAPPORO_STEP_AT_TIME, when
    elif when in MOMENTS:
        output.when = MOMENTS[when]
    else:
        raise ValueError(f"when is {when!r}; it may be {', '.join(map(repr, MOMENTS))} or a time")


class Stepper(Owner):
    """At most n particles that move by their forces on each other and by external fields.

    The order of calls is set, then any number of advance, get, energy, save.

    Args:
        n: room for particles.
        dt: the shared step, or the longest block step.
        method: forces from a "tree" or from "direct" sums; None: tree, of Hermite schemes direct.
        scheme: leap-frog with "shared" or "block" steps, or "hermite4", "hermite6", "hermite8" with block steps; None:
            shared.
        criterion: of leap-frogs "acceleration" (step^2 <= 2 eta eps / |a|) or "change" (step <= eta |a| / |da/dt|), of
            Hermite schemes "aarseth" or, in orders 6 and 8, "mean".
        eta: accuracy of the criterion; None: 0.025, of Hermite schemes 0.01, 0.4, 0.6 in orders 4, 6, 8.
        eta_start: accuracy of first Hermite steps; None: 0.0025, in orders 6 and 8 0.01.
        levels: the shortest block step is dt / 2^(levels - 1); 0: 16, of Hermite schemes 31.
        rebuild: steps from one build of the tree to the next; 0: when forces have become dearer; -1: when measured
            times say so.
        fields: external fields.
        landing: advance ends at any time that it is asked for, by a shorter last step; steps begin there anew.
        nearest: of Hermite schemes: particles keep their nearest neighbours.
        iterations: of Hermite schemes: n of P(EC)^n.
        close: of Hermite schemes: a distance; advance stops after a step with a closer pair; 0: it does not.
        eps, softening, kind, mac, accuracy, multipoles, leaf_size, group_size, group_extent, precision: as of Tree;
            with rebuild -1 a group_extent of 0 is measured, too.
        error: as of Tree, but the accuracy is that of usual models, and nothing is measured.
        period: as of Tree; direct sums have none.
        backend, devices, preferred_device, cpu_isa, threads, G: as of Context.

    Raises:
        SapporoError: as Context does.

    Example:
        >>> sun = sapporo.Field("point", 39.47692641)
        >>> with sapporo.Stepper(1, 2**-10, method="direct", fields=[sun]) as stepper:
        ...     stepper.set([[1.0, 0, 0]], [[0, 6.2831853, 0]], 0.0)
        ...     year = stepper.advance(1.0)
        ...     float(stepper.get().x[0, 0].round(3))
        1.0
    """

    _calls = Calls(
        "sapporo_stepper",
        lib.sapporo_stepper_create,
        lib.sapporo_stepper_destroy,
        lib.sapporo_stepper_last_error,
        lib.sapporo_stepper_kind_text,
        lib.sapporo_stepper_get_backend,
    )

    @takes_old_words(eps2="eps", order="multipoles")
    def __init__(
        self,
        n: int,
        dt: float,
        *,
        method: Method | None = None,
        scheme: Scheme | None = None,
        criterion: StepCriterion | None = None,
        eta: float | None = None,
        levels: int = 0,
        rebuild: int = 0,
        fields: Sequence[Field] = (),
        landing: bool = False,
        eta_start: float | None = None,
        eps: float = 0.0,
        kind: Kind | None = None,
        mac: Mac | None = None,
        accuracy: float | None = None,
        multipoles: Multipoles = 2,
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
        softening: Softening = "plummer",
        nearest: bool = False,
        close: float = 0.0,
        iterations: int = 1,
        error: float | None = None,
        period: float = 0.0,
    ) -> None:
        """Makes room for n particles."""
        keep: list[Any] = []
        tree = tree_options(
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
        array = _fields(fields)
        options = new(
            "sapporo_stepper_options",
            method=choose("method", method, METHODS),
            tree=tree,
            scheme=choose("scheme", scheme, SCHEMES),
            criterion=choose("criterion", criterion, STEP_CRITERIA),
            dt=dt,
            eta=eta or 0.0,
            levels=levels,
            rebuild=rebuild,
            nfields=len(fields),
            fields=array,
            landing=int(bool(landing)),
            eta_start=eta_start or 0.0,
            nearest=int(bool(nearest)),
            close=close,
            iterations=iterations,
        )
        super().__init__(options, n)
        self._dt = float(dt)
        self._lands = bool(landing)
        self._shapes = {**SHAPES, **NEIGHBOURS} if nearest or close else SHAPES
        self._is_shared = options.scheme <= SCHEMES["shared"]
        self._start: float | None = None  # a time at which all steps end, None: unknown

    def _contents(self) -> str:
        s = new("sapporo_stepper_statistics")
        lib.sapporo_stepper_get_statistics(self._handle, s)  # n is 0 after an error, such as that of a lost device
        return f"{self.kind}, n {s.n}, time {self.time:g}"

    @property
    def time(self) -> float:
        """The time of the last complete step; NaN without particles."""
        return float(lib.sapporo_stepper_get_time(self._handle))

    def set(
        self,
        x: Any,
        v: Any,
        mass: Any,
        *,
        label: ArrayLike | None = None,
        time: float = 0.0,
        eps: ScalarOrArray | None = None,
    ) -> None:
        """Takes all particles, by copy, and computes the first forces.

        Args:
            x, v: (n, 3): positions, velocities.
            mass: (n,), in host memory also one number.  All three are in host memory or, for a stepper on a CUDA
                device, all in the memory of that device.
            label: (n,) of whole numbers of 64 bits with a sign, in host memory, which get returns; absent: the
                addresses.
            time: the time of the particles.
            eps: (n,) or one number, in host memory: softening lengths; absent: of splines that of the stepper, of
                others none beside it.

        Raises:
            NotFiniteError: names the first particle that is NaN or infinite.
            SapporoError: as Context.force does.
        """
        given = {"x": x, "v": v, "mass": mass}
        arrays = all_in_device(given)
        particles = new("sapporo_stepper_particles", time=time)
        keep = _host_columns(particles, given) if arrays is None else self._device_columns(particles, arrays)
        _set_extras(particles, label, eps, keep)
        self._start = None
        self._check(lib.sapporo_stepper_set(self._handle, particles))
        self._start = self.time

    def add(
        self,
        x: ArrayLike,
        v: ArrayLike,
        mass: ScalarOrArray,
        *,
        label: ArrayLike | None = None,
        eps: ScalarOrArray | None = None,
    ) -> None:
        """Adds particles at the present time, after those that there are; the others keep all that they have.

        Args:
            x, v, mass: as of set, in host memory.
            label, eps: as of set; without eps, of particles with lengths, that of the stepper or 0.

        Raises:
            ArgumentError: there are no particles, or no room for these.
            NotFiniteError: names the first of them that is NaN or infinite.

        Example:
            >>> with sapporo.Stepper(2, 0.5, scheme="hermite4") as stepper:
            ...     stepper.set([[0.0, 0, 0]], [[0.0, 0, 0]], 1.0)
            ...     stepper.add([[1.0, 0, 0]], [[0.0, 1, 0]], 1.0)
            ...     stepper.remove(0)
            ...     stepper.get().x.tolist()
            [[1.0, 0.0, 0.0]]
        """
        particles = new("sapporo_stepper_particles", time=self.time)
        keep = _host_columns(particles, {"x": x, "v": v, "mass": mass})
        _set_extras(particles, label, eps, keep)
        self._check(lib.sapporo_stepper_add(self._handle, particles))

    def remove(self, address: ArrayLike) -> None:
        """Removes particles at the present time; those that follow them move to lower addresses.

        Args:
            address: one address, or (n,) of them, each once; all but one particle may go.

        Raises:
            ArgumentError: an address is out of range or there twice, or too many go.
        """
        gone = indices(np.atleast_1d(address), "address")
        self._check(lib.sapporo_stepper_remove(self._handle, gone.size, ffi.cast("int *", pointer(gone))))

    def _device_columns(self, particles: Any, arrays: dict[str, DeviceArray]) -> list[Any]:
        n = particles.n = arrays["x"].shape[0] if arrays["x"].shape else 0
        particles.memory = lib.SAPPORO_MEMORY_DEVICE
        for name, array in arrays.items():
            require(array, name, (n, *SHAPES[name]), np.float64)
            getattr(particles, name).base = ffi.cast("void *", array.address)
        complete(arrays, self.backend)
        return [arrays]

    def _end_of_step(self, time: float) -> float:
        """The time of the step that ends at `time`; raises ArgumentError if none surely does."""
        start = self.time if self._is_shared else self._start
        if start is None or not math.isfinite(start):
            return time
        steps = (time - start) / self._dt
        if abs(steps - round(steps)) > 1e-6:
            before, after = (start + end(steps) * self._dt for end in (math.floor, math.ceil))
            raise ArgumentError(
                f"advance: time is {time:.17g}, and steps of {self._dt:.17g} end at {before:.17g} and {after:.17g}; "
                "exact=False stops at the last step that ends before, and get(time) then predicts; "
                "a stepper made with landing=True ends there by a shorter step"
            )
        return start + round(steps) * self._dt

    def advance(self, time: float, steps: int = 0, *, exact: bool = True) -> float:
        """Moves the particles to a time.

        Args:
            time: the time.
            steps: at most so many steps (of block steps: blocks); 0: no limit.  Signals such as Ctrl-C are handled
                between steps.
            exact: the time must be one at which the longest step ends, a whole number of dt after the start, within
                1e-6 dt.  False, or with a number of steps: any time; the particles move to the last step that ends at
                or before it, and get(time) predicts them to the time itself.  A stepper made with landing=True needs
                neither: it ends at the time itself, unless `steps` end before.

        Returns:
            The time of the last step, which is before `time` if a pair is closer than `close`: pairs() says which.

        Raises:
            ArgumentError: the time is before the present one, or no step ends there.  Nothing has moved then.
        """
        if steps < 0 or (steps == 0 and not math.isfinite(time)):
            raise ValueError(f"time is {time} and steps {steps}; without end, steps must be above 0")
        if exact and steps == 0 and not self._lands:
            time = self._end_of_step(time)
        left = steps if steps else math.inf
        while left > 0:
            slice_ = int(min(left, 16))
            before = self.statistics().steps
            status = self._check(lib.sapporo_stepper_advance(self._handle, time, slice_))
            left -= slice_
            if status == lib.SAPPORO_STOPPED or self.statistics().steps - before < slice_:
                break
        return self.time

    def get(self, when: Moment | float = "now", *, out: Out = None) -> Orbits:
        """The particles.

        Args:
            when: "now" predicted to the present time, "own" each at the end of its own step, or a time from the present
                time to dt after it.
            out: arrays for results by name, contiguous and of the right type.  Any result in host memory; or x, v, acc
                and pot in the memory of the stepper's CUDA device, where those of the four that it does not hold are
                None.

        Returns:
            The particles, in order of address.

        Raises:
            ArgumentError: there are no particles, or the time is out of range.
        """
        n = self.statistics().n
        given = dict(out or {})
        for name in given:
            if name not in self._shapes:
                raise ValueError(f"out has {name!r}; particles have {', '.join(self._shapes)}")
        output = new("sapporo_stepper_output", n=n)
        _set_moment(output, when)
        arrays = all_in_device(given)
        there = {} if arrays is None else self._device_rows(output, n, arrays)
        here = {
            name: result_array(given.get(name), name, (n, *shape), TYPES.get(name, np.float64))
            for name, shape in self._shapes.items()
            if arrays is None or name not in MOVABLE
        }
        for name, address in {**{k: pointer(array) for k, array in here.items()}, **there}.items():
            member = "h" if name == "eps" else name
            setattr(output, member, ffi.cast(ffi.typeof(getattr(output, member)), address))
        self._check(lib.sapporo_stepper_get(self._handle, output))
        return Orbits(**{name: here.get(name, given.get(name)) for name in self._shapes})

    def _device_rows(self, output: Any, n: int, arrays: dict[str, DeviceArray]) -> dict[str, int]:
        output.memory = lib.SAPPORO_MEMORY_DEVICE
        for name, array in arrays.items():
            if name not in MOVABLE:
                raise TypeError(f"{name} must be in host memory; {', '.join(MOVABLE)} may be in device memory")
            require(array, f"out of {name}", (n, *SHAPES[name]), np.float64, writable=True)
        complete(arrays, self.backend)
        return {name: array.address for name, array in arrays.items()}

    def pairs(self) -> tuple[Any, Floats]:
        """The pairs that are closer than the option `close`, of particles that were active in the last step.

        Returns:
            Addresses, (n, 2), the lower one first, and distances, (n,).

        Raises:
            ArgumentError: the stepper has no such option, or no particles.
        """
        room = 0
        while True:
            pair, r2 = np.empty((room, 2), np.int32), np.empty(room)
            found = new("sapporo_stepper_pairs", room=room)
            found.pair = ffi.cast("int(*)[2]", pointer(pair))
            found.r2 = ffi.cast("double *", pointer(r2))
            if self._check(lib.sapporo_stepper_get_pairs(self._handle, found)) != lib.SAPPORO_TRUNCATED:
                return pair[: found.n], np.sqrt(r2[: found.n])
            room = found.n

    def energy(self) -> Totals:
        """Energies, momentum, angular momentum and the sum of mass times position, at the present time.

        Returns:
            The sums.

        Raises:
            ArgumentError: there are no particles.
        """
        t = new("sapporo_stepper_totals")
        self._check(lib.sapporo_stepper_energy(self._handle, t))
        vectors_of = {name: np.array(list(getattr(t, name))) for name in ("momentum", "angular_momentum", "moment")}
        return Totals(t.time, t.kinetic, t.potential, t.field, **vectors_of)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the particles to a new file, which replaces an old one when it is complete.

        Args:
            path: the file.

        Raises:
            SapporoError: the file cannot be written.
        """
        self._check(lib.sapporo_stepper_save(self._handle, c_text(os.fsencode(path), "path")))

    def restore(self, path: str | os.PathLike[str]) -> None:
        """Reads particles that a stepper of the same options has saved; the run continues with the same bytes.

        Args:
            path: the file.

        Raises:
            ArgumentError: the file is missing, damaged, or of other options.
        """
        self._start = None
        self._check(lib.sapporo_stepper_restore(self._handle, c_text(os.fsencode(path), "path")))

    def statistics(self) -> StepperStatistics:
        """What the stepper is, and what it did since its particles were set.

        Returns:
            The numbers.

        Raises:
            ClosedError: the stepper is closed.
        """
        s = new("sapporo_stepper_statistics")
        self._check(lib.sapporo_stepper_get_statistics(self._handle, s))
        names = [
            *("n", "massive", "active", "steps", "particle_steps", "builds", "refreshes", "interactions"),
            *("group_extent", "group_searches", "rebuild_steps"),
        ]
        return StepperStatistics(
            **{name: getattr(s, name) for name in names},
            level=tuple(s.level),
            memory=Memory(int(s.host_bytes), int(s.device_bytes)),
            seconds=StepSeconds(*s.seconds),
        )
