"""Derivatives of direct sums: against differences, and against sums that PyTorch and JAX derive themselves."""

import os

import numpy as np
import pytest
import sapporo
from reference import plummer
from sapporo._gradients import change, gradients
from sapporo._sums import how_of

os.environ.setdefault("JAX_PLATFORMS", "cpu")
G, N, TARGETS = 2.5, 30, 7
CALLS = {"acc": sapporo.accelerations, "pot": sapporo.potentials}


def arrays(has_targets, close=True):
    """Positions, masses of which one is 0, and targets.  close: two positions are equal, and a target is at another."""
    x, _, mass = plummer(N)
    mass[3] = 0
    at = np.random.default_rng(3).normal(size=(TARGETS, 3))
    if close:
        x[6], at[2] = x[5], x[4]
    return [x, mass, at][: 2 + has_targets]


def tangents(given, seed=4):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=array.shape) for array in given]


def weights(name, given):
    """Numbers by which results are multiplied before they are summed."""
    rows = given[-1] if len(given) == 3 else given[0]
    return np.random.default_rng(5).normal(size=rows.shape if name == "acc" else rows.shape[:1])


def plain(name, eps, numpy, x, mass, at=None):
    """The sum, in operations of another library."""
    r = x[None] - (x if at is None else at)[:, None]
    r2 = (r * r).sum(-1) + eps**2
    out = (r2 == 0) | (numpy.asarray(np.eye(N)) == 1) if at is None else r2 == 0
    r2 = numpy.where(out, numpy.ones_like(r2), r2)
    term = numpy.where(out, numpy.zeros_like(r2), mass[None] * r2**-0.5)
    return G * (((term / r2)[..., None] * r).sum(1) if name == "acc" else -term.sum(1))


def by_call(name, eps, x, mass, at=None):
    return CALLS[name](x, mass, eps, G=G, targets=at, precision="dp")


each_sum = pytest.mark.parametrize(
    ("name", "has_targets", "eps"), [(n, t, e) for n in CALLS for t in (False, True) for e in (0.0, 0.1)]
)


@each_sum
def test_change_is_that_of_differences(name, has_targets, eps):
    given = arrays(has_targets, close=eps > 0)
    how = how_of(eps, G, None, None, "dp", "cpu")
    x, mass, at = (*given, None)[:3]
    for k in range(len(given)):
        parts = [None, None, None]
        parts[k] = tangents(given)[k]
        step, sums = 1e-4, []
        for sign in (-2, -1, 1, 2):
            moved = [array + (sign * step * parts[j] if j == k else 0) for j, array in enumerate(given)]
            sums.append(by_call(name, eps, *moved))
        right = (sums[0] - 8 * sums[1] + 8 * sums[2] - sums[3]) / (12 * step)
        found = change(how, name, x, mass, at, tuple(parts))
        np.testing.assert_allclose(found, right, atol=1e-8 * np.abs(right).max(), rtol=1e-8)


@each_sum
@pytest.mark.parametrize("precision", ["ds", "dp"])
@pytest.mark.parametrize("size", [1e-60, 1.0, 1e60])
def test_gradients_are_the_transpose_of_the_change(name, has_targets, eps, precision, size):
    """In every precision, and for gradients beyond the range of float."""
    given = arrays(has_targets)
    how = how_of(eps, G, None, None, precision, "cpu")
    x, mass, at = (*given, None)[:3]
    u, parts = size * weights(name, given), tangents(given)
    found = gradients(how, name, x, mass, at, u, (True, True, has_targets))
    error = 1e-13 if precision == "dp" else 1e-5
    for k, part in enumerate(parts):
        one = tuple(part if j == k else None for j in range(3))
        right = u * change(how, name, x, mass, at, one)
        assert abs(np.sum(found[k] * part) - np.sum(right)) <= error * np.sum(np.abs(right)), k
        only = gradients(how, name, x, mass, at, u, tuple(j == k for j in range(3)))
        assert [j for j in range(3) if only[j] is not None] == [k] and (only[k] == found[k]).all()
    assert found[2] is None or has_targets


def test_no_change_is_zero():
    x, mass = arrays(False)
    how = how_of(0, G, None, None, "dp", "cpu")
    assert not change(how, "acc", x, mass, None, (None, None, None)).any()
    assert not change(how, "pot", x, mass, x[:2], (x * 0, mass * 0, x[:2] * 0)).any()
    assert not gradients(how, "acc", x, mass, None, x * 0, (True, True, False))[0].any()


