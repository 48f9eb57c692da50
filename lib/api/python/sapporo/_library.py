"""The loaded library, its handles and its messages."""

from __future__ import annotations

import atexit
import collections
import os
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, Union, cast

from ._errors import ArgumentError, error_of
from ._native import ffi as _ffi

ffi: Any = _ffi
lib: Any = ffi.dlopen(str(Path(__file__).with_name("libsapporo" + (".dylib" if sys.platform == "darwin" else ".so"))))
lib.sapporo_print_errors(0)  # they are raised

Backend = Literal["auto", "cuda", "hip", "opencl", "cpu"]
Precision = Literal["sp", "ds", "dp"]
Root = Literal["full", "fast"]
Isa = Literal["scalar", "sse2", "avx2", "avx512", "neon"]
Devices = Union[Sequence[int], Literal["all"]]

BACKENDS = {"auto": 0, "cuda": 1, "opencl": 2, "cpu": 3, "hip": 4}
PRECISIONS = {"sp": 1, "ds": 2, "dp": 3}
ROOTS = {"full": 1, "fast": 2}


def text_of(pointer: Any) -> str:
    """A text of the library."""
    return str(ffi.string(pointer).decode("utf-8", "replace"))


def c_text(text: bytes, name: str) -> bytes:
    """The text, if C can read all of it: a text of C ends at the first NUL."""
    if 0 in text:
        raise ValueError(f"{name} is {text!r}; it must not contain NUL")
    return text


def words_of(enum: str, prefix: str) -> dict[str, int]:
    """The words of an enum of the library, and their numbers: names without their prefix, but for the default."""
    names = sorted((value, name.removeprefix(prefix).lower()) for value, name in ffi.typeof(enum).elements.items())
    return {name: value for value, name in names if name != "default"}


def choose(what: str, value: str | None, names: dict[str, int]) -> int:
    """The number of a word; 0, the default, for None."""
    if value is None:
        return 0
    if not isinstance(value, str) or value.lower() not in names:
        raise ValueError(f"{what} is {value!r}; it may be {', '.join(map(repr, names))} or None")
    return names[value.lower()]


def word_of(number: int, names: dict[str, int]) -> str:
    """The word of a number; "" if it has none, as for what a closed context answers."""
    return next((name for name, value in names.items() if value == number), "")


def new(struct: str, **members: Any) -> Any:
    """A struct that tells its size, with these members; all other members are 0."""
    return ffi.new(f"{struct} *", {"size": ffi.sizeof(struct), **members})


def set_device_options(
    options: Any,
    keep: list[Any],
    *,
    precision: Precision | None,
    backend: Backend | None,
    devices: Devices | None,
    preferred_device: int,
    cpu_isa: Isa | None,
    threads: int,
    G: float,
) -> None:
    """Fills the members that options of contexts and of trees share.  `keep` gets what must live during the call."""
    options.precision = choose("precision", precision, PRECISIONS)
    options.backend = choose("backend", backend, BACKENDS)
    if isinstance(devices, str):
        if devices != "all":
            raise ValueError(f"devices is {devices!r}; it may be 'all' or a sequence of numbers")
        options.ndevices = lib.SAPPORO_ALL_DEVICES
    elif devices is not None:
        numbers = ffi.new("int[]", [int(d) for d in devices])
        keep.append(numbers)
        options.devices, options.ndevices = numbers, len(numbers)
    options.preferred_device = preferred_device
    options.threads = threads
    if G == 0:  # of C, where it stands for 1
        raise ArgumentError(f"gravitational_constant is {G:g}; it may be 1e-100 to 1e100")
    options.gravitational_constant = G
    if cpu_isa is not None:
        keep.append(ffi.new("char[]", c_text(cpu_isa.encode(), "cpu_isa")))
        options.cpu_isa = keep[-1]


# ---- handles

_speaking = threading.local()
_late: collections.deque[tuple[Callable[[Any], None], Any]] = collections.deque()


