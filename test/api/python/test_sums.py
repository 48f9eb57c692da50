"""accelerations and potentials: one call, in arrays of any library and type."""

import csv
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import sapporo
from reference import forces, plummer
from sapporo import _sums

G = 4.30091e-3


@pytest.fixture
def small_limits(monkeypatch):
    """Trees from 64 particles on, on CPUs, and from 128 on, on devices."""
    monkeypatch.setattr(_sums, "DIRECT_ON_CPU", 64**2)
    monkeypatch.setattr(_sums, "DIRECT_ON_DEVICE", 128**2)


@pytest.mark.parametrize("eps", [0.0, 0.05])
def test_sums_are_those_of_the_reference(eps):
    x, _, mass = plummer(200)
    acc, pot = forces([x], mass, [x], eps**2, np.eye(200, dtype=bool))
    np.testing.assert_allclose(sapporo.accelerations(x, mass, eps, G=G), G * acc[0].astype(float), rtol=1e-11)
    np.testing.assert_allclose(sapporo.potentials(x, mass, eps, G=G), G * pot.astype(float), rtol=1e-12)
    at = np.array([[0.0, 0, 0], [3, 0, 0], x[5]])
    acc, pot = forces([x], mass, [at], eps**2)
    np.testing.assert_allclose(sapporo.accelerations(x, mass, eps, targets=at), acc[0].astype(float), rtol=1e-11)
    np.testing.assert_allclose(sapporo.potentials(x, mass, eps, targets=at), pot.astype(float), rtol=1e-12)


def test_a_tree_is_taken_for_many_pairs_or_when_it_is_named(small_limits):
    x, _, mass = plummer(300)
    options = {"precision": "dp"}
    right = sapporo.accelerations(x, mass, 0.01, accuracy=0, **options)
    assert (right == sapporo.accelerations(x, mass, 0.01, theta=0, **options)).all()
    by_size = sapporo.accelerations(x, mass, 0.01, **options)
    for words, mac, accuracy in (
        ({}, "acceleration", 0.01),
        ({"theta": 0.4}, "opening", 0.4),
        ({"accuracy": 1e-3}, "acceleration", 1e-3),
    ):
        with sapporo.Tree(300, mac=mac, accuracy=accuracy, eps=0.01, **options) as tree:
            tree.set(x, mass)
            tree.build()
            found = sapporo.accelerations(x, mass, 0.01, **words, **options)
            assert (found == tree.force().acc).all() and not (found == right).all()
            assert (sapporo.potentials(x, mass, 0.01, **words, **options) == tree.force().pot).all()
            at = x[:100] + 1
            found = sapporo.accelerations(x, mass, 0.01, targets=at, **words, **options)
            assert (found == tree.force(targets=at).acc).all()
    assert np.abs(by_size - right).max() < 0.02 * np.abs(right).max()
    few = sapporo.accelerations(x, mass, 0.01, targets=x[:13] + 1, **options)  # 3,900 pairs
    assert (few == sapporo.accelerations(x, mass, 0.01, targets=x[:13] + 1, theta=0, **options)).all()


def test_devices_take_direct_sums_of_more_pairs(small_limits, monkeypatch):
    x, _, mass = plummer(100)
    direct = sapporo.accelerations(x, mass, theta=0)
    assert not (sapporo.accelerations(x, mass) == direct).all()
    monkeypatch.setattr(_sums.Context, "backend", property(lambda context: "cuda"))
    assert (sapporo.accelerations(x, mass) == direct).all()
    assert not (sapporo.accelerations(x, mass, backend="cpu") == direct).all()
    twice = np.concatenate([x, x + 5])  # 40,000 pairs
    assert not (sapporo.accelerations(twice, 1.0) == sapporo.accelerations(twice, 1.0, theta=0)).all()


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16, ">f8"])
def test_results_have_the_type_of_positions(kind):
    x, _, mass = plummer(50)
    x = x.astype(kind)
    right = sapporo.accelerations(x.astype(float), mass)
    found = sapporo.accelerations(x, mass.astype(np.float32).astype(float))
    assert found.dtype == np.dtype(kind) and found.shape == (50, 3)
    np.testing.assert_allclose(found.astype(float), right, rtol=1e-5 if kind != np.float16 else 2e-3, atol=1e-4)
    assert sapporo.potentials(x, mass).dtype == np.dtype(kind)


