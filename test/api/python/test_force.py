"""Forces of all orders and precisions against sums in extended precision."""

import numpy as np
import pytest
import sapporo
from reference import forces, plummer, relative

# Median and largest relative error of an acceleration; the README gives medians of 6e-8, 4e-8 and 1e-16.
BOUNDS = {"sp": (3e-7, 1e-4), "ds": (2e-7, 1e-5), "dp": (1e-15, 1e-13)}
CASES = [(o, p) for o in (2, 4, 6, 8) for p in BOUNDS if o < 6 or p != "sp"]


def derivatives(n, order, seed):
    x, v, mass = plummer(n, seed)
    rng = np.random.default_rng(seed + 100)
    return [x, v, *(rng.normal(size=(n, 3)) * 0.3 for _ in range(2))][: {2: 1, 4: 2, 6: 3, 8: 4}[order]], mass


@pytest.mark.parametrize(("order", "precision"), CASES)
def test_forces_of_all_orders_and_precisions(order, precision):
    n, eps = 300, 0.1
    terms, mass = derivatives(n, order, 1)
    names = ("v", "acc", "jerk")
    given = dict(zip(names, terms[1:]))
    with sapporo.Context(order=order, precision=precision) as context:
        assert context.order == order and context.precision == precision and context.backend == "cpu"
        context.set_particles(terms[0], mass=mass, **given)
        force = context.force(terms[0], index=np.arange(n), eps=eps, **given)
    right, pot = forces(terms, mass, terms, eps**2, np.eye(n, dtype=bool), {2: 1, 4: 2, 6: 3, 8: 4}[order])
    median, most = BOUNDS[precision]
    assert np.median(relative(force.acc, right[0])) < median
    assert relative(force.acc, right[0]).max() < most
    assert np.median(relative(force.pot, pot)) < median
    for name, wanted in zip(("jerk", "snap", "crackle"), right[1:]):
        assert np.median(relative(getattr(force, name), wanted)) < 3 * median, name
    absent = {"jerk", "snap", "crackle"} - set(("jerk", "snap", "crackle")[: len(right) - 1])
    for name in absent:
        with pytest.raises(AttributeError, match=f"no {name}"):
            getattr(force, name)
    assert not force.partial


def test_softening_of_targets_and_sources_adds_up(context):
    x, v, mass = plummer(60)
    rng = np.random.default_rng(5)
    eps_i, eps_j = rng.uniform(0, 0.1, 60), rng.uniform(0, 0.1, 60)
    context.set_particles(x, v=v, mass=mass, eps=eps_j)
    force = context.force(x, v=v, index=np.arange(60), eps=0.1, eps_i=eps_i)
    right, pot = forces([x, v], mass, [x, v], 0.01 + eps_i[:, None] ** 2 + eps_j**2, np.eye(60, dtype=bool), 2)
    assert relative(force.acc, right[0]).max() < 1e-13
    assert relative(force.jerk, right[1]).max() < 1e-12
    assert relative(force.pot, pot).max() < 1e-13


def spline(r, h):
    """Potential and acceleration over distance of a unit mass: Springel, Yoshida & White 2001, appendix A."""
    u = r / h
    if u >= 1:
        return -1 / r, r**-3
    if u < 0.5:
        return (-2.8 + u**2 * (16 / 3 + u**2 * (6.4 * u - 9.6))) / h, (32 / 3 + u**2 * (32 * u - 38.4)) / h**3
    pot = -3.2 + 1 / (15 * u) + u**2 * (32 / 3 + u * (-16 + u * (9.6 - 32 * u / 15)))
    return pot / h, (64 / 3 + u * (-48 + u * (38.4 - 32 * u / 3)) - 1 / (15 * u**3)) / h**3


@pytest.mark.parametrize("softening", ["spline", "spline-mean"])
def test_spline_softening(softening):
    x, h = np.array([[0.0, 0, 0], [0.75, 0, 0], [2.0, 0, 0]]), np.array([0.5, 1.25, 0.25])
    with sapporo.Context(order=2, precision="dp") as context:
        context.set_particles(x, mass=np.ones(3), eps=h)
        force = context.force(x, index=np.arange(3), eps_i=h, softening=softening)
    for i in range(3):
        pot, acc = 0.0, 0.0
        for j in {0, 1, 2} - {i}:
            d = x[j, 0] - x[i, 0]
            with_both = [spline(abs(d), h[i]), spline(abs(d), h[j])]
            terms = np.mean(with_both, axis=0) if softening == "spline-mean" else spline(abs(d), max(h[i], h[j]))
            pot, acc = pot + terms[0], acc + terms[1] * d
        assert force.pot[i] == pytest.approx(pot, rel=1e-13)
        assert force.acc[i, 0] == pytest.approx(acc, rel=1e-13)
    with sapporo.Context() as context, pytest.raises(sapporo.UnsupportedError, match="order 2"):
        context.set_particles(x, mass=1)
        context.force(x, softening=softening)


