"""Snapshots: every format back and forth, against bytes packed by hand, and against programs that read the formats."""

import io
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sapporo
from sapporo.snapshots import Snapshot, Units, read, write

ROOT = Path(__file__).parents[3]
HERMITE = ROOT / "examples/hermite4"
EXACT = ["txt", "csv", "hdf5"]
UNITS = "1e10 msun,kpc,km/s"


def galaxy(n=20, ids=2**40, **more):
    """Particles of three types, in no order, with units, softening lengths and potentials."""
    rng = np.random.default_rng(1)
    x, v, mass = rng.normal(size=(n, 3)), rng.normal(size=(n, 3)), rng.uniform(0.5, 1.5, n)
    given = dict(id=ids - np.arange(n), time=0.1, units=UNITS, type=np.resize([4, 0, 1], n), eps=0.1 * mass, pot=-mass)
    return Snapshot(x, mass, v, **{**given, **more})


def same(a, b, rtol=0.0, ids=True):
    """Compares all that two snapshots have."""
    rows = [np.argsort(s.id) if ids else np.arange(len(s)) for s in (a, b)]
    for name in ("x", "v", "mass", "eps", "pot", "type") + ("id",) * ids:
        one, two = getattr(a, name), getattr(b, name)
        assert (one is None) == (two is None), name
        if one is not None:
            np.testing.assert_allclose(one[rows[0]], two[rows[1]], rtol=rtol, atol=0, err_msg=name)
    np.testing.assert_allclose(a.time, b.time, rtol=rtol)
    np.testing.assert_allclose(a.G, b.G, rtol=1e-12)


@pytest.mark.parametrize("ending", EXACT)
@pytest.mark.parametrize("more", [{}, dict(units=None, G=3.5), dict(units=None, eps=None, pot=None, type=1)])
def test_all_digits_come_back(tmp_path, ending, more):
    if ending == "hdf5":
        pytest.importorskip("h5py")
    one = galaxy(**more)
    write(tmp_path / f"a.{ending}", one)
    two = read(tmp_path / f"a.{ending}")
    same(one, two)
    assert str(one.units) == str(two.units)
    assert [path.name for path in tmp_path.iterdir()] == [f"a.{ending}"]


def test_hdf5_keeps_units_exactly(tmp_path):
    pytest.importorskip("h5py")
    one = galaxy(units=Units(1.23456789012345e43, 3.3e21, 98765.4321))
    write(tmp_path / "a.h5", one)
    assert read(tmp_path / "a.h5").units == one.units


def test_the_same_particles_give_the_same_bytes(tmp_path):
    pytest.importorskip("h5py")
    for ending in [*EXACT, "tipsy", "nemo"]:
        for name in "ab":
            write(tmp_path / f"{name}.{ending}", galaxy(ids=1000))
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()


# ---- Tipsy


def tipsy_bytes(order, pad):
    """Two gas particles, one dark particle and one star, packed by the structures of the format."""
    head = struct.pack(order + "d5i", 0.25, 4, 3, 2, 1, 1) + b"\0" * pad
    gas = [[1 + k, 10, 20, 30, 1, 2, 3, 7, 8, 0.5, 9, -1.5] for k in range(2)]
    dark, star = [3, 11, 21, 31, 4, 5, 6, 0.25, -2.5], [4, 12, 22, 32, 7, 8, 9, 0.01, 0.02, 0.125, -3.5]
    return head + b"".join(struct.pack(f"{order}{len(row)}f", *row) for row in (*gas, dark, star))


@pytest.mark.parametrize("order", [">", "<"])
@pytest.mark.parametrize("pad", [0, 4])
def test_tipsy_reads_structures(tmp_path, order, pad):
    (tmp_path / "a").write_bytes(tipsy_bytes(order, pad))
    found = read(tmp_path / "a", units="msun,pc")
    assert found.time == 0.25 and found.G == 1 and found.units.length == Units.of("msun,pc,km/s").length
    assert found.mass.tolist() == [1, 2, 3, 4] and found.type.tolist() == [0, 0, 1, 4]
    assert found.x[2:].tolist() == [[11, 21, 31], [12, 22, 32]] and found.v[2:].tolist() == [[4, 5, 6], [7, 8, 9]]
    assert found.eps.tolist() == [0.5, 0.5, 0.25, 0.125] and found.pot.tolist() == [-1.5, -1.5, -2.5, -3.5]
    assert found.id.tolist() == [1, 2, 3, 4]


