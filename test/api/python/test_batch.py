"""Batches of small forces against sums in extended precision."""

import numpy as np
import pytest
import sapporo
from reference import forces, plummer, relative

N = 200


@pytest.fixture
def tree_code():
    x, _, mass = plummer(N)
    with sapporo.Context(order=2, precision="dp") as context:
        context.set_particles(x, mass=mass)
        yield context, x, mass


def test_lists_with_addresses_and_with_sources_of_their_own(tree_code):
    context, x, mass = tree_code
    rng = np.random.default_rng(4)
    lists, right = [], []
    for k in range(20):
        ni, nj = int(rng.integers(0, 9)), int(rng.integers(0, 50))
        targets, at, eps2 = rng.normal(size=(ni, 3)), rng.integers(0, N, nj), 0.001 * (k + 1)
        if k % 2:
            lists.append(sapporo.SmallForce(targets, address=at, eps=np.sqrt(eps2)))
        else:
            lists.append(
                sapporo.SmallForce(targets, x=x[at], mass=mass[at], eps_j=0.1, eps=np.sqrt(eps2), eps_i=np.sqrt(0.02))
            )
            eps2 += 0.03
        right.append(forces([x[at]], mass[at], [targets], eps2))
    batch = context.force_batch(lists)
    assert len(batch) == 20 and batch.first[-1] == len(batch.pot) == len(batch.acc)
    for (acc, pot), (acc_right, pot_right) in zip(batch, right):
        assert acc.shape == acc_right[0].shape
        has = pot_right != 0
        assert (relative(acc[has], acc_right[0][has]) < 1e-13).all()
        assert (relative(pot[has], pot_right[has]) < 1e-13).all()
        assert (acc[~has] == 0).all()
    assert (batch[-1][0] == batch[19][0]).all()
    with pytest.raises(IndexError):
        batch[20]


def test_batches_that_are_begun(tree_code):
    context, x, mass = tree_code
    lists = [sapporo.SmallForce(x[k : k + 4], address=np.arange(k, 50), eps=0.1) for k in range(0, 40, 4)]
    right = context.force_batch(lists)
    one, two = context.begin_batch(lists), context.begin_batch(lists[:3])
    context.set_particles(2 * x, mass=mass)
    assert (two.result().pot == right.pot[:12]).all() and two.done
    for _ in range(2):
        assert (one.result().acc == right.acc).all()
    one.close()
    with pytest.raises(sapporo.ClosedError):
        one.result()
    with pytest.raises(sapporo.ArgumentError):
        context.begin_batch([sapporo.SmallForce(x[:4], address=[N], eps=0.1)])
    bad = context.begin_batch([sapporo.SmallForce([[np.nan, 0, 0], [1, 2, 3]], x=x, mass=1.0)])
    with pytest.warns(sapporo.PartialWarning):
        assert np.isnan(bad.result().pot[0])


def test_moments_radii_and_a_floor(tree_code):
    context, x, mass = tree_code
    at, h2 = np.arange(60), np.linspace(0, 0.5, N)
    quad = np.zeros((N, 6))
    lists = [sapporo.SmallForce(x[:7], address=at, eps=0.1, quad_j=quad, h2_i=0.1, h2_j=h2, floor2=0.25)]
    own = [sapporo.SmallForce(x[:7], x=x[:60], mass=mass[:60], eps=0.1, h2_i=0.1, h2_j=h2[:60], floor2=0.25)]
    d2 = ((x[None, :60] - x[:7, None]) ** 2).sum(axis=2)
    right = (d2 < np.maximum(0.1, h2[:60])).sum(axis=1)
    pot = -(mass[:60] / np.sqrt(np.maximum(d2 + 0.01, 0.25))).sum(axis=1)
    for force in (context.force_batch(lists), context.force_batch(own), context.begin_batch(lists).result()):
        assert (force.count == right).all()
        assert (relative(force.pot, pot) < 1e-13).all()
    own_floors, of_j = np.linspace(0.1, 0.5, 7), np.linspace(0.0, 0.6, N)
    floors = {"eps": 0.1, "floor2_i": own_floors}
    least = np.maximum(own_floors[:, None], of_j[:60])
    pot = -(mass[:60] / np.sqrt(np.maximum(d2 + 0.01, least))).sum(axis=1)
    for small in (
        sapporo.SmallForce(x[:7], address=at, floor2_j=of_j, **floors),
        sapporo.SmallForce(x[:7], x=x[:60], mass=mass[:60], floor2_j=of_j[:60], **floors),
    ):
        assert (relative(context.force_batch([small]).pot, pot) < 1e-13).all()
    quad[:, 0] = 0.1
    moments = context.force_batch(lists)
    assert (moments.pot != force.pot).all()
    assert context.force_batch([sapporo.SmallForce(x[:7], x=x, mass=1)]).count is None
    for wrong in ({"quad_j": quad[:, :5]}, {"quad_j": quad[:59]}, {"h2_j": h2[:59]}, {"floor2_j": h2[:59]}):
        with pytest.raises(ValueError, match=r"quad_j|h2_j|floor2_j"):
            context.force_batch([sapporo.SmallForce(x[:7], address=at, **wrong)])
    with pytest.raises(sapporo.ArgumentError):
        context.force_batch([sapporo.SmallForce(x[:7], x=x, floor2=-1.0)])


def test_addresses_that_are_kept(tree_code):
    context, x, _ = tree_code
    at = np.arange(N, dtype=np.int32)[::-1].copy()
    lists = [sapporo.SmallForce(x[k : k + 4], address=at[k:], eps=0.1) for k in range(0, 40, 4)]
    before = context.force_batch(lists)
    context.keep_addresses(at)
    after = context.force_batch(lists)
    context.keep_addresses(None)
    assert (before.acc == after.acc).all() and (before.pot == after.pot).all()
    with pytest.raises(ValueError, match="int32"):
        context.keep_addresses(at[::2])


def test_what_is_wrong_is_told(tree_code):
    context, x, _ = tree_code
    assert len(context.force_batch([])) == 0
    with pytest.raises(ValueError, match="needs address or x"):
        context.force_batch([sapporo.SmallForce(x)])
    with pytest.raises(ValueError, match="either address or"):
        context.force_batch([sapporo.SmallForce(x, address=[0], x=x)])
    with pytest.raises(sapporo.ArgumentError):
        context.force_batch([sapporo.SmallForce(x, address=[N])])
    with pytest.raises(sapporo.ArgumentError, match="eps is -1"):
        context.force_batch([sapporo.SmallForce(x, address=[0], eps=-1.0)])
    with pytest.warns(sapporo.PartialWarning):
        batch = context.force_batch([sapporo.SmallForce([[0, 0, np.nan], [1, 1, 1]], address=[0])])
    assert np.isnan(batch.acc[0]).all() and np.isfinite(batch.acc[1]).all()
    with sapporo.Context(order=4) as other, pytest.raises(sapporo.UnsupportedError, match="order"):
        other.force_batch([sapporo.SmallForce(x, x=x, mass=1)])
