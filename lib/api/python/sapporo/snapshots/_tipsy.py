"""Tipsy's binary format: a header, then gas, dark particles and stars as structures of float.

The header has the time (double) and the numbers of all particles, of dimensions, of gas, of dark particles and of
stars (int), in 28 bytes or, padded, in 32.  "Standard" files are big-endian, others in the order of their machine.
"""

from __future__ import annotations

from typing import Any, BinaryIO, Literal

import numpy as np

from ._snapshot import Snapshot
from ._units import Units

HEADER = [("time", "f8"), ("n", "i4"), ("ndim", "i4"), ("gas", "i4"), ("dark", "i4"), ("stars", "i4")]
_COMMON = [("mass", "f4"), ("x", "f4", 3), ("v", "f4", 3)]
# Families in their order, and the types that they are read as.
FAMILIES: dict[str, tuple[int, list[Any]]] = {
    "gas": (0, [*_COMMON, ("rho", "f4"), ("temp", "f4"), ("eps", "f4"), ("metals", "f4"), ("pot", "f4")]),
    "dark": (1, [*_COMMON, ("eps", "f4"), ("pot", "f4")]),
    "stars": (4, [*_COMMON, ("metals", "f4"), ("tform", "f4"), ("eps", "f4"), ("pot", "f4")]),
}

Order = Literal["<", ">"]
Layout = tuple[Order, int, dict[str, int], float]


def _families(order: Order) -> dict[str, Any]:
    return {name: np.dtype(fields).newbyteorder(order) for name, (_, fields) in FAMILIES.items()}


def layout(head: bytes, size: int) -> Layout | None:
    """Byte order, length of the header, numbers of each family and time of a file of `size` bytes; None: not Tipsy."""
    orders: tuple[Order, Order] = (">", "<")
    for order in orders:
        if len(head) < 28:
            continue
        header = np.frombuffer(head, np.dtype(HEADER).newbyteorder(order), 1)[0]
        count = {name: int(header[name]) for name in FAMILIES}
        if header["ndim"] != 3 or min(count.values()) < 0 or sum(count.values()) != header["n"]:
            continue
        rows = sum(count[name] * dtype.itemsize for name, dtype in _families(order).items())
        if size - rows in (28, 32):
            return order, size - rows, count, float(header["time"])
    return None


def read(file: BinaryIO, size: int, units: Units | None) -> Snapshot:
    """Reads a file that has a layout."""
    found = layout(file.read(28), size)
    if found is None:
        raise ValueError("this is no file of Tipsy: its length is not that of the particles that its header counts")
    order, start, count, time = found
    file.seek(start)
    parts = [np.frombuffer(file.read(count[k] * t.itemsize), t) for k, t in _families(order).items()]
    rows = {name: np.concatenate([part[name] for part in parts]) for name in ("x", "v", "mass", "eps", "pot")}
    columns: dict[str, Any] = {name: array.astype(np.float64) for name, array in rows.items()}
    types = np.repeat([number for number, _ in FAMILIES.values()], [len(part) for part in parts])
    for name in "eps", "pot":  # 0 stands for what a code does not know
        if not columns[name].any():
            columns[name] = None
    return Snapshot(**columns, type=types, time=time, units=units, G=1.0)


def _single(array: Any, name: str) -> Any:
    with np.errstate(over="ignore", under="ignore"):
        single = array.astype(np.float32)
    lost = ~np.isfinite(single) | ((single == 0) & (array != 0))
    if lost.any():
        raise ValueError(f"{name} has {array[lost].flat[0]:g}, which float cannot hold; take other units by to()")
    return single


def write(file: BinaryIO, snapshot: Snapshot) -> None:
    """Writes a standard file."""
    snapshot = snapshot.with_G_1()
    n = len(snapshot)
    columns = {name: _single(getattr(snapshot, name), name) for name in ("x", "v", "mass")}
    for name in "eps", "pot":
        array = getattr(snapshot, name)
        columns[name] = np.zeros(n, np.float32) if array is None else _single(array, name)
    of = {"gas": snapshot.type == 0, "dark": snapshot.type == 1, "stars": snapshot.type > 1}
    header = np.zeros(1, np.dtype([*HEADER, ("pad", "i4")]).newbyteorder(">"))
    header[0] = (snapshot.time, n, 3, *(int(np.count_nonzero(mask)) for mask in of.values()), 0)
    file.write(header.tobytes())
    for name, dtype in _families(">").items():
        rows = np.zeros(int(np.count_nonzero(of[name])), dtype)
        for column, array in columns.items():
            rows[column] = array[of[name]]
        file.write(rows.tobytes())
