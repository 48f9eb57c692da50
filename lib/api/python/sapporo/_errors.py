"""Errors of the library as exceptions."""

from __future__ import annotations

import enum


class Status(enum.IntEnum):
    """What a call of the library returned (`sapporo_status` of sapporo.h)."""

    OK = 0
    PARTIAL = 1
    TRUNCATED = 2
    ERR_ARGUMENT = -1
    ERR_MEMORY = -2
    ERR_CLOSED = -3
    ERR_NOT_FINITE = -4
    ERR_UNSUPPORTED = -5
    ERR_DEVICE = -6
    ERR_GONE = -7


class SapporoError(Exception):
    """An error of the library, with the library's own text.  `status` is its Status."""

    status: Status = Status.ERR_ARGUMENT


class ArgumentError(SapporoError, ValueError):
    """An argument is out of range.  Nothing was changed."""

    status = Status.ERR_ARGUMENT


class OutOfMemoryError(SapporoError, MemoryError):
    """There is too little memory, or a force needs a particle that could not be stored."""

    status = Status.ERR_MEMORY


class ClosedError(SapporoError, ValueError):
    """The context, force or tree is closed."""

    status = Status.ERR_CLOSED


class NotFiniteError(SapporoError, ValueError):
    """Particle data are NaN or infinite."""

    status = Status.ERR_NOT_FINITE


class UnsupportedError(SapporoError, NotImplementedError):
    """This build, engine or order has no such feature."""

    status = Status.ERR_UNSUPPORTED


class DeviceError(SapporoError, RuntimeError):
    """There is no such device, or a device failed."""

    status = Status.ERR_DEVICE


class GoneError(SapporoError, RuntimeError):
    """The particles that the answer needs have changed since the force began."""

    status = Status.ERR_GONE


class EmptyWarning(UserWarning):
    """A force of no particles: it is 0."""


class PartialWarning(UserWarning):
    """Some i-particles are not finite.  Their rows are NaN; all other rows are right."""


_CLASSES: dict[int, type[SapporoError]] = {kind.status: kind for kind in SapporoError.__subclasses__()}


def error_of(status: int, text: str) -> SapporoError:
    """The exception for a negative status."""
    return _CLASSES.get(status, SapporoError)(text)
