"""Text: one particle per line, separated by blanks or, with a line of column names, by commas.

Comments before the particles tell the time, the gravitational constant, the units, and the columns.
"""

from __future__ import annotations

import contextlib
import io
import re
from typing import Any, BinaryIO

import numpy as np

from ._snapshot import Snapshot
from ._units import Units, one_of

COLUMNS = ("id", "mass", "x", "y", "z", "vx", "vy", "vz")
_OTHERS = ("type", "eps", "pot")
_WHOLE = ("id", "type")
_ALIASES = {"index": "id", "m": "mass"}
_NBODY = re.compile(r"\b(n-?body|G\s*=(\s*\w+\s*=)*\s*1)\b", re.IGNORECASE)
_QUANTITIES = re.compile(r"\w+\s*\[([^\]]+)\]")


class _Head:
    """What the lines before the particles tell."""

    def __init__(self) -> None:
        self.lines = 0
        self.time = 0.0
        self.G: float | None = None
        self.units: str | None = None
        self.names: list[str] | None = None
        self.separator: str | None = None

    def note(self, comment: str) -> None:
        """Takes what a comment tells."""
        word, _, rest = comment.strip().partition(" ")
        names = _names(comment)
        if word in ("time", "G"):
            with contextlib.suppress(ValueError):  # words, such as "time of the first snapshot"
                setattr(self, word, float(rest.partition(" ")[0]))
        elif word.rstrip(":") == "units":
            self.units = rest.strip()
        elif _QUANTITIES.search(comment):
            self.units = ", ".join(_QUANTITIES.findall(comment))
            names = _names(re.sub(r"\[[^\]]*\]", " ", comment))
        if {"x", "y", "z"} <= set(names):
            self.names = names


def _names(line: str) -> list[str]:
    words = [word.strip("\"'").lower() for word in re.split(r"[\s,;]+", line.strip())]
    return [_ALIASES.get(word, word) for word in words]


def _head(text: str) -> _Head:
    head = _Head()
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            head.separator = next((c for c in ",;\t" if c in line), None)
            if {"x", "y", "z"} <= set(_names(line)):
                head.names = _names(line)
                head.lines += 1
            return head
        head.lines += 1
        head.note(line.strip().lstrip("#"))
    return head


def _rows(text: str, head: _Head, names: list[str], whole: str) -> dict[str, Any]:
    """All columns of the table."""
    types = np.dtype([(f"{k}", whole if name in _WHOLE else "f8") for k, name in enumerate(names)])
    with io.StringIO(text) as lines:
        rows = np.loadtxt(lines, types, delimiter=head.separator, skiprows=head.lines, ndmin=1)
    return {name: rows[f"{k}"] for k, name in enumerate(names)}


def _whole(numbers: Any, name: str) -> Any:
    if not (np.abs(numbers) <= 2.0**53).all() or (numbers != np.floor(numbers)).any():
        raise ValueError(f"{name} has numbers that are not whole, or beyond 2^53 and not written as whole numbers")
    return numbers.astype(np.int64)


def _table(text: str, head: _Head) -> dict[str, Any]:
    """Columns by name."""
    first = next((line for line in text.splitlines()[head.lines :] if line.strip()), "")
    width = len(first.split("#")[0].split(head.separator))
    names = head.names or list(COLUMNS[-7:] if width == 7 else COLUMNS)
    if width != len(names):
        raise ValueError(
            f"line {head.lines + 1} has {width} numbers, and the columns are {', '.join(names)}; "
            "the programs read other forms: hermite4 FILE -t 0 -o plain"
        )
    try:
        table = _rows(text, head, names, "i8")
    except ValueError:  # ids such as 1.0e+00
        table = _rows(text, head, names, "f8")
        for name in set(_WHOLE) & set(names):
            table[name] = _whole(table[name], name)
    missing = [name for name in COLUMNS[1:] if name not in table]
    if missing:
        raise ValueError(f"there is no column {', '.join(missing)}; the columns are {', '.join(names)}")
    return table


def read(file: BinaryIO, units: Units | None) -> Snapshot:
    """Reads text."""
    try:
        text = file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"this is neither text nor a format that is known here ({error})") from None
    head = _head(text)
    known = None if head.units is None or _NBODY.search(head.units) else Units.of(head.units)
    table = _table(text, head)
    x, v = (np.stack([table[name] for name in names], axis=1) for names in (COLUMNS[2:5], COLUMNS[5:8]))
    others = {name: table[name] for name in ("id", *_OTHERS) if name in table}
    return Snapshot(x, table["mass"], v, time=head.time, units=one_of(known, units), G=head.G, **others)


def write(file: BinaryIO, snapshot: Snapshot, csv: bool) -> None:
    """Writes all digits."""
    columns = [snapshot.id, snapshot.mass, *snapshot.x.T, *snapshot.v.T]
    names = list(COLUMNS)
    for name in _OTHERS:
        array = getattr(snapshot, name)
        if array is not None and not (name == "type" and (array == 1).all()):
            columns.append(array)
            names.append(name)
    head = [f"# time {snapshot.time:.17g}"]
    if snapshot.units or snapshot.G != 1:
        head.append(f"# G {snapshot.G:.17g}")
    if snapshot.units:
        head.append(f"# units {snapshot.units}")
    head.append(",".join(names) if csv else "# " + " ".join(names))
    file.write(("\n".join(head) + "\n").encode())
    separator = "," if csv else " "
    form = separator.join("%d" if name in _WHOLE else "%.17g" for name in names) + "\n"
    lists = [column.tolist() for column in columns]
    for start in range(0, len(snapshot), 8192):
        part = zip(*(column[start : start + 8192] for column in lists))
        file.write("".join(form % row for row in part).encode())
