"""Calls that forget something: an exception or one warning, and nothing on stderr for what was caught."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
import sapporo


def said_by(program, **variables):
    """What a program writes to stderr."""
    import os

    env = {**os.environ, **variables}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env, check=True)
    return run.stderr


CAUGHT = """
import sapporo, numpy as np
for call in (
    lambda: sapporo.Context(order=5),
    lambda: sapporo.Tree(-1),
    lambda: sapporo.Stepper(3, 0),
    lambda: sapporo.Context().force(np.zeros((1, 3)), nj=3, eps=-1.0),
    lambda: sapporo.Tree(3).build() or sapporo.Tree(3).refresh(),
):
    try: call()
    except sapporo.SapporoError: pass
"""


def test_an_exception_that_was_caught_is_not_printed():
    assert said_by(CAUGHT) == ""
    assert said_by(CAUGHT, SAPPORO_VERBOSE="2").count("order is 5") == 1
    heard = "import sapporo\nheard = []\nsapporo.set_log(lambda level, text: heard.append(level))\n" + CAUGHT
    assert said_by(heard + "assert heard and set(heard) == {0}, heard") == ""


def test_warnings_are_printed_once():
    program = """
import sapporo, numpy as np
with sapporo.Context() as c:
    c.set_particles(np.zeros((2, 3)), mass=1)
    for k in range(3): c.force(np.zeros((1, 3)))
