"""numpy arrays as columns of the library: without a copy where type and strides allow.

A column is a first address and the bytes from one particle to the next.  An array is used as it is if its values are
aligned, of the machine's own byte order and of the right type, if the three components of a vector follow each other,
and if the step from one particle to the next is not 0.  Any other array is copied first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, Union, cast

import numpy as np
import numpy.typing as npt

from ._errors import ArgumentError
from ._library import ffi

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
ArrayLike = npt.ArrayLike
ScalarOrArray = Union[float, npt.ArrayLike]
F = TypeVar("F", bound=Callable[..., Any])


def _shown(array: Any) -> str:
    return f"an array of shape {array.shape} and type {array.dtype}"


def host_array(value: Any, name: str) -> Any:
    """An array in host memory.  Arrays in device memory are refused, not copied in silence."""
    if not isinstance(value, np.ndarray) and hasattr(value, "__cuda_array_interface__"):
        raise TypeError(f"{name} is in device memory; here arrays must be in host memory")
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array; masks are not supported")
    return np.asarray(value)


def _converted(value: Any, name: str, kind: Any) -> Any:
    """The array with the type `kind`, if no digits are lost but those beyond a double."""
    array = host_array(value, name)
    if np.dtype(kind).kind == "i":
        range_ = np.iinfo(kind)
        if array.dtype.kind not in "iu" and array.size > 0:
            raise TypeError(f"{name} is {_shown(array)}; it must be of whole numbers, {range_.min} to {range_.max}")
        if array.size > 0 and not (range_.min <= int(array.min()) and int(array.max()) <= range_.max):
            raise ValueError(
                f"{name} has numbers outside the range of {range_.bits} bits, {range_.min} to {range_.max}: "
                f"its least is {array.min()}, its greatest {array.max()}"
            )
    elif array.dtype.kind not in "fiub":
        raise TypeError(f"{name} is {_shown(array)}; it must be of real numbers")
    # `=`: in the byte order of the machine
    return array.astype(np.dtype(kind).newbyteorder("="), copy=False)


def vectors(value: Any, name: str, n: int | None = None) -> Floats:
    """An array of shape (n, 3) that can be a column."""
    array = _converted(value, name, np.float64)
    if array.ndim != 2 or array.shape[1] != 3 or (n is not None and array.shape[0] != n):
        raise ValueError(f"{name} is {_shown(array)}; its shape must be ({'n' if n is None else n}, 3)")
    if not array.flags.aligned or array.strides[1] != array.itemsize or array.strides[0] == 0:
        array = array.copy()
    return array  # type: ignore[no-any-return]


def scalars(value: Any, name: str, n: int, kind: Any = np.float64) -> Any:
    """An array of shape (n,) that can be a column.  One number stands for n equal ones."""
    array = _converted(value, name, kind)
    if array.ndim == 0:
        return np.full(n, array, dtype=kind)
    if array.shape != (n,):
        raise ValueError(f"{name} is {_shown(array)}; its shape must be ({n},)")
    if not array.flags.aligned or array.strides[0] == 0:
        array = array.copy()
    return array


class Squared:
    """Squares of lengths, which programs for earlier states give in place of the lengths."""

    def __init__(self, value: Any) -> None:
        self.value = value


def takes_old_words(**new_of: str) -> Callable[[F], F]:
    """A function that still takes keywords of earlier states: their new words.  Those that end with 2 are squares."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def call(*args: Any, **words: Any) -> Any:
            for old in new_of.keys() & words.keys():
                new = new_of[old]
                if new in words:
                    raise TypeError(f"{function.__name__}() got {old} beside {new}")
                value = words.pop(old)
                words[new] = value if value is None or "2" not in old else Squared(value)
            return function(*args, **words)

        return cast("F", call)

    return decorate


def squares(value: Any, name: str) -> Floats:
    """Squares of lengths that must not be negative: of one number (shape ()) or of an array."""
    if isinstance(value, Squared):
        given: Floats = _converted(value.value, f"{name}, squared,", np.float64)
        if (given < 0).any():
            raise ArgumentError(f"{name}, squared, is {given.min():g}; it must be at least 0")
        return given
    array: Floats = _converted(value, name, np.float64)
    if (array < 0).any():
        raise ArgumentError(f"{name} is {array.min():g}; a length must be at least 0")
    return array * array


def indices(value: Any, name: str, n: int | None = None) -> Ints:
    """A contiguous array of n ints."""
    array = _converted(value, name, np.int32)
    if array.ndim != 1 or (n is not None and array.shape[0] != n):
        raise ValueError(f"{name} is {_shown(array)}; its shape must be ({'n' if n is None else n},)")
    return np.require(array, dtype=np.int32, requirements=["C", "A"])


def shown(rows: Any) -> str:
    """A dataclass of arrays, by their shapes in place of their values."""
    parts = [
        f"{name}: {array.shape}" if hasattr(array, "shape") else f"{name}: {array!r}"
        for name, array in ((name, getattr(rows, name)) for name in rows.__dataclass_fields__)
        if array is not None
    ]
    return f"<sapporo.{type(rows).__name__}: {', '.join(parts)}>"


def address(array: Any) -> int:
    """The address of the first value."""
    return int(array.__array_interface__["data"][0])


def pointer(array: Any, kind: str = "char *") -> Any:
    """The address of the first value, for cffi.  The array must live as long as the pointer is used.

    The buffer of contiguous arrays is found ten times as fast as the address of others.
    """
    return ffi.cast(kind, ffi.from_buffer(array) if array.flags.c_contiguous else address(array))


def set_column(column: Any, array: Any) -> None:
    """Makes a column of an array."""
    column.base = pointer(array)
    column.stride = array.strides[0] if len(array) > 1 else 0


def result_array(out: Any, name: str, shape: tuple[int, ...], kind: Any) -> Any:
    """An array for results: `out`, which must fit without a copy, or a new one."""
    if out is None:
        return np.empty(shape, dtype=kind)
    fits = isinstance(out, np.ndarray) and out.dtype == kind and out.dtype.isnative and out.shape == shape
    if not fits or not out.flags.c_contiguous or not out.flags.writeable or not out.flags.aligned:
        shown = _shown(out) if isinstance(out, np.ndarray) else repr(type(out))
        raise ValueError(
            f"out of {name} is {shown}; it must be a writable contiguous numpy array of shape {shape} "
            f"and type {np.dtype(kind)}"
        )
    return out
