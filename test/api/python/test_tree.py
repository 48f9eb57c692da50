"""Trees against sums in extended precision and searches by numpy."""

import numpy as np
import pytest
import sapporo
from reference import forces, plummer, relative

N = 3000


@pytest.fixture(scope="module")
def cluster():
    x, _, mass = plummer(N)
    some = np.arange(0, N, 60)
    same = some[:, None] == np.arange(N)
    right, pot = forces([x], mass, [x[some]], 1e-4, same)
    return x, mass, some, right[0], pot


def tree_of(x, mass, **options):
    tree = sapporo.Tree(len(x), eps=0.01, **options)
    tree.set(x, mass)
    tree.build()
    return tree


# The largest error of some 50 accelerations, by criterion and accuracy; the last is a direct sum.
@pytest.mark.parametrize(
    ("mac", "accuracy", "precision", "bound"),
    [
        (None, None, None, 2e-2),
        ("opening", 0.3, "dp", 1e-3),
        ("multipole", 0.001, "dp", 1e-2),
        ("acceleration", 0.001, "dp", 1e-2),
        ("opening", 1e-6, "dp", 1e-12),
        ("opening", 1e-6, "sp", 1e-4),
    ],
)
def test_forces(cluster, mac, accuracy, precision, bound):
    x, mass, some, right, pot = cluster
    with tree_of(x, mass, mac=mac, accuracy=accuracy, precision=precision) as tree:
        whole = tree.force()
        active = tree.force(some)
        field = tree.force(targets=x[some])
    assert whole.acc.shape == (N, 3) and whole.pot.shape == (N,)
    for force in (whole.acc[some], active.acc):
        assert relative(force, right).max() < bound
    assert relative(active.pot, pot).max() < bound
    # A position is no particle: the particle at the position adds -m/eps, and no acceleration.
    np.testing.assert_allclose(field.pot, pot.astype(float) - mass[some] / 1e-2, rtol=bound)
    assert relative(field.acc, right).max() < max(bound, 1e-3) * 2


def test_smaller_accuracy_is_more_accurate_and_costs_more(cluster):
    x, mass, some, right, _ = cluster
    errors, costs = [], []
    for accuracy in (1.0, 0.6, 0.3):
        with tree_of(x, mass, accuracy=accuracy, precision="dp") as tree:
            errors.append(np.median(relative(tree.force(some).acc, right)))
            statistics = tree.statistics()
            costs.append(statistics.particle_particle + statistics.particle_cell)
    assert errors[0] > errors[1] > errors[2] and costs[0] < costs[1] < costs[2]


def test_an_error_instead_of_an_accuracy(cluster):
    x, mass, some, right, pot = cluster
    with tree_of(x, mass, error=1e-4) as tree:
        force, accuracy = tree.force(some), tree.statistics().accuracy
    errors = relative(force.acc, right), relative(force.pot, pot)
    assert max(np.sort(e)[-3] for e in errors) < 2e-4  # 96 % of the few
    with tree_of(x, mass, accuracy=accuracy, mac="acceleration") as tree:
        assert tree.statistics().accuracy == accuracy
    with pytest.raises(sapporo.ArgumentError, match="either an accuracy"):
        sapporo.Tree(10, accuracy=0.1, error=1e-3)


def test_active_particles_in_any_order(cluster):
    x, mass, _, _, _ = cluster
    at = np.array([5, 2999, 5, 0, 17])
    with tree_of(x, mass) as tree:
        force = tree.force(at)
        assert force.acc.shape == (5, 3) and (force.acc[0] == force.acc[2]).all()
        only = tree.force(at, want=["acc"])
        with pytest.raises(AttributeError, match="no pot"):
            only.pot  # noqa: B018
        out = {"acc": np.zeros((5, 3))}
        assert tree.force(at, out=out).acc is out["acc"] and np.isfinite(out["acc"]).all()
        with pytest.raises(ValueError, match="'jerk'"):
            tree.force(at, out={"jerk": out["acc"]})
        with pytest.raises(ValueError, match="either"):
            tree.force(at, targets=x)
        with pytest.raises(sapporo.ArgumentError):
            tree.force([N])
        with pytest.warns(sapporo.PartialWarning):
            assert np.isnan(tree.force(targets=[[np.inf, 0, 0]]).acc).all()
        assert tree.force([]).acc.shape == (0, 3)