# ---- PyTorch


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@each_sum
def test_autograd(torch, name, has_targets, eps):
    given = arrays(has_targets)
    gradients = []
    for sum_ in (lambda *a: by_call(name, eps, *a), lambda *a: plain(name, eps, torch, *a)):
        leaves = [torch.tensor(array, requires_grad=True) for array in given]
        (sum_(*leaves) * torch.tensor(weights(name, given))).sum().backward()
        gradients.append([leaf.grad.numpy() for leaf in leaves])
    for found, right in zip(*gradients):
        np.testing.assert_allclose(found, right, atol=1e-13 * np.abs(right).max(), rtol=1e-12)


@each_sum
def test_torch_func(torch, name, has_targets, eps):
    given = [torch.tensor(array) for array in arrays(has_targets)]
    parts = tuple(torch.tensor(part) for part in tangents(given))
    found = torch.func.jvp(lambda *a: by_call(name, eps, *a), tuple(given), parts)
    right = torch.func.jvp(lambda *a: plain(name, eps, torch, *a), tuple(given), parts)
    for one, other in zip(found, right):
        np.testing.assert_allclose(one, other, atol=1e-12 * float(other.abs().max()), rtol=1e-12)
    x, *others = given
    gradient = torch.func.grad(lambda x: by_call(name, eps, x, *others).sum())(x)
    right = torch.func.grad(lambda x: plain(name, eps, torch, x, *others).sum())(x)
    np.testing.assert_allclose(gradient, right, atol=1e-12 * float(right.abs().max()), rtol=1e-12)


def test_tensors(torch):
    """Results have type and device of x, any type and layout is taken, and what is not needed has no gradient."""
    x, mass = arrays(False)
    right = by_call("acc", 0.1, x, mass)
    for kind, error in (torch.float64, 1e-15), (torch.float32, 1e-6), (torch.bfloat16, 2e-2):
        t = torch.tensor(x, dtype=kind)
        found = by_call("acc", 0.1, t, torch.tensor(mass))
        assert found.dtype == kind and not found.requires_grad
        assert np.abs(found.double().numpy() - right).max() <= error * 4 * np.abs(right).max()
    t = torch.tensor(x.T.copy()).T
    assert not t.is_contiguous() and (by_call("acc", 0.1, t, mass).numpy() == right).all()
    assert (by_call("acc", 0.1, x, torch.tensor(mass)).numpy() == right).all()
    some = torch.tensor(x[:9])
    at = x[9:12].tolist()
    assert (by_call("acc", 0.1, some, 1 / 3, at).numpy() == by_call("acc", 0.1, x[:9], 1 / 3, at)).all()
    assert by_call("acc", 0.1, torch.eye(3, dtype=torch.int32), 1).dtype == torch.float64
    leaf = torch.tensor(x, dtype=torch.float32, requires_grad=True)
    one = torch.tensor(0.5, requires_grad=True)
    found = by_call("pot", 0.1, leaf, one, torch.zeros(2, 3))
    found.sum().backward()
    assert found.dtype == leaf.grad.dtype == torch.float32 and one.grad.shape == ()
    assert float(one.grad) == pytest.approx(found.sum().item() / 0.5, rel=1e-6)
    with torch.no_grad():
        assert not by_call("pot", 0.1, leaf, one).requires_grad
    leaves = [torch.tensor(array[:5], requires_grad=True) for array in (x, mass)]
    assert torch.autograd.gradcheck(lambda x, mass: by_call("acc", 0.1, x, mass), leaves)


def test_what_torch_cannot_derive(torch):
    x, mass = arrays(False)
    leaf = torch.tensor(x, requires_grad=True)
    (gradient,) = torch.autograd.grad(sapporo.potentials(leaf, mass, 0.1).sum(), leaf, create_graph=True)
    with pytest.raises(sapporo.UnsupportedError, match="second derivatives"):
        gradient.sum().backward()
    with pytest.raises(sapporo.UnsupportedError, match="derivatives of trees"):
        sapporo.potentials(leaf, mass, theta=0.5)
    with pytest.raises(sapporo.UnsupportedError, match="derivatives of trees"):
        torch.func.jvp(lambda x: sapporo.potentials(x, mass, theta=0.5), (torch.tensor(x),), (torch.tensor(x),))
    assert sapporo.potentials(leaf.detach(), mass, theta=0.5).shape == (N,)
    assert sapporo.potentials(leaf, mass, theta=0).requires_grad
    for words in {"eps": torch.tensor(0.1, requires_grad=True)}, {"G": torch.tensor(1.0, requires_grad=True)}:
        with pytest.raises(TypeError, match="requires a gradient"):
            sapporo.potentials(leaf, mass, **words)
    for wrong in (torch.ones(3), torch.ones(3, 2)):
        with pytest.raises(ValueError, match="x has the shape"):
            sapporo.potentials(wrong, 1.0)
    with pytest.raises(ValueError, match="mass has the shape"):
        sapporo.potentials(leaf, torch.ones(2))
    with pytest.raises(TypeError, match="complex"):
        sapporo.potentials(torch.tensor(x + 1j), 1.0)
    with pytest.raises(sapporo.NotFiniteError):
        sapporo.potentials(leaf * float("nan"), mass)


