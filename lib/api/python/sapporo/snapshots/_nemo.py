"""NEMO's structured files, and the snapshots in them.

A file is a sequence of items: a magic number of two bytes, which tells a single value from an array and the byte order;
a type and a tag, both ended by a zero byte; of an array its dimensions, ended by 0; and the values.  The types "(" and
")" begin and end a set of items.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from ._snapshot import Snapshot
from ._units import Units

SINGLE, PLURAL = 0x0992, 0x0B92
CARTESIAN = 0o201402  # of three dimensions, positions and velocities
_SIZES = {"c": "S1", "b": "u1", "s": "i2", "i": "i4", "l": "i8", "h": "f2", "f": "f4", "d": "f8", "a": "u1"}
MAGICS = {number.to_bytes(2, order): order for number in (SINGLE, PLURAL) for order in ("little", "big")}

# A set has the values of its items by tag; sets of one tag are a list.
_Set = dict[str, Any]


class _Reader:
    """Reads the items of a file in memory."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def _word(self) -> str:
        end = self.data.find(b"\0", self.at)
        if not self.at < end <= self.at + 256:
            raise ValueError(f"this file of NEMO is damaged at byte {self.at}: there is no type or tag")
        word = self.data[self.at : end].decode("latin-1")
        self.at = end + 1
        return word

    def _values(self, kind: str, shape: list[int] | None, order: str) -> Any:
        """Values of an array, or of one number."""
        if kind not in _SIZES:
            raise ValueError(f"this file of NEMO has an item of the type {kind!r}, which is not known here")
        dtype = np.dtype(_SIZES[kind]).newbyteorder("<" if order == "little" else ">")
        n = 1
        for length in shape or []:
            n *= length
        if n * dtype.itemsize > len(self.data) - self.at:
            raise ValueError("this file of NEMO is not complete")
        array = np.frombuffer(self.data, dtype, n, self.at)
        self.at += n * dtype.itemsize
        return array.reshape(shape) if shape else array[0]

    def _shape(self, order: str) -> list[int]:
        shape: list[int] = []
        while True:
            length = int(self._values("i", None, order))
            if length == 0:
                return shape
            if length < 0 or len(shape) == 8:
                raise ValueError(f"this file of NEMO is damaged at byte {self.at}: there are no dimensions")
            shape.append(length)

    def items(self, depth: int = 0) -> Iterator[tuple[str, Any]]:
        """Tags and values until the set or, at depth 0, the file ends."""
        while self.at < len(self.data) or depth:
            magic = self.data[self.at : self.at + 2]
            if magic not in MAGICS:
                where = "is not complete" if len(magic) < 2 else f"is damaged at byte {self.at}"
                raise ValueError(f"this file of NEMO {where}")
            order = MAGICS[magic]
            self.at += 2
            kind = self._word()
            if kind == ")":
                if self.data[self.at : self.at + 2] not in MAGICS and self.at < len(self.data):
                    self._word()  # the tag of the set again
                if depth == 0:
                    raise ValueError(f"this file of NEMO is damaged at byte {self.at}: a set ends that did not begin")
                return
            tag = self._word()
            if kind == "(":
                if depth == 16:
                    raise ValueError("this file of NEMO has sets in sets, deeper than 16")
                yield tag, dict(self.items(depth + 1))
            else:
                shape = self._shape(order) if int.from_bytes(magic, order) == PLURAL else None  # type: ignore[arg-type]
                yield tag, self._values(kind, shape, order)


def _array(particles: _Set, tag: str, shape: tuple[int, ...]) -> Any:
    array = particles.get(tag)
    if array is None:
        return None
    if np.shape(array) != shape:
        raise ValueError(f"{tag} has the shape {np.shape(array)}; {shape} belongs to the particles of the file")
    return array.astype(np.int64 if array.dtype.kind == "i" else np.float64)


def _snapshot(whole: _Set, units: Units | None) -> Snapshot:
    """A snapshot of the items of its set."""
    parameters, particles = whole.get("Parameters", {}), whole["Particles"]
    if "Nobj" not in parameters:
        raise ValueError("the snapshot has no number of particles (Parameters/Nobj)")
    n = int(parameters["Nobj"])
    if int(particles.get("CoordSystem", CARTESIAN)) != CARTESIAN:
        raise ValueError(f"the coordinate system is {int(particles['CoordSystem']):#o}; {CARTESIAN:#o} can be read")
    x, v = (_array(particles, tag, (n, 3)) for tag in ("Position", "Velocity"))
    phase = _array(particles, "PhaseSpace", (n, 2, 3))
    if phase is not None:
        x, v = phase[:, 0], phase[:, 1]
    mass = _array(particles, "Mass", (n,))
    missing = [tag for tag, array in (("Mass", mass), ("PhaseSpace or Position", x), ("Velocity", v)) if array is None]
    if missing:
        raise ValueError(f"the particles have no {', no '.join(missing)}")
    others = {name: _array(particles, tag, (n,)) for name, tag in (("id", "Key"), ("eps", "Eps"), ("pot", "Potential"))}
    return Snapshot(x, mass, v, time=float(parameters.get("Time", 0.0)), units=units, G=1.0, **others)


def read(file: BinaryIO, units: Units | None, frame: int) -> Snapshot:
    """Reads one of the snapshots of a file; those without particles do not count."""
    sets = [value for tag, value in _Reader(file.read()).items() if tag == "SnapShot" and isinstance(value, dict)]
    found = [one for one in sets if "Particles" in one]
    if not -len(found) <= frame < len(found):
        raise ValueError(f"frame {frame} is wanted, and the file has {len(found)} snapshots")
    return _snapshot(found[frame], units)


def _item(kind: str, tag: str, array: Any) -> bytes:
    """An item of one value or of an array."""
    values = np.asarray(array, dtype=np.dtype(_SIZES[kind]).newbyteorder("<"))
    magic, dims = (PLURAL, [*values.shape, 0]) if values.ndim else (SINGLE, [])
    head = magic.to_bytes(2, "little") + kind.encode() + b"\0" + tag.encode() + b"\0"
    return head + np.array(dims, "<i4").tobytes() + values.tobytes()


def _begin(tag: str) -> bytes:
    return SINGLE.to_bytes(2, "little") + b"(\0" + tag.encode() + b"\0"


_END = SINGLE.to_bytes(2, "little") + b")\0"


def write(file: BinaryIO, snapshot: Snapshot) -> None:
    """Writes one snapshot, in double."""
    snapshot = snapshot.with_G_1()
    if len(snapshot) == 0:
        raise ValueError("there are no particles, and NEMO has no arrays without elements")
    limits = np.iinfo(np.int32)
    if snapshot.id.min() < limits.min or snapshot.id.max() > limits.max:
        raise ValueError("an id needs more than 32 bits, which NEMO's Key has; number the particles anew")
    file.write(_begin("SnapShot") + _begin("Parameters") + _item("i", "Nobj", len(snapshot)))
    file.write(_item("d", "Time", snapshot.time) + _END + _begin("Particles"))
    file.write(_item("i", "CoordSystem", CARTESIAN) + _item("d", "Mass", snapshot.mass))
    file.write(_item("d", "PhaseSpace", np.stack([snapshot.x, snapshot.v], axis=1)))
    file.write(_item("i", "Key", snapshot.id))
    for tag, array in (("Potential", snapshot.pot), ("Eps", snapshot.eps)):
        if array is not None:
            file.write(_item("d", tag, array))
    file.write(_END + _END)
