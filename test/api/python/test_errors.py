"""Errors of the library as exceptions, with its texts."""

import warnings

import numpy as np
import pytest
import sapporo
from sapporo import _errors
from sapporo._library import lib, text_of


def raised(kind, builtin, text, call):
    with pytest.raises(kind, match=text) as caught:
        call()
    assert isinstance(caught.value, builtin) and isinstance(caught.value, sapporo.SapporoError)
    assert caught.value.status == kind.status < 0


def test_each_status_has_a_class():
    header = {name[8:]: getattr(lib, name) for name in dir(lib) if name.startswith("SAPPORO_ERR_")}
    assert {s.name: int(s) for s in sapporo.Status if s < 0} == header
    assert {kind.status for kind in sapporo.SapporoError.__subclasses__()} == set(header.values())
    for status in header.values():
        assert _errors.error_of(status, "text").status == status and str(_errors.error_of(status, "text")) == "text"


def test_arguments(context):
    raised(sapporo.ArgumentError, ValueError, "order", lambda: sapporo.Context(order=3))
    raised(sapporo.ArgumentError, ValueError, "addresses", lambda: context.set_particles(np.eye(3), mass=1, first=-1))
    raised(sapporo.ArgumentError, ValueError, "eps", lambda: context.force(np.zeros((1, 3)), eps=-1.0))
    raised(sapporo.ArgumentError, ValueError, "nj", lambda: context.force(np.zeros((1, 3)), nj=-1))
    for options in ({"precision": "half"}, {"backend": "abacus"}, {"root": "square"}, {"devices": "some"}):
        with pytest.raises(ValueError, match="it may be"):
            sapporo.Context(**options)
    with pytest.raises(ValueError, match="pairs is 'inside'"):
        context.force(np.zeros((1, 3)), pairs="inside")


def test_variables_of_the_environment(monkeypatch):
    monkeypatch.setenv("SAPPORO_PRECISION", "half")
    raised(sapporo.ArgumentError, ValueError, "SAPPORO_PRECISION", sapporo.Context)
    assert sapporo.Context(precision="dp").precision == "dp"


def test_what_does_not_exist():
    raised(sapporo.UnsupportedError, NotImplementedError, "order", lambda: sapporo.Context(order=6, precision="sp"))
    with sapporo.Context(order=2) as context:
        raised(sapporo.UnsupportedError, NotImplementedError, "order", lambda: context.neighbour_force([0], [[1]]))
    raised(sapporo.DeviceError, RuntimeError, "cuda|CUDA", lambda: sapporo.Context(backend="cuda", devices=[999]))


def test_data_that_are_not_finite(context):
    x = np.zeros((3, 3))
    x[1, 2] = np.nan
    raised(sapporo.NotFiniteError, ValueError, "1", lambda: context.set_particles(x, mass=1))
    assert context.nj == 3  # stored all the same
    raised(sapporo.NotFiniteError, ValueError, ".", lambda: context.set_particles(x, mass=1, address=[5, 3, 9]))
    assert (context.get_particles([5, 9]).x == 0).all() and np.isnan(context.get_particles(3).x[0, 2])
    context.clear()
    raised(sapporo.NotFiniteError, ValueError, "1", lambda: context.set_particles(x, mass=1))
    assert np.isnan(context.force(np.ones((1, 3))).acc).all()
    context.set_particles(np.eye(3), mass=1)
    with pytest.warns(sapporo.PartialWarning, match="not finite"):
        force = context.force(x)
    assert force.partial and np.isnan(force.acc[1]).all() and np.isfinite(force.acc[[0, 2]]).all()
    addresses = np.zeros(3, np.int32)
    tree = sapporo.Tree(1)
    tree.set(np.zeros((1, 3)), 1.0)
    tree.build()
    for call in (
        lambda: context.force(x),
        lambda: context.begin(x).result(),
        lambda: context.neighbour_force(addresses + 7, [[], [], []]),
        lambda: tree.force(targets=x),
    ):
        with pytest.warns(sapporo.PartialWarning) as caught:
            assert call().partial
        assert [told.filename for told in caught] == [__file__]  # the caller's own line
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not context.force(np.ones((1, 3))).partial


def test_closed_handles(context):
    context.set_particles(np.eye(3), mass=1)
    job = context.begin(np.ones((1, 3)))
    context.close()
    context.close()
    assert context.closed and context.kind == "" and context.threads == 0 and "closed" in repr(context)
    raised(sapporo.ClosedError, ValueError, "not open|closed", lambda: context.force(np.ones((1, 3))))
    raised(sapporo.ClosedError, ValueError, ".", lambda: job.result())
    job.close()


def test_lists_asked_for_too_late(context):
    context.set_particles(np.eye(3), mass=1)
    job = context.begin(np.ones((1, 3)), h2=4.0)
    job.result()
    context.set_particles(np.eye(3) * 2, mass=1)
    context.force(np.ones((1, 3)))
    raised(sapporo.GoneError, RuntimeError, ".", lambda: job.neighbours(0))
    raised(sapporo.GoneError, RuntimeError, ".", lambda: job.neighbour_lists())


def test_texts_are_those_of_the_library(context):
    with pytest.raises(sapporo.ArgumentError) as caught:
        context.force(np.zeros((1, 3)), nj=-2)
    assert str(caught.value) == text_of(lib.sapporo_last_error(context._handle)) and "-2" in str(caught.value)