def test_any_layout_is_taken():
    x, _, mass = plummer(60)
    right = sapporo.accelerations(x, mass)
    table = np.zeros((60, 9))
    table[:, 1:8:3], table[:, 8] = x, mass
    for positions in (np.asfortranarray(x), table[:, 1:8:3], x.tolist(), x[::-1][::-1]):
        assert (sapporo.accelerations(positions, table[:, 8]) == right).all()
    assert (sapporo.accelerations(x[::2], 0.5) == sapporo.accelerations(x[::2].copy(), np.full(30, 0.5))).all()
    whole = sapporo.accelerations([[0, 0, 0], [2, 0, 0]], 4)
    assert whole.dtype == np.float64 and whole.tolist() == [[1, 0, 0], [-1, 0, 0]]


def test_few_particles():
    assert sapporo.accelerations(np.zeros((1, 3)), 1).tolist() == [[0, 0, 0]]
    assert sapporo.potentials(np.zeros((2, 3)), 1).tolist() == [0, 0]
    assert sapporo.potentials(np.zeros((2, 3)), 1, eps=0.5).tolist() == [-2, -2]
    assert sapporo.accelerations(np.zeros((0, 3)), 1).shape == (0, 3)
    assert sapporo.potentials(np.zeros((2, 3)), 1, targets=np.zeros((0, 3))).shape == (0,)
    with pytest.warns(sapporo.EmptyWarning):
        assert sapporo.potentials(np.zeros((0, 3)), 1, targets=np.ones((1, 3))).tolist() == [0]


@pytest.mark.parametrize("call", [sapporo.accelerations, sapporo.potentials])
def test_errors(call):
    x = np.eye(3)
    for error, text, words in (
        (sapporo.ArgumentError, "eps is -1", {"eps": -1}),
        (sapporo.ArgumentError, "eps is nan", {"eps": float("nan")}),
        (TypeError, "eps is NoneType", {"eps": None}),
        (sapporo.ArgumentError, "theta is -0.5", {"theta": -0.5}),
        (ValueError, "either theta or accuracy", {"theta": 0.5, "accuracy": 0.01}),
        (sapporo.ArgumentError, "gravitational_constant is 0", {"G": 0}),
        (ValueError, "precision is 'qp'", {"precision": "qp"}),
        (ValueError, "backend is 'tpu'", {"backend": "tpu"}),
        (ValueError, "targets is an array of shape", {"targets": np.zeros(3)}),
    ):
        with pytest.raises(error, match=text):
            call(x, 1.0, **words)
    with pytest.raises(ValueError, match="mass is an array of shape"):
        call(x, np.ones(2))
    with pytest.raises(ValueError, match="x is an array of shape"):
        call(x[0], 1)
    with pytest.raises(TypeError, match="real numbers"):
        call(x + 1j, 1)
    for words in {}, {"theta": 0.5}:
        with pytest.raises(sapporo.NotFiniteError):
            call(x * np.nan, 1, **words)
        with pytest.warns(sapporo.PartialWarning):
            assert np.isnan(call(x, 1, targets=[[np.nan, 0, 0]], **words)).all()


def test_threads_are_independent():
    x, _, mass = plummer(500)
    right, found = [sapporo.accelerations(x * k, mass) for k in (1, 2)], [None] * 8

    def work(k):
        found[k] = sapporo.accelerations(x * (1 + k % 2), mass)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((found[k] == right[k % 2]).all() for k in range(8))