def test_tipsy_writes_structures(tmp_path):
    x, v = [[12, 22, 32], [10, 20, 30], [11, 21, 31], [10, 20, 30]], [[7, 8, 9], [1, 2, 3], [4, 5, 6], [1, 2, 3]]
    eps, pot = [0.125, 0.5, 0.25, 0.5], [-3.5, -1.5, -2.5, -1.5]
    write(tmp_path / "a.std", Snapshot(x, [4, 1, 3, 2], v, type=[4, 0, 1, 0], time=0.25, eps=eps, pot=pot))
    found, hand = (tmp_path / "a.std").read_bytes(), tipsy_bytes(">", 4)
    rows, wanted = (np.frombuffer(data, ">f4", offset=32).copy() for data in (found, hand))
    wanted[[7, 8, 10, 12 + 7, 12 + 8, 12 + 10, 33 + 7, 33 + 8]] = 0  # densities, temperatures, metals, times of birth
    assert found[:32] == hand[:32] and rows.tolist() == wanted.tolist()


def test_tipsy_keeps_what_float_holds(tmp_path):
    one = galaxy(units=None, id=None, type=np.repeat([0, 1, 4], [5, 5, 10]))
    write(tmp_path / "a.tipsy", one)
    same(one, read(tmp_path / "a.tipsy"), rtol=2**-24, ids=False)


@pytest.mark.parametrize("size", [1e39, 1e-50])
def test_tipsy_refuses_what_float_cannot_hold(tmp_path, size):
    (tmp_path / "a.tipsy").write_text("old")
    with pytest.raises(ValueError, match=r"mass has 1e.*float cannot hold"):
        write(tmp_path / "a.tipsy", Snapshot(np.eye(3), size))
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


# ---- NEMO


def nemo_item(order, kind, tag, *values, shape=()):
    """An item of a structured file."""
    out = struct.pack(order + "h", 0x0B92 if shape else 0x0992) + kind.encode() + b"\0" + tag.encode() + b"\0"
    if shape:
        out += struct.pack(f"{order}{len(shape) + 1}i", *shape, 0)
    return out + struct.pack(f"{order}{len(values)}{kind}", *values)


def nemo_set(order, tag, *items, end=""):
    begin, behind = (struct.pack(order + "h", 0x0992) + kind for kind in (b"(\0", b")\0"))
    return begin + tag.encode() + b"\0" + b"".join(items) + behind + (end.encode() + b"\0" if end else b"")


