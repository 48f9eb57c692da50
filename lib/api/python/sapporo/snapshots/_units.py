"""Units of mass, length and velocity."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

# CODATA 2018, in cm^3 g^-1 s^-2; the astronomical unit (IAU 2012, resolution B2); the parsec and the nominal G Msun
# (IAU 2015, resolutions B2 and B3); the Julian year.
CGS_G = 6.67430e-8
_AU = 1.49597870700e13
_PC = 648000 / math.pi * _AU
_YEAR = 31557600.0

# Sizes in cgs.
_WORDS: dict[str, dict[str, float]] = {
    "mass": {"Msun": 1.3271244e26 / CGS_G, "kg": 1e3, "g": 1.0},
    "length": {"kpc": 1e3 * _PC, "pc": _PC, "au": _AU, "m": 1e2, "cm": 1.0},
    "velocity": {"km/s": 1e5, "m/s": 1e2, "cm/s": 1.0},
    "time": {"Gyr": 1e9 * _YEAR, "Myr": 1e6 * _YEAR, "yr": _YEAR, "s": 1.0},
}
_SIZES = {word.lower(): (kind, size) for kind, words in _WORDS.items() for word, size in words.items()}
_SYSTEMS = {"cgs": "g cm cm/s", "si": "kg m m/s"}
_LISTED = "; ".join(" ".join(words) for words in _WORDS.values())
_SAME = 1e-3  # relative difference up to which two statements about units agree


def agree(a: float, b: float) -> bool:
    """Whether two numbers are the same but for the rounding of files."""
    return abs(a - b) <= _SAME * min(a, b)


def _size(kind: str, word: str) -> tuple[str, float]:
    """The quantity and the size in cgs of a word, which may be a length by a time."""
    if word in _SIZES:
        return _SIZES[word]
    length, _, time = (_SIZES.get(part, ("", 0.0)) for part in word.partition("/"))
    if length[0] != "length" or time[0] != "time":
        raise ValueError(f"{word!r} in {kind!r} is no unit known here ({_LISTED})")
    return "velocity", length[1] / time[1]


def _sizes(text: str) -> dict[str, float]:
    """Sizes in cgs of the quantities that a text names; a number before a word multiplies it."""
    found: dict[str, float] = {}
    factor = 1.0
    named = _SYSTEMS.get(text.strip().lower(), text.partition("(")[0])
    for word in re.split(r"[\s,;]+", named.strip(" \t,;").lower()):
        try:
            factor = float(word)
        except ValueError:
            kind, size = _size(text, word)
            if not agree(found.setdefault(kind, factor * size), factor * size):
                raise ValueError(f"{text!r} has two units of {kind}") from None
            factor = 1.0
    return found


@dataclass(frozen=True)
class Units:
    """Units of a snapshot, in g, cm and cm/s.  The unit of time is length / velocity.

    Args:
        mass: unit of mass in g.
        length: unit of length in cm.
        velocity: unit of velocity in cm/s.

    Example:
        >>> from sapporo.snapshots import Units
        >>> units = Units.of("msun,pc,km/s")
        >>> print(units, f"with G = {units.G:.6g}")
        1 Msun, 1 pc, 1 km/s, 0.9777922217 Myr with G = 0.00430092
    """

    mass: float
    length: float
    velocity: float

    @classmethod
    def of(cls, text: str) -> Units:
        """Units by words.

        Args:
            text: a mass, a length, and a velocity or a time, in any order: Msun, kg, g; kpc, pc, au, m, cm; km/s, m/s,
                cm/s, or a length by a time, such as au/yr; Gyr, Myr, yr, s.  A number before a word multiplies it.
                "cgs" and "si" name all three.  Without a velocity and a time, G is 1.

        Returns:
            The units.

        Raises:
            ValueError: a word is unknown, or a quantity is missing or named twice.

        Example:
            >>> from sapporo.snapshots import Units
            >>> round(Units.of("msun,au,yr").G, 4)
            39.4769
            >>> Units.of("1e10 msun,kpc").G
            1.0
        """
        sizes = _sizes(text)
        mass, length = sizes.get("mass", 0.0), sizes.get("length", 0.0)
        if mass <= 0 or length <= 0:
            raise ValueError(f"{text!r} has no unit of {'length' if mass > 0 else 'mass'} ({_LISTED})")
        velocity = sizes.get("velocity") or (length / sizes["time"] if "time" in sizes else 0.0)
        if "time" in sizes and not agree(velocity * sizes["time"], length):
            raise ValueError(f"{text!r}: the unit of time is not length / velocity; name one of time and velocity")
        return cls(mass, length, velocity or math.sqrt(CGS_G * mass / length))

    @property
    def time(self) -> float:
        """Unit of time in s."""
        return self.length / self.velocity

    @property
    def G(self) -> float:
        """Gravitational constant in these units."""
        return float(f"{CGS_G * self.mass / self.length / self.velocity / self.velocity:.15g}")

    def __str__(self) -> str:
        """The words by which the sample programs name the units."""
        return ", ".join(_shown(kind, getattr(self, kind)) for kind in _WORDS)


def _shown(kind: str, size: float) -> str:
    """An amount in the largest unit of which there is a tenth; small ones in that of cgs."""
    words = _WORDS[kind]
    least = {"Msun": 1e-6, "km/s": 1e-3, "au": 1e-3, "yr": 1e-3, "pc": 1e-2}
    left_out = ("kg", "m", "m/s")
    fits = (w for w, one in words.items() if w not in left_out and size >= least.get(w, 0.1) * one)
    word = next(fits, list(words)[-1])
    return f"{size / words[word]:.10g} {word}"


def one_of(known: Units | None, given: Units | None) -> Units | None:
    """The units of a file, or those that its reader gives.  Raises ValueError if they differ."""
    if known and given and not all(agree(getattr(known, k), getattr(given, k)) for k in ("mass", "length", "velocity")):
        raise ValueError(f"the units of the file are {known}, and {given} were given")
    return known or given
