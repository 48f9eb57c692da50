"""Snapshots in text, CSV, HDF5, and the formats of Tipsy and NEMO.

snapshot = sapporo.snapshots.read("cluster.hdf5")
sapporo.snapshots.write("cluster.tipsy", snapshot)
"""

from __future__ import annotations

import os
from typing import Literal

from . import _hdf5, _nemo, _text, _tipsy
from ._snapshot import Snapshot
from ._units import Units

Format = Literal["text", "csv", "hdf5", "tipsy", "nemo"]

_ENDINGS: dict[str, Format] = {
    ".txt": "text",
    ".dat": "text",
    ".csv": "csv",
    ".hdf5": "hdf5",
    ".h5": "hdf5",
    ".tipsy": "tipsy",
    ".std": "tipsy",
    ".nemo": "nemo",
    ".snap": "nemo",
}
_FORMATS = tuple(dict.fromkeys(_ENDINGS.values()))

__all__ = ["Format", "Snapshot", "Units", "read", "write"]


def _format_of(path: str) -> Format:
    """The format of a file, by its first bytes."""
    with open(path, "rb") as file:
        head, size = file.read(32), os.fstat(file.fileno()).st_size
    if head.startswith(_hdf5.SIGNATURE):
        return "hdf5"
    if head[:2] in _nemo.MAGICS:
        return "nemo"
    if _tipsy.layout(head, size):
        return "tipsy"
    return "text"


def _chosen(path: str, format: Format | None) -> Format:
    """The format of a new file, by its name unless it is named."""
    ending = os.path.splitext(path)[1].lower()
    chosen = format or _ENDINGS.get(ending)
    if chosen not in _FORMATS:
        wrong = f"format is {format!r}" if format else f"{path} has the ending {ending!r}"
        raise ValueError(f"{wrong}; formats are {', '.join(_FORMATS)}, endings {' '.join(_ENDINGS)}")
    return chosen


def read(
    path: str | os.PathLike[str], *, format: Format | None = None, units: Units | str | None = None, frame: int = 0
) -> Snapshot:
    """Reads a snapshot.

    Args:
        path: the file.
        format: "text" (also with commas), "csv", "hdf5", "tipsy" or "nemo"; absent: by the first bytes of the file.
        units: units of a file that names none, as Units or as words such as "msun,pc,km/s".
        frame: which snapshot of a file of NEMO, from 0; -1: the last.

    Returns:
        The particles.  G of files of Tipsy and NEMO is 1; "msun,pc" then gives the units.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is damaged, has another form, or names other units.
        ImportError: HDF5 needs the module h5py, which is missing.

    Example:
        >>> import numpy as np, sapporo
        >>> path = folder / "two.csv"
        >>> _ = path.write_text("# time 0.5\\nm,x,y,z,vx,vy,vz\\n1,0,0,0,0,0,0\\n2,1,0,0,0,1,0\\n")
        >>> two = sapporo.snapshots.read(path)
        >>> two.time, two.mass.tolist(), two.x[1].tolist()
        (0.5, [1.0, 2.0], [1.0, 0.0, 0.0])
    """
    name = os.fspath(path)
    chosen = format or _format_of(name)
    if chosen not in _FORMATS:
        raise ValueError(f"format is {format!r}; it may be {', '.join(_FORMATS)}")
    known = Units.of(units) if isinstance(units, str) else units
    if frame not in (0, -1) and chosen != "nemo":
        raise ValueError(f"frame is {frame}; only files of NEMO hold more than one snapshot")
    try:
        if chosen == "hdf5":
            return _hdf5.read(name, known)
        with open(name, "rb") as file:
            if chosen == "tipsy":
                return _tipsy.read(file, os.fstat(file.fileno()).st_size, known)
            return _nemo.read(file, known, frame) if chosen == "nemo" else _text.read(file, known)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _write_to(path: str, format: Format, snapshot: Snapshot) -> None:
    if format == "hdf5":
        _hdf5.write(path, snapshot)
        return
    with open(path, "wb") as file:
        if format == "tipsy":
            _tipsy.write(file, snapshot)
        elif format == "nemo":
            _nemo.write(file, snapshot)
        else:
            _text.write(file, snapshot, csv=format == "csv")


def write(path: str | os.PathLike[str], snapshot: Snapshot, *, format: Format | None = None) -> None:
    """Writes a snapshot to a file, which appears under its name once it is complete.

    Text, CSV and HDF5 keep all digits.  NEMO has ids of 32 bits and no types; Tipsy has float, no ids, and the families
    gas, dark and stars.  Both have G = 1, to which velocities, potentials and the time are changed.

    Args:
        path: the file, which is replaced.
        snapshot: the particles.
        format: "text", "csv", "hdf5", "tipsy" or "nemo"; absent: by the ending of the name: .txt, .dat, .csv, .hdf5,
            .h5, .tipsy, .std, .nemo or .snap.

    Raises:
        OSError: the file cannot be written.
        ValueError: the ending is unknown, or the format cannot hold the particles.
        ImportError: HDF5 needs the module h5py, which is missing.

    Example:
        >>> import numpy as np, sapporo
        >>> sapporo.snapshots.write(folder / "three.tipsy", sapporo.snapshots.Snapshot(np.eye(3), 0.5))
        >>> sapporo.snapshots.read(folder / "three.tipsy").mass
        array([0.5, 0.5, 0.5])
    """
    name = os.fspath(path)
    chosen = _chosen(name, format)
    folder, base = os.path.split(name)
    new = os.path.join(folder, f".{base}.{os.getpid()}.new")
    try:
        _write_to(new, chosen, snapshot)
        os.replace(new, name)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    finally:
        if os.path.exists(new):
            os.remove(new)