def test_without_indices_a_particle_acts_on_itself(context):
    x, _, mass = plummer(20)
    context.set_particles(x, mass=mass)
    with_self = context.force(x, eps=0.2).pot
    without = context.force(x, eps=0.2, index=np.arange(20)).pot
    np.testing.assert_allclose(with_self - without, -mass / 0.2, rtol=1e-12)


def test_particles_are_predicted_to_the_time(context):
    rng = np.random.default_rng(3)
    x, v, mass = plummer(40)
    a, jerk, snap = rng.normal(size=(3, 40, 3))
    context.set_particles(x, v=v, acc=a, jerk=jerk, snap=snap, mass=mass, time=0.25)
    context.time = 0.75
    assert context.time == 0.75
    t = 0.5
    xp = x + v * t + a * t**2 / 2 + jerk * t**3 / 6 + snap * t**4 / 24
    vp = v + a * t + jerk * t**2 / 2 + snap * t**3 / 6
    read = context.get_particles(predicted=True)
    np.testing.assert_allclose(read.x, xp, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(read.v, vp, rtol=1e-14, atol=1e-14)
    right, _ = forces([xp, vp], mass, [x + 1, v], 0.01, terms=2)
    force = context.force(x + 1, v=v, eps=0.1)
    assert relative(force.acc, right[0]).max() < 1e-12
    assert relative(force.jerk, right[1]).max() < 1e-11


def test_bits_do_not_depend_on_how_targets_are_divided():
    x, v, mass = plummer(200)
    with sapporo.Context(threads=2) as two, sapporo.Context(threads=1) as one:
        for context in (one, two):
            context.set_particles(x, v=v, mass=mass)
        whole = two.force(x, v=v, index=np.arange(200), eps=0.1)
        for first in range(0, 200, 37):
            rows = slice(first, first + 37)
            part = one.force(x[rows], v=v[rows], index=np.arange(200)[rows], eps=0.1)
            assert (part.acc == whole.acc[rows]).all() and (part.jerk == whole.jerk[rows]).all()
            assert (part.pot == whole.pot[rows]).all()


def test_results_go_to_arrays_of_the_caller(context):
    x, v, mass = plummer(30)
    context.set_particles(x, v=v, mass=mass)
    out = {"acc": np.zeros((30, 3)), "pot": np.zeros(30)}
    force = context.force(x, v=v, index=np.arange(30), out=out)
    assert force.acc is out["acc"] and force.pot is out["pot"]
    assert (force.acc == context.force(x, v=v, index=np.arange(30)).acc).all() and force.jerk.shape == (30, 3)
    for wrong in (np.zeros((30, 4)), np.zeros((60, 3))[::2], np.zeros((30, 3), np.float32), [0.0] * 90):
        with pytest.raises(ValueError, match="out of acc"):
            context.force(x, out={"acc": wrong})
    with pytest.raises(ValueError, match="'snap'"):
        context.force(x, out={"snap": np.zeros((30, 3))})


def test_a_force_under_way(context):
    x, v, mass = plummer(50)
    context.set_particles(x, v=v, mass=mass)
    with context.begin(x, v=v, index=np.arange(50)) as job:
        context.set_particles(x[:1] + 5, mass=9.0)  # of the next force
        some = job.result(ni=20)
        assert job.done and job.ni == 50 and some.acc.shape == (20, 3)
        all_of_them = job.result(nearest=True)
    assert (all_of_them.acc[:20] == some.acc).all()
    right, _ = forces([x, v], mass, [x, v], 0, np.eye(50, dtype=bool))
    assert relative(all_of_them.acc, right[0]).max() < 1e-12
    assert job.closed and job.done
    with pytest.raises(sapporo.ClosedError):
        job.result()


def test_no_particles_and_no_targets(context):
    assert context.force(np.zeros((2, 3))).acc.tolist() == [[0, 0, 0], [0, 0, 0]]
    context.set_particles(np.zeros((0, 3)))
    assert context.nj == 0
    context.set_particles(np.ones((3, 3)), mass=1)
    force = context.force(np.zeros((0, 3)), nearest=True, lists=True, h2=1)
    assert force.acc.shape == (0, 3) and force.nearest.shape == (0,) and len(force.lists) == 0
