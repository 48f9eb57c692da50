"""Versions, devices and variables of the environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from ._library import BACKENDS, Backend, ffi, lib, new, text_of, word_of

Audience = Literal["users", "tests", "others"]

AUDIENCES = {"users": 0, "tests": 1, "others": 2}


@dataclass(frozen=True)
class Device:
    """A device.

    Attributes:
        backend, number: how options name it.
        name, detail: what it is, and why it cannot be used if it cannot.
        units: cores or multiprocessors.
        memory: bytes, 0 if unknown.
        has_fp64: double precision in hardware.

    Example:
        >>> sapporo.devices("cpu")[0].backend
        'cpu'
    """

    backend: Backend
    number: int
    name: str
    detail: str
    units: int
    memory: int
    has_fp64: bool


@dataclass(frozen=True)
class Variable:
    """A variable of the environment that the library reads.

    Attributes:
        name: its name.
        audience: who sets it: "users", "tests" or "others", such as MPI launchers.
        type, values, default: what it may be, and what an absent one means.
        about: what it is for.

    Example:
        >>> [v.audience for v in sapporo.variables() if v.name == "SAPPORO_PRECISION"]
        ['users']
    """

    name: str
    audience: Audience
    type: str
    values: str
    default: str
    about: str


def version() -> str:
    """Version of the library.

    Returns:
        The version, such as "0.1.0".

    Example:
        >>> sapporo.version() == sapporo.__version__
        True
    """
    return text_of(lib.sapporo_version())


def arith_version() -> int:
    """Version of the arithmetic.

    Returns:
        A number: results of one kind of engine have the same bits as long as it is the same.

    Example:
        >>> sapporo.arith_version() >= 16
        True
    """
    return int(lib.sapporo_arith_version())


def devices(backend: Backend | None = None) -> list[Device]:
    """The devices of a backend, or of all.

    Args:
        backend: "cuda", "hip", "opencl", "cpu"; absent or "auto": all.

    Returns:
        The devices.  An absent backend has none.

    Raises:
        ValueError: the backend is unknown.

    Example:
        >>> len(sapporo.devices("cpu"))
        1
    """
    from ._library import choose

    names = [name for name in BACKENDS if name != "auto"] if backend in (None, "auto") else [str(backend)]
    found = []
    for name in names:
        number = choose("backend", name, BACKENDS)
        for k in range(lib.sapporo_device_count(number)):
            d = new("sapporo_device")
            if lib.sapporo_device_describe(number, k, d) >= 0:
                kind = cast(Backend, word_of(d.backend, BACKENDS))
                texts = text_of(d.name), text_of(d.detail)
                found.append(Device(kind, d.number, *texts, d.units, d.memory, bool(d.has_fp64)))
    return found


def variables() -> list[Variable]:
    """The variables of the environment that the library reads when a context or a tree is opened.

    Returns:
        The variables.

    Example:
        >>> "SAPPORO_BACKEND" in [v.name for v in sapporo.variables()]
        True
    """
    found: list[Variable] = []
    while True:
        v = ffi.new("sapporo_variable *", {"size": ffi.sizeof("sapporo_variable")})
        if lib.sapporo_variable_describe(len(found), v) < 0:
            return found
        texts = (text_of(t) for t in (v.type, v.values, v.usual, v.about))
        found.append(Variable(text_of(v.name), cast(Audience, word_of(v.audience, AUDIENCES)), *texts))