def nemo_snapshot(order, time, real="d", split=False, key=True, end=""):
    phase = [1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    items = [nemo_item(order, "i", "CoordSystem", 0o201402), nemo_item(order, real, "Mass", 0.5, 0.25, shape=(2,))]
    if split:
        items.append(nemo_item(order, real, "Position", *phase[:3], *phase[6:9], shape=(2, 3)))
        items.append(nemo_item(order, real, "Velocity", *phase[3:6], *phase[9:], shape=(2, 3)))
    else:
        items.append(nemo_item(order, real, "PhaseSpace", *phase, shape=(2, 2, 3)))
    items += [nemo_item(order, "i", "Key", 7, 9, shape=(2,))] if key else []
    head = nemo_set(
        order,
        "Parameters",
        nemo_item(order, "i", "Nobj", 2),
        nemo_item(order, "d", "Time", time),
        end="Parameters" if end else "",
    )
    return nemo_set(
        order, "SnapShot", head, nemo_set(order, "Particles", *items, end="Particles" if end else ""), end=end
    )


@pytest.mark.parametrize("order", [">", "<"])
@pytest.mark.parametrize("more", [{}, dict(real="f", split=True, key=False), dict(end="SnapShot")])
def test_nemo_reads_items(tmp_path, order, more):
    history = struct.pack(order + "h", 0x0B92) + b"c\0History\0" + struct.pack(order + "2i", 5, 0) + b"mkpl\0"
    times_only = nemo_set(order, "SnapShot", nemo_set(order, "Parameters", nemo_item(order, "i", "Nobj", 2)))
    data = history + nemo_snapshot(order, 0.5, **more) + times_only + nemo_snapshot(order, 1.5, **more)
    (tmp_path / "a").write_bytes(data)
    found = read(tmp_path / "a")
    assert found.time == 0.5 and found.mass.tolist() == [0.5, 0.25]
    assert found.x.tolist() == [[1, 2, 3], [7, 8, 9]] and found.v.tolist() == [[4, 5, 6], [10, 11, 12]]
    assert found.id.tolist() == ([1, 2] if more.get("split") else [7, 9])
    assert read(tmp_path / "a", frame=1).time == read(tmp_path / "a", frame=-1).time == 1.5
    with pytest.raises(ValueError, match="frame 2 is wanted, and the file has 2 snapshots"):
        read(tmp_path / "a", frame=2)


def test_nemo_writes_items(tmp_path):
    found = Snapshot([[1, 2, 3], [7, 8, 9]], [0.5, 0.25], [[4, 5, 6], [10, 11, 12]], time=0.5, id=[7, 9])
    write(tmp_path / "a.nemo", found)
    assert (tmp_path / "a.nemo").read_bytes() == nemo_snapshot("<", 0.5)


def test_nemo_keeps_all_but_types(tmp_path):
    one = galaxy(ids=1000, type=1).with_G_1()
    write(tmp_path / "a.snap", one)
    same(one, read(tmp_path / "a.snap", units=one.units))
    with pytest.raises(ValueError, match="32 bits"):
        write(tmp_path / "b.snap", galaxy())


def test_nemo_says_what_is_damaged(tmp_path):
    whole = nemo_snapshot(">", 0.5)
    for length in range(2, len(whole)):
        (tmp_path / "a").write_bytes(whole[:length])
        with pytest.raises(ValueError, match="NEMO"):
            read(tmp_path / "a")
    rng = np.random.default_rng(1)
    for place in range(2, len(whole)):
        changed = bytearray(whole)
        changed[place] = rng.integers(256)
        (tmp_path / "a").write_bytes(changed)
        try:
            read(tmp_path / "a")
        except ValueError as error:
            assert str(error).startswith(str(tmp_path / "a"))


def test_the_library_of_nemo_reads_what_we_write_and_writes_what_we_read(tmp_path, monkeypatch):
    inputs, outputs = (pytest.importorskip(f"unsio.{name}") for name in ("input", "output"))
    monkeypatch.setenv("NEMO", str(tmp_path))  # which the library looks for
    one = galaxy(ids=1000, type=1, units=None, time=0.75)  # it returns times in float
    write(tmp_path / "a.nemo", one)
    file = inputs.CUNS_IN(str(tmp_path / "a.nemo"), float32=False)
    assert file.nextFrame("xvmpIe")
    wanted = {"pos": one.x, "vel": one.v, "mass": one.mass, "id": one.id, "pot": one.pot, "eps": one.eps}
    for name, array in wanted.items():
        assert (file.getData("all", name)[1].reshape(array.shape) == array).all(), name
    assert file.getData("time")[1] == one.time
    other = outputs.CUNS_OUT(str(tmp_path / "b.nemo"), "nemo", float32=False)
    for name in "pos", "vel", "mass":
        other.setData(wanted[name].ravel(), "all", name)
    other.setData(one.time, "time")
    other.save()
    two = read(tmp_path / "b.nemo")
    assert (two.x == one.x).all() and (two.v == one.v).all() and (two.mass == one.mass).all() and two.time == one.time


# ---- units


def test_units_are_those_of_the_programs():
    units = Units.of("msun,pc,km/s")
    assert f"{units.G:.9g}" == "0.00430091727" and f"{units.time / 31557600e6:.6g}" == "0.977792"
    assert f"{Units.of('Msun AU yr').G:.10g}" == "39.47692641"
    assert Units.of("cgs").G == 6.6743e-8 and pytest.approx(6.6743e-11, rel=1e-14) == Units.of("si").G
    assert str(Units.of("2 msun,pc,au/yr")) == "2 Msun, 1 pc, 4.740470464 km/s, 0.2062648062 Myr"
    for text in ("msun,pc,km/s", UNITS, "cgs", "si", "msun,au,yr", "0.01 msun,1e-3 pc,m/s"):
        one, two = Units.of(text), Units.of(str(Units.of(text)))
        for name in "mass", "length", "velocity":
            assert getattr(one, name) == pytest.approx(getattr(two, name), rel=1e-9), text
    for text, message in [
        ("msun,pc,parsec", "'parsec'.*is no unit"),
        ("msun,km/s", "no unit of length"),
        ("pc,km/s", "no unit of mass"),
        ("msun,pc,kpc,yr", "two units of length"),
        ("msun,pc,km/s,1 yr", "not length / velocity"),
        ("", "is no unit"),
    ]:
        with pytest.raises(ValueError, match=message):
            Units.of(text)


def test_other_units_are_the_same_system():
    one = galaxy()
    for other in (one.to("msun,pc,km/s"), one.with_G_1()):
        dynamical = [s.G * s.mass.sum() / np.ptp(s.x) / np.ptp(s.v) ** 2 for s in (one, other)]
        assert dynamical[0] == pytest.approx(dynamical[1], rel=1e-12)
        assert other.time * np.ptp(other.v) / np.ptp(other.x) == pytest.approx(one.time * np.ptp(one.v) / np.ptp(one.x))
        assert (other.pot / np.ptp(other.v) ** 2)[3] == pytest.approx((one.pot / np.ptp(one.v) ** 2)[3])
        same(one, other.to(UNITS), rtol=1e-12)
    assert one.with_G_1().G == 1 and pytest.approx(1, rel=1e-14) == one.with_G_1().units.G
    with pytest.raises(ValueError, match="not known"):
        galaxy(units=None).to("cgs")


def test_units_that_disagree_are_refused(tmp_path):
    with pytest.raises(ValueError, match="G is 1; that of the units"):
        galaxy(G=1)
    pytest.importorskip("h5py")
    for ending in EXACT:
        write(tmp_path / f"a.{ending}", galaxy())
        assert str(read(tmp_path / f"a.{ending}", units=UNITS).units) == str(Units.of(UNITS))
        with pytest.raises(ValueError, match="units of the file are 1e"):
            read(tmp_path / f"a.{ending}", units="msun,pc,km/s")


# ---- text and HDF5 of others


@pytest.mark.parametrize(
    "text",
    [
        "1 0 0 0 0 0 0\n2 1 2 3 4 5 6 # last\n",
        "# time 0\n# m x y z vx vy vz\n1 0 0 0 0 0 0\n2 1 2 3 4 5 6\n",
        "m;x;y;z;vx;vy;vz\n1;0;0;0;0;0;0\n\n2;1;2;3;4;5;6\n",
        "id vx vy vz x y z m\n1 0 0 0 0 0 0 1\n2 4 5 6 1 2 3 2\n",
        "1.0e+00 1 0 0 0 0 0 0\n2.0e+00 2 1 2 3 4 5 6\n",
        "# time of birth unknown\n# G\n1 1 0 0 0 0 0 0\n2 2 1 2 3 4 5 6\n",
        "# units: N-body: G = 1, M = 1, E = -1/4\n1 1 0 0 0 0 0 0\n2 2 1 2 3 4 5 6\n",
    ],
)
def test_text_of_others(tmp_path, text):
    (tmp_path / "a").write_text(text)
    found = read(tmp_path / "a")
    assert found.mass.tolist() == [1, 2] and found.x[1].tolist() == [1, 2, 3] and found.v[1].tolist() == [4, 5, 6]
    assert found.id.tolist() == [1, 2] and found.units is None and found.G == 1


def test_text_names_units(tmp_path):
    for head in ("# m[Msun] x[pc] v[km/s]", "# units: Msun pc km/s", "# units 1 Msun, 1 pc, 1 km/s, 0.977792 Myr"):
        (tmp_path / "a").write_text(head + "\n1 0 0 0 0 0 0\n")
        assert pytest.approx(4.30091727e-3, rel=1e-8) == read(tmp_path / "a").G, head


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2 3\n", "line 1 has 3 numbers"),
        ("3\n0.5\n1 0 0 0 0 0 0\n", "line 1 has 1 numbers"),
        ("x,y,z,vx,vy,vz\n1,2,3,4,5,6\n", "no column mass"),
        ("1.5 1 0 0 0 0 0 0\n", "id has numbers that are not whole"),
        ("1 nan 0 0 0 0 0\n", "row 0"),
        ("# units: furlong\n1 1 0 0 0 0 0\n", "furlong"),
        ("1 1 0 0 0 0 0\n1 1 0 0 0 0\n", "columns"),
        ("", "line 1 has 0 numbers"),
    ],
)
def test_text_says_what_is_wrong(tmp_path, text, message):
    (tmp_path / "a").write_text(text)
    with pytest.raises(ValueError, match=message):
        read(tmp_path / "a")