def test_many_particles_that_need_derivatives_take_a_direct_sum(torch, monkeypatch):
    monkeypatch.setattr("sapporo._sums.DIRECT_ON_CPU", 64)
    monkeypatch.setattr("sapporo._sums.DIRECT_ON_DEVICE", 64)
    x, mass = arrays(False)
    direct = by_call("acc", 0.1, x, mass) * 0 + sapporo.accelerations(x, mass, 0.1, G=G, theta=0, precision="dp")
    leaf = torch.tensor(x, requires_grad=True)
    assert (by_call("acc", 0.1, leaf, mass).detach().numpy() == direct).all()
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    assert (np.asarray(jax.jit(lambda x: by_call("acc", 0.1, x, mass))(x)) == direct).all()


# ---- JAX


@pytest.fixture
def jax():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    yield jax
    jax.config.update("jax_enable_x64", False)


@each_sum
@pytest.mark.parametrize("compiled", [False, True])
def test_grad_and_jvp(jax, name, has_targets, eps, compiled):
    given = [jax.numpy.asarray(array) for array in arrays(has_targets)]
    parts, u = tangents(given), weights(name, given)
    some = tuple(range(len(given)))
    results = []
    for sum_, wrap in (
        (lambda *a: by_call(name, eps, *a), jax.jit if compiled else lambda function: function),
        (lambda *a: plain(name, eps, jax.numpy, *a), jax.jit),
    ):
        gradient = wrap(jax.grad(lambda *a, sum_=sum_: (sum_(*a) * u).sum(), some))(*given)
        one = wrap(jax.grad(lambda *a, sum_=sum_: (sum_(*a) * u).sum(), 1))(*given)
        moved = wrap(lambda a, v, sum_=sum_: jax.jvp(sum_, a, v))(given, [jax.numpy.asarray(part) for part in parts])
        results.append([*gradient, one, *moved])
    for found, right in zip(*results):
        np.testing.assert_allclose(found, right, atol=1e-12 * float(abs(right).max()), rtol=1e-12)


def test_arrays_of_jax(jax):
    x, mass = arrays(False)
    right = by_call("acc", 0.1, x, mass)
    for kind, error in ("float64", 1e-15), ("float32", 1e-6), ("bfloat16", 2e-2):
        given = jax.numpy.asarray(x, dtype=kind)
        for call in by_call, lambda *a: jax.jit(lambda x, m: by_call(a[0], a[1], x, m))(*a[2:]):
            found = call("acc", 0.1, given, mass)
            assert isinstance(found, jax.Array) and found.dtype == kind and found.devices() == given.devices()
            assert np.abs(np.asarray(found, dtype=float) - right).max() <= error * 4 * np.abs(right).max()
    jax.config.update("jax_enable_x64", False)
    single = by_call("acc", 0.1, jax.numpy.asarray(x[:9]), 1 / 3)
    assert (np.asarray(single) == by_call("acc", 0.1, x[:9].astype(np.float32), 1 / 3)).all()
    jax.config.update("jax_enable_x64", True)
    both = jax.vmap(lambda x: by_call("pot", 0.1, x, mass))(np.stack([x, 2 * x]))
    assert (np.asarray(both[1]) == by_call("pot", 0.1, 2 * x, mass)).all()
    value, gradient = jax.value_and_grad(lambda m: by_call("pot", 0.1, jax.numpy.asarray(x), m).sum())(0.5)
    assert gradient == pytest.approx(value / 0.5)
    y = jax.numpy.asarray(np.random.default_rng(1).normal(size=(3000, 3)))  # beyond what JAX computes in its own thread
    assert jax.jit(jax.grad(lambda x: by_call("pot", 0.1, x, 1 / 3000).sum()))(y).shape == (3000, 3)


