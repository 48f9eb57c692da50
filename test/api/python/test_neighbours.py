"""Nearest neighbours, neighbour lists, regular forces and neighbour forces against sums and searches by numpy."""

import numpy as np
import pytest
import sapporo
from reference import forces, plummer, relative

N = 120


@pytest.fixture
def cluster(context):
    x, v, mass = plummer(N)
    context.set_particles(x, v=v, mass=mass)
    r2 = ((x[:, None] - x) ** 2).sum(axis=2)
    np.fill_diagonal(r2, np.inf)
    return x, v, mass, r2


def test_nearest_neighbours(context, cluster):
    x, v, _, r2 = cluster
    force = context.force(x, v=v, index=np.arange(N), nearest=True)
    assert (force.nearest == r2.argmin(axis=1)).all() and force.nearest.dtype == np.int32
    np.testing.assert_allclose(force.nearest_r2, r2.min(axis=1), rtol=1e-12)
    alone = context.force(x[:1], index=[0], nj=1, nearest=True)
    assert alone.nearest[0] == -1 and np.isinf(alone.nearest_r2[0])
    with pytest.raises(AttributeError, match="no nearest"):
        context.force(x).nearest  # noqa: B018


@pytest.mark.parametrize("spread", ["even", "one long list", "none"])
def test_lists(context, cluster, spread):
    x, v, _, r2 = cluster
    h2 = {"even": np.linspace(0.1, 0.6, N), "one long list": np.zeros(N), "none": np.full(N, -1.0)}[spread]
    if spread == "one long list":
        h2[7] = 1e6
    lists = context.force(x, v=v, index=np.arange(N), h2=h2, lists=True).lists
    assert len(lists) == N and lists.entries.dtype == np.int32
    for i, members in enumerate(lists):
        assert members.tolist() == np.flatnonzero(r2[i] < h2[i]).tolist()
    assert (lists.lengths == (r2 < h2[:, None]).sum(axis=1)).all()
    assert lists[-1].tolist() == lists[N - 1].tolist() and len(lists[3:5]) == 2
    with pytest.raises(IndexError):
        lists[N]
    with context.begin(x, v=v, index=np.arange(N), h2=h2) as job:  # computed when they are asked for
        assert job.neighbours(7).tolist() == lists[7].tolist()
        assert job.neighbour_lists(8).entries.tolist() == lists.entries[: lists.first[8]].tolist()


def test_few_long_lists_among_many_short_ones(context):
    n = 1500
    x = plummer(n)[0]
    h2 = np.zeros(n)
    h2[::500] = 1e6
    context.set_particles(x, mass=1)
    lists = context.force(x, index=np.arange(n), h2=h2, lists=True).lists
    assert lists.lengths.tolist() == [n - 1 if i % 500 == 0 else 0 for i in range(n)]
    assert lists[500].tolist() == [j for j in range(n) if j != 500]


def test_a_regular_force_and_a_neighbour_force_make_the_whole(context, cluster):
    x, v, mass, r2 = cluster
    eps = 0.01
    far = context.force(x, v=v, eps=eps, pairs="outside", h2=0.2, lists=True)
    near = context.neighbour_force(np.arange(N), far.lists, eps=eps, nearest=True)
    whole, pot = forces([x, v], mass, [x, v], eps**2, np.eye(N, dtype=bool), 2)
    assert relative(far.acc + near.acc, whole[0]).max() < 1e-12
    assert relative(far.jerk + near.jerk, whole[1]).max() < 1e-11
    assert relative(far.pot + near.pot, pot).max() < 1e-12
    right, _ = forces([x, v], mass, [x, v], eps**2, ~(r2 < 0.2))
    has = (r2 < 0.2).any(axis=1)
    assert relative(near.acc[has], right[0][has]).max() < 1e-12 and (near.acc[~has] == 0).all()
    assert (near.nearest[has] == r2.argmin(axis=1)[has]).all()


def test_spheres_by_mass_and_by_time_ahead(context, cluster):
    x, v, mass, _ = cluster
    by_mass = context.force(x, pairs="outside", h2=20.0, h2_by_mass=True, lists=True).lists
    r2 = ((x[:, None] - x) ** 2).sum(axis=2)
    assert all(by_mass[i].tolist() == np.flatnonzero(r2[i] < 20.0 * mass).tolist() for i in range(N))
    ahead = context.force(x, v=v, pairs="outside", h2=0.1, dtr=0.5, lists=True).lists
    later = ((x[:, None] - x + 0.5 * (v[:, None] - v)) ** 2).sum(axis=2)
    assert all(ahead[i].tolist() == np.flatnonzero(np.minimum(r2, later)[i] < 0.1).tolist() for i in range(N))


def test_lists_of_any_sequence(context, cluster):
    x, v, mass, _ = cluster
    force = context.neighbour_force([3, 0], [[1, 2, 3], []], eps=0.1)
    right, _ = forces([x[1:3], v[1:3]], mass[1:3], [x[3:4], v[3:4]], 0.01, terms=2)
    assert relative(force.acc[:1], right[0]).max() < 1e-12 and relative(force.jerk[:1], right[1]).max() < 1e-12
    assert force.acc[1].tolist() == [0, 0, 0]
    assert context.neighbour_force([], []).acc.shape == (0, 3)
    with pytest.raises(ValueError, match="1 lists for 2"):
        context.neighbour_force([0, 1], [[2]])
    with pytest.warns(sapporo.PartialWarning):
        assert np.isnan(context.neighbour_force([N + 5], [[0]]).acc).all()