def test_refresh_follows_small_moves(cluster):
    x, mass, some, _, _ = cluster
    moved = x + np.random.default_rng(1).normal(size=x.shape) * 1e-4
    right, _ = forces([moved], mass, [moved[some]], 1e-4, some[:, None] == np.arange(N))
    with tree_of(x, mass, accuracy=0.3, precision="dp") as tree:
        tree.set(moved)  # masses as before
        tree.refresh()
        assert relative(tree.force(some).acc, right[0]).max() < 2e-3
        tree.set(x[:100], mass[:100])
        with pytest.raises(sapporo.ArgumentError):
            tree.refresh()
        assert tree.force().acc.shape == (N, 3)  # the tree of before
        tree.build()
        assert tree.force().acc.shape == (100, 3)


@pytest.mark.parametrize("kind", ["octree", "kdtree"])
def test_refresh_or_build_builds_when_forces_became_dear(cluster, kind):
    x, mass, *_ = cluster
    with tree_of(x, mass, kind=kind, accuracy=0.8, precision="dp") as tree:
        tree.force()
        first = tree.statistics().first_interactions
        assert first > 0
        tree.set(x)
        assert not tree.refresh_or_build()
        tree.set(np.random.default_rng(2).permutation(x))  # every cell is as large as the model now
        assert not tree.refresh_or_build()
        tree.force()
        s = tree.statistics()
        assert s.particle_particle + s.particle_cell > 1.2 * first * s.rows
        assert tree.refresh_or_build()
        tree.set(x[:100], mass[:100])
        assert tree.refresh_or_build()
        with pytest.raises(sapporo.ArgumentError):
            tree.refresh_or_build(0.5)


@pytest.mark.parametrize("h", [0.0, 0.05, "each", np.inf])
def test_neighbours_within_a_radius(cluster, h):
    x, mass, some, _, _ = cluster
    radius = np.linspace(0.01, 1.5, len(some)) if isinstance(h, str) else h
    r2 = ((x[some][:, None] - x) ** 2).sum(axis=2)
    with tree_of(x, mass) as tree:
        lists = tree.neighbours(x[some], radius)
    h2 = np.broadcast_to(radius, len(some)) ** 2
    assert len(lists) == len(some)
    for k, members in enumerate(lists):
        assert members.tolist() == np.flatnonzero(r2[k] < h2[k]).tolist()


@pytest.mark.parametrize("radius", [0.0, 0.3, "each", np.inf])
def test_particles_within_a_radius_of_particles(cluster, radius):
    x, mass, some, _, _ = cluster
    some = np.asarray(some)
    each = np.linspace(0.01, 1.5, len(x)) if isinstance(radius, str) else np.full(len(x), radius)
    r2 = ((x[:, None] - x) ** 2).sum(axis=2)
    np.fill_diagonal(r2, np.inf)
    with tree_of(x, mass) as tree:
        everyone, listed = tree.within(each), tree.within(each[some], some)
        places = tree.within(each[some], targets=x[some])
        with pytest.raises(ValueError, match="either active or targets"):
            tree.within(1.0, some, targets=x[some])
        with pytest.raises(sapporo.ArgumentError, match="radius of row 1 is not a number >= 0"):
            tree.within([1.0, -1.0], [0, 1])
    assert len(everyone) == len(x)
    for k, members in enumerate(everyone):
        assert members.tolist() == np.flatnonzero(r2[k] < each[k] ** 2).tolist()
    for k, i in enumerate(some):
        assert listed[k].tolist() == everyone[i].tolist()
        own = [i] if each[i] > 0 else []
        assert places[k].tolist() == sorted(everyone[i].tolist() + own)