"""
    assert said_by(program).count("same place") == 1


def test_particles_without_masses(context):
    with pytest.raises(sapporo.ArgumentError, match="mass is missing"):
        context.set_particles(np.eye(3))
    assert context.nj == 0
    context.set_particles(np.eye(3), mass=0)
    assert (context.force(np.ones((1, 3))).acc == 0).all()
    with sapporo.Context(order=2) as flat:
        with pytest.raises(sapporo.ArgumentError, match="no mass"):
            flat.force_batch([sapporo.SmallForce(np.zeros((1, 3)), x=np.eye(3))])
        assert flat.force_batch([sapporo.SmallForce(np.zeros((1, 3)), x=np.eye(3), mass=0)]).acc.sum() == 0
    with sapporo.Tree(3) as tree:
        tree.set(np.eye(3))
        tree.build()
        assert tree.neighbours(np.zeros((1, 3)), 2.0).lengths.tolist() == [3]
        with pytest.raises(sapporo.ArgumentError, match="without mass"):
            tree.force()


def test_forces_of_nothing(context):
    x = np.zeros((1, 3))
    for _ in range(2):
        with pytest.warns(sapporo.EmptyWarning, match="the context has no particles"):
            assert (context.force(x).acc == 0).all()
    with sapporo.Tree(3) as tree:
        tree.set(np.zeros((0, 3)))
        tree.build()
        with pytest.warns(sapporo.EmptyWarning, match="the tree has no particles") as caught:
            assert (tree.force(targets=x).acc == 0).all()
        assert [told.filename for told in caught] == [__file__]
    context.set_particles(np.eye(3), mass=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (context.force(x, nj=0).acc == 0).all()  # asked for


def test_labels_beyond_64_bits():
    with sapporo.Stepper(2, 0.25, eps=0.1) as s:
        args = np.eye(3)[:2], np.zeros((2, 3)), 1.0
        for label in (np.array([2**64 - 1, 0], np.uint64), np.array([0, 2**63], np.uint64)):
            with pytest.raises(ValueError, match="label has numbers outside the range of 64 bits"):
                s.set(*args, label=label)
        for label in ([1.5, 2.5], [2**64, 0], ["a", "b"]):
            with pytest.raises(TypeError, match="whole numbers"):
                s.set(*args, label=label)
        s.set(*args, label=np.array([2**63 - 1, 5], np.uint64))
        assert s.get().label.tolist() == [2**63 - 1, 5]
        s.set(*args, label=[-(2**63), 7])
        assert s.get().label.tolist() == [-(2**63), 7]


def test_texts_with_nul(tmp_path):
    with sapporo.Stepper(2, 0.25, eps=0.1) as s:
        s.set(np.eye(3)[:2], np.zeros((2, 3)), 1.0)
        for call in (s.save, s.restore):
            with pytest.raises(ValueError, match="NUL"):
                call(f"{tmp_path}/run\0.old")
        assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="NUL"):
        sapporo.Context(cpu_isa="scalar\0fast")


@pytest.mark.parametrize("scheme", ["shared", "block"])
def test_times_at_which_no_step_ends(scheme):
    with sapporo.Stepper(2, 0.3, eps=0.1, scheme=scheme) as s:
        s.set(np.eye(3)[:2], np.zeros((2, 3)), 1.0, time=0.1)
        with pytest.raises(sapporo.ArgumentError, match="exact=False"):
            s.advance(1.1)
        assert s.time == 0.1
        assert s.advance(1.0) == pytest.approx(1.0, abs=1e-12)
        with pytest.raises(sapporo.ArgumentError, match="before the present time"):
            s.advance(0.1)
        with pytest.raises(sapporo.ArgumentError, match="before the present time"):
            s.advance(-1, exact=False)
        assert s.advance(s.time) == s.time
        t = s.time
        for _ in range(10):
            t += 0.3  # with the rounding of a loop
            assert s.advance(t) == pytest.approx(t, abs=1e-12)
        stopped = s.advance(4.2, exact=False)
        assert stopped <= 4.2 and s.get(4.2).x.shape == (2, 3)
        before = s.statistics().steps
        s.advance(5.123, steps=1)
        assert s.statistics().steps <= before + 1


@pytest.mark.parametrize("scheme", ["shared", "block"])
def test_landing_at_any_time(scheme, tmp_path):
    options = {"eps": 0.1, "scheme": scheme}
    land = {**options, "landing": True}
    with sapporo.Stepper(2, 0.3, **land) as s, sapporo.Stepper(2, 0.3, **land) as other:
        stops = sapporo.Stepper(2, 0.3, **options)
        s.set(np.eye(3)[:2], np.zeros((2, 3)), 1.0, time=0.1)
        assert s.advance(1.1) == 1.1 == s.time
        assert np.array_equal(s.get("own").own_time, [1.1, 1.1])
        with pytest.raises(sapporo.ArgumentError, match="before the present time"):
            s.advance(1.0)
        s.save(tmp_path / "run")
        other.restore(tmp_path / "run")
        with pytest.raises(sapporo.ArgumentError, match="other options"):
            stops.restore(tmp_path / "run")
        assert s.advance(1.5) == other.advance(1.5) == 1.5
        assert np.array_equal(s.get().x, other.get().x)
        s.advance(2.5, steps=1)
        assert 1.5 < s.time < 2.5


def test_times_after_a_restored_run(tmp_path):
    with sapporo.Stepper(2, 0.25, eps=0.1) as s, sapporo.Stepper(2, 0.25, eps=0.1) as other:
        s.set(np.eye(3)[:2], np.zeros((2, 3)), 1.0)
        s.advance(0.5)
        s.save(tmp_path / "run")
        other.restore(tmp_path / "run")
        with pytest.raises(sapporo.ArgumentError, match="end at"):
            other.advance(0.6)
        assert other.advance(1.0) == 1.0


def test_words_of_earlier_states():
    x, mass, v = np.eye(3), np.ones(3), np.zeros((3, 3))
    with (
        sapporo.Context() as context,
        sapporo.Tree(3, eps2=0.04, order=2) as tree,
        sapporo.Stepper(3, 0.5, eps2=0.04) as s,
    ):
        context.set_particles(x, mass=mass, eps2=np.zeros(3))
        acc = context.force(x, index=np.arange(3), eps=0.2).acc
        assert np.allclose(context.force(x=x, index=np.arange(3), eps2=0.04).acc, acc, rtol=1e-14)
        tree.set(x, mass)
        tree.build()
        assert np.allclose(tree.force().acc, acc, rtol=1e-5)
        s.set(x, v, mass)
        assert np.allclose(s.get().acc, acc, rtol=1e-5)
        with pytest.raises(TypeError, match="eps2 beside eps"):
            context.force(x, eps=0.2, eps2=0.04)
        with pytest.raises(sapporo.ArgumentError, match="squared, is -1"):
            context.force(x, eps2=-1)