@pytest.mark.parametrize(("name", "has_targets"), [("acc", False), ("pot", True)])
def test_vmap(jax, name, has_targets):
    """Sums, gradients, changes and Jacobians of several systems are those of each."""
    given = [jax.numpy.asarray(array) for array in arrays(has_targets)]
    parts, u = tangents(given), weights(name, given)
    factors = jax.numpy.asarray([0.5, 2.0])
    some = tuple(range(len(given)))

    def call(*a):
        return by_call(name, 0.1, *a)

    def gradient(*a):
        return jax.grad(lambda *b: (call(*b) * u).sum(), some)(*a)

    def moved(*a):
        return jax.jvp(call, a, tuple(jax.numpy.asarray(part) for part in parts))[1]

    for function in call, gradient, moved, jax.jacfwd(call), jax.jacrev(call):
        for k in some if function in (gradient, moved) else (0,):  # one array differs, the others are the same

            def of(factor, k=k, function=function):
                return function(*(factor * array if n == k else array for n, array in enumerate(given)))

            compile = jax.jit if function is gradient else lambda f: f
            found, *right = (jax.tree.leaves(one) for one in (compile(jax.vmap(of))(factors), *map(of, factors)))
            for part, *each in zip(found, *right):
                np.testing.assert_allclose(part, np.stack(each), rtol=1e-12, atol=1e-13 * np.abs(part).max())
    twice = jax.vmap(jax.vmap(lambda x, m: jax.grad(lambda x: call(x, m, *given[2:]).sum())(x), (None, 0)), (0, None))
    x, mass = np.stack([given[0], 2 * given[0]]), np.stack([given[1]] * 2) * factors[:, None]
    assert twice(x, mass).shape == (2, 2, N, 3)
    of_all = jax.grad(lambda x: (jax.vmap(lambda a: call(a, *given[1:]))(x) * u).sum())(x)
    np.testing.assert_allclose(of_all[1], jax.grad(lambda x: (call(x, *given[1:]) * u).sum())(x[1]), rtol=1e-12)


def test_what_jax_cannot_vmap(jax):
    x, mass = (jax.numpy.asarray(array) for array in arrays(False))
    with pytest.raises(TypeError, match=r"eps is .*; it must be a plain number"):
        jax.vmap(lambda eps: sapporo.potentials(x, mass, eps))(mass)
    second = jax.grad(lambda x: jax.grad(lambda x: sapporo.potentials(x, mass, 0.1).sum())(x).sum())
    with pytest.raises(sapporo.UnsupportedError, match="second derivatives"):
        jax.vmap(second)(x[None])
    of_tree = jax.vmap(lambda x: sapporo.potentials(x, mass, 0.1, theta=0.5))(np.stack([x, x]))
    assert (of_tree[1] == sapporo.potentials(x, mass, 0.1, theta=0.5)).all()
    with pytest.raises(sapporo.UnsupportedError, match="derivatives of trees"):
        jax.vmap(jax.grad(lambda x: sapporo.potentials(x, mass, 0.1, theta=0.5).sum()))(x[None])


def test_what_jax_cannot_derive(jax):
    x, mass = arrays(False)
    x = jax.numpy.asarray(x)

    def energy(x, **words):
        return sapporo.potentials(x, mass, 0.1, **words).sum()

    for first in jax.grad(energy), jax.jit(jax.grad(energy)):
        second = jax.grad(lambda x, first=first: first(x).sum())
        for call in second, jax.jit(second):
            with pytest.raises(sapporo.UnsupportedError, match="second derivatives"):
                call(x)
    of_tree = jax.grad(lambda x: energy(x, theta=0.5))
    for call in of_tree, jax.jit(of_tree):
        with pytest.raises(sapporo.UnsupportedError, match="derivatives of trees"):
            call(x)
    assert jax.jit(lambda x: energy(x, theta=0.5))(x) == pytest.approx(float(energy(x)), rel=1e-2)
    with pytest.raises(TypeError, match=r"eps is .*; it must be a plain number"):
        jax.grad(lambda eps: sapporo.potentials(x, mass, eps).sum())(0.1)
    with pytest.raises(ValueError, match="x has the shape"):
        sapporo.potentials(x[0], 1.0)
    with pytest.raises(TypeError, match="complex"):
        sapporo.potentials(x + 1j, 1.0)
    with pytest.raises(sapporo.NotFiniteError):
        energy(x * np.nan)
    with pytest.raises(Exception, match="not finite"):
        jax.jit(energy)(x * np.nan).block_until_ready()


def test_one_library_a_call(torch, jax):
    for one in torch.ones(2), jax.numpy.ones(2):
        with pytest.raises(TypeError, match="x is a masked array"):
            sapporo.potentials(np.ma.masked_array(np.eye(3)[:2]), one)
        for kind in "float32", ">f8", "int32":
            found = sapporo.potentials(np.eye(3, dtype=kind)[:2], one)
            assert "float32" in str(found.dtype) or kind != "float32"
            np.testing.assert_allclose(np.asarray(found), -(2**-0.5), rtol=1e-7)
    with pytest.raises(TypeError, match="arrays of torch and jax"):
        sapporo.potentials(torch.ones(2, 3), jax.numpy.ones(2))