def nearest_of(r2, k):
    """The k nearest of each row of squared distances: addresses, and the squares."""
    order = np.argsort(r2, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(r2, order, axis=1)


@pytest.mark.parametrize("kind", ["octree", "kdtree"])
def test_nearest_particles(cluster, kind):
    x, mass, some, _, _ = cluster
    k = 5
    r2 = ((x[some][:, None] - x) ** 2).sum(axis=2)
    with tree_of(x, mass, kind=kind) as tree:
        positions = tree.nearest(k, targets=x[some])
        listed = tree.nearest(k, some)
        everyone = tree.nearest(k)
        address, distance2 = np.empty((len(some), k), dtype=np.int32), np.empty((len(some), k))
        again = tree.nearest(k, some, out={"address": address, "distance2": distance2})
    right, distances = nearest_of(r2, k)
    assert positions.address.tolist() == right.tolist()
    np.testing.assert_allclose(positions.distance2, distances, rtol=1e-14)
    r2[np.arange(len(some)), some] = np.inf
    right, distances = nearest_of(r2, k)
    assert listed.address.tolist() == right.tolist() == everyone.address[some].tolist()
    np.testing.assert_allclose(listed.distance2, distances, rtol=1e-14)
    assert again.address is address and again.distance2 is distance2
    assert address.tolist() == right.tolist() and distance2.tolist() == listed.distance2.tolist()


def test_fewer_particles_than_are_asked_for():
    with tree_of(np.eye(3), np.ones(3)) as tree:
        found = tree.nearest(4)
        assert found.address.tolist() == [[1, 2, -1, -1], [0, 2, -1, -1], [0, 1, -1, -1]]
        assert found.distance2.tolist() == [[2.0, 2.0, np.inf, np.inf]] * 3
        for k in (0, -1, 257, 10**9):
            with pytest.raises(sapporo.ArgumentError):
                tree.nearest(k)
        with pytest.raises(ValueError):
            tree.nearest(2, [0], targets=np.zeros((1, 3)))
        with pytest.raises(ValueError):
            tree.nearest(2, out={"r2": np.empty((3, 2))})
        with pytest.raises(ValueError):
            tree.nearest(2, out={"distance2": np.empty((3, 1))})


def tensors_of(d, mass, eps2):
    """The tidal tensors of rows of distances (ni, n, 3), as (ni, 6)."""
    r2 = (d**2).sum(axis=2) + eps2
    pair = 3 * d[..., :, None] * d[..., None, :] / r2[..., None, None] - np.eye(3)
    full = (pair * (mass / r2**1.5)[..., None, None]).sum(axis=1)
    return full[:, [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]


@pytest.mark.parametrize("kind", ["octree", "kdtree"])
def test_tidal_tensors(cluster, kind):
    x, mass, some, _, _ = cluster
    masses = np.broadcast_to(mass, len(x)) * np.ones((len(some), 1))
    d = x - x[some][:, None]
    at_positions = tensors_of(d, masses, 1e-4)
    masses[np.arange(len(some)), some] = 0
    right = tensors_of(d, masses, 1e-4)
    with tree_of(x, mass, kind=kind, mac="opening", accuracy=1e-6) as tree:
        np.testing.assert_allclose(tree.tidal(some), right, rtol=1e-10, atol=1e-10 * abs(right).max())
        np.testing.assert_allclose(tree.tidal()[some], right, rtol=1e-10, atol=1e-10 * abs(right).max())
        positions = tree.tidal(targets=x[some])
        np.testing.assert_allclose(positions, at_positions, rtol=1e-10, atol=1e-10 * abs(at_positions).max())
        out = np.empty((len(some), 6))
        assert tree.tidal(some, out=out) is out
        assert out.tolist() == tree.tidal(some).tolist()


def test_tidal_tensors_that_are_refused():
    with tree_of(np.eye(3), np.ones(3)) as tree:
        with pytest.raises(ValueError):
            tree.tidal([0], targets=np.zeros((1, 3)))
        with pytest.raises(ValueError):
            tree.tidal(eps=0.1)
        with pytest.raises(ValueError):
            tree.tidal(out=np.empty((3, 3)))
        with pytest.raises(sapporo.ArgumentError):
            tree.tidal([3])
        with pytest.warns(sapporo.PartialWarning):
            tensors = tree.tidal(targets=[[0, 0, 0], [np.nan, 0, 0]])
        assert np.isnan(tensors[1]).all() and np.isfinite(tensors[0]).all()


def test_statistics(cluster):
    x, mass, some, _, _ = cluster
    with tree_of(x, mass, leaf_size=8, group_size=16) as tree:
        tree.force(some)
        s = tree.statistics()
        assert tree.backend == "cpu" and "octree" in tree.kind and tree.kind in repr(tree)
        assert tree.memory_needed.host > s.host_bytes * 0.5 > 0
    assert s.n == N and s.rows == len(some) and 0 < s.largest_leaf <= 8 and s.depth > 3 and s.cells > s.leaves > 100
    assert s.particle_particle > 0 and s.particle_cell > 0 and all(seconds >= 0 for seconds in s.seconds)


def test_errors():
    with sapporo.Tree(10) as tree:
        with pytest.raises(sapporo.ArgumentError):
            tree.force()
        with pytest.raises(sapporo.ArgumentError, match="11"):
            tree.set(np.zeros((11, 3)))
        with pytest.raises(sapporo.NotFiniteError, match="2"):
            tree.set([[0, 0, 0], [1, 1, 1], [0, np.nan, 0]], 1.0)
        tree.set(np.eye(3), 1.0)
        tree.build()
    assert tree.closed and "closed" in repr(tree)
    for call in (tree.build, tree.refresh, tree.force, tree.statistics):
        with pytest.raises(sapporo.ClosedError):
            call()
    for options in ({"leaf_size": 5000}, {"multipoles": 3}, {"eps": -1.0}):
        with pytest.raises(sapporo.ArgumentError):
            sapporo.Tree(10, **options)
    for options in ({"mac": "angle"}, {"kind": "quadtree"}, {"accuracy": 0}, {"accuracy": -1.0}, {"error": 0}):
        with pytest.raises(ValueError, match="it m"):
            sapporo.Tree(10, **options)


def spline(r, h):
    """Potential and acceleration over distance of a unit mass: Springel, Yoshida & White 2001, appendix A."""
    u = r / h
    if u >= 1:
        return -1 / r, r**-3
    if u < 0.5:
        return (-2.8 + u**2 * (16 / 3 + u**2 * (6.4 * u - 9.6))) / h, (32 / 3 + u**2 * (32 * u - 38.4)) / h**3
    pot = -3.2 + 1 / (15 * u) + u**2 * (32 / 3 + u * (-16 + u * (9.6 - 32 * u / 15)))
    return pot / h, (64 / 3 + u * (-48 + u * (38.4 - 32 * u / 3)) - 1 / (15 * u**3)) / h**3


@pytest.mark.parametrize("softening", ["plummer", "spline", "spline-mean"])
def test_softening_lengths_of_particles(softening):
    x, h = np.array([[0.0, 0, 0], [0.75, 0, 0], [2.0, 0, 0]]), np.array([0.5, 1.25, 0.25])
    at = np.array([[0.25, 0, 0]])
    with sapporo.Tree(3, softening=softening, precision="dp", accuracy=1e-9) as tree:
        tree.set(x, mass=1.0, eps=h)
        tree.build()
        own, field = tree.force(), tree.force(targets=at, eps=0.75)
        with pytest.raises(ValueError, match="own lengths"):
            tree.force(eps=1.0)
        with pytest.raises(sapporo.NotFiniteError, match="h of particle 1"):
            tree.set(x, mass=1.0, eps=np.array([0.5, -1.0, 0.25]))
    targets = [(x[i, 0], h[i], i, own.pot[i], own.acc[i, 0]) for i in range(3)]
    for place, length, skipped, found_pot, found_acc in [*targets, (0.25, 0.75, -1, field.pot[0], field.acc[0, 0])]:
        pot, acc = 0.0, 0.0
        for j in {0, 1, 2} - {skipped}:
            d = x[j, 0] - place
            with_both = [spline(abs(d), length), spline(abs(d), h[j])]
            terms = np.mean(with_both, axis=0) if softening == "spline-mean" else spline(abs(d), max(length, h[j]))
            if softening == "plummer":
                r = np.sqrt(d**2 + length**2 + h[j] ** 2)
                terms = -1 / r, r**-3
            pot, acc = pot + terms[0], acc + terms[1] * d
        assert found_pot == pytest.approx(pot, rel=1e-13)
        assert found_acc == pytest.approx(acc, rel=1e-13)
    with sapporo.Tree(3) as tree:
        tree.set(x, mass=1.0)
        tree.build()
        with pytest.raises(sapporo.ArgumentError, match="particles of the tree have none"):
            tree.force(targets=at, eps=0.75)


# A lattice of charges of both signs, twice its distance as period: Madelung's constant of rock salt.
def test_period():
    x = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)]) / 2 + 100.25
    mass = np.where((x * 2).sum(axis=1) % 2 < 1, 1.0, -1.0)
    with sapporo.Tree(8, period=1.0, accuracy=0.1, precision="dp") as tree:
        tree.set(x, mass)
        tree.build()
        force = tree.force()
        tensors = tree.tidal()
    np.testing.assert_allclose(force.pot * mass, 2 * 1.747564594633182, rtol=1e-7)
    assert np.abs(force.acc).max() < 1e-6
    assert np.abs(tensors[:, [0, 3, 5]].sum(axis=1)).max() < 1e-4
    with pytest.raises(sapporo.SapporoError, match="period of a tree is -1"):
        sapporo.Tree(8, period=-1.0)


def test_period_of_a_stepper():
    x = np.array([[0.1, 0.5, 0.5], [0.9, 0.5, 0.5]])
    with sapporo.Stepper(2, 2**-8, period=1.0, eps=0.01) as stepper:
        stepper.set(x, np.zeros_like(x), [1.0, 1.0])
        stepper.advance(2**-4)
        out = stepper.get().x
    # across the face the particles are 0.2 apart, and fall toward it
    assert out[0, 0] < 0.1 and out[1, 0] > 0.9
    np.testing.assert_allclose(out[0, 0] + out[1, 0], 1.0, atol=1e-6)
    with pytest.raises(sapporo.SapporoError, match="it must be 0 for direct sums"):
        sapporo.Stepper(2, 2**-8, period=1.0, method="direct")