def _release(function: Callable[[Any], None], handle: Any, process: int) -> None:
    """Closes a handle whose object is gone.  A child process leaves the handles of its parent alone.

    The garbage collector may run in a log function, which must not call the library: the handle then waits.
    """
    if os.getpid() != process:
        return
    if getattr(_speaking, "now", False):
        _late.append((function, handle))
    else:
        function(handle)


def _release_late() -> None:
    """Closes the handles that wait."""
    while _late:
        function, handle = _late.popleft()
        function(handle)


H = TypeVar("H", bound="Handle")


class Handle:
    """A handle of the library, closed by close(), at the end of `with`, or with its object."""

    def __init__(self, handle: Any, close: Callable[[Any], None]) -> None:
        """Takes over a handle, and the function that closes it."""
        _release_late()
        self._handle = handle
        self._close = close
        self._finalizer = weakref.finalize(self, _release, close, handle, os.getpid())

    def __repr__(self) -> str:
        """What computes, and what is in it."""
        return f"<sapporo.{type(self).__name__}: {'closed' if self.closed else self._contents()}>"

    def _contents(self) -> str:
        raise NotImplementedError

    def __enter__(self: H) -> H:
        """The handle itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes the handle."""
        self.close()

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return not self._finalizer.alive

    def close(self) -> None:
        """Closes the handle and frees its memory.  Waits for calls of other threads on it.  May be called again."""
        if self._finalizer.detach() is not None:
            self._close(self._handle)


class Calls(NamedTuple):
    """The functions of the library that every object with options of its own has."""

    type: str
    open: Callable[..., int]
    close: Callable[[Any], None]
    last_error: Callable[[Any], Any]
    kind: Callable[[Any], Any]
    backend: Callable[[Any], int]


class Owner(Handle):
    """An object with particles: a context, a tree or a stepper.  It has errors, a kind and a backend."""

    _calls: Calls

    def __init__(self, *arguments: Any) -> None:
        """Opens the object; raises the error of the call if it fails."""
        handle = ffi.new(f"{self._calls.type} **")
        check(self._calls.open(*arguments, handle), lambda: text_of(lib.sapporo_last_error(ffi.NULL)))
        super().__init__(handle[0], self._calls.close)

    def _check(self, status: int) -> int:
        return check(status, lambda: text_of(self._calls.last_error(self._handle)))

    @property
    def kind(self) -> str:
        """On what the bits of results depend, such as "cpu avx512 ds AuthenticAMD"; "" of a closed object."""
        return text_of(self._calls.kind(self._handle))

    @property
    def backend(self) -> Backend:
        """What computes: "cuda", "hip", "opencl" or "cpu"; "auto" of a closed object."""
        return cast(Backend, word_of(self._calls.backend(self._handle), BACKENDS))


def check(status: int, last_error: Callable[[], str]) -> int:
    """Raises the exception of a negative status; returns the others."""
    if status < 0:
        raise error_of(status, last_error() or text_of(lib.sapporo_status_text(status)))
    return status


# ---- messages

_log_function: Callable[[int, str], None] | None = None
_callback: Any = None  # made once and never freed: other threads may be in it


def _speak(_user: Any, level: int, text: Any) -> None:
    """Gives a message to the function of set_log."""
    function = _log_function
    if function is None:
        return
    _speaking.now = True
    try:
        function(level, text_of(text))
    finally:
        _speaking.now = False


def set_log(function: Callable[[int, str], None] | None) -> None:
    """Sends the messages of the library to a function instead of stderr.

    The function may be called from any thread that calls the library, and must not call the library.  Python gives an
    exception of the function to sys.unraisablehook, which prints it, and the call goes on.

    Args:
        function: is called with (level, text); None restores stderr.  Levels: 0 error, 1 warning, 2 choices, 3 calls;
            `SAPPORO_VERBOSE` decides which messages exist.

    Example:
        >>> messages = []
        >>> sapporo.set_log(lambda level, text: messages.append(text))
        >>> sapporo.set_log(None)
    """
    global _callback, _log_function
    _log_function = function
    if function is not None and _callback is None:
        _callback = ffi.callback("sapporo_log_function", _speak)
    lib.sapporo_set_log(ffi.NULL if function is None else _callback, ffi.NULL)


atexit.register(set_log, None)
