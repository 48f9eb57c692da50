"""HDF5 in the layout that GADGET-4 and SWIFT share: Header, and one group per type of particles."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ._snapshot import TYPES, Snapshot
from ._units import CGS_G, Units, agree, one_of

SIGNATURE = b"\x89HDF\r\n\x1a\n"
_GADGET = ("UnitMass_in_g", "UnitLength_in_cm", "UnitVelocity_in_cm_per_s")
_PLACES = [
    *((group, _GADGET) for group in ("Parameters", "Units", "Header")),
    ("Header", ("UnitMass_In_CGS", "UnitLength_In_CGS", "UnitVelocity_In_CGS")),
]
# Names of data sets; the first is written.
_NAMES = {
    "x": ("Coordinates",),
    "v": ("Velocities",),
    "mass": ("Masses", "DynamicalMasses"),
    "id": ("ParticleIDs",),
    "eps": ("Softenings", "Softening"),
    "pot": ("Potential", "Potentials"),
}
# Powers of length, velocity and mass.
_POWERS = {"x": (1, 0, 0), "v": (0, 1, 0), "mass": (0, 0, 1), "eps": (1, 0, 0), "pot": (0, 2, 0)}
_FLAGS = ("Sfr", "Cooling", "StellarAge", "Metals", "Feedback", "Entropy_ICs")


def _h5py() -> Any:
    try:
        return importlib.import_module("h5py")
    except ImportError as error:
        raise ImportError("snapshots in HDF5 need the module h5py: pip install h5py") from error


def _number(file: Any, group: str, name: str, absent: float = 0.0) -> float:
    """An attribute of one number."""
    value = file[group].attrs.get(name) if group in file else None
    return absent if value is None else float(np.ravel(value)[0])


def _counts(file: Any, name: str, least: int = 0) -> Any:
    """An attribute of one number per type."""
    values = np.ravel(file["Header"].attrs.get(name, [])) if "Header" in file else np.empty(0)
    if len(values) < least or len(values[6:].nonzero()[0]):
        raise ValueError(f"Header/{name} is not of the types 0 to 5; snapshots of GADGET-4 and SWIFT have it")
    return np.concatenate([values, np.zeros(6)])[:6]


def _refuse_others(file: Any) -> None:
    if _number(file, "Header", "NumFilesPerSnapshot", 1) > 1:
        raise ValueError("this is one of several files of a snapshot; only snapshots in one file can be read")
    comoving = _number(file, "Parameters", "ComovingIntegrationOn") or _number(file, "Cosmology", "Cosmological run")
    if comoving or _number(file, "Header", "Redshift") > 0:
        raise ValueError("this is a cosmological snapshot, in comoving coordinates")


def _units(file: Any, given: Units | None) -> tuple[Units | None, float | None]:
    """Units and the gravitational constant, as far as the file tells them or they are given."""
    own = _number(file, "Parameters", "GravityConstantInternal") or None
    mass, length, time = (
        _number(file, "Units", f"Unit {name} in cgs (U_{letter})")
        for name, letter in (("mass", "M"), ("length", "L"), ("time", "t"))
    )
    sizes = (mass, length, length / time if time > 0 else 0.0)
    for group, names in _PLACES:
        if min(sizes) <= 0:
            sizes = tuple(_number(file, group, name) for name in names)  # type: ignore[assignment]
    units = Units(*sizes) if min(sizes) > 0 else None
    if units and own and not agree(own, units.G):
        units = None  # a run whose G is its own, such as 1, has no units, though GADGET-4 writes its defaults
    constant = _number(file, "PhysicalConstants/CGS", "newton_G")
    if units and not own and constant > 0:
        own = units.G * constant / CGS_G
    return one_of(units, given), own


def _column(file: Any, name: str, number: int, n: int, table: Any) -> Any:
    """A column of the particles of a type; None: the file has none."""
    group = file.get(f"PartType{number}", {})
    for found in _NAMES[name]:
        if found in group:
            shape = getattr(group[found], "shape", None)
            if shape != ((n, 3) if name in ("x", "v") else (n,)):
                raise ValueError(f"PartType{number}/{found} has the shape {shape} for {n} particles")
            data = group[found][:]
            if data.dtype.kind not in ("iu" if name == "id" else "f"):
                raise ValueError(f"PartType{number}/{found} has the type {data.dtype}")
            if name == "id" and data.max() > np.iinfo(np.int64).max:
                raise ValueError(f"PartType{number}/{found} has {data.max()}, which needs more than 63 bits")
            return data.astype(np.int64 if name == "id" else np.float64)
    if name == "mass" and table[number] > 0:
        return np.full(n, float(table[number]))
    if name in ("x", "v", "mass"):
        raise ValueError(f"there is no PartType{number}/{_NAMES[name][0]}")
    return None


def read(path: str, units: Units | None) -> Snapshot:
    """Reads a file."""
    h5py = _h5py()
    try:
        return _read(h5py, path, units)
    except (KeyError, TypeError, RuntimeError) as error:  # of h5py
        raise ValueError(f"this file of HDF5 is damaged, or has another layout: {error}") from error


def _read(h5py: Any, path: str, units: Units | None) -> Snapshot:
    with h5py.File(path, "r") as file:
        counts, table = _counts(file, "NumPart_ThisFile", 1).astype(np.int64), _counts(file, "MassTable")
        _refuse_others(file)
        known, G = _units(file, units)
        types = [number for number in range(6) if counts[number] > 0]
        columns: dict[str, Any] = {}
        for name in _NAMES:
            parts = [_column(file, name, number, int(counts[number]), table) for number in types]
            whole = all(part is not None for part in parts) and len(parts) > 0
            columns[name] = np.concatenate(parts) if whole else None
        if not types:
            raise ValueError("there are no particles in this file")
        types_of = np.repeat(types, counts[types])
        return Snapshot(**columns, type=types_of, time=_number(file, "Header", "Time"), units=known, G=G)


def _write_header(file: Any, snapshot: Snapshot) -> None:
    counts = np.bincount(snapshot.type, minlength=6)
    header = file.create_group("Header").attrs
    for name in "NumPart_ThisFile", "NumPart_Total", "NumPart_Total_HighWord":
        header[name] = (counts >> 32 if name.endswith("Word") else counts & 0xFFFFFFFF).astype("<u4")
    header["MassTable"] = np.zeros(6)
    header["Time"], header["Redshift"] = snapshot.time, 0.0
    for name, number in (("NumFilesPerSnapshot", 1), ("Dimension", 3), ("Flag_DoublePrecision", 1)):
        header[name] = np.int32(number)
    for flag in _FLAGS:
        header[f"Flag_{flag}"] = np.int32(0)
    parameters = file.create_group("Parameters").attrs
    parameters["ComovingIntegrationOn"] = np.int32(0)
    if snapshot.units or snapshot.G != 1:
        parameters["GravityConstantInternal"] = snapshot.G
    for attributes in header, parameters:
        for name, value in (("BoxSize", 0.0), ("Omega0", 0.0), ("OmegaLambda", 0.0), ("HubbleParam", 1.0)):
            attributes[name] = value


def _write_units(file: Any, units: Units) -> None:
    file["Header"].attrs["sapporo_units"] = np.bytes_(str(units))
    swift = file.create_group("Units").attrs
    sizes = {"length (U_L)": units.length, "mass (U_M)": units.mass, "time (U_t)": units.time}
    for name, size in {**sizes, "current (U_I)": 1.0, "temperature (U_T)": 1.0}.items():
        quantity, _, letter = name.partition(" ")
        swift[f"Unit {quantity} in cgs {letter}"] = np.array([size])
    for attributes in swift, file["Parameters"].attrs:
        attributes.update(dict(zip(_GADGET, (units.mass, units.length, units.velocity))))


def write(path: str, snapshot: Snapshot) -> None:
    """Writes a file, in double, with the particles in the order of their types."""
    with _h5py().File(path, "w") as file:
        _write_header(file, snapshot)
        if snapshot.units:
            _write_units(file, snapshot.units)
        for number in sorted(set(TYPES.values()) & set(snapshot.type.tolist())):
            rows = snapshot.type == number
            group = file.create_group(f"PartType{number}")
            for name, names in _NAMES.items():
                array = getattr(snapshot, name)
                if array is None:
                    continue
                whole = "<i8" if name == "id" and array.min() < 0 else "<u8" if name == "id" else "<f8"
                data = group.create_dataset(names[0], data=array[rows].astype(whole))
                if snapshot.units and name in _POWERS:
                    _write_unit(data, snapshot.units, _POWERS[name])


def _write_unit(data: Any, units: Units, powers: tuple[int, int, int]) -> None:
    """The unit of a data set, as GADGET-4 writes it."""
    length, velocity, mass = powers
    data.attrs["a_scaling"] = data.attrs["h_scaling"] = 0.0
    for name, power in zip(("length", "velocity", "mass"), powers):
        data.attrs[f"{name}_scaling"] = float(power)
    data.attrs["to_cgs"] = units.length**length * units.velocity**velocity * units.mass**mass
