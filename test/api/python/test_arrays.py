"""Which arrays are used as they are, which are copied, which are refused; and the same bits from all layouts."""

import numpy as np
import pytest
import sapporo
from reference import plummer
from sapporo._arrays import indices, scalars, vectors

N = 64


def layouts():
    """Arrays of the same numbers: name, array, whether it is used without a copy."""
    x = plummer(N)[0]
    record = np.zeros(N, dtype=[("id", "i8"), ("x", "f8", 3), ("mass", "f8")])
    record["x"] = x
    wide = np.zeros((N, 7))
    wide[:, 2:5] = x
    packed = np.zeros(N, dtype=[("flag", "i1"), ("x", "f8", 3)])
    packed["x"] = x
    backward = x[::-1].copy()
    return [
        ("contiguous", x, True),
        ("field of records", record["x"], True),
        ("columns of a table", wide[:, 2:5], True),
        ("every second row", np.repeat(x, 2, axis=0)[::2], True),
        ("backward", backward[::-1], True),
        ("read-only", np.frombuffer(x.tobytes()).reshape(N, 3), True),
        ("Fortran order", np.asfortranarray(x), False),
        ("unaligned field", packed["x"], False),
        ("other byte order", x.astype(">f8"), False),
        ("extended precision", x.astype(np.longdouble), False),
        ("list of lists", x.tolist(), False),
    ]


@pytest.mark.parametrize(("name", "array", "shared"), layouts(), ids=[row[0] for row in layouts()])
def test_all_layouts_give_the_same_bits(name, array, shared):
    x, v, mass = plummer(N)
    used = vectors(array, "x")
    assert np.shares_memory(used, np.asarray(array)) == shared
    with sapporo.Context(precision="dp") as context:
        context.set_particles(x, v=v, mass=mass)
        right = context.force(x, v=v, index=np.arange(N), eps=0.1)
        context.set_particles(array, v=v, mass=mass)
        force = context.force(array, v=v, index=np.arange(N), eps=0.1)
        assert (context.get_particles().x == x).all()
    assert (force.acc == right.acc).all() and (force.jerk == right.jerk).all() and (force.pot == right.pot).all()


def test_whole_and_short_numbers_are_converted(context):
    for kind in (np.float32, np.int64, np.int8, np.uint16, bool):
        context.set_particles(np.eye(3).astype(kind), mass=np.ones(3, kind))
        assert (context.get_particles().x == np.eye(3)).all() and (context.get_particles().mass == 1).all()


def test_one_number_stands_for_equal_ones_and_broadcasts_are_copied(context):
    x = np.random.default_rng(1).normal(size=(5, 3))
    for mass in (2, 2.0, np.float32(2), np.broadcast_to(2.0, 5)):
        context.set_particles(x, mass=mass)
        assert (context.get_particles().mass == 2).all()
    context.set_particles(np.broadcast_to([1.0, 2.0, 3.0], (5, 3)), mass=0, index=np.broadcast_to(7, 5))
    read = context.get_particles()
    assert (read.x == [1, 2, 3]).all() and (read.index == 7).all()


def test_columns_of_scalars_keep_their_strides():
    record = np.zeros(N, dtype=[("id", "i4"), ("h", "f8"), ("mass", "f8")])
    assert np.shares_memory(scalars(record["id"], "index", N, np.int32), record)
    assert scalars(np.arange(N)[::-1], "index", N, np.int32).tolist() == list(range(N))[::-1]
    packed = np.zeros(N, dtype=[("flag", "i1"), ("mass", "f8")])
    packed["mass"] = np.arange(N)
    assert scalars(packed["mass"], "mass", N).flags.aligned
    assert (scalars(packed["mass"], "mass", N) == np.arange(N)).all()


def test_what_does_not_fit_is_refused(context):
    good = np.zeros((4, 3))
    for x in (np.zeros(3), np.zeros((4, 2)), np.zeros((1, 4, 3)), 0.0):
        with pytest.raises(ValueError, match=r"x is an array of shape .*its shape must be \(n, 3\)"):
            context.set_particles(x)
    for x in (np.zeros((4, 3), complex), np.full((4, 3), "a"), np.full((4, 3), None)):
        with pytest.raises(TypeError, match="real numbers"):
            context.set_particles(x)
    with pytest.raises(ValueError, match=r"mass is .*\(4,\)"):
        context.set_particles(good, mass=np.zeros(5))
    with pytest.raises(ValueError, match=r"v is .*\(4, 3\)"):
        context.set_particles(good, mass=0, v=np.zeros((5, 3)))
    with pytest.raises(TypeError, match="masked"):
        context.set_particles(np.ma.masked_invalid(good))
    with pytest.raises(TypeError, match="whole numbers"):
        context.force(good, index=np.zeros(4))
    with pytest.raises(ValueError, match="32 bits"):
        context.force(good, index=[0, 1, 2, 2**31])
    with pytest.raises(ValueError, match="32 bits"):
        indices([-(2**31) - 1], "address")
    assert context.nj == 0


def test_scattered_addresses(context):
    x = np.random.default_rng(1).normal(size=(9, 3))
    at = np.array([5, 6, 7, 0, 20, 19, 2, 3, 1])
    context.set_particles(x, mass=np.arange(9.0), address=at)
    assert context.nj == 21
    read = context.get_particles(at)
    assert (read.x == x).all() and read.mass.tolist() == list(range(9)) and (read.index == at).all()
    assert (read.v == 0).all() and context.get_particles(5).x.shape == (1, 3)
    with pytest.raises(sapporo.ArgumentError):
        context.get_particles([4])
    context.set_particles(x[:2], mass=0, first=30)
    assert context.nj == 32 and (context.get_particles([30, 31]).x == x[:2]).all()
    with pytest.raises(ValueError, match="either"):
        context.set_particles(x, mass=0, first=1, address=at)
    context.clear()
    assert context.nj == 0


def test_all_members_are_read_back():
    rng = np.random.default_rng(2)
    names = ("x", "v", "acc", "jerk", "snap", "crackle", "pop", "dpop")
    rows = dict(zip(names, rng.normal(size=(8, 6, 3))))
    with sapporo.Context(order=8) as context:
        context.set_particles(**rows, mass=1.5, time=0.5, eps=0.5, index=np.arange(6) + 10)
        read = context.get_particles()
    for k, name in enumerate(names):
        assert (read.derivative[:, k] == rows[name]).all(), name
    assert (read.mass == 1.5).all() and (read.time == 0.5).all() and (read.eps == 0.5).all()
    assert read.index.tolist() == list(range(10, 16))