def test_rows_of_times_beside_other_packages(tmp_path):
    """The script that prints rows for docs/data prints numbers of every case that can run here, and records them."""
    old, kept = "Python, 300 particles, 1 threads: libsapporo, theta 0.5", "Few, one core: a, b"
    data = tmp_path / "machine.csv"
    head = "# title: A machine\ncase,command,commit,date,median,least,error99,unit\n"
    data.write_text(f'{head}"{old}",c,abcdef0,2026-01-01,999,998,,ms\n"{kept}",,,,1,,,ms\n')
    script = Path(__file__).parents[2] / "perf/python_peers.py"
    command = [sys.executable, script, "--n", "300", "--repeat", "2", "--targets", "50", "--threads", "1"]
    command += ["--packages", "libsapporo", "jax", "--record", data]  # pytreegrav compiles for a minute
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    rows = {row["case"].partition(": ")[2]: row for row in csv.DictReader(done.stdout.splitlines())}
    for package, count in (("libsapporo", 6), ("jax", 1)):
        found = [name for name in rows if package in name.lower()]
        assert len(found) == count or f"{package} is not installed" in done.stderr, package
    assert all(float(row["least"]) <= float(row["median"]) for row in rows.values())
    bounds = {"in sp": 1e-5, "in ds": 1e-6, "in dp": 1e-14, "0.7": 0.01, "0.3": 1e-4}
    for ending, bound in bounds.items():
        case = "direct sum " + ending if ending[:2] == "in" else "theta " + ending
        assert float(rows["libsapporo, " + case]["error99"]) < bound, case
    recorded = data.read_text()
    wanted = [*done.stdout.splitlines()[1:], f'"{kept}",,,,1,,,ms']
    assert recorded.startswith(f'{head}"{old}",python3')  # in place of the old one
    assert sorted(recorded[len(head) :].splitlines()) == sorted(wanted)


# ---- CuPy, of which the tests need no more than these calls; arrays of it are in host memory here


class FakeCupy(np.ndarray):
    device = type("Device", (), {"id": 3, "__enter__": lambda self: self, "__exit__": lambda *_: None})()


FakeCupy.__module__, FakeCupy.__name__ = "cupy", "ndarray"


@pytest.fixture
def cupy(monkeypatch):
    def of(function):
        return lambda *a, **k: function(*a, **k).view(FakeCupy)

    module = SimpleNamespace(
        ndarray=FakeCupy,
        asarray=of(np.asarray),
        asnumpy=lambda array: array.view(np.ndarray),
        ascontiguousarray=of(np.ascontiguousarray),
        broadcast_to=of(np.broadcast_to),
        empty=of(np.empty),
    )
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("mass", [1.0, None])
def test_cupy(cupy, kind, mass, small_limits, monkeypatch):
    """Direct sums and targets go through the host; a tree gets contiguous float64, and the device of the array."""
    x, _, masses = plummer(300)
    masses = masses if mass is None else mass
    x_ = x.astype(kind)[::-1].view(FakeCupy)[::-1]
    asked = []

    class Tree(sapporo.Tree):
        def __init__(self, n, **options):
            asked.append((options.pop("backend"), options.pop("devices", None)))
            super().__init__(n, backend="cpu", **options)

    monkeypatch.setattr(_sums, "Tree", Tree)
    monkeypatch.setattr(_sums, "devices", lambda backend: [0])
    for backend, words, trees in (
        ("cpu", {"theta": 0}, []),
        ("cuda", {}, [("cuda", [3])]),
        ("cpu", {}, [("cpu", None)]),
        (None, {"targets": x_[:9] + 1}, []),
    ):
        right = sapporo.accelerations(x_.view(np.ndarray).copy(), masses, backend="cpu", **words)
        asked.clear()
        found = sapporo.accelerations(x_, masses, backend=backend, **words)
        assert type(found) is FakeCupy and found.dtype == kind and (found == right).all() and asked == trees
    assert type(sapporo.potentials(x.copy(), x_[:, 0], theta=0)) is FakeCupy
