"""The gravitational constant of contexts, trees and steppers."""

import numpy as np
import pytest
import sapporo
from reference import plummer

G = 4.30091e-3
ROUNDING = 4 * np.finfo(float).eps
WRONG = (0, 0.0, -1.0, float("nan"), float("inf"), 1e-101)
OPENERS = {
    "Context": lambda G: sapporo.Context(G=G),
    "Tree": lambda G: sapporo.Tree(8, G=G),
    "Stepper": lambda G: sapporo.Stepper(8, 0.25, G=G),
}


def same(a, b, error=ROUNDING):
    """Whether vectors or numbers are equal but for an error relative to their size."""
    size = np.linalg.norm(b, axis=-1, keepdims=True) if np.ndim(b) > 1 else np.abs(b)
    return np.all(np.abs(a - b) <= error * size)


@pytest.mark.parametrize("order", [2, 4, 6, 8])
def test_direct_sums_are_multiplied(order):
    x, v, mass = plummer(100)
    forces = []
    for constant in (1.0, G):
        with sapporo.Context(order=order, precision="dp", G=constant) as context:
            context.set_particles(x, v=v, mass=mass)
            assert np.array_equal(context.get_particles().mass, mass)
            forces.append(context.force(x, v=v, index=np.arange(100), eps=0.1))
    for name in ["acc", "pot", *("jerk", "snap", "crackle")[: order // 2 - 1]]:
        assert same(getattr(forces[1], name), G * getattr(forces[0], name)), name


def test_neighbour_forces_and_batches_are_multiplied():
    x, v, mass = plummer(100)
    small = [sapporo.SmallForce(x[:7], eps=0.1, x=x[7:30], mass=mass[7:30])]
    near, batch = [], []
    for constant in (1.0, G):
        with sapporo.Context(precision="dp", G=constant) as context:
            context.set_particles(x, v=v, mass=mass)
            lists = context.force(x, v=v, index=np.arange(100), h2=0.25, lists=True, eps=0.1).lists
            near.append(context.neighbour_force(np.arange(100), lists, eps=0.1))
        with sapporo.Context(order=2, precision="dp", G=constant) as context:
            batch.append(context.force_batch(small))
            with context.begin_batch(small) as begun:
                assert np.array_equal(begun.result().acc, batch[-1].acc)
    assert same(near[1].acc, G * near[0].acc) and same(near[1].jerk, G * near[0].jerk)
    assert same(batch[1].acc, G * batch[0].acc) and same(batch[1].pot, G * batch[0].pot)


@pytest.mark.parametrize("kind", ["octree", "kdtree"])
def test_trees(kind):
    x, _, mass = plummer(300)
    forces = []
    for constant in (1.0, G):
        with sapporo.Tree(300, kind=kind, precision="dp", eps=0.1, G=constant) as tree:
            tree.set(x, mass)
            tree.build()
            forces.append(tree.force())
    assert same(forces[1].acc, G * forces[0].acc, 1e-13) and same(forces[1].pot, G * forces[0].pot, 1e-13)


@pytest.mark.parametrize("method", ["tree", "direct"])
def test_stepper_in_units_of_the_caller(method):
    """Velocities are those of G = 1 times sqrt(G), times divided by it; masses and energies are the caller's."""
    x, v, mass = plummer(50)
    speed = np.sqrt(G)
    results = []
    for constant, dt, velocity in ((1.0, 1 / 32, v), (G, 1 / 32 / speed, v * speed)):
        with sapporo.Stepper(50, dt, method=method, precision="dp", eps=0.1, G=constant) as s:
            s.set(x, velocity, mass)
            start = s.energy()
            for _ in range(8):
                s.advance(np.inf, 1)
            results.append((s.get(), start, s.energy()))
    (one, _, end_one), (two, start_two, end_two) = results
    assert same(two.x, one.x, 1e-12) and same(two.v, speed * one.v, 1e-12) and same(two.acc, G * one.acc, 1e-12)
    assert same(two.mass, mass) and same(two.pot, G * one.pot, 1e-12)
    for name in ("kinetic", "potential", "energy"):
        assert getattr(end_two, name) == pytest.approx(G * getattr(end_one, name), rel=1e-12), name
    assert start_two.kinetic == pytest.approx(0.5 * np.sum(mass[:, None] * v**2) * G)
    assert end_two.moment == pytest.approx(end_one.moment, rel=1e-12, abs=1e-14)


def test_a_field_has_g_in_its_strength():
    with sapporo.Stepper(1, 0.01, method="direct", fields=[sapporo.Field("plummer", 2.0, a=0.5)], G=G) as s:
        s.set([[1.0, 0, 0]], [[0, 0.8, 0]], 3.0)
        assert s.energy().field == pytest.approx(-6 / np.sqrt(1.25))
        assert s.get().acc[0, 0] == pytest.approx(-2 / 1.25**1.5)


@pytest.mark.parametrize("name", OPENERS)
@pytest.mark.parametrize("wrong", WRONG)
def test_other_constants_are_refused(name, wrong):
    with pytest.raises(sapporo.ArgumentError, match=f"gravitational_constant is {wrong:g}; it may be 1e-100 to 1e100"):
        OPENERS[name](wrong)


@pytest.mark.parametrize("name", OPENERS)
def test_one_is_the_default(name):
    OPENERS[name](1).close()
    with pytest.raises(TypeError):
        OPENERS[name](None)


def test_a_saved_run_keeps_its_constant(tmp_path):
    x, v, mass = plummer(20)
    with sapporo.Stepper(20, 1 / 32, G=G) as s, sapporo.Stepper(20, 1 / 32, G=G) as again:
        s.set(x, v, mass)
        s.advance(1 / 16)
        s.save(tmp_path / "run")
        again.restore(tmp_path / "run")
        assert np.array_equal(again.get().mass, s.get().mass) and again.energy().energy == s.energy().energy
    with sapporo.Stepper(20, 1 / 32) as other, pytest.raises(sapporo.ArgumentError, match="other options"):
        other.restore(tmp_path / "run")