def test_hdf5_of_swift_and_gadget(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a", "w") as file:
        header = file.create_group("Header").attrs
        header["NumPart_ThisFile"] = np.array([0, 2, 0, 0, 1, 0, 0], dtype="i8")
        header["MassTable"], header["Time"] = [0, 0.5, 0, 0, 0, 0], np.array([0.75])
        units = file.create_group("Units").attrs
        for name, size in (("mass in cgs (U_M)", 2e33), ("length in cgs (U_L)", 3e18), ("time in cgs (U_t)", 3e13)):
            units["Unit " + name] = [size]
        for number, n in ((1, 2), (4, 1)):
            file[f"PartType{number}/Coordinates"] = np.full((n, 3), number, dtype="f4")
            file[f"PartType{number}/Velocities"] = np.zeros((n, 3))
            file[f"PartType{number}/Potentials"] = np.full(n, -number, dtype="f4")
        file["PartType4/Masses"] = [2.0]
    found = read(tmp_path / "a")
    assert found.mass.tolist() == [0.5, 0.5, 2] and found.x[:, 0].tolist() == [1, 1, 4] and found.time == 0.75
    assert found.type.tolist() == [1, 1, 4] and found.pot.tolist() == [-1, -1, -4] and found.eps is None
    assert found.units == Units(2e33, 3e18, 1e5)
    for group, name, value, message in [
        ("Header", "Redshift", 1.0, "cosmological"),
        ("Header", "NumFilesPerSnapshot", 2, "several files"),
        ("Header", "NumPart_ThisFile", [0, 3, 0, 0, 1, 0], "has the shape"),
        ("Header", "MassTable", "heavy", "another layout"),
        ("Header", "NumPart_ThisFile", [1, 2, 0, 0, 1, 0], "no PartType0/Coordinates"),
    ]:
        with h5py.File(tmp_path / "a", "r+") as file:
            before = file[group].attrs.get(name)
            file[group].attrs[name] = value
        with pytest.raises(ValueError, match=message):
            read(tmp_path / "a")
        with h5py.File(tmp_path / "a", "r+") as file:
            if before is None:
                del file[group].attrs[name]
            else:
                file[group].attrs[name] = before
    for name, values, message in [
        ("ParticleIDs", np.full(1, 2**63, np.uint64), "63 bits"),
        ("ParticleIDs", np.ones(1), "the type float64"),
        ("Masses", np.ones((1, 2)), "has the shape"),
    ]:
        with h5py.File(tmp_path / "a", "r+") as file:
            file["PartType4"].pop(name, None)
            file["PartType4/" + name] = values
        with pytest.raises(ValueError, match=message):
            read(tmp_path / "a")


def test_other_bytes_are_refused(tmp_path):
    (tmp_path / "a").write_bytes(bytes(range(128, 256)))
    with pytest.raises(ValueError, match="neither text nor"):
        read(tmp_path / "a")


@pytest.mark.parametrize("ending", ["hdf5", "tipsy", "txt", "nemo"])
def test_damaged_files_are_errors(tmp_path, ending):
    """Bytes that were changed or lost give particles or an error that names the file, nothing else."""
    if ending == "hdf5":
        pytest.importorskip("h5py")
    write(tmp_path / f"a.{ending}", galaxy(5, ids=100))
    whole, rng = (tmp_path / f"a.{ending}").read_bytes(), np.random.default_rng(1)
    for k in range(100):
        is_cut = ending == "hdf5" or k % 4 == 0  # other damage may end the process in libhdf5
        changed = bytearray(whole[: rng.integers(len(whole))] if is_cut else whole)
        for place in rng.integers(max(len(changed), 1), size=0 if is_cut else 4):
            changed[place] = rng.integers(256)
        (tmp_path / "b").write_bytes(changed)
        try:
            read(tmp_path / "b")
        except (ValueError, OSError) as error:
            assert "b" in str(error)


def test_h5py_is_named_where_it_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match="pip install h5py"):
        write(tmp_path / "a.hdf5", galaxy())
    (tmp_path / "b").write_bytes(b"\x89HDF\r\n\x1a\n")
    with pytest.raises(ImportError, match="pip install h5py"):
        read(tmp_path / "b")
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_arguments_are_checked(tmp_path):
    one = galaxy()
    for call, message in [
        (lambda: write(tmp_path / "a.fits", one), "ending '.fits'; formats are text, csv, hdf5, tipsy, nemo"),
        (lambda: write(tmp_path / "a", one, format="fits"), "format is 'fits'"),
        (lambda: read(ROOT / "LICENSE", format="fits"), "format is 'fits'"),
        (lambda: read(ROOT / "LICENSE", frame=1), "only files of NEMO"),
        (lambda: read(ROOT / "LICENSE", format="tipsy"), "LICENSE: this is no file of Tipsy"),
        (lambda: Snapshot(np.eye(3), 1.0, type=6), "types are 6 to 6"),
        (lambda: Snapshot(np.eye(3), 1.0, time=np.inf), "time is inf"),
        (lambda: Snapshot(np.eye(3), 1, 1.0), "v is"),
        (lambda: write(tmp_path / "a.nemo", Snapshot(np.empty((0, 3)), 1.0)), "no particles"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none")
    assert (
        repr(one) == "<sapporo.snapshots.Snapshot: n 20, time 0.1, units 1e+10 Msun, 1 kpc, 1 km/s, 0.9777922217 Gyr>"
    )


# ---- programs that read and write the formats


@pytest.mark.skipif(not HERMITE.exists(), reason="examples/hermite4 is missing")
@pytest.mark.parametrize("ending", EXACT)
@pytest.mark.parametrize("units", [UNITS, None])
def test_our_programs_read_and_write_the_same(tmp_path, ending, units):
    one = galaxy(units=units, type=1, id=np.arange(20) + 5, eps=None, pot=None)
    form = "lines" if ending == "txt" else ending
    write(tmp_path / f"a.{ending}", one)
    command = [HERMITE, f"a.{ending}", "-t", "0.1", "--eps", "0.1", "-o", "b", "--format", form]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    if "libhdf5" in done.stderr:
        pytest.skip("the programs were built without libhdf5")
    assert done.returncode == 0, done.stderr
    two = read(next(tmp_path.glob("b.0000.*")))
    rtol = 2**-51 if units else 0  # the programs keep G times the mass: two roundings
    same(Snapshot(one.x, one.mass, one.v, id=one.id, units=units, time=two.time), two, rtol=rtol)
    assert str(two.units) == str(one.units)


def test_pandas_reads_our_csv(tmp_path):
    pandas = pytest.importorskip("pandas")
    one = galaxy()
    write(tmp_path / "a.csv", one)
    table = pandas.read_csv(tmp_path / "a.csv", comment="#")
    assert list(table) == ["id", "mass", "x", "y", "z", "vx", "vy", "vz", "type", "eps", "pot"]
    assert (table["id"] == one.id).all() and (table[["x", "y", "z"]].to_numpy() == one.x).all()
    table.to_csv(tmp_path / "b.csv", index=False)
    assert (read(tmp_path / "b.csv").v == one.v).all()


def test_numpy_reads_our_text(tmp_path):
    one = galaxy()
    write(tmp_path / "a.txt", one)
    table = np.loadtxt(tmp_path / "a.txt")
    assert (table[:, 2:5] == one.x).all() and (table[:, 1] == one.mass).all()
    text = io.BytesIO()
    np.savetxt(text, np.column_stack([one.mass, one.x, one.v]), fmt="%.17g", header="mass x y z vx vy vz")
    (tmp_path / "b").write_bytes(text.getvalue())
    assert (read(tmp_path / "b").v == one.v).all()


@pytest.mark.parametrize("ending", ["hdf5", "tipsy"])
def test_pynbody_opens_what_we_write(tmp_path, ending):
    pynbody = pytest.importorskip("pynbody")
    if ending == "hdf5":
        pytest.importorskip("h5py")
    one = galaxy(ids=20).with_G_1() if ending == "tipsy" else galaxy()
    write(tmp_path / f"a.{ending}", one)
    found = pynbody.load(str(tmp_path / f"a.{ending}"))
    assert (len(found.gas), len(found.dm), len(found.star)) == (7, 6, 7)
    for family, number in (found.gas, 0), (found.dm, 1), (found.star, 4):
        rows = one.type == number
        for name, array in ("pos", one.x), ("vel", one.v), ("mass", one.mass):
            np.testing.assert_allclose(
                np.asarray(family[name]), array[rows], rtol=2**-23 if ending == "tipsy" else 1e-12
            )
    if ending == "hdf5":
        assert float(found.star["pos"].units.ratio("kpc")) == pytest.approx(1, rel=1e-6)
        assert float(found.star["mass"].units.ratio("Msol")) == pytest.approx(1e10, rel=1e-3)


@pytest.mark.parametrize("ending", ["hdf5", "tipsy"])
def test_yt_opens_what_we_write(tmp_path, ending):
    yt = pytest.importorskip("yt")
    if ending == "hdf5":
        pytest.importorskip("h5py")
    yt.set_log_level("error")
    one = galaxy(ids=20).with_G_1()
    write(tmp_path / f"a.{ending}", one)
    box = [[-10, 10]] * 3
    if ending == "hdf5":
        units = {"length": (1.0, "kpc"), "mass": (1e10, "Msun"), "velocity": (1.0, "km/s")}
        found = yt.load(str(tmp_path / "a.hdf5"), bounding_box=box, unit_base=units).all_data()
        kinds = ["PartType0", "PartType1", "PartType4"]
    else:
        found = yt.load(str(tmp_path / "a.tipsy"), bounding_box=box).all_data()
        kinds = ["Gas", "DarkMatter", "Stars"]
    for kind, number in zip(kinds, (0, 1, 4)):
        names = ("Masses", "Coordinates") if ending == "hdf5" else ("Mass", "Coordinates")
        mass, x = (np.asarray(found[kind, name].to("code_" + unit)) for name, unit in zip(names, ("mass", "length")))
        rows = one.type == number
        order, own = np.argsort(mass), np.argsort(one.mass[rows])
        np.testing.assert_allclose(mass[order], one.mass[rows][own], rtol=1e-6)
        np.testing.assert_allclose(x[order], one.x[rows][own], rtol=1e-6)


def test_forces_of_a_snapshot_in_its_units():
    one = galaxy()
    acc = sapporo.accelerations(one.x, one.mass, eps=0.1, G=one.G)
    unit = one.with_G_1()
    np.testing.assert_allclose(acc, one.G * sapporo.accelerations(unit.x, unit.mass, eps=0.1), rtol=1e-12)
